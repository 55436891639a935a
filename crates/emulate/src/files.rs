//! What files hold: reading, writing and syncing it at the device's pace.

use std::{
    collections::HashMap,
    fs::File,
    io,
    os::{
        fd::AsRawFd,
        unix::fs::{FileExt, MetadataExt},
    },
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, RwLock,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use fuser::{Errno, ReplyData, ReplyEmpty, ReplyWrite};
use octavo_device::{Command, Request};
use octavo_units::Seed;
use rustix::fs::FallocateFlags;

use crate::{
    answer::{Answer, Buffer},
    extents::{Full, Layout, Space},
    faults::{Fate, Faults, Requests},
    lock::{self, lock},
    pacer::{Pacer, Ticket},
    undo::{CutWrites, UndoLog},
};

/// All files and the device that they lie on.
pub(crate) struct Files {
    pub(crate) pacer: Pacer,
    pub(crate) space: Space,
    contents: RwLock<HashMap<u64, Arc<Content>>>,
    opened: RwLock<HashMap<u64, Arc<OpenFile>>>,
    opened_ever: AtomicU64,
    sync_backing: bool,
    /// Whether files can be opened yet: not while the lead is measured.
    ready: AtomicBool,
    faults: Faults,
    requests: Requests,
    seed: Seed,
    /// Shared by threads that change files; exclusive to a power cut.
    power: RwLock<()>,
    off: AtomicBool,
    /// Bytes in all undo logs.
    undo_bytes: AtomicU64,
    writes: AtomicU64,
}

/// Bytes kept for a power cut. Beyond it, a file's older writes count as
/// durable: caches write back by themselves.
const UNDO_BYTES_MAX: u64 = 1 << 30;

/// What belongs to a file as long as it exists.
#[derive(Default)]
struct Content {
    layout: Mutex<Layout>,
    undo: Mutex<UndoLog>,
}

/// An open file.
pub(crate) struct OpenFile {
    file: Arc<File>,
    node: u64,
    content: Arc<Content>,
    handling: Handling,
}

/// Whether requests of an open file are the device's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Handling {
    /// They are.
    Device,
    /// They lie nowhere on it and meet no faults: the lead is measured with
    /// them.
    Probe,
}

impl Files {
    pub(crate) fn new(
        pacer: Pacer,
        space: Space,
        sync_backing: bool,
        faults: Faults,
        seed: Seed,
    ) -> Self {
        Self {
            pacer,
            space,
            contents: RwLock::default(),
            opened: RwLock::default(),
            opened_ever: AtomicU64::new(0),
            sync_backing,
            ready: AtomicBool::new(false),
            faults,
            requests: Requests::default(),
            seed,
            power: RwLock::new(()),
            off: AtomicBool::new(false),
            undo_bytes: AtomicU64::new(0),
            writes: AtomicU64::new(0),
        }
    }

    /// Gives the files that are there already their extents, in the order of
    /// their names.
    pub(crate) fn adopt(&self, directory: &Path) -> io::Result<()> {
        let mut entries: Vec<_> = directory.read_dir()?.collect::<Result<_, _>>()?;
        entries.sort_by_key(std::fs::DirEntry::file_name);
        for entry in entries {
            let data = entry.metadata()?;
            if data.is_dir() {
                self.adopt(&entry.path())?;
            } else if data.is_file() {
                lock(&self.content(data.ino()).layout)
                    .allocate(&self.space, 0, data.len())
                    .map_err(|Full| io::Error::from(io::ErrorKind::StorageFull))?;
            }
        }
        Ok(())
    }

    /// The open files below a directory, by their paths in it. One that was removed is not
    /// among them.
    pub(crate) fn open_paths(&self, directory: &Path) -> Vec<PathBuf> {
        let opened = lock::read(&self.opened);
        let Ok(directory) = directory.canonicalize() else {
            return Vec::new();
        };
        let path = |opened: &Arc<OpenFile>| {
            if opened.file.metadata().ok()?.nlink() == 0 {
                return None;
            }
            let link = format!("/proc/self/fd/{}", opened.file.as_raw_fd());
            let path = std::fs::read_link(link).ok()?;
            Some(path.strip_prefix(&directory).ok()?.to_owned())
        };
        let mut paths: Vec<PathBuf> = opened.values().filter_map(path).collect();
        paths.sort();
        paths.dedup();
        paths
    }

