//! About how many bytes rows and entries of indexes have as keys and values.

use octavo_workload::schema::{ColumnKind, Index, Table};

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
    let key = |names: &[&str]| -> u64 {
        let columns = estimate::columns(table, names);
        columns
            .map(|column| match column.kind {
                ColumnKind::Char(characters) => u64::from(characters) + 2,
                // Lengths are drawn evenly more often than not.
                ColumnKind::Varchar(characters) => u64::from(characters) / 2 + 2,
                _ => NUMBER_BYTES,
            })
            .sum()
    };
    key(index.columns) + key(table.primary_key).max(NUMBER_BYTES)
}
