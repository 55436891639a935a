//! How InnoDB places a workload's rows on pages.
//!
//! Rows are in the tree of the key, as Octavo loads them: in the key's order, one table
//! by one session. Each page is filled but for a sixteenth, and then one behind it begins
//! (`btr_cur_optimistic_insert`, `dict_index_get_space_reserve`). Indexes are made
//! afterwards from sorted entries, which fill their pages (`PageBulk`,
//! `innodb_fill_factor=100`).

use octavo_units::PageSize;
use octavo_workload::{
    Workload,
    schema::{Column, ColumnKind, Table},
    touch::{AccessPath, Columns},
};

use super::{
    files::{File, Files},
    record::{DIRECTORY_SHARE, PAGE_OVERHEAD, Record, entry, pointer, row, width},
};
use crate::{
    pages::Pages,
    sample::{Field, Sample, samples},
    tree::{Growth, Shape, Tree},
};

/// The share of a page that rows leave free when they come in order
/// (`dict_index_get_space_reserve`).
const RESERVE: u32 = 16;

/// Pages of a file before the first root: header, change buffer bitmap, segments
/// (`fsp0types.h`).
const FILE_PAGES: u32 = 3;

/// How full leaves are below which they are merged: `DICT_INDEX_MERGE_THRESHOLD_DEFAULT`
/// percent of a page (`btr_cur_compress_recommendation`).
const MERGE_BELOW: f64 = 0.5;

/// The trees of one table, and what of its rows decides the bytes of the log.
#[derive(Clone, Debug)]
pub(super) struct TableTrees {
    pub(super) rows: Tree,
    /// Of the table's indexes.
    pub(super) indexes: Vec<Tree>,
    pub(super) bytes: Bytes,
}

impl TableTrees {
    /// Where rows or entries are.
    pub(super) fn tree(&mut self, by: AccessPath) -> &mut Tree {
        match by {
            AccessPath::Index(index) => &mut self.indexes[index],
            AccessPath::Key | AccessPath::Entry => &mut self.rows,
        }
    }
}

/// Bytes of a table's rows, on average.
#[derive(Clone, Debug, Default)]
pub(super) struct Bytes {
    /// Of a row's record.
    pub(super) row: f64,
    /// Of its key in a record.
    pub(super) key: f64,
    /// Columns of the key.
    pub(super) key_columns: f64,
    /// Whether rows have no key and come one behind the other.
    pub(super) is_in_order: bool,
    /// Of each index's entries.
    pub(super) entries: Vec<f64>,
    /// Where an index begins with columns with which the key begins, how many rows have the
    /// same values in these.
    pub(super) groups: Vec<Option<u64>>,
    /// Those by which a row grows whose number or date is no more NULL.
    pub(super) nulls: u32,
    /// Columns of which some row has its value on pages of its own.
    pub(super) external: Columns,
    /// Whether texts of this table differ in length, so that another one seldom fits where
    /// one was.
    pub(super) varies: bool,
}

/// The trees of all tables, each in a file of its own.
pub(super) fn lay_out(
    workload: &dyn Workload,
    size: PageSize,
    pages: &mut Pages,
    files: &mut Files,
) -> Vec<TableTrees> {
    let samples = samples(workload);
    let tables = workload.tables().iter().zip(&samples).enumerate();
    tables
        .map(|(position, (table, sample))| {
            let trees = trees(table, sample, size.get(), pages);
            files.grow(File::Table(position), pages.count());
            trees
        })
        .collect()
}

