//! Ends statements of the user's own that take too long, or that nobody waits for any longer. SQLite
//! itself has no limit of time.

#![expect(unsafe_code, reason = "SQLite is a library of C")]

use std::{
    cell::Cell,
    ffi::{c_int, c_void},
    ptr,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use rusqlite::{Connection, ffi};

/// A statement that takes longer ends in an error, as on PostgreSQL.
const STATEMENT_LIMIT: Duration = Duration::from_secs(60);

/// Instructions of SQLite's virtual machine between two looks at the clock: some milliseconds.
const LOOK_INSTRUCTIONS: c_int = 100_000;

/// A connection's limit. It has to be dropped after the connection.
pub(crate) struct Limit {
    watch: Box<Watch>,
}

/// When statements end.
struct Watch {
    until: Cell<Option<Instant>>,
    /// Whether nobody waits for them.
    stop: Arc<AtomicBool>,
}

impl Limit {
    /// Puts a connection under a limit, which holds once a statement [begins](Self::begin), and ends
    /// all of them once `stop` is set.
    pub(crate) fn of(connection: &Connection, stop: Arc<AtomicBool>) -> Self {
        unsafe extern "C" fn look(watch: *mut c_void) -> c_int {
            // SAFETY: the handler was set with a watch that outlives the connection, which one
            // thread uses at a time.
            let Watch { until, stop } = unsafe { &*watch.cast::<Watch>() };
            let is_late = until.get().is_some_and(|until| Instant::now() >= until);
            c_int::from(is_late || stop.load(Ordering::Relaxed))
        }
        let watch = Box::new(Watch {
            until: Cell::new(None),
            stop,
        });
        // SAFETY: the connection is open; the watch has a place of its own and is dropped later.
        unsafe {
            ffi::sqlite3_progress_handler(
                connection.handle(),
                LOOK_INSTRUCTIONS,
                Some(look),
                ptr::from_ref(&*watch).cast_mut().cast(),
            );
        }
        Self { watch }
    }

    /// A statement begins.
    pub(crate) fn begin(&self) {
        self.watch
            .until
            .set(Instant::now().checked_add(STATEMENT_LIMIT));
    }
}

#[cfg(test)]
mod tests {
    use octavo_workload::ConnectionError;

    use super::*;
    use crate::sqlite::failure::sort;

    #[test]
    fn a_statement_without_end_ends() {
        let connection = Connection::open_in_memory().unwrap();
        let stop = Arc::<AtomicBool>::default();
        let limit = Limit::of(&connection, Arc::clone(&stop));
        let endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) \
                       SELECT count(*) FROM n";
        let ends = || {
            let failure = connection.query_row(endless, [], |_| Ok(())).unwrap_err();
            let error = sort(failure, || "run a statement".into());
            assert!(matches!(error, ConnectionError::Timeout(_)), "{error:?}");
        };
        // As if it had begun long ago.
        limit.watch.until.set(Some(Instant::now()));
        ends();
        limit.begin();
        connection.query_row("SELECT 1", [], |_| Ok(())).unwrap();
        // Nobody waits for it.
        stop.store(true, Ordering::Relaxed);
        ends();
    }
}
