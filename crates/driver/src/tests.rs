//! Driving a database that takes no time, or as much as it is told.

mod losses;
mod sliced;

use std::{
    collections::VecDeque,
    mem,
    sync::{
        Arc, Mutex, OnceLock,
        atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use octavo_database::{Counters, DatabaseError, Running, StoragePath};
use octavo_units::{ByteCount, Rate, Seed};
use octavo_workload::{
    Audit, Client, Condition, Connection, ConnectionError, DataSpec, Mix, Outcome, Pace,
    TransactionKind, Workload,
    connection::{Access, Conflict, RowVisitor, Statement, StatementId, Value},
    population::Population,
    schema::Table,
    touch::TouchTracer,
};

use crate::{
    ArrivalProcess, Backlog, ClientSteps, DriverError, DriverObserver, DriverSettings, Load,
    Measurement, RETRIES, Ramp, RunLength, Sample, Unobserved,
    counter_reader::CounterReader,
    drive,
    pool::Pool,
    recorder::lock,
    steady::{Cycles, Label},
};

/// A database that counts statements as misses.
#[derive(Default)]
struct Nothing {
    behaviour: Arc<Behaviour>,
}

#[derive(Default)]
struct Behaviour {
    misses: AtomicU64,
    connects: AtomicU32,
    /// What commits answer, one after the other, before they succeed.
    failures: Mutex<VecDeque<ConnectionError>>,
    /// How long a commit takes.
    commit: Duration,
    /// How many times as long after such a time, if that changes.
    slowness: Option<fn(Duration) -> f64>,
    began: OnceLock<Instant>,
    /// Between the ends of two checkpoints, if there are any.
    checkpoint: Option<Duration>,
    /// Neither commits nor counters come while this is held.
    outage: Mutex<Option<Outage>>,
    /// How long it takes until counters are read.
    reading: Duration,
    panics: bool,
    /// It takes no connection any more.
    is_gone: AtomicBool,
}

impl Nothing {
    fn failing(failures: impl IntoIterator<Item = ConnectionError>) -> Self {
        Self {
            behaviour: Arc::new(Behaviour {
                failures: Mutex::new(failures.into_iter().collect()),
                ..Behaviour::default()
            }),
        }
    }

    fn slow(commit: Duration) -> Self {
        Self {
            behaviour: Arc::new(Behaviour {
                commit,
                ..Behaviour::default()
            }),
        }
    }
}

impl Behaviour {
    /// Since somebody asked first.
    fn elapsed(&self) -> Duration {
        self.began.get_or_init(Instant::now).elapsed()
    }
}

struct Outage {
    /// Commits until then.
    after: u32,
    length: Duration,
}

struct Link(Arc<Behaviour>);

impl Running for Nothing {
    fn connect(&self, _client: u32) -> Result<Box<dyn Connection + Send>, DatabaseError> {
        self.behaviour.connects.fetch_add(1, Ordering::Relaxed);
        if self.behaviour.is_gone.load(Ordering::Relaxed) {
            return Err(ConnectionError::Lost("it is gone".into()).into());
        }
        Ok(Box::new(Link(Arc::clone(&self.behaviour))))
    }

    fn counters(&self) -> Counters {
        drop(lock(&self.behaviour.outage));
        thread::sleep(self.behaviour.reading);
        Counters {
            buffer_misses: self.behaviour.misses.load(Ordering::Relaxed),
            checkpoints: self.behaviour.checkpoint.map_or(0, |cycle| {
                (self.behaviour.elapsed().as_nanos() / cycle.as_nanos()) as u64
            }),
            ..Counters::default()
        }
    }

    fn conditions(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    fn storage_path(&self) -> StoragePath {
        StoragePath::Direct
    }

    fn death(&self) -> Option<String> {
        let is_gone = self.behaviour.is_gone.load(Ordering::Relaxed);
        is_gone.then(|| "planted".into())
    }

    fn stop(self: Box<Self>) -> Result<(), DatabaseError> {
        Ok(())
    }
}

impl Connection for Link {
    fn begin(&mut self, _access: Access) -> Result<(), ConnectionError> {
        Ok(())
    }

    fn commit(&mut self) -> Result<(), ConnectionError> {
        assert!(!self.0.panics, "planted");
        if let Some(outage) = &mut *lock(&self.0.outage) {
            if outage.after == 0 {
                thread::sleep(mem::take(&mut outage.length));
            }
            outage.after = outage.after.saturating_sub(1);
        }
        if !self.0.commit.is_zero() {
            let slowness = self.0.slowness.map_or(1.0, |of| of(self.0.elapsed()));
            thread::sleep(self.0.commit.mul_f64(slowness));
        }
        match lock(&self.0.failures).pop_front() {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    fn rollback(&mut self) -> Result<(), ConnectionError> {
        Ok(())
    }

    fn execute(
        &mut self,
        _statement: StatementId,
        _parameters: &[Value<'_>],
    ) -> Result<u64, ConnectionError> {
        self.0.misses.fetch_add(1, Ordering::Relaxed);
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
    is_private: false,
    is_planned_by_values: false,
    tables: &[],
}];

const KEYING: Duration = Duration::from_millis(20);

const fn kind(name: &'static str, deferred: bool, counted: bool) -> TransactionKind {
    TransactionKind {
        name,
        deferred,
        counted,
        counts_rollbacks: false,
        response_limit: None,
        pace: Some(Pace {
            keying: KEYING,
            think_mean: Duration::from_millis(1),
        }),
    }
}

const KINDS: &[TransactionKind] = &[
    kind("plain", false, true),
    kind("deferred", true, false),
    kind("undone", false, true),
];

struct Turn {
    drawn: u64,
}

impl Workload for Turns {
    fn name(&self) -> &'static str {
        "turns"
    }

    fn data_spec(&self) -> DataSpec {
        unreachable!("nothing is loaded")
    }

    fn tables(&self) -> &[Table] {
        &[]
    }

    fn statements(&self) -> &'static [Statement] {
        STATEMENTS
    }

    fn transactions(&self) -> &'static [TransactionKind] {
        KINDS
    }

    fn mix(&self) -> &Mix {
        unreachable!("the kinds come in turns")
    }

    fn counted_name(&self) -> &'static str {
        "turns"
    }

    fn population(&self) -> Arc<dyn Population + Send> {
        unreachable!("nothing is loaded")
    }

    fn clients(&self, _seed: Seed, count: u32) -> Vec<Box<dyn Client>> {
        (0..count)
            .map(|_| Box::new(Turn { drawn: 0 }) as Box<dyn Client>)
            .collect()
    }

    fn touch_tracer(&self) -> TouchTracer {
        unreachable!("nothing is predicted of it")
    }
    fn check(&self, _connection: &mut dyn Connection) -> Result<Vec<Condition>, ConnectionError> {
        Ok(Vec::new())
    }
}

impl Client for Turn {
    fn draw(&mut self) -> usize {
        self.drawn += 1;
        ((self.drawn - 1) % 3) as usize
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

    /// One line a terminal, so that merging shows how many there were.
    fn audit(&self) -> Audit {
        Audit {
            lines: vec![octavo_workload::AuditLine {
                name: "drawn".into(),
                count: self.drawn,
                total: 1,
                wanted: 0.0,
                rule: octavo_workload::AuditRule::AtMost,
            }],
            distributions: Vec::new(),
            ..Audit::default()
        }
    }
}

#[derive(Default)]
struct Calls(Vec<&'static str>);

impl DriverObserver for Calls {
    fn begin(&mut self) {
        self.0.push("begin");
    }

    fn end(&mut self) {
        self.0.push("end");
    }
}

fn settings(connections: u32, length: RunLength) -> DriverSettings<'static> {
    DriverSettings {
        workload: &Turns,
        seed: Seed::new(1),
        connections,
        load: Load::Closed {
            terminals: connections,
        },
        retries: RETRIES,
        length,
        keep_interrupted: false,
        frames: 4,
    }
}

fn transactions(warm_up: u64, measured: u64) -> RunLength {
    RunLength::Transactions { warm_up, measured }
}

fn milliseconds(warm_up: u64, measured: u64) -> RunLength {
    RunLength::Time {
        warm_up_min: Duration::from_millis(warm_up),
        warm_up_max: Duration::from_millis(warm_up),
        measured: Duration::from_millis(measured),
    }
}

fn run(database: &Nothing, settings: DriverSettings<'_>) -> Result<Measurement, DriverError> {
    drive(database, settings, &mut Unobserved, &|| false)
}

fn conflict(kind: Conflict) -> ConnectionError {
    ConnectionError::Conflict {
        kind,
        source: "planted".into(),
    }
}

#[test]
fn exactly_so_many_transactions_are_measured() {
    let mut calls = Calls::default();
    let settings = settings(3, transactions(30, 300));
    let drive = drive(&Nothing::default(), settings, &mut calls, &|| false).unwrap();
    assert_eq!(calls.0, ["begin", "end"]);
    assert_eq!(drive.transactions(), 900);
    assert_eq!(drive.counted(), 300);
    let kinds = &drive.counts.kinds;
    assert_eq!((&*kinds[1].name, kinds[1].committed()), ("deferred", 300));
    assert_eq!(kinds[2].rolled_back(), 300);
    assert_eq!(drive.counters.buffer_misses, 900);
    // What was rolled back changed nothing: 600 commits of 5 bytes.
    assert_eq!(drive.changed_bytes(), ByteCount::new(3000));
    assert!(drive.buffer_filled, "90 misses fill 4 frames");
    assert_eq!(kinds[0].latencies.count(), 300);
    // Three clients drew what was run, warm-up included.
    let line = &drive.audit.lines[0];
    assert_eq!((line.count, line.total), (990, 3));
}

#[test]
fn clients_wait_until_counters_are_read() {
    let database = Nothing {
        behaviour: Arc::new(Behaviour {
            reading: Duration::from_millis(50),
            ..Behaviour::default()
        }),
    };
    let drive = run(&database, settings(3, transactions(30, 300))).unwrap();
    assert_eq!(drive.warm_up_misses, 90);
    assert!(drive.buffer_filled);
    assert_eq!(drive.counters.buffer_misses, 900);
}

#[test]
fn conflicts_are_retried_and_counted_by_kind() {
    let failures = [
        conflict(Conflict::Deadlock),
        conflict(Conflict::Serialisation),
        conflict(Conflict::Serialisation),
        conflict(Conflict::LockTimeout),
    ];
    let drive = run(&Nothing::failing(failures), settings(1, transactions(0, 3))).unwrap();
    let plain = &drive.counts.kinds[0];
    assert_eq!((plain.committed(), plain.retries()), (1, 4));
    assert_eq!(plain.conflicts(Conflict::Deadlock), 1);
    assert_eq!(plain.conflicts(Conflict::Serialisation), 2);
    assert_eq!(plain.conflicts(Conflict::LockTimeout), 1);
    assert_eq!(drive.counts.failed(), 0);
}

#[test]
fn a_transaction_past_its_retries_counts_as_given_up() {
    let failures = (0..3).map(|_| conflict(Conflict::Deadlock));
    let drive = run(
        &Nothing::failing(failures),
        DriverSettings {
            retries: 2,
            ..settings(1, transactions(0, 6))
        },
    )
    .unwrap();
    let plain = &drive.counts.kinds[0];
    assert_eq!((plain.gave_up(), plain.retries()), (1, 2));
    // The first of two was given up; what it wrote counts for nothing.
    assert_eq!((plain.committed(), plain.latencies.count()), (1, 1));
    assert_eq!(drive.changed_bytes(), ByteCount::new(3 * 5));
}

#[test]
fn timeouts_and_lost_connections_are_counted_and_not_repeated() {
    let database = Nothing::failing([
        ConnectionError::Timeout("planted".into()),
        ConnectionError::Lost("planted".into()),
    ]);
    let drive = run(&database, settings(1, transactions(0, 9))).unwrap();
    let [plain, deferred, undone] = &drive.counts.kinds[..] else {
        panic!("three kinds")
    };
    assert_eq!((plain.timed_out(), plain.committed()), (1, 2));
    assert_eq!((deferred.lost(), deferred.committed()), (1, 2));
    assert_eq!((undone.failed(), drive.counts.failed()), (0, 2));
    let connects = database.behaviour.connects.load(Ordering::Relaxed);
    assert_eq!(connects, 2, "the lost connection was replaced");
}

#[test]
fn any_other_error_ends_the_run() {
    let database = Nothing::failing([ConnectionError::Full("planted".into())]);
    let error = run(&database, settings(2, transactions(0, 1000))).unwrap_err();
    assert!(error.to_string().starts_with("plain of client"), "{error}");
}

#[test]
#[should_panic(expected = "a client's thread does not panic")]
fn a_panic_of_ours_does_not_hang_the_run() {
    let database = Nothing {
        behaviour: Arc::new(Behaviour {
            panics: true,
            ..Behaviour::default()
        }),
    };
    // By the clock an hour, unless the panic ends it.
    let _unreached = run(&database, settings(2, milliseconds(0, 3_600_000)));
}

#[test]
fn an_interrupt_ends_every_kind_of_run() {
    let forever = RunLength::Time {
        warm_up_min: Duration::MAX,
        warm_up_max: Duration::MAX,
        measured: Duration::MAX,
    };
    let closed = |terminals| Load::Closed { terminals };
    let hourly = Load::Open {
        rate: Rate::per_second(1.0 / 3600.0).unwrap(),
        arrivals: ArrivalProcess::Constant,
    };
    for (load, length) in [
        (closed(2), transactions(u64::MAX, u64::MAX)),
        (closed(2), forever),
        (closed(5), forever),
        (hourly, forever),
        (Load::Paced { terminals: 1 }, forever),
    ] {
        let looks = AtomicU64::new(0);
        let error = drive(
            &Nothing::default(),
            DriverSettings {
                load,
                ..settings(2, length)
            },
            &mut Unobserved,
            &|| looks.fetch_add(1, Ordering::Relaxed) > 3,
        )
        .unwrap_err();
        assert!(matches!(error, DriverError::Stopped), "{load:?} {error}");
    }
}

#[test]
fn what_was_measured_before_an_interrupt_can_be_kept() {
    struct Interrupt(AtomicU64);
    impl DriverObserver for &Interrupt {
        fn begin(&mut self) {
            self.0.store(1, Ordering::Relaxed);
        }
    }
    for length in [transactions(10, u64::MAX), milliseconds(10, 3_600_000)] {
        let interrupt = Interrupt(AtomicU64::new(0));
        // Some looks after measuring has begun.
        let interrupted = || {
            interrupt.0.load(Ordering::Relaxed) > 0
                && interrupt.0.fetch_add(1, Ordering::Relaxed) > 3
        };
        let settings = DriverSettings {
            keep_interrupted: true,
            ..settings(1, length)
        };
        let database = Nothing::slow(Duration::from_micros(100));
        let drive = drive(&database, settings, &mut &interrupt, &interrupted).unwrap();
        assert!(drive.interrupted);
        assert!(drive.transactions() > 0);
    }
}

#[test]
fn samples_add_up_to_the_run() {
    // Numbers of transactions are never cut. Two of three commit.
    let database = Nothing::slow(Duration::from_millis(3));
    // Samples that come late on a busy machine are longer, and one that lasts until the end
    // is the only one.
    let mut runs = [500, 1500, 4500].into_iter().map(|count| {
        let drive = run(&database, settings(1, transactions(10, count)));
        (count, drive.unwrap())
    });
    let has_several =
        |(_, drive): &(u64, Measurement)| drive.series.iter().filter(|s| s.measured).count() >= 2;
    let (count, drive) = runs.find(has_several).unwrap();
    let measured: Vec<&Sample> = drive.series.iter().filter(|s| s.measured).collect();
    let length: Duration = measured.iter().map(|sample| sample.length).sum();
    assert_eq!(length, drive.measured);
    let misses: u64 = measured.iter().map(|sample| sample.buffer_misses).sum();
    assert_eq!(misses, drive.counters.buffer_misses);
    let ended: u64 = measured.iter().map(|sample| sample.transactions).sum();
    assert_eq!((ended, drive.transactions()), (count, count));
    assert_eq!(drive.steadiness.cut_s, 0.0);
}

/// Says where the figures begin and what the misses were there.
struct Edges<'a> {
    database: &'a Nothing,
    misses: Vec<u64>,
    first: Option<usize>,
    ended: bool,
}

impl<'a> Edges<'a> {
    fn of(database: &'a Nothing) -> Self {
        Self {
            database,
            misses: Vec::new(),
            first: None,
            ended: false,
        }
    }

    fn read(&mut self) {
        self.misses.push(self.database.counters().buffer_misses);
    }
}

impl DriverObserver for Edges<'_> {
    /// With a conflict in what may be cut.
    fn begin(&mut self) {
        self.read();
        lock(&self.database.behaviour.failures).push_back(conflict(Conflict::Deadlock));
    }

    fn edge(&mut self) {
        assert!(!self.ended);
        self.read();
    }

    fn end(&mut self) {
        self.ended = true;
    }

    fn figures_from(&mut self, edge: usize) {
        assert!(self.ended);
        self.first = Some(edge);
    }
}

#[test]
fn an_outage_is_as_long_as_it_was_and_stays_in_the_figures() {
    /// The server stops some commits after the measured part has begun.
    struct Stopping<'a>(&'a Nothing);
    const LENGTH: Duration = Duration::from_millis(400);
    impl DriverObserver for Stopping<'_> {
        fn begin(&mut self) {
            *lock(&self.0.behaviour.outage) = Some(Outage {
                after: 30,
                length: LENGTH,
            });
        }
    }
    let open = Load::Open {
        rate: Rate::per_second(300.0).unwrap(),
        arrivals: ArrivalProcess::Constant,
    };
    for load in [Load::Closed { terminals: 1 }, open] {
        let database = Nothing::slow(Duration::from_millis(1));
        let settings = DriverSettings {
            load,
            ..settings(1, milliseconds(20, 2000))
        };
        let found = drive(&database, settings, &mut Stopping(&database), &|| false).unwrap();
        assert_eq!(found.steadiness.cut_s, 0.0, "{:?}", found.steadiness);
        let stall_s = found.stability.longest_stall_s;
        // Commits came before and after it.
        let longest = found.measured.as_secs_f64();
        assert!(
            (LENGTH.as_secs_f64()..longest).contains(&stall_s),
            "{load:?}: {stall_s}"
        );
        assert!(found.counts.percentiles().max_us >= LENGTH.as_micros() as u64 * 99 / 100);
    }
}

