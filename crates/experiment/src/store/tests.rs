//! What is kept is what is read.

use std::{fs, path::Path, thread, time::Duration};

use jiff::Timestamp;
use octavo_driver::{Backlog, Latencies, Ramp};
use octavo_storage::confine::confine;
use octavo_units::ByteCount;
use octavo_workload::connection::Conflict;

use super::{
    APPLICATION_ID, PREDICTED, SOURCE, Store, StoreError,
    migrations::{OLDEST, STEPS, Step, VERSION},
};
use crate::{
    caveats::Caveat,
    compare::compare,
    findings::{Findings, RampEnd},
    lockstep::{Horizon, WarmUpBlock, slice::tests::slice},
    plan::{Plan, SliceLength, tests::plan},
    ramp::StepRecord,
    record::{RunKey, RunRecord, Source, UNFINISHED, tests::figures},
    statistics::Decision,
};

fn store(directory: &Path) -> Store {
    let mut store = Store::open_or_create(&directory.join("octavo.db")).unwrap();
    store.adopt(&plan(), SliceLength::default(), "0").unwrap();
    store
}

fn key(sitting: u32, cell: usize) -> RunKey {
    RunKey { sitting, cell }
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
        source: Source::Predicted,
        key: key(0, 2),
        started_at: Timestamp::now(),
        result: Ok(Box::new(kept.clone())),
    };
    store.put_runs(session, &[&record], &[]).unwrap();
    let failed = RunRecord {
        key: key(0, 3),
        result: Err("no space".into()),
        ..record
    };
    store.put_runs(session, &[&failed], &[]).unwrap();

    let runs = store.runs(workload.transactions()).unwrap();
    assert_eq!(runs.len(), 2);
    assert_eq!(
        (runs[0].source, runs[0].key),
        (Source::Predicted, key(0, 2))
    );
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
}

#[test]
fn a_run_that_is_kept_again_replaces_itself_and_keeps_its_slices() {
    let directory = tempfile::tempdir().unwrap();
    let mut store = store(directory.path());
    let workload = plan().workload(plan().data[0]).unwrap();
    let session = store.begin_session().unwrap();
    let mut record = RunRecord {
        source: Source::Measured,
        key: key(3, 1),
        started_at: Timestamp::now(),
        result: Ok(Box::new(figures(workload.transactions(), 10))),
    };
    let mut bare = slice(3, 1, 1);
    (bare.spent, bare.foreign_bytes) = (None, None);
    // Of a database that times nothing.
    let mut untimed = slice(3, 2, 1);
    let spent = untimed.spent.as_mut().unwrap();
    (spent.read, spent.log_write, spent.log_sync) = (None, None, None);
    let block = WarmUpBlock {
        response: Some(Duration::from_millis(7)),
        ..WarmUpBlock::new(4, 64, &slice(3, 0, 1))
    };
    // Of a cell that failed before.
    let lost = WarmUpBlock { cell: 2, ..block };
    store
        .put_sitting(session, &[&record], &[block, lost], &[slice(3, 0, 1)])
        .unwrap();
    record.result = Ok(Box::new(figures(workload.transactions(), 20)));
    store
        .put_runs(session, &[&record], &[bare, untimed])
        .unwrap();
    assert_eq!(store.slices().unwrap(), [slice(3, 0, 1), bare, untimed]);
    assert_eq!(store.warm_up().unwrap(), [block]);
    let runs = store.runs(workload.transactions()).unwrap();
    assert_eq!(runs.len(), 1);
    assert_eq!(runs[0].figures().unwrap().load.counted(), 20);
    assert_eq!(store.next_sitting().unwrap(), 4);
    // The slices of a run that turns out to be unsound are not read.
    record.result = Err("unsound".into());
    store.put_runs(session, &[&record], &[]).unwrap();
    assert_eq!(store.slices().unwrap(), []);
}

