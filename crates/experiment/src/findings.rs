//! What a store says: every cell's figures, the ratios to the reference, the
//! verdicts and their conditions, in one value that reports print and
//! `--json` writes.

use std::{collections::BTreeMap, time::Duration};

use hdrhistogram::Histogram;
use octavo_database::{Counters, RestoreMethod, StoragePath};
use octavo_device::calibrate::Profile;
use octavo_units::ByteCount;
use octavo_workload::{Audit, AuditLine};
use serde::Serialize;

use crate::{
    drive::{Sample, new_histogram},
    latency::Percentiles,
    machine,
    plan::{Cell, Plan, RunLength},
    statistics::{Confidence, Interval, Standing, geometric_interval, mean, standing},
    store::{CHANGED, RunFigures, RunResult, Store, StoreError, StoredBase, StoredRun},
    verdict::{BufferFinding, MemoryVerdict, buffer_findings, memory_verdict},
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
    /// How often the experiment has been judged, now included. Intervals share
    /// their error out over the looks.
    pub looks: usize,
    /// Rounds in which every cell has a result.
    pub rounds: usize,
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
    pub bases: Vec<StoredBase>,
    /// The device's profile.
    pub calibration: Option<Profile>,
    /// Cells and verdict by memory, the largest memory first.
    pub memories: Vec<MemoryFindings>,
    /// What a smaller buffer costs and saves; empty with one memory.
    pub buffers: Vec<BufferFinding>,
    /// What was generated, over all runs.
    pub audit: Audit,
    /// What a reader must know before believing the figures.
    pub warnings: Vec<String>,
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

/// What was found at one memory size.
#[derive(Clone, Debug, Serialize)]
pub struct MemoryFindings {
    /// The memory.
    pub memory: ByteCount,
    /// Cells by page size, ascending.
    pub cells: Vec<CellFindings>,
    /// What to do.
    pub verdict: MemoryVerdict,
}

/// What was found in one cell.
#[derive(Clone, Debug, Serialize)]
pub struct CellFindings {
    /// The cell.
    pub cell: Cell,
    /// Whether others are compared with it.
    pub reference: bool,
    /// Throughput a minute of each run, by round.
    pub throughput_per_minute: Vec<f64>,
    /// Geometric mean of these with its interval (95 %, this cell alone).
    pub throughput: Option<Interval>,
    /// Ratio to the reference within rounds (95 % for all page sizes of this
    /// memory and all looks together); `None` for the reference.
    pub ratio: Option<Interval>,
    /// What the ratio says.
    pub standing: Option<Standing>,
    /// Means over all runs.
    pub per_transaction: Option<PerTransaction>,
    /// Latencies by kind of transaction, all runs together.
    pub latencies: Vec<LatencySummary>,
    /// The per-second series of each run, by round.
    pub series: Vec<Vec<Sample>>,
    /// Runs whose warm-up did not fill the buffer.
    pub buffer_not_filled: usize,
    /// Checkpoints that ended while measuring, in the run with the fewest;
    /// `None` without any in all runs.
    pub checkpoints_min: Option<u64>,
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

/// Latencies of one kind of transaction in microseconds, closed loop from
/// submission.
#[derive(Clone, Debug, Serialize)]
pub struct LatencySummary {
    /// The kind.
    pub transaction: String,
    /// Committed.
    pub committed: u64,
    /// Rolled back as specified.
    pub rolled_back: u64,
    /// Tries repeated after conflicts.
    pub retries: u64,
    /// Latencies.
    #[serde(flatten)]
    pub latency: Percentiles,
}

impl Findings {
    /// Reads a store. `None` when it has no plan yet.
    pub fn of(store: &Store) -> Result<Option<Self>, StoreError> {
        let Some(plan) = store.plan()? else {
            return Ok(None);
        };
        let (octavo, created) = store.origin()?;
        let runs = store.runs()?;
        let looks = store.looks()?.max(1);
        let table = Table::new(&plan, &runs, looks);
        let memories: Vec<MemoryFindings> = plan
            .memories
            .iter()
            .rev()
            .map(|&memory| table.memory(memory))
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
            rounds: table.complete_rounds(),
            runs_done: table.figures.len(),
            runs_failed: table.failed(&runs),
            machine: store.facts("machine")?,
            changed: store.facts(CHANGED)?,
            storage: store.facts("storage")?,
            database: store.facts("database")?,
            storage_path: table.storage_path(),
            bases: store.bases()?,
            calibration,
            buffers: buffer_findings(&plan, |cell| table.throughput(cell)),
            memories,
            audit: table.audit(),
            warnings: Vec::new(),
            plan: plan.clone(),
        };
        findings.warnings = warnings(&findings, &table);
        Ok(Some(findings))
    }

    /// Share of the buffer's misses that reached the device: the smaller of
    /// what the database's files and what the device's counters say, the
    /// worst cell of all.
    pub fn misses_at_device_min(&self) -> Option<f64> {
        self.memories
            .iter()
            .flat_map(|memory| &memory.cells)
            .filter_map(|cell| cell.per_transaction)
            .map(|figures| figures.misses_read * figures.device_reads_ratio.unwrap_or(1.0).min(1.0))
            .min_by(f64::total_cmp)
    }
}

/// Throughput by round of one cell.
pub(crate) type ByRound = BTreeMap<u32, f64>;

struct Table<'a> {
    plan: &'a Plan,
    cells: Vec<Cell>,
    looks: usize,
    figures: BTreeMap<(u32, usize), &'a RunFigures>,
}