#[test]
fn counters_that_do_not_come_are_those_before() {
    let database = Nothing::default();
    let misses = |count| database.behaviour.misses.store(count, Ordering::Relaxed);
    thread::scope(|scope| {
        let mut reader = CounterReader::start(scope, &database, database.counters(), |error| {
            panic!("{error}")
        });
        misses(5);
        let mut read = |patience| {
            let reading = reader.read(patience);
            (reading.counters.buffer_misses, reading.is_fresh)
        };
        assert_eq!(read(Duration::MAX), (5, true));
        let outage = lock(&database.behaviour.outage);
        misses(7);
        assert_eq!(read(Duration::ZERO), (5, false));
        drop(outage);
        assert_eq!(read(Duration::MAX), (7, true));
    });
}

fn varying(commit: Duration, slowness: fn(Duration) -> f64) -> Nothing {
    Nothing {
        behaviour: Arc::new(Behaviour {
            commit,
            slowness: Some(slowness),
            ..Behaviour::default()
        }),
    }
}

#[test]
fn a_slow_beginning_is_left_out_of_all_figures_alike() {
    // Half a second in which a commit takes 20 ms instead of one.
    let slow = |since: Duration| {
        if since < Duration::from_millis(500) {
            20.0
        } else {
            1.0
        }
    };
    // The slow ones took 20 ms. On a busy machine any commit may, or all be so slow that
    // the beginning is not: until a run shows it.
    let is_shown = |drive: &Measurement| {
        let latencies = &drive.counts.kinds[0].latencies;
        let slow_ones = latencies.histogram().count_between(19_500, 600_000_000);
        drive.steadiness.cut_s > 0.4 && slow_ones < 20
    };
    let mut runs = (0..20).map(|_| {
        let database = varying(Duration::from_millis(1), slow);
        let mut edges = Edges::of(&database);
        let settings = settings(1, milliseconds(50, 2000));
        let drive = drive(&database, settings, &mut edges, &|| false).unwrap();
        (drive, edges.first, edges.misses)
    });
    let shown = runs.find(|(drive, ..)| is_shown(drive));
    let (drive, first, all_misses) = shown.expect("a slow beginning is noticed in one of 20 runs");
    let found = drive.steadiness;
    // Its conflict is not left out.
    assert_eq!((drive.counts.retries(), drive.counts.failed()), (1, 0));
    let in_what_was_cut = drive.series.iter().filter(|sample| sample.cut);
    assert_eq!(in_what_was_cut.map(|sample| sample.retries).sum::<u64>(), 1);
    // One miss a transaction; one may be under way at each end, and some go on
    // between an edge and its observer.
    let misses = drive.counters.buffer_misses;
    assert!(misses.abs_diff(drive.transactions()) <= 2, "{misses}");
    let first = first.unwrap();
    let last = all_misses.len() - 1;
    assert!(first > 0 && first < last);
    let seen = all_misses[last] - all_misses[first];
    assert!(seen.abs_diff(misses) <= 40, "{seen} {misses}");
    let all = all_misses[last] - all_misses[0];
    assert!(all > misses, "{all} {misses}");
    let latencies: u64 = drive
        .counts
        .kinds
        .iter()
        .map(|kind| kind.latencies.count())
        .sum();
    assert_eq!(latencies, drive.transactions());
    assert_eq!(drive.counts.late.count(), drive.transactions());
    // The seconds of the figures add up to them.
    let measured = || drive.series.iter().filter(|sample| sample.measured);
    let transactions: u64 = measured().map(|sample| sample.transactions).sum();
    assert_eq!(transactions, drive.transactions());
    let read: u64 = measured().map(|sample| sample.buffer_misses).sum();
    assert_eq!(read, misses);
    for sample in &drive.series {
        let begin = sample.at.saturating_sub(sample.length);
        let from = drive.warm_up.as_secs_f64() + found.cut_s;
        assert_eq!(sample.measured, begin.as_secs_f64() >= from - 1e-6);
    }
}

