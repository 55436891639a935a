//! What is kept is what is read.

use std::{fs, path::Path};

use jiff::Timestamp;
use octavo_driver::Backlog;
use octavo_workload::connection::Conflict;

use super::{
    APPLICATION_ID, Store, StoreError,
    migrations::{OLDEST, STEPS, Step, VERSION},
};
use crate::{
    compare::compare,
    findings::Findings,
    plan::tests::plan,
    race::Phase,
    record::{RunKey, RunRecord, Source, tests::figures},
    statistics::Decision,
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

#[test]
fn versions_before_the_oldest_are_refused_with_both_versions() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("octavo.db");
    drop(store(directory.path()));
    for version in [1, 2] {
        let connection = rusqlite::Connection::open(&path).unwrap();
        connection
            .pragma_update(None, "user_version", version)
            .unwrap();
        drop(connection);
        for refused in [Store::open(&path), Store::open_or_create(&path)] {
            let message = refused.unwrap_err().to_string();
            assert!(message.contains(&format!("has store version {version}")));
            assert!(message.contains("reads version 3"), "{message}");
        }
    }
}

/// What two later versions might change.
const MADE_UP: [Step; 2] = [
    Step {
        from: OLDEST,
        sql: "ALTER TABLE fact RENAME COLUMN value TO text; CREATE TABLE note (text TEXT);",
    },
    Step {
        from: OLDEST + 1,
        sql: "INSERT INTO note SELECT text FROM fact; ALTER TABLE fact RENAME COLUMN text TO value;",
    },
];

fn notes(store: &Store) -> Vec<String> {
    store
        .collect("SELECT text FROM note", &[], |row| row.get(0))
        .unwrap()
}

#[test]
fn steps_are_in_order_and_without_gaps() {
    for steps in [STEPS, &MADE_UP] {
        assert!((OLDEST..).zip(steps).all(|(from, step)| step.from == from));
    }
}

#[test]
fn reading_migrates_a_copy_and_leaves_the_file_as_it_is() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("octavo.db");
    let facts = [("kernel".to_owned(), "6.1".to_owned())];
    store(directory.path())
        .put_facts("machine", &facts)
        .unwrap();
    let before = fs::read(&path).unwrap();
    let migrated = Store::open_with(&path, &MADE_UP).unwrap();
    assert_eq!(notes(&migrated), ["6.1"]);
    assert_eq!(migrated.facts("machine").unwrap(), facts);
    assert_eq!(migrated.plan().unwrap(), Some(plan()));
    assert_eq!(migrated.path(), path);
    // A second copy is another database.
    let second = Store::open_with(&path, &MADE_UP).unwrap();
    assert_eq!(notes(&second), ["6.1"]);
    drop((migrated, second));
    assert_eq!(fs::read(&path).unwrap(), before);
    Store::open(&path).unwrap();
}

#[test]
fn resuming_migrates_in_place_and_only_what_is_left_to_do() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("octavo.db");
    let facts = [("kernel".to_owned(), "6.1".to_owned())];
    store(directory.path())
        .put_facts("machine", &facts)
        .unwrap();
    drop(Store::open_or_create_with(&path, &MADE_UP[..1]).unwrap());
    let migrated = Store::open_or_create_with(&path, &MADE_UP).unwrap();
    assert_eq!(notes(&migrated), ["6.1"]);
    drop(migrated);
    let again = Store::open_or_create_with(&path, &MADE_UP).unwrap();
    assert_eq!(notes(&again), ["6.1"]);
    drop(again);
    let Err(StoreError::Version { found, .. }) = Store::open(&path) else {
        panic!("a later version was read");
    };
    assert_eq!(found, OLDEST + 2);
}

#[test]
fn a_step_that_fails_leaves_the_store_as_it_was() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("octavo.db");
    drop(store(directory.path()));
    let wrong = [Step {
        from: OLDEST,
        sql: "CREATE TABLE note (text TEXT); INSERT INTO missing VALUES (1);",
    }];
    let refused = Store::open_or_create_with(&path, &wrong);
    assert!(matches!(refused, Err(StoreError::Sqlite { .. })));
    let unchanged = Store::open(&path).unwrap();
    assert!(
        unchanged
            .collect("SELECT text FROM note", &[], |_| Ok(()))
            .is_err()
    );
}

/// `tests/stores/version-3.db` has four rounds of a full factorial of three
/// page sizes. [`campaign`](crate::campaign)'s tests made it, and say how.
#[test]
fn a_stored_sample_of_version_3_is_read_and_equals_itself() {
    let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/stores/version-3.db");
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("octavo.db");
    fs::copy(sample, &path).unwrap();
    let before = fs::read(&path).unwrap();
    let findings = Findings::of(&Store::open(&path).unwrap()).unwrap().unwrap();
    assert_eq!(fs::read(&path).unwrap(), before);
    assert_eq!((findings.rounds, findings.runs_done), (4, 12));
    let cells = &findings.groups[0].cells;
    assert_eq!(cells[1].decision, Some(Decision::Better));
    assert_eq!(cells[2].decision, Some(Decision::Equivalent));
    let comparison = compare(&findings, &findings);
    assert_eq!(comparison.cells.len(), 3);
    assert_eq!(comparison.differences, []);
    for cell in &comparison.cells {
        assert_eq!(cell.decision, Decision::Equivalent, "{}", cell.name);
        assert!((cell.ratio.estimate - 1.0).abs() < 1e-12);
    }
}
