//! What is to be measured: the cells, how they are compared, and their order.

mod cell;
pub mod file;
mod level;
mod mixed;
mod names;
mod shard;
mod storage;
mod user;

use std::sync::Arc;

use octavo_database::Isolation;
use octavo_driver::Ramp;
use octavo_units::{ByteCount, PageSize, Seed};
use octavo_workload::{
    DataSpec, Workload, WorkloadError, WorkloadName, WorkloadSpec,
    shape::Shape,
    user::{Own, Pace},
};
use rand::seq::SliceRandom;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    lockstep::{Group, Horizon, Rules},
    record::Source,
};

pub use cell::{Cell, SnapshotKey, TestedDatabase};
pub use level::{Factor, Level};
pub use mixed::MixedSizes;
pub use shard::Shard;
pub use storage::Storage;
pub(crate) use storage::{BACKING, FILE_SYSTEMS};
pub use user::{OwnSettings, ScriptFile};

/// An experiment, complete before its first run: the same plan always gives
/// the same cells with the same inputs, and the same results the same order.
///
/// The cells are all combinations of the lists, of which each has at least one
/// entry and none twice. One of the lists is what is compared; the others make
/// groups, within which it is compared.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Plan {
    /// What the user calls it.
    pub name: Option<String>,
    /// The workload.
    pub workload: WorkloadName,
    /// The shares of its transactions, as [`octavo_workload::Mix::parse`] reads
    /// them; `None` for the workload's own.
    pub mix: Option<String>,
    /// The distribution of keys (YCSB); `None` for the workload's own.
    pub distribution: Option<String>,
    /// The user's own rows and statements, of the workload that has them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own: Option<Arc<Own>>,
    /// The tables and operations of a key-value workload; `None` for its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shape: Option<Arc<Shape>>,
    /// Isolation level; `None` for each database's default.
    pub isolation: Option<Isolation>,
    /// Random seed, of rows, inputs, order and intervals.
    pub seed: Seed,
    /// Ratios within this share of 1 count as no difference: 0.03 is 3%.
    pub margin: f64,
    /// How cells leave the experiment.
    pub design: Design,
    /// Databases with their options.
    pub databases: Vec<Arc<TestedDatabase>>,
    /// The rows: one scale, with different widths.
    pub data: Vec<DataSpec>,
    /// Where the data lies.
    pub storages: Vec<Storage>,
    /// Page sizes.
    pub page_sizes: Vec<PageSize>,
    /// Page sizes of tables and indexes, which are compared with those above as one more page size
    /// each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mixed: Vec<MixedSizes>,
    /// Buffer sizes.
    pub memories: Vec<ByteCount>,
    /// CPUs that may be used; `None` for all of them.
    pub cpus: Vec<Option<u32>>,
    /// Sessions at the same time; of a ramp, those of its last step.
    pub clients: Vec<u32>,
    /// How the clients of each cell begin, where that is step by step. Then each cell is a
    /// ramp by itself, one after the other, and nothing is compared in lockstep.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ramp: Option<Ramp>,
    /// How many equal cells there are of each: more than 1 for an A/A test.
    pub copies: u32,
    /// The list that is compared.
    pub compare: Factor,
    /// What the others are compared with, where it is not the usual: the
    /// default page size of the group's database, or the first of the list.
    pub reference: Option<Level>,
}

/// Ratios within this share of 1 make no difference, where nobody says otherwise. Chosen.
pub(crate) const MARGIN: f64 = 0.03;

/// How long slices and warm-ups are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SliceLength {
    /// Transactions of a slice; `None` for as many as take a good time here.
    pub transactions: Option<u64>,
    /// Transactions of the warm-up; `None` until the buffer is warm.
    pub warm_up: Option<u64>,
}

/// How cells leave an experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Design {
    /// Those that are decided leave early.
    Race,
    /// Each cell is measured to the end.
    Full,
}

impl Plan {
    /// The pace at which recorded transactions are sent, if at one. Throughput is that of the
    /// recording then, and cells are compared by their response times.
    pub fn pace(&self) -> Option<Pace> {
        self.own.as_ref()?.recording.as_ref()?.pace
    }

