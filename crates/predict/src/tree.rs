//! A B-tree: in which leaf a row is, and which pages a change touches.
//!
//! A tree that was loaded in the order of its keys needs no memory: how many rows a
//! leaf has is an average, and a row's leaf follows from its number. Leaves that were
//! changed are kept row by row, so that splits and merges come where they would.

#[cfg(test)]
mod tests;

use std::{collections::BTreeMap, ops::Range, sync::Arc};

use octavo_buffer::Page;
use octavo_units::mix;
use octavo_workload::touch::Place;

use crate::{
    leaf_rows::{LeafRows, Sizes, whole},
    pages::{Pages, Steps, after},
};

/// What decides how rows lie in a tree. All sizes are bytes.
#[derive(Clone, Debug)]
pub(crate) struct Shape {
    /// Rows after loading.
    pub(crate) rows: u64,
    /// How many of them a leaf has on average.
    pub(crate) rows_a_leaf: f64,
    /// What a row takes in a leaf on average, its pointer included.
    pub(crate) row: f64,
    /// Room for rows in a leaf.
    pub(crate) leaf: u32,
    /// What of it was left in some leaves after loading: as much is in others.
    pub(crate) slacks: Vec<u32>,
    /// Children of an inner page after loading.
    pub(crate) fan_out: f64,
    /// Pages that hold what of a row has no room in the leaf, on average.
    pub(crate) overflow: f64,
    /// How often a row that is read has the database refer to each of these pages, on
    /// average: at least once.
    pub(crate) overflow_references: f64,
    /// What becomes of leaves that are full, or nearly empty.
    pub(crate) growth: Growth,
}

/// What becomes of leaves that are full, or nearly empty.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Growth {
    /// Up to three neighbors share their rows anew (SQLite's `balance_nonroot`).
    Share {
        /// Whether a row behind the last one gets a new leaf for itself.
        appends: bool,
    },
    /// A full leaf is split in two: in the middle; behind a row that came right after the
    /// one before it; and at the end of the tree where `last_fill` says.
    Split {
        /// How full the last leaf stays when one is put behind it; 1 leaves only the new
        /// row to that.
        last_fill: f64,
        /// Whether other leaves are split behind a row that came right after the one before
        /// it; else all of them in the middle.
        splits_behind_sequel: bool,
        /// Leaves less full than this are merged with a neighbor that has room for both;
        /// 0 for never.
        merge_below: f64,
    },
}

impl Shape {
    /// What is left in the leaf that begins with a row.
    fn slack(&self, row: u64) -> u32 {
        let drawn = mix(row) as usize % self.slacks.len().max(1);
        self.slacks
            .get(drawn)
            .map_or(0, |slack| *slack.min(&self.leaf))
    }

    /// The first row of a loaded leaf.
    fn start(&self, leaf: u32) -> u64 {
        (f64::from(leaf) * self.rows_a_leaf).ceil() as u64
    }

    /// Leaves after loading. Each of them has a row: one that began behind the last row
    /// would be no leaf that any row is found in.
    fn leaves(&self) -> u32 {
        let mut leaves = ((self.rows as f64 / self.rows_a_leaf).ceil() as u32).max(1);
        while leaves > 1 && self.start(leaves - 1) >= self.rows {
            leaves -= 1;
        }
        leaves
    }

    /// Overflow pages of the rows before one.
    fn overflow_before(&self, row: u64) -> u32 {
        (row as f64 * self.overflow) as u32
    }
}

/// Where the values of a row lie that an update replaces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Replaced {
    /// Whether any of them is in the leaf.
    pub(crate) is_in_leaf: bool,
    /// Which of the row's overflow pages have some of them.
    pub(crate) pages: Vec<u32>,
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
    /// What did not fit into leaves, row by row, after loading …
    first_overflow: Option<Page>,
    /// … and of rows that came later, or were given other pages.
    later_overflow: BTreeMap<Place, Vec<Page>>,
    /// Changed leaves, by the first place that each may have.
    changed: BTreeMap<Place, Leaf>,
    /// Rows that were updated.
    updates: u64,
    /// Where replaced values of rows lie, as in one row after the other; in the leaf where there are none.
    replaced: Arc<[Replaced]>,
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
    rows: LeafRows,
    /// The row that came last.
    newest: Option<Place>,
}

