//! Loading, deriving, copying and inspecting snapshots, and what is refused.

mod support;

use std::{fs, ops::ControlFlow, thread};

use octavo_database::{
    Database, DatabaseError, Derive, Isolation, LoadThreads, RestoreMethod, Settings, Sqlite,
    contents, expected_contents,
};
use octavo_storage::confine::confine;
use octavo_units::{ByteCount, Seed};
use octavo_workload::{
    Tpcc, Workload,
    connection::{Access, Value},
};
use support::*;

const BANK: Bank = Bank { accounts: 7300 };

fn go_on(_: u64) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

#[test]
fn the_rows_do_not_depend_on_threads() {
    let directory = directory();
    let mut dumps = Vec::new();
    for threads in [
        LoadThreads::Inline,
        LoadThreads::Available,
        LoadThreads::Generators(3),
    ] {
        let sqlite = Sqlite {
            load_threads: threads,
            ..Sqlite::default()
        };
        let snapshot = directory.path().join(format!("{threads:?}"));
        fs::create_dir(&snapshot).unwrap();
        let mut told = Vec::new();
        let loaded = sqlite
            .load(&snapshot, page_size(2048), &BANK, &mut |rows| {
                told.push(rows);
                ControlFlow::Continue(())
            })
            .unwrap();
        assert_eq!(loaded.rows, 7300 * 5);
        assert!(told.is_sorted() && told.last() == Some(&loaded.rows));
        let file = snapshot.join("database.sqlite");
        assert_eq!(loaded.size.get(), file.metadata().unwrap().len());
        dumps.push(dump(&file));
    }
    assert_eq!(dumps[0].len(), 7300 * 5);
    assert!(dumps[0] == dumps[1] && dumps[0] == dumps[2]);
}

#[test]
fn a_derived_snapshot_has_the_same_rows() {
    let directory = directory();
    let sqlite = Sqlite::default();
    prepare(sqlite, directory.path(), 4096, &BANK);
    let snapshot = directory.path().join("snapshot");
    let original = dump(&snapshot.join("database.sqlite"));
    for page_bytes in [512, 65536] {
        let to = directory.path().join(page_bytes.to_string());
        fs::create_dir(&to).unwrap();
        let before: Vec<_> = fs::read_dir(&snapshot)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect();
        let mut told = 0;
        let derived = sqlite
            .derive(&snapshot, &to, page_size(page_bytes), &mut |_| {
                told += 1;
                ControlFlow::Continue(())
            })
            .unwrap();
        assert!(told > 0);
        assert_eq!(derived.rows, 7300 * 5);
        let after: Vec<_> = fs::read_dir(&snapshot)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect();
        assert_eq!(before, after, "a snapshot stays as it is");
        assert!(dump(&to.join("database.sqlite")) == original);
        // Opens and runs at its own page size only.
        let settings_wrong = settings(4096, ByteCount::mib(4), 1);
        let error = sqlite.start(&to, &settings_wrong, &BANK).err().unwrap();
        assert!(
            error.to_string().starts_with("page size 4 KiB is not"),
            "{error}"
        );
        let settings = settings(page_bytes, ByteCount::mib(4), 1);
        sqlite.start(&to, &settings, &BANK).unwrap().stop().unwrap();
    }
}

/// A process that resumes only derives and checks, held to the experiment's directory.
/// Pages of 64 KiB alone have a statement journal larger than what SQLite keeps in
/// memory.
#[test]
fn deriving_and_checking_change_nothing_outside_of_their_directory() {
    let directory = directory();
    let sqlite = Sqlite::default();
    prepare(sqlite, directory.path(), 4096, &BANK);
    let to = directory.path().join("derived");
    fs::create_dir(&to).unwrap();
    thread::scope(|scope| {
        scope.spawn(|| {
            if !confine(&[directory.path().to_owned()]).unwrap() {
                println!("skipped: this kernel has no Landlock");
                return;
            }
            let snapshot = directory.path().join("snapshot");
            sqlite
                .derive(&snapshot, &to, page_size(65536), &mut go_on)
                .unwrap();
            let mut inspection = sqlite.inspect(&to, &BANK).unwrap();
            let found = contents(&mut *inspection, &BANK).unwrap();
            assert_eq!(found, expected_contents(&BANK));
        });
    });
    let mut names = fs::read_dir(&to).unwrap();
    let only = names.next().map(|entry| entry.unwrap().file_name());
    assert!(names.next().is_none() && only.is_none_or(|name| name == "database.sqlite"));
}

