//! Values of one cell by batch, and ratios of two cells within batches.

use std::collections::BTreeMap;

/// A value of a cell in each batch that has one, by sitting and first pass.
pub(crate) type ByBatch = BTreeMap<(u32, u32), f64>;

/// The ratios of the batches that both have.
pub(crate) fn ratios_by_batch(own: &ByBatch, other: &ByBatch) -> ByBatch {
    own.iter()
        .filter_map(|(batch, value)| Some((*batch, value / other.get(batch)?)))
        .collect()
}

/// The ratios of the batches that both have, in order.
pub(crate) fn paired_ratios(own: &ByBatch, other: &ByBatch) -> Vec<f64> {
    ratios_by_batch(own, other).into_values().collect()
}
