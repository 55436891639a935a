//! Drives a started database with a workload's clients: closed loop, one
//! thread a session, first a warm-up and then what is measured.
//!
//! Latency is counted in microseconds from submission (closed loop). A
//! deferred transaction counts from its queueing until it is durable, and is
//! run before its client's next one.

use std::{
    collections::VecDeque,
    io,
    sync::{
        Barrier, Condvar, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use hdrhistogram::Histogram;
use octavo_database::{Counters, DatabaseError, Running};
use octavo_units::{ByteCount, PageSize, Seed};
use octavo_workload::{
    Audit, Client, Connection, ConnectionError, Outcome, Workload,
    connection::{Access, RowVisitor, Statement, StatementId, Value},
};
use serde::{Deserialize, Serialize};

use crate::plan::RunLength;

/// How often a transaction is tried again after conflicts.
const RETRIES_MAX: u32 = 20;

/// The longest latency that a histogram holds, 10 minutes; longer ones count
/// as this long.
const LATENCY_US_MAX: u64 = 600_000_000;

/// What one kind of transaction did while measured.
#[derive(Clone, Debug)]
pub struct KindResult {
    /// Its name.
    pub name: &'static str,
    /// Committed.
    pub committed: u64,
    /// Rolled back as the specification wants.
    pub rolled_back: u64,
    /// Tries that ended in a conflict and were repeated.
    pub retries: u64,
    /// Latencies in microseconds.
    pub latency_us: Histogram<u64>,
}

/// One second of a run, warm-up included. A diagnostic, never a sample of the
/// statistics.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// Time since the clients began, at the end of the sample.
    pub at: Duration,
    /// Whether the measured part had begun.
    pub measured: bool,
    /// Length of the sample; the last one of a part may be short.
    pub length: Duration,
    /// Transactions ended (committed or rolled back).
    pub transactions: u64,
    /// Commits of the counted kind.
    pub counted: u64,
    /// Pages that had to be read.
    pub buffer_misses: u64,
    /// Bytes read by the database.
    pub read_bytes: ByteCount,
    /// Bytes written by the database.
    pub written_bytes: ByteCount,
}

/// What driving a database gave.
#[derive(Clone, Debug)]
pub struct Drive {
    /// Length of the warm-up.
    pub warm_up: Duration,
    /// Pages read in it.
    pub warm_up_misses: u64,
    /// Whether the warm-up read at least as many pages as the buffer has
    /// frames.
    pub buffer_filled: bool,
    /// Length of the measured part.
    pub measured: Duration,
    /// One entry a kind of transaction.
    pub kinds: Vec<KindResult>,
    /// The database's counts in the measured part.
    pub counters: Counters,
    /// Bytes of the column values that transactions set or inserted in the
    /// measured part.
    pub changed_bytes: ByteCount,
    /// The per-second series.
    pub samples: Vec<Sample>,
    /// What was generated, warm-up included.
    pub audit: Audit,
}

impl Drive {
    /// Commits of the counted kind, measured.
    pub fn counted(&self, workload: &dyn Workload) -> u64 {
        self.kinds
            .iter()
            .zip(workload.transactions())
            .filter(|(_, kind)| kind.counted)
            .map(|(result, _)| result.committed)
            .sum()
    }

    /// Transactions that ended, measured.
    pub fn transactions(&self) -> u64 {
        self.kinds.iter().map(|k| k.committed + k.rolled_back).sum()
    }
}

/// Why driving ended without a result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DriveError {
    /// The database refused or died.
    #[error(transparent)]
    Database(#[from] DatabaseError),
    /// The system has no room for a session's thread.
    #[error("start a thread for each of {clients} clients: choose fewer --clients")]
    Thread {
        /// Sessions wanted.
        clients: u32,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// A client's transaction failed.
    #[error("{transaction} of client {client} failed")]
    Transaction {
        /// The transaction's name.
        transaction: &'static str,
        /// The client's number.
        client: u32,
        /// What the database said.
        #[source]
        source: ConnectionError,
    },
    /// The caller asked to stop.
    #[error("stopped")]
    Stopped,
}

/// What a run is driven with.
#[derive(Clone, Copy)]
pub struct DriveSettings<'a> {
    /// The workload.
    pub workload: &'a dyn Workload,
    /// Origin of the inputs.
    pub seed: Seed,
    /// Sessions.
    pub clients: u32,
    /// How long.
    pub length: RunLength,
    /// The page size, to know when the buffer is full.
    pub page_size: PageSize,
    /// The buffer's size, likewise.
    pub memory: ByteCount,
}

const WARMING: u8 = 0;
const MEASURING: u8 = 1;
const ENDING: u8 = 2;

/// What the clients and the sampler share.
struct Shared {
    phase: AtomicU8,
    transactions: AtomicU64,
    counted: AtomicU64,
    failure: Mutex<Option<DriveError>>,
    start: Gate,
    /// Where clients that run by the number of transactions wait for each
    /// other and for the sampler at the end of a phase.
    turn: Barrier,
    failed: AtomicBool,
}

/// Holds threads back until all of them exist.
#[derive(Default)]
struct Gate {
    decided: Mutex<Option<bool>>,
    told: Condvar,
}

impl Gate {
    /// Lets all threads go, to work or to end.
    fn open(&self, work: bool) {
        *self.decided.lock().unwrap_or_else(PoisonError::into_inner) = Some(work);
        self.told.notify_all();
    }

    /// Waits; whether to work.
    fn wait(&self) -> bool {
        let mut decided = self.decided.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            match *decided {
                Some(work) => return work,
                None => {
                    decided = self
                        .told
                        .wait(decided)
                        .unwrap_or_else(PoisonError::into_inner);
                }
            }
        }
    }
}

