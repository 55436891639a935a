//! InnoDB's list: new pages enter in its middle.

use std::collections::{HashMap, VecDeque};

use octavo_units::{Moment, prefetch};

use crate::{
    list::{ListPolicy, Lists, extend, lists},
    policy::{Evicted, Frames},
    trace::Page,
};

const YOUNG: usize = 0;
const OLD: usize = 1;

/// How InnoDB keeps its list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MidpointRule {
    /// The share of the list that is old, in 1/1024.
    pub old_share: u32,
    /// Nanoseconds for which a page stays old after its first reference.
    pub old_time: u64,
    /// A shorter list is all young.
    pub length_min: u32,
}

impl MidpointRule {
    /// The defaults of MySQL and MariaDB: `innodb_old_blocks_pct = 37` (378 of 1024),
    /// `innodb_old_blocks_time = 1000` milliseconds, and `BUF_LRU_OLD_MIN_LEN` of
    /// `buf0lru.h`.
    pub const INNODB: Self = Self {
        old_share: 37 * 1024 / 100,
        old_time: 1_000_000_000,
        length_min: 512,
    };
    /// How far the old part may be from its share (`BUF_LRU_OLD_TOLERANCE`).
    const TOLERANCE: u32 = 20;
    /// Pages that are young in any list (`BUF_LRU_NON_OLD_MIN_LEN`).
    const YOUNG_MIN: u32 = 5;

    /// How long the old part of a list should be (`buf_LRU_old_adjust_len`).
    fn old_length(self, length: u32) -> u32 {
        let share = u64::from(length) * u64::from(self.old_share) / 1024;
        (share as u32).min(length.saturating_sub(Self::TOLERANCE + Self::YOUNG_MIN))
    }
}

/// Least recently used, where a new page begins at 5/8 of the list and comes to its front
/// only if it is still used after a second (`buf0lru.cc`, `buf_page_peek_if_too_old`).
///
/// Among the young, a page moves once it is no longer in the first quarter: by the
/// evictions since it came to the front. Before the first eviction none moves. Time is
/// what [`Policy::advance`](crate::Policy::advance) says.
#[derive(Clone, Debug)]
pub struct MidpointLru {
    lists: Lists,
    frames: Frames,
    rule: MidpointRule,
    now: Moment,
    /// By page: when it was first referenced since it was read.
    first_used: Box<[Moment]>,
    /// By page: evictions until it came to the front, 0 if it never did.
    came_at: Box<[u32]>,
    evictions: u32,
    /// Whether there was any.
    has_evicted: bool,
    /// Evictions after which a page at the front has left the first quarter.
    quarter: u32,
    /// Reads that others begin while one is under way.
    reads_beside: u32,
    /// Misses so far.
    misses: u64,
    /// Pages whose reads have not ended, in the order in which they began, and the misses with which
    /// each ends.
    reads_under_way: VecDeque<(u64, Page)>,
    /// By page: the misses with which its read ends.
    read_by: HashMap<Page, u64>,
}

/// In place of the evictions in `came_at`: the page is still being read. (After as many evictions a
/// page of the front would be taken for one; it is used without a move then.)
const UNDER_READ: u32 = u32::MAX;

impl MidpointLru {
    /// An empty buffer for the pages below `pages`.
    ///
    /// # Panics
    /// When more than the whole list is to be old.
    pub fn new(pages: u32, frames: Frames, rule: MidpointRule) -> Self {
        assert!(rule.old_share <= 1024);
        Self {
            lists: Lists::new(pages),
            frames,
            rule,
            now: Moment::START,
            first_used: vec![Moment::START; pages as usize].into(),
            came_at: vec![0; pages as usize].into(),
            evictions: 0,
            has_evicted: false,
            quarter: frames.share(1024 - rule.old_share, 4 * 1024),
            reads_beside: 0,
            misses: 0,
            reads_under_way: VecDeque::new(),
            read_by: HashMap::new(),
        }
    }

    /// Sets how many other reads begin before one ends. A page enters the list when its read begins
    /// (`buf_page_init_for_read`), and is first used when it ends. What enters behind the first old
    /// page meanwhile may push it into the young part: then its first use moves it to the front.
    pub fn set_reads_beside(&mut self, reads: u32) {
        self.reads_beside = reads;
    }

    /// A page is made, which had no content before: it is young (`buf_page_create`).
    pub fn create(&mut self, page: Page) {
        if self.lists.state(page).list().is_none() {
            self.evict();
            self.first_used[page.index()] = self.now;
            self.push_first(page);
        }
        self.lists.change(page, true);
    }

    /// Frames that hold no page.
    pub fn free(&self) -> u32 {
        self.frames.get().saturating_sub(self.length())
    }

