//! The measured part of a run while it lasts: in ticks, by which it is judged,
//! and in batches, at whose edges the figures can begin.
//!
//! Memory: a histogram takes 172 KiB, a batch one for each kind of
//! transaction and one more (TPC-C: 1 MiB), and there are [`BATCHES_MAX`]
//! batches at most. A tick takes 32 bytes, and there are [`TICKS_MAX`].

use std::time::{Duration, Instant};

use octavo_database::Counters;

use crate::{
    counts::Counts,
    run_state::POLL_INTERVAL,
    settings::{DriverSettings, Load},
    steady::{Cycles, Label, Tick, steady_part},
};

/// Ticks in the planned length, unless they would be shorter than a look or
/// longer than a second: twenty batches of MSER-5.
const TICKS: u32 = 100;
const TICK_MAX: Duration = Duration::from_secs(1);
/// More ticks than this are merged in pairs.
const TICKS_MAX: usize = 4096;

/// Batches in the planned length.
const BATCHES: u32 = 20;
/// More batches than this, of a run that waits long for checkpoints, are merged in pairs.
const BATCHES_MAX: usize = 40;

/// A part of the measured part, at whose beginning the figures can begin.
pub(crate) struct Batch {
    pub(crate) begin: Instant,
    /// How many edges there were before this batch began, whether they are
    /// still kept or not.
    pub(crate) edge: usize,
    /// The database's counters at the beginning.
    pub(crate) counters: Counters,
    /// What was due and not begun, and all that was due, likewise.
    pub(crate) backlog: Option<(u64, u64)>,
    /// Whether a checkpoint had just ended.
    pub(crate) at_checkpoint: bool,
    /// Endings and latencies in it.
    pub(crate) counts: Counts,
}

/// Commits and failures up to some time.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Totals {
    /// Commits of the counted kinds.
    pub(crate) counted: u64,
    /// Transactions that failed.
    pub(crate) failed: u64,
}

impl Totals {
    /// These and what was recorded since.
    pub(crate) fn plus(self, since: &Counts) -> Self {
        Self {
            counted: self.counted + since.counted(),
            failed: self.failed + since.failed(),
        }
    }
}

/// The part of a run that its figures cover.
pub(crate) struct Figures {
    /// The first tick of their time.
    pub(crate) first_tick: usize,
    /// What the run was like.
    pub(crate) label: Label,
    /// All batches of their time in one, with the conflicts and failures of those before.
    pub(crate) all: Batch,
}

pub(crate) struct MeasuredPart {
    pub(crate) begin: Instant,
    pub(crate) batches: Vec<Batch>,
    /// Batches so far but the first, put together or not.
    edges: usize,
    pub(crate) ticks: Vec<Tick>,
    tick: Duration,
    /// Whether it is judged how steady the run was. A ramp is not steady by its nature, and
    /// no clock decides anything of a run by numbers of transactions: whether it counts must
    /// not depend on how busy the machine is either.
    is_judged: bool,
    /// Where the tick under way began, and what had been done by then.
    last: (Instant, Counters, Totals),
    /// `None` where the figures always begin with the measured part: with
    /// numbers of transactions, and where latencies count from a schedule, of
    /// which nothing may be left out.
    batch: Option<Duration>,
    /// Since the beginning: when the next batch is due.
    next_batch: Duration,
}

impl MeasuredPart {
    /// Measures from the beginning of `first` on, when so much had been `done`.
    pub(crate) fn new(settings: &DriverSettings<'_>, first: Batch, done: Totals) -> Self {
        let planned = settings.length.measured_time();
        let is_closed = matches!(settings.load, Load::Closed { .. });
        let (tick, batch) = match planned {
            Some(measured) => {
                let looks = (measured / TICKS).as_secs_f64() / POLL_INTERVAL.as_secs_f64();
                let tick = POLL_INTERVAL.mul_f64(looks.round().clamp(1.0, 50.0));
                (tick.min(TICK_MAX), is_closed.then_some(measured / BATCHES))
            }
            None => (POLL_INTERVAL, None),
        };
        Self {
            begin: first.begin,
            last: (first.begin, first.counters, done),
            batches: vec![first],
            edges: 0,
            ticks: Vec::with_capacity(2 * TICKS as usize),
            tick,
            is_judged: planned.is_some() && !matches!(settings.load, Load::Ramp(_)),
            batch,
            next_batch: batch.unwrap_or(Duration::MAX),
        }
    }

