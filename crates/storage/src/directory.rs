//! Directories that Octavo makes, marks and locks. One with anything else in it
//! is refused and left as it is.
//!
//! The file that marks one also lists what is made in it, before it is made:
//! only that is ever deleted. No link is followed below the directory.

use std::{
    fs::{self, File, Metadata},
    io::{self, ErrorKind, Read, Write},
    os::{
        fd::{AsFd, BorrowedFd},
        unix::fs::MetadataExt,
    },
    path::{Component, Path, PathBuf},
};

use rustix::{
    fs::{CWD, FlockOperation, Mode, OFlags, flock, openat},
    io::Errno,
    process::geteuid,
};

/// The file that marks a directory as Octavo's, and locks it while in use.
pub const MARKER: &str = "OCTAVO";

/// What a directory is for: only those marked for the same are opened.
#[derive(Debug)]
pub struct Mark {
    /// How the file [`MARKER`] begins, for people who look into it. A line for
    /// each path that was made follows.
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
    /// Its path is longer than what works below it can take.
    #[error(
        "{} has a path of {bytes} bytes, {limit} are possible: name another directory",
        path.display()
    )]
    Long {
        /// The directory.
        path: PathBuf,
        /// The length of its absolute path.
        bytes: usize,
        /// The longest possible.
        limit: usize,
    },
    /// It is no directory.
    #[error("{} is not a directory: name a new or empty directory", path.display())]
    NotADirectory {
        /// The path.
        path: PathBuf,
    },
    /// It belongs to another user.
    #[error(
        "{} belongs to user {owner}: name a new directory, or one of your own",
        path.display()
    )]
    Owner {
        /// The directory.
        path: PathBuf,
        /// The number of its user.
        owner: u32,
    },
    /// It holds something where Octavo's files would be that may lead out of
    /// it.
    #[error(
        "{} is {what}, which {} may not hold: delete it, or name another directory",
        path.display(), directory.display()
    )]
    LeadsOut {
        /// The directory.
        directory: PathBuf,
        /// What is in it.
        path: PathBuf,
        /// What it is, such as "a link".
        what: &'static str,
    },
    /// It holds something among what Octavo made that Octavo did not make.
    #[error(
        "{} is not in the list of what Octavo made, {}: move it away, or delete it",
        path.display(), marker.display()
    )]
    Unlisted {
        /// What it holds.
        path: PathBuf,
        /// The file with the list.
        marker: PathBuf,
    },
    /// Another process is at work there.
    #[error(
        "{} is in use by another {user}: run the same command again when that one has ended", path.display()
    )]
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

    /// Whether another path would do: nothing is wrong with the machine.
    pub fn is_bad_input(&self) -> bool {
        let Self::Io { source, .. } = self else {
            return true;
        };
        let of_path = [
            ErrorKind::InvalidFilename,
            ErrorKind::NotADirectory,
            ErrorKind::NotFound,
            ErrorKind::PermissionDenied,
            ErrorKind::ReadOnlyFilesystem,
        ];
        of_path.contains(&source.kind())
            || source.raw_os_error() == Some(Errno::LOOP.raw_os_error())
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
    marker: File,
    /// Paths from here of what was made, each from before it was.
    listed: Vec<String>,
    created: bool,
}

impl MarkedDirectory {
    /// Opens the directory at `path`, making and marking it when it does not
    /// exist or is empty.
    ///
    /// # Errors
    /// A directory that is not of this mark or another user's, which is left
    /// unchanged, one in use, or a system that does not let us.
    pub fn open(path: &Path, mark: &Mark) -> Result<Self, DirectoryError> {
        let existed = examine(path, mark)?;
        fs::create_dir_all(path).map_err(DirectoryError::io("create directory", path))?;
        let marker = path.join(MARKER);
        let flags = OFlags::RDWR | OFlags::APPEND | OFlags::CREATE;
        let mut file = open_marker(open_directory(path)?.as_fd(), path, flags)?;
        flock(&file, FlockOperation::NonBlockingLockExclusive).map_err(|error| {
            if error == rustix::io::Errno::WOULDBLOCK {
                DirectoryError::Busy {
                    path: path.to_owned(),
                    user: mark.user,
                }
            } else {
                DirectoryError::io("lock", &marker)(error.into())
            }
        })?;
        let text = read(&mut file, &marker)?;
        if text.is_empty() {
            file.write_all(mark.text.as_bytes())
                .map_err(DirectoryError::io("write", &marker))?;
        }
        let list = text.strip_prefix(mark.text.as_bytes()).unwrap_or_default();
        Ok(Self {
            path: path.to_owned(),
            marker: file,
            listed: String::from_utf8_lossy(list)
                .lines()
                .map(str::to_owned)
                .collect(),
            created: text.is_empty() && !existed,
        })
    }

