//! What a store says: every cell's figures, the ratios to the reference, the
//! verdicts and their conditions, in one value that reports print and
//! `--json` writes.

mod age;
mod per_transaction;
mod ramps;

use std::{
    collections::{BTreeMap, HashSet},
    time::Duration,
};

use octavo_database::{Registry, RestoreMethod, StoragePath};
use octavo_device::profile::Profile;
use octavo_driver::KindCounts;
use octavo_units::{
    ByteCount,
    spread::{Span, Spread, WINDOW_S, windows},
};
use octavo_workload::{Audit, AuditLine};
use serde::Serialize;

use crate::{
    caveats::{self, Caveat, UnfilledCell},
    energy::{CellEnergy, CellMachineEnergy, RunEnergy, RunMachineEnergy},
    inputs::{Input, Inputs},
    lockstep::{
        Batch, Group, GroupJudgement, Horizon, Judgement, Left, Levels, Screened, Slice, Spent,
        judge_seated,
    },
    machine,
    plan::{Cell, Plan},
    prediction::{Elsewhere, Expected},
    record::{Figures, RunRecord, Source, UNFINISHED},
    statistics::{Decision, Interval, error_of_one, mean, standard_deviation},
    store::{CHANGED, Store, StoreError, StoredSnapshot},
    verdict::{BufferFinding, Interaction, Verdict, buffer_findings, interactions, verdict},
};

pub use age::Age;
pub use per_transaction::{MISSES_THAT_MATTER, OTHERS_READ, PerTransaction};
pub use ramps::{CellRamp, RampEnd};

use age::{age, pace_change, still_warming};
use per_transaction::per_transaction;

/// Everything that a report says.
#[derive(Clone, Debug, Serialize)]
pub struct Findings {
    /// The version of Octavo that measured.
    pub octavo: String,
    /// When the store was made, RFC 3339.
    pub created: String,
    /// The command that was last carried out, without its budget.
    pub command: Option<String>,
    /// The plan.
    pub plan: Plan,
    /// Time of all sessions, in seconds.
    pub spent_s: f64,
    /// Of this, time within slices, all cells together, in seconds.
    pub measured_s: f64,
    /// Sittings: each begins with fresh copies.
    pub sittings: usize,
    /// Passes: in each, every cell that was live had one slice.
    pub passes: usize,
    /// Of these, the ones that are left out of throughputs and times, by reason.
    pub screened: ScreenedPasses,
    /// Transactions of a slice; `None` of stores without lockstep.
    pub slice_transactions: Option<u64>,
    /// How long warm-ups were to be, in words; `None` of stores that do not tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warm_up: Option<String>,
    /// Over what the error of all looks is spent; `None` when nothing was
    /// measured.
    pub horizon: Option<Horizon>,
    /// Whether everything that was compared is decided, and each ramp has come to its end.
    pub finished: bool,
    /// What the counted transactions are called in the plural, such as "new
    /// orders": throughput is of them.
    pub counted_name: String,
    /// Time that dropping decided cells early saved, in seconds; 0 where none
    /// was.
    pub saved_s: f64,
    /// Runs with a result.
    pub runs_done: usize,
    /// Runs without one, with the reason.
    pub runs_failed: Vec<FailedRun>,
    /// Facts about the machine, by name.
    pub machine: Vec<(String, String)>,
    /// Facts that were not the same in all sessions, by name.
    pub changed: Vec<(String, String)>,
    /// Facts about the storage under the data, by name.
    pub storage: Vec<(String, String)>,
    /// How the database was run, by name.
    pub database: Vec<(String, String)>,
    /// How the runs reached the storage: through the page cache as soon as one
    /// did. `None` without any run.
    pub storage_path: Option<StoragePath>,
    /// How each page size's data was made.
    pub snapshots: Vec<StoredSnapshot>,
    /// The device's profile.
    pub calibration: Option<Profile>,
    /// How all figures came about.
    pub source: Source,
    /// Cells and verdict by group, in the plan's order; empty where cells are ramps, of which
    /// none is compared with another.
    pub groups: Vec<GroupFindings>,
    /// What each cell gave where it is a ramp, in the plan's order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ramps: Vec<CellRamp>,
    /// What a smaller buffer costs and saves; empty unless memories and page
    /// sizes, and nothing else, vary.
    pub buffers: Vec<BufferFinding>,
    /// Where one factor changes what another is worth; empty with one group.
    pub interactions: Vec<Interaction>,
    /// What was generated, over one run of each sitting, the longest.
    pub audit: Audit,
    /// What another disk would change, predicted; empty where nothing is.
    pub elsewhere: Vec<Elsewhere>,
    /// What a reader must know before believing the figures, the worst first.
    #[serde(serialize_with = "caveats::with_severity")]
    pub caveats: Vec<Caveat>,
}