#[test]
fn few_checkpoints_are_measured_in_whole_cycles() {
    let cycle = Duration::from_millis(230);
    let database = Nothing {
        behaviour: Arc::new(Behaviour {
            commit: Duration::from_millis(1),
            checkpoint: Some(cycle),
            ..Behaviour::default()
        }),
    };
    let drive = run(&database, settings(1, milliseconds(600, 1200))).unwrap();
    let Cycles::Whole { count } = drive.steadiness.cycles else {
        panic!("{:?}", drive.steadiness);
    };
    assert!(count > 0);
    assert!(drive.measured.as_secs_f64() + drive.steadiness.cut_s >= 1.2);
}

#[test]
fn clients_of_a_ramp_begin_step_by_step() {
    let commit = Duration::from_millis(10);
    let database = Nothing::slow(commit);
    let ramp = Ramp {
        clients: ClientSteps::new(1, 4, 1).unwrap(),
        step: Duration::from_millis(300),
    };
    let settings = DriverSettings {
        load: Load::Ramp(ramp),
        ..settings(4, milliseconds(100, 1200))
    };
    let measured = run(&database, settings).unwrap();
    // One, two, three and four clients for 300 ms each, and neither four nor one for all the
    // time. One transaction in three is rolled back, which takes no time.
    let (one, wanted, all) = (120, 300, 480);
    // On a busy machine it ends late, with all four at work.
    let late_s = measured.measured.as_secs_f64() - 1.2;
    let wanted = wanted + (late_s.max(0.0) * 4.0 / commit.as_secs_f64()) as u64;
    let found = measured.transactions() * 2 / 3;
    assert!(
        found <= wanted * 11 / 10,
        "{found} of at most {wanted}, or {all}"
    );
    assert!(found > one * 11 / 10, "{found}, or {one}");
    assert_eq!(measured.steadiness.label, Label::NotJudged);
    assert_eq!(measured.steadiness.cut_s, 0.0);
}

