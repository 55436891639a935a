//! What was read of each table and index.

use octavo_database::TreeCounters;
use schemars::JsonSchema;
use serde::Serialize;

use crate::record::Figures;

/// What clients read of a table or index, per transaction.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct TreeReads {
    /// What the database calls it.
    pub name: String,
    /// Calls that read it.
    pub calls: f64,
    /// Pages that the buffer had, those of indexes and filters too.
    pub hits: f64,
    /// Reads of one page, of rows, of an index of pages or of a filter. What is read ahead is in none.
    pub reads: f64,
    /// Bytes of these.
    pub read_bytes: f64,
}

/// Means over all transactions of runs, in the order of names.
pub(crate) fn tree_reads(runs: &[&Figures]) -> Vec<TreeReads> {
    let transactions: u64 = runs.iter().map(|run| run.load.transactions()).sum();
    let each = |count: u64| count as f64 / transactions.max(1) as f64;
    let mut trees: Vec<TreeReads> = Vec::new();
    for TreeCounters {
        name,
        calls,
        hits,
        reads,
        read_bytes,
    } in runs.iter().flat_map(|run| &run.trees)
    {
        let known = trees.iter().position(|of| of.name == *name);
        let place = known.unwrap_or_else(|| {
            trees.push(TreeReads {
                name: name.clone(),
                calls: 0.0,
                hits: 0.0,
                reads: 0.0,
                read_bytes: 0.0,
            });
            trees.len() - 1
        });
        let tree = &mut trees[place];
        tree.calls += each(*calls);
        tree.hits += each(*hits);
        tree.reads += each(*reads);
        tree.read_bytes += each(read_bytes.get());
    }
    trees.sort_by(|one, other| one.name.cmp(&other.name));
    trees
}
