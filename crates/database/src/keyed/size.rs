//! About how many bytes rows and entries of indexes have as keys and values.

use octavo_workload::{
    Workload,
    schema::{ColumnKind, Index, Table, TableId},
};

use super::{Layout, layout::is_plain};
use crate::estimate;

/// A number and the byte before it.
const NUMBER_BYTES: u64 = 4;

/// Characters of a text in a key at most: YCSB's has 23 of the 255 that it may have. Chosen.
const TEXT_MAX: u64 = 24;

/// A row's key and value together.
pub(crate) fn bytes_of_row(table: &Table) -> u64 {
    let is_text = |kind| matches!(kind, ColumnKind::Char(_) | ColumnKind::Varchar(_));
    if is_plain(table) {
        return table.row_bytes_mean.into();
    }
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
    let bytes = bytes_of_columns(table, table.primary_key).max(NUMBER_BYTES);
    // Without the bytes around a text.
    if is_plain(table) { bytes - 2 } else { bytes }
}

fn bytes_of_columns(table: &Table, names: &[&str]) -> u64 {
    let columns = estimate::columns(table, names);
    columns
        .map(|column| match column.kind {
            ColumnKind::Char(characters) => u64::from(characters) + 2,
            // Lengths are drawn evenly more often than not, and nobody has long keys.
            ColumnKind::Varchar(characters) => (u64::from(characters) / 2).min(TEXT_MAX) + 2,
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
    /// What a key has in common with the one before it, as they come in their order: numbers that count up
    /// differ in their last byte, and entries of an index in its last column.
    pub(crate) shared_bytes: u64,
}

/// All trees of a workload, in the order of [`Layout::trees`].
pub(crate) fn trees(workload: &dyn Workload) -> Vec<Tree> {
    let tables = workload.tables();
    let rows = estimate::rows_of_tables(workload);
    let of_rows = tables.iter().enumerate().map(|(position, table)| {
        let (bytes, key_bytes) = (bytes_of_row(table), bytes_of_key(table));
        // Numbers that count up differ in their last byte, and texts from their middle on.
        let last = table.primary_key.last().copied();
        let of_last = last.map_or(NUMBER_BYTES, |last| bytes_of_columns(table, &[last]));
        let differs = if of_last > NUMBER_BYTES {
            of_last / 2
        } else {
            1
        };
        (
            position,
            None,
            bytes,
            key_bytes,
            key_bytes.saturating_sub(differs),
        )
    });
    let of_indexes = tables.iter().enumerate().flat_map(|(position, table)| {
        let indexes = table.indexes.iter().enumerate();
        indexes.map(move |(index, of)| {
            let bytes = bytes_of_entry(table, of);
            let columns = of.columns.len().saturating_sub(1);
            let shared = bytes_of_columns(table, &of.columns[..columns]);
            (position, Some(index), bytes, bytes, shared)
        })
    });
    let layout = Layout::new(workload);
    let names = layout.trees().iter().cloned();
    names
        .zip(of_rows.chain(of_indexes))
        .map(
            |(name, (position, index, bytes, key_bytes, shared_bytes))| Tree {
                name,
                table: TableId(position),
                index,
                entries: rows[position],
                bytes,
                key_bytes,
                shared_bytes,
            },
        )
        .collect()
}
