//! The cache of stores that map their file is the memory that they are given, and what they count is what they
//! did.

#![cfg(any(feature = "libmdbx", feature = "lmdb"))]

mod support;

use std::{
    fs,
    ops::ControlFlow,
    path::Path,
    sync::{Mutex, PoisonError},
};

use octavo_database::{Counters, Database, StoragePath, choose};
use octavo_units::{ByteCount, Seed};
use octavo_workload::{Workload, WorkloadSpec};
use support::{open_directory, settings};

const PAGE: u32 = 4096;

/// Stores, and the file of each.
const STORES: &[(&str, &str)] = &[
    #[cfg(feature = "libmdbx")]
    ("libmdbx", "database.mdbx"),
    #[cfg(feature = "lmdb")]
    ("lmdb", "database.mdb"),
];

/// Each store, which reads a page at a time.
fn stores() -> impl Iterator<Item = Box<dyn Database>> {
    let options = [("readahead".to_owned(), "off".to_owned())];
    STORES
        .iter()
        .map(move |(name, _)| choose(name, &options).unwrap())
}

/// A process is in one group at a time: one test is at work.
static ALONE: Mutex<()> = Mutex::new(());

/// YCSB with 40,000 records, 50 MB.
fn ycsb(name: &str) -> Box<dyn Workload> {
    let name = octavo_workload::Registry::standard().find(name).unwrap();
    let data = name.data_spec(&[("records", 40_000)]).unwrap();
    let spec = WorkloadSpec {
        distribution: Some("uniform".parse().unwrap()),
        ..WorkloadSpec::new(name, data, Seed::new(7))
    };
    spec.build().unwrap()
}

fn load(database: &dyn Database, workload: &dyn Workload, snapshot: &Path) {
    fs::create_dir(snapshot).unwrap();
    let page_size = support::page_size(PAGE);
    let mut go_on = |_| ControlFlow::Continue(());
    let loaded = database
        .load(snapshot, page_size, workload, &mut go_on)
        .unwrap();
    assert_eq!(loaded.rows, 40_000);
    // What is there is near to what was expected.
    let expected = database.estimate(workload, page_size).get() as f64;
    let ratio = loaded.size.get() as f64 / expected;
    assert!((0.7..1.4).contains(&ratio), "{ratio} of {expected}");
    let beside = fs::read_dir(snapshot).unwrap().count();
    assert_eq!(beside, 1, "no lock is left");
}

/// Runs transactions twice, the first time to fill the cache; what the second time took.
fn run(
    database: &dyn Database,
    workload: &dyn Workload,
    directory: &Path,
    memory: ByteCount,
    transactions: u64,
) -> (Counters, StoragePath) {
    let run = directory.join("run");
    fs::create_dir_all(&run).unwrap();
    database.restore(&directory.join("snapshot"), &run).unwrap();
    let running = database
        .start(&run, &settings(PAGE, memory, 1), workload)
        .unwrap();
    let mut connection = running.connect(0).unwrap();
    let mut client = workload.clients(Seed::new(3), 1).remove(0);
    let mut slice = || {
        running.thaw().unwrap();
        let before = running.counters();
        for _ in 0..transactions {
            client.draw();
            client.run(&mut *connection).unwrap();
        }
        let counters = running.counters() - before;
        running.freeze().unwrap();
        counters
    };
    slice();
    let counters = slice();
    let path = running.storage_path();
    drop(connection);
    running.stop().unwrap();
    (counters, path)
}

