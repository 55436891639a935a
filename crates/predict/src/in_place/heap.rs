//! A table's rows, on whatever page had room when they came.
//!
//! A row that changes stays where it is. One that grows beyond what its page has left goes
//! to where rows come in, and leaves behind what leads there, as Oracle's migrated rows do.
//! One that is longer than a page stays on its pages.

use std::collections::BTreeSet;

use octavo_buffer::Page;
use octavo_workload::touch::Place;

use crate::{
    hashed::HashMap,
    packed::Packed,
    pages::{Pages, Steps, after},
};

/// What leads to a row that has left its page.
const POINTER: u32 = 8;

/// See the module.
#[derive(Clone, Debug)]
pub(super) struct Heap {
    packed: Packed,
    first: Page,
    /// Those behind the loaded ones.
    later: Vec<Page>,
    /// What is free on pages that changed, by their number in this table.
    free: HashMap<u32, u32>,
    /// Rows that came later, that grew, or that left their page.
    rows: HashMap<Place, StoredRow>,
    /// Where rows come in.
    target: Option<u32>,
    /// Pages that lost so many rows that others may come in.
    emptied: BTreeSet<u32>,
    /// Free bytes from which on a page is one of those.
    emptied_from: u32,
}

#[derive(Clone, Copy, Debug)]
struct StoredRow {
    /// The page that indexes lead to.
    home: u32,
    /// Where it is instead.
    moved: Option<u32>,
    bytes: u32,
}

impl Heap {
    /// Rows that were loaded. Pages with at least `emptied_from` bytes free take rows again.
    pub(super) fn new(packed: Packed, emptied_from: u32, pages: &mut Pages) -> Self {
        Self {
            first: pages.extend(packed.pages()),
            target: packed.pages().checked_sub(1),
            packed,
            later: Vec::new(),
            free: HashMap::default(),
            rows: HashMap::default(),
            emptied: BTreeSet::new(),
            emptied_from,
        }
    }

    /// How many pages it has.
    pub(super) fn pages(&self) -> u64 {
        u64::from(self.packed.pages()) + self.later.len() as u64
    }

    /// A row's bytes on average.
    pub(super) fn row(&self) -> u32 {
        self.packed.row()
    }

    /// The first page.
    pub(super) fn first(&self) -> Option<Page> {
        match self.packed.pages() {
            0 => self.later.first().copied(),
            _ => Some(self.first),
        }
    }

    fn page(&self, number: u32) -> Page {
        match number.checked_sub(self.packed.pages()) {
            None => after(self.first, number),
            Some(later) => self.later[later as usize],
        }
    }

    fn find(&self, place: Place) -> StoredRow {
        self.rows.get(&place).copied().unwrap_or(StoredRow {
            home: self.packed.page_of(place.initial),
            moved: None,
            bytes: self.packed.row(),
        })
    }

    fn free(&mut self, number: u32) -> &mut u32 {
        let free = match number < self.packed.pages() {
            true => self.packed.free(number),
            false => self.packed.room().bytes,
        };
        self.free.entry(number).or_insert(free)
    }

    /// Reads a row, on all pages that it has.
    pub(super) fn read(&self, place: Place, steps: &mut Steps) {
        let row = self.find(place);
        for number in 0..self.packed.span() {
            steps.read(self.page(row.home + number));
        }
        if let Some(moved) = row.moved {
            steps.read(self.page(moved));
        }
    }

    /// Adds a row.
    pub(super) fn insert(&mut self, place: Place, pages: &mut Pages, steps: &mut Steps) {
        let bytes = self.packed.row();
        let home = self.put(bytes, pages, steps);
        let row = StoredRow {
            home,
            moved: None,
            bytes,
        };
        self.rows.insert(place, row);
    }

    /// Finds room for a row: its page.
    fn put(&mut self, bytes: u32, pages: &mut Pages, steps: &mut Steps) -> u32 {
        let room = self.packed.room();
        let span = self.packed.span();
        let wanted = bytes + room.pointer;
        // An empty page takes any row that it has room for.
        let reserve = room.reserve.min(room.bytes.saturating_sub(wanted));
        while let (Some(number), 1) = (self.target, span) {
            if *self.free(number) >= wanted + reserve {
                *self.free(number) -= wanted;
                steps.change(self.page(number));
                return number;
            }
            self.target = self.emptied.pop_first();
        }
        let number = self.pages() as u32;
        for _ in 0..span {
            let page = pages.allocate();
            self.later.push(page);
            steps.fill(page);
        }
        let free = self.free(number);
        *free = free.saturating_sub(wanted);
        self.target = Some(number);
        number
    }

    /// A row has left a page, which may take others from now on.
    fn give_back(&mut self, number: u32, bytes: u32) {
        let room = self.packed.room().bytes;
        let free = self.free(number);
        *free = (*free + bytes).min(room);
        if *free >= self.emptied_from && self.target != Some(number) {
            self.emptied.insert(number);
        }
    }

