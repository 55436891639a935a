//! Holds the page sizes that [`choose`] gives tables and indexes against all others, in a simulated cache.
//!
//! Of each workload the four largest trees get every combination of three page sizes, while the others have
//! what was chosen. Each is simulated over the same references: in a cache whose pages are of several sizes,
//! with RocksDB's rule, by which half of the room is for pages that were hit. What is chosen knows neither
//! the simulation nor that rule.
//!
//! `cargo run --release -p octavo-predict --example own_sizes` prints a line for each workload, memory and
//! device: by how much the chosen sizes are behind the best of all 81, and ahead of the best single one.

use std::{
    collections::{HashMap, VecDeque},
    ops::ControlFlow,
};

use octavo_buffer::reuse::Again;
use octavo_database::{OwnSizes, Registry, StoredTree};
use octavo_device::{
    catalog,
    point::{Durability, PointSpec},
    probe::{self, Effort},
    request::{Mix as Reads, Pattern},
};
use octavo_predict::own_sizes::{ReadCost, References, TreePage, TreePages, Watch, choose};
use octavo_units::{ByteCount, PageSize, QueueDepth, RequestSize, Seed};
use octavo_workload::{Mix, Tpcc, Workload};

const SEED: Seed = Seed::new(1);
const SIZES: [PageSize; 3] = [PageSize::kib(4), PageSize::kib(16), PageSize::kib(64)];

/// Transactions that are simulated; the first half only fills the cache.
const TRANSACTIONS: u64 = 24_000;

fn main() {
    let plain = || Tpcc::new(4, SEED).expect("a scale");
    let reports = |weights: [u32; 7]| plain().with_reports().with_mix(Mix::new(&weights));
    let workloads: [(&str, Tpcc); 4] = [
        ("TPC-C", plain()),
        ("TPC-C, 3% reports", reports([42, 43, 4, 4, 4, 3, 0])),
        ("TPC-C, 3% long reports", reports([42, 43, 4, 4, 4, 0, 3])),
        ("TPC-C, 10% long reports", reports([38, 40, 4, 4, 4, 0, 10])),
    ];
    let devices = ["gp3-3000", "st373455ss", "ec"].map(|name| (name, read_cost(name)));
    let kind = Registry::standard().find("rocksdb").expect("a database");
    let rocksdb = kind.own_sizes.expect("sizes of tables");
    let alone = OwnSizes {
        read_ahead: None,
        recent: |_| ByteCount::ZERO,
        ..copy(rocksdb)
    };
    let (mut within, mut all) = (0, 0);
    for (engine, own_sizes) in [("RocksDB", rocksdb), ("no read-ahead", &alone)] {
        for (name, workload) in &workloads {
            for mib in [16, 64] {
                let room = ByteCount::mib(mib);
                let options = kind.read(&[]).expect("no options");
                let trees = (own_sizes.trees)(workload, &options);
                let found = Found::new(workload, own_sizes, &trees, room, &devices);
                for (device, behind, ahead, sizes) in found.lines() {
                    all += 1;
                    within += u32::from(behind <= 1.03);
                    println!(
                        "{engine}, {name}, {room}, {device}: {:.1}% behind the best, {:.1}% ahead of one \
                         size, {sizes}",
                        (behind - 1.0) * 100.0,
                        (ahead - 1.0) * 100.0
                    );
                }
            }
        }
    }
    println!("{within} of {all} within 3% of the best");
}

fn copy(of: &OwnSizes) -> OwnSizes {
    OwnSizes {
        option: of.option,
        trees: of.trees,
        read_ahead: of.read_ahead,
        recent: of.recent,
        change: of.change,
    }
}

/// What random reads of a device of the catalog cost, one at a time.
fn read_cost(name: &str) -> ReadCost {
    let entry = catalog::find(name).expect("a device");
    let points = SIZES.map(|size| {
        let spec = PointSpec {
            mix: Reads::READ,
            pattern: Pattern::Random,
            request_size: RequestSize::new(size.get()).expect("a size"),
            depth: QueueDepth::ONE,
            range: ByteCount::mib(1024),
            durability: Durability::Device,
            shift: ByteCount::ZERO,
        };
        let mut device = entry.open(SEED);
        let point = probe::measure(device.as_mut(), &spec, Effort::default(), SEED);
        (size, 1e9 / point.expect("it reads pages").iops.get())
    });
    ReadCost::new(points.to_vec()).expect("three sizes")
}

/// What each tree misses.
type Misses = Vec<Again>;

struct Found<'a> {
    trees: &'a [StoredTree],
    devices: &'a [(&'static str, ReadCost)],
    references: References,
    room: ByteCount,
    stream: Vec<TreePage>,
}

