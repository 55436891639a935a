//! The write-ahead log past the page cache.
//!
//! A frame of SQLite's log is 24 bytes and a page
//! (<https://www.sqlite.org/walformat.html>), so no frame starts at a block's
//! start. Writes are therefore collected in a *window*, an aligned buffer over
//! a contiguous range of the file, and leave it as whole blocks when it is
//! full or when SQLite wants a flush. The last, partial block stays in the
//! window, so that the next append reads nothing. A commit thus rewrites the
//! block in which the one before it ended, as the page cache would; the bytes
//! that were there stay the same, so a torn write of that block cannot harm
//! them.
//!
//! SQLite starts a *generation* of the log by writing its header at offset 0
//! and leaves the frames of the last one behind the new ones, where their salt
//! makes them invalid. `valid_end` is the end of the bytes written in this
//! generation. Behind it nothing needs to be kept: a block that is only partly
//! written is filled up with zeros instead of being read.
//!
//! A checkpoint reads back what was written since the last one. Through the
//! page cache it would find that in memory, where it was put a moment ago;
//! read from the device it would cost one request a page that nobody's SQLite
//! makes. So the current generation is also *retained* in memory, for
//! checkpoints alone: everything else that reads the log, a miss of the
//! buffer, is a request to the device.
//!
//! The window is shared by all connections of the process, so they see each
//! other's frames at once. Another process sees them, and a crash keeps them,
//! only after a flush; Octavo runs SQLite with `synchronous=FULL`, which
//! flushes at every commit.

use std::{
    fs::File,
    io,
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
};

use octavo_storage::aligned::AlignedBuffer;

use super::direct_file::DirectFile;

/// The window's content is written once it has this many bytes. Large enough
/// for a request that any device takes at full speed.
const WINDOW_BYTES: usize = 1 << 20;

/// Blocks of the log are at least this large: the block of the usual file
/// systems, below which ext4 serialises direct writes.
const BLOCK_MIN: u64 = 4096;

/// How much of a generation is retained for checkpoints, in bytes: 1,000
/// pages of 64 KiB, at which SQLite checkpoints by default, and half as much
/// again for the transaction that goes beyond.
const RETAINED_MAX: usize = 96 << 20;

/// What the retained bytes grow by. Far above the size from which the
/// allocator moves memory by remapping it rather than by copying.
const RETAINED_GROWTH: usize = 4 << 20;

/// See the module.
pub(crate) struct LogFile {
    file: DirectFile,
    block: u64,
    window: Mutex<Window>,
    /// The directory, until it was flushed once: the log may be new in it.
    directory: Mutex<Option<PathBuf>>,
}

struct Window {
    buffer: AlignedBuffer,
    /// Where the buffer's first byte belongs; a multiple of the block.
    start: u64,
    /// How many bytes of the buffer hold the file's content.
    length: usize,
    /// Whether some of them are not yet in the file.
    dirty: bool,
    /// The length that SQLite knows; the file itself may be padded.
    size: u64,
    /// The end of what this generation wrote.
    valid_end: u64,
    /// This generation's bytes from the file's start on, as far as they were
    /// written one after the other and fit.
    retained: Vec<u8>,
}

impl Window {
    fn end(&self) -> u64 {
        self.start + self.length as u64
    }

    /// Retains what is written at `offset`, if it continues or changes what
    /// is retained already.
    fn retain(&mut self, source: &[u8], offset: u64) {
        let Some(start) = usize::try_from(offset)
            .ok()
            .filter(|&start| start <= self.retained.len())
        else {
            return;
        };
        let end = start + source.len();
        if end > RETAINED_MAX {
            self.retained.truncate(start);
            return;
        }
        if end > self.retained.capacity() {
            let more = end.next_multiple_of(RETAINED_GROWTH) - self.retained.len();
            self.retained.reserve_exact(more);
        }
        let overlap = source.len().min(self.retained.len() - start);
        self.retained[start..start + overlap].copy_from_slice(&source[..overlap]);
        self.retained.extend_from_slice(&source[overlap..]);
    }

    /// The retained bytes at `offset`, if all are there.
    fn retained(&self, offset: u64, length: usize) -> Option<&[u8]> {
        let start = usize::try_from(offset).ok()?;
        self.retained.get(start..start.checked_add(length)?)
    }
}