#[test]
fn an_open_loop_counts_from_the_schedule_and_shows_what_waits() {
    // Two of three transactions take 5 ms: one connection does at most 300 a
    // second, and 3,000 arrive.
    let rate = Rate::per_second(3000.0).unwrap();
    let length = milliseconds(100, 400);
    for arrivals in [ArrivalProcess::Constant, ArrivalProcess::Poisson] {
        let drive = run(
            &Nothing::slow(Duration::from_millis(5)),
            DriverSettings {
                load: Load::Open { rate, arrivals },
                ..settings(1, length)
            },
        )
        .unwrap();
        let backlog = drive.backlog.unwrap();
        assert!(backlog.is_saturated(1), "{backlog:?}");
        let expected = drive.measured.as_secs_f64() * 3000.0;
        // Of Poisson arrivals the standard deviation is the root, about 35.
        assert!((backlog.offered as f64 - expected).abs() < 6.0 * expected.sqrt());
        let ended = drive.transactions();
        // One may have begun before the measured part.
        let added = backlog.end - backlog.begin;
        assert!(
            (added + ended).abs_diff(backlog.offered) <= 2,
            "{added} waiting and {ended} ended of {backlog:?}"
        );
        // In the middle of the measured part transactions wait since 0.27 s.
        assert!(drive.counts.percentiles().p50_us > 100_000);
        assert!(drive.counts.late.percentiles().p50_us > 100_000);
    }
}