fn trees(table: &Table, sample: &Sample, size: u32, pages: &mut Pages) -> TableTrees {
    pages.extend(FILE_PAGES);
    let columns: &[Column] = &table.columns;
    let positions = |names: &[&str]| -> Vec<usize> {
        let position = |name: &&str| columns.iter().position(|column| column.name == *name);
        names.iter().filter_map(position).collect()
    };
    let key = positions(table.primary_key);
    let has_key = !key.is_empty();
    let of = |fields: &[Field], own: &[usize]| -> Vec<(&Column, Field)> {
        own.iter()
            .map(|&position| (&columns[position], fields[position]))
            .collect()
    };
    let records: Vec<Record> = sample
        .drawn()
        .map(|(_, fields)| row(columns, fields, has_key, size))
        .collect();
    let pointers = sample
        .drawn()
        .map(|(_, fields)| pointer(&of(fields, &key), columns, has_key));
    let rows = tree(
        &records,
        average(pointers),
        size / RESERVE,
        sample.rows,
        size,
        pages,
    );
    let mut bytes = Bytes {
        row: average(records.iter().map(|record| record.bytes)),
        key: average(sample.drawn().map(|(_, fields)| match has_key {
            true => entry(&of(fields, &key), true) - entry(&[], true),
            false => entry(&[], false) - entry(&[], true),
        })),
        key_columns: key.len().max(1) as f64,
        nulls: nulls(columns, sample),
        external: external(&records),
        varies: varies(columns, sample),
        is_in_order: !has_key,
        entries: Vec::new(),
        groups: Vec::new(),
    };
    let mut indexes = Vec::new();
    for index in table.indexes {
        // An entry has the row's key behind its columns: what of it is not there yet.
        let mut own = positions(index.columns);
        let missing: Vec<usize> = key.iter().copied().filter(|k| !own.contains(k)).collect();
        own.extend(missing);
        let entries: Vec<Record> = sample
            .drawn()
            .map(|(_, fields)| Record {
                bytes: entry(&of(fields, &own), has_key),
                ..Record::default()
            })
            .collect();
        let mean = average(entries.iter().map(|entry| entry.bytes));
        bytes.entries.push(mean);
        let common = own.iter().zip(&key).take_while(|(own, key)| own == key);
        bytes.groups.push(group(&key[..common.count()], sample));
        // What is above has whole entries.
        indexes.push(tree(&entries, mean + 4.0, 0, sample.rows, size, pages));
    }
    TableTrees {
        rows,
        indexes,
        bytes,
    }
}

/// How many rows have the same values in these columns, with which the key begins.
fn group(columns: &[usize], sample: &Sample) -> Option<u64> {
    let differ = |one: &[Field], other: &[Field]| {
        let mut columns = columns.iter();
        columns.any(|&column| one[column] != other[column])
    };
    let rows: Vec<(u64, &[Field])> = sample.drawn().collect();
    let begins: Vec<u64> = rows
        .windows(2)
        .filter(|pair| differ(pair[0].1, pair[1].1))
        .map(|pair| pair[1].0)
        .collect();
    // Rows are drawn here and there: the shortest of the groups that were met whole is
    // the least wrong.
    let shortest = begins.windows(2).map(|pair| pair[1] - pair[0]).min();
    let is_some = !columns.is_empty() && sample.rows > 0;
    is_some.then(|| shortest.unwrap_or(sample.rows).clamp(1, sample.rows))
}

/// Columns of which some record has its value on pages of its own.
fn external(records: &[Record]) -> Columns {
    let all = |column: &usize| {
        let mut records = records.iter();
        records.any(|record| record.external.has(*column))
    };
    Columns::at((0..64).filter(all))
}

/// Bytes of the numbers and dates that are NULL in some row.
fn nulls(columns: &[Column], sample: &Sample) -> u32 {
    let is_null = |column: usize| {
        let mut rows = sample.drawn();
        rows.any(|(_, fields)| fields[column] == Field::Null)
    };
    let of_column = |(position, column): (usize, &Column)| match column.kind {
        ColumnKind::Char(_) | ColumnKind::Varchar(_) => 0,
        kind if column.nullable && is_null(position) => width(kind, Field::Integer(0)),
        _ => 0,
    };
    columns.iter().enumerate().map(of_column).sum()
}

