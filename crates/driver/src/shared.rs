//! What the workers and the sampler share.

use std::{
    sync::{
        Mutex, OnceLock,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use octavo_workload::TransactionKind;

use crate::{commits::Commits, counts::Counts, error::DriverError, recorder::lock};

/// How often the sampler reads the clock, the buffers and the interrupt.
pub(crate) const LOOK: Duration = Duration::from_millis(20);

/// What the workers and the sampler share.
pub(crate) struct Shared {
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

impl Shared {
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
