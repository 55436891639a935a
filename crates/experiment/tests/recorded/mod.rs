//! What is predicted of statements on a server whose pages were recorded, beside what a server counts
//! that executes the same: its statistics know nothing of the recording.

use std::{
    fs,
    ops::ControlFlow,
    os::unix::fs::PermissionsExt as _,
    path::Path,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use octavo_database::{Database, DatabaseError, DatabaseSpec, PagesWanted, Registry, Settings};
use octavo_device::simulated::Constant;
use octavo_predict::{CpuCost, Miniature, Purpose, Setup, Slowness, System, model_of};
use octavo_storage::location::Location;
use octavo_units::{ByteCount, PageSize, Seed};
use octavo_workload::{
    PageTrace, Workload, WorkloadSpec, own,
    user::{CopyOf, Own, OwnScript, Prepared},
};

const INPUTS: Seed = Seed::new(7);
const WARM_UP: u64 = 2500;
const COUNTED: u64 = 2000;
/// InnoDB's purge writes about once a second.
const PURGED_WITHIN: Duration = Duration::from_millis(1500);

/// A server to compare with.
pub(crate) struct Server {
    /// The database's name.
    pub(crate) name: &'static str,
    /// Its options.
    pub(crate) options: &'static [(&'static str, &'static str)],
    /// Its pages.
    pub(crate) page_size: PageSize,
    /// Its memory.
    pub(crate) memory: ByteCount,
}

fn go_on(_: u64) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

/// Misses, bytes of the log and bytes of pages of each transaction.
type Counts = [f64; 3];

/// Also how long one takes: what a server does by its clock is predicted at the same pace.
struct Measured {
    counts: Counts,
    transaction: Duration,
}

fn measured(
    server: &Server,
    database: &dyn Database,
    run: &Path,
    workload: &dyn Workload,
) -> Measured {
    let settings = Settings {
        page_size: server.page_size,
        memory: server.memory,
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
    };
    // InnoDB's purge logs after transactions have ended. It is counted with them: without that, a fast run has one
    // burst less.
    let settled = || {
        running.flush().unwrap();
        let mut counters = running.counters();
        for _ in 0..20 {
            thread::sleep(PURGED_WITHIN);
            let now = running.counters();
            if now.log_written_bytes == counters.log_written_bytes {
                return now;
            }
            counters = now;
        }
        panic!("the server still logs, {counters:?}");
    };
    let mut elapsed = Duration::ZERO;
    let mut timed = |count| {
        let begun = Instant::now();
        execute(count);
        elapsed += begun.elapsed();
        settled()
    };
    let before = timed(WARM_UP);
    let counters = timed(COUNTED) - before;
    let transaction = elapsed / (WARM_UP + COUNTED) as u32;
    drop(connection);
    running.stop().unwrap();
    let counts = [
        counters.buffer_misses,
        counters.log_written_bytes.get(),
        counters.data_written_bytes.get(),
    ];
    Measured {
        counts: counts.map(|count| count as f64 / COUNTED as f64),
        transaction,
    }
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

fn predicted(
    server: &Server,
    database: &dyn Database,
    workload: &dyn Workload,
    transaction: Duration,
    rotates: bool,
) -> Counts {
    let setup = Setup {
        model: model_of(server.name, &[], rotates).unwrap(),
        page_size: server.page_size,
        memory: database.buffer(server.memory).unwrap(),
        miniature: Miniature::WHOLE,
        clients: 1,
        processors: 1,
        seed: INPUTS,
        cpu: CpuCost {
            transaction_ns: transaction.as_nanos() as f64,
            ..CpuCost::default()
        },
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
pub(crate) fn compare(server: &Server, workload: &dyn Workload, errors_max: [f64; 3]) {
    let page_size = server.page_size;
    let kind = Registry::standard().find(server.name).unwrap();
    let options = server.options.iter();
    let options = options.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let spec = DatabaseSpec::new(kind, options.collect()).unwrap();
    let database = spec.make().unwrap();
    if database.find_programs().is_err() {
        eprintln!("skipped: {} is not installed", kind.title);
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
        .load(&loaded, page_size, workload, &mut go_on)
        .unwrap();
    database.restore(&loaded, &record).unwrap();
    let wanted = PagesWanted {
        workload,
        page_size,
        memory: server.memory,
        isolation: None,
        seed: INPUTS,
        clients: 1,
        transactions: WARM_UP + COUNTED,
        references_max: usize::MAX,
        needed: WARM_UP + COUNTED,
        time_max: Duration::from_secs(300),
    };
    let records = database.records_pages().unwrap();
    assert!(records.memory_min(page_size) <= server.memory);
    records.watch().unwrap();
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
    let Measured {
        counts: was,
        transaction,
    } = measured(server, &*database, &run, workload);
    // As the server takes its storage for.
    let rotates = Location::find(home.path()).facts.rotational.unwrap_or(true);
    let is = predicted(server, &*database, replayed.as_ref(), transaction, rotates);
    let name = workload.name();
    println!("{name} with {page_size}: {is:.3?}, measured {was:.3?} in {transaction:?} each");
    let named = ["misses", "log bytes", "page bytes"].into_iter();
    for ((name, error_max), (is, was)) in named.zip(errors_max).zip(is.into_iter().zip(was)) {
        // Twice as many is as far as half as many.
        let [less, more] = [is.min(was), is.max(was)];
        let error = (more - less) / less.max(0.01);
        assert!(error <= error_max, "{name}: {is:.3}, measured {was:.3}");
    }
}
