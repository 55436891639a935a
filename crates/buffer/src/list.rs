//! Lists of pages, linked through one table.

use octavo_units::{Moment, prefetch};

use crate::{
    policy::{Evicted, Frames, Outcome, Policy},
    trace::{Page, Reference},
};

/// Who stands before and behind a page, or at the ends of a list.
#[derive(Clone, Copy, Debug)]
struct Node {
    /// Towards the front.
    before: u32,
    /// Towards the back.
    behind: u32,
}

/// How many lists there are. A policy uses the first of them.
const LISTS: usize = 4;
const _: () = assert!(LISTS < 8, "three bits of a state name the list");

/// Lists of the pages of a trace. A page is in at most one of them, and has a byte of
/// marks for its policy.
///
/// A list is a ring through a node of its own, which stands behind the nodes of all
/// pages: so no link is ever missing.
#[derive(Clone, Debug)]
pub(crate) struct Lists {
    nodes: Box<[Node]>,
    states: Box<[State]>,
    lengths: [u32; LISTS],
    pages: u32,
}

/// What is known of a page, in a byte: its list, whether it is dirty, and a small
/// count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct State(u8);

impl State {
    const DIRTY: u8 = 0x80;
    const LIST: u8 = 0x07;
    const COUNT_SHIFT: u32 = 3;
    /// Counts end here.
    pub(crate) const COUNT_MAX: u8 = 15;

    /// The page's list.
    pub(crate) const fn list(self) -> Option<usize> {
        match self.0 & Self::LIST {
            0 => None,
            list => Some(list as usize - 1),
        }
    }

    pub(crate) const fn is_dirty(self) -> bool {
        self.0 & Self::DIRTY != 0
    }

    pub(crate) const fn count(self) -> u8 {
        self.0 >> Self::COUNT_SHIFT & Self::COUNT_MAX
    }

    const fn in_list(self, list: u8) -> Self {
        Self(self.0 & !Self::LIST | list)
    }
}

impl Lists {
    /// Empty lists for the pages below `pages`.
    pub(crate) fn new(pages: u32) -> Self {
        let mut nodes = vec![
            Node {
                before: 0,
                behind: 0
            };
            pages as usize + LISTS
        ];
        for list in 0..LISTS as u32 {
            let own = pages + list;
            nodes[own as usize] = Node {
                before: own,
                behind: own,
            };
        }
        Self {
            nodes: nodes.into(),
            states: vec![State::default(); pages as usize].into(),
            lengths: [0; LISTS],
            pages,
        }
    }

    /// Makes room for the pages below `pages`, if there is less.
    pub(crate) fn extend(&mut self, pages: u32) {
        if pages <= self.pages {
            return;
        }
        let mut longer = Self::new(pages);
        let count = self.pages as usize;
        longer.nodes[..count].copy_from_slice(&self.nodes[..count]);
        longer.states[..count].copy_from_slice(&self.states);
        longer.lengths = self.lengths;
        for list in 0..LISTS {
            let (own, ends) = (self.own(list), self.nodes[self.own(list) as usize]);
            if ends.behind == own {
                // Empty, or of pages that are only held.
                continue;
            }
            // The ring goes through another node.
            let own = longer.own(list);
            longer.nodes[ends.behind as usize].before = own;
            longer.nodes[ends.before as usize].behind = own;
            longer.nodes[own as usize] = ends;
        }
        *self = longer;
    }

    /// What is known of a page.
    #[inline]
    pub(crate) fn state(&self, page: Page) -> State {
        self.states[page.index()]
    }

    /// The list of a page that has a frame.
    #[inline]
    fn buffered<P: ListPolicy>(&self, page: Page) -> Option<usize> {
        let list = self.state(page).list();
        list.filter(|&list| list < P::REMEMBERED)
    }

    /// How many pages a list has.
    #[inline]
    pub(crate) const fn len(&self, list: usize) -> u32 {
        self.lengths[list]
    }

    /// Its first page.
    #[inline]
    pub(crate) fn front(&self, list: usize) -> Option<Page> {
        self.page(self.nodes[self.own(list) as usize].behind)
    }

