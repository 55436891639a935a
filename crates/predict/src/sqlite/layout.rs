//! How SQLite places a workload's rows on pages.
//!
//! Tables are as Octavo makes them: rows in the key's B-tree where they are small
//! (WITHOUT ROWID), else by rowid, with an index of the key unless that is the rowid.
//! Trees are as `VACUUM INTO` leaves them: packed from the left.

use octavo_units::PageSize;
use octavo_workload::{
    Workload,
    schema::{ColumnKind, Table},
    touch::Columns,
};

use super::{
    record::{Cell, TreeKind, cell, record, varint},
    values::Values,
};
use crate::{
    pages::Pages,
    sample::{Field, Sample, samples},
    tree::{Growth, Shape, Tree},
};

/// Tables whose rows are larger on average keep the rowid.
const WITHOUT_ROWID_BYTES_MAX: u32 = 200;

/// Headers of leaves and inner pages (section 1.6).
const LEAF_HEADER: u32 = 8;
const INNER_HEADER: u32 = 12;
/// The number of the next page on an overflow page (section 1.7).
const OVERFLOW_HEADER: u32 = 4;

/// How full the inner pages of a table are that was filled in order. Its leaves are
/// packed, but each leaf that comes behind has the last three inner pages share their
/// children evenly when the last is full. Measured with `dbstat`: 0.87 to 0.90 with pages
/// of 512 bytes to 4 KiB.
const INNER_FILL: f64 = 0.88;

/// How a table's rows are found by its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ByKey {
    /// The key is the rowid, or there is none and rows are found by it.
    Rowid,
    /// Rows are in the key's tree.
    Clustered,
    /// An index of the key has the rowid.
    Index,
}

/// The trees of one table.
#[derive(Clone, Debug)]
pub(super) struct TableTrees {
    pub(super) rows: Tree,
    /// Where the rows' values are.
    pub(super) values: Values,
    /// Of the key, where rows are not found by it.
    pub(super) key: Option<Tree>,
    /// Of the table's further indexes.
    pub(super) indexes: Vec<Tree>,
}

/// The trees of all tables.
pub(super) fn lay_out(
    workload: &dyn Workload,
    size: PageSize,
    pages: &mut Pages,
) -> Vec<TableTrees> {
    // The first page has the schema.
    pages.extend(1);
    let samples = samples(workload);
    let tables = workload.tables().iter().zip(&samples);
    tables
        .map(|(table, sample)| trees(table, sample, size, pages))
        .collect()
}

fn trees(table: &Table, sample: &Sample, size: PageSize, pages: &mut Pages) -> TableTrees {
    let by_key = by_key(table);
    let columns = |names: &[&str]| -> Vec<usize> {
        let position = |name: &&str| table.columns.iter().position(|column| column.name == *name);
        names.iter().filter_map(position).collect()
    };
    let key = columns(table.primary_key);
    let kind = match by_key {
        ByKey::Clustered => TreeKind::Index,
        ByKey::Rowid | ByKey::Index => TreeKind::Table,
    };
    let is_rowid = by_key == ByKey::Rowid && !key.is_empty();
    // A record of the key's tree has the key first.
    let mut order: Vec<usize> = (0..table.columns.len()).collect();
    if kind == TreeKind::Index {
        order.sort_by_key(|column| !key.contains(column));
    }
    let mut values = Values::new(table.columns.len(), Columns::at(key.iter().copied()));
    let row_cells = sample.drawn().map(|(number, fields)| {
        let value = |&column: &usize| match is_rowid && key[0] == column {
            // The rowid is not stored twice.
            true => (column, Field::Null),
            false => (column, fields[column]),
        };
        let fields: Vec<(usize, Field)> = order.iter().map(value).collect();
        let payload = record(fields.iter().map(|(_, field)| *field));
        let rowid = match kind {
            TreeKind::Table => varint(number + 1),
            TreeKind::Index => 0,
        };
        let cell = cell(kind, payload, rowid, size.get());
        values.add(cell, &fields, size.get() - OVERFLOW_HEADER);
        cell
    });
    let rows = tree(kind, row_cells, sample, size, pages);
    // An entry has the row's key behind its columns: what of it is not there yet.
    let mut entries = |names: &[&str]| {
        let mut own = columns(names);
        if by_key == ByKey::Clustered {
            let missing: Vec<usize> = key.iter().copied().filter(|k| !own.contains(k)).collect();
            own.extend(missing);
        }
        let cells = sample.drawn().map(|(number, fields)| {
            let rowid = (by_key != ByKey::Clustered).then_some(Field::Integer(number as i64 + 1));
            let fields = own.iter().map(|&column| fields[column]).chain(rowid);
            cell(TreeKind::Index, record(fields), 0, size.get())
        });
        tree(TreeKind::Index, cells, sample, size, pages)
    };
    TableTrees {
        key: (by_key == ByKey::Index).then(|| entries(table.primary_key)),
        indexes: table
            .indexes
            .iter()
            .map(|index| entries(index.columns))
            .collect(),
        rows,
        values,
    }
}

