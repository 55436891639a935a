//! The counters of a server that others may end and start, and whose sessions they may
//! end: over another session they go on.

use std::{
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use crate::{Counters, Result, server::monitor::Monitor};

/// Between two tries to open another session.
const EVERY: Duration = Duration::from_millis(200);

/// Counters that none of a server's ends sets back. What it did while it could not be
/// asked is in them only where it went on counting.
pub(crate) struct Counted {
    watched: Mutex<Watched>,
    open: Box<dyn Fn() -> Result<Monitor> + Send + Sync>,
}

struct Watched {
    monitor: Monitor,
    /// What the monitor's own counters began with, where they begin anew.
    first: Counters,
    /// What was counted before.
    before: Counters,
    tried: Instant,
}

impl Counted {
    /// Over a first session, and others that are opened so.
    ///
    /// # Errors
    /// When the first one cannot be opened.
    pub(crate) fn by(open: impl Fn() -> Result<Monitor> + Send + Sync + 'static) -> Result<Self> {
        Ok(Self {
            watched: Mutex::new(Watched {
                monitor: open()?,
                first: Counters::default(),
                before: Counters::default(),
                tried: Instant::now(),
            }),
            open: Box::new(open),
        })
    }

    /// The counters, none less than it was before.
    pub(crate) fn counters(&self) -> Counters {
        let mut watched = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
        let read = watched.monitor.counters();
        let counted = watched.before + (read - watched.first);
        if !watched.monitor.is_gone() || watched.tried.elapsed() < EVERY {
            return counted;
        }
        if let Ok(monitor) = (self.open)() {
            let now = monitor.counters();
            // A server that went on counts more than before.
            if now.max(read) != now {
                (watched.before, watched.first) = (counted, now);
            }
            watched.monitor = monitor;
        }
        watched.tried = Instant::now();
        watched.before + (watched.monitor.counters() - watched.first)
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::VecDeque, sync::Arc, thread};

    use octavo_workload::ConnectionError;

    use super::*;

    fn reads(reads: u64) -> Counters {
        Counters {
            reads,
            ..Counters::default()
        }
    }

    #[test]
    fn counters_go_on_over_sessions_and_servers() {
        // Each session's readings, after which it is lost.
        let sessions = Arc::new(Mutex::new(VecDeque::from([
            vec![10, 15],
            // The same server, and one that counts from the beginning.
            vec![30, 31],
            vec![2, 2, 5],
        ])));
        let open = move || {
            let mut readings: VecDeque<u64> = sessions
                .lock()
                .unwrap()
                .pop_front()
                .ok_or(ConnectionError::Lost("no server".into()))?
                .into();
            Ok(Monitor::new(Counters::default(), None, move || {
                let next = readings.pop_front();
                next.map(reads).ok_or(ConnectionError::Lost("gone".into()))
            }))
        };
        let counted = Counted::by(open).unwrap();
        let mut seen = Vec::new();
        for _ in 0..9 {
            seen.push(counted.counters().reads);
            thread::sleep(EVERY);
        }
        assert!(seen.is_sorted(), "{seen:?}");
        // 10, 15, lost and 31 over the second, lost and begun anew, 3 more, gone for good.
        assert_eq!(seen[..3], [10, 15, 31], "{seen:?}");
        assert_eq!(seen.last(), Some(&34), "{seen:?}");
    }
}
