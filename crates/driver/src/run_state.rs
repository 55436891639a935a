//! What the workers and the sampler share.

use std::{
    sync::{
        Mutex, OnceLock,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use octavo_workload::TransactionKind;

use crate::{counts::Counts, error::DriverError, recorder::lock};

/// How often the sampler reads the clock, the buffers and the interrupt.
pub(crate) const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// What the workers and the sampler share.
pub(crate) struct RunState {
    ending: AtomicBool,
    pub(crate) failure: Mutex<Option<DriverError>>,
    /// Outcomes since the sampler last took them over.
    pub(crate) counts: Mutex<Counts>,
    pub(crate) commits: Commits,
    /// Transactions of an open loop that have begun.
    pub(crate) started: AtomicU64,
    start: OnceLock<Instant>,
    /// When measuring began.
    pub(crate) measuring: OnceLock<Instant>,
}

impl RunState {
    /// Before the run, of transactions of these kinds.
    pub(crate) fn new(kinds: &[TransactionKind]) -> Self {
        Self {
            ending: AtomicBool::new(false),
            failure: Mutex::new(None),
            counts: Mutex::new(Counts::new(kinds)),
            commits: Commits::default(),
            started: AtomicU64::new(0),
            start: OnceLock::new(),
            measuring: OnceLock::new(),
        }
    }

    /// Whether workers must stop.
    pub(crate) fn is_ending(&self) -> bool {
        self.ending.load(Ordering::Acquire)
    }

    /// What says that workers must stop.
    pub(crate) fn stop(&self) -> &AtomicBool {
        &self.ending
    }

    pub(crate) fn end(&self) {
        self.ending.store(true, Ordering::Release);
    }

    /// Keeps the first failure and ends the run.
    pub(crate) fn fail(&self, error: DriverError) {
        lock(&self.failure).get_or_insert(error);
        self.end();
    }

    /// When the workers began.
    pub(crate) fn start(&self) -> Instant {
        *self.start.get_or_init(Instant::now)
    }
}

/// The longest gap between commits. Workers report their own commits, so a stall is as long as
/// it was, however late the sampler looks. Times are since the run's start.
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

    /// The longest gap that ended since the last call, or that still lasts `now`.
    pub(crate) fn take_longest_gap(&self, now: Duration) -> Duration {
        let longest = self.longest_ns.swap(0, Ordering::Relaxed);
        let last = self.last_ns.load(Ordering::Relaxed);
        Duration::from_nanos(longest.max(nanoseconds(now).saturating_sub(last)))
    }
}

/// Saturates after 584 years.
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
