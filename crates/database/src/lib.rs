//! Databases under test: how one is loaded, copied, started, connected to,
//! counted and stopped.
//!
//! [`Database`] is a kind of database and [`Running`] a started copy of one.
//! Both know workloads by their tables and statements, and nothing of
//! schedules or statistics. All files live in directories that the caller
//! made and owns.

mod at_rest;
mod content;
mod counters;
mod description;
mod estimate;
mod external;
mod files;
mod fill;
mod mysql;
mod noop;
mod options;
mod postgres;
mod registry;
#[cfg(test)]
mod scratch;
mod server;
mod sqlite;
mod wire;

use std::{fmt, io, ops::ControlFlow, path::Path, path::PathBuf, time::Duration};

use octavo_units::{ByteCount, PageSize};
use octavo_workload::{
    Connection, ConnectionError, Workload, connection::RowVisitor, schema::Table,
};
use serde::{Deserialize, Serialize};

pub use content::{ContentHash, ContentHashError, TableContent, contents, expected_contents};
pub use counters::Counters;
pub use description::{
    Advice, Change, ChangeLine, ChangePlace, Cost, DatabaseKind, Defaults, PageSizes,
};
pub use external::{ExternalServer, Protocol, SCHEMA, Url, UrlError, connect};
pub use noop::Noop;
pub use options::{OptionKind, Options, ValueKind};
pub use registry::{DatabaseSpec, Registry, SharedOption, choose};
pub use sqlite::{JournalMode, LoadThreads, Sqlite};

/// A kind of database.
///
/// A *snapshot* is a directory with a loaded database at rest; it is never
/// written again. A *run directory* holds the copy that one run changes.
pub trait Database: Send + Sync {
    /// Its description.
    fn kind(&self) -> &'static DatabaseKind;

    /// Its short name, as plans and stores write it.
    fn name(&self) -> &'static str {
        self.kind().name
    }

    /// The version that is measured.
    fn version(&self) -> String;

    /// The page size that users have when they chose none.
    fn default_page_size(&self) -> PageSize {
        self.kind().page_sizes.default
    }

    /// Refuses what the database cannot do.
    ///
    /// # Errors
    /// [`DatabaseError::Setting`] for a page size that it cannot have, a buffer
    /// too small to work, no clients, or an isolation level that it does not have;
    /// [`DatabaseError::Missing`] where its version has to be known and is not.
    fn accept(&self, settings: &Settings) -> Result<(), DatabaseError>;

    /// About how many bytes a snapshot of this workload has at this page size.
    fn estimate(&self, workload: &dyn Workload, page_size: PageSize) -> ByteCount;

    /// About how many bytes a load or a run needs beside the data, for logs.
    fn logs(&self) -> ByteCount {
        ByteCount::ZERO
    }

    /// Gets what is needed to run with these page sizes, such as programs that
    /// have to be built first. `step` is told what is being done, again and
    /// again, and may stop it.
    ///
    /// # Errors
    /// [`DatabaseError::Stopped`] when `step` stopped it;
    /// [`DatabaseError::Missing`] for programs or sources that cannot be had;
    /// [`DatabaseError::Program`] for a build that fails.
    fn prepare(
        &self,
        _page_sizes: &[PageSize],
        _step: &mut dyn FnMut(&str) -> ControlFlow<()>,
    ) -> Result<(), DatabaseError> {
        Ok(())
    }

    /// Creates the workload's tables in the empty directory `snapshot` and fills
    /// them, durably. `progress` is told the rows loaded so far and may stop
    /// the load. After an error a part of the snapshot may be there, which the
    /// caller removes.
    ///
    /// # Errors
    /// [`DatabaseError::Stopped`] when `progress` stopped it;
    /// [`DatabaseError::File`], [`DatabaseError::Program`] and
    /// [`DatabaseError::Connection`] for what the system, a server or the
    /// database refuses, a full disk included.
    fn load(
        &self,
        snapshot: &Path,
        page_size: PageSize,
        workload: &dyn Workload,
        progress: &mut Progress<'_>,
    ) -> Result<LoadReport, DatabaseError>;

    /// How snapshots at other page sizes are made of a loaded one, where that is
    /// cheaper than loading again.
    fn derivation(&self) -> Option<&dyn Derive> {
        None
    }

    /// Makes `run` a fresh copy of `snapshot`, replacing what an earlier run left
    /// there, durable and out of the page cache. Returns how it copied.
    ///
    /// # Errors
    /// [`DatabaseError::File`] for a file that cannot be read, written or
    /// flushed.
    fn restore(&self, snapshot: &Path, run: &Path) -> Result<RestoreMethod, DatabaseError>;

    /// Starts the copy in `run`.
    ///
    /// # Errors
    /// As [`Self::accept`]; also when the copy has another page size, is not
    /// there, or when a server does not start.
    fn start(
        &self,
        run: &Path,
        settings: &Settings,
        workload: &dyn Workload,
    ) -> Result<Box<dyn Running>, DatabaseError>;

    /// Opens a database at rest for reading alone, outside of any limit or
    /// count, to check it. Leaves nothing in the page cache once dropped. A
    /// server keeps books of its own meanwhile; the rows stay as they are.
    ///
    /// # Errors
    /// As [`Self::start`], settings aside.
    fn inspect(
        &self,
        directory: &Path,
        workload: &dyn Workload,
    ) -> Result<Box<dyn Inspection>, DatabaseError>;
}

