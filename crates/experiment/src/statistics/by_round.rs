//! Values of one cell by round, and ratios of two cells within rounds.

use std::collections::BTreeMap;

/// A value of a cell in each round that has one.
pub(crate) type ByRound = BTreeMap<u32, f64>;

/// The ratios of the rounds that both have, in the rounds' order.
pub(crate) fn paired_ratios(own: &ByRound, other: &ByRound) -> Vec<f64> {
    own.iter()
        .filter_map(|(round, value)| Some(value / other.get(round)?))
        .collect()
}
