//! What a run is: how long it lasts, what it calls, and why it ends early.

use std::{io, ops::ControlFlow, time::Duration};

use octavo_device::request::Operation;

/// When a run ends.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Stop {
    /// After `slices` slices of time, which begin after `ramp`.
    Time {
        ramp: Duration,
        slice: Duration,
        slices: usize,
    },
    /// After exactly this many requests; all of them are measured.
    Requests(u64),
}

/// Why a run ended early.
#[derive(Debug)]
pub(crate) enum EngineError {
    /// The hook asked for it.
    Stopped,
    /// A request failed or moved fewer bytes than asked.
    Request {
        operation: Operation,
        offset: u64,
        source: io::Error,
    },
    /// The ring or the threads could not be had.
    Setup(io::Error),
}

/// Called about ten times a second with the time since the start of the run.
pub(crate) type Hook<'a> = &'a mut dyn FnMut(Duration) -> ControlFlow<()>;

/// Time between two calls of the hook.
pub(super) const HOOK_INTERVAL: Duration = Duration::from_millis(100);

/// User and system time that this process, all threads and the kernel's I/O
/// workers for it included, has used since it began.
pub(super) fn process_cpu() -> Duration {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the pointer is to memory for one rusage, which the call fills.
    let result = unsafe { libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr()) };
    assert_eq!(result, 0, "RUSAGE_SELF and a valid pointer cannot fail");
    // SAFETY: zeroed is a valid rusage (integers only), and the call filled it.
    let usage = unsafe { usage.assume_init() };
    let duration = |time: libc::timeval| {
        Duration::from_secs(time.tv_sec.unsigned_abs())
            + Duration::from_micros(time.tv_usec.unsigned_abs())
    };
    duration(usage.ru_utime) + duration(usage.ru_stime)
}