    /// Whether the power is on.
    ///
    /// # Errors
    /// EIO when it is not.
    pub(crate) fn check_power(&self) -> io::Result<()> {
        if self.off.load(Ordering::SeqCst) {
            return Err(io::Error::from_raw_os_error(libc::EIO));
        }
        Ok(())
    }

    pub(crate) fn is_off(&self) -> bool {
        self.off.load(Ordering::SeqCst)
    }

    /// Lets files be opened.
    pub(crate) fn make_ready(&self) {
        self.ready.store(true, Ordering::SeqCst);
    }

    /// Whether files can be opened.
    ///
    /// # Errors
    /// EBUSY for others than the lead's own while that is measured.
    pub(crate) fn check_ready(&self, handling: Handling) -> io::Result<()> {
        if handling == Handling::Device && !self.ready.load(Ordering::SeqCst) {
            return Err(io::Error::from_raw_os_error(libc::EBUSY));
        }
        Ok(())
    }

    pub(crate) fn open(&self, node: u64, file: File, handling: Handling) -> u64 {
        let handle = self.opened_ever.fetch_add(1, Ordering::Relaxed) + 1;
        let opened = OpenFile {
            file: Arc::new(file),
            node,
            content: self.content(node),
            handling,
        };
        lock::write(&self.opened).insert(handle, Arc::new(opened));
        handle
    }

    pub(crate) fn close(&self, handle: u64) {
        lock::write(&self.opened).remove(&handle);
    }

    fn opened(&self, handle: u64) -> Result<Arc<OpenFile>, Errno> {
        lock::read(&self.opened)
            .get(&handle)
            .map(Arc::clone)
            .ok_or(Errno::EBADF)
    }

    fn content(&self, node: u64) -> Arc<Content> {
        let known = lock::read(&self.contents);
        if let Some(content) = known.get(&node) {
            return Arc::clone(content);
        }
        drop(known);
        let mut known = lock::write(&self.contents);
        Arc::clone(known.entry(node).or_default())
    }

    /// Bytes that the file has on the device.
    pub(crate) fn allocated_bytes(&self, node: u64) -> u64 {
        let known = lock::read(&self.contents);
        known.get(&node).map_or(0, |content| {
            lock(&content.layout).allocated_bytes(&self.space)
        })
    }

    /// The file is gone: its extents are free, and trimmed.
    pub(crate) fn gone(&self, node: u64) {
        let content = lock::write(&self.contents).remove(&node);
        if let Some(content) = content {
            let trimmed = lock(&content.layout).shrink(&self.space, 0);
            self.trim(trimmed);
            let freed = lock(&content.undo).forget_before(u64::MAX);
            self.undo_bytes.fetch_sub(freed, Ordering::Relaxed);
        }
    }

    pub(crate) fn read(&self, handle: u64, offset: u64, length: u32, reply: ReplyData) {
        let begun = self.begin(handle, Command::Read, offset, u64::from(length));
        self.serve(begun, reply, Answer::Data, |opened| {
            Buffer::read(&opened.file, offset, length as usize)
        });
    }

    pub(crate) fn write(&self, handle: u64, offset: u64, data: &[u8], reply: ReplyWrite) {
        let length = data.len() as u64;
        let begun = self.begin(handle, Command::Write, offset, length);
        self.serve(begun, reply, Answer::Written, |opened| {
            let write = || opened.file.write_all_at(data, offset);
            match opened.handling {
                Handling::Probe => write(),
                Handling::Device => {
                    self.change(&opened.content, &opened.file, offset, length, write)
                }
            }
            .map(|()| data.len() as u32)
        });
    }