    /// Whether a tick is over, to the nearest poll.
    pub(crate) fn is_tick_due(&self, now: Instant) -> bool {
        now - self.last.0 + POLL_INTERVAL / 2 >= self.tick
    }

    /// How long the next batch has been overdue, if it is.
    pub(crate) fn batch_due(&self, now: Instant) -> Option<Duration> {
        (now - self.begin).checked_sub(self.next_batch)
    }

    /// Ends a tick; `gap` is the longest time without a counted commit that
    /// ended in it or still lasts.
    pub(crate) fn end_tick(
        &mut self,
        now: Instant,
        counters: Counters,
        done: Totals,
        gap: Duration,
    ) {
        let (begin, before, done_before) = self.last;
        let since = counters - before;
        let tick = Tick {
            length_s: (now - begin).as_secs_f64(),
            counted: done.counted - done_before.counted,
            failed: done.failed - done_before.failed,
            gap_s: gap.as_secs_f64(),
            buffer_misses: since.buffer_misses,
            buffer_references: since.buffer_hits + since.buffer_misses,
        };
        self.last = (now, counters, done);
        match self.ticks.last_mut() {
            // The rest before an edge: rates of so short a time are wild.
            Some(last) if tick.length_s < self.tick.as_secs_f64() / 2.0 => last.merge(&tick),
            _ => self.ticks.push(tick),
        }
        if self.ticks.len() > TICKS_MAX {
            self.ticks = self
                .ticks
                .chunks(2)
                .map(|pair| {
                    let mut tick = pair[0];
                    pair[1..].iter().for_each(|next| tick.merge(next));
                    tick
                })
                .collect();
            self.tick *= 2;
        }
    }

    /// Begins the next batch; gives it its number.
    pub(crate) fn begin_batch(&mut self, mut next: Batch) {
        self.edges += 1;
        next.edge = self.edges;
        if self.batches.len() == BATCHES_MAX {
            let mut batches = std::mem::take(&mut self.batches).into_iter();
            while let Some(mut first) = batches.next() {
                if let Some(second) = batches.next() {
                    first.counts.add(&second.counts);
                }
                self.batches.push(first);
            }
            self.batch = self.batch.map(|batch| batch * 2);
        }
        let length = self.batch.unwrap_or(Duration::MAX);
        // On the grid, unless it was missed by a batch.
        let begin = (next.begin - self.begin).max(self.next_batch);
        let on_grid = self.next_batch.saturating_add(length);
        self.next_batch = if on_grid > begin {
            on_grid
        } else {
            begin.saturating_add(length)
        };
        self.batches.push(next);
    }

    /// Cuts off what is left of the warm-up, and adds up the batches after it.
    pub(crate) fn take_figures(&mut self) -> Figures {
        let mut first_batch = 0;
        let (first_tick, label) = if self.is_judged {
            steady_part(&self.ticks, |cut| {
                let (batch, ticks) = self.first_batch(cut);
                first_batch = batch;
                ticks
            })
        } else {
            (0, Label::NotJudged)
        };
        let mut batches = std::mem::take(&mut self.batches).into_iter();
        let cut: Vec<Batch> = batches.by_ref().take(first_batch).collect();
        let Some(mut all) = batches.next() else {
            unreachable!("measuring began with a batch");
        };
        for batch in batches {
            all.counts.add(&batch.counts);
        }
        for batch in cut {
            all.counts.add_troubles(&batch.counts);
        }
        Figures {
            first_tick,
            label,
            all,
        }
    }

