//! The database's counters, read by a thread of its own: a server that stands
//! still does not answer, and who keeps the time must not wait for it.

use std::{
    io,
    sync::mpsc::{self, Receiver, Sender},
    thread::{self, Scope},
    time::{Duration, Instant},
};

use octavo_database::{Counters, Running};

/// What was read last.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reading {
    pub(crate) counters: Counters,
    /// Whether it was read since it was asked for.
    pub(crate) is_fresh: bool,
}

/// Asks the thread, which ends when this is dropped.
pub(crate) struct CounterReader {
    ask: Sender<u64>,
    answer: Receiver<(u64, Counters)>,
    /// How often it was asked.
    asked: u64,
    /// What was read last.
    counters: Counters,
}

impl CounterReader {
    /// How long a look waits: some times what a busy server takes, and less
    /// than the stalls that a run is to show.
    pub(crate) const PATIENCE: Duration = Duration::from_millis(100);

    /// Starts the thread, or fails the run; what was read before is `counters`.
    pub(crate) fn start<'scope>(
        scope: &'scope Scope<'scope, '_>,
        database: &'scope dyn Running,
        counters: Counters,
        fail: impl FnOnce(io::Error),
    ) -> Self {
        let (ask, asked) = mpsc::channel();
        let (answers, answer) = mpsc::channel();
        let serve = move || {
            while let Ok(number) = asked.recv() {
                // One reading answers all who have asked until then.
                let number = asked.try_iter().last().unwrap_or(number);
                if answers.send((number, database.counters())).is_err() {
                    return;
                }
            }
        };
        if let Err(error) = thread::Builder::new().spawn_scoped(scope, serve) {
            fail(error);
        }
        Self {
            ask,
            answer,
            asked: 0,
            counters,
        }
    }

    /// What is read from now on, if it is there within `patience`; else what
    /// was read before.
    pub(crate) fn read(&mut self, patience: Duration) -> Reading {
        self.asked += 1;
        // Without a thread there is no answer.
        let _unheard = self.ask.send(self.asked);
        let begin = Instant::now();
        let mut is_fresh = false;
        while !is_fresh {
            let left = patience.saturating_sub(begin.elapsed());
            let Ok((number, counters)) = self.answer.recv_timeout(left) else {
                break;
            };
            self.counters = counters;
            is_fresh = number == self.asked;
        }
        Reading {
            counters: self.counters,
            is_fresh,
        }
    }
}
