//! Taking a mount away.

use std::{
    io,
    path::{Path, PathBuf},
    process::Command,
};

use rustix::mount::{UnmountFlags, unmount};

/// Unmounts, taking it from programs that still use it. `open` are files that they may
/// have open.
pub(crate) fn detach(path: &Path, open: &[PathBuf]) -> io::Result<()> {
    match unmount(path, UnmountFlags::empty()) {
        Ok(()) => return Ok(()),
        Err(rustix::io::Errno::PERM) => return with_fusermount(path, open),
        Err(rustix::io::Errno::BUSY) => {}
        // Somebody else was faster.
        Err(rustix::io::Errno::INVAL) => return Ok(()),
        Err(error) => return Err(error.into()),
    }
    // Keep what was written to the cache, then end the connection, which lets
    // waiting programs go, then take the mount away.
    sync(path, open);
    let _busy = unmount(path, UnmountFlags::FORCE);
    match unmount(path, UnmountFlags::DETACH) {
        Ok(()) | Err(rustix::io::Errno::INVAL) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Writes what the cache has of a mount's files, as far as possible.
fn sync(path: &Path, open: &[PathBuf]) {
    // Another process does that: see `Lead::measure_with`.
    let _as_far_as_possible = Command::new("sync").arg("-f").arg(path).status();
    // For a file system in user space that only begins to write: a file's own sync waits.
    // Closing a file writes what it has, so that those that are open are all there are.
    for some in open.chunks(500) {
        let _as_far_as_possible = Command::new("sync").arg("--").args(some).status();
    }
}

/// Who is not root may unmount only with this program.
fn with_fusermount(path: &Path, open: &[PathBuf]) -> io::Result<()> {
    for arguments in ["-uq", "-uqz"] {
        if arguments == "-uqz" {
            sync(path, open);
        }
        let status = Command::new("fusermount3")
            .arg(arguments)
            .arg(path)
            .status()?;
        if status.success() {
            return Ok(());
        }
    }
    Err(io::Error::other("fusermount3 -uz failed"))
}
