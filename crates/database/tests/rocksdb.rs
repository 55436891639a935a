//! RocksDB has no more cache than it is given, and what it counts is what it did.

#![cfg(feature = "rocksdb")]

mod support;

use std::{
    fs,
    ops::ControlFlow,
    path::Path,
    sync::{Mutex, PoisonError},
    thread,
    time::Duration,
};

use octavo_database::{Counters, Database, DatabaseError, StoragePath, choose};
use octavo_units::{ByteCount, Seed};
use octavo_workload::{ConnectionError, Workload, WorkloadSpec};
use support::{open_directory, page_size, settings};

const RECORDS: u64 = 40_000;

/// What a process reads is counted as a whole: one test is at work.
static ALONE: Mutex<()> = Mutex::new(());

/// YCSB with 40,000 records, 50 MB.
fn ycsb(name: &str) -> Box<dyn Workload> {
    let name = octavo_workload::Registry::standard().find(name).unwrap();
    let data = name.data_spec(&[("records", RECORDS)]).unwrap();
    let spec = WorkloadSpec {
        distribution: Some("uniform".parse().unwrap()),
        ..WorkloadSpec::new(name, data, Seed::new(7))
    };
    spec.build().unwrap()
}

fn load(database: &dyn Database, workload: &dyn Workload, snapshot: &Path, block: u32) {
    fs::create_dir(snapshot).unwrap();
    let mut go_on = |_| ControlFlow::Continue(());
    let loaded = database
        .load(snapshot, page_size(block), workload, &mut go_on)
        .unwrap();
    assert_eq!(loaded.rows, RECORDS);
    // What is there is near to what was expected.
    let expected = database.estimate(workload, page_size(block)).get() as f64;
    let ratio = loaded.size.get() as f64 / expected;
    assert!((0.8..1.2).contains(&ratio), "{ratio} of {expected}");
}

/// Runs transactions twice, the first time to fill the cache; what the second time took.
fn run(
    database: &dyn Database,
    workload: &dyn Workload,
    directory: &Path,
    (block, memory): (u32, ByteCount),
    transactions: u64,
) -> (Counters, StoragePath) {
    let run = directory.join("run");
    fs::create_dir_all(&run).unwrap();
    database.restore(&directory.join("snapshot"), &run).unwrap();
    let running = database
        .start(&run, &settings(block, memory, 1), workload)
        .unwrap();
    let mut connection = running.connect(0).unwrap();
    let mut client = workload.clients(Seed::new(3), 1).remove(0);
    let mut slice = || {
        let before = running.counters();
        for _ in 0..transactions {
            client.draw();
            client.run(&mut *connection).unwrap();
        }
        running.counters() - before
    };
    slice();
    let counters = slice();
    let path = running.storage_path();
    drop(connection);
    running.stop().unwrap();
    (counters, path)
}

#[test]
fn the_cache_is_the_memory_and_blocks_have_their_size() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let workload = ycsb("ycsb-c");
    let per_read = |block: u32, mib: u64| {
        let database = choose("rocksdb", &[]).unwrap();
        let directory = open_directory();
        load(
            &*database,
            &*workload,
            &directory.path().join("snapshot"),
            block,
        );
        let memory = ByteCount::mib(mib);
        let (counters, path) = run(
            &*database,
            &*workload,
            directory.path(),
            (block, memory),
            20_000,
        );
        assert_eq!(path, StoragePath::Direct);
        assert_eq!((counters.syncs, counters.data_writes), (0, 0));
        let misses = counters.buffer_misses as f64;
        // Each miss is one read, of whole sectors or pages.
        assert!((0.95..1.05).contains(&(counters.reads as f64 / misses)));
        assert!(!counters.read_time.is_zero());
        (misses / 20_000.0, counters.read_bytes.get() as f64 / misses)
    };
    // Three quarters of 13 MiB are a fifth of the data.
    let (misses, bytes) = per_read(4096, 13);
    assert!((0.7..1.0).contains(&misses), "{misses}");
    assert!((4096.0..10_000.0).contains(&bytes), "{bytes}");
    let (misses, bytes) = per_read(16_384, 13);
    assert!((0.7..1.0).contains(&misses), "{misses}");
    assert!((15_000.0..24_000.0).contains(&bytes), "{bytes}");
    let (misses, _) = per_read(4096, 400);
    assert!(misses < 0.4, "{misses}: 40,000 reads have met most records");
}

