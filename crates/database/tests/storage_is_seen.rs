//! What the buffer misses reaches the storage, and nothing of it stays in the
//! page cache.

#[allow(dead_code, reason = "the program asks for shares")]
#[path = "../src/resident.rs"]
mod resident;
mod support;

use octavo_database::{OsCache, Sqlite, StoragePath};
use octavo_units::{ByteCount, Seed};
use octavo_workload::connection::{Access, Row, Value};
use rand::RngExt;
use resident::resident_pages;
use std::{fs, path::Path};
use support::*;

#[test]
fn misses_are_reads_and_leave_nothing_behind() {
    let bank = Bank { accounts: 40_000 };
    for page_bytes in [1024, 4096, 16384] {
        let directory = directory();
        prepare(Sqlite::default(), directory.path(), page_bytes, &bank);
        let file = database_file(directory.path(), "run");
        let memory = ByteCount::new(file.metadata().unwrap().len() / 8);
        let settings = settings(page_bytes, memory, 1);
        let running = start(Sqlite::default(), directory.path(), &settings, &bank);
        if running.storage_path() != StoragePath::Direct {
            println!(
                "skipped: {} takes no direct I/O",
                directory.path().display()
            );
            return;
        }
        let mut connection = running.connect(0).unwrap();
        let before = running.counters();
        let mut generator = Seed::new(9).generator();
        for _ in 0..4000 {
            connection.begin(Access::Read).unwrap();
            let account = Value::Integer(generator.random_range(1..=40_000));
            let rows = connection.query(BALANCE, &[account], &mut |_| {}).unwrap();
            assert_eq!(rows, 1);
            connection.commit().unwrap();
        }
        let counted = running.counters() - before;
        println!("{page_bytes}: {counted:?}");
        assert!(counted.buffer_misses > 2000, "{counted:?}");
        assert!(counted.buffer_hits > counted.buffer_misses, "{counted:?}");
        let share = counted.reads as f64 / counted.buffer_misses as f64;
        assert!((0.95..1.05).contains(&share), "{counted:?}");
        // Every read is one of a page, but for a look or two at the header.
        let pages = counted.reads * u64::from(page_bytes);
        let bytes = counted.read_bytes.get();
        assert!(bytes > pages * 99 / 100 && bytes <= pages, "{counted:?}");
        assert!(counted.read_time.as_nanos() > 0);

        for _ in 0..50 {
            connection.begin(Access::Write).unwrap();
            let account = Value::Integer(generator.random_range(1..=40_000));
            connection.execute(ADD, &[money(1), account]).unwrap();
            connection.commit().unwrap();
        }
        let log = file.with_extension("sqlite-wal");
        assert_eq!(resident_pages(&log), 0, "pages of the log at {page_bytes}");
        drop(connection);
        running.stop().unwrap();
        assert_eq!(resident_pages(&file), 0, "pages of data at {page_bytes}");
    }
}

#[test]
fn the_os_holds_the_whole_file_if_it_is_told_to() {
    let bank = Bank { accounts: 40_000 };
    let sqlite = Sqlite {
        os_cache: OsCache::Whole,
        ..Sqlite::default()
    };
    let directory = directory();
    prepare(sqlite, directory.path(), 4096, &bank);
    let file = database_file(directory.path(), "run");
    let length = file.metadata().unwrap().len();
    let settings = settings(4096, ByteCount::new(length / 8), 1);
    let running = start(sqlite, directory.path(), &settings, &bank);
    assert_eq!(running.storage_path(), StoragePath::Resident);
    let pages = resident_pages(&file);
    assert_eq!(pages as u64, length.div_ceil(4096));
    let mut connection = running.connect(0).unwrap();
    let before = running.counters();
    let mut generator = Seed::new(9).generator();
    for number in 0..2000 {
        let is_change = number % 40 == 0;
        let access = if is_change {
            Access::Write
        } else {
            Access::Read
        };
        connection.begin(access).unwrap();
        let account = Value::Integer(generator.random_range(1..=40_000));
        let one = std::slice::from_ref(&account);
        assert_eq!(connection.query(BALANCE, one, &mut |_| {}).unwrap(), 1);
        if is_change {
            connection.execute(ADD, &[money(1), account]).unwrap();
        }
        connection.commit().unwrap();
    }
    let counted = running.counters() - before;
    assert!(counted.buffer_misses > 500, "{counted:?}");
    // Who asks what the kernel holds of the file takes none of SQLite's locks on it away.
    let held = own_locks(&file);
    assert!(held > 0, "a connection that has read holds a lock");
    assert_eq!(running.storage_path(), StoragePath::Resident);
    assert_eq!(own_locks(&file), held);
    // Each commit, and the header of the log.
    assert_eq!(counted.syncs, 51, "{counted:?}");
    let log = file.with_extension("sqlite-wal");
    assert!(resident_pages(&log) > 0);
    running.flush().unwrap();
    assert_eq!(running.storage_path(), StoragePath::Resident);
    // Pages that the kernel no longer has are reads of the disk.
    let half = fs::File::open(&file).unwrap();
    rustix::fs::fadvise(&half, 0, None, rustix::fs::Advice::DontNeed).unwrap();
    assert_eq!(running.storage_path(), StoragePath::PageCache);
    drop(connection);
    running.stop().unwrap();
}

