//! The key numbers of one run: those that are acknowledged, and those that wait to be
//! inserted once more.

use crate::keys::{AcknowledgedKeys, OpenKeys};

/// The key numbers that all clients of a run share.
#[derive(Debug)]
pub(super) struct RunKeys {
    pub(super) acknowledged: AcknowledgedKeys,
    pub(super) open: OpenKeys,
}

impl RunKeys {
    /// Those of a run of this many `clients` on a table of `records`.
    pub(super) fn new(records: u64, clients: u32) -> Self {
        Self {
            acknowledged: AcknowledgedKeys::new(records),
            open: OpenKeys::new(clients),
        }
    }
}
