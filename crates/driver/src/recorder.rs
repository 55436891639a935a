//! What workers record: one small event a transaction, taken over into
//! histograms by whoever has time.
//!
//! A worker appends to a buffer of its own under a lock that nobody else
//! wants but for some microseconds every [`super::sampler`] look. When the
//! buffer is full the worker empties it itself, so memory is bounded whatever
//! the rate and however long the run: [`Recorder::EVENTS`] events a
//! connection, and two sets of histograms for all of them.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::counts::{Counts, Event};

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
        self.record_all([event], counts);
    }

    /// Adds events that belong together: whoever empties the buffer has all of
    /// them, or none.
    #[inline]
    pub(crate) fn record_all<const N: usize>(&self, added: [Event; N], counts: &Mutex<Counts>) {
        let mut events = lock(&self.events);
        if events.len() + N > Self::EVENTS {
            lock(counts).take(&mut events);
        }
        events.extend(added);
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use octavo_workload::{TransactionKind, connection::Conflict};

    use super::*;
    use crate::counts::TryOutcome;

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
        assert_eq!(lock(&recorder.events).capacity(), Recorder::EVENTS);
        recorder.drain(&counts, &mut Recorder::spare());
        let counts = lock(&counts);
        assert_eq!(counts.transactions(), many);
        assert_eq!(counts.changed_bytes, 10 * many);
        assert_eq!(counts.kinds[1].latencies.percentiles().max_us, 85);
        assert_eq!(counts.late.count(), many);
    }

    #[test]
    fn events_that_belong_together_are_drained_together() {
        let counts = Mutex::new(Counts::new(&[TransactionKind::PLAIN; 2]));
        let recorder = Recorder::new();
        let conflict = TryOutcome::Conflicted(Conflict::Deadlock);
        let pair = [conflict, TryOutcome::GaveUp];
        let pair = pair.map(|outcome| event(outcome, Duration::ZERO));
        // One place is left.
        for _ in 1..Recorder::EVENTS {
            recorder.record(event(TryOutcome::Committed, Duration::ZERO), &counts);
        }
        recorder.record_all(pair, &counts);
        let seen = || {
            let counts = lock(&counts);
            let conflicts = counts.kinds[1].conflicts(Conflict::Deadlock);
            (conflicts, counts.failed(), counts.retries())
        };
        assert_eq!(seen(), (0, 0, 0));
        recorder.drain(&counts, &mut Recorder::spare());
        assert_eq!(seen(), (1, 1, 0));
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
}
