//! A temporary file system for one command.

use std::{
    fs,
    io::{self, ErrorKind},
    path::{Path, PathBuf},
};

use anyhow::{Context, anyhow};
use octavo_storage::{
    file_system::{FileSystem, MountedFileSystem, remove_file_system},
    namespace::mount_apart,
    target::free_space,
};
use octavo_units::ByteCount;

use crate::{failure::Failure, hold, interrupt::Interrupt};

/// A file system in a file that has no name any more, seen by this process alone. When this is
/// dropped it is gone. Of a process that is killed a directory stays, and the file if it was still being
/// made: nothing that is found is deleted, as it may be somebody's own.
pub(crate) struct MadeFileSystem {
    /// Before its directory is removed.
    mounted: Option<MountedFileSystem>,
    directory: PathBuf,
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
        };
        let backing = made.directory.join("backing");
        create(&made.directory)?;
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
        .map_err(|error| {
            let kind = error.downcast_ref::<io::Error>().map(io::Error::kind);
            let is_bad_input = matches!(
                kind,
                Some(
                    ErrorKind::PermissionDenied
                        | ErrorKind::ReadOnlyFilesystem
                        | ErrorKind::AlreadyExists
                )
            );
            Failure::classified(error, is_bad_input)
        })
}

/// How the names of their directories begin; the number of their process follows.
const NAME: &str = "octavo-file-system-";

impl Drop for MadeFileSystem {
    fn drop(&mut self) {
        drop(self.mounted.take());
        let _unless_used = fs::remove_dir(&self.directory);
    }
}
