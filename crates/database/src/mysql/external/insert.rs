//! Rows in bulk by `INSERT`, for servers whose `local_infile` is off.

use octavo_workload::{
    ConnectionError, Result,
    connection::Value,
    population::RowBatch,
    schema::{ColumnKind, Table},
};

use super::super::{failure::Failure, session::Session, value::push_value};
use crate::ddl::columns;

/// A statement is sent once it has this many bytes: together with one row more
/// it stays below the 1 MiB of the smallest usual `max_allowed_packet`.
const STATEMENT_BYTES: usize = 256 << 10;

/// Statements between two commits: the server flushes once for them, and has
/// at most some 32 MB to undo.
const STATEMENTS: u32 = 128;

/// Rows on their way into a table.
pub(super) struct Inserts<'s> {
    session: &'s mut Session,
    table: &'s str,
    kinds: &'s [ColumnKind],
    head: String,
    sql: Vec<u8>,
    /// Since the last commit.
    statements: u32,
}

impl<'s> Inserts<'s> {
    /// For rows whose columns are of these kinds.
    pub(super) fn begin(
        session: &'s mut Session,
        table: &Table,
        kinds: &'s [ColumnKind],
    ) -> Result<Self> {
        session.simple("BEGIN")?;
        Ok(Self {
            session,
            table: table.name,
            kinds,
            head: format!("INSERT INTO {} ({}) VALUES ", table.name, columns(table)),
            sql: Vec::with_capacity(2 * STATEMENT_BYTES),
            statements: 0,
        })
    }

    /// Adds rows.
    pub(super) fn batch(&mut self, batch: &RowBatch) -> Result<()> {
        for row in 0..batch.len() {
            match self.sql.is_empty() {
                true => self.sql.extend_from_slice(self.head.as_bytes()),
                false => self.sql.push(b','),
            }
            let values = (0..batch.columns()).map(|column| batch.value(row, column));
            push_row(&mut self.sql, values, self.kinds)
                .map_err(|refused| refused.sort(|| format!("fill {}", self.table)))?;
            if self.sql.len() >= STATEMENT_BYTES {
                self.send()?;
            }
        }
        Ok(())
    }

    fn send(&mut self) -> Result<()> {
        let sent = match std::str::from_utf8(&self.sql) {
            Ok(sql) => self.session.simple(sql),
            Err(error) => Err(ConnectionError::other(String::new(), error)),
        };
        self.sql.clear();
        sent.map_err(|error| match error {
            // Not the whole statement with all its rows.
            ConnectionError::Other { source, .. } => {
                ConnectionError::other(format!("fill {}", self.table), source)
            }
            other => other,
        })?;
        self.statements += 1;
        if self.statements == STATEMENTS {
            self.statements = 0;
            self.session.simple("COMMIT")?;
            self.session.simple("BEGIN")?;
        }
        Ok(())
    }

    /// Makes all rows durable.
    pub(super) fn finish(mut self) -> Result<()> {
        if !self.sql.is_empty() {
            self.send()?;
        }
        self.session.simple("COMMIT")
    }
}

/// Appends a row in parentheses.
fn push_row<'v>(
    out: &mut Vec<u8>,
    values: impl Iterator<Item = Value<'v>>,
    kinds: &[ColumnKind],
) -> Result<(), Failure> {
    out.push(b'(');
    for (position, (value, &kind)) in values.zip(kinds).enumerate() {
        if position > 0 {
            out.push(b',');
        }
        push_value(out, kind, value, b"NULL", b"'", |out, text| {
            push_text(out, text);
            Ok(())
        })?;
    }
    out.push(b')');
    Ok(())
}

/// Appends a text in quotes.
fn push_text(out: &mut Vec<u8>, text: &str) {
    out.push(b'\'');
    for &byte in text.as_bytes() {
        match byte {
            b'\'' | b'\\' => out.extend_from_slice(&[b'\\', byte]),
            0 => out.extend_from_slice(b"\\0"),
            _ => out.push(byte),
        }
    }
    out.push(b'\'');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_has_all_kinds() {
        let (unscaled, scale) = (-105, 2);
        let mut out = Vec::new();
        let values = [
            Value::Integer(-7),
            Value::Decimal { unscaled, scale },
            Value::Null,
            Value::Text("it's a \\ \0  "),
            Value::Text("a  "),
            Value::Timestamp(951_782_400_000_001),
        ];
        let kinds = [
            ColumnKind::Integer,
            ColumnKind::Integer,
            ColumnKind::Integer,
            ColumnKind::Varchar(20),
            ColumnKind::Char(3),
            ColumnKind::Timestamp,
        ];
        push_row(&mut out, values.into_iter(), &kinds).unwrap();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            r"(-7,-1.05,NULL,'it\'s a \\ \0  ','a','20000229000000.000001')"
        );
        let never = [Value::Timestamp(i64::MAX)];
        assert!(push_row(&mut Vec::new(), never.into_iter(), &[ColumnKind::Timestamp]).is_err());
    }
}
