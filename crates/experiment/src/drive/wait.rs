//! Waiting for a moment, exactly, without burning the processor on the way.

use std::{
    hint, thread,
    time::{Duration, Instant},
};

/// Before the moment by this much a thread stops sleeping and watches the
/// clock: longer than the kernel takes to wake it, shorter than what a busy
/// processor would miss.
const WATCH: Duration = Duration::from_micros(40);

/// Between two looks whether to stop.
const LOOK: Duration = Duration::from_millis(50);

/// Waits until `due`; `false` when `stopped` before. Returns at once when it
/// has passed.
pub(super) fn until(due: Instant, stopped: impl Fn() -> bool) -> bool {
    loop {
        let left = due.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return true;
        }
        if left <= WATCH {
            hint::spin_loop();
            continue;
        }
        if stopped() {
            return false;
        }
        thread::sleep((left - WATCH).min(LOOK));
    }
}

/// Has the kernel wake this thread when its sleep ends rather than up to
/// 50 us later, to gather wake-ups (prctl(2), PR_SET_TIMERSLACK).
pub(super) fn ask_for_punctual_waking() {
    // Refused, sleeps end a little later, which is measured and reported.
    let _refused = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
}
