//! The assignment of page sizes that costs the least.

use octavo_buffer::reuse::{Again, Kind, window};
use octavo_database::StoredTree;
use octavo_units::{ByteCount, PageSize};

use super::references::References;

/// What reads cost: one of a page what it was measured to, and one of several pages so much for the request
/// and so much for each byte.
#[derive(Clone, Debug, PartialEq)]
pub struct ReadCost {
    /// Nanoseconds of a random read, by page size.
    pub times: Vec<(PageSize, f64)>,
    /// Nanoseconds of a request.
    pub request_ns: f64,
    /// Nanoseconds of each of its bytes.
    pub byte_ns: f64,
}

impl ReadCost {
    /// Of times of random reads, by page size and in nanoseconds. Larger requests cost what the line has
    /// that is off by the least share of them (least squares of relative errors); neither part of it is below
    /// 0. `None` without two sizes.
    pub fn new(times: Vec<(PageSize, f64)>) -> Option<Self> {
        let [mut ww, mut wx, mut wxx, mut wy, mut wxy] = [0.0; 5];
        for (size, ns) in &times {
            let (x, weight) = (f64::from(size.get()), 1.0 / (ns * ns));
            ww += weight;
            wx += weight * x;
            wxx += weight * x * x;
            wy += weight * ns;
            wxy += weight * x * ns;
        }
        let determinant = ww * wxx - wx * wx;
        if times.len() < 2 || determinant.abs() <= f64::EPSILON * ww * wxx {
            return None;
        }
        let byte_ns = (ww * wxy - wx * wy) / determinant;
        let request_ns = (wy - byte_ns * wx) / ww;
        let (request_ns, byte_ns) = match (request_ns < 0.0, byte_ns < 0.0) {
            (true, _) => (0.0, wxy / wxx),
            (_, true) => (wy / ww, 0.0),
            _ => (request_ns, byte_ns),
        };
        Some(Self {
            times,
            request_ns,
            byte_ns,
        })
    }

    /// What these misses of pages of a size cost, in nanoseconds.
    pub fn of(&self, missed: Again, page_size: PageSize) -> f64 {
        let mut times = self.times.iter();
        let time = times.find(|(size, _)| *size == page_size);
        let line = || self.request_ns + self.byte_ns * f64::from(page_size.get());
        let time = time.map_or_else(line, |(_, ns)| *ns);
        time * missed.reads + self.request_ns * missed.ahead + self.byte_ns * missed.ahead_bytes
    }
}

/// What one tree reads in a transaction.
#[derive(Clone, Debug, PartialEq)]
pub struct TreeReads {
    /// What the database calls it.
    pub name: String,
    /// Its page size.
    pub page_size: PageSize,
    /// What the buffer does not have.
    pub missed: Again,
    /// What its reads cost, in nanoseconds.
    pub ns: f64,
    /// Bytes of the buffer that it holds, with what it holds beside pages.
    pub held: f64,
}

/// Page sizes of all trees, and what they read.
#[derive(Clone, Debug, PartialEq)]
pub struct Assignment {
    /// In the order of the trees.
    pub trees: Vec<TreeReads>,
    /// What all reads of a transaction cost, in nanoseconds.
    pub ns: f64,
}

impl Assignment {
    /// The size that is there most often, and the names of trees with another one.
    pub fn others_and_own(&self) -> (PageSize, Vec<(String, PageSize)>) {
        let count = |size| self.trees.iter().filter(|of| of.page_size == size).count();
        let sizes = self.trees.iter().map(|of| of.page_size);
        // Of equally frequent ones the smaller.
        let others = sizes.max_by_key(|&size| (count(size), std::cmp::Reverse(size)));
        let others = others.unwrap_or(PageSize::MAX);
        let own = self.trees.iter().filter(|of| of.page_size != others);
        let own = own.map(|of| (of.name.clone(), of.page_size));
        (others, own.collect())
    }
}

/// The best single size, and the best assignment.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// With each single size, in the order of the sizes.
    pub single: Vec<Assignment>,
    /// The best one of these, by its position.
    pub best_single: usize,
    /// The best assignment that was found: with sizes of their own where that saves more than
    /// half a percent of all reads, so it may be a single size.
    pub mixed: Assignment,
}

/// A tree has a size of its own if that saves more than this share of the time of all reads. Chosen: less
/// than any measurement could tell, and each is a line to type.
pub const WORTH_IT: f64 = 0.005;

/// A buffer that trees share, in bytes, and what its reads cost.
struct Priced<'r> {
    references: &'r References,
    room: f64,
    cost: &'r ReadCost,
}

