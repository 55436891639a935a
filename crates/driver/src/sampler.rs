//! The sampler: takes over what workers recorded, sums up each second, and
//! moves a run from phase to phase.

use std::{
    sync::atomic::Ordering,
    thread::{self, Scope},
    time::{Duration, Instant},
};

use octavo_database::{Counters, Running};

use crate::{
    arrivals::Arrivals,
    barrier::Barrier,
    counter_reader::{CounterReader, Reading},
    counts::{Counts, Event},
    error::DriverError,
    measured_part::{Batch, Checkpoints, Figures, MeasuredPart, Totals, cycles},
    measurement::{Backlog, Measurement, WarmUpTotals, chance},
    observer::Sample,
    observer::{DriverObserver, Second},
    pool::Pool,
    recorder::{Recorder, lock},
    run_state::{POLL_INTERVAL, RunState},
    settings::{DriverSettings, Load, RunLength},
    stability::stability,
    steady::{Outage, Steadiness, outages},
};

/// Where due transactions wait.
pub(crate) enum Queue<'a> {
    /// Nowhere: a closed loop.
    None,
    /// An open loop: a copy of the workers' schedule, to count what is due.
    Arrivals(Arrivals),
    /// Paced: the pool, and how many terminals it has.
    Pool(&'a Pool, u32),
}

/// What the sampler watches besides the clock.
struct Signals<'l> {
    barrier: &'l Barrier,
    interrupted: &'l (dyn Fn() -> bool + Sync),
}

/// A batch that began within a second.
struct BegunBatch {
    at: Instant,
    counters: Counters,
    /// The second until then.
    before: Sample,
    /// Outcomes of the second since then.
    since: Counts,
}

/// Sums up each second and moves the run from phase to phase.
pub(crate) struct Sampler<'a> {
    database: CounterReader,
    shared: &'a RunState,
    recorders: &'a [Recorder],
    settings: DriverSettings<'a>,
    observer: &'a mut dyn DriverObserver,
    queue: Queue<'a>,
    start: Instant,
    /// Start of the current second, and the counters then.
    last: (Instant, Counters),
    /// What is measured; `None` in the warm-up.
    measured: Option<MeasuredPart>,
    checkpoints: Checkpoints,
    /// Spare buffer for emptying the recorders.
    spare: Vec<Event>,
    /// Outcomes that are being taken over from the workers.
    portion: Counts,
    /// Outcomes of the current second.
    second: Counts,
    /// Batches that began in the current second.
    begun: Vec<BegunBatch>,
    /// Seconds in which batches began, by their place in the series: each second divided at
    /// the beginning of one of them, where the figures may begin.
    divided: Vec<(usize, [Sample; 2])>,
    /// Totals of all outcomes taken over, and how many transactions ended.
    taken: (Totals, u64),
    /// Arrivals that had begun when outcomes were last taken over.
    started: u64,
    series: Vec<Sample>,
}

impl<'a> Sampler<'a> {
    /// Shortest poll interval while waiting for a checkpoint to end. Usually it is a fiftieth
    /// of the wait.
    const POLL_INTERVAL_MIN: Duration = Duration::from_millis(2);

    /// How many times as long as a reading of the counters took the next one waits, at most
    /// [`Self::PAUSE_MAX`]: servers answer on the processors that are measured.
    const PAUSES: u32 = 50;
    const PAUSE_MAX: Duration = Duration::from_millis(250);

    /// How long to wait for the counters at the start of the measured part. A server that
    /// takes longer is stalled, and stalls are measured too. The previous counters serve then,
    /// since a stalled server counts nothing.
    const BEGIN_PATIENCE: Duration = Duration::from_millis(500);

