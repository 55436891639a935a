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
mod database;
mod ddl;
mod description;
mod error;
mod estimate;
mod external;
mod files;
mod fill;
#[cfg(feature = "keyed")]
mod keyed;
#[cfg(feature = "libmdbx")]
mod libmdbx;
#[cfg(feature = "lmdb")]
mod lmdb;
#[cfg(feature = "made-up")]
pub mod made_up;
#[cfg(feature = "mapped")]
mod mapped;
mod marks;
mod modeled;
mod mysql;
mod noop;
mod options;
mod own;
mod own_sizes;
mod postgres;
mod record;
mod recorded;
mod registry;
mod resident;
#[cfg(feature = "rocksdb")]
mod rocksdb;
mod running;
#[cfg(test)]
mod scratch;
mod server;
mod settings;
mod shown;
mod snapshot;
mod sqlite;
mod turns;
mod wire;

/// Ends what an Octavo that was killed left running, which may still write into
/// this directory, and frees what servers that were killed left outside of their
/// directories: those of all databases whose copies lie below this one, and are to
/// be deleted.
pub fn free_what_servers_left(directory: &std::path::Path) {
    server::orphans::end();
    postgres::free_below(directory);
}

pub use at_rest::Inspection;
pub use content::{TableContent, contents, expected_contents};
pub use counters::{Counters, TreeCounters};
pub use database::{Database, DatabaseKind};
pub use description::{
    Advice, Change, ChangeLine, ChangePlace, Cost, Defaults, PageSizes, Rebuild, SessionBuffer,
    buffer_is_all,
};
pub use error::{DatabaseError, REFUSES_ROWS, Result};
pub use external::{ExternalServer, Protocol, SCHEMA, Url, UrlError, hide_password};
#[cfg(feature = "libmdbx")]
pub use libmdbx::KIND as LIBMDBX;
#[cfg(feature = "lmdb")]
pub use lmdb::KIND as LMDB;
pub use modeled::OnlyModeled;
pub use mysql::{MARIADB, MYSQL};
pub use noop::Noop;
pub use options::{OptionKind, Options, PageSizesByName, ValueKind, phrase};
pub use own::{
    CopyOwn, Own, OwnError, Statements, Tried,
    digested::{Digests, FoundDigests},
    guess::Guess,
};
pub use own_sizes::{OwnSizes, PageRead, ReadAhead, StoredTree};
pub use postgres::KIND as POSTGRES;
pub use record::{Missing, PagesWanted, RecordPages, RecordedPages};
pub use registry::{DatabaseSpec, Registry, SharedOption, choose, connect, left_out};
#[cfg(feature = "rocksdb")]
pub use rocksdb::KIND as ROCKSDB;
pub use running::{Running, StoragePath};
pub use server::host::HostProcess;
pub use settings::{Isolation, Settings};
pub use snapshot::{Derive, LoadReport, Progress, RestoreMethod};
pub use sqlite::{
    JournalMode, KIND as SQLITE, LOG_PAGES as SQLITE_LOG_PAGES, LoadThreads, OsCache, Sqlite,
    leave_memory_uncounted,
};