/// Looks for the assignment whose reads cost the least in a buffer of so many bytes.
///
/// From each single size on, the tree and the size are changed that save most, until nothing does: the
/// best of these ends is taken.
///
/// # Panics
/// Without trees or sizes.
pub fn choose(references: &References, room: ByteCount, cost: &ReadCost) -> Choice {
    let (trees, sizes) = (&references.trees, &references.sizes);
    assert!(
        !trees.is_empty() && !sizes.is_empty(),
        "there is nothing to choose"
    );
    let priced = Priced {
        references,
        room: room.get() as f64,
        cost,
    };
    let single: Vec<Vec<usize>> = (0..sizes.len())
        .map(|size| vec![size; trees.len()])
        .collect();
    let costs: Vec<f64> = single.iter().map(|of| priced.ns(of)).collect();
    let least = |costs: &[f64]| -> usize {
        let all = costs.iter().enumerate();
        all.min_by(|one, other| one.1.total_cmp(other.1))
            .map_or(0, |(place, _)| place)
    };
    let best_single = least(&costs);
    let ends: Vec<Vec<usize>> = single.iter().map(|of| priced.descend(of.clone())).collect();
    let end_costs: Vec<f64> = ends.iter().map(|of| priced.ns(of)).collect();
    let best = &ends[least(&end_costs)];
    let mixed = priced.simplify(best.clone(), best_single);
    Choice {
        single: single.iter().map(|of| priced.assignment(of)).collect(),
        best_single,
        mixed: priced.assignment(&mixed),
    }
}

