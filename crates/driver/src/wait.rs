//! Waiting for a moment, exactly, without burning the processor on the way.

use std::{
    hint, thread,
    time::{Duration, Instant},
};

/// Before the moment by this much a thread stops sleeping and watches the
/// clock, when moments are far apart: about what the kernel takes to wake it.
const WATCH: Duration = Duration::from_micros(40);

/// … and when they follow each other so closely that sleeping between them
/// would cost as much: a processor that went idle wakes up late now and then.
/// With 50,000 arrivals a second on two connections and two processors of a
/// virtual machine, 1 % of Poisson arrivals began more than 232 us late (the
/// middle of three runs) by sleeping until 40 us before them.
const CLOSE: Duration = Duration::from_micros(200);

/// How long a thread watches the clock that waits `between` from one moment to
/// its next, on average.
pub(crate) fn watch(between: Duration) -> Duration {
    if between <= CLOSE { CLOSE } else { WATCH }
}

/// How often a waiting thread checks whether to stop.
const STOP_POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Waits until `due`, the last part of it (see [`watch`]) watching the clock;
/// `false` when `stopped` before. Returns at once when it has passed.
pub(crate) fn until(due: Instant, watch: Duration, stopped: impl Fn() -> bool) -> bool {
    loop {
        let left = due.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return true;
        }
        if left <= watch {
            hint::spin_loop();
            continue;
        }
        if stopped() {
            return false;
        }
        thread::sleep((left - watch).min(STOP_POLL_INTERVAL));
    }
}

/// Has the kernel wake this thread when its sleep ends rather than up to
/// 50 us later, to gather wake-ups (prctl(2), PR_SET_TIMERSLACK).
pub(crate) fn ask_for_punctual_waking() {
    // Refused, sleeps end a little later, which is measured and reported.
    let _refused = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
}