/// Called when the measured part begins and when it has ended, with the
/// clients' work between the two: to read counters outside of the database.
pub trait Boundary {
    /// The measured part begins.
    fn begin(&mut self);
    /// The measured part has ended.
    fn end(&mut self);
}

/// Runs the workload's clients against `database`. `interrupted` is looked at
/// several times a second.
pub fn drive(
    database: &dyn Running,
    settings: DriveSettings<'_>,
    boundary: &mut dyn Boundary,
    interrupted: &(dyn Fn() -> bool + Sync),
) -> Result<Drive, DriveError> {
    let clients = settings.clients.max(1);
    // Sessions are opened before any thread starts, so that a refusal is an
    // ordinary error.
    let sessions = (0..clients)
        .map(|index| {
            Ok((
                index,
                database.connect(index)?,
                settings.workload.client(settings.seed, index, clients),
            ))
        })
        .collect::<Result<Vec<_>, DriveError>>()?;
    let shared = Shared {
        phase: AtomicU8::new(WARMING),
        transactions: AtomicU64::new(0),
        counted: AtomicU64::new(0),
        failure: Mutex::new(None),
        start: Gate::default(),
        turn: Barrier::new(clients as usize + 1),
        failed: AtomicBool::new(false),
    };
    thread::scope(|scope| {
        let mut threads = Vec::with_capacity(clients as usize);
        for (index, connection, client) in sessions {
            let worker = Worker::new(index, client, settings, &shared, interrupted);
            let shared = &shared;
            let thread = thread::Builder::new().spawn_scoped(scope, move || {
                // All begin together, or none does.
                shared.start.wait().then(|| worker.work(connection))
            });
            match thread {
                Ok(thread) => threads.push(thread),
                Err(source) => {
                    shared.start.open(false);
                    return Err(DriveError::Thread { clients, source });
                }
            }
        }
        shared.start.open(true);
        let timeline = Sampler::new(database, &shared).follow(settings, boundary, interrupted);
        let tallies: Vec<Tally> = threads
            .into_iter()
            .filter_map(|thread| thread.join().expect("a client's thread does not panic"))
            .collect();
        if let Some(error) = shared
            .failure
            .lock()
            .expect("no thread panics while holding the failure")
            .take()
        {
            return Err(error);
        }
        timeline.map(|timeline| timeline.with(settings.workload, tallies))
    })
}

