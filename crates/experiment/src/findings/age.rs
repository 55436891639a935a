//! What changed while cells were measured: their data, their caches, the machine's pace.

use std::collections::HashMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::lockstep::{Batch, Slice};

/// How far a cell's data was changed while measured.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Age {
    /// Transactions of the longest sitting after its warm-up, also those of passes that are
    /// left out of other figures.
    pub transactions: u64,
    /// Of these, those of the passes from which on it counts.
    pub counted_transactions: u64,
    /// Misses a transaction in the second half of the sittings over those in
    /// the first half; `None` without misses.
    pub miss_trend: Option<f64>,
    /// Whether misses a transaction fell or rose from the first half to the second by more than
    /// how they differ from slice to slice explains.
    pub misses_changed: MissChange,
    /// Throughput in the fastest quarter of its batches over that in the slowest, geometric
    /// means as all throughputs are; `None` with fewer than 8 batches.
    pub pace_change: Option<f64>,
}

/// How misses a transaction changed from the first half of the sittings to the second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MissChange {
    /// No more than by chance.
    #[default]
    None,
    /// They fell.
    Fell,
    /// They rose.
    Rose,
}

/// Standard errors of a difference beyond which it is no chance. Rare transactions that miss
/// thousands of pages fall into one half or the other. Chosen.
const ERRORS: f64 = 3.0;

/// Of misses a transaction in the slices of each half.
fn miss_change(halves: &[Vec<f64>; 2]) -> MissChange {
    let of_half = |values: &Vec<f64>| {
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let squares = values.iter().map(|value| (value - mean).powi(2));
        (values.len() > 1).then(|| (mean, squares.sum::<f64>() / (count - 1.0) / count))
    };
    let [Some((first, of_first)), Some((second, of_second))] = halves.each_ref().map(of_half)
    else {
        return MissChange::None;
    };
    let (change, error) = (second - first, (of_first + of_second).sqrt());
    match change.abs() > ERRORS * error {
        false => MissChange::None,
        true if change > 0.0 => MissChange::Rose,
        true => MissChange::Fell,
    }
}

/// From all slices of a cell, and its batches with the first pass that they are of; `None` without
/// any.
pub(super) fn age(slices: &[&Slice], batches: &[Batch], from: u32) -> Option<Age> {
    let mut executed: HashMap<u32, u64> = HashMap::new();
    for slice in slices {
        let executed = executed.entry(slice.key.sitting).or_default();
        *executed = executed.saturating_add(slice.transactions);
    }
    let (&longest, &transactions) = executed.iter().max_by_key(|(_, executed)| **executed)?;
    let counted = slices
        .iter()
        .filter(|slice| slice.key.sitting == longest && slice.key.pass >= from)
        .map(|slice| slice.transactions)
        .fold(0, u64::saturating_add);
    let mut halves = [(0_u64, 0_u64); 2];
    let mut by_slice: [Vec<f64>; 2] = [Vec::new(), Vec::new()];
    let mut seen: HashMap<u32, u64> = HashMap::new();
    for slice in slices {
        let seen = seen.entry(slice.key.sitting).or_default();
        let place = usize::from(*seen >= executed[&slice.key.sitting].div_ceil(2));
        if slice.transactions > 0 {
            by_slice[place].push(slice.misses as f64 / slice.transactions as f64);
        }
        let half = &mut halves[place];
        half.0 = half.0.saturating_add(slice.misses);
        half.1 = half.1.saturating_add(slice.transactions);
        *seen = seen.saturating_add(slice.transactions);
    }
    let ratio = |(misses, transactions): (u64, u64)| misses as f64 / transactions.max(1) as f64;
    let [first, second] = halves.map(ratio);
    Some(Age {
        transactions,
        counted_transactions: counted,
        miss_trend: (first > 0.0 && second > 0.0).then(|| second / first),
        misses_changed: miss_change(&by_slice),
        pace_change: pace_change(batches),
    })
}

/// Parts of an experiment whose paces are compared, and batches that each has at least: of
/// one, a storm may be the reason.
const PARTS: usize = 4;
const PART_MIN: usize = 2;

fn pace_change(batches: &[Batch]) -> Option<f64> {
    let (mut parts, count) = ([(0.0, 0.0); PARTS], batches.len());
    if count < PARTS * PART_MIN {
        return None;
    }
    for (place, batch) in batches.iter().enumerate() {
        let part = &mut parts[place * PARTS / count];
        part.0 += batch.throughput.ln();
        part.1 += 1.0;
    }
    let paces = parts.map(|(logarithms, batches)| logarithms / batches);
    let fastest = paces.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let slowest = paces.iter().copied().fold(f64::INFINITY, f64::min);
    Some((fastest - slowest).exp()).filter(|factor| factor.is_finite())
}
