//! The drive's memory: extents that were read, and reading ahead.

use super::mechanism::Passed;

/// Sectors from `first` up to, without, `end`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Extent {
    pub(super) first: u64,
    pub(super) end: u64,
}

impl Extent {
    /// How many there are; a request's length in bytes fits 32 bits, so its sectors do.
    pub(super) fn sectors(&self) -> u32 {
        u32::try_from(self.end - self.first).unwrap_or(u32::MAX)
    }

    #[inline]
    pub(super) const fn holds(&self, other: Self) -> bool {
        (self.first <= other.first) & (other.end <= self.end)
    }

    #[inline]
    pub(super) const fn meets(&self, other: Self) -> bool {
        self.first < other.end && other.first < self.end
    }
}

/// Extents of past reads, the latest in place of the oldest.
#[derive(Clone, Debug)]
pub(super) struct Segments {
    extents: Vec<Extent>,
    next: usize,
}

impl Segments {
    pub(super) fn new(count: usize) -> Self {
        Self {
            extents: vec![Extent::default(); count],
            next: 0,
        }
    }

    #[inline]
    pub(super) fn keep(&mut self, extent: Extent) {
        if let Some(oldest) = self.extents.get_mut(self.next) {
            *oldest = extent;
            self.next += 1;
            if self.next == self.extents.len() {
                self.next = 0;
            }
        }
    }

    /// Whether one of them holds all of `extent`.
    #[inline]
    pub(super) fn hold(&self, extent: Extent) -> bool {
        // Without a branch for each, which vector units like better.
        self.extents
            .iter()
            .fold(false, |found, held| found | held.holds(extent))
    }

    /// Forgets what a write makes stale.
    #[inline]
    pub(super) fn forget(&mut self, written: Extent) {
        for held in &mut self.extents {
            if held.meets(written) {
                *held = Extent::default();
            }
        }
    }
}

/// A read that goes on by itself: from `extent.first` to `extent.end` is in
/// memory since `reached.at`, and more comes in until `limit`.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReadAhead {
    pub(super) extent: Extent,
    pub(super) reached: Passed,
    pub(super) limit: u64,
}
