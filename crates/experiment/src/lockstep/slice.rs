//! The next transactions of one cell, and what they took.

use std::time::Duration;

use octavo_units::ByteCount;
use serde::Serialize;

/// Which slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct SliceKey {
    /// The sitting, from 0.
    pub sitting: u32,
    /// The pass within the sitting, from 0.
    pub pass: u32,
    /// Its place in the order of the pass, from 0.
    pub position: u32,
    /// The cell's number in the plan.
    pub cell: usize,
}

/// What the next transactions of a cell took. All cells of a group that have
/// a slice in a pass were given the same transactions in it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Slice {
    /// Which.
    pub key: SliceKey,
    /// Transactions that ended as the workload wants.
    pub transactions: u64,
    /// Of these, commits of the counted kinds.
    pub counted: u64,
    /// From the first transaction's begin to the last one's end and, where the
    /// kernel had writes to do for it, to their end.
    pub elapsed: Duration,
    /// What its sessions' time went into; `None` of runs that were kept before
    /// there was lockstep.
    pub spent: Option<Spent>,
    /// Pages that had to be read.
    pub misses: u64,
    /// Bytes written to the log.
    pub log_bytes: ByteCount,
    /// Bytes that the device moved besides those that the database asked for;
    /// `None` where that is not known.
    pub foreign_bytes: Option<ByteCount>,
}

/// What the time of sessions went into, summed over them. What is missing to
/// their number times the time that passed is waiting: for a CPU, for locks,
/// for each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Spent {
    /// Reading pages.
    pub read: Duration,
    /// Writing the log, without flushes.
    pub log_write: Duration,
    /// Flushing the log.
    pub log_sync: Duration,
    /// Writing and flushing data files.
    pub checkpoint: Duration,
    /// On a CPU in user mode, database and client.
    pub cpu: Duration,
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A slice whose every figure is some number; tests change what they are
    /// about.
    pub(crate) fn slice(sitting: u32, pass: u32, cell: usize) -> Slice {
        Slice {
            key: SliceKey {
                sitting,
                pass,
                position: cell as u32,
                cell,
            },
            transactions: 50,
            counted: 22,
            elapsed: Duration::from_millis(75),
            spent: Some(Spent {
                read: Duration::from_millis(40),
                checkpoint: Duration::from_millis(5),
                ..Spent::default()
            }),
            misses: 300,
            log_bytes: ByteCount::kib(90),
            foreign_bytes: Some(ByteCount::kib(4)),
        }
    }
}
