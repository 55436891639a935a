//! What a store says: every cell's figures, the ratios to the reference, the
//! verdicts and their conditions, in one value that reports print and
//! `--json` writes.

use std::{collections::BTreeMap, time::Duration};

use octavo_database::{Counters, RestoreMethod, StoragePath};
use octavo_device::profile::Profile;
use octavo_driver::{
    KindCounts, Sample,
    steady::{Cycles, Label},
};
use octavo_workload::{Audit, AuditLine};
use serde::Serialize;

use crate::{
    caveats::Caveat,
    energy::{CellEnergy, RunEnergy},
    machine,
    plan::{Cell, Design, Group, Plan, RunLength},
    race::{Race, Why},
    record::{Figures, RunRecord},
    schedule::{Schedule, rules},
    statistics::{ByRound, Confidence, Decision, Interval, decision, geometric_interval, mean},
    store::{CHANGED, RunOutcome, Store, StoreError, StoredSnapshot},
    verdict::{BufferFinding, Interaction, Verdict, buffer_findings, interactions, verdict},
};

/// Everything that a report says.
#[derive(Clone, Debug, Serialize)]
pub struct Findings {
    /// The version of Octavo that measured.
    pub octavo: String,
    /// When the store was made, RFC 3339.
    pub created: String,
    /// The plan.
    pub plan: Plan,
    /// How long runs were; `None` when none was begun.
    pub run_length: Option<RunLength>,
    /// Time of all sessions, in seconds.
    pub spent_s: f64,
    /// How often the experiment has been judged, now included. In a full
    /// factorial, intervals share their error out over the looks.
    pub looks: usize,
    /// What the counted transactions are called in the plural, such as "new
    /// orders": throughput is of them.
    pub counted_name: String,
    /// Rounds that are whole: those of the race and fresh ones of finals.
    pub rounds: usize,
    /// What leaving decided cells out saved; `None` in a full factorial and
    /// before the first round.
    pub saved: Option<Saved>,
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
    /// Cells and verdict by group, in the plan's order.
    pub groups: Vec<GroupFindings>,
    /// What a smaller buffer costs and saves; empty unless memories and page
    /// sizes, and nothing else, vary.
    pub buffers: Vec<BufferFinding>,
    /// Where one factor changes what another is worth; empty with one group.
    pub interactions: Vec<Interaction>,
    /// What was generated, over one run of each round, the longest.
    pub audit: Audit,
    /// What a reader must know before believing the figures.
    pub caveats: Vec<Caveat>,
}

/// A run that gave no result.
#[derive(Clone, Debug, Serialize)]
pub struct FailedRun {
    /// Its round, from 1.
    pub round: u32,
    /// Its cell.
    pub cell: Cell,
    /// Why.
    pub reason: String,
}

/// What a race saved.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Saved {
    /// Runs that were made.
    pub runs: usize,
    /// Runs of the full factorial: each cell in each of these rounds.
    pub full_runs: usize,
    /// Time of the runs that were not made, at the mean of those that were, in
    /// seconds.
    pub seconds: f64,
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
    /// Throughput a minute of each run, by round.
    pub throughput_per_minute: Vec<f64>,
    /// Geometric mean of these with its interval (95 %, this cell alone).
    pub throughput: Option<Interval>,
    /// Ratio to the reference within rounds: of the fresh rounds of its final
    /// (95 %) where there was one, else of all rounds (95 % for all cells of
    /// the group and all looks together); `None` for the reference.
    pub ratio: Option<Interval>,
    /// Whether the ratio is of fresh rounds.
    pub fresh: bool,
    /// What the ratio says.
    pub decision: Option<Decision>,
    /// After how many of its group's rounds it was decided and ran no more.
    pub left_after: Option<usize>,
    /// Why it ran no more.
    pub left: Option<Why>,
    /// How even its runs were; `None` without any.
    pub stability: Option<CellStability>,
    /// Runs that gave no figure since they were not steady, with the reason.
    pub not_steady: Vec<NotSteady>,
    /// Runs whose throughput rose and fell periodically.
    pub periodic: usize,
    /// Means over all runs.
    pub per_transaction: Option<PerTransaction>,
    /// What its transactions took of the device's energy; `None` where that is
    /// not known, as of real devices.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub energy: Option<CellEnergy>,
    /// Outcomes and latencies by kind of transaction, all runs together.
    pub kinds: Vec<KindCounts>,
    /// The per-second series of its last runs, by round.
    pub series: Vec<Vec<Sample>>,
    /// Runs whose warm-up did not fill the buffer.
    pub buffer_not_filled: usize,
    /// Checkpoints that ended while measuring, in the run with the fewest of
    /// those that had few and not whole cycles; `None` without such runs.
    pub checkpoints_min: Option<u64>,
}