    /// Its last page.
    #[inline]
    pub(crate) fn back(&self, list: usize) -> Option<Page> {
        self.page(self.nodes[self.own(list) as usize].before)
    }

    /// Puts a page that is in no list at the front of one.
    #[inline]
    pub(crate) fn push_front(&mut self, list: usize, page: Page) {
        let own = self.own(list);
        let first = self.nodes[own as usize].behind;
        self.link(list, page, own, first);
    }

    /// Puts a page that is in no list at the back of one.
    #[inline]
    pub(crate) fn push_back(&mut self, list: usize, page: Page) {
        let own = self.own(list);
        let last = self.nodes[own as usize].before;
        self.link(list, page, last, own);
    }

    /// Puts a page that is in no list into one in which nobody asks for an order: it counts
    /// there, and its own ring is as long as itself.
    #[inline]
    pub(crate) fn hold(&mut self, list: usize, page: Page) {
        let own = page.number();
        self.enter(list, page);
        self.nodes[page.index()] = Node {
            before: own,
            behind: own,
        };
    }

    /// Puts a page that is in no list behind another one, in that one's list.
    #[inline]
    pub(crate) fn push_behind(&mut self, other: Page, page: Page) {
        let list = self.state(other).list().expect("the other is in a list");
        let behind = self.nodes[other.index()].behind;
        self.link(list, page, other.number(), behind);
    }

    /// The page before another one in its list.
    #[inline]
    pub(crate) fn before(&self, page: Page) -> Option<Page> {
        self.page(self.nodes[page.index()].before)
    }

    /// Takes a page out of the list that it is in; its marks stay.
    #[inline]
    pub(crate) fn remove(&mut self, page: Page) {
        let state = &mut self.states[page.index()];
        let list = state.list().expect("the page is in a list");
        *state = state.in_list(0);
        self.lengths[list] -= 1;
        self.unlink(page);
    }

    /// Takes a page out of the buffer: out of its list, and its marks are gone.
    #[inline]
    pub(crate) fn evict(&mut self, page: Page) -> Evicted {
        // The page before it is often the next one.
        let next = self.nodes[page.index()].before as usize;
        prefetch(&self.nodes, next);
        prefetch(&self.states, next);
        self.remove(page);
        let state = std::mem::take(&mut self.states[page.index()]);
        Evicted {
            page,
            is_dirty: state.is_dirty(),
        }
    }

    /// Evicts the last page of the first of these lists that has one, where all of them
    /// together have as many pages as the buffer has frames.
    #[inline]
    pub(crate) fn evict_when_full<const N: usize>(
        &mut self,
        lists: [usize; N],
        frames: Frames,
    ) -> Option<Evicted> {
        let length: u32 = lists.iter().map(|&list| self.lengths[list]).sum();
        if length < frames.get() {
            return None;
        }
        let page = lists.into_iter().find_map(|list| self.back(list))?;
        Some(self.evict(page))
    }

    /// Moves a page from wherever it is to the front of a list.
    #[inline]
    pub(crate) fn move_to_front(&mut self, list: usize, page: Page) {
        let own = self.own(list);
        if self.nodes[own as usize].behind != page.number() {
            self.remove(page);
            self.push_front(list, page);
        }
    }

    /// Takes the last pages out of a list that is longer than this.
    #[inline]
    pub(crate) fn shorten(&mut self, list: usize, length_max: u32) {
        while self.lengths[list] > length_max
            && let Some(page) = self.back(list)
        {
            self.remove(page);
        }
    }

    /// Marks a page as changed, if it is.
    #[inline]
    pub(crate) fn change(&mut self, page: Page, is_change: bool) {
        self.states[page.index()].0 |= u8::from(is_change) * State::DIRTY;
    }

    /// Takes the mark of a change from a page; answers whether it had one.
    #[inline]
    pub(crate) fn clean(&mut self, page: Page) -> bool {
        let state = &mut self.states[page.index()];
        let was_dirty = state.is_dirty();
        state.0 &= !State::DIRTY;
        was_dirty
    }

