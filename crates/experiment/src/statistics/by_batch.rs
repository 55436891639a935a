//! Values of one cell by batch, and ratios of two cells within batches.

use std::collections::BTreeMap;

/// A value of a cell in each batch that has one, by sitting and first pass.
pub(crate) type ByBatch = BTreeMap<(u32, u32), f64>;

/// The ratios of the batches that both have, in order.
pub(crate) fn paired_ratios(own: &ByBatch, other: &ByBatch) -> Vec<f64> {
    let pairs = own.iter();
    pairs
        .filter_map(|(batch, value)| Some(value / other.get(batch)?))
        .collect()
}
