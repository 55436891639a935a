//! Where a plan's data lies: its directories, and the devices that are emulated
//! for it.

use std::path::{Path, PathBuf};

use super::{ConductError, ConductSettings};
use crate::{
    directory::{STORE, WorkDirectory},
    emulation::Wanted,
    loaded::DESCRIPTION,
    plan::Place,
};

/// The devices that the plan's storages are, in its order.
pub(super) fn devices(settings: &ConductSettings) -> Vec<Wanted> {
    settings
        .plan
        .storages
        .iter()
        .map(|name| Place::of(name))
        .filter_map(|place| match place {
            Place::Device(device) => Some(Wanted {
                device: device.to_owned(),
                backing: place.backing(&settings.directory)?,
                mount: place.path(&settings.directory),
            }),
            Place::Own | Place::Directory(_) => None,
        })
        .collect()
}

/// Where the data of each storage lies, in the plan's order.
pub(super) fn storages(settings: &ConductSettings) -> Vec<PathBuf> {
    settings
        .plan
        .storages
        .iter()
        .map(|name| Place::of(name).path(&settings.directory))
        .collect()
}

/// Refuses directories that are somebody else's, without changing anything.
pub(super) fn examine(storages: &[PathBuf], directory: &Path) -> Result<(), ConductError> {
    for path in storages {
        WorkDirectory::examine(path)?;
        if path != directory && path.join(STORE).exists() {
            return Err(ConductError::Setting(format!(
                "{} is where another experiment works: name another storage",
                path.display()
            )));
        }
        if path.join(DESCRIPTION).exists() {
            return Err(ConductError::Setting(format!(
                "{} holds rows that octavo load or octavo bench keeps: name another directory",
                path.display()
            )));
        }
    }
    Ok(())
}
