//! MySQL or MariaDB, as its options configured it.

use std::{path::PathBuf, sync::OnceLock};

use octavo_units::ByteCount;

use super::{
    flavour::{Doublewrite, Flavour},
    programs::Programs,
};
use crate::DatabaseError;

/// MySQL or MariaDB as a database under test, with InnoDB. MySQL 5.7 to 9,
/// MariaDB 10.5 to 11.
///
/// Page sizes are fixed when a data directory is made, so each has a load of
/// its own. Servers run in data directories of Octavo's own, reached by a Unix
/// socket in them; a commit is flushed before it returns
/// (`innodb_flush_log_at_trx_commit=1`), and there is no binary log. Files are
/// opened for direct I/O, so that [`crate::Settings::memory`], which becomes the
/// `innodb_buffer_pool_size` in whole MiB, is all memory that holds data; where
/// the file system has no direct I/O, the page cache comes on top, without a
/// limit.
#[derive(Clone, Debug)]
pub(crate) struct Mysql {
    pub(super) flavour: Flavour,
    /// The directory of the server's programs, or the server itself; by
    /// default what is found on `PATH` and in the usual directories.
    pub(super) programs: Option<PathBuf>,
    /// How torn pages are guarded against; by the doublewrite by default.
    pub(super) doublewrite: Doublewrite,
    /// The redo log; 512 MiB by default, so that checkpoints do not dominate.
    pub(super) redo: ByteCount,
    /// What was found once.
    pub(super) found: OnceLock<Programs>,
}

impl Mysql {
    /// The programs, looked for once.
    ///
    /// # Errors
    /// As [`Programs::find`].
    pub(super) fn programs(&self) -> Result<&Programs, DatabaseError> {
        if let Some(found) = self.found.get() {
            return Ok(found);
        }
        let found = Programs::find(self.flavour, self.programs.as_deref())?;
        Ok(self.found.get_or_init(|| found))
    }
}