/// What one client has counted in the measured part.
struct Tally {
    committed: Vec<u64>,
    rolled_back: Vec<u64>,
    retries: Vec<u64>,
    latency_us: Vec<Histogram<u64>>,
    changed_bytes: u64,
    audit: Audit,
}

struct Worker<'a> {
    index: u32,
    client: Box<dyn Client>,
    settings: DriveSettings<'a>,
    shared: &'a Shared,
    interrupted: &'a (dyn Fn() -> bool + Sync),
    tally: Tally,
    queued: VecDeque<(usize, Instant)>,
}

impl<'a> Worker<'a> {
    fn new(
        index: u32,
        client: Box<dyn Client>,
        settings: DriveSettings<'a>,
        shared: &'a Shared,
        interrupted: &'a (dyn Fn() -> bool + Sync),
    ) -> Self {
        let kinds = settings.workload.transactions().len();
        Self {
            index,
            client,
            settings,
            shared,
            interrupted,
            tally: Tally {
                committed: vec![0; kinds],
                rolled_back: vec![0; kinds],
                retries: vec![0; kinds],
                latency_us: (0..kinds).map(|_| new_histogram()).collect(),
                changed_bytes: 0,
                audit: Audit::default(),
            },
            queued: VecDeque::with_capacity(16),
        }
    }

    fn work(mut self, connection: Box<dyn Connection + Send>) -> Tally {
        let mut metered = Metered {
            connection,
            statements: self.settings.workload.statements(),
            changed_bytes: 0,
        };
        let result = match self.settings.length {
            RunLength::Time { .. } => self.until_told(&mut metered),
            RunLength::Transactions { warm_up, measured } => {
                self.so_many(&mut metered, warm_up, measured)
            }
        };
        if let Err(error) = result {
            self.shared.failed.store(true, Ordering::Relaxed);
            self.shared
                .failure
                .lock()
                .expect("no thread panics while holding the failure")
                .get_or_insert(error);
        }
        self.tally.audit = self.client.audit();
        self.tally
    }

    fn stopped(&self) -> bool {
        self.shared.failed.load(Ordering::Relaxed)
            || self.shared.phase.load(Ordering::Acquire) == ENDING
    }

    fn until_told(&mut self, connection: &mut Metered<'_>) -> Result<(), DriveError> {
        while !self.stopped() && !(self.interrupted)() {
            self.turn(connection)?;
        }
        Ok(())
    }

    fn so_many(
        &mut self,
        connection: &mut Metered<'_>,
        warm_up: u64,
        measured: u64,
    ) -> Result<(), DriveError> {
        let mut result = Ok(());
        for transactions in [warm_up, measured] {
            for _ in 0..transactions {
                if result.is_err() || self.stopped() || (self.interrupted)() {
                    break;
                }
                result = self.turn(connection);
            }
            if result.is_err() {
                self.shared.failed.store(true, Ordering::Relaxed);
            }
            // Twice: the sampler reads its counters while all clients wait.
            self.shared.turn.wait();
            self.shared.turn.wait();
        }
        result
    }

    /// One transaction, and the deferred ones that it left behind.
    fn turn(&mut self, connection: &mut Metered<'_>) -> Result<(), DriveError> {
        let kind = self.client.draw();
        let start = Instant::now();
        if self.settings.workload.transactions()[kind].deferred {
            self.client.defer();
            self.queued.push_back((kind, start));
        } else {
            self.finish(kind, start, connection, |client, connection| {
                client.run(connection)
            })?;
        }
        while let Some((kind, queued_at)) = self.queued.pop_front() {
            self.finish(kind, queued_at, connection, |client, connection| {
                client.run_deferred(connection)
            })?;
        }
        Ok(())
    }

