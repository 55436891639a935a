//! Where on their pages rows go that are replaced, and when pages are put in order.
//!
//! A row that changes its size is taken out and put behind all others
//! (`btr_cur_optimistic_update`). What it had is lost until there is no room behind:
//! then the page is put in order (`btr_page_reorganize_low`), and the log takes all
//! bytes of it from the first to the last that differ.

use octavo_buffer::Page;

use crate::hashed::HashMap;

/// What of a page's bytes differs once it is in order, where rows were replaced one after
/// the other: behind the first of them, half of the page on average. Measured: 0.45 to 0.50
/// of 4 to 64 KiB.
pub(super) const IN_ORDER: f64 = 0.47;
/// And where they were replaced here and there. Measured: 0.91 to 0.94.
pub(super) const HERE_AND_THERE: f64 = 0.93;

/// Room behind all rows, of pages where it is not all that is left.
#[derive(Clone, Debug, Default)]
pub(super) struct Heaps(HashMap<Page, u32>);

impl Heaps {
    /// Puts a row behind the others of a page, which has `left` bytes free in all before;
    /// `gone` are those of the one that it replaces. Answers whether the page had to be put
    /// in order.
    pub(super) fn put(&mut self, page: Page, left: u32, row: u32, gone: u32) -> bool {
        let behind = self.0.entry(page).or_insert(left);
        if *behind >= row {
            *behind -= row;
            return false;
        }
        let after = (left + gone).saturating_sub(row);
        // Without anything lost there is nothing to put in order: the page is split.
        let is_ordered = gone > 0 || left > *behind + row;
        *behind = after;
        is_ordered
    }

    /// The page was split.
    pub(super) fn forget(&mut self, page: Page) {
        self.0.remove(&page);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_put_in_order_when_nothing_is_left_behind() {
        let mut heaps = Heaps::default();
        let page = Page::new(1);
        // 256 bytes: three rows of 82 that were 74, and then 24 less are left.
        for left in [256, 248, 240] {
            assert!(!heaps.put(page, left, 82, 74));
        }
        assert!(heaps.put(page, 232, 82, 74));
        assert!(!heaps.put(page, 224, 82, 74));
    }
}
