//! What the workers and the sampler share.

use std::{
    sync::{
        Mutex, OnceLock,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use crate::{commits::Commits, counts::Counts, error::DriverError, recorder::lock};

/// Between two looks of the sampler at the clock, the buffers and the
/// interrupt.
pub(crate) const LOOK: Duration = Duration::from_millis(20);

/// What the workers and the sampler share.
pub(crate) struct Shared {
    pub(crate) ending: AtomicBool,
    pub(crate) failure: Mutex<Option<DriverError>>,
    /// Of the second that is under way.
    pub(crate) counts: Mutex<Counts>,
    pub(crate) commits: Commits,
    /// Arrivals begun.
    pub(crate) started: AtomicU64,
    pub(crate) start: OnceLock<Instant>,
    /// When measuring began.
    pub(crate) measuring: OnceLock<Instant>,
}

impl Shared {
    /// Whether the workers have to end.
    pub(crate) fn is_ending(&self) -> bool {
        self.ending.load(Ordering::Acquire)
    }

    pub(crate) fn end(&self) {
        self.ending.store(true, Ordering::Release);
    }

    /// Keeps the first failure and ends the run.
    pub(crate) fn fail(&self, error: DriverError) {
        lock(&self.failure).get_or_insert(error);
        self.end();
    }

    /// When the workers were let go.
    pub(crate) fn start(&self) -> Instant {
        *self.start.get_or_init(Instant::now)
    }
}