/// A run that gave no figure since it was not steady.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct NotSteady {
    /// Its round, from 1.
    pub round: u32,
    /// What it was like.
    pub label: Label,
}

/// How even the runs of a cell were.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CellStability {
    /// Median over the runs of the coefficient of variation (standard
    /// deviation ÷ mean) of throughput over windows.
    pub variation: f64,
    /// Length of these windows in the first run, in seconds.
    pub window_s: f64,
    /// The longest time without a counted commit in any run, in seconds.
    pub stall_s: f64,
}

/// Figures of a cell per transaction (committed or rolled back, of every
/// kind), over all of its runs.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct PerTransaction {
    /// Transactions that they are made from.
    pub transactions: u64,
    /// Share of page references found in the buffer, 0 to 1.
    pub hit_ratio: f64,
    /// Pages that had to be read.
    pub buffer_misses: f64,
    /// Bytes that the database read from its files.
    pub read_bytes: f64,
    /// Bytes that it wrote to its files.
    pub written_bytes: f64,
    /// Of these, to the log or journal.
    pub log_written_bytes: f64,
    /// Flushes to stable storage.
    pub syncs: f64,
    /// Bytes written by the database ÷ bytes of column values that
    /// transactions set or inserted.
    pub write_amplification: f64,
    /// Share of the buffer's misses that became reads of files, 0 to 1 (a
    /// miss of a page that was never written needs no read).
    pub misses_read: f64,
    /// Reads that the device counted ÷ reads of the database: about 1 when
    /// the storage was seen; below where the page cache answered, above where
    /// others used the device. `None` where the device cannot be asked.
    pub device_reads_ratio: Option<f64>,
    /// Bytes that the device counted as written ÷ bytes that the database
    /// wrote.
    pub device_written_ratio: Option<f64>,
    /// Mean time of one read of a file, in microseconds.
    pub read_us_mean: f64,
    /// Mean time of one flush, in microseconds.
    pub sync_us_mean: f64,
    /// CPUs' worth of time that the machine spent in programs and kernel, of
    /// whatever process.
    pub cpu_cores_used: f64,
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
        let outcomes = store.outcomes()?;
        let looks = store.looks()?.max(1);
        let schedule = Schedule::of(&plan, &rules(&plan, None, looks), &outcomes);
        let workload = plan
            .workload(plan.data[0])
            .map_err(|error| StoreError::Damaged {
                path: store.path().to_owned(),
                what: format!("plan: {error}"),
            })?;
        let counted_name = workload.counted_name();
        let series_from = schedule.rounds.saturating_sub(SERIES_ROUNDS);
        let runs = store.runs(workload.transactions(), series_from)?;
        let by_cell = FiguresByCell::new(&plan, &runs);
        let groups: Vec<GroupFindings> = schedule
            .groups
            .iter()
            .map(|of| by_cell.group(&of.group, &of.race))
            .collect();
        let calibration = store
            .calibration()?
            .map(|text| Profile::from_toml(&text))
            .transpose()
            .map_err(|error| StoreError::Damaged {
                path: store.path().to_owned(),
                what: format!("device profile: {error}"),
            })?;
        let mut findings = Self {
            octavo,
            created,
            run_length: store.run_length()?,
            looks,
            spent_s: store.time_spent()?.as_secs_f64(),
            counted_name: counted_name.into(),
            rounds: schedule.rounds as usize,
            saved: saved(&plan, &outcomes, &schedule, store)?,
            runs_done: by_cell.all().count(),
            runs_failed: by_cell.failed(&runs),
            machine: store.facts("machine")?,
            changed: store.facts(CHANGED)?,
            storage: store.facts_below("storage")?,
            database: store.facts_below("database")?,
            storage_path: by_cell.storage_path(),
            snapshots: store.snapshots()?,
            calibration,
            buffers: buffer_findings(&plan, &by_cell.cells, |cell| by_cell.throughput(cell)),
            interactions: interactions(&plan, &by_cell.cells, &plan.groups(), |cell| {
                by_cell.throughput(cell)
            }),
            groups,
            audit: store.audit()?,
            caveats: Vec::new(),
            plan: plan.clone(),
        };
        findings.caveats = caveats(&findings, &by_cell);
        Ok(Some(findings))
    }

    /// Share of the buffer's misses that reached the device: the smaller of
    /// what the database's files and what the device's counters say, the
    /// worst cell of all.
    pub fn misses_at_device_min(&self) -> Option<f64> {
        self.groups
            .iter()
            .flat_map(|group| &group.cells)
            .filter_map(|cell| cell.per_transaction)
            .map(|figures| figures.misses_read * figures.device_reads_ratio.unwrap_or(1.0).min(1.0))
            .min_by(f64::total_cmp)
    }
}

