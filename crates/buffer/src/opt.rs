//! The best that any policy could do.

use crate::{
    policy::{Counts, Frames},
    trace::Trace,
};

/// What a buffer misses that knows the future: it evicts the page whose next reference is
/// farthest away (Belady, A Study of Replacement Algorithms for a Virtual-Storage
/// Computer, 1966). No policy that reads what is referenced, and nothing else, misses
/// less. Dirty pages are written when they are evicted; among pages that are never used
/// again, a clean one goes first.
///
/// Memory is 4 bytes a reference and a bit for each.
///
/// # Panics
/// When the trace has 2^32 references or more.
pub fn opt(trace: &Trace, frames: Frames) -> Counts {
    let references = trace.references();
    let next = next_uses(trace);
    let mut future = Places::new(references.len());
    // Resident pages that are never used again: clean, and dirty.
    let mut useless = [0_u64; 2];
    // By page: whether it is in the buffer, and dirty.
    const RESIDENT: u8 = 1;
    const DIRTY: u8 = 2;
    let mut states = vec![0_u8; trace.pages() as usize];
    let mut resident = 0;
    let mut counts = Counts {
        references: references.len() as u64,
        ..Counts::default()
    };
    for (place, reference) in references.iter().enumerate() {
        let page = reference.page().index();
        if states[page] & RESIDENT == 0 {
            counts.misses += 1;
            if resident < frames.get() {
                resident += 1;
            } else if useless[0] > 0 {
                useless[0] -= 1;
            } else if useless[1] > 0 {
                useless[1] -= 1;
                counts.writes += 1;
            } else {
                let farthest = future.last().expect("a full buffer has a page");
                future.remove(farthest);
                let state = &mut states[references[farthest].page().index()];
                counts.writes += u64::from(*state & DIRTY != 0);
                *state = 0;
            }
            states[page] = RESIDENT;
        } else {
            future.remove(place);
        }
        states[page] |= u8::from(reference.access().is_change()) * DIRTY;
        match next[place] {
            NEVER => useless[usize::from(states[page] & DIRTY != 0)] += 1,
            next => future.insert(next as usize),
        }
    }
    counts
}

/// The place of no further reference.
const NEVER: u32 = u32::MAX;

/// For each reference the place of the next one to its page.
fn next_uses(trace: &Trace) -> Vec<u32> {
    let references = trace.references();
    let count = u32::try_from(references.len()).expect("a trace has fewer than 2^32 references");
    let mut next_of = vec![NEVER; trace.pages() as usize];
    let mut next = vec![NEVER; references.len()];
    for place in (0..count).rev() {
        let of = &mut next_of[references[place as usize].page().index()];
        next[place as usize] = std::mem::replace(of, place);
    }
    next
}

/// A set of places, by bits: each level has one for every 64 of the level below.
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
    use crate::trace::{Access, TraceBuilder};

    #[test]
    fn by_hand() {
        // Belady's string: with three frames 7 misses, where LRU has 10 and FIFO 9; with
        // four 6.
        let trace = Trace::from([1, 2, 3, 4, 1, 2, 5, 1, 2, 3, 4, 5]);
        for (frames, misses) in [(1, 12), (2, 9), (3, 7), (4, 6), (5, 5)] {
            assert_eq!(
                opt(&trace, Frames::new(frames).unwrap()).misses,
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
        let counts = opt(&builder.build(), Frames::new(1).unwrap());
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
