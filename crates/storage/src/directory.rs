//! Directories that Octavo makes, marks and locks. One with anything else in it
//! is refused and left as it is.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, ErrorKind},
    path::{Path, PathBuf},
};

use rustix::fs::{FlockOperation, flock};

/// The file that marks a directory as Octavo's, and locks it while in use.
pub const MARKER: &str = "OCTAVO";

/// What a directory is for: only those marked for the same are opened.
#[derive(Debug)]
pub struct Mark {
    /// The content of the file [`MARKER`], for people who look into it.
    pub text: &'static str,
    /// Whose the files in it are, as after "files that are not".
    pub whose: &'static str,
    /// Who else may be using it, as after "in use by another".
    pub user: &'static str,
}

/// Why a directory cannot be worked in.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DirectoryError {
    /// It holds files that are not Octavo's.
    #[error(
        "{} holds files that are not {whose}, such as '{found}': name a new or empty directory",
        path.display()
    )]
    Foreign {
        /// The directory.
        path: PathBuf,
        /// See [`Mark::whose`].
        whose: &'static str,
        /// One of the files.
        found: String,
    },
    /// It is no directory.
    #[error("{} is not a directory: name a new or empty directory", path.display())]
    NotADirectory {
        /// The path.
        path: PathBuf,
    },
    /// Another process is at work there.
    #[error("{} is in use by another {user}", path.display())]
    Busy {
        /// The directory.
        path: PathBuf,
        /// See [`Mark::user`].
        user: &'static str,
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
    /// What makes an error of the system one of doing this with that file, as
    /// for `map_err`.
    pub fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io {
            action,
            path,
            source,
        }
    }

    /// Whether the disk, or the user's share of it, is full.
    pub fn is_full(&self) -> bool {
        matches!(
            self,
            Self::Io { source, .. }
                if matches!(source.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded)
        )
    }
}

/// A marked directory, locked as long as this lives.
#[derive(Debug)]
pub struct MarkedDirectory {
    path: PathBuf,
    _lock: File,
    created: bool,
}

impl MarkedDirectory {
    /// Opens the directory at `path`, making and marking it when it does not
    /// exist or is empty.
    ///
    /// # Errors
    /// A directory that is not of this mark, which is left unchanged, one in
    /// use, or a system that does not let us.
    pub fn open(path: &Path, mark: &Mark) -> Result<Self, DirectoryError> {
        let existed = examine(path, mark)?;
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
                    user: mark.user,
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
            fs::write(&marker, mark.text).map_err(DirectoryError::io("write", &marker))?;
        }
        Ok(Self {
            path: path.to_owned(),
            _lock: lock,
            created: created && !existed,
        })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Takes the directory back when this call made it and nothing was kept in
    /// it: for input that is refused after the directory was opened.
    ///
    /// # Errors
    /// It cannot be deleted, as when something is in it.
    pub fn abandon(self) -> Result<(), DirectoryError> {
        if !self.created {
            return Ok(());
        }
        let marker = self.path.join(MARKER);
        fs::remove_file(&marker).map_err(DirectoryError::io("delete", &marker))?;
        fs::remove_dir(&self.path).map_err(DirectoryError::io("delete", &self.path))
    }
}

/// Whether `path` may become or is of this mark, without changing anything;
/// true when it exists.
///
/// # Errors
/// It is somebody else's, no directory, or cannot be read.
pub fn examine(path: &Path, mark: &Mark) -> Result<bool, DirectoryError> {
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
            let text = fs::read(entry.path()).map_err(DirectoryError::io("read", &entry.path()))?;
            if text == mark.text.as_bytes() {
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
            whose: mark.whose,
            found,
        }),
        None => Ok(true),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MARK: Mark = Mark {
        text: "A test made this.\n",
        whose: "a test's",
        user: "test",
    };

    const OTHER: Mark = Mark {
        text: "Another test made this.\n",
        ..MARK
    };

    #[test]
    fn foreign_files_are_refused_and_kept() {
        let parent = tempfile::tempdir().unwrap();
        let file = parent.path().join("precious.db");
        fs::write(&file, "x").unwrap();
        let error = MarkedDirectory::open(parent.path(), &MARK).unwrap_err();
        let said = error.to_string();
        assert!(
            said.contains("not a test's, such as 'precious.db'"),
            "{said}"
        );
        assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 1);
        // A file that only has the marker's name protects as well.
        fs::write(parent.path().join(MARKER), "my own notes").unwrap();
        assert!(MarkedDirectory::open(parent.path(), &MARK).is_err());
        assert!(matches!(
            MarkedDirectory::open(&file, &MARK),
            Err(DirectoryError::NotADirectory { .. })
        ));
    }

    #[test]
    fn a_directory_of_another_mark_is_foreign() {
        let parent = tempfile::tempdir().unwrap();
        drop(MarkedDirectory::open(parent.path(), &OTHER).unwrap());
        let error = MarkedDirectory::open(parent.path(), &MARK).unwrap_err();
        assert!(error.to_string().contains(MARKER), "{error}");
        MarkedDirectory::open(parent.path(), &OTHER).unwrap();
    }

    #[test]
    fn a_directory_is_locked_while_open_and_found_again() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("a/b");
        let first = MarkedDirectory::open(&path, &MARK).unwrap();
        let error = MarkedDirectory::open(&path, &MARK).unwrap_err();
        assert!(
            error.to_string().ends_with("is in use by another test"),
            "{error}"
        );
        drop(first);
        let again = MarkedDirectory::open(&path, &MARK).unwrap();
        // It was there before, and stays.
        again.abandon().unwrap();
        assert!(path.exists());
    }

    #[test]
    fn a_marker_that_was_not_written_to_the_end_is_ours() {
        let parent = tempfile::tempdir().unwrap();
        let marker = parent.path().join(MARKER);
        fs::write(&marker, "").unwrap();
        MarkedDirectory::open(parent.path(), &MARK).unwrap();
        assert_eq!(fs::read_to_string(&marker).unwrap(), MARK.text);
    }

    #[test]
    fn an_abandoned_directory_is_gone() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("new");
        let directory = MarkedDirectory::open(&path, &MARK).unwrap();
        directory.abandon().unwrap();
        assert!(!path.exists());
    }
}
