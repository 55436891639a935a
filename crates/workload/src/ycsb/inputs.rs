//! The inputs of an operation, as a client draws them and an audit counts
//! them.

/// The most records that a scan returns; their number is uniform from 1 on
/// (`workloade`).
pub(super) const SCAN_MAX: usize = 100;

/// The operation drawn last, beside its key and value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Drawn {
    Read,
    Update { field: usize },
    Insert,
    Scan { records: usize },
    ReadModifyWrite { field: usize },
}
