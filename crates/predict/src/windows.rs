//! Running for a time rather than for a number of transactions, and how even throughput is
//! from window to window of it.

use std::time::Duration;

use octavo_units::spread::{Span, Spread, WINDOW_S};
use octavo_workload::TransactionKind;

use crate::{
    error::PredictError,
    system::{Done, System},
};

/// Windows of virtual time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Windows {
    /// How many, at least 2.
    pub count: u32,
    /// How long each is.
    pub length: Duration,
}

impl Windows {
    /// So many of 10 s, as Lee, Moon & Park (2009) sample throughput.
    pub const fn of_ten_seconds(count: u32) -> Self {
        Self {
            count,
            length: Duration::from_secs(WINDOW_S as u64),
        }
    }
}

impl Done {
    /// Whether it is one of those that the workload's throughput is of. `kinds` are
    /// [`Workload::transactions`](octavo_workload::Workload::transactions).
    pub fn is_counted(&self, kinds: &[TransactionKind]) -> bool {
        kinds[self.kind].counts(self.outcome)
    }
}

impl System {
    /// Has the clients execute transactions for so long in virtual time: none begins later,
    /// and those that are under way end. How long all of it took, in nanoseconds, as
    /// [`Self::run`] says it. `each` is told of those that end, and how long after the
    /// beginning.
    ///
    /// # Errors
    /// What [`Self::run`] refuses.
    pub fn run_for(
        &mut self,
        time: Duration,
        each: &mut dyn FnMut(Duration, &Done),
    ) -> Result<u64, PredictError> {
        let clients = self.clients();
        self.run_while(clients, &mut |after_ns, done| {
            let after = Duration::from_nanos(after_ns);
            each(after, done);
            after < time
        })
    }

    /// How even throughput is: its mean and standard deviation between windows, of the
    /// transactions that `counts` says yes to ([`Done::is_counted`] for those that the
    /// workload counts). The system should be warm. It runs for one window more than are
    /// asked for, the first, which does not count: all clients begin at its beginning.
    /// `None` of fewer than two windows, and where nothing counts.
    ///
    /// # Errors
    /// What [`Self::run`] refuses.
    ///
    /// # Panics
    /// For windows of no length.
    pub fn spread(
        &mut self,
        windows: Windows,
        counts: &mut dyn FnMut(&Done) -> bool,
    ) -> Result<Option<Spread>, PredictError> {
        assert!(!windows.length.is_zero(), "windows have a length");
        let length_s = windows.length.as_secs_f64();
        let empty = Span {
            length_s,
            counted: 0,
        };
        let mut spans = vec![empty; windows.count as usize];
        self.run_for(windows.length * (windows.count + 1), &mut |after, done| {
            let window = after.as_nanos() / windows.length.as_nanos();
            let window = usize::try_from(window)
                .ok()
                .and_then(|of| of.checked_sub(1));
            // Those that end after the last window are in none.
            if let Some(span) = window.and_then(|window| spans.get_mut(window)) {
                span.counted += u64::from(counts(done));
            }
        })?;
        Ok(Spread::between(&spans, length_s))
    }
}
