//! The directory that Octavo works in. It is made and marked by Octavo; a
//! directory with anything else in it is refused and left as it is.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, ErrorKind},
    path::{Path, PathBuf},
};

use octavo_units::ByteCount;
use rustix::fs::{FlockOperation, flock};

/// The file that marks a directory as Octavo's, and locks it while in use.
pub const MARKER: &str = "OCTAVO";

const MARKER_TEXT: &str = "Octavo made this directory and may delete what is in it.\n";

/// The result store's name.
pub const STORE: &str = "octavo.db";

/// The report's name.
pub const REPORT: &str = "report.html";

/// Why a directory cannot be worked in.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DirectoryError {
    /// It holds files that are not Octavo's.
    #[error(
        "{} holds files that are not Octavo's, such as '{found}': name a new or empty directory",
        path.display()
    )]
    Foreign {
        /// The directory.
        path: PathBuf,
        /// One of the files.
        found: String,
    },
    /// It is no directory.
    #[error("{} is not a directory: name a new or empty directory", path.display())]
    NotADirectory {
        /// The path.
        path: PathBuf,
    },
    /// Another Octavo is at work there.
    #[error("{} is in use by another octavo", path.display())]
    Busy {
        /// The directory.
        path: PathBuf,
    },
    /// It could not be read or written.
    #[error("{action} {}", path.display())]
    Io {
        /// A verb.
        action: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
}

impl DirectoryError {
    /// Whether the disk, or the user's share of it, is full.
    pub fn is_full(&self) -> bool {
        matches!(
            self,
            Self::Io { source, .. }
                if matches!(source.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded)
        )
    }

    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io {
            action,
            path,
            source,
        }
    }
}

/// A marked directory, locked as long as this lives.
#[derive(Debug)]
pub struct WorkDirectory {
    path: PathBuf,
    _lock: File,
    created: bool,
}

impl WorkDirectory {
    /// Opens Octavo's directory at `path`, making and marking it when it does
    /// not exist or is empty. Everything else is refused unchanged.
    pub fn open(path: &Path) -> Result<Self, DirectoryError> {
        let existed = Self::examine(path)?;
        fs::create_dir_all(path).map_err(DirectoryError::io("create directory", path))?;
        let marker = path.join(MARKER);
        let lock = OpenOptions::new()
            .read(true)
            .append(true)
            .create(true)
            .open(&marker)
            .map_err(DirectoryError::io("create", &marker))?;
        flock(&lock, FlockOperation::NonBlockingLockExclusive).map_err(|error| {
            if error == rustix::io::Errno::WOULDBLOCK {
                DirectoryError::Busy {
                    path: path.to_owned(),
                }
            } else {
                DirectoryError::io("lock", &marker)(error.into())
            }
        })?;
        let length = lock
            .metadata()
            .map_err(DirectoryError::io("read", &marker))?
            .len();
        let created = length == 0;
        if created {
            fs::write(&marker, MARKER_TEXT).map_err(DirectoryError::io("write", &marker))?;
        }
        Ok(Self {
            path: path.to_owned(),
            _lock: lock,
            created: created && !existed,
        })
    }

