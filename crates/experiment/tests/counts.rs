//! Predicted counts beside those of real databases that execute the same transactions:
//! reads, bytes of the log, bytes of pages. None that is compared depends on a clock, but
//! MariaDB's, whose buffer pool asks how long ago a page came: its transactions are paced,
//! and the model is told how long they took.

use std::{
    fs,
    ops::ControlFlow,
    path::Path,
    thread,
    time::{Duration, Instant},
};

use octavo_database::{Database, DatabaseSpec, Derive, Registry, Running, Settings, Sqlite};
use octavo_device::simulated::Constant;
use octavo_predict::{CpuCost, Done, Miniature, Model, Purpose, Setup, Slowness, System, model_of};
use octavo_storage::location::Location;
use octavo_units::{ByteCount, PageSize, Seed};
use octavo_workload::{Client, Connection, Pgbench, Tpcc, Workload, Ycsb, ycsb::Core};

const INPUTS: Seed = Seed::new(5);

/// Reads, bytes to the log and bytes to the database, of each transaction.
type Counts = [f64; 3];

const LOG_BYTES: &str = "log bytes";

/// How far each may be off.
const ERRORS_MAX: Counts = [0.04, 0.04, 0.1];

/// How many transactions are executed, and how often.
#[derive(Clone, Copy)]
struct Length {
    warm_up: u64,
    counted: u64,
    /// From the begin of one to that of the next, at least.
    pace: Duration,
}

impl Length {
    const fn of(counted: u64) -> Self {
        Self {
            warm_up: 600,
            counted,
            pace: Duration::ZERO,
        }
    }
}

fn predicted(setup: &Setup, workload: &dyn Workload, length: Length) -> Counts {
    let device = Constant::new(ByteCount::mib(4096), 1000);
    let mut system = System::new(workload, setup, Box::new(device)).unwrap();
    let mut counts = Counts::default();
    system.run(length.warm_up, &mut |_| ()).unwrap();
    let each = &mut |done: &Done| {
        counts[0] += (done.asked(Purpose::Read).requests + done.referred.made) as f64;
        counts[1] += done.referred.logged as f64;
        for purpose in [Purpose::Checkpoint, Purpose::Background] {
            counts[2] += done.asked(purpose).bytes as f64;
        }
    };
    system.run(length.counted, each).unwrap();
    counts.map(|count| count / length.counted as f64)
}

fn size(bytes: u32) -> PageSize {
    PageSize::new(bytes).unwrap()
}

fn go_on(_: u64) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

/// An experiment on a database with so much memory.
struct Trial<'a> {
    database: &'a dyn Database,
    model: Model,
    workload: &'a dyn Workload,
    memory: ByteCount,
    length: Length,
    /// How far each count may be off; a count that is not there depends on a clock.
    errors_max: &'a [f64],
    /// Bytes of the log that the server writes at once whenever it is time, so that a run may have
    /// one of them more or less.
    burst: ByteCount,
}

