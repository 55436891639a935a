//! Whole campaigns on an executor that takes no time.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use octavo_device::limit::{Limit, Quantity};
use octavo_units::{ByteCount, Seed};
use octavo_workload::user::Own;
use rand::RngExt;

use super::{begin::is_done, settings::CampaignSettings, sittings::Campaign};
use crate::{
    caveats::Caveat,
    error::CampaignError,
    executor::{Executor, Sitting, SittingExecutor},
    findings::Findings,
    limits::{self, tests::served},
    lockstep::{BATCH_PASSES, DepartureReason, Slice, SliceKey, slice::tests::slice},
    monitor::Monitor,
    observer::Observer,
    plan::{Cell, Design, Factor, Plan, SliceLength, Storage, tests::plan},
    record::{DeviceUse, Figures, RunRecord, Source, tests::figures},
    run::RunError,
    statistics::Decision,
    store::{LOADED, Store, StoredSnapshot},
};

/// Calculates slices: transactions of 1 ms each, with 8 KiB pages a tenth less
/// and with 64 KiB pages twice as much, each slice a little different, and with
/// 1 KiB pages very.
#[derive(Default)]
struct Calculated {
    /// Page sizes that cannot be had.
    without: Vec<u32>,
    /// Page sizes whose databases die in their first slice.
    failing: Vec<u32>,
    /// From this slice on the failing ones do; 0 for the first.
    failing_from: u64,
    /// Page sizes whose data is not sound afterwards.
    unsound: Vec<u32>,
    /// Each page size has a snapshot whose load takes so many seconds.
    load_s: Option<f64>,
    /// Page sizes that were loaded.
    loaded: Vec<u32>,
    /// How many cells can be open at the same time.
    room: Option<usize>,
    slices: AtomicU64,
    /// After so many slices the observer wants to stop.
    stop_after: Option<u64>,
    stop: Arc<AtomicBool>,
    /// Passes that take twice as long, in results that are said to be measured.
    slow_passes: Vec<u32>,
    /// Whether its results are said to be measured.
    is_measured: bool,
    /// How long a slice really takes.
    lasts: Duration,
    /// With this memory transactions take 20 times as long.
    slow_memory: Option<ByteCount>,
    /// With pages of this size transactions take half as long each time that so many were done.
    halves: Option<(u32, u32)>,
    /// The volume that all cells share, if it is limited.
    volume: Option<Limited>,
}

/// A volume with a limit of requests, and what it has saved up. Transactions of 10 ms ask it for 10
/// requests, and for 60 with 8 KiB pages: these are held up by it.
struct Limited {
    limit: Limit,
    saved: f64,
}

impl Limited {
    fn full() -> Self {
        let limit = Limit::with_credit(Quantity::Requests, 3000, 150);
        Self {
            limit,
            saved: 150.0,
        }
    }

    /// Seconds that transactions of a cell take.
    fn serve(&mut self, transactions: u64, requests_each: u64) -> (f64, DeviceUse) {
        let requests = transactions * requests_each;
        let wanted = requests_each as f64 / 0.01;
        let Limit { per_second, .. } = self.limit;
        let (seconds, saved) = served(per_second, wanted, requests as f64, self.saved);
        self.saved = saved.min(self.limit.credit());
        let device = DeviceUse {
            reads: requests,
            read_bytes: ByteCount::kib(4 * requests),
            writes: 0,
            written_bytes: ByteCount::ZERO,
            energy: None,
        };
        (seconds, device)
    }
}

/// A cell that is open.
struct Seat {
    page_size: u32,
    /// How many times as long as elsewhere its transactions take.
    level: f64,
    /// Transactions since its warm-up.
    done: u64,
    /// What it asked of a limited volume in its last slice.
    asked: Option<limits::Asked>,
    /// In all since its warm-up.
    asked_in_all: (Duration, Option<DeviceUse>),
}

impl Executor for Calculated {
    fn source(&self) -> Source {
        match self.slow_passes.is_empty() && !self.is_measured {
            true => Source::Predicted,
            false => Source::Measured,
        }
    }

    fn prepare(
        &mut self,
        cell: &Cell,
        _monitor: &Monitor<'_>,
    ) -> Result<Option<StoredSnapshot>, CampaignError> {
        let Some(elapsed_s) = self.load_s else {
            return Ok(None);
        };
        self.loaded.push(cell.page_size.get());
        Ok(Some(StoredSnapshot {
            key: cell.snapshot(),
            made_by: LOADED.into(),
            rows: 1,
            size: ByteCount::mib(1),
            elapsed_s,
            log: None,
            origin: None,
        }))
    }

    fn limits(
        &mut self,
        _storage: &Storage,
        _seed: Option<Seed>,
        _monitor: &Monitor<'_>,
    ) -> Result<Option<Vec<Limit>>, CampaignError> {
        Ok(self.volume.as_ref().map(|volume| vec![volume.limit]))
    }