/// Passes that are left out of all figures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ScreenedPasses {
    /// Those that took much longer than the others.
    pub slow: usize,
    /// Those in which other programs used the device.
    pub foreign_traffic: usize,
}

impl ScreenedPasses {
    /// Both together.
    pub fn all(&self) -> usize {
        self.slow + self.foreign_traffic
    }
}

/// A run that gave no result.
#[derive(Clone, Debug, Serialize)]
pub struct FailedRun {
    /// Its sitting, from 1.
    pub sitting: u32,
    /// Its cell.
    pub cell: Cell,
    /// Why.
    pub reason: String,
}

/// What was found in one group of cells.
#[derive(Clone, Debug, Serialize)]
pub struct GroupFindings {
    /// What sets it apart from other groups, as after "with"; empty when there
    /// is one group.
    pub name: String,
    /// Its cells, in the order of the compared list.
    pub cells: Vec<CellFindings>,
    /// What to do.
    pub verdict: Verdict,
}

/// What was found in one cell.
#[derive(Clone, Debug, Serialize)]
pub struct CellFindings {
    /// The cell.
    pub cell: Cell,
    /// Its level of what is compared, as in [`Level`](crate::plan::Level)'s
    /// `Display`.
    pub level: String,
    /// Whether others are compared with it.
    pub reference: bool,
    /// Throughput a minute with its interval (95%, this cell alone), by
    /// [`Levels`]: of two cells that were open together, the ratio
    /// of these is the ratio that is said of them anywhere.
    pub throughput: Option<Interval>,
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
    pub left: Option<Left>,
    /// How much more measuring would decide it, in seconds within slices of all
    /// cells together; `None` where it is decided or that cannot be told.
    pub more_s: Option<f64>,
    /// Its ratio within each sitting, by the sitting's number from 0, with an interval of it
    /// alone.
    pub by_sitting: Vec<(u32, Interval)>,
    /// The correlation of a batch's ratio with the next one's.
    pub autocorrelation: Option<f64>,
    /// What each batch gave.
    pub batches: Vec<Batch>,
    /// Where a transaction's time goes; `None` without slices that tell.
    pub time: Option<TransactionTime>,
    /// Latencies of all transactions, and what the slowest of them wait for.
    pub tail: Option<Tail>,
    /// How far its data was changed while measured.
    pub age: Option<Age>,
    /// How even its batches were; `None` without two of them.
    pub stability: Option<CellStability>,
    /// Means over all runs.
    pub per_transaction: Option<PerTransaction>,
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
}

/// Where a transaction's time goes, in microseconds: means over all
/// transactions, of the time that a session spends on one. The whole follows from the
/// cell's throughput and so stands to those of other cells as throughputs do, though some
/// were measured in other minutes; its parts are shares of it. A part that nothing times is
/// `None`, and in the rest.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct TransactionTime {
    /// All of it.
    pub total_us: f64,
    /// Reading pages.
    pub read_us: Option<f64>,
    /// Writing the log.
    pub log_write_us: Option<f64>,
    /// Flushing the log.
    pub log_sync_us: Option<f64>,
    /// Writing and flushing data files for checkpoints.
    pub checkpoint_us: Option<f64>,
    /// On a CPU in user mode, database and client. `None` also where all of it was too short
    /// for the clock that counts it.
    pub cpu_us: Option<f64>,
    /// The rest, 0 or more: the kernel's work besides the above, waiting for a CPU, for locks
    /// and for other sessions, and parts that nothing times.
    pub other_us: f64,
}

impl TransactionTime {
    /// All but the whole and the rest.
    pub fn parts(&self) -> [Option<f64>; 5] {
        [
            self.read_us,
            self.log_write_us,
            self.log_sync_us,
            self.checkpoint_us,
            self.cpu_us,
        ]
    }

    /// Whether every part is timed.
    pub fn is_whole(&self) -> bool {
        self.parts().iter().all(Option::is_some)
    }
}

/// Latencies of all transactions together.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Tail {
    /// Median, in microseconds.
    pub p50_us: u64,
    /// 99th percentile.
    pub p99_us: u64,
    /// Mean time of a checkpoint that a session makes, in microseconds; `None`
    /// where sessions make none.
    pub checkpoint_us: Option<f64>,
    /// Checkpoints a transaction.
    pub checkpoints: f64,
}

