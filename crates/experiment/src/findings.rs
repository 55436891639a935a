//! What a store says: every cell's figures, the ratios to the reference, the
//! verdicts and their conditions, in one value that reports print and
//! `--json` writes.

mod age;
mod cell;
mod found_caveats;
mod per_transaction;
mod ramps;
mod stability;
mod time;

use std::collections::HashSet;

use octavo_database::StoragePath;
use octavo_device::profile::Profile;
use octavo_workload::{Audit, AuditLine};
use serde::Serialize;

use crate::{
    caveats::{self, Caveat},
    inputs::Inputs,
    lockstep::{Horizon, Judgement, Screened, judge_seated},
    plan::{Cell, Plan},
    prediction::{Elsewhere, Expected},
    record::{Figures, Source},
    statistics::Decision,
    store::{CHANGED, Store, StoreError, StoredSnapshot},
    verdict::{BufferFinding, Interaction, Verdict, buffer_findings, interactions},
};

pub use age::Age;
pub use cell::CellFindings;
pub use found_caveats::{
    MISSES_AT_DEVICE_WANTED, READS_A_MISS_TOLERATED, SCREENED_TOLERATED, SITTINGS_TOLERATED,
};
pub use per_transaction::{MISSES_THAT_MATTER, OTHERS_READ, PerTransaction};
pub use ramps::{CellRamp, RampEnd};
pub use stability::CellStability;
pub use time::{Tail, TransactionTime};

use cell::{ByCell, Predicted};
use found_caveats::found_caveats;
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
    /// Whether any cell was warmed up at all: a budget may have no time left for it.
    pub warmed: bool,
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
    fn of(judgement: &Judgement) -> Self {
        let count = |why| {
            let passes = judgement.screened.iter();
            passes.filter(|pass| pass.why == why).count()
        };
        Self {
            slow: count(Screened::Slow),
            foreign_traffic: count(Screened::ForeignTraffic),
        }
    }

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
        let predicted = Predicted {
            expected: &expected,
            inputs: &inputs,
        };
        let by_cell = ByCell::new(&plan, &cells, &runs, &slices, &judgement, predicted);
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
        let sittings: HashSet<u32> = slices.iter().map(|slice| slice.key.sitting).collect();
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
            screened: ScreenedPasses::of(&judgement),
            slice_transactions: store.slice_transactions()?,
            warm_up: warm_up_of(store)?,
            horizon,
            finished: match is_ramps {
                true => ramps.iter().all(|ramp| ramp.end == RampEnd::Finished),
                false => is_decided(&judgement),
            },
            saved_s: plan_groups
                .iter()
                .zip(&judgement.groups)
                .map(|(group, judged)| by_cell.saved_s(group, judged))
                .sum(),
            warmed: by_cell.all().any(|run| !run.load.warm_up.is_zero()),
            counted_name: counted_name.into(),
            runs_done: by_cell.all().count(),
            runs_failed: by_cell.failed(&runs),
            machine: store.facts("machine")?,
            changed: store.facts(CHANGED)?,
            storage: store.facts_below("storage")?,
            database: store.facts_below("database")?,
            storage_path: by_cell.storage_path(),
            snapshots: store.snapshots()?,
            calibration: calibration_of(store)?,
            source,
            buffers: Vec::new(),
            interactions: Vec::new(),
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
        } else {
            let levels = &judgement.levels;
            findings.buffers = buffer_findings(&plan, &cells, &judgement, &inputs);
            findings.interactions = interactions(&plan, &cells, &plan_groups, levels, &inputs);
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

/// Whether nothing is left to compare.
fn is_decided(judgement: &Judgement) -> bool {
    let groups = judgement.groups.iter();
    let mut candidates = groups.flat_map(|group| &group.candidates);
    candidates.all(|candidate| candidate.decision != Some(Decision::Open))
}

fn calibration_of(store: &Store) -> Result<Option<Profile>, StoreError> {
    let text = store.calibration()?;
    let profile = text.map(|text| Profile::from_toml(&text)).transpose();
    profile.map_err(|error| store.damaged("device profile", error))
}

/// How long warm-ups were to be.
fn warm_up_of(store: &Store) -> Result<Option<String>, StoreError> {
    let facts = store.facts(LENGTHS)?;
    let mut warm_ups = facts.into_iter().filter(|(name, _)| name == WARM_UP);
    Ok(warm_ups.next().map(|(_, value)| value))
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
