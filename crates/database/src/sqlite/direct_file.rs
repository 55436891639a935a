//! A file read and written past the page cache, at any offset.
//!
//! Direct I/O wants offsets, lengths and memory aligned (open(2), section
//! O_DIRECT). Pages at least as large as the device's block fit without more;
//! anything else goes through an aligned bounce buffer, and a write of part of
//! a block reads the block first.
//!
//! Where the file system has no direct I/O, or the page cache is to hold the file, the
//! same calls go through the page cache with an alignment of one byte, and
//! [`DirectFile::is_direct`] says so.

use std::{
    cell::RefCell,
    fs::{File, OpenOptions},
    io,
    os::unix::fs::{FileExt, OpenOptionsExt},
    path::Path,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use octavo_storage::{aligned::AlignedBuffer, direct::DirectIo};

use super::{
    OsCache,
    tally::{FileKind, FileTally, Tally},
};
use crate::files::{self, refuses_direct};

/// Offsets are rounded to this when the kernel does not tell (statx
/// `STATX_DIOALIGN` came with Linux 6.1): the largest logical block that disks
/// have.
const OFFSET_ALIGN_UNKNOWN: u64 = 4096;

/// See the module.
pub(crate) struct DirectFile {
    file: File,
    /// What offsets and lengths must be multiples of; a power of two.
    offset_align: u64,
    /// What memory must be aligned to; a power of two.
    memory_align: usize,
    direct: bool,
    /// Set by a failed flush: what is on the storage is then unknown, and a
    /// later flush that succeeds would hide it.
    poisoned: AtomicBool,
    /// Held while part of a block is read, changed and written back.
    patching: Mutex<()>,
    kind: FileKind,
    tally: Arc<Tally>,
}

impl DirectFile {
    /// Opens an existing file for reading and writing.
    pub(crate) fn open(
        path: &Path,
        os_cache: OsCache,
        kind: FileKind,
        tally: Arc<Tally>,
    ) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options.read(true).write(true);
        let through_cache = || Ok(Self::cached(options.open(path)?, kind, Arc::clone(&tally)));
        if os_cache == OsCache::Whole {
            return through_cache();
        }
        let (how, file) = match options.clone().custom_flags(libc::O_DIRECT).open(path) {
            Ok(file) => (DirectIo::of_file(&file), file),
            Err(error) if refuses_direct(&error) => return through_cache(),
            Err(error) => return Err(error),
        };
        let (offset_align, memory_align) = match how {
            DirectIo::Aligned { offset, memory } => (u64::from(offset), memory as usize),
            DirectIo::Untold => (OFFSET_ALIGN_UNKNOWN, AlignedBuffer::ALIGNMENT),
            DirectIo::Cached | DirectIo::Memory => return through_cache(),
        };
        Ok(Self {
            offset_align,
            memory_align,
            direct: true,
            ..Self::cached(file, kind, tally)
        })
    }

    /// The open file.
    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    /// Through the page cache, at any offset.
    fn cached(file: File, kind: FileKind, tally: Arc<Tally>) -> Self {
        Self {
            file,
            offset_align: 1,
            memory_align: 1,
            direct: false,
            poisoned: AtomicBool::new(false),
            patching: Mutex::new(()),
            kind,
            tally,
        }
    }

    /// Waits until the kernel has written what it still has of this file, without a flush.
    pub(crate) fn write_back(&self) -> io::Result<()> {
        files::write_back(&self.file)
    }

    /// Asks for coarser offsets than the file needs, to test what a device
    /// with larger blocks would do.
    ///
    /// # Panics
    /// When `offset_align` is no power of two or finer than the file's.
    #[cfg(test)]
    pub(crate) fn with_offset_align(mut self, offset_align: u64) -> Self {
        assert!(offset_align.is_power_of_two() && offset_align >= self.offset_align);
        self.offset_align = offset_align;
        self
    }

    /// Whether the page cache is kept out.
    pub(crate) fn is_direct(&self) -> bool {
        self.direct
    }

    /// What offsets and lengths of requests are multiples of, in bytes; 1
    /// through the page cache.
    pub(crate) fn offset_align(&self) -> u64 {
        self.offset_align
    }

    /// The file's length in bytes.
    pub(crate) fn size(&self) -> io::Result<u64> {
        // Of all that std's metadata asks for, SQLite wants this at the start
        // of every transaction.
        Ok(rustix::fs::fstat(&self.file)?.st_size as u64)
    }

    /// Cuts or extends the file to `size` bytes.
    pub(crate) fn set_size(&self, size: u64) -> io::Result<()> {
        self.file.set_len(size)
    }

    /// Flushes data, and the metadata needed to find it, to stable storage.
    /// After a failure this and every write fail.
    pub(crate) fn sync(&self) -> io::Result<()> {
        self.refuse_poisoned()?;
        let result = self
            .tally()
            .syncs
            .measure(|| self.file.sync_data().map(|()| 0));
        if result.is_err() {
            self.poison();
        }
        result.map(|_| ())
    }

    /// Makes every later write and flush fail.
    pub(crate) fn poison(&self) {
        self.poisoned.store(true, Ordering::Relaxed);
    }

    /// Fails after [`Self::poison`].
    pub(crate) fn refuse_poisoned(&self) -> io::Result<()> {
        if self.poisoned.load(Ordering::Relaxed) {
            Err(io::Error::other(
                "an earlier flush of this file failed, so its content is unknown; \
                 restore it and start again",
            ))
        } else {
            Ok(())
        }
    }

    /// Reads at `offset`; fewer bytes than asked for only at the end of the
    /// file.
    pub(crate) fn read(&self, target: &mut [u8], offset: u64) -> io::Result<usize> {
        if self.fits(target.as_ptr(), target.len(), offset) {
            return self.read_aligned(target, offset);
        }
        let start = self.round_down(offset);
        let skipped = (offset - start) as usize;
        let end = (offset + target.len() as u64).next_multiple_of(self.offset_align);
        with_bounce((end - start) as usize, |bounce| {
            let read = self.read_aligned(bounce, start)?;
            let usable = read.saturating_sub(skipped).min(target.len());
            target[..usable].copy_from_slice(&bounce[skipped..skipped + usable]);
            Ok(usable)
        })
    }

    /// Writes all of `source` at `offset`.
    pub(crate) fn write(&self, source: &[u8], offset: u64) -> io::Result<()> {
        self.refuse_poisoned()?;
        if self.fits(source.as_ptr(), source.len(), offset) {
            return self.write_aligned(source, offset);
        }
        let start = self.round_down(offset);
        let skipped = (offset - start) as usize;
        let end = offset + source.len() as u64;
        let padded_end = end.next_multiple_of(self.offset_align);
        let length = (padded_end - start) as usize;
        if skipped == 0 && padded_end == end {
            return with_bounce(length, |bounce| {
                bounce.copy_from_slice(source);
                self.write_aligned(bounce, start)
            });
        }
        let _alone = self.patching.lock().unwrap_or_else(PoisonError::into_inner);
        with_bounce(length, |bounce| {
            let present = self.read_aligned(bounce, start)?;
            bounce[present..].fill(0);
            bounce[skipped..skipped + source.len()].copy_from_slice(source);
            self.write_aligned(bounce, start)?;
            // The padding must not show in the file's length.
            let size = end.max(start + present as u64);
            if size < padded_end {
                self.set_size(size)?;
            }
            Ok(())
        })
    }

    fn tally(&self) -> &FileTally {
        self.tally.file(self.kind)
    }

    /// Whether a request can be made without the bounce buffer.
    fn fits(&self, memory: *const u8, length: usize, offset: u64) -> bool {
        memory.addr().is_multiple_of(self.memory_align)
            && offset.is_multiple_of(self.offset_align)
            && (length as u64).is_multiple_of(self.offset_align)
    }

    fn round_down(&self, offset: u64) -> u64 {
        offset & !(self.offset_align - 1)
    }

    fn read_aligned(&self, target: &mut [u8], offset: u64) -> io::Result<usize> {
        self.tally().reads.measure(|| {
            let mut done = 0;
            while done < target.len() {
                match self.file.read_at(&mut target[done..], offset + done as u64) {
                    Ok(0) => break,
                    Ok(read) => {
                        done += read;
                        // The file ends inside a block: the rest of the
                        // request would start unaligned.
                        if !(done as u64).is_multiple_of(self.offset_align) {
                            break;
                        }
                    }
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(error) => return Err(error),
                }
            }
            Ok(done)
        })
    }

    fn write_aligned(&self, source: &[u8], offset: u64) -> io::Result<()> {
        self.tally()
            .writes
            .measure(|| {
                self.file
                    .write_all_at(source, offset)
                    .map(|()| source.len())
            })
            .map(|_| ())
    }
}

