//! Intervals from paired batches: pure functions over slices, no clocks and no
//! files.
//!
//! The unit is one batch. Two cells are compared by the logarithm of the ratio
//! of their throughputs within each batch, which removes what the whole batch
//! had in common (the machine's state and the inputs). The logarithms are
//! taken as a sample of a normal distribution.

mod batch_means;
mod by_batch;
pub mod horizon;
pub mod scalability;
mod walk;

pub(crate) use batch_means::{BatchMean, Estimate};
pub(crate) use by_batch::{ByBatch, paired_ratios};
pub use octavo_driver::{mean, standard_deviation};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF, FisherSnedecor, Normal, StudentsT};

/// An estimate of a positive quantity with a two-sided interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Interval {
    /// The estimate: the geometric mean.
    pub estimate: f64,
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// From how many batches.
    pub batches: usize,
}

/// An interval says nothing whose ends are farther apart than this factor: few batches give such
/// ones. Chosen.
const WIDEST: f64 = 100.0;

impl Interval {
    /// Whether it says anything: it has two ends, and these are not so far apart that
    /// everything is between them.
    pub fn says_something(&self) -> bool {
        self.low > 0.0 && self.high.is_finite() && self.high / self.low <= WIDEST
    }

    /// From the middle and the half-width of the interval of the logarithm.
    pub(crate) fn of_logs(center: f64, half: f64, batches: usize) -> Self {
        Self {
            estimate: center.exp(),
            low: (center - half).exp(),
            high: (center + half).exp(),
            batches,
        }
    }

    /// The other way round: of a ratio, that of the second to the first.
    pub fn inverse(self) -> Self {
        Self {
            estimate: 1.0 / self.estimate,
            low: 1.0 / self.high,
            high: 1.0 / self.low,
            batches: self.batches,
        }
    }

    /// This over another one that is independent of it.
    pub(crate) fn over(self, other: &Self) -> Self {
        let half = |of: &Self, end: f64| (end / of.estimate).ln();
        let both = |own: f64, others: f64| own.hypot(others);
        let estimate = self.estimate / other.estimate;
        let (down, up) = (
            both(half(&self, self.low), half(other, other.high)),
            both(half(&self, self.high), half(other, other.low)),
        );
        Self {
            estimate,
            low: estimate * (-down).exp(),
            high: estimate * up.exp(),
            batches: self.batches.min(other.batches),
        }
    }

    /// This times another one that is independent of it.
    pub(crate) fn times(self, other: &Self) -> Self {
        self.over(&other.inverse())
    }

    /// As wide, around another estimate.
    pub(crate) fn around(self, estimate: f64) -> Self {
        let moved = estimate / self.estimate;
        Self {
            estimate,
            low: self.low * moved,
            high: self.high * moved,
            ..self
        }
    }

    /// Of an interval at 95% by itself, the one at 95% for so many that are read together.
    pub(crate) fn one_of(self, comparisons: usize) -> Self {
        let freedom = self.batches.saturating_sub(1).max(1) as f64;
        let wider = critical_t(error_of_one(comparisons), freedom) / critical_t(0.05, freedom);
        let end = |end: f64| self.estimate * (end / self.estimate).powf(wider);
        Self {
            low: end(self.low),
            high: end(self.high),
            ..self
        }
    }

    /// With another error, independent of its own: `half` is its half-width in the
    /// logarithm.
    pub(crate) fn wider(self, half: f64) -> Self {
        let center = self.estimate.ln();
        let both = |own: f64| own.hypot(half);
        Self {
            low: (center - both(center - self.low.ln())).exp(),
            high: (center + both(self.high.ln() - center)).exp(),
            ..self
        }
    }
}

/// The two-sided error of one of so many intervals that are read together:
/// each takes its share (Bonferroni) of 5%.
pub(crate) fn error_of_one(comparisons: usize) -> f64 {
    (1.0 - 0.95) / comparisons.max(1) as f64
}

/// The critical value of Student's t with these degrees of freedom, at least
/// 1, at a two-sided error.
pub(crate) fn critical_t(error: f64, freedom: f64) -> f64 {
    StudentsT::new(0.0, 1.0, freedom)
        .expect("at least one degree of freedom")
        .inverse_cdf(1.0 - error / 2.0)
}

/// The critical value of the normal distribution at a two-sided error.
pub(crate) fn critical_z(error: f64) -> f64 {
    Normal::standard().inverse_cdf(1.0 - error / 2.0)
}

/// A coefficient of variation (standard deviation over mean), and of how many values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Variation {
    /// The coefficient.
    pub of_mean: f64,
    /// The number of values.
    pub values: usize,
}

