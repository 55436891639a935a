//! Published figures beside those of the model.

use octavo_units::Seed;
use serde::Serialize;

use super::{
    entry::{Entry, EntryError, find},
    published::{Figure, Published},
};
use crate::{
    DeviceError,
    point::PointSpec,
    probe::{self, Effort},
};

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

impl Published {
    /// The model's figure beside the published one.
    ///
    /// # Errors
    /// A point that does not fit the device, or an unknown other device.
    pub fn compare(&self, entry: &Entry, seed: Seed) -> Result<Compared, SimulateError> {
        let figure = |entry: &Entry, spec: &PointSpec| -> Result<f64, SimulateError> {
            let mut device = entry.open(seed);
            let point = probe::measure(&mut *device, spec, Effort::default(), seed)?;
            Ok(match self.figure {
                Figure::Iops => point.iops.get(),
                Figure::LatencyMs => point.latency.us_mean / 1e3,
                Figure::MbPerS => point.bytes_per_second.get() / 1e6,
            })
        };
        let mut simulated = figure(entry, &self.at)?;
        if let Some(over) = &self.over {
            simulated /= match &self.over_device {
                Some(name) => figure(&find(name)?, over)?,
                None => figure(entry, over)?,
            };
        }
        Ok(Compared {
            published: self.clone(),
            simulated,
            error: self.error(simulated),
        })
    }
}
