//! What a cell did under a load.

use schemars::JsonSchema;
use serde::Serialize;

use crate::statistics::Interval;

/// What a cell did with so many clients, each of which waits for its answer before it asks again.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct LoadPoint {
    /// The clients.
    pub clients: u32,
    /// Counted transactions a minute; over three hosts or more, between what those of one more host lie.
    pub throughput: Interval,
    /// The same of all passes together, those that are left out of it included; `None` of ramps and where
    /// nothing was measured. What holds a rate holds it in bad minutes too.
    pub all_passes: Option<f64>,
    /// The 99th percentile of all transactions, in milliseconds; `None` where it was not measured.
    pub p99_ms: Option<f64>,
    /// The lower end of its interval at 95%, in milliseconds.
    pub p99_low_ms: Option<f64>,
    /// The upper end; `None` of too few transactions to know.
    pub p99_high_ms: Option<f64>,
    /// How many hosts of merged parts gave it; `None` where parts were not merged.
    pub hosts: Option<usize>,
}