impl Priced<'_> {
    /// How long pages stay; forever where all fit.
    fn window(&self, sizes: &[usize]) -> f64 {
        let trees = self.references.trees.iter().zip(sizes).enumerate();
        let mut held = 0.0;
        let kinds: Vec<Kind<'_>> = trees
            .map(|(number, (tree, &size))| {
                let page_size = self.references.sizes[size];
                held += tree.held(page_size);
                Kind {
                    reuse: &self.references.reuses[number][size],
                    bytes: f64::from(page_size.get()),
                }
            })
            .collect();
        window(&kinds, (self.room - held).max(0.0)).unwrap_or(f64::INFINITY)
    }

    fn tree(&self, number: usize, size: usize, window: f64) -> TreeReads {
        let References {
            trees,
            sizes,
            reuses,
            steps_a_transaction,
            ..
        } = self.references;
        let (tree, page_size): (&StoredTree, PageSize) = (&trees[number], sizes[size]);
        let reuse = &reuses[number][size];
        let bytes = f64::from(page_size.get());
        let missed = reuse.misses(window).times(*steps_a_transaction);
        let kept = reuse.pages(window.min(reuse.longest()));
        TreeReads {
            name: tree.name.clone(),
            page_size,
            missed,
            ns: self.cost.of(missed, page_size),
            held: kept * bytes + tree.held(page_size),
        }
    }

    fn assignment(&self, sizes: &[usize]) -> Assignment {
        let window = self.window(sizes);
        let trees: Vec<TreeReads> = sizes
            .iter()
            .enumerate()
            .map(|(number, &size)| self.tree(number, size, window))
            .collect();
        Assignment {
            ns: trees.iter().map(|tree| tree.ns).sum(),
            trees,
        }
    }

    fn ns(&self, sizes: &[usize]) -> f64 {
        let window = self.window(sizes);
        let each = sizes.iter().enumerate();
        each.map(|(number, &size)| {
            let missed = self.references.reuses[number][size].misses(window);
            let page_size = self.references.sizes[size];
            self.cost.of(missed, page_size) * self.references.steps_a_transaction
        })
        .sum()
    }

    /// Changes one tree at a time, that which saves most, until none saves anything.
    fn descend(&self, mut sizes: Vec<usize>) -> Vec<usize> {
        let mut least = self.ns(&sizes);
        loop {
            let mut best = None;
            for number in 0..sizes.len() {
                for size in 0..self.references.sizes.len() {
                    let mut other = sizes.clone();
                    other[number] = size;
                    let ns = self.ns(&other);
                    // Rounding is no gain.
                    if ns < least * (1.0 - 1e-9) {
                        (least, best) = (ns, Some(other));
                    }
                }
            }
            match best {
                Some(better) => sizes = better,
                None => return sizes,
            }
        }
    }

    /// Gives trees the size that most have, or the best single one, wherever another saves less than is
    /// worth it: that which saves the least first.
    fn simplify(&self, sizes: Vec<usize>, single: usize) -> Vec<usize> {
        let all = 0..self.references.sizes.len();
        let count = |size: usize| sizes.iter().filter(|of| **of == size).count();
        let most = all.max_by_key(|&size| (count(size), size == single));
        let usual = [Some(single), most].into_iter().flatten();
        let simpler = usual.map(|usual| {
            let mut simple = sizes.clone();
            loop {
                let now = self.ns(&simple);
                let own = (0..simple.len()).filter(|&number| simple[number] != usual);
                let without = own.map(|number| {
                    let mut other = simple.clone();
                    other[number] = usual;
                    let ns = self.ns(&other);
                    (ns, other)
                });
                let cheapest = without.min_by(|one, other| one.0.total_cmp(&other.0));
                match cheapest {
                    Some((ns, other)) if ns <= now * (1.0 + WORTH_IT) => simple = other,
                    _ => {
                        return (
                            simple.iter().filter(|of| **of != usual).count(),
                            now,
                            simple,
                        );
                    }
                }
            }
        });
        // What costs less, unless it is about the same with fewer sizes of their own.
        let best = simpler.min_by(|one, other| {
            let about = (one.1 / other.1 - 1.0).abs() < WORTH_IT;
            match about {
                true => (one.0, one.1).partial_cmp(&(other.0, other.1)),
                false => one.1.partial_cmp(&other.1),
            }
            .unwrap_or(std::cmp::Ordering::Equal)
        });
        best.map_or(sizes, |(_, _, simple)| simple)
    }
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;

    use octavo_database::{Change, ChangePlace, OwnSizes, ReadAhead};
    use octavo_units::Seed;
    use octavo_workload::{Tpcc, Workload, Ycsb, schema::TableId, ycsb::Core};

    use super::*;
    use crate::own_sizes::Watch;

    static ALONE: OwnSizes = OwnSizes {
        option: "sizes",
        trees: |_, _| Vec::new(),
        read_ahead: None,
        change: Change {
            place: ChangePlace::Shell,
            lines: &[],
            costs: &[],
        },
        recent: |_| ByteCount::ZERO,
    };

    fn sizes() -> Vec<PageSize> {
        [4, 16, 64].map(PageSize::kib).to_vec()
    }

    /// The trees of a workload, as wide as their rows.
    fn trees(workload: &dyn Workload) -> Vec<StoredTree> {
        let mut rows = vec![0; workload.tables().len()];
        for part in workload.population().partitions() {
            rows[part.table.0] += part.rows_about;
        }
        let tables = workload.tables().iter().enumerate();
        let tree = |table: usize, index, name: &str, bytes: f64| StoredTree {
            name: name.to_owned(),
            table: TableId(table),
            index,
            entries: rows[table],
            entry: bytes,
            held_by_entry: 0.0,
            held_by_page: 0.0,
            looks_before_insert: false,
        };
        tables
            .flat_map(|(number, table)| {
                let of_rows = tree(number, None, table.name, table.row_bytes_mean.into());
                let of_indexes = table.indexes.iter().enumerate();
                let of_indexes =
                    of_indexes.map(move |(index, of)| (number, Some(index), of.name, 40.0));
                let of_indexes: Vec<StoredTree> = of_indexes
                    .map(|(number, index, name, bytes)| tree(number, index, name, bytes))
                    .collect();
                [of_rows].into_iter().chain(of_indexes)
            })
            .collect()
    }

    fn count(workload: &dyn Workload, own_sizes: &OwnSizes, room: ByteCount) -> References {
        let flow = || ControlFlow::Continue(());
        let watch = Watch {
            room,
            recent: ByteCount::ZERO,
            clients: 1,
            seed: Seed::new(3),
        };
        References::count(workload, own_sizes, trees(workload), sizes(), watch, &flow).unwrap()
    }

    fn cost(request_ns: f64, byte_ns: f64) -> ReadCost {
        let times = sizes().into_iter();
        let times = times.map(|size| (size, request_ns + byte_ns * f64::from(size.get())));
        ReadCost::new(times.collect()).unwrap()
    }

    fn disk() -> ReadCost {
        cost(5e6, 7.0)
    }

    fn flash() -> ReadCost {
        cost(8e4, 0.5)
    }

    #[test]
    fn costs_are_the_line_through_times_of_reads() {
        let points =
            [4, 16, 64].map(|kib| (PageSize::kib(kib), 1000.0 + 2.0 * f64::from(kib << 10)));
        let found = ReadCost::new(points.to_vec()).unwrap();
        assert!((found.request_ns - 1000.0).abs() < 1e-6, "{found:?}");
        assert!((found.byte_ns - 2.0).abs() < 1e-9);
        assert_eq!(ReadCost::new(points[..1].to_vec()), None);
        // Larger ones that are faster cost nothing for bytes beyond a page, and a page what it took.
        let falling = [(PageSize::kib(4), 200.0), (PageSize::kib(16), 100.0)];
        let falling = ReadCost::new(falling.to_vec()).unwrap();
        assert_eq!(falling.byte_ns, 0.0);
        let missed = Again {
            pages: 5.0,
            reads: 3.0,
            ahead: 1.0,
            ahead_bytes: 1000.0,
        };
        let ns = falling.of(missed, PageSize::kib(16));
        assert!((ns - 300.0 - falling.request_ns).abs() < 1e-9, "{ns}");
    }

    /// All 3^4 assignments of the four largest trees: none is better by more than what is given up for
    /// fewer sizes.
    #[test]
    fn no_assignment_of_the_largest_trees_is_better() {
        let workload = Tpcc::new(2, Seed::new(1)).unwrap();
        for (mib, cost) in [(8, flash()), (8, disk()), (40, flash())] {
            let room = ByteCount::mib(mib);
            let references = count(&workload, &ALONE, room);
            let choice = choose(&references, room, &cost);
            let priced = Priced {
                references: &references,
                room: room.get() as f64,
                cost: &cost,
            };
            let place = |of: &TreeReads| sizes().iter().position(|size| *size == of.page_size);
            let chosen: Vec<usize> = choice.mixed.trees.iter().filter_map(place).collect();
            let mut largest: Vec<usize> = (0..chosen.len()).collect();
            largest.sort_by_key(|&number| {
                let tree = &references.trees[number];
                std::cmp::Reverse((tree.entries as f64 * tree.entry) as u64)
            });
            let mut least = f64::INFINITY;
            for mut number in 0..81usize {
                let mut other = chosen.clone();
                for &tree in &largest[..4] {
                    (other[tree], number) = (number % 3, number / 3);
                }
                least = least.min(priced.ns(&other));
            }
            let own = choice.mixed.others_and_own().1.len() as f64;
            let given_up = 1.0 + WORTH_IT * (chosen.len() as f64 - own);
            assert!(
                choice.mixed.ns <= least * given_up,
                "{mib}: {} of {least}",
                choice.mixed.ns
            );
            let single = choice.single.iter().map(|of| of.ns);
            let best = choice.single[choice.best_single].ns;
            assert_eq!(best, single.fold(f64::INFINITY, f64::min));
            assert!(choice.mixed.ns <= best * (1.0 + WORTH_IT));
        }
    }

    #[test]
    fn what_is_held_is_the_room() {
        let workload = Tpcc::new(2, Seed::new(1)).unwrap();
        let room = ByteCount::mib(8);
        let references = count(&workload, &ALONE, room);
        let choice = choose(&references, room, &flash());
        for of in choice.single.iter().chain([&choice.mixed]) {
            let held: f64 = of.trees.iter().map(|tree| tree.held).sum();
            let share = held / room.get() as f64;
            assert!((share - 1.0).abs() < 0.01, "{share}");
        }
        // Larger pages are missed more often: fewer of them fit.
        let misses =
            |of: &Assignment| -> f64 { of.trees.iter().map(|tree| tree.missed.pages).sum() };
        assert!(misses(&choice.single[0]) < misses(&choice.single[2]));
    }

    #[test]
    fn pages_that_come_with_others_are_no_requests() {
        let workload = Ycsb::new(20_000, Seed::new(1)).unwrap().with_core(Core::E);
        static AHEAD: OwnSizes = OwnSizes {
            read_ahead: Some(ReadAhead {
                alone: 1,
                first: ByteCount::kib(64),
                most: ByteCount::kib(64),
            }),
            ..ALONE
        };
        let room = ByteCount::mib(2);
        let read = |own_sizes: &OwnSizes| -> [f64; 3] {
            let references = count(&workload, own_sizes, room);
            let of = &choose(&references, room, &flash()).single[0];
            let sum =
                |each: fn(&Again) -> f64| of.trees.iter().map(|tree| each(&tree.missed)).sum();
            [sum(|of| of.pages), sum(|of| of.reads), sum(|of| of.ahead)]
        };
        let [pages, alone, none] = read(&ALONE);
        assert_eq!((pages, 0.0), (alone, none));
        let [same, few, ahead] = read(&AHEAD);
        assert_eq!(same, pages);
        assert!(
            ahead > 0.0 && few + ahead < pages,
            "{few} and {ahead} of {pages}"
        );
    }
}
