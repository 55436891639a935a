//! Loading snapshots, deriving them from one another, and copying them.

use std::{ops::ControlFlow, path::Path, time::Duration};

use octavo_units::{ByteCount, PageSize};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::DatabaseError;

/// Makes snapshots of snapshots.
pub trait Derive {
    /// Makes a snapshot with the same rows at another page size in the empty
    /// directory `to`. `progress` is told the bytes written so far and
    /// may stop it.
    ///
    /// # Errors
    /// As [`crate::Database::load`].
    fn derive(
        &self,
        from: &Path,
        to: &Path,
        page_size: PageSize,
        progress: &mut Progress<'_>,
    ) -> Result<LoadReport, DatabaseError>;
}

/// Told how far a long step has come; answers whether to go on.
pub type Progress<'a> = dyn FnMut(u64) -> ControlFlow<()> + 'a;

/// What loading did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoadReport {
    /// Rows in all tables.
    pub rows: u64,
    /// Bytes of the snapshot.
    pub size: ByteCount,
    /// Bytes that the server wrote to its log for it, where it counts them.
    pub log: Option<ByteCount>,
    /// Time until durable.
    pub elapsed: Duration,
}

/// How a snapshot was copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RestoreMethod {
    /// Shared extents (`FICLONE`).
    Reflink,
    /// All bytes.
    Copy,
}
