//! How these databases place a workload's rows on pages: rows in the order in which they
//! were loaded, and indexes made of them afterwards, sorted.

use octavo_workload::{
    Workload,
    schema::{Column, Table},
};

use super::{heap::Heap, rules::Rules};
use crate::{
    packed::{Packed, Room},
    pages::{ObjectPages, Pages},
    sample::{Field, Sample, samples},
    tree::{Shape, Tree},
};

/// A table and its indexes.
#[derive(Clone, Debug)]
pub(super) struct Relation {
    pub(super) heap: Heap,
    /// Of the key.
    pub(super) key: Option<Index>,
    /// Of the table's further indexes.
    pub(super) indexes: Vec<Index>,
}

/// An index.
#[derive(Clone, Debug)]
pub(super) struct Index {
    pub(super) tree: Tree,
    /// Bytes of an entry on average.
    pub(super) entry: u32,
}

/// All tables.
pub(super) fn lay_out(
    rules: &dyn Rules,
    workload: &dyn Workload,
    page: u32,
    pages: &mut Pages,
) -> Vec<Relation> {
    let samples = samples(workload);
    let tables = workload.tables().iter().zip(&samples);
    tables
        .map(|(table, sample)| relation(rules, table, sample, page, pages))
        .collect()
}

fn relation(
    rules: &dyn Rules,
    table: &Table,
    sample: &Sample,
    page: u32,
    pages: &mut Pages,
) -> Relation {
    let drawn: Vec<&[Field]> = sample.drawn().map(|(_, fields)| fields).collect();
    let rows: Vec<u32> = drawn
        .iter()
        .map(|fields| rules.row(&table.columns, fields))
        .collect();
    let packed = Packed::new(sample.rows, &rows, rules.heap(page));
    let heap = Heap::new(packed, rules.emptied_from(page), pages);
    let mut index = |names: &[&str], is_unique| {
        let own: Vec<usize> = names
            .iter()
            .filter_map(|name| table.columns.iter().position(|column| column.name == *name))
            .collect();
        let columns: Vec<Column> = own.iter().map(|&at| table.columns[at]).collect();
        let keys = drawn
            .iter()
            .map(|fields| -> Vec<Field> { own.iter().map(|&at| fields[at]).collect() });
        let sizes = |of: &dyn Fn(&[Field]) -> u32| keys.clone().map(|key| of(&key)).collect();
        let entries: Vec<u32> = sizes(&|key| rules.entry(&columns, key, is_unique));
        let pointers: Vec<u32> = sizes(&|key| rules.pointer(&columns, key));
        self::index(rules, sample.rows, &entries, &pointers, page, pages)
    };
    let key = (!table.primary_key.is_empty()).then(|| index(table.primary_key, true));
    let indexes = table.indexes.iter().map(|of| index(of.columns, false));
    Relation {
        heap,
        key,
        indexes: indexes.collect(),
    }
}

/// An index of entries of these sizes.
fn index(
    rules: &dyn Rules,
    rows: u64,
    entries: &[u32],
    pointers: &[u32],
    page: u32,
    pages: &mut Pages,
) -> Index {
    let rule = rules.index(page);
    let room = Room {
        bytes: rule.room,
        pointer: 0,
        reserve: rule.reserve,
    };
    let packed = Packed::new(rows, entries, room);
    let pointer = match pointers {
        [] => f64::from(packed.row()),
        all => all.iter().map(|bytes| f64::from(*bytes)).sum::<f64>() / all.len() as f64,
    };
    let shape = Shape {
        rows,
        rows_a_leaf: packed.rows_a_page(),
        slacks: packed.slacks().to_vec(),
        row: packed.row().into(),
        leaf: rule.room,
        fan_out: f64::from(rule.room - rule.reserve) / pointer,
        overflow: 0.0,
        overflow_references: 1.0,
        growth: rule.growth,
    };
    Index {
        tree: Tree::new(shape, pages),
        entry: packed.row(),
    }
}

/// How many pages each table and index has.
pub(super) fn sizes(rules: &dyn Rules, workload: &dyn Workload, page: u32) -> Vec<ObjectPages> {
    let relations = lay_out(rules, workload, page, &mut Pages::default());
    let mut sizes = Vec::new();
    for (table, relation) in workload.tables().iter().zip(&relations) {
        sizes.push(ObjectPages {
            name: table.name.to_owned(),
            pages: relation.heap.pages(),
            inner: 0,
        });
        let mut index = |name: String, index: &Index| {
            sizes.push(ObjectPages {
                name,
                pages: index.tree.pages(),
                inner: index.tree.inner_pages(),
            });
        };
        if let Some(key) = &relation.key {
            index(format!("{} (key)", table.name), key);
        }
        for (named, of) in table.indexes.iter().zip(&relation.indexes) {
            index(named.name.to_owned(), of);
        }
    }
    sizes
}
