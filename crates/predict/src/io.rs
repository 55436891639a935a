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
    /// What is written in the background: no transaction waits for it, but all share the
    /// device with it.
    Background,
}

impl Purpose {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Read,
        Self::LogWrite,
        Self::LogSync,
        Self::Checkpoint,
        Self::Background,
    ];
}

/// One request, for which the transaction waits unless it is [`Purpose::Background`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Io {
    /// What for.
    pub purpose: Purpose,
    /// The request.
    pub request: Request,
}

impl Io {
    /// Whether it is one of the log's.
    pub(crate) fn is_log(&self) -> bool {
        matches!(self.purpose, Purpose::LogWrite | Purpose::LogSync)
    }
}

/// Requests for one purpose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Asked {
    /// Reads or writes.
    pub requests: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Flushes.
    pub flushes: u64,
    /// How long all took, in nanoseconds, one after the other.
    pub waited_ns: u64,
    /// Of this, flushes. Nobody waits for those in the background: how long those took that ended
    /// since the last transaction did.
    pub flush_ns: u64,
}

impl std::ops::Add for Asked {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            requests: self.requests + other.requests,
            bytes: self.bytes + other.bytes,
            flushes: self.flushes + other.flushes,
            waited_ns: self.waited_ns + other.waited_ns,
            flush_ns: self.flush_ns + other.flush_ns,
        }
    }
}
