//! SQLite keeps to the memory that it was given.

#![expect(unsafe_code, reason = "asks the kernel what is in memory")]

mod support;

use std::sync::{Mutex, PoisonError};

use octavo_database::{Database, Sqlite};
use octavo_units::{ByteCount, Seed};
use octavo_workload::connection::{Access, Value};
use rand::RngExt;
use support::*;

/// The count below is of the whole process: one test at a time.
static ALONE: Mutex<()> = Mutex::new(());

/// All memory that SQLite holds.
fn memory_used() -> u64 {
    // SAFETY: may be called at any time from any thread.
    let bytes = unsafe { rusqlite::ffi::sqlite3_memory_used() };
    bytes.unsigned_abs()
}

#[test]
fn the_buffer_grows_to_its_size_and_no_further() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let bank = Bank { accounts: 150_000 };
    let directory = directory();
    prepare(Sqlite::default(), directory.path(), 4096, &bank);
    let memory = ByteCount::mib(24);
    let data = database_file(directory.path(), "run")
        .metadata()
        .unwrap()
        .len();
    assert!(data > memory.get() * 3);
    let settings = settings(4096, memory, 1);
    let running = start(Sqlite::default(), directory.path(), &settings, &bank);
    let mut connection = running.connect(0).unwrap();
    let before = memory_used();
    let mut generator = Seed::new(3).generator();
    for turn in 0..40_000 {
        connection.begin(Access::Read).unwrap();
        let account = Value::Integer(generator.random_range(1..=150_000));
        connection.query(BALANCE, &[account], &mut |_| {}).unwrap();
        connection.commit().unwrap();
        if turn % 400 == 0 {
            connection.begin(Access::Write).unwrap();
            connection.execute(ADD, &[money(1), account]).unwrap();
            connection.commit().unwrap();
        }
    }
    let grown = memory_used() - before;
    let share = grown as f64 / memory.get() as f64;
    println!("{grown} bytes for {memory}");
    assert!((0.95..1.05).contains(&share), "{grown} bytes for {memory}");
    drop(connection);
    running.stop().unwrap();
}

#[test]
fn the_smallest_memory_that_is_accepted_works() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let bank = Bank { accounts: 3000 };
    for page_bytes in [512, 4096, 65536] {
        let directory = directory();
        prepare(Sqlite::default(), directory.path(), page_bytes, &bank);
        let memory = ByteCount::new(u64::from(page_bytes + 256) * 16);
        let settings = settings(page_bytes, memory, 1);
        Sqlite::default().accept(&settings).unwrap();
        let running = start(Sqlite::default(), directory.path(), &settings, &bank);
        let mut connection = running.connect(0).unwrap();
        connection.begin(Access::Write).unwrap();
        // More pages than the buffer has, all dirty: they leave it early.
        for account in (1..3000).step_by(7) {
            let filler = Value::Text("z");
            let changed = connection.execute(FILL, &[filler, Value::Integer(account)]);
            assert_eq!(changed.unwrap(), 1);
        }
        connection.commit().unwrap();
        drop(connection);
        assert!(running.counters().buffer_spills > 0 || page_bytes == 65536);
        running.stop().unwrap();
        dump(&database_file(directory.path(), "run"));
    }
}
