//! What is predicted of the user's own statements beside what a real database counts that executes
//! the same: its VFS and its cache count by themselves, and know nothing of the recording.

use std::{fs, ops::ControlFlow, path::Path, sync::Arc, time::Duration};

use octavo_database::{
    Database, DatabaseSpec, Derive, PagesWanted, RecordPages, Registry, Settings, Sqlite,
};
use octavo_device::simulated::Constant;
use octavo_experiment::{
    own,
    plan::{OwnSettings, Plan, ScriptFile},
};
use octavo_predict::{CpuCost, Miniature, Purpose, Setup, Slowness, System, model_of};
use octavo_script::Definitions;
use octavo_units::{ByteCount, PageSize, Seed};
use octavo_workload::{PageTrace, Workload, user::Own};
use rusqlite::Connection;

const INPUTS: Seed = Seed::new(7);
const WARM_UP: u64 = 800;
const COUNTED: u64 = 1500;

/// Reads, changes, rows that come and go, overflow pages and rollbacks.
const SCRIPTS: [(&str, &str, u32); 4] = [
    (
        "read.sql",
        "\\set id random_zipfian(1, 12000, 1.05)
         SELECT name, body FROM item WHERE id = :id;
         SELECT count(*), max(body) FROM item WHERE owner = :id % 500;",
        4,
    ),
    (
        "write.sql",
        "\\set id random(1, 12000)
         SELECT name AS before FROM item WHERE id = :id \\gset
         BEGIN;
         UPDATE item SET owner = :id % 499, name = :before WHERE id = :id;
         INSERT INTO play(item, note) VALUES (:id, 'visit ' || :id);
         END;",
        3,
    ),
    (
        "long.sql",
        "\\set id random(1, 12000)
         BEGIN;
         DELETE FROM play WHERE id = (SELECT min(id) FROM play WHERE item >= :id);
         UPDATE item SET body = hex(randomblob(900 + :id % 900)) WHERE id = :id;
         END;",
        1,
    ),
    (
        "undone.sql",
        "\\set id random(1, 12000)
         BEGIN;
         UPDATE item SET name = 'nobody' WHERE id = :id;
         DELETE FROM item WHERE id = :id + 1;
         ROLLBACK;",
        1,
    ),
];

fn go_on(_: u64) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

fn application(path: &Path) {
    let connection = Connection::open(path).unwrap();
    connection
        .execute_batch(
            "PRAGMA page_size=4096; PRAGMA journal_mode=WAL;
             CREATE TABLE item(id INTEGER PRIMARY KEY, name TEXT, owner INTEGER, body TEXT);
             CREATE INDEX by_owner ON item(owner, name);
             CREATE TABLE play(id INTEGER PRIMARY KEY, item INTEGER, note TEXT);
             CREATE INDEX by_item ON play(item);
             WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 12000)
             INSERT INTO item SELECT i, 'item ' || i * 7919 % 12000, i * 31 % 500,
                 hex(zeroblob(50 + i * 17 % 400)) FROM n;
             INSERT INTO play SELECT id, id * 7919 % 12000, 'long ago' FROM item;
             ANALYZE;",
        )
        .unwrap();
}

fn plan_of(home: &Path) -> Plan {
    let source = home.join("my.db");
    application(&source);
    let scripts = SCRIPTS.map(|(name, text, weight)| {
        let path = home.join(name);
        fs::write(&path, text).unwrap();
        ScriptFile { path, weight }
    });
    let settings = OwnSettings {
        pace: None,
        copying: octavo_workload::user::Copying::WHOLE,
        source: source.into_os_string(),
        scripts: scripts.to_vec(),
        recordings: Vec::new(),
        digests: false,
        definitions: Definitions::default(),
        clients: Some(1),
    };
    let kind = Registry::standard().default_kind();
    let spec = DatabaseSpec::new(kind, Vec::new()).unwrap();
    own::plan(&spec, &[], &settings, &|| false).unwrap()
}

