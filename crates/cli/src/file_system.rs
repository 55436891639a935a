//! A temporary file system for one command.

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
};

use anyhow::{Context, anyhow};
use octavo_storage::{
    file_system::{FileSystem, MountedFileSystem, remove_file_system},
    namespace::mount_apart,
    target::free_space,
};
use octavo_units::ByteCount;
use rustix::fs::{Mode, OFlags};

use crate::{failure::Failure, hold, interrupt::Interrupt};

/// A file system in a file that has no name any more, seen by this process alone. When this is
/// dropped it is gone; of a process that is killed a directory stays, and while the file was being made
/// that, too, until the next one removes them.
pub(crate) struct MadeFileSystem {
    /// Before its directory is removed.
    mounted: Option<MountedFileSystem>,
    directory: PathBuf,
    /// Locked, so that others see that it is in use.
    _held: Option<File>,
}

impl MadeFileSystem {
    /// Makes one with room for `content` in `directory`. From now on mounts of the calling thread,
    /// and of those that it starts, are its own.
    pub(crate) fn make(
        system: &FileSystem,
        directory: &Path,
        content: ByteCount,
        interrupt: &Interrupt,
    ) -> Result<Self, Failure> {
        mount_apart();
        remove_left(directory);
        let size = system.size_for(content);
        let free = free_space(directory)
            .with_context(|| format!("cannot ask for free space in {}", directory.display()))
            .map_err(Failure::Fault)?;
        if free < size {
            return Err(Failure::Input(anyhow!(
                "a file system for this takes {size} and {} has {free} free: free some space or ask \
                 for a smaller file with --size",
                directory.display()
            )));
        }
        let name = format!("{NAME}{}", std::process::id());
        let mut made = Self {
            mounted: None,
            directory: directory.join(name),
            _held: None,
        };
        let backing = made.directory.join("backing");
        create(&made.directory)?;
        made._held = hold(&made.directory);
        create(&backing)?;
        let mounted =
            MountedFileSystem::mount(system, &backing, size, &made.path(), &|| interrupt.is_set());
        // What is mounted keeps its file; what is not leaves none.
        remove_file_system(&backing);
        made.mounted = Some(mounted.map_err(hold::failure)?);
        Ok(made)
    }

    /// Where it is mounted.
    pub(crate) fn path(&self) -> PathBuf {
        self.directory.join("mount")
    }
}

fn create(directory: &Path) -> Result<(), Failure> {
    fs::create_dir(directory)
        .with_context(|| format!("cannot create directory {}", directory.display()))
        .map_err(|error| match error.downcast_ref::<io::Error>() {
            Some(source) if source.kind() == io::ErrorKind::PermissionDenied => {
                Failure::Input(error)
            }
            _ => Failure::Fault(error),
        })
}

/// How the names of their directories begin; the number of their process follows.
const NAME: &str = "octavo-file-system-";

/// Removes what processes left that were killed.
fn remove_left(directory: &Path) {
    let all = fs::read_dir(directory).into_iter().flatten().flatten();
    for entry in all {
        let name = entry.file_name();
        let is_of_one = name.to_str().is_some_and(|name| name.starts_with(NAME))
            && entry.file_type().is_ok_and(|kind| kind.is_dir());
        if is_of_one && hold(&entry.path()).is_some() {
            remove_file_system(&entry.path().join("backing"));
            for part in ["mount", ""] {
                let _unless_used = fs::remove_dir(entry.path().join(part));
            }
        }
    }
}

/// The directory, locked as long as this is kept; links are not followed.
fn hold(directory: &Path) -> Option<File> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let held = File::from(rustix::fs::open(directory, flags, Mode::empty()).ok()?);
    held.try_lock().ok()?;
    Some(held)
}

impl Drop for MadeFileSystem {
    fn drop(&mut self) {
        drop(self.mounted.take());
        let _unless_used = fs::remove_dir(&self.directory);
    }
}
