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
    /// Of a transaction that asks storage for this and has so many bytes in the log, in
    /// nanoseconds.
    pub(crate) fn of(&self, ios: &[Io], logged: u64) -> u64 {
        let reads = ios.iter().filter(|io| io.purpose == Purpose::Read);
        let read_bytes: f64 = reads.map(|io| f64::from(io.request.length)).sum();
        let ns =
            self.transaction_ns + self.log_byte_ns * logged as f64 + self.read_byte_ns * read_bytes;
        ns as u64
    }
}