/// How many locks of `file` this process holds.
///
/// The kernel writes those of a descriptor at once. `/proc/locks` it writes in parts: who
/// reads it while another thread gives a lock back can miss one that is held all the time.
fn own_locks(file: &Path) -> usize {
    let descriptors = fs::read_dir("/proc/self/fd").unwrap();
    descriptors
        .map(|entry| entry.unwrap().path())
        // Other tests close theirs meanwhile.
        .filter(|descriptor| fs::read_link(descriptor).is_ok_and(|target| target == file))
        .map(|descriptor| {
            let number = descriptor.file_name().unwrap();
            let facts = Path::new("/proc/self/fdinfo").join(number);
            let facts = fs::read_to_string(facts).unwrap();
            facts.lines().filter(|l| l.starts_with("lock:")).count()
        })
        .sum()
}

/// SQLite reads overflow pages past its cache, each time, from a VFS that says parts of
/// pages can be read.
#[test]
fn rows_that_overflow_their_page_are_read_once() {
    let bank = Bank { accounts: 2000 };
    let long = "overflow".repeat(500);
    for page_bytes in [512, 1024, 4096] {
        let directory = directory();
        prepare(Sqlite::default(), directory.path(), page_bytes, &bank);
        let settings = settings(page_bytes, ByteCount::mib(16), 1);
        let start = || start(Sqlite::default(), directory.path(), &settings, &bank);
        let running = start();
        let mut connection = running.connect(0).unwrap();
        for account in 1..=500 {
            let change = [Value::Text(&long), Value::Integer(account)];
            connection.execute(FILL, &change).unwrap();
        }
        drop(connection);
        // With what was changed in the database file, not in the log.
        running.stop().unwrap();
        let running = start();
        let mut connection = running.connect(0).unwrap();
        let mut read_all = || {
            let before = running.counters();
            for account in 1..=500 {
                connection.begin(Access::Read).unwrap();
                let mut length = 0;
                let visit = &mut |row: &dyn Row| length = row.value(1).byte_length();
                connection
                    .query(BALANCE, &[Value::Integer(account)], visit)
                    .unwrap();
                assert_eq!(length, long.len() as u64);
                connection.commit().unwrap();
            }
            running.counters() - before
        };
        let cold = read_all();
        println!("{page_bytes}: {cold:?}");
        assert!(cold.buffer_misses > 500, "{cold:?}");
        assert!(cold.reads <= cold.buffer_misses + 1, "{cold:?}");
        let warm = read_all();
        assert_eq!((warm.reads, warm.buffer_misses), (0, 0), "{warm:?}");
    }
}

#[test]
fn the_device_saw_the_reads() {
    let bank = Bank { accounts: 40_000 };
    let directory = directory();
    prepare(Sqlite::default(), directory.path(), 4096, &bank);
    let Some(statistics) = device_statistics(directory.path()) else {
        println!(
            "skipped: no block device's statistics for {}",
            directory.path().display()
        );
        return;
    };
    let settings = settings(4096, ByteCount::mib(1), 1);
    let running = start(Sqlite::default(), directory.path(), &settings, &bank);
    if running.storage_path() != StoragePath::Direct {
        println!(
            "skipped: {} takes no direct I/O",
            directory.path().display()
        );
        return;
    }
    let mut connection = running.connect(0).unwrap();
    let (before, device_before) = (running.counters(), sectors_read(&statistics));
    let mut generator = Seed::new(10).generator();
    for _ in 0..3000 {
        let account = Value::Integer(generator.random_range(1..=40_000));
        connection.query(BALANCE, &[account], &mut |_| {}).unwrap();
    }
    // Neighbours only add to what the device counted.
    let device = (sectors_read(&statistics) - device_before) * 512;
    drop(connection);
    let counted = running.counters() - before;
    println!("device {device} bytes, {counted:?}");
    assert!(
        counted.buffer_misses * 4096 * 95 / 100 <= device,
        "{counted:?}, device {device}"
    );
    running.stop().unwrap();
}

/// The kernel's statistics of the device below a directory.
fn device_statistics(directory: &Path) -> Option<std::path::PathBuf> {
    use std::os::unix::fs::MetadataExt;
    let device = std::fs::metadata(directory).ok()?.dev();
    let (major, minor) = (libc::major(device), libc::minor(device));
    let path = Path::new("/sys/dev/block").join(format!("{major}:{minor}/stat"));
    path.exists().then_some(path)
}

/// The third field (Documentation/block/stat.rst), in units of 512 bytes.
fn sectors_read(statistics: &Path) -> u64 {
    let text = std::fs::read_to_string(statistics).unwrap();
    text.split_whitespace().nth(2).unwrap().parse().unwrap()
}
