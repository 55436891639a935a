//! Pages that changed and were not written since, in the order in which they first changed.

use std::collections::{VecDeque, hash_map::Entry};

use octavo_buffer::Page;

use crate::hashed::HashMap;

/// See the module.
#[derive(Clone, Debug, Default)]
pub(crate) struct Dirty {
    /// With the log's position when they changed; some were written since.
    queue: VecDeque<(Page, u64)>,
    /// That position of those that were not.
    since: HashMap<Page, u64>,
}

impl Dirty {
    /// A page changed, with the log at this position.
    pub(crate) fn change(&mut self, page: Page, position: u64) {
        if let Entry::Vacant(new) = self.since.entry(page) {
            new.insert(position);
            self.queue.push_back((page, position));
        }
    }

    /// A page was written, or is not wanted any more; answers whether it was dirty.
    pub(crate) fn clean(&mut self, page: Page) -> bool {
        self.since.remove(&page).is_some()
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.since.len()
    }

    /// The log's position when the one that is dirty for longest changed.
    pub(crate) fn oldest(&mut self) -> Option<u64> {
        while let Some((page, since)) = self.queue.front() {
            if self.since.get(page) == Some(since) {
                return Some(*since);
            }
            self.queue.pop_front();
        }
        None
    }

    /// The one that is dirty for longest, which is clean from then on.
    pub(crate) fn take_oldest(&mut self) -> Option<Page> {
        self.oldest()?;
        let (page, _) = self.queue.pop_front()?;
        self.clean(page);
        Some(page)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_that_are_dirty_for_longest_come_first() {
        let mut dirty = Dirty::default();
        let page = Page::new;
        for (number, position) in [(7, 10), (3, 20), (7, 30), (5, 40)] {
            dirty.change(page(number), position);
        }
        assert_eq!((dirty.len(), dirty.oldest()), (3, Some(10)));
        assert!(dirty.clean(page(7)) && !dirty.clean(page(7)));
        // Dirty once more, and the last of them.
        dirty.change(page(7), 50);
        let all: Vec<Page> = std::iter::from_fn(|| dirty.take_oldest()).collect();
        assert_eq!(all, [page(3), page(5), page(7)]);
        assert_eq!((dirty.len(), dirty.oldest()), (0, None));
    }
}
