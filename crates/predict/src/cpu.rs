//! What the processor takes for transactions.

use crate::io::{Asked, Purpose};

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
    /// Of a transaction that asked storage for this, in nanoseconds.
    pub(crate) fn of(&self, asked: &[Asked; Purpose::ALL.len()]) -> u64 {
        let bytes = |purpose: Purpose| asked[purpose as usize].bytes as f64;
        let ns = self.transaction_ns
            + self.log_byte_ns * bytes(Purpose::LogWrite)
            + self.read_byte_ns * bytes(Purpose::Read);
        ns as u64
    }
}
