//! What was found of a cell and of a group of cells, from their runs and slices.

use std::{
    collections::{BTreeMap, HashSet},
    time::Duration,
};

use octavo_database::StoragePath;
use octavo_driver::KindCounts;
use schemars::JsonSchema;
use serde::Serialize;

use super::{
    age::{Age, age},
    per_transaction::{PerTransaction, per_transaction},
    stability::{CellStability, stability},
    time::{Tail, TransactionTime, is_checkpoint_timed, sync_share, tail, transaction_time},
    timeline::Stretch,
};
use crate::{
    caveats::{MovedRatio, UnfilledCell, YoungPasses},
    energy::{CellEnergy, CellMachineEnergy, RunEnergy, RunMachineEnergy},
    inputs::{Input, Inputs},
    limits::Asked,
    lockstep::{
        Batch, Candidate, Departure, Group, GroupJudgement, Judgement, Levels, Movement, Slice,
        SliceKey,
    },
    own_sizes::{MixedOverSingle, Standing, TreeReads, mixed_over_single, tree_reads},
    plan::{Cell, Factor, Level, Plan},
    prediction::Expected,
    record::{DeviceUse, Figures, RunRecord, Source, UNFINISHED},
    statistics::{Decision, Interval, decision, error_of_one},
    verdict::{Verdict, verdict},
    waits::{Bound, Waits},
};

/// What was found in one cell.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CellFindings {
    /// The cell.
    pub cell: Cell,
    /// Its level of what is compared, as in [`Level`](crate::plan::Level)'s
    /// `Display`.
    pub level: String,
    /// Whether others are compared with it.
    pub reference: bool,
    /// How its reads got to the storage, if it ran.
    pub storage_path: Option<StoragePath>,
    /// Throughput a minute with its interval (95%, this cell alone), by
    /// [`Levels`]: of two cells that were open together, the ratio
    /// of these is the ratio that is said of them anywhere.
    pub throughput: Option<Interval>,
    /// At a recording's pace, its mean response time in milliseconds, which is the inverse of
    /// `throughput`: there that is counted transactions in a minute of their response times.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mean_response_ms: Option<Interval>,
    /// Its throughput over the reference's within batches (95% for all cells of
    /// the group and all looks together); `None` for the reference.
    pub ratio: Option<Interval>,
    /// Where its group is advised another level than the reference's, its throughput over
    /// that one's, at 95% for all cells of the group together; `None` for that level itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub over_advised: Option<Interval>,
    /// What the ratio says.
    pub decision: Option<Decision>,
    /// Where that is open and an interval at 95% for this cell and this moment
    /// alone is not: faster or slower.
    pub likely: Option<Decision>,
    /// What it was predicted to be before anything was measured, where that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected: Option<Expected>,
    /// What it was predicted from, and how far its time follows that; empty where it was
    /// measured. Its intervals are as wide as these make them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub inputs: Vec<Input>,
    /// When and why it was dropped.
    pub left: Option<Departure>,
    /// How much more measuring would decide it, in seconds within slices of all
    /// cells together; `None` where it is decided or that cannot be told.
    pub more_s: Option<f64>,
    /// Its ratio within each sitting, by the sitting's number from 0, with an interval of it
    /// alone.
    pub by_sitting: Vec<(u32, Interval)>,
    /// The correlation of a batch's ratio with the next one's.
    pub autocorrelation: Option<f64>,
    /// How its ratio moved in its batches while the copies grew older, if it did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub moved: Option<Movement>,
    /// What each batch gave.
    pub batches: Vec<Batch>,
    /// Of a cell that is no longer measured: the reference's batches until then, at what its checkpoints cost
    /// then, so that the ratio follows from these and its own.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reference_batches: Vec<Batch>,
    /// Counted transactions a minute of all its passes together, those that are left out of `throughput`
    /// included; `None` without any.
    pub all_passes: Option<f64>,
    /// Where a transaction's time goes; `None` without slices that tell.
    pub time: Option<TransactionTime>,
    /// Rows that a transaction inserts, where it was predicted: then the data grow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inserted: Option<f64>,
    /// What most of that time goes into; `None` where it was measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bound: Option<Bound>,
    /// Latencies of all transactions, and what the slowest of them wait for.
    pub tail: Option<Tail>,
    /// How far its data was changed while measured.
    pub age: Option<Age>,
    /// How even its batches were; `None` without two of them.
    pub stability: Option<CellStability>,
    /// Means over all runs.
    pub per_transaction: Option<PerTransaction>,
    /// What was read of each table and index, where the database counts that.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub trees: Vec<TreeReads>,
    /// What its transactions took of the device's energy; `None` where that is
    /// not known, as of real devices.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub energy: Option<CellEnergy>,
    /// What they took of the machine's energy, the device included where its watts are known;
    /// `None` where the machine does not count it and none was named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machine_energy: Option<CellMachineEnergy>,
    /// Outcomes and latencies by kind of transaction, all runs together.
    pub kinds: Vec<KindCounts>,
    /// Runs whose warm-up did not fill the buffer.
    pub buffer_not_filled: usize,
    /// Passes after it left in which others of its group were measured and it was not.
    pub passes_missed: usize,
    /// Passes that it took part in, those that are left out included: fewer than there are
    /// where it or its group was decided before others.
    pub passes: usize,
    /// Of these, the passes that count.
    pub passes_counted: usize,
    /// How fast it was from the begin of its warm-up on. The store's tables `warm_up` and `slice`
    /// have more of it.
    #[serde(skip)]
    pub timeline: Vec<Stretch>,
}