    /// Makes what was written to the file durable.
    pub(crate) fn sync(&self, handle: u64, data_only: bool, reply: ReplyEmpty) {
        let begun = self.begin(handle, Command::Flush, 0, 0);
        self.serve(begun, reply, Answer::Done, |opened| {
            let next = lock(&opened.content.undo).next();
            match (self.sync_backing, data_only) {
                (false, _) => {}
                (true, true) => opened.file.sync_data()?,
                (true, false) => opened.file.sync_all()?,
            }
            if !self.faults.lie {
                let freed = lock(&opened.content.undo).forget_before(next);
                self.undo_bytes.fetch_sub(freed, Ordering::Relaxed);
            }
            Ok(())
        });
    }

    /// Makes names durable, which `sync` does for the backing storage.
    pub(crate) fn sync_names(&self, sync: impl FnOnce() -> io::Result<()>, reply: ReplyEmpty) {
        let arrived = self.pacer.now();
        let begun = self.check_power().map_err(errno).and_then(|()| {
            let flush = [Request::FLUSH];
            let begun = self.pacer.begin(arrived, Command::Flush, 0, &flush);
            Ok((begun.map_err(|_| Errno::EIO)?, ()))
        });
        self.serve(begun, reply, Answer::Done, |()| {
            if self.sync_backing { sync() } else { Ok(()) }
        });
    }

    /// Does the work of a request that was begun, and has what comes of it
    /// answered at the model's moment.
    fn serve<T, R, F>(
        &self,
        begun: Result<(Ticket, F), Errno>,
        reply: R,
        answer: fn(R, Result<T, Errno>) -> Answer,
        work: impl FnOnce(F) -> io::Result<T>,
    ) {
        match begun {
            Ok((ticket, of)) => {
                let result = work(of).map_err(errno);
                self.pacer.end(ticket, answer(reply, result));
            }
            Err(errno) => answer(reply, Err(errno)).send(false),
        }
    }

    pub(crate) fn resize(&self, node: u64, file: &File, size: u64) -> io::Result<()> {
        let content = self.content(node);
        let _power = lock::read(&self.power);
        self.check_power()?;
        let mut undo = lock(&content.undo);
        file.set_len(size)?;
        let freed = undo.resized(size);
        drop(undo);
        self.undo_bytes.fetch_sub(freed, Ordering::Relaxed);
        let trimmed = lock(&content.layout).shrink(&self.space, size);
        self.trim(trimmed);
        Ok(())
    }

    /// Sets the size of an open file.
    pub(crate) fn resize_open(&self, handle: u64, size: u64) -> io::Result<()> {
        let opened = self
            .opened(handle)
            .map_err(|_| io::Error::from_raw_os_error(libc::EBADF))?;
        self.resize(opened.node, &opened.file, size)
    }

    pub(crate) fn allocate(
        &self,
        handle: u64,
        offset: u64,
        length: u64,
        flags: FallocateFlags,
    ) -> Result<(), Errno> {
        let opened = self.opened(handle)?;
        let content = &opened.content;
        let _power = lock::read(&self.power);
        self.check_power().map_err(errno)?;
        let fallocate = || Ok(rustix::fs::fallocate(&*opened.file, flags, offset, length)?);
        if flags.contains(FallocateFlags::PUNCH_HOLE) {
            self.keep_and(content, &opened.file, offset, length, fallocate)
                .map_err(errno)?;
            let trimmed = lock(&content.layout).punch(&self.space, offset, length);
            self.trim(trimmed);
            return Ok(());
        }
        if !FallocateFlags::KEEP_SIZE.contains(flags) {
            return Err(Errno::EOPNOTSUPP);
        }
        lock(&content.layout)
            .allocate(&self.space, offset, length)
            .map_err(|Full| Errno::ENOSPC)?;
        let mut undo = lock(&content.undo);
        fallocate().map_err(errno)?;
        if undo.first().is_some() {
            // It can only have grown, which frees nothing.
            undo.resized(opened.file.metadata().map_err(errno)?.len());
        }
        Ok(())
    }