    fn finish(
        &mut self,
        kind: usize,
        start: Instant,
        connection: &mut Metered<'_>,
        mut run: impl FnMut(&mut dyn Client, &mut dyn Connection) -> Result<Outcome, ConnectionError>,
    ) -> Result<(), DriveError> {
        connection.changed_bytes = 0;
        let mut retries = 0;
        let outcome = loop {
            match run(self.client.as_mut(), connection) {
                Err(ConnectionError::Conflict(_)) if retries < RETRIES_MAX => retries += 1,
                Err(source) => {
                    return Err(DriveError::Transaction {
                        transaction: self.settings.workload.transactions()[kind].name,
                        client: self.index,
                        source,
                    });
                }
                Ok(outcome) => break outcome,
            }
        };
        let latency = start.elapsed();
        let counted =
            outcome == Outcome::Committed && self.settings.workload.transactions()[kind].counted;
        self.shared.transactions.fetch_add(1, Ordering::Relaxed);
        self.shared
            .counted
            .fetch_add(u64::from(counted), Ordering::Relaxed);
        if self.shared.phase.load(Ordering::Acquire) == MEASURING {
            match outcome {
                Outcome::Committed => {
                    self.tally.committed[kind] += 1;
                    self.tally.changed_bytes += connection.changed_bytes;
                }
                Outcome::RolledBack => self.tally.rolled_back[kind] += 1,
            }
            self.tally.retries[kind] += u64::from(retries);
            let latency_us = u64::try_from(latency.as_micros()).unwrap_or(u64::MAX);
            self.tally.latency_us[kind].saturating_record(latency_us);
        }
        Ok(())
    }
}

pub(crate) fn new_histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, LATENCY_US_MAX, 3).expect("the bounds are sound constants")
}

/// Counts the bytes of the values that statements change.
struct Metered<'a> {
    connection: Box<dyn Connection + Send>,
    statements: &'a [Statement],
    changed_bytes: u64,
}

impl Connection for Metered<'_> {
    fn begin(&mut self, access: Access) -> Result<(), ConnectionError> {
        self.connection.begin(access)
    }

    fn commit(&mut self) -> Result<(), ConnectionError> {
        self.connection.commit()
    }

    fn rollback(&mut self) -> Result<(), ConnectionError> {
        self.changed_bytes = 0;
        self.connection.rollback()
    }

    fn execute(
        &mut self,
        statement: StatementId,
        parameters: &[Value<'_>],
    ) -> Result<u64, ConnectionError> {
        let changed = self.statements[statement.0].changed_parameters;
        let bytes: u64 = parameters[..changed].iter().map(Value::byte_length).sum();
        let rows = self.connection.execute(statement, parameters)?;
        self.changed_bytes += bytes * rows;
        Ok(rows)
    }

    fn query(
        &mut self,
        statement: StatementId,
        parameters: &[Value<'_>],
        visit: &mut RowVisitor<'_>,
    ) -> Result<u64, ConnectionError> {
        self.connection.query(statement, parameters, visit)
    }
}

/// A run as the sampler saw it.
struct Timeline {
    warm_up: Duration,
    warm_up_misses: u64,
    buffer_filled: bool,
    measured: Duration,
    counters: Counters,
    samples: Vec<Sample>,
}

impl Timeline {
    fn with(self, workload: &dyn Workload, tallies: Vec<Tally>) -> Drive {
        let mut kinds: Vec<KindResult> = workload
            .transactions()
            .iter()
            .map(|kind| KindResult {
                name: kind.name,
                committed: 0,
                rolled_back: 0,
                retries: 0,
                latency_us: new_histogram(),
            })
            .collect();
        let mut changed_bytes = 0;
        let mut audit = Audit::default();
        for tally in tallies {
            for (index, kind) in kinds.iter_mut().enumerate() {
                kind.committed += tally.committed[index];
                kind.rolled_back += tally.rolled_back[index];
                kind.retries += tally.retries[index];
                kind.latency_us
                    .add(&tally.latency_us[index])
                    .expect("all histograms have the same bounds");
            }
            changed_bytes += tally.changed_bytes;
            audit.merge(&tally.audit);
        }
        Drive {
            warm_up: self.warm_up,
            warm_up_misses: self.warm_up_misses,
            buffer_filled: self.buffer_filled,
            measured: self.measured,
            kinds,
            counters: self.counters,
            changed_bytes: ByteCount::new(changed_bytes),
            samples: self.samples,
            audit,
        }
    }
}

/// Reads the shared counts each second and moves the run from phase to phase.
struct Sampler<'a> {
    database: &'a dyn Running,
    shared: &'a Shared,
    start: Instant,
    last: (Instant, u64, u64, Counters),
    samples: Vec<Sample>,
}

