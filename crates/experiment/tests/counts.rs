//! Predicted counts beside those of real databases that execute the same transactions:
//! reads, bytes of the log, bytes of checkpoints. None depends on a clock, but those of
//! MariaDB, whose transactions are paced: its buffer pool asks how long ago a page came.

use std::{
    fs,
    ops::ControlFlow,
    os::unix::fs::PermissionsExt,
    path::Path,
    thread,
    time::{Duration, Instant},
};

use octavo_database::{Database, Derive, Running, Settings, Sqlite};
use octavo_device::simulated::Constant;
use octavo_predict::{CpuCost, Model, Purpose, Setup, Slowness, System};
use octavo_units::{ByteCount, PageSize, Seed};
use octavo_workload::{Client, Connection, Pgbench, Tpcc, Workload, Ycsb, ycsb::Core};

const WARM_UP: u64 = 600;
const INPUTS: Seed = Seed::new(5);

/// Reads, bytes to the log and bytes to the database, of each transaction.
type Counts = [f64; 3];

/// How far each may be off.
const ERRORS_MAX: Counts = [0.04, 0.04, 0.1];

/// How many transactions are executed.
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
            warm_up: WARM_UP,
            counted,
            pace: Duration::ZERO,
        }
    }
}

/// Counts of a real run, and how long each transaction took.
fn measured(
    database: &dyn Database,
    run: &Path,
    setup: &Setup,
    workload: &dyn Workload,
    length: Length,
) -> (Counts, Duration) {
    let settings = Settings {
        page_size: setup.page_size,
        memory: setup.memory,
        clients: 1,
        isolation: None,
    };
    let running: Box<dyn Running> = database.start(run, &settings, workload).unwrap();
    let mut connection: Box<dyn Connection + Send> = running.connect(0).unwrap();
    let mut client: Box<dyn Client> = workload.clients(setup.seed, 1).remove(0);
    let begin = Instant::now();
    let mut due = begin;
    let mut execute = |count| {
        for _ in 0..count {
            client.draw();
            client.run(&mut *connection).unwrap();
            due = (due + length.pace).max(Instant::now());
            thread::sleep(due.saturating_duration_since(Instant::now()));
        }
    };
    execute(length.warm_up);
    let before = running.counters();
    execute(length.counted);
    let counters = running.counters() - before;
    let took = begin
        .elapsed()
        .div_f64((length.warm_up + length.counted) as f64);
    drop(connection);
    running.stop().unwrap();
    let counts = [
        counters.reads,
        counters.log_written_bytes.get(),
        counters.data_written_bytes.get(),
    ]
    .map(|count| count as f64 / length.counted as f64);
    (counts, took)
}

fn predicted(setup: &Setup, workload: &dyn Workload, length: Length) -> Counts {
    let device = Constant::new(ByteCount::mib(4096), 1000);
    let mut system = System::new(workload, setup, Box::new(device)).unwrap();
    let mut counts = Counts::default();
    for number in 0..length.warm_up + length.counted {
        let done = system.transaction().unwrap();
        if number >= length.warm_up {
            let log = done.asked(Purpose::LogWrite);
            let pages = [Purpose::Checkpoint, Purpose::Background].map(|what| done.asked(what));
            counts[0] += done.asked(Purpose::Read).requests as f64;
            counts[1] += match setup.model {
                // It counts the log's bytes; what is written begins and ends with blocks of
                // 512, half of which are of others on average.
                Model::Innodb { .. } => log.bytes as f64 - 512.0 * log.requests as f64,
                _ => log.bytes as f64,
            };
            counts[2] += pages.map(|asked| asked.bytes as f64).iter().sum::<f64>();
        }
    }
    counts.map(|count| count / length.counted as f64)
}

/// Those of predicted counts that differ by more than `allowed` from measured ones.
fn wrong(page_size: PageSize, predicted: Counts, measured: Counts, allowed: Counts) -> Vec<String> {
    let names = ["reads", "log bytes", "data bytes"];
    let mut wrong = Vec::new();
    for ((name, allowed), (is, was)) in names
        .into_iter()
        .zip(allowed)
        .zip(predicted.into_iter().zip(measured))
    {
        let error = is / was - 1.0;
        println!("{page_size}: {is:.3} {name}, measured {was:.3}: {error:+.3}");
        // Fewer than one of ten transactions: a handful in all.
        if was > 0.1 && error.abs() > allowed {
            wrong.push(format!("{page_size}: {is:.3} {name}, not {was:.3}"));
        }
    }
    wrong
}