impl<'a> Table<'a> {
    fn new(plan: &'a Plan, runs: &'a [StoredRun], looks: usize) -> Self {
        let figures = runs
            .iter()
            .filter_map(|run| match &run.result {
                RunResult::Done(figures) => Some(((run.round, run.cell), figures.as_ref())),
                RunResult::Failed(_) => None,
            })
            .collect();
        Self {
            plan,
            cells: plan.cells(),
            looks,
            figures,
        }
    }

    fn complete_rounds(&self) -> usize {
        let mut counts: BTreeMap<u32, usize> = BTreeMap::new();
        for (round, _) in self.figures.keys() {
            *counts.entry(*round).or_default() += 1;
        }
        counts
            .values()
            .filter(|&&count| count == self.cells.len())
            .count()
    }

    fn failed(&self, runs: &[StoredRun]) -> Vec<FailedRun> {
        runs.iter()
            .filter_map(|run| match &run.result {
                RunResult::Failed(reason) => Some(FailedRun {
                    round: run.round + 1,
                    cell: *self.cells.get(run.cell)?,
                    reason: reason.clone(),
                }),
                RunResult::Done(_) => None,
            })
            .collect()
    }

    fn of_cell(&self, cell: Cell) -> impl Iterator<Item = (u32, &'a RunFigures)> {
        let number = self.cells.iter().position(|&other| other == cell);
        self.figures
            .iter()
            .filter(move |((_, other), _)| Some(*other) == number)
            .map(|((round, _), figures)| (*round, *figures))
    }

    fn throughput(&self, cell: Cell) -> ByRound {
        self.of_cell(cell)
            .map(|(round, figures)| (round, figures.throughput_per_minute()))
            .collect()
    }

    fn memory(&self, memory: ByteCount) -> MemoryFindings {
        let cells: Vec<CellFindings> = self
            .plan
            .page_sizes
            .iter()
            .map(|&page_size| self.cell(Cell { page_size, memory }))
            .collect();
        let verdict = memory_verdict(self.plan, memory, self.looks, |cell| self.throughput(cell));
        MemoryFindings {
            memory,
            cells,
            verdict,
        }
    }

