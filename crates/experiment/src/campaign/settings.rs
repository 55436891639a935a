//! What to carry out, and how far.

use std::{
    hash::{DefaultHasher, Hash as _, Hasher as _},
    path::PathBuf,
    time::Duration,
};

use crate::{
    condition::{Condition, Holds},
    own_sizes::ChosenSizes,
    part::Part,
    plan::{Plan, SliceLength},
    prediction::Prediction,
    program,
    statistics::{Decision, Interval},
};

/// What to carry out, and how far.
#[derive(Clone, Debug)]
pub struct CampaignSettings {
    /// Where to work: new, empty or Octavo's own.
    pub directory: PathBuf,
    /// What to measure.
    pub plan: Plan,
    /// What to predict from; `None` to measure.
    pub prediction: Option<Prediction>,
    /// Time for everything, results of earlier sessions included; `None` for
    /// as long as it takes.
    pub budget: Option<Duration>,
    /// Passes at most, all sittings together; `None` for as many as fit into
    /// the budget.
    pub passes: Option<u32>,
    /// How long slices and warm-ups are, where that is not found out.
    pub slices: SliceLength,
    /// Whether to calibrate the storage first.
    pub calibrate: bool,
    /// Whether to predict the cells then, and to measure only those that may be best.
    pub predict_first: bool,
    /// The page sizes of tables and indexes that were chosen for the plan, to be kept with what they were
    /// chosen by.
    pub chosen_sizes: Option<ChosenSizes>,
    /// Octavo itself, which emulates devices and runs databases in processes of their own.
    pub program: PathBuf,
    /// Whether the loaded databases stay when everything is finished.
    pub keep_data: bool,
    /// Before what, besides budget and passes, a plan ends whose cells are all measured to the end.
    pub until: Option<Until>,
    /// Which part of the plan to carry out, where others do the rest: a sitting. Budget and passes are
    /// of the part then.
    pub part: Option<Part>,
    /// Directories that this process writes to afterwards: it is held to its own and these.
    pub later: Vec<PathBuf>,
    /// The command that began it, without its budget, to be repeated with
    /// another; `None` where it is a part of something larger, which says how to go on.
    pub command: Option<String>,
    /// The version of Octavo, for the store.
    pub octavo_version: &'static str,
}

/// What is to be known of each cell that is compared. Intervals hold for all looks together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Until {
    /// Whether it differs by more than the margin.
    Decided,
    /// Whether this holds.
    Told(Condition),
}

impl Until {
    /// Whether that is known of a cell with this ratio, which is faster, slower or the same as this says.
    pub(super) fn is_known(self, ratio: &Interval, decision: Option<Decision>) -> bool {
        match self {
            Self::Decided => decision.is_some_and(|decision| decision != Decision::Open),
            Self::Told(condition) => condition.holds(ratio) != Holds::Open,
        }
    }
}

impl CampaignSettings {
    /// What a prediction is made from, in short: its plan, models, passes and slices, and the
    /// program. `None` for what is measured, and where the program cannot be told.
    pub fn inputs(&self) -> Option<String> {
        let prediction = self.prediction.as_ref()?;
        let program = program::identity(self.octavo_version).ok()?;
        // Every digit of it: what is printed for people is rounded.
        let plan = serde_json::to_string(&self.plan).ok()?;
        let inputs = (program, plan, prediction, self.passes, &self.slices);
        let mut hasher = DefaultHasher::new();
        format!("{inputs:?}").hash(&mut hasher);
        Some(format!("{:016x}", hasher.finish()))
    }
}