#[test]
fn a_line_that_was_there_before_is_saturation_as_well() {
    let backlog = |begin, end| Backlog {
        begin,
        end,
        offered: 100_000,
        bound: 500,
    };
    assert!(!backlog(0, 400).is_saturated(2));
    assert!(backlog(600, 0).is_saturated(2));
    assert!(backlog(0, 501).is_saturated(2));
    let slowly = Backlog {
        bound: 100_000,
        ..backlog(10, 1011)
    };
    assert!(slowly.is_saturated(2));
    assert!(!slowly.is_saturated(200), "that many may meet by chance");
}

#[test]
fn operators_that_stand_in_line_are_saturation() {
    // Two hundred operators come about every 21 ms, and a commit takes 5 ms.
    let drive = run(
        &Nothing::slow(Duration::from_millis(5)),
        DriverSettings {
            load: Load::Paced { terminals: 200 },
            ..settings(1, milliseconds(200, 300))
        },
    )
    .unwrap();
    let backlog = drive.backlog.unwrap();
    assert!(backlog.is_saturated(1), "{backlog:?}");
    assert!(drive.counts.late.percentiles().p50_us > 20_000);
}

#[test]
fn terminals_share_connections_in_turn() {
    // Twelve terminals wait for two connections: six times a commit's time,
    // in two of three transactions.
    let drive = run(
        &Nothing::slow(Duration::from_millis(3)),
        DriverSettings {
            load: Load::Closed { terminals: 12 },
            ..settings(2, milliseconds(50, 300))
        },
    )
    .unwrap();
    let median = drive.counts.percentiles().p50_us;
    assert!(median >= 6 * 2 * 1000, "{median} us");
    let line = &drive.audit.lines[0];
    assert_eq!(line.total, 12, "every terminal comes back");
    // First come, first served: nobody is left out.
    assert!(line.count >= 12 * 3, "{line:?}");
    assert!(drive.backlog.is_none());
}

