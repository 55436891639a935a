//! When workers committed: the longest time between two commits that count.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

/// Told of each commit by the worker that made it, so that a stall is as long
/// as it was whenever somebody looks. Times are since the run's start.
#[derive(Debug, Default)]
pub(crate) struct Commits {
    last_ns: AtomicU64,
    longest_ns: AtomicU64,
}

impl Commits {
    /// A commit.
    #[inline]
    pub(crate) fn add(&self, at: Duration) {
        let at = nanoseconds(at);
        let before = self.last_ns.fetch_max(at, Ordering::Relaxed);
        let gap = at.saturating_sub(before);
        // Rarely so: most commits write to one word alone.
        if gap > self.longest_ns.load(Ordering::Relaxed) {
            self.longest_ns.fetch_max(gap, Ordering::Relaxed);
        }
    }

    /// The longest time without a commit that ended since this was asked last,
    /// or that still lasts `now`.
    pub(crate) fn take_longest_gap(&self, now: Duration) -> Duration {
        let longest = self.longest_ns.swap(0, Ordering::Relaxed);
        let last = self.last_ns.load(Ordering::Relaxed);
        Duration::from_nanos(longest.max(nanoseconds(now).saturating_sub(last)))
    }
}

/// 584 years of them.
fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_gap_is_taken_once_and_an_open_one_grows() {
        let ms = Duration::from_millis;
        let commits = Commits::default();
        // 5 ms from the start, then 20, then 1; 4 are open.
        for at in [5, 25, 26] {
            commits.add(ms(at));
        }
        assert_eq!(commits.take_longest_gap(ms(30)), ms(20));
        assert_eq!(commits.take_longest_gap(ms(36)), ms(10));
        commits.add(ms(2026));
        // A worker that comes later with an earlier time makes no gap.
        commits.add(ms(2020));
        commits.add(ms(2027));
        assert_eq!(commits.take_longest_gap(ms(2027)), ms(2000));
    }
}
