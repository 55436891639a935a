//! How much throughput differs between windows of time: pure functions over counts.
//!
//! Of two devices with the same mean one may stall for seconds. Lee, Moon & Park, "Advances
//! in flash memory SSD technology for enterprise database applications" (SIGMOD 2009), sample
//! throughput every 10 s: disks 181.6 TPS with a standard deviation of 3.1, a flash device
//! 377.0 with 18.3.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The windows of Lee et al., in seconds.
pub const WINDOW_S: f64 = 10.0;

/// A count over a span of time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Span {
    /// How long it is, in seconds.
    pub length_s: f64,
    /// The count.
    pub counted: u64,
}

/// Throughput in windows of equal length.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Spread {
    /// How many windows.
    pub windows: usize,
    /// How long each is, in seconds.
    pub window_s: f64,
    /// The mean of their throughputs, a second.
    pub mean: f64,
    /// The sample standard deviation (n - 1) of these, a second.
    pub standard_deviation: f64,
    /// Coefficient of variation: standard deviation ÷ mean.
    pub variation: f64,
}

impl Spread {
    /// The spread between windows of one length, or nearly. `None` with fewer than two, and
    /// where nothing was counted.
    pub fn between(windows: &[Span], window_s: f64) -> Option<Self> {
        let throughput: Vec<f64> = windows
            .iter()
            .map(|window| window.counted as f64 / window.length_s)
            .collect();
        let mean = mean(&throughput);
        if throughput.len() < 2 || mean.is_nan() || mean <= 0.0 {
            return None;
        }
        let standard_deviation = standard_deviation(&throughput);
        Some(Self {
            windows: throughput.len(),
            window_s,
            mean,
            standard_deviation,
            variation: standard_deviation / mean,
        })
    }
}

/// Merges consecutive spans to windows, by their midpoints. Leaves out a last window of less
/// than half the length, and windows that a longer span skips.
pub fn windows(spans: impl IntoIterator<Item = Span>, window_s: f64) -> Vec<Span> {
    let window_s = window_s.max(1e-9);
    let mut windows: Vec<Span> = Vec::new();
    let mut at_s = 0.0;
    let mut latest = 0;
    for span in spans {
        let number = ((at_s + span.length_s / 2.0) / window_s) as u64;
        at_s += span.length_s;
        match windows.last_mut() {
            Some(window) if number <= latest => {
                window.length_s += span.length_s;
                window.counted = window.counted.saturating_add(span.counted);
            }
            _ => windows.push(span),
        }
        latest = number;
    }
    windows.retain(|window| window.length_s >= window_s / 2.0);
    windows
}

/// The arithmetic mean; NaN for an empty slice.
pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The sample standard deviation (n - 1); NaN for fewer than two values.
pub fn standard_deviation(values: &[f64]) -> f64 {
    let center = mean(values);
    let squares: f64 = values.iter().map(|v| (v - center).powi(2)).sum();
    (squares / (values.len() as f64 - 1.0)).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(counted: impl IntoIterator<Item = u64>) -> Vec<Span> {
        let span = |counted| Span {
            length_s: 1.0,
            counted,
        };
        counted.into_iter().map(span).collect()
    }

    #[test]
    fn spread_is_of_windows_rather_than_of_spans() {
        // Seconds of 0 and 200 by turns: even over 10 s.
        let even = windows(seconds((0..60).map(|second| second % 2 * 200)), WINDOW_S);
        let even = Spread::between(&even, WINDOW_S).unwrap();
        assert_eq!((even.windows, even.mean, even.variation), (6, 100.0, 0.0));
        // Ten windows at 100 a second, ten at 140: sd = 20 sqrt(20/19).
        let steps = (0..200).map(|second| if second < 100 { 100 } else { 140 });
        let steps = Spread::between(&windows(seconds(steps), WINDOW_S), WINDOW_S).unwrap();
        let expected = 20.0 * (20.0_f64 / 19.0).sqrt();
        assert!((steps.standard_deviation - expected).abs() < 1e-9);
        assert!((steps.variation - expected / 120.0).abs() < 1e-9);
    }

    #[test]
    fn incomplete_and_skipped_windows_are_left_out() {
        // 24 s: the last window has 4 s of 10.
        assert_eq!(windows(seconds([5; 24]), 10.0).len(), 2);
        assert_eq!(windows(seconds([5; 26]), 10.0).len(), 3);
        // A span of 30 s has its middle in the second window, and is one.
        let mut spans = seconds([5; 10]);
        spans.push(Span {
            length_s: 30.0,
            counted: 300,
        });
        spans.extend(seconds([5; 10]));
        let found = windows(spans, 10.0);
        assert_eq!(found.len(), 3);
        assert_eq!((found[1].length_s, found[1].counted), (30.0, 300));
    }

    #[test]
    fn nothing_has_no_spread() {
        assert!(windows([], 10.0).is_empty());
        assert_eq!(Spread::between(&[], 10.0), None);
        assert_eq!(Spread::between(&seconds([7]), 10.0), None);
        assert_eq!(Spread::between(&seconds([0, 0, 0]), 1.0), None);
    }
}
