//! PostgreSQL, as its options configured it.

use std::{path::Path, time::Duration};

use octavo_units::{ByteCount, PageSize};

use super::{
    cluster::Cluster,
    programs::{Programs, major_of},
};
use crate::Result;

/// The first version with direct I/O, by its parameter `debug_io_direct`
/// (<https://www.postgresql.org/docs/16/runtime-config-developer.html>).
pub(super) const DIRECT_IO_MAJOR: u32 = 16;

/// PostgreSQL as a database under test.
///
/// Page sizes are fixed when it is compiled, so each has programs of its own.
/// Servers run in clusters of Octavo's own, reached by a Unix socket in the
/// cluster's directory; a commit is flushed before it returns. Versions 14 to
/// 18.
///
/// From version 16 on, its files are opened for direct I/O and
/// [`crate::Settings::memory`] is its `shared_buffers`. Before, the buffer and the
/// page cache of its files are held to that memory together, with an eighth
/// left to the page cache; the memory that the server's processes take for
/// themselves comes on top and varies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Postgres {
    /// Where the programs come from.
    pub(super) programs: Programs,
    /// The block size of the write-ahead log; 8 KiB by default.
    pub(super) wal_block_size: PageSize,
    /// Whether the log takes a whole page at its first change after a
    /// checkpoint, which is what protects from torn pages; on by default.
    pub(super) full_page_writes: bool,
    /// The log between checkpoints, as the server's parameter of this name: one
    /// begins each time half of it, roughly, has been written.
    pub(super) max_wal_size: ByteCount,
    /// The longest time between checkpoints. By default the longest that there
    /// is, so that the log alone decides: a server's clock runs on while it is
    /// held still.
    pub(super) checkpoint_timeout: Duration,
    /// Whether data files are opened for direct I/O, from version 16 on; on by
    /// default.
    pub(super) direct_io: bool,
}

impl Postgres {
    /// Whether a server of this page size reads past the page cache.
    pub(super) fn is_direct(&self) -> Result<bool> {
        Ok(self.direct_io
            && major_of(&self.programs.version()?).is_some_and(|major| major >= DIRECT_IO_MAJOR))
    }

    pub(super) fn cluster(&self, directory: &Path, page_size: PageSize) -> Result<Cluster> {
        let programs = self.programs.find(page_size, self.wal_block_size)?;
        Cluster::new(directory, programs)
    }
}
