//! The sampler: takes over what workers recorded, sums up each second, and
//! moves a run from phase to phase.

use std::{
    sync::atomic::Ordering,
    thread,
    time::{Duration, Instant},
};

use octavo_database::{Counters, Running};

use super::{
    Backlog, DriveError, DriveObserver, DriveSettings, Sample, Second, Shared,
    arrivals::Arrivals,
    chance,
    meeting::Meeting,
    pool::Pool,
    recorder::{Counts, Event, Recorder, lock},
};
use crate::plan::RunLength;

/// A run as the sampler saw it.
pub(super) struct Timeline {
    pub(super) warm_up: Duration,
    pub(super) warm_up_misses: u64,
    pub(super) buffer_filled: bool,
    pub(super) measured: Duration,
    pub(super) interrupted: bool,
    pub(super) counters: Counters,
    pub(super) counts: Counts,
    pub(super) backlog: Option<Backlog>,
    pub(super) samples: Vec<Sample>,
}

/// Where transactions wait that are due.
pub(super) enum Line<'a> {
    /// Nowhere: a closed loop.
    None,
    /// In an open loop: the same arrivals that the workers take, to know how
    /// many are due.
    Arrivals(Arrivals),
    /// Paced: the pool, and how many terminals it has.
    Pool(&'a Pool, u32),
}

/// Sums up each second and moves the run from phase to phase.
pub(super) struct Sampler<'a> {
    database: &'a dyn Running,
    shared: &'a Shared,
    recorders: &'a [Recorder],
    settings: DriveSettings<'a>,
    observer: &'a mut dyn DriveObserver,
    line: Line<'a>,
    start: Instant,
    last: (Instant, Counters),
    measuring: bool,
    /// To empty the recorders with.
    spare: Vec<Event>,
    /// Of the second that is under way.
    second: Counts,
    /// Of the measured part.
    total: Counts,
    samples: Vec<Sample>,
}

impl<'a> Sampler<'a> {
    /// Between two looks at the clock, the buffers and the interrupt.
    const LOOK: Duration = Duration::from_millis(20);

    pub(super) fn new(
        database: &'a dyn Running,
        shared: &'a Shared,
        recorders: &'a [Recorder],
        settings: DriveSettings<'a>,
        observer: &'a mut dyn DriveObserver,
        line: Line<'a>,
    ) -> Self {
        let kinds = settings.workload.transactions();
        let start = shared.start();
        Self {
            database,
            shared,
            recorders,
            settings,
            observer,
            line,
            start,
            last: (start, database.counters()),
            measuring: false,
            spare: Recorder::spare(),
            second: Counts::new(kinds),
            total: Counts::new(kinds),
            samples: Vec::new(),
        }
    }

    /// Follows the run to its end.
    pub(super) fn follow(
        mut self,
        meeting: &Meeting,
        interrupted: &(dyn Fn() -> bool + Sync),
    ) -> Result<Timeline, DriveError> {
        let frames = self.settings.memory.get() / u64::from(self.settings.page_size.get());
        let initial = self.last.1;
        let filled = |counters: Counters| (counters - initial).buffer_misses >= frames;

        let start = self.start;
        let length = self.settings.length;
        self.watch(meeting, interrupted, |now, counters| match length {
            RunLength::Time {
                warm_up_min,
                warm_up_max,
                ..
            } => {
                let elapsed = now - start;
                elapsed >= warm_up_max || (elapsed >= warm_up_min && filled(counters))
            }
            // All have come to the end of it.
            RunLength::Transactions { .. } => meeting.gather_within(Duration::ZERO),
        });
        self.sum_up();
        if interrupted() {
            self.shared.end();
            meeting.disband();
            return Err(DriveError::Stopped);
        }
        let (begin, before) = self.last;
        let backlog_before = self.backlog(begin);
        self.measuring = true;
        self.observer.begin();

        meeting.release();
        self.watch(meeting, interrupted, |now, _| match length {
            RunLength::Time { measured, .. } => now - begin >= measured,
            RunLength::Transactions { .. } => meeting.gather_within(Duration::ZERO),
        });
        self.shared.end();
        self.sum_up();
        let (end, after) = self.last;
        self.observer.end();
        let backlog_after = self.backlog(end);
        let backlog = backlog_before
            .zip(backlog_after)
            .map(|(before, after)| self.judge(before, after, end - begin));
        // Those that still wait may end.
        meeting.disband();
        let interrupted = interrupted();
        if interrupted && !self.settings.keep_interrupted {
            return Err(DriveError::Stopped);
        }
        Ok(Timeline {
            warm_up: begin - self.start,
            warm_up_misses: (before - initial).buffer_misses,
            buffer_filled: filled(before),
            measured: end - begin,
            interrupted,
            counters: after - before,
            counts: self.total,
            backlog,
            samples: self.samples,
        })
    }

