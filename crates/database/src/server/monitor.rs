//! What a server counts while clients work, and after it is gone.

use std::sync::{Mutex, MutexGuard, PoisonError};

use octavo_workload::Result;

use super::descendants;
use crate::Counters;

/// Asks the server for its counters, over a session of its own.
type Read = Box<dyn FnMut() -> Result<Counters> + Send>;

/// The session that reads counters, and what it read last.
pub(crate) struct Monitor(Mutex<Watched>);

struct Watched {
    /// Gone, and with it the session, once the server cannot be asked.
    read: Option<Read>,
    last: Counters,
    /// While the server is held still, and would not answer.
    paused: bool,
}

impl Monitor {
    /// Reads by `read`, which has read `last` before, with the CPU time of the
    /// server's processes where their first one is known.
    pub(crate) fn new(
        last: Counters,
        pid: Option<i32>,
        mut read: impl FnMut() -> Result<Counters> + Send + 'static,
    ) -> Self {
        let with_cpu_time = move |counters| Counters {
            cpu_time: pid.map(descendants::user_time).unwrap_or_default(),
            ..counters
        };
        Self(Mutex::new(Watched {
            read: Some(Box::new(move || read().map(with_cpu_time))),
            last: with_cpu_time(last),
            paused: false,
        }))
    }

    /// Stops reading the server's counters, or begins again. Waits for a reading in progress.
    pub(crate) fn pause(&self, paused: bool) {
        self.lock().paused = paused;
    }

    /// The counters, none less than it was before; of a server that is gone or
    /// held still the last ones.
    pub(crate) fn counters(&self) -> Counters {
        let mut watched = self.lock();
        let Watched { read, last, paused } = &mut *watched;
        match read.as_mut().filter(|_| !*paused).map(|read| read()) {
            Some(Ok(now)) => *last = last.max(now),
            Some(Err(_gone)) => *read = None,
            None => {}
        }
        *last
    }

    /// Whether the server could not be asked any more.
    pub(crate) fn is_gone(&self) -> bool {
        self.lock().read.is_none()
    }

    fn lock(&self) -> MutexGuard<'_, Watched> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use octavo_workload::ConnectionError;

    use super::*;

    fn reads(reads: u64) -> Counters {
        Counters {
            reads,
            ..Counters::default()
        }
    }

    #[test]
    fn the_last_counters_are_those_of_a_server_that_is_gone() {
        let mut asked = 0;
        let monitor = Monitor::new(reads(5), None, move || {
            asked += 1;
            match asked {
                1 => Ok(reads(7)),
                2 => Err(ConnectionError::Lost("gone".into())),
                _ => panic!("a server that is gone is asked"),
            }
        });
        monitor.pause(true);
        assert_eq!(monitor.counters(), reads(5), "nobody is asked");
        monitor.pause(false);
        assert_eq!(monitor.counters(), reads(7));
        assert!(!monitor.is_gone());
        assert_eq!(monitor.counters(), reads(7));
        assert!(monitor.is_gone());
        assert_eq!(monitor.counters(), reads(7));
    }
}
