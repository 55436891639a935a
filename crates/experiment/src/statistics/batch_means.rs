//! The mean of a series of batches, and an interval around it that holds
//! though neighbors hang together. Sums of such means, whose series may share batches.

use std::collections::BTreeMap;

use super::{ByBatch, Interval, critical_t, mean, standard_deviation};

/// By how much intervals are widened. Between disjoint windows of a real
/// experiment, means scattered 0.97 to 1.28 times as much as their standard
/// errors said, 1.1 times in the mean: a machine has moods that last longer
/// than batches.
const WIDENED: f64 = 1.1;

/// The mean of logarithms, and all that an interval around it needs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Estimate {
    /// How many values.
    pub(crate) batches: usize,
    /// Their mean.
    pub(crate) mean: f64,
    /// Its standard error, before it is widened.
    standard_error: f64,
    /// By how much intervals are widened.
    widened: f64,
    /// The degrees of freedom of that.
    freedom: f64,
    /// The correlation of one value with the next, without what it shows of
    /// independent values in the mean (-1/n).
    pub(crate) autocorrelation: f64,
}

impl Estimate {
    /// From the values of batches in the order of time. `influences` are what
    /// each batch adds to the mean times their number, by the values
    /// themselves and by whatever the values were computed with that was
    /// estimated from the same batches. `None` of fewer than two values.
    ///
    /// Where the autocorrelation r of the values is above 0 at 5% (Bartlett,
    /// J. Royal Statistical Society B 8, 1946: its standard error is 1/√n),
    /// they count as (1 - r) / (1 + r) as many.
    ///
    /// `unseen` is the standard deviation of the mean by what batches do not differ in.
    pub(crate) fn from_batches(values: &[f64], influences: &[f64], unseen: f64) -> Option<Self> {
        let count = values.len();
        if count < 2 {
            return None;
        }
        let n = count as f64;
        let (autocorrelation, inflation) = autocorrelation(values);
        Some(Self {
            batches: count,
            mean: mean(values),
            standard_error: (inflation * standard_deviation(influences) / n.sqrt()).hypot(unseen),
            widened: WIDENED,
            freedom: n - 1.0,
            autocorrelation,
        })
    }

    /// The sum of means, each with its factor. What two of them have of the same batch is
    /// added before it is squared, and so is what is unseen of a cell: of series of the same
    /// batches, the sum is the mean of the sums. It has the degrees of freedom of the shortest series. `None` without any,
    /// or of one with fewer than two values.
    pub(crate) fn sum(means: &[(f64, &BatchMean)]) -> Option<Self> {
        let batches = means.iter().map(|(_, of)| of.values.len()).min()?;
        if batches < 2 {
            return None;
        }
        let mut parts: BTreeMap<(u32, u32), (f64, f64)> = BTreeMap::new();
        for (factor, of) in means {
            let n = of.values.len() as f64;
            // So that the squares of one series come to s²/n.
            let corrected = (n / (n - 1.0)).sqrt();
            for (batch, deviation) in deviations(&of.values) {
                parts.entry(batch).or_default().0 += factor * deviation / n;
            }
            for (batch, deviation) in deviations(&of.influences) {
                parts.entry(batch).or_default().1 += factor * corrected * deviation / n;
            }
        }
        let values: Vec<f64> = parts.values().map(|(value, _)| *value).collect();
        let (autocorrelation, inflation) = autocorrelation(&values);
        let squares = parts.values().map(|(_, influence)| influence.powi(2));
        let mut unseen: BTreeMap<usize, f64> = BTreeMap::new();
        for (factor, of) in means {
            for (cell, deviation) in &of.unseen {
                *unseen.entry(*cell).or_default() += factor * deviation;
            }
        }
        let unseen = unseen.values().map(|deviation| deviation.powi(2));
        let seen = inflation * squares.sum::<f64>().sqrt();
        Some(Self {
            batches,
            mean: means.iter().map(|(factor, of)| factor * of.center).sum(),
            standard_error: seen.hypot(unseen.sum::<f64>().sqrt()),
            widened: WIDENED,
            freedom: batches as f64 - 1.0,
            autocorrelation,
        })
    }

    /// The half-width of the interval of the logarithm, at a two-sided error.
    pub(crate) fn half_width(&self, error: f64) -> f64 {
        self.widened * critical_t(error, self.freedom) * self.standard_error
    }

    /// The interval of what the logarithms are of.
    pub(crate) fn interval(&self, error: f64) -> Interval {
        Interval::of_logs(self.mean, self.half_width(error), self.batches)
    }
}

/// The mean of a series of logarithms, by batch.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct BatchMean {
    /// The mean, or what it was when somebody last looked.
    pub(crate) center: f64,
    /// The values.
    pub(crate) values: ByBatch,
    /// What each batch adds to the mean times their number: see [`Estimate::from_batches`].
    pub(crate) influences: ByBatch,
    /// What batches do not differ in, by cell: by how much the mean goes up when that is by
    /// a standard deviation more.
    pub(crate) unseen: Vec<(usize, f64)>,
}

fn deviations(values: &ByBatch) -> impl Iterator<Item = ((u32, u32), f64)> {
    let center = values.values().sum::<f64>() / values.len() as f64;
    values
        .iter()
        .map(move |(batch, value)| (*batch, value - center))
}

/// The correlation of one value with the next, without what it shows of independent values
/// in the mean (-1/n), and by how much it makes the standard error larger: see
/// [`Estimate::from_batches`].
fn autocorrelation(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let correlation = (lag_1(values) + 1.0 / n).clamp(-0.95, 0.95);
    let inflation = match correlation > 1.645 / n.sqrt() {
        true => ((1.0 + correlation) / (1.0 - correlation)).sqrt(),
        false => 1.0,
    };
    (correlation, inflation)
}

