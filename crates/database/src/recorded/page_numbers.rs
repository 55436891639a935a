//! Numbers of the pages of all files of a database, as if these lay behind each other, each in one
//! piece. What a file gets later has numbers behind all others.

use std::{collections::HashMap, hash::Hash};

use octavo_units::PageSize;
use octavo_workload::page_trace::TracedPage;

use crate::{DatabaseError, DatabaseKind, Result};

/// See the module. `F` names a file, or what is one piece although it has several.
pub(crate) struct PageNumbers<F> {
    /// By blocks, the numbers of their pages.
    pages: HashMap<F, Vec<u32>>,
    /// The next number.
    next: u32,
    /// Whether there were more pages than have numbers.
    is_full: bool,
}

impl<F> Default for PageNumbers<F> {
    fn default() -> Self {
        Self {
            pages: HashMap::new(),
            next: 0,
            is_full: false,
        }
    }
}

impl<F: Copy + Eq + Hash> PageNumbers<F> {
    /// The files of all pages, by their numbers.
    pub(crate) fn files(&self) -> Vec<Option<F>> {
        let mut files = vec![None; self.next as usize];
        for (file, numbers) in &self.pages {
            for number in numbers {
                if let Some(of) = files.get_mut(*number as usize) {
                    *of = Some(*file);
                }
            }
        }
        files
    }

    /// How many pages have numbers.
    pub(crate) fn count(&self) -> u32 {
        self.next
    }

    /// Refuses more pages than can be recorded.
    ///
    /// # Errors
    /// When there were more than have numbers.
    pub(crate) fn check(&self, kind: &DatabaseKind, page_size: PageSize) -> Result<()> {
        match self.is_full {
            true => Err(too_many(kind, page_size)),
            false => Ok(()),
        }
    }

    /// Likewise before anything is recorded: there has to be room for as many pages again. Answers
    /// how many there are.
    ///
    /// # Errors
    /// When there is none.
    pub(crate) fn check_loaded(&self, kind: &DatabaseKind, page_size: PageSize) -> Result<u32> {
        self.check(kind, page_size)?;
        match self.next > TracedPage::COUNT_MAX / 2 {
            true => Err(too_many(kind, page_size)),
            false => Ok(self.next),
        }
    }

    /// The numbers of some blocks of a file, each with whether it was not there before.
    pub(crate) fn at(&mut self, file: F, first: u64, behind: u64) -> Vec<(u32, bool)> {
        let before = self.grow(file, behind);
        let Some(numbers) = self.pages.get(&file) else {
            return Vec::new();
        };
        let blocks = (first..behind).map_while(|block| {
            let number = numbers.get(usize::try_from(block).ok()?)?;
            Some((*number, block >= before))
        });
        blocks.collect()
    }

    /// The number of a page.
    pub(crate) fn page(&mut self, file: F, block: u32) -> Option<u32> {
        self.grow(file, u64::from(block) + 1);
        self.pages.get(&file)?.get(block as usize).copied()
    }

    /// A file has at least so many blocks; how many it had.
    pub(crate) fn grow(&mut self, file: F, blocks: u64) -> u64 {
        let numbers = self.pages.entry(file).or_default();
        let before = numbers.len() as u64;
        // One past the last number is not given.
        let room = u64::from(TracedPage::COUNT_MAX - 1 - self.next);
        let more = blocks.saturating_sub(before);
        if more > room {
            // Numbers of 4 bytes for blocks that nobody has would be gigabytes.
            self.is_full = true;
            return before;
        }
        // There is room, whose number is a u32.
        let behind = self.next + more as u32;
        numbers.extend(self.next..behind);
        self.next = behind;
        before
    }
}

fn too_many(kind: &DatabaseKind, page_size: PageSize) -> DatabaseError {
    let reason = "its pages are more than can be recorded: name larger ones";
    kind.refuse("page size", page_size, reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_pages_have_numbers_behind_all_others() {
        let mut numbers = PageNumbers::default();
        numbers.grow('a', 3);
        numbers.grow('b', 2);
        assert_eq!(numbers.count(), 5);
        assert_eq!(numbers.at('b', 1, 3), [(4, false), (5, true)]);
        assert_eq!(numbers.at('b', 2, 3), [(5, false)]);
        assert_eq!(numbers.page('a', 3), Some(6));
        assert_eq!(
            numbers.files(),
            ['a', 'a', 'a', 'b', 'b', 'b', 'a'].map(Some)
        );
        assert_eq!(numbers.page('a', 0), Some(0));
        assert!(!numbers.is_full);
        // A server that is mad has blocks that nobody can count.
        assert_eq!(numbers.at('c', 1 << 50, (1 << 50) + 1), []);
        assert!(numbers.is_full);
    }
}