    /// Whether a page is in the buffer and was changed since it was last written.
    pub fn is_dirty(&self, page: Page) -> bool {
        self.lists.state(page).is_dirty()
    }

    /// What the page cleaner does to have so many frames free
    /// (`buf_flush_LRU_list_batch`): from the end of the list on, pages that are clean
    /// lose their frames, and those that are dirty are handed to `write`, at most
    /// `writes_max` of them. These are clean from then on, and keep their frames until
    /// the next time. Answers how many pages lost their frames or were handed over.
    pub fn make_room(
        &mut self,
        free: u32,
        writes_max: u32,
        mut write: impl FnMut(&mut Self, Page),
    ) -> u32 {
        let mut done = 0;
        let mut written = 0;
        let last = self.lists.back(OLD).or_else(|| self.lists.back(YOUNG));
        let mut next = last;
        while let Some(page) = next
            && self.free() < free
        {
            // What is evicted does not change who is before it, whichever list that is
            // in by then.
            next = self
                .lists
                .before(page)
                .or_else(|| match self.lists.state(page).list() {
                    Some(OLD) => self.lists.back(YOUNG),
                    _ => None,
                });
            if self.is_dirty(page) {
                if written == writes_max {
                    break;
                }
                written += 1;
                self.lists.clean(page);
                write(self, page);
            } else {
                self.evictions = self.evictions.wrapping_add(1);
                self.has_evicted = true;
                self.leave_middle(page);
                self.lists.evict(page);
                self.settle();
            }
            done += 1;
        }
        done
    }

    fn length(&self) -> u32 {
        self.lists.len(YOUNG) + self.lists.len(OLD)
    }

    /// Whether a page that is referenced comes to the front.
    #[inline]
    fn moves(&self, page: Page, is_old: bool) -> bool {
        if !self.has_evicted {
            return false;
        }
        if is_old && self.rule.old_time > 0 {
            return self.now.since(self.first_used[page.index()]) >= self.rule.old_time;
        }
        self.evictions.wrapping_sub(self.came_at[page.index()]) >= self.quarter
    }

    /// Moves a page that is referenced to the front, if it is to move
    /// (`buf_page_make_young_if_needed`).
    #[inline]
    fn make_young(&mut self, page: Page, is_old: bool) {
        if self.moves(page, is_old) {
            self.leave_middle(page);
            self.lists.remove(page);
            self.push_first(page);
        }
    }

    #[inline]
    fn evict(&mut self) -> Option<Evicted> {
        if self.length() < self.frames.get() {
            return None;
        }
        let page = self.lists.back(OLD).or_else(|| self.lists.back(YOUNG))?;
        self.evictions = self.evictions.wrapping_add(1);
        self.has_evicted = true;
        self.leave_middle(page);
        let evicted = self.lists.evict(page);
        self.settle();
        Some(evicted)
    }

    /// Before a page leaves its place: when it is the first old one, the last young one
    /// becomes that (`buf_LRU_remove_block`).
    #[inline]
    fn leave_middle(&mut self, page: Page) {
        if self.lists.front(OLD) == Some(page)
            && let Some(last) = self.lists.back(YOUNG)
        {
            self.lists.move_to_front(OLD, last);
        }
    }

    /// Uses the pages whose reads have ended.
    #[inline]
    fn finish_reads(&mut self) {
        while let Some((end, page)) = self.reads_under_way.front().copied()
            && end <= self.misses
        {
            self.reads_under_way.pop_front();
            // It may have left, and come again with another read.
            if self.read_by.get(&page) != Some(&end) {
                continue;
            }
            self.read_by.remove(&page);
            let place = page.index();
            if self.came_at[place] == UNDER_READ
                && let Some(list) = self.lists.state(page).list()
            {
                self.came_at[place] = 0;
                // The second that an old page has to wait begins now (`set_accessed`).
                self.first_used[place] = self.now;
                self.make_young(page, list == OLD);
            }
        }
    }

    /// Puts a page at the front of all.
    #[inline]
    fn push_first(&mut self, page: Page) {
        self.lists.push_front(YOUNG, page);
        self.came_at[page.index()] = self.evictions;
        self.settle();
    }

    /// Puts a page behind the first old one.
    #[inline]
    fn push_middle(&mut self, page: Page) {
        match self.lists.front(OLD) {
            Some(first) => self.lists.push_behind(first, page),
            None => self.lists.push_front(OLD, page),
        }
        // As `buf_page_t::init` has it: only what comes to the front notes when.
        self.came_at[page.index()] = 0;
        self.settle();
    }

