//! PostgreSQL: rows in heaps, B-trees that lead to them, shared buffers, a write-ahead log
//! with whole pages, and checkpoints that are spread out. As Octavo runs it: no vacuum, one
//! session.

mod engine;
mod heap;
mod index;
mod kind;
mod layout;
mod log;
mod storage;
mod traced;
mod tuple;

use octavo_units::{ByteCount, PageSize};

pub(crate) use kind::KIND;

/// What decides what a server does.
#[derive(Clone, Copy, Debug, PartialEq)]
struct PostgresSettings {
    /// Bytes of a page of the log.
    log_block: PageSize,
    /// Whether the log has a page whole when it is first changed after a checkpoint
    /// (`full_page_writes`).
    full_page_writes: bool,
    /// `max_wal_size`: a checkpoint comes about each half of it.
    max_wal_size: ByteCount,
}