/// The correlation of one value with the next; 0 of values that do not vary.
fn lag_1(values: &[f64]) -> f64 {
    let center = mean(values);
    let around: Vec<f64> = values.iter().map(|value| value - center).collect();
    let variance = around.iter().map(|value| value * value).sum::<f64>() / around.len() as f64;
    // Equal values differ by rounding alone.
    if around.len() < 2 || variance <= (center * 1e-9).powi(2) {
        return 0.0;
    }
    let products = around.windows(2).map(|pair| pair[0] * pair[1]);
    let covariance = products.sum::<f64>() / (around.len() - 1) as f64;
    (covariance / variance).clamp(-1.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_is_the_widened_textbook_one() {
        // Mean 0.1, deviation 0.1, t(0.975, 2) = 4.302653.
        let logs = [0.1, 0.0, 0.2];
        let estimate = Estimate::from_batches(&logs, &logs, 0.0).unwrap();
        let half = 1.1 * 4.302_653 * 0.1 / 3f64.sqrt();
        assert!((estimate.half_width(0.05) - half).abs() < 1e-6);
        let interval = estimate.interval(0.05);
        assert!((interval.low.ln() - (0.1 - half)).abs() < 1e-6);
        assert_eq!(interval.batches, 3);
        assert_eq!(Estimate::from_batches(&[0.1], &[0.1], 0.0), None);
        let unseen = Estimate::from_batches(&logs, &logs, 0.1).unwrap();
        let half = 1.1 * 4.302_653 * (0.01_f64 / 3.0 + 0.01).sqrt();
        assert!((unseen.half_width(0.05) - half).abs() < 1e-6);
    }

    #[test]
    fn neighbors_that_agree_count_less() {
        let series = |run: usize| -> Vec<f64> {
            (0..64)
                .map(|place| {
                    if (place / run).is_multiple_of(2) {
                        0.1
                    } else {
                        -0.1
                    }
                })
                .collect()
        };
        let half = |run: usize| {
            let logs = series(run);
            Estimate::from_batches(&logs, &logs, 0.0)
                .unwrap()
                .half_width(0.05)
        };
        // Runs of eight: r is about 0.75, so 7 times the variance.
        assert!(half(8) > 2.0 * half(1), "{} {}", half(8), half(1));
        // Neighbors that balance each other do not make it narrower.
        let plain = 1.1 * critical_t(0.05, 63.0) * standard_deviation(&series(1)) / 8.0;
        assert!((half(1) - plain).abs() < 1e-12);
    }

    fn by_batch(first: u32, values: &[f64]) -> ByBatch {
        let places = (first..).map(|pass| (0, pass));
        places.zip(values.iter().copied()).collect()
    }

    fn batch_mean(first: u32, values: &[f64]) -> BatchMean {
        BatchMean {
            center: mean(values),
            values: by_batch(first, values),
            influences: by_batch(first, values),
            unseen: Vec::new(),
        }
    }

    #[test]
    fn the_sum_of_one_mean_is_that_mean() {
        let logs = [0.1, 0.0, 0.2, 0.15, 0.07];
        let plain = Estimate::from_batches(&logs, &logs, 0.0).unwrap();
        let sum = Estimate::sum(&[(1.0, &batch_mean(0, &logs))]).unwrap();
        assert!((sum.mean - plain.mean).abs() < 1e-12);
        assert!((sum.half_width(0.05) - plain.half_width(0.05)).abs() < 1e-12);
        assert_eq!(sum.batches, 5);
        assert_eq!(Estimate::sum(&[(1.0, &batch_mean(0, &[0.1]))]), None);
    }

    #[test]
    fn a_difference_over_the_same_batches_is_paired() {
        // Both move together by 0.3, and differ by 0.01 at most.
        let one = [0.0, 0.3, -0.3, 0.31, 0.0, -0.29];
        let other = [0.1, 0.4, -0.2, 0.4, 0.11, -0.2];
        let pairs: Vec<f64> = one
            .iter()
            .zip(other)
            .map(|(one, other)| other - one)
            .collect();
        let paired = Estimate::from_batches(&pairs, &pairs, 0.0).unwrap();
        let means = [batch_mean(0, &one), batch_mean(0, &other)];
        let sum = Estimate::sum(&[(-1.0, &means[0]), (1.0, &means[1])]).unwrap();
        assert!((sum.mean - paired.mean).abs() < 1e-12);
        assert!((sum.half_width(0.05) - paired.half_width(0.05)).abs() < 1e-12);
        // Of batches that are not the same, their variances add up.
        let apart = [batch_mean(0, &one), batch_mean(100, &other)];
        let sum = Estimate::sum(&[(-1.0, &apart[0]), (1.0, &apart[1])]).unwrap();
        let variance = |values: &[f64]| standard_deviation(values).powi(2) / values.len() as f64;
        let both = (variance(&one) + variance(&other)).sqrt();
        assert!((sum.standard_error - both).abs() < 1e-12);
    }

    #[test]
    fn what_the_values_were_computed_with_widens() {
        let logs = [0.1, 0.0, 0.2, 0.1];
        let influences = [0.3, -0.1, 0.0, 0.2];
        let plain = Estimate::from_batches(&logs, &logs, 0.0).unwrap();
        let wider = Estimate::from_batches(&logs, &influences, 0.0).unwrap();
        assert_eq!(plain.mean, wider.mean);
        assert!(wider.half_width(0.05) > 2.0 * plain.half_width(0.05));
    }
}