    /// All cells: those of a group beside each other, and page sizes within
    /// memories where both are neither compared nor single.
    pub fn cells(&self) -> Vec<Cell> {
        let mut cells = vec![Cell {
            database: self.databases[0].clone(),
            data: self.data[0],
            storage: self.storages[0].clone(),
            page_size: self.page_sizes[0],
            memory: self.memories[0],
            cpus: self.cpus[0],
            clients: self.clients[0],
            copy: 0,
        }];
        // What is compared varies fastest.
        let outer = Factor::ALL.into_iter().filter(|&f| f != self.compare);
        for factor in outer.chain([self.compare]) {
            cells = cells
                .into_iter()
                .flat_map(|cell| {
                    (0..self.count(factor)).map(move |place| self.with(cell.clone(), factor, place))
                })
                .collect();
        }
        cells
    }

    /// The most cells of a plan.
    pub const CELLS_MAX: usize = 1000;

    /// Why this cannot be a plan, where it came from an unknown file.
    pub(crate) fn fault(&self) -> Option<String> {
        let empty = Factor::ALL
            .into_iter()
            .find(|&factor| self.count(factor) == 0);
        if let Some(factor) = empty {
            return Some(format!("its list of {factor} is empty"));
        }
        let cells = self.cell_count();
        if cells > Self::CELLS_MAX {
            return Some(format!("it has {cells} cells"));
        }
        if let Some(ramp) = self.ramp
            && self.clients != [ramp.clients.last()]
        {
            return Some(format!(
                "its clients are not those of its ramp {}",
                ramp.clients
            ));
        }
        let are_of = |database: &Arc<TestedDatabase>| {
            database.kind().is_ok_and(|kind| {
                let option = kind.own_sizes.map(|sizes| sizes.option.to_owned());
                option.is_some_and(|option| {
                    self.mixed.iter().all(|mixed| {
                        let own = [(option.clone(), mixed.own.to_string())];
                        kind.page_sizes.contains(mixed.others) && kind.read(&own).is_ok()
                    })
                })
            })
        };
        if !self.mixed.is_empty() && !matches!(&self.databases[..], [one] if are_of(one)) {
            return Some(
                "its page sizes of tables are not those of one database that has them".into(),
            );
        }
        if !self.mixed.is_empty() && self.compare != Factor::PageSize {
            return Some("it mixes page sizes and does not compare them".into());
        }
        (!(self.margin > 0.0 && self.margin < 1.0))
            .then(|| format!("its margin is {}", self.margin))
    }

    /// How many cells there are.
    pub fn cell_count(&self) -> usize {
        let counts = Factor::ALL.map(|factor| self.count(factor));
        counts.into_iter().fold(1, usize::saturating_mul)
    }

    /// How many entries the list of a factor has.
    pub fn count(&self, factor: Factor) -> usize {
        match factor {
            Factor::Database => self.databases.len(),
            Factor::Rows => self.data.len(),
            Factor::Storage => self.storages.len(),
            Factor::Memory => self.memories.len(),
            Factor::PageSize => self.page_sizes.len() + self.mixed.len(),
            Factor::Cpus => self.cpus.len(),
            Factor::Clients => self.clients.len(),
            Factor::Copy => self.copies as usize,
        }
    }

    /// The cell with the entry `place` of a factor's list.
    fn with(&self, mut cell: Cell, factor: Factor, place: usize) -> Cell {
        match factor {
            Factor::Database => cell.database = self.databases[place].clone(),
            Factor::Rows => cell.data = self.data[place],
            Factor::Storage => cell.storage = self.storages[place].clone(),
            Factor::Memory => cell.memory = self.memories[place],
            Factor::PageSize => match place.checked_sub(self.page_sizes.len()) {
                None => cell.page_size = self.page_sizes[place],
                Some(mixed) => {
                    cell.page_size = self.mixed[mixed].others;
                    cell.database = cell.database.with_own_sizes(&self.mixed[mixed]);
                }
            },
            Factor::Cpus => cell.cpus = self.cpus[place],
            Factor::Clients => cell.clients = self.clients[place],
            Factor::Copy => cell.copy = place as u32,
        }
        cell
    }

    /// The factors with more than one level, apart from what is compared.
    pub fn varied(&self) -> Vec<Factor> {
        Factor::ALL
            .into_iter()
            .filter(|&factor| factor != self.compare && self.count(factor) > 1)
            .collect()
    }

