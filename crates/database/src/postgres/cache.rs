//! Where built servers and downloaded sources are kept, and which programs are
//! needed to get them.

use std::{
    env, fs,
    fs::{File, OpenOptions, TryLockError},
    ops::ControlFlow,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process, thread,
    time::Duration,
};

use octavo_storage::cache;

use super::refusal::refuse;
use crate::{DatabaseError, Result, error::unless_stopped, files::named, server::tree};

/// What the directories of unfinished builds begin with.
const UNFINISHED: &str = "build-";

/// Between two looks at the lock. Each tells the caller that it waits.
const PAUSE: Duration = Duration::from_millis(200);

/// Attempts to remove what a build has left whose last compilers may still
/// write.
const ATTEMPTS: u32 = 50;

/// The directory that builds and sources are kept in.
///
/// # Errors
/// There is none for this user.
pub(crate) fn cache_directory() -> Result<PathBuf> {
    cache::directory().ok_or_else(|| DatabaseError::Missing {
        what: "there is no directory for caches".into(),
        remedy: "set OCTAVO_CACHE to one".into(),
    })
}

/// A cache that no other Octavo builds in. Finished builds are read without
/// it: they come by a rename, complete.
pub(crate) struct Cache {
    root: PathBuf,
    /// Unlocked when closed, also by the end of the process.
    _lock: File,
}

impl Cache {
    /// Makes the directory where it is missing, waits until no other Octavo
    /// builds there, and removes what killed ones have left.
    pub(crate) fn lock(root: &Path, step: &mut dyn FnMut(&str) -> ControlFlow<()>) -> Result<Self> {
        check_name(root)?;
        cache::create(root).map_err(named("create", root))?;
        let cache = Self {
            _lock: wait_for(&root.join("lock"), step)?,
            root: root.to_owned(),
        };
        cache.sweep()?;
        cache.directory("logs")?;
        cache.directory("sources")?;
        Ok(cache)
    }

    /// Its path.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Where the sources are kept that were downloaded.
    pub(crate) fn sources(root: &Path) -> PathBuf {
        root.join("sources")
    }

    /// The log of a build.
    pub(crate) fn log(&self, name: &str) -> PathBuf {
        self.root.join("logs").join(format!("{name}.log"))
    }

    /// A fresh directory for a build, removed when dropped.
    pub(crate) fn workplace(&self) -> Result<Workplace> {
        let name = format!("{UNFINISHED}{}", process::id());
        Ok(Workplace(self.directory(&name)?))
    }

    fn directory(&self, name: &str) -> Result<PathBuf> {
        let path = self.root.join(name);
        fs::create_dir_all(&path).map_err(named("create", &path))?;
        open_up(&path, 0o755)?;
        Ok(path)
    }

    /// Removes unfinished builds: whoever holds the lock builds alone.
    fn sweep(&self) -> Result<()> {
        for entry in fs::read_dir(&self.root).map_err(named("list", &self.root))? {
            let entry = entry.map_err(named("list", &self.root))?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let pid = name.strip_prefix(UNFINISHED);
            if pid.is_some_and(|pid| pid.parse::<u32>().is_ok()) {
                remove_busy(&entry.path())?;
            }
        }
        Ok(())
    }
}

/// A directory for one build, removed when dropped.
pub(crate) struct Workplace(PathBuf);

impl Workplace {
    /// A directory in it, made where it is missing.
    pub(crate) fn directory(&self, name: &str) -> Result<PathBuf> {
        let path = self.0.join(name);
        fs::create_dir_all(&path).map_err(named("create", &path))?;
        Ok(path)
    }
}

impl Drop for Workplace {
    fn drop(&mut self) {
        // The next build removes what stays.
        let _swept_later = remove_busy(&self.0);
    }
}

/// Lets everybody read a tree, and run what its owner may.
pub(crate) fn open_to_all(path: &Path) -> Result<()> {
    let about = fs::symlink_metadata(path).map_err(named("examine", path))?;
    if about.is_symlink() {
        return Ok(());
    }
    let mode = about.permissions().mode() & 0o7777;
    let run = if mode & 0o100 == 0 { 0 } else { 0o111 };
    open_up(path, mode | 0o444 | run)?;
    if about.is_dir() {
        for entry in fs::read_dir(path).map_err(named("list", path))? {
            open_to_all(&entry.map_err(named("list", path))?.path())?;
        }
    }
    Ok(())
}

