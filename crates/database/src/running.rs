//! A started database.

use octavo_workload::Connection;
use serde::{Deserialize, Serialize};

use crate::{Counters, Result};

/// A started database.
pub trait Running: Send + Sync {
    /// Opens the session of one client (0-based, below
    /// [`crate::Settings::clients`]).
    ///
    /// # Errors
    /// [`crate::DatabaseError::Connection`] when the database refuses or is gone.
    ///
    /// # Panics
    /// When `client` is not below [`crate::Settings::clients`].
    fn connect(&self, client: u32) -> Result<Box<dyn Connection + Send>>;

    /// What was counted since the start. Callable at any time from any thread.
    fn counters(&self) -> Counters;

    /// How the database was run, as name and value, for every figure's
    /// conditions. They are the same for all page sizes and memories with the
    /// same clients.
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
    fn stop(self: Box<Self>) -> Result<()>;
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
