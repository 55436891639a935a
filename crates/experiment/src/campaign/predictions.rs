//! Predicted cells: groups side by side, each to its end.
//!
//! All groups have the inputs of the first sitting, whichever are at work together. So what is
//! predicted of a cell follows from the plan and the models alone: not from memory, threads, or
//! which other groups are predicted here.

use std::time::{Duration, Instant};

use jiff::Timestamp;
use octavo_predict::{WarmUpState, Warmth};

use super::{
    session::Session,
    settings::CampaignSettings,
    side_by_side::{Receiver, Work, side_by_side},
    warm_up::{RECORDED_MAX, WarmUp, WarmUpEnd},
};
use crate::{
    error::CampaignError,
    executor::{Modeled, PredictedExecutor, PredictedSeat},
    findings::Findings,
    inputs::Input,
    lockstep::{self, Group, Horizon, Slice, SliceKey, WarmUpBlock},
    monitor::Monitor,
    plan::{Cell, Plan},
    prediction::{Expected, PREDICTED_PASSES, PREDICTED_SLICE},
    record::{Figures, RunKey, RunRecord, Source},
    store::Store,
};

/// The sitting of all of them.
const SITTING: u32 = 0;

/// How often it is said how cells stand, at most. Chosen: a judgement is of all slices.
const STANDINGS_EVERY: Duration = Duration::from_secs(1);

/// A session in which cells are predicted.
pub(super) struct Predictions<'a> {
    settings: &'a CampaignSettings,
    session: Session<'a>,
    cells: Vec<Cell>,
    /// All of the plan.
    groups: Vec<Group>,
    /// The numbers of those that are predicted here.
    due: Vec<usize>,
    monitor: &'a Monitor<'a>,
}

