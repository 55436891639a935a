//! A table's rows: versions of them on pages, in no order but that in which they came.
//!
//! A change makes a new version. It is on the same page if that has room, where no index
//! hears of it (src/backend/access/heap/README.HOT), and else on the last page. Versions
//! that nobody sees any more go when a page that is nearly full is next looked at
//! (`heap_page_prune_opt` in access/heap/pruneheap.c). No vacuum runs.

use octavo_buffer::Page;
use octavo_workload::touch::Place;

use super::tuple::{LINE_POINTER, PAGE_HEADER};
use crate::{
    hashed::HashMap,
    packed::{Packed, Room},
    pages::{Pages, after},
};

/// What of a page of so many bytes is for rows.
pub(super) fn room(page: u32) -> Room {
    Room {
        bytes: page - PAGE_HEADER,
        pointer: LINE_POINTER,
        reserve: 0,
    }
}

/// See the module.
#[derive(Clone, Debug)]
pub(super) struct Heap {
    packed: Packed,
    first: Page,
    loaded: u32,
    /// Those behind the loaded ones.
    later: Vec<Page>,
    /// Pages that changed, by their number in this table.
    changed: HashMap<u32, HeapPage>,
    /// Rows that are not where they were loaded.
    versions: HashMap<Place, Version>,
    /// Versions that go when the transaction commits.
    outdated: Vec<(u32, Outdated)>,
    /// Where rows go that find no room.
    target: u32,
}

/// What of a page decides what fits.
#[derive(Clone, Copy, Debug, Default)]
struct HeapPage {
    free: u32,
    /// Line pointers that nothing uses.
    unused: u32,
    /// Bytes of versions that nobody sees, and their number.
    dead: u32,
    dead_count: u32,
    /// Of these, versions that no index leads to: their line pointers can be used again.
    dead_heap_only: u32,
    /// A version found no room.
    is_full: bool,
}

/// Where a row's present version is.
#[derive(Clone, Copy, Debug)]
struct Version {
    page: u32,
    bytes: u32,
    /// No index leads to it, but through an older one's line pointer.
    is_heap_only: bool,
    /// Nobody has noted on it yet that its transaction is committed.
    is_fresh: bool,
    /// The page where an entry of an index still leads to.
    left: Option<u32>,
}

/// What the first look at a version does besides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FirstLook {
    /// The number of the page that the row left: its index's entry led there first, and is
    /// marked as dead.
    pub(super) left: Option<u32>,
}

#[derive(Clone, Copy, Debug)]
struct Outdated {
    bytes: u32,
    is_heap_only: bool,
}

/// What a look at a page removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pruned {
    /// Versions.
    pub(super) count: u32,
}

/// Where a new version is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Put {
    /// On the same page.
    HeapOnly(Page),
    /// On another page, which may be new.
    Elsewhere {
        /// The page that it left.
        from: Page,
        /// That where it is.
        to: Page,
        /// Whether that is new.
        is_new: bool,
    },
}

impl Heap {
    pub(super) fn new(packed: Packed, pages: &mut Pages) -> Self {
        let loaded = packed.pages();
        Self {
            first: pages.extend(loaded),
            loaded,
            later: Vec::new(),
            changed: HashMap::default(),
            versions: HashMap::default(),
            outdated: Vec::new(),
            target: loaded.saturating_sub(1),
            packed,
        }
    }

    /// How many pages it has.
    pub(super) fn pages(&self) -> u64 {
        u64::from(self.loaded) + self.later.len() as u64
    }

    /// A row's bytes on average.
    pub(super) fn row(&self) -> u32 {
        self.packed.row()
    }

    /// Rows after loading.
    pub(super) fn rows(&self) -> u64 {
        self.packed.rows()
    }

    fn page(&self, number: u32) -> Page {
        match number.checked_sub(self.loaded) {
            None => after(self.first, number),
            Some(later) => self.later[later as usize],
        }
    }

    /// Which of the table's pages has a row.
    pub(super) fn find(&self, place: Place) -> u32 {
        if let Some(version) = self.versions.get(&place) {
            return version.page;
        }
        self.packed.page_of(place.initial)
    }

    /// The page with this number, and how many bytes of it are used, its header included.
    pub(super) fn at(&self, number: u32) -> (Page, u32) {
        let free = self
            .changed
            .get(&number)
            .map_or_else(|| self.packed.free(number), |page| page.free);
        let room = self.packed.room().bytes;
        (self.page(number), PAGE_HEADER + room - free.min(room))
    }

    fn keep(&mut self, number: u32) -> &mut HeapPage {
        let free = match number < self.loaded {
            true => self.packed.free(number),
            false => self.packed.room().bytes,
        };
        self.changed.entry(number).or_insert(HeapPage {
            free,
            ..HeapPage::default()
        })
    }

    /// Whether nobody changed this page since it was loaded.
    pub(super) fn is_as_loaded(&self, number: u32) -> bool {
        !self.changed.contains_key(&number)
    }

    /// A look at a page: what nobody sees goes if the page is nearly full.
    pub(super) fn prune(&mut self, number: u32) -> Option<Pruned> {
        let room = self.packed.room().bytes;
        let page = self.changed.get_mut(&number)?;
        // `heap_page_prune_opt`: less than a tenth is free, or a version found no room.
        let is_wanted = page.is_full || page.free < (room + PAGE_HEADER) / 10;
        if page.dead == 0 || !is_wanted {
            return None;
        }
        let count = page.dead_count;
        page.free += page.dead;
        page.unused += page.dead_heap_only;
        (page.dead, page.dead_count, page.dead_heap_only) = (0, 0, 0);
        page.is_full = false;
        Some(Pruned { count })
    }