    /// Moves the middle where it belongs, after the list has changed.
    #[inline]
    fn settle(&mut self) {
        let length = self.length();
        if length < self.rule.length_min {
            while let Some(page) = self.lists.front(OLD) {
                self.lists.remove(page);
                self.lists.push_back(YOUNG, page);
            }
            return;
        }
        let wanted = self.rule.old_length(length);
        let longest = wanted + MidpointRule::TOLERANCE;
        let old = self.lists.len(OLD);
        let shortest = match old {
            // A list that has just become long enough begins with all of it old.
            0 => longest,
            _ => wanted.saturating_sub(MidpointRule::TOLERANCE),
        };
        for _ in old..shortest {
            let Some(page) = self.lists.back(YOUNG) else {
                return;
            };
            self.lists.move_to_front(OLD, page);
        }
        for _ in longest..old {
            let Some(page) = self.lists.front(OLD) else {
                return;
            };
            self.lists.remove(page);
            self.lists.push_back(YOUNG, page);
        }
    }
}

impl ListPolicy for MidpointLru {
    lists!();

    #[inline]
    fn hit(&mut self, page: Page, list: usize) {
        // Who wants what is being read waits, and all use it together.
        if self.came_at[page.index()] != UNDER_READ {
            self.make_young(page, list == OLD);
        }
    }

    #[inline]
    fn miss(&mut self, page: Page, _list: Option<usize>) -> Option<Evicted> {
        let evicted = self.evict();
        self.first_used[page.index()] = self.now;
        match self.length() < self.rule.length_min {
            true => self.push_first(page),
            false => {
                self.push_middle(page);
                self.came_at[page.index()] = UNDER_READ;
                let end = self.misses + 1 + u64::from(self.reads_beside);
                self.reads_under_way.push_back((end, page));
                self.read_by.insert(page, end);
            }
        }
        self.misses += 1;
        self.finish_reads();
        evicted
    }

    #[inline]
    fn expect_more(&self, page: Page) {
        prefetch(&self.came_at, page.index());
        prefetch(&self.first_used, page.index());
    }

    fn extended(&mut self, pages: u32) {
        extend(&mut self.first_used, pages, Moment::START);
        extend(&mut self.came_at, pages, 0);
    }

    fn set_time(&mut self, now: Moment) {
        self.now = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        by_hand::{Step, step},
        policy::Policy,
    };

    use Step::{Evicts as E, Free as F, Hit as H};

    const LENGTH: u32 = 600;

    /// A full buffer of 600 frames: pages 1 to 600, the last one first.
    fn full(old_time: u64) -> MidpointLru {
        let rule = MidpointRule {
            old_time,
            ..MidpointRule::INNODB
        };
        let mut policy = MidpointLru::new(2000, Frames::new(LENGTH).unwrap(), rule);
        for page in 1..=LENGTH as i32 {
            assert_eq!(step(&mut policy, page), F);
        }
        policy
    }

    #[test]
    fn the_old_part_keeps_its_share() {
        // 378 of 1024 of 512 pages are 189, and it begins 20 longer. The next 88 pages
        // enter there, where 221 are wanted of 600: 241 at most.
        let policy = full(0);
        assert_eq!(MidpointRule::INNODB.old_length(512), 189);
        assert_eq!(MidpointRule::INNODB.old_length(600), 221);
        assert_eq!(policy.lists.len(OLD), 241);
        assert_eq!(policy.length(), LENGTH);
    }

    #[test]
    fn a_scan_passes_through_the_old_part_only() {
        let mut policy = full(MidpointRule::INNODB.old_time);
        // The first 512 pages are in the order of their reading, the last 209 of these
        // old; 513 to 600 came behind the first of them.
        for page in 1..=100 {
            assert_eq!(step(&mut policy, 1000 + page), E(page as u32));
            // Used again at once, it stays where it is.
            assert_eq!(step(&mut policy, 1000 + page), H);
        }
        assert!(policy.lists.len(OLD) <= 221 + MidpointRule::TOLERANCE);
        for page in 300..=512 {
            assert_eq!(step(&mut policy, page), H, "page {page} is young");
        }
    }

    #[test]
    fn what_is_used_after_a_second_becomes_young() {
        let mut policy = full(MidpointRule::INNODB.old_time);
        assert_eq!(step(&mut policy, 2), H);
        assert_eq!(
            policy.lists.back(OLD),
            Some(Page::new(1)),
            "nothing was evicted yet"
        );
        assert_eq!(step(&mut policy, 1000), E(1));
        assert_eq!(step(&mut policy, 2), H);
        assert_eq!(
            policy.lists.back(OLD),
            Some(Page::new(2)),
            "not a second old"
        );
        policy.advance(Moment::nanoseconds(1_000_000_000));
        assert_eq!(step(&mut policy, 2), H);
        assert_eq!(policy.lists.front(YOUNG), Some(Page::new(2)));
        assert_eq!(step(&mut policy, 1001), E(3));
    }

