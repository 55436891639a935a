//! Reading a data directory at rest: a server of its own, for one session.

use std::time::Duration;

use octavo_units::PageSize;
use octavo_workload::{
    Connection, ConnectionError, Workload,
    connection::{Access, Batch, BatchVisitor, RowVisitor, StatementId, Value},
    schema::{ColumnKind, Table},
};

use super::{
    Flavour,
    arguments::Purpose,
    ddl,
    instance::{Instance, Layout, session_setup},
    programs::Programs,
    session::Session,
};
use crate::{
    DatabaseError, Inspection,
    server::{account::Account, tree},
};

/// A session that only reads. A server that was started for it is stopped, and
/// its files' pages are forgotten, when it is dropped.
pub(super) struct MysqlInspection {
    /// Gone before the server is stopped.
    session: Option<Session>,
    at_rest: Option<(Instance, Layout)>,
}

impl MysqlInspection {
    pub(super) fn open(
        programs: &Programs,
        layout: Layout,
        page_size: PageSize,
        workload: &dyn Workload,
    ) -> Result<Self, DatabaseError> {
        let account = Account::of_servers()?;
        let (instance, first) = Instance::start(
            programs,
            &layout,
            page_size,
            &Purpose::Rest,
            account.as_ref(),
        )?;
        drop(first);
        let session = instance.session(Some(ddl::DATABASE), &setup(programs.version.flavour))?;
        let mut inspection = Self::through(session, workload)?;
        inspection.at_rest = Some((instance, layout));
        Ok(inspection)
    }

    /// Through a session that [`setup`] was run in, of a server that is not
    /// ours to stop.
    pub(super) fn through(
        mut session: Session,
        workload: &dyn Workload,
    ) -> Result<Self, DatabaseError> {
        // In this order: what writes could not even be prepared behind it.
        session.prepare_all(workload.statements())?;
        session.simple("SET SESSION TRANSACTION READ ONLY")?;
        Ok(Self {
            session: Some(session),
            at_rest: None,
        })
    }

    fn session(&mut self) -> &mut Session {
        self.session.as_mut().expect("it leaves in `drop` alone")
    }
}

/// What a session that reads is set to. A check joins whole tables: it takes
/// the time that it takes.
pub(super) fn setup(flavour: Flavour) -> Vec<String> {
    session_setup(flavour, "REPEATABLE READ", Duration::ZERO)
}

impl Connection for MysqlInspection {
    fn begin(&mut self, _: Access) -> Result<(), ConnectionError> {
        // Writing statements fail by themselves.
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

impl Inspection for MysqlInspection {
    fn scan(&mut self, table: &Table, visit: &mut RowVisitor<'_>) -> Result<u64, ConnectionError> {
        let kinds: Vec<ColumnKind> = table.columns.iter().map(|column| column.kind).collect();
        self.session().scan(&ddl::select(table), &kinds, visit)
    }
}

impl Drop for MysqlInspection {
    fn drop(&mut self) {
        drop(self.session.take());
        if let Some((instance, layout)) = self.at_rest.take() {
            // A server that does not stop well is killed, and recovers at its
            // next start; nothing was changed.
            let _stopped = instance.stop();
            let _kept_in_memory = tree::forget(&layout.directory);
        }
    }
}
