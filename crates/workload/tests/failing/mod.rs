//! A connection that meets a conflict once its calls are used up.

use octavo_workload::{
    Connection, ConnectionError,
    connection::{Access, Conflict, RowVisitor, StatementId, Value},
};

use crate::sqlite::Sqlite;

pub(crate) struct Failing<'c> {
    pub(crate) inner: &'c mut Sqlite,
    pub(crate) calls_left: u32,
}

impl Failing<'_> {
    fn call(&mut self) -> Result<&mut Sqlite, ConnectionError> {
        match self.calls_left.checked_sub(1) {
            Some(left) => {
                self.calls_left = left;
                Ok(self.inner)
            }
            None => Err(ConnectionError::Conflict {
                kind: Conflict::Deadlock,
                source: "planted".into(),
            }),
        }
    }
}

impl Connection for Failing<'_> {
    fn begin(&mut self, access: Access) -> Result<(), ConnectionError> {
        self.call()?.begin(access)
    }

    fn commit(&mut self) -> Result<(), ConnectionError> {
        self.call()?.commit()
    }

    fn rollback(&mut self) -> Result<(), ConnectionError> {
        self.inner.rollback()
    }

    fn execute(
        &mut self,
        statement: StatementId,
        parameters: &[Value<'_>],
    ) -> Result<u64, ConnectionError> {
        self.call()?.execute(statement, parameters)
    }

    fn query(
        &mut self,
        statement: StatementId,
        parameters: &[Value<'_>],
        visit: &mut RowVisitor<'_>,
    ) -> Result<u64, ConnectionError> {
        self.call()?.query(statement, parameters, visit)
    }
}
