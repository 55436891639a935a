//! Least recently used.

use crate::{
    list::Lists,
    policy::{Frames, Outcome, Policy},
    trace::{Page, Reference},
};

const ALL: usize = 0;

/// Evicts the page whose last reference is the longest ago.
#[derive(Clone, Debug)]
pub struct Lru {
    lists: Lists<1>,
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

impl Policy for Lru {
    #[inline]
    fn access(&mut self, reference: Reference) -> Outcome {
        let page = reference.page();
        let outcome = if self.lists.state(page).list().is_some() {
            self.lists.move_to_front(ALL, page);
            Outcome::Hit
        } else {
            let is_full = self.lists.len(ALL) == self.frames.get();
            let oldest = self.lists.back(ALL).filter(|_| is_full);
            let evicted = oldest.map(|page| self.lists.evict(page));
            self.lists.push_front(ALL, page);
            Outcome::Miss(evicted)
        };
        self.lists.change(page, reference.access().is_change());
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

    fn clean(&mut self, page: Page) -> bool {
        self.lists.clean(page)
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
