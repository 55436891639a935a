//! The device or machine that a user names: of the catalog, or in a file.

use std::path::{Path, PathBuf};

use octavo_device::catalog::{
    self, Entry, EntryError,
    machine::{self, MachineEntry, MachineError},
};

use crate::text::{self, NotAFile, TextError};

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
    #[error(transparent)]
    File(#[from] TextError),
    /// A disk, where a model of one was wanted.
    #[error(
        "{} is a block device, not the model of one: measure a directory on it with 'octavo \
         calibrate DIR --output PROFILE', and name the model that 'octavo devices fit PROFILE \
         --output FILE' makes",
        path.display()
    )]
    Disk {
        /// Which.
        path: PathBuf,
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
/// which has a `/` or ends in `.toml`. With `@` and a size behind it, it is meant from that byte
/// on, as a partition that begins there.
///
/// # Errors
/// An unknown name, a file that cannot be read, an entry that is not valid, or a byte from which
/// on it cannot be meant.
pub fn named(text: &str) -> Result<Entry, NamedError> {
    let (device, offset) = catalog::split_offset(text);
    let entry = whole(device)?;
    match offset {
        Some(offset) => Ok(entry.from_byte(offset)?),
        None => Ok(entry),
    }
}

/// Whether [`named`] reads a file for this text.
pub fn is_in_file(text: &str) -> bool {
    catalog::as_file(catalog::split_offset(text).0).is_some()
}

fn whole(text: &str) -> Result<Entry, NamedError> {
    match catalog::as_file(text) {
        Some(path) => {
            let text = read(path).map_err(|error| match error {
                TextError::NotAFile {
                    path,
                    found: NotAFile::BlockDevice,
                } => NamedError::Disk { path },
                error => error.into(),
            })?;
            Entry::from_toml(&text).map_err(|source| NamedError::In {
                path: path.to_owned(),
                source,
            })
        }
        None => Ok(catalog::find(text)?),
    }
}

/// The machine that a user names, as [`named`] finds a device.
///
/// # Errors
/// An unknown name, a file that cannot be read, or an entry that is not valid.
pub fn named_machine(text: &str) -> Result<MachineEntry, NamedError> {
    match catalog::as_file(text) {
        Some(path) => {
            MachineEntry::from_toml(&read(path)?).map_err(|source| NamedError::InMachine {
                path: path.to_owned(),
                source,
            })
        }
        None => Ok(machine::find(text)?),
    }
}

fn read(path: &Path) -> Result<String, TextError> {
    text::read(path, text::WRITTEN_MAX)
}
