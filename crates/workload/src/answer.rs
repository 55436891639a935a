//! Transactions and statements on a connection whose answers are checked: a missing row or an
//! unexpected NULL is an error of the run, not a panic.

use std::{error::Error as StdError, ops::RangeInclusive};

use crate::{
    Outcome,
    connection::{
        Access, Batch, Connection, ConnectionError, Result, Row, Statement, StatementId, Value,
        Wants,
    },
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
    ConnectionError::other(format!("run {}", statements[statement.0].sql), answer)
}

/// A batch of statements, with how many rows each has to meet, and how many it
/// met when it ran last.
#[derive(Debug, Default)]
pub(crate) struct Pipeline<'v> {
    batch: Batch<'v>,
    wanted: Vec<RangeInclusive<u64>>,
    found: Vec<u64>,
}

impl<'v> Pipeline<'v> {
    /// Adds a query that finds as many `rows`.
    pub(crate) fn query(
        &mut self,
        statement: StatementId,
        rows: RangeInclusive<u64>,
        parameters: &[Value<'v>],
    ) {
        self.batch.push(statement, Wants::Rows, parameters);
        self.wanted.push(rows);
    }

    /// Adds a change that meets as many `rows`.
    pub(crate) fn change(
        &mut self,
        statement: StatementId,
        rows: RangeInclusive<u64>,
        parameters: &[Value<'v>],
    ) {
        self.batch.push(statement, Wants::Changes, parameters);
        self.wanted.push(rows);
    }

    /// The rows that each statement met when they ran last.
    pub(crate) fn found(&self) -> &[u64] {
        &self.found
    }

    /// Without statements, ready for others; the memory is kept.
    pub(crate) fn emptied<'w>(mut self) -> Pipeline<'w> {
        self.wanted.clear();
        self.found.clear();
        Pipeline {
            batch: self.batch.emptied(),
            wanted: self.wanted,
            found: self.found,
        }
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
    ) -> Result<Option<T>> {
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
    ) -> Result<T> {
        self.at_most_one(statement, parameters, read)?
            .ok_or_else(|| {
                let (wanted, found) = (1, 0);
                self.failed(statement, UnexpectedAnswer::Rows { wanted, found })
            })
    }

    /// Runs a query that answers one row with one whole number.
    pub(crate) fn count(&mut self, statement: StatementId) -> Result<i64> {
        self.one(statement, &[], |row| integer(row, 0))
    }

    /// Runs a query of any number of rows, which must all be readable;
    /// returns how many there were.
    pub(crate) fn all(
        &mut self,
        statement: StatementId,
        parameters: &[Value<'_>],
        mut read: impl FnMut(&dyn Row) -> Option<()>,
    ) -> Result<u64> {
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
    ) -> Result<()> {
        match self.connection.execute(statement, parameters)? {
            1 => Ok(()),
            found => Err(self.failed(statement, UnexpectedAnswer::Rows { wanted: 1, found })),
        }
    }

    /// Runs a change that may meet any number of rows; returns how many it met.
    pub(crate) fn change_any(
        &mut self,
        statement: StatementId,
        parameters: &[Value<'_>],
    ) -> Result<u64> {
        self.connection.execute(statement, parameters)
    }

    /// Runs statements together, in their order. `read` is given the position
    /// of the statement with each row, and answers `None` for one that does
    /// not hold what was declared. The first statement with an unexpected
    /// answer is the error, when all have run.
    pub(crate) fn run(
        &mut self,
        pipeline: &mut Pipeline<'_>,
        mut read: impl FnMut(usize, &dyn Row) -> Option<()>,
    ) -> Result<()> {
        let Pipeline {
            batch,
            wanted,
            found,
        } = pipeline;
        found.clear();
        let mut unreadable = None;
        let mut visit = |position: usize, row: &dyn Row| {
            if read(position, row).is_none() {
                unreadable.get_or_insert(position);
            }
        };
        self.connection.run_batch(batch, &mut visit, found)?;
        assert_eq!(found.len(), batch.len(), "a connection counts every call");
        for (position, (call, (&found, wanted))) in
            batch.calls().zip(found.iter().zip(wanted)).enumerate()
        {
            if !wanted.contains(&found) {
                let wanted = 1;
                return Err(self.failed(call.statement, UnexpectedAnswer::Rows { wanted, found }));
            }
            if unreadable == Some(position) {
                return Err(self.failed(call.statement, UnexpectedAnswer::Value));
            }
        }
        Ok(())
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

/// Runs `body` as one transaction, which ends as its outcome says. After an
/// error nothing of it is left. `statements` are those of the workload.
pub(crate) fn transact(
    connection: &mut dyn Connection,
    statements: &'static [Statement],
    access: Access,
    body: impl FnOnce(&mut Prepared<'_>) -> Result<Outcome>,
) -> Result<Outcome> {
    connection.begin(access)?;
    let result = body(&mut Prepared::new(connection, statements)).and_then(|outcome| {
        match outcome {
            Outcome::Committed => connection.commit()?,
            Outcome::RolledBack => connection.rollback()?,
        }
        Ok(outcome)
    });
    if result.is_err() {
        // The first error says what went wrong; a second one, from a session
        // that is gone, would only hide it.
        let _second = connection.rollback();
    }
    result
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

    const A: StatementId = StatementId(0);
    const DELETE: StatementId = StatementId(1);
    static STATEMENTS: &[Statement] = &[
        Statement::new("SELECT a FROM b", &[], &[ColumnKind::Integer], &[]),
        Statement::new("DELETE FROM b", &[], &[], &[]),
    ];

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

    /// The position of a statement, and a whole number of its rows.
    type NumberAt = (usize, i64);

    /// Runs what `push` asks for, against these rows for each statement;
    /// answers the whole numbers read, with their positions, and the counts.
    fn run(
        rows: &[Value<'static>],
        push: impl Fn(&mut Pipeline<'_>),
    ) -> Result<(Vec<NumberAt>, Vec<u64>), ConnectionError> {
        let mut answering = Answering(rows.to_vec());
        let mut pipeline = Pipeline::default();
        push(&mut pipeline);
        let mut read = Vec::new();
        Prepared::new(&mut answering, STATEMENTS).run(&mut pipeline, |position, row| {
            read.push((position, integer(row, 0)?));
            Some(())
        })?;
        Ok((read, pipeline.found().to_vec()))
    }

    #[test]
    fn statements_together_tell_their_rows_with_the_statement() {
        type Push = fn(&mut Pipeline<'_>);
        let at_most_one: Push = |pipeline| pipeline.query(A, 0..=1, &[]);
        let one: Push = |pipeline| pipeline.query(A, 1..=1, &[]);
        let change_one: Push = |pipeline| pipeline.change(A, 1..=1, &[]);
        let change_some: Push = |pipeline| pipeline.change(A, 1..=u64::MAX, &[]);
        let change_any: Push = |pipeline| pipeline.change(A, 0..=u64::MAX, &[]);
        let (number, null) = (Value::Integer(7), Value::Null);
        for (push, rows, wanted) in [
            (at_most_one, &[][..], Ok(0)),
            (at_most_one, &[number][..], Ok(1)),
            (at_most_one, &[number, number][..], Err("2 rows")),
            (at_most_one, &[null, number][..], Err("2 rows")),
            (at_most_one, &[null][..], Err("is NULL")),
            (one, &[][..], Err("0 rows")),
            (one, &[number][..], Ok(1)),
            (one, &[number, number][..], Err("2 rows")),
            (one, &[null][..], Err("is NULL")),
            (change_one, &[][..], Err("0 rows")),
            (change_one, &[null][..], Ok(1)),
            (change_one, &[null, null][..], Err("2 rows")),
            (change_some, &[][..], Err("0 rows")),
            (change_some, &[null][..], Ok(1)),
            (change_some, &[null, null][..], Ok(2)),
            (change_any, &[][..], Ok(0)),
            (change_any, &[null, null][..], Ok(2)),
        ] {
            let found = run(rows, push).map(|(_, found)| found[0]);
            assert_told(found, wanted);
        }
    }

    #[test]
    fn the_first_unexpected_answer_of_statements_together_is_told() {
        let number = Value::Integer(7);
        let (read, found) = run(&[number], |pipeline| {
            pipeline.query(A, 1..=1, &[]);
            pipeline.change(DELETE, 0..=u64::MAX, &[]);
            pipeline.query(A, 0..=1, &[]);
        })
        .unwrap();
        assert_eq!(read, [(0, 7), (2, 7)]);
        assert_eq!(found, [1, 1, 1]);
        // Two rows are too many for the second, and then for the fourth.
        let error = run(&[number, number], |pipeline| {
            pipeline.change(A, 0..=u64::MAX, &[]);
            pipeline.change(DELETE, 1..=1, &[]);
            pipeline.change(A, 1..=u64::MAX, &[]);
            pipeline.query(A, 1..=1, &[]);
        })
        .unwrap_err();
        assert!(
            told(&error).starts_with("run DELETE FROM b: 2 rows"),
            "{error}"
        );
        // None can be read, and none has too many.
        let error = run(&[Value::Null], |pipeline| {
            pipeline.change(DELETE, 1..=1, &[]);
            pipeline.query(A, 1..=1, &[]);
            pipeline.query(A, 1..=1, &[]);
        })
        .unwrap_err();
        assert!(
            told(&error).starts_with("run SELECT a FROM b: a column is NULL"),
            "{error}"
        );
    }

    #[test]
    fn emptied_statements_are_gone_with_their_counts() {
        let mut pipeline = Pipeline::default();
        pipeline.change(DELETE, 1..=1, &[]);
        let mut answering = Answering(vec![Value::Null]);
        let mut prepared = Prepared::new(&mut answering, STATEMENTS);
        prepared.run(&mut pipeline, |_, _| None).unwrap();
        // Again, with counts of its own.
        prepared.run(&mut pipeline, |_, _| None).unwrap();
        assert_eq!(pipeline.found(), [1]);
        let mut pipeline = pipeline.emptied();
        assert!(pipeline.found().is_empty());
        prepared.run(&mut pipeline, |_, _| None).unwrap();
        assert!(pipeline.found().is_empty());
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
