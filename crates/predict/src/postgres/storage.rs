//! Shared buffers, and what passes between them, the log and the device.

use octavo_buffer::{Access, Evicted, Outcome, Page, Reference};
use octavo_device::Request;

use super::log::{Changed, Log};
use crate::{
    arriving::Arriving,
    engine::Referred,
    io::{Io, Purpose},
    replacement::Buffer,
};

/// The page cache reads and writes whole pages of its own.
const CACHE_PAGE: u64 = 4096;

/// See the module.
pub(super) struct Storage {
    page: u64,
    buffer: Buffer,
    /// Pages that the buffer has room to know of.
    known: u32,
    /// By page: changed since it was written.
    dirty: Vec<bool>,
    pub(super) arriving: Arriving,
    pub(super) log: Log,
    checkpoint: Checkpoint,
    /// The page that was looked at last, which stays pinned for a change.
    pinned: Option<Page>,
    pub(super) ios: Vec<Io>,
    pub(super) referred: Referred,
}

/// Pages that a checkpoint has to write, the last first.
#[derive(Default)]
struct Checkpoint {
    left: Vec<Page>,
    all: usize,
}

impl Storage {
    pub(super) fn new(page: u32, buffer: Buffer, known: u32, log: Log) -> Self {
        Self {
            page: u64::from(page),
            buffer,
            known,
            dirty: vec![false; known as usize],
            arriving: Arriving::default(),
            log,
            checkpoint: Checkpoint::default(),
            pinned: None,
            ios: Vec::new(),
            referred: Referred::default(),
        }
    }

    fn offset(&self, page: Page) -> u64 {
        self.log.data() + u64::from(page.number()) * self.page
    }

    /// A page as the page cache reads it.
    fn read_of(&self, page: Page) -> Request {
        let begin = self.offset(page) / CACHE_PAGE * CACHE_PAGE;
        let end = (self.offset(page) + self.page).next_multiple_of(CACHE_PAGE);
        Request::read(begin, (end - begin) as u32)
    }

    fn write(&mut self, page: Page) {
        self.dirty[page.index()] = false;
        let request = Request::write(self.offset(page), self.page as u32);
        self.ios.push(Io {
            purpose: Purpose::Background,
            request,
        });
    }

    /// A page is referred to, new or not.
    pub(super) fn access(&mut self, page: Page, access: Access, is_new: bool) {
        if page.number() >= self.known {
            self.known = (page.number() + 1).saturating_mul(2);
            self.buffer.extend(self.known);
            self.dirty.resize(self.known as usize, false);
        }
        match self.buffer.access(Reference::new(page, access)) {
            Outcome::Hit => {
                self.referred.hits += 1;
                self.arriving.hit(page, self.read_of(page), &mut self.ios);
            }
            Outcome::Miss(evicted) => {
                if let Some(Evicted {
                    page: old,
                    is_dirty: true,
                }) = evicted
                {
                    self.write(old);
                }
                if is_new {
                    // The file grows by a page of zeros (`smgrextend`), which the statistics
                    // count as read (`ReadBufferExtended` in bufmgr.c: it is no hit).
                    self.referred.misses += 1;
                    self.referred.made += 1;
                    self.write(page);
                } else {
                    self.referred.misses += 1;
                    self.arriving.miss(page, self.read_of(page), &mut self.ios);
                }
            }
        }
        if access.is_change() {
            self.dirty[page.index()] = true;
        }
    }

    /// A page is looked at.
    pub(super) fn read(&mut self, page: Page) {
        self.access(page, Access::Read, false);
        self.pinned = Some(page);
    }

    /// Bits of a page are set of which the log hears nothing.
    pub(super) fn hint(&mut self, page: Page) {
        if self.buffer.change_resident(page) {
            self.dirty[page.index()] = true;
        }
    }

    /// Pages of one table are changed together: one record of the log.
    pub(super) fn change(&mut self, main: u32, pages: &[Changed]) {
        for changed in pages {
            if self.pinned == Some(changed.page) {
                self.hint(changed.page);
            } else {
                self.access(changed.page, Access::Change, changed.is_new);
            }
        }
        self.log.record(main, pages);
    }

    /// Writes what a checkpoint should have written by now, and begins one that is due.
    pub(super) fn check_point(&mut self) {
        if self.checkpoint.left.is_empty() && self.log.is_due() {
            self.log.begin_checkpoint();
            let dirty = self.dirty.iter().enumerate().rev();
            let pages = dirty.filter(|(_, is_dirty)| **is_dirty);
            self.checkpoint.left = pages.map(|(number, _)| Page::new(number as u32)).collect();
            self.checkpoint.all = self.checkpoint.left.len();
        }
        if self.checkpoint.left.is_empty() {
            return;
        }
        let wanted = self.checkpoint.all as f64 * self.log.written_share();
        while ((self.checkpoint.all - self.checkpoint.left.len()) as f64) < wanted
            && let Some(page) = self.checkpoint.left.pop()
        {
            // One that was evicted meanwhile is written.
            if self.buffer.clean(page) {
                self.write(page);
            }
        }
        if self.checkpoint.left.is_empty() {
            self.referred.checkpoints += 1;
            self.ios.push(Io {
                purpose: Purpose::Background,
                request: Request::FLUSH,
            });
        }
    }
}
