//! The sampler: reads the shared counts each second and moves a run from phase
//! to phase.

use std::{
    sync::atomic::Ordering,
    thread,
    time::{Duration, Instant},
};

use octavo_database::{Counters, Running};
use octavo_units::ByteCount;
use octavo_workload::{Audit, Workload};

use super::{
    Boundary, Drive, DriveError, DriveSettings, ENDING, KindResult, MEASURING, Sample, Shared,
    client::Tally, new_histogram,
};
use crate::plan::RunLength;

/// A run as the sampler saw it.
pub(super) struct Timeline {
    warm_up: Duration,
    warm_up_misses: u64,
    buffer_filled: bool,
    measured: Duration,
    counters: Counters,
    samples: Vec<Sample>,
}

impl Timeline {
    pub(super) fn with(self, workload: &dyn Workload, tallies: Vec<Tally>) -> Drive {
        let mut kinds: Vec<KindResult> = workload
            .transactions()
            .iter()
            .map(|kind| KindResult {
                name: kind.name,
                committed: 0,
                rolled_back: 0,
                retries: 0,
                latency_us: new_histogram(),
            })
            .collect();
        let mut changed_bytes = 0;
        let mut audit = Audit::default();
        for tally in tallies {
            for (index, kind) in kinds.iter_mut().enumerate() {
                kind.committed += tally.committed[index];
                kind.rolled_back += tally.rolled_back[index];
                kind.retries += tally.retries[index];
                kind.latency_us
                    .add(&tally.latency_us[index])
                    .expect("all histograms have the same bounds");
            }
            changed_bytes += tally.changed_bytes;
            audit.merge(&tally.audit);
        }
        Drive {
            warm_up: self.warm_up,
            warm_up_misses: self.warm_up_misses,
            buffer_filled: self.buffer_filled,
            measured: self.measured,
            kinds,
            counters: self.counters,
            changed_bytes: ByteCount::new(changed_bytes),
            samples: self.samples,
            audit,
        }
    }
}
/// Reads the shared counts each second and moves the run from phase to phase.
pub(super) struct Sampler<'a> {
    database: &'a dyn Running,
    shared: &'a Shared,
    start: Instant,
    last: (Instant, u64, u64, Counters),
    samples: Vec<Sample>,
}

impl<'a> Sampler<'a> {
    /// Between two looks at the clock and at the interrupt.
    const LOOK: Duration = Duration::from_millis(20);

    pub(super) fn new(database: &'a dyn Running, shared: &'a Shared) -> Self {
        let now = Instant::now();
        Self {
            database,
            shared,
            start: now,
            last: (now, 0, 0, database.counters()),
            samples: Vec::new(),
        }
    }

    pub(super) fn follow(
        mut self,
        settings: DriveSettings<'_>,
        boundary: &mut dyn Boundary,
        interrupted: &(dyn Fn() -> bool + Sync),
    ) -> Result<Timeline, DriveError> {
        let frames = settings.memory.get() / u64::from(settings.page_size.get());
        let initial = self.last.3;
        let filled = |counters: Counters| (counters - initial).buffer_misses >= frames;
        let by_count = matches!(settings.length, RunLength::Transactions { .. });

        match settings.length {
            RunLength::Time {
                warm_up_min,
                warm_up_max,
                ..
            } => {
                let start = self.start;
                self.watch(interrupted, |now, counters| {
                    let elapsed = now - start;
                    elapsed >= warm_up_max || (elapsed >= warm_up_min && filled(counters))
                });
            }
            RunLength::Transactions { .. } => {
                self.shared.turn.wait();
            }
        }
        self.sample(false);
        let begin = self.last.0;
        let before = self.last.3;
        boundary.begin();
        self.shared.phase.store(MEASURING, Ordering::Release);

        match settings.length {
            RunLength::Time { measured, .. } => {
                self.watch(interrupted, |now, _| now - begin >= measured);
            }
            RunLength::Transactions { .. } => {
                self.shared.turn.wait();
                self.shared.turn.wait();
            }
        }
        self.shared.phase.store(ENDING, Ordering::Release);
        self.sample(true);
        boundary.end();
        if by_count {
            self.shared.turn.wait();
        }
        if interrupted() {
            return Err(DriveError::Stopped);
        }
        Ok(Timeline {
            warm_up: begin - self.start,
            warm_up_misses: (before - initial).buffer_misses,
            buffer_filled: filled(before),
            measured: self.last.0 - begin,
            counters: self.last.3 - before,
            samples: self.samples,
        })
    }

    /// Samples each second until `done`, an interrupt or a failure.
    fn watch(
        &mut self,
        interrupted: &(dyn Fn() -> bool + Sync),
        done: impl Fn(Instant, Counters) -> bool,
    ) {
        let measured = self.shared.phase.load(Ordering::Acquire) == MEASURING;
        loop {
            thread::sleep(Self::LOOK);
            let now = Instant::now();
            if done(now, self.database.counters())
                || interrupted()
                || self.shared.failed.load(Ordering::Relaxed)
            {
                return;
            }
            if now - self.last.0 >= Duration::from_secs(1) {
                self.sample(measured);
            }
        }
    }

    fn sample(&mut self, measured: bool) {
        let now = Instant::now();
        let transactions = self.shared.transactions.load(Ordering::Relaxed);
        let counted = self.shared.counted.load(Ordering::Relaxed);
        let counters = self.database.counters();
        let since = counters - self.last.3;
        self.samples.push(Sample {
            at: now - self.start,
            measured,
            length: now - self.last.0,
            transactions: transactions - self.last.1,
            counted: counted - self.last.2,
            buffer_misses: since.buffer_misses,
            read_bytes: since.read_bytes,
            written_bytes: since.written_bytes(),
        });
        self.last = (now, transactions, counted, counters);
    }
}