/// What was found in one group of cells.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct GroupFindings {
    /// What sets it apart from other groups, as after "with"; empty when there
    /// is one group.
    pub name: String,
    /// Its cells, in the order of the compared list.
    pub cells: Vec<CellFindings>,
    /// What to do.
    pub verdict: Verdict,
    /// What page sizes of tables and indexes did beside the best single one, where some have one of
    /// their own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mixed: Option<MixedOverSingle>,
    /// The passes that do not count because copies were young.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub young: Option<YoungPasses>,
}

/// A run that gave no result.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct FailedRun {
    /// Its sitting, from 1.
    pub sitting: u32,
    /// Its cell.
    pub cell: Cell,
    /// Why.
    pub reason: String,
}

/// The mean response time in milliseconds of so many transactions in a minute of their response
/// times.
pub fn mean_response_ms(throughput: Interval) -> Interval {
    let each = throughput.inverse();
    Interval {
        estimate: 60_000.0 * each.estimate,
        low: 60_000.0 * each.low,
        high: 60_000.0 * each.high,
        ..each
    }
}

/// The runs with figures and the slices that count, by cell.
pub(super) struct ByCell<'a> {
    plan: &'a Plan,
    cells: &'a [Cell],
    pub(super) figures: Vec<BTreeMap<u32, &'a Figures>>,
    slices: Vec<Vec<&'a Slice>>,
    /// Those too that are left out of figures.
    every: Vec<Vec<&'a Slice>>,
    /// Counted commits a transaction of all cells together: with one for all, times of
    /// transactions stand to each other as throughputs do.
    counted: Option<f64>,
    predicted: Predicted<'a>,
}

/// What predictions said of cells.
#[derive(Clone, Copy)]
pub(super) struct Predicted<'a> {
    pub(super) source: Source,
    pub(super) expected: &'a [(usize, Expected)],
    pub(super) inputs: &'a Inputs,
    /// By cell.
    pub(super) waits: &'a [Option<Waits>],
}