fn open_up(path: &Path, mode: u32) -> Result<()> {
    let about = fs::metadata(path).map_err(named("examine", path))?;
    if about.permissions().mode() & 0o7777 == mode {
        return Ok(());
    }
    fs::set_permissions(path, fs::Permissions::from_mode(mode))
        .map_err(named("set the mode of", path))
}

/// Removes a tree in which a killed compiler may still write.
fn remove_busy(path: &Path) -> Result<()> {
    for _ in 1..ATTEMPTS {
        if tree::remove_all(path).is_ok() {
            return Ok(());
        }
        thread::sleep(Duration::from_millis(20));
    }
    tree::remove_all(path)
}

fn wait_for(path: &Path, step: &mut dyn FnMut(&str) -> ControlFlow<()>) -> Result<File> {
    let lock = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(path)
        .map_err(named("open", path))?;
    loop {
        match lock.try_lock() {
            Ok(()) => return Ok(lock),
            Err(TryLockError::Error(error)) => return Err(named("lock", path)(error)),
            Err(TryLockError::WouldBlock) => {
                unless_stopped(step("wait for another Octavo that builds PostgreSQL"))?;
                thread::sleep(PAUSE);
            }
        }
    }
}

/// Refuses names that PostgreSQL's makefiles and apt's configuration would
/// take apart.
fn check_name(root: &Path) -> Result<()> {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"/._+-=@,".contains(byte);
    if root.as_os_str().as_encoded_bytes().iter().all(plain) {
        return Ok(());
    }
    Err(refuse(
        "cache directory",
        root.display(),
        "its path may have letters, digits and /._+-=@, only: set OCTAVO_CACHE to another one",
    ))
}

/// Refuses to go on without these programs, each with its package.
pub(super) fn require(action: &str, programs: &[(&str, &str)]) -> Result<()> {
    let missing: Vec<&(&str, &str)> = programs
        .iter()
        .filter(|(program, _)| program_on_path(program).is_none())
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    let list = |of: fn(&(&str, &str)) -> String, by| {
        missing.iter().map(|m| of(m)).collect::<Vec<_>>().join(by)
    };
    Err(DatabaseError::Missing {
        what: format!(
            "to {action}, {} cannot be found",
            list(|(program, _)| (*program).into(), " and ")
        ),
        remedy: format!(
            "install the packages: apt-get install {}",
            list(|(_, package)| (*package).into(), " ")
        ),
    })
}

/// Where a program is that would be run by its name.
pub(super) fn program_on_path(program: &str) -> Option<PathBuf> {
    env::split_paths(&env::var_os("PATH")?)
        .map(|directory| directory.join(program))
        .find(|path| {
            fs::metadata(path)
                .is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_builds_and_the_others_wait() {
        let scratch = crate::scratch::directory();
        let root = scratch.path().join("cache");
        let mut quiet = |_: &str| ControlFlow::Continue(());
        let first = Cache::lock(&root, &mut quiet).unwrap();
        let workplace = first.workplace().unwrap();
        let inside = workplace.directory("objects").unwrap();
        let mut told = 0;
        let second = Cache::lock(&root, &mut |_: &str| {
            told += 1;
            match told {
                1 => ControlFlow::Continue(()),
                _ => ControlFlow::Break(()),
            }
        });
        assert!(matches!(second, Err(DatabaseError::Stopped)));
        // As if it had been killed.
        std::mem::forget(workplace);
        drop(first);
        let second = Cache::lock(&root, &mut quiet).unwrap();
        assert!(!inside.exists());
        let workplace = second.workplace().unwrap();
        let inside = workplace.directory("objects").unwrap();
        drop(workplace);
        assert!(!inside.exists());
    }

    #[test]
    fn a_tree_is_opened_to_all() {
        let scratch = crate::scratch::directory();
        let tree = scratch.path().join("tree");
        fs::create_dir(&tree).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        for (name, shut) in [("program", 0o700), ("text", 0o600)] {
            fs::write(tree.join(name), "").unwrap();
            open_up(&tree.join(name), shut).unwrap();
        }
        open_up(&tree, 0o700).unwrap();
        open_to_all(&tree).unwrap();
        assert_eq!(mode(&tree), 0o755);
        assert_eq!(mode(&tree.join("program")), 0o755);
        assert_eq!(mode(&tree.join("text")), 0o644);
    }

    #[test]
    fn names_that_makefiles_split_are_refused() {
        check_name(Path::new("/var/cache/octavo-1.2")).unwrap();
        let error = check_name(Path::new("/home/a b/octavo")).unwrap_err();
        assert!(error.to_string().contains("/home/a b/octavo"), "{error}");
    }
}