/// Of how many of the last rounds the per-second series are shown.
const SERIES_ROUNDS: u32 = 24;

/// What leaving decided cells out saved.
fn saved(
    plan: &Plan,
    outcomes: &[RunOutcome],
    schedule: &Schedule,
    store: &Store,
) -> Result<Option<Saved>, StoreError> {
    let races = plan.design == Design::Race && plan.count(plan.compare) > 1;
    let (true, 1.., Some(cost)) = (races, schedule.rounds, store.run_cost()?) else {
        return Ok(None);
    };
    let runs = outcomes
        .iter()
        .filter(|outcome| outcome.key.round < schedule.rounds)
        .count();
    let full_runs = plan.cells().len() * schedule.rounds as usize;
    Ok(Some(Saved {
        runs,
        full_runs,
        seconds: full_runs.saturating_sub(runs) as f64 * cost.mean.as_secs_f64(),
    }))
}

/// The runs with figures, by cell and round.
struct FiguresByCell<'a> {
    plan: &'a Plan,
    cells: Vec<Cell>,
    figures: Vec<BTreeMap<u32, &'a Figures>>,
}

impl<'a> FiguresByCell<'a> {
    fn new(plan: &'a Plan, runs: &'a [RunRecord]) -> Self {
        let cells = plan.cells();
        let mut figures = vec![BTreeMap::new(); cells.len()];
        for run in runs {
            if let Some(done) = run.figures()
                && let Some(of_cell) = figures.get_mut(run.key.cell)
            {
                of_cell.insert(run.key.round, done);
            }
        }
        Self {
            plan,
            cells,
            figures,
        }
    }

