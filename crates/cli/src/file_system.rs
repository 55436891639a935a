//! A file system that is made for one command, and nothing of which is left.

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
};

use anyhow::Context;
use octavo_storage::{
    file_system::{FileSystem, MountedFileSystem, remove_file_system},
    namespace::mount_apart,
};
use octavo_units::ByteCount;

use crate::{failure::Failure, hold, interrupt::Interrupt};

/// A file system in a file that has no name any more, seen by this process alone. When this is
/// dropped it is gone; of a process that is killed a directory stays, empty unless the file was still
/// being written, which the next one removes.
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
        let name = format!("{NAME}{}", std::process::id());
        let mut made = Self {
            mounted: None,
            directory: directory.join(name),
            _held: None,
        };
        let backing = made.directory.join("backing");
        for path in [&made.directory, &backing] {
            fs::create_dir(path)
                .with_context(|| format!("cannot create directory {}", path.display()))
                .map_err(|error| match error.downcast_ref::<io::Error>() {
                    Some(source) if source.kind() == io::ErrorKind::PermissionDenied => {
                        Failure::Input(error)
                    }
                    _ => Failure::Fault(error),
                })?;
        }
        made._held = File::open(&made.directory)
            .ok()
            .filter(|held| held.try_lock().is_ok());
        let size = content.saturating_add(ByteCount::new(content.get() / OVERHEAD_PART));
        let mounted = MountedFileSystem::mount(
            system,
            &backing,
            size.saturating_add(OVERHEAD),
            &made.path(),
            &|| interrupt.is_set(),
        );
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

/// How the names of their directories begin; the number of their process follows.
const NAME: &str = "octavo-file-system-";

/// Removes what processes left that were killed.
fn remove_left(directory: &Path) {
    let all = fs::read_dir(directory).into_iter().flatten().flatten();
    for entry in all {
        let name = entry.file_name();
        let is_of_one = name.to_str().is_some_and(|name| name.starts_with(NAME));
        let held = File::open(entry.path()).ok();
        if is_of_one && held.is_some_and(|held| held.try_lock().is_ok()) {
            remove_file_system(&entry.path().join("backing"));
            for part in ["mount", ""] {
                let _unless_used = fs::remove_dir(entry.path().join(part));
            }
        }
    }
}

/// What a file system keeps for itself: a journal and tables, and a part of the content. Chosen.
const OVERHEAD: ByteCount = ByteCount::mib(256);
const OVERHEAD_PART: u64 = 8;

impl Drop for MadeFileSystem {
    fn drop(&mut self) {
        drop(self.mounted.take());
        let _unless_used = fs::remove_dir(&self.directory);
    }
}
