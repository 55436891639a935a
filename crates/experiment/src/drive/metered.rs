//! A connection that counts the bytes of the values that statements change.

use octavo_workload::{
    Connection, ConnectionError,
    connection::{Access, RowVisitor, Statement, StatementId, Value},
};

pub(super) struct Metered {
    connection: Box<dyn Connection + Send>,
    statements: &'static [Statement],
    /// Of the transaction that is open or ended last.
    changed_bytes: u64,
}

impl Metered {
    pub(super) fn new(
        connection: Box<dyn Connection + Send>,
        statements: &'static [Statement],
    ) -> Self {
        Self {
            connection,
            statements,
            changed_bytes: 0,
        }
    }

    /// The bytes changed since the last time.
    pub(super) fn take_changed_bytes(&mut self) -> u64 {
        std::mem::take(&mut self.changed_bytes)
    }
}

impl Connection for Metered {
    fn begin(&mut self, access: Access) -> Result<(), ConnectionError> {
        self.connection.begin(access)
    }

    fn commit(&mut self) -> Result<(), ConnectionError> {
        self.connection.commit()
    }

    fn rollback(&mut self) -> Result<(), ConnectionError> {
        self.changed_bytes = 0;
        self.connection.rollback()
    }

    fn execute(
        &mut self,
        statement: StatementId,
        parameters: &[Value<'_>],
    ) -> Result<u64, ConnectionError> {
        let changed = self.statements[statement.0].changed_parameters;
        let bytes: u64 = parameters[..changed].iter().map(Value::byte_length).sum();
        let rows = self.connection.execute(statement, parameters)?;
        self.changed_bytes += bytes * rows;
        Ok(rows)
    }

    fn query(
        &mut self,
        statement: StatementId,
        parameters: &[Value<'_>],
        visit: &mut RowVisitor<'_>,
    ) -> Result<u64, ConnectionError> {
        self.connection.query(statement, parameters, visit)
    }
}
