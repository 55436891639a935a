//! What is wrong with an answer to an operation. These errors name the key, for
//! people to look for its row; those of the checks are [`crate::answer`]'s.

use std::ops::RangeInclusive;

use super::{schema::FIELDS, statements::STATEMENTS};
use crate::connection::{ConnectionError, Row, StatementId, Value};

/// An answer that no database with YCSB's table gives.
#[derive(Debug, thiserror::Error)]
pub(super) enum UnexpectedAnswer {
    #[error(
        "{found} rows instead of {wanted} for key {key}: the database holds no YCSB of this scale, or a damaged one"
    )]
    Rows {
        key: String,
        wanted: u64,
        found: u64,
    },
    #[error(
        "a row for key {key} has another key or not ten fields of {field_length} characters: the table is not the one that Octavo made"
    )]
    Row { key: String, field_length: usize },
    #[error(
        "{window} records were inserted while one insert was not finished: look for what holds it up, such as a lock"
    )]
    WindowFull { window: u64 },
}

/// The error of a statement.
pub(super) fn failed(statement: StatementId, answer: UnexpectedAnswer) -> ConnectionError {
    crate::answer::failed(STATEMENTS, statement, answer)
}

/// Refuses another than the `wanted` number of rows.
pub(super) fn expect(
    statement: StatementId,
    key: &str,
    wanted: RangeInclusive<u64>,
    found: u64,
) -> Result<(), ConnectionError> {
    if wanted.contains(&found) {
        return Ok(());
    }
    let (key, wanted) = (key.into(), *wanted.end());
    Err(failed(
        statement,
        UnexpectedAnswer::Rows { key, wanted, found },
    ))
}

/// Whether the fields of a row, from column `first` on, have their length.
pub(super) fn has_fields(row: &dyn Row, first: usize, field_length: usize) -> bool {
    (first..first + FIELDS)
        .all(|column| matches!(row.value(column), Value::Text(text) if text.len() == field_length))
}