impl Tail {
    /// Whether the 99th percentile is the time of checkpoints: at least one in
    /// a hundred transactions makes one, and it takes at least half as long.
    pub fn is_checkpoints(&self) -> bool {
        self.checkpoints >= 0.01
            && self
                .checkpoint_us
                .is_some_and(|mean| mean >= 0.5 * self.p99_us as f64)
    }
}

/// How even a cell's throughput was.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CellStability {
    /// Coefficient of variation (standard deviation over mean) of throughput
    /// between batches.
    pub variation: f64,
    /// Mean time of a batch within slices of the cell, in seconds.
    pub batch_s: f64,
    /// The longest transaction, in seconds.
    pub longest_s: f64,
    /// How throughput differs between windows of 10 s of the cell's own slices; `None` where
    /// these last for fewer than five such windows, or are too long for them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub windows: Option<Spread>,
}

impl Findings {
    /// Reads a store. `None` when it has no plan yet.
    ///
    /// # Errors
    /// When the store cannot be read or holds what Octavo does not write.
    pub fn of(store: &Store) -> Result<Option<Self>, StoreError> {
        let Some(plan) = store.plan()? else {
            return Ok(None);
        };
        let (octavo, created) = store.origin()?;
        let slices = store.slices()?;
        let horizon = store.horizon()?;
        // Stores without lockstep have none: they went as far as they go.
        let passes: HashSet<(u32, u32)> = slices
            .iter()
            .map(|slice| (slice.key.sitting, slice.key.pass))
            .collect();
        let judged_to = horizon.unwrap_or(Horizon::Passes {
            passes: passes.len().max(1) as u32,
        });
        let plan_groups = plan.groups();
        let cells = plan.cells();
        let source = store.source()?.unwrap_or(Source::Measured);
        let rules = plan.rules(judged_to, source);
        let unseated = Expected::unseated(store, cells.len())?;
        let mut judgement = judge_seated(&rules, &plan_groups, cells.len(), &slices, &unseated);
        let inputs = Inputs::all(store, &cells)?;
        for (judged, group) in judgement.groups.iter_mut().zip(&plan_groups) {
            inputs.widen_all(judged, group, rules.margin);
        }
        let workload = plan
            .workload(plan.data[0])
            .map_err(|error| store.damaged("plan", error))?;
        let counted_name = workload.counted_name();
        let runs = store.runs(workload.transactions())?;
        let expected = Expected::all(store)?;
        let said = Said {
            expected: &expected,
            inputs: &inputs,
        };
        let by_cell = ByCell::new(&plan, &cells, &runs, &slices, &judgement, said);
        let groups: Vec<GroupFindings> = plan_groups
            .iter()
            .zip(&judgement.groups)
            .map(|(group, judged)| by_cell.group(group, judged, &judgement.levels))
            .collect();
        let is_ramps = plan.ramp.is_some();
        let ramps = ramps::ramps(&plan, &cells, &runs, &store.steps()?, |cell| {
            let runs: Vec<&Figures> = by_cell.figures[cell].values().copied().collect();
            per_transaction(&runs)
        });
        let screened = |why| {
            let passes = judgement.screened.iter();
            passes.filter(|pass| pass.why == why).count()
        };
        let sittings: HashSet<u32> = slices.iter().map(|slice| slice.key.sitting).collect();
        let calibration = store
            .calibration()?
            .map(|text| Profile::from_toml(&text))
            .transpose()
            .map_err(|error| store.damaged("device profile", error))?;
        let mut findings = Self {
            octavo,
            created,
            command: store.command()?,
            spent_s: store.time_spent()?.as_secs_f64(),
            measured_s: match is_ramps {
                true => by_cell
                    .all()
                    .map(|run| run.load.measured.as_secs_f64())
                    .sum(),
                false => judgement.measured.as_secs_f64(),
            },
            sittings: match is_ramps {
                true => by_cell.all().count(),
                false => sittings.len(),
            },
            passes: judgement.passes,
            screened: ScreenedPasses {
                slow: screened(Screened::Slow),
                foreign_traffic: screened(Screened::ForeignTraffic),
            },
            slice_transactions: store.slice_transactions()?,
            warm_up: warm_up_of(store)?,
            horizon,
            finished: match is_ramps {
                true => ramps.iter().all(|ramp| ramp.end == RampEnd::Finished),
                false => judgement.groups.iter().all(|group| {
                    let mut candidates = group.candidates.iter();
                    candidates.all(|candidate| candidate.decision != Some(Decision::Open))
                }),
            },
            saved_s: saved_s(&plan_groups, &judgement, &slices),
            counted_name: counted_name.into(),
            runs_done: by_cell.all().count(),
            runs_failed: by_cell.failed(&runs),
            machine: store.facts("machine")?,
            changed: store.facts(CHANGED)?,
            storage: store.facts_below("storage")?,
            database: store.facts_below("database")?,
            storage_path: by_cell.storage_path(),
            snapshots: store.snapshots()?,
            calibration,
            source,
            buffers: match is_ramps {
                true => Vec::new(),
                false => buffer_findings(&plan, &cells, &judgement.levels, &inputs),
            },
            interactions: match is_ramps {
                true => Vec::new(),
                false => interactions(&plan, &cells, &plan_groups, &judgement.levels, &inputs),
            },
            groups,
            ramps,
            audit: match is_ramps {
                true => store.longest_audit()?,
                false => store.audit()?,
            },
            elsewhere: Elsewhere::all(store)?,
            caveats: Vec::new(),
            plan: plan.clone(),
        };
        findings.caveats = found_caveats(&findings, &by_cell);
        if is_ramps {
            // Caveats are of their cells; nothing is compared in them.
            findings.groups.clear();
        }
        let missing = Expected::missing(store)?;
        findings
            .caveats
            .extend(missing.map(|reason| Caveat::NotPredicted { reason }));
        caveats::sort(&mut findings.caveats);
        Ok(Some(findings))
    }