    /// The first batch after so many ticks were cut, and the ticks before it.
    pub(crate) fn first_batch(&self, cut: usize) -> (usize, usize) {
        // An edge is where a tick ends, but for rounding and ticks put
        // together.
        let slack = self.tick.as_secs_f64() / 2.0;
        let cut_s: f64 = self.ticks[..cut].iter().map(|tick| tick.length_s).sum();
        let after = |batch: &Batch| (batch.begin - self.begin).as_secs_f64();
        let batch = self
            .batches
            .iter()
            .position(|batch| after(batch) + slack >= cut_s)
            .unwrap_or(self.batches.len() - 1);
        let begin_s = after(&self.batches[batch]);
        let mut end_s = 0.0;
        let ticks = self.ticks.iter().take_while(|tick| {
            end_s += tick.length_s;
            end_s <= begin_s + slack
        });
        (batch, ticks.count())
    }
}

/// So many checkpoints in the measured part, and a part of a cycle more or
/// less makes no difference: at most a fifteenth, of which the checkpoint
/// itself is the smaller part.
const CYCLES_MANY: u64 = 15;

/// The checkpoints as polls show them.
pub(crate) struct Checkpoints {
    start: Instant,
    /// Before the run.
    initial: u64,
    /// The first that was seen to end, and the last, with the numbers of all
    /// by then.
    seen: Option<[(Instant, u64); 2]>,
    now: Instant,
}

impl Checkpoints {
    pub(crate) fn new(start: Instant, initial: u64) -> Self {
        Self {
            start,
            initial,
            seen: None,
            now: start,
        }
    }

    /// Whether one has ended since the last poll.
    pub(crate) fn observe(&mut self, now: Instant, count: u64) -> bool {
        self.now = now;
        match &mut self.seen {
            None if count == self.initial => false,
            None => {
                self.seen = Some([(now, count); 2]);
                true
            }
            Some([_, last]) if last.1 == count => false,
            Some([_, last]) => {
                *last = (now, count);
                true
            }
        }
    }

    /// The last one that ended.
    pub(crate) fn last(&self) -> Option<Instant> {
        self.seen.map(|[_, last]| last.0)
    }

    /// Mean length of a cycle, from what was seen so far; `None` before the
    /// first checkpoint.
    fn cycle(&self) -> Option<Duration> {
        let [first, last] = self.seen?;
        let whole = last.1 - first.1;
        Some(if whole > 0 {
            (last.0 - first.0).div_f64(whole as f64)
        } else {
            // One look has shown all that there were.
            (self.now - self.start).div_f64((first.1 - self.initial) as f64)
        })
    }

    /// How long to wait for the end of a checkpoint, where there are so few in
    /// `planned` that whole cycles have to be measured.
    pub(crate) fn wait(&self, planned: Duration) -> Option<Duration> {
        let cycle = self.cycle()?;
        let few = cycle.as_secs_f64() * CYCLES_MANY as f64 > planned.as_secs_f64();
        few.then(|| cycle.mul_f64(1.5).min(planned / 2))
    }

    /// … and for the edge of a batch: not where two cycles do not fit into
    /// `planned`.
    pub(crate) fn wait_in(&self, planned: Duration) -> Option<Duration> {
        let wait = self.wait(planned)?;
        (self.cycle()? <= planned / 2).then_some(wait)
    }
}

/// What `count` checkpoints were to figures that begin and end at the end of
/// one, or do not.
pub(crate) fn cycles(count: u64, whole: bool) -> Cycles {
    match count {
        0 => Cycles::None,
        CYCLES_MANY.. => Cycles::Many { count },
        _ if whole => Cycles::Whole { count },
        _ => Cycles::Partial { count },
    }
}

#[cfg(test)]
mod tests {
    use octavo_units::{Rate, Seed};
    use octavo_workload::{WorkloadName, WorkloadSpec};

    use super::*;
    use crate::{ArrivalProcess, RunLength};

    const CLOSED: Load = Load::Closed { terminals: 1 };
    const MS: Duration = Duration::from_millis(1);

    fn counted(counted: u64) -> Totals {
        Totals { counted, failed: 0 }
    }

