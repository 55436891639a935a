//! What was published of a device, to compare its model with.

use octavo_units::Seed;
use serde::{Deserialize, Serialize};

use super::{Entry, EntryError, find};
use crate::{
    DeviceError,
    point::PointSpec,
    probe::{self, Effort},
};

/// One published figure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
    /// The model's figure beside the published one.
    ///
    /// # Errors
    /// As [`Published::simulate`].
    pub fn compare(&self, entry: &Entry, seed: Seed) -> Result<Compared, SimulateError> {
        let simulated = self.simulate(entry, seed)?;
        Ok(Compared {
            published: self.clone(),
            simulated,
            error: self.error(simulated),
        })
    }

    /// The model's figure, in the unit of `value`.
    ///
    /// # Errors
    /// A point that does not fit the device, or an unknown other device.
    pub fn simulate(&self, entry: &Entry, seed: Seed) -> Result<f64, SimulateError> {
        let figure = |entry: &Entry, spec: &PointSpec| -> Result<f64, SimulateError> {
            let mut device = entry.open(seed);
            let point = probe::measure(&mut *device, spec, Effort::default(), seed)?;
            Ok(match self.figure {
                Figure::Iops => point.iops.get(),
                Figure::LatencyMs => point.latency.us_mean / 1e3,
                Figure::MbPerS => point.bytes_per_second.get() / 1e6,
            })
        };
        let value = figure(entry, &self.at)?;
        let Some(over) = &self.over else {
            return Ok(value);
        };
        let other = match &self.over_device {
            Some(name) => figure(&find(name)?, over)?,
            None => figure(entry, over)?,
        };
        Ok(value / other)
    }

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

/// A published figure and the model's.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Compared {
    /// What was published.
    #[serde(flatten)]
    pub published: Published,
    /// What the model makes of it, in the same unit.
    pub simulated: f64,
    /// How far that is off, as of [`Published::error`].
    pub error: f64,
}

/// Why a published figure could not be simulated.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SimulateError {
    /// The point does not fit.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The other device is not known.
    #[error(transparent)]
    Entry(#[from] EntryError),
}
