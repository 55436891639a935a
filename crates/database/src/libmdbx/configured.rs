//! libmdbx, as its options configured it.

/// libmdbx as a database under test: commits are durable, and the page cache is all memory that holds
/// data.
pub(crate) struct Libmdbx {
    /// Whether the kernel reads neighbours of a page along.
    pub(super) readahead: bool,
}