    /// The cells in groups. The cell numbers are those of [`Self::cells`].
    pub fn groups(&self) -> Vec<Group> {
        let cells = self.cells();
        let size = self.count(self.compare);
        (0..cells.len() / size)
            .map(|group| {
                let first = group * size;
                Group {
                    cells: (first..first + size).collect(),
                    reference: self.reference_of(&cells[first..first + size]),
                }
            })
            .collect()
    }

    fn reference_of(&self, cells: &[Cell]) -> usize {
        let is_reference = |cell: &Cell| match (&self.reference, self.compare) {
            (Some(level), factor) => {
                cell.level(factor) == *level && self.mixed_sizes(cell).is_none()
            }
            (None, Factor::PageSize) => {
                cell.page_size == cell.database.default_page_size
                    && self.mixed_sizes(cell).is_none()
            }
            (None, _) => false,
        };
        cells.iter().position(is_reference).unwrap_or(0)
    }

    /// The order in which a pass of a sitting takes the `live` cells of each
    /// group, from the plan's seed: the groups are shuffled, and within each
    /// the cells, so that slices that are compared stay close together in
    /// time. Each second pass has the order of the one before turned around.
    pub fn order(&self, sitting: u32, pass: u32, live: &[Vec<usize>]) -> Vec<usize> {
        let pair = u64::from(sitting) << 32 | u64::from(pass / 2);
        let mut generator = self.seed.derive("order", pair).generator();
        let mut groups = live.to_vec();
        groups.shuffle(&mut generator);
        for cells in &mut groups {
            cells.shuffle(&mut generator);
        }
        let mut order = groups.concat();
        if pass % 2 == 1 {
            order.reverse();
        }
        order
    }

    /// The seed of the transactions' inputs in a sitting. All cells are given
    /// the same inputs, so that their ratio carries less noise.
    pub fn inputs_seed(&self, sitting: u32) -> Seed {
        self.seed.derive("inputs", u64::from(sitting))
    }

    /// The database and the largest memory of what is compared, where other disks can have the same
    /// predicted: with one of all else, and statements of which it is known what they touch.
    pub(crate) fn compared_elsewhere(&self) -> Option<(&TestedDatabase, ByteCount)> {
        let ([database], [_], [_], [_], [_], Some(&memory)) = (
            self.databases.as_slice(),
            self.storages.as_slice(),
            self.clients.as_slice(),
            self.cpus.as_slice(),
            self.data.as_slice(),
            self.memories.iter().max(),
        ) else {
            return None;
        };
        self.own.is_none().then_some((database.as_ref(), memory))
    }

    /// Whether its two cells can be predicted on other disks: page sizes, memories or numbers of
    /// clients of a database with a model, with statements of Octavo's own. A model knows nothing of
    /// what else may differ.
    pub fn is_predictable_elsewhere(&self) -> bool {
        let factors = [Factor::PageSize, Factor::Memory, Factor::Clients];
        let is_single = [
            self.databases.len(),
            self.data.len(),
            self.storages.len(),
            self.cpus.len(),
        ];
        is_single.iter().all(|count| *count == 1)
            && self.own.is_none()
            && factors.contains(&self.compare)
            && self.databases[0].model(false).is_ok()
    }

    /// How its cells are compared. A cell that is compared with nothing is
    /// measured to the end: there is nothing to decide.
    pub(crate) fn rules(&self, horizon: Horizon, source: Source) -> Rules {
        Rules {
            margin: self.margin,
            drop: self.design == Design::Race && self.count(self.compare) > 1,
            screen: source != Source::Predicted,
            grows_older: source != Source::Predicted
                && matches!(horizon, Horizon::Time { .. })
                && !self.is_recorded(),
            horizon,
        }
    }

    /// Whether its statements were recorded, so that they end.
    fn is_recorded(&self) -> bool {
        let own = self.own.as_ref();
        own.is_some_and(|own| own.transactions().is_some())
    }

    /// How many cells are open at the same time at most: all that are compared, or one
    /// where each is a ramp.
    pub fn open_together(&self) -> usize {
        match self.ramp {
            None => self.count(self.compare),
            Some(_) => 1,
        }
    }

