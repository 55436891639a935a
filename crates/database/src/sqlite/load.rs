//! Filling a snapshot: one connection inserts what generator threads make.
//!
//! A snapshot is loaded through the page cache, without a journal and without
//! flushes until the end, because a load that fails is thrown away as a
//! whole. Memory is bounded: SQLite's buffer of [`BUFFER`], and for each
//! generator [`BATCHES`] batches of rows that go round between it and the
//! inserter.

#![expect(unsafe_code, reason = "SQLite is a library of C")]

use std::{
    cell::RefCell,
    fs,
    ops::ControlFlow,
    path::Path,
    sync::mpsc::{Receiver, SyncSender, sync_channel},
    thread,
    time::Instant,
};

use octavo_units::{ByteCount, PageSize};
use octavo_workload::{
    ConnectionError, Workload,
    population::{Partition, Population, RowBatch},
    schema::{Table, TableId},
};
use rusqlite::{Connection, OpenFlags};

use super::{
    configured::LoadThreads,
    ddl,
    failure::{sort, sort_in},
    inspect::{beside, open_to_read},
    statement::Prepared,
    temporary::{Unmeasured, directory_of},
};
use crate::{
    DatabaseError, LoadReport, Progress, Result, ddl::create_index, error::unless_stopped, files,
};

/// SQLite's buffer while it loads and derives. Rows come in key order, so
/// this only has to hold the right edges of the trees; the sort of an index
/// uses as much again.
pub(super) const BUFFER: ByteCount = ByteCount::mib(32);

/// Full batches between a generator and the inserter.
const BATCHES: usize = 8;

/// What SQLite chooses indexes by, from a thousand entries of each, as
/// <https://www.sqlite.org/lang_analyze.html> advises. Without it a customer's last order
/// is searched for among all of its district's, by the key.
const ANALYZE: &str = "PRAGMA analysis_limit=1000; ANALYZE;";

/// Creates and fills the database file; see [`crate::Database::load`].
pub(crate) fn load(
    database: &Path,
    page_size: PageSize,
    threads: LoadThreads,
    workload: &dyn Workload,
    progress: &mut Progress<'_>,
) -> Result<LoadReport> {
    let start = Instant::now();
    let failed = |failure| sort(failure, || format!("load {}", database.display()));
    let connection = create(database, page_size).map_err(failed)?;
    for table in workload.tables() {
        connection
            .execute_batch(&ddl::create_table(table))
            .map_err(failed)?;
    }
    connection
        .execute_batch("BEGIN EXCLUSIVE")
        .map_err(failed)?;
    let rows = insert_all(&connection, threads, workload, progress)?;
    for table in workload.tables() {
        for index in table.indexes {
            unless_stopped(progress(rows))?;
            connection
                .execute_batch(&create_index(table, index))
                .map_err(failed)?;
        }
    }
    connection.execute_batch(ANALYZE).map_err(failed)?;
    connection.execute_batch("COMMIT").map_err(failed)?;
    let (connection, _temporary) = connection.into_parts();
    connection.close().map_err(|(_, failure)| failed(failure))?;
    let size = finish(database)?;
    note_rows(database, rows)?;
    Ok(LoadReport {
        rows,
        size,
        log: None,
        elapsed: start.elapsed(),
    })
}

pub(super) fn create(database: &Path, page_size: PageSize) -> rusqlite::Result<Unmeasured> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_CREATE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    // Sorting for the indexes may spill.
    let connection = Unmeasured::open(database.as_os_str(), flags, directory_of(database))?;
    connection.execute_batch(&format!(
        "PRAGMA page_size={}; PRAGMA locking_mode=EXCLUSIVE; PRAGMA journal_mode=OFF; \
         PRAGMA synchronous=OFF; PRAGMA foreign_keys=OFF; PRAGMA cache_size=-{};",
        page_size.get(),
        BUFFER.get() / 1024
    ))?;
    Ok(connection)
}

/// Makes a snapshot durable. It stays in SQLite's default journal mode, whatever
/// mode it will run in: a file that remembers to have a log cannot be read
/// without making files beside it, and `VACUUM INTO` takes no new page size
/// from one that is opened as immutable instead.
pub(super) fn finish(database: &Path) -> Result<ByteCount> {
    files::flush_and_forget(database)?;
    if let Some(directory) = database.parent() {
        files::flush_directory(directory)?;
    }
    let status = fs::metadata(database).map_err(files::named("examine", database))?;
    Ok(ByteCount::new(status.len()))
}

fn insert_all(
    connection: &Connection,
    threads: LoadThreads,
    workload: &dyn Workload,
    progress: &mut Progress<'_>,
) -> Result<u64> {
    let population = workload.population();
    let partitions = population.partitions();
    let mut inserter = Inserter {
        connection,
        tables: workload.tables(),
        insert: None,
        rows: 0,
        progress,
    };
    match threads.generators().min(partitions.len()) {
        0 => inline(&mut inserter, &*population, &partitions),
        generators => threaded(&mut inserter, &*population, &partitions, generators),
    }?;
    Ok(inserter.rows)
}