#[test]
fn a_stopped_step_is_the_error_stopped() {
    let directory = directory();
    let sqlite = Sqlite::default();
    prepare(sqlite, directory.path(), 4096, &BANK);
    for name in ["load", "derive"] {
        fs::create_dir(directory.path().join(name)).unwrap();
    }
    for threads in [LoadThreads::Inline, LoadThreads::Generators(2)] {
        let sqlite = Sqlite {
            load_threads: threads,
            ..sqlite
        };
        let mut stop = |rows| {
            if rows > 5000 {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        };
        let snapshot = directory.path().join("load");
        let result = sqlite.load(&snapshot, page_size(4096), &BANK, &mut stop);
        assert!(matches!(result, Err(DatabaseError::Stopped)), "{result:?}");
        // A part of a snapshot is not taken for one.
        let again = sqlite.load(&snapshot, page_size(4096), &BANK, &mut go_on);
        assert!(
            matches!(again, Err(DatabaseError::File { .. })),
            "{again:?}"
        );
        fs::remove_file(snapshot.join("database.sqlite")).unwrap();
    }
    let (from, to) = (
        directory.path().join("snapshot"),
        directory.path().join("derive"),
    );
    let result = sqlite.derive(&from, &to, page_size(1024), &mut |_| ControlFlow::Break(()));
    assert!(matches!(result, Err(DatabaseError::Stopped)), "{result:?}");
}

#[test]
fn a_restored_copy_forgets_the_last_run() {
    let directory = directory();
    let sqlite = Sqlite::default();
    prepare(sqlite, directory.path(), 4096, &BANK);
    let (snapshot, run) = (
        directory.path().join("snapshot"),
        directory.path().join("run"),
    );
    let original = dump(&snapshot.join("database.sqlite"));
    let settings = settings(4096, ByteCount::mib(1), 1);
    let running = sqlite.start(&run, &settings, &BANK).unwrap();
    let mut connection = running.connect(0).unwrap();
    connection.begin(Access::Write).unwrap();
    connection
        .execute(ADD, &[money(7), Value::Integer(3)])
        .unwrap();
    connection.commit().unwrap();
    // As a killed run leaves it: a log beside the file.
    let log = fs::read(run.join("database.sqlite-wal")).unwrap();
    drop(connection);
    running.stop().unwrap();
    assert!(dump(&run.join("database.sqlite")) != original);
    fs::write(run.join("database.sqlite-wal"), log).unwrap();

    let method = sqlite.restore(&snapshot, &run).unwrap();
    assert!(matches!(
        method,
        RestoreMethod::Copy | RestoreMethod::Reflink
    ));
    assert!(dump(&run.join("database.sqlite")) == original);
}

#[test]
fn inspecting_reads_and_never_writes() {
    let directory = directory();
    let sqlite = Sqlite::default();
    prepare(sqlite, directory.path(), 4096, &BANK);
    let snapshot = directory.path().join("snapshot");
    let mut connection = sqlite.inspect(&snapshot, &BANK).unwrap();
    connection.begin(Access::Read).unwrap();
    let totals = numbers(&mut *connection, TOTALS, 3);
    assert_eq!(totals, [7300, 7300 * 10_000, 7300 * 9 / 10 * 200]);
    assert!(connection.execute(STRIKE, &[Value::Integer(1)]).is_err());
    connection.rollback().unwrap();
    // What it hands over is what was generated: NULLs and every kind.
    let contents = contents(&mut *connection, &BANK).unwrap();
    assert_eq!(contents, expected_contents(&BANK));
    let rows = contents.iter().map(|content| content.rows);
    assert_eq!(rows.collect::<Vec<_>>(), [7300, 3 * 7300, 7300]);
    drop(connection);
    // The database, and how many rows it has.
    assert_eq!(fs::read_dir(&snapshot).unwrap().count(), 2);
    let nowhere = sqlite.inspect(directory.path(), &BANK).err().unwrap();
    assert!(nowhere.to_string().starts_with("open "), "{nowhere}");
}

#[test]
fn refused_settings_name_possible_ones() {
    let sqlite = Sqlite::default();
    let message = |memory, clients| {
        sqlite
            .accept(&settings(4096, memory, clients))
            .unwrap_err()
            .to_string()
    };
    assert_eq!(
        message(ByteCount::ZERO, 1),
        "memory 0 B is not possible with sqlite: one client with 4 KiB a page need at least 68 KiB"
    );
    assert_eq!(
        message(ByteCount::mib(1), 2),
        "memory 1 MiB is not possible with sqlite: 2 clients with 4 KiB a page need at least \
         1088 KiB"
    );
    assert!(message(ByteCount::mib(1), 0).contains("clients 0"));
    // cache_size has 32 bits for KiB, and a buffer at most a billion pages.
    assert_eq!(
        message(ByteCount::mib(3072 << 10), 1),
        "memory 3072 GiB is not possible with sqlite: one client with 4 KiB a page can use at most \
         2047 GiB (SQLite's cache_size): give no more, or leave smaller pages out"
    );
    assert!(message(ByteCount::kib((1 << 31) / 7 * 8 + 8), 8).contains("2340 GiB"));
    for (page_bytes, memory, clients, is_accepted) in [
        (4096, ByteCount::kib((1 << 31) - 1), 1, true),
        (4096, ByteCount::kib(1 << 31), 1, false),
        (4096, ByteCount::mib(2340 << 10), 8, true),
        (512, ByteCount::new(512_000_000_000), 1, true),
        (512, ByteCount::new(512_000_000_001), 1, false),
    ] {
        let accepted = sqlite.accept(&settings(page_bytes, memory, clients));
        assert_eq!(
            accepted.is_ok(),
            is_accepted,
            "{page_bytes} {memory} {clients}"
        );
    }
    let isolation = |isolation| {
        let isolation = Some(isolation);
        sqlite.accept(&Settings {
            isolation,
            ..settings(4096, ByteCount::mib(4), 1)
        })
    };
    assert_eq!(
        isolation(Isolation::ReadCommitted).unwrap_err().to_string(),
        "isolation read committed is not possible with sqlite: SQLite's transactions are \
         serializable"
    );
    assert!(isolation(Isolation::RepeatableRead).is_err());
    isolation(Isolation::Serializable).unwrap();
    for (memory, clients) in [(68, 1), (1088, 2)] {
        sqlite
            .accept(&settings(4096, ByteCount::kib(memory), clients))
            .unwrap();
    }
}

#[test]
fn the_estimate_is_near() {
    let directory = directory();
    for page_bytes in [512, 4096, 65536] {
        let snapshot = directory.path().join(page_bytes.to_string());
        fs::create_dir(&snapshot).unwrap();
        let size = page_size(page_bytes);
        let loaded = Sqlite::default()
            .load(&snapshot, size, &BANK, &mut go_on)
            .unwrap();
        let estimate = Sqlite::default().estimate(&BANK, size);
        let ratio = estimate.get() as f64 / loaded.size.get() as f64;
        assert!(
            (0.6..1.6).contains(&ratio),
            "{page_bytes}: {estimate} for {}",
            loaded.size
        );
    }
}

/// As users' databases are that run ANALYZE or PRAGMA optimize: by the key alone, a
/// customer's last order is searched for among all of its district's.
#[test]
fn sqlite_finds_the_last_order_of_a_customer_by_the_index_of_customers() {
    let directory = directory();
    let (base, derived) = (
        directory.path().join("base"),
        directory.path().join("derived"),
    );
    fs::create_dir(&base).unwrap();
    fs::create_dir(&derived).unwrap();
    let tpcc = Tpcc::new(1, Seed::new(1)).unwrap();
    let sqlite = Sqlite::default();
    sqlite
        .load(&base, page_size(4096), &tpcc, &mut go_on)
        .unwrap();
    sqlite
        .derive(&base, &derived, page_size(1024), &mut go_on)
        .unwrap();
    let mut statements = tpcc.statements().iter();
    let statement = statements.find(|one| one.sql.ends_with("ORDER BY o_id DESC LIMIT 1"));
    let explain = format!("EXPLAIN QUERY PLAN {}", statement.unwrap().sql);
    for snapshot in [base, derived] {
        let database = rusqlite::Connection::open(snapshot.join("database.sqlite")).unwrap();
        let plan: String = database
            .query_row(&explain, [1, 1, 1], |row| row.get(3))
            .unwrap();
        assert!(plan.contains("orders_by_customer"), "{plan}");
    }
}