impl<'a> Predictions<'a> {
    /// Begins a session of the experiment in `store`.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub(super) fn begin(
        settings: &'a CampaignSettings,
        store: Store,
        monitor: &'a Monitor<'a>,
    ) -> Result<Self, CampaignError> {
        let groups = settings.plan.groups();
        Ok(Self {
            settings,
            session: Session::begin(settings, store, monitor)?,
            cells: settings.plan.cells(),
            due: match &settings.prediction {
                Some(prediction) => prediction.groups(groups.len()),
                None => (0..groups.len()).collect(),
            },
            groups,
            monitor,
        })
    }

    /// Works until all groups are predicted, or the observer wants to stop.
    ///
    /// # Errors
    /// As [`campaign`](super::campaign).
    pub(super) fn carry_out(
        mut self,
        executor: &mut PredictedExecutor<'_>,
    ) -> Result<Findings, CampaignError> {
        let result = self.work(executor);
        self.session.end(result, executor)
    }

    fn work(&mut self, executor: &mut PredictedExecutor<'_>) -> Result<(), CampaignError> {
        self.session.look_around(executor)?;
        let due = self.due.iter().flat_map(|&group| &self.groups[group].cells);
        let due: Vec<&Cell> = due.map(|&cell| &self.cells[cell]).collect();
        self.session.prepare(executor, &due)?;
        let settings = self.settings;
        let transactions = settings.slices.transactions.unwrap_or(PREDICTED_SLICE);
        let passes = settings.passes.unwrap_or(PREDICTED_PASSES);
        self.session.store.set_slice_transactions(transactions)?;
        self.session.store.set_horizon(Horizon::Passes { passes })?;
        let (cells, monitor) = (self.cells.clone(), self.monitor);
        let groups: Vec<Group> = self.due.iter().map(|&of| self.groups[of].clone()).collect();
        let work = PredictedGroups {
            executor,
            settings,
            cells: &cells,
            groups: &groups,
            transactions,
            passes,
            monitor,
        };
        let mut receiver = Keeping {
            predictions: self,
            slices: Vec::new(),
            said: Instant::now(),
        };
        side_by_side(&work, groups.len(), executor.threads(), &mut receiver)
    }

    fn plan(&self) -> &'a Plan {
        &self.settings.plan
    }

    /// Keeps what was predicted of a group; its slices.
    fn keep(&mut self, cells: Vec<PredictedCell>) -> Result<Vec<Slice>, CampaignError> {
        let mut records = Vec::new();
        let (mut warm_ups, mut slices) = (Vec::new(), Vec::new());
        for cell in cells {
            self.tell_warm_up(&cell);
            Input::put(&mut self.session.store, cell.number, &cell.modeled.inputs)?;
            cell.modeled
                .waits
                .put(&mut self.session.store, cell.number)?;
            records.push(RunRecord {
                source: Source::Predicted,
                key: RunKey {
                    sitting: SITTING,
                    cell: cell.number,
                },
                started_at: cell.started_at,
                result: Ok(Box::new(cell.figures)),
            });
            warm_ups.extend(cell.warm_up);
            slices.extend(cell.slices);
        }
        self.place(&mut slices);
        let records: Vec<&RunRecord> = records.iter().collect();
        self.session.put_sitting(&records, &warm_ups, &slices)?;
        self.session.note_time()?;
        Ok(slices)
    }

    /// Puts slices in their order, and gives them the positions that they have among all cells of
    /// the plan.
    fn place(&self, slices: &mut [Slice]) {
        let all: Vec<Vec<usize>> = self.groups.iter().map(|of| of.cells.clone()).collect();
        slices.sort_by_key(|slice| slice.key.pass);
        for of_pass in slices.chunk_by_mut(|one, other| one.key.pass == other.key.pass) {
            let order = self.plan().order(SITTING, of_pass[0].key.pass, &all);
            for slice in of_pass.iter_mut() {
                let position = order.iter().position(|&cell| cell == slice.key.cell);
                slice.key.position =
                    u32::try_from(position.unwrap_or_default()).unwrap_or(u32::MAX);
            }
            of_pass.sort_by_key(|slice| slice.key.position);
        }
    }

    /// Says of a cell that it is cold, and how much longer it takes to be warm; and what failed
    /// in its warm-up.
    fn tell_warm_up(&self, cell: &PredictedCell) {
        let name = self.plan().cell_name(&self.cells[cell.number]);
        let warmth = &cell.warmth;
        if warmth.state() != WarmUpState::Steady && warmth.transactions() > 0 {
            let wanted = warmth.transactions_wanted().map(|wanted| {
                // Two digits are all that is known.
                let unit = 10_u64.pow(wanted.checked_ilog10().unwrap_or(0).saturating_sub(1));
                let wanted = wanted.div_ceil(unit) * unit;
                format!(": at least --warm-up {wanted} is needed")
            });
            self.monitor.note(&format!(
                "{name}: the cache is not warm after {} transactions{}",
                warmth.transactions(),
                wanted.unwrap_or_default()
            ));
        }
        if cell.failed > 0 {
            self.monitor.note(&format!(
                "{name}: {} transactions failed in the warm-up, and count nowhere",
                cell.failed
            ));
        }
    }
}

/// Keeps groups as they end.
struct Keeping<'p, 'a> {
    predictions: &'p mut Predictions<'a>,
    /// All so far.
    slices: Vec<Slice>,
    /// When it was said last how cells stand.
    said: Instant,
}

impl Receiver<CellAtWork<'_>> for Keeping<'_, '_> {
    fn take(&mut self, _group: usize, cells: Vec<CellAtWork<'_>>) -> Result<(), CampaignError> {
        let ended = cells.into_iter().filter_map(|cell| match cell {
            CellAtWork::Open(_) => None,
            CellAtWork::Ended(cell) => Some(*cell),
        });
        let slices = self.predictions.keep(ended.collect())?;
        self.slices.extend(slices);
        if self.said.elapsed() >= STANDINGS_EVERY {
            self.tell_standings()?;
            self.said = Instant::now();
        }
        Ok(())
    }

    fn show(&mut self, ended: usize, words: &str) {
        let Predictions { due, monitor, .. } = &self.predictions;
        if due.len() == 1 {
            monitor.progress(words);
            return;
        }
        let now = format!("{ended} of {} groups predicted, {words}", due.len());
        match ended {
            0 => monitor.progress(&now),
            _ => {
                let left = (due.len() - ended) as f64 / ended as f64;
                monitor.progress_with(&now, monitor.session().mul_f64(left));
            }
        }
    }
}

