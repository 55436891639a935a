//! Page references in the order in which a database makes them.

use std::collections::HashMap;

/// A page by its place among all pages of a trace, counted from 0 in the order of
/// their first references.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Page(u32);

impl Page {
    /// More pages than this no trace has: a bit of a reference says whether it
    /// changes its page.
    pub const COUNT_MAX: u32 = 1 << 31;

    /// The page with this number.
    ///
    /// # Panics
    /// When the number is [`Self::COUNT_MAX`] or larger.
    pub const fn new(number: u32) -> Self {
        assert!(number < Self::COUNT_MAX, "a page's number has 31 bits");
        Self(number)
    }

    /// Its number.
    pub const fn number(self) -> u32 {
        self.0
    }

    /// Its place in a table of pages.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// Whether a reference leaves its page as it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// It does.
    Read,
    /// It changes the page, which has to be written before its frame is given to
    /// another one.
    Change,
}

impl Access {
    /// Whether it changes the page.
    pub const fn is_change(self) -> bool {
        matches!(self, Self::Change)
    }
}

/// One page, and what is done with it, in 32 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reference(u32);

impl Reference {
    /// An access to a page.
    pub const fn new(page: Page, access: Access) -> Self {
        Self(page.0 << 1 | matches!(access, Access::Change) as u32)
    }

    /// The page.
    pub const fn page(self) -> Page {
        Page(self.0 >> 1)
    }

    /// Whether it changes the page.
    pub const fn is_change(self) -> bool {
        self.access().is_change()
    }

    /// What is done with it.
    pub const fn access(self) -> Access {
        match self.0 & 1 {
            0 => Access::Read,
            _ => Access::Change,
        }
    }
}

/// How many references earlier a page is named: at 10 ns each, time to read memory twice.
const AHEAD: usize = 24;

/// References, and how many pages they are of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trace {
    references: Vec<Reference>,
    pages: u32,
}

impl Trace {
    /// References to pages below a number.
    pub(crate) fn new(references: Vec<Reference>, pages: u32) -> Self {
        Self { references, pages }
    }

    /// All references, the first one first.
    pub fn references(&self) -> &[Reference] {
        &self.references
    }

    /// The pages that are referenced some time and shortly after a place, for
    /// bringing closer what is known of them; `None` near the end.
    #[inline]
    pub(crate) fn coming(&self, place: usize) -> Option<[Page; 2]> {
        let later = self.references.get(place + AHEAD)?;
        Some([later, &self.references[place + AHEAD / 2]].map(|reference| reference.page()))
    }

    /// How many pages are referenced at least once. Their numbers are below this.
    pub const fn pages(&self) -> u32 {
        self.pages
    }
}

/// Makes a trace of pages that are known by numbers of any size.
#[derive(Clone, Debug, Default)]
pub struct TraceBuilder {
    numbers: HashMap<u64, Page>,
    trace: Trace,
}

impl TraceBuilder {
    /// Adds a reference to the page that its database knows by this number.
    ///
    /// # Panics
    /// When there are [`Page::COUNT_MAX`] other pages already.
    pub fn push(&mut self, known_as: u64, access: Access) {
        let trace = &mut self.trace;
        let page = *self.numbers.entry(known_as).or_insert_with(|| {
            let page = Page::new(trace.pages);
            trace.pages += 1;
            page
        });
        trace.references.push(Reference::new(page, access));
    }

    /// How many references there are so far.
    pub(crate) fn references(&self) -> usize {
        self.trace.references.len()
    }

    /// How many pages they are of.
    pub(crate) const fn pages(&self) -> u32 {
        self.trace.pages
    }

    /// The pages, each as its database knows it.
    pub(crate) fn known(&self) -> impl Iterator<Item = (u64, Page)> {
        self.numbers.iter().map(|(&known, &page)| (known, page))
    }

    /// Forgets all references to pages whose database does not know them by such numbers.
    pub(crate) fn retain(&mut self, is_kept: impl Fn(u64) -> bool) {
        const GONE: u32 = u32::MAX;
        let mut renumbered = vec![GONE; self.trace.pages as usize];
        for (_, page) in self.known().filter(|(known, _)| is_kept(*known)) {
            renumbered[page.index()] = 0;
        }
        // In the order of their first references, which stays.
        let mut pages = 0;
        for number in renumbered.iter_mut().filter(|number| **number != GONE) {
            *number = pages;
            pages += 1;
        }
        self.numbers.retain(|_, page| {
            let number = renumbered[page.index()];
            if number != GONE {
                *page = Page::new(number);
            }
            number != GONE
        });
        self.trace.pages = pages;
        let references = std::mem::take(&mut self.trace.references).into_iter();
        self.trace.references = references
            .filter_map(|reference| match renumbered[reference.page().index()] {
                GONE => None,
                number => Some(Reference::new(Page::new(number), reference.access())),
            })
            .collect();
    }

    /// The trace.
    pub fn build(self) -> Trace {
        self.trace
    }
}

impl FromIterator<Reference> for Trace {
    /// References to pages that have numbers already.
    fn from_iter<I: IntoIterator<Item = Reference>>(references: I) -> Self {
        let references: Vec<Reference> = references.into_iter().collect();
        let pages = references
            .iter()
            .map(|reference| reference.page().number() + 1);
        let pages = pages.max().unwrap_or(0);
        Self::new(references, pages)
    }
}

impl<I: IntoIterator<Item = u64>> From<I> for Trace {
    /// A trace that only reads the pages with these numbers.
    fn from(pages: I) -> Self {
        let mut builder = TraceBuilder::default();
        for page in pages {
            builder.push(page, Access::Read);
        }
        builder.build()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_numbered_by_their_first_references() {
        let mut builder = TraceBuilder::default();
        for (page, access) in [
            (u64::MAX, Access::Read),
            (7, Access::Change),
            (u64::MAX, Access::Change),
        ] {
            builder.push(page, access);
        }
        let trace = builder.build();
        assert_eq!(trace.pages(), 2);
        let expected = [(0, Access::Read), (1, Access::Change), (0, Access::Change)];
        for (reference, (page, access)) in trace.references().iter().zip(expected) {
            assert_eq!(
                (reference.page(), reference.access()),
                (Page::new(page), access)
            );
        }
    }

    #[test]
    fn the_largest_page_keeps_its_mark() {
        let page = Page::new(Page::COUNT_MAX - 1);
        for access in [Access::Read, Access::Change] {
            let reference = Reference::new(page, access);
            assert_eq!((reference.page(), reference.access()), (page, access));
        }
    }
}
