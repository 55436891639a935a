//! The name space: every operation on names and attributes is done to the
//! backing directory at once.
//!
//! A node is called by its inode number in the backing file system, the root
//! by 1. As long as the kernel remembers a node, a descriptor of it is held, so
//! that the number is not given to another file.

use std::{
    collections::HashMap,
    ffi::{OsStr, OsString},
    fs::{File, OpenOptions},
    io,
    os::{
        fd::{AsRawFd, OwnedFd},
        unix::ffi::OsStrExt,
    },
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard},
};

use rustix::fs::{self, AtFlags, FileType, Gid, Mode, OFlags, Stat, Timestamps, Uid};

use crate::lock::lock;

/// The number of the root, by FUSE's protocol.
pub(crate) const ROOT: u64 = 1;

/// Who asks, and becomes the owner of what is made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Owner {
    pub(crate) uid: u32,
    pub(crate) gid: u32,
}

/// An entry of a directory.
#[derive(Clone, Debug)]
pub(crate) struct DirectoryEntry {
    pub(crate) node: u64,
    pub(crate) kind: FileType,
    pub(crate) name: OsString,
}

/// The nodes that the kernel remembers.
pub(crate) struct Names {
    root: Arc<OwnedFd>,
    device: u64,
    table: Mutex<HashMap<u64, Node>>,
}

struct Node {
    fd: Arc<OwnedFd>,
    lookups: u64,
}

const HANDLE: OFlags = OFlags::PATH.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

impl Names {
    /// The names below this directory.
    pub(crate) fn open(root: &Path) -> io::Result<Self> {
        let root = fs::open(
            root,
            OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC,
            Mode::empty(),
        )?;
        let device = fs::fstat(&root)?.st_dev;
        Ok(Self {
            root: Arc::new(root),
            device,
            table: Mutex::default(),
        })
    }

    /// The descriptor of a node. It only names the file.
    pub(crate) fn node(&self, number: u64) -> io::Result<Arc<OwnedFd>> {
        if number == ROOT {
            return Ok(Arc::clone(&self.root));
        }
        self.table()
            .get(&number)
            .map(|node| Arc::clone(&node.fd))
            .ok_or_else(|| io::Error::from_raw_os_error(libc::ESTALE))
    }

    /// Looks a name up, which the kernel then remembers once more.
    pub(crate) fn look_up(&self, parent: u64, name: &OsStr) -> io::Result<Stat> {
        let parent = self.node(parent)?;
        let fd = fs::openat(&*parent, name, HANDLE, Mode::empty())?;
        let stat = fs::fstat(&fd)?;
        if stat.st_dev != self.device {
            // Another file system is mounted there; its numbers may be ours.
            return Err(io::Error::from_raw_os_error(libc::EXDEV));
        }
        self.table()
            .entry(stat.st_ino)
            .or_insert_with(|| Node {
                fd: Arc::new(fd),
                lookups: 0,
            })
            .lookups += 1;
        Ok(stat)
    }

    /// The kernel remembers a node that many times less. Tells whether the node
    /// is gone for good: forgotten, and without a name.
    pub(crate) fn forget(&self, number: u64, lookups: u64) -> bool {
        let mut table = self.table();
        let Some(node) = table.get_mut(&number) else {
            return false;
        };
        node.lookups = node.lookups.saturating_sub(lookups);
        if node.lookups > 0 {
            return false;
        }
        let node = table.remove(&number).expect("it was just found");
        fs::fstat(&*node.fd).is_ok_and(|stat| stat.st_nlink == 0)
    }

    pub(crate) fn stat(&self, number: u64) -> io::Result<Stat> {
        Ok(fs::fstat(&*self.node(number)?)?)
    }

    /// Opens a file's content.
    pub(crate) fn content(&self, number: u64, write: bool) -> io::Result<File> {
        OpenOptions::new()
            .read(true)
            .write(write)
            .open(path(&*self.node(number)?))
    }

    pub(crate) fn entries(&self, number: u64) -> io::Result<Vec<DirectoryEntry>> {
        fs::Dir::new(self.directory(number)?)?
            .map(|entry| {
                let entry = entry?;
                Ok(DirectoryEntry {
                    node: entry.ino(),
                    kind: entry.file_type(),
                    name: OsStr::from_bytes(entry.file_name().to_bytes()).to_owned(),
                })
            })
            .collect()
    }

    /// Makes a file and opens it.
    pub(crate) fn make_file(
        &self,
        owner: Owner,
        parent: u64,
        name: &OsStr,
        mode: u32,
    ) -> io::Result<(Stat, File)> {
        let directory = self.node(parent)?;
        let fd = fs::openat(
            &*directory,
            name,
            OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC,
            Mode::from_raw_mode(0o600),
        )?;
        let file = File::from(fd);
        self.own(owner, parent, name, mode)?;
        Ok((self.look_up(parent, name)?, file))
    }

    /// Makes a pipe, a socket or an empty file.
    pub(crate) fn make_node(
        &self,
        owner: Owner,
        parent: u64,
        name: &OsStr,
        mode: u32,
    ) -> io::Result<Stat> {
        let kind = FileType::from_raw_mode(mode);
        if matches!(kind, FileType::BlockDevice | FileType::CharacterDevice) {
            return Err(io::Error::from_raw_os_error(libc::EPERM));
        }
        let directory = self.node(parent)?;
        fs::mknodat(&*directory, name, kind, Mode::from_raw_mode(0o600), 0)?;
        self.own(owner, parent, name, mode)?;
        self.look_up(parent, name)
    }

