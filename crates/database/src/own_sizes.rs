//! Tables and indexes with page sizes of their own: which databases have them, and what is to be known of
//! their pages to choose a size for each.

use octavo_units::{ByteCount, PageSize};
use octavo_workload::{Workload, schema::TableId};

use crate::{Change, options::Options};

/// How tables and indexes of a database get page sizes of their own.
#[derive(Debug)]
pub struct OwnSizes {
    /// The option that says which have one: names and sizes.
    pub option: &'static str,
    /// What a workload's tables and indexes are stored as.
    pub trees: fn(&dyn Workload, &Options) -> Vec<StoredTree>,
    /// How pages are read that follow each other; `None` where each is a request.
    pub read_ahead: Option<ReadAhead>,
    /// Of so much memory the bytes of rows that were written last: one of them is read from there, without a
    /// page.
    pub recent: fn(ByteCount) -> ByteCount,
    /// What to do. Lines with `{name}` are for all of a size, whose names that stands for; the others come
    /// before them.
    pub change: Change,
}

/// A table's rows or an index's entries, as a database stores them.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredTree {
    /// What the database calls it.
    pub name: String,
    /// The table.
    pub table: TableId,
    /// The index, by its position among the table's; `None` for the rows.
    pub index: Option<usize>,
    /// How many entries it has after loading.
    pub entries: u64,
    /// Bytes that each takes on a page.
    pub entry: f64,
    /// Bytes beside pages that the cache has of each entry, such as a filter.
    pub held_by_entry: f64,
    /// … and of each page, such as its place in an index of pages.
    pub held_by_page: f64,
    /// Whether a page is looked at before an entry is added.
    pub looks_before_insert: bool,
}

/// Requests for pages that follow each other: a page by itself for each of the first, and then more and
/// more beyond the page that is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadAhead {
    /// How many pages are read by themselves.
    pub alone: u32,
    /// How much is read beyond the next one.
    pub first: ByteCount,
    /// It doubles with each request, up to this.
    pub most: ByteCount,
}

impl StoredTree {
    /// How many entries a page of this size has, at least one.
    pub fn entries_a_page(&self, page_size: PageSize) -> f64 {
        (f64::from(page_size.get()) / self.entry).max(1.0)
    }

    /// How many pages it has with this size.
    pub fn pages(&self, page_size: PageSize) -> u64 {
        (self.entries as f64 / self.entries_a_page(page_size)).ceil() as u64
    }

    /// Bytes that the cache has of it besides pages.
    pub fn held(&self, page_size: PageSize) -> f64 {
        self.entries as f64 * self.held_by_entry + self.pages(page_size) as f64 * self.held_by_page
    }
}

/// How a page is read that the cache has not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageRead {
    /// By itself.
    Alone,
    /// With others behind it: so many bytes.
    Ahead(ByteCount),
    /// It came with one before.
    Came,
}

impl ReadAhead {
    /// How each page of a range is read, in its order, when the cache has none of them.
    pub fn reads(self, pages: u64, page_size: PageSize) -> impl Iterator<Item = PageRead> {
        let page = u64::from(page_size.get());
        let (mut end, mut ahead) = (0, self.first.get());
        (0..pages).map(move |number| {
            let begin = number * page;
            if number < u64::from(self.alone) {
                end = begin + page;
                return PageRead::Alone;
            }
            if begin + page <= end {
                return PageRead::Came;
            }
            let bytes = page + ahead;
            end = begin + bytes;
            ahead = (ahead * 2).min(self.most.get());
            PageRead::Ahead(ByteCount::new(bytes))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_in_a_row_are_read_by_hand() {
        let read_ahead = ReadAhead {
            alone: 2,
            first: ByteCount::kib(8),
            most: ByteCount::kib(16),
        };
        let [alone, came] = [PageRead::Alone, PageRead::Came];
        let ahead = |kib| PageRead::Ahead(ByteCount::kib(kib));
        let small: Vec<PageRead> = read_ahead.reads(12, PageSize::kib(4)).collect();
        let wanted = [
            alone,
            alone,
            ahead(12),
            came,
            came,
            ahead(20),
            came,
            came,
            came,
            came,
            ahead(20),
            came,
        ];
        assert_eq!(small, wanted);
        // The next one has not come as a whole.
        let large: Vec<PageRead> = read_ahead.reads(4, PageSize::kib(64)).collect();
        assert_eq!(large, [alone, alone, ahead(72), ahead(80)]);
    }
}
