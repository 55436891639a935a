//! SQLite, linked into the program.

mod backwards;
mod configured;
mod connection;
mod data_file;
mod ddl;
mod direct_file;
mod failure;
mod inspect;
mod kind;
mod limit;
mod load;
mod log_file;
mod memory_count;
mod page_limits;
mod page_watch;
mod propose;
mod record;
mod running;
mod session;
mod shares;
mod source;
mod statement;
mod statements;
mod storage_cpu;
mod tally;
mod temporary;
mod trace;
mod vfs;

use std::{
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
};

use octavo_recording::Recording;
use octavo_units::{ByteCount, PageSize};
use octavo_workload::{
    Workload,
    schema::{ColumnKind, Table},
    user::{CopyOf, Copying},
};

use crate::{
    CopyOwn, Database, DatabaseKind, Derive, Guess, Inspection, Isolation, LoadReport, Own,
    OwnError, Progress, RecordPages, RestoreMethod, Result, Running, Settings, Tried, estimate,
    files, own::Statements,
};
use running::RunningSqlite;
use shares::MemoryShares;

pub use configured::{JournalMode, LoadThreads, OsCache, Sqlite};
pub use kind::KIND;
pub use memory_count::leave_memory_uncounted;
pub use page_limits::LOG_PAGES;

/// The file of a database in its directory.
const FILE: &str = "database.sqlite";

/// What SQLite puts beside a database while it works.
const FILES_BESIDE: [&str; 3] = [
    "database.sqlite-wal",
    "database.sqlite-shm",
    "database.sqlite-journal",
];

/// Connections with a smaller buffer are refused. A balance of three leaves
/// and their parents pins about ten pages; below, SQLite takes more than it
/// was given.
const PAGES_MIN: u64 = 16;

/// The largest `cache_size` in KiB: what a 32-bit number holds. SQLite takes a larger one
/// for 0.
const BUFFER_KIB_MAX: u64 = i32::MAX as u64;

/// The most pages that a buffer holds, however many KiB it is given
/// (`numberOfCachePages`).
const PAGES_MAX: u64 = 1_000_000_000;

/// SQLite's own memory for a page in its buffer besides the page, as
/// `cache_size` in KiB counts it: rounded up from the headers of the page
/// cache and the pager in 64-bit builds.
const PAGE_OVERHEAD: u64 = 256;

impl Database for Sqlite {
    fn kind(&self) -> &'static DatabaseKind {
        &KIND
    }

    fn version(&self) -> String {
        rusqlite::version().to_owned()
    }

    fn accept(&self, settings: &Settings) -> Result<()> {
        KIND.check(settings)?;
        if let Some(isolation) = settings.isolation
            && isolation != Isolation::Serializable
        {
            return Err(KIND.refuse(
                "isolation",
                isolation,
                "SQLite's transactions are serializable",
            ));
        }
        let shares = MemoryShares::divide(settings.memory, settings.clients);
        let smallest = if settings.clients > 1 {
            shares.reader.min(shares.writer)
        } else {
            shares.writer
        };
        let page = u64::from(settings.page_size.get()) + PAGE_OVERHEAD;
        let connection_min = PAGES_MIN * page;
        if smallest.get() < connection_min {
            let needed = if settings.clients > 1 {
                connection_min * 8 * u64::from(settings.clients)
            } else {
                connection_min
            };
            return Err(KIND.refuse(
                "memory",
                settings.memory,
                format!(
                    "{} with {} a page need at least {} KiB",
                    clients(settings.clients),
                    settings.page_size,
                    needed.div_ceil(1024)
                ),
            ));
        }
        // The writer has the largest.
        let page = u64::from(settings.page_size.get());
        let connection_max = (BUFFER_KIB_MAX * 1024).min(PAGES_MAX * page);
        if shares.writer.get() > connection_max {
            let most = match settings.clients {
                0 | 1 => connection_max,
                _ => connection_max / 7 * 8,
            };
            return Err(KIND.refuse(
                "memory",
                settings.memory,
                format!(
                    "{} with {} a page can use at most {} GiB (SQLite's cache_size): give no \
                     more, or leave smaller pages out",
                    clients(settings.clients),
                    settings.page_size,
                    most >> 30
                ),
            ));
        }
        Ok(())
    }

    fn estimate(&self, workload: &dyn Workload, page_size: PageSize) -> ByteCount {
        if let Some(copy) = workload.copy_of() {
            return estimate::of_copy(copy);
        }
        let bytes = |table: &Table, rows| bytes_of_rows(table, rows, page_size);
        ByteCount::new(estimate::sum_of_tables(workload, bytes))
    }

    /// The database, its log and the log's index.
    fn files_a_session(&self) -> u64 {
        3
    }

    /// As [`Database::load`] says. When it fails, a part of the snapshot may be
    /// there: the caller removes the directory.
    fn load(
        &self,
        snapshot: &Path,
        page_size: PageSize,
        workload: &dyn Workload,
        progress: &mut Progress<'_>,
    ) -> Result<LoadReport> {
        let database = snapshot.join(FILE);
        if database.exists() {
            return Err(files::named("create", &database)(
                std::io::ErrorKind::AlreadyExists.into(),
            ));
        }
        match workload.copy_of() {
            Some(copy) => source::load(copy, &database, progress),
            None => load::load(&database, page_size, self.load_threads, workload, progress),
        }
    }

    fn copies_own(&self) -> Option<&dyn CopyOwn> {
        Some(self)
    }

    fn records_pages(&self) -> Result<&dyn RecordPages> {
        Ok(self)
    }

    fn derivation(&self, _: &dyn Workload) -> Option<&dyn Derive> {
        Some(self)
    }

    fn restore(&self, snapshot: &Path, run: &Path) -> Result<RestoreMethod> {
        // A log or journal of an earlier run would be played into the copy.
        for name in FILES_BESIDE {
            files::remove(&run.join(name))?;
        }
        files::flush_directory(run)?;
        let method = files::copy(&snapshot.join(FILE), &run.join(FILE))?;
        files::flush_directory(run)?;
        Ok(method)
    }

    fn start(
        &self,
        run: &Path,
        settings: &Settings,
        workload: &dyn Workload,
    ) -> Result<Box<dyn Running>> {
        self.accept(settings)?;
        let database = run.join(FILE);
        fs::metadata(&database).map_err(files::named("open", &database))?;
        let running = RunningSqlite::start(*self, &database, settings, workload)?;
        Ok(Box::new(running))
    }

    fn inspect(&self, directory: &Path, workload: &dyn Workload) -> Result<Box<dyn Inspection>> {
        let inspection = inspect::inspect(&directory.join(FILE), workload)?;
        Ok(Box::new(inspection))
    }
}

