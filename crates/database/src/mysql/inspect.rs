//! Reading a data directory at rest: a server of its own, for one session.

use std::time::Duration;

use octavo_units::PageSize;
use octavo_workload::{
    Connection, ConnectionError, Workload,
    connection::{Access, Batch, BatchVisitor, RowVisitor, StatementId, Value},
    schema::{ColumnKind, Table},
};

use super::{
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

/// A session that only reads. Its server is stopped, and its files' pages are
/// forgotten, when it is dropped.
pub(super) struct MysqlInspection {
    /// Gone before the server is stopped.
    session: Option<Session>,
    instance: Option<Instance>,
    layout: Layout,
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
            None,
        )?;
        drop(first);
        // A check joins whole tables: it takes the time that it takes.
        let mut setup = session_setup(programs.version.flavour, "REPEATABLE READ", Duration::ZERO);
        setup.push("SET SESSION TRANSACTION READ ONLY".into());
        let mut session = instance.session(Some(ddl::DATABASE), &setup)?;
        session.prepare_all(workload.statements())?;
        Ok(Self {
            session: Some(session),
            instance: Some(instance),
            layout,
        })
    }

    fn session(&mut self) -> &mut Session {
        self.session.as_mut().expect("it leaves in `drop` alone")
    }
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
        // A server that does not stop well is killed, and recovers at its next
        // start; nothing was changed.
        let _stopped = self.instance.take().map(Instance::stop);
        let _kept_in_memory = tree::forget(&self.layout.directory);
    }
}