    /// Sets a page's count, which is at most [`State::COUNT_MAX`].
    #[inline]
    pub(crate) fn set_count(&mut self, page: Page, count: u8) {
        assert!(count <= State::COUNT_MAX, "a page counts to 15");
        let state = &mut self.states[page.index()];
        state.0 = state.0 & (State::DIRTY | State::LIST) | count << State::COUNT_SHIFT;
    }

    /// Brings what [`Self::state`] reads closer.
    #[inline]
    pub(crate) fn expect(&self, page: Page) {
        prefetch(&self.states, page.index());
        prefetch(&self.nodes, page.index());
    }

    /// Brings a page's neighbors closer, once its own node is near.
    #[inline]
    pub(crate) fn expect_neighbors(&self, page: Page) {
        let node = self.nodes[page.index()];
        prefetch(&self.nodes, node.before as usize);
        prefetch(&self.nodes, node.behind as usize);
    }

    /// The node of a list itself.
    #[inline]
    const fn own(&self, list: usize) -> u32 {
        assert!(list < LISTS);
        self.pages + list as u32
    }

    /// A page, where the node is not a list's own.
    #[inline]
    fn page(&self, node: u32) -> Option<Page> {
        (node < self.pages).then(|| Page::new(node))
    }

    #[inline]
    fn enter(&mut self, list: usize, page: Page) {
        let state = &mut self.states[page.index()];
        debug_assert_eq!(state.list(), None, "{page:?} is in a list");
        *state = state.in_list(list as u8 + 1);
        self.lengths[list] += 1;
    }

    #[inline]
    fn link(&mut self, list: usize, page: Page, before: u32, behind: u32) {
        self.enter(list, page);
        self.nodes[page.index()] = Node { before, behind };
        self.nodes[before as usize].behind = page.number();
        self.nodes[behind as usize].before = page.number();
    }

    #[inline]
    fn unlink(&mut self, page: Page) {
        let Node { before, behind } = self.nodes[page.index()];
        self.nodes[before as usize].behind = behind;
        self.nodes[behind as usize].before = before;
    }
}

/// Makes a column of pages longer, if it is shorter than this.
pub(crate) fn extend<T: Clone>(column: &mut Box<[T]>, pages: u32, value: T) {
    let mut longer = std::mem::take(column).into_vec();
    longer.resize(longer.len().max(pages as usize), value);
    *column = longer.into();
}

/// What sets policies apart that keep their pages in [`Lists`] and know of nothing else.
pub(crate) trait ListPolicy {
    /// The first list whose pages have lost their frames and are only remembered.
    const REMEMBERED: usize = LISTS;
    /// Whether a hit moves its page.
    const MOVES: bool = true;

    /// The pages. [`lists`] implements this and the next.
    fn lists(&self) -> &Lists;

    /// The pages, to change them.
    fn lists_mut(&mut self) -> &mut Lists;

    /// A page is referenced that is in the buffer, in this list.
    fn hit(&mut self, page: Page, list: usize);

    /// A page is read that was remembered in this list, or in none: it gets a frame.
    fn miss(&mut self, page: Page, list: Option<usize>) -> Option<Evicted>;

    /// A page of the buffer, in this list, is dirty no more.
    fn cleaned(&mut self, _page: Page, _list: usize) {}

    /// The lists have room for the pages below `pages` now.
    fn extended(&mut self, _pages: u32) {}

    /// Brings closer what [`Self::hit`] reads of a page besides the lists.
    fn expect_more(&self, _page: Page) {}

    /// As [`Policy::advance`].
    fn set_time(&mut self, _now: Moment) {}

    /// As [`Policy::take_written`].
    fn next_written(&mut self) -> Option<Page> {
        None
    }

    /// As [`Policy::spilled`].
    fn spills(&self) -> u64 {
        0
    }
}

/// The field `lists` of a [`ListPolicy`].
macro_rules! lists {
    () => {
        #[inline]
        fn lists(&self) -> &Lists {
            &self.lists
        }

        #[inline]
        fn lists_mut(&mut self) -> &mut Lists {
            &mut self.lists
        }
    };
}
pub(crate) use lists;

