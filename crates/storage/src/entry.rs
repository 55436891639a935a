//! The device that a user names: of the catalog, or in a file.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use octavo_device::catalog::{self, Entry, EntryError};

/// Why there is no such device.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NamedError {
    /// A name that is not in the catalog.
    #[error(transparent)]
    Entry(#[from] EntryError),
    /// A file that cannot be read.
    #[error("cannot read device {}", path.display())]
    File {
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
}

/// The device that a user names: one of the catalog, or the file at a path,
/// which has a `/` or ends in `.toml`.
///
/// # Errors
/// An unknown name, a file that cannot be read, or an entry that is not valid.
pub fn named(text: &str) -> Result<Entry, NamedError> {
    match catalog::as_file(text) {
        Some(path) => read(path),
        None => Ok(catalog::find(text)?),
    }
}

fn read(path: &Path) -> Result<Entry, NamedError> {
    let text = fs::read_to_string(path).map_err(|source| NamedError::File {
        path: path.to_owned(),
        source,
    })?;
    Entry::from_toml(&text).map_err(|source| NamedError::In {
        path: path.to_owned(),
        source,
    })
}
