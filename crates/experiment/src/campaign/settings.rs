//! What to carry out, and how far.

use std::{path::PathBuf, time::Duration};

use crate::plan::{Plan, RunLength};

/// What to carry out, and how far.
#[derive(Clone, Debug)]
pub struct CampaignSettings {
    /// Where to work: new, empty or Octavo's own.
    pub directory: PathBuf,
    /// What to measure.
    pub plan: Plan,
    /// Time for everything, results of earlier sessions included; `None` for
    /// as long as it takes.
    pub budget: Option<Duration>,
    /// Rounds at most; `None` for as many as fit into the budget.
    pub rounds: Option<u32>,
    /// Length of a run, or `None` to derive it from the budget.
    pub run_length: Option<RunLength>,
    /// Whether to calibrate the storage first.
    pub calibrate: bool,
    /// The program whose command `emulate` emulates devices: octavo.
    pub emulator: PathBuf,
    /// Whether the loaded databases stay when everything is finished.
    pub keep_data: bool,
    /// The version of Octavo, for the store.
    pub octavo_version: &'static str,
}
