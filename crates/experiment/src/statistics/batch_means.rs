//! The mean of a series of batches, and an interval around it that holds
//! though neighbors hang together.

use super::{Interval, critical_t, mean, standard_deviation};

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
    pub(crate) fn of(values: &[f64], influences: &[f64]) -> Option<Self> {
        let count = values.len();
        if count < 2 {
            return None;
        }
        let n = count as f64;
        let autocorrelation = (lag_1(values) + 1.0 / n).clamp(-0.95, 0.95);
        let effective = if autocorrelation > 1.645 / n.sqrt() {
            n * (1.0 - autocorrelation) / (1.0 + autocorrelation)
        } else {
            n
        };
        Some(Self {
            batches: count,
            mean: mean(values),
            standard_error: standard_deviation(influences) / effective.sqrt(),
            freedom: n - 1.0,
            autocorrelation,
        })
    }

    /// The half-width of the interval of the logarithm, at a two-sided error.
    pub(crate) fn half_width(&self, error: f64) -> f64 {
        WIDENED * critical_t(error, self.freedom) * self.standard_error
    }

    /// The interval of what the logarithms are of.
    pub(crate) fn interval(&self, error: f64) -> Interval {
        Interval::of_logs(self.mean, self.half_width(error), self.batches)
    }
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
        let estimate = Estimate::of(&logs, &logs).unwrap();
        let half = 1.1 * 4.302_653 * 0.1 / 3f64.sqrt();
        assert!((estimate.half_width(0.05) - half).abs() < 1e-6);
        let interval = estimate.interval(0.05);
        assert!((interval.low.ln() - (0.1 - half)).abs() < 1e-6);
        assert_eq!(interval.batches, 3);
        assert_eq!(Estimate::of(&[0.1], &[0.1]), None);
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
            Estimate::of(&logs, &logs).unwrap().half_width(0.05)
        };
        // Runs of eight: r is about 0.75, so 7 times the variance.
        assert!(half(8) > 2.0 * half(1), "{} {}", half(8), half(1));
        // Neighbors that balance each other do not make it narrower.
        let plain = 1.1 * critical_t(0.05, 63.0) * standard_deviation(&series(1)) / 8.0;
        assert!((half(1) - plain).abs() < 1e-12);
    }

    #[test]
    fn what_the_values_were_computed_with_widens() {
        let logs = [0.1, 0.0, 0.2, 0.1];
        let influences = [0.3, -0.1, 0.0, 0.2];
        let plain = Estimate::of(&logs, &logs).unwrap();
        let wider = Estimate::of(&logs, &influences).unwrap();
        assert_eq!(plain.mean, wider.mean);
        assert!(wider.half_width(0.05) > 2.0 * plain.half_width(0.05));
    }
}