fn varies(columns: &[Column], sample: &Sample) -> bool {
    let differs = |column: usize| {
        let mut fields = sample.drawn().map(|(_, fields)| fields[column]);
        let first = fields.next();
        fields.any(|field| Some(field) != first)
    };
    let mut texts = columns.iter().enumerate();
    texts.any(|(position, column)| {
        let is_long = matches!(column.kind, ColumnKind::Varchar(256..));
        is_long && differs(position)
    })
}

fn average(bytes: impl Iterator<Item = u32>) -> f64 {
    let (sum, count) = bytes.fold((0.0, 0.0), |(sum, count), bytes| {
        (sum + f64::from(bytes), count + 1.0)
    });
    if count == 0.0 { 32.0 } else { sum / count }
}

/// A tree of records, of which each page leaves `reserve` free.
fn tree(
    records: &[Record],
    pointer: f64,
    reserve: u32,
    rows: u64,
    size: u32,
    pages: &mut Pages,
) -> Tree {
    let leaf = size - PAGE_OVERHEAD;
    let record = average(records.iter().map(|record| record.bytes));
    let mean = record + DIRECTORY_SHARE;
    let overflow = average(records.iter().map(|record| record.overflow));
    let overflow = if records.is_empty() { 0.0 } else { overflow };
    let (rows_a_leaf, slacks) = packed(records, leaf, reserve, mean);
    let shape = Shape {
        rows,
        rows_a_leaf,
        slacks,
        row: mean,
        leaf,
        fan_out: f64::from(leaf) / (pointer + DIRECTORY_SHARE),
        overflow,
        // One for the record that leads to the page, and one for what is on it.
        overflow_references: 2.0,
        growth: Growth::Split {
            last_fill: 1.0 - 1.0 / f64::from(RESERVE),
            splits_behind_sequel: true,
            merge_below: MERGE_BELOW,
        },
    };
    Tree::new(shape, pages)
}

/// How many records a leaf has on average when they come one after the other, and what
/// is left in each of these leaves.
fn packed(records: &[Record], leaf: u32, reserve: u32, mean: f64) -> (f64, Vec<u32>) {
    let (mut used, mut count, mut in_full) = (0, 0u32, 0);
    let mut slacks = Vec::new();
    for record in records {
        // `page_get_max_insert_size_after_reorganize` of one record more.
        let room = leaf.saturating_sub(used + directory(count + 1));
        let kept = if count >= 2 { reserve } else { 0 };
        if kept + record.bytes > room && count > 0 {
            slacks.push(leaf.saturating_sub(used + directory(count)));
            in_full += count;
            (used, count) = (0, 0);
        }
        used += record.bytes;
        count += 1;
    }
    match slacks.len() {
        // All are in one leaf: more would fill it as these do.
        0 => (
            (f64::from(leaf - reserve) / mean).floor().max(1.0),
            vec![reserve],
        ),
        full => (f64::from(in_full) / full as f64, slacks),
    }
}

/// Bytes of slots for so many records (`page_dir_calc_reserved_space`).
fn directory(records: u32) -> u32 {
    (2 * records).div_ceil(4)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accounts_of_pgbench_fill_pages_by_hand() {
        let records = vec![
            Record {
                bytes: 115,
                ..Record::default()
            };
            2000
        ];
        let a_leaf = |size: u32| packed(&records, size - PAGE_OVERHEAD, size / RESERVE, 115.5).0;
        // As in files: the last that comes finds 1024 + 115 bytes of 16,252 left behind
        // 130 records with 66 bytes of slots, the next one would not.
        assert_eq!(a_leaf(16_384), 131.0);
        assert_eq!(a_leaf(4096), 32.0);
        assert_eq!(a_leaf(65_536), 530.0);
        let (full, _) = packed(&records, 4096 - PAGE_OVERHEAD, 0, 115.5);
        assert_eq!(full, 34.0, "an index");
    }
}