fn by_key(table: &Table) -> ByKey {
    let is_integer = |name: &str| {
        table.columns.iter().any(|column| {
            let kind = column.kind;
            column.name == name && matches!(kind, ColumnKind::Integer | ColumnKind::Integer32)
        })
    };
    match table.primary_key {
        [] => ByKey::Rowid,
        [name] if is_integer(name) => ByKey::Rowid,
        _ if table.row_bytes_mean <= WITHOUT_ROWID_BYTES_MAX => ByKey::Clustered,
        _ => ByKey::Index,
    }
}

fn tree(
    kind: TreeKind,
    cells: impl Iterator<Item = Cell>,
    sample: &Sample,
    size: PageSize,
    pages: &mut Pages,
) -> Tree {
    let cells: Vec<Cell> = cells.collect();
    let count = cells.len().max(1) as f64;
    let mean = cells.iter().map(|cell| f64::from(cell.bytes)).sum::<f64>() / count;
    let overflow = cells
        .iter()
        .map(|cell| f64::from(cell.overflow))
        .sum::<f64>()
        / count;
    let mean = if cells.is_empty() { 32.0 } else { mean };
    let leaf = size.get() - LEAF_HEADER;
    // A row of an index between two leaves is in the page above.
    let between = match kind {
        TreeKind::Table => 0.0,
        TreeKind::Index => 1.0,
    };
    // A child's number, and a rowid or the row itself, and the pointer to it. The last
    // child has none of these. Half of a row does not fit on average.
    let room = f64::from(size.get() - INNER_HEADER);
    let fan_out = match kind {
        TreeKind::Table => INNER_FILL * room / f64::from(4 + varint(sample.rows / 2 + 1) + 2) + 1.0,
        TreeKind::Index => room / (4.0 + mean) + 0.5,
    };
    let (rows_a_leaf, slacks) = packed(&cells, leaf, mean);
    let shape = Shape {
        rows: sample.rows,
        rows_a_leaf: rows_a_leaf + between,
        slacks,
        row: mean,
        leaf: leaf + (between * mean) as u32,
        fan_out,
        overflow,
        // Of an index's entry all values are read one after the other, of a table's row
        // those that are wanted.
        overflow_references: 2.0,
        growth: Growth::Share {
            appends: kind == TreeKind::Table,
        },
    };
    Tree::new(shape, pages)
}

/// How many cells a leaf has on average when they are packed one after the other, and what
/// is left in each of these leaves.
fn packed(cells: &[Cell], leaf: u32, mean: f64) -> (f64, Vec<u32>) {
    let (mut used, mut in_full, mut pending) = (0, 0usize, 0);
    let mut slacks = Vec::new();
    for cell in cells {
        if used + cell.bytes > leaf {
            slacks.push(leaf - used);
            in_full += pending;
            (used, pending) = (0, 0);
        }
        used += cell.bytes;
        pending += 1;
    }
    match slacks.len() {
        // All are in one leaf: more would fill it as these do.
        0 => ((f64::from(leaf) / mean).max(1.0), slacks),
        full => (in_full as f64 / full as f64, slacks),
    }
}