    /// Two seconds in ticks of 20 ms, with the edges of batches where they are
    /// due.
    fn measured(load: Load) -> MeasuredPart {
        let (name, seed) = (WorkloadName::default(), Seed::new(1));
        let data = name.data_spec(&[]).unwrap();
        let workload = WorkloadSpec::new(name, data, seed).build().unwrap();
        let settings = DriverSettings {
            workload: &*workload,
            seed,
            connections: 1,
            load,
            retries: 0,
            length: RunLength::Time {
                warm_up_min: Duration::ZERO,
                warm_up_max: Duration::ZERO,
                measured: 2000 * MS,
            },
            keep_interrupted: false,
            frames: 0,
        };
        let begin = Instant::now();
        let batch = |begin| Batch {
            begin,
            edge: 0,
            counters: Counters::default(),
            backlog: None,
            at_checkpoint: false,
            counts: Counts::new(&[]),
        };
        let mut measured = MeasuredPart::new(&settings, batch(begin), Totals::default());
        for tick in 1..100 {
            let now = begin + tick * 20 * MS;
            measured.end_tick(now, Counters::default(), counted(u64::from(tick)), 3 * MS);
            if measured.batch_due(now).is_some() {
                measured.begin_batch(batch(now));
            }
        }
        measured
    }

    #[test]
    fn figures_of_a_closed_loop_begin_with_the_batch_after_the_cut() {
        let measured = measured(CLOSED);
        assert_eq!((measured.ticks.len(), measured.batches.len()), (99, 20));
        assert_eq!(measured.first_batch(0), (0, 0));
        // Five ticks a batch.
        assert_eq!(measured.first_batch(10), (2, 10));
        assert_eq!(measured.first_batch(11), (3, 15));
        assert_eq!(measured.batches[3].begin - measured.begin, 300 * MS);
        assert_eq!(measured.batches[3].edge, 3);
    }

    #[test]
    fn figures_of_other_loops_begin_with_the_measured_part() {
        let measured = measured(Load::Open {
            rate: Rate::per_second(100.0).unwrap(),
            arrivals: ArrivalProcess::Constant,
        });
        assert_eq!((measured.ticks.len(), measured.batches.len()), (99, 1));
        assert_eq!(measured.first_batch(50), (0, 0));
    }

    #[test]
    fn a_short_rest_joins_the_tick_before_with_its_gap() {
        let mut measured = measured(CLOSED);
        let now = measured.begin + 1985 * MS;
        measured.end_tick(now, Counters::default(), counted(120), 9 * MS);
        let last = measured.ticks[98];
        assert_eq!((measured.ticks.len(), last.counted), (99, 22));
        assert!((last.length_s - 0.025).abs() < 1e-9 && last.gap_s == 0.009);
    }

    #[test]
    fn few_checkpoints_are_waited_for_and_many_are_not() {
        let start = Instant::now();
        let after = |cycle: Duration, ends: u32| {
            let mut checkpoints = Checkpoints::new(start, 7);
            assert!(!checkpoints.observe(start + cycle / 2, 7));
            for number in 1..=ends {
                let now = start + cycle * number;
                assert!(checkpoints.observe(now, 7 + u64::from(number)));
                assert!(!checkpoints.observe(now + cycle / 2, 7 + u64::from(number)));
                assert_eq!(checkpoints.last(), Some(now));
            }
            let planned = 1200 * MS;
            (checkpoints.wait(planned), checkpoints.wait_in(planned))
        };
        assert_eq!(after(230 * MS, 0), (None, None), "none has ended");
        assert_eq!(after(230 * MS, 3), (Some(345 * MS), Some(345 * MS)));
        // Two cycles do not fit into 1.2 s, and the wait is half of it at most.
        assert_eq!(after(700 * MS, 2), (Some(600 * MS), None));
        assert_eq!(after(70 * MS, 9), (None, None), "17 are many");
    }

    #[test]
    fn cycles_are_named_by_their_number_and_ends() {
        assert_eq!(cycles(0, true), Cycles::None);
        assert_eq!(cycles(14, true), Cycles::Whole { count: 14 });
        assert_eq!(cycles(14, false), Cycles::Partial { count: 14 });
        assert_eq!(cycles(15, true), Cycles::Many { count: 15 });
    }
}