    fn unavailable(&self, cell: &Cell) -> Option<&str> {
        let missing = self.without.contains(&cell.page_size.get());
        missing.then_some("no such page size")
    }
}

impl SittingExecutor for Calculated {
    fn fits(&self, cells: &[&Cell]) -> Result<bool, CampaignError> {
        Ok(self.room.is_none_or(|room| cells.len() <= room))
    }

    fn sit<'s>(
        &'s mut self,
        cells: &[(usize, &'s Cell)],
        seed: Seed,
        _monitor: &'s Monitor<'_>,
    ) -> Result<Box<dyn Sitting + 's>, CampaignError> {
        let seats = cells.iter();
        let slow_memory = self.slow_memory;
        Ok(Box::new(CalculatedSitting {
            executor: self,
            seats: seats
                .map(|&(number, cell)| {
                    let page_size = cell.page_size.get();
                    let level = match page_size {
                        8192 => 1.0 / 1.1,
                        65536 => 2.0,
                        _ => 1.0,
                    };
                    let is_slow = slow_memory == Some(cell.memory);
                    let seat = Seat {
                        page_size,
                        level: if is_slow { 20.0 * level } else { level },
                        done: 0,
                        asked: None,
                        asked_in_all: (Duration::ZERO, None),
                    };
                    (number, seat)
                })
                .collect(),
            seed,
        }))
    }
}

struct CalculatedSitting<'a> {
    executor: &'a mut Calculated,
    seats: BTreeMap<usize, Seat>,
    seed: Seed,
}

impl CalculatedSitting<'_> {
    fn figures_of(&self, cell: usize) -> Figures {
        let plan = plan();
        let workload = plan.workload(plan.data[0]).unwrap();
        let mut figures = figures(workload.transactions(), self.seats[&cell].done);
        if let (measured, device @ Some(_)) = self.seats[&cell].asked_in_all {
            figures.load.measured = measured;
            figures.device = device;
        }
        figures
    }
}

impl Sitting for CalculatedSitting<'_> {
    fn failure(&mut self, _cell: usize) -> Option<CampaignError> {
        None
    }

    fn frames(&self, _cell: usize) -> u64 {
        100
    }

    fn slice(&mut self, key: SliceKey, transactions: u64) -> Result<Slice, CampaignError> {
        std::thread::sleep(self.executor.lasts);
        let slices = self.executor.slices.fetch_add(1, Ordering::Relaxed) + 1;
        if self.executor.stop_after == Some(slices) {
            self.executor.stop.store(true, Ordering::Relaxed);
        }
        let Seat {
            page_size,
            level,
            done,
            asked,
            asked_in_all,
        } = self.seats.get_mut(&key.cell).unwrap();
        if self.executor.failing.contains(page_size) && slices >= self.executor.failing_from {
            return Err(CampaignError::Run(RunError::Died("gone".into())));
        }
        let age = match self.executor.halves {
            Some((halving, every)) if halving == *page_size => *done as f64 / f64::from(every),
            _ => 0.0,
        };
        let level = *level * 0.5_f64.powf(age);
        *done += transactions;
        if let Some(volume) = &mut self.executor.volume {
            let each = if *page_size == 8192 { 60 } else { 10 };
            let (seconds, device) = volume.serve(transactions, each);
            let elapsed = Duration::from_secs_f64(seconds);
            *asked = Some(limits::Asked {
                transactions,
                elapsed,
                device: Some(device),
            });
            let (measured, so_far) = asked_in_all;
            *measured += elapsed;
            *so_far = Some(so_far.map_or(device, |so_far| so_far.plus(&device)));
            return Ok(Slice {
                key,
                transactions,
                counted: transactions,
                elapsed,
                spent: None,
                misses: transactions,
                ..slice(key.sitting, key.pass, key.cell)
            });
        }
        let place = u64::from(key.pass) * 1000 + key.cell as u64;
        let mut generator = self.seed.derive("wobble", place).generator();
        let amount = if *page_size == 1024 { 1.6 } else { 0.01 };
        let wobble = 1.0 + amount * (generator.random::<f64>() - 0.5);
        let is_slow = self.executor.slow_passes.contains(&key.pass);
        let level = if is_slow { 2.0 * level } else { level };
        Ok(Slice {
            key,
            transactions,
            counted: transactions,
            elapsed: Duration::from_secs_f64(0.001 * transactions as f64 * level * wobble),
            spent: None,
            misses: transactions,
            ..slice(key.sitting, key.pass, key.cell)
        })
    }

    fn asked(&self, cell: usize) -> Option<limits::Asked> {
        self.seats[&cell].asked
    }

    fn end_warm_up(&mut self, cell: usize) -> u64 {
        let seat = self.seats.get_mut(&cell).unwrap();
        seat.done = 0;
        seat.asked_in_all = (Duration::ZERO, None);
        0
    }

    fn figures(&mut self, cell: usize) -> Option<Figures> {
        Some(self.figures_of(cell))
    }

    fn leave(&mut self, cell: usize) -> Result<Figures, RunError> {
        if self.executor.unsound.contains(&self.seats[&cell].page_size) {
            return Err(RunError::Failed(7));
        }
        Ok(self.figures_of(cell))
    }
}