    fn cell(&self, cell: Cell) -> CellFindings {
        let plan = self.plan;
        let reference = cell.page_size == plan.reference;
        let own = self.throughput(cell);
        let ratio = (!reference)
            .then(|| {
                let other = self.throughput(Cell {
                    page_size: plan.reference,
                    memory: cell.memory,
                });
                geometric_interval(
                    &paired_ratios(&own, &other),
                    Confidence::family((plan.page_sizes.len() - 1) * self.looks),
                )
            })
            .flatten();
        let runs: Vec<&RunFigures> = self.of_cell(cell).map(|(_, figures)| figures).collect();
        let throughput_per_minute: Vec<f64> = own.into_values().collect();
        CellFindings {
            cell,
            reference,
            throughput: geometric_interval(&throughput_per_minute, Confidence::family(1)),
            throughput_per_minute,
            standing: ratio.map(|ratio| standing(&ratio, plan.margin)),
            ratio,
            per_transaction: per_transaction(&runs),
            latencies: latencies(&runs),
            series: runs.iter().map(|run| run.samples.clone()).collect(),
            buffer_not_filled: runs.iter().filter(|run| !run.buffer_filled).count(),
            checkpoints_min: runs
                .iter()
                .map(|run| run.counters.checkpoints)
                .min()
                .filter(|_| runs.iter().any(|run| run.counters.checkpoints > 0)),
        }
    }

    fn storage_path(&self) -> Option<StoragePath> {
        let paths = || self.figures.values().map(|figures| figures.storage_path);
        paths()
            .find(|&path| path == StoragePath::PageCache)
            .or_else(|| paths().next())
    }

    fn audit(&self) -> Audit {
        let mut audit = Audit::default();
        for figures in self.figures.values() {
            audit.merge(&figures.audit);
        }
        audit
    }
}

/// The ratios of the rounds that both have, in the rounds' order.
pub(crate) fn paired_ratios(own: &ByRound, other: &ByRound) -> Vec<f64> {
    own.iter()
        .filter_map(|(round, value)| Some(value / other.get(round)?))
        .collect()
}

fn per_transaction(runs: &[&RunFigures]) -> Option<PerTransaction> {
    let transactions: u64 = runs.iter().map(|run| run.transactions).sum();
    if transactions == 0 {
        return None;
    }
    let sum = |of: &dyn Fn(&Counters) -> u64| -> f64 {
        runs.iter().map(|run| of(&run.counters) as f64).sum()
    };
    let micros = |time: Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
    let ratio = |above: f64, below: f64| if below > 0.0 { above / below } else { 0.0 };
    let each = |total: f64| total / transactions as f64;
    let hits = sum(&|c| c.buffer_hits);
    let misses = sum(&|c| c.buffer_misses);
    let reads = sum(&|c| c.reads);
    let written = sum(&|c| c.written_bytes().get());
    let changed: f64 = runs.iter().map(|run| run.changed_bytes.get() as f64).sum();
    let measured: f64 = runs.iter().map(|run| run.measured.as_secs_f64()).sum();
    let cores: f64 = runs
        .iter()
        .map(|run| {
            (run.machine.user + run.machine.system) * run.machine.cpus * run.measured.as_secs_f64()
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
        read_us_mean: ratio(sum(&|c| micros(c.read_time)), reads),
        sync_us_mean: ratio(sum(&|c| micros(c.sync_time)), sum(&|c| c.syncs)),
        cpu_cores_used: ratio(cores, measured),
    })
}

fn latencies(runs: &[&RunFigures]) -> Vec<LatencySummary> {
    let mut kinds: Vec<(LatencySummary, Histogram<u64>)> = Vec::new();
    for latency in runs.iter().flat_map(|run| &run.latencies) {
        let position = kinds
            .iter()
            .position(|(summary, _)| summary.transaction == latency.name)
            .unwrap_or_else(|| {
                kinds.push((
                    LatencySummary {
                        transaction: latency.name.clone(),
                        committed: 0,
                        rolled_back: 0,
                        retries: 0,
                        latency: Percentiles::of(&new_histogram()),
                    },
                    new_histogram(),
                ));
                kinds.len() - 1
            });
        let (summary, histogram) = &mut kinds[position];
        summary.committed += latency.committed;
        summary.rolled_back += latency.rolled_back;
        summary.retries += latency.retries;
        // A histogram from a store may have other bounds; its values are cut
        // to ours rather than lost.
        for bucket in latency.latency_us.iter_recorded() {
            histogram.saturating_record_n(bucket.value_iterated_to(), bucket.count_at_value());
        }
    }
    kinds
        .into_iter()
        .map(|(summary, histogram)| LatencySummary {
            latency: Percentiles::of(&histogram),
            ..summary
        })
        .collect()
}

