//! Data directories as a whole: copied for a run, dropped from the page cache,
//! sized and removed.

use std::{
    collections::BTreeSet,
    ffi::OsString,
    fs::{self, File, Metadata, OpenOptions, Permissions},
    io::{self, Read, Write},
    os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt},
    path::Path,
};

use octavo_units::ByteCount;

use super::account::Account;
use crate::{
    RestoreMethod, Result,
    files::{self, named},
};

/// Files of this size and above are copied past the page cache, each flushed
/// by itself. Smaller ones are flushed together, since a flush costs more than
/// their bytes.
const LARGE_BYTES: u64 = 1 << 20;

/// Makes the directory `run` equal to `snapshot`, durable and out of the page
/// cache: what is in `run` alone is removed, what is there already is
/// overwritten in place. Modes are kept, and everything belongs to `account`.
///
/// Sockets and pipes are passed over: a server makes them anew. Symbolic links
/// are refused, since what they lead to would be shared by all runs.
pub(crate) fn restore(
    snapshot: &Path,
    run: &Path,
    account: Option<&Account>,
) -> Result<RestoreMethod> {
    let mut copier = Copier {
        account,
        buffer: vec![0; LARGE_BYTES as usize],
        shared: 0,
        copied: 0,
    };
    let about = fs::metadata(snapshot).map_err(named("examine", snapshot))?;
    copier.copy_directory(snapshot, run, &about)?;
    // One flush for all small files, names, owners and modes.
    sync(run)?;
    forget(run)?;
    forget(snapshot)?;
    Ok(if copier.shared > 0 && copier.copied == 0 {
        RestoreMethod::Reflink
    } else {
        RestoreMethod::Copy
    })
}

/// Drops every file of a tree from the page cache, as far as it is durable.
pub(crate) fn forget(path: &Path) -> Result<()> {
    each_file(path, &mut |path, _| {
        files::forget(&File::open(path).map_err(named("open", path))?);
        Ok(())
    })
}

/// Flushes the file system that a path is on.
pub(crate) fn sync(path: &Path) -> Result<()> {
    let opened = File::open(path).map_err(named("open", path))?;
    rustix::fs::syncfs(opened).map_err(|error| named("flush", path)(error.into()))
}

/// The bytes of all files of a tree.
pub(crate) fn size(path: &Path) -> Result<ByteCount> {
    let mut bytes = 0u64;
    each_file(path, &mut |_, about| {
        bytes = bytes.saturating_add(about.len());
        Ok(())
    })?;
    Ok(ByteCount::new(bytes))
}

/// Removes a file or directory with all that is in it, if it is there. Links
/// are removed themselves and not followed.
pub(crate) fn remove_all(path: &Path) -> Result<()> {
    let removed = match fs::symlink_metadata(path) {
        Ok(about) if about.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) => Err(error),
    };
    match removed {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(named("remove", path)(error)),
        _ => Ok(()),
    }
}

/// Calls `visit` with every regular file of a tree.
pub(super) fn each_file(
    path: &Path,
    visit: &mut dyn FnMut(&Path, &Metadata) -> Result<()>,
) -> Result<()> {
    for entry in fs::read_dir(path).map_err(named("list", path))? {
        let entry = entry.map_err(named("list", path))?;
        let path = entry.path();
        // Of the entry itself: links are not followed.
        let about = match entry.metadata() {
            // A server that runs removes some of its files.
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            about => about.map_err(named("examine", &path))?,
        };
        if about.is_dir() {
            each_file(&path, visit)?;
        } else if about.is_file() {
            visit(&path, &about)?;
        }
    }
    Ok(())
}

struct Copier<'a> {
    account: Option<&'a Account>,
    buffer: Vec<u8>,
    /// Large files whose extents are shared with the snapshot.
    shared: u64,
    /// Files whose bytes were copied.
    copied: u64,
}

