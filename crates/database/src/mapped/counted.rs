//! What clients did, as numbers.

use std::time::Duration;

use octavo_units::ByteCount;

use super::usage::ThreadUsage;

/// What clients did, all of them together.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counted {
    /// Pages that were referred to: from the root of a tree to a leaf for each key that was looked
    /// for, further leaves of a range, and pages of long values.
    pub(crate) references: u64,
    /// Commits that wrote.
    pub(crate) commits: u64,
    pub(crate) usage: ThreadUsage,
    /// Calls of the system that wrote.
    pub(crate) write_calls: u64,
    /// Bytes handed to these.
    pub(crate) written: ByteCount,
    pub(crate) times: CommitTimes,
    /// Time in transactions with faults that was neither the library's own, nor a commit, nor another
    /// writer's: the kernel reads pages, makes room for them, and waits.
    pub(crate) reading: Duration,
}

/// How long the parts of a commit took.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CommitTimes {
    /// All but flushes: pages that are free are noted, and changed ones written.
    pub(crate) write: Duration,
    pub(crate) sync: Duration,
}
