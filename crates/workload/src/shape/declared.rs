//! What databases are told of a shape: its tables' statements, and the kinds of its transactions.

use super::{operation::Operation, table::ShapeTable};
use crate::{
    Mix, TransactionKind,
    connection::{Path, Statement, StatementId, TableAccess, Verb},
    schema::ColumnKind::{self, Char, Integer, Varchar},
};

/// The column with the key.
pub(crate) const KEY: &str = "k";

/// The column with the value.
pub(crate) const VALUE: &str = "v";

/// A statement of a table. Their numbers are those of all tables one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TableStatement {
    /// The value of a key.
    Get,
    /// A new value of a key.
    Put,
    /// A new key.
    Insert,
    /// Removes a key.
    Delete,
    /// Keys and values from a key on.
    Range,
    /// Whether a key is there.
    Find,
}

impl TableStatement {
    const ALL: [Self; 6] = [
        Self::Get,
        Self::Put,
        Self::Insert,
        Self::Delete,
        Self::Range,
        Self::Find,
    ];

    /// Its number.
    pub(crate) const fn of(self, table: usize) -> StatementId {
        StatementId(table * Self::ALL.len() + self as usize)
    }

    /// Which it is, and of which table.
    pub(crate) const fn named(statement: StatementId) -> (usize, Self) {
        let count = Self::ALL.len();
        (statement.0 / count, Self::ALL[statement.0 % count])
    }
}

/// What a shape's workload declares. It lives as long as the process, as workloads' do.
#[derive(Debug)]
pub(crate) struct Declared {
    /// The tables' names.
    pub(crate) names: Vec<&'static str>,
    pub(crate) statements: &'static [Statement],
    /// The operations of weight, by their table.
    pub(crate) operations: Vec<(usize, Operation)>,
    /// Their weights.
    pub(crate) weights: Vec<u32>,
    /// Their names, such as "get accounts". With one operation each they are the kinds of
    /// transactions.
    pub(crate) kinds: &'static [TransactionKind],
}

impl Declared {
    /// Of tables.
    pub(super) fn new(tables: &[ShapeTable]) -> Self {
        let names: Vec<&'static str> = tables
            .iter()
            .map(|table| &*String::leak(table.name.clone()))
            .collect();
        let statements = tables.iter().zip(&names).flat_map(|(table, name)| {
            let key = Char(table.key_bytes);
            let value = Varchar(table.value_bytes.most());
            TableStatement::ALL.map(|statement| declare(statement, name, key, value))
        });
        let all = tables.iter().enumerate().flat_map(|(position, table)| {
            let weighted = Operation::ALL.map(|of| ((position, of), table.weight(of)));
            weighted.into_iter().filter(|(_, weight)| *weight > 0)
        });
        let (operations, weights): (Vec<_>, Vec<_>) = all.unzip();
        let kinds = operations.iter().map(|(table, operation)| {
            let name = format!("{} {}", operation.name(), names[*table]);
            TransactionKind::plain(String::leak(name))
        });
        Self {
            statements: Vec::leak(statements.collect()),
            kinds: Vec::leak(kinds.collect()),
            names,
            operations,
            weights,
        }
    }

    /// The shares in which operations are drawn.
    pub(crate) fn mix(&self) -> Option<Mix> {
        Mix::of_weights(self.weights.clone())
    }
}

fn declare(
    statement: TableStatement,
    table: &'static str,
    key: ColumnKind,
    value: ColumnKind,
) -> Statement {
    let access = |verb, reads, writes| TableAccess {
        table,
        verb,
        paths: &[Path::Key],
        reads,
        writes,
    };
    let (sql, parameters, result, access) = match statement {
        TableStatement::Get => (
            format!("SELECT v FROM {table} WHERE k = ?1"),
            vec![key],
            vec![value],
            access(Verb::Read, &[VALUE, KEY], &[]),
        ),
        TableStatement::Put => (
            format!("UPDATE {table} SET v = ?1 WHERE k = ?2"),
            vec![value, key],
            Vec::new(),
            access(Verb::Update, &[KEY], &[VALUE]),
        ),
        TableStatement::Insert => (
            format!("INSERT INTO {table} (k, v) VALUES (?1, ?2)"),
            vec![key, value],
            Vec::new(),
            access(Verb::Insert, &[], &[KEY, VALUE]),
        ),
        TableStatement::Delete => (
            format!("DELETE FROM {table} WHERE k = ?1"),
            vec![key],
            Vec::new(),
            access(Verb::Delete, &[KEY], &[]),
        ),
        TableStatement::Range => (
            format!("SELECT k, v FROM {table} WHERE k >= ?1 ORDER BY k LIMIT ?2"),
            vec![key, Integer],
            vec![key, value],
            access(Verb::Read, &[KEY, VALUE], &[]),
        ),
        TableStatement::Find => (
            format!("SELECT k FROM {table} WHERE k = ?1"),
            vec![key],
            vec![key],
            access(Verb::Read, &[KEY], &[]),
        ),
    };
    Statement::new(
        String::leak(sql),
        Vec::leak(parameters),
        Vec::leak(result),
        Vec::leak(vec![access]),
    )
}