/// 4 MB of them: SQLite on its own sorts 2 MB in memory, and the rest in /var/tmp.
#[test]
fn many_slices_are_read_by_a_process_that_may_change_its_directory_alone() {
    const SLICES: u32 = 40_000;
    let directory = tempfile::tempdir().unwrap();
    let mut store = store(directory.path());
    let workload = plan().workload(plan().data[0]).unwrap();
    let session = store.begin_session().unwrap();
    let record = RunRecord {
        source: Source::Measured,
        key: key(0, 1),
        started_at: Timestamp::now(),
        result: Ok(Box::new(figures(workload.transactions(), 10))),
    };
    let slices: Vec<_> = (0..SLICES).map(|pass| slice(0, pass, 1)).collect();
    store.put_runs(session, &[&record], &slices).unwrap();
    drop(store);
    thread::scope(|scope| {
        scope.spawn(|| {
            if !confine(&[directory.path().to_owned()]).unwrap() {
                eprintln!("skipped: this kernel has no Landlock");
                return;
            }
            let path = directory.path().join("octavo.db");
            for store in [Store::open_or_create(&path), Store::open(&path)] {
                assert!(store.unwrap().slices().unwrap() == slices);
            }
        });
    });
}

#[test]
fn steps_of_a_run_are_read_as_they_were_kept() {
    let directory = tempfile::tempdir().unwrap();
    let mut store = store(directory.path());
    let session = store.begin_session().unwrap();
    let mut record = RunRecord {
        source: Source::Measured,
        key: key(2, 1),
        started_at: Timestamp::now(),
        result: Err(UNFINISHED.into()),
    };
    store.put_runs(session, &[&record], &[]).unwrap();
    let mut latencies = Latencies::default();
    latencies.record(1234.0);
    let step = |clients: u32| StepRecord {
        clients,
        measured: Duration::from_millis(54_006),
        transactions: 1000,
        counted: 450,
        failed: 2,
        buffer_misses: 77,
        read_bytes: ByteCount::kib(77),
        written_bytes: ByteCount::kib(99),
        batches: vec![8.25, 8.5],
        latencies: latencies.clone(),
    };
    store.put_step(key(2, 1), &step(10)).unwrap();
    store.put_step(key(2, 1), &step(5)).unwrap();
    // What is kept of the run later takes none of its steps away.
    let workload = plan().workload(plan().data[0]).unwrap();
    record.result = Ok(Box::new(figures(workload.transactions(), 10)));
    store.put_runs(session, &[&record], &[]).unwrap();
    let steps = store.steps().unwrap();
    let clients: Vec<u32> = steps.iter().map(|(_, step)| step.clients).collect();
    assert_eq!(clients, [5, 10]);
    assert_eq!(steps[1].0, key(2, 1));
    let [read, kept] = [&steps[1].1, &step(10)].map(|step| {
        (
            (step.clients, step.measured, step.batches.clone()),
            (step.transactions, step.counted, step.failed),
            (step.buffer_misses, step.read_bytes, step.written_bytes),
            step.latencies.packed(),
        )
    });
    assert_eq!(read, kept);
    // What nobody keeps is damage.
    for change in [
        "measured_s = 0.0",
        "batches = '[]'",
        "batches = '[-1.0]'",
        "transactions = -1",
        "histogram = x'00'",
    ] {
        store.run(&format!("UPDATE step SET {change}"), []).unwrap();
        let error = store.steps().unwrap_err();
        let is_named = matches!(
            error,
            StoreError::Damaged { .. } | StoreError::Sqlite { .. }
        );
        assert!(is_named, "{change}: {error}");
        store.run("DELETE FROM step", []).unwrap();
        store.put_step(key(2, 1), &step(5)).unwrap();
    }
}

