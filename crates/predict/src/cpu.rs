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
    /// Of a transaction that asks storage for this, in nanoseconds.
    pub(crate) fn of(&self, ios: &[Io]) -> u64 {
        let bytes = |purpose: Purpose| {
            let of_purpose = ios.iter().filter(|io| io.purpose == purpose);
            of_purpose
                .map(|io| f64::from(io.request.length))
                .sum::<f64>()
        };
        let ns = self.transaction_ns
            + self.log_byte_ns * bytes(Purpose::LogWrite)
            + self.read_byte_ns * bytes(Purpose::Read);
        ns as u64
    }
}
