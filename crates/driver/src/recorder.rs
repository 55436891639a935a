//! What workers record: one small event a transaction, taken over into
//! histograms by whoever has time.
//!
//! A worker appends to a buffer of its own under a lock that nobody else
//! wants but for some microseconds every [`super::sampler`] look. When the
//! buffer is full the worker empties it itself, so memory is bounded whatever
//! the rate and however long the run: [`Recorder::EVENTS`] events a
//! connection, and two sets of histograms for all of them.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use hdrhistogram::Histogram;
use octavo_workload::{Outcome, TransactionKind, connection::Conflict};

use crate::latency::Percentiles;

/// The longest latency that a histogram holds, 10 minutes; longer ones count
/// as this long.
const LATENCY_US_MAX: u64 = 600_000_000;

/// An empty histogram of microseconds: 3 significant digits, 1 us to 10
/// minutes.
pub fn new_histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, LATENCY_US_MAX, 3).expect("the bounds are sound constants")
}

/// How a transaction, or a try of one, ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TryOutcome {
    Committed,
    RolledBack,
    /// A try ended in a conflict; another one may follow.
    Conflicted(Conflict),
    /// No further try after a conflict.
    GaveUp,
    TimedOut,
    Lost,
}

/// Different outcomes.
const OUTCOMES: usize = 8;

impl TryOutcome {
    const fn position(self) -> usize {
        match self {
            Self::Committed => 0,
            Self::RolledBack => 1,
            Self::Conflicted(Conflict::Deadlock) => 2,
            Self::Conflicted(Conflict::Serialisation) => 3,
            Self::Conflicted(Conflict::LockTimeout) => 4,
            Self::GaveUp => 5,
            Self::TimedOut => 6,
            Self::Lost => 7,
        }
    }

    /// Whether the transaction was done as the workload wants it.
    const fn is_success(self) -> bool {
        matches!(self, Self::Committed | Self::RolledBack)
    }
}

impl From<Outcome> for TryOutcome {
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Committed => Self::Committed,
            Outcome::RolledBack => Self::RolledBack,
        }
    }
}

/// One outcome, in 16 bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Event {
    pub(crate) kind: u8,
    pub(crate) outcome: TryOutcome,
    pub(crate) changed_bytes: u32,
    latency_us: f32,
    late_us: f32,
}

impl Event {
    /// An outcome of a transaction of `kind` after `latency`, begun `late`
    /// after its schedule.
    pub(crate) fn new(
        kind: usize,
        outcome: TryOutcome,
        changed_bytes: u64,
        latency: Duration,
        late: Duration,
    ) -> Self {
        Self {
            kind: u8::try_from(kind).unwrap_or(u8::MAX),
            outcome,
            changed_bytes: u32::try_from(changed_bytes).unwrap_or(u32::MAX),
            latency_us: microseconds(latency),
            late_us: microseconds(late),
        }
    }
}

/// Seven digits of it: nanoseconds up to some milliseconds.
fn microseconds(time: Duration) -> f32 {
    (time.as_secs_f64() * 1e6) as f32
}

/// One connection's buffer.
#[derive(Debug)]
pub(crate) struct Recorder {
    events: Mutex<Vec<Event>>,
}

impl Recorder {
    /// Events in a buffer, 64 KiB.
    const EVENTS: usize = 4096;

    pub(crate) fn new() -> Self {
        Self {
            events: Mutex::new(Self::spare()),
        }
    }

    /// Adds an event; into `counts` with all others when the buffer is full.
    #[inline]
    pub(crate) fn record(&self, event: Event, counts: &Mutex<Counts>) {
        let mut events = lock(&self.events);
        events.push(event);
        if events.len() == Self::EVENTS {
            lock(counts).take(&mut events);
        }
    }

    /// Empties the buffer into `counts`, by way of `spare`, which is empty
    /// before and after. The two locks are never held together here: a worker
    /// takes the second while it holds the first.
    pub(crate) fn drain(&self, counts: &Mutex<Counts>, spare: &mut Vec<Event>) {
        std::mem::swap(&mut *lock(&self.events), spare);
        lock(counts).take(spare);
    }

    /// A buffer to drain with.
    pub(crate) fn spare() -> Vec<Event> {
        Vec::with_capacity(Self::EVENTS)
    }
}

/// Locks what no code panics under.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What one kind of transaction did.
#[derive(Clone, Debug)]
pub struct KindCounts {
    /// The kind's name.
    pub name: &'static str,
    outcomes: [u64; OUTCOMES],
    /// Latencies in whole microseconds, rounded, of what committed or rolled
    /// back as the specification wants.
    pub latency_us: Histogram<u64>,
    /// The sum of the same, not rounded.
    latency_us_sum: f64,
}

impl KindCounts {
    fn new(kind: &TransactionKind) -> Self {
        Self {
            name: kind.name,
            outcomes: [0; OUTCOMES],
            latency_us: new_histogram(),
            latency_us_sum: 0.0,
        }
    }

