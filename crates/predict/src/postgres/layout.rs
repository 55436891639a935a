//! How PostgreSQL places a workload's rows on pages.
//!
//! Tables are as Octavo loads them: rows in the order of their key, whole pages, and
//! then the keys and indexes, built from sorted rows.

use octavo_units::PageSize;
use octavo_workload::{
    Workload,
    schema::{Column, Table},
    touch::Columns,
};

use super::{
    heap::{Heap, room},
    index::Index,
    tuple::{
        HeapTuple, LINE_POINTER, PAGE_HEADER, aligned, heap_tuple, index_tuple, toast_chunk,
        toast_tuple,
    },
};
use crate::{
    packed::Packed,
    pages::{ObjectPages, Pages},
    sample::{Field, Sample, samples},
    tree::{Growth, Shape, Tree},
};

/// `BTPageOpaqueData` at the end of a page of a B-tree (access/nbtree.h).
const SPECIAL: u32 = 16;

/// `BTREE_DEFAULT_FILLFACTOR` and `BTREE_NONLEAF_FILLFACTOR` (access/nbtree.h): how full
/// pages are made from sorted entries.
const LEAF_FILL_PERCENT: u32 = 90;
const INNER_FILL_PERCENT: u32 = 70;

/// A table, its indexes, and where its long values are.
#[derive(Clone, Debug)]
pub(super) struct Relation {
    pub(super) heap: Heap,
    /// Of the key.
    pub(super) key: Option<Index>,
    /// Of the table's further indexes.
    pub(super) indexes: Vec<Index>,
    /// The columns of each of these.
    pub(super) indexed: Vec<Columns>,
    pub(super) toast: Option<Toast>,
    /// Where each column's value ends in a row, on average.
    pub(super) ends: Vec<u32>,
    /// Whether some rows lack values: these grow when they get them, and no others do,
    /// whose numbers take as many bytes as before.
    pub(super) has_nulls: bool,
}

/// Values that are not in their rows.
#[derive(Clone, Debug)]
pub(super) struct Toast {
    pub(super) heap: Heap,
    pub(super) index: Index,
    pub(super) columns: Columns,
    /// Rows of the values of one row of the table, on average.
    pub(super) chunks: f64,
    /// Rows made since loading.
    pub(super) made: u64,
}

/// All tables.
pub(super) fn lay_out(workload: &dyn Workload, size: PageSize, pages: &mut Pages) -> Vec<Relation> {
    let samples = samples(workload);
    let tables = workload.tables().iter().zip(&samples);
    tables
        .map(|(table, sample)| relation(table, sample, size.get(), pages))
        .collect()
}

fn relation(table: &Table, sample: &Sample, page: u32, pages: &mut Pages) -> Relation {
    let drawn: Vec<&[Field]> = sample.drawn().map(|(_, fields)| fields).collect();
    let tuples: Vec<HeapTuple> = drawn
        .iter()
        .map(|fields| heap_tuple(&table.columns, fields, page))
        .collect();
    let bytes: Vec<u32> = tuples.iter().map(|tuple| tuple.bytes).collect();
    let heap = Heap::new(Packed::new(sample.rows, &bytes, room(page)), pages);
    let count = tuples.len().max(1) as f64;
    let mean_end = |column: usize| {
        let ends = tuples.iter().map(|tuple| f64::from(tuple.ends[column]));
        (ends.sum::<f64>() / count) as u32
    };
    let mut entries = |names: &[&str]| {
        let own: Vec<usize> = names
            .iter()
            .filter_map(|name| table.columns.iter().position(|column| column.name == *name))
            .collect();
        let kinds: Vec<Column> = own.iter().map(|&at| table.columns[at]).collect();
        let sizes = drawn.iter().map(|fields| {
            let values: Vec<Field> = own.iter().map(|&at| fields[at]).collect();
            index_tuple(&kinds, &values)
        });
        index(sample.rows, &sizes.collect::<Vec<u32>>(), page, pages)
    };
    let key = (!table.primary_key.is_empty()).then(|| entries(table.primary_key));
    let indexes = table
        .indexes
        .iter()
        .map(|index| entries(index.columns))
        .collect();
    let positions = |names: &[&str]| {
        let columns = table.columns.iter().enumerate();
        let own = columns.filter(|(_, column)| names.contains(&column.name));
        Columns::at(own.map(|(position, _)| position))
    };
    let indexed = table.indexes.iter().map(|index| positions(index.columns));
    Relation {
        heap,
        key,
        indexes,
        indexed: indexed.collect(),
        toast: toast(&tuples, sample.rows, page, pages),
        has_nulls: drawn.iter().any(|fields| fields.contains(&Field::Null)),
        ends: (0..table.columns.len()).map(mean_end).collect(),
    }
}