impl<'a> ByCell<'a> {
    pub(super) fn new(
        plan: &'a Plan,
        cells: &'a [Cell],
        runs: &'a [RunRecord],
        slices: &'a [Slice],
        judgement: &Judgement,
        predicted: Predicted<'a>,
    ) -> Self {
        let mut figures = vec![BTreeMap::new(); cells.len()];
        for run in runs {
            if let Some(done) = run.figures()
                && let Some(of_cell) = figures.get_mut(run.key.cell)
            {
                of_cell.insert(run.key.sitting, done);
            }
        }
        let screened: HashSet<(u32, u32)> = judgement
            .screened
            .iter()
            .map(|pass| (pass.sitting, pass.pass))
            .collect();
        let mut by_cell = vec![Vec::new(); cells.len()];
        let mut every = by_cell.clone();
        for slice in slices.iter().filter(|slice| slice.key.cell < cells.len()) {
            every[slice.key.cell].push(slice);
            if !screened.contains(&(slice.key.sitting, slice.key.pass)) {
                by_cell[slice.key.cell].push(slice);
            }
        }
        Self {
            plan,
            cells,
            figures,
            counted: counted_share(by_cell.iter().flatten().copied()),
            slices: by_cell,
            every,
            predicted,
        }
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &'a Figures> {
        self.figures
            .iter()
            .flat_map(|of_cell| of_cell.values().copied())
    }

    /// Seconds that a cell's slices take on average; 0 without any.
    pub(super) fn slice_s(&self, cell: usize) -> f64 {
        let slices = &self.every[cell];
        let all: Duration = slices.iter().map(|slice| slice.elapsed).sum();
        all.as_secs_f64() / slices.len().max(1) as f64
    }

    /// Counted transactions a minute of all slices of a cell together; `None` without any.
    fn all_passes(&self, cell: usize) -> Option<f64> {
        let slices = &self.every[cell];
        let counted: u64 = slices.iter().map(|slice| slice.counted).sum();
        let all: Duration = slices.iter().map(|slice| slice.elapsed).sum();
        (!all.is_zero()).then(|| counted as f64 / all.as_secs_f64() * 60.0)
    }

    /// What a cell asked of its storage in all its slices; `None` without any.
    pub(super) fn asked(&self, cell: usize) -> Option<Asked> {
        let runs = self.figures[cell].values();
        let devices: Option<Vec<DeviceUse>> = runs.clone().map(|run| run.device).collect();
        let device = devices.and_then(|of| of.into_iter().reduce(|one, other| one.plus(&other)));
        let slices = &self.every[cell];
        let transactions = slices.iter().map(|slice| slice.transactions).sum();
        // Runs whose device did not count are of unknown demand, and count whole.
        (transactions > 0).then(|| Asked {
            transactions,
            elapsed: match device {
                Some(_) => runs.map(|run| run.load.measured).sum(),
                None => slices.iter().map(|slice| slice.elapsed).sum(),
            },
            device,
        })
    }

    /// Cells with runs whose warm-up did not fill the buffer.
    pub(super) fn unfilled(&self) -> Vec<UnfilledCell> {
        let cells = self.cells.iter().zip(&self.figures);
        let unfilled = cells.map(|(cell, figures)| UnfilledCell {
            cell: cell.clone(),
            runs: figures
                .values()
                .filter(|run| !run.load.buffer_filled)
                .count(),
            of: figures.len(),
        });
        unfilled.filter(|cell| cell.runs > 0).collect()
    }

    pub(super) fn failed(&self, runs: &[RunRecord]) -> Vec<FailedRun> {
        runs.iter()
            .filter_map(|run| {
                Some(FailedRun {
                    sitting: run.key.sitting + 1,
                    cell: self.cells.get(run.key.cell)?.clone(),
                    reason: run.result.as_ref().err()?.clone(),
                })
            })
            // What was interrupted is gone on with.
            .filter(|run| run.reason != UNFINISHED)
            .collect()
    }

    fn energy(&self, cell: usize) -> BTreeMap<u32, RunEnergy> {
        self.figures[cell]
            .iter()
            .filter_map(|(sitting, figures)| Some((*sitting, RunEnergy::from_run(figures)?)))
            .collect()
    }

    fn machine_energy(&self, cell: usize) -> BTreeMap<u32, RunMachineEnergy> {
        self.figures[cell]
            .iter()
            .filter_map(|(sitting, figures)| Some((*sitting, RunMachineEnergy::from_run(figures)?)))
            .collect()
    }

