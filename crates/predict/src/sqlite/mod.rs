//! SQLite: rows in B-trees, its page cache, a write-ahead log and checkpoints.

mod engine;
mod kind;
mod layout;
mod log;
mod pager;
mod reader;
mod record;
mod traced;
mod values;

use octavo_units::PageSize;
use octavo_workload::Workload;

use crate::pages::{ObjectPages, Pages};
use layout::TableTrees;

pub(crate) use kind::KIND;

/// How many pages each table and index of a loaded database has.
fn sizes(workload: &dyn Workload, page_size: PageSize) -> Vec<ObjectPages> {
    let mut pages = Pages::default();
    let trees = layout::lay_out(workload, page_size, &mut pages);
    let mut sizes = Vec::new();
    for (table, trees) in workload.tables().iter().zip(&trees) {
        let TableTrees {
            rows, key, indexes, ..
        } = trees;
        sizes.push((table.name.to_owned(), rows));
        sizes.extend(
            key.as_ref()
                .map(|key| (format!("{} (key)", table.name), key)),
        );
        let named = table.indexes.iter().zip(indexes);
        sizes.extend(named.map(|(index, tree)| (index.name.to_owned(), tree)));
    }
    sizes
        .into_iter()
        .map(|(name, tree)| ObjectPages {
            name,
            pages: tree.pages(),
            inner: tree.inner_pages(),
        })
        .collect()
}
