//! Reading a cluster at rest: a server of its own, for one session.

use octavo_units::ByteCount;
use octavo_workload::{
    Connection, ConnectionError, Workload,
    connection::{Access, Batch, BatchVisitor, RowVisitor, StatementId, Value},
    schema::{ColumnKind, Table},
};

use super::{
    cluster::{Cluster, Started},
    ddl,
    session::Session,
};
use crate::{DatabaseError, Inspection};

/// The buffer of a server that only looks.
const BUFFER: ByteCount = ByteCount::mib(64);

/// A session that only reads. A server that was started for it is stopped, and
/// its files' pages are forgotten, when it is dropped.
pub(super) struct PostgresInspection {
    /// Gone before the server is stopped.
    session: Option<Session>,
    server: Option<Started>,
}

impl PostgresInspection {
    pub(super) fn open(cluster: Cluster, workload: &dyn Workload) -> Result<Self, DatabaseError> {
        let server = cluster.start(
            &[
                ("shared_buffers", format!("{}kB", BUFFER.get() >> 10)),
                ("autovacuum", "off".into()),
            ],
            None,
        )?;
        let session = server.connect(&[("default_transaction_read_only", "on".into())])?;
        let mut inspection = Self::through(session, workload)?;
        inspection.server = Some(server);
        Ok(inspection)
    }

    /// Through a session of a server that is not ours to stop.
    pub(super) fn through(
        mut session: Session,
        workload: &dyn Workload,
    ) -> Result<Self, DatabaseError> {
        session.prepare_all(workload.statements())?;
        Ok(Self {
            session: Some(session),
            server: None,
        })
    }

    fn session(&mut self) -> &mut Session {
        self.session.as_mut().expect("it leaves in `drop` alone")
    }
}

impl Connection for PostgresInspection {
    fn begin(&mut self, _: Access) -> Result<(), ConnectionError> {
        self.session().begin(Access::Read)
    }

    fn commit(&mut self) -> Result<(), ConnectionError> {
        self.session().commit()
    }

    fn rollback(&mut self) -> Result<(), ConnectionError> {
        self.session().rollback()
    }

    fn execute(
        &mut self,
        statement: StatementId,
        parameters: &[Value<'_>],
    ) -> Result<u64, ConnectionError> {
        self.session().execute(statement, parameters)
    }

    fn query(
        &mut self,
        statement: StatementId,
        parameters: &[Value<'_>],
        visit: &mut RowVisitor<'_>,
    ) -> Result<u64, ConnectionError> {
        self.session().query(statement, parameters, visit)
    }

    fn run_batch(
        &mut self,
        batch: &Batch<'_>,
        visit: &mut BatchVisitor<'_>,
        counts: &mut Vec<u64>,
    ) -> Result<(), ConnectionError> {
        self.session().run_batch(batch, visit, counts)
    }
}

impl Inspection for PostgresInspection {
    fn scan(&mut self, table: &Table, visit: &mut RowVisitor<'_>) -> Result<u64, ConnectionError> {
        let kinds: Vec<ColumnKind> = table.columns.iter().map(|column| column.kind).collect();
        self.session().scan(&ddl::select(table), &kinds, visit)
    }
}

impl Drop for PostgresInspection {
    fn drop(&mut self) {
        drop(self.session.take());
        if let Some(server) = self.server.take() {
            // Nothing was written that would be missed; a server that does not
            // stop is ended.
            let _stopped = server.stop();
        }
    }
}
