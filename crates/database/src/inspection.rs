//! A database at rest, to be checked.

use octavo_workload::{Connection, ConnectionError, connection::RowVisitor, schema::Table};

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