impl Trial<'_> {
    /// Counts, and how long each transaction took.
    fn measured(&self, run: &Path, settings: &Settings) -> (Counts, Duration) {
        let running: Box<dyn Running> = self.database.start(run, settings, self.workload).unwrap();
        let mut connection: Box<dyn Connection + Send> = running.connect(0).unwrap();
        let mut client: Box<dyn Client> = self.workload.clients(INPUTS, 1).remove(0);
        let Length {
            warm_up,
            counted,
            pace,
        } = self.length;
        let begin = Instant::now();
        let mut due = begin;
        let mut execute = |count| {
            for _ in 0..count {
                client.draw();
                client.run(&mut *connection).unwrap();
                due = (due + pace).max(Instant::now());
                thread::sleep(due.saturating_duration_since(Instant::now()));
            }
            running.flush().unwrap();
            running.counters()
        };
        let before = execute(warm_up);
        let counters = execute(counted) - before;
        let took = begin.elapsed().div_f64((warm_up + counted) as f64);
        drop(connection);
        running.stop().unwrap();
        let counts = [
            counters.reads,
            counters.log_written_bytes.get(),
            counters.data_written_bytes.get(),
        ];
        (counts.map(|count| count as f64 / counted as f64), took)
    }

    /// What is wrong with the counts predicted for the loaded database in `run`.
    fn differences(&self, run: &Path, page_size: PageSize) -> Vec<String> {
        let settings = Settings {
            page_size,
            memory: self.memory,
            clients: 1,
            isolation: None,
        };
        let (measured, took) = self.measured(run, &settings);
        let setup = Setup {
            model: self.model.clone(),
            page_size,
            memory: self.database.buffer(self.memory).unwrap(),
            miniature: Miniature::WHOLE,
            clients: 1,
            processors: 1,
            seed: INPUTS,
            cpu: CpuCost {
                transaction_ns: took.as_nanos() as f64,
                ..CpuCost::default()
            },
            weights: Vec::new(),
            slowness: Slowness::default(),
        };
        let counts = [predicted(&setup, self.workload, self.length), measured];
        let names = ["reads", LOG_BYTES, "data bytes"];
        let mut wrong = Vec::new();
        for (count, (name, error_max)) in names.into_iter().zip(self.errors_max).enumerate() {
            let [is, was] = counts.map(|counts| counts[count]);
            let by_chance = match name {
                LOG_BYTES => self.burst.get() as f64 / self.length.counted as f64,
                _ => 0.0,
            };
            let off = (is - was).abs();
            // Fewer than one of ten transactions: a handful in all.
            if was > 0.1 && off > error_max * was + by_chance {
                wrong.push(format!("{page_size}: {is:.3} {name}, not {was:.3}"));
            }
        }
        wrong
    }
}

fn compare(workload: &dyn Workload, page_sizes: &[u32], memory: ByteCount, transactions: u64) {
    let home = tempfile::tempdir().unwrap();
    let sqlite = Sqlite::default();
    let directory = |name: String| {
        let path = home.path().join(name);
        fs::create_dir(&path).unwrap();
        path
    };
    let base = directory("base".into());
    sqlite
        .load(&base, size(4096), workload, &mut go_on)
        .unwrap();
    let trial = Trial {
        database: &sqlite,
        model: model_of("sqlite", &[], false).unwrap(),
        workload,
        memory,
        length: Length::of(transactions),
        errors_max: &ERRORS_MAX,
        burst: ByteCount::ZERO,
    };
    let mut wrong = Vec::new();
    for &bytes in page_sizes {
        let run = directory(bytes.to_string());
        sqlite.derive(&base, &run, size(bytes), &mut go_on).unwrap();
        wrong.extend(trial.differences(&run, size(bytes)));
    }
    assert!(wrong.is_empty(), "{}: {wrong:#?}", workload.name());
}

/// Loads a server's database and runs it at each page size.
fn compare_on_server(trial: &Trial<'_>, page_sizes: &[u32]) {
    use std::os::unix::fs::PermissionsExt;

    let home = tempfile::tempdir().unwrap();
    // The server may be another user's.
    let open = fs::Permissions::from_mode(0o755);
    fs::set_permissions(home.path(), open).unwrap();
    let sizes: Vec<PageSize> = page_sizes.iter().map(|&bytes| size(bytes)).collect();
    let Trial { database, .. } = trial;
    database
        .prepare(&sizes, &mut |_| ControlFlow::Continue(()))
        .unwrap();
    let mut wrong = Vec::new();
    for size in sizes {
        let loaded = home.path().join(format!("{}", size.get()));
        let run = loaded.with_extension("run");
        fs::create_dir(&loaded).unwrap();
        fs::create_dir(&run).unwrap();
        database
            .load(&loaded, size, trial.workload, &mut go_on)
            .unwrap();
        database.restore(&loaded, &run).unwrap();
        wrong.extend(trial.differences(&run, size));
    }
    assert!(wrong.is_empty(), "{}: {wrong:#?}", trial.workload.name());
}