    #[test]
    fn what_comes_beside_other_reads_is_young_when_it_is_first_used() {
        // 200 of 2000 frames are free at once: of 1800 pages 644 are old, 20 fewer than wanted.
        // Behind the next 63 pages they are 20 more, and of 100 further ones 63 become young.
        let came = |reads_beside| {
            let rule = MidpointRule::INNODB;
            let mut policy = MidpointLru::new(4000, Frames::new(2000).unwrap(), rule);
            policy.set_reads_beside(reads_beside);
            for page in 1..=2000 {
                assert_eq!(step(&mut policy, page), F);
            }
            // A page that never came to the front may after 315 evictions.
            policy.make_room(200, 0, |_, _| ());
            for page in 2001..=2200 {
                assert_eq!(step(&mut policy, page), F);
            }
            policy.make_room(200, 0, |_, _| ());
            assert_eq!(policy.lists.len(OLD), 644);
            for page in 2201..=2363 {
                assert_eq!(step(&mut policy, page), F);
            }
            let was_moved = |page: &u32| !matches!(policy.came_at[*page as usize], 0 | UNDER_READ);
            (2201..=2363).filter(was_moved).count()
        };
        // Used when it enters, none is young.
        assert_eq!(came(0), 0);
        // The last seven were not used yet.
        let came = came(7);
        assert!((56..=63).contains(&came), "{came}");
    }

    #[test]
    fn an_old_page_stays_when_its_read_ends() {
        let mut policy = full(MidpointRule::INNODB.old_time);
        policy.set_reads_beside(1);
        let page = Page::new(1000);
        assert_eq!(step(&mut policy, 1000), E(1));
        // Its read takes two seconds.
        policy.advance(Moment::nanoseconds(2_000_000_000));
        assert_eq!(policy.came_at[1000], UNDER_READ);
        assert_eq!(step(&mut policy, 1001), E(2));
        assert_eq!(policy.came_at[1000], 0);
        assert_ne!(policy.lists.front(YOUNG), Some(page), "not a second old");
        policy.advance(Moment::nanoseconds(3_000_000_000));
        assert_eq!(step(&mut policy, 1000), H);
        assert_eq!(policy.lists.front(YOUNG), Some(page));
    }

    #[test]
    fn a_page_that_leaves_while_it_is_read_is_not_used_by_that_read() {
        let mut policy = full(MidpointRule::INNODB.old_time);
        policy.set_reads_beside(3);
        assert_eq!(step(&mut policy, 1000), E(1));
        policy.lists.evict(Page::new(1000));
        assert_eq!(step(&mut policy, 1000), F);
        for page in 1001..=1002 {
            step(&mut policy, page);
            assert_eq!(policy.came_at[1000], UNDER_READ);
        }
        step(&mut policy, 1003);
        assert_eq!(policy.came_at[1000], 0);
    }

    #[test]
    fn room_is_made_by_hand() {
        let mut policy = full(0);
        // Pages 2 and 4 from the end are dirty.
        for page in [2, 4] {
            policy.lists.change(Page::new(page), true);
        }
        let mut written = Vec::new();
        let done = policy.make_room(3, 10, |_, page| written.push(page.number()));
        assert_eq!(
            (done, policy.free()),
            (5, 3),
            "1, 3 and 5 lost their frames"
        );
        assert_eq!(written, [2, 4]);
        assert_eq!(policy.make_room(4, 10, |_, _| panic!("all are clean")), 1);
        assert_eq!(policy.lists.back(OLD), Some(Page::new(4)));
        policy.lists.change(Page::new(4), true);
        assert_eq!(
            policy.make_room(5, 0, |_, _| {}),
            0,
            "nothing may be written"
        );
        policy.extend(3000);
        assert_eq!(step(&mut policy, 2500), F);
    }

    #[test]
    fn a_page_in_the_first_quarter_stays() {
        // 600 * 646 / 4096 = 94 evictions.
        let mut policy = full(0);
        assert_eq!(policy.quarter, 94);
        assert_eq!(step(&mut policy, 1000), E(1));
        policy.evictions = 93;
        assert_eq!(step(&mut policy, 512), H);
        assert_eq!(policy.lists.front(YOUNG), Some(Page::new(512)));
        assert_eq!(step(&mut policy, 400), H);
        assert_eq!(policy.lists.front(YOUNG), Some(Page::new(512)));
        policy.evictions = 94;
        assert_eq!(step(&mut policy, 400), H);
        assert_eq!(policy.lists.front(YOUNG), Some(Page::new(400)));
    }
}