/// Reads, log bytes and bytes of pages of each transaction.
type Counts = [f64; 3];

fn measured(run: &Path, settings: &Settings, workload: &dyn Workload) -> Counts {
    let running = Sqlite::default().start(run, settings, workload).unwrap();
    let mut connection = running.connect(0).unwrap();
    let mut client = workload.clients(INPUTS, 1).remove(0);
    let mut execute = |count| {
        for _ in 0..count {
            client.draw();
            client.run(&mut *connection).unwrap();
        }
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

fn predicted(workload: &dyn Workload, settings: &Settings) -> Counts {
    let setup = Setup {
        model: model_of("sqlite", &[], false).unwrap(),
        page_size: settings.page_size,
        memory: settings.memory,
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
            counts[2] += done.asked(Purpose::Checkpoint).bytes as f64;
        })
        .unwrap();
    counts.map(|count| count / COUNTED as f64)
}

fn with_trace(plan: &Plan, trace: PageTrace) -> Box<dyn Workload> {
    let own = plan.own.as_deref().unwrap();
    let prepared = own.prepared.clone().unwrap();
    let plan = Plan {
        own: Some(Arc::new(Own {
            prepared: Some(prepared.with_trace(Arc::new(trace))),
            ..own.clone()
        })),
        ..plan.clone()
    };
    plan.workload(plan.data[0]).unwrap()
}

#[test]
fn what_is_replayed_reads_and_writes_what_a_real_database_does() {
    let sqlite = Sqlite::default();
    sqlite.watch().unwrap();
    let home = tempfile::tempdir().unwrap();
    let directory = |name: &str| {
        let path = home.path().join(name);
        fs::create_dir(&path).unwrap();
        path
    };
    let plan = plan_of(home.path());
    let workload = plan.workload(plan.data[0]).unwrap();
    let base = directory("base");
    let present = PageSize::kib(4);
    sqlite
        .load(&base, present, workload.as_ref(), &mut go_on)
        .unwrap();
    let mut wrong = Vec::new();
    for bytes in [2048, 4096, 16_384] {
        let page_size = PageSize::new(bytes).unwrap();
        let copy = |name: &str| {
            let path = directory(&format!("{name}-{bytes}"));
            sqlite.derive(&base, &path, page_size, &mut go_on).unwrap();
            path
        };
        let wanted = PagesWanted {
            workload: workload.as_ref(),
            page_size,
            memory: ByteCount::mib(4),
            isolation: None,
            seed: INPUTS,
            clients: 1,
            transactions: WARM_UP + COUNTED,
            references_max: usize::MAX,
            needed: WARM_UP + COUNTED,
            time_max: Duration::from_secs(300),
        };
        let recorded = sqlite.record(&copy("record"), &wanted, &mut go_on).unwrap();
        assert_eq!(recorded.trace.transactions() as u64, WARM_UP + COUNTED);
        assert!(
            recorded.processor.iter().all(Option::is_some),
            "all kinds are timed"
        );
        let replayed = with_trace(&plan, recorded.trace);
        for (run, memory) in [("small", ByteCount::kib(512)), ("large", ByteCount::mib(4))] {
            let settings = Settings {
                page_size,
                memory,
                clients: 1,
                isolation: None,
            };
            let was = measured(&copy(run), &settings, workload.as_ref());
            let is = predicted(replayed.as_ref(), &settings);
            println!("{page_size}, {memory}: {is:.3?}, measured {was:.3?}");
            for (name, error_max, (is, was)) in [
                ("reads", 0.02, (is[0], was[0])),
                ("log bytes", 0.001, (is[1], was[1])),
                ("page bytes", 0.02, (is[2], was[2])),
            ] {
                if (is / was - 1.0).abs() > error_max {
                    wrong.push(format!(
                        "{page_size}, {memory}: {is:.3} {name}, not {was:.3}"
                    ));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
