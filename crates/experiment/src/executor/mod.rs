//! What turns a cell of a plan into figures.
//!
//! Measuring is one way. Store, schedule, analysis and report know records by
//! their [`Source`] alone, so another way is another [`Executor`].

mod measured;
mod monitor;
mod snapshots;

use octavo_driver::RunLength;
use octavo_units::Seed;

use crate::{
    error::CampaignError,
    plan::Cell,
    record::{Figures, Source},
    store::StoredSnapshot,
};

pub use monitor::Monitor;

pub(crate) use measured::MeasuredExecutor;

/// Facts about where an executor works, as name and value, under a topic.
pub type Facts = Vec<(String, Vec<(&'static str, String)>)>;

/// Turns cells into figures.
pub trait Executor {
    /// How its records come about.
    fn source(&self) -> Source;

    /// What is known of where it works.
    fn facts(&self) -> Facts {
        Vec::new()
    }

    /// Measures the storage by itself: its profile as TOML; `None` where there
    /// is none to be measured.
    ///
    /// # Errors
    /// When the storage cannot be measured, or the monitor wants to stop.
    fn calibrate(
        &mut self,
        _seed: Seed,
        _monitor: &Monitor<'_>,
    ) -> Result<Option<String>, CampaignError> {
        Ok(None)
    }

    /// Gets what a cell needs to run, unless it is there already; answers what
    /// was loaded for it. A cell that cannot be had is left out, which
    /// [`Self::unavailable`] then tells.
    ///
    /// # Errors
    /// What would fail for every cell, such as a full disk.
    fn prepare(
        &mut self,
        cell: &Cell,
        monitor: &Monitor<'_>,
    ) -> Result<Vec<StoredSnapshot>, CampaignError>;

    /// Why a cell cannot be had; `None` when it can.
    fn unavailable(&self, _cell: &Cell) -> Option<&str> {
        None
    }

    /// Runs a cell once, with the inputs that follow from `seed`.
    ///
    /// # Errors
    /// [`CampaignError::Run`] when this run gave no figures; all else would
    /// fail for every cell.
    fn run(
        &mut self,
        cell: &Cell,
        seed: Seed,
        length: RunLength,
        monitor: &Monitor<'_>,
    ) -> Result<Figures, CampaignError>;

    /// Takes away what it made, but for loaded data that is to be kept.
    fn clear_up(&mut self, _keep_data: bool, _monitor: &Monitor<'_>) {}
}