impl Keeping<'_, '_> {
    fn tell_standings(&mut self) -> Result<(), CampaignError> {
        let Predictions {
            settings,
            session,
            cells,
            groups,
            monitor,
            ..
        } = &*self.predictions;
        let passes = settings.passes.unwrap_or(PREDICTED_PASSES);
        let rules = settings
            .plan
            .rules(Horizon::Passes { passes }, Source::Predicted);
        self.slices.sort_by_key(|slice| slice.key);
        let unseated = Expected::unseated(&session.store, cells.len())?;
        let judgement = lockstep::judge(&rules, groups, cells.len(), &self.slices, &unseated);
        monitor.standings(&settings.plan, &judgement);
        Ok(())
    }
}

/// Groups that are predicted.
struct PredictedGroups<'w> {
    executor: &'w PredictedExecutor<'w>,
    settings: &'w CampaignSettings,
    cells: &'w [Cell],
    groups: &'w [Group],
    /// Transactions of a slice.
    transactions: u64,
    passes: u32,
    monitor: &'w Monitor<'w>,
}

/// What the cells of a group do next.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// They get their rows.
    Open,
    /// They execute so many transactions to warm up.
    WarmUp(u64),
    /// They execute all passes.
    Measure,
}

/// A cell of a group at work.
enum CellAtWork<'w> {
    Open(Box<OpenCell<'w>>),
    Ended(Box<PredictedCell>),
}

struct OpenCell<'w> {
    number: usize,
    started_at: Timestamp,
    seat: PredictedSeat<'w>,
    warm_up: Vec<WarmUpBlock>,
    /// The last block of its warm-up.
    last: Option<Slice>,
}

/// What was predicted of a cell.
struct PredictedCell {
    number: usize,
    started_at: Timestamp,
    /// When its warm-up ended, and how many transactions failed in that.
    warmth: Warmth,
    failed: u64,
    warm_up: Vec<WarmUpBlock>,
    /// Without their positions.
    slices: Vec<Slice>,
    modeled: Modeled,
    figures: Figures,
}

impl<'w> OpenCell<'w> {
    fn key(&self, pass: u32) -> SliceKey {
        SliceKey {
            sitting: SITTING,
            pass,
            position: 0,
            cell: self.number,
        }
    }

    fn warm_up(mut self, transactions: u64) -> Result<Self, CampaignError> {
        let slice = self.seat.slice(self.key(0), transactions)?;
        let number = u32::try_from(self.warm_up.len()).unwrap_or(u32::MAX);
        self.warm_up
            .push(WarmUpBlock::new(number, transactions, &slice));
        self.last = Some(slice);
        Ok(self)
    }
}

impl<'w> PredictedGroups<'w> {
    fn open(&self, number: usize) -> Result<OpenCell<'w>, CampaignError> {
        let started_at = Timestamp::now();
        let seed = self.settings.plan.inputs_seed(SITTING);
        let cell = &self.cells[number];
        Ok(OpenCell {
            number,
            started_at,
            seat: self.executor.open(cell, seed, self.monitor)?,
            warm_up: Vec::new(),
            last: None,
        })
    }

    fn measure(&self, mut open: OpenCell<'w>) -> Result<PredictedCell, CampaignError> {
        let failed = open.seat.end_warm_up();
        let mut slices = Vec::new();
        for pass in 0..self.passes {
            self.monitor.stop_if_interrupted()?;
            let slice = open.seat.slice(open.key(pass), self.transactions)?;
            slices.push(slice);
        }
        self.monitor.stop_if_interrupted()?;
        Ok(PredictedCell {
            number: open.number,
            started_at: open.started_at,
            warmth: open.seat.warmth().clone(),
            failed,
            warm_up: open.warm_up,
            slices,
            modeled: open.seat.modeled()?,
            // After what models were asked for.
            figures: open.seat.figures(),
        })
    }

    fn warm_up_end(&self) -> WarmUpEnd {
        if let Some(transactions) = self.settings.slices.warm_up {
            return WarmUpEnd::Transactions(transactions);
        }
        let mut databases = self.settings.plan.databases.iter();
        let is_recorded = databases.any(|database| database.is_bound());
        let given = self.settings.prediction.as_ref();
        let most = given.and_then(|of| of.warm_up_max);
        let most = most.or(is_recorded.then_some(RECORDED_MAX));
        WarmUpEnd::Steady {
            most: most.unwrap_or(u64::MAX),
        }
    }
}

/// What is known of a group at work.
struct GroupAtWork {
    number: usize,
    warm_up: WarmUp,
}