impl<P: ListPolicy> Policy for P {
    #[inline]
    fn access(&mut self, reference: Reference) -> Outcome {
        let page = reference.page();
        let list = self.lists().state(page).list();
        // First: policies tell dirty pages apart when they move them.
        self.lists_mut().change(page, reference.is_change());
        match list {
            Some(list) if list < P::REMEMBERED => {
                self.hit(page, list);
                Outcome::Hit
            }
            list => Outcome::Miss(self.miss(page, list)),
        }
    }

    #[inline]
    fn expect(&self, page: Page) {
        self.lists().expect(page);
        self.expect_more(page);
    }

    #[inline]
    fn expect_next(&self, page: Page) {
        if P::MOVES {
            self.lists().expect_neighbors(page);
        }
    }

    fn clean(&mut self, page: Page) -> bool {
        let was_dirty = self.lists_mut().clean(page);
        if let Some(list) = self.lists().buffered::<P>(page) {
            self.cleaned(page, list);
        }
        was_dirty
    }

    fn change_resident(&mut self, page: Page) -> bool {
        let is_resident = self.lists().buffered::<P>(page).is_some();
        self.lists_mut().change(page, is_resident);
        is_resident
    }

    fn forget(&mut self, page: Page) {
        if self.lists().buffered::<P>(page).is_some() {
            self.lists_mut().evict(page);
        }
    }

    fn extend(&mut self, pages: u32) {
        self.lists_mut().extend(pages);
        self.extended(pages);
    }

    fn advance(&mut self, now: Moment) {
        self.set_time(now);
    }

    fn take_written(&mut self) -> Option<Page> {
        self.next_written()
    }

    fn spilled(&self) -> u64 {
        self.spills()
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::VecDeque, iter};

    use proptest::prelude::*;

    use super::*;

    const PAGES: u32 = 9;

    fn contents(lists: &Lists, list: usize) -> Vec<u32> {
        let mut copy = lists.clone();
        iter::from_fn(|| {
            let page = copy.front(list)?;
            copy.remove(page);
            Some(page.number())
        })
        .collect()
    }

    proptest! {
        #[test]
        fn lists_are_what_two_queues_are(steps in prop::collection::vec((0..4, 0..PAGES, 0..2_usize), 0..200)) {
            let mut lists = Lists::new(PAGES);
            let mut queues = [VecDeque::new(), VecDeque::new()];
            for (step, number, list) in steps {
                let page = Page::new(number);
                let is_in = lists.state(page).list().is_some();
                let mut leave = || queues.iter_mut().for_each(|queue| queue.retain(|&other| other != number));
                match step {
                    0 | 1 if is_in => {
                        leave();
                        lists.remove(page);
                    }
                    0 => {
                        queues[list].push_front(number);
                        lists.push_front(list, page);
                    }
                    1 => {
                        queues[list].push_back(number);
                        lists.push_back(list, page);
                    }
                    _ if is_in => {
                        leave();
                        queues[list].push_front(number);
                        lists.move_to_front(list, page);
                    }
                    _ => {
                        let count = number as u8;
                        lists.set_count(page, count);
                        lists.change(page, true);
                        prop_assert_eq!(lists.state(page).count(), count);
                        prop_assert!(lists.clean(page) && !lists.clean(page));
                    }
                }
                for (list, queue) in queues.iter().enumerate() {
                    prop_assert!(contents(&lists, list).iter().eq(queue));
                    prop_assert_eq!(lists.len(list) as usize, queue.len());
                    prop_assert_eq!(lists.front(list).map(Page::number), queue.front().copied());
                    prop_assert_eq!(lists.back(list).map(Page::number), queue.back().copied());
                }
            }
        }
    }

    #[test]
    fn marks_do_not_meet() {
        let mut lists = Lists::new(1);
        let page = Page::new(0);
        lists.push_front(1, page);
        lists.set_count(page, State::COUNT_MAX);
        lists.change(page, true);
        lists.change(page, false);
        let state = lists.state(page);
        assert_eq!(
            (state.list(), state.count(), state.is_dirty()),
            (Some(1), 15, true)
        );
        lists.set_count(page, 0);
        lists.remove(page);
        let state = lists.state(page);
        assert_eq!(
            (state.list(), state.count(), state.is_dirty()),
            (None, 0, true)
        );
    }
}