fn inline(
    inserter: &mut Inserter<'_, '_>,
    population: &dyn Population,
    partitions: &[Partition],
) -> Result<()> {
    let mut batch = RowBatch::new();
    for partition in partitions {
        let mut result = Ok(());
        population.generate(partition, &mut batch, &mut |batch| {
            result = inserter.insert(batch);
            result.is_ok()
        });
        result?;
    }
    Ok(())
}

/// What a generator sends.
enum Message {
    Rows(RowBatch),
    PartitionEnd,
}

/// Generator `g` of `n` makes the partitions `g`, `g + n`, …, so that taking
/// whole partitions from one after the other gives them in order.
fn threaded(
    inserter: &mut Inserter<'_, '_>,
    population: &dyn Population,
    partitions: &[Partition],
    generators: usize,
) -> Result<()> {
    // `Population` is Sync, its trait object only by that bound.
    thread::scope(|scope| {
        let channels: Vec<_> = (0..generators)
            .map(|generator| {
                let (full, take_full) = sync_channel(BATCHES);
                // Room for all that are under way, so giving back never waits.
                let (give_empty, empty) = sync_channel(BATCHES + 2);
                let mine = partitions.iter().skip(generator).step_by(generators);
                scope.spawn(move || generate(population, mine, &full, &empty));
                (take_full, give_empty)
            })
            .collect();
        for (index, partition) in partitions.iter().enumerate() {
            let (full, empty) = &channels[index % generators];
            take_partition(inserter, partition, full, empty)?;
        }
        // Leaving early drops the channels, which ends the generators.
        Ok(())
    })
}

fn generate<'p>(
    population: &dyn Population,
    partitions: impl Iterator<Item = &'p Partition>,
    full: &SyncSender<Message>,
    empty: &Receiver<RowBatch>,
) {
    let mut spare: Option<RowBatch> = None;
    for partition in partitions {
        let mut batch = spare.take().unwrap_or_default();
        let mut wanted = true;
        population.generate(partition, &mut batch, &mut |filled| {
            let mut next = empty.try_recv().unwrap_or_default();
            next.reset(filled.table(), filled.columns());
            let rows = std::mem::replace(filled, next);
            wanted = full.send(Message::Rows(rows)).is_ok();
            wanted
        });
        if !wanted || full.send(Message::PartitionEnd).is_err() {
            return;
        }
        spare = Some(batch);
    }
}

fn take_partition(
    inserter: &mut Inserter<'_, '_>,
    partition: &Partition,
    full: &Receiver<Message>,
    empty: &SyncSender<RowBatch>,
) -> Result<()> {
    loop {
        match full.recv() {
            Ok(Message::Rows(batch)) => {
                inserter.insert(&batch)?;
                // A generator that is done wants no more.
                let _unused = empty.try_send(batch);
            }
            Ok(Message::PartitionEnd) => return Ok(()),
            Err(_) => {
                return Err(DatabaseError::Connection(ConnectionError::other(
                    format!(
                        "generate part {} of {}",
                        partition.part, inserter.tables[partition.table.0].name
                    ),
                    "the generator stopped before its end",
                )));
            }
        }
    }
}

struct Inserter<'c, 'p> {
    connection: &'c Connection,
    tables: &'c [Table],
    /// The statement of the table that is being filled.
    insert: Option<(TableId, Prepared)>,
    rows: u64,
    progress: &'c mut Progress<'p>,
}

impl Inserter<'_, '_> {
    fn insert(&mut self, batch: &RowBatch) -> Result<()> {
        let table = batch.table();
        let statement = match &mut self.insert {
            Some((current, statement)) if *current == table => statement,
            slot => {
                let sql = ddl::insert(&self.tables[table.0]);
                let statement = Prepared::new(self.connection, &sql)?;
                &mut slot.insert((table, statement)).1
            }
        };
        for row in 0..batch.len() {
            let values = (0..batch.columns()).map(|column| batch.value(row, column));
            statement.run(values, &[], |_| {})?;
        }
        self.rows += batch.len() as u64;
        match (self.progress)(self.rows) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(DatabaseError::Stopped),
        }
    }
}

