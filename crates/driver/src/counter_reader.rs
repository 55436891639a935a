//! The database's counters, read by a thread of its own: a server that stands
//! still does not answer, and who keeps the time must not wait for it.

use std::{
    io,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread::{self, Scope},
    time::Duration,
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
pub(crate) struct CounterReader(Arc<Desk>);

#[derive(Default)]
struct Desk {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    counters: Counters,
    /// Readings asked for, and how many of these the last one answers.
    asked: u64,
    answered: u64,
    ended: bool,
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
        let desk = Arc::new(Desk::default());
        desk.lock().counters = counters;
        let reader = Self(Arc::clone(&desk));
        let thread = thread::Builder::new().spawn_scoped(scope, move || desk.serve(database));
        if let Err(error) = thread {
            reader.0.end();
            fail(error);
        }
        reader
    }

    /// What is read from now on, if it is there within `patience`; else what
    /// was read before.
    pub(crate) fn read(&self, patience: Duration) -> Reading {
        let mut state = self.0.lock();
        state.asked += 1;
        let number = state.asked;
        self.0.changed.notify_all();
        let (state, _) = self
            .0
            .changed
            .wait_timeout_while(state, patience, |state| {
                state.answered < number && !state.ended
            })
            .unwrap_or_else(PoisonError::into_inner);
        Reading {
            counters: state.counters,
            is_fresh: state.answered >= number,
        }
    }
}

impl Drop for CounterReader {
    fn drop(&mut self) {
        self.0.end();
    }
}

impl Desk {
    fn serve(&self, database: &dyn Running) {
        // A panic, a bug of ours, must not leave anyone waiting.
        let _guard = EndOnDrop(self);
        let mut state = self.lock();
        loop {
            state = self
                .changed
                .wait_while(state, |state| state.answered == state.asked && !state.ended)
                .unwrap_or_else(PoisonError::into_inner);
            if state.ended {
                return;
            }
            let number = state.asked;
            drop(state);
            let counters = database.counters();
            state = self.lock();
            state.counters = counters;
            state.answered = number;
            self.changed.notify_all();
        }
    }

    fn end(&self) {
        self.lock().ended = true;
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing under the lock panics.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct EndOnDrop<'a>(&'a Desk);

impl Drop for EndOnDrop<'_> {
    fn drop(&mut self) {
        self.0.end();
    }
}