    /// The latencies as figures; the mean is not rounded.
    pub fn percentiles(&self) -> Percentiles {
        percentiles(&self.latency_us, self.latency_us_sum)
    }

    fn count(&self, outcome: TryOutcome) -> u64 {
        self.outcomes[outcome.position()]
    }

    /// Committed.
    pub fn committed(&self) -> u64 {
        self.count(TryOutcome::Committed)
    }

    /// Rolled back as the specification wants.
    pub fn rolled_back(&self) -> u64 {
        self.count(TryOutcome::RolledBack)
    }

    /// Tries that ended in this conflict, repeated or not.
    pub fn conflicts(&self, conflict: Conflict) -> u64 {
        self.count(TryOutcome::Conflicted(conflict))
    }

    /// Tries that ended in a conflict and were repeated.
    pub fn retries(&self) -> u64 {
        [
            Conflict::Deadlock,
            Conflict::Serialisation,
            Conflict::LockTimeout,
        ]
        .into_iter()
        .map(|conflict| self.conflicts(conflict))
        .sum::<u64>()
        // The last conflict may have been just before the time in question.
        .saturating_sub(self.gave_up())
    }

    /// Transactions that ended in a conflict once more than they may be
    /// repeated.
    pub fn gave_up(&self) -> u64 {
        self.count(TryOutcome::GaveUp)
    }

    /// Transactions with a statement above the database's time limit.
    pub fn timed_out(&self) -> u64 {
        self.count(TryOutcome::TimedOut)
    }

    /// Transactions whose connection was lost: committed or not, nobody
    /// knows.
    pub fn lost(&self) -> u64 {
        self.count(TryOutcome::Lost)
    }

    /// Transactions that failed in any way.
    pub fn failed(&self) -> u64 {
        self.gave_up() + self.timed_out() + self.lost()
    }

    fn add(&mut self, other: &Self) {
        for (own, count) in self.outcomes.iter_mut().zip(other.outcomes) {
            *own += count;
        }
        self.latency_us
            .add(&other.latency_us)
            .expect("all histograms have the same bounds");
        self.latency_us_sum += other.latency_us_sum;
    }

    fn clear(&mut self) {
        self.outcomes = [0; OUTCOMES];
        self.latency_us.reset();
        self.latency_us_sum = 0.0;
    }
}

/// What all connections did in some time.
#[derive(Clone, Debug)]
pub struct Counts {
    /// One entry a kind of transaction.
    pub kinds: Vec<KindCounts>,
    /// How much later than due transactions began, in microseconds; all 0 in a
    /// closed loop with as many terminals as connections.
    pub late_us: Histogram<u64>,
    /// Bytes of the column values that committed transactions set or
    /// inserted.
    pub changed_bytes: u64,
}

impl Counts {
    /// Nothing yet, of transactions of these kinds.
    pub fn new(kinds: &[TransactionKind]) -> Self {
        Self {
            kinds: kinds.iter().map(KindCounts::new).collect(),
            late_us: new_histogram(),
            changed_bytes: 0,
        }
    }

    /// Transactions that ended as the workload wants.
    pub fn transactions(&self) -> u64 {
        let ended = |kind: &KindCounts| kind.committed() + kind.rolled_back();
        self.kinds.iter().map(ended).sum()
    }

    /// Commits of the kinds that count, of `kinds`.
    pub(crate) fn counted(&self, kinds: &[TransactionKind]) -> u64 {
        let counted = self
            .kinds
            .iter()
            .zip(kinds)
            .filter(|(_, kind)| kind.counted);
        counted.map(|(counts, _)| counts.committed()).sum()
    }

    /// Transactions that failed.
    pub fn failed(&self) -> u64 {
        self.kinds.iter().map(KindCounts::failed).sum()
    }

    /// The latencies of all kinds together as figures.
    pub fn percentiles(&self) -> Percentiles {
        let mut all = new_histogram();
        for kind in &self.kinds {
            all.add(&kind.latency_us)
                .expect("all histograms have the same bounds");
        }
        let sum = self.kinds.iter().map(|kind| kind.latency_us_sum).sum();
        percentiles(&all, sum)
    }

    fn take(&mut self, events: &mut Vec<Event>) {
        for event in events.drain(..) {
            let kind = &mut self.kinds[usize::from(event.kind)];
            kind.outcomes[event.outcome.position()] += 1;
            if event.outcome.is_success() {
                // Casts of positive floats round down and saturate.
                kind.latency_us
                    .saturating_record((event.latency_us + 0.5) as u64);
                kind.latency_us_sum += f64::from(event.latency_us);
                self.late_us.saturating_record((event.late_us + 0.5) as u64);
            }
            if event.outcome == TryOutcome::Committed {
                self.changed_bytes += u64::from(event.changed_bytes);
            }
        }
    }

