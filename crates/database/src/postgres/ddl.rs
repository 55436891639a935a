//! PostgreSQL's tables and indexes for a workload's, and how large they get.

use octavo_units::{ByteCount, PageSize};
use octavo_workload::{
    Workload,
    schema::{Column, ColumnKind, Table},
};

use crate::{ddl::columns, estimate};

/// The type of a column's values.
pub(super) fn type_of(column: &Column) -> String {
    match column.kind {
        ColumnKind::Integer => "bigint".into(),
        ColumnKind::Integer32 => "integer".into(),
        ColumnKind::Decimal { precision, scale } => format!("numeric({precision},{scale})"),
        ColumnKind::Char(length) => format!("char({length})"),
        ColumnKind::Varchar(length) => format!("varchar({length})"),
        ColumnKind::Timestamp => "timestamp with time zone".into(),
        ColumnKind::Any => "text".into(),
    }
}

/// The statement that adds the key of `table`, if it has one.
pub(super) fn add_primary_key(table: &Table) -> Option<String> {
    (!table.primary_key.is_empty()).then(|| {
        format!(
            "ALTER TABLE {} ADD PRIMARY KEY ({})",
            table.name,
            table.primary_key.join(", ")
        )
    })
}

/// The statement that fills a table that this transaction created: rows are
/// frozen at once, so that no vacuum rewrites them
/// (<https://www.postgresql.org/docs/current/sql-copy.html>).
pub(super) fn copy(table: &Table) -> String {
    format!(
        "COPY {} ({}) FROM STDIN (FORMAT binary, FREEZE)",
        table.name,
        columns(table)
    )
}

/// Header of a page: `SizeOfPageHeaderData` (storage/bufpage.h).
const PAGE_HEADER: u64 = 24;

/// Overhead of a row: `SizeofHeapTupleHeader` of 23 bytes, aligned to 8
/// (access/htup_details.h), and its line pointer of 4.
const ROW_OVERHEAD: u64 = 24 + 4;

/// Overhead of an index entry: `IndexTupleData` of 8 bytes (access/itup.h) and
/// its line pointer of 4.
const ENTRY_OVERHEAD: u64 = 8 + 4;

/// Special space of a b-tree page: `BTPageOpaqueData` (access/nbtree.h).
const TREE_PAGE_SPECIAL: u64 = 16;

/// How full b-tree leaves are that were built from sorted rows: `BTREE_DEFAULT_FILLFACTOR`
/// (access/nbtree.h).
const TREE_FILL_PERCENT: u64 = 90;

/// About the bytes of a table's catalog after initdb at 8 KiB pages, in
/// three databases, and of the write-ahead log's first two segments of
/// 16 MiB (measured with version 15).
const EMPTY: u64 = (23 << 20) + (32 << 20);

/// About how many bytes a cluster with these rows has.
pub(super) fn estimate(workload: &dyn Workload, page_size: PageSize) -> ByteCount {
    estimate_rows(workload, page_size).saturating_add(ByteCount::new(EMPTY))
}

/// About how many bytes the tables and indexes of these rows have.
pub(super) fn estimate_rows(workload: &dyn Workload, page_size: PageSize) -> ByteCount {
    if let Some(copy) = workload.copy_of() {
        return estimate::of_copy(copy);
    }
    let page = u64::from(page_size.get());
    let table = |table: &Table, rows| table_bytes(table, rows, page);
    ByteCount::new(estimate::sum_of_tables(workload, table))
}

fn table_bytes(table: &Table, rows: u64, page: u64) -> u64 {
    let row = (row_bytes(table) + ROW_OVERHEAD).next_multiple_of(8) + 4;
    let mut bytes = pages(rows, row, page - PAGE_HEADER) * page;
    let key = (!table.primary_key.is_empty()).then_some(table.primary_key);
    for columns in key
        .into_iter()
        .chain(table.indexes.iter().map(|i| i.columns))
    {
        let entry = key_bytes(table, columns).next_multiple_of(8) + ENTRY_OVERHEAD;
        let usable = (page - PAGE_HEADER - TREE_PAGE_SPECIAL) * TREE_FILL_PERCENT / 100;
        bytes += (pages(rows, entry, usable) + 1) * page;
    }
    bytes
}

fn pages(rows: u64, bytes: u64, usable: u64) -> u64 {
    if bytes > usable {
        // Large values move out of line in pieces.
        (rows * bytes).div_ceil(usable)
    } else {
        rows.div_ceil(usable / bytes)
    }
}

/// The bytes of a row's values: `row_bytes_mean` has 8 for every number.
fn row_bytes(table: &Table) -> u64 {
    table
        .columns
        .iter()
        .fold(u64::from(table.row_bytes_mean), |sum, column| {
            sum.saturating_add(column_bytes(column.kind))
                .saturating_sub(match column.kind {
                    ColumnKind::Char(_) | ColumnKind::Varchar(_) => 0,
                    _ => 8,
                })
        })
}

/// Bytes of a number, or of the length field of a text.
fn column_bytes(kind: ColumnKind) -> u64 {
    match kind {
        ColumnKind::Integer | ColumnKind::Timestamp => 8,
        ColumnKind::Integer32 => 4,
        // A length, a header of 2 bytes and 2 for each 4 digits.
        ColumnKind::Decimal { .. } => 6,
        ColumnKind::Char(length) | ColumnKind::Varchar(length) => {
            if length < 127 {
                1
            } else {
                4
            }
        }
        ColumnKind::Any => 4,
    }
}

fn key_bytes(table: &Table, columns: &[&str]) -> u64 {
    estimate::columns(table, columns)
        .map(|column| {
            column_bytes(column.kind)
                + match column.kind {
                    ColumnKind::Char(length) => u64::from(length),
                    // Lengths are drawn evenly more often than not.
                    ColumnKind::Varchar(length) => u64::from(length) / 2,
                    _ => 0,
                }
        })
        .sum()
}