impl<'a> Sampler<'a> {
    /// Between two looks at the clock and at the interrupt.
    const LOOK: Duration = Duration::from_millis(20);

    fn new(database: &'a dyn Running, shared: &'a Shared) -> Self {
        let now = Instant::now();
        Self {
            database,
            shared,
            start: now,
            last: (now, 0, 0, database.counters()),
            samples: Vec::new(),
        }
    }

    fn follow(
        mut self,
        settings: DriveSettings<'_>,
        boundary: &mut dyn Boundary,
        interrupted: &(dyn Fn() -> bool + Sync),
    ) -> Result<Timeline, DriveError> {
        let frames = settings.memory.get() / u64::from(settings.page_size.get());
        let initial = self.last.3;
        let filled = |counters: Counters| (counters - initial).buffer_misses >= frames;
        let by_count = matches!(settings.length, RunLength::Transactions { .. });

        match settings.length {
            RunLength::Time {
                warm_up_min,
                warm_up_max,
                ..
            } => {
                let start = self.start;
                self.watch(interrupted, |now, counters| {
                    let elapsed = now - start;
                    elapsed >= warm_up_max || (elapsed >= warm_up_min && filled(counters))
                });
            }
            RunLength::Transactions { .. } => {
                self.shared.turn.wait();
            }
        }
        self.sample(false);
        let begin = self.last.0;
        let before = self.last.3;
        boundary.begin();
        self.shared.phase.store(MEASURING, Ordering::Release);

        match settings.length {
            RunLength::Time { measured, .. } => {
                self.watch(interrupted, |now, _| now - begin >= measured);
            }
            RunLength::Transactions { .. } => {
                self.shared.turn.wait();
                self.shared.turn.wait();
            }
        }
        self.shared.phase.store(ENDING, Ordering::Release);
        self.sample(true);
        boundary.end();
        if by_count {
            self.shared.turn.wait();
        }
        if interrupted() {
            return Err(DriveError::Stopped);
        }
        Ok(Timeline {
            warm_up: begin - self.start,
            warm_up_misses: (before - initial).buffer_misses,
            buffer_filled: filled(before),
            measured: self.last.0 - begin,
            counters: self.last.3 - before,
            samples: self.samples,
        })
    }

    /// Samples each second until `done`, an interrupt or a failure.
    fn watch(
        &mut self,
        interrupted: &(dyn Fn() -> bool + Sync),
        done: impl Fn(Instant, Counters) -> bool,
    ) {
        let measured = self.shared.phase.load(Ordering::Acquire) == MEASURING;
        loop {
            thread::sleep(Self::LOOK);
            let now = Instant::now();
            if done(now, self.database.counters())
                || interrupted()
                || self.shared.failed.load(Ordering::Relaxed)
            {
                return;
            }
            if now - self.last.0 >= Duration::from_secs(1) {
                self.sample(measured);
            }
        }
    }

