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
