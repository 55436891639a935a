//! What changed while cells were measured: their data, their caches, the machine's pace.

use std::collections::HashMap;

use serde::Serialize;

use super::{CellFindings, GroupFindings};
use crate::{caveats::Caveat, lockstep::Slice};

/// How far a cell's data was changed while measured.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Age {
    /// Transactions of the longest sitting after its warm-up, also those of passes that are
    /// left out of other figures.
    pub transactions: u64,
    /// Misses a transaction in the second half of the sittings over those in
    /// the first half; `None` without misses.
    pub miss_trend: Option<f64>,
    /// Transactions over time in the fastest quarter of its passes over those in the slowest,
    /// of passes that count; `None` with fewer than 16.
    pub pace_change: Option<f64>,
}

/// From all slices of a cell, and those that count; `None` without any.
pub(super) fn age(slices: &[&Slice], counting: &[&Slice]) -> Option<Age> {
    let mut executed: HashMap<u32, u64> = HashMap::new();
    for slice in slices {
        let executed = executed.entry(slice.key.sitting).or_default();
        *executed = executed.saturating_add(slice.transactions);
    }
    let transactions = executed.values().copied().max()?;
    let mut halves = [(0_u64, 0_u64); 2];
    let mut seen: HashMap<u32, u64> = HashMap::new();
    for slice in slices {
        let seen = seen.entry(slice.key.sitting).or_default();
        let half = &mut halves[usize::from(*seen >= executed[&slice.key.sitting].div_ceil(2))];
        half.0 = half.0.saturating_add(slice.misses);
        half.1 = half.1.saturating_add(slice.transactions);
        *seen = seen.saturating_add(slice.transactions);
    }
    let ratio = |(misses, transactions): (u64, u64)| misses as f64 / transactions.max(1) as f64;
    let [first, second] = halves.map(ratio);
    Some(Age {
        transactions,
        miss_trend: (first > 0.0 && second > 0.0).then(|| second / first),
        pace_change: pace_change(counting),
    })
}

/// Misses in the second half of the sittings, as a share of those in the first, below which
/// the cache was not warm. Chosen.
const WARM: f64 = 0.9;

/// Misses from which on such a fall is no chance: counts of a thousand are within 3%.
const MISSES_MIN: f64 = 1000.0;

/// The cells whose misses fell while they were measured, the one where they fell most first.
pub(super) fn still_warming(groups: &[GroupFindings]) -> Option<Caveat> {
    // What missed passes met other parts of the sittings.
    let trend = |cell: &CellFindings| {
        let per = cell.per_transaction?;
        let is_enough = per.buffer_misses * per.transactions as f64 >= MISSES_MIN;
        let trend = cell.age?.miss_trend?;
        (is_enough && cell.passes_missed == 0).then_some(trend)
    };
    let cells = groups.iter().flat_map(|group| &group.cells);
    let falling = cells.filter_map(|cell| Some((trend(cell)?, cell.cell.clone())));
    let mut falling: Vec<_> = falling.filter(|(trend, _)| *trend < WARM).collect();
    falling.sort_by(|(one, _), (other, _)| one.total_cmp(other));
    let is_apart = |group: &GroupFindings| {
        let trends = || group.cells.iter().filter_map(trend);
        let least = trends().fold(f64::INFINITY, f64::min);
        least < WARM && least < WARM * trends().fold(0.0, f64::max)
    };
    Some(Caveat::StillWarming {
        fall: 1.0 - falling.first()?.0,
        cells: falling.into_iter().map(|(_, cell)| cell).collect(),
        apart: groups.iter().any(is_apart),
    })
}

/// Parts of an experiment whose paces are compared, and passes that each has at least: of
/// fewer, a storm may be the reason.
const PARTS: usize = 4;
const PART_MIN: usize = 4;

fn pace_change(counting: &[&Slice]) -> Option<f64> {
    let (mut parts, count) = ([(0.0, 0.0); PARTS], counting.len());
    if count < PARTS * PART_MIN {
        return None;
    }
    for (place, slice) in counting.iter().enumerate() {
        let part = &mut parts[place * PARTS / count];
        part.0 += slice.transactions as f64;
        part.1 += slice.elapsed.as_secs_f64();
    }
    let paces = parts.map(|(transactions, elapsed_s)| transactions / elapsed_s);
    let fastest = paces.iter().copied().fold(0.0, f64::max);
    let slowest = paces.iter().copied().fold(f64::INFINITY, f64::min);
    Some(fastest / slowest).filter(|factor| factor.is_finite())
}

/// How many times as fast as another one part has to be for it to matter. Chosen.
const OTHER_PACE: f64 = 1.5;

/// The reference whose pace changed most, if one did.
pub(super) fn changed_pace(groups: &[GroupFindings]) -> Option<Caveat> {
    let references = groups.iter().flat_map(|group| &group.cells);
    let references = references.filter(|cell| cell.reference);
    let changes = references.filter_map(|cell| Some((cell.age?.pace_change?, cell)));
    let (factor, cell) = changes.max_by(|(one, _), (other, _)| one.total_cmp(other))?;
    (factor >= OTHER_PACE).then(|| Caveat::PaceChanged {
        cell: cell.cell.clone(),
        factor,
    })
}
