//! Oracle's touch counts.

use octavo_units::{Moment, prefetch};

use crate::{
    list::{ListPolicy, Lists, State, extend, lists},
    policy::{Evicted, Frames},
    trace::Page,
};

const HOT: usize = 0;
const COLD: usize = 1;
/// The end of the cold part. Its changed pages are written before their frames are needed.
const TAIL: usize = 2;

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
    /// The percent of the list, at its cold end, where the database writer writes changed
    /// pages that have not become hot. At most what is not hot. 0: pages are written when
    /// they are evicted.
    pub written_share: u32,
}

impl TouchRule {
    /// The defaults of Oracle 8i and later: `_db_percent_hot_default` 50,
    /// `_db_aging_hot_criteria` 2, `_db_aging_cool_count` 1, `_db_aging_stay_count` 0,
    /// `_db_aging_touch_time` 3 s (Shallahamer, All About Oracle's Touch Count Data
    /// Block Buffer Cache Algorithm, 2004). The database writer is left out.
    pub const ORACLE: Self = Self {
        hot_share: 50,
        hot_touches: 2,
        cool_touches: 1,
        stay_touches: 0,
        touch_time: 3_000_000_000,
        written_share: 0,
    };

    /// The same, with a database writer ahead of evictions. Oracle 8.0.3 with 200 buffers has
    /// it look at 13 (`kcbsdl`) to 50 (`kcbsdh`) of them for changed ones (Gopalakrishnan and
    /// Reddy, "DBWR Mystery", Oracle-L, 31 August and 7 September 2000). Assumed: the same
    /// share at any size and in later versions, and the least, as for a writer that keeps up.
    pub const ORACLE_WRITING: Self = Self {
        written_share: 6,
        ..Self::ORACLE
    };
}

/// Counts touches, at most one in three seconds, and moves nothing before a frame is
/// wanted: then pages at the cold end that were touched twice go to the hot end, until one
/// comes that was not; that is evicted. New pages enter in the middle.
/// [`Policy::advance`](crate::Policy::advance) sets the time.
#[derive(Clone, Debug)]
pub struct TouchCount {
    lists: Lists,
    frames: Frames,
    rule: TouchRule,
    hot_max: u32,
    tail_max: u32,
    /// Pages that were written ahead, until they are taken.
    written: Vec<Page>,
    written_count: u64,
    now: Moment,
    /// By page: when a touch of it was counted last.
    touched: Box<[Moment]>,
}

impl TouchCount {
    /// An empty buffer for the pages below `pages`.
    ///
    /// # Panics
    /// When the hot and written shares are above 100%, a count above 15, or a page that
    /// becomes hot keeps as many touches as make it hot: then none could be evicted.
    pub fn new(pages: u32, frames: Frames, rule: TouchRule) -> Self {
        assert!(rule.hot_share <= 100 && rule.written_share <= 100 - rule.hot_share);
        assert!(rule.stay_touches < rule.hot_touches);
        assert!(rule.hot_touches.max(rule.cool_touches) <= State::COUNT_MAX);
        Self {
            lists: Lists::new(pages),
            frames,
            rule,
            hot_max: frames.share(rule.hot_share, 100),
            tail_max: frames.share(rule.written_share, 100),
            written: Vec::new(),
            written_count: 0,
            now: Moment::START,
            touched: vec![Moment::START; pages as usize].into(),
        }
    }

    /// Has the writer go on, before a page is evicted: fills the tail to its share, or until
    /// two pages are written, so that not all of a tail is written at once.
    fn write_ahead(&mut self) {
        let mut left = 2;
        while left > 0
            && self.lists.len(TAIL) < self.tail_max
            && let Some(page) = self.lists.back(COLD)
        {
            self.lists.move_to_front(TAIL, page);
            // Those that become hot again are not cold, though they are here.
            let is_cold = self.lists.state(page).count() < self.rule.hot_touches;
            if is_cold && self.lists.clean(page) {
                self.written.push(page);
                self.written_count += 1;
                left -= 1;
            }
        }
    }