/// Ramps of two of six cells, the second interrupted. Of the present version a sample is in
/// `tests/stores/`, for all that reads stores of others:
///
/// ```sh
/// OCTAVO_STORE_SAMPLE=$PWD/crates/experiment/tests/stores/version-12-ramps.db \
///     cargo test -p octavo-experiment --lib steps_in_a_store
/// ```
#[test]
fn steps_in_a_store_give_a_law() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("octavo.db");
    let ramp = Ramp::new("5..40/5".parse().unwrap(), Duration::from_secs(60)).unwrap();
    let plan = Plan {
        clients: vec![40],
        ramp: Some(ramp),
        ..plan()
    };
    let workload = plan.workload(plan.data[0]).unwrap();
    let mut store = Store::open_or_create(&path).unwrap();
    store.adopt(&plan, SliceLength::default(), "0").unwrap();
    let session = store.begin_session().unwrap();
    let mut latencies = Latencies::default();
    latencies.record(1234.0);
    for (sitting, cell, steps) in [(0, 3, 8), (1, 0, 2)] {
        let mut record = RunRecord {
            source: Source::Measured,
            key: key(sitting, cell),
            started_at: Timestamp::UNIX_EPOCH,
            result: Err(UNFINISHED.into()),
        };
        store.put_runs(session, &[&record], &[]).unwrap();
        for clients in ramp.clients.clients().take(steps) {
            let n = f64::from(clients);
            let reached = 1000.0 * n / (1.0 + 0.05 * (n - 1.0) + 0.002 * n * (n - 1.0));
            let step = StepRecord {
                clients,
                measured: Duration::from_secs(54),
                transactions: (120.0 * reached) as u64,
                counted: (54.0 * reached) as u64,
                failed: 0,
                buffer_misses: 77,
                read_bytes: ByteCount::kib(77),
                written_bytes: ByteCount::kib(99),
                batches: vec![reached * 0.99, reached * 1.01],
                latencies: latencies.clone(),
            };
            store.put_step(record.key, &step).unwrap();
        }
        if steps == 8 {
            record.result = Ok(Box::new(figures(workload.transactions(), 600)));
            store.put_runs(session, &[&record], &[]).unwrap();
        }
    }
    assert_eq!(store.finished_cells().unwrap(), [3]);
    drop(store);
    let findings = Findings::read(&Store::open(&path).unwrap())
        .unwrap()
        .unwrap();
    assert!(findings.groups.is_empty() && !findings.finished);
    assert_eq!((findings.runs_done, findings.runs_failed.len()), (1, 0));
    assert_eq!(findings.measured_s, 60.0);
    let ends: Vec<&RampEnd> = findings.ramps.iter().map(|ramp| &ramp.end).collect();
    let (finished, missing) = (&RampEnd::Finished, &RampEnd::Missing);
    let interrupted = &RampEnd::Interrupted;
    let wanted = [interrupted, missing, missing, finished, missing, missing];
    assert_eq!(ends, wanted);
    let law = findings.ramps[3].found.law.unwrap();
    assert!((law.contention.estimate - 0.05).abs() < 1e-3, "{law:?}");
    assert!((law.coherence.estimate - 0.002).abs() < 1e-4, "{law:?}");
    assert!(findings.ramps[3].per_transaction.is_some());
    assert_eq!(findings.ramps[0].found.steps.len(), 2);
    let no_reference = |of: &Caveat| matches!(of, Caveat::NoReference { .. });
    assert!(!findings.caveats.iter().any(no_reference));
    if let Some(sample) = std::env::var_os("OCTAVO_STORE_SAMPLE") {
        fs::copy(path, sample).unwrap();
    }
}

#[test]
fn a_store_is_for_one_ramp() {
    let directory = tempfile::tempdir().unwrap();
    let ramps = |text: &str| {
        let ramp = Ramp::new(text.parse().unwrap(), Duration::from_secs(60)).unwrap();
        Plan {
            clients: vec![ramp.clients.last()],
            ramp: Some(ramp),
            ..plan()
        }
    };
    let mut store = Store::open_or_create(&directory.path().join("octavo.db")).unwrap();
    let mut adopt = |plan: &Plan| store.adopt(plan, SliceLength::default(), "0");
    adopt(&ramps("1..9/2")).unwrap();
    adopt(&ramps("1..9/2")).unwrap();
    let refused = adopt(&ramps("1..9/4")).unwrap_err().to_string();
    let words = "ramp 1..9/2 of 60s a step, not 1..9/4 of 60s a step";
    assert!(refused.contains(words), "{refused}");
    let mut other = plan();
    other.clients = vec![9];
    let refused = adopt(&other).unwrap_err().to_string();
    assert!(refused.contains("not none"), "{refused}");
}

#[test]
fn a_horizon_and_the_length_of_slices_are_kept() {
    let directory = tempfile::tempdir().unwrap();
    let mut store = store(directory.path());
    assert_eq!(store.horizon().unwrap(), None);
    let horizon = Horizon::Time {
        measured: Duration::from_millis(1500),
    };
    store.set_horizon(horizon).unwrap();
    assert_eq!(store.horizon().unwrap(), Some(horizon));
    store.set_slice_transactions(50).unwrap();
    assert_eq!(store.slice_transactions().unwrap(), Some(50));
    let wanted = |transactions| SliceLength {
        transactions,
        warm_up: None,
    };
    store.adopt(&plan(), wanted(Some(50)), "0").unwrap();
    let refused = store.adopt(&plan(), wanted(Some(25)), "0");
    assert!(matches!(refused, Err(StoreError::OtherPlan { .. })));
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
            let read = format!("reads versions {OLDEST} to {VERSION}");
            assert!(message.contains(&read), "{message}");
        }
    }
}