    /// Samples each second until `done`, an interrupt or a failure.
    fn watch(
        &mut self,
        meeting: &Meeting,
        interrupted: &(dyn Fn() -> bool + Sync),
        done: impl Fn(Instant, Counters) -> bool,
    ) {
        loop {
            match self.settings.length {
                RunLength::Time { .. } => thread::sleep(Self::LOOK),
                RunLength::Transactions { .. } => {
                    meeting.gather_within(Self::LOOK);
                }
            }
            let now = Instant::now();
            if done(now, self.database.counters()) || interrupted() || self.shared.is_ending() {
                return;
            }
            if now - self.last.0 >= Duration::from_secs(1) {
                self.sum_up();
            } else {
                self.drain();
            }
        }
    }

    /// Takes over what was recorded.
    fn drain(&mut self) {
        for recorder in self.recorders {
            recorder.drain(&self.shared.counts, &mut self.spare);
        }
    }

    /// Ends a sample.
    fn sum_up(&mut self) {
        let now = Instant::now();
        self.drain();
        // The workers go on with empty counts; these are looked at here.
        std::mem::swap(&mut *lock(&self.shared.counts), &mut self.second);
        let counters = self.database.counters();
        let since = counters - self.last.1;
        let counted = self
            .second
            .kinds
            .iter()
            .zip(self.settings.workload.transactions())
            .filter(|(_, kind)| kind.counted)
            .map(|(counts, _)| counts.committed())
            .sum();
        let sample = Sample {
            at: now - self.start,
            measured: self.measuring,
            length: now - self.last.0,
            transactions: self.second.transactions(),
            counted,
            buffer_misses: since.buffer_misses,
            read_bytes: since.read_bytes,
            written_bytes: since.written_bytes(),
        };
        let backlog = self.backlog(now).map(|(waiting, _)| waiting);
        self.observer.second(&Second {
            sample: &sample,
            counts: &self.second,
            backlog,
        });
        if self.measuring {
            self.total.add(&self.second);
        }
        self.second.clear();
        self.samples.push(sample);
        self.last = (now, counters);
    }

    /// What is due and not begun, and all that was due so far.
    fn backlog(&mut self, now: Instant) -> Option<(u64, u64)> {
        match &mut self.line {
            Line::None => None,
            Line::Arrivals(arrivals) => {
                let due = arrivals.due_by(now - self.start);
                // Begun a moment later than `now`, where that was taken before.
                let started = self.shared.started.load(Ordering::Relaxed);
                Some((due.saturating_sub(started), due))
            }
            Line::Pool(pool, _) => {
                let waiting = pool.standing_in_line(now);
                Some((waiting, self.total.transactions() + waiting))
            }
        }
    }

    fn judge(&self, before: (u64, u64), after: (u64, u64), measured: Duration) -> Backlog {
        let offered = after.1.saturating_sub(before.1);
        let many = match self.line {
            // A second's arrivals.
            Line::None | Line::Arrivals(_) => {
                (offered as f64 / measured.as_secs_f64().max(1e-9)) as u64
            }
            // A tenth of all operators.
            Line::Pool(_, terminals) => u64::from(terminals) / 10,
        };
        Backlog {
            begin: before.0,
            end: after.0,
            offered,
            bound: many.max(chance(self.settings.connections)),
        }
    }
}
