//! What a run is judged by.

/// A stall lasts as long as this many commits at the usual rate: longer than a
/// warm-up waits for its next commit by chance. At a tenth of the rate the
/// longest of a hundred exponential waits is as 10 ln 100 = 46.
pub(super) const STALL_COMMITS: f64 = 50.0;

/// A short part of the measured time, as the driver counted it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Tick {
    /// Its length, s.
    pub length_s: f64,
    /// Commits of the counted kinds.
    pub counted: u64,
    /// Transactions that failed.
    pub failed: u64,
    /// The longest time without one that ended in it or lasted at its end, s:
    /// longer than the tick where it began before.
    pub gap_s: f64,
    /// Pages that had to be read.
    pub buffer_misses: u64,
    /// Pages that were looked for in the buffer.
    pub buffer_references: u64,
}
