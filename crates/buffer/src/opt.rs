//! The best that any policy could do.

use std::borrow::Borrow;

use octavo_units::prefetch;

use crate::{
    list::{ListPolicy, Lists, extend, lists},
    policy::{Evicted, Frames},
    trace::{Page, Trace},
};

/// A buffer that knows the future: it evicts the page whose next reference is farthest away
/// (Belady, A Study of Replacement Algorithms for a Virtual-Storage Computer, 1966). No
/// policy that reads what is referenced, and nothing else, misses less of the same
/// references. Dirty pages are written when they are evicted; among pages that are never
/// used again, a clean one goes first.
///
/// The future is a trace. Where other references come, the n-th to a page is taken for the
/// n-th in the trace, and what the trace has no more of for never used again: that is near
/// the bound, not the bound.
///
/// Memory is 4 bytes a reference and a bit for each, beside the trace.
#[derive(Clone, Debug)]
pub struct Opt<T> {
    future: T,
    /// For each reference of the future the place of the next one to its page.
    next: Vec<u32>,
    /// By page: the place of its next reference.
    due: Box<[u32]>,
    /// Of the wanted pages, where they are due; and where pages were that are not any more,
    /// since to look when one is evicted costs less than to take each out.
    places: Places,
    lists: Lists,
    frames: Frames,
}

/// Pages that are referenced again,
const WANTED: usize = 0;
/// and those that never are: clean ones,
const CLEAN: usize = 1;
/// and dirty ones.
const DIRTY: usize = 2;

impl<T: Borrow<Trace>> Opt<T> {
    /// An empty buffer that sees the references of `future`.
    ///
    /// # Panics
    /// When the trace has 2^32 references or more.
    pub fn new(future: T, frames: Frames) -> Self {
        let trace = future.borrow();
        let (next, due) = next_uses(trace);
        Self {
            next,
            due: due.into(),
            places: Places::new(trace.references().len()),
            lists: Lists::new(trace.pages()),
            future,
            frames,
        }
    }

    #[inline]
    fn evict(&mut self) -> Option<Evicted> {
        let held = [WANTED, CLEAN, DIRTY].map(|list| self.lists.len(list));
        if held.iter().sum::<u32>() < self.frames.get() {
            return None;
        }
        let useless = [CLEAN, DIRTY].into_iter();
        let useless = useless.filter_map(|list| self.lists.back(list)).next();
        let page = useless.or_else(|| self.farthest())?;
        Some(self.lists.evict(page))
    }

    /// Takes out the wanted page whose next reference is farthest away.
    #[inline]
    fn farthest(&mut self) -> Option<Page> {
        loop {
            let place = self.places.last()?;
            self.places.remove(place);
            let page = self.future.borrow().references()[place].page();
            let is_due = self.due[page.index()] as usize == place;
            if is_due && self.lists.state(page).list() == Some(WANTED) {
                return Some(page);
            }
        }
    }

    /// A page comes into the list where it belongs, out of the one in which it is.
    #[inline]
    fn put(&mut self, page: Page, from: Option<usize>) {
        let to = match (self.due[page.index()], self.lists.state(page).is_dirty()) {
            (NEVER, false) => CLEAN,
            (NEVER, true) => DIRTY,
            (place, _) => {
                self.places.insert(place as usize);
                WANTED
            }
        };
        if from != Some(to) {
            if from.is_some() {
                self.lists.remove(page);
            }
            match to {
                // Their order is that of places.
                WANTED => self.lists.hold(to, page),
                _ => self.lists.push_front(to, page),
            }
        }
    }

    /// A page is referenced: its next reference is another one.
    #[inline]
    fn pass(&mut self, page: Page) {
        let due = &mut self.due[page.index()];
        if *due != NEVER {
            *due = self.next[*due as usize];
        }
    }
}

impl<T: Borrow<Trace>> ListPolicy for Opt<T> {
    // But for the last one of its page.
    const MOVES: bool = false;

    lists!();

    #[inline]
    fn hit(&mut self, page: Page, list: usize) {
        self.pass(page);
        self.put(page, Some(list));
    }