    /// The order in which cells run that are ramps, from the plan's seed: one page size after
    /// the other would meet a machine that changes meanwhile.
    pub fn order_of_ramps(&self) -> Vec<usize> {
        let groups: Vec<Vec<usize>> = self.groups().into_iter().map(|of| of.cells).collect();
        self.order(0, 0, &groups)
    }

    /// The snapshots that the cells begin with, in the order in which they are
    /// made: of those that can be derived from each other first the default
    /// page size, or the smallest.
    pub fn snapshots(&self) -> Vec<SnapshotKey> {
        let mut sizes = self.page_sizes.clone();
        let mut snapshots: Vec<SnapshotKey> = Vec::new();
        for database in &self.databases {
            let database = database.of_rows();
            if snapshots.iter().any(|of| of.database == database) {
                continue;
            }
            sizes.sort_by_key(|&size| (size != database.default_page_size, size));
            for &data in &self.data {
                for storage in &self.storages {
                    let key = |database: &Arc<TestedDatabase>, page_size| SnapshotKey {
                        database: database.clone(),
                        data,
                        storage: storage.clone(),
                        page_size,
                    };
                    snapshots.extend(sizes.iter().map(|&page_size| key(&database, page_size)));
                    let mixed = self.mixed.iter();
                    snapshots.extend(
                        mixed.map(|mixed| key(&database.with_own_sizes(mixed), mixed.others)),
                    );
                }
            }
        }
        snapshots
    }

    /// Builds the plan's workload on rows of `data`.
    ///
    /// # Errors
    /// When the distribution cannot be read, or as [`WorkloadSpec::build`].
    pub fn workload(&self, data: DataSpec) -> Result<Box<dyn Workload>, WorkloadError> {
        let seed = self.seed.derive("population", 0);
        WorkloadSpec {
            mix: self.mix.clone(),
            distribution: self.distribution.as_deref().map(str::parse).transpose()?,
            own: self.own.clone(),
            shape: self.shape.clone(),
            ..WorkloadSpec::new(self.workload, data, seed)
        }
        .build()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// SQLite's page sizes 4096 (the reference), 8192 and 65536 with 2 and
    /// 8 MiB.
    pub(crate) fn plan() -> Plan {
        Plan {
            name: None,
            workload: WorkloadName::default(),
            mix: None,
            distribution: None,
            own: None,
            shape: None,
            isolation: None,
            seed: Seed::new(1),
            margin: 0.03,
            design: Design::Race,
            databases: vec![Arc::new(TestedDatabase {
                name: "sqlite".into(),
                version: "3.50.0".into(),
                options: vec![("journal-mode".into(), "wal".into())],
                default_page_size: PageSize::new(4096).unwrap(),
            })],
            data: vec![
                WorkloadName::default()
                    .data_spec(&[("warehouses", 1)])
                    .unwrap(),
            ],
            storages: vec![Storage::Own],
            page_sizes: [4096, 8192, 65536]
                .map(|b| PageSize::new(b).unwrap())
                .to_vec(),
            mixed: Vec::new(),
            memories: vec![ByteCount::mib(2), ByteCount::mib(8)],
            cpus: vec![None],
            clients: vec![1],
            ramp: None,
            copies: 1,
            compare: Factor::PageSize,
            reference: None,
        }
    }

    #[test]
    fn every_pass_takes_every_cell_once_and_the_next_one_turns_the_order_around() {
        let plan = plan();
        let live: Vec<Vec<usize>> = plan.groups().into_iter().map(|group| group.cells).collect();
        let orders: Vec<_> = (0..40).map(|pass| plan.order(0, pass, &live)).collect();
        for order in &orders {
            let mut sorted = order.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, (0..6).collect::<Vec<_>>());
            let memory = |cell: usize| plan.cells()[cell].memory;
            assert!(
                order[..3]
                    .iter()
                    .all(|&cell| memory(cell) == memory(order[0]))
            );
        }
        for pair in orders.chunks(2) {
            let back: Vec<usize> = pair[1].iter().rev().copied().collect();
            assert_eq!(pair[0], back);
        }
        assert_eq!(orders[3], plan.order(0, 3, &live));
        let distinct: std::collections::HashSet<_> = orders.iter().collect();
        assert!(
            distinct.len() > 25,
            "{} orders of 40 differ",
            distinct.len()
        );
        assert_ne!(plan.order(0, 0, &live), plan.order(1, 0, &live));
    }