    /// Whether `path` may become or is Octavo's, without changing anything;
    /// true when it exists.
    pub fn examine(path: &Path) -> Result<bool, DirectoryError> {
        let entries = match fs::read_dir(path) {
            Ok(entries) => entries,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
            Err(error) if error.kind() == ErrorKind::NotADirectory => {
                return Err(DirectoryError::NotADirectory {
                    path: path.to_owned(),
                });
            }
            Err(error) => return Err(DirectoryError::io("read directory", path)(error)),
        };
        let mut found = None;
        for entry in entries {
            let entry = entry.map_err(DirectoryError::io("read directory", path))?;
            if entry.file_name() == MARKER {
                let text =
                    fs::read(entry.path()).map_err(DirectoryError::io("read", &entry.path()))?;
                if text == MARKER_TEXT.as_bytes() {
                    return Ok(true);
                }
                // An empty marker is ours when we were ended between making
                // and writing it, and then it is alone.
                if text.is_empty() {
                    continue;
                }
            }
            found = Some(entry.file_name().to_string_lossy().into_owned());
        }
        match found {
            Some(found) => Err(DirectoryError::Foreign {
                path: path.to_owned(),
                found,
            }),
            None => Ok(true),
        }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The result store's path.
    pub fn store(&self) -> PathBuf {
        self.path.join(STORE)
    }

    /// The report's path.
    pub fn report(&self) -> PathBuf {
        self.path.join(REPORT)
    }

    /// A directory for the database's files, `name` below `data/`.
    pub fn data(&self, name: &str) -> PathBuf {
        self.path.join("data").join(name)
    }

    /// Deletes all databases below `data/`; results stay.
    pub fn remove_data(&self) -> Result<(), DirectoryError> {
        let data = self.path.join("data");
        match fs::remove_dir_all(&data) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                Err(DirectoryError::io("delete", &data)(error))
            }
            _ => Ok(()),
        }
    }

    /// Takes the directory back when this call made it and nothing was kept in
    /// it: for input that is refused after the directory was opened.
    pub fn abandon(self) -> Result<(), DirectoryError> {
        if !self.created {
            return Ok(());
        }
        let marker = self.path.join(MARKER);
        fs::remove_file(&marker).map_err(DirectoryError::io("delete", &marker))?;
        fs::remove_dir(&self.path).map_err(DirectoryError::io("delete", &self.path))
    }
}

/// The space that is free for a directory that may not exist yet.
pub fn free_space(path: &Path) -> Result<ByteCount, DirectoryError> {
    let existing = path
        .ancestors()
        .find(|path| path.exists() && !path.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    let free = rustix::fs::statvfs(existing)
        .map_err(|error| DirectoryError::io("read the free space of", existing)(error.into()))?;
    Ok(ByteCount::new(free.f_bavail.saturating_mul(free.f_frsize)))
}

/// The size of all files below a directory, as far as they can be read.
pub(crate) fn directory_size(path: &Path) -> ByteCount {
    let Ok(entries) = fs::read_dir(path) else {
        return ByteCount::ZERO;
    };
    entries
        .flatten()
        .map(|entry| match entry.metadata() {
            Ok(data) if data.is_dir() => directory_size(&entry.path()),
            Ok(data) => ByteCount::new(data.len()),
            Err(_) => ByteCount::ZERO,
        })
        .fold(ByteCount::ZERO, ByteCount::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_files_are_refused_and_kept() {
        let parent = tempfile::tempdir().unwrap();
        let file = parent.path().join("precious.db");
        fs::write(&file, "x").unwrap();
        let error = WorkDirectory::open(parent.path()).unwrap_err();
        assert!(error.to_string().contains("precious.db"), "{error}");
        assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 1);
        // A file that only has the marker's name protects as well.
        fs::write(parent.path().join(MARKER), "my own notes").unwrap();
        assert!(WorkDirectory::open(parent.path()).is_err());
        assert!(matches!(
            WorkDirectory::open(&file),
            Err(DirectoryError::NotADirectory { .. })
        ));
    }

    #[test]
    fn a_directory_is_locked_while_open_and_found_again() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("a/b");
        let first = WorkDirectory::open(&path).unwrap();
        assert!(matches!(
            WorkDirectory::open(&path),
            Err(DirectoryError::Busy { .. })
        ));
        drop(first);
        let again = WorkDirectory::open(&path).unwrap();
        fs::create_dir_all(again.data("4096")).unwrap();
        again.remove_data().unwrap();
        again.remove_data().unwrap();
        assert!(!path.join("data").exists());
    }

    #[test]
    fn an_abandoned_directory_is_gone() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("new");
        WorkDirectory::open(&path).unwrap().abandon().unwrap();
        assert!(!path.exists());
    }
}
