//! Reads the database's counters on a thread of its own. A stalled server does not answer, and
//! the sampler must not wait for it.

use std::{
    io,
    sync::mpsc::{self, Receiver, Sender},
    thread::{self, Scope},
    time::{Duration, Instant},
};

use octavo_database::{Counters, Running};

/// The counters read last.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reading {
    pub(crate) counters: Counters,
    /// Whether they were read after the request.
    pub(crate) is_fresh: bool,
}

/// A handle to the thread, which ends when this is dropped.
pub(crate) struct CounterReader {
    ask: Sender<u64>,
    answer: Receiver<(u64, Counters)>,
    /// Requests so far.
    asked: u64,
    /// The counters read last.
    counters: Counters,
}

impl CounterReader {
    /// How long a poll waits: several times what a busy server takes, and less than the stalls
    /// that a run should show.
    pub(crate) const PATIENCE: Duration = Duration::from_millis(100);

    /// Starts the thread, or fails the run. `counters` were read before.
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

    /// Reads the counters anew. After `patience` it returns the previous ones.
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
