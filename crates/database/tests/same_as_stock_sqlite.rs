//! The same statements through our file access and through SQLite's own leave
//! the same rows.

mod support;

use octavo_database::{JournalMode, Sqlite};
use octavo_units::{ByteCount, Seed};
use octavo_workload::connection::{Access, Value};
use rand::RngExt;
use support::*;

const ACCOUNTS: u32 = 3000;

/// One change, drawn from a seed.
enum Change {
    Add(i64, i64),
    Fill(i64, String),
    Enter(i64, i64),
    Strike(i64),
}

fn changes(seed: u64) -> Vec<(Vec<Change>, bool)> {
    let mut generator = Seed::new(seed).generator();
    (0..220)
        .map(|transaction| {
            let changes = (0..generator.random_range(1..12))
                .map(|step| {
                    let account = generator.random_range(1..=i64::from(ACCOUNTS));
                    match generator.random_range(0..8) {
                        0..3 => Change::Add(account, generator.random_range(-500..500)),
                        3..5 => Change::Fill(account, "x".repeat(generator.random_range(0..400))),
                        5..7 => Change::Enter(account, 1000 + transaction * 100 + step),
                        _ => Change::Strike(account),
                    }
                })
                .collect();
            (changes, generator.random_range(0..10) > 0)
        })
        .collect()
}

fn compare(journal_mode: JournalMode, page_bytes: u32) {
    let sqlite = Sqlite {
        journal_mode,
        ..Sqlite::default()
    };
    let bank = Bank { accounts: ACCOUNTS };
    let directory = directory();
    prepare(sqlite, directory.path(), page_bytes, &bank);
    let stock_file = directory.path().join("stock.sqlite");
    std::fs::copy(database_file(directory.path(), "snapshot"), &stock_file).unwrap();

    // Sixteen frames and a few: most pages leave the buffer again.
    let memory = ByteCount::new(u64::from(page_bytes + 256) * 20);
    let running = start(
        sqlite,
        directory.path(),
        &settings(page_bytes, memory, 1),
        &bank,
    );
    let mut ours = running.connect(0).unwrap();
    let stock = rusqlite::Connection::open(&stock_file).unwrap();
    stock
        .execute_batch("PRAGMA foreign_keys=OFF; PRAGMA synchronous=OFF")
        .unwrap();

    for (changes, commit) in changes(u64::from(page_bytes)) {
        ours.begin(Access::Write).unwrap();
        stock.execute_batch("BEGIN IMMEDIATE").unwrap();
        for change in &changes {
            let (ours, stock) = match change {
                Change::Add(account, amount) => (
                    ours.execute(ADD, &[money(*amount), Value::Integer(*account)]),
                    stock.execute(
                        "UPDATE account SET balance = balance + ?1 WHERE id = ?2",
                        (amount, account),
                    ),
                ),
                Change::Fill(account, text) => (
                    ours.execute(FILL, &[Value::Text(text), Value::Integer(*account)]),
                    stock.execute(
                        "UPDATE account SET filler = ?1 WHERE id = ?2",
                        (text, account),
                    ),
                ),
                Change::Enter(account, number) => (
                    ours.execute(
                        ENTER,
                        &[
                            Value::Integer(*account),
                            Value::Integer(*number),
                            money(*number),
                            Value::Timestamp(*number),
                        ],
                    ),
                    stock.execute(
                        "INSERT INTO entry VALUES (?1, ?2, ?2, ?2)",
                        (account, number),
                    ),
                ),
                Change::Strike(account) => (
                    ours.execute(STRIKE, &[Value::Integer(*account)]),
                    stock.execute("DELETE FROM entry WHERE account = ?1", [account]),
                ),
            };
            assert_eq!(ours.unwrap(), stock.unwrap() as u64);
        }
        if commit {
            ours.commit().unwrap();
            stock.execute_batch("COMMIT").unwrap();
        } else {
            ours.rollback().unwrap();
            stock.execute_batch("ROLLBACK").unwrap();
        }
    }
    drop((ours, stock));
    let counters = running.counters();
    running.stop().unwrap();
    assert!(
        counters.log_writes > 0 && counters.syncs > 180,
        "{counters:?}"
    );
    assert!(
        dump(&database_file(directory.path(), "run")) == dump(&stock_file),
        "{journal_mode:?} at {page_bytes}: the rows differ"
    );
    for end in ["wal", "shm", "journal"] {
        let left = directory.path().join(format!("run/database.sqlite-{end}"));
        let kept = journal_mode == JournalMode::Truncate || journal_mode == JournalMode::Persist;
        assert!(!left.exists() || kept, "{} is left", left.display());
    }
}

#[test]
fn with_a_log() {
    for page_bytes in [512, 1024, 4096, 65536] {
        compare(JournalMode::Wal, page_bytes);
    }
}

#[test]
fn with_a_deleted_journal() {
    for page_bytes in [512, 1024, 4096, 65536] {
        compare(JournalMode::Delete, page_bytes);
    }
}

#[test]
fn with_a_kept_journal() {
    compare(JournalMode::Truncate, 4096);
    compare(JournalMode::Persist, 2048);
}
