//! SQLite's write-ahead log (<https://www.sqlite.org/walformat.html>), as Octavo's file
//! layer writes it: past the page cache, in whole blocks. Pages that a checkpoint copies to
//! the database wait in the page cache for its flush, unless they are smaller than a block.

use std::collections::{BTreeMap, BTreeSet};

use octavo_buffer::Page;
use octavo_database::SQLITE_LOG_PAGES;
use octavo_device::Request;
use octavo_units::PageSize;

use crate::io::{Io, Purpose};

/// Bytes before the first frame, and before the page of each.
const HEADER: u64 = 32;
const FRAME_HEADER: u64 = 24;
/// What the log is written in multiples of, and the block of the file system.
const BLOCK: u64 = 4096;
/// The longest write.
const WRITE_MAX: u64 = 1 << 20;

/// The log, and where it and the database are on the device: the log first, since the
/// database grows.
#[derive(Clone, Debug)]
pub(super) struct Log {
    page: u64,
    /// Where the database begins.
    data: u64,
    frames: u64,
    /// How many of the frames the database has.
    copied: u64,
    /// The last frame of each page in the log that the database has not.
    pages: BTreeMap<Page, u64>,
    /// Those that a checkpoint copied and none has flushed yet.
    gathered: BTreeSet<Page>,
    /// Transactions that only read, of clients by their numbers: the frames that there were
    /// when each began, or nothing of one that needs none of them (read lock 0).
    readers: BTreeMap<usize, Option<u64>>,
}

impl Log {
    pub(super) fn new(page_size: PageSize) -> Self {
        let page = u64::from(page_size.get());
        // Room for a transaction that goes beyond.
        let bytes = 2 * SQLITE_LOG_PAGES * (FRAME_HEADER + page);
        Self {
            page,
            data: bytes.next_multiple_of(1 << 20),
            frames: 0,
            copied: 0,
            pages: BTreeMap::new(),
            gathered: BTreeSet::new(),
            readers: BTreeMap::new(),
        }
    }

    fn end(&self) -> u64 {
        HEADER + self.frames * (FRAME_HEADER + self.page)
    }

    /// Whether what a checkpoint copies waits for its flush.
    pub(super) fn gathers(&self) -> bool {
        self.page >= BLOCK
    }

    /// Where the database begins, in bytes.
    pub(super) fn data(&self) -> u64 {
        self.data
    }

    /// Reads a page, from the log if it is there.
    pub(super) fn read(&self, page: Page) -> Request {
        let Some(frame) = self.pages.get(&page) else {
            return Request::read(self.place(page), self.page as u32);
        };
        let offset = HEADER + frame * (FRAME_HEADER + self.page) + FRAME_HEADER;
        blocks(offset, offset + self.page, Request::read)
    }

    /// Where a page is in the database.
    fn place(&self, page: Page) -> u64 {
        self.data + u64::from(page.number()) * self.page
    }

    /// A transaction that only reads begins (`walTryBeginRead`).
    pub(super) fn begin_read(&mut self, client: usize) {
        let frames = (self.copied < self.frames).then_some(self.frames);
        self.readers.insert(client, frames);
    }

    /// It ends.
    pub(super) fn end_read(&mut self, client: usize) {
        self.readers.remove(&client);
    }

    /// Adds the pages that a transaction changed, makes them durable, and writes them to
    /// the database when there are enough.
    pub(super) fn commit(&mut self, pages: &[Page], ios: &mut Vec<Io>) {
        let mut io = |purpose, request| ios.push(Io { purpose, request });
        // `walRestartLog`: from the front, once nobody needs what is there.
        let is_free = self.readers.values().all(Option::is_none);
        if self.copied == self.frames && is_free {
            (self.frames, self.copied) = (0, 0);
        }
        let mut start = self.end();
        if self.frames == 0 {
            // A new generation's header is made durable first.
            io(Purpose::LogWrite, blocks(0, HEADER, Request::write));
            io(Purpose::LogSync, Request::FLUSH);
            start = 0;
        }
        for &page in pages {
            self.pages.insert(page, self.frames);
            self.frames += 1;
        }
        let end = self.end();
        while start < end {
            let block = start / BLOCK * BLOCK;
            let stop = end.min(block + WRITE_MAX);
            io(Purpose::LogWrite, blocks(start, stop, Request::write));
            start = stop;
        }
        io(Purpose::LogSync, Request::FLUSH);
        if self.frames >= SQLITE_LOG_PAGES {
            self.checkpoint(ios);
        }
    }

