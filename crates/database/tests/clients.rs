//! Clients that read and write at the same time never collide, and each sees
//! whole transactions.

mod support;

use std::{
    sync::{
        atomic::{AtomicI64, Ordering},
        mpsc,
    },
    thread,
    time::Duration,
};

use octavo_database::{JournalMode, Sqlite};
use octavo_units::{ByteCount, Seed};
use octavo_workload::{
    Connection,
    connection::{Access, Value},
};
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
fn single_statements_are_transactions_of_their_own() {
    let bank = Bank { accounts: 100 };
    let directory = directory();
    prepare(Sqlite::default(), directory.path(), 4096, &bank);
    let settings = settings(4096, ByteCount::mib(4), 2);
    let running = start(Sqlite::default(), directory.path(), &settings, &bank);
    let mut writer = running.connect(0).unwrap();
    let mut reader = running.connect(1).unwrap();
    let sum = |connection: &mut dyn Connection| numbers(connection, TOTALS, 2)[1];
    let add = |connection: &mut dyn Connection| {
        let before = running.counters();
        let changed = connection.execute(ADD, &[money(5), Value::Integer(7)]);
        assert_eq!(changed.unwrap(), 1);
        running.counters() - before
    };

    writer.begin(Access::Write).unwrap();
    add(&mut *writer);
    let before = running.counters();
    let (tell, told) = mpsc::channel();
    thread::spawn(move || {
        let sum = sum(&mut *reader);
        // Nobody listens any more once the test has failed.
        let _failed = tell.send((sum, reader));
    });
    let (seen, mut reader) = told
        .recv_timeout(Duration::from_secs(30))
        .expect("a query does not wait for the writer");
    assert_eq!(seen, 1_000_000);
    let counted = running.counters() - before;
    assert!(counted.buffer_hits + counted.buffer_misses > 0);
    assert_eq!(sum(&mut *writer), 1_000_005, "its own change");
    writer.commit().unwrap();
    assert_eq!(sum(&mut *reader), 1_000_005);

    // A change alone is flushed and counted, and seen by everyone.
    let counted = add(&mut *reader);
    assert!(counted.syncs > 0 && counted.log_writes > 0, "{counted:?}");
    assert!(counted.buffer_hits + counted.buffer_misses > 0);
    for connection in [&mut writer, &mut reader] {
        assert_eq!(sum(&mut **connection), 1_000_010);
    }
    // One that fails leaves nothing, and nobody waiting.
    let entry = [
        Value::Integer(7),
        Value::Integer(0),
        money(1),
        Value::Timestamp(0),
    ];
    reader.execute(ENTER, &entry).unwrap_err();
    add(&mut *writer);
    drop((writer, reader));
    running.stop().unwrap();
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