    /// The figures per transaction of each cell that has any.
    pub fn per_transaction(&self) -> impl Iterator<Item = &PerTransaction> {
        let cells = self.groups.iter().flat_map(|group| &group.cells);
        let ramps = self.ramps.iter();
        cells
            .filter_map(|cell| cell.per_transaction.as_ref())
            .chain(ramps.filter_map(|ramp| ramp.per_transaction.as_ref()))
    }

    /// Share of the buffer's misses that reached the device: the smaller of
    /// what the database's files and what the device's counters say, the
    /// worst cell of those that missed enough for it to matter.
    pub fn misses_at_device_min(&self) -> Option<f64> {
        self.per_transaction()
            .filter_map(PerTransaction::misses_at_device)
            .min_by(f64::total_cmp)
    }

    /// The most reads of the device a read of the database, where others read so much that
    /// its counters do not tell whose misses reached it.
    pub fn others_read(&self) -> Option<f64> {
        self.per_transaction()
            .filter_map(PerTransaction::others_read)
            .max_by(f64::total_cmp)
    }
}

/// Under which topic it is kept how long warm-ups are.
pub(crate) const LENGTHS: &str = "lengths";
/// … and by which name.
pub(crate) const WARM_UP: &str = "warm-up";

/// How long warm-ups were to be.
fn warm_up_of(store: &Store) -> Result<Option<String>, StoreError> {
    let facts = store.facts(LENGTHS)?;
    let mut warm_ups = facts.into_iter().filter(|(name, _)| name == WARM_UP);
    Ok(warm_ups.next().map(|(_, value)| value))
}

/// The time of slices that cells would have had, at their mean, in passes that
/// were made after they left.
fn saved_s(groups: &[Group], judgement: &Judgement, slices: &[Slice]) -> f64 {
    let left = groups
        .iter()
        .zip(&judgement.groups)
        .flat_map(|(group, judged)| {
            let candidates = group.cells.iter().zip(&judged.candidates);
            candidates.filter_map(|(&cell, candidate)| Some((cell, candidate.left?)))
        });
    left.map(|(cell, left)| {
        let own = slices.iter().filter(|slice| slice.key.cell == cell);
        let (count, time) = own.fold((0, Duration::ZERO), |(count, time), slice| {
            (count + 1, time + slice.elapsed)
        });
        let later: HashSet<(u32, u32)> = slices
            .iter()
            .map(|slice| (slice.key.sitting, slice.key.pass))
            .filter(|&at| at > (left.sitting, left.pass))
            .collect();
        time.as_secs_f64() / f64::from(count.max(1)) * later.len() as f64
    })
    .sum()
}

/// The runs with figures and the slices that count, by cell.
struct ByCell<'a> {
    plan: &'a Plan,
    cells: &'a [Cell],
    figures: Vec<BTreeMap<u32, &'a Figures>>,
    slices: Vec<Vec<&'a Slice>>,
    /// Those too that are left out of figures.
    every: Vec<Vec<&'a Slice>>,
    /// Counted commits a transaction of all cells together: with one for all, times of
    /// transactions stand to each other as throughputs do.
    counted: Option<f64>,
    said: Said<'a>,
}

