//! What was published of a device, to compare its model with.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::point::PointSpec;

/// One published figure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// How the device was loaded.
    pub at: PointSpec,
    /// What was measured.
    pub figure: Figure,
    /// With `over`, the figure is a ratio: of the figure at `at` and this one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub over: Option<PointSpec>,
    /// The device of `over`, if another.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub over_device: Option<String>,
    /// How `value` is meant.
    #[serde(default)]
    pub relation: Relation,
    /// The figure in its unit, or the ratio.
    pub value: f64,
    /// Where it was published.
    pub source: String,
}

/// What a published value says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Relation {
    /// It was measured.
    #[default]
    About,
    /// It was that or more.
    AtLeast,
    /// It was that or less.
    AtMost,
}

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Figure {
    /// Requests per second.
    Iops,
    /// Mean latency in milliseconds.
    LatencyMs,
    /// Throughput in MB/s, of 10^6 bytes.
    MbPerS,
}

impl Published {
    /// How far `simulated` is off, as a share of the published value: 0.1 is
    /// 10 % too much. Bounds that hold are not off at all.
    pub fn error(&self, simulated: f64) -> f64 {
        let error = simulated / self.value - 1.0;
        match self.relation {
            Relation::About => error,
            Relation::AtLeast => error.min(0.0),
            Relation::AtMost => error.max(0.0),
        }
    }
}
