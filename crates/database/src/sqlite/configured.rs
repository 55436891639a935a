//! SQLite, as its options configured it.

use std::thread;

use serde::{Deserialize, Serialize};

/// How SQLite keeps commits atomic
/// (<https://www.sqlite.org/pragma.html#pragma_journal_mode>).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum JournalMode {
    /// A write-ahead log.
    #[default]
    Wal,
    /// A rollback journal, deleted at each commit: SQLite's own default.
    Delete,
    /// A rollback journal, cut to nothing at each commit.
    Truncate,
    /// A rollback journal whose header is overwritten at each commit.
    Persist,
}

impl JournalMode {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Wal, Self::Delete, Self::Truncate, Self::Persist];

    pub(super) const NAMES: [&str; 4] = [
        Self::Wal.name(),
        Self::Delete.name(),
        Self::Truncate.name(),
        Self::Persist.name(),
    ];

    /// The name that SQLite knows it by.
    pub const fn name(self) -> &'static str {
        match self {
            JournalMode::Wal => "wal",
            JournalMode::Delete => "delete",
            JournalMode::Truncate => "truncate",
            JournalMode::Persist => "persist",
        }
    }
}

/// What the page cache of the kernel holds of the files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OsCache {
    /// Nothing: each miss of SQLite's cache is a request to the device.
    #[default]
    None,
    /// All of the database file and its log, as where there is more memory than data. A miss of
    /// SQLite's cache is copied from memory.
    Whole,
}

impl OsCache {
    /// All of them.
    pub(super) const ALL: [Self; 2] = [Self::None, Self::Whole];

    pub(super) const NAMES: [&str; 2] = [Self::None.name(), Self::Whole.name()];

    /// The word in options.
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Whole => "whole",
        }
    }
}

/// SQLite as a database under test.
///
/// Its files are reached by direct I/O, so that [`crate::Settings::memory`], which
/// becomes its `cache_size`, is all memory that holds data. With [`OsCache::Whole`] the
/// kernel holds all of the files besides. It always runs
/// with `synchronous=FULL`: a commit is flushed before it returns.
///
/// That goes for the write-ahead log too, except that checkpoints read it back
/// from memory, where SQLite on its own would find it in the page cache. A
/// rollback journal is written through the page cache and flushed; it is read
/// only to roll back.
///
/// Whatever writes goes through one connection that all clients share, also a
/// statement outside of a transaction, which is one of its own. With several
/// clients each has a connection besides for what only reads: its read
/// transactions, and its queries outside of any transaction.
///
/// Decimals are stored as whole numbers of their last digit's unit, so sums
/// and differences in SQL keep the scale and products do not; times are
/// microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sqlite {
    /// How commits are kept atomic; the write-ahead log by default.
    pub journal_mode: JournalMode,
    /// What the kernel holds of the files; nothing by default.
    pub os_cache: OsCache,
    /// How rows are generated while loading; by all processors by default.
    pub load_threads: LoadThreads,
}

/// How rows are generated while they are loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum LoadThreads {
    /// By all processors but the one that inserts; inline with one processor.
    #[default]
    Available,
    /// On the inserting thread, between the inserts.
    Inline,
    /// By this many threads besides the inserting one; zero means inline.
    Generators(usize),
}

impl LoadThreads {
    pub(super) fn generators(self) -> usize {
        match self {
            LoadThreads::Inline => 0,
            LoadThreads::Generators(count) => count,
            LoadThreads::Available => {
                thread::available_parallelism().map_or(0, |count| count.get() - 1)
            }
        }
    }
}
