//! The time that runs take.

use std::time::Duration;

/// What runs have taken so far.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RunCost {
    /// Runs in the store, failed ones included.
    pub(crate) runs: usize,
    /// Mean time of a run with everything around it.
    pub(crate) mean: Duration,
}

impl RunCost {
    /// The time of `runs` more of them.
    pub(crate) fn of(&self, runs: usize) -> Duration {
        self.mean
            .saturating_mul(u32::try_from(runs).unwrap_or(u32::MAX))
    }
}