impl Copier<'_> {
    fn copy_directory(&mut self, snapshot: &Path, run: &Path, about: &Metadata) -> Result<()> {
        match existing(run)? {
            Some(there) if there.is_dir() => {}
            there => {
                if there.is_some() {
                    remove_all(run)?;
                }
                fs::DirBuilder::new()
                    .mode(0o700)
                    .create(run)
                    .map_err(named("create", run))?;
            }
        }
        self.adorn(run, about)?;
        let mut names = BTreeSet::new();
        for entry in fs::read_dir(snapshot).map_err(named("list", snapshot))? {
            let entry = entry.map_err(named("list", snapshot))?;
            let (from, to) = (entry.path(), run.join(entry.file_name()));
            let about = entry.metadata().map_err(named("examine", &from))?;
            if about.is_dir() {
                self.copy_directory(&from, &to, &about)?;
            } else if about.is_file() {
                self.copy_file(&from, &to, &about)?;
            } else if about.is_symlink() {
                return Err(named("copy", &from)(io::Error::other(
                    "it is a symbolic link, and runs would share what it leads to: keep all \
                     files of the database in its directory",
                )));
            } else {
                continue;
            }
            names.insert(entry.file_name());
        }
        remove_others(run, &names)
    }

    fn copy_file(&mut self, from: &Path, to: &Path, about: &Metadata) -> Result<()> {
        if existing(to)?.is_some_and(|there| !there.is_file()) {
            remove_all(to)?;
        }
        if about.len() >= LARGE_BYTES {
            match files::copy(from, to)? {
                RestoreMethod::Reflink => self.shared += 1,
                RestoreMethod::Copy => self.copied += 1,
            }
        } else {
            self.copy_small(from, to).map_err(named("copy to", to))?;
        }
        self.adorn(to, about)
    }

    fn copy_small(&mut self, from: &Path, to: &Path) -> io::Result<()> {
        let mut source = File::open(from)?;
        let mut target = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(to)?;
        let mut size = 0u64;
        loop {
            match source.read(&mut self.buffer) {
                Ok(0) => break,
                Ok(read) => {
                    target.write_all(&self.buffer[..read])?;
                    size += read as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        if target.metadata()?.len() != size {
            target.set_len(size)?;
        }
        Ok(())
    }

    /// Gives a copy its owner and its mode.
    fn adorn(&self, path: &Path, snapshot: &Metadata) -> Result<()> {
        let about = fs::symlink_metadata(path).map_err(named("examine", path))?;
        if let Some(account) = self.account {
            account.own_one(path, &about)?;
        }
        let mode = snapshot.mode() & 0o7777;
        if about.mode() & 0o7777 != mode {
            fs::set_permissions(path, Permissions::from_mode(mode))
                .map_err(named("set the mode of", path))?;
        }
        Ok(())
    }
}

/// The metadata of a path, links not followed; `None` for a path without a file.
fn existing(path: &Path) -> Result<Option<Metadata>> {
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        about => about.map(Some).map_err(named("examine", path)),
    }
}

/// Removes what a directory has besides these names.
fn remove_others(directory: &Path, names: &BTreeSet<OsString>) -> Result<()> {
    for entry in fs::read_dir(directory).map_err(named("list", directory))? {
        let entry = entry.map_err(named("list", directory))?;
        if !names.contains(&entry.file_name()) {
            remove_all(&entry.path())?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::{
        os::unix::{fs::symlink, net::UnixListener},
        time::Instant,
    };

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o7777
    }

    #[test]
    fn a_restore_replaces_older_files_by_those_of_the_snapshot() {
        let scratch = crate::scratch::directory();
        let (snapshot, run) = (scratch.path().join("snapshot"), scratch.path().join("run"));
        fs::create_dir_all(snapshot.join("below/empty")).unwrap();
        let large: Vec<u8> = (0..3_000_017u32).map(|i| (i / 7) as u8).collect();
        fs::write(snapshot.join("below/large"), &large).unwrap();
        fs::write(snapshot.join("small"), b"abc").unwrap();
        fs::write(snapshot.join("none"), b"").unwrap();
        fs::set_permissions(snapshot.join("small"), Permissions::from_mode(0o600)).unwrap();
        fs::set_permissions(&snapshot, Permissions::from_mode(0o700)).unwrap();
        let _socket = UnixListener::bind(snapshot.join("socket")).ok();

        for round in 0..3 {
            restore(&snapshot, &run, None).unwrap();
            assert!(
                fs::read(run.join("below/large")).unwrap() == large,
                "{round}"
            );
            assert_eq!(fs::read(run.join("small")).unwrap(), b"abc", "{round}");
            assert_eq!(fs::read(run.join("none")).unwrap(), b"", "{round}");
            assert!(run.join("below/empty").is_dir());
            assert_eq!((mode(&run), mode(&run.join("small"))), (0o700, 0o600));
            assert_eq!(fs::read_dir(&run).unwrap().count(), 3, "{round}");
            assert_eq!(size(&run).unwrap().get(), 3_000_020);
            // What a run leaves behind: longer, shorter, other, more files.
            fs::write(run.join("small"), b"longer than it was").unwrap();
            fs::write(run.join("below/large"), b"cut").unwrap();
            fs::remove_file(run.join("none")).unwrap();
            fs::create_dir_all(run.join("none/deep")).unwrap();
            fs::remove_dir(run.join("below/empty")).unwrap();
            symlink("small", run.join("below/empty")).unwrap();
            fs::write(run.join("pid"), b"7").unwrap();
            fs::create_dir(run.join("more")).unwrap();
            fs::write(run.join("more/file"), b"8").unwrap();
        }
        remove_all(&run).unwrap();
        remove_all(&run).unwrap();
        assert!(!run.exists());
    }

    #[test]
    fn a_link_is_refused_by_name() {
        let scratch = crate::scratch::directory();
        let (snapshot, run) = (scratch.path().join("snapshot"), scratch.path().join("run"));
        fs::create_dir(&snapshot).unwrap();
        symlink("/tmp", snapshot.join("pg_wal")).unwrap();
        let error = restore(&snapshot, &run, None).unwrap_err().to_string();
        assert!(error.contains("pg_wal"), "{error}");
        let absent = restore(&scratch.path().join("absent"), &run, None).unwrap_err();
        assert!(absent.to_string().contains("absent"), "{absent}");
    }

    #[test]
    fn a_copy_belongs_to_the_account() {
        let Some(account) = Account::of_servers().unwrap() else {
            eprintln!("skipped: only root gives files away");
            return;
        };
        let scratch = crate::scratch::directory();
        let (snapshot, run) = (scratch.path().join("snapshot"), scratch.path().join("run"));
        fs::create_dir_all(snapshot.join("below")).unwrap();
        fs::write(snapshot.join("below/file"), b"abc").unwrap();
        fs::write(snapshot.join("large"), vec![1; 2 << 20]).unwrap();
        restore(&snapshot, &run, Some(&account)).unwrap();
        for name in ["", "below", "below/file", "large"] {
            let about = fs::metadata(run.join(name)).unwrap();
            assert_eq!(
                (about.uid(), about.gid()),
                (account.uid, account.gid),
                "{name}"
            );
        }
    }

    #[test]
    fn a_thousand_small_files_are_restored_soon() {
        let scratch = crate::scratch::directory();
        let (snapshot, run) = (scratch.path().join("snapshot"), scratch.path().join("run"));
        fs::create_dir(&snapshot).unwrap();
        for number in 0..1000 {
            fs::write(
                snapshot.join(number.to_string()),
                vec![number as u8; 24 << 10],
            )
            .unwrap();
        }
        fs::write(snapshot.join("log"), vec![7; 16 << 20]).unwrap();
        for _ in 0..3 {
            let since = Instant::now();
            restore(&snapshot, &run, None).unwrap();
            eprintln!("restored in {:?}", since.elapsed());
        }
        assert_eq!(size(&run).unwrap(), size(&snapshot).unwrap());
    }
}
