//! Pages on their way into the buffer: they have a frame, but nobody has their content yet.

use octavo_buffer::Page;
use octavo_device::Request;

use crate::hashed::HashMap;
use crate::io::{Io, Purpose};

/// Pages that transactions have missed and that were not read yet, by where they are on
/// storage. Whoever comes to one first reads it; others who want it meanwhile wait for the
/// same read, as they do for the latch of its frame.
#[derive(Debug, Default)]
pub(crate) struct Arriving {
    pages: HashMap<u64, Wanted>,
    /// The transaction that refers to pages now.
    transaction: u64,
    /// Bytes of those that it has to wait for and that others miss.
    shared_bytes: u64,
}

#[derive(Debug)]
struct Wanted {
    /// Which: what is read for it may have others beside it.
    page: Page,
    /// Reads that have not begun: more than one if it lost its frame meanwhile, or if
    /// clients have buffers of their own.
    reads: u32,
    /// Reads that have.
    under_way: u32,
    /// The last transaction that waits for it.
    by: u64,
    waiting: Vec<usize>,
}

/// What somebody who wants a page has to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Want {
    /// Read it, and tell [`Arriving::end`].
    Read,
    /// Wait until somebody else has: [`Arriving::end`] tells whom it has kept waiting.
    Wait,
    /// Nothing: it has arrived.
    Nothing,
}

impl Arriving {
    /// Another transaction refers to pages from now on.
    pub(crate) fn begin(&mut self) {
        self.transaction += 1;
        self.shared_bytes = 0;
    }

    /// Bytes of its requests that are others' reads, which it may have to wait for.
    pub(crate) fn shared_bytes(&self) -> u64 {
        self.shared_bytes
    }

    /// The transaction refers to a page that the buffer has not.
    pub(crate) fn miss(&mut self, page: Page, read: Request, ios: &mut Vec<Io>) {
        let wanted = self.pages.entry(read.offset).or_insert(Wanted {
            page,
            reads: 0,
            under_way: 0,
            by: 0,
            waiting: Vec::new(),
        });
        wanted.page = page;
        wanted.reads += 1;
        wanted.by = self.transaction;
        ios.push(Io {
            purpose: Purpose::Read,
            request: read,
        });
    }

    /// The transaction refers to a page that the buffer has.
    #[inline]
    pub(crate) fn hit(&mut self, page: Page, read: Request, ios: &mut Vec<Io>) {
        // Nothing arrives most of the time; of one client only what it has missed itself.
        if self.pages.is_empty() {
            return;
        }
        if let Some(wanted) = self.pages.get_mut(&read.offset)
            && wanted.by != self.transaction
            && wanted.page == page
        {
            wanted.by = self.transaction;
            self.shared_bytes += u64::from(read.length);
            ios.push(Io {
                purpose: Purpose::Read,
                request: read,
            });
        }
    }

    /// A client comes to where it needs a page that was missed.
    pub(crate) fn want(&mut self, client: usize, read: Request) -> Want {
        match self.pages.get_mut(&read.offset) {
            None => Want::Nothing,
            Some(wanted) if wanted.reads == 0 => {
                wanted.waiting.push(client);
                Want::Wait
            }
            Some(wanted) => {
                wanted.reads -= 1;
                wanted.under_way += 1;
                Want::Read
            }
        }
    }

    /// A page has been read: those who waited for it.
    pub(crate) fn end(&mut self, read: Request) -> Vec<usize> {
        let Some(wanted) = self.pages.get_mut(&read.offset) else {
            return Vec::new();
        };
        let waiting = std::mem::take(&mut wanted.waiting);
        wanted.under_way -= 1;
        if wanted.reads + wanted.under_way == 0 {
            self.pages.remove(&read.offset);
        }
        waiting
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: Page = Page::new(1);
    const READ: Request = Request::read(4096, 4096);

    #[test]
    fn whoever_comes_first_reads_for_all() {
        let mut arriving = Arriving::default();
        let mut ios = [Vec::new(), Vec::new(), Vec::new()];
        arriving.begin();
        arriving.miss(PAGE, READ, &mut ios[0]);
        arriving.hit(PAGE, READ, &mut ios[0]);
        arriving.begin();
        arriving.hit(PAGE, READ, &mut ios[1]);
        arriving.hit(PAGE, READ, &mut ios[1]);
        arriving.begin();
        arriving.hit(PAGE, READ, &mut ios[2]);
        arriving.hit(Page::new(2), Request::read(8192, 4096), &mut ios[2]);
        assert_eq!(ios.each_ref().map(Vec::len), [1, 1, 1]);
        assert_eq!(arriving.shared_bytes(), 4096);
        // Another page of the same block is not waited for.
        arriving.begin();
        arriving.hit(Page::new(7), READ, &mut ios[2]);
        assert_eq!((ios[2].len(), arriving.shared_bytes()), (1, 0));
        assert_eq!(arriving.want(1, READ), Want::Read);
        assert_eq!(arriving.want(0, READ), Want::Wait);
        assert_eq!(arriving.end(READ), [0]);
        assert_eq!(arriving.want(2, READ), Want::Nothing);
        ios[2].clear();
        arriving.begin();
        arriving.hit(PAGE, READ, &mut ios[2]);
        assert_eq!(ios[2], []);
    }

    #[test]
    fn a_page_that_lost_its_frame_is_read_again() {
        let mut arriving = Arriving::default();
        let mut ios = Vec::new();
        for _ in 0..2 {
            arriving.begin();
            arriving.miss(PAGE, READ, &mut ios);
        }
        assert_eq!(arriving.want(0, READ), Want::Read);
        assert_eq!(arriving.want(1, READ), Want::Read);
        assert_eq!(arriving.want(2, READ), Want::Wait);
        assert_eq!(arriving.end(READ), [2]);
        assert_eq!(arriving.want(2, READ), Want::Wait);
        assert_eq!(arriving.end(READ), [2]);
        assert_eq!(arriving.want(1, READ), Want::Nothing);
    }
}
