//! The file system as the kernel sees it: FUSE's requests to operations on
//! names and files.
//!
//! Nobody but the kernel changes what is mounted, so it may remember names,
//! attributes and content for as long as it likes. Locks are the kernel's own.

use std::{
    collections::HashMap,
    ffi::OsStr,
    io,
    path::Path,
    sync::{
        Arc, Mutex, RwLock,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use fuser::{
    BsdFileFlags, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation,
    INodeNo, InitFlags, KernelConfig, LockOwner, OpenFlags, RenameFlags, ReplyAttr, ReplyCreate,
    ReplyData, ReplyDirectory, ReplyDirectoryPlus, ReplyEmpty, ReplyEntry, ReplyOpen, ReplyStatfs,
    ReplyWrite, ReplyXattr, Request, TimeOrNow, WriteFlags,
};
use octavo_device::power::Draw;
use octavo_storage::location::{EMULATED_COUNTERS, EmulatedReading};
use rustix::fs::{self, AtFlags, FallocateFlags, Stat, Timespec, Timestamps};

use crate::{
    files::{Files, Handling, errno},
    lead, lock,
    names::{DirectoryEntry, Names, Owner, ROOT},
};

/// The value of a result; an error is the answer.
macro_rules! or_error {
    ($reply:ident, $result:expr) => {
        match $result {
            Ok(value) => value,
            Err(errno) => return $reply.error(errno),
        }
    };
}

/// The mounted file system.
pub(crate) struct EmulatedFiles {
    files: Arc<Files>,
    names: Names,
    /// What the device draws, for those who ask.
    draw: Option<Draw>,
    /// Entries of open directories, as they were when reading began.
    directories: RwLock<HashMap<u64, Mutex<Vec<DirectoryEntry>>>>,
    directories_opened: AtomicU64,
}

/// For how long the kernel may remember: nothing changes without it.
const FOREVER: Duration = Duration::from_secs(1 << 31);

/// Bytes of a request at most: what the kernel allows without further settings
/// (256 memory pages; fs.fuse.max_pages_limit).
const REQUEST_BYTES_MAX: u32 = 1 << 20;

/// Asynchronous requests in flight. The kernel holds the others back.
const BACKGROUND_MAX: u16 = 1024;

impl EmulatedFiles {
    pub(crate) fn new(files: Arc<Files>, names: Names, draw: Option<Draw>) -> Self {
        Self {
            files,
            names,
            draw,
            directories: RwLock::default(),
            directories_opened: AtomicU64::new(0),
        }
    }

    fn attributes(&self, stat: &Stat) -> FileAttr {
        let kind = file_type(fs::FileType::from_raw_mode(stat.st_mode));
        FileAttr {
            ino: INodeNo(stat.st_ino),
            size: stat.st_size as u64,
            blocks: if kind == FileType::RegularFile {
                self.files.allocated_bytes(stat.st_ino) / 512
            } else {
                stat.st_blocks as u64
            },
            atime: time(stat.st_atime, stat.st_atime_nsec),
            mtime: time(stat.st_mtime, stat.st_mtime_nsec),
            ctime: time(stat.st_ctime, stat.st_ctime_nsec),
            crtime: UNIX_EPOCH,
            kind,
            perm: (stat.st_mode & 0o7777) as u16,
            nlink: stat.st_nlink as u32,
            uid: stat.st_uid,
            gid: stat.st_gid,
            rdev: stat.st_rdev as u32,
            blksize: 4096,
            flags: 0,
        }
    }

    /// Carries out an operation on names, unless the power is off.
    fn named<T>(&self, operation: impl FnOnce(&Names) -> io::Result<T>) -> Result<T, Errno> {
        self.files
            .check_power()
            .and_then(|()| operation(&self.names))
            .map_err(errno)
    }

    fn reply_entry(&self, result: Result<Stat, Errno>, reply: ReplyEntry) {
        let stat = or_error!(reply, result);
        reply.entry(&FOREVER, &self.attributes(&stat), Generation(0));
    }

    fn attributes_of(&self, node: INodeNo) -> Result<FileAttr, Errno> {
        let stat = self.named(|names| names.stat(node.0))?;
        let mut attributes = self.attributes(&stat);
        attributes.ino = node;
        Ok(attributes)
    }

    /// The entries of an open directory from `offset` on, with the offset of
    /// each one's successor.
    fn entries(
        &self,
        node: INodeNo,
        handle: FileHandle,
        offset: u64,
    ) -> Result<Vec<(u64, DirectoryEntry)>, Errno> {
        let directories = lock::read(&self.directories);
        let mut entries = lock::lock(directories.get(&handle.0).ok_or(Errno::EBADF)?);
        if offset == 0 {
            *entries = self.named(|names| names.entries(node.0))?;
        }
        Ok((1..)
            .zip(entries.iter())
            .skip(usize::try_from(offset).unwrap_or(usize::MAX))
            .map(|(next, entry)| (next, entry.clone()))
            .collect())
    }

    fn resize(&self, node: u64, handle: Option<FileHandle>, size: u64) -> io::Result<()> {
        self.files.check_power()?;
        match handle {
            Some(handle) => self.files.resize_open(handle.0, size),
            None => self
                .files
                .resize(node, &self.names.content(node, true)?, size),
        }
    }
}

impl Filesystem for EmulatedFiles {
    fn init(&mut self, _: &Request, config: &mut KernelConfig) -> io::Result<()> {
        for capability in [
            // Databases' asynchronous direct I/O stays so.
            InitFlags::FUSE_ASYNC_DIO,
            // Writes go to the page cache as on any file system; without it
            // each buffered write would be a request.
            InitFlags::FUSE_WRITEBACK_CACHE,
            InitFlags::FUSE_PARALLEL_DIROPS,
            InitFlags::FUSE_DO_READDIRPLUS,
            InitFlags::FUSE_READDIRPLUS_AUTO,
            InitFlags::FUSE_CACHE_SYMLINKS,
            InitFlags::FUSE_DIRECT_IO_ALLOW_MMAP,
            InitFlags::FUSE_EXPLICIT_INVAL_DATA,
            // Otherwise each write asks for an extended attribute first.
            InitFlags::FUSE_HANDLE_KILLPRIV_V2,
        ] {
            // An older kernel does without: slower, or a file that is open with
            // O_DIRECT cannot be mapped.
            let _unsupported = config.add_capabilities(capability);
        }
        // Both are below what fuser refuses.
        let _previous = config.set_max_write(REQUEST_BYTES_MAX);
        let _previous = config.set_max_background(BACKGROUND_MAX);
        let _previous = config.set_congestion_threshold(BACKGROUND_MAX);
        Ok(())
    }

    fn lookup(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let result = self.named(|names| names.look_up(parent.0, name));
        self.reply_entry(result, reply);
    }

    fn forget(&self, _: &Request, node: INodeNo, lookups: u64) {
        if self.names.forget(node.0, lookups) {
            self.files.gone(node.0);
        }
    }

    fn getattr(&self, _: &Request, node: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        let attributes = or_error!(reply, self.attributes_of(node));
        reply.attr(&FOREVER, &attributes);
    }

    fn setattr(
        &self,
        _: &Request,
        node: INodeNo,
        mode: Option<u32>,
        uid: Option<u32>,
        gid: Option<u32>,
        size: Option<u64>,
        accessed: Option<TimeOrNow>,
        modified: Option<TimeOrNow>,
        _changed: Option<SystemTime>,
        handle: Option<FileHandle>,
        _created: Option<SystemTime>,
        _change_time: Option<SystemTime>,
        _backup: Option<SystemTime>,
        _flags: Option<BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        let resized = size.map_or(Ok(()), |size| self.resize(node.0, handle, size));
        or_error!(reply, resized.map_err(errno));
        let changed = self.named(|names| {
            if uid.is_some() || gid.is_some() {
                names.set_owner(node.0, uid, gid)?;
            }
            if let Some(mode) = mode {
                names.set_mode(node.0, mode)?;
            }
            if accessed.is_some() || modified.is_some() {
                let times = Timestamps {
                    last_access: timespec(accessed),
                    last_modification: timespec(modified),
                };
                names.set_times(node.0, &times)?;
            }
            Ok(())
        });
        or_error!(reply, changed);
        let attributes = or_error!(reply, self.attributes_of(node));
        reply.attr(&FOREVER, &attributes);
    }

    fn readlink(&self, _: &Request, node: INodeNo, reply: ReplyData) {
        let target = or_error!(reply, self.named(|names| names.target(node.0)));
        reply.data(&target);
    }

    fn mknod(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        _umask: u32,
        _device: u32,
        reply: ReplyEntry,
    ) {
        let result = self.named(|names| names.make_node(owner(request), parent.0, name, mode));
        self.reply_entry(result, reply);
    }

    fn mkdir(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        _umask: u32,
        reply: ReplyEntry,
    ) {
        let result = self.named(|names| names.make_directory(owner(request), parent.0, name, mode));
        self.reply_entry(result, reply);
    }

    fn symlink(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        target: &Path,
        reply: ReplyEntry,
    ) {
        let result =
            self.named(|names| names.make_symbolic_link(owner(request), parent.0, name, target));
        self.reply_entry(result, reply);
    }

    fn link(&self, _: &Request, node: INodeNo, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let result = self.named(|names| names.link(node.0, parent.0, name));
        self.reply_entry(result, reply);
    }

    fn unlink(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        done(
            self.named(|names| names.unlink(parent.0, name, AtFlags::empty())),
            reply,
        );
    }

    fn rmdir(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        done(
            self.named(|names| names.unlink(parent.0, name, AtFlags::REMOVEDIR)),
            reply,
        );
    }

    fn rename(
        &self,
        _: &Request,
        parent: INodeNo,
        name: &OsStr,
        new_parent: INodeNo,
        new_name: &OsStr,
        flags: RenameFlags,
        reply: ReplyEmpty,
    ) {
        let flags = fs::RenameFlags::from_bits_retain(flags.bits());
        let (from, to) = ((parent.0, name), (new_parent.0, new_name));
        done(self.named(|names| names.rename(from, to, flags)), reply);
    }

    fn open(&self, _: &Request, node: INodeNo, flags: OpenFlags, reply: ReplyOpen) {
        let write = flags.0 & libc::O_ACCMODE != libc::O_RDONLY;
        let opened = self.named(|names| {
            self.files.check_ready(Handling::Device)?;
            // To write part of a memory page the kernel reads the rest, whatever
            // the file was opened for. What was opened for reading may have to
            // take writes that others left in the cache.
            names.content(node.0, true).or_else(|error| {
                if write {
                    return Err(error);
                }
                names.content(node.0, false)
            })
        });
        let file = or_error!(reply, opened);
        let handle = self.files.open(node.0, file, Handling::Device);
        reply.opened(FileHandle(handle), how(flags.0));
    }

    fn create(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        _umask: u32,
        flags: i32,
        reply: ReplyCreate,
    ) {
        let handling = if parent.0 == ROOT && name == lead::PROBE {
            Handling::Probe
        } else {
            Handling::Device
        };
        let made = self.named(|names| {
            self.files.check_ready(handling)?;
            names.make_file(owner(request), parent.0, name, mode)
        });
        let (stat, file) = or_error!(reply, made);
        let handle = FileHandle(self.files.open(stat.st_ino, file, handling));
        let attributes = self.attributes(&stat);
        reply.created(&FOREVER, &attributes, Generation(0), handle, how(flags));
    }

    fn read(
        &self,
        _: &Request,
        _node: INodeNo,
        handle: FileHandle,
        offset: u64,
        size: u32,
        _flags: OpenFlags,
        _lock_owner: Option<LockOwner>,
        reply: ReplyData,
    ) {
        self.files.read(handle.0, offset, size, reply);
    }

    fn write(
        &self,
        _: &Request,
        node: INodeNo,
        handle: FileHandle,
        offset: u64,
        data: &[u8],
        write_flags: WriteFlags,
        _flags: OpenFlags,
        _lock_owner: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        if write_flags.contains(WriteFlags::FUSE_WRITE_KILL_SUIDGID)
            && let Err(errno) = self.named(|names| names.drop_privileges(node.0))
        {
            return reply.error(errno);
        }
        self.files.write(handle.0, offset, data, reply);
    }

    fn flush(&self, _: &Request, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        // Closing does nothing here; this has the kernel not ask again.
        reply.error(Errno::ENOSYS);
    }

    fn release(
        &self,
        _: &Request,
        _node: INodeNo,
        handle: FileHandle,
        _flags: OpenFlags,
        _lock_owner: Option<LockOwner>,
        _flush: bool,
        reply: ReplyEmpty,
    ) {
        self.files.close(handle.0);
        reply.ok();
    }

    fn fsync(
        &self,
        _: &Request,
        _node: INodeNo,
        handle: FileHandle,
        data_only: bool,
        reply: ReplyEmpty,
    ) {
        self.files.sync(handle.0, data_only, reply);
    }

    fn opendir(&self, _: &Request, _: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        let handle = self.directories_opened.fetch_add(1, Ordering::Relaxed);
        lock::write(&self.directories).insert(handle, Mutex::default());
        reply.opened(FileHandle(handle), FopenFlags::empty());
    }

    fn readdir(
        &self,
        _: &Request,
        node: INodeNo,
        handle: FileHandle,
        offset: u64,
        mut reply: ReplyDirectory,
    ) {
        for (next, entry) in or_error!(reply, self.entries(node, handle, offset)) {
            let kind = file_type(entry.kind);
            if reply.add(INodeNo(entry.node), next, kind, &entry.name) {
                break;
            }
        }
        reply.ok();
    }

    fn readdirplus(
        &self,
        _: &Request,
        node: INodeNo,
        handle: FileHandle,
        offset: u64,
        mut reply: ReplyDirectoryPlus,
    ) {
        for (next, entry) in or_error!(reply, self.entries(node, handle, offset)) {
            let own = entry.name == "." || entry.name == "..";
            // The kernel takes each entry for a lookup, save these two.
            let stat = if own {
                self.names.stat(node.0)
            } else {
                self.names.look_up(node.0, &entry.name)
            };
            // It went away since the directory was read.
            let Ok(stat) = stat else { continue };
            let attributes = self.attributes(&stat);
            let full = reply.add(
                attributes.ino,
                next,
                &entry.name,
                &FOREVER,
                &attributes,
                Generation(0),
            );
            if full {
                if !own && self.names.forget(stat.st_ino, 1) {
                    self.files.gone(stat.st_ino);
                }
                break;
            }
        }
        reply.ok();
    }

    fn releasedir(
        &self,
        _: &Request,
        _node: INodeNo,
        handle: FileHandle,
        _flags: OpenFlags,
        reply: ReplyEmpty,
    ) {
        lock::write(&self.directories).remove(&handle.0);
        reply.ok();
    }

    fn fsyncdir(&self, _: &Request, node: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        self.files
            .sync_names(|| self.names.sync_directory(node.0), reply);
    }

    fn statfs(&self, _: &Request, _: INodeNo, reply: ReplyStatfs) {
        const BLOCK: u32 = 4096;
        let blocks = |bytes: u64| bytes / u64::from(BLOCK);
        let space = &self.files.space;
        let free = blocks(space.free_bytes());
        // Files are not limited; some programs take 0 for none.
        let files = 1 << 32;
        reply.statfs(
            blocks(space.total_bytes()),
            free,
            free,
            files,
            files,
            BLOCK,
            255,
            BLOCK,
        );
    }

    fn getxattr(&self, _: &Request, node: INodeNo, name: &OsStr, size: u32, reply: ReplyXattr) {
        // What the device tells of itself is all there is. ENOSYS would have
        // the kernel never ask again, of that neither.
        if node != INodeNo::ROOT || name != EMULATED_COUNTERS {
            return reply.error(Errno::ENODATA);
        }
        let reading = EmulatedReading {
            elapsed_ns: self.files.pacer.now().get(),
            counters: self.files.pacer.counters(),
            draw: self.draw,
        };
        let Ok(text) = toml::to_string(&reading) else {
            return reply.error(Errno::EIO);
        };
        if size == 0 {
            reply.size(text.len() as u32);
        } else if text.len() > size as usize {
            reply.error(Errno::ERANGE);
        } else {
            reply.data(text.as_bytes());
        }
    }

    fn fallocate(
        &self,
        _: &Request,
        _node: INodeNo,
        handle: FileHandle,
        offset: u64,
        length: u64,
        mode: i32,
        reply: ReplyEmpty,
    ) {
        let flags = FallocateFlags::from_bits_retain(mode as u32);
        done(self.files.allocate(handle.0, offset, length, flags), reply);
    }
}

/// How a file is open. Without O_DIRECT it is cached, across opens, and can be
/// mapped; with it requests pass the cache by, and writes that do not extend
/// the file go side by side.
fn how(flags: i32) -> FopenFlags {
    if flags & libc::O_DIRECT != 0 {
        FopenFlags::FOPEN_DIRECT_IO | FopenFlags::FOPEN_PARALLEL_DIRECT_WRITES
    } else {
        FopenFlags::FOPEN_KEEP_CACHE
    }
}

fn done(result: Result<(), Errno>, reply: ReplyEmpty) {
    match result {
        Ok(()) => reply.ok(),
        Err(errno) => reply.error(errno),
    }
}

fn owner(request: &Request) -> Owner {
    Owner {
        uid: request.uid(),
        gid: request.gid(),
    }
}

fn file_type(kind: fs::FileType) -> FileType {
    match kind {
        fs::FileType::Directory => FileType::Directory,
        fs::FileType::Symlink => FileType::Symlink,
        fs::FileType::Fifo => FileType::NamedPipe,
        fs::FileType::Socket => FileType::Socket,
        fs::FileType::CharacterDevice => FileType::CharDevice,
        fs::FileType::BlockDevice => FileType::BlockDevice,
        _ => FileType::RegularFile,
    }
}

fn time(seconds: i64, nanoseconds: u64) -> SystemTime {
    let whole = Duration::from_secs(seconds.unsigned_abs());
    let time = if seconds < 0 {
        UNIX_EPOCH - whole
    } else {
        UNIX_EPOCH + whole
    };
    time + Duration::from_nanos(nanoseconds)
}

fn timespec(time: Option<TimeOrNow>) -> Timespec {
    match time {
        None => Timespec {
            tv_sec: 0,
            tv_nsec: fs::UTIME_OMIT,
        },
        Some(TimeOrNow::Now) => Timespec {
            tv_sec: 0,
            tv_nsec: fs::UTIME_NOW,
        },
        Some(TimeOrNow::SpecificTime(time)) => match time.duration_since(UNIX_EPOCH) {
            Ok(after) => Timespec {
                tv_sec: after.as_secs() as i64,
                tv_nsec: i64::from(after.subsec_nanos()),
            },
            // Before 1970, to the second.
            Err(before) => Timespec {
                tv_sec: -(before.duration().as_secs() as i64),
                tv_nsec: 0,
            },
        },
    }
}

const _: () = assert!(ROOT == INodeNo::ROOT.0);
