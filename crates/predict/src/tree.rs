//! A B-tree: in which leaf a row is, and which pages a change touches.
//!
//! A tree that was loaded in the order of its keys needs no memory: how many rows a
//! leaf has is an average, and a row's leaf follows from its number. Leaves that were
//! changed are kept row by row, so that splits and merges come where they would.

use std::{collections::BTreeMap, ops::Range};

use octavo_buffer::Page;
use octavo_workload::touch::Place;

use crate::pages::{Pages, References, after};

/// What decides how rows lie in a tree. All sizes are bytes.
#[derive(Clone, Debug)]
pub(crate) struct Shape {
    /// Rows after loading.
    pub(crate) rows: u64,
    /// How many of them a leaf has on average.
    pub(crate) rows_a_leaf: f64,
    /// What a row takes in a leaf on average, its pointer included.
    pub(crate) row: u32,
    /// Room for rows in a leaf.
    pub(crate) leaf: u32,
    /// Children of an inner page after loading.
    pub(crate) fan_out: f64,
    /// Pages that hold what of a row has no room in the leaf, on average.
    pub(crate) overflow: f64,
    /// Whether a row behind the last one gets a new leaf for itself, rather than half of
    /// the rows of a full leaf.
    pub(crate) appends: bool,
}

impl Shape {
    /// Overflow pages of the rows before one.
    fn overflow_before(&self, row: u64) -> u32 {
        (row as f64 * self.overflow) as u32
    }
}

/// See the module.
#[derive(Clone, Debug)]
pub(crate) struct Tree {
    shape: Shape,
    /// The first leaf of the loaded tree.
    first_leaf: Page,
    leaves: u32,
    /// Inner pages, from the parents of leaves to the root.
    levels: Vec<Level>,
    /// What did not fit into leaves, row by row.
    first_overflow: Option<Page>,
    later_overflow: BTreeMap<Place, Page>,
    /// Changed leaves, by the first place that each may have.
    changed: BTreeMap<Place, Leaf>,
}

#[derive(Clone, Copy, Debug)]
struct Level {
    first: Page,
    count: u32,
}

/// A changed leaf.
#[derive(Clone, Debug)]
struct Leaf {
    page: Page,
    /// Which of the lowest inner pages leads to it.
    parent: u32,
    /// The place behind the last that it may have; `None` for the last leaf.
    end: Option<Place>,
    used: u32,
    rows: Vec<(Place, u32)>,
}

/// Where a row's leaf is.
#[derive(Clone, Copy, Debug)]
struct Found {
    page: Page,
    parent: u32,
    begin: Place,
    end: Option<Place>,
}

impl Tree {
    /// A tree loaded in the order of its key.
    pub(crate) fn new(shape: Shape, pages: &mut Pages) -> Self {
        let leaves = ((shape.rows as f64 / shape.rows_a_leaf).ceil() as u32).max(1);
        let first_leaf = pages.extend(leaves);
        let mut levels = Vec::new();
        let mut below = leaves;
        while below > 1 {
            let count = (f64::from(below) / shape.fan_out.max(2.0)).ceil() as u32;
            levels.push(Level {
                first: pages.extend(count),
                count,
            });
            below = count;
        }
        let overflow = shape.overflow_before(shape.rows);
        Self {
            first_overflow: (overflow > 0).then(|| pages.extend(overflow)),
            shape,
            first_leaf,
            leaves,
            levels,
            later_overflow: BTreeMap::new(),
            changed: BTreeMap::new(),
        }
    }

    /// Pages after loading.
    pub(crate) fn pages(&self) -> u64 {
        let overflow = self.shape.overflow_before(self.shape.rows);
        u64::from(self.leaves) + self.inner_pages() + u64::from(overflow)
    }

    /// Of these, those above leaves.
    pub(crate) fn inner_pages(&self) -> u64 {
        self.levels.iter().map(|level| u64::from(level.count)).sum()
    }

    /// The row of the tree at a place.
    fn start(&self, leaf: u32) -> u64 {
        (f64::from(leaf) * self.shape.rows_a_leaf).ceil() as u64
    }