    /// Changes a row, which takes so many bytes more; answers whether it had to leave.
    pub(super) fn update(
        &mut self,
        place: Place,
        grows: u32,
        pages: &mut Pages,
        steps: &mut Steps,
    ) -> bool {
        let mut row = self.find(place);
        let span = self.packed.span();
        if span > 1 {
            // Whatever it takes more is on its last page.
            self.read(place, steps);
            steps.change(self.page(row.home + span - 1));
            return false;
        }
        let own = row.moved.unwrap_or(row.home);
        if row.moved.is_some() {
            steps.read(self.page(row.home));
        }
        steps.change(self.page(own));
        if grows == 0 {
            return false;
        }
        let has_room = *self.free(own) >= grows;
        if has_room {
            *self.free(own) -= grows;
        } else {
            // A pointer stays on the home page. A row that moves again leaves nothing behind.
            let left = match row.moved {
                Some(_) => row.bytes + self.packed.room().pointer,
                None => row.bytes.saturating_sub(POINTER),
            };
            self.give_back(own, left);
            if row.moved.is_some() {
                steps.change(self.page(row.home));
            }
            row.moved = Some(self.put(row.bytes + grows, pages, steps));
        }
        row.bytes += grows;
        self.rows.insert(place, row);
        !has_room
    }

    /// Removes a row.
    pub(super) fn delete(&mut self, place: Place, steps: &mut Steps) {
        let row = self.find(place);
        self.rows.remove(&place);
        let pointer = self.packed.room().pointer;
        let at_home = match row.moved {
            Some(_) => POINTER,
            None => row.bytes,
        };
        for number in row.home..row.home + self.packed.span() {
            steps.change(self.page(number));
            self.give_back(number, at_home + pointer);
        }
        if let Some(moved) = row.moved {
            steps.change(self.page(moved));
            self.give_back(moved, row.bytes + pointer);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{packed::Room, pages::Step};
    use octavo_buffer::{Access, Reference};

    /// Rows of 100 bytes on pages with room for 1,000: 900 of them for eight with 4 each.
    fn heap(rows: u64) -> (Heap, Pages) {
        let room = Room {
            bytes: 1000,
            pointer: 4,
            reserve: 100,
        };
        let mut pages = Pages::default();
        let packed = Packed::new(rows, &[100; 80], room);
        (Heap::new(packed, 600, &mut pages), pages)
    }

    fn changed(page: u32) -> Step {
        Step::Refer(Reference::new(Page::new(page), Access::Change))
    }

    fn read(page: u32) -> Step {
        Step::Refer(Reference::new(Page::new(page), Access::Read))
    }

    /// What is done, in order.
    fn steps(act: impl FnOnce(&mut Steps)) -> Vec<Step> {
        let mut steps = Steps::default();
        act(&mut steps);
        steps.as_slice().to_vec()
    }

    #[test]
    fn rows_grow_into_the_reserve_and_then_leave_by_hand() {
        let (mut heap, mut pages) = heap(80);
        assert_eq!(heap.pages(), 10);
        let row = Place::initial(9);
        // 168 bytes are left beside eight rows.
        let update = |heap: &mut Heap, grows, pages: &mut Pages| {
            steps(|steps| {
                heap.update(row, grows, pages, steps);
            })
        };
        assert_eq!(update(&mut heap, 150, &mut pages), [changed(1)]);
        // The last page is as full as the others: a new one comes.
        let moved = [changed(1), Step::Fill(Page::new(10))];
        assert_eq!(update(&mut heap, 50, &mut pages), moved);
        assert_eq!(update(&mut heap, 0, &mut pages), [read(1), changed(10)]);
        let all = steps(|steps| heap.read(row, steps));
        assert_eq!(all, [read(1), read(10)]);
        // What it had, but for what leads on, is free for its neighbors.
        assert_eq!(heap.free[&1], 168 - 150 + 250 - 8);
        assert_eq!(heap.free[&10], 1000 - 304);
        // It leaves once more, and home leads elsewhere: 696 are left there, 304 come back.
        let put = [read(1), changed(10), changed(1), Step::Fill(Page::new(11))];
        assert_eq!(update(&mut heap, 697, &mut pages), put);
        assert_eq!(heap.free[&10], 1000);
        let gone = steps(|steps| heap.delete(row, steps));
        assert_eq!(gone, [changed(1), changed(11)]);
        assert_eq!(heap.free[&11], 1000);
    }

    #[test]
    fn emptied_pages_take_rows_again_by_hand() {
        let (mut heap, mut pages) = heap(80);
        for row in 0..5 {
            steps(|steps| heap.delete(Place::initial(row), steps));
        }
        // 168 and five times 104 bytes are free: 688. New rows keep 100 of these free.
        let put = |heap: &mut Heap, later, pages: &mut Pages| {
            steps(|steps| {
                heap.insert(Place::behind(79, later), pages, steps);
            })
        };
        for later in 0..5 {
            assert_eq!(put(&mut heap, later, &mut pages), [changed(0)]);
        }
        assert_eq!(put(&mut heap, 5, &mut pages), [Step::Fill(Page::new(10))]);
        assert_eq!(put(&mut heap, 6, &mut pages), [changed(10)]);
    }

    #[test]
    fn long_rows_have_pages_of_their_own_by_hand() {
        let room = Room {
            bytes: 1000,
            pointer: 4,
            reserve: 100,
        };
        let mut pages = Pages::default();
        let mut heap = Heap::new(Packed::new(4, &[1800; 4], room), 600, &mut pages);
        assert_eq!(heap.pages(), 8);
        let first = Place::initial(1);
        assert_eq!(steps(|steps| heap.read(first, steps)), [read(2), read(3)]);
        let later = Place::behind(3, 0);
        let made = steps(|steps| heap.insert(later, &mut pages, steps));
        assert_eq!(made, [Step::Fill(Page::new(8)), Step::Fill(Page::new(9))]);
        let updated = steps(|steps| {
            heap.update(first, 8, &mut pages, steps);
        });
        assert_eq!(updated, [read(2), read(3), changed(3)]);
        let gone = steps(|steps| heap.delete(first, steps));
        assert_eq!(gone, [changed(2), changed(3)]);
    }
}
