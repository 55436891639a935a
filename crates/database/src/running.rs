//! A started database.

use octavo_workload::Connection;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Counters, Result, TreeCounters};

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

    /// What was counted since the start. Callable at any time from any thread;
    /// while the database is held still, it is what was read last.
    fn counters(&self) -> Counters;

    /// The same by table and index, of what clients did; empty where it is not counted so. Callable as
    /// [`Self::counters`].
    fn tree_counters(&self) -> Vec<TreeCounters> {
        Vec::new()
    }

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

    /// Ends the statements of the user's own that run now, and those to come, where the database runs
    /// in the client's threads: those fail. A server ends them by its own limit of time.
    fn interrupt(&self) {}

    /// Holds still everything that the database runs besides its sessions, until
    /// [`Self::thaw`]. No session may be at work. Does nothing where a database
    /// runs in the client's threads alone, or is held still already.
    ///
    /// # Errors
    /// When its processes cannot be held.
    fn freeze(&self) -> Result<()> {
        Ok(())
    }

    /// Lets it go on; nothing where it is not held.
    ///
    /// # Errors
    /// When its processes cannot be let go.
    fn thaw(&self) -> Result<()> {
        Ok(())
    }

    /// Waits until the kernel has written what it still had to write of its
    /// files, which is nothing where all writes are direct, and has sessions
    /// report what they counted. No session may be at work.
    ///
    /// # Errors
    /// When a file cannot be written, or a session is lost.
    fn flush(&self) -> Result<()> {
        Ok(())
    }

    /// Stops cleanly. Every connection must have been dropped before.
    ///
    /// # Errors
    /// When the last changes could not be written, or a server had ended
    /// before, had to be killed or ended badly.
    fn stop(self: Box<Self>) -> Result<()>;
}

/// How a database's reads get to its storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StoragePath {
    /// Direct I/O: every miss of the buffer is a request to the device.
    Direct,
    /// Through the page cache, which shares one memory limit with the
    /// database's buffer.
    Limited,
    /// From the page cache, which holds all of the data: no read is a request to the device, as
    /// where there is more memory than data.
    Resident,
    /// Through the page cache, without a limit or beyond it by a tenth of the
    /// memory on average: figures may show RAM.
    PageCache,
    /// Nothing is stored.
    None,
}