    fn loaded_leaf(&self, row: u64) -> u32 {
        let row = row.min(self.shape.rows.saturating_sub(1));
        let mut leaf = (row as f64 / self.shape.rows_a_leaf) as u32;
        while self.start(leaf) > row {
            leaf -= 1;
        }
        while leaf + 1 < self.leaves && self.start(leaf + 1) <= row {
            leaf += 1;
        }
        leaf.min(self.leaves - 1)
    }

    fn parent_of(&self, leaf: u32) -> u32 {
        match self.levels.first() {
            Some(level) => {
                let a_parent = f64::from(self.leaves) / f64::from(level.count);
                ((f64::from(leaf) / a_parent) as u32).min(level.count - 1)
            }
            None => 0,
        }
    }

    fn find(&self, place: Place) -> Found {
        if let Some((&begin, leaf)) = self.changed.range(..=place).next_back()
            && leaf.end.is_none_or(|end| place < end)
        {
            return Found {
                page: leaf.page,
                parent: leaf.parent,
                begin,
                end: leaf.end,
            };
        }
        let leaf = self.loaded_leaf(place.initial);
        Found {
            page: after(self.first_leaf, leaf),
            parent: self.parent_of(leaf),
            begin: Place::initial(if leaf == 0 { 0 } else { self.start(leaf) }),
            end: (leaf + 1 < self.leaves).then(|| Place::initial(self.start(leaf + 1))),
        }
    }

    /// The inner pages on the way to a leaf, from the root.
    fn descend(&self, parent: u32, references: &mut References) {
        for (height, level) in self.levels.iter().enumerate().rev() {
            let mut index = parent;
            for pair in self.levels[..=height].windows(2) {
                let children = f64::from(pair[0].count) / f64::from(pair[1].count);
                index = ((f64::from(index) / children) as u32).min(pair[1].count - 1);
            }
            references.read(after(level.first, index));
        }
    }

    /// Reads rows one after the other; answers where they are.
    pub(crate) fn read(&self, first: Place, rows: u32, references: &mut References) -> Vec<Place> {
        let mut places = Vec::with_capacity(rows as usize);
        self.visit(first, rows, references, |place, _, _| places.push(place));
        places
    }

    /// The place of a row in a tree whose rows are numbered as they came, by its number
    /// among later ones.
    pub(crate) fn numbered(&self, later: u64) -> Place {
        Place::behind(self.shape.rows.saturating_sub(1), later)
    }

    /// Goes through rows one after the other. `visit` is given the leaf of each.
    fn visit(
        &self,
        first: Place,
        rows: u32,
        references: &mut References,
        mut visit: impl FnMut(Place, &Found, &mut References),
    ) {
        let mut place = first;
        let mut found = self.find(place);
        self.descend(found.parent, references);
        references.read(found.page);
        for left in (0..rows).rev() {
            if found.end.is_some_and(|end| place >= end) {
                found = self.find(place);
                if let Some(level) = self.levels.first() {
                    references.read(after(level.first, found.parent));
                }
                references.read(found.page);
            }
            self.overflow(place, references);
            visit(place, &found, references);
            if left > 0 {
                place = self.next(place);
            }
        }
    }

    /// The place of the row behind another one.
    fn next(&self, place: Place) -> Place {
        let found = self.find(place);
        if let Some(leaf) = self.changed.get(&found.begin) {
            let index = leaf.rows.partition_point(|(other, _)| *other <= place);
            if let Some((next, _)) = leaf.rows.get(index) {
                return *next;
            }
            if let Some(end) = leaf.end {
                return end;
            }
        }
        Place::initial((place.initial + 1).min(self.shape.rows.saturating_sub(1)))
    }

    fn overflow(&self, place: Place, references: &mut References) {
        let row = place.initial.min(self.shape.rows.saturating_sub(1));
        let own = self.overflow_of(row);
        let first = match place.later {
            0 => self.first_overflow.map(|first| after(first, own.start)),
            _ => self.later_overflow.get(&place).copied(),
        };
        if let Some(first) = first {
            for page in 0..own.len() as u32 {
                references.read(after(first, page));
            }
        }
    }

    /// Which of all overflow pages are a loaded row's. A later row has as many as the
    /// one before it.
    fn overflow_of(&self, row: u64) -> Range<u32> {
        self.shape.overflow_before(row)..self.shape.overflow_before(row + 1)
    }