    #[inline]
    fn miss(&mut self, page: Page, _list: Option<usize>) -> Option<Evicted> {
        let evicted = self.evict();
        self.pass(page);
        self.put(page, None);
        evicted
    }

    fn cleaned(&mut self, page: Page, list: usize) {
        if list == DIRTY {
            self.lists.move_to_front(CLEAN, page);
        }
    }

    fn extended(&mut self, pages: u32) {
        extend(&mut self.due, pages, NEVER);
    }

    #[inline]
    fn expect_more(&self, page: Page) {
        prefetch(&self.due, page.index());
    }
}

/// The place of no further reference.
const NEVER: u32 = u32::MAX;

/// For each reference the place of the next one to its page, and for each page the place of
/// its first one.
fn next_uses(trace: &Trace) -> (Vec<u32>, Vec<u32>) {
    let references = trace.references();
    let count = u32::try_from(references.len()).expect("a trace has fewer than 2^32 references");
    let mut next_of = vec![NEVER; trace.pages() as usize];
    let mut next = vec![NEVER; references.len()];
    for place in (0..count).rev() {
        let of = &mut next_of[references[place as usize].page().index()];
        next[place as usize] = std::mem::replace(of, place);
    }
    (next, next_of)
}

/// A set of places, by bits: each level has one for every 64 of the level below.
#[derive(Clone, Debug)]
struct Places {
    levels: Vec<Box<[u64]>>,
}

impl Places {
    fn new(places: usize) -> Self {
        let mut levels = Vec::new();
        let mut bits = places.max(1);
        loop {
            let words = bits.div_ceil(64);
            levels.push(vec![0; words].into());
            if words == 1 {
                return Self { levels };
            }
            bits = words;
        }
    }

    fn insert(&mut self, mut place: usize) {
        for level in &mut self.levels {
            let word = &mut level[place / 64];
            let was_empty = *word == 0;
            *word |= 1 << (place % 64);
            if !was_empty {
                return;
            }
            place /= 64;
        }
    }

    fn remove(&mut self, mut place: usize) {
        for level in &mut self.levels {
            let word = &mut level[place / 64];
            *word &= !(1 << (place % 64));
            if *word != 0 {
                return;
            }
            place /= 64;
        }
    }

    /// The largest one.
    fn last(&self) -> Option<usize> {
        self.levels.iter().rev().try_fold(0, |place, level| {
            let word = level[place];
            (word != 0).then(|| place * 64 + 63 - word.leading_zeros() as usize)
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;
    use crate::{
        policy::Policy,
        trace::{Access, TraceBuilder},
    };

    #[test]
    fn by_hand() {
        // Belady's string: with three frames 7 misses, where LRU has 10 and FIFO 9; with
        // four 6.
        let trace = Trace::from([1, 2, 3, 4, 1, 2, 5, 1, 2, 3, 4, 5]);
        for (frames, misses) in [(1, 12), (2, 9), (3, 7), (4, 6), (5, 5)] {
            assert_eq!(
                Opt::new(&trace, Frames::new(frames).unwrap())
                    .replay(&trace)
                    .misses,
                misses,
                "{frames}"
            );
        }
    }

    #[test]
    fn dirty_pages_are_written_once_each_stay() {
        let mut builder = TraceBuilder::default();
        for (page, access) in [
            (1, Access::Change),
            (2, Access::Read),
            (1, Access::Read),
            (2, Access::Read),
        ] {
            builder.push(page, access);
        }
        let trace = builder.build();
        let counts = Opt::new(&trace, Frames::new(1).unwrap()).replay(&trace);
        assert_eq!((counts.misses, counts.writes), (4, 1));
    }

    proptest! {
        #[test]
        fn places_are_a_set(steps in prop::collection::vec((any::<bool>(), 0..5000_usize), 0..300)) {
            let mut places = Places::new(5000);
            let mut set = BTreeSet::new();
            for (is_in, place) in steps {
                match is_in {
                    true => {
                        places.insert(place);
                        set.insert(place);
                    }
                    false => {
                        places.remove(place);
                        set.remove(&place);
                    }
                }
                prop_assert_eq!(places.last(), set.last().copied());
            }
        }
    }
}