/// A row is read by an index: both families count their calls, though one call is made within the other.
#[test]
fn reads_are_counted_by_family() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let tpcc = octavo_workload::Registry::standard().find("tpcc").unwrap();
    let data = tpcc.data_spec(&[("warehouses", 1)]).unwrap();
    let spec = WorkloadSpec {
        mix: Some("order-status=1".into()),
        ..WorkloadSpec::new(tpcc, data, Seed::new(7))
    };
    let workload = spec.build().unwrap();
    let database = choose("rocksdb", &[]).unwrap();
    let directory = open_directory();
    let snapshot = directory.path().join("snapshot");
    fs::create_dir(&snapshot).unwrap();
    let mut go_on = |_| ControlFlow::Continue(());
    database
        .load(&snapshot, page_size(4096), &*workload, &mut go_on)
        .unwrap();
    let run = directory.path().join("run");
    fs::create_dir(&run).unwrap();
    database.restore(&snapshot, &run).unwrap();
    let settings = settings(4096, ByteCount::mib(8), 1);
    let running = database.start(&run, &settings, &*workload).unwrap();
    let mut connection = running.connect(0).unwrap();
    let mut client = workload.clients(Seed::new(3), 1).remove(0);
    let (begin, before) = (running.tree_counters(), running.counters());
    const TRANSACTIONS: u64 = 500;
    for _ in 0..TRANSACTIONS {
        client.draw();
        client.run(&mut *connection).unwrap();
    }
    let counters = running.counters() - before;
    let trees = running.tree_counters();
    let of = |name: &str| {
        let tree = trees.iter().find(|tree| tree.name == name).unwrap();
        tree.since(&begin)
    };
    // The last order by the customer's index, and from there the order; then its lines.
    assert_eq!(of("orders.orders_by_customer").calls, TRANSACTIONS);
    assert_eq!(of("orders").calls, TRANSACTIONS);
    assert_eq!(of("order_line").calls, TRANSACTIONS);
    assert_eq!((of("stock").calls, of("stock").reads), (0, 0));
    for name in [
        "orders.orders_by_customer",
        "orders",
        "order_line",
        "customer",
    ] {
        let tree = of(name);
        assert!(tree.reads > 50, "{tree:?}");
        let bytes = tree.read_bytes.get() as f64 / tree.reads as f64;
        assert!((2000.0..5000.0).contains(&bytes), "{tree:?}");
    }
    let sum: u64 = trees.iter().map(|tree| tree.since(&begin).reads).sum();
    let ratio = sum as f64 / counters.reads as f64;
    assert!((0.9..1.05).contains(&ratio), "{sum} of {}", counters.reads);
    drop(connection);
    running.stop().unwrap();
}

#[test]
fn a_family_has_a_block_size_of_its_own() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let workload = ycsb("ycsb-c");
    let option = |value: &str| vec![("block-sizes".to_owned(), value.to_owned())];
    let database = choose("rocksdb", &option("usertable=32K")).unwrap();
    database.accept_workload(&*workload).unwrap();
    let directory = open_directory();
    load(
        &*database,
        &*workload,
        &directory.path().join("snapshot"),
        4096,
    );
    let memory = ByteCount::mib(13);
    let (counters, _) = run(
        &*database,
        &*workload,
        directory.path(),
        (4096, memory),
        5_000,
    );
    let bytes = counters.read_bytes.get() / counters.buffer_misses;
    assert!((30_000..40_000).contains(&bytes), "{bytes}");
    let other = choose("rocksdb", &option("stock=32K")).unwrap();
    let refusal = other.accept_workload(&*workload).unwrap_err().to_string();
    assert!(
        refusal.contains("stock") && refusal.contains("usertable"),
        "{refusal}"
    );
}

/// RocksDB would write all rows anew when the first snapshot is released, had loading only moved files.
#[test]
fn loaded_files_are_at_rest() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let database = choose("rocksdb", &[]).unwrap();
    let workload = ycsb("ycsb-a");
    let directory = open_directory();
    let snapshot = directory.path().join("snapshot");
    load(&*database, &*workload, &snapshot, 4096);
    let settings = settings(4096, ByteCount::mib(64), 1);
    let running = database.start(&snapshot, &settings, &*workload).unwrap();
    let mut connection = running.connect(0).unwrap();
    let mut client = workload.clients(Seed::new(3), 1).remove(0);
    for _ in 0..100 {
        client.draw();
        client.run(&mut *connection).unwrap();
    }
    thread::sleep(Duration::from_secs(2));
    let counters = running.counters();
    assert!(counters.log_writes > 20);
    assert_eq!(counters.data_written_bytes, ByteCount::ZERO);
    drop(connection);
    running.stop().unwrap();
}