    /// Replaces values of rows one after the other, each of which takes `grows` bytes
    /// more.
    pub(crate) fn update(
        &mut self,
        first: Place,
        rows: u32,
        grows: u32,
        pages: &mut Pages,
        references: &mut References,
    ) {
        let mut changed = Vec::new();
        self.visit(first, rows, references, |place, found, references| {
            references.change(found.page);
            changed.push(place);
        });
        if grows == 0 {
            return;
        }
        for place in changed {
            let begin = self.keep(place);
            let leaf = self.changed.get_mut(&begin).expect("it was kept");
            if let Ok(row) = leaf.rows.binary_search_by_key(&place, |(place, _)| *place) {
                leaf.rows[row].1 += grows;
                leaf.used += grows;
                self.balance(begin, pages, references);
            }
        }
    }

    /// Adds a row.
    pub(crate) fn insert(&mut self, place: Place, pages: &mut Pages, references: &mut References) {
        let found = self.find(place);
        self.descend(found.parent, references);
        references.change(found.page);
        let overflow = self.overflow_of(place.initial).len() as u32;
        if overflow > 0 {
            let first = pages.extend(overflow);
            for page in 0..overflow {
                references.fill(after(first, page));
            }
            self.later_overflow.insert(place, first);
        }
        let begin = self.keep(place);
        let row = self.shape.row;
        let leaf = self.changed.get_mut(&begin).expect("it was kept");
        let index = leaf.rows.partition_point(|(other, _)| *other < place);
        let is_last = index == leaf.rows.len() && leaf.end.is_none();
        if is_last && self.shape.appends && leaf.used + row > self.shape.leaf {
            // `balance_quick`: the row alone in a new leaf.
            leaf.end = Some(place);
            let parent = leaf.parent;
            let new = Leaf {
                page: pages.allocate(),
                parent,
                end: None,
                used: row,
                rows: vec![(place, row)],
            };
            references.fill(new.page);
            self.changed.insert(place, new);
            self.grow_root(pages);
            self.change_parent(parent, references);
            return;
        }
        leaf.rows.insert(index, (place, row));
        leaf.used += row;
        self.balance(begin, pages, references);
    }

    /// Removes a row.
    pub(crate) fn remove(&mut self, place: Place, pages: &mut Pages, references: &mut References) {
        let found = self.find(place);
        self.descend(found.parent, references);
        references.change(found.page);
        let begin = self.keep(place);
        let leaf = self.changed.get_mut(&begin).expect("it was kept");
        if let Ok(row) = leaf.rows.binary_search_by_key(&place, |(place, _)| *place) {
            leaf.used -= leaf.rows.remove(row).1;
            self.balance(begin, pages, references);
        }
    }

    /// Keeps the leaf of a place row by row from now on; where it begins.
    fn keep(&mut self, place: Place) -> Place {
        let Found {
            page,
            parent,
            begin,
            end,
        } = self.find(place);
        let shape = &self.shape;
        self.changed.entry(begin).or_insert_with(|| {
            let last = end.map_or(shape.rows, |end| end.initial);
            let rows: Vec<(Place, u32)> = (begin.initial..last)
                .map(|row| (Place::initial(row), shape.row))
                .collect();
            Leaf {
                page,
                parent,
                end,
                // Where a leaf has more rows than the average, these are smaller.
                used: (rows.len() as u32 * shape.row).min(shape.leaf),
                rows,
            }
        });
        begin
    }

    fn change_parent(&self, parent: u32, references: &mut References) {
        if let Some(level) = self.levels.first() {
            references.change(after(level.first, parent));
        }
    }

    /// A root that was a leaf becomes an inner page.
    fn grow_root(&mut self, pages: &mut Pages) {
        if self.levels.is_empty() {
            let first = pages.allocate();
            self.levels.push(Level { first, count: 1 });
        }
    }

