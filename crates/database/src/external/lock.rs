//! The lock that keeps two Octavos from working in one schema. A server keeps it for
//! a session, which may be ended by others: then it is taken again.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use crate::Result;

/// Between two looks whether the lock is still held.
const EVERY: Duration = Duration::from_millis(500);

/// The lock of a schema, in a session of type `S`.
pub(crate) struct Lock<S> {
    held: Mutex<Held<S>>,
    /// Opens a session that holds the lock; `None` while another Octavo does.
    take: Box<dyn Fn() -> Result<Option<S>> + Send + Sync>,
    /// Whether a session is still there.
    is_there: fn(&mut S) -> bool,
}

struct Held<S> {
    session: Option<S>,
    looked: Instant,
}

impl<S> Lock<S> {
    /// A lock that `session` holds.
    pub(crate) fn held_by(
        session: S,
        take: impl Fn() -> Result<Option<S>> + Send + Sync + 'static,
        is_there: fn(&mut S) -> bool,
    ) -> Self {
        Self {
            held: Mutex::new(Held {
                session: Some(session),
                looked: Instant::now(),
            }),
            take: Box::new(take),
            is_there,
        }
    }

    /// Takes the lock again when its session was lost; looks now and then, however
    /// often it is called. A server that is gone is asked again later.
    pub(crate) fn keep(&self) {
        let mut held = self.lock();
        if held.looked.elapsed() < EVERY {
            return;
        }
        if !held.session.as_mut().is_some_and(self.is_there) {
            held.session = None;
            // What holds it now may end, and a server that is gone return.
            held.session = (self.take)().ok().flatten();
        }
        held.looked = Instant::now();
    }

    /// Lets it go by `unlock`, if it is held.
    pub(crate) fn release(&self, unlock: impl FnOnce(&mut S)) {
        if let Some(session) = &mut self.lock().session {
            unlock(session);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Held<S>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::{
        sync::{
            Arc,
            atomic::{AtomicU32, Ordering},
        },
        thread,
    };

    use super::*;

    /// A session is there as long as the server counts it.
    struct Session(Arc<AtomicU32>);

    #[test]
    fn a_lock_that_is_lost_is_taken_again() {
        let there = Arc::new(AtomicU32::new(1));
        let (again, taken) = (Arc::clone(&there), Arc::new(AtomicU32::new(0)));
        let counted = Arc::clone(&taken);
        let take = move || {
            // First another Octavo has it.
            Ok((counted.fetch_add(1, Ordering::Relaxed) > 0).then(|| {
                again.store(1, Ordering::Relaxed);
                Session(Arc::clone(&again))
            }))
        };
        let is_there = |session: &mut Session| session.0.load(Ordering::Relaxed) > 0;
        let lock = Lock::held_by(Session(Arc::clone(&there)), take, is_there);
        let look = || {
            thread::sleep(EVERY);
            lock.keep();
            lock.keep();
            taken.load(Ordering::Relaxed)
        };
        assert_eq!(look(), 0, "it is held");
        there.store(0, Ordering::Relaxed);
        assert_eq!(look(), 1, "one look a time");
        assert_eq!(look(), 2);
        assert_eq!(look(), 2, "it is held again");
        let mut released = 0;
        lock.release(|_| released += 1);
        assert_eq!(released, 1);
    }
}
