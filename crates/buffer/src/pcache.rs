//! SQLite's page cache: one connection's, where changed pages stay until they are
//! committed.

use crate::{
    list::{ListPolicy, Lists, lists},
    policy::{Evicted, Frames},
    trace::Page,
};

/// Pages that may be recycled, the one released last first.
const RECYCLABLE: usize = 0;
/// Pages that the transaction has changed; those released last first.
const DIRTY: usize = 1;

/// A cache of more pages than this writes dirty ones early (`szSpill`, which
/// `sqlite3PcacheOpen` sets).
const SPILL_MIN: u32 = 1;

/// Least recently released, with the rules of SQLite's `pcache1.c` and `pcache.c`: from
/// as many pages as `cache_size` less one on, a page is recycled for a new one. What a
/// transaction changes cannot be recycled before it commits; when nine tenths of the
/// cache are such pages, the one changed the longest ago is written to the log early.
///
/// A reference takes a page and releases it at once: that a cursor holds pages on the
/// way from a root to a leaf is left out.
#[derive(Clone, Debug)]
pub struct Pcache {
    lists: Lists,
    frames: Frames,
    spilled: u64,
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

    /// The transaction has ended, and all that it changed is in the log: answers how
    /// many pages those were, apart from those written early.
    pub fn commit(&mut self) -> u32 {
        let count = self.lists.len(DIRTY);
        // From the page released last to the one released first, which so comes to the
        // front of those that are recycled (`sqlite3PcacheCleanAll`).
        while let Some(page) = self.lists.front(DIRTY) {
            self.clean_and_unpin(page);
        }
        count
    }

    fn make_room(&mut self) -> Option<Evicted> {
        // `pcache1FetchStage2`, step 3, and `sqlite3PcacheFetchStress`.
        let most = (u64::from(self.frames.get()) * 9 / 10) as u32;
        if let Some(oldest) = self.lists.back(DIRTY)
            && self.lists.len(DIRTY) >= most
            && self.length() > SPILL_MIN
        {
            self.clean_and_unpin(oldest);
            self.spilled += 1;
        }
        // Step 4.
        let is_full = self.length() + 1 >= self.frames.get();
        let oldest = self.lists.back(RECYCLABLE).filter(|_| is_full);
        oldest.map(|page| self.lists.evict(page))
    }

    /// A page comes into the list where it belongs.
    #[inline]
    fn put(&mut self, page: Page) {
        match self.lists.state(page).is_dirty() {
            true => self.lists.push_front(DIRTY, page),
            false => self.unpin(page),
        }
    }

    fn clean_and_unpin(&mut self, page: Page) {
        self.lists.clean(page);
        self.lists.remove(page);
        self.unpin(page);
    }

    /// Releases a page that is clean and in no list.
    fn unpin(&mut self, page: Page) {
        // `pcache1Unpin`: a cache that grew too large shrinks.
        if self.length() < self.frames.get() {
            self.lists.push_front(RECYCLABLE, page);
        }
    }

    fn length(&self) -> u32 {
        self.lists.len(RECYCLABLE) + self.lists.len(DIRTY)
    }
}

impl ListPolicy for Pcache {
    lists!();

    #[inline]
    fn hit(&mut self, page: Page, _list: usize) {
        self.lists.remove(page);
        self.put(page);
    }

    #[inline]
    fn miss(&mut self, page: Page, _list: Option<usize>) -> Option<Evicted> {
        let evicted = self.make_room();
        self.put(page);
        evicted
    }

    fn cleaned(&mut self, page: Page, _list: usize) {
        self.hit(page, DIRTY);
    }

    fn spills(&self) -> u64 {
        self.spilled
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        by_hand::{Step, check, step},
        policy::Policy,
    };

    use Step::{Evicts as E, Free as F, Hit as H};

    #[test]
    fn one_page_less_than_its_size_by_hand() {
        let steps = [(1, F), (2, F), (3, F), (1, H), (4, E(2)), (2, E(3)), (1, H)];
        check(Pcache::new, 4, &steps);
    }

    #[test]
    fn changed_pages_stay_until_the_commit_by_hand() {
        let mut cache = Pcache::new(100, Frames::new(5).unwrap());
        for (page, expected) in [
            (-1, F),
            (-2, F),
            (3, F),
            (4, F),
            (5, E(3)),
            (6, E(4)),
            (1, H),
            (2, H),
        ] {
            assert_eq!(step(&mut cache, page), expected, "page {page}");
        }
        assert_eq!(cache.commit(), 2);
        // 1 was released first and 2 last: 1 is in front now, then 2, 6 and 5.
        for (page, expected) in [(7, E(5)), (8, E(6)), (9, E(2)), (10, E(1))] {
            assert_eq!(step(&mut cache, page), expected, "page {page}");
        }
        assert_eq!((cache.commit(), cache.spilled()), (0, 0));
    }

    #[test]
    fn a_database_that_grows_keeps_its_cache_by_hand() {
        let mut cache = Pcache::new(4, Frames::new(4).unwrap());
        for (page, expected) in [(-1, F), (2, F), (3, F)] {
            assert_eq!(step(&mut cache, page), expected, "page {page}");
        }
        cache.extend(10);
        for (page, expected) in [(9, E(2)), (3, H), (8, E(9)), (1, H)] {
            assert_eq!(step(&mut cache, page), expected, "page {page}");
        }
        assert_eq!(cache.commit(), 1);
    }

    #[test]
    fn a_transaction_larger_than_the_cache_spills_by_hand() {
        // Ten frames: for the tenth page one of nine dirty ones is written, and recycled.
        let mut cache = Pcache::new(100, Frames::new(10).unwrap());
        for page in 1..=9 {
            assert_eq!(step(&mut cache, -page), F, "page {page}");
        }
        assert_eq!(cache.spilled(), 0);
        assert_eq!(step(&mut cache, -10), E(1));
        assert_eq!(step(&mut cache, 11), E(2));
        // Eight dirty pages and a clean one: that is recycled.
        assert_eq!(step(&mut cache, 12), E(11));
        assert_eq!((cache.length(), cache.spilled()), (9, 2));
        assert_eq!(cache.commit(), 8);
    }

    #[test]
    fn a_cache_of_one_page_keeps_what_is_dirty_by_hand() {
        let mut cache = Pcache::new(100, Frames::new(1).unwrap());
        // Nine tenths of one are none, but one page alone is not written early.
        for (page, expected) in [(-1, F), (-2, F), (3, F), (3, F)] {
            assert_eq!(step(&mut cache, page), expected, "page {page}");
        }
        // For page 3 page 1 was written, and dropped; 2 is alone then, and stays.
        assert_eq!((cache.spilled(), cache.length()), (1, 1));
    }
}
