//! What the processor takes for transactions.

use crate::io::{Io, Purpose};

/// A cost of each transaction, and of the bytes that it moves: these depend on the page
/// size.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CpuCost {
    /// Of each transaction, in nanoseconds.
    pub transaction_ns: f64,
    /// Of each byte that goes to the log, in nanoseconds: checksums and copies.
    pub log_byte_ns: f64,
    /// Of each byte that is read, in nanoseconds.
    pub read_byte_ns: f64,
}

impl CpuCost {
    /// Of a transaction that asks storage for this, of whose reads so many bytes are others',
    /// and that has so many bytes in the log, in nanoseconds.
    pub(crate) fn of(&self, ios: &[Io], shared_bytes: u64, logged: u64) -> u64 {
        let reads = ios.iter().filter(|io| io.purpose == Purpose::Read);
        let read_bytes: u64 = reads.map(|io| u64::from(io.request.length)).sum();
        let read_bytes = read_bytes.saturating_sub(shared_bytes) as f64;
        let ns =
            self.transaction_ns + self.log_byte_ns * logged as f64 + self.read_byte_ns * read_bytes;
        ns as u64
    }
}
