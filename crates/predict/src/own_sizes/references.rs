//! After which time pages of each tree are referred to again, with each page size.

use std::ops::ControlFlow;

use octavo_buffer::reuse::Reuse;
use octavo_database::{OwnSizes, StoredTree};
use octavo_units::{ByteCount, PageSize, Seed, mix};
use octavo_workload::{ConnectionError, Workload};

use super::pages::{TreePage, TreePages};
use crate::hashed::HashSet;

/// After which time pages of each tree are referred to again, with each page size.
#[derive(Clone, Debug)]
pub struct References {
    pub(super) trees: Vec<StoredTree>,
    pub(super) sizes: Vec<PageSize>,
    /// By tree and size.
    pub(super) reuses: Vec<Vec<Reuse>>,
    /// Touches of a transaction, which are the steps of time.
    pub(super) steps_a_transaction: f64,
    /// Transactions that were counted.
    transactions: u64,
    are_few: bool,
}

/// Whose references are counted, and for what memory.
#[derive(Clone, Copy, Debug)]
pub struct Watch {
    /// Memory for pages.
    pub room: ByteCount,
    /// Bytes of rows that were written last and are read from memory without a page.
    pub recent: ByteCount,
    /// Clients that take turns.
    pub clients: u32,
    /// Of their inputs.
    pub seed: Seed,
}

/// Why references could not be counted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReferencesError {
    /// A transaction found what it cannot go on with.
    #[error("a transaction cannot be foreseen")]
    Transaction(#[from] ConnectionError),
    /// The caller stopped it.
    #[error("counting references was stopped")]
    Stopped,
}

/// Regions of the largest page size of which a tree has all pages counted, and of a larger tree about as
/// many that are drawn: what a sample of these misses is known within some percent (Waldspurger et al.,
/// Efficient MRC Construction with SHARDS, FAST 2015: 8,000 pages are enough).
const REGIONS: u64 = 1 << 13;

/// How many times as much as fits into the buffer is referred to before times are counted: none that the
/// buffer keeps are longer than what was seen then. Chosen.
const SEEN_OVER_ROOM: f64 = 1.25;

/// Touches after which counting begins in any case. Chosen: some seconds.
const TOUCHES_MAX: u64 = 10_000_000;

/// Touches that are counted at least, so that rare transactions are among them. Chosen.
const TOUCHES_MIN: u64 = 400_000;

/// Transactions between two looks at the caller.
const LOOK: u64 = 256;

/// The share of all pages after which there are hardly more to be seen. Chosen.
const NEARLY_ALL: f64 = 0.98;

/// Counts pages, of large trees a sample.
struct Counter<'a> {
    trees: &'a [StoredTree],
    sizes: &'a [PageSize],
    /// By tree: of how many regions one is drawn, a power of two.
    one_of: Vec<u64>,
    reuses: Vec<Vec<Reuse>>,
    /// By tree: pages of the smallest size that were seen.
    seen: Vec<HashSet<u64>>,
    seed: Seed,
}

impl<'a> Counter<'a> {
    fn new(trees: &'a [StoredTree], sizes: &'a [PageSize], seed: Seed) -> Self {
        let one_of = trees.iter().map(|tree| {
            let regions = tree.pages(PageSize::MAX);
            (regions / REGIONS).max(1).next_power_of_two()
        });
        Self {
            trees,
            sizes,
            one_of: one_of.collect(),
            reuses: vec![vec![Reuse::default(); sizes.len()]; trees.len()],
            seen: vec![HashSet::default(); trees.len()],
            seed,
        }
    }

    fn refer(&mut self, page: TreePage, now: u64, is_counted: bool) {
        let TreePage {
            tree, size, number, ..
        } = page;
        let bytes = u64::from(self.sizes[size].get());
        let region = number * bytes / u64::from(PageSize::MAX.get());
        let drawn = mix(self.seed.get() ^ (tree as u64) << 48 ^ region);
        let one_of = self.one_of[tree];
        if drawn & (one_of - 1) != 0 {
            return;
        }
        if size == 0 {
            self.seen[tree].insert(number);
        }
        let weight = page.missed().times(one_of as f64);
        self.reuses[tree][size].refer(number, now, weight, is_counted);
    }

