//! About how many bytes rows and entries of indexes have as keys and values.

use octavo_workload::{
    Workload,
    schema::{ColumnKind, Index, Table, TableId},
};

use super::Layout;
use crate::estimate;

/// A number and the byte before it.
const NUMBER_BYTES: u64 = 4;

/// A row's key and value together.
pub(crate) fn bytes_of_row(table: &Table) -> u64 {
    let is_text = |kind| matches!(kind, ColumnKind::Char(_) | ColumnKind::Varchar(_));
    let columns = table.columns.iter();
    let numbers = columns.filter(|column| !is_text(column.kind)).count();
    let texts = table.columns.len() - numbers;
    // `row_bytes_mean` has 8 bytes for a number.
    let row = u64::from(table.row_bytes_mean) + 2 * texts as u64;
    row.saturating_sub(numbers as u64 * (8 - NUMBER_BYTES))
}

/// An entry of an index, which is a key alone.
pub(crate) fn bytes_of_entry(table: &Table, index: &Index) -> u64 {
    bytes_of_columns(table, index.columns) + bytes_of_key(table)
}

/// A row's key; a number where the table has none.
fn bytes_of_key(table: &Table) -> u64 {
    bytes_of_columns(table, table.primary_key).max(NUMBER_BYTES)
}

fn bytes_of_columns(table: &Table, names: &[&str]) -> u64 {
    let columns = estimate::columns(table, names);
    columns
        .map(|column| match column.kind {
            ColumnKind::Char(characters) => u64::from(characters) + 2,
            // Lengths are drawn evenly more often than not.
            ColumnKind::Varchar(characters) => u64::from(characters) / 2 + 2,
            _ => NUMBER_BYTES,
        })
        .sum()
}

/// A tree of a workload.
pub(crate) struct Tree {
    pub(crate) name: String,
    pub(crate) table: TableId,
    /// By its position among the table's; `None` for the rows.
    pub(crate) index: Option<usize>,
    /// After loading.
    pub(crate) entries: u64,
    /// Of a key and its value.
    pub(crate) bytes: u64,
    pub(crate) key_bytes: u64,
}

/// All trees of a workload, in the order of [`Layout::trees`].
pub(crate) fn trees(workload: &dyn Workload) -> Vec<Tree> {
    let tables = workload.tables();
    let rows = estimate::rows_of_tables(workload);
    let of_rows = tables.iter().enumerate().map(|(position, table)| {
        let (bytes, key_bytes) = (bytes_of_row(table), bytes_of_key(table));
        (position, None, bytes, key_bytes)
    });
    let of_indexes = tables.iter().enumerate().flat_map(|(position, table)| {
        let indexes = table.indexes.iter().enumerate();
        indexes.map(move |(index, of)| {
            let bytes = bytes_of_entry(table, of);
            (position, Some(index), bytes, bytes)
        })
    });
    let layout = Layout::new(workload);
    let names = layout.trees().iter().cloned();
    names
        .zip(of_rows.chain(of_indexes))
        .map(|(name, (position, index, bytes, key_bytes))| Tree {
            name,
            table: TableId(position),
            index,
            entries: rows[position],
            bytes,
            key_bytes,
        })
        .collect()
}
