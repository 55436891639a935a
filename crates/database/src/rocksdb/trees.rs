//! What is to be known of families to choose a block size for each.

use octavo_workload::Workload;

use super::configured::BLOOM_BITS;
use crate::{StoredTree, keyed, options::Options};

/// What an entry has besides key and value: the lengths of what it shares with the one before, of what it
/// does not and of the value, and eight bytes of number and kind (`table/block_based/block_builder.cc`).
pub(super) const ENTRY: u64 = 11;

/// What a block's place takes in the index of its file besides the key that it ends with: lengths, and the
/// place and size of the block (`BlockHandle`, `table/format.h`).
const PLACE: f64 = 12.0;

/// The families of a workload. A filter says of most keys that are not there that they are not.
pub(super) fn trees(workload: &dyn Workload, options: &Options) -> Vec<StoredTree> {
    let bits: u64 = options.get(BLOOM_BITS);
    let trees = keyed::trees(workload).into_iter();
    trees
        .map(|tree| StoredTree {
            entry: (tree.bytes + ENTRY) as f64,
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
