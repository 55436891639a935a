//! Which trees a workload's tables and indexes are, and what is in their keys.

use octavo_workload::{
    Workload,
    connection::Value,
    schema::{Column, ColumnKind, Table},
};

use super::{
    TreeId,
    key::{self, KeyError},
    row::{self, Columns},
};

/// Stands between the names of a table and its index in the name of a tree: no table's name has it.
const OF_TABLE: char = '.';

/// Whether the tree of this name has the rows of a table.
pub(crate) fn has_rows(tree: &str) -> bool {
    !tree.contains(OF_TABLE)
}

/// The trees of a workload.
#[derive(Debug)]
pub(crate) struct Layout {
    /// In the workload's order.
    pub(super) tables: Vec<TableLayout>,
    /// The names of all trees: those of tables, and then those of indexes.
    names: Vec<String>,
}

/// A table and its indexes.
#[derive(Debug)]
pub(crate) struct TableLayout {
    pub(super) name: &'static str,
    pub(super) tree: TreeId,
    pub(super) columns: Columns,
    /// The columns' names.
    pub(super) names: Vec<&'static str>,
    pub(super) indexes: Vec<IndexLayout>,
}

/// An index.
#[derive(Debug)]
pub(crate) struct IndexLayout {
    pub(super) name: &'static str,
    pub(super) tree: TreeId,
    /// The columns that its keys begin with.
    pub(super) columns: Vec<usize>,
    /// All columns of its keys: those, and then the table's key. A table without a key has a number
    /// there, which is no column.
    pub(super) in_key: Vec<usize>,
}

impl Layout {
    /// Of a workload's tables.
    pub(crate) fn new(workload: &dyn Workload) -> Self {
        let tables = workload.tables();
        let mut names: Vec<String> = tables.iter().map(|table| table.name.to_owned()).collect();
        let mut layouts = Vec::new();
        for (position, table) in tables.iter().enumerate() {
            let of = |names: &[&str]| -> Vec<usize> {
                names
                    .iter()
                    .filter_map(|name| column(table, name))
                    .collect()
            };
            let in_key = of(table.primary_key);
            let indexes = table.indexes.iter().map(|index| {
                names.push(format!("{}{OF_TABLE}{}", table.name, index.name));
                let columns = of(index.columns);
                IndexLayout {
                    name: index.name,
                    tree: TreeId(names.len() - 1),
                    in_key: [&columns[..], &in_key].concat(),
                    columns,
                }
            });
            let indexes = indexes.collect();
            let in_value = (0..table.columns.len()).filter(|column| !in_key.contains(column));
            layouts.push(TableLayout {
                name: table.name,
                tree: TreeId(position),
                columns: Columns {
                    kinds: table.kinds(),
                    in_value: in_value.collect(),
                    in_key,
                    are_plain: is_plain(table),
                },
                names: table.columns.iter().map(|column| column.name).collect(),
                indexes,
            });
        }
        Self {
            tables: layouts,
            names,
        }
    }

    /// The names of all trees, by [`TreeId`].
    pub(crate) fn trees(&self) -> &[String] {
        &self.names
    }

    /// The trees of tables that have no key: their keys are numbers.
    pub(crate) fn numbered(&self) -> impl Iterator<Item = TreeId> + '_ {
        let tables = self.tables.iter();
        let numbered = tables.filter(|table| !table.has_key());
        numbered.map(|table| table.tree)
    }

    /// How many tables there are.
    pub(crate) fn tables_len(&self) -> usize {
        self.tables.len()
    }

    /// The table of this name.
    pub(super) fn table(&self, name: &str) -> Option<&TableLayout> {
        self.tables.iter().find(|table| table.name == name)
    }
}

impl TableLayout {
    /// Whether its rows have keys of their own.
    pub(super) fn has_key(&self) -> bool {
        !self.columns.in_key.is_empty()
    }

    /// Makes the key of a row whose columns `of` has; `number` is that of a table without a key.
    pub(super) fn write_key<'v>(
        &self,
        bytes: &mut Vec<u8>,
        number: i64,
        of: impl Fn(usize) -> Value<'v>,
    ) -> Result<(), KeyError> {
        bytes.clear();
        self.append_key(bytes, number, of)
    }

    fn append_key<'v>(
        &self,
        bytes: &mut Vec<u8>,
        number: i64,
        of: impl Fn(usize) -> Value<'v>,
    ) -> Result<(), KeyError> {
        match self.has_key() {
            false => key::push_number(bytes, number),
            true => {
                for &column in &self.columns.in_key {
                    self.push_key(bytes, of(column))?;
                }
            }
        }
        Ok(())
    }

    /// Appends a column to a key of this table.
    pub(super) fn push_key(&self, bytes: &mut Vec<u8>, column: Value<'_>) -> Result<(), KeyError> {
        match self.columns.are_plain {
            true if row::push_plain(bytes, column) => Ok(()),
            true => Err(KeyError::NoText),
            false => key::push(bytes, column),
        }
    }

    /// Appends a column to a value of this table.
    pub(super) fn push_value(&self, bytes: &mut Vec<u8>, column: Value<'_>) {
        if !self.columns.are_plain || !row::push_plain(bytes, column) {
            row::push(bytes, column);
        }
    }

    /// Makes the value of a row.
    pub(super) fn write_value<'v>(&self, bytes: &mut Vec<u8>, of: impl Fn(usize) -> Value<'v>) {
        bytes.clear();
        for &column in &self.columns.in_value {
            self.push_value(bytes, of(column));
        }
    }

    /// Makes a row's key in an index.
    pub(super) fn write_entry<'v>(
        &self,
        index: &IndexLayout,
        bytes: &mut Vec<u8>,
        number: i64,
        of: impl Fn(usize) -> Value<'v>,
    ) -> Result<(), KeyError> {
        bytes.clear();
        for &column in &index.columns {
            key::push(bytes, of(column))?;
        }
        self.append_key(bytes, number, of)
    }

    /// The column of this name.
    pub(super) fn column(&self, name: &str) -> Option<usize> {
        self.names.iter().position(|own| *own == name)
    }
}

/// Whether a table's keys and values are texts as they are: see [`row`].
pub(super) fn is_plain(table: &Table) -> bool {
    let is_key = |column: &Column| table.primary_key.contains(&column.name);
    let kinds = (
        table.columns.iter().find(|column| is_key(column)),
        table.columns.iter().find(|column| !is_key(column)),
    );
    let (Some(key), Some(value)) = kinds else {
        return false;
    };
    table.columns.len() == 2
        && table.primary_key.len() == 1
        && table.indexes.is_empty()
        && matches!(key.kind, ColumnKind::Char(_))
        && matches!(value.kind, ColumnKind::Varchar(_))
        && !value.nullable
}

fn column(table: &Table, name: &str) -> Option<usize> {
    table.columns.iter().position(|column| column.name == name)
}