    fn all(&self) -> impl Iterator<Item = &'a Figures> {
        self.figures
            .iter()
            .flat_map(|of_cell| of_cell.values().copied())
    }

    fn failed(&self, runs: &[RunRecord]) -> Vec<FailedRun> {
        runs.iter()
            .filter_map(|run| {
                Some(FailedRun {
                    round: run.key.round + 1,
                    cell: self.cells.get(run.key.cell)?.clone(),
                    reason: run.result.as_ref().err()?.clone(),
                })
            })
            .collect()
    }

    /// The runs of a cell that were steady.
    fn comparable(&self, cell: usize) -> impl Iterator<Item = (u32, &'a Figures)> {
        self.figures[cell]
            .iter()
            .filter(|(_, figures)| figures.load.steadiness.label.is_comparable())
            .map(|(round, figures)| (*round, *figures))
    }

    fn throughput(&self, cell: usize) -> ByRound {
        self.comparable(cell)
            .map(|(round, figures)| (round, figures.load.throughput_per_minute()))
            .collect()
    }

    fn energy(&self, cell: usize) -> BTreeMap<u32, RunEnergy> {
        self.comparable(cell)
            .filter_map(|(round, figures)| Some((round, RunEnergy::of(figures)?)))
            .collect()
    }

    fn group(&self, group: &Group, race: &Race) -> GroupFindings {
        GroupFindings {
            name: self.plan.group_name(&self.cells[group.cells[0]]),
            cells: (0..group.cells.len())
                .map(|candidate| self.cell(group, race, candidate))
                .collect(),
            verdict: verdict(self.plan, &self.cells, group, race),
        }
    }

    fn cell(&self, group: &Group, race: &Race, candidate: usize) -> CellFindings {
        let number = group.cells[candidate];
        let cell = &self.cells[number];
        let stands = race.candidates[candidate];
        // A runner-up whose final was lost races on: then the race's interval
        // is what its decision was read from.
        let fresh = stands
            .fresh
            .filter(|fresh| stands.decision == Some(decision(fresh, self.plan.margin)));
        let runs: Vec<&Figures> = self.comparable(number).map(|(_, run)| run).collect();
        let throughput_per_minute: Vec<f64> = self.throughput(number).into_values().collect();
        CellFindings {
            cell: cell.clone(),
            level: self.plan.level(cell, self.plan.compare).to_string(),
            reference: candidate == group.reference,
            throughput: geometric_interval(&throughput_per_minute, Confidence::family(1)),
            throughput_per_minute,
            ratio: fresh.or(stands.ratio),
            fresh: fresh.is_some(),
            decision: stands.decision,
            left_after: stands.left.map(|left| left.after),
            left: stands.left.map(|left| left.why),
            stability: stability(&runs),
            not_steady: self.figures[number]
                .iter()
                .filter(|(_, run)| !run.load.steadiness.label.is_comparable())
                .map(|(round, run)| NotSteady {
                    round: round + 1,
                    label: run.load.steadiness.label,
                })
                .collect(),
            periodic: runs
                .iter()
                .filter(|run| matches!(run.load.steadiness.label, Label::Periodic { .. }))
                .count(),
            per_transaction: per_transaction(&runs),
            energy: CellEnergy::of(
                &self.energy(number),
                (candidate != group.reference)
                    .then(|| self.energy(group.cells[group.reference]))
                    .as_ref(),
            ),
            kinds: kinds(&runs),
            series: runs
                .iter()
                .filter(|run| !run.load.series.is_empty())
                .map(|run| run.load.series.clone())
                .collect(),
            buffer_not_filled: runs.iter().filter(|run| !run.load.buffer_filled).count(),
            checkpoints_min: runs
                .iter()
                .filter(|run| matches!(run.load.steadiness.cycles, Cycles::Partial { .. }))
                .map(|run| run.load.counters.checkpoints)
                .min(),
        }
    }

    fn storage_path(&self) -> Option<StoragePath> {
        let paths = || self.all().filter_map(|figures| figures.storage_path);
        paths()
            .find(|&path| path == StoragePath::PageCache)
            .or_else(|| paths().next())
    }
}

fn stability(runs: &[&Figures]) -> Option<CellStability> {
    let mut variations: Vec<f64> = runs
        .iter()
        .filter_map(|run| run.load.stability.variation)
        .collect();
    variations.sort_by(f64::total_cmp);
    let middle = variations.len() / 2;
    Some(CellStability {
        variation: match variations.len() {
            0 => return None,
            odd if odd % 2 == 1 => variations[middle],
            _ => f64::midpoint(variations[middle - 1], variations[middle]),
        },
        window_s: runs.first()?.load.stability.window_s,
        stall_s: runs
            .iter()
            .map(|run| run.load.stability.longest_stall_s)
            .fold(0.0, f64::max),
    })
}

fn per_transaction(runs: &[&Figures]) -> Option<PerTransaction> {
    let of_runs = runs.iter().map(|run| run.load.transactions());
    let transactions: u64 = of_runs.fold(0, u64::saturating_add);
    if transactions == 0 {
        return None;
    }
    let sum = |of: &dyn Fn(&Counters) -> u64| -> f64 {
        runs.iter().map(|run| of(&run.load.counters) as f64).sum()
    };
    let micros = |time: Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
    let ratio = |above: f64, below: f64| if below > 0.0 { above / below } else { 0.0 };
    let each = |total: f64| total / transactions as f64;
    let hits = sum(&|c| c.buffer_hits);
    let misses = sum(&|c| c.buffer_misses);
    let reads = sum(&|c| c.reads);
    let written = sum(&|c| c.written_bytes().get());
    let changed: f64 = runs
        .iter()
        .map(|run| run.load.counts.changed_bytes as f64)
        .sum();
    let measured: f64 = runs.iter().map(|run| run.load.measured.as_secs_f64()).sum();
    let cores: f64 = runs
        .iter()
        .map(|run| {
            (run.machine.user + run.machine.system)
                * run.machine.cpus
                * run.load.measured.as_secs_f64()
        })
        .sum();
    let device: Option<(f64, f64)> = runs.iter().try_fold((0.0, 0.0), |total, run| {
        let device = run.device?;
        Some((
            total.0 + device.reads as f64,
            total.1 + device.written_bytes.get() as f64,
        ))
    });
    Some(PerTransaction {
        transactions,
        hit_ratio: ratio(hits, hits + misses),
        buffer_misses: each(misses),
        read_bytes: each(sum(&|c| c.read_bytes.get())),
        written_bytes: each(written),
        log_written_bytes: each(sum(&|c| c.log_written_bytes.get())),
        syncs: each(sum(&|c| c.syncs)),
        write_amplification: ratio(written, changed),
        misses_read: ratio(reads, misses).min(1.0),
        device_reads_ratio: device
            .filter(|_| reads > 0.0)
            .map(|(device, _)| device / reads),
        device_written_ratio: device
            .filter(|_| written > 0.0)
            .map(|(_, device)| device / written),
        read_us_mean: mean_time(sum(&|c| micros(c.read_time)), reads),
        sync_us_mean: mean_time(sum(&|c| micros(c.sync_time)), sum(&|c| c.syncs)),
        cpu_cores_used: ratio(cores, measured),
    })
}

