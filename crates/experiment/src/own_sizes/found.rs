//! What page sizes of tables and indexes did beside the best single one.

use octavo_units::PageSize;
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    inputs::Inputs,
    lockstep::Levels,
    plan::{Level, MixedSizes},
    statistics::{Decision, Interval, decision, error_of_one},
};

/// What page sizes of tables and indexes did beside the best single one.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct MixedOverSingle {
    /// The sizes.
    pub mixed: MixedSizes,
    /// The single size with the highest throughput.
    pub single: PageSize,
    /// The throughput of the mixed sizes over that, at 95% for all single sizes together: one of them was
    /// picked.
    pub ratio: Interval,
    /// What the interval says.
    pub decision: Decision,
}

/// What is known of a cell of a group: its number, its level and its throughput.
pub(crate) struct Standing {
    pub(crate) cell: usize,
    pub(crate) level: Level,
    pub(crate) throughput: Option<f64>,
}

/// Sets the cell of a group that has mixed sizes beside its best single one.
pub(crate) fn mixed_over_single(
    cells: &[Standing],
    (levels, inputs): (&Levels, &Inputs),
    margin: f64,
) -> Option<MixedOverSingle> {
    let (mixed, sizes) = cells.iter().find_map(|of| match &of.level {
        Level::MixedSizes(sizes) => Some((of.cell, sizes.clone())),
        _ => None,
    })?;
    let single: Vec<(usize, PageSize, f64)> = cells
        .iter()
        .filter_map(|of| match of.level {
            Level::PageSize(size) => Some((of.cell, size, of.throughput?)),
            _ => None,
        })
        .collect();
    let error = error_of_one(single.len());
    let best = single.into_iter();
    let (best, size, _) = best.max_by(|one, other| one.2.total_cmp(&other.2))?;
    let powers = [(mixed, 1.0), (best, -1.0)];
    let ratio = inputs.widen(levels.ratio(mixed, best, error)?, &powers, error);
    Some(MixedOverSingle {
        mixed: sizes,
        single: size,
        decision: decision(&ratio, margin),
        ratio,
    })
}