    /// Cuts the power: from now on everything fails, and the backing directory
    /// holds what a disk would.
    ///
    /// # Errors
    /// The backing storage failed.
    pub(crate) fn cut_power(&self) -> io::Result<CutWrites> {
        let mut sum = CutWrites::default();
        if self.off.swap(true, Ordering::SeqCst) {
            return Ok(sum);
        }
        self.pacer.die();
        let _alone = lock::write(&self.power);
        let contents = lock::read(&self.contents);
        let mut logs: Vec<UndoLog> = contents
            .values()
            .map(|content| std::mem::take(&mut *lock(&content.undo)))
            .filter(|log| log.first().is_some())
            .collect();
        // In the order of their first writes, so that a seed replays.
        logs.sort_by_key(UndoLog::first);
        let mut generator = self.seed.derive("power cut", 0).generator();
        for log in logs {
            let outcome = log.cut(self.faults.lose(), self.faults.tear(), &mut generator)?;
            sum.kept += outcome.kept;
            sum.lost += outcome.lost;
            sum.torn += outcome.torn;
        }
        Ok(sum)
    }

    /// Gives the device the request for these bytes of an open file.
    fn begin(
        &self,
        handle: u64,
        command: Command,
        offset: u64,
        length: u64,
    ) -> Result<(Ticket, Arc<OpenFile>), Errno> {
        let arrived = self.pacer.now();
        self.check_power().map_err(errno)?;
        let opened = self.opened(handle)?;
        let requests = match opened.handling {
            Handling::Probe => vec![Request::read(0, 512)],
            Handling::Device => {
                match self.requests.meet(&self.faults, command) {
                    Fate::Done => {}
                    Fate::Error => return Err(Errno::EIO),
                    Fate::Cut => {
                        // A backing store that fails as well leaves as little.
                        let _cut = self.cut_power();
                        return Err(Errno::EIO);
                    }
                }
                self.extents(&opened, command, offset, length)?
            }
        };
        let ticket = self
            .pacer
            .begin(arrived, command, length, &requests)
            .map_err(|_| Errno::EIO)?;
        Ok((ticket, opened))
    }

    /// What the bytes of an open file are on the device; writes get room there.
    fn extents(
        &self,
        opened: &OpenFile,
        command: Command,
        offset: u64,
        length: u64,
    ) -> Result<Vec<Request>, Errno> {
        if command == Command::Flush {
            return Ok(vec![Request::FLUSH]);
        }
        let mut layout = lock(&opened.content.layout);
        if command == Command::Write {
            layout
                .allocate(&self.space, offset, length)
                .map_err(|Full| Errno::ENOSPC)?;
        }
        Ok(layout.requests(&self.space, command, offset, length))
    }

    /// Changes a file's bytes, keeping those that were there where a power cut
    /// may need them.
    fn change(
        &self,
        content: &Content,
        file: &Arc<File>,
        offset: u64,
        length: u64,
        change: impl FnOnce() -> io::Result<()>,
    ) -> io::Result<()> {
        if !self.faults.forgets() {
            return change();
        }
        let _power = lock::read(&self.power);
        self.check_power()?;
        self.keep_and(content, file, offset, length, change)
    }

    /// The same, while the power cannot be cut.
    fn keep_and(
        &self,
        content: &Content,
        file: &Arc<File>,
        offset: u64,
        length: u64,
        change: impl FnOnce() -> io::Result<()>,
    ) -> io::Result<()> {
        if !self.faults.forgets() {
            return change();
        }
        let mut undo = lock(&content.undo);
        let number = self.writes.fetch_add(1, Ordering::Relaxed);
        let kept = undo.note(number, file, offset, length)?;
        let total = self.undo_bytes.fetch_add(kept, Ordering::Relaxed) + kept;
        if total > UNDO_BYTES_MAX {
            let middle = undo.middle();
            let freed = undo.forget_before(middle);
            self.undo_bytes.fetch_sub(freed, Ordering::Relaxed);
        }
        change()
    }

    fn trim(&self, requests: Vec<Request>) {
        for request in requests {
            self.pacer.pass_on(request);
        }
    }
}

pub(crate) fn errno(error: io::Error) -> Errno {
    Errno::from_i32(error.raw_os_error().unwrap_or(libc::EIO))
}
