//! The boundary to libraries of C that map a file.

use std::{
    mem::ManuallyDrop,
    path::{Path, PathBuf},
    sync::Arc,
    thread::{self, ThreadId},
};

use octavo_units::PageSize;
use octavo_workload::Result;

use super::counted::{CommitTimes, Counted};
use crate::keyed::{Order, TreeId, Visit};

/// The option that lets the kernel read ahead.
pub(crate) const READAHEAD: &str = "readahead";

/// What a file is opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// To be filled, with pages of this size: nothing is flushed before [`Library::flush`].
    Fill(PageSize),
    /// To run, by so many clients: commits are durable.
    Run {
        /// Whether the kernel reads neighbours of a page along.
        readahead: bool,
        clients: u32,
    },
    /// To be read by nobody else.
    Inspect,
}

/// What is done differently by a library.
pub(crate) trait Library: Sized + Send + Sync + 'static {
    /// An open file, with its trees; closed when it is dropped.
    type Environment: Send + Sync;
    /// One client's transactions.
    type Trees: Trees + 'static;

    /// The file of a database in its directory.
    const FILE: &'static str;

    /// The most clients that it has room for.
    const CLIENTS_MAX: u32;

    /// The header of a page, in bytes.
    const PAGE_HEADER: u64;

    /// What is said of it among conditions.
    const WORDS: Words;

    fn version() -> String;

    /// The file that it puts beside a database, for its locks.
    fn lock_of(file: &Path) -> PathBuf;

    /// Opens the file `path`, with these trees: makes them where it is to be filled.
    fn open(path: &Path, purpose: Purpose, trees: &[String]) -> Result<Self::Environment>;

    /// Opens a file that nobody else reads with all its trees, and answers their names.
    fn discover(path: &Path) -> Result<(Self::Environment, Vec<String>)>;

    /// The page size that the file has, in bytes.
    fn page_size(environment: &Self::Environment) -> Result<u32>;

    /// Writes and flushes all that was committed.
    fn flush(environment: &Self::Environment) -> Result<()>;

    /// What was written and flushed since it was opened, by the library's counters or by those of its clients.
    fn operations(environment: &Self::Environment, counted: &Counted) -> Operations;

    /// Whether key and value of so many bytes together are more than a page of so many has for a node: half of
    /// what its header leaves, less the node's place (2 bytes) and header (8; `me_nodemax` of LMDB, `leaf_nodemax` of
    /// libmdbx).
    fn is_long(bytes: u64, page_bytes: u64) -> bool {
        let most = (((page_bytes - Self::PAGE_HEADER) / 2) & !1) - 2;
        8 + bytes > most
    }

    /// Of a client.
    fn trees(environment: &Arc<Self::Environment>) -> Result<Self::Trees>;
}

/// What is said of a library among conditions, where it is not that of all.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Words {
    /// When what a commit wrote is durable.
    pub(crate) sync: &'static str,
    /// How the file is mapped.
    pub(crate) map: &'static str,
    /// The page of docs/ that says what its rows are.
    pub(crate) page: &'static str,
}

/// What an environment has done since it was opened.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Operations {
    /// Calls that wrote pages.
    pub(crate) writes: u64,
    /// Flushes.
    pub(crate) syncs: u64,
}

/// One client's transactions, and the trees in them. What reads and writes is called within one.
pub(crate) trait Trees: Send {
    fn begin_read(&mut self) -> Result<()>;

    fn begin_write(&mut self) -> Result<()>;

    /// Whether the transaction writes.
    fn writes(&self) -> bool;

    /// Ends the transaction; answers how long a commit took that wrote.
    fn commit(&mut self) -> Result<Option<CommitTimes>>;

    fn rollback(&mut self) -> Result<()>;

    /// As [`crate::keyed::Engine::get`].
    fn get<R>(&self, tree: TreeId, key: &[u8], take: impl FnOnce(&[u8]) -> R) -> Result<Option<R>>;

    /// As [`crate::keyed::Engine::range`].
    fn range(&self, tree: TreeId, from: &[u8], order: Order, visit: &mut Visit<'_>) -> Result<()>;

    /// Adds a key that is not there; answers whether it was added. `is_last` promises that it comes
    /// behind all others.
    fn insert(&mut self, tree: TreeId, key: &[u8], new: &[u8], is_last: bool) -> Result<bool>;

    fn put(&mut self, tree: TreeId, key: &[u8], new: &[u8]) -> Result<()>;

    fn delete(&mut self, tree: TreeId, key: &[u8]) -> Result<()>;

    /// Pages from the root of a tree to its leaves.
    fn depth(&self, tree: TreeId) -> Result<u32>;

    /// How many keys a tree has.
    fn entries(&self, tree: TreeId) -> Result<u64>;
}

/// A transaction that writes, and the thread that has its lock: only that one may give it up.
pub(crate) struct Writer<T> {
    transaction: ManuallyDrop<T>,
    thread: ThreadId,
}

impl<T> Writer<T> {
    /// Of the thread that asks.
    pub(crate) fn here(transaction: T) -> Self {
        Self {
            transaction: ManuallyDrop::new(transaction),
            thread: thread::current().id(),
        }
    }

    pub(crate) fn transaction(&self) -> &T {
        &self.transaction
    }

    /// The transaction, where this is its thread. Elsewhere it stays open for ever.
    pub(crate) fn end(self) -> Option<T> {
        let is_own = self.thread == thread::current().id();
        is_own.then(|| ManuallyDrop::into_inner(self.transaction))
    }
}