/// The share of misses below which the storage was not seen.
pub const MISSES_AT_DEVICE_WANTED: f64 = 0.95;

/// Checkpoints that a run should have, for one more or less not to matter.
const CHECKPOINTS_WANTED: u64 = 3;

fn warnings(findings: &Findings, table: &Table<'_>) -> Vec<String> {
    let mut warnings = Vec::new();
    let runs: Vec<&RunFigures> = table.figures.values().copied().collect();
    if findings
        .machine
        .iter()
        .any(|(name, value)| name == machine::BUILD && value == machine::DEBUG_BUILD)
    {
        warnings.push("a debug build measured this: figures are too low".into());
    }
    for (name, change) in &findings.changed {
        warnings.push(format!("between sessions the {name} changed: {change}"));
    }
    if findings.storage_path == Some(StoragePath::PageCache) {
        warnings.push(
            "the file system refuses direct I/O: reads may come from the page cache, so that \
             figures show RAM and not the storage"
                .into(),
        );
    }
    if let Some(share) = findings.misses_at_device_min()
        && share < MISSES_AT_DEVICE_WANTED
    {
        warnings.push(format!(
            "only {:.0} % of the buffer's misses reached the device in the worst cell",
            share * 100.0
        ));
    }
    if !runs.is_empty() && runs.iter().all(|run| run.device.is_none()) {
        warnings.push(
            "no block device's counters were found under the directory: that reads reached \
             storage is known from the database's own counts alone"
                .into(),
        );
    }
    let share_of_runs = |troubled: usize| format!("{troubled} of {} runs", runs.len());
    let steal = runs.iter().filter(|run| run.machine.steal > 0.02).count();
    if steal > 0 {
        warnings.push(format!(
            "the hypervisor took more than 2 % of the CPU away in {}",
            share_of_runs(steal)
        ));
    }
    let others = runs.iter().filter(|run| run.machine.others > 0.1).count();
    if others > 0 {
        warnings.push(format!(
            "other programs used more than 10 % of the CPU in {}",
            share_of_runs(others)
        ));
    }
    let unfilled = runs.iter().filter(|run| !run.buffer_filled).count();
    if unfilled > 0 {
        warnings.push(format!(
            "the warm-up did not fill the buffer in {}: they missed more than a warm buffer would",
            share_of_runs(unfilled)
        ));
    }
    let few = findings
        .memories
        .iter()
        .flat_map(|memory| &memory.cells)
        .filter(|cell| {
            cell.checkpoints_min
                .is_some_and(|count| count < CHECKPOINTS_WANTED)
        })
        .count();
    if few > 0 {
        warnings.push(format!(
            "in {few} of {} cells a run had fewer than {CHECKPOINTS_WANTED} checkpoints: how many \
             fell into it decides its throughput; a larger --budget gives longer runs to a new \
             experiment",
            findings.plan.cells().len()
        ));
    }
    if runs
        .iter()
        .any(|run| run.restored_by == RestoreMethod::Reflink)
    {
        warnings.push(
            "copies share their blocks with the loaded data (reflink): the first write of each \
             block also allocates, which a database in use does not pay"
                .into(),
        );
    }
    let small = findings.bases.iter().map(|base| base.size).min();
    if let (Some(data), Some(&memory)) = (small, findings.plan.memories.last())
        && data < memory.saturating_mul(8)
    {
        warnings.push(format!(
            "the data ({data}) is less than 8 times the largest memory ({memory}): much of it \
             fits in the buffer"
        ));
    }
    if !findings.runs_failed.is_empty() {
        warnings.push(match findings.runs_failed.len() {
            1 => "1 run gave no result".into(),
            failed => format!("{failed} runs gave no result"),
        });
    }
    warnings
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