    /// Reads the first counters. Made before the workers start, so that all their work falls
    /// between two readings.
    pub(crate) fn new<'scope>(
        scope: &'scope Scope<'scope, '_>,
        database: &'scope dyn Running,
        shared: &'a RunState,
        recorders: &'a [Recorder],
        settings: DriverSettings<'a>,
        observer: &'a mut dyn DriverObserver,
        queue: Queue<'a>,
    ) -> Self {
        let kinds = settings.workload.transactions();
        let counters = database.counters();
        let start = shared.start();
        Self {
            database: CounterReader::start(scope, database, counters, |source| {
                let connections = settings.connections;
                shared.fail(DriverError::Thread {
                    connections,
                    source,
                });
            }),
            shared,
            recorders,
            settings,
            observer,
            queue,
            start,
            last: (start, counters),
            measured: None,
            checkpoints: Checkpoints::new(start, counters.checkpoints),
            spare: Recorder::spare(),
            portion: Counts::new(kinds),
            second: Counts::new(kinds),
            begun: Vec::new(),
            divided: Vec::new(),
            taken: (Totals::default(), 0),
            started: 0,
            series: Vec::new(),
        }
    }

    /// Follows the run to its end.
    pub(crate) fn follow(
        mut self,
        barrier: &Barrier,
        interrupted: &(dyn Fn() -> bool + Sync),
    ) -> Result<Measurement, DriverError> {
        let signals = Signals {
            barrier,
            interrupted,
        };
        let initial = self.last.1;
        let at_checkpoint = self.watch_warm_up(&signals);
        // By a failure it has ended already, which is what to tell.
        if interrupted() || self.shared.is_ending() {
            self.shared.end();
            barrier.open();
            return Err(DriverError::Stopped);
        }
        let (begin, before) = self.last;
        let warm_up = WarmUpTotals {
            elapsed: begin - self.start,
            misses: (before - initial).buffer_misses,
            failed: self.taken.0.failed,
            is_full: (before - initial).buffer_misses >= self.settings.frames,
        };
        self.begin_measuring(at_checkpoint);

        barrier.release();
        let planned = self.settings.length.measured_time();
        self.watch(&signals, POLL_INTERVAL, |now, _| match planned {
            Some(planned) => now - begin >= planned,
            None => barrier.wait_for_all_within(Duration::ZERO),
        });
        let at_checkpoint = self.await_checkpoint(&signals);
        self.shared.end();
        self.sum_up(Duration::MAX);
        self.observer.edge();
        self.observer.end();
        let backlog = self.backlog(self.last.0);
        // Those that still wait may end.
        barrier.open();
        let interrupted = interrupted();
        if interrupted && !self.settings.keep_interrupted {
            return Err(DriverError::Stopped);
        }
        Ok(Measurement {
            interrupted,
            ..self.sum_up_run(warm_up, backlog, at_checkpoint)
        })
    }

    /// Watches the warm-up to its end. Returns whether it ended with a checkpoint.
    fn watch_warm_up(&mut self, signals: &Signals<'_>) -> bool {
        let (start, initial) = self.last;
        let frames = self.settings.frames;
        let length = self.settings.length;
        self.watch(signals, POLL_INTERVAL, |now, counters| match length {
            RunLength::Time {
                warm_up_min,
                warm_up_max,
                ..
            } => {
                let elapsed = now - start;
                let is_filled = (counters - initial).buffer_misses >= frames;
                elapsed >= warm_up_max || (elapsed >= warm_up_min && is_filled)
            }
            // All have come to the end of it.
            RunLength::Transactions { .. } => signals.barrier.wait_for_all_within(Duration::ZERO),
        });
        let at_checkpoint = self.await_checkpoint(signals);
        self.sum_up(match length {
            RunLength::Time { .. } => Self::BEGIN_PATIENCE,
            RunLength::Transactions { .. } => Duration::MAX,
        });
        at_checkpoint
    }

    /// Begins the measured part with the sample that has just ended.
    fn begin_measuring(&mut self, at_checkpoint: bool) {
        let (begin, counters) = self.last;
        let backlog = self.backlog(begin);
        let first = self.batch(begin, counters, backlog, at_checkpoint);
        self.measured = Some(MeasuredPart::new(&self.settings, first, self.taken.0));
        self.observer.begin();
        self.shared.measuring.get_or_init(|| begin);
    }

    /// Sums up the run after its last sample, which ended with this backlog, and with a
    /// checkpoint or not.
    fn sum_up_run(
        mut self,
        warm_up: WarmUpTotals,
        backlog_after: Option<(u64, u64)>,
        at_checkpoint: bool,
    ) -> Measurement {
        let Some(mut measured) = self.measured.take() else {
            unreachable!("measuring has begun");
        };
        let Figures {
            first_tick,
            label,
            all: figures,
        } = measured.take_figures();
        let (end, after) = self.last;
        self.observer.figures_from(figures.edge);
        let from = figures.begin - self.start;
        // The second in which the figures begin is two, so that those of the figures add up.
        let begins = |(_, parts): &&(usize, [Sample; 2])| parts[0].at == from;
        if let Some(&(place, parts)) = self.divided.iter().find(begins) {
            self.series.splice(place..=place, parts);
        }
        for sample in &mut self.series {
            let is_in_figures = sample.at.saturating_sub(sample.length) >= from;
            sample.cut = sample.measured && !is_in_figures;
            sample.measured &= is_in_figures;
        }
        let warm_up_s = warm_up.elapsed.as_secs_f64();
        let outages = outages(&measured.ticks).into_iter().map(|outage| Outage {
            begin_s: warm_up_s + outage.begin_s,
            ..outage
        });
        let ticks = &measured.ticks[first_tick..];
        let counters = after - figures.counters;
        let length = end - figures.begin;
        let steadiness = Steadiness {
            label,
            cut_s: (figures.begin - measured.begin).as_secs_f64(),
            tick_s: length.as_secs_f64() / ticks.len().max(1) as f64,
            ticks: ticks.len() as u64,
            cycles: cycles(counters.checkpoints, figures.at_checkpoint && at_checkpoint),
        };
        let backlog = figures
            .backlog
            .zip(backlog_after)
            .map(|(before, after)| self.judge(before, after, length));
        Measurement {
            backlog,
            stability: stability(ticks, &self.series),
            outages: outages.collect(),
            series: self.series,
            steadiness,
            ..Measurement::without_series(warm_up, length, figures.counts, counters)
        }
    }

    /// Polls until `done`, an interrupt or a failure.
    fn watch(
        &mut self,
        signals: &Signals<'_>,
        interval: Duration,
        done: impl Fn(Instant, Counters) -> bool,
    ) {
        let mut took = Duration::ZERO;
        loop {
            let pause = interval.max((took * Self::PAUSES).min(Self::PAUSE_MAX));
            match self.settings.length {
                RunLength::Time { .. } => thread::sleep(pause),
                RunLength::Transactions { .. } => {
                    signals.barrier.wait_for_all_within(pause);
                }
            }
            let asked = Instant::now();
            let counters = self.database.read(CounterReader::PATIENCE).counters;
            let now = Instant::now();
            took = now - asked;
            let at_checkpoint = self.checkpoints.observe(now, counters.checkpoints);
            if done(now, counters) || (signals.interrupted)() || self.shared.is_ending() {
                return;
            }
            self.poll(now, counters, at_checkpoint);
        }
    }

    /// Waits for the end of a checkpoint where the measured time has few. Returns whether one
    /// ended.
    fn await_checkpoint(&mut self, signals: &Signals<'_>) -> bool {
        let planned = self.settings.length.measured_time();
        let Some(longest) = planned.and_then(|planned| self.checkpoints.wait(planned)) else {
            return false;
        };
        if (signals.interrupted)() || self.shared.is_ending() {
            return false;
        }
        let begin = Instant::now();
        let before = self.checkpoints.last();
        let reading = self.database.read(CounterReader::PATIENCE);
        let count = reading.counters.checkpoints;
        let interval = (longest / 50).clamp(Self::POLL_INTERVAL_MIN, POLL_INTERVAL);
        self.watch(signals, interval, |now, counters| {
            counters.checkpoints != count || now - begin >= longest
        });
        self.checkpoints.last() != before
    }

    /// Takes over outcomes and ends the tick, batch or second that is over.
    fn poll(&mut self, now: Instant, counters: Counters, at_checkpoint: bool) {
        self.drain();
        if self.is_batch_due(now, at_checkpoint) {
            let (now, reading) = self.take_over(CounterReader::PATIENCE);
            // Figures cannot begin where the counters are older: later, then.
            if reading.is_fresh {
                let backlog = self.backlog(now);
                let batch = self.batch(now, reading.counters, backlog, at_checkpoint);
                if let Some(measured) = &mut self.measured {
                    measured.begin_batch(batch);
                }
                let before = self.sample(self.last, (now, reading.counters), &self.second, backlog);
                self.begun.push(BegunBatch {
                    at: now,
                    counters: reading.counters,
                    before,
                    since: Counts::new(self.settings.workload.transactions()),
                });
                self.observer.edge();
            }
        } else if let Some(measured) = &mut self.measured
            && measured.is_tick_due(now)
        {
            let done = self.taken.0.plus(&lock(&self.shared.counts));
            let gap = self.shared.commits.take_longest_gap(now - self.start);
            measured.end_tick(now, counters, done, gap);
        }
        if now - self.last.0 >= Duration::from_secs(1) || self.is_part_over(now) {
            self.sum_up(CounterReader::PATIENCE);
        }
    }

    /// Whether a ramp has reached another part since the current second began.
    fn is_part_over(&self, now: Instant) -> bool {
        let (Load::Ramp(ramp), Some(measured)) = (self.settings.load, &self.measured) else {
            return false;
        };
        let part = |at: Instant| ramp.part(at - measured.begin);
        part(now) != part(self.last.0)
    }

    /// Whether the next batch should begin. With few checkpoints batches begin at the end of
    /// one, and so do the figures.
    fn is_batch_due(&self, now: Instant, at_checkpoint: bool) -> bool {
        let planned = self.settings.length.measured_time();
        let (Some(measured), Some(planned)) = (&self.measured, planned) else {
            return false;
        };
        measured.batch_due(now).is_some_and(|late| {
            at_checkpoint
                || self
                    .checkpoints
                    .wait_in(planned)
                    .is_none_or(|longest| late >= longest)
        })
    }

    fn batch(
        &self,
        begin: Instant,
        counters: Counters,
        backlog: Option<(u64, u64)>,
        at_checkpoint: bool,
    ) -> Batch {
        Batch {
            begin,
            edge: 0,
            counters,
            backlog,
            at_checkpoint,
            counts: Counts::new(self.settings.workload.transactions()),
        }
    }

    /// Empties what the workers recorded into the counts that they share.
    fn drain(&mut self) {
        for recorder in self.recorders {
            recorder.drain(&self.shared.counts, &mut self.spare);
        }
    }

    /// Takes over what was recorded until now, which ends a tick. The counters
    /// are older where they do not come within `patience`.
    fn take_over(&mut self, patience: Duration) -> (Instant, Reading) {
        let now = Instant::now();
        self.started = self.shared.started.load(Ordering::Relaxed);
        self.drain();
        // The workers go on with empty counts; these are looked at here.
        std::mem::swap(&mut *lock(&self.shared.counts), &mut self.portion);
        let gap = self.shared.commits.take_longest_gap(now - self.start);
        let reading = self.database.read(patience);
        self.taken.0 = self.taken.0.plus(&self.portion);
        self.taken.1 += self.portion.transactions();
        self.second.add(&self.portion);
        for begun in &mut self.begun {
            begun.since.add(&self.portion);
        }
        if let Some(measured) = &mut self.measured {
            measured.end_tick(now, reading.counters, self.taken.0, gap);
            if let Some(batch) = measured.batches.last_mut() {
                batch.counts.add(&self.portion);
            }
        }
        self.portion.clear();
        (now, reading)
    }

    /// Ends a sample; the counters as in [`Self::take_over`].
    fn sum_up(&mut self, patience: Duration) -> Instant {
        let (now, Reading { counters, .. }) = self.take_over(patience);
        let backlog = self.backlog(now);
        let sample = self.sample(self.last, (now, counters), &self.second, backlog);
        for begun in std::mem::take(&mut self.begun) {
            let from = (begun.at, begun.counters);
            let rest = self.sample(from, (now, counters), &begun.since, backlog);
            let parts = [begun.before, rest];
            self.divided.push((self.series.len(), parts));
        }
        self.observer.second(&Second {
            sample: &sample,
            counts: &self.second,
        });
        self.second.clear();
        self.series.push(sample);
        self.last = (now, counters);
        now
    }

    /// What was done between two moments, with the counters at each.
    fn sample(
        &self,
        (from, before): (Instant, Counters),
        (to, after): (Instant, Counters),
        counts: &Counts,
        backlog: Option<(u64, u64)>,
    ) -> Sample {
        let since = after - before;
        let latency = counts.percentiles();
        Sample {
            at: to - self.start,
            measured: self.measured.is_some(),
            cut: false,
            length: to - from,
            transactions: counts.transactions(),
            counted: counts.counted(),
            buffer_misses: since.buffer_misses,
            read_bytes: since.read_bytes,
            written_bytes: since.written_bytes(),
            p50_us: latency.p50_us,
            p99_us: latency.p99_us,
            max_us: latency.max_us,
            retries: counts.retries(),
            failed: counts.failed(),
            backlog: backlog.map(|(waiting, _)| waiting),
        }
    }

    /// Transactions due but not begun, and all due so far, as of the last [`Self::take_over`],
    /// at `now`.
    fn backlog(&mut self, now: Instant) -> Option<(u64, u64)> {
        match &mut self.queue {
            Queue::None => None,
            Queue::Arrivals(arrivals) => {
                let due = arrivals.due_by(now - self.start);
                Some((due.saturating_sub(self.started), due))
            }
            Queue::Pool(pool, _) => {
                let waiting = pool.waiting_at(now);
                Some((waiting, self.taken.1 + waiting))
            }
        }
    }

    fn judge(&self, before: (u64, u64), after: (u64, u64), measured: Duration) -> Backlog {
        let offered = after.1.saturating_sub(before.1);
        let many = match self.queue {
            // A second's arrivals.
            Queue::None | Queue::Arrivals(_) => {
                (offered as f64 / measured.as_secs_f64().max(1e-9)) as u64
            }
            // A tenth of all operators.
            Queue::Pool(_, terminals) => u64::from(terminals) / 10,
        };
        Backlog {
            begin: before.0,
            end: after.0,
            offered,
            bound: many.max(chance(self.settings.connections)),
        }
    }
}