    fn sample(&mut self, measured: bool) {
        let now = Instant::now();
        let transactions = self.shared.transactions.load(Ordering::Relaxed);
        let counted = self.shared.counted.load(Ordering::Relaxed);
        let counters = self.database.counters();
        let since = counters - self.last.3;
        self.samples.push(Sample {
            at: now - self.start,
            measured,
            length: now - self.last.0,
            transactions: transactions - self.last.1,
            counted: counted - self.last.2,
            buffer_misses: since.buffer_misses,
            read_bytes: since.read_bytes,
            written_bytes: since.written_bytes(),
        });
        self.last = (now, transactions, counted, counters);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use octavo_database::StoragePath;
    use octavo_workload::{Condition, TransactionKind, population::Population, schema::Table};

    use super::*;

    /// A database that takes no time and counts statements as misses.
    #[derive(Default)]
    struct Nothing {
        misses: Arc<AtomicU64>,
        conflicts: u64,
    }

    struct Session {
        misses: Arc<AtomicU64>,
        conflicts: u64,
    }

    impl Running for Nothing {
        fn connect(&self, _client: u32) -> Result<Box<dyn Connection + Send>, DatabaseError> {
            Ok(Box::new(Session {
                misses: Arc::clone(&self.misses),
                conflicts: self.conflicts,
            }))
        }

        fn counters(&self) -> Counters {
            Counters {
                buffer_misses: self.misses.load(Ordering::Relaxed),
                ..Counters::default()
            }
        }

        fn conditions(&self) -> Vec<(&'static str, String)> {
            Vec::new()
        }

        fn storage_path(&self) -> StoragePath {
            StoragePath::Direct
        }

        fn stop(self: Box<Self>) -> Result<(), DatabaseError> {
            Ok(())
        }
    }

    impl Connection for Session {
        fn begin(&mut self, _access: Access) -> Result<(), ConnectionError> {
            Ok(())
        }

        fn commit(&mut self) -> Result<(), ConnectionError> {
            if self.conflicts > 0 {
                self.conflicts -= 1;
                return Err(ConnectionError::Conflict("busy".into()));
            }
            Ok(())
        }

        fn rollback(&mut self) -> Result<(), ConnectionError> {
            Ok(())
        }

        fn execute(
            &mut self,
            _statement: StatementId,
            _parameters: &[Value<'_>],
        ) -> Result<u64, ConnectionError> {
            self.misses.fetch_add(1, Ordering::Relaxed);
            Ok(1)
        }

        fn query(
            &mut self,
            _statement: StatementId,
            _parameters: &[Value<'_>],
            _visit: &mut RowVisitor<'_>,
        ) -> Result<u64, ConnectionError> {
            Ok(0)
        }
    }

    /// Plain, deferred and rolled back transactions in turn; each executes one
    /// statement that changes a text of five bytes.
    struct Turns;

    const STATEMENTS: &[Statement] = &[Statement {
        sql: "",
        parameters: &[],
        result: &[],
        changed_parameters: 1,
    }];

    struct Turn {
        drawn: usize,
    }

    impl Workload for Turns {
        fn name(&self) -> &'static str {
            "turns"
        }

        fn tables(&self) -> &'static [Table] {
            &[]
        }

        fn statements(&self) -> &'static [Statement] {
            STATEMENTS
        }

        fn transactions(&self) -> &'static [TransactionKind] {
            const fn kind(name: &'static str, deferred: bool, counted: bool) -> TransactionKind {
                TransactionKind {
                    name,
                    deferred,
                    counted,
                }
            }
            const KINDS: &[TransactionKind] = &[
                kind("plain", false, true),
                kind("deferred", true, false),
                kind("undone", false, true),
            ];
            KINDS
        }

        fn population(&self) -> Arc<dyn Population + Send> {
            unreachable!("nothing is loaded")
        }

        fn client(&self, _seed: Seed, _index: u32, _clients: u32) -> Box<dyn Client> {
            Box::new(Turn { drawn: 0 })
        }

