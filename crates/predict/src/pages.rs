//! The pages of a database: their numbers, and what is done with them.

use std::ops::Range;

use octavo_buffer::{Access, Page, Reference};

/// Numbers pages as a file has them, one after the other.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pages {
    count: u32,
    free: Vec<Page>,
    changes: u64,
}

impl Pages {
    /// So many pages in a row: the first one. Where there are more than can be numbered,
    /// [`Self::has_room`] says so.
    pub(crate) fn extend(&mut self, count: u32) -> Page {
        let first = Page::new(self.count.min(Page::COUNT_MAX - 1));
        self.count = self.count.saturating_add(count).min(Page::COUNT_MAX);
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

    /// Whether as many again could be numbered.
    pub(crate) fn has_room(&self) -> bool {
        self.count <= Page::COUNT_MAX / 2
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

/// What is done with a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// It is wanted in the buffer.
    Refer(Reference),
    /// It is read or changed while whoever does so still has it from a reference before.
    /// Databases differ in whether they count that as another one.
    Held(Reference),
    /// It had no content before, so it is not read.
    Fill(Page),
}

impl Step {
    /// As a reference to a buffer that has all pages, and whether the page is new.
    pub(crate) fn reference(self) -> (Reference, bool) {
        match self {
            Self::Refer(reference) | Self::Held(reference) => (reference, false),
            Self::Fill(page) => (Reference::new(page, Access::Change), true),
        }
    }
}

/// What is done with pages, in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Steps(Vec<Step>);

impl Steps {
    pub(crate) fn read(&mut self, page: Page) {
        self.0.push(Step::Refer(Reference::new(page, Access::Read)));
    }

    pub(crate) fn change(&mut self, page: Page) {
        self.0
            .push(Step::Refer(Reference::new(page, Access::Change)));
    }

    pub(crate) fn read_held(&mut self, page: Page) {
        self.0.push(Step::Held(Reference::new(page, Access::Read)));
    }

    pub(crate) fn change_held(&mut self, page: Page) {
        self.0
            .push(Step::Held(Reference::new(page, Access::Change)));
    }

    /// Whoever does these steps has their pages from references before.
    pub(crate) fn hold(&mut self, steps: Range<usize>) {
        for step in &mut self.0[steps] {
            if let Step::Refer(reference) = *step {
                *step = Step::Held(reference);
            }
        }
    }

    pub(crate) fn fill(&mut self, page: Page) {
        self.0.push(Step::Fill(page));
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    pub(crate) fn as_slice(&self) -> &[Step] {
        &self.0
    }
}
/// Pages of one table or index after loading.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectPages {
    /// The table's name, or the index's; of the index of a key the table's and
    /// `(key)`.
    pub name: String,
    /// Its pages.
    pub pages: u64,
    /// Of these, those above leaves.
    pub inner: u64,
}
