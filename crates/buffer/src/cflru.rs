//! Clean-first LRU.

use crate::{
    list::{ListPolicy, Lists, extend, lists},
    policy::{Evicted, Frames},
    trace::Page,
};

/// What was used of late.
const WORKING: usize = 0;
/// The window at the end of the list, in two: clean pages,
const CLEAN: usize = 1;
/// and dirty ones, each in the order of the list.
const DIRTY: usize = 2;

/// Least recently used, except that the last clean page within a window at the end of the
/// list is evicted before a dirty one, because flash writes slower than it reads (Park et
/// al., CFLRU: A Replacement Algorithm for Flash Memory, CASES 2006).
#[derive(Clone, Debug)]
pub struct Cflru {
    lists: Lists,
    frames: Frames,
    working_max: u32,
    /// Pages that have entered the window so far.
    entered: u64,
    /// By page: what that was when it entered.
    entered_at: Box<[u64]>,
}

impl Cflru {
    /// An empty buffer for the pages below `pages`, with a window of so many pages; a
    /// window longer than the buffer is all of it, one of 0 makes it LRU.
    pub fn new(pages: u32, frames: Frames, window: u32) -> Self {
        Self {
            lists: Lists::new(pages),
            frames,
            working_max: frames.get().saturating_sub(window),
            entered: 0,
            entered_at: vec![0; pages as usize].into(),
        }
    }

    #[inline]
    fn push(&mut self, page: Page) {
        self.lists.push_front(WORKING, page);
        if self.lists.len(WORKING) > self.working_max {
            let page = self.lists.back(WORKING).expect("the list is too long");
            self.lists.remove(page);
            self.entered += 1;
            self.entered_at[page.index()] = self.entered;
            let is_dirty = self.lists.state(page).is_dirty();
            self.lists
                .push_front(if is_dirty { DIRTY } else { CLEAN }, page);
        }
    }
}

impl ListPolicy for Cflru {
    lists!();

    #[inline]
    fn hit(&mut self, page: Page, _list: usize) {
        self.lists.remove(page);
        self.push(page);
    }

    #[inline]
    fn miss(&mut self, page: Page, _list: Option<usize>) -> Option<Evicted> {
        let order = [CLEAN, DIRTY, WORKING];
        let evicted = self.lists.evict_when_full(order, self.frames);
        self.push(page);
        evicted
    }

    /// Takes as long as the window has clean pages that entered before this one.
    fn cleaned(&mut self, page: Page, list: usize) {
        if list != DIRTY {
            return;
        }
        self.lists.remove(page);
        let entered = self.entered_at[page.index()];
        let mut place = self.lists.back(CLEAN);
        while let Some(other) = place
            && self.entered_at[other.index()] < entered
        {
            place = self.lists.before(other);
        }
        match place {
            Some(other) => self.lists.push_behind(other, page),
            None => self.lists.push_front(CLEAN, page),
        }
    }

    fn extended(&mut self, pages: u32) {
        extend(&mut self.entered_at, pages, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        by_hand::{Step, check, step},
        policy::Policy,
    };

    use Step::{Evicts as E, Free as F, Hit as H, Writes as W};

    #[test]
    fn by_hand() {
        // Four frames, a window of three, 1 and 2 dirty. Of 4321 page 3 is the last
        // clean one in the window; of 5421 page 4, of 6521 page 5.
        let steps = [
            (-1, F),
            (-2, F),
            (3, F),
            (4, F),
            (5, E(3)),
            (6, E(4)),
            (7, E(5)),
            (-6, H),
            // 6721, 6 dirty: 7 is the only clean one. Then none is in 862; then 9 is.
            (-8, E(7)),
            (9, W(1)),
            (2, H),
            (10, E(9)),
            (11, W(6)),
        ];
        check(|pages, frames| Cflru::new(pages, frames, 3), 4, &steps);
    }

    #[test]
    fn a_cleaned_page_takes_its_place_by_hand() {
        let mut policy = Cflru::new(20, Frames::new(5).unwrap(), 5);
        for page in [1, -2, 3, -4, 5] {
            assert_eq!(step(&mut policy, page), F);
        }
        assert!(policy.clean(Page::new(4)) && policy.clean(Page::new(2)));
        assert!(!policy.clean(Page::new(2)));
        let evicted = [11, 12, 13, 14, 15].map(|page| step(&mut policy, page));
        assert_eq!(evicted, [E(1), E(2), E(3), E(4), E(5)]);
    }
}
