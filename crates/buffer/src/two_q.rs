//! 2Q.

use crate::{
    list::{ListPolicy, Lists, lists},
    policy::{Evicted, Frames},
    trace::Page,
};

/// Pages seen once, in the buffer.
const IN: usize = 0;
/// Pages seen again.
const MAIN: usize = 1;
/// Pages seen once, that are remembered only.
const OUT: usize = 2;

/// A queue for pages seen once, and a list of those that come back after they have left
/// it (Johnson and Shasha, 2Q: A Low Overhead High Performance Buffer Management
/// Replacement Algorithm, VLDB 1994, the full version).
///
/// A page that comes back leaves the remembered ones before another one is added there.
#[derive(Clone, Debug)]
pub struct TwoQ {
    lists: Lists,
    frames: Frames,
    in_max: u32,
    out_max: u32,
}

impl TwoQ {
    /// An empty buffer for the pages below `pages`, with the shares that the paper
    /// recommends: a quarter for pages seen once, and as many remembered as half of the
    /// buffer has.
    pub fn new(pages: u32, frames: Frames) -> Self {
        Self {
            lists: Lists::new(pages),
            frames,
            in_max: frames.share(1, 4).max(1),
            out_max: frames.share(1, 2).max(1),
        }
    }

    #[inline]
    fn make_room(&mut self) -> Option<Evicted> {
        let once = self.lists.len(IN);
        let again = self.lists.len(MAIN);
        if once + again < self.frames.get() {
            return None;
        }
        if once <= self.in_max && again > 0 {
            let page = self.lists.back(MAIN)?;
            return Some(self.lists.evict(page));
        }
        let page = self.lists.back(IN)?;
        let evicted = self.lists.evict(page);
        self.lists.push_front(OUT, page);
        self.lists.shorten(OUT, self.out_max);
        Some(evicted)
    }
}

impl ListPolicy for TwoQ {
    const REMEMBERED: usize = OUT;

    lists!();

    #[inline]
    fn hit(&mut self, page: Page, list: usize) {
        if list == MAIN {
            self.lists.move_to_front(MAIN, page);
        }
    }

    #[inline]
    fn miss(&mut self, page: Page, list: Option<usize>) -> Option<Evicted> {
        if list.is_some() {
            self.lists.remove(page);
        }
        let evicted = self.make_room();
        let list = if list.is_some() { MAIN } else { IN };
        self.lists.push_front(list, page);
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
        // Four frames: one for pages seen once, two remembered. In, out and main:
        let steps = [
            (1, F),    // 1
            (-2, F),   // 21
            (3, F),    // 321
            (4, F),    // 4321
            (1, H),    // stays
            (5, E(1)), // 5432, 1
            (6, W(2)), // 6543, 21
            (1, E(3)), // 654, 32, 1
            (7, E(4)), // 765, 43, 1
            (2, E(5)), // 76, 54, 21: 2 was forgotten, so it is seen once: 276, 54, 1
            (1, H),
            (4, E(6)), // 27, 65, 41
            (6, E(7)), // 2, 75, 641
            (8, E(1)), // 82, 75, 64: one seen once is no more than its share
        ];
        check(TwoQ::new, 4, &steps);
    }
}
