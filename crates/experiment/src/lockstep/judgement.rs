//! What the slices so far say of each group of cells.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{levels::Levels, movement::Movement};
use crate::statistics::{Decision, Interval};

/// How cells are compared.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rules {
    /// Ratios within this share of 1 make no difference: 0.03 is 3%.
    pub margin: f64,
    /// Whether cells that are decided leave.
    pub drop: bool,
    /// Whether passes that were slow, or had foreign traffic, are left out. In virtual time
    /// there is nobody else: a slow pass is what the model says.
    pub screen: bool,
    /// Whether the beginning of sittings does not count where a ratio moves. Not where passes are
    /// counted, or are those of a recording, whose statements are not alike.
    pub grows_older: bool,
    /// Over what the error is spent.
    pub horizon: Horizon,
}

/// How far an experiment is meant to go: the error of all looks together is
/// spent on the way there.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "by")]
pub enum Horizon {
    /// Time within slices, all cells together.
    Time {
        /// How much.
        measured: Duration,
    },
    /// Passes, all sittings together.
    Passes {
        /// How many.
        passes: u32,
    },
}

/// What the slices so far say.
#[derive(Clone, Debug, PartialEq)]
pub struct Judgement {
    /// Passes that were made, those of [`Self::screened`] included.
    pub passes: usize,
    /// Time within slices, all cells together, of passes left out included.
    pub measured: Duration,
    /// Passes that are left out of all figures.
    pub screened: Vec<ScreenedPass>,
    /// By group of the plan.
    pub groups: Vec<GroupJudgement>,
    /// The throughput of every cell beside every other's, of all groups.
    pub levels: Levels,
}

/// A pass that is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ScreenedPass {
    /// Its sitting.
    pub sitting: u32,
    /// Its number in it.
    pub pass: u32,
    /// Why.
    pub why: Screened,
}

/// Why a pass is left out: rules that are fixed beforehand, and know nothing
/// of which cell leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Screened {
    /// It took more than 1.5 times as long as the median of its neighbors, a
    /// dozen passes before and after it.
    Slow,
    /// Other programs used the device.
    ForeignTraffic,
    /// All was decided before it: a sitting ends some passes later.
    Decided,
}

/// Cells that differ in nothing but what is compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Their numbers, in the order of the compared list.
    pub cells: Vec<usize>,
    /// The place in `cells` of the one that the others are compared with.
    pub reference: usize,
}

impl Group {
    /// The number of the cell that the others are compared with.
    pub fn reference_cell(&self) -> usize {
        self.cells[self.reference]
    }
}

/// What the slices say of a group.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupJudgement {
    /// By place in the group.
    pub candidates: Vec<Candidate>,
    /// Whether nothing is left to decide.
    pub finished: bool,
    /// The passes that do not count because copies were young.
    pub young: Option<Young>,
}

/// Passes at the beginning of each sitting that do not count for a group: one of its ratios moved, and
/// the older half of all was taken for it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Young {
    /// Up to this pass.
    pub from: u32,
    /// The number of the cell whose ratio was found to move first, of several the one that moved most.
    pub cell: usize,
    /// How it moved until then.
    pub movement: Movement,
}

/// What the slices say of one cell of a group.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Candidate {
    /// Its throughput over the reference's: at 95% for all candidates of the
    /// group and all looks up to the horizon together; of all batches from [`Self::from`] on, or of
    /// those until it left. `None` for the reference, and without two batches.
    pub ratio: Option<Interval>,
    /// What the interval says; `None` for the reference.
    pub decision: Option<Decision>,
    /// Where the interval is open and one at 95% for this candidate and this
    /// moment alone is not: faster or slower.
    pub likely: Option<Decision>,
    /// When and why it left.
    pub left: Option<Departure>,
    /// The ratio within each sitting, to see what placement and start-up are
    /// worth: of the batches that [`Self::ratio`] is of.
    pub by_sitting: Vec<(u32, Interval)>,
    /// The correlation of one batch's ratio with the next one's.
    pub autocorrelation: Option<f64>,
    /// How the ratio moved in these batches while the databases grew older, if it did.
    pub moved: Option<Movement>,
    /// How much more time within slices, all cells together, would settle it if
    /// mean and spread stay as they are; `None` where nothing is open, or where
    /// that is more than 100 times what was measured.
    pub more: Option<Duration>,
    /// What each batch gave: of those that [`Self::ratio`] is of.
    pub batches: Vec<Batch>,
    /// Of a cell that is no longer measured: the reference's batches until then, at what its checkpoints cost
    /// then. Those of the end count what came later, too.
    pub reference_batches: Vec<Batch>,
    /// The first pass of each sitting that these are of.
    pub from: u32,
    /// Of one that is not measured any more: sitting and pass until which these are.
    pub until: Option<(u32, u32)>,
    /// Throughput a minute by [`Levels`], with an interval (95%, this cell alone), so that
    /// one which left early stands beside the others.
    pub throughput: Option<Interval>,
    /// Seconds of checkpoint that a byte of log counts as; `None` where no log is written,
    /// or checkpoints are not timed.
    pub checkpoint_cost: Option<f64>,
}

/// Several passes of one sitting, the unit of statistics. All groups have the
/// same batches, so those of two groups can be set against each other.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Batch {
    /// Its sitting.
    pub sitting: u32,
    /// Its first pass.
    pub pass: u32,
    /// The cell's throughput a minute: counted commits over time, with the
    /// time of checkpoints spread over log bytes.
    pub throughput: f64,
}

/// Leaving the experiment.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Departure {
    /// The sitting and pass after which it left.
    pub sitting: u32,
    /// See [`Self::sitting`].
    pub pass: u32,
    /// Time within slices until then, all cells together.
    #[serde(rename = "measured_s", serialize_with = "octavo_driver::seconds")]
    #[schemars(with = "f64")]
    pub measured: Duration,
    /// Why.
    pub why: DepartureReason,
}

/// Why a cell left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "why")]
pub enum DepartureReason {
    /// It is slower than the reference.
    Slower,
    /// It makes no difference to the reference.
    Equal,
    /// It is faster than the reference, but not than this candidate.
    Behind {
        /// Its place in the group.
        leader: usize,
    },
    /// It gave no figures.
    NoResult,
}