#[test]
fn what_is_written_and_flushed_is_counted() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let database = choose("rocksdb", &[]).unwrap();
    let workload = ycsb("ycsb-a");
    let directory = open_directory();
    load(
        &*database,
        &*workload,
        &directory.path().join("snapshot"),
        4096,
    );
    let memory = ByteCount::mib(16);
    let (counters, _) = run(
        &*database,
        &*workload,
        directory.path(),
        (4096, memory),
        10_000,
    );
    // About half of the operations are updates: each writes a row of 1,000 bytes to the log, and
    // flushes it.
    let commits = 5_000.0;
    let per_commit = |count: u64| count as f64 / commits;
    assert!((0.9..1.1).contains(&per_commit(counters.log_writes)));
    let flushes = per_commit(counters.syncs);
    assert!((0.9..1.2).contains(&flushes), "{flushes}");
    let log = per_commit(counters.log_written_bytes.get());
    assert!((4800.0..5800.0).contains(&log), "{log}");
    // 5 MB were written into write buffers of 4 MiB.
    assert!(counters.checkpoints > 0);
    assert!(counters.data_written_bytes > ByteCount::mib(2));
    assert!(!counters.log_sync_time.is_zero());
}

#[test]
fn of_two_that_write_a_row_one_is_told_and_no_change_is_lost() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    const EACH: u32 = 200;
    let database = choose("rocksdb", &[]).unwrap();
    // All transactions of pgbench with one branch change its row.
    let name = octavo_workload::Registry::standard()
        .find("pgbench")
        .unwrap();
    let data = name.data_spec(&[("scale", 1)]).unwrap();
    let workload = WorkloadSpec::new(name, data, Seed::new(7)).build().unwrap();
    let workload = &*workload;
    let directory = open_directory();
    let snapshot = directory.path().join("snapshot");
    fs::create_dir(&snapshot).unwrap();
    let mut go_on = |_| ControlFlow::Continue(());
    database
        .load(&snapshot, page_size(4096), workload, &mut go_on)
        .unwrap();
    let settings = settings(4096, ByteCount::mib(16), 4);
    let running = database.start(&snapshot, &settings, workload).unwrap();
    let clients = workload.clients(Seed::new(3), 4);
    let conflicts: u32 = thread::scope(|scope| {
        let threads: Vec<_> = (0..)
            .zip(clients)
            .map(|(number, mut client)| {
                let mut connection = running.connect(number).unwrap();
                scope.spawn(move || {
                    let mut conflicts = 0;
                    for _ in 0..EACH {
                        client.draw();
                        while let Err(error) = client.run(&mut *connection) {
                            let is_conflict = matches!(error, ConnectionError::Conflict { .. });
                            assert!(is_conflict, "{error:?}");
                            conflicts += 1;
                        }
                    }
                    conflicts
                })
            })
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .sum()
    });
    assert!(conflicts > 0, "four clients write one row");
    running.stop().unwrap();
    // The log is read again: nothing was written to files yet.
    let mut connection = database.inspect(&snapshot, workload).unwrap();
    let checked = workload.check(&mut *connection).unwrap();
    assert!(!checked.is_empty());
    for condition in checked {
        assert_eq!(condition.violations, 0, "{condition:?}");
    }
}

#[test]
fn what_is_no_database_is_refused_in_words() {
    let database = choose("rocksdb", &[]).unwrap();
    let workload = ycsb("ycsb-c");
    let directory = open_directory();
    let error = |settings| -> DatabaseError {
        let started = database.start(directory.path(), &settings, &*workload);
        started.err().unwrap()
    };
    let absent = error(settings(4096, ByteCount::mib(16), 1));
    let text = format!("{absent}: {:?}", std::error::Error::source(&absent));
    assert!(text.contains("open ") && text.contains("CURRENT"), "{text}");
    let small = error(settings(65_536, ByteCount::mib(1), 1)).to_string();
    assert!(small.contains("needs"), "{small}");
    // Nothing was made there.
    let made = fs::read_dir(directory.path()).unwrap().count();
    assert_eq!(made, 0, "a directory is left");
}
