//! A connection's thread: takes transactions from their source, runs them and records their
//! outcomes.

use std::{
    sync::{Mutex, atomic::Ordering},
    thread,
    time::{Duration, Instant},
};

use octavo_database::Running;
use octavo_workload::{
    Audit, Client, ConnectionError, Dues, TransactionKind, connection::Statement,
};

use crate::{
    arrivals::Arrivals,
    barrier::Participant,
    counts::{Counts, Event, TryOutcome},
    error::DriverError,
    metered::Metered,
    pool::{Pool, Waiting},
    recorder::{Recorder, lock},
    run_state::RunState,
    settings::RunLength,
    wait,
};

/// How long a worker tries to replace a lost connection.
pub const RECONNECT: Duration = Duration::from_secs(30);
/// Pause between two attempts.
pub const RECONNECT_PAUSE: Duration = Duration::from_millis(100);

/// Longest sleep of a client that waits for its step of a ramp.
const STEP_POLL_INTERVAL: Duration = Duration::from_millis(250);

/// No run lasts longer, and no clock ends before.
pub(crate) const FOREVER: Duration = Duration::from_secs(100 * 365 * 86_400);

/// Where a worker's transactions come from.
pub(crate) enum TransactionSource<'a> {
    /// Its own terminals, one transaction after the other.
    Own(Box<dyn Client>),
    /// Its own terminals, at the arrivals that all workers share.
    Arriving {
        client: Box<dyn Client>,
        arrivals: &'a Mutex<Arrivals>,
        /// How long the worker spins before each arrival.
        watch: Duration,
    },
    /// Its own transactions, each at its own time.
    Timed {
        client: Box<dyn Client>,
        dues: Dues,
        /// The number of the next one.
        next: u64,
    },
    /// Any terminal that is due.
    Pool(&'a Pool),
}

impl TransactionSource<'_> {
    /// The audit of its own client. The pool keeps that of its terminals.
    fn audit(&self) -> Option<Audit> {
        match self {
            Self::Own(client) | Self::Arriving { client, .. } | Self::Timed { client, .. } => {
                Some(client.audit())
            }
            Self::Pool(_) => None,
        }
    }
}

pub(crate) struct Worker<'a> {
    pub(crate) source: TransactionSource<'a>,
    pub(crate) session: Session<'a>,
    pub(crate) shared: &'a RunState,
    pub(crate) length: RunLength,
    /// Delay from the start of measuring to the worker's first transaction. With zero it takes
    /// part in the warm-up.
    pub(crate) start_delay: Duration,
}

impl Worker<'_> {
    /// Runs transactions until the run ends. Returns the audit of its own client.
    pub(crate) fn work(mut self, participant: &Participant<'_>) -> Option<Audit> {
        // A panic, a bug of ours, must not leave the others at work.
        let _guard = EndOnPanic(self.shared);
        wait::ask_for_punctual_waking();
        participant.wait();
        let result = match self.length {
            RunLength::Time { .. } => self.run_until_ended(),
            RunLength::Transactions { warm_up, measured } => {
                self.run_counted(participant, warm_up, measured)
            }
        };
        if let Err(error) = result {
            self.shared.fail(error);
        }
        self.source.audit()
    }

    fn run_until_ended(&mut self) -> Result<(), DriverError> {
        self.wait_for_step();
        while !self.shared.is_ending() {
            self.run_next()?;
        }
        Ok(())
    }

    /// Waits for the worker's step of a ramp, or for the end of the run.
    fn wait_for_step(&self) {
        while !self.start_delay.is_zero() && !self.shared.is_ending() {
            let left = match self.shared.measuring.get() {
                Some(begin) => self.start_delay.saturating_sub(begin.elapsed()),
                None => STEP_POLL_INTERVAL,
            };
            if left.is_zero() {
                return;
            }
            thread::sleep(left.min(STEP_POLL_INTERVAL));
        }
    }

    fn run_counted(
        &mut self,
        participant: &Participant<'_>,
        warm_up: u64,
        measured: u64,
    ) -> Result<(), DriverError> {
        for transactions in [warm_up, measured] {
            for _ in 0..transactions {
                if self.shared.is_ending() {
                    break;
                }
                self.run_next()?;
            }
            participant.wait();
        }
        Ok(())
    }

    /// Runs the next transaction, unless the run ends before it is due.
    fn run_next(&mut self) -> Result<(), DriverError> {
        let Self {
            source,
            session,
            shared,
            ..
        } = self;
        let stopped = || shared.is_ending();
        let transacted = match source {
            TransactionSource::Own(client) => {
                let kind = client.draw();
                session.transact(client.as_mut(), kind, Instant::now(), Duration::ZERO)
            }
            TransactionSource::Arriving {
                client,
                arrivals,
                watch,
            } => {
                let kind = client.draw();
                let due = shared.start() + lock(arrivals).take();
                if !wait::until(due, *watch, stopped) {
                    return Ok(());
                }
                shared.started.fetch_add(1, Ordering::Relaxed);
                let late = due.elapsed();
                session.transact(client.as_mut(), kind, due, late)
            }
            TransactionSource::Timed { client, dues, next } => {
                let due = shared.start() + dues.of(*next).min(FOREVER);
                if !wait::until(due, wait::watch(Duration::MAX), stopped) {
                    return Ok(());
                }
                // What is drawn runs.
                let kind = client.draw();
                *next += 1;
                let late = due.elapsed();
                session.transact(client.as_mut(), kind, due, late)
            }
            TransactionSource::Pool(pool) => {
                let Some(Waiting {
                    due, mut terminal, ..
                }) = pool.take(stopped)
                else {
                    return Ok(());
                };
                let late = due.elapsed();
                let result = session.transact(terminal.client.as_mut(), terminal.kind, due, late);
                pool.give_back(due, terminal);
                result
            }
        };
        transacted.map(drop)
    }
}

