//! From batches to [`Levels`]: which reference is the anchor, and what links the others to it.
//! Apart from these, which judgements have and batches know nothing of.

use super::{Group, batch::Batches, levels::Levels};
use crate::statistics::BatchMean;

/// Batches below which a link has no spread to speak of: a reference then stands for itself.
const LINK_MIN: usize = 2;

/// The levels of all cells of these groups. `decided` are the ratios to the reference of cells
/// that are no longer measured, by group and place, with the batches until they were decided.
/// Later passes may complete a batch that such a cell has only part of; it must not count.
pub(super) fn levels(
    groups: &[Group],
    decided: &[Vec<Option<BatchMean>>],
    batches: &Batches,
) -> Levels {
    let mut levels = Levels::default();
    let references: Vec<usize> = groups.iter().map(|group| group.reference_cell()).collect();
    // The first of equal ones.
    let anchor = references.iter().copied().rev().max_by_key(|&reference| {
        let own = batches.series(reference, None);
        own.batches.len()
    });
    if let Some(anchor) = anchor {
        add_alone(&mut levels, anchor, batches);
    }
    for ((group, decided), &reference) in groups.iter().zip(decided).zip(&references) {
        if Some(reference) != anchor {
            add_reference(&mut levels, reference, anchor, batches);
        }
        for (&cell, decided) in group.cells.iter().zip(decided) {
            if cell == reference {
                continue;
            }
            if let Some(decided) = decided {
                levels.add_ratio(cell, reference, decided.clone());
                continue;
            }
            let series = batches.series(cell, Some(reference));
            if series.batches.is_empty() {
                add_alone(&mut levels, cell, batches);
                continue;
            }
            levels.add_ratio(cell, reference, series.mean());
        }
    }
    levels
}

/// A reference beside the anchor, or for itself.
fn add_reference(levels: &mut Levels, reference: usize, anchor: Option<usize>, batches: &Batches) {
    let own = batches.series(reference, None).batches.len();
    let link = anchor.map(|anchor| (anchor, batches.series(reference, Some(anchor))));
    match link {
        Some((anchor, link)) if link.batches.len() >= LINK_MIN.min(own.max(1)) => {
            levels.add_ratio(reference, anchor, link.mean());
        }
        _ => add_alone(levels, reference, batches),
    }
}

/// A cell for itself, if it has any batch.
fn add_alone(levels: &mut Levels, cell: usize, batches: &Batches) {
    let own = batches.series(cell, None);
    if own.batches.is_empty() {
        return;
    }
    let mut mean = own.mean();
    // Of a second there, of a minute here.
    mean.center += 60_f64.ln();
    levels.add_anchor(cell, mean);
}