    pub(crate) fn make_directory(
        &self,
        owner: Owner,
        parent: u64,
        name: &OsStr,
        mode: u32,
    ) -> io::Result<Stat> {
        let directory = self.node(parent)?;
        fs::mkdirat(&*directory, name, Mode::from_raw_mode(0o700))?;
        // Directories hand their group and this bit on (inode(7)).
        let inherited = fs::fstat(&*directory)?.st_mode & libc::S_ISGID;
        self.own(owner, parent, name, mode | inherited)?;
        self.look_up(parent, name)
    }

    pub(crate) fn make_symbolic_link(
        &self,
        owner: Owner,
        parent: u64,
        name: &OsStr,
        target: &Path,
    ) -> io::Result<Stat> {
        let directory = self.node(parent)?;
        fs::symlinkat(target, &*directory, name)?;
        self.give_to(owner, parent, name)?;
        self.look_up(parent, name)
    }

    pub(crate) fn link(&self, number: u64, parent: u64, name: &OsStr) -> io::Result<Stat> {
        let (node, directory) = (self.node(number)?, self.node(parent)?);
        fs::linkat(
            fs::CWD,
            path(&node),
            &*directory,
            name,
            AtFlags::SYMLINK_FOLLOW,
        )?;
        self.look_up(parent, name)
    }

    pub(crate) fn unlink(&self, parent: u64, name: &OsStr, flags: AtFlags) -> io::Result<()> {
        Ok(fs::unlinkat(&*self.node(parent)?, name, flags)?)
    }

    pub(crate) fn rename(
        &self,
        from: (u64, &OsStr),
        to: (u64, &OsStr),
        flags: fs::RenameFlags,
    ) -> io::Result<()> {
        let (old, new) = (self.node(from.0)?, self.node(to.0)?);
        Ok(fs::renameat_with(&*old, from.1, &*new, to.1, flags)?)
    }

    pub(crate) fn target(&self, number: u64) -> io::Result<Vec<u8>> {
        Ok(fs::readlinkat(&*self.node(number)?, "", Vec::new())?.into_bytes())
    }

    pub(crate) fn set_mode(&self, number: u64, mode: u32) -> io::Result<()> {
        let node = self.node(number)?;
        Ok(fs::chmod(path(&node), Mode::from_raw_mode(mode & 0o7777))?)
    }

    /// Takes the right away to run as the file's owner or group, as a write
    /// does.
    pub(crate) fn drop_privileges(&self, number: u64) -> io::Result<()> {
        let mode = self.stat(number)?.st_mode;
        let group_runs = mode & libc::S_IXGRP != 0;
        let gone = libc::S_ISUID | if group_runs { libc::S_ISGID } else { 0 };
        if mode & gone == 0 {
            return Ok(());
        }
        self.set_mode(number, mode & !gone)
    }

    pub(crate) fn set_owner(
        &self,
        number: u64,
        uid: Option<u32>,
        gid: Option<u32>,
    ) -> io::Result<()> {
        let node = self.node(number)?;
        let (uid, gid) = (uid.map(Uid::from_raw), gid.map(Gid::from_raw));
        Ok(fs::chownat(&*node, "", uid, gid, AtFlags::EMPTY_PATH)?)
    }

    pub(crate) fn set_times(&self, number: u64, times: &Timestamps) -> io::Result<()> {
        let node = self.node(number)?;
        Ok(fs::utimensat(
            fs::CWD,
            path(&node),
            times,
            AtFlags::empty(),
        )?)
    }

    /// Makes what the directory says durable.
    pub(crate) fn sync_directory(&self, number: u64) -> io::Result<()> {
        Ok(fs::fsync(self.directory(number)?)?)
    }

    /// Opens a directory's content.
    fn directory(&self, number: u64) -> io::Result<OwnedFd> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let node = self.node(number)?;
        Ok(fs::openat(&*node, ".", flags, Mode::empty())?)
    }

    /// Gives what was just made its owner, then its mode, which giving it away
    /// takes bits from.
    fn own(&self, owner: Owner, parent: u64, name: &OsStr, mode: u32) -> io::Result<()> {
        self.give_to(owner, parent, name)?;
        let directory = self.node(parent)?;
        let mode = Mode::from_raw_mode(mode & 0o7777);
        Ok(fs::chmodat(&*directory, name, mode, AtFlags::empty())?)
    }

    fn give_to(&self, owner: Owner, parent: u64, name: &OsStr) -> io::Result<()> {
        let directory = self.node(parent)?;
        let parent = fs::fstat(&*directory)?;
        let gid = if parent.st_mode & libc::S_ISGID != 0 {
            parent.st_gid
        } else {
            owner.gid
        };
        let made = fs::statat(&*directory, name, AtFlags::SYMLINK_NOFOLLOW)?;
        if (made.st_uid, made.st_gid) == (owner.uid, gid) {
            return Ok(());
        }
        let given = fs::chownat(
            &*directory,
            name,
            Some(Uid::from_raw(owner.uid)),
            Some(Gid::from_raw(gid)),
            AtFlags::SYMLINK_NOFOLLOW,
        );
        if let Err(error) = given {
            // Nothing is left that its maker could not use.
            for flags in [AtFlags::empty(), AtFlags::REMOVEDIR] {
                let _other_kind = fs::unlinkat(&*directory, name, flags);
            }
            return Err(error.into());
        }
        Ok(())
    }

    fn table(&self) -> MutexGuard<'_, HashMap<u64, Node>> {
        lock(&self.table)
    }
}

/// A path to what a descriptor names, whatever became of its name.
fn path(fd: &OwnedFd) -> PathBuf {
    format!("/proc/self/fd/{}", fd.as_raw_fd()).into()
}
