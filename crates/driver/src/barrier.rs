//! Where the threads of a run wait for each other.

use std::{
    sync::{Condvar, Mutex, PoisonError},
    time::Duration,
};

use super::recorder::lock;

/// A place where all workers wait until the one who leads lets them go. A
/// worker that ends, by an error or a panic, is waited for no longer.
#[derive(Debug, Default)]
pub(crate) struct Barrier {
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
    opened: bool,
}

/// A worker's participantship; it leaves when this is dropped.
#[derive(Debug)]
pub(crate) struct Participant<'a>(&'a Barrier);

impl Barrier {
    /// Expects one more worker from now on.
    pub(crate) fn join(&self) -> Participant<'_> {
        lock(&self.state).expected += 1;
        Participant(self)
    }

    /// Waits until all workers that have not left are here.
    pub(crate) fn wait_for_all(&self) {
        self.wait_for_all_within(Duration::MAX);
    }

    /// Waits for at most `longest`; whether all workers that have not left are
    /// here.
    pub(crate) fn wait_for_all_within(&self, longest: Duration) -> bool {
        let state = lock(&self.state);
        let (state, _) = self
            .changed
            .wait_timeout_while(state, longest, |state| state.arrived < state.expected)
            .unwrap_or_else(PoisonError::into_inner);
        state.arrived >= state.expected
    }

    /// Lets all workers go on, those that come later as well.
    pub(crate) fn open(&self) {
        lock(&self.state).opened = true;
        self.changed.notify_all();
    }

    /// Lets all workers that are here go on.
    pub(crate) fn release(&self) {
        let mut state = lock(&self.state);
        state.arrived = 0;
        state.turn += 1;
        self.changed.notify_all();
    }
}

impl Participant<'_> {
    /// Waits until let go.
    pub(crate) fn wait(&self) {
        let mut state = lock(&self.0.state);
        let turn = state.turn;
        state.arrived += 1;
        self.0.changed.notify_all();
        let _let_go = self
            .0
            .changed
            .wait_while(state, |state| state.turn == turn && !state.opened)
            .unwrap_or_else(PoisonError::into_inner);
    }
}

impl Drop for Participant<'_> {
    fn drop(&mut self) {
        lock(&self.0.state).expected -= 1;
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
        let barrier = Barrier::default();
        let passed = AtomicU32::new(0);
        thread::scope(|scope| {
            for worker in 0..4 {
                let participant = barrier.join();
                let passed = &passed;
                scope.spawn(move || {
                    participant.wait();
                    passed.fetch_add(1, Ordering::SeqCst);
                    // One ends early.
                    if worker > 0 {
                        participant.wait();
                        passed.fetch_add(1, Ordering::SeqCst);
                    }
                });
            }
            barrier.wait_for_all();
            assert_eq!(passed.load(Ordering::SeqCst), 0);
            barrier.release();
            barrier.wait_for_all();
            assert_eq!(passed.load(Ordering::SeqCst), 4);
            barrier.release();
        });
        assert_eq!(passed.load(Ordering::SeqCst), 7);
    }
}
