//! A connection's thread: takes transactions from where they come, runs them,
//! records how they ended.

use std::{
    sync::{Mutex, atomic::Ordering},
    thread,
    time::{Duration, Instant},
};

use octavo_database::Running;
use octavo_workload::{Audit, Client, ConnectionError};

use super::{
    DriveError, DriveSettings, Shared,
    arrivals::Arrivals,
    meeting::Member,
    metered::Metered,
    pool::{Pool, Waiting},
    recorder::{Ending, Event, Recorder, lock},
    wait,
};
use crate::plan::RunLength;

/// How long a lost connection is tried to be replaced, and how often.
const RECONNECT: Duration = Duration::from_secs(30);
const RECONNECT_PAUSE: Duration = Duration::from_millis(100);

/// Where a worker's transactions come from.
pub(super) enum Source<'a> {
    /// Its own terminals, one transaction after the other.
    Own(Box<dyn Client>),
    /// Its own terminals, at the arrivals that all workers share.
    Arriving {
        client: Box<dyn Client>,
        arrivals: &'a Mutex<Arrivals>,
        /// Before each of them the clock is watched for so long.
        watch: Duration,
    },
    /// Any terminal that is due.
    Pool(&'a Pool),
}

impl Source<'_> {
    /// What was run, where this worker alone knows it.
    fn audit(&self) -> Option<Audit> {
        match self {
            Self::Own(client) | Self::Arriving { client, .. } => Some(client.audit()),
            Self::Pool(_) => None,
        }
    }
}

pub(super) struct Worker<'a> {
    source: Source<'a>,
    session: Session<'a>,
}

impl<'a> Worker<'a> {
    pub(super) fn new(source: Source<'a>, session: Session<'a>) -> Self {
        Self { source, session }
    }

    /// Works until told to end; answers what its own terminals have run.
    pub(super) fn work(mut self, member: &Member<'_>) -> Option<Audit> {
        // A panic, a bug of ours, must not leave the others at work.
        let _guard = EndOnPanic(self.session.shared);
        wait::ask_for_punctual_waking();
        member.attend();
        let result = match self.session.settings.length {
            RunLength::Time { .. } => self.until_told(),
            RunLength::Transactions { warm_up, measured } => {
                self.so_many(member, warm_up, measured)
            }
        };
        if let Err(error) = result {
            self.session.shared.fail(error);
        }
        self.source.audit()
    }

    fn until_told(&mut self) -> Result<(), DriveError> {
        while !self.session.stopped() {
            self.turn()?;
        }
        Ok(())
    }

    fn so_many(
        &mut self,
        member: &Member<'_>,
        warm_up: u64,
        measured: u64,
    ) -> Result<(), DriveError> {
        for transactions in [warm_up, measured] {
            for _ in 0..transactions {
                if self.session.stopped() {
                    break;
                }
                self.turn()?;
            }
            member.attend();
        }
        Ok(())
    }

    /// One transaction, unless stopped before.
    fn turn(&mut self) -> Result<(), DriveError> {
        let Self { source, session } = self;
        match source {
            Source::Own(client) => {
                let kind = client.draw();
                session.transact(client.as_mut(), kind, Instant::now(), Duration::ZERO)
            }
            Source::Arriving {
                client,
                arrivals,
                watch,
            } => {
                let kind = client.draw();
                let due = session.shared.start() + lock(arrivals).take();
                if !wait::until(due, *watch, || session.stopped()) {
                    return Ok(());
                }
                session.shared.started.fetch_add(1, Ordering::Relaxed);
                let late = due.elapsed();
                session.transact(client.as_mut(), kind, due, late)
            }
            Source::Pool(pool) => {
                let Some(Waiting {
                    due, mut terminal, ..
                }) = pool.take(|| session.stopped())
                else {
                    return Ok(());
                };
                let late = due.elapsed();
                let result = session.transact(terminal.client.as_mut(), terminal.kind, due, late);
                pool.give_back(due, terminal);
                result
            }
        }
    }
}

/// Ends the run when its thread panics.
struct EndOnPanic<'a>(&'a Shared);

impl Drop for EndOnPanic<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.end();
        }
    }
}

/// A worker's connection and where it records.
pub(super) struct Session<'a> {
    pub(super) index: u32,
    pub(super) connection: Metered,
    pub(super) database: &'a dyn Running,
    pub(super) settings: DriveSettings<'a>,
    pub(super) shared: &'a Shared,
    pub(super) recorder: &'a Recorder,
}

impl Session<'_> {
    fn stopped(&self) -> bool {
        self.shared.is_ending()
    }

    /// Runs the transaction drawn last, with its retries; latency counts from
    /// `since`.
    fn transact(
        &mut self,
        client: &mut dyn Client,
        kind: usize,
        since: Instant,
        late: Duration,
    ) -> Result<(), DriveError> {
        let mut retries = 0;
        let ending = loop {
            match client.run(&mut self.connection) {
                Ok(outcome) => break outcome.into(),
                Err(ConnectionError::Conflict { kind: conflict, .. }) => {
                    self.record(kind, Ending::Conflicted(conflict), since, late);
                    if retries == self.settings.retries {
                        break Ending::GaveUp;
                    }
                    retries += 1;
                }
                Err(ConnectionError::Timeout(_)) => break Ending::TimedOut,
                Err(source @ ConnectionError::Lost(_)) => {
                    self.record(kind, Ending::Lost, since, late);
                    return self.reconnect(source);
                }
                Err(source) => {
                    return Err(DriveError::Transaction {
                        transaction: self.settings.workload.transactions()[kind].name,
                        client: self.index,
                        source,
                    });
                }
            }
        };
        self.record(kind, ending, since, late);
        Ok(())
    }

    fn record(&mut self, kind: usize, ending: Ending, since: Instant, late: Duration) {
        let changed = self.connection.take_changed_bytes();
        let event = Event::new(kind, ending, changed, since.elapsed(), late);
        self.recorder.record(event, &self.shared.counts);
    }

    /// Replaces a lost connection.
    fn reconnect(&mut self, lost: ConnectionError) -> Result<(), DriveError> {
        let since = Instant::now();
        let mut source = lost;
        while !self.stopped() {
            // A server that is gone does not come back.
            if since.elapsed() > RECONNECT || self.database.death().is_some() {
                return Err(DriveError::Reconnect {
                    client: self.index,
                    seconds: since.elapsed().as_secs(),
                    source,
                });
            }
            match self.database.connect(self.index) {
                Ok(connection) => {
                    self.connection = Metered::new(connection, self.settings.workload.statements());
                    return Ok(());
                }
                Err(octavo_database::DatabaseError::Connection(error)) => source = error,
                Err(error) => return Err(error.into()),
            }
            thread::sleep(RECONNECT_PAUSE);
        }
        Ok(())
    }
}