    pub(super) fn group(
        &self,
        group: &Group,
        judged: &GroupJudgement,
        levels: &Levels,
    ) -> GroupFindings {
        let mut verdict = match self.cold(group).as_slice() {
            cold @ [_, ..] if group.cells.len() > 1 => Verdict::Cold {
                level: self.level(group.cells[group.reference]),
                cold: cold.iter().map(|&cell| self.level(cell)).collect(),
            },
            _ => verdict(self.plan, self.cells, group, judged, levels),
        };
        let mut cells: Vec<CellFindings> = (0..group.cells.len())
            .map(|place| self.cell(group, judged, place))
            .collect();
        if let Verdict::Use {
            level,
            ratio: of_advised,
            ..
        } = &verdict
            && let Some(advised) = cells.iter().position(|of| of.level == level.to_string())
        {
            let error = error_of_one(group.cells.len().saturating_sub(1));
            let advised = group.cells[advised];
            for (&number, cell) in group.cells.iter().zip(&mut cells) {
                if cell.reference {
                    // The other way round it has been said already.
                    cell.over_advised = Some(of_advised.inverse());
                    continue;
                }
                let ratio = levels.ratio(number, advised, error);
                let powers = [(number, 1.0), (advised, -1.0)];
                cell.over_advised = ratio
                    .filter(|_| number != advised)
                    .map(|ratio| self.predicted.inputs.widen(ratio, &powers, error));
            }
        }
        // What both share says more of them than the ratio of each to the reference.
        if let Verdict::Use { ties, .. } = &mut verdict {
            let is_behind = |cell: &CellFindings| {
                let over = cell
                    .over_advised
                    .as_ref()
                    .filter(|over| over.says_something());
                over.is_some_and(|over| decision(over, self.plan.margin) == Decision::Worse)
            };
            let behind: Vec<&str> = cells
                .iter()
                .filter(|cell| is_behind(cell))
                .map(|cell| cell.level.as_str())
                .collect();
            ties.retain(|level| !behind.contains(&level.to_string().as_str()));
        }
        let by = (levels, self.predicted.inputs);
        let standings = group.cells.iter().zip(&cells);
        let standings: Vec<Standing> = standings
            .map(|(&cell, of)| Standing {
                cell,
                level: self.plan.level(&of.cell, Factor::PageSize),
                throughput: of.throughput.map(|throughput| throughput.estimate),
                is_reference: of.reference,
                ratio: of.ratio,
            })
            .collect();
        GroupFindings {
            name: self.plan.group_name(&self.cells[group.cells[0]]),
            mixed: mixed_over_single(&standings, by, self.plan.margin),
            cells,
            verdict,
            young: judged.young.map(|young| YoungPasses {
                passes: young.from,
                all_passes: {
                    let all = &self.slices[group.reference_cell()];
                    all.len() - within(all, &judged.candidates[group.reference]).len()
                },
                moved: MovedRatio {
                    cell: self.cells[young.cell].clone(),
                    movement: young.movement,
                },
            }),
        }
    }

    fn level(&self, cell: usize) -> Level {
        self.plan.level(&self.cells[cell], self.plan.compare)
    }

    /// Predicted cells of a group whose buffer was not warm.
    fn cold(&self, group: &Group) -> Vec<usize> {
        let is_cold = |cell: &&usize| {
            let mut runs = self.figures[**cell].values();
            runs.any(|run| !run.load.buffer_filled)
        };
        match self.predicted.source {
            Source::Measured => Vec::new(),
            Source::Predicted => group.cells.iter().filter(is_cold).copied().collect(),
        }
    }