/// Makes `to` from `from` with another page size; see
/// [`crate::Derive::derive`].
pub(crate) fn derive(
    from: &Path,
    to: &Path,
    page_size: PageSize,
    progress: &mut Progress<'_>,
) -> Result<LoadReport> {
    let start = Instant::now();
    let connection = open_to_read(from, BUFFER, directory_of(to))?;
    let rows = noted_rows(from)?;
    let watch = Watch {
        target: to,
        progress,
        stopped: false,
    };
    let watch = RefCell::new(watch);
    let result = watched(&connection, &watch, || {
        // VACUUM gives its target as many pages of buffer as the source has,
        // whatever their size: counted in KiB for the small pages of the
        // source, they would be gigabytes of large ones.
        let page_max: u32 = connection
            .query_row("PRAGMA page_size", [], |row| row.get(0))
            .map(|source: u32| source.max(page_size.get()))?;
        connection.execute_batch(&format!(
            "PRAGMA page_size={}; PRAGMA cache_size={}",
            page_size.get(),
            BUFFER.get() / u64::from(page_max)
        ))?;
        connection.execute(
            "VACUUM INTO ?1",
            [to.as_os_str().as_encoded_bytes()].map(|path| {
                // SQL texts are UTF-8; so are the names that Octavo makes.
                String::from_utf8_lossy(path).into_owned()
            }),
        )
    });
    drop(connection);
    if watch.borrow().stopped {
        return Err(DatabaseError::Stopped);
    }
    result.map_err(|failure| {
        sort_in(from, failure, || {
            format!("copy the data to {} at {page_size} a page", to.display())
        })
    })?;
    let size = finish(to)?;
    if let Ok(file) = fs::File::open(from) {
        files::forget(&file);
    }
    Ok(LoadReport {
        rows,
        size,
        log: None,
        elapsed: start.elapsed(),
    })
}

/// How the name of a file with the number of rows goes on.
const ROWS: &str = "-rows";

/// Leaves the number of rows beside a loaded database.
pub(super) fn note_rows(database: &Path, rows: u64) -> Result<()> {
    let file = beside(database, ROWS);
    fs::write(&file, rows.to_string()).map_err(files::named("write", &file))
}

/// The rows in all tables, as [`note_rows`] left them.
fn noted_rows(database: &Path) -> Result<u64> {
    let noted = fs::read_to_string(beside(database, ROWS)).ok();
    match noted.and_then(|rows| rows.parse().ok()) {
        Some(rows) => Ok(rows),
        None => count_rows(database),
    }
}

/// Counts the rows in all tables but SQLite's own. Virtual tables have theirs in others.
pub(super) fn count_rows(database: &Path) -> Result<u64> {
    let connection = open_to_read(database, BUFFER, directory_of(database))?;
    let count = || -> rusqlite::Result<u64> {
        let mut tables = connection.prepare(
            "SELECT name FROM sqlite_schema WHERE type = 'table' AND rootpage > 0 \
             AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'",
        )?;
        let names: Vec<String> = tables
            .query_map([], |row| row.get(0))?
            .collect::<Result<_, _>>()?;
        names.iter().try_fold(0, |rows: u64, name| {
            let sql = format!("SELECT count(*) FROM \"{}\"", name.replace('"', "\"\""));
            connection
                .query_row(&sql, [], |row| row.get::<_, i64>(0))
                .map(|count| rows + count.unsigned_abs())
        })
    };
    count().map_err(|failure| {
        sort_in(database, failure, || {
            format!("examine {}", database.display())
        })
    })
}

/// What SQLite's progress callback needs.
struct Watch<'w, 'p> {
    target: &'w Path,
    progress: &'w mut Progress<'p>,
    stopped: bool,
}

/// Instructions of SQLite's virtual machine between two looks: about ten a
/// copied row, so some hundred looks a second.
const WATCH_INSTRUCTIONS: i32 = 50_000;

/// Runs `work` while SQLite reports to `watch`.
fn watched<R>(
    connection: &Connection,
    watch: &RefCell<Watch<'_, '_>>,
    work: impl FnOnce() -> R,
) -> R {
    unsafe extern "C" fn look(watch: *mut std::ffi::c_void) -> std::ffi::c_int {
        // SAFETY: `watched` sets this handler with a pointer to a cell that it
        // borrows until the handler is gone.
        let watch = unsafe { &*watch.cast::<RefCell<Watch<'_, '_>>>() };
        let mut watch = watch.borrow_mut();
        let written = fs::metadata(watch.target).map_or(0, |status| status.len());
        watch.stopped |= (watch.progress)(written).is_break();
        std::ffi::c_int::from(watch.stopped)
    }
    // SAFETY: the connection is open; the pointer is good until the handler is
    // taken off below, and nothing else touches the cell meanwhile.
    unsafe {
        rusqlite::ffi::sqlite3_progress_handler(
            connection.handle(),
            WATCH_INSTRUCTIONS,
            Some(look),
            ptr_of(watch),
        );
    }
    let result = work();
    // SAFETY: the connection is open.
    unsafe {
        rusqlite::ffi::sqlite3_progress_handler(connection.handle(), 0, None, std::ptr::null_mut());
    }
    result
}

fn ptr_of(watch: &RefCell<Watch<'_, '_>>) -> *mut std::ffi::c_void {
    std::ptr::from_ref(watch).cast_mut().cast()
}
