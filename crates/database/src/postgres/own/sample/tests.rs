//! Samples of a database with all kinds of tables, beside that database.

use std::{collections::HashSet, fs, ops::ControlFlow, os::unix::fs::PermissionsExt as _};

use octavo_units::{PageSize, Seed};
use octavo_workload::user::CopyOf;
use tempfile::TempDir;

use super::{
    super::super::{
        cluster::{Cluster, DATABASE, Started, USER},
        programs::{Programs, installed},
        session::Session,
    },
    super::{original::Original, restore::Dump},
    Snapshot, at, by_key,
};
use crate::own::sample::tests::{Names, check, check_odd, copying, with_seed};

const NAMES: Names = Names {
    customers: "customers",
    id: "\"Id\"",
    lines: "lines",
};

#[test]
fn rows_are_found_by_where_they_lie() {
    let keys = ["17 (0,1)", "17 (3,20)", "18 (5,6)"].map(Box::from);
    assert_eq!(at(&keys, 17).unwrap(), "{\"(0,1)\",\"(3,20)\"}");
    assert_eq!(at(&keys, 16), None);
    assert_eq!(
        by_key("c", &keys),
        "(c.tableoid = 17 AND c.ctid = ANY ('{\"(0,1)\",\"(3,20)\"}'::tid[]) OR \
         c.tableoid = 18 AND c.ctid = ANY ('{\"(5,6)\"}'::tid[]))"
    );
}

/// A database whose rows lie at odds with its keys, and a sample of it.
#[test]
fn rows_with_odd_references_are_sampled() {
    let Some((_, directory)) = installed() else {
        eprintln!("skipped: PostgreSQL is not installed");
        return;
    };
    let (_home, source) = server(&directory, "none");
    let mut all = source.connect(&[]).unwrap();
    all.simple(include_str!("odd.sql")).unwrap();
    let url = url(&source);
    let original = Original::open(url.as_ref(), &programs(&directory)).unwrap();
    let own = super::examine(&original, url.as_ref(), &copying(1), &|| false).unwrap();
    let scratch = tempfile::tempdir().unwrap();
    let dump = Dump::in_directory(scratch.path()).unwrap();
    let go = &mut |_| ControlFlow::Continue(());
    super::dump(&original, &dump, &original.setup(), &own.copy, go).unwrap();
    let (_home, target) = server(&directory, "none");
    dump.restore(original.tools(), &target, &mut || false)
        .unwrap();
    let mut kept = target.connect(&[]).unwrap();
    check_odd(&own, &mut |sql| number(&mut all, sql), &mut |sql| {
        number(&mut kept, sql)
    });
    // Nothing waits for a snapshot that has counted.
    let go = || false;
    let of = (copying(1).share.unwrap(), Seed::new(1));
    let open =
        |scratch: &TempDir| Snapshot::open(&original, of, scratch.path(), None, &go).unwrap();
    let (scratch, rows) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut snapshot = open(&scratch);
    snapshot.dump_arguments().unwrap();
    all.simple("SET lock_timeout = '1s'; ALTER TABLE long_rows ADD added int")
        .unwrap();
    snapshot.write_rows(&rows.path().join("rows")).unwrap();
    // It no longer has the rows of a table that was written anew.
    for change in [
        "ALTER TABLE long_rows ALTER added TYPE bigint",
        "TRUNCATE alike",
    ] {
        let snapshot = open(&scratch);
        all.simple(change).unwrap();
        let error = snapshot.write_rows(&rows.path().join("rows")).unwrap_err();
        assert!(error.to_string().contains("written anew"), "{error}");
    }
    drop((all, kept));
    target.stop().unwrap();
    source.stop().unwrap();
}

pub(in super::super) fn url(server: &Started) -> String {
    format!(
        "postgres://{USER}@/{DATABASE}?host={}",
        server.path().display()
    )
}

pub(in super::super) fn programs(directory: &std::path::Path) -> Programs {
    Programs {
        given: vec![(PageSize::kib(8), directory.to_owned())],
        source: None,
    }
}