impl Variation {
    /// Whether this one is above another beyond chance: the 95% interval of their ratio, for
    /// all of `comparisons` together, lies above 1. By the F-test, with coefficients of
    /// variation for the standard deviations of logarithms, which they are near to.
    pub fn is_above(&self, other: &Self, comparisons: usize) -> bool {
        let freedom = |of: &Self| of.values.saturating_sub(1) as f64;
        let ratio = (self.of_mean / other.of_mean).powi(2);
        let known = FisherSnedecor::new(freedom(self), freedom(other));
        match known {
            Ok(known) if ratio.is_finite() => known.sf(ratio) < error_of_one(comparisons) / 2.0,
            _ => false,
        }
    }
}

/// The geometric mean of positive values with a Student-t interval over their
/// logarithms, at 95 % for all of `comparisons` intervals together. With one
/// value the interval is unbounded (0 to infinity); `None` when there is no
/// value or one that is not positive and finite.
pub fn geometric_interval(values: &[f64], comparisons: usize) -> Option<Interval> {
    if values.is_empty() || values.iter().any(|v| !v.is_finite() || *v <= 0.0) {
        return None;
    }
    let logs: Vec<f64> = values.iter().map(|v| v.ln()).collect();
    let half = if logs.len() < 2 {
        f64::INFINITY
    } else {
        let count = logs.len() as f64;
        let critical = critical_t(error_of_one(comparisons), count - 1.0);
        critical * standard_deviation(&logs) / count.sqrt()
    };
    Some(Interval::of_logs(mean(&logs), half, logs.len()))
}

/// What an interval of a ratio says, given the margin within which a
/// difference does not matter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Decision {
    /// Above 1, and not within the margin.
    Better,
    /// Below 1, and not within the margin.
    Worse,
    /// Wholly within the margin around 1 (two one-sided tests: Schuirmann,
    /// J. Pharmacokinetics and Biopharmaceutics 15, 1987).
    Equivalent,
    /// Not decided.
    Open,
}

impl Decision {
    /// Whether a ratio of this logarithm would be called the same, if it were known exactly.
    pub(crate) fn holds_at(self, log: f64, margin: f64) -> bool {
        match self {
            Self::Better => log > 0.0,
            Self::Worse => log < 0.0,
            Self::Equivalent => log.abs() <= margin.ln_1p(),
            Self::Open => true,
        }
    }
}

/// Whether the first of a ratio's two leads the second so far: by more than the margin, and
/// with an interval that says something. Less is no difference, or chance.
pub fn leads(ratio: &Interval, margin: f64) -> bool {
    ratio.says_something() && ratio.estimate > 1.0 + margin
}

/// Reads an interval. `margin` is a share: 0.03 takes ratios from 1/1.03 to
/// 1.03 as no difference.
pub fn decision(interval: &Interval, margin: f64) -> Decision {
    let edge = 1.0 + margin;
    if interval.low >= 1.0 / edge && interval.high <= edge {
        Decision::Equivalent
    } else if interval.low > 1.0 {
        Decision::Better
    } else if interval.high < 1.0 {
        Decision::Worse
    } else {
        Decision::Open
    }
}

#[cfg(test)]
mod tests {
    use octavo_units::Seed;
    use rand::RngExt;

    use super::*;

    /// Box and Muller's normal numbers.
    fn normals(seed: Seed, count: usize) -> Vec<f64> {
        let mut generator = seed.generator();
        (0..count)
            .map(|_| {
                let (u, v): (f64, f64) = (generator.random(), generator.random());
                (-2.0 * (1.0 - u).ln()).sqrt() * (std::f64::consts::TAU * v).cos()
            })
            .collect()
    }

    #[test]
    fn the_interval_is_the_textbook_one() {
        // Logs 0.0, 0.1, 0.2: mean 0.1, sd 0.1, t(0.975, 2) = 4.302653.
        let values = [0.0f64, 0.1, 0.2].map(f64::exp);
        let interval = geometric_interval(&values, 1).unwrap();
        let half = 4.302_653 * 0.1 / 3f64.sqrt();
        assert!((interval.estimate.ln() - 0.1).abs() < 1e-12);
        assert!((interval.low.ln() - (0.1 - half)).abs() < 1e-6);
        assert!((interval.high.ln() - (0.1 + half)).abs() < 1e-6);
    }

