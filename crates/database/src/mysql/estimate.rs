//! How large a snapshot will be.
//!
//! Sizes of records are from InnoDB's source
//! (<https://dev.mysql.com/doc/refman/8.4/en/innodb-row-format.html>): five
//! bytes before each, a length of one or two bytes for each varying column, and
//! in a table's own tree a transaction's number and a pointer to undo (13
//! bytes), and a hidden key of 6 where there is none.

use octavo_units::{ByteCount, PageSize};
use octavo_workload::{
    Workload,
    schema::{Column, ColumnKind, Table},
};

use crate::estimate::{columns, of_copy, sum_of_tables};

/// A data directory without tables of ours: the system's tables, undo logs and
/// the redo log of a snapshot. MariaDB 10.11: 25 MiB up to pages of 16 KiB, 90 MiB
/// above, whose extents are larger.
fn empty(page_size: PageSize) -> u64 {
    match page_size.get() {
        0..=16_384 => 25 << 20,
        _ => 90 << 20,
    }
}

/// Header and trailer of a page with its two fixed records.
const PAGE_BYTES: u64 = 128;

/// Bytes before a record, and its share of the page's directory.
const RECORD_BYTES: u64 = 6;

/// About how many bytes the snapshot of a workload has.
pub(super) fn estimate(workload: &dyn Workload, page_size: PageSize) -> ByteCount {
    estimate_rows(workload, page_size).saturating_add(ByteCount::new(empty(page_size)))
}

/// About how many bytes the tables and indexes of a workload have.
pub(super) fn estimate_rows(workload: &dyn Workload, page_size: PageSize) -> ByteCount {
    if let Some(copy) = workload.copy_of() {
        return of_copy(copy);
    }
    let table = |table: &Table, rows| of_table(table, rows, page_size);
    ByteCount::new(sum_of_tables(workload, table))
}

fn of_table(table: &Table, rows: u64, page_size: PageSize) -> u64 {
    let hidden_key = if table.primary_key.is_empty() { 6 } else { 0 };
    let row = row_bytes(table) + RECORD_BYTES + 13 + hidden_key;
    let indexes = table.indexes.iter().map(|index| index.columns);
    let references = table.foreign_keys_without_index();
    let references = references.map(|reference| reference.columns);
    let indexes = indexes.chain(references).map(|columns| {
        let mut names = columns.to_vec();
        let key = table.primary_key.iter();
        names.extend(key.filter(|name| !columns.contains(name)));
        of_tree(rows, key_bytes(table, &names) + RECORD_BYTES, page_size)
    });
    // The header pages of a file.
    let header = 7 * u64::from(page_size.get());
    of_tree(rows, row, page_size) + header + indexes.sum::<u64>()
}

/// `row_bytes_mean` has 8 bytes for a number and none for the length of a
/// text.
fn row_bytes(table: &Table) -> u64 {
    let numbers = table.columns.iter().filter(|column| !is_text(column.kind));
    let saved: u64 = numbers.map(|column| 8 - width(column).min(8)).sum();
    let lengths: u64 = table.columns.iter().map(length_bytes).sum();
    let nulls = table
        .columns
        .iter()
        .filter(|column| column.nullable)
        .count() as u64;
    (u64::from(table.row_bytes_mean) + lengths + nulls.div_ceil(8)).saturating_sub(saved)
}

fn key_bytes(table: &Table, names: &[&str]) -> u64 {
    columns(table, names)
        .map(|column| width(column) + length_bytes(column))
        .sum()
}

fn is_text(kind: ColumnKind) -> bool {
    matches!(kind, ColumnKind::Char(_) | ColumnKind::Varchar(_))
}

fn length_bytes(column: &Column) -> u64 {
    match column.kind {
        ColumnKind::Varchar(256..) => 2,
        ColumnKind::Varchar(_) => 1,
        _ => 0,
    }
}

/// Bytes of a value.
fn width(column: &Column) -> u64 {
    match column.kind {
        ColumnKind::Integer | ColumnKind::Timestamp => 8,
        ColumnKind::Integer32 => 4,
        // Four bytes for nine digits, on each side of the point.
        ColumnKind::Decimal { precision, scale } => {
            let side = |digits: u8| u64::from(digits / 9) * 4 + u64::from(digits % 9).div_ceil(2);
            side(precision.saturating_sub(scale)) + side(scale)
        }
        ColumnKind::Char(characters) => u64::from(characters),
        // Lengths are drawn evenly more often than not.
        ColumnKind::Varchar(characters) => u64::from(characters) / 2,
        ColumnKind::Any => 0,
    }
}

fn of_tree(rows: u64, record: u64, page_size: PageSize) -> u64 {
    let page = u64::from(page_size.get());
    // Rows in key order fill a page but for a sixteenth.
    let usable = (page - PAGE_BYTES) * 15 / 16;
    let pages = if record > usable / 2 {
        // Long columns go to pages of their own.
        rows * record.div_ceil(usable)
    } else {
        rows.div_ceil(usable / record)
    };
    // Inner pages have a key and a pointer a page: a hundredth of 4 KiB pages.
    let inner = pages.div_ceil(page / 40);
    // A file grows by extents, four at a time once it has some.
    let extent = match page_size.get() {
        0..=16_384 => 1 << 20,
        _ => page * 64,
    };
    let bytes = (pages + inner) * page;
    if bytes > 2 * extent {
        bytes.next_multiple_of(extent) + 2 * extent
    } else {
        bytes
    }
}
