//! Predicted counts beside those of real databases that execute the same transactions:
//! reads, bytes of the log, bytes of pages. None that is compared depends on a clock.

use std::{fs, ops::ControlFlow, path::Path};

use octavo_database::{Database, DatabaseSpec, Derive, Registry, Running, Settings, Sqlite};
use octavo_device::simulated::Constant;
use octavo_predict::{CpuCost, Model, PostgresSettings, Purpose, Setup, Slowness, System};
use octavo_units::{ByteCount, PageSize, Seed};
use octavo_workload::{Client, Connection, Pgbench, Tpcc, Workload, Ycsb, ycsb::Core};

const WARM_UP: u64 = 600;
const INPUTS: Seed = Seed::new(5);

/// Reads, bytes to the log and bytes to the database, of each transaction.
type Counts = [f64; 3];

/// How far each may be off.
const ERRORS_MAX: Counts = [0.04, 0.04, 0.1];

fn predicted(setup: &Setup, workload: &dyn Workload, transactions: u64) -> Counts {
    let device = Constant::new(ByteCount::mib(4096), 1000);
    let mut system = System::new(workload, setup, Box::new(device)).unwrap();
    let mut counts = Counts::default();
    for number in 0..WARM_UP + transactions {
        let done = system.transaction().unwrap();
        if number >= WARM_UP {
            counts[0] += (done.asked(Purpose::Read).requests + done.referred.made) as f64;
            counts[1] += done.referred.logged as f64;
            let pages = [Purpose::Checkpoint, Purpose::Background];
            counts[2] += pages
                .map(|purpose| done.asked(purpose).bytes as f64)
                .iter()
                .sum::<f64>();
        }
    }
    counts.map(|count| count / transactions as f64)
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
    transactions: u64,
    /// How many of [`Counts`] depend on no clock.
    counted: usize,
}

impl Trial<'_> {
    fn measured(&self, run: &Path, settings: &Settings) -> Counts {
        let running: Box<dyn Running> = self.database.start(run, settings, self.workload).unwrap();
        let mut connection: Box<dyn Connection + Send> = running.connect(0).unwrap();
        let mut client: Box<dyn Client> = self.workload.clients(INPUTS, 1).remove(0);
        let mut execute = |count| {
            for _ in 0..count {
                client.draw();
                client.run(&mut *connection).unwrap();
            }
            running.flush().unwrap();
            running.counters()
        };
        let before = execute(WARM_UP);
        let counters = execute(self.transactions) - before;
        drop(connection);
        running.stop().unwrap();
        [
            counters.reads,
            counters.log_written_bytes.get(),
            counters.data_written_bytes.get(),
        ]
        .map(|count| count as f64 / self.transactions as f64)
    }

    /// What is wrong with the counts predicted for the loaded database in `run`.
    fn differences(&self, run: &Path, page_size: PageSize) -> Vec<String> {
        let settings = Settings {
            page_size,
            memory: self.memory,
            clients: 1,
            isolation: None,
        };
        let setup = Setup {
            model: self.model,
            page_size,
            memory: self.database.buffer(self.memory).unwrap(),
            seed: INPUTS,
            cpu: CpuCost::default(),
            slowness: Slowness::default(),
        };
        let counts = [
            predicted(&setup, self.workload, self.transactions),
            self.measured(run, &settings),
        ];
        let names = ["reads", "log bytes", "data bytes"];
        let mut wrong = Vec::new();
        for (count, name) in names.into_iter().enumerate().take(self.counted) {
            let [is, was] = counts.map(|counts| counts[count]);
            let error = is / was - 1.0;
            // Fewer than one of ten transactions: a handful in all.
            if was > 0.1 && error.abs() > ERRORS_MAX[count] {
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
        model: Model::Sqlite,
        workload,
        memory,
        transactions,
        counted: 3,
    };
    let mut wrong = Vec::new();
    for &bytes in page_sizes {
        let run = directory(bytes.to_string());
        sqlite.derive(&base, &run, size(bytes), &mut go_on).unwrap();
        wrong.extend(trial.differences(&run, size(bytes)));
    }
    assert!(wrong.is_empty(), "{}: {wrong:#?}", workload.name());
}

/// The installed server, and one that is built from its source.
const SERVERS: [u32; 2] = [4096, 8192];

fn compare_postgres(workload: &dyn Workload, memory: ByteCount, transactions: u64) {
    use std::os::unix::fs::PermissionsExt;

    let home = tempfile::tempdir().unwrap();
    // The server may be another user's.
    let open = fs::Permissions::from_mode(0o755);
    fs::set_permissions(home.path(), open).unwrap();
    let kind = Registry::standard().find("postgres").unwrap();
    let options = vec![("bin".to_owned(), "8K=installed".to_owned())];
    let postgres = DatabaseSpec::new(kind, options).unwrap().make().unwrap();
    postgres
        .prepare(&SERVERS.map(size), &mut |_| ControlFlow::Continue(()))
        .unwrap();
    let trial = Trial {
        database: &*postgres,
        model: Model::Postgres(PostgresSettings {
            log_block: size(8192),
            full_page_writes: true,
            max_wal_size: ByteCount::mib(256),
        }),
        workload,
        memory,
        transactions,
        // A server writes pages when its background writer wakes up.
        counted: 2,
    };
    let mut wrong = Vec::new();
    for bytes in SERVERS {
        let run = home.path().join(bytes.to_string());
        fs::create_dir(&run).unwrap();
        postgres
            .load(&run, size(bytes), workload, &mut go_on)
            .unwrap();
        wrong.extend(trial.differences(&run, size(bytes)));
    }
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
