//! Least recently used.

use crate::{
    list::{ListPolicy, Lists, lists},
    policy::{Evicted, Frames},
    trace::Page,
};

const ALL: usize = 0;

/// Evicts the page whose last reference is the longest ago.
#[derive(Clone, Debug)]
pub struct Lru {
    lists: Lists,
    frames: Frames,
}

impl Lru {
    /// An empty buffer for the pages below `pages`.
    pub fn new(pages: u32, frames: Frames) -> Self {
        Self {
            lists: Lists::new(pages),
            frames,
        }
    }
}

impl ListPolicy for Lru {
    lists!();

    #[inline]
    fn hit(&mut self, page: Page, _list: usize) {
        self.lists.move_to_front(ALL, page);
    }

    #[inline]
    fn miss(&mut self, page: Page, _list: Option<usize>) -> Option<Evicted> {
        let evicted = self.lists.evict_when_full([ALL], self.frames);
        self.lists.push_front(ALL, page);
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
        // Three frames, the most recent page first: 1; 21; 321; 132; 4 takes the
        // frame of 2: 413; 2 that of 3: 241; 3 that of 1.
        let steps = [
            (1, F),
            (-2, F),
            (3, F),
            (1, H),
            (4, W(2)),
            (-1, H),
            (2, E(3)),
            (3, E(4)),
            (5, W(1)),
        ];
        check(Lru::new, 3, &steps);
    }
}