#[test]
fn paced_operators_submit_at_most_once_a_keying_time() {
    let drive = run(
        &Nothing::default(),
        DriverSettings {
            load: Load::Paced { terminals: 8 },
            ..settings(2, milliseconds(100, 400))
        },
    )
    .unwrap();
    // At most one in the time of keying, from each; and one that was on its
    // way.
    let most = 8 * (drive.measured.as_millis() / KEYING.as_millis() + 1) as u64;
    let ended = drive.transactions();
    assert!(ended <= most, "{ended} of at most {most}");
    assert!(ended > 0, "{ended}");
    assert_eq!(drive.audit.lines[0].total, 8);
}

#[test]
fn operators_begin_anywhere_in_their_cycles() {
    // A cycle takes 21 ms on average: some are due at once, none much later.
    let pool = Pool::new(Turns.clients(Seed::new(1), 200), KINDS, true, Seed::new(1));
    let begin = pool.next_due().unwrap();
    let share = |milliseconds| {
        let due = pool.waiting_at(begin + Duration::from_millis(milliseconds));
        due as f64 / 200.0
    };
    assert!((0.3..0.65).contains(&share(10)), "{}", share(10));
    assert!(share(20) > 0.8 && share(40) > 0.98);
}

#[test]
fn an_operator_waits_for_its_answer_unless_it_is_deferred() {
    let pool = Pool::new(Turns.clients(Seed::new(1), 1), KINDS, true, Seed::new(1));
    let long_ago = Instant::now() - Duration::from_secs(60);
    // All kinds in turn.
    for _ in 0..KINDS.len() {
        let waiting = pool.take(|| false).unwrap();
        let goes_on = KINDS[waiting.terminal.kind].deferred;
        assert!(waiting.due <= Instant::now());
        let answered = Instant::now();
        pool.give_back(long_ago, waiting.terminal);
        let waits = pool.next_due().unwrap() >= answered + KEYING;
        assert_eq!(waits, !goes_on);
    }
}
