//! SQLite's page cache: one connection's, where changed pages stay until they are
//! committed.

use crate::{
    list::Lists,
    policy::{Evicted, Frames, Outcome, Policy},
    trace::{Page, Reference},
};

/// Pages that may be recycled, the one released last first.
const RECYCLABLE: usize = 0;
/// Pages that may not, because they are in use or dirty; those released last first.
const PINNED: usize = 1;

/// Least recently released, with the rules of SQLite's `pcache1.c` and `pcache.c`: from
/// as many pages as `cache_size` less one on, a page is recycled for a new one. What a
/// transaction changes cannot be recycled before it commits; when nine tenths of the
/// cache are such pages, the one changed the longest ago is written to the log early.
///
/// A reference by [`Policy::access`] takes a page and releases it at once. Whoever knows
/// when pages are taken and released says so by [`Self::fetch`] and [`Self::release`].
#[derive(Clone, Debug)]
pub struct Pcache {
    lists: Lists<2>,
    frames: Frames,
    spilled: u64,
}

/// Whether the cache makes every effort to have room for a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Effort {
    /// Not when that means a cache of dirty pages.
    IfEasy,
    Every,
}

impl Pcache {
    /// An empty cache for the pages below `pages`, with a `cache_size` of so many
    /// frames.
    pub fn new(pages: u32, frames: Frames) -> Self {
        Self {
            lists: Lists::new(pages),
            frames,
            spilled: 0,
        }
    }

    /// Dirty pages that were written before their transaction ended.
    pub const fn spilled(&self) -> u64 {
        self.spilled
    }

    /// Takes a page: until it is released, nothing happens to it.
    pub fn fetch(&mut self, page: Page) -> Outcome {
        match self.lists.state(page).list() {
            Some(RECYCLABLE) => {
                self.lists.move_to_front(PINNED, page);
                Outcome::Hit
            }
            Some(_) => Outcome::Hit,
            None => Outcome::Miss(self.make_room(page)),
        }
    }

    /// Releases a page that was taken; one that is changed waits for the end of its
    /// transaction.
    pub fn release(&mut self, page: Page) {
        match self.lists.state(page).is_dirty() {
            true => self.lists.move_to_front(PINNED, page),
            false => self.unpin(page),
        }
    }

    /// The transaction has ended, and all that it changed is in the log: answers how
    /// many pages those were.
    pub fn commit(&mut self) -> u32 {
        let mut count = 0;
        // From the page released last to the one released first, which so comes to the
        // front of those that are recycled (`sqlite3PcacheCleanAll`).
        while let Some(page) = self.lists.front(PINNED) {
            count += u32::from(self.lists.clean(page));
            self.unpin(page);
        }
        count
    }

    fn make_room(&mut self, page: Page) -> Option<Evicted> {
        // `sqlite3PcacheFetch`: every effort is made while no page is dirty.
        let effort = match self.lists.back(PINNED) {
            Some(oldest) if self.lists.state(oldest).is_dirty() => Effort::IfEasy,
            _ => Effort::Every,
        };
        if !self.has_room(effort) {
            // `sqlite3PcacheFetchStress`.
            self.spill();
        }
        let is_full = self.length() + 1 >= self.frames.get();
        let oldest = self.lists.back(RECYCLABLE).filter(|_| is_full);
        let evicted = oldest.map(|page| self.lists.evict(page));
        self.lists.push_front(PINNED, page);
        evicted
    }

    /// `pcache1FetchStage2`, step 3.
    fn has_room(&self, effort: Effort) -> bool {
        let most = (u64::from(self.frames.get()) * 9 / 10) as u32;
        effort == Effort::Every || self.lists.len(PINNED) < most
    }

    /// Writes the dirty page released the longest ago.
    fn spill(&mut self) {
        if self.length() <= self.frames.get() {
            return;
        }
        if let Some(oldest) = self.lists.back(PINNED) {
            self.lists.clean(oldest);
            self.unpin(oldest);
            self.spilled += 1;
        }
    }

    fn unpin(&mut self, page: Page) {
        // `pcache1Unpin`: a cache that grew too large shrinks.
        if self.length() > self.frames.get() {
            self.lists.evict(page);
        } else {
            self.lists.move_to_front(RECYCLABLE, page);
        }
    }

    fn length(&self) -> u32 {
        self.lists.len(RECYCLABLE) + self.lists.len(PINNED)
    }
}

impl Policy for Pcache {
    #[inline]
    fn access(&mut self, reference: Reference) -> Outcome {
        let page = reference.page();
        let outcome = self.fetch(page);
        self.lists.change(page, reference.access().is_change());
        self.release(page);
        outcome
    }

    #[inline]
    fn expect(&self, page: Page) {
        self.lists.expect(page);
    }

    #[inline]
    fn expect_next(&self, page: Page) {
        self.lists.expect_neighbors(page);
    }

    /// A checkpoint copies committed pages from the log, and none of the cache's.
    fn clean(&mut self, _page: Page) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::by_hand::{Step, check, step};

    use Step::{Evicts as E, Free as F, Hit as H};

    #[test]
    fn one_page_less_than_its_size_by_hand() {
        let steps = [(1, F), (2, F), (3, F), (1, H), (4, E(2)), (2, E(3)), (1, H)];
        check(Pcache::new, 4, &steps);
    }

    #[test]
    fn changed_pages_stay_until_the_commit_by_hand() {
        let mut cache = Pcache::new(100, Frames::new(4).unwrap());
        for (page, expected) in [
            (-1, F),
            (-2, F),
            (3, F),
            (4, E(3)),
            (5, E(4)),
            (1, H),
            (2, H),
        ] {
            assert_eq!(step(&mut cache, page), expected, "page {page}");
        }
        assert_eq!(cache.commit(), 2);
        // 1 was released first and 2 last: 1 is in front now, then 2, then 5.
        for (page, expected) in [(6, E(5)), (7, E(2)), (8, E(1))] {
            assert_eq!(step(&mut cache, page), expected, "page {page}");
        }
        assert_eq!((cache.commit(), cache.spilled()), (0, 0));
    }

    #[test]
    fn a_transaction_larger_than_the_cache_spills_by_hand() {
        // Ten frames: with nine dirty pages a tenth is refused at first, but as ten
        // pages are no more than the size, none is written; with eleven one is.
        let mut cache = Pcache::new(100, Frames::new(10).unwrap());
        for page in 1..=11 {
            assert_eq!(step(&mut cache, -page), F, "page {page}");
        }
        assert_eq!((cache.length(), cache.spilled()), (11, 0));
        // Page 1 is written, and dropped, because the cache is too large.
        assert_eq!(step(&mut cache, -12), F);
        assert_eq!((cache.length(), cache.spilled()), (11, 1));
        assert_eq!(step(&mut cache, 1), F);
        assert_eq!(cache.spilled(), 2);
    }
}