/// What two later versions might change.
const MADE_UP: [Step; STEPS.len() + 2] = {
    let mut steps = [Step {
        from: VERSION,
        sql: "ALTER TABLE fact RENAME COLUMN value TO text; CREATE TABLE note (text TEXT);",
    }; STEPS.len() + 2];
    let mut step = 0;
    while step < STEPS.len() {
        steps[step] = STEPS[step];
        step += 1;
    }
    steps[STEPS.len() + 1] = Step {
        from: VERSION + 1,
        sql: "INSERT INTO note SELECT text FROM fact; ALTER TABLE fact RENAME COLUMN text TO value;",
    };
    steps
};

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
    drop(Store::open_or_create_with(&path, &MADE_UP[..STEPS.len() + 1]).unwrap());
    let migrated = Store::open_or_create_with(&path, &MADE_UP).unwrap();
    assert_eq!(notes(&migrated), ["6.1"]);
    drop(migrated);
    let again = Store::open_or_create_with(&path, &MADE_UP).unwrap();
    assert_eq!(notes(&again), ["6.1"]);
    drop(again);
    let Err(StoreError::Version { found, .. }) = Store::open(&path) else {
        panic!("a later version was read");
    };
    assert_eq!(found, VERSION + 2);
}

#[test]
fn a_step_that_fails_leaves_the_store_as_it_was() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("octavo.db");
    drop(store(directory.path()));
    let mut wrong = STEPS.to_vec();
    wrong.push(Step {
        from: VERSION,
        sql: "CREATE TABLE note (text TEXT); INSERT INTO missing VALUES (1);",
    });
    let refused = Store::open_or_create_with(&path, &wrong);
    assert!(matches!(refused, Err(StoreError::Sqlite { .. })));
    let unchanged = Store::open(&path).unwrap();
    assert!(
        unchanged
            .collect("SELECT text FROM note", &[], |_| Ok(()))
            .is_err()
    );
}

#[test]
fn a_reader_holds_nothing_up_and_the_store_is_one_file_in_the_end() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("octavo.db");
    let mut store = store(directory.path());
    let reader = rusqlite::Connection::open(&path).unwrap();
    reader.execute_batch("BEGIN").unwrap();
    let count = || -> i64 {
        reader
            .query_row("SELECT count(*) FROM fact", [], |row| row.get(0))
            .unwrap()
    };
    let before = count();
    store
        .put_facts("topic", &[("name", "value".to_owned())])
        .unwrap();
    assert_eq!(count(), before, "it sees what was when it began");
    reader.execute_batch("COMMIT").unwrap();
    assert_eq!(count(), before + 1);
    drop(reader);
    drop(store);
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    // 1 and 1 stand for the rollback journal (sqlite.org/fileformat.html).
    assert_eq!(fs::read(&path).unwrap()[18..20], [1, 1]);
}

#[test]
fn a_store_that_another_program_holds_is_named() {
    let directory = tempfile::tempdir().unwrap();
    drop(store(directory.path()));
    let path = directory.path().join("octavo.db");
    let other = rusqlite::Connection::open(&path).unwrap();
    other.execute_batch("BEGIN EXCLUSIVE").unwrap();
    let refused = Store::open_or_create(&path);
    assert!(matches!(refused, Err(StoreError::Busy { .. })));
    // One that reads is in the way of the log alone.
    other.execute_batch("ROLLBACK; BEGIN").unwrap();
    let read = other.query_row("SELECT count(*) FROM plan", [], |row| row.get::<_, i64>(0));
    assert_eq!(read, Ok(1));
    let mut store = Store::open_or_create(&path).unwrap();
    let refused = store.adopt(&plan(), SliceLength::default(), "0");
    assert!(matches!(refused, Err(StoreError::Busy { .. })));
}