    /// Lists `names`, which are about to be made in the directory `folder` of
    /// this one.
    ///
    /// # Errors
    /// Where there is something in `folder` that is not listed, or a link is
    /// anywhere below; and when that cannot be read, or the list not be
    /// written.
    pub fn list(&mut self, folder: &str, names: &[String]) -> Result<(), DirectoryError> {
        self.check(folder)?;
        let mut lines = String::new();
        for name in names {
            let path = format!("{folder}/{name}");
            if !self.listed.contains(&path) {
                lines += &path;
                lines.push('\n');
                self.listed.push(path);
            }
        }
        if lines.is_empty() {
            return Ok(());
        }
        self.marker
            .write_all(lines.as_bytes())
            .and_then(|()| self.marker.sync_data())
            .map_err(DirectoryError::io("write", &self.path.join(MARKER)))
    }

    /// Keeps a line that says something of the directory, once; it has no slash.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn note(&mut self, line: &str) -> Result<(), DirectoryError> {
        if self.has_note(line) {
            return Ok(());
        }
        self.listed.push(line.to_owned());
        self.marker
            .write_all(format!("{line}\n").as_bytes())
            .map_err(DirectoryError::io("write", &self.path.join(MARKER)))
    }

    /// Whether a line was [noted](Self::note).
    pub fn has_note(&self, line: &str) -> bool {
        self.listed.iter().any(|listed| listed == line)
    }

    fn check(&self, folder: &str) -> Result<(), DirectoryError> {
        let path = self.path.join(folder);
        let about = match fs::symlink_metadata(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            about => about.map_err(DirectoryError::io("read", &path))?,
        };
        if !about.is_dir() {
            return Err(self.leads_out(path, "no directory"));
        }
        let entries = fs::read_dir(&path).map_err(DirectoryError::io("read directory", &path))?;
        for entry in entries {
            let entry = entry.map_err(DirectoryError::io("read directory", &path))?;
            let name = format!("{folder}/{}", entry.file_name().to_string_lossy());
            if !self.listed.contains(&name) {
                return Err(DirectoryError::Unlisted {
                    path: entry.path(),
                    marker: self.path.join(MARKER),
                });
            }
        }
        match first_link(&path)? {
            Some(link) => Err(self.leads_out(link, "a link")),
            None => Ok(()),
        }
    }

    /// Refuses files of Octavo, by their names in this directory, that are
    /// links or have a second name somewhere.
    ///
    /// # Errors
    /// As it says, or when they cannot be looked at.
    pub fn check_files(&self, names: &[&str]) -> Result<(), DirectoryError> {
        for name in names {
            let path = self.path.join(name);
            match fs::symlink_metadata(&path) {
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => return Err(DirectoryError::io("read", &path)(error)),
                Ok(about) => {
                    check_file(&about).map_or(Ok(()), |what| Err(self.leads_out(path, what)))?
                }
            }
        }
        Ok(())
    }

    fn leads_out(&self, path: PathBuf, what: &'static str) -> DirectoryError {
        DirectoryError::LeadsOut {
            directory: self.path.clone(),
            path,
            what,
        }
    }

    /// Deletes everything that is listed in `folder`, and `folder` itself unless
    /// something else is in it.
    ///
    /// # Errors
    /// When something cannot be deleted.
    pub fn remove_listed(&self, folder: &str) -> Result<(), DirectoryError> {
        let path = self.path.join(folder);
        if !fs::symlink_metadata(&path).is_ok_and(|about| about.is_dir()) {
            return Ok(());
        }
        for name in &self.listed {
            let Some(name) = name
                .strip_prefix(folder)
                .and_then(|name| name.strip_prefix('/'))
            else {
                continue;
            };
            // Names that we list are plain; others may lead out of it.
            let mut components = Path::new(name).components();
            if !matches!(
                (components.next(), components.next()),
                (Some(Component::Normal(_)), None)
            ) {
                continue;
            }
            let path = path.join(name);
            let removed = match fs::symlink_metadata(&path) {
                Ok(about) if about.is_dir() => fs::remove_dir_all(&path),
                _ => fs::remove_file(&path),
            };
            absent(removed).map_err(DirectoryError::io("delete", &path))?;
        }
        match fs::remove_dir(&path) {
            Err(error) if error.kind() == ErrorKind::DirectoryNotEmpty => Ok(()),
            removed => absent(removed).map_err(DirectoryError::io("delete", &path)),
        }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Takes the directory back when this call made it and nothing was kept in
    /// it: for input that is refused after the directory was opened. One with
    /// something in it stays, with its mark, so that it can be used again.
    ///
    /// # Errors
    /// It cannot be deleted.
    pub fn abandon(self) -> Result<(), DirectoryError> {
        let entries =
            fs::read_dir(&self.path).map_err(DirectoryError::io("read directory", &self.path))?;
        let is_other = |entry: io::Result<fs::DirEntry>| {
            entry.map_or(true, |entry| entry.file_name() != MARKER)
        };
        if !self.created || entries.into_iter().any(is_other) {
            return Ok(());
        }
        let marker = self.path.join(MARKER);
        fs::remove_file(&marker).map_err(DirectoryError::io("delete", &marker))?;
        fs::remove_dir(&self.path).map_err(DirectoryError::io("delete", &self.path))
    }
}