/// NaN where nothing was timed: servers are not asked to.
fn mean_time(micros: f64, times: f64) -> f64 {
    if micros > 0.0 {
        micros / times
    } else {
        f64::NAN
    }
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

/// Checkpoints that a run should have, for one more or less not to matter.
const CHECKPOINTS_WANTED: u64 = 3;

fn caveats(findings: &Findings, by_cell: &FiguresByCell<'_>) -> Vec<Caveat> {
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
    if !runs.is_empty() && runs.iter().all(|run| run.device.is_none()) {
        caveats.push(Caveat::NoDeviceCounters);
    }
    if runs
        .iter()
        .any(|run| run.load.steadiness.label.is_comparable())
    {
        caveats.extend(findings.groups.iter().filter_map(|group| {
            let mut cells = group.cells.iter();
            let silent = cells.find(|cell| cell.reference && cell.throughput.is_none())?;
            Some(Caveat::NoReference {
                cell: silent.cell.clone(),
            })
        }));
    }
    let disturbances = machine::disturbances(runs.iter().map(|run| &run.machine));
    caveats.extend(disturbances.into_iter().map(Caveat::Disturbed));
    let unfilled = runs.iter().filter(|run| !run.load.buffer_filled).count();
    if unfilled > 0 {
        caveats.push(Caveat::BufferNotFilled { runs: unfilled, of });
    }
    let has_few = |cell: &&CellFindings| {
        let fewest = cell.checkpoints_min;
        fewest.is_some_and(|count| count < CHECKPOINTS_WANTED)
    };
    let few = cells().filter(has_few).count();
    if few > 0 {
        caveats.push(Caveat::FewCheckpoints {
            cells: few,
            of: findings.plan.cells().len(),
            wanted: CHECKPOINTS_WANTED,
        });
    }
    let is_shared = |run: &&Figures| run.restored_by == Some(RestoreMethod::Reflink);
    if runs.iter().any(is_shared) {
        caveats.push(Caveat::SharedBlocks);
    }
    let unsteady: usize = cells().map(|cell| cell.not_steady.len()).sum();
    if unsteady > 0 {
        caveats.push(Caveat::NotSteady { runs: unsteady, of });
    }
    let is_short = |run: &&&Figures| run.load.steadiness.label == Label::NotJudged;
    let short = runs.iter().filter(is_short).count();
    if short > 0 {
        caveats.push(Caveat::NotJudged { runs: short, of });
    }
    let smallest = findings
        .snapshots
        .iter()
        .map(|snapshot| snapshot.size)
        .min();
    if let (Some(data), Some(&memory)) = (smallest, findings.plan.memories.iter().max())
        && data < memory.saturating_mul(8)
    {
        caveats.push(Caveat::SmallData { data, memory });
    }
    if !findings.runs_failed.is_empty() {
        caveats.push(Caveat::RunsFailed {
            runs: findings.runs_failed.len(),
        });
    }
    caveats
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

/// The arithmetic mean of a cell's runs, for charts without intervals.
pub fn throughput_mean(cell: &CellFindings) -> Option<f64> {
    (!cell.throughput_per_minute.is_empty()).then(|| mean(&cell.throughput_per_minute))
}

#[cfg(test)]
mod tests;
