//! What a store says: every cell's figures, the ratios to the reference, the
//! verdicts and their conditions, in one value that reports print and
//! `--json` writes.

mod age;
mod cell;
mod fleet;
mod found_caveats;
mod own_rows;
mod per_transaction;
mod ramps;
mod read;
mod stability;
mod time;
mod timeline;

use octavo_database::StoragePath;
use octavo_device::profile::Profile;
use octavo_workload::{Audit, AuditLine};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    caveats::{self, Caveat},
    limits::StorageLimits,
    lockstep::{Horizon, Judgement, Screened},
    own_sizes::ChosenSizes,
    plan::{Cell, Plan},
    prediction::OtherDisk,
    record::Source,
    store::StoredSnapshot,
    verdict::{BufferFinding, Interaction},
};

pub use age::{Age, MissChange};
pub use cell::{CellFindings, FailedRun, GroupFindings, mean_response_ms};
pub use fleet::{ClassFindings, ClassGroup, Fleet, HostCell, HostFindings, HostSummary, LostPart};
pub(crate) use fleet::{ClassParts, missing_parts};
pub use found_caveats::{
    MISSES_AT_DEVICE_WANTED, READS_A_MISS_TOLERATED, SCREENED_TOLERATED, SITTINGS_TOLERATED, WARM,
};
pub(crate) use own_rows::of_own;
pub use per_transaction::{MISSES_THAT_MATTER, OTHERS_READ, PerTransaction};
pub use ramps::{CellRamp, RampEnd};
pub use stability::CellStability;
pub use time::{Tail, TransactionTime};
pub use timeline::{Part, Stretch};

/// Everything that a report says.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Findings {
    /// The version of Octavo that measured.
    pub octavo: String,
    /// When the store was made, RFC 3339.
    pub created: String,
    /// The command that was last carried out, without its budget.
    pub command: Option<String>,
    /// The plan.
    pub plan: Plan,
    /// Time of all sessions, in seconds, without that of parts that do not count.
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
    /// Whether there were warm-ups, as far as they were wanted and anything was measured: a
    /// budget may have no time left for them.
    pub warmed: bool,
    /// Over what the error of all looks is spent; `None` when nothing was
    /// measured.
    pub horizon: Option<Horizon>,
    /// Whether nothing is left to measure: everything that was compared is decided, what the answer
    /// stands on is level where cells leave, and each ramp has come to its end.
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
    /// What each storage is limited to, and what it serves beyond that after a rest; without those of
    /// which that is not known.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<StorageLimits>,
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
    /// The page sizes of tables and indexes that were chosen beforehand, where that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chosen_sizes: Option<ChosenSizes>,
    /// What another disk would change, predicted; empty where nothing is.
    pub elsewhere: Vec<OtherDisk>,
    /// The parts of the plan and the hosts that carried them out, where it was divided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fleet: Option<Fleet>,
    /// All that is known of hosts of other classes than the first, which the rest is of: in the order of
    /// [`Fleet::classes`].
    #[serde(skip)]
    pub other_classes: Vec<Self>,
    /// What a reader must know before believing the figures, the worst first.
    #[serde(serialize_with = "caveats::with_severity")]
    #[schemars(with = "Vec<caveats::Rated<'_>>")]
    pub caveats: Vec<Caveat>,
}

impl Findings {
    /// What is known of hosts of a class, by its place in [`Fleet::classes`].
    pub fn of_class(&self, place: usize) -> Option<&Self> {
        match place.checked_sub(1) {
            None => Some(self),
            Some(place) => self.other_classes.get(place),
        }
    }

    /// How the database of a cell was run, by name without what it depends on.
    pub fn conditions_of<'a>(&'a self, cell: &Cell) -> impl Iterator<Item = (&'a str, &'a str)> {
        let topic = self.plan.conditions_topic(cell);
        self.database.iter().filter_map(move |(name, value)| {
            let own = name.strip_prefix(&topic)?;
            let own = match topic.is_empty() {
                true => own,
                false => own.strip_prefix(": ")?,
            };
            Some((own, value.as_str()))
        })
    }

    /// Whether its intervals are over hosts, each being one figure.
    pub fn is_over_hosts(&self) -> bool {
        let classes = self.fleet.iter().flat_map(|fleet| fleet.classes.first());
        classes.into_iter().any(|class| class.is_over_hosts)
    }
}

/// Passes that are left out of all figures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ScreenedPasses {
    /// Those that took much longer than the others.
    pub slow: usize,
    /// Those in which other programs used the device.
    pub foreign_traffic: usize,
    /// Those after all was decided, at the end of a sitting.
    pub decided: usize,
}

impl ScreenedPasses {
    fn count(judgement: &Judgement) -> Self {
        let count = |why| {
            let passes = judgement.screened.iter();
            passes.filter(|pass| pass.why == why).count()
        };
        Self {
            slow: count(Screened::Slow),
            foreign_traffic: count(Screened::ForeignTraffic),
            decided: count(Screened::Decided),
        }
    }

    /// Those that the machine is the reason of.
    pub fn disturbed(&self) -> usize {
        self.slow + self.foreign_traffic
    }

    /// All of them.
    pub fn all(&self) -> usize {
        self.disturbed() + self.decided
    }
}

impl Findings {
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
