//! What is to be known of families to choose a block size for each.

use octavo_workload::Workload;

use super::configured::BLOOM_BITS;
use crate::{StoredTree, keyed, options::Options};

/// What an entry has besides key and value: the lengths of what it shares with the one before, of what it
/// does not and of the value, and eight bytes of number and kind (`table/block_based/block_builder.cc`).
const ENTRY: u64 = 11;

/// What a block's place takes in the index of its file besides the key that it ends with: lengths, and the
/// place and size of the block (`BlockHandle`, `table/format.h`).
const PLACE: f64 = 12.0;

/// Of 16 entries 15 have only what their key does not share with the one before
/// (`BlockBasedTableOptions::block_restart_interval`).
const SHARED: f64 = 15.0 / 16.0;

/// The families of a workload. A filter says of most keys that are not there that they are not.
pub(super) fn trees(workload: &dyn Workload, options: &Options) -> Vec<StoredTree> {
    of_filters(workload, options.get(BLOOM_BITS))
}

/// The same with filters of so many bits a key.
pub(super) fn of_filters(workload: &dyn Workload, bits: u64) -> Vec<StoredTree> {
    let trees = keyed::trees(workload).into_iter();
    trees
        .map(|tree| StoredTree {
            entry: (tree.bytes + ENTRY) as f64 - SHARED * tree.shared_bytes as f64,
            held_by_entry: bits as f64 / 8.0,
            held_by_page: tree.key_bytes as f64 + PLACE,
            looks_before_insert: bits == 0 && tree.index.is_none(),
            name: tree.name,
            table: tree.table,
            index: tree.index,
            entries: tree.entries,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use octavo_units::Seed;
    use octavo_workload::Tpcc;

    use super::*;

    /// Data bytes of an entry, as `rocksdb.aggregated-table-properties` of 7.8.3 has them for a warehouse with
    /// blocks of 4 KiB.
    #[test]
    fn entries_are_about_as_large_as_in_files() {
        let workload = Tpcc::new(1, Seed::new(1)).unwrap();
        let options = super::super::KIND.read(&[]).unwrap();
        let trees = trees(&workload, &options);
        for (name, counted) in [
            ("order_line", 55.3),
            ("orders", 29.4),
            ("stock", 322.4),
            ("customer", 563.2),
            ("customer.customer_by_name", 37.2),
            ("orders.orders_by_customer", 22.5),
        ] {
            let tree = trees.iter().find(|tree| tree.name == name).unwrap();
            let ratio = tree.entry / counted;
            assert!(
                (0.75..1.25).contains(&ratio),
                "{name}: {} of {counted}",
                tree.entry
            );
        }
    }
}
