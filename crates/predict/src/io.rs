//! What a transaction asks of storage.

use octavo_device::Request;

/// What for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Purpose {
    /// A page that the buffer has not.
    Read,
    /// The log.
    LogWrite,
    /// Making the log durable.
    LogSync,
    /// What a checkpoint writes and flushes.
    Checkpoint,
}

impl Purpose {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Read, Self::LogWrite, Self::LogSync, Self::Checkpoint];
}

/// One request that the transaction waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Io {
    /// What for.
    pub purpose: Purpose,
    /// The request.
    pub request: Request,
}
