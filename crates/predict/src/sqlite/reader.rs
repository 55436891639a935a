//! The connection of a client for what only reads.

use octavo_buffer::{Access, Frames, Outcome, Page, Pcache, Policy, Reference};

use crate::hashed::HashMap;

/// Pages that a cache has room to know of at first.
const KNOWN: u32 = 256;

/// A connection's cache, which is empty again whenever another connection has committed
/// (`sqlite3PagerSharedLock`). It is so often that only the pages of the time since then
/// are numbered.
#[derive(Clone, Debug)]
pub(super) struct Reader {
    frames: Frames,
    cache: Pcache,
    known: u32,
    numbers: HashMap<Page, u32>,
    /// The commits that it knows of.
    commits: u64,
}

impl Reader {
    /// With an empty cache.
    pub(super) fn new(frames: Frames) -> Self {
        Self {
            frames,
            cache: Pcache::new(KNOWN, frames),
            known: KNOWN,
            numbers: HashMap::default(),
            commits: 0,
        }
    }

    /// A transaction begins after so many commits.
    pub(super) fn begin(&mut self, commits: u64) {
        if self.commits != commits {
            *self = Self {
                commits,
                ..Self::new(self.frames)
            };
        }
    }

    /// A page is read.
    pub(super) fn access(&mut self, reference: Reference) -> Outcome {
        let next = self.numbers.len() as u32;
        let number = *self.numbers.entry(reference.page()).or_insert(next);
        if number >= self.known {
            self.known *= 2;
            self.cache.extend(self.known);
        }
        self.cache
            .access(Reference::new(Page::new(number), Access::Read))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_commit_empties_it() {
        let mut reader = Reader::new(Frames::new(1000).unwrap());
        let mut misses = |commits| {
            reader.begin(commits);
            let pages = (0..600).map(|page| Reference::new(Page::new(page * 7), Access::Read));
            pages
                .filter(|page| matches!(reader.access(*page), Outcome::Miss(_)))
                .count()
        };
        assert_eq!(
            [misses(0), misses(0), misses(1), misses(1)],
            [600, 0, 600, 0]
        );
    }
}
