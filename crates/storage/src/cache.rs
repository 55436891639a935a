//! Where Octavo keeps what it can make again: built servers, measured costs.

use std::{
    env, fs, io,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use rustix::process::geteuid;

/// `octavo` in the directory that `OCTAVO_CACHE` names; else `/var/cache/octavo` for root,
/// and `octavo` in `XDG_CACHE_HOME` or `~/.cache` for others. `None` where none of these is
/// known.
pub fn directory() -> Option<PathBuf> {
    let set = |name| {
        env::var_os(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    let directory = if let Some(chosen) = set("OCTAVO_CACHE") {
        // What is in a directory of the user's choice is the user's.
        chosen.join("octavo")
    } else if geteuid().is_root() {
        PathBuf::from("/var/cache/octavo")
    } else if let Some(caches) = set("XDG_CACHE_HOME") {
        caches.join("octavo")
    } else {
        set("HOME")?.join(".cache/octavo")
    };
    std::path::absolute(directory).ok()
}

/// Makes the directory where it is missing, readable to all: servers run as another user,
/// and the file mode mask may be strict.
///
/// # Errors
/// It cannot be made, or its mode cannot be set.
pub fn create(root: &Path) -> io::Result<()> {
    if root.exists() {
        return Ok(());
    }
    fs::create_dir_all(root)?;
    fs::set_permissions(root, fs::Permissions::from_mode(0o755))
}