    fn evict(&mut self) -> Option<Evicted> {
        let held = [HOT, COLD, TAIL].map(|list| self.lists.len(list));
        if held.iter().sum::<u32>() < self.frames.get() {
            return None;
        }
        self.write_ahead();
        // Each page that becomes hot loses its touches: the second time around one is
        // found, even where all are hot.
        loop {
            let coldest = [TAIL, COLD, HOT].into_iter();
            let page = coldest.filter_map(|list| self.lists.back(list)).next()?;
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

impl ListPolicy for TouchCount {
    const MOVES: bool = false;

    lists!();

    #[inline]
    fn hit(&mut self, page: Page, _list: usize) {
        let touched = &mut self.touched[page.index()];
        if self.now.since(*touched) >= self.rule.touch_time {
            *touched = self.now;
            let count = self.lists.state(page).count() + 1;
            self.lists.set_count(page, count.min(State::COUNT_MAX));
        }
    }

    #[inline]
    fn miss(&mut self, page: Page, _list: Option<usize>) -> Option<Evicted> {
        self.touched[page.index()] = self.now;
        let evicted = self.evict();
        self.lists.push_front(COLD, page);
        self.lists.set_count(page, 1);
        evicted
    }

    #[inline]
    fn expect_more(&self, page: Page) {
        prefetch(&self.touched, page.index());
    }

    fn extended(&mut self, pages: u32) {
        extend(&mut self.touched, pages, Moment::START);
    }

    fn set_time(&mut self, now: Moment) {
        self.now = now;
    }

    fn next_written(&mut self) -> Option<Page> {
        self.written.pop()
    }

    fn spills(&self) -> u64 {
        self.written_count
    }
}

#[cfg(test)]
mod tests {
    use octavo_units::Seed;
    use rand::RngExt;

    use super::*;
    use crate::{
        by_hand::{Step, step},
        policy::Policy,
    };

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

    #[test]
    fn the_coldest_quarter_is_written_ahead_by_hand() {
        let rule = TouchRule {
            written_share: 25,
            ..TouchRule::ORACLE
        };
        let mut policy = TouchCount::new(100, Frames::new(8).unwrap(), rule);
        for page in 1..=8 {
            assert_eq!(step(&mut policy, -page), F);
        }
        // Two of eight are a quarter: 1 and 2 are written once the first frame is wanted, and
        // 1 leaves it clean.
        assert_eq!(policy.take_written(), None);
        assert_eq!(step(&mut policy, 9), E(1));
        let written: Vec<_> = std::iter::from_fn(|| policy.take_written()).collect();
        assert_eq!(written, [2, 1].map(Page::new));
        // 2 is changed again, at once, and is evicted with that; 3 was written meanwhile.
        assert_eq!(step(&mut policy, -2), H);
        assert_eq!(step(&mut policy, 10), W(2));
        assert_eq!(policy.take_written(), Some(Page::new(3)));
        // 4 was touched twice: it is not written, and stays.
        policy.advance(Moment::nanoseconds(TouchRule::ORACLE.touch_time));
        assert_eq!(step(&mut policy, -4), H);
        assert_eq!(step(&mut policy, 11), E(3));
        assert_eq!((policy.take_written(), policy.spilled()), (None, 3));
        assert_eq!(step(&mut policy, 12), E(5));
        assert_eq!(policy.take_written(), Some(Page::new(5)));
    }

    #[test]
    fn who_leaves_does_not_hang_on_what_is_written() {
        let mut generator = Seed::new(1).generator();
        let mut policies = [0, 6, 50].map(|written_share| {
            let rule = TouchRule {
                written_share,
                ..TouchRule::ORACLE
            };
            TouchCount::new(100, Frames::new(16).unwrap(), rule)
        });
        for turn in 1..4_000_u64 {
            let number: i32 = generator.random_range(0..60);
            let page = 1 + number / (1 + (turn % 7) as i32);
            let page = if turn % 3 == 0 { -page } else { page };
            let left = policies.each_mut().map(|policy| {
                policy.advance(Moment::nanoseconds(turn * 400_000_000));
                match step(policy, page) {
                    W(page) | E(page) => Some(page),
                    _ => None,
                }
            });
            assert_eq!([left[0]; 3], left, "turn {turn}");
        }
    }
}
