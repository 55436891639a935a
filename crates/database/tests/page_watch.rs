//! The pages that statements refer to, recorded on trees whose pages are counted by hand.

use std::{fs, ops::ControlFlow, path::Path, sync::Arc, time::Duration};

use octavo_database::{CopyOwn, PagesWanted, RecordPages, RecordedPages, Sqlite, Statements};
use octavo_script::{Definitions, Script};
use octavo_units::{ByteCount, PageSize, Seed};
use octavo_workload::{
    Outcome, WorkloadSpec, own,
    page_trace::{PartEnd, TracedPart},
    user::{CopyOf, Own, OwnScript},
};
use rusqlite::Connection;

/// A table whose root has a leaf for each of three rows: 400 of the 504 bytes of a page.
fn application(path: &Path) {
    let connection = Connection::open(path).unwrap();
    connection
        .execute_batch(
            "PRAGMA page_size=512;
             CREATE TABLE t(id INTEGER PRIMARY KEY, v BLOB);
             INSERT INTO t VALUES (1, zeroblob(400)), (2, zeroblob(400)), (3, zeroblob(400));
             VACUUM;",
        )
        .unwrap();
    let pages: u32 = connection
        .query_row("PRAGMA page_count", [], |row| row.get(0))
        .unwrap();
    assert_eq!(pages, 5, "the schema, the root and three leaves");
}

/// Records a script that runs once.
fn record(script: &str) -> RecordedPages {
    record_several(script, 1, 0)
}

/// Records a script with no time to do so: only the `needed` transactions, and at least one.
fn record_several(script: &str, transactions: u64, needed: u64) -> RecordedPages {
    let sqlite = Sqlite::default();
    sqlite.watch().unwrap();
    let home = tempfile::tempdir().unwrap();
    let source = home.path().join("my.db");
    application(&source);
    let run = home.path().join("run");
    fs::create_dir(&run).unwrap();
    fs::copy(&source, run.join("database.sqlite")).unwrap();
    let script = Script::parse("once.sql", script, &Definitions::default()).unwrap();
    let scripts = [script];
    let tried = sqlite
        .prepare(source.as_os_str(), Statements::Scripts(&scripts))
        .unwrap();
    let page_size = PageSize::new(512).unwrap();
    let own = Own {
        prepared: Some(tried.prepared),
        ..Own::new(
            CopyOf::whole(
                "my.db",
                ByteCount::kib(2),
                page_size,
                source.into_os_string(),
            ),
            vec![OwnScript {
                name: "once.sql".into(),
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
    let workload = spec.build().unwrap();
    let wanted = PagesWanted {
        workload: workload.as_ref(),
        page_size,
        memory: ByteCount::mib(4),
        isolation: None,
        seed: Seed::new(1),
        clients: 1,
        transactions,
        references_max: usize::MAX,
        needed,
        time_max: Duration::ZERO,
    };
    let mut go_on = |_| ControlFlow::Continue(());
    sqlite.record(&run, &wanted, &mut go_on).unwrap()
}

/// The parts of the transaction: their pages, each with `*` if it is changed and `+` if it is new.
fn parts(recorded: &RecordedPages) -> Vec<String> {
    let trace = &recorded.trace;
    let transaction = trace.transaction(0).unwrap();
    let part = |number| {
        let TracedPart { pages, .. } = trace.part(&transaction, number);
        let page = |page: &octavo_workload::page_trace::TracedPage| {
            let change = if page.is_change() { "*" } else { "" };
            let new = if page.is_new() { "+" } else { "" };
            format!("{}{new}{change}", page.number())
        };
        pages.iter().map(page).collect::<Vec<_>>().join(" ")
    };
    (0..transaction.parts).map(part).collect()
}

fn ends(recorded: &RecordedPages) -> Vec<PartEnd> {
    let transaction = recorded.trace.transaction(0).unwrap();
    let end = |number| recorded.trace.part(&transaction, number).end;
    (0..transaction.parts).map(end).collect()
}

#[test]
fn what_is_needed_is_recorded_however_long_it_takes() {
    let read = "SELECT v FROM t WHERE id = 1;";
    let recorded = |needed| record_several(read, 9, needed).trace.transactions();
    assert_eq!([recorded(0), recorded(5), recorded(9)], [1, 5, 9]);
}

/// Pages are numbered from 0: the first one is looked at when a transaction begins, then comes the
/// root, and then a leaf.
#[test]
fn rows_are_read_by_their_tree() {
    let recorded = record("SELECT v FROM t WHERE id = 1;\nSELECT v FROM t WHERE id = 3;");
    assert_eq!(parts(&recorded), ["0 1 2", "0 1 4"]);
    let reads = PartEnd {
        only_reads: true,
        is_committed: true,
    };
    assert_eq!(ends(&recorded), [reads; 2]);
    assert_eq!((recorded.trace.loaded(), recorded.trace.most()), (5, 5));
    assert_eq!(recorded.trace.page_size(), PageSize::new(512).unwrap());
    let recorded =
        record("BEGIN;\nSELECT v FROM t WHERE id = 1;\nSELECT v FROM t WHERE id = 2;\nEND;");
    assert_eq!(parts(&recorded), ["0 1 2 1 3"]);
    // A scan stays at the root.
    let recorded = record("SELECT count(v) FROM t;");
    assert_eq!(parts(&recorded), ["0 1 2 3 4"]);
    assert_eq!(recorded.audit.statements[0].rows, 1);
}

#[test]
fn changed_pages_are_those_of_the_log() {
    let writes = PartEnd {
        only_reads: false,
        is_committed: true,
    };
    let recorded = record("UPDATE t SET v = zeroblob(399) WHERE id = 2;");
    assert_eq!(parts(&recorded), ["0 1 3*"]);
    assert_eq!(ends(&recorded), [writes]);
    // The rows that come last get a leaf of their own: the root and the header know of it.
    let recorded = record("INSERT INTO t(v) VALUES (zeroblob(400));");
    assert_eq!(parts(&recorded), ["0* 1* 4 5+*"]);
    assert_eq!((recorded.trace.loaded(), recorded.trace.most()), (5, 6));
    // Nothing is changed by who changes no row.
    let recorded = record("DELETE FROM t WHERE id = 9;");
    assert_eq!(parts(&recorded), ["0 1 4"]);
}

#[test]
fn what_is_rolled_back_is_known() {
    let recorded = record("BEGIN;\nUPDATE t SET v = zeroblob(399) WHERE id = 2;\nROLLBACK;");
    // The first page is looked at again: how many there are may have been taken back.
    assert_eq!(parts(&recorded), ["0 1 3* 0"]);
    let undone = PartEnd {
        only_reads: false,
        is_committed: false,
    };
    assert_eq!(ends(&recorded), [undone]);
    let transaction = recorded.trace.transaction(0).unwrap();
    assert_eq!(
        (transaction.kind, transaction.outcome),
        (0, Outcome::RolledBack)
    );
}

#[test]
fn a_watch_ends_where_somebody_stops_it() {
    let sqlite = Sqlite::default();
    assert!(record("SELECT v FROM t WHERE id = 1;").processor[0].is_some());
    // Another one begins.
    assert!(sqlite.watch().is_ok());
    assert_eq!(
        record("SELECT v FROM t WHERE id = 2;").trace.transactions(),
        1
    );
}
