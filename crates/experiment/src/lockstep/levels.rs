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
//!
//! Of several hosts it is what each of them says that is compared, host by host: see [`HostLevels`].

use std::collections::BTreeMap;

use super::host_levels::HostLevels;
use crate::statistics::{BatchMean, Estimate, Interval};

/// What the throughput of every cell is beside every other's.
#[derive(Clone, Debug, PartialEq)]
pub enum Levels {
    /// As the batches of one host say.
    Batches(BatchLevels),
    /// As hosts say.
    Hosts(HostLevels),
}

impl Default for Levels {
    fn default() -> Self {
        Self::Batches(BatchLevels::default())
    }
}

impl Levels {
    /// The throughput a minute of a cell, with an interval at a two-sided error; `None` of
    /// a cell without any.
    pub(crate) fn throughput(&self, cell: usize, error: f64) -> Option<Interval> {
        match self {
            Self::Batches(levels) => levels.throughput(cell, error),
            Self::Hosts(levels) => levels.throughput(cell, error),
        }
    }

    /// The throughput of a cell over another's.
    pub(crate) fn ratio(&self, cell: usize, other: usize, error: f64) -> Option<Interval> {
        self.product(&[(cell, 1.0), (other, -1.0)], error)
    }

    /// The product of cells' throughputs to these powers, with an interval at a two-sided
    /// error: unbounded where a part has one batch alone. `None` where a cell has no
    /// throughput, or where cells were never open together.
    pub(crate) fn product(&self, powers: &[(usize, f64)], error: f64) -> Option<Interval> {
        match self {
            Self::Batches(levels) => levels.product(powers, error),
            Self::Hosts(levels) => levels.product(powers, error),
        }
    }
}

/// What the throughput of every cell is beside every other's, by their batches.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BatchLevels {
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

impl BatchLevels {
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

    /// The place of the mean of a throughput that a cell stands on: cells that stand on others were never
    /// open together. `None` of a cell without any.
    pub(super) fn anchor(&self, cell: usize) -> Option<usize> {
        self.cells.get(&cell)?.first().copied()
    }

    /// As [`Levels::throughput`]. Its interval is no narrower than that of the anchor it stands on:
    /// the ratio's batches hide how the anchor's hang together.
    fn throughput(&self, cell: usize, error: f64) -> Option<Interval> {
        let own = self.product(&[(cell, 1.0)], error)?;
        let anchor = self.anchor(cell).map(|place| &self.means[place].of);
        let anchor = anchor.and_then(|of| Estimate::sum(&[(1.0, of)]));
        let least = anchor.map_or(f64::INFINITY, |of| of.half_width(error));
        Some(match (own.high / own.estimate).ln() < least {
            true => Interval::of_logs(own.estimate.ln(), least, own.batches),
            false => own,
        })
    }

    /// As [`Levels::product`].
    fn product(&self, powers: &[(usize, f64)], error: f64) -> Option<Interval> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_that_left_is_no_surer_than_the_anchor_it_stands_on() {
        let mean = |values: Vec<f64>| {
            let values: BTreeMap<(u32, u32), f64> =
                (0..).map(|pass| (0, pass)).zip(values).collect();
            BatchMean {
                center: values.values().sum::<f64>() / values.len() as f64,
                influences: values.clone(),
                values,
                unseen: Vec::new(),
            }
        };
        // Slow and fast stretches of 16 batches, against which the ratio of the first 52 of
        // 192 goes, with noise of its own.
        let stretch = |pass: u32| {
            if (pass / 16).is_multiple_of(2) {
                0.5
            } else {
                -0.5
            }
        };
        let noise = |pass: u32| if pass.is_multiple_of(2) { 0.3 } else { -0.3 };
        let mut levels = BatchLevels::default();
        levels.add_anchor(0, mean((0..192).map(stretch).collect()));
        let ratios = (0..52).map(|pass| noise(pass) - 0.3 * stretch(pass));
        levels.add_ratio(1, 0, mean(ratios.collect()));
        let half = |of: Interval| (of.high / of.estimate).ln();
        let own = half(levels.product(&[(1, 1.0)], 0.05).unwrap());
        let [anchor, left] = [0, 1].map(|cell| half(levels.throughput(cell, 0.05).unwrap()));
        assert!(own < anchor, "{own} {anchor}");
        assert!((left - anchor).abs() < 1e-12, "{left} {anchor}");
    }
}
