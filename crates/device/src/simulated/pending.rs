//! Completions that are known and not yet asked for.

use std::{cmp::Reverse, collections::BinaryHeap};

use octavo_units::Moment;

use crate::{Completion, Tag};

/// Completions in the order of their moments, equal ones in the order in which
/// they were added.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pending {
    heap: BinaryHeap<Reverse<(Moment, u64, u32)>>,
    added: u64,
    now: Moment,
}

impl Pending {
    #[inline]
    pub(crate) fn add(&mut self, at: Moment, tag: Tag) {
        self.heap.push(Reverse((at, self.added, tag.0)));
        self.added += 1;
    }

    /// Notes that time has come to `at`, which may not be before
    /// [`Pending::now`].
    #[inline]
    pub(crate) fn pass(&mut self, at: Moment) {
        debug_assert!(at >= self.now, "time went back from {} to {at}", self.now);
        self.now = self.now.max(at);
    }

    /// The latest moment that was passed.
    pub(crate) fn now(&self) -> Moment {
        self.now
    }

    /// The earliest, if it is not after `until`; time passes to it, or to
    /// `until`.
    #[inline]
    pub(crate) fn next(&mut self, until: Moment) -> Option<Completion> {
        let next = self.heap.peek().map(|&Reverse((at, _, tag))| (at, tag));
        let Some((at, tag)) = next.filter(|(at, _)| *at <= until) else {
            if until != Moment::NEVER {
                self.now = self.now.max(until);
            }
            return None;
        };
        self.heap.pop();
        self.now = self.now.max(at);
        Some(Completion { tag: Tag(tag), at })
    }

    /// The moment of the earliest.
    #[inline]
    pub(crate) fn earliest(&self) -> Moment {
        self.heap
            .peek()
            .map_or(Moment::NEVER, |&Reverse((at, ..))| at)
    }
}