impl LogFile {
    /// The log in `file`, which was opened at `path`. All bytes that are there
    /// count as valid.
    pub(crate) fn new(file: DirectFile, path: &Path) -> io::Result<Self> {
        let block = if file.is_direct() {
            file.offset_align().max(BLOCK_MIN)
        } else {
            1
        };
        let size = file.size()?;
        Ok(Self {
            file,
            block,
            window: Mutex::new(Window {
                buffer: AlignedBuffer::new(WINDOW_BYTES),
                start: 0,
                length: 0,
                dirty: false,
                size,
                valid_end: size,
                retained: Vec::new(),
            }),
            directory: Mutex::new(path.parent().map(Path::to_owned)),
        })
    }

    /// The length that was written, without padding, in bytes.
    pub(crate) fn size(&self) -> u64 {
        self.lock().size
    }

    /// Reads at `offset`; fewer bytes than asked for only at the end. A
    /// checkpoint may use what is retained.
    pub(crate) fn read(
        &self,
        target: &mut [u8],
        offset: u64,
        in_checkpoint: bool,
    ) -> io::Result<usize> {
        let window = self.lock();
        let length = window.size.saturating_sub(offset).min(target.len() as u64) as usize;
        let target = &mut target[..length];
        if in_checkpoint && let Some(retained) = window.retained(offset, length) {
            target.copy_from_slice(retained);
            return Ok(length);
        }
        let end = offset + length as u64;
        let from = offset.max(window.start);
        let to = end.min(window.end());
        if from >= to {
            // SQLite never overwrites a frame that a reader may still use, so
            // the bytes do not change while the lock is free.
            drop(window);
            self.read_file(target, offset)?;
        } else {
            if from > offset || to < end {
                self.read_file(target, offset)?;
            }
            let staged =
                &window.buffer[(from - window.start) as usize..(to - window.start) as usize];
            target[(from - offset) as usize..(to - offset) as usize].copy_from_slice(staged);
        }
        Ok(length)
    }

    /// Stages `source` at `offset`. A write at offset 0 starts a generation.
    pub(crate) fn write(&self, mut source: &[u8], mut offset: u64) -> io::Result<()> {
        self.file.refuse_poisoned()?;
        let mut window = self.lock();
        if offset == 0 {
            self.flush(&mut window)?;
            window.start = 0;
            window.length = 0;
            window.valid_end = 0;
            window.retained.clear();
        }
        window.retain(source, offset);
        while !source.is_empty() {
            if offset < window.start || offset > window.end() {
                self.flush(&mut window)?;
                self.move_to(&mut window, offset)?;
            }
            let position = (offset - window.start) as usize;
            let count = source.len().min(window.buffer.len() - position);
            let (now, later) = source.split_at(count);
            window.buffer[position..position + count].copy_from_slice(now);
            window.length = window.length.max(position + count);
            window.dirty = true;
            offset += count as u64;
            window.size = window.size.max(offset);
            window.valid_end = window.valid_end.max(offset);
            source = later;
            if window.length == window.buffer.len() {
                self.flush(&mut window)?;
            }
        }
        Ok(())
    }

    /// Makes everything written so far durable.
    pub(crate) fn sync(&self) -> io::Result<()> {
        self.flush(&mut self.lock())?;
        self.file.sync()?;
        let mut directory = self
            .directory
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(path) = directory.as_deref() {
            File::open(path)?.sync_all()?;
            *directory = None;
        }
        Ok(())
    }

