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
        Err(rustix::io::Errno::PERM) => return with_fusermount(path),
        Err(rustix::io::Errno::BUSY) => {}
        // Somebody else was faster.
        Err(rustix::io::Errno::INVAL) => return Ok(()),
        Err(error) => return Err(error.into()),
    }
    // Keep what was written to the cache, then end the connection, which lets
    // waiting programs go, then take the mount away.
    // Another process does that: see `Lead::measure_with`.
    let _as_far_as_possible = Command::new("sync").arg("-f").arg(path).status();
    // For a file system in user space that only begins to write: a file's own sync waits.
    // Closing a file writes what it has, so that those that are open are all there are.
    for some in open.chunks(500) {
        let _as_far_as_possible = Command::new("sync").arg("--").args(some).status();
    }
    let _busy = unmount(path, UnmountFlags::FORCE);
    match unmount(path, UnmountFlags::DETACH) {
        Ok(()) | Err(rustix::io::Errno::INVAL) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Who is not root may unmount only with this program.
fn with_fusermount(path: &Path) -> io::Result<()> {
    for arguments in ["-uq", "-uqz"] {
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