    pub(crate) fn add(&mut self, other: &Self) {
        for (own, kind) in self.kinds.iter_mut().zip(&other.kinds) {
            own.add(kind);
        }
        self.late_us
            .add(&other.late_us)
            .expect("all histograms have the same bounds");
        self.changed_bytes += other.changed_bytes;
    }

    pub(crate) fn clear(&mut self) {
        self.kinds.iter_mut().for_each(KindCounts::clear);
        self.late_us.reset();
        self.changed_bytes = 0;
    }
}

fn percentiles(latency_us: &Histogram<u64>, sum: f64) -> Percentiles {
    Percentiles {
        mean_us: sum / (latency_us.len().max(1)) as f64,
        ..Percentiles::of(latency_us)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(outcome: TryOutcome, latency: Duration) -> Event {
        Event::new(1, outcome, 10, latency, Duration::from_micros(3))
    }

    #[test]
    fn an_event_has_sixteen_bytes() {
        assert_eq!(size_of::<Event>(), 16);
    }

    #[test]
    fn nothing_recorded_is_lost_when_buffers_run_full() {
        let counts = Mutex::new(Counts::new(&[TransactionKind::PLAIN; 2]));
        let recorder = Recorder::new();
        let many = Recorder::EVENTS as u64 * 3 + 7;
        for _ in 0..many {
            let event = event(TryOutcome::Committed, Duration::from_micros(85));
            recorder.record(event, &counts);
        }
        assert_eq!(lock(&counts).transactions(), Recorder::EVENTS as u64 * 3);
        recorder.drain(&counts, &mut Recorder::spare());
        let counts = lock(&counts);
        assert_eq!(counts.transactions(), many);
        assert_eq!(counts.changed_bytes, 10 * many);
        assert_eq!(counts.kinds[1].latency_us.max(), 85);
        assert_eq!(counts.late_us.len(), many);
    }

    #[test]
    fn draining_and_full_buffers_do_not_wait_for_each_other() {
        let counts = Mutex::new(Counts::new(&[TransactionKind::PLAIN; 2]));
        let recorder = Recorder::new();
        let many = Recorder::EVENTS as u64 * 50;
        std::thread::scope(|scope| {
            let worker = scope.spawn(|| {
                for _ in 0..many {
                    let event = event(TryOutcome::Committed, Duration::from_micros(85));
                    recorder.record(event, &counts);
                }
            });
            let mut spare = Recorder::spare();
            while !worker.is_finished() {
                recorder.drain(&counts, &mut spare);
            }
        });
        recorder.drain(&counts, &mut Recorder::spare());
        assert_eq!(lock(&counts).transactions(), many);
    }

    #[test]
    fn short_latencies_are_rounded_and_their_mean_is_not() {
        let mut counts = Counts::new(&[TransactionKind::PLAIN; 2]);
        let mut events = [300, 600, 1500]
            .map(|nanoseconds| event(TryOutcome::Committed, Duration::from_nanos(nanoseconds)));
        counts.take(&mut events.to_vec());
        let latency = counts.percentiles();
        assert_eq!((latency.p50_us, latency.max_us), (1, 2));
        assert!((latency.mean_us - 0.8).abs() < 1e-6, "{latency:?}");
        events[0].latency_us = f32::MAX;
        counts.take(&mut events.to_vec());
        assert!(counts.percentiles().max_us >= 599_000_000);
    }

    #[test]
    fn outcomes_are_counted_apart() {
        let mut counts = Counts::new(&[TransactionKind::PLAIN; 2]);
        let outcomes = [
            TryOutcome::Committed,
            TryOutcome::RolledBack,
            TryOutcome::Conflicted(Conflict::Deadlock),
            TryOutcome::Conflicted(Conflict::Serialisation),
            TryOutcome::Conflicted(Conflict::LockTimeout),
            TryOutcome::GaveUp,
            TryOutcome::TimedOut,
            TryOutcome::Lost,
        ];
        for (times, outcome) in (1..).zip(outcomes) {
            let mut events = vec![event(outcome, Duration::from_secs(100_000)); times];
            counts.take(&mut events);
        }
        let kind = &counts.kinds[1];
        assert_eq!((kind.committed(), kind.rolled_back()), (1, 2));
        assert_eq!(kind.conflicts(Conflict::Serialisation), 4);
        assert_eq!(kind.retries(), 3 + 4 + 5 - 6);
        assert_eq!(kind.failed(), 6 + 7 + 8);
        // Only what succeeded has a latency, cut at 10 minutes.
        assert_eq!(kind.latency_us.len(), 3);
        assert!(kind.latency_us.max() >= 599_000_000);
        let mut sum = counts.clone();
        sum.add(&counts);
        assert_eq!((sum.transactions(), sum.failed()), (6, 42));
        sum.clear();
        assert_eq!((sum.transactions(), sum.percentiles().max_us), (0, 0));
    }
}