/// A server in a directory of its own.
pub(in super::super) fn server(programs: &std::path::Path, log: &str) -> (TempDir, Started) {
    let home = tempfile::tempdir().unwrap();
    fs::set_permissions(home.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let cluster = Cluster::new(home.path(), programs.to_owned()).unwrap();
    cluster.create(PageSize::kib(8), &mut || false).unwrap();
    let parameters = [("log_statement", log.into()), ("fsync", "off".into())];
    let server = cluster.start(&parameters, None).unwrap();
    (home, server)
}

fn session(server: &Started) -> Session {
    let mut session = server.connect(&[]).unwrap();
    session.simple("SET search_path = \"My Shop\"").unwrap();
    session
}

fn number(session: &mut Session, sql: &str) -> u64 {
    let one = session
        .one(sql)
        .unwrap_or_else(|error| panic!("{sql}: {error}"));
    one.unwrap().parse().unwrap()
}

fn rows(session: &mut Session, sql: &str) -> HashSet<String> {
    let rows = session.texts(sql).unwrap();
    rows.into_iter().flatten().flatten().collect()
}

#[test]
fn a_sample_keeps_rows_together_and_only_reads() {
    let Some((_, directory)) = installed() else {
        eprintln!("skipped: PostgreSQL is not installed");
        return;
    };
    let (home, source) = server(&directory, "all");
    let mut all = source.connect(&[]).unwrap();
    all.simple(include_str!("tables.sql")).unwrap();
    all.simple("SET search_path = \"My Shop\"").unwrap();
    let log = home.path().join("server.log");
    let from = fs::read(&log).unwrap().len();

    let url = url(&source);
    let original = Original::open(url.as_ref(), &programs(&directory)).unwrap();
    let own = super::examine(&original, url.as_ref(), &copying(1), &|| false).unwrap();
    let sample = own.copy.sample.unwrap();
    assert!(own.copy.size.get() * 4 < sample.of.get(), "{sample:?}");

    // The same rows each time, and others with another seed.
    let dumped = |copy: &CopyOf| {
        let directory = tempfile::tempdir().unwrap();
        let dump = Dump::in_directory(directory.path()).unwrap();
        let go = &mut |_| ControlFlow::Continue(());
        super::dump(&original, &dump, &original.setup(), copy, go).unwrap();
        let rows = fs::read(dump.rows()).unwrap();
        (directory, dump, rows)
    };
    let (_kept, dump, first) = dumped(&own.copy);
    let said = fs::read_to_string(&log).unwrap()[from..].to_owned();
    assert_eq!(dumped(&own.copy).2, first);
    assert_ne!(dumped(&with_seed(&own.copy, 2)).2, first);

    // Nothing but questions arrived.
    let statements = said.lines().filter_map(|line| {
        let plain = line.split_once("LOG:  statement: ");
        let execute = line.split_once("LOG:  execute ");
        let execute = execute.and_then(|(_, text)| text.split_once(": "));
        Some(plain.or(execute)?.1)
    });
    const READS: [&str; 13] = [
        "SELECT",
        "WITH",
        "COPY",
        "SET",
        "BEGIN",
        "COMMIT",
        "LOCK TABLE",
        "PREPARE",
        "EXECUTE",
        "RESET",
        "SAVEPOINT",
        "ROLLBACK TO SAVEPOINT",
        "RELEASE SAVEPOINT",
    ];
    let mut count = 0;
    for statement in statements {
        let is_read = READS.iter().any(|verb| statement.starts_with(verb));
        let writes =
            statement.starts_with("COPY") && !statement.to_lowercase().contains("to stdout");
        let locks = statement.starts_with("LOCK") && !statement.contains("IN ACCESS SHARE MODE");
        assert!(is_read && !writes && !locks, "{statement}");
        count += 1;
    }
    assert!(count > 100, "{count} statements");

    let (_home, target) = server(&directory, "none");
    dump.restore(original.tools(), &target, &mut || false)
        .unwrap();
    let mut kept = session(&target);
    let drawn = "left(md5('1:' || c.\"Id\"), 8) < '1999999a'";
    check(
        &NAMES,
        drawn,
        &mut |sql| number(&mut all, sql),
        &mut |sql| number(&mut kept, sql),
    );
    // Rows are as they were, with what is computed of them.
    for table in [
        "customers",
        "products",
        "lines",
        "returns",
        "employees",
        "countries",
    ] {
        let sql = format!("SELECT t::text FROM {table} AS t");
        let (kept, all) = (rows(&mut kept, &sql), rows(&mut all, &sql));
        assert!(!kept.is_empty() && kept.is_subset(&all), "{table}");
    }
    // All foreign keys are there and were checked, and so are sequences and views.
    let keys = "SELECT count(*) FROM pg_constraint WHERE contype = 'f' AND convalidated";
    assert_eq!(number(&mut kept, keys), number(&mut all, keys));
    let next = "SELECT last_value FROM returns_id_seq";
    assert_eq!(number(&mut kept, next), number(&mut all, next));
    let counts = "SELECT count FROM counts";
    assert_eq!(
        number(&mut kept, counts),
        number(&mut kept, "SELECT count(*) FROM lines")
    );
    drop((all, kept));
    target.stop().unwrap();
    source.stop().unwrap();
}