    fn cell(&self, group: &Group, judged: &GroupJudgement, place: usize) -> CellFindings {
        let number = group.cells[place];
        let cell = &self.cells[number];
        let stands = &judged.candidates[place];
        let runs: Vec<&Figures> = self.figures[number].values().copied().collect();
        let slices = &within(&self.slices[number], stands);
        let kinds = kinds(&runs);
        let mut expected = self
            .predicted
            .expected
            .iter()
            .filter(|(cell, _)| *cell == number);
        let waits = self.predicted.waits[number].as_ref();
        let time = stands.throughput.and_then(|throughput| {
            let apart_us = 60e6 * self.counted? / throughput.estimate;
            transaction_time(
                slices,
                is_checkpoint_timed(&runs),
                stands.checkpoint_cost,
                sync_share(&runs),
                cell.clients.max(1),
                apart_us,
                waits,
            )
        });
        CellFindings {
            cell: cell.clone(),
            level: self.level(number).to_string(),
            reference: place == group.reference,
            storage_path: storage_path(runs.iter().copied()),
            throughput: stands.throughput,
            mean_response_ms: stands
                .throughput
                .filter(|_| self.plan.pace().is_some())
                .map(mean_response_ms),
            ratio: stands.ratio,
            over_advised: None,
            // Nothing is open of what was never measured.
            decision: stands
                .decision
                .filter(|_| stands.throughput.is_some() || !stands.by_sitting.is_empty()),
            likely: stands.likely,
            expected: expected.next().map(|(_, expected)| *expected),
            inputs: self.predicted.inputs.of_cell(number).to_vec(),
            left: stands.left,
            more_s: stands.more.map(|more| more.as_secs_f64()),
            by_sitting: stands.by_sitting.clone(),
            autocorrelation: stands.autocorrelation,
            moved: stands.moved,
            batches: stands.batches.clone(),
            reference_batches: stands.reference_batches.clone(),
            all_passes: self.all_passes(number),
            inserted: waits.map(Waits::inserted),
            bound: waits.and_then(|waits| waits.bound(&time?.bounded()?)),
            time,
            tail: tail(&runs, &kinds),
            age: age(&self.every[number], &stands.batches, stands.from),
            stability: stability(slices, &stands.batches, &kinds),
            per_transaction: per_transaction(&runs, cell.page_size),
            trees: tree_reads(&runs),
            energy: CellEnergy::from_runs(
                &self.energy(number),
                (place != group.reference)
                    .then(|| self.energy(group.reference_cell()))
                    .as_ref(),
            ),
            machine_energy: CellMachineEnergy::from_runs(
                &self.machine_energy(number),
                (place != group.reference)
                    .then(|| self.machine_energy(group.reference_cell()))
                    .as_ref(),
            ),
            kinds,
            passes_missed: self.missed(group, judged, place).len(),
            passes: self.every[number].len(),
            passes_counted: slices.len(),
            buffer_not_filled: runs.iter().filter(|run| !run.load.buffer_filled).count(),
            timeline: Vec::new(),
        }
    }

    /// The reference's slices, or those of another, in the passes that a cell missed after it
    /// left.
    fn missed(&self, group: &Group, judged: &GroupJudgement, place: usize) -> Vec<&'a Slice> {
        let Some(left) = judged.candidates[place].left else {
            return Vec::new();
        };
        let at = |slice: &Slice| (slice.key.sitting, slice.key.pass);
        let own = self.every[group.cells[place]].iter();
        let own: HashSet<(u32, u32)> = own.map(|slice| at(slice)).collect();
        let others = [
            &[group.reference],
            &(0..group.cells.len()).collect::<Vec<_>>()[..],
        ]
        .concat();
        let others = others
            .iter()
            .flat_map(|&other| &self.every[group.cells[other]]);
        let mut missed: BTreeMap<(u32, u32), &Slice> = BTreeMap::new();
        for &slice in others {
            if at(slice) > (left.sitting, left.pass) && !own.contains(&at(slice)) {
                missed.entry(at(slice)).or_insert(slice);
            }
        }
        missed.into_values().collect()
    }

    /// The time that a cell would have taken in the passes that it missed, in seconds: that of
    /// the reference in them over its ratio to it.
    pub(super) fn saved_s(&self, group: &Group, judged: &GroupJudgement) -> f64 {
        let of_cell = |place: usize| {
            let ratio = judged.candidates[place].ratio?.estimate;
            let missed = self.missed(group, judged, place).into_iter();
            let time: Duration = missed.map(|slice| slice.elapsed).sum();
            (ratio > 0.0).then(|| time.as_secs_f64() / ratio)
        };
        (0..group.cells.len()).filter_map(of_cell).sum()
    }

    pub(super) fn storage_path(&self) -> Option<StoragePath> {
        storage_path(self.all().collect::<Vec<_>>().into_iter())
    }
}