struct Asked(Arc<AtomicBool>);

impl Observer for Asked {
    fn progress(&self, _: &str, _: Duration, _: Duration) {}
    fn note(&self, _: &str) {}
    fn interrupted(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// The same, which keeps what it is told.
struct Noting {
    stop: Arc<AtomicBool>,
    notes: Mutex<Vec<String>>,
}

impl Observer for Noting {
    fn progress(&self, _: &str, _: Duration, _: Duration) {}
    fn note(&self, line: &str) {
        self.notes.lock().unwrap().push(line.to_owned());
    }
    fn interrupted(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

const PASSES: u32 = 24;

/// The page sizes 4096 (the reference), 8192 and 65536 with one memory.
fn one_group() -> Plan {
    let mut plan = plan();
    plan.memories.truncate(1);
    plan.design = Design::Full;
    plan
}

/// Carries out a plan for [`PASSES`] passes.
fn carry_out(
    directory: &Path,
    plan: Plan,
    executor: Calculated,
) -> Result<Findings, CampaignError> {
    carry_out_with(settings(directory, plan), executor)
}

fn carry_out_with(
    settings: CampaignSettings,
    mut executor: Calculated,
) -> Result<Findings, CampaignError> {
    let directory = &settings.directory;
    let mut store = Store::open_or_create(&directory.join("octavo.db"))?;
    store.adopt(&settings.plan, settings.slices, "0")?;
    let observer = Asked(executor.stop.clone());
    let monitor = Monitor::new(&observer, store.time_spent()?, None);
    Campaign::new(&settings, store, executor.source(), &monitor)?.carry_out(&mut executor)
}

fn settings(directory: &Path, plan: Plan) -> CampaignSettings {
    CampaignSettings {
        directory: directory.to_owned(),
        plan,
        prediction: None,
        budget: None,
        passes: Some(PASSES),
        slices: SliceLength {
            transactions: Some(50),
            warm_up: None,
        },
        calibrate: true,
        predict_first: false,
        chosen_sizes: None,
        program: PathBuf::new(),
        keep_data: false,
        until: None,
        part: None,
        later: Vec::new(),
        command: Some("octavo advise".into()),
        octavo_version: "0",
    }
}

fn records(directory: &Path) -> Vec<RunRecord> {
    let store = Store::open(&directory.join("octavo.db")).unwrap();
    let workload = plan().workload(plan().data[0]).unwrap();
    store.runs(workload.transactions()).unwrap()
}

fn slices(directory: &Path) -> Vec<Slice> {
    let store = Store::open(&directory.join("octavo.db")).unwrap();
    store.slices().unwrap()
}

#[test]
fn every_pass_has_a_slice_of_every_cell_and_records_say_their_source() {
    let directory = tempfile::tempdir().unwrap();
    let findings = carry_out(directory.path(), one_group(), Calculated::default()).unwrap();
    assert_eq!((findings.passes, findings.sittings), (PASSES as usize, 1));
    assert_eq!(findings.runs_done, 3);
    assert!(findings.calibration.is_none());
    let records = records(directory.path());
    assert_eq!(records.len(), 3);
    let predicted = |record: &RunRecord| record.source == Source::Predicted;
    assert!(records.iter().all(predicted));
    let slices = slices(directory.path());
    assert_eq!(slices.len(), 3 * PASSES as usize);
    assert!(slices.iter().all(|slice| slice.transactions == 50));
    let conditions = findings.database;
    assert_eq!(conditions, [("synchronous".to_owned(), "FULL".to_owned())]);
    let eight = &findings.groups[0].cells[1];
    assert!((eight.ratio.unwrap().estimate - 1.1).abs() < 0.01);
}

/// Two cells on a limited volume, of which one takes all of it: its ratio, what a caveat says is its error
/// at most, and the transactions of a slice.
fn on_a_limited_volume(transactions: Option<u64>, volume: Limited) -> (f64, Option<f64>, u64) {
    let directory = tempfile::tempdir().unwrap();
    let mut plan = one_group();
    plan.page_sizes.truncate(2);
    let mut settings = settings(directory.path(), plan);
    settings.slices.transactions = transactions;
    let executor = Calculated {
        is_measured: true,
        volume: Some(volume),
        ..Calculated::default()
    };
    let findings = carry_out_with(settings, executor).unwrap();
    let mut caveats = findings.caveats.iter();
    let too_fast = caveats.find_map(|caveat| match caveat {
        Caveat::Credit { share, .. } => Some(*share),
        _ => None,
    });
    let ratio = findings.groups[0].cells[1].ratio.unwrap().estimate;
    (ratio, too_fast, findings.slice_transactions.unwrap())
}

#[test]
fn a_cell_that_a_volume_holds_up_is_as_slow_in_turns_as_alone() {
    // Alone it is served 3,000 of 6,000 requests a second, so takes twice as long as without a limit.
    let (ratio, too_fast, transactions) = on_a_limited_volume(None, Limited::full());
    assert_eq!(transactions, 100);
    assert!((ratio / 0.5 - 1.0).abs() < 0.03, "{ratio}");
    assert_eq!(too_fast, None);
    // In short slices, which somebody asked for, it lives on credit in every second one, as every second
    // pass is in reverse, and a caveat has the bound.
    let (ratio, too_fast, _) = on_a_limited_volume(Some(10), Limited::full());
    assert!(ratio > 0.58, "{ratio}");
    assert!(ratio <= 0.5 * (1.0 + too_fast.unwrap()) + 1e-6, "{ratio}");
    // A credit of minutes: no slice is that long.
    let mut minutes = Limited::full();
    minutes.limit.refill_s = 1800.0;
    let (ratio, too_fast, transactions) = on_a_limited_volume(None, minutes);
    assert_eq!(transactions, 10);
    assert!(ratio > 0.6 && too_fast.unwrap() > 0.5, "{ratio}");
}

#[test]
fn passes_that_are_left_out_are_made_up_for() {
    let passes = |slow_passes: Vec<u32>| {
        let directory = tempfile::tempdir().unwrap();
        let executor = Calculated {
            slow_passes,
            ..Calculated::default()
        };
        let findings = carry_out(directory.path(), one_group(), executor).unwrap();
        let mut settings = settings(directory.path(), one_group());
        assert!(is_done(&settings).unwrap());
        settings.passes = Some(2 * PASSES);
        assert!(!is_done(&settings).unwrap());
        (findings.passes, findings.screened.slow)
    };
    assert_eq!(passes(vec![3, 7, 11]), (PASSES as usize + 3, 3));
    // Slow after all that was wanted.
    assert_eq!(passes(vec![2, PASSES]), (PASSES as usize + 2, 2));
}

#[test]
fn a_cell_that_is_decided_leaves_and_the_others_go_on() {
    let directory = tempfile::tempdir().unwrap();
    let mut plan = one_group();
    plan.design = Design::Race;
    plan.page_sizes
        .push(octavo_units::PageSize::new(1024).unwrap());
    let findings = carry_out(directory.path(), plan, Calculated::default()).unwrap();
    let [_, _, sixty_four, _] = &findings.groups[0].cells[..] else {
        panic!("four cells");
    };
    let left = sixty_four.left.unwrap();
    assert_eq!(left.why, DepartureReason::Slower);
    let last = |cell: usize| {
        let slices = slices(directory.path());
        let own = slices.iter().filter(|slice| slice.key.cell == cell);
        own.map(|slice| slice.key.pass).max().unwrap()
    };
    // It takes no part in the next batch.
    assert!(last(2) - left.pass < BATCH_PASSES as u32);
    assert!(last(0) > last(2), "{} {}", last(0), last(2));
}

/// Stores of earlier versions have to stay readable: `tests/stores/` has a
/// sample of each. Before a change of the store's version, this command makes
/// the sample of the version that it leaves:
///
/// ```sh
/// OCTAVO_STORE_SAMPLE=$PWD/crates/experiment/tests/stores/version-4.db \
///     cargo test -p octavo-experiment --lib stored_sample
/// ```
#[test]
fn a_stored_sample_is_small() {
    let directory = tempfile::tempdir().unwrap();
    carry_out(directory.path(), one_group(), Calculated::default()).unwrap();
    let store = directory.path().join("octavo.db");
    assert!(fs::metadata(&store).unwrap().len() < 200 << 10);
    if let Some(sample) = std::env::var_os("OCTAVO_STORE_SAMPLE") {
        fs::copy(store, sample).unwrap();
    }
}

#[test]
fn the_same_seed_gives_the_same_experiment() {
    let [one, other] = [(); 2].map(|()| {
        let directory = tempfile::tempdir().unwrap();
        carry_out(directory.path(), one_group(), Calculated::default()).unwrap();
        slices(directory.path())
    });
    assert_eq!(one, other);
}

#[test]
fn a_stopped_campaign_keeps_whole_passes_and_goes_on_in_a_new_sitting() {
    // Of 3 cells: warm-ups take 4 blocks, then come passes.
    for (stop_after, kept) in [(3, 0), (3 * (4 + 5) + 1, 5)] {
        let directory = tempfile::tempdir().unwrap();
        let stopping = Calculated {
            stop_after: Some(stop_after),
            ..Calculated::default()
        };
        let stopped = carry_out(directory.path(), one_group(), stopping);
        assert!(matches!(stopped, Err(CampaignError::Stopped)));
        assert_eq!(slices(directory.path()).len(), 3 * kept);
        // What was executed to warm up is no run.
        assert_eq!(records(directory.path()).is_empty(), kept == 0);
        let findings = carry_out(directory.path(), one_group(), Calculated::default()).unwrap();
        assert_eq!(findings.passes, PASSES as usize);
        assert_eq!(findings.sittings, if kept == 0 { 1 } else { 2 });
        assert!((findings.groups[0].cells[1].ratio.unwrap().estimate - 1.1).abs() < 0.01);
    }
}

#[test]
fn a_cell_that_dies_keeps_what_was_measured_of_it_and_of_others() {
    let directory = tempfile::tempdir().unwrap();
    // Of 3 cells: 4 blocks of warm-up and 10 passes, the last 2 not kept yet.
    let executor = Calculated {
        failing: vec![65536],
        failing_from: 3 * (4 + 10),
        ..Calculated::default()
    };
    let findings = carry_out(directory.path(), one_group(), executor).unwrap();
    assert_eq!((findings.runs_done, findings.runs_failed.len()), (3, 0));
    let of = |cell: usize| {
        let slices = slices(directory.path());
        slices.iter().filter(|slice| slice.key.cell == cell).count()
    };
    assert_eq!([of(0), of(1), of(2)], [PASSES as usize, PASSES as usize, 9]);
    let cell = &findings.groups[0].cells[2];
    assert!(
        (cell.ratio.unwrap().estimate - 0.5).abs() < 0.02,
        "{cell:?}"
    );
    // … which everybody is told.
    let records = records(directory.path());
    let lost = |record: &RunRecord| record.figures().unwrap().load.lost.clone();
    let lost: Vec<Option<String>> = records.iter().map(lost).collect();
    assert_eq!(lost, [None, None, Some("the database died: gone".into())]);
    let told = Caveat::RunsLost {
        runs: 1,
        unchecked: 0,
        of: 3,
        reason: "the database died: gone".into(),
    };
    assert!(findings.caveats.contains(&told), "{:?}", findings.caveats);
}

#[test]
fn groups_that_do_not_fit_together_take_turns() {
    let directory = tempfile::tempdir().unwrap();
    let mut plan = plan();
    plan.design = Design::Full;
    let executor = Calculated {
        room: Some(5),
        ..Calculated::default()
    };
    let findings = carry_out(directory.path(), plan, executor).unwrap();
    assert_eq!(findings.sittings, 2);
    for group in &findings.groups {
        assert!((group.cells[1].ratio.unwrap().estimate - 1.1).abs() < 0.01);
    }
    let of_first_sitting = |slice: &&Slice| slice.key.sitting == 0;
    let all = slices(directory.path());
    let cells: BTreeSet<usize> = all
        .iter()
        .filter(of_first_sitting)
        .map(|slice| slice.key.cell)
        .collect();
    assert_eq!(cells.len(), 3);
}

#[test]
fn cells_that_cannot_be_had_fail_or_are_unsound_have_no_figures_and_others_have() {
    let page_sizes = || vec![65536];
    for (executor, expected) in [
        (
            Calculated {
                without: page_sizes(),
                ..Calculated::default()
            },
            "no such page size",
        ),
        (
            Calculated {
                failing: page_sizes(),
                ..Calculated::default()
            },
            "the database died: gone",
        ),
        (
            Calculated {
                unsound: page_sizes(),
                ..Calculated::default()
            },
            "7 transactions failed",
        ),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let findings = carry_out(directory.path(), one_group(), executor).unwrap();
        assert_eq!((findings.runs_done, findings.runs_failed.len()), (2, 1));
        let reason = &findings.runs_failed[0].reason;
        assert!(reason.contains(expected), "{reason}");
        assert!(findings.groups[0].cells[2].throughput.is_none());
        assert!(findings.groups[0].cells[1].ratio.is_some());
    }
}

#[test]
fn a_group_that_gives_nothing_is_given_up_and_the_others_end() {
    for (without, failing) in [(vec![65536], vec![]), (vec![], vec![65536])] {
        let directory = tempfile::tempdir().unwrap();
        let mut plan = plan();
        plan.design = Design::Full;
        plan.compare = Factor::Memory;
        let executor = Calculated {
            without,
            failing,
            ..Calculated::default()
        };
        let findings = carry_out(directory.path(), plan, executor).unwrap();
        assert_eq!(findings.groups.len(), 3);
        assert_eq!((findings.runs_done, findings.runs_failed.len()), (4, 2));
    }
}

#[test]
fn an_experiment_is_done_once_nothing_is_left_to_measure() {
    let directory = tempfile::tempdir().unwrap();
    let mut plan = one_group();
    plan.design = Design::Full;
    let wanted = settings(directory.path(), plan.clone());
    assert!(!is_done(&wanted).unwrap());
    carry_out(directory.path(), plan.clone(), Calculated::default()).unwrap();
    assert!(is_done(&wanted).unwrap());
    let more = CampaignSettings {
        passes: Some(PASSES + 1),
        ..settings(directory.path(), plan.clone())
    };
    assert!(!is_done(&more).unwrap());
    let mut other = plan;
    other.seed = Seed::new(99);
    assert!(is_done(&settings(directory.path(), other)).is_err());
}

#[test]
fn a_session_that_measures_nothing_ends_with_the_reason_though_earlier_ones_did() {
    let directory = tempfile::tempdir().unwrap();
    let stopped = Calculated {
        stop_after: Some(40),
        ..Calculated::default()
    };
    let ended = carry_out(directory.path(), one_group(), stopped);
    assert!(matches!(ended, Err(CampaignError::Stopped)));
    let failing = Calculated {
        failing: vec![4096, 8192, 65536],
        ..Calculated::default()
    };
    let ended = carry_out(directory.path(), one_group(), failing);
    assert!(matches!(ended, Err(CampaignError::AllFailed(_))));
    // What failed is made again.
    let findings = carry_out(directory.path(), one_group(), Calculated::default()).unwrap();
    assert!(findings.runs_done > 0);
}

#[test]
fn what_would_not_be_loaded_within_the_budget_is_left_out_but_two_are_compared() {
    // Three page sizes, of which each is measured for about 4 s.
    for (load_s, loaded, note) in [
        (5.0, &[4096, 8192, 65536][..], ""),
        (20.0, &[4096, 8192], ""),
        (
            40.0,
            &[4096, 8192],
            "takes about 48 s, more than the budget of 30 s",
        ),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let settings = CampaignSettings {
            passes: None,
            budget: Some(Duration::from_secs(30)),
            ..settings(directory.path(), one_group())
        };
        let path = directory.path().join("octavo.db");
        let mut store = Store::open_or_create(&path).unwrap();
        store.adopt(&settings.plan, settings.slices, "0").unwrap();
        let mut executor = Calculated {
            load_s: Some(load_s),
            stop_after: Some(1),
            ..Calculated::default()
        };
        let observer = Noting {
            stop: executor.stop.clone(),
            notes: Mutex::default(),
        };
        let monitor = Monitor::new(&observer, Duration::ZERO, settings.budget);
        let campaign = Campaign::new(&settings, store, executor.source(), &monitor).unwrap();
        let ended = campaign.carry_out(&mut executor);
        // It has begun to measure.
        assert!(matches!(ended, Err(CampaignError::Stopped)), "{load_s}");
        assert_eq!(executor.loaded, loaded, "{load_s}");
        let notes = observer.notes.into_inner().unwrap().join("\n");
        assert!(notes.contains(note), "{notes}");
        let workload = settings.plan.workload(settings.plan.data[0]).unwrap();
        let runs = Store::open(&path)
            .unwrap()
            .runs(workload.transactions())
            .unwrap();
        // What was not tried did not fail.
        assert!(runs.iter().all(|run| run.result.is_ok()), "{runs:?}");
        assert_eq!(notes.contains("64 KiB pages is left out"), loaded.len() < 3);
    }
}

/// A session of one group that may last `budget_s`, of which `spent_s` are over by the clock of
/// its store; what it found, what it was told, and what was loaded.
fn session(
    directory: &Path,
    budget_s: u64,
    spent_s: u64,
    load_s: f64,
) -> (Findings, String, BTreeSet<u32>) {
    let mut plan = one_group();
    plan.design = Design::Race;
    let settings = CampaignSettings {
        passes: None,
        budget: Some(Duration::from_secs(budget_s)),
        ..settings(directory, plan)
    };
    let mut store = Store::open_or_create(&directory.join("octavo.db")).unwrap();
    store.adopt(&settings.plan, settings.slices, "0").unwrap();
    let mut executor = Calculated {
        load_s: Some(load_s),
        is_measured: true,
        ..Calculated::default()
    };
    let observer = Noting {
        stop: executor.stop.clone(),
        notes: Mutex::default(),
    };
    let spent = Duration::from_secs(spent_s);
    let monitor = Monitor::new(&observer, spent, settings.budget);
    let campaign = Campaign::new(&settings, store, executor.source(), &monitor).unwrap();
    let found = campaign.carry_out(&mut executor).unwrap();
    let notes = observer.notes.into_inner().unwrap().join("\n");
    (found, notes, executor.loaded.into_iter().collect())
}

#[test]
fn what_there_was_no_time_to_load_did_not_fail_and_is_measured_within_a_larger_budget() {
    let directory = tempfile::tempdir().unwrap();
    let (found, notes, loaded) = session(directory.path(), 30, 0, 20.0);
    assert_eq!(loaded, BTreeSet::from([4096, 8192]));
    assert!(notes.contains("64 KiB pages is left out"), "{notes}");
    let [_, eight, sixty_four] = &found.groups[0].cells[..] else {
        panic!("three cells");
    };
    assert_eq!(eight.decision, Some(Decision::Better));
    assert_eq!((sixty_four.left, sixty_four.throughput), (None, None));
    assert_eq!((found.runs_done, found.runs_failed.len()), (2, 0));
    assert!(!found.finished);
    let sittings = found.sittings;
    // A larger one that is too small for another load says so, and what would do.
    let (found, notes, loaded) = session(directory.path(), 40, 29, 20.0);
    assert_eq!(loaded, BTreeSet::from([4096, 8192]));
    assert_eq!(found.sittings, sittings);
    assert!(notes.contains("64 KiB pages is left out"), "{notes}");
    assert!(
        notes.contains("nothing more was measured: ") && notes.contains("--budget 2m would do"),
        "{notes}"
    );
    let (found, notes, loaded) = session(directory.path(), 120, 40, 20.0);
    assert_eq!(loaded, BTreeSet::from([4096, 8192, 65536]));
    assert_eq!(notes, "");
    let [_, eight, sixty_four] = &found.groups[0].cells[..] else {
        panic!("three cells");
    };
    assert_eq!(eight.decision, Some(Decision::Better));
    assert_eq!(sixty_four.decision, Some(Decision::Worse));
    assert!((sixty_four.ratio.unwrap().estimate - 0.5).abs() < 0.02);
    assert!(found.finished);
    assert!(found.runs_failed.is_empty());
    // Everything is decided: nothing is to be said of a budget.
    let (again, notes, _) = session(directory.path(), 240, 110, 20.0);
    assert_eq!((again.sittings, notes.as_str()), (found.sittings, ""));
}

#[test]
fn slices_are_as_long_as_slow_groups_allow() {
    let directory = tempfile::tempdir().unwrap();
    let plan = Plan {
        design: Design::Full,
        ..plan()
    };
    assert!(plan.memories.len() > 1);
    let transactions_of = |slow_memory| {
        let settings = CampaignSettings {
            slices: SliceLength::default(),
            ..settings(directory.path(), plan.clone())
        };
        let mut executor = Calculated {
            slow_memory,
            ..measuring()
        };
        let path = directory.path().join("octavo.db");
        let mut store = Store::open_or_create(&path).unwrap();
        store.adopt(&settings.plan, settings.slices, "0").unwrap();
        let observer = Asked(executor.stop.clone());
        let monitor = Monitor::new(&observer, Duration::ZERO, None);
        let campaign = Campaign::new(&settings, store, executor.source(), &monitor).unwrap();
        campaign.carry_out(&mut executor).unwrap();
        let transactions = slices(directory.path())[0].transactions;
        fs::remove_file(path).unwrap();
        transactions
    };
    // 75 ms of 1,000 a second, and of what two groups have in the mean, the second at 50 a second.
    assert_eq!(transactions_of(None), 100);
    assert_eq!(transactions_of(plan.memories.last().copied()), 10);
}

/// Carries out a plan within a budget; what was found, and what was said meanwhile.
fn within(
    budget: Duration,
    plan: Plan,
    transactions: u64,
    mut executor: Calculated,
) -> (Findings, String) {
    let directory = tempfile::tempdir().unwrap();
    let settings = CampaignSettings {
        budget: Some(budget),
        passes: None,
        calibrate: false,
        slices: SliceLength {
            transactions: Some(transactions),
            warm_up: None,
        },
        ..settings(directory.path(), plan)
    };
    let mut store = Store::open_or_create(&directory.path().join("octavo.db")).unwrap();
    store.adopt(&settings.plan, settings.slices, "0").unwrap();
    let observer = Noting {
        stop: executor.stop.clone(),
        notes: Mutex::default(),
    };
    let monitor = Monitor::new(&observer, Duration::ZERO, settings.budget);
    let campaign = Campaign::new(&settings, store, executor.source(), &monitor).unwrap();
    let found = campaign.carry_out(&mut executor).unwrap();
    (found, observer.notes.into_inner().unwrap().join("\n"))
}

#[test]
fn where_a_ratio_moves_the_first_sitting_is_the_only_one() {
    let sittings = |halves| {
        let mut plan = one_group();
        plan.page_sizes.truncate(2);
        let executor = Calculated {
            lasts: Duration::from_millis(2),
            halves,
            ..measuring()
        };
        let (found, _) = within(Duration::from_secs(6), plan, 2, executor);
        (found.sittings > 1, found.groups[0].young.is_some())
    };
    assert_eq!(sittings(None), (true, false));
    // A look at a twentieth of the budget has 75 passes.
    assert_eq!(sittings(Some((8192, 1_000))), (false, true));
}

#[test]
fn passes_that_take_longer_than_the_budget_are_told() {
    let said = |budget: Duration, lasts: Duration| {
        let executor = Calculated {
            lasts,
            ..measuring()
        };
        let (found, notes) = within(budget, one_group(), 50, executor);
        let over = found.caveats.into_iter().find_map(|caveat| match caveat {
            Caveat::OverBudget(over) => Some(over),
            _ => None,
        });
        (over, notes, found.passes)
    };
    // 8 passes of 3 slices take 2.4 s.
    let (over, notes, passes) = said(Duration::from_secs(1), Duration::from_millis(100));
    let over = over.unwrap();
    assert_eq!((over.passes, over.budget_s, passes), (8, 1.0, 8));
    assert!(over.took_s > 2.4, "{over:?}");
    let line = "the fewest that compare anything, 8, take about";
    assert_eq!(notes.matches(line).count(), 1, "{notes}");
    assert!(notes.contains("more than the budget of 1 s"), "{notes}");
    // A budget that is kept has no such warning.
    let (over, notes, _) = said(Duration::from_secs(3), Duration::from_millis(1));
    assert_eq!((over, notes.contains("fewest")), (None, false), "{notes}");
}

#[test]
fn making_ready_ends_with_the_time_in_which_something_can_be_measured() {
    let observer = Asked(Arc::default());
    let after = |earlier| {
        Monitor::new(&observer, Duration::from_secs(earlier), None)
            .with_limit(Some(Duration::from_secs(60)))
    };
    assert!(after(0).flow_within_limit().is_continue());
    assert_eq!(after(0).passed_limit(), None);
    assert!(after(60).flow_within_limit().is_break());
    assert_eq!(after(60).passed_limit(), Some(Duration::from_secs(60)));
    // What is not making ready goes on.
    assert!(after(60).flow().is_continue());
}

#[test]
fn a_campaign_without_any_figure_ends_with_the_reason() {
    let all = vec![4096, 8192, 65536];
    let without = Calculated {
        without: all.clone(),
        ..Calculated::default()
    };
    let failing = Calculated {
        failing: all,
        ..Calculated::default()
    };
    for (executor, reason) in [(without, "no such page size"), (failing, "gone")] {
        let directory = tempfile::tempdir().unwrap();
        let ended = carry_out(directory.path(), one_group(), executor);
        let Err(CampaignError::AllFailed(found)) = ended else {
            panic!("it did not fail");
        };
        assert!(found.contains(reason), "{found}");
    }
}

/// A plan whose transactions were recorded, so many of them.
fn recorded(transactions: u64) -> Plan {
    let own: Own = serde_json::from_value(serde_json::json!({
        "copy": {"name": "own.db", "size": 1 << 20, "page_size": 4096, "state": 1},
        "scripts": [{"name": "recorded reads", "weight": 1, "fingerprint": 1}],
        "recording": {
            "files": ["trace.sql"], "sessions": 1, "transactions": transactions,
            "statements": transactions, "recorded": transactions,
        },
    }))
    .unwrap();
    Plan {
        own: Some(Arc::new(own)),
        ..one_group()
    }
}

/// Results that are said to be measured.
fn measuring() -> Calculated {
    Calculated {
        is_measured: true,
        ..Calculated::default()
    }
}

#[test]
fn a_model_has_the_recording_in_one_sitting() {
    let directory = tempfile::tempdir().unwrap();
    let findings = carry_out(directory.path(), recorded(1_300), Calculated::default()).unwrap();
    assert_eq!((findings.passes, findings.sittings), (PASSES as usize, 1));
}

#[test]
fn a_sitting_ends_where_the_recording_does() {
    let directory = tempfile::tempdir().unwrap();
    let findings = carry_out(directory.path(), recorded(1_300), measuring()).unwrap();
    assert_eq!(findings.passes, PASSES as usize);
    // Warm-ups have at most 433 of them.
    let slices = slices(directory.path());
    let sent = |sitting: u32| {
        let of_one = |slice: &&Slice| (slice.key.sitting, slice.key.cell) == (sitting, 0);
        let own = slices.iter().filter(of_one);
        own.map(|slice| slice.transactions).sum::<u64>()
    };
    assert_eq!(findings.sittings, 2);
    assert!((800..=1_150).contains(&sent(0)), "{}", sent(0));
    assert_eq!(sent(0) + sent(1), u64::from(PASSES) * 50);
}

#[test]
fn a_recording_that_is_too_short_begins_again() {
    let directory = tempfile::tempdir().unwrap();
    // The fewest passes have 400 transactions, and a third is for the warm-up.
    let findings = carry_out(directory.path(), recorded(598), measuring()).unwrap();
    assert_eq!((findings.passes, findings.sittings), (PASSES as usize, 1));
}
