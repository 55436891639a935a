//! Terminals that share connections: each waits for its operator, then for a
//! connection, and while it is served nobody else sees it.

use std::{
    cmp::Ordering,
    collections::BinaryHeap,
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use octavo_units::Seed;
use octavo_workload::{Audit, Client, Pace, TransactionKind};
use rand_pcg::Pcg64Mcg;

use super::{arrivals::exponential, recorder::lock};

/// How often a waiting worker checks whether to stop.
const STOP_POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Longer than operators stay in step after a common start: some dozen cycles of TPC-C, and
/// five of the longest think times.
const SETTLING: Duration = Duration::from_secs(600);

/// A terminal with the transaction that it has drawn.
pub(crate) struct Terminal {
    pub(crate) client: Box<dyn Client>,
    /// The kind drawn last.
    pub(crate) kind: usize,
    /// For think times.
    generator: Pcg64Mcg,
}

/// A terminal and when it submits.
pub(crate) struct Waiting {
    pub(crate) due: Instant,
    /// Breaks ties: who came first is served first.
    number: u64,
    pub(crate) terminal: Terminal,
}

impl PartialEq for Waiting {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Waiting {}

impl PartialOrd for Waiting {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Waiting {
    /// The earliest is the greatest, which a heap gives first.
    fn cmp(&self, other: &Self) -> Ordering {
        (other.due, other.number).cmp(&(self.due, self.number))
    }
}

/// All terminals that are not being served.
pub(crate) struct Pool {
    state: Mutex<State>,
    /// Wakes the one worker that watches the clock.
    first_due: Condvar,
    /// Wakes another worker to take its place.
    watcher_free: Condvar,
    /// Whether operators take the specification's times.
    paced: bool,
    kinds: &'static [TransactionKind],
}

#[derive(Default)]
struct State {
    waiting: BinaryHeap<Waiting>,
    next_number: u64,
    /// Whether a worker watches the clock.
    watched: bool,
}

impl Pool {
    pub(crate) fn new(
        clients: Vec<Box<dyn Client>>,
        kinds: &'static [TransactionKind],
        paced: bool,
        seed: Seed,
    ) -> Self {
        let pool = Self {
            state: Mutex::default(),
            first_due: Condvar::new(),
            watcher_free: Condvar::new(),
            paced,
            kinds,
        };
        let now = Instant::now();
        for (number, client) in (0..).zip(clients) {
            let mut terminal = Terminal {
                client,
                kind: 0,
                generator: seed.derive("operator", number).generator(),
            };
            let due = now + pool.first_submission(&mut terminal);
            pool.submit(due, terminal);
        }
        pool
    }

    /// When an operator submits first. They are somewhere in their cycles when
    /// a run begins: as if they had been at work for [`SETTLING`] already, with
    /// answers that took no time. What they drew until then is not run.
    fn first_submission(&self, terminal: &mut Terminal) -> Duration {
        let mut at = self.think(None, terminal);
        while self.paced && at < SETTLING {
            at += self.think(self.kinds[terminal.kind].pace, terminal);
        }
        at.saturating_sub(SETTLING)
    }

    /// Terminals that are due and wait for a connection.
    pub(crate) fn waiting_at(&self, now: Instant) -> u64 {
        let state = lock(&self.state);
        let due = state.waiting.iter().filter(|waiting| waiting.due <= now);
        due.count() as u64
    }

    /// The terminal that is due first, once it is; `None` when stopped.
    pub(crate) fn take(&self, stopped: impl Fn() -> bool) -> Option<Waiting> {
        let mut state = lock(&self.state);
        while !stopped() {
            let now = Instant::now();
            let left = match state.waiting.peek() {
                Some(first) if first.due <= now => {
                    let first = state.waiting.pop();
                    if !state.watched {
                        self.watcher_free.notify_one();
                    }
                    return first;
                }
                Some(first) => (first.due - now).min(STOP_POLL_INTERVAL),
                None => STOP_POLL_INTERVAL,
            };
            if state.watched {
                state = wait(&self.watcher_free, state, STOP_POLL_INTERVAL);
            } else {
                state.watched = true;
                state = wait(&self.first_due, state, left);
                state.watched = false;
            }
        }
        None
    }

    /// Gives a terminal back whose transaction was submitted at `submitted`
    /// and has just ended.
    pub(crate) fn give_back(&self, submitted: Instant, mut terminal: Terminal) {
        let kind = &self.kinds[terminal.kind];
        // Whoever defers a transaction does not wait for its end.
        let answered = if kind.deferred {
            submitted
        } else {
            Instant::now()
        };
        let thought = self.think(kind.pace, &mut terminal);
        self.submit(answered + thought, terminal);
    }

    /// What all terminals have run.
    pub(crate) fn audit(&self) -> Audit {
        let mut audit = Audit::default();
        for waiting in &lock(&self.state).waiting {
            audit.merge(&waiting.terminal.client.audit());
        }
        audit
    }

    /// Draws the next transaction. Returns the time until it is submitted: thinking about the
    /// last one and keying in the new.
    fn think(&self, last: Option<Pace>, terminal: &mut Terminal) -> Duration {
        terminal.kind = terminal.client.draw();
        if !self.paced {
            return Duration::ZERO;
        }
        let next = self.kinds[terminal.kind].pace;
        let thinking = last.or(next).map_or(Duration::ZERO, |pace| {
            let drawn = exponential(&mut terminal.generator);
            pace.think_mean
                .mul_f64(drawn.min(f64::from(Pace::THINK_CUT)))
        });
        thinking + next.map_or(Duration::ZERO, |pace| pace.keying)
    }

    fn submit(&self, due: Instant, terminal: Terminal) {
        let mut state = lock(&self.state);
        let is_first = state.waiting.peek().is_none_or(|first| due < first.due);
        let number = state.next_number;
        state.next_number += 1;
        state.waiting.push(Waiting {
            due,
            number,
            terminal,
        });
        if is_first {
            self.first_due.notify_one();
        }
    }

    /// When the first terminal that waits is due.
    #[cfg(test)]
    pub(crate) fn next_due(&self) -> Option<Instant> {
        lock(&self.state).waiting.peek().map(|first| first.due)
    }
}

fn wait<'s>(
    on: &Condvar,
    state: MutexGuard<'s, State>,
    longest: Duration,
) -> MutexGuard<'s, State> {
    on.wait_timeout(state, longest)
        .unwrap_or_else(PoisonError::into_inner)
        .0
}
