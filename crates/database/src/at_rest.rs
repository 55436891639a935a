//! Reading a database while nobody else uses it: through one session, of a
//! server that may have been started for it.

use octavo_workload::{
    Connection, ConnectionError, Result,
    connection::{Access, Batch, BatchVisitor, RowVisitor, StatementId, Value},
    schema::Table,
};

/// A database at rest that is read.
pub trait Inspection: Connection {
    /// Hands over all rows of `table`, in no particular order, and returns how
    /// many there were. The columns come in the table's order, decimals with
    /// their column's scale.
    ///
    /// # Errors
    /// As [`Connection::query`].
    fn scan(&mut self, table: &Table, visit: &mut RowVisitor<'_>) -> Result<u64, ConnectionError>;
}

/// A session that only reads, and how to clean up once it is gone, such as by
/// ending the server that was started for it.
pub(crate) struct AtRest<S> {
    session: Option<S>,
    end: Option<Box<dyn FnOnce()>>,
}

impl<S: Inspection> AtRest<S> {
    /// Through `session`, which may only read. `end` is called after it was
    /// dropped.
    pub(crate) fn new(session: S, end: Option<Box<dyn FnOnce()>>) -> Self {
        Self {
            session: Some(session),
            end,
        }
    }

    fn session(&mut self) -> &mut S {
        self.session.as_mut().expect("it leaves in `drop` alone")
    }
}

impl<S: Inspection> Connection for AtRest<S> {
    fn begin(&mut self, _: Access) -> Result<()> {
        // Writing statements fail by themselves.
        self.session().begin(Access::Read)
    }

    fn commit(&mut self) -> Result<()> {
        self.session().commit()
    }

    fn rollback(&mut self) -> Result<()> {
        self.session().rollback()
    }

    fn execute(&mut self, statement: StatementId, parameters: &[Value<'_>]) -> Result<u64> {
        self.session().execute(statement, parameters)
    }

    fn query(
        &mut self,
        statement: StatementId,
        parameters: &[Value<'_>],
        visit: &mut RowVisitor<'_>,
    ) -> Result<u64> {
        self.session().query(statement, parameters, visit)
    }

    fn run_batch(
        &mut self,
        batch: &Batch<'_>,
        visit: &mut BatchVisitor<'_>,
        counts: &mut Vec<u64>,
    ) -> Result<()> {
        self.session().run_batch(batch, visit, counts)
    }
}

impl<S: Inspection> Inspection for AtRest<S> {
    fn scan(&mut self, table: &Table, visit: &mut RowVisitor<'_>) -> Result<u64> {
        self.session().scan(table, visit)
    }
}

impl<S> Drop for AtRest<S> {
    fn drop(&mut self) {
        drop(self.session.take());
        if let Some(end) = self.end.take() {
            end();
        }
    }
}
