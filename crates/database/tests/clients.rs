//! Clients that read and write at the same time never collide, and each sees
//! whole transactions.

mod support;

use std::{
    sync::atomic::{AtomicI64, Ordering},
    thread,
};

use octavo_database::{JournalMode, Sqlite};
use octavo_units::{ByteCount, Seed};
use octavo_workload::connection::{Access, Value};
use rand::RngExt;
use support::*;

const ACCOUNTS: u32 = 2000;
const CLIENTS: u32 = 4;
const TRANSACTIONS: u32 = 120;

fn transfer_and_count(journal_mode: JournalMode) {
    let sqlite = Sqlite {
        journal_mode,
        ..Sqlite::default()
    };
    let bank = Bank { accounts: ACCOUNTS };
    let directory = directory();
    prepare(sqlite, directory.path(), 4096, &bank);
    let settings = settings(4096, ByteCount::mib(4), CLIENTS);
    let running = start(sqlite, directory.path(), &settings, &bank);
    let entered = AtomicI64::new(0);
    thread::scope(|scope| {
        for client in 0..CLIENTS {
            let (running, entered) = (&running, &entered);
            scope.spawn(move || {
                let mut connection = running.connect(client).unwrap();
                let mut generator = Seed::new(5).derive("client", u64::from(client)).generator();
                for transaction in 0..TRANSACTIONS {
                    if transaction % 3 == 0 {
                        connection.begin(Access::Read).unwrap();
                        let totals = numbers(&mut *connection, TOTALS, 2);
                        connection.commit().unwrap();
                        // A transfer seen in half would show here.
                        assert_eq!(totals, [i64::from(ACCOUNTS), i64::from(ACCOUNTS) * 10_000]);
                        continue;
                    }
                    connection.begin(Access::Write).unwrap();
                    let mut account = || generator.random_range(1..=i64::from(ACCOUNTS));
                    let (from, to) = (account(), account());
                    for (amount, account) in [(-5, from), (5, to)] {
                        let changed = connection
                            .execute(ADD, &[money(amount), Value::Integer(account)])
                            .unwrap();
                        assert_eq!(changed, 1);
                    }
                    let number = i64::from(client * TRANSACTIONS + transaction) + 10;
                    let key = [Value::Integer(from), Value::Integer(number)];
                    let entry = [key[0], key[1], money(5), Value::Timestamp(0)];
                    connection.execute(ENTER, &entry).unwrap();
                    if transaction % 10 == 1 {
                        connection.rollback().unwrap();
                    } else {
                        connection.commit().unwrap();
                        entered.fetch_add(1, Ordering::Relaxed);
                    }
                }
            });
        }
    });
    // A client that vanishes in the middle of a transaction blocks nobody.
    let mut lost = running.connect(0).unwrap();
    lost.begin(Access::Write).unwrap();
    lost.execute(STRIKE, &[Value::Integer(1)]).unwrap();
    drop(lost);
    let mut connection = running.connect(1).unwrap();
    let entries = numbers(&mut *connection, ENTRIES, 1);
    let entered = entered.load(Ordering::Relaxed);
    assert_eq!(entries, [i64::from(ACCOUNTS) * 3 + entered]);
    drop(connection);
    running.stop().unwrap();
    dump(&database_file(directory.path(), "run"));
}

#[test]
fn with_a_log() {
    transfer_and_count(JournalMode::Wal);
}

#[test]
fn with_a_rollback_journal() {
    transfer_and_count(JournalMode::Delete);
}

#[test]
fn a_database_with_connections_does_not_stop() {
    let bank = Bank { accounts: 100 };
    let directory = directory();
    prepare(Sqlite::default(), directory.path(), 4096, &bank);
    let settings = settings(4096, ByteCount::mib(1), 1);
    let running = start(Sqlite::default(), directory.path(), &settings, &bank);
    let connection = running.connect(0).unwrap();
    let error = running.stop().unwrap_err();
    assert!(error.to_string().contains("stop "), "{error}");
    drop(connection);
}
