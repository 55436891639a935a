//! A workload in an SQLite database in memory: enough of a connection to test
//! the workload itself, where speed and durability do not matter.

use std::fmt::Write;

use octavo_workload::{
    Connection, ConnectionError, Workload,
    connection::{Access, Row, RowVisitor, Statement, StatementId, Value},
    population::RowBatch,
    schema::{ColumnKind, Table},
};
use rusqlite::{ToSql, types::ToSqlOutput, types::ValueRef};

pub(crate) struct Sqlite {
    pub(crate) raw: rusqlite::Connection,
    statements: &'static [Statement],
}

impl Sqlite {
    /// A database with the workload's tables and initial rows.
    pub(crate) fn loaded(workload: &dyn Workload) -> Self {
        let raw = rusqlite::Connection::open_in_memory().unwrap();
        raw.set_prepared_statement_cache_capacity(workload.statements().len());
        for table in workload.tables() {
            raw.execute(&create(table), []).unwrap();
        }
        raw.execute("BEGIN", []).unwrap();
        let population = workload.population();
        let mut batch = RowBatch::new();
        for partition in population.partitions() {
            let table = &workload.tables()[partition.table.0];
            let columns = table.columns.len();
            let marks = vec!["?"; columns].join(", ");
            let sql = format!("INSERT INTO {} VALUES ({marks})", table.name);
            let mut insert = raw.prepare(&sql).unwrap();
            population.generate(&partition, &mut batch, &mut |batch| {
                for row in 0..batch.len() {
                    for column in 0..columns {
                        let value = Parameter(batch.value(row, column));
                        insert.raw_bind_parameter(column + 1, value).unwrap();
                    }
                    insert.raw_execute().unwrap();
                }
                true
            });
        }
        raw.execute("COMMIT", []).unwrap();
        for table in workload.tables() {
            for index in table.indexes {
                let columns = index.columns.join(", ");
                let sql = format!("CREATE INDEX {} ON {} ({columns})", index.name, table.name);
                raw.execute(&sql, []).unwrap();
            }
        }
        Self {
            raw,
            statements: workload.statements(),
        }
    }
}

fn create(table: &Table) -> String {
    let mut sql = format!("CREATE TABLE {} (", table.name);
    for column in table.columns.iter() {
        let kind = match column.kind {
            ColumnKind::Char(_) | ColumnKind::Varchar(_) => "TEXT",
            _ => "INTEGER",
        };
        let null = if column.nullable { "" } else { " NOT NULL" };
        write!(sql, "{} {kind}{null}, ", column.name).unwrap();
    }
    if table.primary_key.is_empty() {
        sql.truncate(sql.len() - 2);
    } else {
        write!(sql, "PRIMARY KEY ({})", table.primary_key.join(", ")).unwrap();
    }
    sql + ")"
}

struct Parameter<'a>(Value<'a>);

impl ToSql for Parameter<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self.0 {
            Value::Null => ValueRef::Null,
            Value::Integer(number)
            | Value::Timestamp(number)
            | Value::Decimal {
                unscaled: number, ..
            } => ValueRef::Integer(number),
            Value::Real(number) => ValueRef::Real(number.get()),
            Value::Text(text) => ValueRef::Text(text.as_bytes()),
        }))
    }
}

struct SqliteRow<'r, 's> {
    row: &'r rusqlite::Row<'s>,
    kinds: &'static [ColumnKind],
}

impl Row for SqliteRow<'_, '_> {
    fn value(&self, column: usize) -> Value<'_> {
        match (self.row.get_ref(column).unwrap(), self.kinds[column]) {
            (ValueRef::Null, _) => Value::Null,
            (ValueRef::Integer(number), ColumnKind::Integer | ColumnKind::Integer32) => {
                Value::Integer(number)
            }
            (ValueRef::Integer(unscaled), ColumnKind::Decimal { scale, .. }) => {
                Value::Decimal { unscaled, scale }
            }
            (ValueRef::Integer(number), ColumnKind::Timestamp) => Value::Timestamp(number),
            (ValueRef::Text(text), ColumnKind::Char(_) | ColumnKind::Varchar(_)) => {
                Value::Text(str::from_utf8(text).unwrap())
            }
            (value, kind) => panic!("{value:?} is not {kind:?}"),
        }
    }
}

fn other(source: rusqlite::Error) -> ConnectionError {
    ConnectionError::Other {
        context: "test connection".into(),
        source: source.into(),
    }
}

impl Sqlite {
    fn simple(&mut self, sql: &str) -> Result<(), ConnectionError> {
        self.raw.execute_batch(sql).map_err(other)
    }

    fn kinds_match(statement: &Statement, parameters: &[Value<'_>]) {
        assert_eq!(parameters.len(), statement.parameters.len());
        for (value, kind) in parameters.iter().zip(statement.parameters) {
            let fits = match (value, kind) {
                (Value::Null, _)
                | (Value::Integer(_), ColumnKind::Integer | ColumnKind::Integer32)
                | (Value::Timestamp(_), ColumnKind::Timestamp) => true,
                (Value::Decimal { scale, .. }, ColumnKind::Decimal { scale: wanted, .. }) => {
                    scale == wanted
                }
                (Value::Text(text), ColumnKind::Char(length)) => {
                    text.chars().count() == *length as usize
                }
                (Value::Text(text), ColumnKind::Varchar(length)) => {
                    text.chars().count() <= *length as usize
                }
                _ => false,
            };
            assert!(fits, "{value:?} is not {kind:?} in {}", statement.sql);
        }
    }
}

impl Connection for Sqlite {
    fn begin(&mut self, _access: Access) -> Result<(), ConnectionError> {
        self.simple("BEGIN")
    }

    fn commit(&mut self) -> Result<(), ConnectionError> {
        self.simple("COMMIT")
    }

    fn rollback(&mut self) -> Result<(), ConnectionError> {
        if self.raw.is_autocommit() {
            return Ok(());
        }
        self.simple("ROLLBACK")
    }

    fn execute(
        &mut self,
        statement: StatementId,
        parameters: &[Value<'_>],
    ) -> Result<u64, ConnectionError> {
        let statement = &self.statements[statement.0];
        Self::kinds_match(statement, parameters);
        let mut prepared = self.raw.prepare_cached(statement.sql).map_err(other)?;
        let parameters = parameters.iter().map(|value| Parameter(*value));
        let changed = prepared
            .execute(rusqlite::params_from_iter(parameters))
            .map_err(other)?;
        Ok(changed as u64)
    }

    fn query(
        &mut self,
        statement: StatementId,
        parameters: &[Value<'_>],
        visit: &mut RowVisitor<'_>,
    ) -> Result<u64, ConnectionError> {
        let statement = &self.statements[statement.0];
        Self::kinds_match(statement, parameters);
        let mut prepared = self.raw.prepare_cached(statement.sql).map_err(other)?;
        assert_eq!(prepared.column_count(), statement.result.len());
        let parameters = parameters.iter().map(|value| Parameter(*value));
        let mut rows = prepared
            .query(rusqlite::params_from_iter(parameters))
            .map_err(other)?;
        let mut count = 0;
        while let Some(row) = rows.next().map_err(other)? {
            count += 1;
            visit(&SqliteRow {
                row,
                kinds: statement.result,
            });
        }
        Ok(count)
    }
}
