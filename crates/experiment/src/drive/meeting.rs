//! Where the threads of a run wait for each other.

use std::{
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

/// A place where all workers wait until the one who leads lets them go. A
/// worker that ends, by an error or a panic, is waited for no longer.
#[derive(Debug, Default)]
pub(super) struct Meeting {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    expected: usize,
    arrived: usize,
    /// How often the workers were let go.
    turn: u64,
    /// Whether nobody waits any more.
    disbanded: bool,
}

/// A worker's membership; it leaves when this is dropped.
#[derive(Debug)]
pub(super) struct Member<'a>(&'a Meeting);

impl Meeting {
    /// Expects one more worker from now on.
    pub(super) fn join(&self) -> Member<'_> {
        self.lock().expected += 1;
        Member(self)
    }

    /// Waits until all workers that have not left are here.
    pub(super) fn gather(&self) {
        let mut state = self.lock();
        while state.arrived < state.expected {
            state = self.wait(state);
        }
    }

    /// Waits for at most `longest`; whether all workers that have not left are
    /// here.
    pub(super) fn gather_within(&self, longest: Duration) -> bool {
        let state = self.lock();
        let (state, _) = self
            .changed
            .wait_timeout_while(state, longest, |state| state.arrived < state.expected)
            .unwrap_or_else(PoisonError::into_inner);
        state.arrived >= state.expected
    }

    /// Lets all workers go on, those that come later as well.
    pub(super) fn disband(&self) {
        self.lock().disbanded = true;
        self.changed.notify_all();
    }

    /// Lets all workers that are here go on.
    pub(super) fn release(&self) {
        let mut state = self.lock();
        state.arrived = 0;
        state.turn += 1;
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing under the lock panics.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'s>(&self, state: MutexGuard<'s, State>) -> MutexGuard<'s, State> {
        self.changed
            .wait(state)
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl Member<'_> {
    /// Waits until let go.
    pub(super) fn attend(&self) {
        let mut state = self.0.lock();
        let turn = state.turn;
        state.arrived += 1;
        self.0.changed.notify_all();
        while state.turn == turn && !state.disbanded {
            state = self.0.wait(state);
        }
    }
}

impl Drop for Member<'_> {
    fn drop(&mut self) {
        self.0.lock().expected -= 1;
        self.0.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::{
        sync::atomic::{AtomicU32, Ordering},
        thread,
    };

    use super::*;

    #[test]
    fn nobody_passes_before_all_have_come_or_left() {
        let meeting = Meeting::default();
        let passed = AtomicU32::new(0);
        thread::scope(|scope| {
            for worker in 0..4 {
                let member = meeting.join();
                let passed = &passed;
                scope.spawn(move || {
                    member.attend();
                    passed.fetch_add(1, Ordering::SeqCst);
                    // One ends early.
                    if worker > 0 {
                        member.attend();
                        passed.fetch_add(1, Ordering::SeqCst);
                    }
                });
            }
            meeting.gather();
            assert_eq!(passed.load(Ordering::SeqCst), 0);
            meeting.release();
            meeting.gather();
            assert_eq!(passed.load(Ordering::SeqCst), 4);
            meeting.release();
        });
        assert_eq!(passed.load(Ordering::SeqCst), 7);
    }
}
