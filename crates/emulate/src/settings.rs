//! What is emulated, and how.

use std::path::PathBuf;

use octavo_device::{catalog::Entry, point::PointSpec};
use octavo_units::Seed;

use crate::faults::Faults;

/// What is emulated, and where.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The device.
    pub entry: Entry,
    /// Where files are stored: a new or empty directory, or one that an
    /// emulation made. It stays.
    pub backing: PathBuf,
    /// Where the files are seen: an empty directory, or none yet, which is then
    /// made and removed again.
    pub mount: PathBuf,
    /// The program that answers `lead MOUNT` as [`lead()`](crate::lead()) does:
    /// octavo itself.
    pub program: PathBuf,
    /// Seconds that a second of the device takes, 1 by default: with 10, a
    /// device that this machine could not keep pace with has ten times as long.
    pub time_scale: f64,
    /// Whether syncs reach the backing storage, as they do by default. Without,
    /// they wait for the model alone, and a crash of this machine can lose what
    /// was synced.
    pub sync_backing: bool,
    /// What goes wrong; by default nothing.
    pub faults: Faults,
    /// What the device was loaded with before, see
    /// [`Device::precondition`](octavo_device::Device::precondition); by default it is
    /// as it was delivered.
    pub precondition: Option<PointSpec>,
    /// Origin of everything random.
    pub seed: Seed,
}

impl Settings {
    /// `entry` in real time and without faults.
    pub fn new(
        entry: Entry,
        backing: impl Into<PathBuf>,
        mount: impl Into<PathBuf>,
        program: impl Into<PathBuf>,
    ) -> Self {
        Self {
            entry,
            backing: backing.into(),
            mount: mount.into(),
            program: program.into(),
            time_scale: 1.0,
            sync_backing: true,
            faults: Faults::default(),
            precondition: None,
            seed: Seed::new(1),
        }
    }
}