/// Makes snapshots of snapshots.
pub trait Derive {
    /// Makes a snapshot with the same rows at another page size in the empty
    /// directory `to`. `progress` is told the bytes written so far and
    /// may stop it.
    ///
    /// # Errors
    /// As [`Database::load`].
    fn derive(
        &self,
        from: &Path,
        to: &Path,
        page_size: PageSize,
        progress: &mut Progress<'_>,
    ) -> Result<LoadReport, DatabaseError>;
}

/// A database at rest that is read.
pub trait Inspection: Connection {
    /// Hands over all rows of `table`, in no particular order, and returns how
    /// many there were. The columns come in the table's order, decimals with
    /// their column's scale.
    ///
    /// # Errors
    /// As [`Connection::query`].
    fn scan(&mut self, table: &Table, visit: &mut RowVisitor<'_>) -> Result<u64, ConnectionError>;
}

/// A started database.
pub trait Running: Send + Sync {
    /// Opens the session of one client (0-based, below
    /// [`Settings::clients`]).
    ///
    /// # Errors
    /// [`DatabaseError::Connection`] when the database refuses or is gone.
    ///
    /// # Panics
    /// When `client` is not below [`Settings::clients`].
    fn connect(&self, client: u32) -> Result<Box<dyn Connection + Send>, DatabaseError>;

    /// What was counted since the start. Callable at any time from any thread.
    fn counters(&self) -> Counters;

    /// How the database was run, as name and value, for every figure's
    /// conditions: what is the same for all settings of the same clients.
    fn conditions(&self) -> Vec<(&'static str, String)>;

    /// How the storage was reached.
    fn storage_path(&self) -> StoragePath;

    /// Why the database is no longer there, in its own last words; `None`
    /// while it is.
    fn death(&self) -> Option<String> {
        None
    }

    /// Stops cleanly. Every connection must have been dropped before.
    ///
    /// # Errors
    /// When the last changes could not be written, or a server had ended
    /// before, had to be killed or ended badly.
    fn stop(self: Box<Self>) -> Result<(), DatabaseError>;
}

/// Told how far a long step has come; answers whether to go on.
pub type Progress<'a> = dyn FnMut(u64) -> ControlFlow<()> + 'a;

/// How a database is run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    /// The page size of the copy.
    pub page_size: PageSize,
    /// All memory that may hold data: the database's own buffer, since the
    /// page cache is kept out.
    pub memory: ByteCount,
    /// Sessions that work at the same time.
    pub clients: u32,
    /// How transactions are kept apart; `None` for the database's default.
    pub isolation: Option<Isolation>,
}

/// How transactions are kept apart, by the names of the SQL standard. What a
/// database makes of a name is its own; its conditions say so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Isolation {
    /// READ COMMITTED.
    ReadCommitted,
    /// REPEATABLE READ.
    RepeatableRead,
    /// SERIALIZABLE.
    Serializable,
}

impl fmt::Display for Isolation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::ReadCommitted => "read committed",
            Self::RepeatableRead => "repeatable read",
            Self::Serializable => "serializable",
        })
    }
}

/// What loading did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoadReport {
    /// Rows in all tables.
    pub rows: u64,
    /// Bytes of the snapshot.
    pub size: ByteCount,
    /// Time until durable.
    pub elapsed: Duration,
}

/// How a snapshot was copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RestoreMethod {
    /// Shared extents (`FICLONE`).
    Reflink,
    /// All bytes.
    Copy,
}

/// How a database's reads get to its storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StoragePath {
    /// Direct I/O: every miss of the buffer is a request to the device.
    Direct,
    /// Through the page cache, which shares one memory limit with the
    /// database's buffer.
    Limited,
    /// Through the page cache, without a limit: figures may show RAM.
    PageCache,
    /// Nothing is stored.
    None,
}

/// Why a database could not do something.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DatabaseError {
    /// The database cannot work with a setting.
    #[error("{setting} {value} is not possible with {database}: {reason}")]
    Setting {
        /// The database's name.
        database: &'static str,
        /// The setting's name.
        setting: &'static str,
        /// Its value.
        value: String,
        /// What is possible.
        reason: String,
    },
    /// There is no database of this name.
    #[error("database '{name}' is not known: {instead}")]
    Unknown {
        /// The name.
        name: String,
        /// What to choose.
        instead: String,
    },
    /// A file could not be used.
    #[error("{action} {}", path.display())]
    File {
        /// A verb, such as "copy".
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// A program of the database could not do its work.
    #[error("{action} with {}: {reason}", program.display())]
    Program {
        /// What it was to do, such as "start the server".
        action: &'static str,
        /// The program.
        program: PathBuf,
        /// What is wrong, with the last lines of its log where there are any.
        reason: String,
    },
    /// Something that servers need is not there.
    #[error("{what}: {remedy}")]
    Missing {
        /// What is not there.
        what: String,
        /// What to do about it.
        remedy: String,
    },
    /// The database refused.
    #[error(transparent)]
    Connection(#[from] ConnectionError),
    /// The caller asked to stop.
    #[error("stopped")]
    Stopped,
}

impl DatabaseError {
    /// Whether the disk is full.
    pub fn is_full(&self) -> bool {
        match self {
            Self::Connection(ConnectionError::Full(_)) => true,
            Self::File { source, .. } => matches!(
                source.kind(),
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
            ),
            _ => false,
        }
    }
}