impl Drop for MarkedDirectory {
    /// Frees the directory for the next, also where a process of ours that was
    /// forked and has not become its program yet still holds the open file: a
    /// lock goes when it is released or the last holder closes (flock(2)).
    fn drop(&mut self) {
        let _closed_after_this = flock(&self.marker, FlockOperation::Unlock);
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
    let directory = open_directory(path)?;
    let about = directory
        .metadata()
        .map_err(DirectoryError::io("read", path))?;
    // Who owns it can put links into it at any moment.
    if ![geteuid().as_raw(), 0].contains(&about.uid()) {
        return Err(DirectoryError::Owner {
            path: path.to_owned(),
            owner: about.uid(),
        });
    }
    let mut found = None;
    for entry in entries {
        let entry = entry.map_err(DirectoryError::io("read directory", path))?;
        if entry.file_name() == MARKER {
            let mut marker = open_marker(directory.as_fd(), path, OFlags::RDONLY)?;
            let text = read(&mut marker, &entry.path())?;
            if text.starts_with(mark.text.as_bytes()) {
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

fn open_directory(path: &Path) -> Result<File, DirectoryError> {
    openat(
        CWD,
        path,
        OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC,
        Mode::empty(),
    )
    .map(File::from)
    .map_err(|error| DirectoryError::io("open directory", path)(error.into()))
}

/// Opens the marker of the directory at `path`, which has to be a plain file
/// with this one name.
fn open_marker(
    directory: BorrowedFd<'_>,
    path: &Path,
    flags: OFlags,
) -> Result<File, DirectoryError> {
    let marker = path.join(MARKER);
    // A pipe would be waited for otherwise.
    let flags = flags | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let refused = |what| DirectoryError::LeadsOut {
        directory: path.to_owned(),
        path: marker.clone(),
        what,
    };
    let file = match openat(directory, MARKER, flags, Mode::from_raw_mode(0o666)) {
        Ok(file) => File::from(file),
        Err(rustix::io::Errno::LOOP) => return Err(refused("a link")),
        Err(error) => return Err(DirectoryError::io("open", &marker)(error.into())),
    };
    let about = file
        .metadata()
        .map_err(DirectoryError::io("read", &marker))?;
    match check_file(&about) {
        Some(what) => Err(refused(what)),
        None => Ok(file),
    }
}

/// What a file is that is none of Octavo's: `None` for a plain one with one
/// name.
fn check_file(about: &Metadata) -> Option<&'static str> {
    match about {
        about if about.is_symlink() => Some("a link"),
        about if !about.is_file() => Some("no file"),
        about if about.nlink() > 1 => Some("a file with a second name"),
        _ => None,
    }
}

/// The content of a marker; a longer file is none.
fn read(file: &mut File, path: &Path) -> Result<Vec<u8>, DirectoryError> {
    const LONGEST: u64 = 1 << 20;
    let mut text = Vec::new();
    file.take(LONGEST)
        .read_to_end(&mut text)
        .map_err(DirectoryError::io("read", path))?;
    Ok(text)
}

/// The first link below a directory.
fn first_link(path: &Path) -> Result<Option<PathBuf>, DirectoryError> {
    let entries = fs::read_dir(path).map_err(DirectoryError::io("read directory", path))?;
    for entry in entries {
        let entry = entry.map_err(DirectoryError::io("read directory", path))?;
        let kind = entry
            .file_type()
            .map_err(DirectoryError::io("read", &entry.path()))?;
        if kind.is_symlink() {
            return Ok(Some(entry.path()));
        }
        if kind.is_dir()
            && let Some(link) = first_link(&entry.path())?
        {
            return Ok(Some(link));
        }
    }
    Ok(None)
}

/// What is not there needs not be deleted.
fn absent(removed: io::Result<()>) -> io::Result<()> {
    match removed {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use rustix::fs::{FileType, mknodat};

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
            error.to_string().contains("is in use by another test: run"),
            "{error}"
        );
        drop(first);
        let again = MarkedDirectory::open(&path, &MARK).unwrap();
        // It was there before, and stays.
        again.abandon().unwrap();
        assert!(path.exists());
    }

    #[test]
    fn a_directory_is_free_though_a_child_still_holds_its_marker() {
        let parent = tempfile::tempdir().unwrap();
        let directory = MarkedDirectory::open(parent.path(), &MARK).unwrap();
        // As a process between its fork and its exec does.
        let _inherited = directory.marker.try_clone().unwrap();
        drop(directory);
        MarkedDirectory::open(parent.path(), &MARK).unwrap();
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
        let directory = MarkedDirectory::open(&path, &MARK).unwrap();
        fs::write(path.join("something"), "").unwrap();
        directory.abandon().unwrap();
        MarkedDirectory::open(&path, &MARK).unwrap();
    }

    #[test]
    fn a_marker_that_leads_out_is_refused_and_nothing_is_written() {
        let place = tempfile::tempdir().unwrap();
        let outside = place.path().join("outside");
        fs::write(&outside, "").unwrap();
        for (number, what) in ["a link", "a file with a second name", "no file"]
            .into_iter()
            .enumerate()
        {
            let path = place.path().join(number.to_string());
            fs::create_dir(&path).unwrap();
            let marker = path.join(MARKER);
            match number {
                0 => symlink(&outside, &marker).unwrap(),
                1 => fs::hard_link(&outside, &marker).unwrap(),
                // A pipe that nobody writes to is not waited for.
                _ => mknodat(CWD, &marker, FileType::Fifo, Mode::RWXU, 0).unwrap(),
            }
            let error = MarkedDirectory::open(&path, &MARK).unwrap_err();
            assert!(error.to_string().contains(what), "{error}");
        }
        assert_eq!(fs::read(&outside).unwrap(), b"");
    }

    #[test]
    fn only_what_is_listed_is_deleted_and_the_rest_is_refused() {
        let place = tempfile::tempdir().unwrap();
        let names = ["one".to_owned(), "two".to_owned()];
        let mut directory = MarkedDirectory::open(place.path(), &MARK).unwrap();
        directory.list("data", &names).unwrap();
        let data = place.path().join("data");
        fs::create_dir_all(data.join("one/deep")).unwrap();
        fs::write(data.join("two"), "x").unwrap();
        drop(directory);
        // Another process finds the list.
        let mut directory = MarkedDirectory::open(place.path(), &MARK).unwrap();
        directory.list("data", &names).unwrap();
        let mine = data.join("mine");
        fs::create_dir(&mine).unwrap();
        let error = directory.list("data", &names).unwrap_err();
        assert!(
            matches!(&error, DirectoryError::Unlisted { path, .. } if *path == mine),
            "{error}"
        );
        directory.remove_listed("data").unwrap();
        assert_eq!(fs::read_dir(&data).unwrap().count(), 1);
        fs::remove_dir(&mine).unwrap();
        directory.remove_listed("data").unwrap();
        directory.remove_listed("data").unwrap();
        assert!(!data.exists());
    }

    #[test]
    fn links_below_are_refused_and_not_followed() {
        let place = tempfile::tempdir().unwrap();
        let outside = place.path().join("outside");
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("file"), "x").unwrap();
        let names = ["run".to_owned()];
        for link in ["data", "data/run", "data/run/deep/database.sqlite"] {
            let path = place.path().join(link.replace('/', "-"));
            let mut directory = MarkedDirectory::open(&path, &MARK).unwrap();
            directory.list("data", &names).unwrap();
            let link = path.join(link);
            fs::create_dir_all(link.parent().unwrap()).unwrap();
            symlink(&outside, &link).unwrap();
            let error = directory.list("data", &names).unwrap_err();
            assert!(
                matches!(&error, DirectoryError::LeadsOut { path, .. } if *path == link),
                "{error}"
            );
            directory.remove_listed("data").unwrap();
            assert_eq!(fs::read(outside.join("file")).unwrap(), b"x");
        }
    }

    #[test]
    fn files_with_a_second_name_are_refused() {
        let place = tempfile::tempdir().unwrap();
        let directory = MarkedDirectory::open(place.path(), &MARK).unwrap();
        let file = place.path().join("octavo.db");
        directory.check_files(&["octavo.db", "absent"]).unwrap();
        fs::write(&file, "").unwrap();
        directory.check_files(&["octavo.db"]).unwrap();
        fs::hard_link(&file, place.path().join("other")).unwrap();
        let error = directory.check_files(&["octavo.db"]).unwrap_err();
        assert!(error.to_string().contains("a second name"), "{error}");
    }

    #[test]
    fn root_does_not_work_in_the_directory_of_somebody_else() {
        let place = tempfile::tempdir().unwrap();
        if !geteuid().is_root() {
            eprintln!("skipped: only root can give a directory away");
            return;
        }
        MarkedDirectory::open(place.path(), &MARK).unwrap();
        std::os::unix::fs::chown(place.path(), Some(12_345), None).unwrap();
        let error = MarkedDirectory::open(place.path(), &MARK).unwrap_err();
        assert!(
            error.to_string().contains("belongs to user 12345"),
            "{error}"
        );
    }
}
