//! Completions that are known and not yet asked for.

use std::{cmp::Reverse, collections::BinaryHeap};

use octavo_units::Moment;

use crate::{Completion, Tag};

/// Completions in the order of their moments, equal ones in the order in which
/// they were added.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pending {
    heap: BinaryHeap<Reverse<PendingEvent>>,
    /// Entries that were added since there was none.
    added: u32,
    now: Moment,
}

/// From the highest bit: moment, number in the order of adding, tag; 64, 32
/// and 32 bits. Two of these are compared without a branch, of which half
/// would be predicted wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct PendingEvent(u128);

impl PendingEvent {
    #[inline]
    const fn new(at: Moment, order: u32, tag: Tag) -> Self {
        Self((at.get() as u128) << 64 | (order as u128) << 32 | tag.0 as u128)
    }

    #[inline]
    const fn at(self) -> Moment {
        Moment::nanoseconds((self.0 >> 64) as u64)
    }

    #[inline]
    const fn tag(self) -> Tag {
        Tag(self.0 as u32)
    }
}

impl Pending {
    #[inline]
    pub(crate) fn add(&mut self, at: Moment, tag: Tag) {
        if self.added == u32::MAX {
            self.renumber();
        }
        self.heap
            .push(Reverse(PendingEvent::new(at, self.added, tag)));
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
        let first = self.heap.peek().map(|Reverse(entry)| *entry);
        let Some(entry) = first.filter(|entry| entry.at() <= until) else {
            if until != Moment::NEVER {
                self.now = self.now.max(until);
            }
            return None;
        };
        self.heap.pop();
        if self.heap.is_empty() {
            self.added = 0;
        }
        let at = entry.at();
        self.now = self.now.max(at);
        Some(Completion {
            tag: entry.tag(),
            at,
        })
    }

    /// The moment of the earliest.
    #[inline]
    pub(crate) fn earliest(&self) -> Moment {
        self.heap
            .peek()
            .map_or(Moment::NEVER, |Reverse(entry)| entry.at())
    }

    /// Numbers the entries from 0 on, in their order.
    #[cold]
    fn renumber(&mut self) {
        let mut entries = std::mem::take(&mut self.heap).into_vec();
        entries.sort_unstable_by_key(|Reverse(entry)| *entry);
        for (order, Reverse(entry)) in (0..).zip(&mut entries) {
            *entry = PendingEvent::new(entry.at(), order, entry.tag());
        }
        self.added = entries.len() as u32;
        self.heap = entries.into();
    }
}

#[cfg(test)]
mod tests {
    use octavo_units::Seed;
    use rand::RngExt as _;

    use super::*;

    /// Beside a list that is searched: the least moment, and then the first
    /// that was added.
    #[test]
    fn completions_come_in_their_order() {
        for seed in 0..40 {
            let mut generator = Seed::new(seed).generator();
            let mut pending = Pending::default();
            let mut list: Vec<(u64, u32)> = Vec::new();
            let mut now = 0;
            if seed % 2 == 1 {
                // Numbers run out on the way.
                pending.added = u32::MAX - 500;
            }
            for tag in 0..2_000 {
                if generator.random_range(0..100) < 50 + 20 * (tag / 500 % 2) {
                    let at = now + generator.random_range(0..20);
                    pending.add(Moment::nanoseconds(at), Tag(tag));
                    list.push((at, tag));
                } else {
                    let until = match generator.random_range(0..3) {
                        0 => u64::MAX,
                        _ => now + generator.random_range(0..8),
                    };
                    let least = list.iter().map(|(at, _)| *at).min();
                    let expected = least.filter(|at| *at <= until).map(|least| {
                        now = least;
                        let index = list.iter().position(|(at, _)| *at == least).unwrap();
                        let (at, tag) = list.remove(index);
                        Completion {
                            tag: Tag(tag),
                            at: Moment::nanoseconds(at),
                        }
                    });
                    assert_eq!(pending.next(Moment::nanoseconds(until)), expected, "{seed}");
                    if expected.is_none() && until != u64::MAX {
                        now = until;
                    }
                }
                assert_eq!(pending.heap.len(), list.len());
                assert_eq!(pending.now().get(), now);
                let earliest = list.iter().map(|(at, _)| *at).min().unwrap_or(u64::MAX);
                assert_eq!(pending.earliest().get(), earliest);
            }
        }
    }
}