/// Where a row's leaf is.
#[derive(Clone, Copy, Debug)]
struct LeafPosition {
    page: Page,
    parent: u32,
    begin: Place,
    end: Option<Place>,
}

impl Tree {
    /// A tree loaded in the order of its key.
    pub(crate) fn new(shape: Shape, pages: &mut Pages) -> Self {
        let leaves = shape.leaves();
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
            updates: 0,
            replaced: Arc::default(),
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

    /// Pages from the root to a leaf, which the steps of what is done with a row begin with.
    pub(crate) fn height(&self) -> usize {
        self.levels.len() + 1
    }

    fn loaded_leaf(&self, row: u64) -> u32 {
        let row = row.min(self.shape.rows.saturating_sub(1));
        let mut leaf = (row as f64 / self.shape.rows_a_leaf) as u32;
        while self.shape.start(leaf) > row {
            leaf -= 1;
        }
        while leaf + 1 < self.leaves && self.shape.start(leaf + 1) <= row {
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

    fn find(&self, place: Place) -> LeafPosition {
        if let Some((&begin, leaf)) = self.changed.range(..=place).next_back()
            && leaf.end.is_none_or(|end| place < end)
        {
            return LeafPosition {
                page: leaf.page,
                parent: leaf.parent,
                begin,
                end: leaf.end,
            };
        }
        let leaf = self.loaded_leaf(place.initial);
        LeafPosition {
            page: after(self.first_leaf, leaf),
            parent: self.parent_of(leaf),
            begin: Place::initial(if leaf == 0 { 0 } else { self.shape.start(leaf) }),
            end: (leaf + 1 < self.leaves).then(|| Place::initial(self.shape.start(leaf + 1))),
        }
    }

    /// The inner pages on the way to a leaf, from the root.
    fn descend(&self, parent: u32, steps: &mut Steps) {
        for (height, level) in self.levels.iter().enumerate().rev() {
            let mut index = parent;
            for pair in self.levels[..=height].windows(2) {
                let children = f64::from(pair[0].count) / f64::from(pair[1].count);
                index = ((f64::from(index) / children) as u32).min(pair[1].count - 1);
            }
            steps.read(after(level.first, index));
        }
    }

    /// From now on a row that is read has the database refer to each of its overflow pages
    /// so often, on average: that depends on which of its values are wanted.
    pub(crate) fn refer_to_overflow(&mut self, references: f64) {
        self.shape.overflow_references = references;
    }

    /// From now on the values that updates replace lie there: as in these rows one after the other, and in
    /// the leaf where none is given.
    pub(crate) fn replace_at(&mut self, replaced: Arc<[Replaced]>) {
        self.replaced = replaced;
    }

    /// Reads rows one after the other; answers where they are.
    pub(crate) fn read(&self, first: Place, rows: u32, steps: &mut Steps) -> Vec<Place> {
        let mut places = Vec::with_capacity(rows as usize);
        self.visit(first, rows, steps, |place, _, _| places.push(place));
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
        steps: &mut Steps,
        mut visit: impl FnMut(Place, &LeafPosition, &mut Steps),
    ) {
        let mut place = first;
        let mut found = self.find(place);
        self.descend(found.parent, steps);
        steps.read(found.page);
        for left in (0..rows).rev() {
            if found.end.is_some_and(|end| place >= end) {
                let parent = found.parent;
                found = self.find(place);
                if let Some(level) = self.levels.first() {
                    let above = after(level.first, found.parent);
                    match found.parent == parent {
                        true => steps.read_held(above),
                        false => steps.read(above),
                    }
                }
                steps.read(found.page);
            }
            let numbers = u64::from(self.overflow_of(place.initial).start)..;
            for (page, number) in self.overflow(place).into_iter().zip(numbers) {
                let references = whole(number, self.shape.overflow_references).max(1);
                for _ in 0..references {
                    steps.read(page);
                }
            }
            visit(place, &found, steps);
            if left > 0 {
                place = self.next(place);
            }
        }
    }

    /// The place of the row behind another one; of the last its own.
    fn next(&self, place: Place) -> Place {
        let mut found = self.find(place);
        loop {
            if let Some(leaf) = self.changed.get(&found.begin) {
                if let Some(next) = leaf.rows.next(place) {
                    return next;
                }
            } else {
                let last = found.end.map_or(self.shape.rows, |end| end.initial);
                let next = match place < found.begin {
                    true => found.begin.initial,
                    false => place.initial + 1,
                };
                if next < last {
                    return Place::initial(next);
                }
            }
            let Some(end) = found.end else {
                return place;
            };
            found = self.find(end);
        }
    }

    /// A row's overflow pages.
    fn overflow(&self, place: Place) -> Vec<Page> {
        if let Some(own) = self.later_overflow.get(&place) {
            return own.clone();
        }
        let row = place.initial.min(self.shape.rows.saturating_sub(1));
        match self.first_overflow.filter(|_| place.later == 0) {
            Some(first) => self
                .overflow_of(row)
                .map(|page| after(first, page))
                .collect(),
            None => Vec::new(),
        }
    }

    /// Which of all overflow pages are a loaded row's. A later row has as many as the
    /// one before it.
    fn overflow_of(&self, row: u64) -> Range<u32> {
        self.shape.overflow_before(row)..self.shape.overflow_before(row + 1)
    }

    /// Replaces values of rows one after the other, each of which takes `grows` bytes
    /// more; answers where they are.
    pub(crate) fn update(
        &mut self,
        first: Place,
        rows: u32,
        grows: u32,
        pages: &mut Pages,
        steps: &mut Steps,
    ) -> Vec<Place> {
        let mut changed = Vec::new();
        let mut number = self.updates;
        self.visit(first, rows, steps, |place, found, steps| {
            number += 1;
            self.overwrite(place, found.page, number, steps);
            changed.push(place);
        });
        self.updates = number;
        for &place in changed.iter().filter(|_| grows > 0) {
            let begin = self.keep(place);
            let leaf = self.changed.get_mut(&begin).expect("it was kept");
            if leaf.rows.grow(place, grows) {
                leaf.used += grows;
                match self.shape.growth {
                    Growth::Share { .. } => self.balance(begin, leaf_is_full, pages, steps),
                    Growth::Split { .. } => self.split(begin, Cut::Fill(0.5), pages, steps),
                }
            }
        }
        changed
    }

    /// Changes the pages that have the values which update `number` replaces. All of the row's are passed.
    fn overwrite(&self, place: Place, leaf: Page, number: u64, steps: &mut Steps) {
        let overflow = self.overflow(place);
        let like = (number % self.replaced.len().max(1) as u64) as usize;
        let Some(replaced) = self.replaced.get(like).filter(|_| !overflow.is_empty()) else {
            return steps.change_held(leaf);
        };
        if replaced.is_in_leaf {
            steps.change_held(leaf);
        }
        for (number, page) in (0..).zip(overflow) {
            match replaced.pages.contains(&number) {
                true => steps.change(page),
                false => steps.read(page),
            }
        }
    }

    /// Gives a row that was read other overflow pages, which are new; answers those that it had.
    pub(crate) fn renew(
        &mut self,
        place: Place,
        pages: &mut Pages,
        steps: &mut Steps,
    ) -> Vec<Page> {
        steps.change_held(self.find(place).page);
        let old = self.overflow(place);
        let new: Vec<Page> = old.iter().map(|_| pages.allocate()).collect();
        new.iter().for_each(|page| steps.fill(*page));
        self.later_overflow.insert(place, new);
        old
    }

    /// Adds a row.
    pub(crate) fn insert(&mut self, place: Place, pages: &mut Pages, steps: &mut Steps) {
        let found = self.find(place);
        self.descend(found.parent, steps);
        steps.read(found.page);
        let overflow = self.overflow_of(place.initial).len() as u32;
        if overflow > 0 {
            let first = pages.extend(overflow);
            let own: Vec<Page> = (0..overflow).map(|page| after(first, page)).collect();
            own.iter().for_each(|page| steps.fill(*page));
            self.later_overflow.insert(place, own);
        }
        let begin = self.keep(place);
        let sizes = Sizes {
            number: place.later,
            mean: self.shape.row,
        };
        let row = whole(place.later, self.shape.row);
        let leaf = self.changed.get_mut(&begin).expect("it was kept");
        let before = leaf.rows.before(place);
        let is_last = leaf.end.is_none() && leaf.rows.last() == before;
        let appends = self.shape.growth == Growth::Share { appends: true };
        if is_last && appends && leaf.used + row > self.shape.leaf {
            // `balance_quick`: the row alone in a new leaf.
            leaf.end = Some(place);
            let parent = leaf.parent;
            let new = Leaf {
                page: pages.allocate(),
                parent,
                end: None,
                used: row,
                rows: LeafRows::new(place, 1, sizes),
                newest: None,
            };
            steps.fill(new.page);
            self.changed.insert(place, new);
            self.grow_root(pages, steps);
            self.change_parent(parent, steps);
            return;
        }
        steps.change_held(leaf.page);
        let is_sequel = before.is_some() && leaf.newest == before;
        leaf.rows.insert(place, sizes);
        leaf.used += row;
        leaf.newest = Some(place);
        match self.shape.growth {
            Growth::Share { .. } => self.balance(begin, leaf_is_full, pages, steps),
            Growth::Split {
                last_fill,
                splits_behind_sequel,
                ..
            } => {
                let cut = match (is_last, is_sequel && splits_behind_sequel) {
                    (true, _) => Cut::Fill(last_fill),
                    (false, true) => Cut::Behind(place),
                    (false, false) => Cut::Fill(0.5),
                };
                self.split(begin, cut, pages, steps);
            }
        }
    }

    /// Splits a leaf in two if it is full.
    fn split(&mut self, begin: Place, cut: Cut, pages: &mut Pages, steps: &mut Steps) {
        let leaf = self.changed.get_mut(&begin).expect("it was kept");
        if leaf.used <= self.shape.leaf || leaf.rows.len() < 2 {
            return;
        }
        let room = match cut {
            // The leaf is fuller than it may be: half of what it has.
            Cut::Fill(share) if share <= 0.5 => f64::from(leaf.used) * share,
            Cut::Fill(share) => f64::from(self.shape.leaf) * share,
            Cut::Behind(_) => f64::from(self.shape.leaf),
        };
        let mut fitting = 0;
        let fitted = leaf.rows.iter().take_while(|(_, bytes)| {
            fitting += bytes;
            f64::from(fitting) <= room
        });
        let (fitted, all) = (fitted.count(), leaf.rows.len());
        let count = match cut {
            Cut::Behind(place) if leaf.rows.last() != Some(place) => {
                leaf.rows.count_through(place).min(fitted)
            }
            _ => fitted,
        };
        let own = leaf.rows.split_off(count.clamp(1, all - 1));
        let used = own.bytes();
        let first = own.first().unwrap_or(begin);
        let (parent, end) = (leaf.parent, leaf.end);
        leaf.used -= used;
        leaf.end = Some(first);
        // What comes next is behind the row that came last, wherever that is now.
        let newest = leaf.newest.filter(|newest| *newest >= first);
        let page = pages.allocate();
        steps.fill(page);
        let new = Leaf {
            page,
            parent,
            end,
            used,
            rows: own,
            newest,
        };
        self.changed.insert(first, new);
        if let Some(end) = end {
            // The one behind leads back to another one now.
            steps.change(self.find(end).page);
        }
        self.grow_root(pages, steps);
        self.change_parent(parent, steps);
    }

    /// Merges a leaf that is less full than `below` with a neighbor of the same parent if
    /// one has room.
    fn merge(&mut self, begin: Place, below: f64, pages: &mut Pages, steps: &mut Steps) {
        let (leaf, room) = (&self.changed[&begin], self.shape.leaf);
        if f64::from(leaf.used) >= f64::from(room) * below {
            return;
        }
        let group = self.neighbors(begin);
        let fits = |tree: &Self, left: Place, right: Place| {
            tree.changed[&left].used + tree.changed[&right].used <= room
        };
        let Some(pair) = group
            .windows(2)
            .find(|pair| (pair[0] == begin || pair[1] == begin) && fits(self, pair[0], pair[1]))
        else {
            return;
        };
        let right = self.changed.remove(&pair[1]).expect("neighbors are kept");
        let left = self.changed.get_mut(&pair[0]).expect("neighbors are kept");
        left.used += right.used;
        left.rows.append(right.rows);
        left.end = right.end;
        left.newest = None;
        steps.change(left.page);
        steps.change(right.page);
        pages.release(right.page);
        if let Some(end) = right.end {
            steps.change(self.find(end).page);
        }
        self.change_parent(right.parent, steps);
    }

    /// The leaf in which a row is or would be, and what is left in it.
    pub(crate) fn room(&self, place: Place) -> (Page, u32) {
        let found = self.find(place);
        let left = match self.changed.get(&found.begin) {
            Some(leaf) => self.shape.leaf.saturating_sub(leaf.used),
            None => self.shape.slack(found.begin.initial),
        };
        (found.page, left)
    }

    /// The leaf before that of a row which is the first of its own.
    pub(crate) fn before_first(&self, place: Place) -> Option<Page> {
        let found = self.find(place);
        let first = match self.changed.get(&found.begin) {
            Some(leaf) => leaf.rows.first(),
            None => Some(found.begin),
        };
        let before = place_before(found.begin)?;
        (first == Some(place)).then(|| self.find(before).page)
    }

    /// The leaf behind that of a row which is the last of its own.
    pub(crate) fn behind_last(&self, place: Place) -> Option<Page> {
        let found = self.find(place);
        let end = found.end?;
        let is_last = match self.changed.get(&found.begin) {
            Some(leaf) => leaf.rows.last() == Some(place),
            None => place.initial + 1 == end.initial,
        };
        is_last.then(|| self.find(end).page)
    }

    /// Reads the first `most` leaves of those from one row to another, and the last one.
    pub(crate) fn read_borders(&self, first: Place, last: Place, most: u32, steps: &mut Steps) {
        let mut found = self.find(first);
        self.descend(found.parent, steps);
        steps.read(found.page);
        for _ in 1..most {
            match found.end {
                Some(end) if end <= last => found = self.find(end),
                _ => return,
            }
            steps.read(found.page);
        }
        let found = self.find(last);
        self.descend(found.parent, steps);
        steps.read(found.page);
    }

    /// Removes a row.
    pub(crate) fn remove(&mut self, place: Place, pages: &mut Pages, steps: &mut Steps) {
        let found = self.find(place);
        self.descend(found.parent, steps);
        steps.change(found.page);
        let begin = self.keep(place);
        let leaf = self.changed.get_mut(&begin).expect("it was kept");
        if let Some(bytes) = leaf.rows.remove(place) {
            leaf.used -= bytes;
            match self.shape.growth {
                Growth::Share { .. } => self.balance(begin, leaf_is_nearly_empty, pages, steps),
                Growth::Split { merge_below, .. } => self.merge(begin, merge_below, pages, steps),
            }
        }
    }

    /// Keeps the leaf of a place row by row from now on; where it begins.
    fn keep(&mut self, place: Place) -> Place {
        let LeafPosition {
            page,
            parent,
            begin,
            end,
        } = self.find(place);
        let shape = &self.shape;
        self.changed.entry(begin).or_insert_with(|| {
            let last = end.map_or(shape.rows, |end| end.initial);
            let count = last.saturating_sub(begin.initial).max(1);
            let mean = f64::from(shape.leaf - shape.slack(begin.initial)) / count as f64;
            // The last leaf has fewer rows.
            let mean = if end.is_some() {
                mean
            } else {
                mean.min(shape.row)
            };
            let sizes = Sizes { number: 0, mean };
            let count = last.saturating_sub(begin.initial);
            let rows = LeafRows::new(Place::initial(begin.initial), count, sizes);
            Leaf {
                page,
                parent,
                end,
                used: rows.bytes(),
                rows,
                newest: None,
            }
        });
        begin
    }

    fn change_parent(&self, parent: u32, steps: &mut Steps) {
        if let Some(level) = self.levels.first() {
            steps.change(after(level.first, parent));
        }
    }

    /// A root that was a leaf becomes an inner page.
    fn grow_root(&mut self, pages: &mut Pages, steps: &mut Steps) {
        if self.levels.is_empty() {
            let first = pages.allocate();
            steps.fill(first);
            self.levels.push(Level { first, count: 1 });
        }
    }

    /// Has a leaf in need share its rows with its neighbors: up to three leaves become as
    /// many as are needed, the ones before the last fuller (SQLite's `balance_nonroot`).
    fn balance(
        &mut self,
        begin: Place,
        is_needed: fn(&Leaf, &Shape) -> bool,
        pages: &mut Pages,
        steps: &mut Steps,
    ) {
        if !is_needed(&self.changed[&begin], &self.shape) {
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
        let mut rest = LeafRows::default();
        old.into_iter().for_each(|leaf| rest.append(leaf.rows));
        let counts = share(&rest, self.shape.leaf);
        let mut begin = group[0];
        for (index, count) in counts.iter().enumerate() {
            let behind = rest.split_off(*count);
            let own = std::mem::replace(&mut rest, behind);
            let is_last = index + 1 == counts.len();
            let next = rest.first();
            let page = match free.pop() {
                Some(page) => {
                    steps.change(page);
                    page
                }
                None => {
                    let page = pages.allocate();
                    steps.fill(page);
                    page
                }
            };
            let leaf = Leaf {
                page,
                parent,
                end: if is_last { end } else { next },
                used: own.bytes(),
                rows: own,
                newest: None,
            };
            self.changed.insert(begin, leaf);
            begin = next.unwrap_or(begin);
        }
        for page in free {
            pages.release(page);
        }
        if counts.len() > 1 {
            self.grow_root(pages, steps);
        }
        self.change_parent(parent, steps);
    }

    /// Where a leaf and its neighbors under the same parent begin, three where there
    /// are, all kept.
    fn neighbors(&mut self, begin: Place) -> Vec<Place> {
        let parent = self.changed[&begin].parent;
        let mut group = vec![begin];
        let left = |tree: &mut Self, of: Place| {
            let begin = tree.keep(place_before(of)?);
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

/// A place before which there is none but those before another one.
fn place_before(of: Place) -> Option<Place> {
    match of {
        Place {
            initial: 0,
            later: 0,
        } => None,
        Place { initial, later: 0 } => Some(Place {
            initial: initial - 1,
            later: u64::MAX,
        }),
        Place { initial, later } => Some(Place {
            initial,
            later: later - 1,
        }),
    }
}

/// Where a full leaf is split.
#[derive(Clone, Copy, Debug)]
enum Cut {
    /// Where the left one is so full.
    Fill(f64),
    /// Behind this row, or where the left one is full.
    Behind(Place),
}

/// What calls for a balance after a row was added, or grew.
fn leaf_is_full(leaf: &Leaf, shape: &Shape) -> bool {
    leaf.used > shape.leaf
}

/// What calls for one after a row was removed: less than a third is used (SQLite's
/// `balance`).
fn leaf_is_nearly_empty(leaf: &Leaf, shape: &Shape) -> bool {
    leaf.used * 3 < shape.leaf
}

/// How many rows each of the fewest leaves gets: packed from the left, and then, from
/// the right, shared between each two until the right one is not the emptier.
fn share(rows: &LeafRows, leaf: u32) -> Vec<usize> {
    let rows: Vec<u32> = rows.iter().map(|(_, bytes)| bytes).collect();
    let mut counts: Vec<usize> = vec![0];
    let mut used: Vec<u32> = vec![0];
    for bytes in &rows {
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
            let bytes = rows[end - 1];
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
