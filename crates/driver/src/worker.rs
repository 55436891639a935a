//! A connection's thread: takes transactions from where they come, runs them,
//! records how they ended.

use std::{
    sync::{Mutex, atomic::Ordering},
    thread,
    time::{Duration, Instant},
};

use octavo_database::Running;
use octavo_workload::{Audit, Client, ConnectionError};

use crate::{
    arrivals::Arrivals,
    barrier::Participant,
    counts::{Event, TryOutcome},
    error::DriverError,
    metered::Metered,
    pool::{Pool, Waiting},
    recorder::{Recorder, lock},
    settings::{DriverSettings, RunLength},
    shared::Shared,
    wait,
};

/// How long a lost connection is tried to be replaced, and how often.
const RECONNECT: Duration = Duration::from_secs(30);
const RECONNECT_PAUSE: Duration = Duration::from_millis(100);

/// Where a worker's transactions come from.
pub(crate) enum Source<'a> {
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

pub(crate) struct Worker<'a> {
    source: Source<'a>,
    session: Session<'a>,
}

impl<'a> Worker<'a> {
    pub(crate) fn new(source: Source<'a>, session: Session<'a>) -> Self {
        Self { source, session }
    }

    /// Works until told to end; answers what its own terminals have run.
    pub(crate) fn work(mut self, participant: &Participant<'_>) -> Option<Audit> {
        // A panic, a bug of ours, must not leave the others at work.
        let _guard = EndOnPanic(self.session.shared);
        wait::ask_for_punctual_waking();
        participant.wait();
        let result = match self.session.settings.length {
            RunLength::Time { .. } => self.until_told(),
            RunLength::Transactions { warm_up, measured } => {
                self.so_many(participant, warm_up, measured)
            }
        };
        if let Err(error) = result {
            self.session.shared.fail(error);
        }
        self.source.audit()
    }

    fn until_told(&mut self) -> Result<(), DriverError> {
        while !self.session.stopped() {
            self.turn()?;
        }
        Ok(())
    }

    fn so_many(
        &mut self,
        participant: &Participant<'_>,
        warm_up: u64,
        measured: u64,
    ) -> Result<(), DriverError> {
        for transactions in [warm_up, measured] {
            for _ in 0..transactions {
                if self.session.stopped() {
                    break;
                }
                self.turn()?;
            }
            participant.wait();
        }
        Ok(())
    }

    /// One transaction, unless stopped before.
    fn turn(&mut self) -> Result<(), DriverError> {
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
pub(crate) struct Session<'a> {
    pub(crate) index: u32,
    pub(crate) connection: Metered,
    pub(crate) database: &'a dyn Running,
    pub(crate) settings: DriverSettings<'a>,
    pub(crate) shared: &'a Shared,
    pub(crate) recorder: &'a Recorder,
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
    ) -> Result<(), DriverError> {
        let mut retries = 0;
        let outcome = loop {
            match client.run(&mut self.connection) {
                Ok(outcome) => break outcome.into(),
                Err(ConnectionError::Conflict { kind: conflict, .. }) => {
                    self.record(kind, TryOutcome::Conflicted(conflict), since, late);
                    if retries == self.settings.retries {
                        break TryOutcome::GaveUp;
                    }
                    retries += 1;
                }
                Err(ConnectionError::Timeout(_)) => break TryOutcome::TimedOut,
                Err(source @ ConnectionError::Lost(_)) => {
                    self.record(kind, TryOutcome::Lost, since, late);
                    return self.reconnect(source);
                }
                Err(source) => {
                    return Err(DriverError::Transaction {
                        transaction: self.settings.workload.transactions()[kind].name,
                        client: self.index,
                        source,
                    });
                }
            }
        };
        self.record(kind, outcome, since, late);
        Ok(())
    }

    fn record(&mut self, kind: usize, outcome: TryOutcome, since: Instant, late: Duration) {
        let changed = self.connection.take_changed_bytes();
        let event = Event::new(kind, outcome, changed, since.elapsed(), late);
        self.recorder.record(event, &self.shared.counts);
    }

    /// Replaces a lost connection.
    fn reconnect(&mut self, lost: ConnectionError) -> Result<(), DriverError> {
        let since = Instant::now();
        let mut source = lost;
        while !self.stopped() {
            // A server that is gone does not come back.
            if since.elapsed() > RECONNECT || self.database.death().is_some() {
                return Err(DriverError::Reconnect {
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
