//! A connection that notes what is asked together, and can do something
//! between two exchanges.

use octavo_workload::{
    Connection, ConnectionError,
    connection::{
        Access, Batch, BatchVisitor, Call, RowVisitor, Statement, StatementId, Value, Wants,
    },
};

use crate::sqlite::Sqlite;

/// Called before each exchange, with those before it.
pub(crate) type Between<'c> = dyn FnMut(&mut Sqlite, &[Vec<StatementId>]) + 'c;

pub(crate) struct Watched<'c> {
    pub(crate) inner: &'c mut Sqlite,
    pub(crate) statements: &'static [Statement],
    /// The statements of each exchange since the last begin.
    pub(crate) exchanges: Vec<Vec<StatementId>>,
    pub(crate) between: Box<Between<'c>>,
}

impl<'c> Watched<'c> {
    pub(crate) fn new(inner: &'c mut Sqlite, statements: &'static [Statement]) -> Self {
        Self {
            inner,
            statements,
            exchanges: Vec::new(),
            between: Box::new(|_, _| {}),
        }
    }

    /// How many statements of the last transaction begin with `sql`.
    pub(crate) fn asked(&self, sql: &str) -> usize {
        let all = self.exchanges.iter().flatten();
        all.filter(|id| self.statements[id.0].sql.starts_with(sql))
            .count()
    }

    fn exchange(&mut self, statements: Vec<StatementId>) {
        (self.between)(self.inner, &self.exchanges);
        self.exchanges.push(statements);
    }
}

impl Connection for Watched<'_> {
    fn begin(&mut self, access: Access) -> Result<(), ConnectionError> {
        self.exchanges.clear();
        self.inner.begin(access)
    }

    fn commit(&mut self) -> Result<(), ConnectionError> {
        self.inner.commit()
    }

    fn rollback(&mut self) -> Result<(), ConnectionError> {
        self.inner.rollback()
    }

    fn execute(
        &mut self,
        statement: StatementId,
        parameters: &[Value<'_>],
    ) -> Result<u64, ConnectionError> {
        self.exchange(vec![statement]);
        self.inner.execute(statement, parameters)
    }

    fn query(
        &mut self,
        statement: StatementId,
        parameters: &[Value<'_>],
        visit: &mut RowVisitor<'_>,
    ) -> Result<u64, ConnectionError> {
        self.exchange(vec![statement]);
        self.inner.query(statement, parameters, visit)
    }

    fn run_batch(
        &mut self,
        batch: &Batch<'_>,
        visit: &mut BatchVisitor<'_>,
        counts: &mut Vec<u64>,
    ) -> Result<(), ConnectionError> {
        assert!(!batch.is_empty(), "an exchange for nothing");
        for Call {
            statement, wants, ..
        } in batch.calls()
        {
            let statement = &self.statements[statement.0];
            let is_query = !statement.result.is_empty();
            assert_eq!(wants == Wants::Rows, is_query, "{}", statement.sql);
        }
        self.exchange(batch.calls().map(|call| call.statement).collect());
        self.inner.run_batch(batch, visit, counts)
    }
}
