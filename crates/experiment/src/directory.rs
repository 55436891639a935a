//! The directory that an experiment works in, and what is where in it.

use std::{
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use octavo_database::free_what_servers_left;
use octavo_storage::{
    directory::{Mark, MarkedDirectory, examine},
    text,
};
use octavo_units::ByteCount;

use crate::part::Host;

pub use octavo_storage::directory::{DirectoryError, MARKER};

/// What marks a directory that experiments work in.
const WORK: Mark = Mark {
    text: "Octavo made this directory and may delete what is in it.\n",
    whose: "Octavo's",
    user: "octavo",
};

/// The result store's name.
pub const STORE: &str = "octavo.db";

/// The report's name.
pub const REPORT: &str = "report.html";

/// The file that describes the rows that `octavo load` keeps.
pub(crate) const MANIFEST: &str = "loaded.json";

/// Where databases lie, in a directory that experiments work in.
pub(crate) const DATA: &str = "data";

/// How the line of a marker begins that names the host of a part …
const HOST: &str = "host ";
/// … and the one that says that databases stay.
const KEPT: &str = "databases are kept";

/// A marker is not longer: it has a line for each database.
const MARKER_MAX: ByteCount = ByteCount::mib(1);

fn of_host(host: &Host) -> String {
    format!("{HOST}{}", host.id)
}

/// The files of a directory, and those that SQLite keeps beside the store.
const FILES: [&str; 6] = [
    MANIFEST,
    STORE,
    "octavo.db-journal",
    "octavo.db-wal",
    "octavo.db-shm",
    REPORT,
];

/// A marked directory, locked as long as this lives.
#[derive(Debug)]
pub struct WorkDirectory(MarkedDirectory);

impl WorkDirectory {
    /// Opens Octavo's directory at `path`, making and marking it when it does
    /// not exist or is empty. `names` are all that will be made in its data/.
    /// Everything else is refused unchanged.
    ///
    /// # Errors
    /// When it holds files that are not Octavo's or links, another process has
    /// locked it, or it cannot be made.
    pub fn open(path: &Path, names: &[String]) -> Result<Self, DirectoryError> {
        check_length(path)?;
        let mut directory = MarkedDirectory::open(path, &WORK)?;
        directory.check_files(&FILES)?;
        directory.list(DATA, names)?;
        Ok(Self(directory))
    }

    /// Whether `path` may become or is Octavo's, without changing anything;
    /// true when it exists.
    ///
    /// # Errors
    /// When it holds files that are not Octavo's, or cannot be read.
    pub fn examine(path: &Path) -> Result<bool, DirectoryError> {
        check_length(path)?;
        examine(path, &WORK)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// The result store's path.
    pub fn store(&self) -> PathBuf {
        self.path().join(STORE)
    }

    /// The report's path.
    pub fn report(&self) -> PathBuf {
        self.path().join(REPORT)
    }

    /// A directory for the database's files, `name` below `data/`.
    pub fn data(&self, name: &str) -> PathBuf {
        self.path().join(DATA).join(name)
    }

    /// Opens the directory at `path` if a part of a plan was begun there on this host, nothing is at work in it,
    /// and its databases are not to be kept.
    pub(crate) fn open_abandoned(path: &Path, host: &Host) -> Option<Self> {
        let marker = text::begin(&path.join(MARKER), MARKER_MAX).ok()?;
        let marker = String::from_utf8_lossy(&marker);
        let is_line = |wanted: &str| marker.lines().any(|line| line == wanted);
        if !is_line(&of_host(host)) {
            return None;
        }
        let directory = Self::open(path, &[]).ok()?;
        // Now that it is locked.
        (directory.0.has_note(&of_host(host)) && !directory.0.has_note(KEPT)).then_some(directory)
    }

    /// Notes on which host a part of a plan is carried out here.
    ///
    /// # Errors
    /// When that cannot be written.
    pub(crate) fn note_host(&mut self, host: &Host) -> Result<(), DirectoryError> {
        self.0.note(&of_host(host))
    }

    /// Notes that the databases are wanted.
    ///
    /// # Errors
    /// When that cannot be written.
    pub fn note_kept(&mut self) -> Result<(), DirectoryError> {
        self.0.note(KEPT)
    }

    /// Deletes all that Octavo made below `data/`; results stay.
    ///
    /// # Errors
    /// When a file cannot be deleted.
    pub fn remove_data(&self) -> Result<(), DirectoryError> {
        free_what_servers_left(&self.data("."));
        self.0.remove_listed(DATA)
    }

    /// Takes the directory back when this call made it and nothing was kept in
    /// it: for input that is refused after the directory was opened.
    ///
    /// # Errors
    /// When the directory cannot be taken back.
    pub fn abandon(self) -> Result<(), DirectoryError> {
        self.0.abandon()
    }
}

/// SQLite's default VFS takes paths of 512 bytes (`MAX_PATHNAME` in its
/// os_unix.c); what lies below needs some.
const LENGTH_MAX: usize = 400;

fn check_length(path: &Path) -> Result<(), DirectoryError> {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let bytes = absolute.as_os_str().len();
    if bytes <= LENGTH_MAX {
        return Ok(());
    }
    Err(DirectoryError::Long {
        path: path.to_owned(),
        bytes,
        limit: LENGTH_MAX,
    })
}

/// The space that is free for a directory that may not exist yet.
///
/// # Errors
/// When the file system cannot be asked.
pub fn free_space(path: &Path) -> Result<ByteCount, DirectoryError> {
    let existing = existing(path);
    let free = rustix::fs::statvfs(&existing)
        .map_err(|error| DirectoryError::io("read the free space of", &existing)(error.into()))?;
    Ok(ByteCount::new(free.f_bavail.saturating_mul(free.f_frsize)))
}

/// The directory, or the nearest above it that is there.
pub(crate) fn existing(path: &Path) -> PathBuf {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let mut above = absolute.ancestors();
    let found = above.find(|path| path.is_dir());
    found.map_or_else(|| PathBuf::from("/"), Path::to_owned)
}

/// What is needed in directories in all on each file system, whose room they share, with the first
/// of these directories.
pub(crate) fn by_file_system(
    needs: impl IntoIterator<Item = (PathBuf, ByteCount)>,
) -> Vec<(PathBuf, ByteCount)> {
    let mut together: Vec<(u64, PathBuf, ByteCount)> = Vec::new();
    for (path, needed) in needs {
        let device = device_of(&path);
        match together.iter_mut().find(|(other, ..)| *other == device) {
            Some((.., sum)) => *sum = sum.saturating_add(needed),
            None => together.push((device, path, needed)),
        }
    }
    let named = together.into_iter();
    named.map(|(_, path, needed)| (path, needed)).collect()
}

/// The file system's number under a path that may not exist yet; 0 where it
/// cannot be told.
pub(crate) fn device_of(path: &Path) -> u64 {
    std::path::absolute(path)
        .unwrap_or_else(|_| path.to_owned())
        .ancestors()
        .find_map(|existing| fs::metadata(existing).ok())
        .map_or(0, |data| data.dev())
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
    fn what_is_not_there_lies_in_what_is() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("a/b");
        assert_eq!(existing(&path), scratch.path());
        assert_eq!(existing(scratch.path()), scratch.path());
    }

    #[test]
    fn foreign_files_are_refused_and_kept() {
        let parent = tempfile::tempdir().unwrap();
        let file = parent.path().join("precious.db");
        fs::write(&file, "x").unwrap();
        let error = WorkDirectory::open(parent.path(), &[]).unwrap_err();
        assert!(error.to_string().contains("precious.db"), "{error}");
        assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 1);
        // A file that only has the marker's name protects as well.
        fs::write(
            parent.path().join(octavo_storage::directory::MARKER),
            "my own notes",
        )
        .unwrap();
        assert!(WorkDirectory::open(parent.path(), &[]).is_err());
        assert!(matches!(
            WorkDirectory::open(&file, &[]),
            Err(DirectoryError::NotADirectory { .. })
        ));
    }

    #[test]
    fn directories_of_one_file_system_share_its_room() {
        let parent = tempfile::tempdir().unwrap();
        let [one, later] = ["one", "later/made"].map(|name| parent.path().join(name));
        let needs = [
            (one.clone(), ByteCount::kib(1)),
            (PathBuf::from("/proc"), ByteCount::kib(5)),
            (later, ByteCount::kib(3)),
        ];
        let wanted = [
            (one, ByteCount::kib(4)),
            ("/proc".into(), ByteCount::kib(5)),
        ];
        assert_eq!(by_file_system(needs), wanted);
    }

    #[test]
    fn a_directory_is_locked_while_open_and_found_again() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("a/b");
        let names = ["4096".to_owned()];
        let first = WorkDirectory::open(&path, &names).unwrap();
        assert!(matches!(
            WorkDirectory::open(&path, &names),
            Err(DirectoryError::Busy { .. })
        ));
        drop(first);
        let again = WorkDirectory::open(&path, &names).unwrap();
        fs::create_dir_all(again.data("4096")).unwrap();
        again.remove_data().unwrap();
        again.remove_data().unwrap();
        assert!(!path.join("data").exists());
    }

    #[test]
    fn a_path_that_is_too_long_is_refused_and_not_made() {
        let parent = tempfile::tempdir().unwrap();
        let top = parent.path().join("x".repeat(200));
        let path = top.join("y".repeat(200));
        assert!(matches!(
            WorkDirectory::open(&path, &[]),
            Err(DirectoryError::Long { limit: 400, .. })
        ));
        assert!(!top.exists());
    }

    #[test]
    fn an_abandoned_directory_is_gone() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("new");
        WorkDirectory::open(&path, &[]).unwrap().abandon().unwrap();
        assert!(!path.exists());
    }
}
