//! A database that is none: it answers at once, so a run against it shows what
//! the driver itself costs.

use std::sync::Arc;

use octavo_workload::{
    Connection, Result, Workload,
    connection::{Access, Row, RowVisitor, Statement, StatementId, Value},
    schema::{ColumnKind, Table},
};

use crate::{Counters, DatabaseError, Running, StoragePath};

/// The no-op database: nothing is stored, and every transaction ends well.
///
/// A change meets one row. A query has one row: 1, the smallest decimal of
/// its scale, a text as long as its column may be, the beginning of 1970; and
/// where it compares a column of its result with a parameter, that parameter.
/// Answering takes no clock, no lock and no memory.
///
/// It is only [`Running`]: there is nothing to load and nothing to check.
#[derive(Clone, Debug)]
pub struct Noop {
    answers: Answers,
}

/// The columns of the row of each statement.
type Answers = Arc<[Box<[Answer]>]>;

impl Noop {
    /// Ready for the statements of `workload`.
    pub fn new(workload: &dyn Workload) -> Self {
        let row = |statement| row_of(statement, workload.tables());
        Self {
            answers: workload.statements().iter().map(row).collect(),
        }
    }
}

impl Running for Noop {
    fn connect(&self, _client: u32) -> Result<Box<dyn Connection + Send>, DatabaseError> {
        Ok(Box::new(NoopConnection {
            answers: Arc::clone(&self.answers),
        }))
    }

    /// Nothing is counted: all are 0.
    fn counters(&self) -> Counters {
        Counters::default()
    }

    fn conditions(&self) -> Vec<(&'static str, String)> {
        let answers = "at once, with one made-up row a statement";
        vec![
            ("answers", answers.to_owned()),
            ("storage", "none: nothing is stored".to_owned()),
        ]
    }

    fn storage_path(&self) -> StoragePath {
        StoragePath::None
    }

    fn stop(self: Box<Self>) -> Result<(), DatabaseError> {
        Ok(())
    }
}

/// What stands in a column of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    Value(Value<'static>),
    /// The parameter at this position, from 0.
    Parameter(usize),
}

struct NoopConnection {
    answers: Answers,
}

impl Connection for NoopConnection {
    fn begin(&mut self, _access: Access) -> Result<()> {
        Ok(())
    }

    fn commit(&mut self) -> Result<()> {
        Ok(())
    }

    fn rollback(&mut self) -> Result<()> {
        Ok(())
    }

    fn execute(&mut self, _statement: StatementId, _parameters: &[Value<'_>]) -> Result<u64> {
        Ok(1)
    }

    fn query(
        &mut self,
        statement: StatementId,
        parameters: &[Value<'_>],
        visit: &mut RowVisitor<'_>,
    ) -> Result<u64> {
        visit(&NoopRow {
            answers: &self.answers[statement.0],
            parameters,
        });
        Ok(1)
    }
}

struct NoopRow<'a> {
    answers: &'a [Answer],
    parameters: &'a [Value<'a>],
}

impl Row for NoopRow<'_> {
    fn value(&self, column: usize) -> Value<'_> {
        match self.answers[column] {
            Answer::Value(value) => value,
            Answer::Parameter(position) => self.parameters[position],
        }
    }
}

/// The row that answers `statement`. Drivers check what they read, so texts
/// have the length of their column, which a statement, the same for all
/// widths, does not know.
fn row_of(statement: &Statement, tables: &[Table]) -> Box<[Answer]> {
    let mut names = names_of(statement.sql);
    let answer = |&declared: &ColumnKind| {
        let name = names.next().unwrap_or_default();
        if let Some(position) = compared_with(statement.sql, name)
            && statement.parameters.get(position) == Some(&declared)
        {
            return Answer::Parameter(position);
        }
        let mut columns = tables.iter().flat_map(|table| table.columns.iter());
        let column = columns.find(|column| column.name == name);
        Answer::Value(value_of(column.map_or(declared, |column| column.kind)))
    };
    statement.result.iter().map(answer).collect()
}

fn value_of(kind: ColumnKind) -> Value<'static> {
    match kind {
        ColumnKind::Integer | ColumnKind::Integer32 => Value::Integer(1),
        ColumnKind::Decimal { scale, .. } => Value::Decimal { unscaled: 1, scale },
        ColumnKind::Char(length) | ColumnKind::Varchar(length) => {
            Value::Text(&LETTERS[..LETTERS.len().min(length as usize)])
        }
        ColumnKind::Timestamp => Value::Timestamp(0),
        ColumnKind::Any => Value::Null,
    }
}

/// As many as the widest column has.
static LETTERS: &str = match str::from_utf8(&[b'x'; 100_000]) {
    Ok(letters) => letters,
    Err(_) => panic!("x is a letter"),
};

/// What a query's result consists of: names of columns and expressions.
fn names_of(sql: &str) -> impl Iterator<Item = &str> {
    let list = sql
        .strip_prefix("SELECT ")
        .and_then(|rest| rest.split_once(" FROM "))
        .map_or("", |(list, _)| list);
    let mut depth = 0;
    let is_end = move |character| {
        match character {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        character == ',' && depth == 0
    };
    list.split(is_end).map(str::trim)
}

/// The position of the parameter, from 0, that a query compares the column
/// with, where it is one that the comparison admits.
fn compared_with(sql: &str, column: &str) -> Option<usize> {
    let words: Vec<&str> = sql.split_whitespace().collect();
    words.windows(3).find_map(|words| match words {
        [name, "=" | ">=", mark] if *name == column => {
            let number: usize = mark.strip_prefix('?')?.parse().ok()?;
            number.checked_sub(1)
        }
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use octavo_workload::schema::Column;

    use super::*;

    #[test]
    fn a_row_has_what_was_declared_and_asked_for() {
        const KEY: ColumnKind = ColumnKind::Varchar(20);
        let column = |name, kind| Column {
            name,
            kind,
            nullable: false,
        };
        let tables = [Table {
            name: "t",
            columns: Cow::Owned(vec![column("k", KEY), column("f", ColumnKind::Char(3))]),
            primary_key: &["k"],
            indexes: &[],
            references: &[],
            checks: &[],
            row_bytes_mean: 9,
        }];
        let statement = Statement {
            sql: "SELECT max(k, f), f, k, n, d, made FROM t WHERE n >= ?1 AND k >= ?2 LIMIT ?3",
            parameters: &[ColumnKind::Timestamp, KEY, ColumnKind::Integer],
            result: &[
                ColumnKind::Integer,
                ColumnKind::Varchar(6000),
                KEY,
                ColumnKind::Integer32,
                ColumnKind::Decimal {
                    precision: 5,
                    scale: 4,
                },
                ColumnKind::Timestamp,
            ],
            changed_parameters: 0,
            is_private: false,
            is_planned_by_values: false,
            tables: &[],
        };
        let answers = row_of(&statement, &tables);
        let row = NoopRow {
            answers: &answers,
            parameters: &[Value::Timestamp(9), Value::Text("key"), Value::Integer(5)],
        };
        let found: Vec<Value<'_>> = (0..answers.len()).map(|column| row.value(column)).collect();
        let wanted = [
            Value::Integer(1),
            Value::Text("xxx"),
            Value::Text("key"),
            // The parameter is of another kind.
            Value::Integer(1),
            Value::Decimal {
                unscaled: 1,
                scale: 4,
            },
            Value::Timestamp(0),
        ];
        assert_eq!(found, wanted);
    }
}
