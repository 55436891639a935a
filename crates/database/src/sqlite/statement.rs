//! A prepared statement, bound and stepped without allocation.
//!
//! This goes to SQLite's C functions because a workload runs a statement
//! about every ten microseconds on the processor that it measures, and the
//! statements live beside their connection, which a borrowing wrapper cannot.

#![expect(unsafe_code, reason = "SQLite is a library of C")]

use std::{
    cell::Cell,
    ffi::c_int,
    ptr::{self, NonNull},
    slice, str,
};

use octavo_workload::{
    ConnectionError, Result,
    connection::{Real, Row, Statement, Value},
    schema::ColumnKind,
};
use rusqlite::{Connection, ffi};

use super::failure::{last_failure, sort};
use crate::shown::start_of;

/// A statement of one connection; it must be dropped before that.
pub(crate) struct Prepared {
    raw: NonNull<ffi::sqlite3_stmt>,
    /// Whether neither its text nor what SQLite says of it may be told: that may hold values.
    is_private: bool,
}

impl Prepared {
    /// Prepares `sql` for many uses.
    pub(crate) fn new(connection: &Connection, sql: &str) -> Result<Self> {
        Self::with(connection, sql, false)
    }

    /// Prepares a workload's statement.
    pub(crate) fn of(connection: &Connection, statement: &Statement) -> Result<Self> {
        Self::with(connection, statement.sql, statement.is_private)
    }

    fn with(connection: &Connection, sql: &str, is_private: bool) -> Result<Self> {
        let context = || format!("prepare {}", start_of(sql));
        let mut raw = ptr::null_mut();
        let length = c_int::try_from(sql.len()).expect("statements are far below 2 GiB");
        // SAFETY: the connection is open and ours while borrowed; the text has
        // `length` bytes.
        let code = unsafe {
            ffi::sqlite3_prepare_v3(
                connection.handle(),
                sql.as_ptr().cast(),
                length,
                ffi::SQLITE_PREPARE_PERSISTENT,
                &raw mut raw,
                ptr::null_mut(),
            )
        };
        match NonNull::new(raw) {
            Some(raw) if code == ffi::SQLITE_OK => Ok(Self { raw, is_private }),
            _ if is_private => Err(private(code, "prepare a statement")),
            // SAFETY: as above.
            _ => Err(unsafe { last_failure(connection.handle(), code, context) }),
        }
    }

    /// Runs the statement with `parameters` for `?1` and on, and calls `visit`
    /// for each row; `kinds` are the columns' kinds. Returns the number of
    /// rows.
    pub(crate) fn run<'v>(
        &mut self,
        parameters: impl IntoIterator<Item = Value<'v>>,
        kinds: &[ColumnKind],
        mut visit: impl FnMut(&dyn Row),
    ) -> Result<u64> {
        let raw = self.raw.as_ptr();
        for (value, position) in parameters.into_iter().zip(1..) {
            let code = bind(raw, position, value);
            if code != ffi::SQLITE_OK {
                return Err(self.failure(code));
            }
        }
        let row = SqliteRow {
            raw,
            kinds,
            unfit: Cell::new(None),
        };
        let mut rows = 0;
        let code = loop {
            // SAFETY: the statement is prepared, and bound texts live until
            // this function returns.
            match unsafe { ffi::sqlite3_step(raw) } {
                ffi::SQLITE_ROW => {
                    rows += 1;
                    visit(&row);
                }
                code => break code,
            }
        };
        let result = match (code, row.unfit.get()) {
            (ffi::SQLITE_DONE, None) => Ok(rows),
            (ffi::SQLITE_DONE, Some(column)) if self.is_private => Err(ConnectionError::other(
                format!("keep column {} in a variable", column + 1),
                "it is a BLOB or no UTF-8 text: take hex() of it",
            )),
            (ffi::SQLITE_DONE, Some(column)) => Err(ConnectionError::other(
                format!(
                    "read column {column} of {}: it does not hold what the workload declared",
                    self.sql()
                ),
                "the database is damaged or belongs to another workload",
            )),
            (code, _) => Err(self.failure(code)),
        };
        // SAFETY: the statement is prepared. Its result repeats the error.
        unsafe { ffi::sqlite3_reset(raw) };
        result
    }

    fn sql(&self) -> String {
        // SAFETY: the text belongs to the statement and ends in NUL.
        let sql = unsafe { std::ffi::CStr::from_ptr(ffi::sqlite3_sql(self.raw.as_ptr())) };
        start_of(&sql.to_string_lossy())
    }

    fn failure(&self, code: c_int) -> ConnectionError {
        if self.is_private {
            return private(code, "run a statement");
        }
        // SAFETY: the statement's connection is open, and used by its owner
        // alone.
        unsafe {
            let connection = ffi::sqlite3_db_handle(self.raw.as_ptr());
            last_failure(connection, code, || format!("run {}", self.sql()))
        }
    }
}

