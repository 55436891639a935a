//! Pages with records that take changes back.
//!
//! A transaction takes the next segment, and has a page of it for itself: one that an
//! earlier transaction has left partly filled, or an empty one. Full pages are used again
//! once nobody may want to read what was before.

use std::collections::VecDeque;

use octavo_buffer::Page;
use octavo_units::Moment;

use super::rules::UndoFormat;
use crate::hashed::HashSet;
use crate::pages::{Pages, Steps};

/// See the module.
#[derive(Clone, Debug)]
pub(super) struct Undo {
    format: UndoFormat,
    /// Bytes of a page.
    page: u32,
    segments: Vec<Segment>,
    turn: usize,
    /// All of its pages.
    own: HashSet<Page>,
    /// The page of the transaction, and what is left of it.
    current: Option<(Page, u32)>,
    /// Full pages, with when they became so.
    full: VecDeque<(Moment, Page)>,
    now: Moment,
}

#[derive(Clone, Debug)]
struct Segment {
    header: Page,
    /// A page with room that a transaction left, and what is left of it.
    kept: Option<(Page, u32)>,
}

impl Undo {
    pub(super) fn new(format: UndoFormat, page: u32, pages: &mut Pages) -> Self {
        let segment = |_| Segment {
            header: pages.extend(1),
            kept: None,
        };
        let segments: Vec<Segment> = (0..format.segments).map(segment).collect();
        Self {
            format,
            page,
            own: segments.iter().map(|segment| segment.header).collect(),
            segments,
            turn: 0,
            current: None,
            full: VecDeque::new(),
            now: Moment::START,
        }
    }

    pub(super) fn advance(&mut self, now: Moment) {
        self.now = now;
    }

    /// Adds a record of the transaction, which changes something for the first time if it
    /// has none yet.
    pub(super) fn append(&mut self, bytes: u32, pages: &mut Pages, steps: &mut Steps) {
        let is_first = self.current.is_none();
        if is_first {
            self.turn = (self.turn + 1) % self.segments.len();
            let segment = &mut self.segments[self.turn];
            steps.change(segment.header);
            self.current = segment.kept.take();
        }
        if let Some((page, left)) = &mut self.current
            && *left >= bytes
        {
            *left -= bytes;
            steps.change(*page);
            return;
        }
        if let Some((page, _)) = self.current {
            self.full.push_back((self.now, page));
        }
        let room = self.page - self.format.overhead;
        let mut left = bytes;
        loop {
            let page = self.allocate(pages);
            steps.fill(page);
            self.current = Some((page, room.saturating_sub(left)));
            if left <= room {
                break;
            }
            left -= room;
            self.full.push_back((self.now, page));
        }
    }

    fn allocate(&mut self, pages: &mut Pages) -> Page {
        match self.full.front() {
            Some((since, _)) if self.now.since(*since) >= self.format.retention_ns => {
                self.full.pop_front().map(|(_, page)| page)
            }
            _ => None,
        }
        .unwrap_or_else(|| {
            let page = pages.extend(1);
            self.own.insert(page);
            page
        })
    }

    /// Whether a page is one of these.
    pub(super) fn has(&self, page: Page) -> bool {
        self.own.contains(&page)
    }

    /// The transaction ends, and its page is for later ones.
    pub(super) fn end(&mut self) {
        if let Some(current) = self.current.take() {
            self.segments[self.turn].kept = Some(current);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_filled_and_used_again_by_hand() {
        let format = UndoFormat {
            overhead: 96,
            segments: 2,
            retention_ns: 100,
        };
        let mut pages = Pages::default();
        let mut undo = Undo::new(format, 1096, &mut pages);
        let mut transaction = |at, records| {
            undo.advance(Moment::nanoseconds(at));
            for _ in 0..records {
                undo.append(400, &mut pages, &mut Steps::default());
            }
            undo.end();
            pages.count()
        };
        // Two headers, and a page for each of the two segments, which have room for two
        // records each.
        assert_eq!([transaction(0, 1), transaction(0, 1)], [3, 4]);
        assert_eq!([transaction(0, 1), transaction(0, 1)], [4, 4]);
        // Three records need two more; the first one became full now.
        assert_eq!(transaction(50, 3), 6);
        assert_eq!(transaction(149, 1), 7, "the full one is kept yet");
        // The first of six has room, and two full pages are used again for four.
        assert_eq!(transaction(151, 6), 8);
    }
}
