//! What is kept is what is read.

use std::path::Path;

use jiff::Timestamp;
use octavo_driver::Backlog;
use octavo_workload::connection::Conflict;

use super::{APPLICATION_ID, Store, StoreError, VERSION};
use crate::{
    plan::tests::plan,
    race::Phase,
    record::{RunKey, RunRecord, Source, tests::figures},
};

fn store(directory: &Path) -> Store {
    let mut store = Store::open_or_create(&directory.join("octavo.db")).unwrap();
    store.adopt(&plan(), None, "0").unwrap();
    store
}

fn key(round: u32, cell: usize) -> RunKey {
    RunKey {
        round,
        position: cell as u32,
        cell,
        phase: Phase::Race,
    }
}

#[test]
fn a_run_is_read_as_it_was_kept() {
    let directory = tempfile::tempdir().unwrap();
    let mut store = store(directory.path());
    let workload = plan().workload(plan().data[0]).unwrap();
    let session = store.begin_session().unwrap();
    let mut kept = figures(workload.transactions(), 600);
    kept.load.backlog = Some(Backlog {
        begin: 1,
        end: 2,
        offered: 3,
        bound: 4,
    });
    kept.load.counts.late.record(17.0);
    let record = RunRecord {
        source: Source::Replayed,
        key: key(0, 2),
        started_at: Timestamp::now(),
        result: Ok(Box::new(kept.clone())),
    };
    store.put_run(session, &record).unwrap();
    let failed = RunRecord {
        key: key(0, 3),
        result: Err("no space".into()),
        ..record
    };
    store.put_run(session, &failed).unwrap();

    let runs = store.runs(workload.transactions(), 0).unwrap();
    assert_eq!(runs.len(), 2);
    assert_eq!((runs[0].source, runs[0].key), (Source::Replayed, key(0, 2)));
    assert_eq!(runs[1].result.as_ref().unwrap_err(), "no space");
    let read = runs[0].figures().unwrap();
    let (load, expected) = (&read.load, &kept.load);
    assert_eq!(load.warm_up_misses, 77);
    assert_eq!(
        (load.warm_up, load.measured),
        (expected.warm_up, expected.measured)
    );
    assert_eq!(load.counters, expected.counters);
    assert_eq!(load.backlog, expected.backlog);
    assert_eq!(load.series, expected.series);
    assert_eq!(load.steadiness, expected.steadiness);
    assert_eq!(load.stability, expected.stability);
    assert_eq!((load.counted(), load.transactions()), (600, 603));
    let kind = &load.counts.kinds[0];
    assert_eq!(
        (
            kind.conflicts(Conflict::Deadlock),
            kind.retries(),
            kind.gave_up()
        ),
        (5, 3, 2)
    );
    assert_eq!(
        kind.latencies.packed(),
        expected.counts.kinds[0].latencies.packed()
    );
    assert_eq!(load.counts.late.percentiles().max_us, 17);
    assert_eq!(load.counts.changed_bytes, 60_000);
    assert_eq!(read.overhead, kept.overhead);
    assert_eq!(read.storage_path, kept.storage_path);
    // Series of earlier rounds are left out.
    let later = store.runs(workload.transactions(), 1).unwrap();
    assert!(later[0].figures().unwrap().load.series.is_empty());
    let outcomes = store.outcomes().unwrap();
    assert_eq!(outcomes[0].throughput_per_minute, Some(600.0));
    assert_eq!(outcomes[1].throughput_per_minute, None);
}

#[test]
fn runs_that_are_set_aside_are_not_read() {
    let directory = tempfile::tempdir().unwrap();
    let mut store = store(directory.path());
    let workload = plan().workload(plan().data[0]).unwrap();
    let session = store.begin_session().unwrap();
    for cell in 0..2 {
        let record = RunRecord {
            source: Source::Measured,
            key: key(3, cell),
            started_at: Timestamp::now(),
            result: Ok(Box::new(figures(workload.transactions(), 10))),
        };
        store.put_run(session, &record).unwrap();
    }
    store.set_aside(3).unwrap();
    assert!(store.runs(workload.transactions(), 0).unwrap().is_empty());
    assert!(store.outcomes().unwrap().is_empty());
}

#[test]
fn other_files_and_unknown_versions_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("octavo.db");
    let set = |sql: &str| {
        let connection = rusqlite::Connection::open(&path).unwrap();
        connection.execute_batch(sql).unwrap();
    };
    set("CREATE TABLE theirs (x)");
    assert!(matches!(
        Store::open(&path),
        Err(StoreError::Foreign { .. })
    ));
    assert!(matches!(
        Store::open_or_create(&path),
        Err(StoreError::Foreign { .. })
    ));
    set(&format!(
        "PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {}",
        VERSION + 1
    ));
    let Err(StoreError::Version { found, .. }) = Store::open(&path) else {
        panic!("a later version was read");
    };
    assert_eq!(found, VERSION + 1);
}
