//! Asking a database and reading what it answers, without trusting it: a row
//! too few or a NULL too many is an error of the run, not a panic.

use std::error::Error as StdError;

use crate::connection::{
    Batch, Connection, ConnectionError, Row, Statement, StatementId, Value, Wants,
};

/// An answer that no database gives that holds a workload's data.
#[derive(Debug, thiserror::Error)]
pub(crate) enum UnexpectedAnswer {
    #[error(
        "{found} rows instead of {wanted}: the database holds no data of this workload and scale, or damaged data"
    )]
    Rows { wanted: u64, found: u64 },
    #[error("a column is NULL or of another kind: the tables are not those that Octavo made")]
    Value,
}

/// The error of a statement.
pub(crate) fn failed(
    statements: &[Statement],
    statement: StatementId,
    answer: impl StdError + Send + Sync + 'static,
) -> ConnectionError {
    ConnectionError::Other {
        context: format!("run {}", statements[statement.0].sql),
        source: Box::new(answer),
    }
}

/// A batch of statements, with how many rows each has to meet.
#[derive(Default)]
pub(crate) struct Together<'v> {
    batch: Batch<'v>,
    rows: Vec<RowsWanted>,
}

/// How many rows a statement has to find or change.
#[derive(Clone, Copy)]
enum RowsWanted {
    One,
    AtMostOne,
    Any,
}

