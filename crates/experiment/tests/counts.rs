//! Predicted counts beside those of real databases that execute the same transactions:
//! reads, bytes of the log, bytes of checkpoints. None depends on a clock.

use std::{fs, ops::ControlFlow, path::Path};

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

fn measured(
    sqlite: Sqlite,
    run: &Path,
    setup: &Setup,
    workload: &dyn Workload,
    transactions: u64,
) -> Counts {
    let settings = Settings {
        page_size: setup.page_size,
        memory: setup.memory,
        clients: 1,
        isolation: None,
    };
    let running: Box<dyn Running> = sqlite.start(run, &settings, workload).unwrap();
    let mut connection: Box<dyn Connection + Send> = running.connect(0).unwrap();
    let mut client: Box<dyn Client> = workload.clients(setup.seed, 1).remove(0);
    let mut execute = |count| {
        for _ in 0..count {
            client.draw();
            client.run(&mut *connection).unwrap();
        }
    };
    execute(WARM_UP);
    let before = running.counters();
    execute(transactions);
    let counters = running.counters() - before;
    drop(connection);
    running.stop().unwrap();
    [
        counters.reads,
        counters.log_written_bytes.get(),
        counters.data_written_bytes.get(),
    ]
    .map(|count| count as f64 / transactions as f64)
}

fn predicted(setup: &Setup, workload: &dyn Workload, transactions: u64) -> Counts {
    let device = Constant::new(ByteCount::mib(4096), 1000);
    let mut system = System::new(workload, setup, Box::new(device)).unwrap();
    let mut counts = Counts::default();
    for number in 0..WARM_UP + transactions {
        let done = system.transaction().unwrap();
        if number >= WARM_UP {
            counts[0] += done.asked(Purpose::Read).requests as f64;
            counts[1] += done.asked(Purpose::LogWrite).bytes as f64;
            counts[2] += done.asked(Purpose::Checkpoint).bytes as f64;
        }
    }
    counts.map(|count| count / transactions as f64)
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
    let mut wrong = Vec::new();
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
        let (measured, predicted) = (
            measured(sqlite, &run, &setup, workload, transactions),
            predicted(&setup, workload, transactions),
        );
        let names = ["reads", "log bytes", "data bytes"];
        for ((name, allowed), (is, was)) in names
            .into_iter()
            .zip(ERRORS_MAX)
            .zip(predicted.into_iter().zip(measured))
        {
            let error = is / was - 1.0;
            // Fewer than one of ten transactions: a handful in all.
            if was > 0.1 && error.abs() > allowed {
                wrong.push(format!("{bytes}: {is:.3} {name}, not {was:.3}"));
            }
        }
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
