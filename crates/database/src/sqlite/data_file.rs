//! The database file: read past the page cache, written through it.
//!
//! SQLite writes pages to their places in a checkpoint, or in a commit with a rollback
//! journal, and then asks for one flush. Through the page cache the kernel has gathered
//! them until then: it joins neighbours and has many requests under way. The same writes
//! past it are a request each, one after the other, which costs the more the smaller the
//! pages are, and which nobody's SQLite pays. So pages leave as they do elsewhere, and the
//! kernel forgets them when they have been flushed. Reads are requests to the device all
//! the same: before a direct read the kernel writes what it holds of that range (open(2),
//! section `O_DIRECT`), and takes nothing from memory.
//!
//! A page smaller than the file system's block is written past the page cache after all:
//! the kernel would first read the block around it, which where SQLite runs alone is in
//! memory mostly, since the page was read through it a moment ago.

use std::{
    fs::{File, OpenOptions},
    io,
    os::unix::fs::FileExt,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use rustix::fs::fstatvfs;

use super::{
    OsCache,
    direct_file::DirectFile,
    tally::{FileKind, Tally},
};
use crate::{files, resident};

/// See the module.
pub(crate) struct DataFile {
    direct: DirectFile,
    /// None without direct I/O: then all goes through the page cache.
    cached: Option<Cached>,
    tally: Arc<Tally>,
}

/// The same file, through the page cache.
struct Cached {
    file: File,
    /// The file system's block in bytes.
    block: u64,
    /// Whether the page cache may have pages that were not flushed.
    holds: AtomicBool,
}

impl DataFile {
    /// Opens an existing file for reading and writing.
    pub(crate) fn open(path: &Path, os_cache: OsCache, tally: Arc<Tally>) -> io::Result<Self> {
        let direct = DirectFile::open(path, os_cache, FileKind::Data, Arc::clone(&tally))?;
        let cached = if direct.is_direct() {
            let file = OpenOptions::new().read(true).write(true).open(path)?;
            let block = fstatvfs(&file)?.f_bsize.max(1);
            Some(Cached {
                file,
                block,
                holds: AtomicBool::new(false),
            })
        } else {
            None
        };
        Ok(Self {
            direct,
            cached,
            tally,
        })
    }

    /// Whether reads pass by the page cache.
    pub(crate) fn is_direct(&self) -> bool {
        self.direct.is_direct()
    }

    /// The share of the file that the page cache holds, 0 to 1.
    pub(crate) fn resident(&self) -> io::Result<f64> {
        resident::share(self.direct.file())
    }

    /// See [`DirectFile::offset_align`].
    pub(crate) fn offset_align(&self) -> u64 {
        self.direct.offset_align()
    }

    /// The file's length in bytes.
    pub(crate) fn size(&self) -> io::Result<u64> {
        self.direct.size()
    }

    /// Cuts or extends the file to `size` bytes.
    pub(crate) fn set_size(&self, size: u64) -> io::Result<()> {
        self.direct.set_size(size)
    }

    /// Reads at `offset`; fewer bytes than asked for only at the end of the file.
    pub(crate) fn read(&self, target: &mut [u8], offset: u64) -> io::Result<usize> {
        self.direct.read(target, offset)
    }

    /// Writes all of `source` at `offset`.
    pub(crate) fn write(&self, source: &[u8], offset: u64) -> io::Result<()> {
        let whole = |block| (offset | source.len() as u64).is_multiple_of(block);
        let Some(cached) = self.cached.as_ref().filter(|cached| whole(cached.block)) else {
            return self.direct.write(source, offset);
        };
        self.direct.refuse_poisoned()?;
        cached.holds.store(true, Ordering::Relaxed);
        let write = || {
            cached
                .file
                .write_all_at(source, offset)
                .map(|()| source.len())
        };
        self.tally.data.writes.measure(write).map(|_| ())
    }

    /// Flushes data, and the metadata needed to find it, to stable storage. After a failure
    /// this and every write fail.
    pub(crate) fn sync(&self) -> io::Result<()> {
        // What another thread writes from here on may not be in the flush.
        let cached = self.cached.as_ref();
        let cached = cached.filter(|cached| cached.holds.swap(false, Ordering::Relaxed));
        // What is flushed is the file, whoever wrote it.
        self.direct.sync()?;
        if let Some(cached) = cached {
            files::forget(&cached.file);
        }
        Ok(())
    }

    /// Waits until the kernel has written what it still has of this file, without a flush.
    pub(crate) fn write_back(&self) -> io::Result<()> {
        match &self.cached {
            None => self.direct.write_back(),
            Some(cached) if cached.holds.load(Ordering::Relaxed) => files::write_back(&cached.file),
            Some(_) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::resident::resident_pages;

    /// Of a file on a storage that can have direct I/O; `None` elsewhere.
    fn open(path: &Path, tally: &Arc<Tally>) -> Option<DataFile> {
        let file = DataFile::open(path, OsCache::None, Arc::clone(tally)).unwrap();
        file.is_direct().then_some(file)
    }

    #[test]
    fn pages_wait_in_the_page_cache_for_the_flush() {
        let directory = crate::scratch::directory();
        let path = directory.path().join("data");
        fs::write(&path, vec![7; 1 << 20]).unwrap();
        files::flush_and_forget(&path).unwrap();
        let tally: Arc<Tally> = Arc::default();
        let Some(file) = open(&path, &tally) else {
            return;
        };
        for number in [3, 4, 200u8] {
            file.write(&[number; 4096], u64::from(number) * 4096)
                .unwrap();
        }
        assert!(resident_pages(&path) > 0);
        // A read of one that waits is of what was written.
        let mut page = [0; 4096];
        file.read(&mut page, 200 * 4096).unwrap();
        assert_eq!(page, [200; 4096]);
        file.sync().unwrap();
        assert_eq!(resident_pages(&path), 0);
        let counters = tally.counters();
        assert_eq!(
            (counters.data_writes, counters.reads, counters.syncs),
            (3, 1, 1)
        );
        assert_eq!(counters.data_written_bytes.get(), 3 * 4096);
        let content = fs::read(&path).unwrap();
        assert!(content[3 * 4096..4 * 4096].iter().all(|&byte| byte == 3));
        assert!(content[5 * 4096..6 * 4096].iter().all(|&byte| byte == 7));
    }
}