fn compare_postgres(workload: &dyn Workload, memory: ByteCount, transactions: u64) {
    let kind = Registry::standard().find("postgres").unwrap();
    let options = vec![("bin".to_owned(), "8K=installed".to_owned())];
    let postgres = DatabaseSpec::new(kind, options).unwrap().make().unwrap();
    let trial = Trial {
        database: &*postgres,
        model: model_of("postgres", &[], false).unwrap(),
        workload,
        memory,
        length: Length::of(transactions),
        // A server writes pages when its background writer wakes up. What reads its own
        // tables differs from run to run by 2%.
        errors_max: &[0.06, 0.04],
        burst: ByteCount::ZERO,
    };
    // The installed server, and one that is built from its source.
    compare_on_server(&trial, &[4096, 8192]);
}

/// What purge logs at once when it gives up undo log, with pages of 4 KiB: found with MariaDB 10.11.19
/// beside 2,000 updates whose own 382 KB were the same in each run. Of 4,000 transactions of YCSB A it is
/// 21 bytes of 254 each, of 1,000 of TPC-C a hundredth.
const PURGE_BURST: ByteCount = ByteCount::new(83_000);

/// Only with pages of 4 KiB: with 16 KiB the model reads too little, by 11 to 19%
/// (docs/predictions.md).
fn compare_mariadb(workload: &dyn Workload, memory: ByteCount, length: Length) {
    let kind = Registry::standard().find("mariadb").unwrap();
    let mariadb = DatabaseSpec::new(kind, Vec::new()).unwrap().make().unwrap();
    // As the server takes it unless the kernel says that the storage does not rotate.
    let location = Location::find(&std::env::temp_dir());
    let rotates = location.facts.rotational.unwrap_or(true);
    let trial = Trial {
        database: &*mariadb,
        model: model_of("mariadb", &[], rotates).unwrap(),
        workload,
        memory,
        length,
        errors_max: &[0.08, 0.06],
        burst: PURGE_BURST,
    };
    compare_on_server(&trial, &[4096]);
}

/// References to pages, each transaction, as SQLite counts them and as they are predicted; and
/// the hit rates.
fn references(workload: &dyn Workload, page_size: PageSize, run: &Path) -> [[f64; 2]; 2] {
    let (memory, count) = (ByteCount::mib(2), 1500);
    let settings = Settings {
        page_size,
        memory,
        clients: 1,
        isolation: None,
    };
    let running = Sqlite::default().start(run, &settings, workload).unwrap();
    let mut connection: Box<dyn Connection + Send> = running.connect(0).unwrap();
    let mut client = workload.clients(INPUTS, 1).remove(0);
    let mut execute = |count| {
        for _ in 0..count {
            client.draw();
            client.run(&mut *connection).unwrap();
        }
        running.flush().unwrap();
        running.counters()
    };
    let before = execute(count);
    let counters = execute(count) - before;
    drop(connection);
    running.stop().unwrap();

    let setup = Setup {
        model: model_of("sqlite", &[], false).unwrap(),
        miniature: Miniature::WHOLE,
        page_size,
        memory,
        clients: 1,
        processors: 1,
        seed: INPUTS,
        cpu: CpuCost::default(),
        weights: Vec::new(),
        slowness: Slowness::default(),
    };
    let device = Constant::new(ByteCount::mib(4096), 1000);
    let mut system = System::new(workload, &setup, Box::new(device)).unwrap();
    system.run(count, &mut |_| ()).unwrap();
    let (mut hits, mut misses) = (0, 0);
    let each = &mut |done: &Done| {
        hits += done.referred.hits;
        misses += done.referred.misses;
    };
    system.run(count, each).unwrap();
    let of = |hits: u64, misses: u64| {
        let all = (hits + misses) as f64;
        [all / count as f64, hits as f64 / all]
    };
    [
        of(counters.buffer_hits, counters.buffer_misses),
        of(hits, misses),
    ]
}

