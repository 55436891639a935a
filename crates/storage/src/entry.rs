//! The device or machine that a user names: of the catalog, or in a file.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use octavo_device::catalog::{
    self, Entry, EntryError,
    machine::{self, MachineEntry, MachineError},
};

/// Why there is no such device or machine.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NamedError {
    /// A name that is not in the catalog.
    #[error(transparent)]
    Entry(#[from] EntryError),
    /// A name that is not in the catalog of machines.
    #[error(transparent)]
    Machine(#[from] MachineError),
    /// A file that cannot be read.
    #[error("cannot read {what} {}", path.display())]
    File {
        /// What was to be in it: a device or a machine.
        what: &'static str,
        /// Which.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// An entry in a file is not valid.
    #[error("{}", path.display())]
    In {
        /// Which file.
        path: PathBuf,
        /// Why not.
        #[source]
        source: EntryError,
    },
    /// A machine in a file is not valid.
    #[error("{}", path.display())]
    InMachine {
        /// Which file.
        path: PathBuf,
        /// Why not.
        #[source]
        source: MachineError,
    },
}

/// The device that a user names: one of the catalog, or the file at a path,
/// which has a `/` or ends in `.toml`.
///
/// # Errors
/// An unknown name, a file that cannot be read, or an entry that is not valid.
pub fn named(text: &str) -> Result<Entry, NamedError> {
    match catalog::as_file(text) {
        Some(path) => Entry::from_toml(&read("device", path)?).map_err(|source| NamedError::In {
            path: path.to_owned(),
            source,
        }),
        None => Ok(catalog::find(text)?),
    }
}

/// The machine that a user names, as [`named`] finds a device.
///
/// # Errors
/// An unknown name, a file that cannot be read, or an entry that is not valid.
pub fn named_machine(text: &str) -> Result<MachineEntry, NamedError> {
    match catalog::as_file(text) {
        Some(path) => MachineEntry::from_toml(&read("machine", path)?).map_err(|source| {
            NamedError::InMachine {
                path: path.to_owned(),
                source,
            }
        }),
        None => Ok(machine::find(text)?),
    }
}

fn read(what: &'static str, path: &Path) -> Result<String, NamedError> {
    fs::read_to_string(path).map_err(|source| NamedError::File {
        what,
        path: path.to_owned(),
        source,
    })
}
