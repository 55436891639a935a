//! How even a cell's throughput was.

use std::{collections::BTreeMap, time::Duration};

use octavo_driver::KindCounts;
use octavo_units::spread::{Span, Spread, WINDOW_S, windows};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    lockstep::{Batch, Slice},
    statistics::{mean, standard_deviation},
};

/// How even a cell's throughput was.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct CellStability {
    /// Coefficient of variation (standard deviation over mean) of throughput
    /// between batches; `None` of one batch.
    pub variation: Option<f64>,
    /// Mean time of a batch within slices of the cell, in seconds.
    pub batch_s: f64,
    /// The longest transaction, in seconds.
    pub longest_s: f64,
    /// How throughput differs between windows of about 10 s (8 or more) of the cell's own
    /// slices; `None` of fewer than five such windows, and where slices are too long for them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub windows: Option<Spread>,
}

pub(super) fn stability(
    slices: &[&Slice],
    batches: &[Batch],
    kinds: &[KindCounts],
) -> Option<CellStability> {
    let throughput: Vec<f64> = batches.iter().map(|batch| batch.throughput).collect();
    if throughput.is_empty() {
        return None;
    }
    let elapsed: Duration = slices.iter().map(|slice| slice.elapsed).sum();
    let longest_us = kinds
        .iter()
        .map(|kind| kind.latencies.percentiles().max_us)
        .max()?;
    Some(CellStability {
        variation: (throughput.len() > 1)
            .then(|| standard_deviation(&throughput) / mean(&throughput)),
        batch_s: elapsed.as_secs_f64() / batches.len() as f64,
        longest_s: longest_us as f64 / 1e6,
        windows: spread(slices),
    })
}

/// Windows of 10 s below which nothing is said: the standard deviation of five is known to
/// about a third (1 / sqrt(2 (n - 1))). Chosen.
const WINDOWS_MIN: usize = 5;

/// The longest slice in a window, as a share of it: from there on windows are of different
/// lengths, and what happens within them is not seen. Chosen.
const SLICE_MAX: f64 = 0.5;

/// The shortest window, as a share of its length: a last one that is shorter scatters more
/// than the others. Chosen.
const LENGTH_MIN: f64 = 0.8;

/// How throughput differs between windows of 10 s of a cell's slices, which are put end to
/// end within each sitting.
pub(super) fn spread(slices: &[&Slice]) -> Option<Spread> {
    let mut by_sitting: BTreeMap<u32, Vec<&Slice>> = BTreeMap::new();
    for slice in slices {
        by_sitting.entry(slice.key.sitting).or_default().push(slice);
    }
    let mut all = Vec::new();
    for mut of_sitting in by_sitting.into_values() {
        of_sitting.sort_by_key(|slice| slice.key.pass);
        let spans = of_sitting.into_iter().map(|slice| Span {
            length_s: slice.elapsed.as_secs_f64(),
            counted: slice.counted,
        });
        let of_sitting = windows(spans, WINDOW_S).into_iter();
        all.extend(of_sitting.filter(|window| window.length_s >= LENGTH_MIN * WINDOW_S));
    }
    let longest = slices.iter().map(|slice| slice.elapsed).max()?;
    let is_enough = all.len() >= WINDOWS_MIN && longest.as_secs_f64() <= SLICE_MAX * WINDOW_S;
    Spread::between(&all, WINDOW_S).filter(|_| is_enough)
}