/// Where long values are, if there are any.
fn toast(tuples: &[HeapTuple], rows: u64, page: u32, pages: &mut Pages) -> Option<Toast> {
    let most = toast_chunk(page);
    let mut sizes = Vec::new();
    for (_, bytes) in tuples.iter().flat_map(|tuple| &tuple.toasted) {
        let mut left = *bytes;
        while left > 0 {
            sizes.push(toast_tuple(left.min(most)));
            left -= left.min(most);
        }
    }
    if sizes.is_empty() {
        return None;
    }
    let chunks = sizes.len() as f64 / tuples.len() as f64;
    let all = (rows as f64 * chunks) as u64;
    let columns = tuples.iter().flat_map(|tuple| &tuple.toasted);
    Some(Toast {
        heap: Heap::new(Packed::new(all, &sizes, room(page)), pages),
        // A value's number and a chunk's: 8 + 4 + 4.
        index: index(all, &[16], page, pages),
        columns: Columns::at(columns.map(|(column, _)| *column)),
        chunks,
        made: 0,
    })
}

/// An index of entries of these sizes (`_bt_buildadd` in access/nbtree/nbtsort.c).
fn index(rows: u64, entries: &[u32], page: u32, pages: &mut Pages) -> Index {
    // Nobody knows how long the first one of an empty table will be.
    let mean = match entries {
        [] => 16.0,
        all => all.iter().map(|bytes| f64::from(*bytes)).sum::<f64>() / all.len() as f64,
    };
    let entry = mean + f64::from(LINE_POINTER);
    let room = page - PAGE_HEADER - SPECIAL;
    // The first place is the high key's, but for the last leaf. Once less than a tenth is
    // left, the next entry has the last one go along to a new page, whose own place the
    // high key takes, cut to the columns that tell the pages apart.
    let is_even = entries.windows(2).all(|pair| pair[0] == pair[1]);
    let fitting = |fill: u32| {
        let left = f64::from(page * (100 - fill) / 100);
        let fitting = (f64::from(room - 2 * LINE_POINTER) - left) / entry;
        // The one that goes along is half of one more on average.
        if is_even {
            fitting.floor()
        } else {
            fitting - 0.5
        }
    };
    let rows_a_leaf = fitting(LEAF_FILL_PERCENT).max(1.0);
    let shape = Shape {
        rows,
        rows_a_leaf,
        slacks: vec![page * (100 - LEAF_FILL_PERCENT) / 100],
        row: entry,
        leaf: room - aligned(mean as u32) - LINE_POINTER,
        fan_out: fitting(INNER_FILL_PERCENT),
        overflow: 0.0,
        overflow_references: 1.0,
        // `_bt_findsplitloc` (access/nbtree/nbtsplitloc.c): the last leaf is left as full
        // as a build leaves it. No vacuum gives leaves back.
        growth: Growth::Split {
            last_fill: f64::from(LEAF_FILL_PERCENT) / 100.0,
            splits_behind_sequel: true,
            merge_below: 0.0,
        },
    };
    // The meta page.
    pages.extend(1);
    Index {
        tree: Tree::new(shape, pages),
        entry: mean as u32,
        image: PAGE_HEADER + SPECIAL + (rows_a_leaf * entry) as u32,
    }
}

/// How many pages each table and index has.
pub(crate) fn sizes(workload: &dyn Workload, size: PageSize) -> Vec<ObjectPages> {
    let mut sizes = Vec::new();
    for (table, relation) in
        workload
            .tables()
            .iter()
            .zip(lay_out(workload, size, &mut Pages::default()))
    {
        let mut indexes = Vec::new();
        let mut heap = |name: String, heap: &Heap| {
            sizes.push(ObjectPages {
                name,
                pages: heap.pages(),
                inner: 0,
            });
        };
        heap(table.name.to_owned(), &relation.heap);
        if let Some(toast) = &relation.toast {
            heap(format!("{} (toast)", table.name), &toast.heap);
        }
        let mut index = |name: String, index: &Index| {
            indexes.push(ObjectPages {
                name,
                // With the meta page.
                pages: index.tree.pages() + 1,
                inner: index.tree.inner_pages(),
            });
        };
        if let Some(key) = &relation.key {
            index(format!("{} (key)", table.name), key);
        }
        for (named, tree) in table.indexes.iter().zip(&relation.indexes) {
            index(named.name.to_owned(), tree);
        }
        if let Some(toast) = &relation.toast {
            index(format!("{} (toast key)", table.name), &toast.index);
        }
        sizes.append(&mut indexes);
    }
    sizes
}
