//! Reading a cluster at rest: a server of its own, for one session.

use octavo_units::ByteCount;
use octavo_workload::{ConnectionError, Workload, connection::RowVisitor, schema::Table};

use super::{
    cluster::{Cluster, Role},
    session::Session,
};
use crate::{Inspection, Result, at_rest::AtRest, ddl::select};

/// The buffer of a server that only looks.
const BUFFER: ByteCount = ByteCount::mib(64);

/// Starts a server on the cluster, which is stopped, and whose files' pages are
/// forgotten, in the end.
pub(super) fn open(cluster: Cluster, workload: &dyn Workload) -> Result<AtRest<Session>> {
    let server = cluster.start(
        &[
            ("shared_buffers", format!("{}kB", BUFFER.get() >> 10)),
            ("autovacuum", "off".into()),
            // Errors of statements may have the user's values in them.
            ("log_min_messages", "log".into()),
        ],
        None,
    )?;
    let options = [("default_transaction_read_only", "on".into())];
    let mut session = server.connect_as(Role::of(workload), &options)?;
    session.prepare_all(workload.statements())?;
    let end = move || {
        // Nothing was written that would be missed; a server that does not
        // stop is ended.
        let _stopped = server.stop();
    };
    Ok(AtRest::new(session, Some(Box::new(end))))
}

/// Through a session that may only read, of a server that is not ours to stop.
pub(super) fn through(mut session: Session, workload: &dyn Workload) -> Result<AtRest<Session>> {
    session.prepare_all(workload.statements())?;
    Ok(AtRest::new(session, None))
}

impl Inspection for Session {
    fn scan(&mut self, table: &Table, visit: &mut RowVisitor<'_>) -> Result<u64, ConnectionError> {
        let kinds = table.kinds();
        Session::scan(self, &select(table), &kinds, visit)
    }
}