/// `tests/stores/` has samples of full factorials of three page sizes: of
/// version 3 four rounds of fresh copies, which count as sittings of one pass,
/// of version 4 what [`campaign`](crate::campaign)'s tests make, and say how.
#[test]
fn stored_samples_are_read_and_equal_themselves() {
    for (version, sittings, passes) in [(3, 4, 4), (4, 1, 24)] {
        let name = format!("tests/stores/version-{version}.db");
        let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("octavo.db");
        fs::copy(sample, &path).unwrap();
        let before = fs::read(&path).unwrap();
        let findings = Findings::read(&Store::open(&path).unwrap())
            .unwrap()
            .unwrap();
        assert_eq!(fs::read(&path).unwrap(), before);
        assert_eq!((findings.sittings, findings.passes), (sittings, passes));
        let cells = &findings.groups[0].cells;
        assert!((cells[1].ratio.unwrap().estimate - 1.1).abs() < 0.01);
        assert_eq!(cells[1].decision, Some(Decision::Better));
        let comparison = compare(&findings, &findings);
        assert_eq!(comparison.cells.len(), 3);
        assert_eq!(comparison.differences, []);
        for cell in &comparison.cells {
            assert!((cell.ratio.estimate - 1.0).abs() < 1e-12, "{}", cell.name);
        }
    }
}

#[test]
fn a_migrated_store_has_the_tables_of_a_new_one() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("octavo.db");
    let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/stores/version-3.db");
    fs::copy(sample, &path).unwrap();
    let columns = |store: &Store| -> Vec<(String, String)> {
        let sql = "SELECT t.name, c.name FROM sqlite_schema t, pragma_table_info(t.name) c
                   WHERE t.type = 'table' ORDER BY 1, 2";
        store
            .collect(sql, &[], |row| Ok((row.get(0)?, row.get(1)?)))
            .unwrap()
    };
    let migrated = columns(&Store::open_or_create(&path).unwrap());
    let other = tempfile::tempdir().unwrap();
    assert_eq!(migrated, columns(&store(other.path())));
}

#[test]
fn damage_is_named_once_with_the_remedy_of_who_asks() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("octavo.db");
    let mut store = Store::open_or_create(&path).unwrap();
    store.adopt(&plan(), SliceLength::default(), "0").unwrap();
    store
        .run("UPDATE plan SET octavo = CAST(x'ff41' AS TEXT)", [])
        .unwrap();
    let said = |store: &Store| store.origin().unwrap_err().to_string();
    let writing = said(&store);
    drop(store);
    let reading = said(&Store::open(&path).unwrap());
    for said in [&writing, &reading] {
        assert!(
            said.contains("is damaged (a text is not UTF-8): "),
            "{said}"
        );
    }
    assert!(writing.ends_with("move it away or name another directory"));
    assert!(reading.ends_with("in a new directory"), "{reading}");
}

#[test]
fn a_prediction_is_known_before_its_first_figures() {
    let directory = tempfile::tempdir().unwrap();
    let mut store = Store::open_or_create(&directory.path().join("octavo.db")).unwrap();
    store.adopt(&plan(), SliceLength::default(), "0").unwrap();
    assert_eq!(store.source().unwrap(), None);
    store
        .put_facts("storage", &[(SOURCE, PREDICTED.to_owned())])
        .unwrap();
    assert_eq!(store.source().unwrap(), Some(Source::Predicted));
}

#[test]
fn what_the_kernel_shows_as_a_file_is_no_store() {
    let error = Store::open(Path::new("/proc/self/status")).unwrap_err();
    assert!(matches!(error, StoreError::Foreign { .. }), "{error}");
    let error = Store::open(Path::new("/proc/kmsg")).unwrap_err();
    assert!(matches!(error, StoreError::Foreign { .. }), "{error}");
}

#[test]
fn a_store_that_was_left_half_written_is_not_read_without_its_journal() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("octavo.db");
    drop(Store::open_or_create(&path).unwrap());
    // As where nothing can be written: what would undo the half that is there cannot be played back.
    std::fs::create_dir(directory.path().join("octavo.db-journal")).unwrap();
    let refused = Store::open(&path).unwrap_err();
    assert!(matches!(refused, StoreError::Journal { .. }), "{refused}");
}

#[test]
fn a_path_is_no_uri_whatever_its_name() {
    let directory = tempfile::tempdir().unwrap();
    assert_eq!(
        super::no_uri(Path::new("file:a/octavo.db")),
        Path::new("./file:a/octavo.db")
    );
    let path = directory.path().join("file:a?mode=memory");
    drop(Store::open_or_create(&path).unwrap());
    assert!(path.exists());
    drop(Store::open(&path).unwrap());
}
