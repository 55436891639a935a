//! The throughput of every cell beside every other's: one estimate for all that is said of
//! throughputs and their ratios.
//!
//! Cells leave early, groups end early, and a machine is not the same in all minutes. So
//! means over each cell's own batches would say something else than the ratios of batches
//! that two cells share. The logarithm of a cell's throughput is a sum instead:
//!
//! - the *anchor*: the mean over all batches of the reference that has the most,
//! - the *link*: what another group's reference had over it in the batches that both have,
//! - the cell's *ratio* to the reference of its group, as it was decided.
//!
//! The ratio of any two cells is the difference of their sums, within an interval that knows
//! which batches their means share. Groups that were never open together have anchors of
//! their own, and no ratio.

use std::collections::BTreeMap;

use crate::statistics::{BatchMean, Estimate, Interval};

/// What the throughput of every cell is beside every other's.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Levels {
    means: Vec<Mean>,
    /// Of each cell with a throughput, the places of the means whose sum is its logarithm.
    cells: BTreeMap<usize, Vec<usize>>,
}

#[derive(Clone, Debug, PartialEq)]
struct Mean {
    /// Whether it is of a throughput, not of a ratio.
    is_anchor: bool,
    of: BatchMean,
}

impl Levels {
    /// A cell that stands for itself, with the mean of its throughput a minute.
    pub(super) fn add_anchor(&mut self, cell: usize, mean: BatchMean) {
        self.means.push(Mean {
            is_anchor: true,
            of: mean,
        });
        self.cells.insert(cell, vec![self.means.len() - 1]);
    }

    /// A cell by the mean of its ratio to another one, which is there already.
    pub(super) fn add_ratio(&mut self, cell: usize, other: usize, mean: BatchMean) {
        let Some(mut sum) = self.cells.get(&other).cloned() else {
            return;
        };
        self.means.push(Mean {
            is_anchor: false,
            of: mean,
        });
        sum.push(self.means.len() - 1);
        self.cells.insert(cell, sum);
    }

    /// The throughput a minute of a cell, with an interval at a two-sided error; `None` of
    /// a cell without any.
    pub(crate) fn throughput(&self, cell: usize, error: f64) -> Option<Interval> {
        self.product(&[(cell, 1.0)], error)
    }

    /// The throughput of a cell over another's.
    pub(crate) fn ratio(&self, cell: usize, other: usize, error: f64) -> Option<Interval> {
        self.product(&[(cell, 1.0), (other, -1.0)], error)
    }

    /// The product of cells' throughputs to these powers, with an interval at a two-sided
    /// error: unbounded where a part has one batch alone. `None` where a cell has no
    /// throughput, or where cells were never open together.
    pub(crate) fn product(&self, powers: &[(usize, f64)], error: f64) -> Option<Interval> {
        let mut weights = vec![0.0; self.means.len()];
        for (cell, power) in powers {
            for &place in self.cells.get(cell)? {
                weights[place] += power;
            }
        }
        let used: Vec<(f64, &Mean)> = weights
            .into_iter()
            .zip(&self.means)
            .filter(|(weight, _)| *weight != 0.0)
            .collect();
        if used.iter().filter(|(_, mean)| mean.is_anchor).count() > 1 {
            return None;
        }
        let means: Vec<(f64, &BatchMean)> = used
            .into_iter()
            .map(|(weight, mean)| (weight, &mean.of))
            .collect();
        Some(match Estimate::sum(&means) {
            Some(estimate) => estimate.interval(error),
            None => {
                let center = means
                    .iter()
                    .map(|(weight, mean)| weight * mean.center)
                    .sum();
                // A cell over itself is as large for certain.
                let half = if means.is_empty() { 0.0 } else { f64::INFINITY };
                Interval::of_logs(center, half, 1)
            }
        })
    }
}