/// Ends the run when its thread panics.
struct EndOnPanic<'a>(&'a RunState);

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
    pub(crate) connection: Metered<'a>,
    /// Where to reconnect after a lost connection while the run lasts. `None` where a lost
    /// connection ends the load.
    pub(crate) lasting: Option<(&'a dyn Running, &'a RunState)>,
    pub(crate) kinds: &'static [TransactionKind],
    pub(crate) statements: &'static [Statement],
    /// Retries of a transaction after conflicts.
    pub(crate) retries: u32,
    pub(crate) recorder: &'a Recorder,
    pub(crate) counts: &'a Mutex<Counts>,
}

impl<'s> Session<'s> {
    /// Runs the transaction drawn last, with its retries; latency counts from
    /// `since`, without what its client waited in it. Answers that latency if it
    /// is part of the throughput.
    pub(crate) fn transact(
        &mut self,
        client: &mut dyn Client,
        kind: usize,
        since: Instant,
        late: Duration,
    ) -> Result<Option<Duration>, DriverError> {
        self.connection.forget_pauses();
        let mut retries = 0;
        let outcome = loop {
            match client.run(&mut self.connection) {
                Ok(outcome) => break outcome.into(),
                Err(ConnectionError::Conflict { kind: conflict, .. }) => {
                    let conflicted = TryOutcome::Conflicted(conflict);
                    if retries == self.retries {
                        let changed = self.connection.take_changed_bytes();
                        let latency = since.elapsed().saturating_sub(self.connection.paused());
                        let event = |outcome| Event::new(kind, outcome, changed, latency, late);
                        // Together: a second between them would count a retry that
                        // never was.
                        let ended = [conflicted, TryOutcome::GaveUp].map(event);
                        self.recorder.record_all(ended, self.counts);
                        return Ok(None);
                    }
                    self.record(kind, conflicted, since, late);
                    retries += 1;
                }
                Err(ConnectionError::Timeout(_)) => break TryOutcome::TimedOut,
                Err(source) => {
                    if let (ConnectionError::Lost(_), Some((database, shared))) =
                        (&source, self.lasting)
                    {
                        self.record(kind, TryOutcome::Lost, since, late);
                        return self.reconnect(database, shared, source).map(|()| None);
                    }
                    return Err(DriverError::Transaction {
                        transaction: self.kinds[kind].name,
                        client: self.index,
                        source,
                    });
                }
            }
        };
        let latency = self.record(kind, outcome, since, late);
        let is_counted = outcome.is_counted(&self.kinds[kind]);
        Ok(is_counted.then_some(latency))
    }

    fn record(
        &mut self,
        kind: usize,
        outcome: TryOutcome,
        since: Instant,
        late: Duration,
    ) -> Duration {
        let changed = self.connection.take_changed_bytes();
        let now = Instant::now();
        let latency = (now - since).saturating_sub(self.connection.paused());
        let event = Event::new(kind, outcome, changed, latency, late);
        if let Some((_, shared)) = self.lasting
            && outcome.is_counted(&self.kinds[kind])
        {
            shared.commits.add(now - shared.start());
        }
        self.recorder.record(event, self.counts);
        latency
    }

    /// Replaces a lost connection.
    fn reconnect(
        &mut self,
        database: &dyn Running,
        shared: &'s RunState,
        lost: ConnectionError,
    ) -> Result<(), DriverError> {
        let since = Instant::now();
        let mut source = lost;
        while !shared.is_ending() {
            // A server that is gone does not come back.
            if since.elapsed() > RECONNECT || database.death().is_some() {
                return Err(DriverError::Reconnect {
                    client: self.index,
                    seconds: since.elapsed().as_secs(),
                    source,
                });
            }
            match database.connect(self.index) {
                Ok(connection) => {
                    self.connection = Metered::new(connection, self.statements, shared.stop());
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