    #[test]
    fn products_of_independent_intervals_add_their_variances() {
        // Half-widths 0.3 and 0.4 in the logarithm: 0.5 together.
        let of = |center: f64, half: f64| Interval::of_logs(center, half, 9);
        let near = |one: f64, other: f64| assert!((one - other).abs() < 1e-12, "{one} {other}");
        for (found, center) in [
            (of(2.0, 0.3).over(&of(0.5, 0.4)), 1.5),
            (of(2.0, 0.3).times(&of(0.5, 0.4)), 2.5),
        ] {
            near(found.estimate.ln(), center);
            near(found.low.ln(), center - 0.5);
            near(found.high.ln(), center + 0.5);
        }
        let moved = of(2.0, 0.3).around(1.0);
        near(moved.low.ln(), -0.3);
        near(moved.high.ln(), 0.3);
        // An end without bound has none in a ratio.
        let unbounded = of(1.0, 0.1).over(&of(0.0, f64::INFINITY));
        assert_eq!((unbounded.low, unbounded.high), (0.0, f64::INFINITY));
    }

    #[test]
    fn bonferroni_widens() {
        // t(1 - 0.05/8, 4) = 4.3147 from tables of the t distribution.
        let critical = critical_t(error_of_one(4), 4.0);
        assert!((critical - 4.3147).abs() < 1e-3, "{critical}");
    }

    #[test]
    fn critical_values_of_the_normal_distribution_are_the_textbooks() {
        assert!((critical_z(0.05) - 1.959_964).abs() < 1e-6);
        assert!((critical_z(error_of_one(4)) - 2.497_705).abs() < 1e-6);
    }

    #[test]
    fn variations_of_few_values_are_rarely_told_apart() {
        let of = |of_mean, values| Variation { of_mean, values };
        // F(0.975; 9, 9) = 4.026, whose root is 2.006.
        assert!(!of(2.0, 10).is_above(&of(1.0, 10), 1));
        assert!(of(2.02, 10).is_above(&of(1.0, 10), 1));
        assert!(!of(2.02, 10).is_above(&of(1.0, 10), 4));
        // F(0.975; 1, 1) = 647.8.
        assert!(!of(0.5, 2).is_above(&of(0.02, 2), 1));
        assert!(!of(0.5, 1).is_above(&of(0.02, 9), 1));
        assert!(!of(0.5, 9).is_above(&of(0.0, 9), 1));
    }

    #[test]
    fn one_batch_decides_nothing() {
        let interval = geometric_interval(&[1.5], 1).unwrap();
        assert_eq!(decision(&interval, 0.03), Decision::Open);
        assert_eq!(geometric_interval(&[], 1), None);
        assert_eq!(geometric_interval(&[1.0, 0.0], 1), None);
    }

    #[test]
    fn decisions_follow_the_interval() {
        let at = |low, high| {
            decision(
                &Interval {
                    estimate: 1.0,
                    low,
                    high,
                    batches: 5,
                },
                0.03,
            )
        };
        assert_eq!(at(1.01, 1.2), Decision::Better);
        assert_eq!(at(0.8, 0.99), Decision::Worse);
        assert_eq!(at(0.98, 1.02), Decision::Equivalent);
        // A difference that is sure but too small to matter is no difference.
        assert_eq!(at(1.005, 1.02), Decision::Equivalent);
        assert_eq!(at(0.98, 1.05), Decision::Open);
    }

    #[test]
    fn intervals_cover_as_often_as_they_say() {
        // 4,000 experiments of 5 batches: the covering share of a 95 %
        // interval has a standard error of 0.34 points.
        let truth = 1.08f64;
        let covered = (0..4000)
            .filter(|&trial| {
                let ratios: Vec<f64> = normals(Seed::new(9).derive("cover", trial), 5)
                    .iter()
                    .map(|z| truth * (0.05 * z).exp())
                    .collect();
                let interval = geometric_interval(&ratios, 1).unwrap();
                (interval.low..=interval.high).contains(&truth)
            })
            .count();
        assert!((3760..=3840).contains(&covered), "{covered} of 4000");
    }

    #[test]
    fn equal_cells_are_rarely_told_apart() {
        // Four comparisons with one reference, nothing to find: in at most
        // 5 % (+ 3 standard errors) of 2,000 experiments may any be called.
        let called = (0..2000u64)
            .filter(|&trial| {
                let reference = normals(Seed::new(3).derive("reference", trial), 5);
                (0..4).any(|cell| {
                    let values = normals(Seed::new(3).derive("cell", trial * 4 + cell), 5);
                    let ratios: Vec<f64> = values
                        .iter()
                        .zip(&reference)
                        .map(|(a, b)| (0.03 * (a - b)).exp())
                        .collect();
                    let interval = geometric_interval(&ratios, 4).unwrap();
                    matches!(
                        decision(&interval, 0.03),
                        Decision::Better | Decision::Worse
                    )
                })
            })
            .count();
        assert!(called <= 130, "{called} of 2000");
    }
}
