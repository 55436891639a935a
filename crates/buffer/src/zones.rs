//! CUBRID's list of three zones.

use octavo_units::prefetch;

use crate::{
    list::{ListPolicy, Lists, extend, lists},
    policy::{Evicted, Frames},
    trace::Page,
};

const HOT: usize = 0;
const BUFFER: usize = 1;
const VICTIM: usize = 2;

/// Least recently used in three zones (`page_buffer.c` of CUBRID 10 and later): a new page
/// enters behind the hot zone. Referenced in the hot zone it stays where it is; in the
/// buffer zone it comes to the front once half of that zone was added after it; in the
/// victim zone at once. Only from there pages are evicted.
///
/// One list, where a server has one for each group of threads; private lists and the
/// list of pages evicted of late, which is off by default, are left out. CUBRID evicts
/// clean pages of the victim zone alone, as its flushing keeps some there: here a dirty
/// one is written, and where that zone is empty the others lose pages.
#[derive(Clone, Debug)]
pub struct Zones {
    lists: Lists,
    frames: Frames,
    hot_max: u32,
    buffer_max: u32,
    /// Pages added at the front or behind the hot zone so far.
    added: u32,
    /// By page: what that was when it was added.
    added_at: Box<[u32]>,
}

impl Zones {
    /// An empty buffer for the pages below `pages` with the default zones: 40% hot
    /// (`lru_hot_ratio`) and 5% buffer (`lru_buffer_ratio`).
    pub fn new(pages: u32, frames: Frames) -> Self {
        Self {
            lists: Lists::new(pages),
            frames,
            hot_max: frames.share(40, 100),
            buffer_max: frames.share(5, 100),
            added: 0,
            added_at: vec![0; pages as usize].into(),
        }
    }

    #[inline]
    fn add(&mut self, zone: usize, page: Page) {
        self.lists.push_front(zone, page);
        self.added_at[page.index()] = self.added;
        self.added = self.added.wrapping_add(1);
        let both_max = self.hot_max + self.buffer_max;
        while self.lists.len(HOT) > self.hot_max {
            self.fall(HOT, BUFFER);
        }
        while self.lists.len(HOT) + self.lists.len(BUFFER) > both_max {
            self.fall(BUFFER, VICTIM);
        }
    }

    #[inline]
    fn fall(&mut self, from: usize, to: usize) {
        let page = self.lists.back(from).expect("the zone is too long");
        self.lists.move_to_front(to, page);
    }
}

impl ListPolicy for Zones {
    lists!();

    #[inline]
    fn hit(&mut self, page: Page, zone: usize) {
        let since = self.added.wrapping_sub(self.added_at[page.index()]);
        let is_old = since >= self.lists.len(BUFFER) / 2;
        if zone == VICTIM || zone == BUFFER && is_old {
            self.lists.remove(page);
            self.add(HOT, page);
        }
    }

    #[inline]
    fn miss(&mut self, page: Page, _list: Option<usize>) -> Option<Evicted> {
        let order = [VICTIM, BUFFER, HOT];
        let evicted = self.lists.evict_when_full(order, self.frames);
        self.add(BUFFER, page);
        evicted
    }

    fn extended(&mut self, pages: u32) {
        extend(&mut self.added_at, pages, 0);
    }

    #[inline]
    fn expect_more(&self, page: Page) {
        prefetch(&self.added_at, page.index());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::by_hand::{Step, step};

    #[test]
    fn by_hand() {
        use Step::{Evicts as E, Free as F, Hit as H, Writes as W};
        // Ten frames: 4 hot, 0 buffer, so what is not hot is a victim: while the hot
        // zone is short, up to four others are in the buffer zone.
        let mut zones = Zones::new(100, Frames::new(10).unwrap());
        assert_eq!((zones.hot_max, zones.buffer_max), (4, 0));
        for page in [1, -2, 3, 4, 5, 6, 7, 8, 9, 10] {
            assert_eq!(step(&mut zones, page), F);
        }
        assert_eq!([0, 1, 2].map(|zone| zones.lists.len(zone)), [0, 4, 6]);
        // 10 was just added: it stays. 1 comes to the front.
        for (page, expected) in [(10, H), (1, H), (11, W(2)), (12, E(3)), (1, H), (13, E(4))] {
            assert_eq!(step(&mut zones, page), expected, "page {page}");
        }
        // 1 and three of the new ones: 13, 12, 11.
        assert_eq!([0, 1, 2].map(|zone| zones.lists.len(zone)), [1, 3, 6]);
        // 11 has two added after it, and half of three is one.
        assert_eq!(step(&mut zones, 11), H);
        assert_eq!(zones.lists.front(HOT), Some(Page::new(11)));
        assert_eq!(zones.lists.len(HOT), 2);
    }
}
