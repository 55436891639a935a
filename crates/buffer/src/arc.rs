//! ARC.

use crate::{
    list::{ListPolicy, Lists, lists},
    policy::{Evicted, Frames},
    trace::Page,
};

/// Pages seen once, in the buffer (T1).
const ONCE: usize = 0;
/// Pages seen again, in the buffer (T2).
const AGAIN: usize = 1;
/// Remembered pages that were seen once (B1).
const ONCE_GONE: usize = 2;
/// Remembered pages that were seen again (B2).
const AGAIN_GONE: usize = 3;

/// Two lists, of pages seen once and of pages seen again, whose shares follow which of
/// the two should have been longer (Megiddo and Modha, ARC: A Self-Tuning, Low Overhead
/// Replacement Cache, FAST 2003, figure 4).
#[derive(Clone, Debug)]
pub struct Arc {
    lists: Lists,
    frames: Frames,
    /// How long the list of pages seen once should be.
    once_wanted: f64,
}

impl Arc {
    /// An empty buffer for the pages below `pages`.
    pub fn new(pages: u32, frames: Frames) -> Self {
        Self {
            lists: Lists::new(pages),
            frames,
            once_wanted: 0.0,
        }
    }

    /// REPLACE of the paper: a page leaves the buffer, and is remembered.
    #[inline]
    fn replace(&mut self, was_again: bool) -> Option<Evicted> {
        let once = f64::from(self.lists.len(ONCE));
        let is_long = once > self.once_wanted || was_again && once == self.once_wanted;
        let (from, to) = match once > 0.0 && is_long {
            true => (ONCE, ONCE_GONE),
            false => (AGAIN, AGAIN_GONE),
        };
        let page = self.lists.back(from)?;
        let evicted = self.lists.evict(page);
        self.lists.push_front(to, page);
        Some(evicted)
    }

    #[inline]
    fn forget(&mut self, list: usize) {
        if let Some(page) = self.lists.back(list) {
            self.lists.remove(page);
        }
    }

    /// Room for a page that is not remembered: case IV of the paper.
    #[inline]
    fn make_room(&mut self) -> Option<Evicted> {
        let [once, again, once_gone, again_gone] =
            [ONCE, AGAIN, ONCE_GONE, AGAIN_GONE].map(|list| self.lists.len(list));
        let frames = self.frames.get();
        if once + once_gone == frames {
            if once == frames {
                let page = self.lists.back(ONCE)?;
                return Some(self.lists.evict(page));
            }
            self.forget(ONCE_GONE);
            return self.replace(false);
        }
        let all = u64::from(once) + u64::from(again) + u64::from(once_gone) + u64::from(again_gone);
        if all < u64::from(frames) {
            return None;
        }
        if all == 2 * u64::from(frames) {
            self.forget(AGAIN_GONE);
        }
        self.replace(false)
    }

    /// A remembered page is wanted again: cases II and III.
    #[inline]
    fn remember(&mut self, page: Page, was_again: bool) -> Option<Evicted> {
        let once_gone = f64::from(self.lists.len(ONCE_GONE));
        let again_gone = f64::from(self.lists.len(AGAIN_GONE));
        self.once_wanted = match was_again {
            false => {
                let more = (again_gone / once_gone).max(1.0);
                (self.once_wanted + more).min(f64::from(self.frames.get()))
            }
            true => {
                let less = (once_gone / again_gone).max(1.0);
                (self.once_wanted - less).max(0.0)
            }
        };
        let evicted = self.replace(was_again);
        self.lists.move_to_front(AGAIN, page);
        evicted
    }
}

impl ListPolicy for Arc {
    const REMEMBERED: usize = ONCE_GONE;

    lists!();

    #[inline]
    fn hit(&mut self, page: Page, _list: usize) {
        self.lists.move_to_front(AGAIN, page);
    }

    #[inline]
    fn miss(&mut self, page: Page, list: Option<usize>) -> Option<Evicted> {
        if let Some(list) = list {
            return self.remember(page, list == AGAIN_GONE);
        }
        let evicted = self.make_room();
        self.lists.push_front(ONCE, page);
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
        // Three frames. Seen once | again, remembered once | again, wanted:
        let steps = [
            (1, F),    // 1 |
            (-2, F),   // 21 |
            (1, H),    // 2 | 1
            (3, F),    // 32 | 1
            (4, W(2)), // 43 | 1, 2 |
            (5, E(3)), // 54 | 1: one seen once is forgotten, 2, before 3 is remembered
            (3, E(4)), // 5 | 31, 4 |, 1 wanted
            (3, H),    // stays in front
            (6, E(1)), // 65 | 3, 4 | 1: one seen once is as many as wanted
            (1, E(5)), // 6 | 13, 54 |, 0 wanted: 2 remembered against 1 are 2 less
            (6, H),    // | 613
            (7, E(3)), // 7 | 61, 5 4 | 3
        ];
        check(Arc::new, 3, &steps);
    }
}