    /// Cuts the log to `size` bytes.
    pub(crate) fn truncate(&self, size: u64) -> io::Result<()> {
        self.file.refuse_poisoned()?;
        let mut window = self.lock();
        self.flush(&mut window)?;
        self.file.set_size(size)?;
        window.start = 0;
        window.length = 0;
        window.size = size;
        window.valid_end = window.valid_end.min(size);
        window
            .retained
            .truncate(usize::try_from(size).unwrap_or(usize::MAX));
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, Window> {
        // No code under the lock panics between two related changes.
        self.window.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Fills `target` from the file; zeros behind its end.
    fn read_file(&self, target: &mut [u8], offset: u64) -> io::Result<()> {
        let read = self.file.read(target, offset)?;
        target[read..].fill(0);
        Ok(())
    }

    /// Puts the clean window over the block of `offset`, with the bytes before
    /// `offset` in it.
    fn move_to(&self, window: &mut Window, offset: u64) -> io::Result<()> {
        assert!(!window.dirty, "staged bytes would be lost");
        window.start = offset & !(self.block - 1);
        let before = (offset - window.start) as usize;
        let valid = window
            .valid_end
            .saturating_sub(window.start)
            .min(self.block) as usize;
        window.length = 0;
        window.buffer[..before].fill(0);
        if valid > 0 {
            let start = window.start;
            self.read_file(&mut window.buffer[..self.block as usize], start)?;
            window.buffer[valid..self.block as usize].fill(0);
        }
        window.length = valid.max(before);
        Ok(())
    }

    /// Writes the window's blocks and keeps the last one if it is partial.
    fn flush(&self, window: &mut Window) -> io::Result<()> {
        if !window.dirty {
            return Ok(());
        }
        let result = self.write_window(window);
        if result.is_err() {
            // SQLite was already told that the staged writes succeeded.
            self.file.poison();
        }
        result
    }

    fn write_window(&self, window: &mut Window) -> io::Result<()> {
        let block = self.block as usize;
        let tail = window.length - window.length % block;
        if tail < window.length && window.valid_end > window.end() {
            // Something in the middle of the log was overwritten: what follows
            // in its last block is still needed.
            let valid = (window.valid_end - window.start) as usize;
            let end = valid.min(tail + block);
            let mut rest = AlignedBuffer::new(block);
            self.read_file(&mut rest[..block], window.start + tail as u64)?;
            let length = window.length;
            window.buffer[length..end].copy_from_slice(&rest[length - tail..end - tail]);
            window.length = end;
        }
        let length = window.length;
        let padded = length.next_multiple_of(block);
        window.buffer[length..padded].fill(0);
        self.file.write(&window.buffer[..padded], window.start)?;
        window.dirty = false;
        let tail = length - length % block;
        window.buffer.copy_within(tail..length, 0);
        window.start += tail as u64;
        window.length = length - tail;
        Ok(())
    }
}

impl Drop for LogFile {
    /// Takes the padding off. Errors are of no use here: the padding is
    /// harmless, and what SQLite needs was flushed.
    fn drop(&mut self) {
        let mut window = self.lock();
        if self.file.refuse_poisoned().is_ok() && self.flush(&mut window).is_ok() {
            let size = window.size;
            if self.file.size().is_ok_and(|padded| padded > size) {
                let _harmless = self.file.set_size(size);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, sync::Arc};

    use proptest::prelude::*;

    use super::*;
    use crate::sqlite::{
        OsCache,
        tally::{FileKind, Tally},
    };

    /// What the log is to do, on a vector.
    #[derive(Default)]
    struct Model {
        bytes: Vec<u8>,
        valid_end: usize,
    }

    impl Model {
        fn write(&mut self, source: &[u8], offset: usize) {
            let end = offset + source.len();
            if offset == 0 {
                self.valid_end = 0;
            }
            if self.bytes.len() < end {
                self.bytes.resize(end, 0);
            }
            self.bytes[offset..end].copy_from_slice(source);
            self.valid_end = self.valid_end.max(end);
        }
    }

    #[derive(Clone, Debug)]
    enum Step {
        Restart(usize),
        Append(usize),
        Overwrite { at: u16, length: usize },
        Read { at: u16, length: usize },
        Truncate(u16),
        Sync,
        Reopen,
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let length =
            prop_oneof![4 => 1usize..600, 3 => 4000usize..9000, 1 => 60_000usize..1_300_000];
        let step = prop_oneof![
            1 => (1usize..5000).prop_map(Step::Restart),
            8 => length.clone().prop_map(Step::Append),
            4 => (any::<u16>(), length.clone()).prop_map(|(at, length)| Step::Overwrite { at, length }),
            6 => (any::<u16>(), length).prop_map(|(at, length)| Step::Read { at, length }),
            1 => any::<u16>().prop_map(Step::Truncate),
            3 => Just(Step::Sync),
            1 => Just(Step::Reopen),
        ];
        prop::collection::vec(step, 1..60)
    }

    fn open(path: &Path) -> LogFile {
        let file = DirectFile::open(path, OsCache::None, FileKind::Log, Arc::default()).unwrap();
        LogFile::new(file, path).unwrap()
    }

    /// Bytes of this generation are equal; later ones are those of an earlier
    /// generation, or zeros.
    fn compare(found: &[u8], offset: usize, model: &Model) {
        for (index, &byte) in found.iter().enumerate() {
            let position = offset + index;
            let wanted = model.bytes[position];
            assert!(
                byte == wanted || (position >= model.valid_end && byte == 0),
                "byte {position} is {byte}, wanted {wanted}, valid to {}",
                model.valid_end
            );
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(96))]
        #[test]
        fn the_log_is_what_was_written(steps in steps()) {
            let directory = crate::scratch::directory();
            let path = directory.path().join("log");
            fs::write(&path, b"").unwrap();
            let mut log = Some(open(&path));
            let mut model = Model::default();
            let mut fill = 0u8;
            let mut content = |length: usize| {
                fill = fill.wrapping_mul(5).wrapping_add(1);
                let bytes: Vec<u8> = (0..length).map(|i| fill.wrapping_add(i as u8) | 1).collect();
                bytes
            };
            for step in steps {
                let file = log.as_ref().unwrap();
                let within = |at: u16| usize::from(at) * model.valid_end / 65536;
                match step {
                    Step::Restart(length) => {
                        let bytes = content(length);
                        file.write(&bytes, 0).unwrap();
                        model.write(&bytes, 0);
                    }
                    Step::Append(length) => {
                        let bytes = content(length);
                        let at = model.valid_end;
                        file.write(&bytes, at as u64).unwrap();
                        model.write(&bytes, at);
                    }
                    Step::Overwrite { at, length } => {
                        let at = within(at);
                        if at > 0 {
                            let bytes = content(length.min(model.valid_end - at));
                            file.write(&bytes, at as u64).unwrap();
                            model.write(&bytes, at);
                        }
                    }
                    Step::Read { at, length } => {
                        let at = within(at);
                        for in_checkpoint in [false, true] {
                            let mut target = vec![0xEE; length];
                            let read = file.read(&mut target, at as u64, in_checkpoint).unwrap();
                            prop_assert_eq!(read, length.min(model.bytes.len() - at));
                            compare(&target[..read], at, &model);
                        }
                    }
                    Step::Truncate(at) => {
                        let at = within(at);
                        file.truncate(at as u64).unwrap();
                        model.bytes.truncate(at);
                        model.valid_end = model.valid_end.min(at);
                    }
                    Step::Sync => {
                        file.sync().unwrap();
                        let found = fs::read(&path).unwrap();
                        compare(&found[..model.valid_end], 0, &model);
                    }
                    Step::Reopen => {
                        drop(log.take());
                        let found = fs::read(&path).unwrap();
                        prop_assert_eq!(found.len(), model.bytes.len());
                        compare(&found, 0, &model);
                        // A new user of the file takes everything for valid.
                        model.bytes = found;
                        model.valid_end = model.bytes.len();
                        log = Some(open(&path));
                    }
                }
                prop_assert_eq!(log.as_ref().unwrap().size() as usize, model.bytes.len());
            }
        }
    }

    #[test]
    fn checkpoints_read_what_was_written_from_memory() {
        let directory = crate::scratch::directory();
        let path = directory.path().join("log");
        fs::write(&path, b"").unwrap();
        let tally: Arc<Tally> = Arc::default();
        let file =
            DirectFile::open(&path, OsCache::None, FileKind::Log, Arc::clone(&tally)).unwrap();
        let log = LogFile::new(file, &path).unwrap();
        let frames = vec![7; 3 << 20];
        log.write(&frames, 0).unwrap();
        log.sync().unwrap();
        let reads = || tally.counters().reads;
        let before = reads();
        let mut page = vec![0; 4096];
        log.read(&mut page, 24, true).unwrap();
        assert_eq!(page, frames[..4096]);
        assert_eq!(reads(), before, "retained");
        log.read(&mut page, 24, false).unwrap();
        assert_eq!(page, frames[..4096]);
        assert_eq!(reads(), before + 1, "a session's read is a request");
        // A new generation forgets the old one.
        log.write(&frames[..100], 0).unwrap();
        log.sync().unwrap();
        log.read(&mut page, 1 << 20, true).unwrap();
        assert_eq!(reads(), before + 2);
    }
}