impl<'w> Work for PredictedGroups<'w> {
    type Group = GroupAtWork;
    type Cell = CellAtWork<'w>;
    type Step = Step;

    fn begin(&self, number: usize) -> (GroupAtWork, usize, Step) {
        let group = GroupAtWork {
            number,
            warm_up: WarmUp::new(self.warm_up_end()),
        };
        (group, self.groups[number].cells.len(), Step::Open)
    }

    fn step(
        &self,
        (group, place): (usize, usize),
        cell: Option<CellAtWork<'w>>,
        step: Step,
    ) -> Result<CellAtWork<'w>, CampaignError> {
        self.monitor.stop_if_interrupted()?;
        let open = match cell {
            None => self.open(self.groups[group].cells[place])?,
            Some(CellAtWork::Open(open)) => *open,
            Some(ended) => return Ok(ended),
        };
        Ok(match step {
            Step::Open => CellAtWork::Open(Box::new(open)),
            Step::WarmUp(transactions) => CellAtWork::Open(Box::new(open.warm_up(transactions)?)),
            Step::Measure => CellAtWork::Ended(Box::new(self.measure(open)?)),
        })
    }

    fn next(&self, group: &mut GroupAtWork, cells: &mut [CellAtWork<'w>]) -> Option<Step> {
        let mut is_over = Vec::new();
        for cell in cells {
            let CellAtWork::Open(open) = cell else {
                return None;
            };
            match open.last.take() {
                Some(block) => group.warm_up.see(&block),
                None => group.warm_up.expect(open.number, open.seat.frames()),
            }
            is_over.push((open.number, open.seat.warmth().is_over()));
        }
        let is_over = |cell| is_over.contains(&(cell, true));
        let block = group.warm_up.next(&is_over);
        Some(block.map_or(Step::Measure, Step::WarmUp))
    }

    fn fits(&self, at_work: &[usize], group: usize) -> bool {
        let needs = |group: usize| {
            let cells = self.groups[group].cells.iter();
            self.executor.needs(cells.map(|&cell| &self.cells[cell]))
        };
        let open = at_work.iter().map(|&group| needs(group));
        let open = open.reduce(|one, other| one.and(other));
        self.executor.fits(open.unwrap_or_default(), needs(group))
    }

    fn words(&self, group: &GroupAtWork, step: Step, (taken, count): (usize, usize)) -> String {
        let cells = &self.groups[group.number].cells;
        let name = self.settings.plan.group_name(&self.cells[cells[0]]);
        let doing = match step {
            Step::Open if self.settings.plan.own.is_some() => "open what was recorded",
            Step::Open => "place rows on pages",
            Step::WarmUp(_) => "warm up",
            Step::Measure => "execute transactions",
        };
        let far = match step {
            Step::WarmUp(_) => group.warm_up.progress(),
            Step::Open | Step::Measure => format!("{taken} of {count}"),
        };
        match name.is_empty() {
            true => format!("{doing}: {far}"),
            false => format!("{doing} {name}: {far}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use octavo_storage::entry;
    use octavo_units::{ByteCount, PageSize};
    use octavo_workload::WorkloadName;

    use super::*;
    use crate::{
        observer::Observer,
        plan::{Design, Shard, SliceLength, Storage, tests::plan},
        prediction::{Cpu, PredictedCpus, PredictedDevice, PredictedDevices, Prediction, Slowness},
        resolved::ResolvedPlan,
    };

    struct Silent;

    impl Observer for Silent {
        fn progress(&self, _: &str, _: Duration, _: Duration) {}
        fn note(&self, _: &str) {}
        fn interrupted(&self) -> bool {
            false
        }
    }

    /// Two devices with three memories each, two page sizes of few rows.
    fn small_plan() -> Plan {
        let workload: WorkloadName = "ycsb-a".parse().unwrap();
        Plan {
            workload,
            data: vec![workload.data_spec(&[("records", 500)]).unwrap()],
            page_sizes: [4096, 16_384].map(|b| PageSize::new(b).unwrap()).to_vec(),
            memories: [1, 2, 4].map(ByteCount::mib).to_vec(),
            storages: ["ec", "nvme-tlc"]
                .map(|name| Storage::Device(name.into()))
                .to_vec(),
            design: Design::Full,
            ..plan()
        }
    }

    fn prediction(plan: &Plan, shard: Option<Shard>) -> Prediction {
        let device = |name: &str| PredictedDevice::Entry(Box::new(entry::named(name).unwrap()));
        let workload = plan.workload(plan.data[0]).unwrap();
        let kind = plan.databases[0].modeled().unwrap();
        Prediction {
            devices: PredictedDevices::new(device("ec"))
                .with(plan.storages[1].clone(), device("nvme-tlc")),
            cpu: Some(PredictedCpus::new(
                Cpu::of_catalog(kind, workload.as_ref()).unwrap(),
            )),
            processors: 2,
            slowness: Slowness::default(),
            measured_own: None,
            machine: None,
            warm_up_max: None,
            ends_slices: false,
            in_part: false,
            shard,
        }
    }

    fn settings(directory: &Path, shard: Option<Shard>) -> CampaignSettings {
        let plan = small_plan();
        CampaignSettings {
            directory: directory.to_owned(),
            prediction: Some(prediction(&plan, shard)),
            plan,
            budget: None,
            passes: Some(8),
            slices: SliceLength {
                transactions: Some(20),
                warm_up: None,
            },
            calibrate: false,
            predict_first: false,
            chosen_sizes: None,
            program: PathBuf::new(),
            keep_data: false,
            until: None,
            part: None,
            later: Vec::new(),
            command: None,
            octavo_version: "0",
        }
    }

    /// What is in a store of predictions but for times of the clock: slices, blocks of warm-ups,
    /// figures, and what models told.
    fn predicted(
        shard: Option<Shard>,
        change: impl FnOnce(PredictedExecutor<'_>) -> PredictedExecutor<'_>,
    ) -> Vec<String> {
        let directory = tempfile::tempdir().unwrap();
        let settings = settings(directory.path(), shard);
        let path = directory.path().join("octavo.db");
        let mut store = Store::open_or_create(&path).unwrap();
        store.adopt(&settings.plan, settings.slices, "0").unwrap();
        let resolved = ResolvedPlan::new(&settings.plan, directory.path()).unwrap();
        let prediction = settings.prediction.as_ref().unwrap();
        let executor = PredictedExecutor::new(resolved, prediction, 1000).unwrap();
        let mut executor = change(executor);
        let monitor = Monitor::new(&Silent, Duration::ZERO, None);
        let predictions = Predictions::begin(&settings, store, &monitor).unwrap();
        predictions.carry_out(&mut executor).unwrap();
        let store = Store::open(&path).unwrap();
        let workload = settings.plan.workload(settings.plan.data[0]).unwrap();
        let slices = store.slices().unwrap().into_iter();
        let mut all: Vec<String> = slices.map(|slice| format!("{slice:?}")).collect();
        for run in store.runs(workload.transactions()).unwrap() {
            let figures = run.figures().unwrap();
            all.push(format!("{:?} {figures:?}", run.key));
        }
        let told = store.facts_below("inputs").unwrap();
        all.extend(
            told.into_iter()
                .map(|(name, value)| format!("{name} {value}")),
        );
        let told = store.facts_below("waits").unwrap();
        all.extend(
            told.into_iter()
                .map(|(name, value)| format!("{name} {value}")),
        );
        all.sort_unstable();
        all
    }

    #[test]
    fn threads_and_memory_change_nothing() {
        let alone = predicted(None, |executor| executor.with_threads(1));
        // Of 12 cells 8 slices and a run at least.
        assert!(alone.len() > 12 * 9, "{}", alone.len());
        for threads in [2, 7] {
            let several = predicted(None, |executor| executor.with_threads(threads));
            assert_eq!(several, alone, "{threads} threads");
        }
        // One group at a time.
        let tight = predicted(None, |executor| {
            executor.with_threads(4).with_memory(ByteCount::new(1))
        });
        assert_eq!(tight, alone);
    }

    #[test]
    fn parts_have_what_the_whole_has_to_the_digit() {
        let whole = predicted(None, |executor| executor);
        for count in [2, 5] {
            let parts = (0..count).map(|index| Shard::new(index, count).unwrap());
            let parts: Vec<Vec<String>> = parts
                .map(|shard| predicted(Some(shard), |executor| executor))
                .collect();
            assert!(parts.iter().all(|part| part.len() < whole.len()));
            let mut all = parts.concat();
            all.sort_unstable();
            assert_eq!(all, whole, "{count} parts");
        }
    }
}