#[test]
fn the_page_cache_is_held_to_the_memory() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    for database in stores() {
        let workload = ycsb("ycsb-c");
        let directory = open_directory();
        load(&*database, &*workload, &directory.path().join("snapshot"));
        let misses = |mib: u64| {
            let memory = ByteCount::mib(mib);
            let (counters, path) = run(&*database, &*workload, directory.path(), memory, 20_000);
            assert_eq!(
                counters.read_bytes.get(),
                counters.buffer_misses * u64::from(PAGE)
            );
            assert!(
                counters.buffer_hits > counters.buffer_misses,
                "branches are hit"
            );
            assert_eq!((counters.syncs, counters.data_writes), (0, 0));
            (counters.buffer_misses as f64 / 20_000.0, path)
        };
        let (small, path) = misses(10);
        if path == StoragePath::PageCache {
            eprintln!("skipped: no control groups here, or they were not kept");
            continue;
        }
        assert_eq!(path, StoragePath::Limited);
        // A fifth of the pages is held.
        assert!((0.7..0.95).contains(&small), "{small}");
        let (large, _) = misses(400);
        // 40,000 reads have not met every record yet.
        assert!(large < 0.2, "{large}");
    }
}

#[test]
fn what_is_written_and_flushed_is_counted() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    for database in stores() {
        let workload = ycsb("ycsb-a");
        let directory = open_directory();
        load(&*database, &*workload, &directory.path().join("snapshot"));
        let memory = ByteCount::mib(400);
        let (counters, _) = run(&*database, &*workload, directory.path(), memory, 1_000);
        // About half of the operations are updates: each flushes its data and then its meta page.
        let commits = 500.0;
        let flushes = counters.syncs as f64 / commits;
        assert!((1.8..2.2).contains(&flushes), "{flushes}");
        // A leaf, the pages above it, the tree of trees, pages that are free, and the meta page.
        let pages = counters.data_written_bytes.get() as f64 / f64::from(PAGE) / commits;
        assert!((5.0..12.0).contains(&pages), "{pages}");
        assert_eq!(counters.data_written_bytes.get() % 4096, 0);
        assert!(!counters.write_time.is_zero() && !counters.sync_time.is_zero());
    }
}

#[test]
fn more_clients_than_it_has_room_for_by_default_can_connect() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    for database in stores() {
        let workload = ycsb("ycsb-c");
        let directory = open_directory();
        let snapshot = directory.path().join("snapshot");
        load(&*database, &*workload, &snapshot);
        let settings = settings(PAGE, ByteCount::mib(16), 300);
        let running = database.start(&snapshot, &settings, &*workload).unwrap();
        let connections: Vec<_> = (0..300)
            .map(|client| running.connect(client).unwrap())
            .collect();
        drop(connections);
        running.stop().unwrap();
    }
}

#[test]
fn a_file_that_is_none_is_refused_by_its_name() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    for (database, (_, file)) in stores().zip(STORES) {
        let workload = ycsb("ycsb-c");
        let directory = open_directory();
        fs::write(directory.path().join(file), vec![7; 1 << 16]).unwrap();
        let memory = ByteCount::mib(16);
        let started = database.start(directory.path(), &settings(PAGE, memory, 1), &*workload);
        let error = started.err().unwrap().to_string();
        assert!(error.contains(file), "{error}");
        let inspected = database.inspect(directory.path(), &*workload);
        assert!(inspected.is_err());
        // A page size of nothing, by which a library may divide.
        let snapshot = directory.path().join("snapshot");
        load(&*database, &*workload, &snapshot);
        let path = snapshot.join(file);
        let mut bytes = fs::read(&path).unwrap();
        bytes[48..52].fill(0);
        fs::write(&path, &bytes).unwrap();
        let started = database.start(&snapshot, &settings(PAGE, memory, 1), &*workload);
        // libmdbx has another number there.
        assert!(started.is_err() || *file != "database.mdb");
        let isolation = octavo_database::Settings {
            isolation: Some(octavo_database::Isolation::ReadCommitted),
            ..settings(PAGE, memory, 1)
        };
        let error = database.accept(&isolation).unwrap_err().to_string();
        assert!(error.contains("serializable"), "{error}");
        let error = database
            .accept(&settings(PAGE, ByteCount::kib(64), 1))
            .unwrap_err();
        assert!(error.to_string().contains("at least 256 KiB"), "{error}");
    }
}
