//! S3-FIFO.

use crate::{
    list::{ListPolicy, Lists, lists},
    policy::{Evicted, Frames},
    trace::Page,
};

const SMALL: usize = 0;
const MAIN: usize = 1;
/// Pages that left the small queue, and are remembered only.
const GHOST: usize = 2;

/// Uses of a page count up to this.
const USES_MAX: u8 = 3;
/// With so many a page goes from the small queue to the main one.
const USES_TO_MAIN: u8 = 2;

/// Three queues: new pages enter a small one, and get into the main one if they are used
/// twice there, or come back soon after they have left (Yang et al., FIFO queues are all
/// you need for cache eviction, SOSP 2023). Where the paper is silent, this does what its
/// authors' program did in 2024 (`S3FIFO.c` of libCacheSim at aa0fc40).
#[derive(Clone, Debug)]
pub struct S3Fifo {
    lists: Lists,
    frames: Frames,
    /// As many as the main queue may have are remembered.
    main_max: u32,
}

impl S3Fifo {
    /// An empty buffer for the pages below `pages`: a tenth of it is the small queue,
    /// and as many pages are remembered as the main one has.
    pub fn new(pages: u32, frames: Frames) -> Self {
        let small = frames.share(1, 10).max(1);
        Self {
            lists: Lists::new(pages),
            frames,
            main_max: frames.get() - small,
        }
    }

    #[inline]
    fn make_room(&mut self) -> Option<Evicted> {
        let mut evicted = None;
        // The small queue may end without an eviction, when all of it moves.
        while evicted.is_none() && self.lists.len(SMALL) + self.lists.len(MAIN) >= self.frames.get()
        {
            let is_main_long = self.lists.len(MAIN) > self.main_max;
            evicted = match is_main_long || self.lists.len(SMALL) == 0 {
                true => self.evict_main(),
                false => self.evict_small(),
            };
        }
        evicted
    }

    #[inline]
    fn evict_small(&mut self) -> Option<Evicted> {
        while let Some(page) = self.lists.back(SMALL) {
            if self.lists.state(page).count() >= USES_TO_MAIN {
                self.lists.set_count(page, 0);
                self.lists.move_to_front(MAIN, page);
                continue;
            }
            let evicted = self.lists.evict(page);
            self.lists.push_front(GHOST, page);
            self.lists.shorten(GHOST, self.main_max);
            return Some(evicted);
        }
        None
    }

    #[inline]
    fn evict_main(&mut self) -> Option<Evicted> {
        while let Some(page) = self.lists.back(MAIN) {
            match self.lists.state(page).count() {
                0 => return Some(self.lists.evict(page)),
                uses => {
                    self.lists.set_count(page, uses - 1);
                    self.lists.move_to_front(MAIN, page);
                }
            }
        }
        None
    }
}

impl ListPolicy for S3Fifo {
    const REMEMBERED: usize = GHOST;
    const MOVES: bool = false;

    lists!();

    #[inline]
    fn hit(&mut self, page: Page, _list: usize) {
        let uses = self.lists.state(page).count() + 1;
        self.lists.set_count(page, uses.min(USES_MAX));
    }

    #[inline]
    fn miss(&mut self, page: Page, list: Option<usize>) -> Option<Evicted> {
        if list.is_some() {
            self.lists.remove(page);
        }
        let evicted = self.make_room();
        let queue = if list.is_some() { MAIN } else { SMALL };
        self.lists.push_front(queue, page);
        evicted
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::by_hand::{Step, check};

    #[test]
    fn by_hand() {
        use Step::{Evicts as E, Free as F, Hit as H, Writes as W};
        // Four frames, one of them for new pages: small | main, remembered.
        let steps = [
            (1, F),
            (-2, F),
            (3, F),
            (4, F), // 4321 |
            (1, H),
            (1, H),
            (2, H),
            (5, W(2)), // 1 moves: 543 | 1, 2
            (2, E(3)), // 54 | 21, 3
            (3, E(4)), // 5 | 321, 4
            (4, E(5)), // | 4321, 5
            (1, H),
            (6, E(2)), // main is too long; 1 goes around: 6 | 143
            (4, H),
            (4, H),
            (4, H),
            (4, H),
            (4, H),
            (7, E(6)), // 7 | 143
            (6, E(7)), // | 6143
            (8, E(3)), // 8 | 614
            (9, E(8)), // 9 | 614
            (8, E(9)), // | 8614
            (7, E(1)), // 4 goes around with 2 left of the 3 that count
        ];
        check(S3Fifo::new, 4, &steps);
    }
}
