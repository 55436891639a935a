//! Clients' sessions that can be asked to report what they counted.
//!
//! By itself a session reports once a second at most, and what is left 10 s
//! after it fell idle
//! (<https://www.postgresql.org/docs/15/monitoring-stats.html>,
//! `PGSTAT_MIN_INTERVAL` and `PGSTAT_IDLE_INTERVAL` in pgstat.c): of a slice of a
//! second most would be missing, and come while nobody looks.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use octavo_workload::{
    Connection, Result,
    connection::{Access, Batch, BatchVisitor, RowVisitor, StatementId, Value},
};

use super::session::Session;

/// Has a session report at the end of this very statement, from version 15 on.
pub(super) const REPORT: &str = "SELECT pg_stat_force_next_flush()";

/// The first version with [`REPORT`].
pub(super) const MAJOR_MIN: u32 = 15;

/// The sessions of all clients that are connected.
#[derive(Default)]
pub(super) struct Sessions(Mutex<Vec<Weak<Mutex<Session>>>>);

impl Sessions {
    /// Hands a session to a client.
    pub(super) fn share(&self, session: Session) -> Shared {
        let session = Arc::new(Mutex::new(session));
        let mut all = lock(&self.0);
        all.retain(|session| session.strong_count() > 0);
        all.push(Arc::downgrade(&session));
        Shared(session)
    }

    /// Has all sessions report. No session may be in a transaction.
    pub(super) fn report(&self) -> Result<()> {
        let all: Vec<_> = lock(&self.0).iter().filter_map(Weak::upgrade).collect();
        all.iter()
            .map(|session| lock(session))
            // One that is lost reported when it ended.
            .filter(|session| session.usable().is_ok())
            .try_for_each(|mut session| session.simple(REPORT))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A client's session.
pub(super) struct Shared(Arc<Mutex<Session>>);

impl Connection for Shared {
    fn begin(&mut self, access: Access) -> Result<()> {
        lock(&self.0).begin(access)
    }

    fn commit(&mut self) -> Result<()> {
        lock(&self.0).commit()
    }

    fn rollback(&mut self) -> Result<()> {
        lock(&self.0).rollback()
    }

    fn execute(&mut self, statement: StatementId, parameters: &[Value<'_>]) -> Result<u64> {
        lock(&self.0).execute(statement, parameters)
    }

    fn query(
        &mut self,
        statement: StatementId,
        parameters: &[Value<'_>],
        visit: &mut RowVisitor<'_>,
    ) -> Result<u64> {
        lock(&self.0).query(statement, parameters, visit)
    }

    fn run_batch(
        &mut self,
        batch: &Batch<'_>,
        visit: &mut BatchVisitor<'_>,
        counts: &mut Vec<u64>,
    ) -> Result<()> {
        lock(&self.0).run_batch(batch, visit, counts)
    }
}
