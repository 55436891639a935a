//! Ratios of two samples that have nothing in common.

use super::{Interval, critical_t, error_of_one, mean, standard_deviation};

/// The geometric mean of `own` over that of `other` with an interval over
/// their logarithms, which are taken as normal with variances of their own
/// (Welch, Biometrika 34, 1947, with Satterthwaite's degrees of freedom), at
/// 95 % for all of `comparisons` intervals together. With fewer than two values
/// on a side the interval is unbounded; `None` when a side has no value or one
/// that is not positive and finite.
pub fn ratio_interval(own: &[f64], other: &[f64], comparisons: usize) -> Option<Interval> {
    let logs = |values: &[f64]| -> Option<Vec<f64>> {
        (!values.is_empty() && values.iter().all(|v| v.is_finite() && *v > 0.0))
            .then(|| values.iter().map(|v| v.ln()).collect())
    };
    let (own, other) = (logs(own)?, logs(other)?);
    let center = mean(&own) - mean(&other);
    let batches = own.len().min(other.len());
    let half = if batches < 2 {
        f64::INFINITY
    } else {
        let variance = |values: &[f64]| standard_deviation(values).powi(2) / values.len() as f64;
        let (a, b) = (variance(&own), variance(&other));
        if a + b > 0.0 {
            let freedom = (a + b).powi(2)
                / (a.powi(2) / (own.len() - 1) as f64 + b.powi(2) / (other.len() - 1) as f64);
            critical_t(error_of_one(comparisons), freedom) * (a + b).sqrt()
        } else {
            0.0
        }
    };
    Some(Interval::of_logs(center, half, batches))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_is_the_textbook_one() {
        // Logs 1, 2, 3, 4 and 2, 4: means 2.5 and 3, variances 5/3 and 2 over
        // 4 and 2 values: 0.41667 + 1; freedom 2.00694 / (0.05787 + 1).
        let own = [1f64, 2.0, 3.0, 4.0].map(f64::exp);
        let other = [2f64, 4.0].map(f64::exp);
        let interval = ratio_interval(&own, &other, 1).unwrap();
        assert!((interval.estimate.ln() + 0.5).abs() < 1e-12);
        let half = interval.high.ln() + 0.5;
        assert!((interval.low.ln() + 0.5 + half).abs() < 1e-9);
        // t(0.975; 1.89710) lies between those of 1 and 2 degrees: 4.53 by R's
        // qt(0.975, 1.8971).
        let critical = half / 1.416_667f64.sqrt();
        assert!((4.3027..12.7062).contains(&critical), "{critical}");
        assert!((critical - 4.53).abs() < 0.03, "{critical}");
    }

    #[test]
    fn one_value_has_no_interval_and_odd_ones_nothing() {
        let one = ratio_interval(&[2.0], &[1.0, 1.1], 1).unwrap();
        assert_eq!((one.low, one.high), (0.0, f64::INFINITY));
        assert!(ratio_interval(&[], &[1.0], 1).is_none());
        assert!(ratio_interval(&[0.0, 1.0], &[1.0, 1.0], 1).is_none());
        let same = ratio_interval(&[2.0, 2.0], &[2.0, 2.0], 1).unwrap();
        assert_eq!((same.low, same.high), (1.0, 1.0));
    }
}