thread_local! {
    static BOUNCE: RefCell<AlignedBuffer> = RefCell::new(AlignedBuffer::new(128 * 1024));
}

/// Lends the thread's bounce buffer, at least `length` bytes of it, so that
/// an I/O allocates nothing. Its content is whatever was there before.
fn with_bounce<R>(length: usize, work: impl FnOnce(&mut [u8]) -> R) -> R {
    // The buffer is gone when a connection is closed by another thread-local
    // destructor, and taken when the caller holds it: both are rare enough to
    // allocate then.
    let mut work = Some(work);
    let lent = BOUNCE.try_with(|bounce| {
        let mut bounce = bounce.try_borrow_mut().ok()?;
        if bounce.len() < length {
            *bounce = AlignedBuffer::new(length);
        }
        work.take().map(|work| work(&mut bounce[..length]))
    });
    match (lent, work) {
        (Ok(Some(result)), _) => result,
        (_, Some(work)) => work(&mut AlignedBuffer::new(length)[..length]),
        (_, None) => unreachable!("the work ran, so there is a result"),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn any_offset_reads_back_what_was_written(
            align in prop::sample::select(vec![512u64, 4096]),
            writes in prop::collection::vec((0usize..40_000, 1usize..9000, any::<bool>()), 1..30),
        ) {
            let directory = crate::scratch::directory();
            let path = directory.path().join("data");
            fs::write(&path, b"").unwrap();
            let tally = Arc::<Tally>::default();
            let file = DirectFile::open(&path, OsCache::None, FileKind::Data, Arc::clone(&tally)).unwrap();
            let align = align.max(file.offset_align());
            let file = file.with_offset_align(align);
            let mut model: Vec<u8> = Vec::new();
            for (number, (mut offset, mut length, aligned)) in writes.into_iter().enumerate() {
                if aligned {
                    offset -= offset % align as usize;
                    length = length.next_multiple_of(align as usize);
                }
                let source = vec![number as u8 + 1; length];
                file.write(&source, offset as u64).unwrap();
                if model.len() < offset + length {
                    model.resize(offset + length, 0);
                }
                model[offset..offset + length].copy_from_slice(&source);
                prop_assert_eq!(file.size().unwrap(), model.len() as u64);

                let mut target = vec![0xEE; length + 700];
                let from = offset.saturating_sub(300);
                let read = file.read(&mut target, from as u64).unwrap();
                prop_assert_eq!(read, target.len().min(model.len() - from));
                prop_assert_eq!(&target[..read], &model[from..from + read]);
            }
            file.sync().unwrap();
            prop_assert_eq!(fs::read(&path).unwrap(), model);
            let counters = tally.counters();
            prop_assert_eq!(counters.syncs, 1);
            prop_assert!(counters.data_writes > 0 && counters.log_writes == 0);
        }
    }

    #[test]
    fn a_poisoned_file_refuses_to_write() {
        let directory = crate::scratch::directory();
        let path = directory.path().join("data");
        fs::write(&path, [7; 4096]).unwrap();
        let file = DirectFile::open(&path, OsCache::None, FileKind::Data, Arc::default()).unwrap();
        file.poison();
        assert!(file.write(&[8; 4096], 0).is_err());
        assert!(file.sync().is_err());
        assert_eq!(fs::read(&path).unwrap(), [7; 4096]);
    }
}