    fn smallest(&self) -> PageSize {
        self.sizes.first().copied().unwrap_or(PageSize::MAX)
    }

    /// Bytes of the smallest pages that were seen.
    fn seen(&self) -> f64 {
        let all = self.seen.iter().zip(&self.one_of);
        let pages: f64 = all
            .map(|(seen, one_of)| seen.len() as f64 * *one_of as f64)
            .sum();
        pages * f64::from(self.smallest().get())
    }

    /// Whether nearly all pages were seen.
    fn has_seen_all(&self) -> bool {
        let smallest = self.smallest();
        let all: u64 = self.trees.iter().map(|tree| tree.pages(smallest)).sum();
        self.seen() >= NEARLY_ALL * all as f64 * f64::from(smallest.get())
    }
}

impl References {
    /// Counts references of a workload's clients to trees with pages of these sizes. `flow` may stop it.
    ///
    /// # Errors
    /// [`ReferencesError`].
    pub fn count(
        workload: &dyn Workload,
        own_sizes: &OwnSizes,
        trees: Vec<StoredTree>,
        sizes: Vec<PageSize>,
        watch: Watch,
        flow: &dyn Fn() -> ControlFlow<()>,
    ) -> Result<Self, ReferencesError> {
        let tables = workload.tables().len();
        let mut pages = TreePages::new(own_sizes, &trees, &sizes, tables, watch.recent);
        let mut counter = Counter::new(&trees, &sizes, watch.seed.derive("regions", 0));
        let mut clients = workload.clients(watch.seed, watch.clients.max(1));
        let mut tracer = workload.touch_tracer();
        let (mut now, mut transactions) = (0, 0);
        // Touches and transactions before the first that are counted.
        let mut before: Option<(u64, u64)> = None;
        for turn in 0u64.. {
            if turn % LOOK == 0 {
                if flow().is_break() {
                    return Err(ReferencesError::Stopped);
                }
                match before {
                    None => {
                        let wanted = SEEN_OVER_ROOM * watch.room.get() as f64;
                        // Small data may never be as much.
                        let is_seen = counter.seen() >= wanted || counter.has_seen_all();
                        if now >= TOUCHES_MAX || (now >= TOUCHES_MIN && is_seen) {
                            before = Some((now, turn));
                        }
                    }
                    Some((touches, first)) if now >= 2 * touches => {
                        transactions = turn - first;
                        break;
                    }
                    Some(_) => {}
                }
            }
            let number = (turn % clients.len() as u64) as usize;
            tracer.forget();
            clients[number].draw();
            clients[number].run(&mut tracer)?;
            for touch in tracer.touches() {
                now += 1;
                pages.touch(touch, &mut |page| {
                    counter.refer(page, now, before.is_some());
                });
            }
        }
        let wanted = watch.room.get() as f64;
        let are_few = counter.seen() < wanted && !counter.has_seen_all();
        let steps = now - before.map_or(0, |(touches, _)| touches);
        let mut reuses = counter.reuses;
        for reuse in reuses.iter_mut().flatten() {
            reuse.end(steps);
        }
        Ok(Self {
            trees,
            sizes,
            reuses,
            steps_a_transaction: steps as f64 / transactions.max(1) as f64,
            transactions,
            are_few,
        })
    }

    /// Whether all that was referred to fits, and is not nearly all that there is: in the long run more
    /// would be in the buffer.
    pub fn are_few(&self) -> bool {
        self.are_few
    }

    /// How many bytes each tree has after loading.
    pub fn sizes_of_trees(&self) -> impl Iterator<Item = ByteCount> {
        let trees = self.trees.iter();
        trees.map(|tree| ByteCount::new((tree.entries as f64 * tree.entry) as u64))
    }

    /// How many transactions were counted.
    pub fn transactions(&self) -> u64 {
        self.transactions
    }
}
