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
    /// The throughput of the mixed sizes over that, at 95% for all cells of the group together. Where that
    /// size is the reference, it is the cell's own ratio.
    pub ratio: Interval,
    /// What the interval says.
    pub decision: Decision,
}

/// What is known of a cell of a group: its number, its level and its throughput.
pub(crate) struct Standing {
    pub(crate) cell: usize,
    pub(crate) level: Level,
    pub(crate) throughput: Option<f64>,
    pub(crate) is_reference: bool,
    /// To the reference.
    pub(crate) ratio: Option<Interval>,
}

/// Sets the cell of a group that has mixed sizes beside its best single one.
pub(crate) fn mixed_over_single(
    cells: &[Standing],
    (levels, inputs): (&Levels, &Inputs),
    margin: f64,
) -> Option<MixedOverSingle> {
    let (mixed, sizes) = cells.iter().find_map(|of| match &of.level {
        Level::MixedSizes(sizes) => Some((of, sizes.clone())),
        _ => None,
    })?;
    let single = cells.iter().filter_map(|of| match of.level {
        Level::PageSize(size) => Some((of, size, of.throughput?)),
        _ => None,
    });
    let (best, size, _) = single.max_by(|one, other| one.2.total_cmp(&other.2))?;
    let ratio = match best.is_reference {
        true => mixed.ratio?,
        false => {
            let error = error_of_one(cells.len().saturating_sub(1));
            let powers = [(mixed.cell, 1.0), (best.cell, -1.0)];
            let ratio = levels.ratio(mixed.cell, best.cell, error)?;
            inputs.widen(ratio, &powers, error)
        }
    };
    Some(MixedOverSingle {
        mixed: sizes,
        single: size,
        decision: decision(&ratio, margin),
        ratio,
    })
}
