//! B-trees that lead to rows: what reading and adding entries does to their pages, and what
//! of it the log has.

use octavo_buffer::Page;
use octavo_workload::touch::Place;

use super::{log::Changed, storage::Storage, tuple::LINE_POINTER};
use crate::{
    pages::{Pages, Step, Steps},
    tree::Tree,
};

/// `SizeOfBtreeInsert` and `SizeOfBtreeSplit` (src/include/access/nbtxlog.h).
const INSERT: u32 = 2;
const SPLIT: u32 = 10;
/// An entry of an inner page: cut to the columns that tell two leaves apart.
const DOWN_LINK: u32 = 24;

/// An index, and what its entries and pages take.
#[derive(Clone, Debug)]
pub(super) struct Index {
    pub(super) tree: Tree,
    /// Bytes of an entry on average.
    pub(super) entry: u32,
    /// Bytes of a leaf's image without the hole in its middle, on average.
    pub(super) image: u32,
}

impl Index {
    /// Goes to rows one after the other; answers where they are.
    pub(super) fn read(&self, first: Place, rows: u32, storage: &mut Storage) -> Vec<Place> {
        let mut steps = Steps::default();
        let places = self.tree.read(first, rows, &mut steps);
        self.look(&steps, storage);
        places
    }

    /// Marks an entry whose row is elsewhere, on the leaf that was just read.
    pub(super) fn mark(&self, place: Place, storage: &mut Storage) {
        let mut steps = Steps::default();
        self.tree.read(place, 1, &mut steps);
        if let Some(Step::Refer(leaf) | Step::Held(leaf)) = steps.as_slice().last() {
            storage.hint(leaf.page());
        }
    }

    fn look(&self, steps: &Steps, storage: &mut Storage) {
        for step in steps.as_slice() {
            if let Step::Refer(reference) | Step::Held(reference) = step
                && !reference.is_change()
            {
                storage.read(reference.page());
            }
        }
    }

    /// Adds the entry of a new row.
    pub(super) fn insert(&mut self, place: Place, pages: &mut Pages, storage: &mut Storage) {
        let mut steps = Steps::default();
        self.tree.insert(place, pages, &mut steps);
        self.add(&steps, storage);
    }

    /// Adds one more entry for a row whose version is elsewhere now. Where there is no room,
    /// entries of versions that nobody sees go (`_bt_delete_or_dedup_one_page`), so that
    /// leaves do not grow for these.
    pub(super) fn point_elsewhere(
        &mut self,
        place: Place,
        pages: &mut Pages,
        storage: &mut Storage,
    ) {
        let mut steps = Steps::default();
        self.tree.update(place, 1, 0, pages, &mut steps);
        self.add(&steps, storage);
    }

    /// What adding an entry does: the leaf alone, or a split, the leaf behind and the page
    /// above.
    fn add(&self, steps: &Steps, storage: &mut Storage) {
        self.look(steps, storage);
        let mut made: Option<Page> = None;
        let mut changed: Vec<Page> = Vec::new();
        for step in steps.as_slice() {
            match *step {
                Step::Fill(page) => made = made.or(Some(page)),
                Step::Refer(reference) | Step::Held(reference) => {
                    if reference.is_change() {
                        changed.push(reference.page());
                    }
                }
            }
        }
        let entry = self.entry + LINE_POINTER;
        let old = |page, data| Changed::new(page, data, self.image);
        let Some((&leaf, others)) = changed.split_first() else {
            return;
        };
        let Some(made) = made else {
            return storage.change(INSERT, &[old(leaf, entry)]);
        };
        // The new leaf's entries are all in the log.
        let mut pages = vec![old(leaf, 2 * entry), Changed::made(made, self.image / 2)];
        let (above, behind) = match others {
            [behind @ .., above] => (Some(*above), behind),
            [] => (None, others),
        };
        pages.extend(behind.iter().map(|page| old(*page, 0)));
        storage.change(SPLIT, &pages);
        if let Some(above) = above {
            storage.change(INSERT, &[old(above, DOWN_LINK), old(leaf, 0)]);
        }
    }
}