    /// Copies what no reader wants as it was before (`walCheckpoint`, as far as a passive
    /// one comes); makes it durable when that is all, which is when the device is asked for
    /// what is [gathered](Self::gathers). A reader of the database alone wants all of it as
    /// it was.
    fn checkpoint(&mut self, ios: &mut Vec<Io>) {
        let oldest = self
            .readers
            .values()
            .map(|frames| frames.unwrap_or(0))
            .min();
        let safe = oldest.map_or(self.frames, |oldest| oldest.min(self.frames));
        if safe <= self.copied {
            return;
        }
        let mut io = |purpose, request| ios.push(Io { purpose, request });
        io(Purpose::LogSync, Request::FLUSH);
        self.pages.retain(|page, frame| {
            let is_safe = *frame < safe;
            if is_safe {
                self.gathered.insert(*page);
            }
            !is_safe
        });
        self.copied = safe;
        if safe == self.frames || !self.gathers() {
            for page in std::mem::take(&mut self.gathered) {
                let write = Request::write(self.place(page), self.page as u32);
                io(Purpose::Checkpoint, write);
            }
        }
        if safe == self.frames {
            io(Purpose::Checkpoint, Request::FLUSH);
        }
    }
}

/// A request for all blocks between two bytes of the log.
fn blocks(from: u64, to: u64, request: fn(u64, u32) -> Request) -> Request {
    let first = from / BLOCK * BLOCK;
    request(first, (to.next_multiple_of(BLOCK) - first) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What commits of a page each ask for besides the log.
    fn commits(log: &mut Log, pages: std::ops::Range<u32>) -> Vec<Io> {
        let mut ios = Vec::new();
        for page in pages {
            log.commit(&[Page::new(page)], &mut ios);
        }
        ios.retain(|io| io.purpose == Purpose::Checkpoint);
        ios
    }

    /// As SQLite 3.40 does with a reader that began after 600 frames: `PRAGMA
    /// wal_checkpoint` told 600 of 1,100 frames, and the log began at its front with the
    /// second commit after the reader had ended.
    #[test]
    fn a_reader_keeps_what_came_after_it_in_the_log() {
        let mut log = Log::new(PageSize::kib(4));
        assert_eq!(commits(&mut log, 0..600), []);
        log.begin_read(3);
        assert_eq!(commits(&mut log, 600..1100), [], "nothing is flushed");
        let has = |page| log.pages.contains_key(&Page::new(page));
        assert!(!has(599) && has(600));
        assert_eq!((log.frames, log.copied), (1100, 600));
        log.end_read(3);
        // What was copied before, all that is left, and a flush.
        assert_eq!(commits(&mut log, 1100..1101).len(), 600 + 501 + 1);
        assert_eq!((log.frames, log.copied), (1101, 1101));
        // One that reads the database alone lets the log begin anew, and nothing be copied.
        log.begin_read(4);
        assert_eq!(commits(&mut log, 0..1200), []);
        assert_eq!((log.frames, log.copied), (1200, 0));
        log.end_read(4);
        assert_eq!(commits(&mut log, 1200..1201).len(), 1201 + 1);
    }

    /// Each page is written for itself when it is copied.
    #[test]
    fn pages_smaller_than_a_block_do_not_wait() {
        let mut log = Log::new(PageSize::kib(2));
        assert_eq!(commits(&mut log, 0..600), []);
        log.begin_read(3);
        let copied = commits(&mut log, 600..1100);
        let last = log.place(Page::new(599));
        assert_eq!((copied.len(), copied[599].request.offset), (600, last));
    }
}