    #[test]
    fn groups_differ_in_all_but_the_compared_factor() {
        let mut plan = plan();
        assert_eq!(
            plan.groups(),
            [
                Group {
                    cells: vec![0, 1, 2],
                    reference: 0
                },
                Group {
                    cells: vec![3, 4, 5],
                    reference: 0
                },
            ]
        );
        plan.compare = Factor::Memory;
        plan.reference = Some(Level::Memory(ByteCount::mib(8)));
        let groups = plan.groups();
        assert_eq!(groups.len(), 3);
        let cells = plan.cells();
        for group in groups {
            assert_eq!(group.reference, 1);
            let page_size = cells[group.cells[0]].page_size;
            assert!(group.cells.iter().all(|&c| cells[c].page_size == page_size));
            assert_eq!(cells[group.cells[1]].memory, ByteCount::mib(8));
        }
        assert_eq!(plan.group_name(&cells[0]), "4 KiB pages");
        assert_eq!(plan.cell_name(&cells[0]), "2 MiB of memory, 4 KiB pages");
    }

    #[test]
    fn databases_are_named_by_what_sets_them_apart() {
        let mut plan = plan();
        let mut other = TestedDatabase::clone(&plan.databases[0]);
        other.options[0].1 = "delete".into();
        plan.databases.push(Arc::new(other));
        plan.compare = Factor::Database;
        let cells = plan.cells();
        let named = |cell: usize| plan.level(&cells[cell], Factor::Database).to_string();
        assert_eq!(named(0), "journal mode wal");
        assert_eq!(named(1), "journal mode delete");
    }

    #[test]
    fn copies_are_cells_of_their_own() {
        let mut plan = plan();
        plan.page_sizes.truncate(1);
        plan.copies = 3;
        plan.compare = Factor::Copy;
        let groups = plan.groups();
        assert_eq!(groups.len(), 2);
        assert_eq!(groups[0].cells.len(), 3);
        let cells = plan.cells();
        assert_eq!(cells[0].snapshot(), cells[2].snapshot());
        assert_ne!(cells[0], cells[2]);
    }

    #[test]
    fn every_cell_begins_with_a_snapshot_and_the_default_is_made_first() {
        let mut plan = plan();
        plan.page_sizes.reverse();
        plan.storages.push("/mnt/hdd".parse().unwrap());
        let snapshots = plan.snapshots();
        let sizes: Vec<u32> = snapshots.iter().map(|key| key.page_size.get()).collect();
        assert_eq!(sizes, [4096, 8192, 65536, 4096, 8192, 65536]);
        for cell in plan.cells() {
            assert!(snapshots.contains(&cell.snapshot()));
        }
    }

    #[test]
    fn databases_that_load_alike_share_snapshots() {
        let mut plan = plan();
        let database = |mode: &str, cache: &str| {
            Arc::new(TestedDatabase {
                options: vec![
                    ("journal-mode".into(), mode.into()),
                    ("os-cache".into(), cache.into()),
                ],
                ..TestedDatabase::clone(&plan.databases[0])
            })
        };
        let all = [("wal", "none"), ("wal", "whole"), ("delete", "whole")];
        let databases = all.map(|(mode, cache)| database(mode, cache));
        plan.databases = databases.to_vec();
        let snapshots = plan.snapshots();
        assert_eq!(snapshots.len(), 2 * plan.page_sizes.len());
        let cells = plan.cells();
        let of = |database: usize| {
            let mut cells = cells.iter();
            let cell = cells.find(|cell| cell.database == databases[database]);
            cell.unwrap().snapshot()
        };
        assert_eq!(of(0), of(1));
        assert_ne!(of(0), of(2));
        for cell in &cells {
            assert!(snapshots.contains(&cell.snapshot()));
        }
    }

    #[test]
    fn impossible_plans_have_a_fault() {
        assert_eq!(plan().fault(), None);
        let mut empty = plan();
        empty.page_sizes.clear();
        assert!(empty.fault().unwrap().contains("page size"));
        let mut many = plan();
        many.copies = u32::MAX;
        assert!(many.fault().unwrap().contains("cells"));
        let mut odd = plan();
        odd.margin = f64::NAN;
        assert!(odd.fault().is_some());
    }
}
