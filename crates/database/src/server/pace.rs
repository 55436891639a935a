//! A rate at which bytes are read.

use std::{thread, time::Duration};

use octavo_units::ByteCount;

/// How far a reader may be ahead of its rate, in time. Chosen: not to be noticed by who waits for a
/// server, and far longer than the clock is exact.
const AHEAD: Duration = Duration::from_millis(125);

/// The longest sleep between two looks whether to stop.
const SLEEP_MAX: Duration = Duration::from_millis(100);

/// Sleeps as long as `goes_on` says so. Answers whether it did to the end.
pub(crate) fn sleep(mut time: Duration, goes_on: &mut dyn FnMut() -> bool) -> bool {
    while !time.is_zero() {
        if !goes_on() {
            return false;
        }
        let part = time.min(SLEEP_MAX);
        thread::sleep(part);
        time -= part;
    }
    true
}

/// Bytes that pass at a rate (the generic cell rate algorithm). It has no clock: callers say when it
/// is.
#[derive(Clone, Debug)]
pub(crate) struct Pace {
    rate: ByteCount,
    /// When all that has passed would have at the rate.
    due: Duration,
}

impl Pace {
    /// At this many bytes a second.
    pub(crate) fn new(rate: ByteCount) -> Self {
        Self {
            rate: ByteCount::new(rate.get().max(1)),
            due: Duration::ZERO,
        }
    }

    /// The most bytes that are to be read at once, so that nobody waits long between two looks.
    pub(crate) fn bytes_max(&self) -> usize {
        let bytes = self.rate.get() as f64 * AHEAD.as_secs_f64();
        (bytes as usize).clamp(1, 1 << 20)
    }

    /// How long to wait at `now` before more is read, when `bytes` were just read. Time that nothing
    /// was read in is not made up for.
    pub(crate) fn wait(&mut self, bytes: u64, now: Duration) -> Duration {
        let takes = Duration::from_secs_f64(bytes as f64 / self.rate.get() as f64);
        self.due = self.due.max(now).saturating_add(takes);
        self.due.saturating_sub(now).saturating_sub(AHEAD)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// When `bytes` have passed in `parts`, if nothing but the pace takes time.
    fn passed(rate: ByteCount, bytes: u64, parts: u64) -> Duration {
        let mut pace = Pace::new(rate);
        let mut now = Duration::ZERO;
        for _ in 0..parts {
            now += pace.wait(bytes / parts, now);
        }
        now
    }

    #[test]
    fn bytes_pass_at_the_rate() {
        let rate = ByteCount::mib(50);
        for parts in [8, 100, 6400] {
            let time = passed(rate, 500 << 20, parts).as_secs_f64();
            assert!((9.87..=10.0).contains(&time), "{parts} parts: {time} s");
        }
        // No more than the burst at once.
        let mut pace = Pace::new(rate);
        let mut at_once = 0;
        while pace.wait(1 << 20, Duration::ZERO) == Duration::ZERO {
            at_once += 1;
        }
        assert_eq!(at_once, 50 / 8);
    }

    #[test]
    fn a_pause_is_not_made_up_for() {
        let rate = ByteCount::new(1000);
        let mut pace = Pace::new(rate);
        let mut now = Duration::from_secs(100);
        let begin = now;
        for _ in 0..100 {
            now += pace.wait(100, now);
        }
        let time = (now - begin).as_secs_f64();
        assert!((9.87..=10.0).contains(&time), "{time} s");
        assert_eq!(Pace::new(ByteCount::new(1)).bytes_max(), 1);
    }
}
