//! Samples of a database with all kinds of tables, beside that database.

use std::{collections::HashSet, fs, ops::ControlFlow, os::unix::fs::PermissionsExt as _};

use octavo_units::{PageSize, Seed};
use octavo_workload::user::CopyOf;
use tempfile::TempDir;

use super::{
    super::{
        super::{
            Flavour,
            instance::Instance,
            layout::{Layout, SOCKET},
            load,
            programs::Programs,
            session::Session,
        },
        original::{Original, bytes_of_tables},
        restore::Dump,
    },
    Snapshot,
};
use crate::{
    DatabaseError,
    own::sample::tests::{Names, check, check_odd, copying, with_seed},
    server::account::Account,
};

const NAMES: Names = Names {
    customers: "`Customers`",
    id: "`Id`",
    lines: "`order ``lines`",
};

/// A database whose rows lie at odds with its keys, and a sample of it.
#[test]
fn rows_with_odd_references_are_sampled() {
    let Ok(programs) = Programs::find(Flavour::Mariadb, None) else {
        eprintln!("skipped: MariaDB is not installed");
        return;
    };
    let (_home, layout, source, mut all) = server(&programs);
    all.simple("CREATE DATABASE shop CHARACTER SET utf8mb4")
        .unwrap();
    all.simple("USE shop").unwrap();
    run(&mut all, include_str!("odd.sql"));
    let url = url(&layout);
    let original = Original::open(url.as_ref(), &programs).unwrap();
    let own = super::examine(&original, url.as_ref(), &copying(1), &|| false).unwrap();
    let scratch = tempfile::tempdir().unwrap();
    let dump = Dump::in_directory(scratch.path()).unwrap();
    super::dump(&original, &dump, &own.copy, &mut |_| {
        ControlFlow::Continue(())
    })
    .unwrap();
    let (_home, layout, target, mut kept) = server(&programs);
    dump.restore(original.tools(), &layout, &mut kept, &mut || false)
        .unwrap();
    // Nothing waits for a snapshot.
    let go = || false;
    let of = (copying(1).share.unwrap(), Seed::new(1));
    let scratch = tempfile::tempdir().unwrap();
    let snapshot = Snapshot::open(&original, of, scratch.path(), None, &go).unwrap();
    all.simple("SET lock_wait_timeout = 1").unwrap();
    all.simple("ALTER TABLE long_rows COMMENT = 'changed'")
        .unwrap();
    drop(snapshot);
    // Whoever may not see all of it gets no copy without the rest.
    let mut refused = |grant: &str, word: &str| {
        all.simple("CREATE OR REPLACE USER part@localhost").unwrap();
        all.simple(&format!("GRANT SELECT {grant} TO part@localhost"))
            .unwrap();
        let url = url.replace("root@", "part@");
        let original = Original::open(url.as_ref(), &programs).unwrap();
        let error = super::examine(&original, url.as_ref(), &copying(1), &go).unwrap_err();
        assert!(error.to_string().contains(word), "{error}");
    };
    refused("ON shop.hot", "from hot to par");
    refused("(id), INSERT (id) ON shop.long_rows", "long_rows");
    // An examination ends where it is asked to.
    let stopped = super::examine(&original, url.as_ref(), &copying(1), &|| true);
    assert!(
        matches!(stopped, Err(DatabaseError::Stopped)),
        "{stopped:?}"
    );
    // Sizes of copies are taken as the database's is.
    let of = own.copy.sample.unwrap().of;
    assert_eq!(bytes_of_tables(&mut all).unwrap(), of);
    let copied = bytes_of_tables(&mut kept).unwrap();
    assert!(copied < of, "{copied} of {of}");
    check_odd(&own, &mut |sql| number(&mut all, sql), &mut |sql| {
        number(&mut kept, sql)
    });
    // Rows of a column that `*` leaves out.
    let invisible = number(&mut kept, "SELECT COUNT(*) FROM inv WHERE b = 1");
    assert!((1800..2200).contains(&invisible), "{invisible} of 20,000");
    // Values are as they were, in keys too, and rows that a constraint forbids are there.
    let sql = "SELECT CAST(f AS DOUBLE), CAST(g AS DOUBLE), e + 0, e, n, d FROM odd_values";
    let (some, every) = (rows(&mut kept, sql), rows(&mut all, sql));
    assert!(some.len() > 1800 && some.is_subset(&every));
    // Pages of rows that came in two parts are as full as those of rows that came in one.
    let per_row = |session: &mut Session| {
        let pages = "SELECT stat_value FROM mysql.innodb_index_stats \
            WHERE database_name = 'shop' AND table_name = 'scattered' \
            AND index_name = 'PRIMARY' AND stat_name = 'n_leaf_pages'";
        let count = "SELECT COUNT(*) FROM scattered";
        number(session, pages) as f64 / number(session, count) as f64
    };
    let (all_pages, kept_pages) = (per_row(&mut all), per_row(&mut kept));
    assert!(kept_pages < 1.1 * all_pages, "{kept_pages} {all_pages}");
    drop((all, kept));
    target.stop().unwrap();
    source.stop().unwrap();
}