/// How reads of runs got to the storage: the worst for figures, if they differ.
fn storage_path<'a>(runs: impl Iterator<Item = &'a Figures> + Clone) -> Option<StoragePath> {
    let mut paths = runs.clone().filter_map(|figures| figures.storage_path);
    let worst = paths.find(|&path| path == StoragePath::PageCache);
    worst.or_else(|| runs.into_iter().find_map(|figures| figures.storage_path))
}

/// A cell's slices that its batches are of: from the first one that counts of each sitting on, and until
/// the look that decided it.
pub(super) fn within<'a>(slices: &[&'a Slice], stands: &Candidate) -> Vec<&'a Slice> {
    let counts = |key: &SliceKey| {
        let mut older = stands.batches.iter();
        stands.from == 0
            || older.any(|batch| batch.sitting == key.sitting && batch.pass <= key.pass)
    };
    let is_within = |slice: &&&Slice| {
        let key = slice.key;
        let is_early = |end| (key.sitting, key.pass) <= end;
        counts(&key) && stands.until.is_none_or(is_early)
    };
    slices.iter().filter(is_within).copied().collect()
}

impl CellFindings {
    /// Its ratios within sittings of enough batches to be set beside each other.
    fn of_sittings(&self) -> impl Iterator<Item = Interval> {
        let all = self.by_sitting.iter().map(|(_, ratio)| *ratio);
        all.filter(|ratio| ratio.batches >= BATCHES_TO_COMPARE)
    }

    /// How many times its smallest ratio of a sitting the largest is, whether chance explains
    /// that or not; `None` without any.
    pub fn sittings_spread(&self) -> Option<f64> {
        let ratios = || self.of_sittings().map(|ratio| ratio.estimate);
        Some(ratios().max_by(f64::total_cmp)? / ratios().min_by(f64::total_cmp)?)
    }

    /// How many times that of another sitting its ratio of one is, at most, of those whose
    /// intervals do not overlap; `None` where all do.
    pub(super) fn sittings_apart(&self) -> Option<f64> {
        let known: Vec<Interval> = self
            .of_sittings()
            .filter(Interval::says_something)
            .collect();
        let pairs = known
            .iter()
            .flat_map(|one| known.iter().map(move |other| (one, other)));
        pairs
            .filter(|(one, other)| one.low > other.high)
            .map(|(one, other)| one.estimate / other.estimate)
            .max_by(f64::total_cmp)
    }

    /// In how many sittings it was compared, by two batches at least.
    pub fn sittings_compared(&self) -> usize {
        self.of_sittings().count()
    }
}

/// Batches of a sitting below which its ratio is not set beside that of others.
const BATCHES_TO_COMPARE: usize = 2;

/// Counted commits a transaction; `None` without any.
fn counted_share<'a>(slices: impl Iterator<Item = &'a Slice>) -> Option<f64> {
    let (counted, all) = slices.fold((0.0, 0.0), |(counted, all), slice| {
        (
            counted + slice.counted as f64,
            all + slice.transactions as f64,
        )
    });
    let share = counted / all;
    (share.is_finite() && share > 0.0).then_some(share)
}

/// What each kind of transaction did, all runs together.
fn kinds(runs: &[&Figures]) -> Vec<KindCounts> {
    let mut all: Vec<KindCounts> = Vec::new();
    for kind in runs.iter().flat_map(|run| &run.load.counts.kinds) {
        match all.iter_mut().find(|known| known.name == kind.name) {
            Some(known) => known.add(kind),
            None => all.push(kind.clone()),
        }
    }
    all
}
