//! The time that all clients of a run have in common.
//!
//! It passes with the transactions, as the nominal rate has it, and never with a clock: with
//! one client one seed gives one outcome.

use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicI64, Ordering::Relaxed},
};

use super::{
    calendar,
    scaled::Scale,
    transactions::{RunStart, begin},
};
use crate::{Connection, Result};

/// The clock of one run.
#[derive(Debug)]
pub(super) struct Clock {
    scale: Scale,
    /// Since the run began, in microseconds.
    elapsed: AtomicI64,
    /// The moment when it began: the end of the population's trades, or of an earlier run.
    /// Whichever client runs first finds out.
    begin: AtomicI64,
    begun: Mutex<Option<RunStart>>,
    /// Runs of Data-Maintenance so far.
    maintained: AtomicI64,
}

/// Time between two runs of Data-Maintenance, in microseconds (clause 6.3.2).
const MAINTENANCE: i64 = 60 * calendar::SECOND;

impl Clock {
    pub(super) fn new(scale: &Scale) -> Arc<Self> {
        Arc::new(Self {
            scale: *scale,
            elapsed: AtomicI64::new(0),
            begin: AtomicI64::new(scale.end()),
            begun: Mutex::new(None),
            maintained: AtomicI64::new(0),
        })
    }

    /// Lets the time of a transaction pass.
    pub(super) fn pass(&self) {
        self.elapsed.fetch_add(self.scale.tick(), Relaxed);
    }

    /// The turn of the table that is to be maintained now: whoever asks first does it.
    pub(super) fn maintenance(&self) -> Option<u64> {
        let maintained = self.maintained.load(Relaxed);
        if self.elapsed() < MAINTENANCE * (maintained + 1) {
            return None;
        }
        self.maintained
            .compare_exchange(maintained, maintained + 1, Relaxed, Relaxed)
            .ok()
            .map(i64::cast_unsigned)
    }

    /// Since the run began, in microseconds.
    fn elapsed(&self) -> i64 {
        self.elapsed.load(Relaxed)
    }

    /// The moment of trading.
    pub(super) fn moment(&self) -> i64 {
        self.begin.load(Relaxed) + self.elapsed()
    }

    /// The time that transactions write, in microseconds since 1970. Trading goes on day and
    /// night.
    pub(super) fn now(&self) -> i64 {
        calendar::date(self.scale.end()) + self.moment() - self.scale.end()
    }

    /// Reads from the database where the run begins, unless another client has.
    pub(super) fn begin(&self, connection: &mut dyn Connection) -> Result<RunStart> {
        let mut begun = self.begun.lock().unwrap_or_else(PoisonError::into_inner);
        match *begun {
            Some(begun) => Ok(begun),
            None => {
                let found = *begun.insert(begin(connection, &self.scale)?);
                self.begin.store(found.moment, Relaxed);
                Ok(found)
            }
        }
    }
}
