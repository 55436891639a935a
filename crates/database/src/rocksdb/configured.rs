//! RocksDB, as its options configured it.

use std::path::PathBuf;

use super::store::Format;

/// The option that sizes Bloom filters.
pub(super) const BLOOM_BITS: &str = "bloom-bits";

/// RocksDB as a database under test: commits are durable, and its block cache and write buffers are all
/// memory that holds data.
pub(crate) struct RocksDb {
    /// The library's file, where one was named.
    pub(super) library: Option<PathBuf>,
    pub(super) format: Format,
}
