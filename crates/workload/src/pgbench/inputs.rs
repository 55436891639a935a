//! The inputs of a transaction, as a client draws them and an audit counts
//! them.

/// A change of a balance is drawn from minus this to this.
pub(super) const DELTA_MAX: i64 = 5000;

/// Inputs of a script; select-only has an account alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Change {
    pub(super) aid: i64,
    pub(super) bid: i64,
    pub(super) tid: i64,
    pub(super) delta: i64,
    /// Microseconds since 1970.
    pub(super) mtime: i64,
}
