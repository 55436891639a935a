//! From batches to [`BatchLevels`]: which reference is the anchor, and what links the others to it.
//! Apart from these, which judgements have and batches know nothing of.

use super::{
    Group,
    batch::Batches,
    levels::{BatchLevels, Levels},
};
use crate::statistics::BatchMean;

/// Batches below which a link has no spread to speak of: a reference then stands for itself.
const LINK_MIN: usize = 2;

/// The levels of all cells of these groups. `decided` are the ratios to the reference of cells
/// that are no longer measured, by group and place, with the batches until they were decided.
/// Later passes may complete a batch that such a cell has only part of; it must not count.
/// `from` is the first pass of each sitting that counts, by group.
pub(super) fn levels(
    groups: &[Group],
    from: &[u32],
    decided: &[Vec<Option<BatchMean>>],
    batches: &Batches,
) -> Levels {
    let mut levels = BatchLevels::default();
    let references = groups.iter().zip(from);
    let references = references.map(|(group, &from)| Since {
        cell: group.reference_cell(),
        from,
    });
    let references: Vec<Since> = references.collect();
    let count = |of: &Since| batches.series(of.cell, None, of.from).batches.len();
    // The first of equal ones. Where no reference has any, others are compared all the same.
    let most = |all: &[Since]| all.iter().copied().rev().max_by_key(count);
    let anchor = most(&references).map(|anchor| match count(&anchor) {
        0 => {
            let all = groups.iter().zip(from).flat_map(|(group, &from)| {
                let cells = group.cells.iter();
                cells.map(move |&cell| Since { cell, from })
            });
            most(&all.collect::<Vec<Since>>()).unwrap_or(anchor)
        }
        _ => anchor,
    });
    if let Some(anchor) = anchor {
        add_alone(&mut levels, anchor, batches);
    }
    for ((group, decided), &of_group) in groups.iter().zip(decided).zip(&references) {
        let Since {
            cell: reference,
            from,
        } = of_group;
        if Some(of_group) != anchor {
            add_linked(&mut levels, of_group, anchor, batches);
        }
        for (&cell, decided) in group.cells.iter().zip(decided) {
            if cell == reference || Some(cell) == anchor.map(|anchor| anchor.cell) {
                continue;
            }
            if let Some(decided) = decided {
                levels.add_ratio(cell, reference, decided.clone());
                continue;
            }
            let series = batches.series(cell, Some(reference), from);
            if series.batches.is_empty() {
                // Where the reference failed, it is beside the anchor.
                add_linked(&mut levels, Since { cell, from }, anchor, batches);
                continue;
            }
            levels.add_ratio(cell, reference, series.mean());
        }
    }
    Levels::Batches(levels)
}

/// A cell and the first pass of each sitting from which on it counts.
#[derive(Clone, Copy, PartialEq)]
struct Since {
    cell: usize,
    from: u32,
}

/// A cell beside the anchor, or for itself.
fn add_linked(
    levels: &mut BatchLevels,
    reference: Since,
    anchor: Option<Since>,
    batches: &Batches,
) {
    let own = batches.series(reference.cell, None, reference.from);
    let wanted = LINK_MIN.min(own.batches.len().max(1));
    // Only passes that count for both groups: copies of different ages are not compared.
    let link = anchor.and_then(|anchor| {
        let from = reference.from.max(anchor.from);
        let link = batches.series(reference.cell, Some(anchor.cell), from);
        (link.batches.len() >= wanted).then_some((anchor.cell, link))
    });
    match link {
        Some((anchor, link)) => levels.add_ratio(reference.cell, anchor, link.mean()),
        None => add_alone(levels, reference, batches),
    }
}

/// A cell for itself, if it has any batch.
fn add_alone(levels: &mut BatchLevels, Since { cell, from }: Since, batches: &Batches) {
    let own = batches.series(cell, None, from);
    if own.batches.is_empty() {
        return;
    }
    let mut mean = own.mean();
    // Of a second there, of a minute here.
    mean.center += 60_f64.ln();
    levels.add_anchor(cell, mean);
}
