//! What changed while cells were measured: their data, their caches, the machine's pace.

use std::collections::HashMap;

use serde::Serialize;

use super::{CellFindings, GroupFindings};
use crate::{caveats::Caveat, lockstep::Slice, statistics::mean};

/// How far a cell's data was changed while measured.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Age {
    /// Transactions of the longest sitting after its warm-up, also those of passes that are
    /// left out of other figures.
    pub transactions: u64,
    /// Misses a transaction in the second half of the sittings over those in
    /// the first half; `None` without misses.
    pub miss_trend: Option<f64>,
}

/// From all slices of a cell; `None` without any.
pub(super) fn age(slices: &[&Slice]) -> Option<Age> {
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
    })
}

/// Misses in the second half of the sittings, as a share of those in the first, below which
/// the cache was not warm. Chosen.
const WARM: f64 = 0.9;

/// Misses from which on such a fall is no chance: counts of a thousand are within 3%.
const MISSES_MIN: f64 = 1000.0;

/// The cell whose misses fell most while it was measured, if they did.
pub(super) fn still_warming(groups: &[GroupFindings]) -> Option<Caveat> {
    // What left early met other parts of the sittings.
    let trend = |cell: &CellFindings| {
        let per = cell.per_transaction?;
        let is_enough = per.buffer_misses * per.transactions as f64 >= MISSES_MIN;
        let trend = cell.age?.miss_trend?;
        (is_enough && cell.left.is_none()).then_some(trend)
    };
    let of_group = |group: &GroupFindings| {
        let cells = group.cells.iter();
        let trends = cells.filter_map(|cell| Some((trend(cell)?, cell.cell.clone())));
        let (least, cell) = trends.min_by(|(one, _), (other, _)| one.total_cmp(other))?;
        let most = group.cells.iter().filter_map(trend).fold(least, f64::max);
        Some((least, cell, least < WARM * most))
    };
    let found = groups.iter().filter_map(of_group);
    let (least, cell, apart) = found.min_by(|one, other| one.0.total_cmp(&other.0))?;
    (least < WARM).then_some(Caveat::StillWarming {
        cell,
        fall: 1.0 - least,
        apart,
    })
}

/// Parts of an experiment whose paces are compared.
const PARTS: usize = 4;

/// How many times as fast as another one part has to be for it to matter. Chosen.
const OTHER_PACE: f64 = 1.5;

/// The reference that was much faster in one part of its batches than in another, by most.
pub(super) fn pace_change(groups: &[GroupFindings]) -> Option<Caveat> {
    let change = |cell: &CellFindings| {
        let batches: Vec<f64> = cell.batches.iter().map(|batch| batch.throughput).collect();
        let length = batches.len() / PARTS;
        // Of one batch, a storm may be the reason.
        let parts = (length >= 2).then(|| batches.chunks_exact(length))?;
        let means: Vec<f64> = parts.map(mean).collect();
        let fastest = means.iter().copied().fold(0.0, f64::max);
        let slowest = means.iter().copied().fold(f64::INFINITY, f64::min);
        Some(fastest / slowest).filter(|factor| factor.is_finite())
    };
    let references = groups.iter().flat_map(|group| &group.cells);
    let references = references.filter(|cell| cell.reference);
    let changes = references.filter_map(|cell| Some((change(cell)?, cell)));
    let (factor, cell) = changes.max_by(|(one, _), (other, _)| one.total_cmp(other))?;
    (factor >= OTHER_PACE).then(|| Caveat::PaceChanged {
        cell: cell.cell.clone(),
        factor,
    })
}
