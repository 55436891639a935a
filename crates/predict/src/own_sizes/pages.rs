//! From rows to pages: which pages of each tree a touch refers to.

use octavo_buffer::reuse::Again;
use octavo_database::{OwnSizes, PageRead, StoredTree};
use octavo_units::{ByteCount, PageSize};
use octavo_workload::touch::{AccessPath, Action, Place, Touch};

use crate::hashed::HashMap;

/// A page that is referred to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TreePage {
    /// The tree, by its position.
    pub tree: usize,
    /// Its page size, by its position among those in question.
    pub size: usize,
    /// The page's number in its tree, from 0.
    pub number: u64,
    /// How it is read if it is missed, and those before it in the same scan are.
    pub read: PageRead,
}

/// The pages that touches refer to, with each of several page sizes.
#[derive(Debug)]
pub struct TreePages<'a> {
    own_sizes: &'a OwnSizes,
    trees: &'a [StoredTree],
    sizes: &'a [PageSize],
    /// The tree of each table's rows, and of its indexes.
    places: Vec<(usize, Vec<usize>)>,
    /// By tree and place: how much had been written in all when that row was written last.
    written_at: HashMap<(usize, Place), f64>,
    written: f64,
    recent: f64,
}

impl TreePage {
    /// What it is if it is missed.
    pub fn missed(&self) -> Again {
        let one = Again {
            pages: 1.0,
            ..Again::default()
        };
        match self.read {
            PageRead::Alone => Again { reads: 1.0, ..one },
            PageRead::Ahead(bytes) => Again {
                ahead: 1.0,
                ahead_bytes: bytes.get() as f64,
                ..one
            },
            PageRead::Came => one,
        }
    }
}

impl<'a> TreePages<'a> {
    /// Of these trees of a workload with so many tables. Rows that were written within the last `recent`
    /// bytes are read from where they were written to, and not from pages.
    pub fn new(
        own_sizes: &'a OwnSizes,
        trees: &'a [StoredTree],
        sizes: &'a [PageSize],
        tables: usize,
        recent: ByteCount,
    ) -> Self {
        let mut places = vec![(0, Vec::new()); tables];
        for (number, tree) in trees.iter().enumerate() {
            let (rows, indexes) = &mut places[tree.table.0];
            match tree.index {
                None => *rows = number,
                Some(_) => indexes.push(number),
            }
        }
        Self {
            own_sizes,
            trees,
            sizes,
            places,
            written_at: HashMap::default(),
            written: 0.0,
            recent: recent.get() as f64,
        }
    }

    /// Hands over the pages that a touch refers to, those of each size in their order.
    pub fn touch(&mut self, touch: &Touch, visit: &mut dyn FnMut(TreePage)) {
        let (rows, indexes) = &self.places[touch.table.0];
        let number = match touch.by {
            AccessPath::Key | AccessPath::Entry => *rows,
            AccessPath::Index(index) => indexes[index],
        };
        let tree = &self.trees[number];
        let is_recent = self.is_recent(number, touch);
        if touch.is_change() {
            self.written += tree.entry * f64::from(touch.rows.max(1));
            for place in touch.places() {
                self.written_at.insert((number, place), self.written);
            }
        }
        let is_looked_at = match touch.action {
            Action::Read | Action::Update { .. } => true,
            Action::Insert => tree.looks_before_insert,
            // What is removed was read before, by the same path. Entries are not.
            Action::Delete => tree.index.is_none(),
        };
        if !is_looked_at || is_recent || tree.entries == 0 {
            return;
        }
        // Later rows lie behind the initial ones that they follow.
        let first = touch.first.initial.min(tree.entries - 1);
        let last = (first + u64::from(touch.rows.max(1)) - 1).min(tree.entries - 1);
        for (size, &page_size) in self.sizes.iter().enumerate() {
            let page_of = |entry: u64| (entry as f64 / tree.entries_a_page(page_size)) as u64;
            let (first, last) = (page_of(first), page_of(last));
            let ahead = self.own_sizes.read_ahead;
            let mut reads = ahead.map(|ahead| ahead.reads(last - first + 1, page_size));
            for page in first..=last {
                visit(TreePage {
                    tree: number,
                    size,
                    number: page,
                    read: reads
                        .as_mut()
                        .and_then(Iterator::next)
                        .unwrap_or(PageRead::Alone),
                });
            }
        }
    }

    /// Whether one row is wanted that was written so lately that no page is looked at. Whoever wants several
    /// looks at pages for those between.
    fn is_recent(&self, number: usize, touch: &Touch) -> bool {
        let is_one = touch.rows <= 1 && !matches!(touch.by, AccessPath::Index(_));
        let written_at = self.written_at.get(&(number, touch.first));
        is_one && written_at.is_some_and(|at| self.written - at <= self.recent)
    }
}
