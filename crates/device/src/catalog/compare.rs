//! Published figures beside those of the model.

use octavo_units::{ByteCount, Seed};
use schemars::JsonSchema;
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
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
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
            let (mut device, spec) = match part(entry, spec) {
                Some((part, spec)) => (part.open(seed), spec),
                None => (entry.open(seed), *spec),
            };
            let point = probe::measure(&mut *device, &spec, Effort::default(), seed)?;
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

/// The largest range that is written on the whole drive.
const RANGE_MAX: u64 = 16 << 30;

/// A page-mapped drive with a part of each die's blocks, and the point over the same share
/// of it, where a point writes over more than [`RANGE_MAX`]. What a drive does under load
/// depends on how full it is and not on how large, but for the few blocks that are always
/// free, and rounding to whole blocks; bringing all of a large one to that state takes minutes.
fn part(entry: &Entry, spec: &PointSpec) -> Option<(Entry, PointSpec)> {
    let flash = entry.flash.as_ref()?;
    if !spec.mix.writes() || spec.range.get() <= RANGE_MAX {
        return None;
    }
    let (part, share) = flash.part((spec.range.get() / RANGE_MAX) as u32)?;
    let sector = u64::from(part.sector_bytes.value);
    let range = (spec.range.get() / u64::from(share)).min(part.capacity_bytes.value);
    let spec = PointSpec {
        range: ByteCount::new(range / sector * sector),
        ..*spec
    };
    let mut entry = entry.clone();
    entry.flash = Some(part);
    Some((entry, spec))
}
