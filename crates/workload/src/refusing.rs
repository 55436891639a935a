//! A connection for tests that answers at once: with a conflict.

use crate::connection::{
    Access, Conflict, Connection, ConnectionError, Result, RowVisitor, StatementId, Value,
};

/// Refuses all but to roll back.
pub(crate) struct RefusingConnection;

fn refused() -> ConnectionError {
    ConnectionError::Conflict {
        kind: Conflict::Deadlock,
        source: "planted".into(),
    }
}

impl Connection for RefusingConnection {
    fn begin(&mut self, _access: Access) -> Result<()> {
        Err(refused())
    }

    fn commit(&mut self) -> Result<()> {
        Err(refused())
    }

    fn rollback(&mut self) -> Result<()> {
        Ok(())
    }

    fn execute(&mut self, _statement: StatementId, _parameters: &[Value<'_>]) -> Result<u64> {
        Err(refused())
    }

    fn query(
        &mut self,
        _statement: StatementId,
        _parameters: &[Value<'_>],
        _visit: &mut RowVisitor<'_>,
    ) -> Result<u64> {
        Err(refused())
    }
}