impl CopyOwn for Sqlite {
    /// A header is read at once.
    fn examine(
        &self,
        source: &OsStr,
        copying: &Copying,
        _stopped: &dyn Fn() -> bool,
    ) -> Result<Own> {
        source::examine(Path::new(source), copying)
    }

    fn propose(&self, source: &OsStr) -> Result<Option<Guess>> {
        source::read(Path::new(source), propose::propose)
    }

    fn read_recording(
        &self,
        _source: &OsStr,
        _copy: &CopyOf,
        files: &[PathBuf],
    ) -> Result<Recording> {
        trace::read(files)
    }

    fn check(&self) -> Option<&'static str> {
        Some(statements::CHECK)
    }

    fn repair(&self) -> &'static str {
        failure::REPAIR
    }

    fn prepare(&self, source: &OsStr, statements: Statements<'_>) -> Result<Tried, OwnError> {
        statements::prepare(Path::new(source), statements).map(Tried::alike)
    }
}

impl Derive for Sqlite {
    /// By `VACUUM INTO`. When it fails, a part of the snapshot may be there: the
    /// caller removes the directory.
    fn derive(
        &self,
        from: &Path,
        to: &Path,
        page_size: PageSize,
        progress: &mut Progress<'_>,
    ) -> Result<LoadReport> {
        let target = to.join(FILE);
        if target.exists() {
            return Err(files::named("create", &target)(
                std::io::ErrorKind::AlreadyExists.into(),
            ));
        }
        load::derive(&from.join(FILE), &target, page_size, progress)
    }
}

fn clients(count: u32) -> String {
    if count == 1 {
        "one client".into()
    } else {
        format!("{count} clients")
    }
}

/// About how many bytes the pages of `rows` rows and their index entries take.
fn bytes_of_rows(table: &Table, rows: u64, page_size: PageSize) -> u64 {
    // `row_bytes_mean` has 8 bytes for a number. A record
    // (<https://www.sqlite.org/fileformat2.html#record_format>) has a byte of
    // header a column and then only the bytes that the number needs.
    let numbers = table.columns.iter().filter(|column| is_number(column.kind));
    let saved = numbers.count() as u64 * (8 - NUMBER_BYTES);
    let row = (u64::from(table.row_bytes_mean) + CELL_OVERHEAD).saturating_sub(saved);
    let mut bytes = pages_of(rows, row, page_size);
    let key = |names: &[&str]| {
        estimate::columns(table, names)
            .map(|column| match column.kind {
                ColumnKind::Char(characters) => u64::from(characters) + 1,
                // Lengths are drawn evenly more often than not.
                ColumnKind::Varchar(characters) => u64::from(characters) / 2 + 1,
                _ => NUMBER_BYTES,
            })
            .sum::<u64>()
    };
    if !table.primary_key.is_empty() && !ddl::is_clustered(table) && !ddl::has_integer_key(table) {
        bytes += pages_of(rows, key(table.primary_key) + CELL_OVERHEAD, page_size);
    }
    for index in table.indexes {
        let row = if ddl::is_clustered(table) {
            key(table.primary_key)
        } else {
            NUMBER_BYTES
        };
        bytes += pages_of(rows, key(index.columns) + row + CELL_OVERHEAD, page_size);
    }
    bytes
}

/// The pointer to a cell, its length, its row's number.
const CELL_OVERHEAD: u64 = 9;

/// A number: mostly up to three bytes and their header.
const NUMBER_BYTES: u64 = 4;

fn is_number(kind: ColumnKind) -> bool {
    !matches!(kind, ColumnKind::Char(_) | ColumnKind::Varchar(_))
}

fn pages_of(rows: u64, cell: u64, page_size: PageSize) -> u64 {
    let page = u64::from(page_size.get());
    // The page's own header has 8 or 12 bytes.
    let usable = page - 12;
    let pages = if cell > usable {
        rows * cell.div_ceil(usable)
    } else {
        rows.div_ceil(usable / cell)
    };
    // Inner pages: their fan-out is at least ten even at 512 bytes.
    (pages + pages.div_ceil(u64::from(page_size.get()) / 24)) * page
}