        fn check(
            &self,
            _connection: &mut dyn Connection,
        ) -> Result<Vec<Condition>, ConnectionError> {
            Ok(Vec::new())
        }
    }

    impl Client for Turn {
        fn draw(&mut self) -> usize {
            self.drawn += 1;
            (self.drawn - 1) % 3
        }

        fn run(&mut self, connection: &mut dyn Connection) -> Result<Outcome, ConnectionError> {
            connection.execute(StatementId(0), &[Value::Text("five!")])?;
            if (self.drawn - 1) % 3 == 2 {
                connection.rollback()?;
                return Ok(Outcome::RolledBack);
            }
            connection.commit()?;
            Ok(Outcome::Committed)
        }

        fn defer(&mut self) {}

        fn run_deferred(
            &mut self,
            connection: &mut dyn Connection,
        ) -> Result<Outcome, ConnectionError> {
            self.run(connection)
        }

        fn audit(&self) -> Audit {
            Audit::default()
        }
    }

    #[derive(Default)]
    struct Calls(Vec<&'static str>);

    impl Boundary for Calls {
        fn begin(&mut self) {
            self.0.push("begin");
        }

        fn end(&mut self) {
            self.0.push("end");
        }
    }

    fn settings(clients: u32, length: RunLength) -> DriveSettings<'static> {
        DriveSettings {
            workload: &Turns,
            seed: Seed::new(1),
            clients,
            length,
            page_size: PageSize::MIN,
            memory: ByteCount::kib(2),
        }
    }

    #[test]
    fn exactly_so_many_transactions_are_measured() {
        let mut calls = Calls::default();
        let drive = drive(
            &Nothing::default(),
            settings(
                3,
                RunLength::Transactions {
                    warm_up: 30,
                    measured: 300,
                },
            ),
            &mut calls,
            &|| false,
        )
        .unwrap();
        assert_eq!(calls.0, ["begin", "end"]);
        assert_eq!(drive.transactions(), 900);
        assert_eq!(drive.counted(&Turns), 300);
        assert_eq!(drive.kinds[1].committed, 300);
        assert_eq!(drive.kinds[2].rolled_back, 300);
        assert_eq!(drive.counters.buffer_misses, 900);
        // What was rolled back changed nothing: 600 commits of 5 bytes.
        assert_eq!(drive.changed_bytes, ByteCount::new(3000));
        assert!(drive.buffer_filled, "90 misses fill 4 frames");
        assert_eq!(drive.kinds[0].latency_us.len(), 300);
    }

    #[test]
    fn conflicts_are_retried_and_counted() {
        let database = Nothing {
            conflicts: 5,
            ..Nothing::default()
        };
        let length = RunLength::Transactions {
            warm_up: 0,
            measured: 3,
        };
        let drive = drive(
            &database,
            settings(1, length),
            &mut Calls::default(),
            &|| false,
        );
        let drive = drive.unwrap();
        assert_eq!(drive.kinds[0].retries, 5);
        assert_eq!(drive.kinds[0].committed, 1);

        let hopeless = Nothing {
            conflicts: u64::MAX,
            ..Nothing::default()
        };
        let error = super::drive(
            &hopeless,
            settings(2, length),
            &mut Calls::default(),
            &|| false,
        )
        .unwrap_err();
        assert!(error.to_string().starts_with("plain of client"), "{error}");
    }

    #[test]
    fn an_interrupt_ends_both_kinds_of_runs() {
        for length in [
            RunLength::Transactions {
                warm_up: u64::MAX,
                measured: u64::MAX,
            },
            RunLength::Time {
                warm_up_min: Duration::MAX,
                warm_up_max: Duration::MAX,
                measured: Duration::MAX,
            },
        ] {
            let looks = AtomicU64::new(0);
            let error = drive(
                &Nothing::default(),
                settings(2, length),
                &mut Calls::default(),
                &|| looks.fetch_add(1, Ordering::Relaxed) > 3,
            )
            .unwrap_err();
            assert!(matches!(error, DriveError::Stopped), "{error}");
        }
    }

    #[test]
    fn samples_add_up_to_the_run() {
        let drive = drive(
            &Nothing::default(),
            settings(
                1,
                RunLength::Time {
                    warm_up_min: Duration::from_millis(50),
                    warm_up_max: Duration::from_millis(50),
                    measured: Duration::from_millis(1100),
                },
            ),
            &mut Calls::default(),
            &|| false,
        )
        .unwrap();
        let measured: Vec<&Sample> = drive.samples.iter().filter(|s| s.measured).collect();
        let length: Duration = measured.iter().map(|sample| sample.length).sum();
        assert_eq!(length, drive.measured);
        assert!(measured.len() >= 2, "{measured:?}");
        let misses: u64 = measured.iter().map(|sample| sample.buffer_misses).sum();
        assert_eq!(misses, drive.counters.buffer_misses);
    }
}
