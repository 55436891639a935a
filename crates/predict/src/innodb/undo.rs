//! Undo logs: which pages have them, and when they are free again.
//!
//! Transactions take the rollback segments in turn (`trx_assign_rseg_low`), each of which
//! has a page of its own. A small transaction's log is on a page that the next one of the
//! same segment uses on (`trx_undo_reuse_cached`), up to three quarters
//! (`TRX_UNDO_PAGE_REUSE_LIMIT`). About once a second the history is truncated
//! (`trx_purge_truncate_history`), and all of these pages are free: in real runs of 60 to
//! 800 transactions a second that wrote, as many pages were made and freed as rollback
//! segments had been used within the second.

use std::collections::BTreeSet;

use octavo_buffer::Page;
use octavo_units::Moment;

use crate::pages::{Pages, Steps, after};

/// `TRX_SYS_N_RSEGS`.
const SEGMENTS: u32 = 128;
/// Pages that a server has in its pool once it has started, besides the rollback
/// segments': those of the temporary tablespace, as many, and of the dictionary. Counted
/// in `INNODB_BUFFER_PAGE`.
const AT_START: u32 = SEGMENTS + 20;
/// What of an undo page is no room: file and page header, segment header, trailer, and
/// the log's header (`trx0undo.h`).
const OVERHEAD: u32 = 38 + 18 + 30 + 8 + 46;
/// From one truncation to the next.
const TRUNCATED_NS: u64 = 1_000_000_000;

/// See the module.
#[derive(Clone, Debug)]
pub(super) struct Undo {
    /// Bytes of a page.
    page: u32,
    /// The header of the system's file, and its segments: allocation changes them.
    headers: [Page; 2],
    /// The first rollback segment's page.
    segments: Page,
    /// What each of them has since the last truncation.
    logs: Vec<Option<Undone>>,
    turn: usize,
    free: BTreeSet<Page>,
    truncated: Moment,
}

/// The undo logs on a page, and on further ones that the last of them needed.
#[derive(Clone, Debug)]
struct Undone {
    pages: Vec<Page>,
    /// Bytes of the last page.
    used: u32,
}

impl Undo {
    pub(super) fn new(page: u32, pages: &mut Pages) -> Self {
        let headers = pages.extend(2);
        let segments = pages.extend(SEGMENTS);
        pages.extend(AT_START);
        Self {
            page,
            headers: [headers, after(headers, 1)],
            segments,
            logs: vec![None; SEGMENTS as usize],
            turn: 0,
            free: BTreeSet::new(),
            truncated: Moment::START,
        }
    }

    /// What a server has read once it has started.
    pub(super) fn known_at_start(&self) -> impl Iterator<Item = Page> {
        let first = self.headers[0];
        (0..2 + SEGMENTS + AT_START).map(move |number| after(first, number))
    }

    /// A transaction writes for the first time: the rollback segment that it takes, and
    /// whether it gets a page of its own.
    pub(super) fn begin(&mut self, pages: &mut Pages, steps: &mut Steps) -> bool {
        self.turn = (self.turn + 1) % self.logs.len();
        steps.change(after(self.segments, self.turn as u32));
        let reusable = self.page / 4 * 3;
        let log = &mut self.logs[self.turn];
        if let Some(log) = log
            && log.pages.len() == 1
            && log.used + OVERHEAD <= reusable
        {
            log.used += OVERHEAD;
            steps.change(log.pages[0]);
            return false;
        }
        let new = allocate(&mut self.free, pages);
        // What was there before is freed with it.
        let mut all = log.take().map_or(Vec::new(), |log| log.pages);
        all.push(new);
        self.headers.iter().for_each(|&page| steps.change(page));
        steps.fill(new);
        *log = Some(Undone {
            pages: all,
            used: OVERHEAD,
        });
        true
    }

    /// It adds a record.
    pub(super) fn append(&mut self, bytes: u32, pages: &mut Pages, steps: &mut Steps) {
        let Some(log) = &mut self.logs[self.turn] else {
            return;
        };
        if log.used + bytes > self.page && log.used > OVERHEAD {
            let new = allocate(&mut self.free, pages);
            log.pages.push(new);
            log.used = OVERHEAD;
            steps.fill(new);
        }
        log.used += bytes;
        if let Some(&page) = log.pages.last() {
            steps.change(page);
        }
    }

    /// Frees all pages, once a second. Answers which they are: what is on them need not be
    /// written any more.
    pub(super) fn truncate(&mut self, now: Moment, steps: &mut Steps) -> Option<Vec<Page>> {
        if now.since(self.truncated) < TRUNCATED_NS {
            return None;
        }
        self.truncated = now;
        let mut freed = Vec::new();
        for (segment, log) in (0..).zip(&mut self.logs) {
            let Some(log) = log.take() else { continue };
            steps.change(after(self.segments, segment));
            for page in log.pages {
                steps.read(page);
                self.free.insert(page);
                freed.push(page);
            }
        }
        self.headers.iter().for_each(|&page| steps.change(page));
        Some(freed)
    }
}

/// The first one that is free (`fsp_alloc_free_page`).
fn allocate(free: &mut BTreeSet<Page>, pages: &mut Pages) -> Page {
    free.pop_first().unwrap_or_else(|| pages.extend(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_used_on_until_the_history_is_truncated() {
        let mut pages = Pages::default();
        let mut undo = Undo::new(4096, &mut pages);
        let mut steps = Steps::default();
        let loaded = 130 + AT_START;
        assert_eq!(pages.count(), loaded);
        for number in 0..300 {
            assert_eq!(undo.begin(&mut pages, &mut steps), number < 128);
            undo.append(100, &mut pages, &mut steps);
        }
        assert_eq!(pages.count(), loaded + 128);
        let now = Moment::START;
        assert_eq!(undo.truncate(now, &mut steps), None);
        let later = now.after(TRUNCATED_NS);
        let freed = undo.truncate(later, &mut steps).map(|freed| freed.len());
        assert_eq!(freed, Some(128));
        assert!(undo.begin(&mut pages, &mut steps));
        // A transaction of 5000 bytes takes two pages, which none uses on.
        for _ in 0..50 {
            undo.append(100, &mut pages, &mut steps);
        }
        assert_eq!(pages.count(), loaded + 128);
        undo.turn = (undo.turn + undo.logs.len() - 1) % undo.logs.len();
        assert!(undo.begin(&mut pages, &mut steps));
    }
}
