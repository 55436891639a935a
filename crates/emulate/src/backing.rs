//! The two directories of an emulation: where files are stored, and where they
//! are seen. Nothing of the user's is touched: the backing directory is
//! Octavo's own, and the mount point holds nothing.

use std::{
    fs,
    io::ErrorKind,
    path::{Path, PathBuf},
};

use octavo_storage::directory::{DirectoryError, Mark, MarkedDirectory};

use crate::error::EmulateError;

/// What marks a backing directory.
const BACKING: Mark = Mark {
    text: "Octavo keeps the files of an emulated device in the directory beside this.\n",
    whose: "those of an emulated device",
    user: "emulation",
};

/// Where the files are, within the backing directory.
const FILES: &str = "files";

/// A backing directory, locked as long as this lives.
#[derive(Debug)]
pub(crate) struct Backing {
    files: PathBuf,
    _directory: MarkedDirectory,
}

impl Backing {
    /// Opens the directory, making and marking it where it does not exist or
    /// is empty. Everything else is refused unchanged.
    pub(crate) fn open(path: &Path) -> Result<Self, EmulateError> {
        let directory = MarkedDirectory::open(path, &BACKING)?;
        let files = path.join(FILES);
        match fs::create_dir(&files) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => {
                return Err(EmulateError::io("create directory", &files)(error));
            }
            _ => {}
        }
        // Not a link to one, which would be somewhere else.
        if !fs::symlink_metadata(&files).is_ok_and(|about| about.is_dir()) {
            return Err(DirectoryError::NotADirectory { path: files }.into());
        }
        Ok(Self {
            files,
            _directory: directory,
        })
    }

    /// The directory that is the root of what is mounted.
    pub(crate) fn files(&self) -> &Path {
        &self.files
    }
}

/// A directory to mount at. One that was made for it is removed in the end.
#[derive(Debug)]
pub(crate) struct MountPoint {
    path: PathBuf,
    made: bool,
}

impl MountPoint {
    /// An empty directory, made where there is none, apart from `backing`.
    pub(crate) fn open(path: &Path, backing: &Path) -> Result<Self, EmulateError> {
        // Before anything is made, as far as the paths exist.
        apart(path, backing)?;
        let made = match fs::read_dir(path) {
            Ok(mut entries) => {
                if let Some(entry) = entries.next() {
                    let entry = entry.map_err(EmulateError::io("read directory", path))?;
                    return Err(EmulateError::NotEmpty {
                        path: path.to_owned(),
                        found: entry.file_name().to_string_lossy().into_owned(),
                    });
                }
                false
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {
                fs::create_dir_all(path).map_err(EmulateError::io("create directory", path))?;
                true
            }
            Err(error) if error.kind() == ErrorKind::NotADirectory => {
                return Err(DirectoryError::NotADirectory {
                    path: path.to_owned(),
                }
                .into());
            }
            Err(error) if error.raw_os_error() == Some(libc::ENOTCONN) => {
                return Err(EmulateError::Dead {
                    path: path.to_owned(),
                });
            }
            Err(error) => return Err(EmulateError::io("read directory", path)(error)),
        };
        let path = path
            .canonicalize()
            .map_err(EmulateError::io("find", path))?;
        Ok(Self { path, made })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for MountPoint {
    fn drop(&mut self) {
        if self.made {
            // Somebody may have put something there since.
            let _kept = fs::remove_dir(&self.path);
        }
    }
}

/// Refuses two directories of which one is in the other.
fn apart(mount: &Path, backing: &Path) -> Result<(), EmulateError> {
    let (within, around) = (resolved(mount)?, resolved(backing)?);
    if within.starts_with(&around) || around.starts_with(&within) {
        return Err(EmulateError::Nested {
            mount: mount.to_owned(),
            backing: backing.to_owned(),
        });
    }
    Ok(())
}

/// The path without links, as far as it exists.
fn resolved(path: &Path) -> Result<PathBuf, EmulateError> {
    let absolute = std::path::absolute(path).map_err(EmulateError::io("find", path))?;
    let mut missing = Vec::new();
    let mut existing = absolute.as_path();
    loop {
        match existing.canonicalize() {
            Ok(mut found) => {
                found.extend(missing.iter().rev());
                return Ok(found);
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {
                let (Some(parent), Some(name)) = (existing.parent(), existing.file_name()) else {
                    return Err(EmulateError::io("find", path)(error));
                };
                missing.push(name);
                existing = parent;
            }
            Err(error) if error.raw_os_error() == Some(libc::ENOTCONN) => {
                return Err(EmulateError::Dead {
                    path: path.to_owned(),
                });
            }
            Err(error) => return Err(EmulateError::io("find", path)(error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_and_busy_directories_are_refused_and_kept() {
        let parent = tempfile::tempdir().unwrap();
        fs::write(parent.path().join("precious.db"), "x").unwrap();
        let error = Backing::open(parent.path()).unwrap_err();
        assert!(error.to_string().contains("precious.db"), "{error}");
        assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 1);

        let own = parent.path().join("own");
        let first = Backing::open(&own).unwrap();
        assert!(matches!(
            Backing::open(&own),
            Err(EmulateError::Directory(DirectoryError::Busy { .. }))
        ));
        drop(first);
        Backing::open(&own).unwrap();
    }

    #[test]
    fn mount_points_are_empty_apart_and_gone_when_made() {
        let parent = tempfile::tempdir().unwrap();
        let (backing, mount) = (parent.path().join("backing"), parent.path().join("m/n"));
        drop(MountPoint::open(&mount, &backing).unwrap());
        assert!(!mount.exists());
        for (mount, backing) in [
            (backing.join("mount"), backing.clone()),
            (mount.clone(), mount.join("backing")),
            (mount.clone(), mount.clone()),
        ] {
            assert!(matches!(
                MountPoint::open(&mount, &backing),
                Err(EmulateError::Nested { .. })
            ));
            assert!(!mount.exists());
        }
        fs::create_dir_all(&mount).unwrap();
        fs::write(mount.join("mine"), "").unwrap();
        let error = MountPoint::open(&mount, &backing).unwrap_err();
        assert!(error.to_string().contains("mine"), "{error}");
    }
}