#[test]
fn sqlite_counts_as_many_references_and_hits() {
    let home = tempfile::tempdir().unwrap();
    let sqlite = Sqlite::default();
    let mut wrong = Vec::new();
    for (core, row_bytes, page_sizes) in [
        // Rows that overflow, of which values are read and replaced, and that do not.
        (Core::C, 1000, &[512, 1024, 4096][..]),
        (Core::A, 1000, &[1024, 4096]),
        (Core::C, 9000, &[1024, 4096, 8192]),
        (Core::A, 9000, &[1024, 4096, 8192]),
        // Many rows a statement.
        (Core::E, 1000, &[1024, 4096]),
    ] {
        let workload = Ycsb::new(4_500_000 / row_bytes, Seed::new(1)).unwrap();
        let workload = workload
            .with_core(core)
            .with_row(ByteCount::new(row_bytes))
            .unwrap();
        let name = format!("{}-{row_bytes}", workload.name());
        let base = home.path().join(&name);
        fs::create_dir(&base).unwrap();
        sqlite
            .load(&base, size(4096), &workload, &mut go_on)
            .unwrap();
        for &bytes in page_sizes {
            let run = home.path().join(format!("{name}-{bytes}"));
            fs::create_dir(&run).unwrap();
            sqlite.derive(&base, &run, size(bytes), &mut go_on).unwrap();
            let [was, is] = references(&workload, size(bytes), &run);
            if (is[0] / was[0] - 1.0).abs() > 0.05 || (is[1] - was[1]).abs() > 0.015 {
                wrong.push(format!("{name} {bytes}: {is:?}, not {was:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn tpcc_on_sqlite() {
    let workload = Tpcc::new(1, Seed::new(1)).unwrap();
    compare(&workload, &[1024, 4096, 16384], ByteCount::mib(4), 1200);
}

#[test]
fn ycsb_on_sqlite() {
    let workload = Ycsb::new(40_000, Seed::new(1)).unwrap();
    compare(&workload, &[1024, 4096, 65536], ByteCount::mib(4), 4000);
}

#[test]
fn ycsb_with_inserts_on_sqlite() {
    let workload = Ycsb::new(40_000, Seed::new(1)).unwrap().with_core(Core::D);
    compare(&workload, &[4096], ByteCount::mib(2), 1200);
}

#[test]
fn pgbench_on_sqlite() {
    let workload = Pgbench::new(3, Seed::new(1)).unwrap();
    compare(&workload, &[1024, 4096, 16384], ByteCount::mib(4), 1200);
}

#[test]
fn tpcc_on_postgres() {
    let workload = Tpcc::new(1, Seed::new(1)).unwrap();
    compare_postgres(&workload, ByteCount::mib(24), 3000);
}

#[test]
fn ycsb_on_postgres() {
    let workload = Ycsb::new(40_000, Seed::new(1)).unwrap();
    compare_postgres(&workload, ByteCount::mib(16), 4000);
}

#[test]
fn pgbench_on_postgres() {
    let workload = Pgbench::new(3, Seed::new(1)).unwrap();
    compare_postgres(&workload, ByteCount::mib(16), 4000);
}

#[test]
fn tpcc_on_mariadb() {
    let length = Length {
        warm_up: 1500,
        counted: 1000,
        pace: Duration::from_millis(12),
    };
    let workload = Tpcc::new(1, Seed::new(1)).unwrap();
    compare_mariadb(&workload, ByteCount::mib(24), length);
}

#[test]
fn ycsb_on_mariadb() {
    let length = Length {
        warm_up: 5000,
        counted: 4000,
        pace: Duration::from_millis(2),
    };
    let workload = Ycsb::new(40_000, Seed::new(1)).unwrap();
    compare_mariadb(&workload, ByteCount::mib(16), length);
}

#[test]
fn pgbench_on_mariadb() {
    let length = Length {
        warm_up: 3500,
        counted: 2000,
        pace: Duration::from_millis(5),
    };
    let workload = Pgbench::new(2, Seed::new(1)).unwrap();
    compare_mariadb(&workload, ByteCount::mib(8), length);
}
