//! How much values that follow each other depend on each other.

use crate::series::mean;

/// The autocorrelation of `values` at each lag from 0 to `longest`, each sum
/// of products divided by its own number of terms. Empty where the values do
/// not vary.
pub(super) fn autocorrelations(values: &[f64], longest: usize) -> Vec<f64> {
    let centre = mean(values);
    let around: Vec<f64> = values.iter().map(|value| value - centre).collect();
    let covariance = |lag: usize| {
        let products = around.iter().zip(&around[lag..]).map(|(a, b)| a * b);
        products.sum::<f64>() / (around.len() - lag) as f64
    };
    if values.len() < 2 {
        return Vec::new();
    }
    let variance = covariance(0);
    // Equal values differ by rounding alone.
    if variance <= (centre * 1e-9).powi(2) {
        return Vec::new();
    }
    (0..=longest.min(values.len() - 1))
        .map(|lag| covariance(lag) / variance)
        .collect()
}

/// The autocorrelation at lag 1; 0 of values that do not vary.
pub fn lag_1(values: &[f64]) -> f64 {
    let correlations = autocorrelations(values, 1);
    correlations.get(1).copied().unwrap_or(0.0).clamp(-1.0, 1.0)
}

/// How many independent values would tell as much about the mean as `values`:
/// their number divided by 1 + 2 times the sum of the autocorrelations. The
/// sum ends where those of two neighbouring lags together are no longer
/// positive: Geyer, "Practical Markov chain Monte Carlo", Statistical Science
/// 7 (1992), section 3.3, the initial positive sequence. Never more than there
/// are.
pub fn effective_samples(values: &[f64]) -> f64 {
    let count = values.len() as f64;
    let correlations = autocorrelations(values, values.len() / 2);
    let sum: f64 = correlations
        .chunks_exact(2)
        .map(|pair| pair[0] + pair[1])
        .take_while(|&pair| pair > 0.0)
        .sum();
    // Lag 0 is in the first pair: 1 + 2 (sum - 1).
    count / (2.0 * sum - 1.0).max(1.0)
}

#[cfg(test)]
mod tests {
    use super::{super::tests::autoregression, *};

    #[test]
    fn dependence_is_that_of_the_process() {
        for correlation in [0.0, 0.5, 0.8] {
            let values = autoregression(7, 20_000, correlation, 1.0);
            let found = lag_1(&values);
            assert!((found - correlation).abs() < 0.02, "{found}");
            // Of such a process the share is (1 - r) / (1 + r).
            let expected = (1.0 - correlation) / (1.0 + correlation);
            let share = effective_samples(&values) / 20_000.0;
            assert!((share / expected - 1.0).abs() < 0.12, "{share} {expected}");
        }
    }

    #[test]
    fn what_does_not_vary_depends_on_nothing() {
        assert_eq!(lag_1(&[0.1 + 0.2; 50]), 0.0);
        assert_eq!(effective_samples(&[4.0; 50]), 50.0);
        assert_eq!((lag_1(&[]), effective_samples(&[])), (0.0, 0.0));
    }
}
