//! Oracle's touch counts.

use octavo_units::{Moment, prefetch};

use crate::{
    list::{Lists, State},
    policy::{Evicted, Frames, Outcome, Policy},
    trace::{Page, Reference},
};

const HOT: usize = 0;
const COLD: usize = 1;

/// How touches are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TouchRule {
    /// The share of the list that is hot, in percent.
    pub hot_share: u32,
    /// Touches that make a page hot.
    pub hot_touches: u8,
    /// What a page has that falls out of the hot part.
    pub cool_touches: u8,
    /// What a page has that becomes hot.
    pub stay_touches: u8,
    /// Nanoseconds after a touch in which no other one counts.
    pub touch_time: u64,
}

impl TouchRule {
    /// The defaults of Oracle 8i and later: `_db_percent_hot_default` 50,
    /// `_db_aging_hot_criteria` 2, `_db_aging_cool_count` 1, `_db_aging_stay_count` 0,
    /// `_db_aging_touch_time` 3 s (Shallahamer, All About Oracle's Touch Count Data
    /// Block Buffer Cache Algorithm, 2004).
    pub const ORACLE: Self = Self {
        hot_share: 50,
        hot_touches: 2,
        cool_touches: 1,
        stay_touches: 0,
        touch_time: 3_000_000_000,
    };
}

/// Counts touches, at most one in three seconds, and moves nothing before a frame is
/// wanted: then pages at the cold end that were touched twice go to the hot end, until one
/// comes that was not; that is evicted. New pages enter in the middle.
/// [`Self::advance`] sets the time.
#[derive(Clone, Debug)]
pub struct TouchCount {
    lists: Lists<2>,
    frames: Frames,
    rule: TouchRule,
    hot_max: u32,
    now: Moment,
    /// By page: when a touch of it was counted last.
    touched: Box<[Moment]>,
}

impl TouchCount {
    /// An empty buffer for the pages below `pages`.
    ///
    /// # Panics
    /// When the hot share is above 100%, a count above 15, or a page that becomes hot
    /// keeps as many touches as make it hot: then none could be evicted.
    pub fn new(pages: u32, frames: Frames, rule: TouchRule) -> Self {
        assert!(rule.hot_share <= 100 && rule.stay_touches < rule.hot_touches);
        assert!(rule.hot_touches.max(rule.cool_touches) <= State::COUNT_MAX);
        Self {
            lists: Lists::new(pages),
            frames,
            rule,
            hot_max: frames.share(rule.hot_share, 100),
            now: Moment::START,
            touched: vec![Moment::START; pages as usize].into(),
        }
    }

    /// It is this late now.
    pub const fn advance(&mut self, now: Moment) {
        self.now = now;
    }

    /// Has room for the pages below `pages`: the database has grown.
    pub fn extend(&mut self, pages: u32) {
        self.lists.extend(pages);
        let mut touched = std::mem::take(&mut self.touched).into_vec();
        touched.resize(touched.len().max(pages as usize), Moment::START);
        self.touched = touched.into();
    }

    fn evict(&mut self) -> Option<Evicted> {
        if self.lists.len(HOT) + self.lists.len(COLD) < self.frames.get() {
            return None;
        }
        // Each page that becomes hot loses its touches: the second time around one is
        // found, even where all are hot.
        loop {
            let page = self.lists.back(COLD).or_else(|| self.lists.back(HOT))?;
            if self.lists.state(page).count() < self.rule.hot_touches {
                return Some(self.lists.evict(page));
            }
            self.lists.set_count(page, self.rule.stay_touches);
            self.lists.move_to_front(HOT, page);
            if self.lists.len(HOT) > self.hot_max {
                let cool = self.lists.back(HOT).expect("the hot part is too long");
                self.lists.set_count(cool, self.rule.cool_touches);
                self.lists.move_to_front(COLD, cool);
            }
        }
    }
}

impl Policy for TouchCount {
    #[inline]
    fn access(&mut self, reference: Reference) -> Outcome {
        let page = reference.page();
        let state = self.lists.state(page);
        let touched = &mut self.touched[page.index()];
        let outcome = if state.list().is_some() {
            if self.now.since(*touched) >= self.rule.touch_time {
                *touched = self.now;
                let count = (state.count() + 1).min(State::COUNT_MAX);
                self.lists.set_count(page, count);
            }
            Outcome::Hit
        } else {
            *touched = self.now;
            let evicted = self.evict();
            self.lists.push_front(COLD, page);
            self.lists.set_count(page, 1);
            Outcome::Miss(evicted)
        };
        self.lists.change(page, reference.access().is_change());
        outcome
    }

    #[inline]
    fn expect(&self, page: Page) {
        self.lists.expect(page);
        prefetch(&self.touched, page.index());
    }

    fn clean(&mut self, page: Page) -> bool {
        self.lists.clean(page)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::by_hand::{Step, step};

    use Step::{Evicts as E, Free as F, Hit as H, Writes as W};

    fn policy(frames: u32) -> TouchCount {
        TouchCount::new(100, Frames::new(frames).unwrap(), TouchRule::ORACLE)
    }

    #[test]
    fn touches_within_three_seconds_are_one_by_hand() {
        let mut policy = policy(3);
        for (page, expected) in [(1, F), (1, H), (2, F), (3, F), (2, H), (4, E(1))] {
            assert_eq!(step(&mut policy, page), expected, "page {page}");
        }
    }

    #[test]
    fn touched_pages_become_hot_by_hand() {
        let mut policy = policy(4);
        for page in [-1, 2, 3, 4] {
            assert_eq!(step(&mut policy, page), F);
        }
        policy.advance(Moment::nanoseconds(TouchRule::ORACLE.touch_time));
        assert_eq!([1, 2, 3].map(|page| step(&mut policy, page)), [H, H, H]);
        // 1, 2 and 3 go to the hot end; it has room for two, so 1 falls back to the cold
        // part, before 4, which is evicted.
        assert_eq!(step(&mut policy, 5), E(4));
        // 5 came in front of 1, which has one touch again.
        assert_eq!(step(&mut policy, 6), W(1));
        assert_eq!(step(&mut policy, 7), E(5));
        assert_eq!([2, 3].map(|page| step(&mut policy, page)), [H, H]);
    }
}