/// What predictions said of cells.
#[derive(Clone, Copy)]
struct Said<'a> {
    expected: &'a [(usize, Expected)],
    inputs: &'a Inputs,
}

impl<'a> ByCell<'a> {
    fn new(
        plan: &'a Plan,
        cells: &'a [Cell],
        runs: &'a [RunRecord],
        slices: &'a [Slice],
        judgement: &Judgement,
        said: Said<'a>,
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
            said,
        }
    }

    fn all(&self) -> impl Iterator<Item = &'a Figures> {
        self.figures
            .iter()
            .flat_map(|of_cell| of_cell.values().copied())
    }

    /// Cells with runs whose warm-up did not fill the buffer.
    fn unfilled(&self) -> Vec<UnfilledCell> {
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

    fn failed(&self, runs: &[RunRecord]) -> Vec<FailedRun> {
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
            .filter_map(|(sitting, figures)| Some((*sitting, RunEnergy::of(figures)?)))
            .collect()
    }

    fn machine_energy(&self, cell: usize) -> BTreeMap<u32, RunMachineEnergy> {
        self.figures[cell]
            .iter()
            .filter_map(|(sitting, figures)| Some((*sitting, RunMachineEnergy::of(figures)?)))
            .collect()
    }

    fn group(&self, group: &Group, judged: &GroupJudgement, levels: &Levels) -> GroupFindings {
        let verdict = verdict(self.plan, self.cells, group, judged);
        let mut cells: Vec<CellFindings> = (0..group.cells.len())
            .map(|place| self.cell(group, judged, place))
            .collect();
        if let Verdict::Use { level, .. } = &verdict
            && let Some(advised) = cells.iter().position(|of| of.level == level.to_string())
        {
            let error = error_of_one(group.cells.len().saturating_sub(1));
            let advised = group.cells[advised];
            for (&number, cell) in group.cells.iter().zip(&mut cells) {
                let ratio = levels.ratio(number, advised, error);
                let powers = [(number, 1.0), (advised, -1.0)];
                cell.over_advised = ratio
                    .filter(|_| number != advised)
                    .map(|ratio| self.said.inputs.widen(ratio, &powers, error));
            }
        }
        GroupFindings {
            name: self.plan.group_name(&self.cells[group.cells[0]]),
            cells,
            verdict,
        }
    }

    fn cell(&self, group: &Group, judged: &GroupJudgement, place: usize) -> CellFindings {
        let number = group.cells[place];
        let cell = &self.cells[number];
        let stands = &judged.candidates[place];
        let runs: Vec<&Figures> = self.figures[number].values().copied().collect();
        let slices = &self.slices[number];
        let kinds = kinds(&runs);
        let mut expected = self
            .said
            .expected
            .iter()
            .filter(|(cell, _)| *cell == number);
        CellFindings {
            cell: cell.clone(),
            level: self.plan.level(cell, self.plan.compare).to_string(),
            reference: place == group.reference,
            throughput: stands.throughput,
            ratio: stands.ratio,
            over_advised: None,
            // Nothing is open of what was never measured.
            decision: stands.decision.filter(|_| stands.throughput.is_some()),
            likely: stands.likely,
            expected: expected.next().map(|(_, expected)| *expected),
            inputs: self.said.inputs.of(number).to_vec(),
            left: stands.left,
            more_s: stands.more.map(|more| more.as_secs_f64()),
            by_sitting: stands.by_sitting.clone(),
            autocorrelation: stands.autocorrelation,
            batches: stands.batches.clone(),
            time: stands.throughput.and_then(|throughput| {
                let apart_us = 60e6 * self.counted? / throughput.estimate;
                transaction_time(
                    slices,
                    is_checkpoint_timed(&runs),
                    stands.checkpoint_cost,
                    cell.clients.max(1),
                    apart_us,
                )
            }),
            tail: tail(&runs, &kinds),
            age: age(&self.every[number]),
            stability: stability(slices, &stands.batches, &kinds),
            per_transaction: per_transaction(&runs),
            energy: CellEnergy::of(
                &self.energy(number),
                (place != group.reference)
                    .then(|| self.energy(group.cells[group.reference]))
                    .as_ref(),
            ),
            machine_energy: CellMachineEnergy::of(
                &self.machine_energy(number),
                (place != group.reference)
                    .then(|| self.machine_energy(group.cells[group.reference]))
                    .as_ref(),
            ),
            kinds,
            buffer_not_filled: runs.iter().filter(|run| !run.load.buffer_filled).count(),
        }
    }

    fn storage_path(&self) -> Option<StoragePath> {
        let paths = || self.all().filter_map(|figures| figures.storage_path);
        paths()
            .find(|&path| path == StoragePath::PageCache)
            .or_else(|| paths().next())
    }
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
    fn sittings_apart(&self) -> Option<f64> {
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

/// Where the time of so many sessions went, whose transactions end `apart_us` from each
/// other: each part has the share of it that it had of slices, in which a byte of log
/// stands for so many seconds of checkpoints. Parts are timed apart, so
/// they may come to more than the whole by a little: then the CPU's is smaller, which is
/// known the least, or all are where that is not enough. A part that nothing times is a part
/// of the rest.
fn transaction_time(
    slices: &[&Slice],
    is_checkpoint_timed: bool,
    checkpoint_cost: Option<f64>,
    sessions: u32,
    apart_us: f64,
) -> Option<TransactionTime> {
    let spent: Vec<Spent> = slices.iter().filter_map(|slice| slice.spent).collect();
    let seconds = |of: fn(&Slice) -> Duration| {
        let times = slices.iter().map(|slice| of(slice).as_secs_f64());
        times.sum::<f64>()
    };
    // As throughput is made: those of the slices may be more or fewer than their part.
    let of_slices = seconds(|slice| slice.checkpoint().unwrap_or_default());
    let log_bytes: f64 = slices
        .iter()
        .map(|slice| slice.log_bytes.get() as f64)
        .sum();
    let checkpoints = checkpoint_cost.map_or(of_slices, |cost| cost * log_bytes);
    let sessions = f64::from(sessions);
    let whole = sessions * (seconds(|slice| slice.elapsed) - of_slices + checkpoints);
    if spent.len() < slices.len() || whole <= 0.0 || !apart_us.is_finite() {
        return None;
    }
    let share = |part: fn(&Spent) -> Option<Duration>| {
        let times: Vec<Duration> = spent.iter().filter_map(part).collect();
        let time: f64 = times.iter().map(Duration::as_secs_f64).sum();
        (!times.is_empty()).then(|| time / whole)
    };
    // Older stores have 0 for what was not timed.
    let timed = |share: Option<f64>, is_done: bool| share.filter(|of| *of > 0.0 || !is_done);
    let is_missed = slices.iter().any(|slice| slice.misses > 0);
    let is_logged = slices.iter().any(|slice| slice.log_bytes.get() > 0);
    let read = timed(share(|spent| spent.read), is_missed);
    let log = [
        share(|spent| spent.log_write),
        share(|spent| spent.log_sync),
    ];
    let is_log_timed = log.iter().flatten().sum::<f64>() > 0.0 || !is_logged;
    let [log_write, log_sync] = log.map(|share| share.filter(|_| is_log_timed));
    // A database that times no writes of its log times none of its data files.
    let are_writes_timed = log_write.is_some() || log_sync.is_some();
    let checkpoint = timed(
        Some(checkpoints / whole),
        !are_writes_timed || !is_checkpoint_timed,
    );
    let waits = [read, log_write, log_sync, checkpoint];
    let waited: f64 = waits.iter().flatten().sum();
    let fitting = waited.max(1.0);
    let cpu = timed(share(|spent| Some(spent.cpu)), true);
    let cpu = cpu.map(|cpu| cpu.min((1.0 - waited).max(0.0)));
    let total_us = sessions * apart_us;
    let [read_us, log_write_us, log_sync_us, checkpoint_us] =
        waits.map(|share| Some(share? / fitting * total_us));
    Some(TransactionTime {
        total_us,
        read_us,
        log_write_us,
        log_sync_us,
        checkpoint_us,
        cpu_us: cpu.map(|cpu| cpu * total_us),
        other_us: rest(1.0 - waited.min(1.0) - cpu.unwrap_or(0.0)) * total_us,
    })
}

/// What parts leave of a whole of 1. Where nothing is left, sums of fractions may miss by a
/// hair.
fn rest(share: f64) -> f64 {
    if share < 1e-9 { 0.0 } else { share }
}

fn tail(runs: &[&Figures], kinds: &[KindCounts]) -> Option<Tail> {
    let mut all = kinds.first()?.latencies.clone();
    for kind in &kinds[1..] {
        all.add(&kind.latencies);
    }
    let executed = runs.iter().map(|run| run.load.transactions());
    let transactions = executed.fold(0, u64::saturating_add);
    if transactions == 0 {
        return None;
    }
    let percentiles = all.percentiles();
    let counters = || runs.iter().map(|run| &run.load.counters);
    let checkpoints = counters()
        .map(|of| of.checkpoints)
        .fold(0, u64::saturating_add);
    let time = counters()
        .map(|of| of.checkpoint_time)
        .fold(Duration::ZERO, Duration::saturating_add);
    Some(Tail {
        p50_us: percentiles.p50_us,
        p99_us: percentiles.p99_us,
        checkpoint_us: (checkpoints > 0 && !time.is_zero())
            .then(|| time.as_secs_f64() * 1e6 / checkpoints as f64),
        checkpoints: checkpoints as f64 / transactions as f64,
    })
}

/// Whether the time of checkpoints is known: all the time of some is no time only where none
/// was made.
fn is_checkpoint_timed(runs: &[&Figures]) -> bool {
    let mut counters = runs.iter().map(|run| &run.load.counters);
    counters.all(|of| of.checkpoints == 0)
        || runs
            .iter()
            .any(|run| !run.load.counters.checkpoint_time.is_zero())
}

fn stability(slices: &[&Slice], batches: &[Batch], kinds: &[KindCounts]) -> Option<CellStability> {
    let throughput: Vec<f64> = batches.iter().map(|batch| batch.throughput).collect();
    if throughput.len() < 2 {
        return None;
    }
    let elapsed: Duration = slices.iter().map(|slice| slice.elapsed).sum();
    let longest_us = kinds
        .iter()
        .map(|kind| kind.latencies.percentiles().max_us)
        .max()?;
    Some(CellStability {
        variation: standard_deviation(&throughput) / mean(&throughput),
        batch_s: elapsed.as_secs_f64() / batches.len() as f64,
        longest_s: longest_us as f64 / 1e6,
        windows: spread(slices),
    })
}

/// Windows of 10 s below which nothing is said: the standard deviation of five is known to
/// about a third (1 / sqrt(2 (n - 1))). Chosen.
const WINDOWS_MIN: usize = 5;

/// The longest slice in a window, as a share of it: from there on windows are of different
/// lengths, and what happens within them is not seen. Chosen.
const SLICE_MAX: f64 = 0.5;

/// How throughput differs between windows of 10 s of a cell's slices, which are put end to
/// end within each sitting.
fn spread(slices: &[&Slice]) -> Option<Spread> {
    let mut by_sitting: BTreeMap<u32, Vec<&Slice>> = BTreeMap::new();
    for slice in slices {
        by_sitting.entry(slice.key.sitting).or_default().push(slice);
    }
    let mut all = Vec::new();
    for mut of_sitting in by_sitting.into_values() {
        of_sitting.sort_by_key(|slice| slice.key.pass);
        let spans = of_sitting.into_iter().map(|slice| Span {
            length_s: slice.elapsed.as_secs_f64(),
            counted: slice.counted,
        });
        all.extend(windows(spans, WINDOW_S));
    }
    let longest = slices.iter().map(|slice| slice.elapsed).max()?;
    let is_enough = all.len() >= WINDOWS_MIN && longest.as_secs_f64() <= SLICE_MAX * WINDOW_S;
    Spread::of(&all, WINDOW_S).filter(|_| is_enough)
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

/// The share of misses below which the storage was not seen.
pub const MISSES_AT_DEVICE_WANTED: f64 = 0.95;

/// Reads of the device a miss above which something else than misses reads:
/// read-ahead, or what was pushed out of the page cache.
pub const READS_A_MISS_TOLERATED: f64 = 1.5;

/// Share of passes that may be left out. Chosen.
pub const SCREENED_TOLERATED: f64 = 0.1;

/// How far the ratios of two sittings whose intervals do not overlap may lie apart: as far as
/// placement and start-up are worth more than what intervals show. Chosen.
pub const SITTINGS_TOLERATED: f64 = 0.1;

fn found_caveats(findings: &Findings, by_cell: &ByCell<'_>) -> Vec<Caveat> {
    let mut caveats = Vec::new();
    let runs: Vec<&Figures> = by_cell.all().collect();
    let of = runs.len();
    let cells = || findings.groups.iter().flat_map(|group| &group.cells);
    let built = (machine::BUILD, machine::DEBUG_BUILD);
    let mut facts = findings.machine.iter();
    if facts.any(|(name, value)| (name.as_str(), value.as_str()) == built) {
        caveats.push(Caveat::DebugBuild);
    }
    let changed = findings.changed.iter().cloned();
    caveats.extend(changed.map(|(name, change)| Caveat::MachineChanged { name, change }));
    if findings.storage_path == Some(StoragePath::PageCache) {
        caveats.push(Caveat::PageCache);
    }
    let share = findings.misses_at_device_min();
    if let Some(share) = share.filter(|share| *share < MISSES_AT_DEVICE_WANTED) {
        caveats.push(Caveat::MissesNotAtDevice { share });
    }
    let is_measured = findings.source == Source::Measured;
    if !is_measured {
        let mut kinds = cells().filter_map(|cell| cell.cell.database.kind().ok());
        let measurable = Registry::standard();
        caveats.push(
            match kinds.find(|kind| measurable.find(kind.name).is_err()) {
                Some(kind) => Caveat::NeverCompared {
                    database: kind.title.to_owned(),
                },
                None => Caveat::Predicted,
            },
        );
    }
    if is_measured && !runs.is_empty() && runs.iter().all(|run| run.device.is_none()) {
        caveats.push(Caveat::NoDeviceCounters);
    }
    if !runs.is_empty() && findings.ramps.is_empty() {
        caveats.extend(findings.groups.iter().filter_map(|group| {
            let mut cells = group.cells.iter();
            let silent = cells.find(|cell| cell.reference && cell.throughput.is_none())?;
            Some(Caveat::NoReference {
                cell: silent.cell.clone(),
            })
        }));
    }
    let reads =
        cells().filter_map(|cell| Some((cell, cell.per_transaction?.device_reads_a_miss()?)));
    let most = reads.max_by(|(_, one), (_, other)| one.total_cmp(other));
    // With direct I/O nothing reads but misses, and other programs.
    let direct = findings.storage_path == Some(StoragePath::Direct);
    let most = most.filter(|(_, reads)| !direct && *reads > READS_A_MISS_TOLERATED);
    if let Some((cell, reads)) = most {
        caveats.push(Caveat::ReadsPerMiss {
            cell: cell.cell.clone(),
            reads,
        });
    }
    let left_out = findings.screened;
    if left_out.all() as f64 > SCREENED_TOLERATED * findings.passes as f64 {
        caveats.push(Caveat::Screened {
            slow: left_out.slow,
            foreign_traffic: left_out.foreign_traffic,
            of: findings.passes,
        });
    }
    let apart = cells().filter_map(|cell| Some((cell, cell.sittings_apart()?)));
    let most = apart.max_by(|(_, one), (_, other)| one.total_cmp(other));
    if let Some((cell, factor)) = most.filter(|(_, factor)| *factor > 1.0 + SITTINGS_TOLERATED) {
        caveats.push(Caveat::SittingsApart {
            cell: cell.cell.clone(),
            factor,
        });
    }
    caveats.extend(still_warming(&findings.groups));
    caveats.extend(pace_change(&findings.groups));
    let disturbances = machine::disturbances(runs.iter().map(|run| &run.machine));
    caveats.extend(disturbances.into_iter().map(Caveat::Disturbed));
    let cells = by_cell.unfilled();
    if !cells.is_empty() {
        let runs = cells.iter().map(|cell| cell.runs).sum();
        caveats.push(Caveat::BufferNotFilled { cells, runs, of });
    }
    let is_shared = |run: &&Figures| run.restored_by == Some(RestoreMethod::Reflink);
    if runs.iter().any(is_shared) {
        caveats.push(Caveat::SharedBlocks);
    }
    if let (Some(data), Some(&memory)) = (data_min(findings), findings.plan.memories.iter().max())
        && data < memory.saturating_mul(8)
    {
        caveats.push(Caveat::SmallData { data, memory });
    }
    caveats.extend(Caveat::lost(&runs));
    if !findings.runs_failed.is_empty() {
        caveats.push(Caveat::RunsFailed {
            runs: findings.runs_failed.len(),
        });
    }
    caveats
}

/// Size of the smallest data of the references, of which reports tell how large data is:
/// those of other page sizes are a little larger or smaller. Of all where no reference has
/// any.
fn data_min(findings: &Findings) -> Option<ByteCount> {
    let of = |cell: &CellFindings| {
        let mut snapshots = findings.snapshots.iter();
        Some(snapshots.find(|of| of.key == cell.cell.snapshot())?.size)
    };
    let cells = findings.groups.iter().flat_map(|group| &group.cells);
    let references = cells.filter(|cell| cell.reference).filter_map(of).min();
    references.or_else(|| findings.snapshots.iter().map(|of| of.size).min())
}

/// The share that was generated of one line of the audit, 0 to 1; 0 of
/// nothing.
pub fn share(line: &AuditLine) -> f64 {
    if line.total == 0 {
        0.0
    } else {
        line.count as f64 / line.total as f64
    }
}

#[cfg(test)]
mod tests;
