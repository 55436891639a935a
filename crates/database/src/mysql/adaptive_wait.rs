//! Waiting for the answers of a batch without waking up for each.
//!
//! These servers send every answer by itself, as soon as they have it. A client
//! that waits for the next one is woken for each of the forty-odd answers of a
//! New-Order, and waking up is most of what it costs: CPU that the server does
//! not have. So while many answers are to come, the client sleeps for half the
//! time that they will take at the pace of the batches before, and finds
//! several at once; then for half of what is left, and so on. The last ones are
//! awaited as ever.
//!
//! It sleeps too long when a batch is done in less than half its usual time,
//! and then by [`LONGEST`] at most. A pace that is overestimated is halved with
//! each batch.

use std::time::Duration;

/// Sleeping for less costs more than waking up.
const SHORTEST: Duration = Duration::from_micros(200);

/// A batch that goes unusually fast is noticed after this.
const LONGEST: Duration = Duration::from_millis(2);

/// How a session's batches went so far.
#[derive(Debug, Default)]
pub(super) struct AdaptiveWait {
    /// Time between two answers, a moving average.
    pace: Duration,
}

impl AdaptiveWait {
    /// For how long to sleep while so many answers are to come and none is
    /// there; `None` when the next is to be awaited.
    pub(super) fn sleep(&self, answers: usize) -> Option<Duration> {
        let answers = u32::try_from(answers).unwrap_or(u32::MAX);
        let half = self.pace.saturating_mul(answers) / 2;
        (half >= SHORTEST).then(|| half.min(LONGEST))
    }

    /// Learns that so many answers took so long.
    pub(super) fn learn(&mut self, answers: usize, took: Duration) {
        let answers = u32::try_from(answers).unwrap_or(u32::MAX).max(1);
        self.pace = (self.pace * 3 + took / answers) / 4;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MICROSECOND: Duration = Duration::from_micros(1);

    #[test]
    fn short_batches_and_unknown_paces_do_not_wait() {
        let mut adaptive_wait = AdaptiveWait::default();
        assert_eq!(adaptive_wait.sleep(1000), None);
        for _ in 0..50 {
            adaptive_wait.learn(40, 4000 * MICROSECOND);
        }
        assert_eq!(adaptive_wait.sleep(3), None);
        let sleep = adaptive_wait.sleep(40).unwrap();
        assert!(sleep > 1900 * MICROSECOND && sleep <= LONGEST, "{sleep:?}");
        let later = adaptive_wait.sleep(20).unwrap();
        assert!(later > 900 * MICROSECOND && later < 1100 * MICROSECOND);
    }

    #[test]
    fn the_wait_follows_a_faster_server() {
        let mut adaptive_wait = AdaptiveWait::default();
        for _ in 0..50 {
            adaptive_wait.learn(40, 40_000 * MICROSECOND);
        }
        // Answers now come in 10 us, but what is measured is the sleep.
        for _ in 0..50 {
            let slept = adaptive_wait.sleep(40).unwrap_or_default();
            adaptive_wait.learn(40, slept.max(400 * MICROSECOND));
        }
        assert_eq!(adaptive_wait.sleep(39), None);
    }
}