impl<'v> Together<'v> {
    /// Adds a query that has exactly one row.
    pub(crate) fn one(&mut self, statement: StatementId, parameters: &[Value<'v>]) {
        self.push(statement, Wants::Rows, parameters, RowsWanted::One);
    }

    /// Adds a query that has at most one row.
    pub(crate) fn at_most_one(&mut self, statement: StatementId, parameters: &[Value<'v>]) {
        self.push(statement, Wants::Rows, parameters, RowsWanted::AtMostOne);
    }

    /// Adds a change that must meet exactly one row.
    pub(crate) fn change_one(&mut self, statement: StatementId, parameters: &[Value<'v>]) {
        self.push(statement, Wants::Changes, parameters, RowsWanted::One);
    }

    /// Adds a change of any number of rows.
    pub(crate) fn execute(&mut self, statement: StatementId, parameters: &[Value<'v>]) {
        self.push(statement, Wants::Changes, parameters, RowsWanted::Any);
    }

    fn push(
        &mut self,
        statement: StatementId,
        wants: Wants,
        parameters: &[Value<'v>],
        rows: RowsWanted,
    ) {
        self.batch.push(statement, wants, parameters);
        self.rows.push(rows);
    }
}

/// A connection, with the statements that their numbers stand for on it:
/// errors name them.
pub(crate) struct Prepared<'c> {
    connection: &'c mut dyn Connection,
    statements: &'static [Statement],
}

impl<'c> Prepared<'c> {
    /// `statements` are those of the workload that `connection` was opened
    /// for.
    pub(crate) fn new(
        connection: &'c mut dyn Connection,
        statements: &'static [Statement],
    ) -> Self {
        Self {
            connection,
            statements,
        }
    }

    /// The error of a statement.
    pub(crate) fn failed(
        &self,
        statement: StatementId,
        answer: UnexpectedAnswer,
    ) -> ConnectionError {
        failed(self.statements, statement, answer)
    }

    /// Runs a query that has at most one row; `read` answers `None` for a row
    /// that does not hold what was declared.
    pub(crate) fn at_most_one<T>(
        &mut self,
        statement: StatementId,
        parameters: &[Value<'_>],
        mut read: impl FnMut(&dyn Row) -> Option<T>,
    ) -> Result<Option<T>, ConnectionError> {
        let mut answer = None;
        let rows = self
            .connection
            .query(statement, parameters, &mut |row| answer = read(row))?;
        match (rows, answer) {
            (0, _) => Ok(None),
            (1, Some(value)) => Ok(Some(value)),
            (1, None) => Err(self.failed(statement, UnexpectedAnswer::Value)),
            (found, _) => Err(self.failed(statement, UnexpectedAnswer::Rows { wanted: 1, found })),
        }
    }

    /// Runs a query that has exactly one row.
    pub(crate) fn one<T>(
        &mut self,
        statement: StatementId,
        parameters: &[Value<'_>],
        read: impl FnMut(&dyn Row) -> Option<T>,
    ) -> Result<T, ConnectionError> {
        self.at_most_one(statement, parameters, read)?
            .ok_or_else(|| {
                let (wanted, found) = (1, 0);
                self.failed(statement, UnexpectedAnswer::Rows { wanted, found })
            })
    }

    /// Runs a query of any number of rows, which must all be readable;
    /// returns how many there were.
    pub(crate) fn all(
        &mut self,
        statement: StatementId,
        parameters: &[Value<'_>],
        mut read: impl FnMut(&dyn Row) -> Option<()>,
    ) -> Result<u64, ConnectionError> {
        let mut readable = true;
        let rows = self.connection.query(statement, parameters, &mut |row| {
            readable &= read(row).is_some();
        })?;
        match readable {
            true => Ok(rows),
            false => Err(self.failed(statement, UnexpectedAnswer::Value)),
        }
    }

    /// Runs a change that must meet exactly one row.
    pub(crate) fn change_one(
        &mut self,
        statement: StatementId,
        parameters: &[Value<'_>],
    ) -> Result<(), ConnectionError> {
        match self.execute(statement, parameters)? {
            1 => Ok(()),
            found => Err(self.failed(statement, UnexpectedAnswer::Rows { wanted: 1, found })),
        }
    }

    /// Runs statements together; returns how many rows each met. `read` is
    /// given the position of the statement with each row, and answers `None`
    /// for one that does not hold what was declared.
    pub(crate) fn run(
        &mut self,
        together: &Together<'_>,
        mut read: impl FnMut(usize, &dyn Row) -> Option<()>,
    ) -> Result<Vec<u64>, ConnectionError> {
        let Together { batch, rows } = together;
        let mut counts = Vec::with_capacity(batch.len());
        let mut unreadable = None;
        let mut visit = |position: usize, row: &dyn Row| {
            if read(position, row).is_none() {
                unreadable.get_or_insert(position);
            }
        };
        self.connection.run_batch(batch, &mut visit, &mut counts)?;
        for ((position, call), (&found, wanted)) in
            batch.calls().enumerate().zip(counts.iter().zip(rows))
        {
            let fits = match wanted {
                RowsWanted::One => found == 1,
                RowsWanted::AtMostOne => found <= 1,
                RowsWanted::Any => true,
            };
            if !fits {
                let wanted = 1;
                return Err(self.failed(call.statement, UnexpectedAnswer::Rows { wanted, found }));
            }
            if unreadable == Some(position) {
                return Err(self.failed(call.statement, UnexpectedAnswer::Value));
            }
        }
        Ok(counts)
    }

    /// Runs a change of any number of rows; returns how many it met.
    pub(crate) fn execute(
        &mut self,
        statement: StatementId,
        parameters: &[Value<'_>],
    ) -> Result<u64, ConnectionError> {
        self.connection.execute(statement, parameters)
    }
}

/// A whole number; `None` for anything else.
pub(crate) fn integer(row: &dyn Row, column: usize) -> Option<i64> {
    match row.value(column) {
        Value::Integer(value) => Some(value),
        _ => None,
    }
}

/// A time in microseconds since 1970; `None` for anything else.
pub(crate) fn timestamp(row: &dyn Row, column: usize) -> Option<i64> {
    match row.value(column) {
        Value::Timestamp(microseconds) => Some(microseconds),
        _ => None,
    }
}

/// A decimal's digits at scale `wanted`. A database may answer with fewer or
/// more zeros behind the point, but not with other digits there.
pub(crate) fn decimal(row: &dyn Row, column: usize, wanted: u8) -> Option<i64> {
    let Value::Decimal { unscaled, scale } = row.value(column) else {
        return None;
    };
    let factor = 10i64.checked_pow(u32::from(scale.abs_diff(wanted)))?;
    if scale <= wanted {
        unscaled.checked_mul(factor)
    } else {
        (unscaled % factor == 0).then_some(unscaled / factor)
    }
}

/// A text; `None` for anything else.
pub(crate) fn text(row: &dyn Row, column: usize) -> Option<&str> {
    match row.value(column) {
        Value::Text(text) => Some(text),
        _ => None,
    }
}

/// `None` when the value cannot be read, `Some(None)` for NULL.
pub(crate) fn or_null<T>(
    row: &dyn Row,
    column: usize,
    read: impl FnOnce(&dyn Row, usize) -> Option<T>,
) -> Option<Option<T>> {
    match row.value(column) {
        Value::Null => Some(None),
        _ => read(row, column).map(Some),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        connection::{Access, RowVisitor},
        schema::ColumnKind,
    };

    struct OneValue(Value<'static>);

    impl Row for OneValue {
        fn value(&self, _column: usize) -> Value<'_> {
            self.0
        }
    }

    #[test]
    fn decimals_come_in_any_scale_that_keeps_their_value() {
        for (unscaled, scale, wanted) in [
            (1234, 2, Some(1234)),
            (12, 0, Some(1200)),
            (123_400, 4, Some(1234)),
            (123_401, 4, None),
            (i64::MAX, 0, None),
            (0, 255, None),
        ] {
            let row = OneValue(Value::Decimal { unscaled, scale });
            assert_eq!(decimal(&row, 0, 2), wanted, "{unscaled} {scale}");
        }
        assert_eq!(decimal(&OneValue(Value::Null), 0, 2), None);
    }

    #[test]
    fn null_is_told_from_another_kind() {
        assert_eq!(or_null(&OneValue(Value::Null), 0, integer), Some(None));
        assert_eq!(
            or_null(&OneValue(Value::Integer(7)), 0, integer),
            Some(Some(7))
        );
        assert_eq!(or_null(&OneValue(Value::Text("7")), 0, integer), None);
    }

    /// Answers every query with these values, a row each, and every change
    /// with their number.
    struct Answering(Vec<Value<'static>>);

    impl Connection for Answering {
        fn begin(&mut self, _access: Access) -> Result<(), ConnectionError> {
            Ok(())
        }

        fn commit(&mut self) -> Result<(), ConnectionError> {
            Ok(())
        }

        fn rollback(&mut self) -> Result<(), ConnectionError> {
            Ok(())
        }

        fn execute(
            &mut self,
            _statement: StatementId,
            _parameters: &[Value<'_>],
        ) -> Result<u64, ConnectionError> {
            Ok(self.0.len() as u64)
        }

        fn query(
            &mut self,
            _statement: StatementId,
            _parameters: &[Value<'_>],
            visit: &mut RowVisitor<'_>,
        ) -> Result<u64, ConnectionError> {
            for value in &self.0 {
                visit(&OneValue(*value));
            }
            Ok(self.0.len() as u64)
        }
    }

    static STATEMENTS: &[Statement] = &[Statement {
        sql: "SELECT a FROM b",
        parameters: &[],
        result: &[ColumnKind::Integer],
        changed_parameters: 0,
    }];

    const A: StatementId = StatementId(0);

    fn told(error: &ConnectionError) -> String {
        let source = std::error::Error::source(error).expect("the answer is the source");
        format!("{error}: {source}")
    }

    #[test]
    fn too_many_too_few_and_unreadable_rows_are_told_with_the_statement() {
        let (number, null) = (Value::Integer(7), Value::Null);
        for (rows, at_most_one, one, change_one, all) in [
            (vec![number], Ok(Some(7)), Ok(7), Ok(()), Ok(1)),
            (vec![], Ok(None), Err("0 rows"), Err("0 rows"), Ok(0)),
            (
                vec![null],
                Err("is NULL"),
                Err("is NULL"),
                Ok(()),
                Err("is NULL"),
            ),
            (
                vec![number, number],
                Err("2 rows"),
                Err("2 rows"),
                Err("2 rows"),
                Ok(2),
            ),
            (
                vec![null, number],
                Err("2 rows"),
                Err("2 rows"),
                Err("2 rows"),
                Err("is NULL"),
            ),
        ] {
            let mut answering = Answering(rows);
            let mut prepared = Prepared::new(&mut answering, STATEMENTS);
            let read = |row: &dyn Row| integer(row, 0);
            assert_told(prepared.at_most_one(A, &[], read), at_most_one);
            assert_told(prepared.one(A, &[], read), one);
            assert_told(prepared.change_one(A, &[]), change_one);
            let read = |row: &dyn Row| integer(row, 0).map(drop);
            assert_told(prepared.all(A, &[], read), all);
        }
    }

    fn assert_told<T: PartialEq + std::fmt::Debug>(
        answer: Result<T, ConnectionError>,
        wanted: Result<T, &str>,
    ) {
        match (answer, wanted) {
            (Ok(answer), wanted) => assert_eq!(Ok(answer), wanted),
            (Err(error), Ok(wanted)) => panic!("{} instead of {wanted:?}", told(&error)),
            (Err(error), Err(wanted)) => {
                let told = told(&error);
                assert!(told.starts_with("run SELECT a FROM b: "), "{told}");
                assert!(told.contains(wanted), "{told}");
            }
        }
    }
}