/// A failure that tells nothing of a statement's text or of rows.
fn private(code: c_int, context: &str) -> ConnectionError {
    if let Some(refusal) = refusal(code) {
        return ConnectionError::other(
            context.to_owned(),
            format!("{refusal}: a script's statements have to work however often they run"),
        );
    }
    let failure = rusqlite::Error::SqliteFailure(ffi::Error::new(code), None);
    sort(failure, || context.to_owned())
}

/// Why a row is refused, by the extended code (<https://www.sqlite.org/rescode.html>).
fn refusal(code: c_int) -> Option<&'static str> {
    Some(match code {
        ffi::SQLITE_CONSTRAINT_PRIMARYKEY
        | ffi::SQLITE_CONSTRAINT_UNIQUE
        | ffi::SQLITE_CONSTRAINT_ROWID => "there is a row with this key already",
        ffi::SQLITE_CONSTRAINT_FOREIGNKEY => "a row that another one refers to is not there",
        ffi::SQLITE_CONSTRAINT_NOTNULL => "a column would be NULL that must not be",
        ffi::SQLITE_CONSTRAINT_CHECK => "a CHECK of the table does not hold",
        ffi::SQLITE_CONSTRAINT_TRIGGER => "a trigger refuses it with RAISE",
        code if code & 0xff == ffi::SQLITE_CONSTRAINT => "the table's constraints do not allow it",
        _ => return None,
    })
}

impl Drop for Prepared {
    fn drop(&mut self) {
        // SAFETY: prepared in `new`, finalised once.
        unsafe { ffi::sqlite3_finalize(self.raw.as_ptr()) };
    }
}

fn bind(raw: *mut ffi::sqlite3_stmt, position: c_int, value: Value<'_>) -> c_int {
    // SAFETY: the statement is prepared; SQLite checks the position. A text is
    // not copied: `run` steps the statement only while it is borrowed, and
    // every later run binds all parameters anew before it steps.
    unsafe {
        match value {
            Value::Null => ffi::sqlite3_bind_null(raw, position),
            Value::Integer(number)
            | Value::Decimal {
                unscaled: number, ..
            }
            | Value::Timestamp(number) => ffi::sqlite3_bind_int64(raw, position, number),
            Value::Real(number) => ffi::sqlite3_bind_double(raw, position, number.get()),
            Value::Text(text) => match c_int::try_from(text.len()) {
                Ok(length) => ffi::sqlite3_bind_text(
                    raw,
                    position,
                    text.as_ptr().cast(),
                    length,
                    ffi::SQLITE_STATIC(),
                ),
                Err(_) => ffi::SQLITE_TOOBIG,
            },
        }
    }
}

/// The row that a statement stands on.
struct SqliteRow<'s> {
    raw: *mut ffi::sqlite3_stmt,
    kinds: &'s [ColumnKind],
    /// A column whose value is not of the declared kind. Files can hold
    /// anything, so this ends the query with an error rather than a panic.
    unfit: Cell<Option<usize>>,
}

impl Row for SqliteRow<'_> {
    fn value(&self, column: usize) -> Value<'_> {
        let kind = self.kinds[column];
        // SAFETY: the statement stands on a row while `visit` runs. SQLite
        // answers NULL for columns that it does not have. Values of columns are
        // not protected by the connection's mutex, and one thread at a time
        // uses the connection. A text stays until the next step, and the row is
        // borrowed until then.
        unsafe {
            let value = ffi::sqlite3_column_value(self.raw, column as c_int);
            match (ffi::sqlite3_value_type(value), kind) {
                (ffi::SQLITE_NULL, _) => return Value::Null,
                (ffi::SQLITE_INTEGER, kind) => {
                    let number = ffi::sqlite3_value_int64(value);
                    match kind {
                        ColumnKind::Integer | ColumnKind::Integer32 | ColumnKind::Any => {
                            return Value::Integer(number);
                        }
                        ColumnKind::Decimal { scale, .. } => {
                            let unscaled = number;
                            return Value::Decimal { unscaled, scale };
                        }
                        ColumnKind::Timestamp => return Value::Timestamp(number),
                        ColumnKind::Char(_) | ColumnKind::Varchar(_) => {}
                    }
                }
                (ffi::SQLITE_FLOAT, ColumnKind::Any) => {
                    return Value::Real(Real::new(ffi::sqlite3_value_double(value)));
                }
                (
                    ffi::SQLITE_TEXT,
                    ColumnKind::Char(_) | ColumnKind::Varchar(_) | ColumnKind::Any,
                ) => {
                    let text = ffi::sqlite3_value_text(value);
                    let length = ffi::sqlite3_value_bytes(value);
                    if !text.is_null() {
                        let bytes = slice::from_raw_parts(text, length as usize);
                        if let Ok(text) = str::from_utf8(bytes) {
                            return Value::Text(text);
                        }
                    }
                }
                _ => {}
            }
        }
        self.unfit.set(Some(column));
        Value::Null
    }
}
