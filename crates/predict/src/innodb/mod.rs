//! InnoDB as MariaDB 10.11 has it: rows in the trees of their keys, undo logs, a buffer
//! pool with its page cleaner, the doublewrite and the redo log.

mod engine;
mod files;
mod heap;
mod kind;
mod layout;
mod log;
mod pool;
mod record;
mod traced;
mod undo;

use octavo_units::PageSize;
use octavo_workload::Workload;

use crate::{
    pages::{ObjectPages, Pages},
    tree::Tree,
};

use files::Files;

pub(crate) use kind::{MARIADB, MISSES_OFF, MYSQL};

/// How many pages each table and index of a loaded database has.
fn sizes(workload: &dyn Workload, page_size: PageSize) -> Vec<ObjectPages> {
    let trees = layout::lay_out(
        workload,
        page_size,
        &mut Pages::default(),
        &mut Files::default(),
    );
    let of_tree = |name: &str, tree: &Tree| ObjectPages {
        name: name.to_owned(),
        pages: tree.pages(),
        inner: tree.inner_pages(),
    };
    let tables = workload.tables().iter().zip(&trees);
    let of_table = tables.flat_map(|(table, trees)| {
        let rows = std::iter::once(of_tree(table.name, &trees.rows));
        let indexes = table.indexes.iter().zip(&trees.indexes);
        rows.chain(indexes.map(|(index, tree)| of_tree(index.name, tree)))
    });
    of_table.collect()
}
