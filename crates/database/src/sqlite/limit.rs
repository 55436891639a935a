//! Ends statements of the user's own that take too long. SQLite itself has no limit of time.

#![expect(unsafe_code, reason = "SQLite is a library of C")]

use std::{
    cell::Cell,
    ffi::{c_int, c_void},
    ptr,
    time::{Duration, Instant},
};

use rusqlite::{Connection, ffi};

/// A statement that takes longer ends in an error, as on PostgreSQL.
const STATEMENT_LIMIT: Duration = Duration::from_secs(60);

/// Instructions of SQLite's virtual machine between two looks at the clock: some milliseconds.
const LOOK_INSTRUCTIONS: c_int = 100_000;

/// A connection's limit. It has to be dropped after the connection.
pub(crate) struct Limit {
    until: Box<Cell<Option<Instant>>>,
}

impl Limit {
    /// Puts a connection under a limit, which holds once a statement [begins](Self::begin).
    pub(crate) fn of(connection: &Connection) -> Self {
        unsafe extern "C" fn look(until: *mut c_void) -> c_int {
            // SAFETY: the handler was set with a cell that outlives the connection, which one
            // thread uses at a time.
            let until = unsafe { &*until.cast::<Cell<Option<Instant>>>() };
            c_int::from(until.get().is_some_and(|until| Instant::now() >= until))
        }
        let until = Box::new(Cell::new(None));
        // SAFETY: the connection is open; the cell has a place of its own and is dropped later.
        unsafe {
            ffi::sqlite3_progress_handler(
                connection.handle(),
                LOOK_INSTRUCTIONS,
                Some(look),
                ptr::from_ref(&*until).cast_mut().cast(),
            );
        }
        Self { until }
    }

    /// A statement begins.
    pub(crate) fn begin(&self) {
        self.until.set(Instant::now().checked_add(STATEMENT_LIMIT));
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
        let limit = Limit::of(&connection);
        // As if it had begun long ago.
        limit.until.set(Some(Instant::now()));
        let endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) \
                       SELECT count(*) FROM n";
        let failure = connection.query_row(endless, [], |_| Ok(())).unwrap_err();
        let error = sort(failure, || "run a statement".into());
        assert!(matches!(error, ConnectionError::Timeout(_)), "{error:?}");
        limit.begin();
        connection.query_row("SELECT 1", [], |_| Ok(())).unwrap();
    }
}
