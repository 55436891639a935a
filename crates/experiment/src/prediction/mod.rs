//! What a prediction is made from.

mod calibrated;
mod cpu;
mod cpu_catalog;
mod elsewhere;
mod expected;
mod fit;
mod known;
mod throughput;

use std::path::PathBuf;

use octavo_device::{
    Device,
    catalog::{Entry, machine::MachineEntry},
    power::Draw,
    profile::Profile,
    profiled::{Profiled, ProfiledError},
};
use octavo_predict::Miniature;
pub use octavo_predict::Slowness;
use octavo_units::{ByteCount, Seed};
use octavo_workload::DataSpec;

use crate::plan::{Cell, Shard, Storage};

pub use calibrated::{Calibrated, CalibratedError};
pub use cpu::Cpu;
pub use cpu_catalog::{CpuCatalog, CpuCatalogError};
pub use elsewhere::{OtherDisk, PagesElsewhere};
pub use expected::Expected;
pub(crate) use expected::expect;
pub use fit::FitError;
pub(crate) use known::InputAccuracy;

/// Passes of a prediction, unless said otherwise. Chosen: seconds.
pub const PREDICTED_PASSES: u32 = 40;

/// Transactions of each of its slices, likewise: with all passes they are enough for misses to
/// be known within 1%. Nobody waits at the end of a slice.
pub const PREDICTED_SLICE: u64 = 400;

/// What a prediction is made from, beside the plan.
#[derive(Clone, Debug)]
pub struct Prediction {
    /// The storages.
    pub devices: PredictedDevices,
    /// What processors take, and where that is known from; `None` for the user's own
    /// statements, which are timed when their pages are recorded.
    pub cpu: Option<PredictedCpus>,
    /// The processors that clients and database share, unless a cell says how many.
    pub processors: u32,
    /// How much slower the storage was under a database than the device is.
    pub slowness: Slowness,
    /// The store of results that may have measured the user's own statements on this storage:
    /// times are made those that they have, once the pages are recorded.
    pub measured_own: Option<PathBuf>,
    /// The machine around the storage, of which it is known what it draws; `None` for no
    /// energy but the storage's.
    pub machine: Option<MachineEntry>,
    /// Transactions of a warm-up at most, where none are asked for; `None` for as many as a
    /// model is worth ([`octavo_predict::Warmth`]).
    pub warm_up_max: Option<u64>,
    /// Whether clients wait for the last of them at the end of a slice, as they do where slices
    /// of this length are measured. Else they go on, as in slices of a second or more, which
    /// wait for so little that it counts for nothing.
    pub ends_slices: bool,
    /// Whether a part of large data is predicted in place of all of it
    /// ([`octavo_predict::Miniature`]), where there is one that stands for it.
    pub in_part: bool,
    /// Which groups are predicted here; `None` for all. Their numbers, inputs and results are
    /// those that they have where all are predicted.
    pub shard: Option<Shard>,
}

impl Prediction {
    /// The groups that are predicted here, of so many.
    pub fn groups(&self, all: usize) -> Vec<usize> {
        match self.shard {
            Some(shard) => shard.groups(all),
            None => (0..all).collect(),
        }
    }
}

/// The storages of a plan that is predicted.
#[derive(Clone, Debug)]
pub struct PredictedDevices {
    /// Of all storages that are not in the list.
    first: PredictedDevice,
    others: Vec<(Storage, PredictedDevice)>,
}

impl PredictedDevices {
    /// One device for all storages.
    pub fn new(device: PredictedDevice) -> Self {
        Self {
            first: device,
            others: Vec::new(),
        }
    }

    /// With another device for a storage.
    pub fn with(mut self, storage: Storage, device: PredictedDevice) -> Self {
        self.others.push((storage, device));
        self
    }

    /// The device of a storage.
    pub fn of(&self, storage: &Storage) -> &PredictedDevice {
        let mut others = self.others.iter();
        let other = others.find(|(of, _)| of == storage);
        other.map_or(&self.first, |(_, device)| device)
    }
}

/// What processors take for the transactions of a plan that is predicted.
#[derive(Clone, Debug)]
pub struct PredictedCpus {
    /// Of all databases and rows that are not in the list.
    first: Cpu,
    /// By the database's name.
    others: Vec<(String, DataSpec, Cpu)>,
}

impl PredictedCpus {
    /// The same for all databases and rows.
    pub fn new(cpu: Cpu) -> Self {
        Self {
            first: cpu,
            others: Vec::new(),
        }
    }

    /// With another one for the database of this name with these rows.
    pub fn with(mut self, database: &str, data: DataSpec, cpu: Cpu) -> Self {
        self.others.push((database.to_owned(), data, cpu));
        self
    }

    /// That of a cell.
    pub fn of(&self, cell: &Cell) -> &Cpu {
        let mut others = self.others.iter();
        let other = others
            .find(|(database, data, _)| *database == cell.database.name && *data == cell.data);
        other.map_or(&self.first, |(_, _, cpu)| cpu)
    }
}

/// Storage that is asked in virtual time.
#[derive(Clone, Debug)]
pub enum PredictedDevice {
    /// One of the catalog, or from a file.
    Entry(Box<Entry>),
    /// Storage that was measured.
    Profile(Box<Profile>),
}

/// A profiled device is as large as data may become: its rates are those of the file
/// that was measured.
const PROFILED_CAPACITY: ByteCount = ByteCount::mib(1 << 24);

impl PredictedDevice {
    /// The device at rest.
    ///
    /// # Errors
    /// A profile that lacks points.
    pub fn open(&self, seed: Seed) -> Result<Box<dyn Device + Send>, ProfiledError> {
        self.open_for(Miniature::WHOLE, seed)
    }

    /// The device at rest, for a part of a database, whose bursts are shorter.
    pub(crate) fn open_for(
        &self,
        miniature: Miniature,
        seed: Seed,
    ) -> Result<Box<dyn Device + Send>, ProfiledError> {
        Ok(match self {
            Self::Entry(entry) if miniature.is_small() => {
                (**entry).clone().divided(miniature.divisor()).open(seed)
            }
            Self::Entry(entry) => entry.open(seed),
            Self::Profile(profile) => {
                Box::new(Profiled::new(profile, Some(PROFILED_CAPACITY), seed)?)
            }
        })
    }

    /// What it draws; `None` where that is not known, as of measured storage.
    pub(crate) fn draw(&self) -> Option<Draw> {
        match self {
            Self::Entry(entry) => entry.draw(),
            Self::Profile(_) => None,
        }
    }

    /// Flash that it has beyond its capacity; `None` of what has no such thing, and where it is
    /// not known.
    pub(crate) fn spare(&self) -> Option<ByteCount> {
        match self {
            Self::Entry(entry) => entry.spare(),
            Self::Profile(_) => None,
        }
    }

    /// Whether a system would say that it rotates.
    pub fn rotates(&self) -> bool {
        match self {
            Self::Entry(entry) => entry.rotates(),
            Self::Profile(profile) => rotates(profile),
        }
    }

    /// What it is called.
    pub fn name(&self) -> String {
        match self {
            Self::Entry(entry) => format!("{} ({})", entry.name, entry.title),
            Self::Profile(profile) => {
                let storage = &profile.storage;
                let device = storage.model.as_ref().or(storage.device.as_ref());
                let device = device.map_or("storage", String::as_str);
                format!("the calibrated {device}")
            }
        }
    }
}

/// Whether the system says of storage that it rotates, or nothing: databases take it for a
/// disk then.
fn rotates(profile: &Profile) -> bool {
    profile.storage.rotational.unwrap_or(true)
}
