//! What a run is: how long it lasts, what it calls, and why it ends early.

use std::{io, ops::ControlFlow, time::Duration};

use octavo_device::request::Operation;
use rustix::time::{ClockId, clock_gettime};

/// When a run ends: after `slices` slices of time, which begin after `ramp`, or
/// before that with the last of its requests.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stop {
    pub(crate) ramp: Duration,
    pub(crate) slice: Duration,
    pub(crate) slices: usize,
    pub(crate) requests: u64,
}

impl Stop {
    /// After exactly this many requests; all of them are measured.
    pub(crate) fn requests(count: u64) -> Self {
        Self {
            ramp: Duration::ZERO,
            slice: Duration::MAX,
            slices: 1,
            requests: count,
        }
    }

    /// The time that is measured; [`Duration::MAX`] when only requests count.
    pub(super) fn measured(&self) -> Duration {
        self.slice.saturating_mul(self.slices as u32)
    }
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
    let used = clock_gettime(ClockId::ProcessCPUTime);
    used.try_into().expect("no time is used backwards")
}
