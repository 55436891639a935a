//! What is predicted of statements on PostgreSQL whose pages were recorded, beside what a server
//! counts that executes the same: its statistics know nothing of the recording.

use std::{
    fs, ops::ControlFlow, os::unix::fs::PermissionsExt as _, path::Path, sync::Arc, time::Duration,
};

use octavo_database::{Database, DatabaseError, DatabaseSpec, PagesWanted, Registry, Settings};
use octavo_device::simulated::Constant;
use octavo_predict::{CpuCost, Miniature, Purpose, Setup, Slowness, System, model_of};
use octavo_units::{ByteCount, PageSize, Seed};
use octavo_workload::{
    PageTrace, Pgbench, Workload, WorkloadSpec, Ycsb, own,
    user::{CopyOf, Own, OwnScript, Prepared},
    ycsb::Core,
};

const INPUTS: Seed = Seed::new(7);
const WARM_UP: u64 = 2500;
const COUNTED: u64 = 2000;
const PAGE_SIZE: PageSize = PageSize::kib(8);
/// Half of it is the page cache's.
const MEMORY: ByteCount = ByteCount::mib(8);

fn go_on(_: u64) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

/// Misses, bytes of the log and bytes of pages of each transaction.
type Counts = [f64; 3];

fn measured(database: &dyn Database, run: &Path, workload: &dyn Workload) -> Counts {
    let settings = Settings {
        page_size: PAGE_SIZE,
        memory: MEMORY,
        clients: 1,
        isolation: None,
    };
    let running = database.start(run, &settings, workload).unwrap();
    let mut connection = running.connect(0).unwrap();
    let mut client = workload.clients(INPUTS, 1).remove(0);
    let mut execute = |count| {
        for _ in 0..count {
            client.draw();
            client.run(&mut *connection).unwrap();
        }
        running.flush().unwrap();
        running.counters()
    };
    let before = execute(WARM_UP);
    let counters = execute(COUNTED) - before;
    drop(connection);
    running.stop().unwrap();
    let counts = [
        counters.buffer_misses,
        counters.log_written_bytes.get(),
        counters.data_written_bytes.get(),
    ];
    counts.map(|count| count as f64 / COUNTED as f64)
}

/// A workload that replays a trace.
fn replaying(trace: PageTrace) -> Box<dyn Workload> {
    let page_size = trace.page_size();
    let own = Own {
        prepared: Some(Prepared::new(Vec::new(), None).with_trace(Arc::new(trace))),
        ..Own::new(
            CopyOf::whole(
                "shop",
                ByteCount::mib(1),
                page_size,
                "postgres://localhost/shop",
            ),
            vec![OwnScript {
                name: "mix.sql".into(),
                weight: 1,
                fingerprint: 0,
            }],
        )
    };
    let data = own::data(&own);
    let spec = WorkloadSpec {
        own: Some(Arc::new(own)),
        ..WorkloadSpec::new(own::name(), data, Seed::new(1))
    };
    spec.build().unwrap()
}

fn predicted(database: &dyn Database, workload: &dyn Workload) -> Counts {
    let setup = Setup {
        model: model_of("postgres", &[], false).unwrap(),
        page_size: PAGE_SIZE,
        memory: database.buffer(MEMORY).unwrap(),
        miniature: Miniature::WHOLE,
        clients: 1,
        processors: 1,
        seed: INPUTS,
        cpu: CpuCost::default(),
        weights: Vec::new(),
        slowness: Slowness::default(),
    };
    let device = Constant::new(ByteCount::mib(4096), 1000);
    let mut system = System::new(workload, &setup, Box::new(device)).unwrap();
    system.run(WARM_UP, &mut |_| ()).unwrap();
    let mut counts = Counts::default();
    system
        .run(COUNTED, &mut |done| {
            counts[0] += done.referred.misses as f64;
            counts[1] += done.referred.logged as f64;
            counts[2] += done.asked(Purpose::Background).bytes as f64;
        })
        .unwrap();
    counts.map(|count| count / COUNTED as f64)
}

/// Compares what is predicted with what is measured, and allows these deviations.
fn compare(workload: &dyn Workload, errors_max: [f64; 3]) {
    let kind = Registry::standard().find("postgres").unwrap();
    let options = vec![("bin".to_owned(), "8K=installed".to_owned())];
    let database = DatabaseSpec::new(kind, options).unwrap().make().unwrap();
    if database.find_programs().is_err() {
        eprintln!("skipped: PostgreSQL is not installed");
        return;
    }
    let home = tempfile::tempdir().unwrap();
    fs::set_permissions(home.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let [loaded, record, run] = ["loaded", "record", "run"].map(|name| {
        let path = home.path().join(name);
        fs::create_dir(&path).unwrap();
        path
    });
    database
        .load(&loaded, PAGE_SIZE, workload, &mut go_on)
        .unwrap();
    database.restore(&loaded, &record).unwrap();
    let wanted = PagesWanted {
        workload,
        page_size: PAGE_SIZE,
        memory: MEMORY,
        isolation: None,
        seed: INPUTS,
        clients: 1,
        transactions: WARM_UP + COUNTED,
        references_max: usize::MAX,
        time_max: Duration::from_secs(300),
    };
    let records = database.records_pages().unwrap();
    let recorded = match records.record(&record, &wanted, &mut go_on) {
        Err(DatabaseError::Unrecorded { reason }) => {
            eprintln!("skipped: {reason}");
            return;
        }
        recorded => recorded.unwrap(),
    };
    assert_eq!(recorded.trace.transactions() as u64, WARM_UP + COUNTED);
    let kinds = workload.mix().weights().iter();
    let timed = kinds.zip(&recorded.processor);
    for (_, time) in timed.filter(|(weight, _)| **weight > 0) {
        let time = time.expect("all kinds of the mix are timed");
        assert!(time > Duration::from_micros(1), "{time:?}");
    }
    let replayed = replaying(recorded.trace);
    database.restore(&loaded, &run).unwrap();
    let was = measured(&*database, &run, workload);
    let is = predicted(&*database, replayed.as_ref());
    println!("{}: {is:.3?}, measured {was:.3?}", workload.name());
    let named = ["misses", "log bytes", "page bytes"].into_iter();
    for ((name, error_max), (is, was)) in named.zip(errors_max).zip(is.into_iter().zip(was)) {
        let error = (is - was).abs() / was.max(0.01);
        assert!(error <= error_max, "{name}: {is:.3}, measured {was:.3}");
    }
}

/// Pages that a server writes are counted with those of its background writer. Misses were 0 to 2%
/// off on a quiet machine, and once 7% beside other tests, for a reason that was not found.
const UPDATED: [f64; 3] = [0.10, 0.05, 0.12];

#[test]
fn reads_by_key() {
    let workload = Ycsb::new(20_000, Seed::new(1)).unwrap().with_core(Core::C);
    compare(&workload, [0.05, 0.0, 0.0]);
}

#[test]
fn reads_and_updates() {
    let workload = Ycsb::new(20_000, Seed::new(1)).unwrap().with_core(Core::A);
    compare(&workload, UPDATED);
}

#[test]
fn updates_and_inserts_in_transactions() {
    let workload = Pgbench::new(2, Seed::new(1)).unwrap();
    compare(&workload, UPDATED);
}