fn compare(workload: &dyn Workload, page_sizes: &[u32], memory: ByteCount, transactions: u64) {
    let home = tempfile::tempdir().unwrap();
    let sqlite = Sqlite::default();
    let directory = |name: String| {
        let path = home.path().join(name);
        fs::create_dir(&path).unwrap();
        path
    };
    let size = |bytes| PageSize::new(bytes).unwrap();
    let go_on = &mut |_| ControlFlow::Continue(());
    let base = directory("base".into());
    sqlite.load(&base, size(4096), workload, go_on).unwrap();
    let mut all = Vec::new();
    let length = Length::of(transactions);
    for &bytes in page_sizes {
        let run = directory(bytes.to_string());
        sqlite.derive(&base, &run, size(bytes), go_on).unwrap();
        let setup = Setup {
            model: Model::Sqlite,
            page_size: size(bytes),
            memory,
            seed: INPUTS,
            cpu: CpuCost::default(),
            slowness: Slowness::default(),
        };
        let (measured, _) = measured(&sqlite, &run, &setup, workload, length);
        let predicted = predicted(&setup, workload, length);
        all.extend(wrong(setup.page_size, predicted, measured, ERRORS_MAX));
    }
    assert!(all.is_empty(), "{}: {all:#?}", workload.name());
}

/// Runs MariaDB at a page size beside the model, which is as slow.
fn compare_on_mariadb(
    workload: &dyn Workload,
    (bytes, mib): (u32, u64),
    length: Length,
    allowed: Counts,
) {
    let mariadb = octavo_database::choose("mariadb", &[]).unwrap();
    let go_on = &mut |_| ControlFlow::Continue(());
    if let Err(error) = mariadb.prepare(&[], &mut |_| ControlFlow::Continue(())) {
        eprintln!("skipped: {error}");
        return;
    }
    let home = tempfile::tempdir().unwrap();
    let base = home.path().join("base");
    fs::create_dir(&base).unwrap();
    // Servers run as another user than root.
    for path in [home.path(), &base] {
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let mut setup = Setup {
        model: Model::Innodb {
            writes_neighbors: false,
        },
        page_size: PageSize::new(bytes).unwrap(),
        memory: ByteCount::mib(mib),
        seed: INPUTS,
        cpu: CpuCost::default(),
        slowness: Slowness::default(),
    };
    mariadb
        .load(&base, setup.page_size, workload, go_on)
        .unwrap();
    let run = home.path().join("run");
    mariadb.restore(&base, &run).unwrap();
    let (measured, took) = measured(&*mariadb, &run, &setup, workload, length);
    setup.cpu.transaction_ns = took.as_nanos() as f64;
    let predicted = predicted(&setup, workload, length);
    let wrong = wrong(setup.page_size, predicted, measured, allowed);
    assert!(wrong.is_empty(), "{}: {wrong:#?}", workload.name());
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

// What was aimed at is 8% of reads, 5% of the log and 10% of pages. Where more is allowed
// below, the model is off by so much: rollback segments leave InnoDB's pool sooner than the
// model's and are written more often, and some of TPC-C's reads of 64 KiB pages are not
// accounted for.

fn tpcc_on_mariadb(page: u32, mib: u64, allowed: Counts) {
    let length = Length {
        warm_up: 1500,
        counted: 1000,
        pace: Duration::from_millis(12),
    };
    let workload = Tpcc::new(1, Seed::new(1)).unwrap();
    compare_on_mariadb(&workload, (page, mib), length, allowed);
}

fn ycsb_on_mariadb(page: u32, mib: u64, allowed: Counts) {
    let length = Length {
        warm_up: 5000,
        counted: 4000,
        pace: Duration::from_millis(2),
    };
    let workload = Ycsb::new(40_000, Seed::new(1)).unwrap();
    compare_on_mariadb(&workload, (page, mib), length, allowed);
}

fn pgbench_on_mariadb(page: u32, mib: u64, allowed: Counts) {
    let length = Length {
        warm_up: 3500,
        counted: 2000,
        pace: Duration::from_millis(5),
    };
    let workload = Pgbench::new(2, Seed::new(1)).unwrap();
    compare_on_mariadb(&workload, (page, mib), length, allowed);
}

#[test]
fn tpcc_on_mariadb_with_4k() {
    tpcc_on_mariadb(4096, 24, [0.08, 0.05, 0.35]);
}

#[test]
fn tpcc_on_mariadb_with_16k() {
    tpcc_on_mariadb(16_384, 32, [0.25, 0.05, 0.5]);
}

#[test]
fn tpcc_on_mariadb_with_64k() {
    tpcc_on_mariadb(65_536, 32, [0.35, 0.1, 0.2]);
}

#[test]
fn ycsb_on_mariadb_with_4k() {
    ycsb_on_mariadb(4096, 16, [0.08, 0.06, 0.2]);
}

#[test]
fn ycsb_on_mariadb_with_16k() {
    ycsb_on_mariadb(16_384, 24, [0.2, 0.05, 0.5]);
}

#[test]
fn ycsb_on_mariadb_with_64k() {
    ycsb_on_mariadb(65_536, 24, [0.08, 0.05, 0.2]);
}

#[test]
fn pgbench_on_mariadb_with_4k() {
    pgbench_on_mariadb(4096, 8, [0.08, 0.05, 0.4]);
}

#[test]
fn pgbench_on_mariadb_with_16k() {
    pgbench_on_mariadb(16_384, 16, [0.2, 0.05, 0.5]);
}

#[test]
fn pgbench_on_mariadb_with_64k() {
    pgbench_on_mariadb(65_536, 24, [0.35, 0.05, 0.2]);
}