impl<'a> Found<'a> {
    fn new(
        workload: &Tpcc,
        own_sizes: &OwnSizes,
        trees: &'a [StoredTree],
        room: ByteCount,
        devices: &'a [(&'static str, ReadCost)],
    ) -> Self {
        let recent = (own_sizes.recent)(ByteCount::new(room.get() / 3 * 4));
        let watch = Watch {
            room,
            recent,
            clients: 1,
            seed: Seed::new(7),
        };
        let flow = || ControlFlow::Continue(());
        let sizes = SIZES.to_vec();
        let references =
            References::count(workload, own_sizes, trees.to_vec(), sizes, watch, &flow);
        // The same workload with other inputs.
        let mut pages = TreePages::new(own_sizes, trees, &SIZES, workload.tables().len(), recent);
        let mut client = workload.clients(Seed::new(8), 1).remove(0);
        let mut tracer = workload.touch_tracer();
        let mut stream = Vec::new();
        for _ in 0..TRANSACTIONS {
            tracer.forget();
            client.draw();
            client.run(&mut tracer).expect("a transaction");
            for touch in tracer.touches() {
                pages.touch(touch, &mut |page| stream.push(page));
            }
        }
        Self {
            trees,
            devices,
            references: references.expect("references"),
            room,
            stream,
        }
    }

    /// Of each device: its name, the chosen cost over the best one, the best single one over the chosen,
    /// and what was chosen.
    fn lines(&self) -> Vec<(&'static str, f64, f64, String)> {
        let mut simulated: HashMap<Vec<usize>, Misses> = HashMap::new();
        let mut lines = Vec::new();
        for (device, cost) in self.devices {
            let choice = choose(&self.references, self.room, cost);
            let chosen: Vec<usize> = choice
                .mixed
                .trees
                .iter()
                .filter_map(|of| SIZES.iter().position(|size| *size == of.page_size))
                .collect();
            let mut largest: Vec<usize> = (0..chosen.len()).collect();
            largest.sort_by(|&one, &other| {
                let bytes = |tree: &StoredTree| tree.entries as f64 * tree.entry;
                bytes(&self.trees[other]).total_cmp(&bytes(&self.trees[one]))
            });
            let mut of = |sizes: &Vec<usize>| -> f64 {
                let misses = simulated
                    .entry(sizes.clone())
                    .or_insert_with(|| self.simulate(sizes));
                let each = misses.iter().zip(sizes);
                each.map(|(missed, &size)| cost.of(*missed, SIZES[size]))
                    .sum()
            };
            let own = of(&chosen);
            let mut best = own;
            for mut number in 0..81usize {
                let mut other = chosen.clone();
                for &tree in &largest[..4] {
                    (other[tree], number) = (number % 3, number / 3);
                }
                best = best.min(of(&other));
            }
            let single = (0..SIZES.len()).map(|size| of(&vec![size; chosen.len()]));
            let single = single.fold(f64::INFINITY, f64::min);
            let (others, named) = choice.mixed.others_and_own();
            let named: Vec<String> = named
                .iter()
                .map(|(name, size)| format!("{name} {size}"))
                .collect();
            let sizes = format!("others {others} {}", named.join(" "));
            lines.push((*device, own / best, single / own, sizes));
        }
        lines
    }

    /// LRU by bytes; half of the room is for pages that were hit, which go to the other half before they go
    /// (`LRUCacheShard` in RocksDB's `cache/lru_cache.cc`).
    fn simulate(&self, sizes: &[usize]) -> Misses {
        let held: f64 = self
            .trees
            .iter()
            .zip(sizes)
            .map(|(tree, &size)| tree.held(SIZES[size]))
            .sum();
        let room = (self.room.get() as f64 - held).max(0.0) as u64;
        let bytes = |tree: usize| u64::from(SIZES[sizes[tree]].get());
        let mut pages: HashMap<(usize, u64), Kept> = HashMap::new();
        let mut halves = [Half::default(), Half::default()];
        let (mut stamp, mut misses) = (0, vec![Again::default(); self.trees.len()]);
        let own = self
            .stream
            .iter()
            .filter(|page| sizes[page.tree] == page.size);
        let own: Vec<&TreePage> = own.collect();
        for (number, page) in own.iter().enumerate() {
            let key = (page.tree, page.number);
            stamp += 1;
            let half = match pages.get(&key) {
                Some(kept) => {
                    halves[kept.half].bytes -= bytes(page.tree);
                    HIT
                }
                None => {
                    if number >= own.len() / 2 {
                        misses[page.tree] += page.missed();
                    }
                    NEW
                }
            };
            pages.insert(key, Kept { stamp, half });
            halves[half].push(key, stamp, bytes(page.tree));
            while halves[HIT].bytes > room / 2 {
                let Some(oldest) = halves[HIT].pop(HIT, &pages) else {
                    break;
                };
                stamp += 1;
                halves[HIT].bytes -= bytes(oldest.0);
                pages.insert(oldest, Kept { stamp, half: NEW });
                halves[NEW].push(oldest, stamp, bytes(oldest.0));
            }
            while halves[HIT].bytes + halves[NEW].bytes > room {
                let Some(oldest) = halves[NEW].pop(NEW, &pages) else {
                    break;
                };
                halves[NEW].bytes -= bytes(oldest.0);
                pages.remove(&oldest);
            }
        }
        misses
    }
}

const NEW: usize = 0;
const HIT: usize = 1;

#[derive(Clone, Copy)]
struct Kept {
    stamp: u64,
    half: usize,
}

/// Pages in the order of their stamps, among them some that have another stamp by now.
#[derive(Default)]
struct Half {
    order: VecDeque<((usize, u64), u64)>,
    bytes: u64,
}

impl Half {
    fn push(&mut self, key: (usize, u64), stamp: u64, bytes: u64) {
        self.order.push_back((key, stamp));
        self.bytes += bytes;
    }

    /// The page with the oldest stamp; its bytes stay.
    fn pop(&mut self, half: usize, pages: &HashMap<(usize, u64), Kept>) -> Option<(usize, u64)> {
        while let Some((key, stamp)) = self.order.pop_front() {
            let kept = pages.get(&key);
            if kept.is_some_and(|kept| kept.stamp == stamp && kept.half == half) {
                return Some(key);
            }
        }
        None
    }
}
