//! Reading what a database answers, without trusting it: a row too few or a
//! NULL too many is an error of the run, not a panic.

use crate::connection::{Connection, ConnectionError, Row, StatementId, Value};

use super::{schema::CENTS, statements::STATEMENTS};

/// An answer that no consistent TPC-C database gives.
#[derive(Debug, thiserror::Error)]
pub(super) enum UnexpectedAnswer {
    #[error(
        "{found} rows instead of {wanted}: the database holds no TPC-C of this scale, or a damaged one"
    )]
    Rows { wanted: u64, found: u64 },
    #[error("a column is NULL or of another kind: the tables are not those that Octavo made")]
    Value,
    #[error(
        "another transaction delivered order {order} of warehouse {warehouse}, district {district} first"
    )]
    Delivered {
        warehouse: i64,
        district: i64,
        order: i64,
    },
}

/// The error of a statement.
pub(super) fn failed(statement: StatementId, answer: UnexpectedAnswer) -> ConnectionError {
    ConnectionError::Other {
        context: format!("run {}", STATEMENTS[statement.0].sql),
        source: Box::new(answer),
    }
}

/// Runs a query that has at most one row; `read` answers `None` for a row
/// that does not hold what was declared.
pub(super) fn at_most_one<T>(
    connection: &mut dyn Connection,
    statement: StatementId,
    parameters: &[Value<'_>],
    mut read: impl FnMut(&dyn Row) -> Option<T>,
) -> Result<Option<T>, ConnectionError> {
    let mut answer = None;
    let rows = connection.query(statement, parameters, &mut |row| answer = read(row))?;
    match (rows, answer) {
        (0, _) => Ok(None),
        (1, Some(value)) => Ok(Some(value)),
        (1, None) => Err(failed(statement, UnexpectedAnswer::Value)),
        (found, _) => Err(failed(
            statement,
            UnexpectedAnswer::Rows { wanted: 1, found },
        )),
    }
}

/// Runs a query that has exactly one row.
pub(super) fn one<T>(
    connection: &mut dyn Connection,
    statement: StatementId,
    parameters: &[Value<'_>],
    read: impl FnMut(&dyn Row) -> Option<T>,
) -> Result<T, ConnectionError> {
    at_most_one(connection, statement, parameters, read)?.ok_or_else(|| {
        failed(
            statement,
            UnexpectedAnswer::Rows {
                wanted: 1,
                found: 0,
            },
        )
    })
}

/// Runs a query of any number of rows, which must all be readable.
pub(super) fn all(
    connection: &mut dyn Connection,
    statement: StatementId,
    parameters: &[Value<'_>],
    mut read: impl FnMut(&dyn Row) -> Option<()>,
) -> Result<u64, ConnectionError> {
    let mut readable = true;
    let rows = connection.query(statement, parameters, &mut |row| {
        readable &= read(row).is_some();
    })?;
    match readable {
        true => Ok(rows),
        false => Err(failed(statement, UnexpectedAnswer::Value)),
    }
}

/// Runs a change that must meet exactly one row.
pub(super) fn change_one(
    connection: &mut dyn Connection,
    statement: StatementId,
    parameters: &[Value<'_>],
) -> Result<(), ConnectionError> {
    match connection.execute(statement, parameters)? {
        1 => Ok(()),
        found => Err(failed(
            statement,
            UnexpectedAnswer::Rows { wanted: 1, found },
        )),
    }
}

/// A parameter with cents.
pub(super) fn money(cents: i64) -> Value<'static> {
    Value::Decimal {
        unscaled: cents,
        scale: CENTS,
    }
}

pub(super) fn integer(row: &dyn Row, column: usize) -> Option<i64> {
    match row.value(column) {
        Value::Integer(value) => Some(value),
        _ => None,
    }
}

pub(super) fn timestamp(row: &dyn Row, column: usize) -> Option<i64> {
    match row.value(column) {
        Value::Timestamp(microseconds) => Some(microseconds),
        _ => None,
    }
}

/// A decimal's digits at `scale`. A database may answer with fewer or more
/// zeros behind the point, but not with other digits there.
pub(super) fn decimal(row: &dyn Row, column: usize, wanted: u8) -> Option<i64> {
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

pub(super) fn cents(row: &dyn Row, column: usize) -> Option<i64> {
    decimal(row, column, CENTS)
}

pub(super) fn text(row: &dyn Row, column: usize) -> Option<&str> {
    match row.value(column) {
        Value::Text(text) => Some(text),
        _ => None,
    }
}

/// `None` when the value cannot be read, `Some(None)` for NULL.
pub(super) fn or_null<T>(
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
            assert_eq!(cents(&row, 0), wanted, "{unscaled} {scale}");
        }
        assert_eq!(cents(&OneValue(Value::Null), 0), None);
        assert_eq!(or_null(&OneValue(Value::Null), 0, integer), Some(None));
        assert_eq!(
            or_null(&OneValue(Value::Integer(7)), 0, integer),
            Some(Some(7))
        );
        assert_eq!(or_null(&OneValue(Value::Text("7")), 0, integer), None);
    }
}