pub(in super::super) fn url(layout: &Layout) -> String {
    let socket = layout.data.join(SOCKET);
    format!("mariadb://root@localhost/shop?socket={}", socket.display())
}

/// Runs statements one by one.
pub(in super::super) fn run(session: &mut Session, statements: &str) {
    for statement in statements.split(";\n") {
        if !statement.trim().is_empty() {
            session
                .simple(statement)
                .unwrap_or_else(|error| panic!("{statement}: {error}"));
        }
    }
}

/// A server in a directory of its own.
pub(in super::super) fn server(programs: &Programs) -> (TempDir, Layout, Instance, Session) {
    server_in(programs, |_| ())
}

/// The same where the directory is prepared before.
pub(in super::super) fn server_in(
    programs: &Programs,
    prepare: impl FnOnce(&Layout),
) -> (TempDir, Layout, Instance, Session) {
    let home = tempfile::tempdir().unwrap();
    fs::set_permissions(home.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let layout = Layout::resolve(home.path()).unwrap();
    prepare(&layout);
    let account = Account::of_servers().unwrap();
    let (server, session) = load::start(
        programs,
        &layout,
        PageSize::kib(16),
        account.as_ref(),
        &mut || false,
    )
    .unwrap();
    (home, layout, server, session)
}

fn number(session: &mut Session, sql: &str) -> u64 {
    let rows = session
        .texts(sql)
        .unwrap_or_else(|error| panic!("{sql}: {error}"));
    rows[0][0].as_ref().unwrap().parse().unwrap()
}

fn rows(session: &mut Session, sql: &str) -> HashSet<Vec<Option<String>>> {
    session.texts(sql).unwrap().into_iter().collect()
}

#[test]
fn a_sample_keeps_rows_together_and_only_reads() {
    let Ok(programs) = Programs::find(Flavour::Mariadb, None) else {
        eprintln!("skipped: MariaDB is not installed");
        return;
    };
    let (home, layout, source, mut all) = server(&programs);
    all.simple("CREATE DATABASE shop CHARACTER SET utf8mb4")
        .unwrap();
    all.simple("USE shop").unwrap();
    run(&mut all, include_str!("tables.sql"));
    let log = home.path().join("data/said");
    all.simple("SET GLOBAL general_log_file = 'said'").unwrap();
    all.simple("SET GLOBAL general_log = ON").unwrap();

    let url = url(&layout);
    let original = Original::open(url.as_ref(), &programs).unwrap();
    let own = super::examine(&original, url.as_ref(), &copying(1), &|| false).unwrap();
    let sample = own.copy.sample.unwrap();
    assert!(own.copy.size.get() * 4 < sample.of.get(), "{sample:?}");

    // The same rows each time, and others with another seed.
    let dumped = |copy: &CopyOf| {
        let directory = tempfile::tempdir().unwrap();
        let dump = Dump::in_directory(directory.path()).unwrap();
        super::dump(&original, &dump, copy, &mut |_| ControlFlow::Continue(())).unwrap();
        let text = fs::read_to_string(dump.file()).unwrap();
        let rows = text
            .split("SET NAMES utf8mb4; SET TIME_ZONE")
            .nth(1)
            .unwrap();
        let rows = rows.split("-- ").next().unwrap().to_owned();
        (directory, dump, rows)
    };
    let (_kept, dump, first) = dumped(&own.copy);
    assert_eq!(dumped(&own.copy).2, first);
    assert_ne!(dumped(&with_seed(&own.copy, 2)).2, first);

    // Nothing but questions arrived.
    all.simple("SET GLOBAL general_log = OFF").unwrap();
    let said = fs::read_to_string(&log).unwrap();
    let mut count = 0;
    for line in said.lines() {
        let Some((_, statement)) = line.split_once(" Query\t") else {
            continue;
        };
        const READS: [&str; 10] = [
            "SELECT",
            "SET ",
            "START TRANSACTION",
            "SHOW",
            "UNLOCK TABLES",
            "USE",
            "SAVEPOINT",
            "ROLLBACK",
            "RELEASE SAVEPOINT",
            "COMMIT",
        ];
        // Some stand in comments for newer servers.
        let plain = statement
            .trim_start_matches(|letter: char| "/*!M ".contains(letter) || letter.is_ascii_digit());
        let is_read = READS
            .iter()
            .any(|verb| plain.to_uppercase().starts_with(verb));
        let is_of_session = !plain.starts_with("SET GLOBAL") || plain.contains("general_log");
        assert!(is_read && is_of_session, "{statement}");
        count += 1;
    }
    assert!(count > 100, "{count} statements");

    let (_home, layout, target, mut kept) = server(&programs);
    dump.restore(original.tools(), &layout, &mut kept, &mut || false)
        .unwrap();
    let drawn = "LEFT(SHA2(CONCAT('1:', c.`Id`), 256), 8) < '1999999a'";
    check(
        &NAMES,
        drawn,
        &mut |sql| number(&mut all, sql),
        &mut |sql| number(&mut kept, sql),
    );
    // Rows are as they were, with what is computed of them.
    for sql in [
        "SELECT `Id`, HEX(`Full Name`), country, favorite, HEX(initial), seen FROM `Customers`",
        "SELECT id, HEX(name), HEX(picture), price, HEX(more), flags + 0, HEX(place), size, grams, \
         made FROM products",
        "SELECT * FROM `order ``lines`",
        "SELECT * FROM returns",
        "SELECT * FROM employees",
        "SELECT * FROM log",
        "SELECT * FROM countries",
    ] {
        let (kept, all) = (rows(&mut kept, sql), rows(&mut all, sql));
        assert!(!kept.is_empty() && kept.is_subset(&all), "{sql}");
    }
    for count in [
        "SELECT COUNT(*) FROM information_schema.KEY_COLUMN_USAGE \
         WHERE TABLE_SCHEMA = 'shop' AND REFERENCED_TABLE_NAME IS NOT NULL",
        "SELECT COUNT(*) FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA = 'shop'",
        "SELECT AUTO_INCREMENT FROM information_schema.TABLES \
         WHERE TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'returns'",
    ] {
        assert_eq!(number(&mut kept, count), number(&mut all, count), "{count}");
    }
    assert_eq!(
        number(&mut kept, "SELECT n FROM counts"),
        number(&mut kept, "SELECT COUNT(*) FROM orders")
    );
    drop((all, kept));
    target.stop().unwrap();
    source.stop().unwrap();
}