    /// Has a leaf that is too full, or nearly empty, share its rows with its neighbors:
    /// up to three leaves become as many as are needed, the ones before the last fuller
    /// (SQLite's `balance_nonroot`).
    fn balance(&mut self, begin: Place, pages: &mut Pages, references: &mut References) {
        let leaf = &self.changed[&begin];
        let is_full = leaf.used > self.shape.leaf;
        // `balance`: less than a third is used.
        let is_empty = leaf.used * 3 < self.shape.leaf;
        let is_alone = self.leaves == 1 && self.changed.len() == 1;
        if !(is_full || is_empty && !is_alone) {
            return;
        }
        let group = self.neighbors(begin);
        let old: Vec<Leaf> = group
            .iter()
            .map(|begin| self.changed.remove(begin).expect("neighbors are kept"))
            .collect();
        let (parent, end) = (old[0].parent, old[old.len() - 1].end);
        let mut free: Vec<Page> = old.iter().map(|leaf| leaf.page).collect();
        free.reverse();
        let rows: Vec<(Place, u32)> = old.into_iter().flat_map(|leaf| leaf.rows).collect();
        let counts = share(&rows, self.shape.leaf);
        let mut begin = group[0];
        let mut rows = rows.into_iter().peekable();
        for (index, count) in counts.iter().enumerate() {
            let own: Vec<(Place, u32)> = rows.by_ref().take(*count).collect();
            let is_last = index + 1 == counts.len();
            let next = rows.peek().map(|(place, _)| *place);
            let page = match free.pop() {
                Some(page) => {
                    references.change(page);
                    page
                }
                None => {
                    let page = pages.allocate();
                    references.fill(page);
                    page
                }
            };
            let leaf = Leaf {
                page,
                parent,
                end: if is_last { end } else { next },
                used: own.iter().map(|(_, bytes)| bytes).sum(),
                rows: own,
            };
            self.changed.insert(begin, leaf);
            begin = next.unwrap_or(begin);
        }
        for page in free {
            pages.release(page);
        }
        if counts.len() > 1 {
            self.grow_root(pages);
        }
        self.change_parent(parent, references);
    }

    /// Where a leaf and its neighbors under the same parent begin, three where there
    /// are, all kept.
    fn neighbors(&mut self, begin: Place) -> Vec<Place> {
        let parent = self.changed[&begin].parent;
        let mut group = vec![begin];
        let left = |tree: &mut Self, of: Place| {
            let before = match of {
                Place {
                    initial: 0,
                    later: 0,
                } => return None,
                Place { initial, later: 0 } => Place {
                    initial: initial - 1,
                    later: u64::MAX,
                },
                Place { initial, later } => Place {
                    initial,
                    later: later - 1,
                },
            };
            let begin = tree.keep(before);
            (begin < of && tree.changed[&begin].parent == parent).then_some(begin)
        };
        let right = |tree: &mut Self, of: Place| {
            let end = tree.changed[&of].end?;
            let begin = tree.keep(end);
            (tree.changed[&begin].parent == parent).then_some(begin)
        };
        let before = left(self, begin);
        let behind = right(self, begin);
        group.extend(behind);
        if let Some(before) = before {
            group.insert(0, before);
        }
        if group.len() == 2 {
            // The first or last of its parent takes two from the other side.
            if before.is_none() {
                group.extend(right(self, group[1]));
            } else if let Some(further) = left(self, group[0]) {
                group.insert(0, further);
            }
        }
        group
    }
}

/// How many rows each of the fewest leaves gets: packed from the left, and then, from
/// the right, shared between each two until the right one is not the emptier.
fn share(rows: &[(Place, u32)], leaf: u32) -> Vec<usize> {
    let mut counts: Vec<usize> = vec![0];
    let mut used: Vec<u32> = vec![0];
    for (_, bytes) in rows {
        let last = used.len() - 1;
        if used[last] + bytes > leaf && counts[last] > 0 {
            counts.push(1);
            used.push(*bytes);
        } else {
            counts[last] += 1;
            used[last] += bytes;
        }
    }
    let mut end = rows.len();
    for right in (1..counts.len()).rev() {
        end -= counts[right];
        while counts[right - 1] > 1 {
            let bytes = rows[end - 1].1;
            if used[right] + bytes > used[right - 1] - bytes {
                break;
            }
            end -= 1;
            counts[right - 1] -= 1;
            counts[right] += 1;
            used[right - 1] -= bytes;
            used[right] += bytes;
        }
    }
    counts
}