    /// A row's version is looked at; what that does the first time.
    pub(super) fn look_first(&mut self, place: Place) -> Option<FirstLook> {
        let version = self.versions.get_mut(&place)?;
        let is_first = std::mem::replace(&mut version.is_fresh, false);
        let left = version.left.take();
        is_first.then_some(FirstLook { left })
    }

    /// A row's new version, of so many bytes more.
    pub(super) fn update(&mut self, place: Place, grows: u32, pages: &mut Pages) -> Put {
        let number = self.find(place);
        let old = self.versions.get(&place).copied().unwrap_or(Version {
            page: number,
            bytes: self.packed.row(),
            is_heap_only: false,
            is_fresh: false,
            left: None,
        });
        let bytes = old.bytes + grows.next_multiple_of(8);
        self.outdated.push((
            number,
            Outdated {
                bytes: old.bytes,
                is_heap_only: old.is_heap_only,
            },
        ));
        let page = self.keep(number);
        if put(page, bytes) {
            let version = Version {
                page: number,
                bytes,
                is_heap_only: true,
                is_fresh: true,
                left: old.left,
            };
            self.versions.insert(place, version);
            return Put::HeapOnly(self.page(number));
        }
        page.is_full = true;
        let (to, is_new) = self.add(place, bytes, Some(number), pages);
        Put::Elsewhere {
            from: self.page(number),
            to,
            is_new,
        }
    }

    /// A new row: its page, and whether that is new.
    pub(super) fn insert(&mut self, place: Place, pages: &mut Pages) -> (Page, bool) {
        self.add(place, self.packed.row(), None, pages)
    }

    fn add(
        &mut self,
        place: Place,
        bytes: u32,
        left: Option<u32>,
        pages: &mut Pages,
    ) -> (Page, bool) {
        let mut is_new = false;
        if self.pages() == 0 || !put(self.keep(self.target), bytes) {
            is_new = true;
            self.later.push(pages.allocate());
            self.target = self.pages() as u32 - 1;
            put(self.keep(self.target), bytes);
        }
        let version = Version {
            page: self.target,
            bytes,
            is_heap_only: false,
            is_fresh: true,
            left,
        };
        self.versions.insert(place, version);
        (self.page(self.target), is_new)
    }

    /// A row goes.
    pub(super) fn delete(&mut self, place: Place) -> Page {
        let number = self.find(place);
        let version = self.versions.get(&place);
        let outdated = Outdated {
            bytes: version.map_or(self.packed.row(), |version| version.bytes),
            is_heap_only: version.is_some_and(|version| version.is_heap_only),
        };
        self.outdated.push((number, outdated));
        self.keep(number);
        self.page(number)
    }

    /// The transaction is over: what it replaced can go.
    pub(super) fn end(&mut self) {
        for (number, outdated) in std::mem::take(&mut self.outdated) {
            let page = self.keep(number);
            page.dead += outdated.bytes;
            page.dead_count += 1;
            page.dead_heap_only += u32::from(outdated.is_heap_only);
        }
    }
}

/// Puts a version on a page that has room for it.
fn put(page: &mut HeapPage, bytes: u32) -> bool {
    let pointer = if page.unused > 0 { 0 } else { LINE_POINTER };
    let has_room = page.free >= bytes + pointer;
    if has_room {
        page.free -= bytes + pointer;
        page.unused = page.unused.saturating_sub(1);
    }
    has_room
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows of 100 bytes, eight a page of 1,000 bytes: 976 for 9 of 104 leave 40.
    fn heap() -> (Heap, Pages) {
        let mut pages = Pages::default();
        let heap = Heap::new(Packed::new(90, &[100; 90], room(1000)), &mut pages);
        (heap, pages)
    }

    #[test]
    fn rows_lie_one_after_the_other_by_hand() {
        let (heap, pages) = heap();
        assert_eq!((heap.pages(), pages.count()), (10, 10));
        assert_eq!(heap.at(0), (Page::new(0), 24 + 936));
        assert_eq!(heap.find(Place::initial(8)), 0);
        assert_eq!(heap.find(Place::initial(9)), 1);
    }

    #[test]
    fn a_full_page_sends_one_version_away_and_has_room_then_by_hand() {
        let (mut heap, mut pages) = heap();
        let row = Place::initial(3);
        // The last page is full too: a new one comes.
        let put = heap.update(row, 0, &mut pages);
        let (from, to) = (Page::new(0), Page::new(10));
        let is_new = true;
        assert_eq!(put, Put::Elsewhere { from, to, is_new });
        // Nothing goes before the transaction is over.
        assert_eq!(heap.prune(0), None);
        heap.end();
        assert_eq!(heap.prune(0), Some(Pruned { count: 1 }));
        assert_eq!(heap.prune(0), None);
        // 40 and 100 bytes are free: the next version stays, and its line pointer is new.
        let put = heap.update(Place::initial(4), 0, &mut pages);
        assert_eq!(put, Put::HeapOnly(Page::new(0)));
        heap.end();
        // 36 bytes are left, less than a tenth: what was replaced goes.
        assert_eq!(heap.prune(0), Some(Pruned { count: 1 }));
        assert_eq!(
            heap.update(Place::initial(4), 0, &mut pages),
            Put::HeapOnly(Page::new(0))
        );
        heap.end();
        assert_eq!(heap.prune(0), Some(Pruned { count: 1 }));
        // Its version was heap-only, whose line pointer is used again: 32 and 100 bytes.
        assert_eq!(
            heap.update(Place::initial(4), 0, &mut pages),
            Put::HeapOnly(Page::new(0))
        );
        assert_eq!(heap.at(0).1, 24 + 976 - 32);
    }
}
