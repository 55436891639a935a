//! Latencies as the figures that people compare.

use hdrhistogram::Histogram;
use serde::Serialize;

/// What a histogram of microseconds says, three digits exact.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Percentiles {
    /// Arithmetic mean.
    pub mean_us: f64,
    /// Median.
    pub p50_us: u64,
    /// 90 %.
    pub p90_us: u64,
    /// 95 %.
    pub p95_us: u64,
    /// 99 %.
    pub p99_us: u64,
    /// 99.9 %.
    pub p999_us: u64,
    /// The longest.
    pub max_us: u64,
}

impl Percentiles {
    /// Of an empty histogram all are 0.
    pub fn of(histogram: &Histogram<u64>) -> Self {
        Self {
            mean_us: histogram.mean(),
            p50_us: histogram.value_at_quantile(0.5),
            p90_us: histogram.value_at_quantile(0.9),
            p95_us: histogram.value_at_quantile(0.95),
            p99_us: histogram.value_at_quantile(0.99),
            p999_us: histogram.value_at_quantile(0.999),
            max_us: histogram.max(),
        }
    }
}
