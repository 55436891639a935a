//! The pages of a database: their numbers, and what is done with them.

use octavo_buffer::{Access, Page, Reference};

/// Numbers pages as a file has them, one after the other.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pages {
    count: u32,
    free: Vec<Page>,
    changes: u64,
}

impl Pages {
    /// So many pages in a row: the first one.
    pub(crate) fn extend(&mut self, count: u32) -> Page {
        let first = Page::new(self.count);
        self.count += count;
        self.changes += 1;
        first
    }

    /// One that was freed, or else a new one at the end.
    pub(crate) fn allocate(&mut self) -> Page {
        self.changes += 1;
        self.free.pop().unwrap_or_else(|| self.extend(1))
    }

    /// Lets a page be used again.
    pub(crate) fn release(&mut self, page: Page) {
        self.changes += 1;
        self.free.push(page);
    }

    /// Grows whenever pages were taken or freed.
    pub(crate) fn changes(&self) -> u64 {
        self.changes
    }

    /// How many there are, free ones included.
    pub(crate) fn count(&self) -> u32 {
        self.count
    }
}

/// The page so many after another.
pub(crate) fn after(page: Page, count: u32) -> Page {
    Page::new(page.number() + count)
}

/// References to pages in the order in which they are made.
#[derive(Clone, Debug, Default)]
pub(crate) struct References {
    all: Vec<Reference>,
    /// Pages that had no content before: they are not read.
    new: Vec<Page>,
}

impl References {
    pub(crate) fn read(&mut self, page: Page) {
        self.all.push(Reference::new(page, Access::Read));
    }

    pub(crate) fn change(&mut self, page: Page) {
        self.all.push(Reference::new(page, Access::Change));
    }

    /// Gives content to a page that has none.
    pub(crate) fn fill(&mut self, page: Page) {
        self.new.push(page);
        self.change(page);
    }

    pub(crate) fn clear(&mut self) {
        self.all.clear();
        self.new.clear();
    }

    pub(crate) fn as_slice(&self) -> &[Reference] {
        &self.all
    }

    /// Whether a page had no content before.
    pub(crate) fn is_new(&self, page: Page) -> bool {
        self.new.contains(&page)
    }
}
