//! Mounts of an emulator that is gone, and of its watcher too.

use std::{
    fs, io,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use octavo_storage::{
    location::EMULATED,
    procfs::{Mount, mounts},
};

use crate::{error::EmulateError, unmount::detach};

/// How long a mount may take to answer what it is.
const PATIENCE: Duration = Duration::from_secs(5);

/// Takes the mount at `path` away if it is of an emulator that is gone. Anything
/// else there stays.
pub(crate) fn clear(path: &Path) -> Result<(), EmulateError> {
    let path = place(path);
    let found = mount_at(&path).map_err(EmulateError::io("look for mounts at", &path))?;
    if found.is_none() {
        return Ok(());
    }
    match answers(&path).map_err(EmulateError::io("ask", &path))? {
        Some(true) => Ok(()),
        Some(false) => detach(&path, &[]).map_err(EmulateError::io("unmount", &path)),
        None => Err(EmulateError::Silent { path }),
    }
}

/// The uppermost mount of an emulated device at `path`, which is absolute and
/// without links.
pub(crate) fn mount_at(path: &Path) -> io::Result<Option<Mount>> {
    let table = fs::read("/proc/self/mountinfo")?;
    let found = mounts(&table).filter(|mount| mount.point == path);
    Ok(found.last().filter(|mount| mount.file_system == EMULATED))
}

/// Where `path` leads, without asking what is mounted there.
fn place(path: &Path) -> PathBuf {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    match (
        absolute.parent().map(fs::canonicalize),
        absolute.file_name(),
    ) {
        (Some(Ok(parent)), Some(name)) => parent.join(name),
        _ => absolute,
    }
}

/// Whether somebody serves the mount at `path`; `None` when that does not become
/// known. Another process asks, as who asks may have to wait for ever.
fn answers(path: &Path) -> io::Result<Option<bool>> {
    // For its space, which the kernel does not answer from what it has kept.
    let mut asked = Command::new("stat")
        .arg("-f")
        .arg(path)
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    let since = Instant::now();
    while since.elapsed() < PATIENCE {
        if let Some(status) = asked.try_wait()? {
            return Ok(Some(status.success()));
        }
        thread::sleep(Duration::from_millis(2));
    }
    let _ends_when_it_can = asked.kill();
    Ok(None)
}
