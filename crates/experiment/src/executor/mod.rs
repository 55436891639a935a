//! What turns the cells of a plan into slices and figures.
//!
//! Measuring is one way and predicting another. Store, analysis and report know records by
//! their [`Source`] alone, so each way is an [`Executor`]. What is measured takes turns in
//! sittings ([`SittingExecutor`]); what is predicted goes side by side.

mod measured;
mod predicted;
mod seat;
mod snapshots;

use std::time::Duration;

use octavo_device::limit::Limit;
use octavo_units::{ByteCount, Seed};

use crate::{
    error::CampaignError,
    limits::Asked,
    lockstep::{Slice, SliceKey},
    monitor::Monitor,
    plan::{Cell, Storage},
    record::{Figures, Source},
    run::RunError,
    store::StoredSnapshot,
};

pub(crate) use measured::MeasuredExecutor;
pub(crate) use predicted::{Modeled, PredictedExecutor, PredictedSeat, Wanted};

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
    /// is none to be measured, and where it would take longer than `limit`.
    ///
    /// # Errors
    /// When the storage cannot be measured, or the monitor wants to stop.
    fn calibrate(
        &mut self,
        _seed: Seed,
        _limit: Option<Duration>,
        _monitor: &Monitor<'_>,
    ) -> Result<Option<String>, CampaignError> {
        Ok(None)
    }

    /// What a storage is limited to, where its model says so; of others it is looked for with a `seed`, and
    /// `None` without one.
    ///
    /// # Errors
    /// When the storage cannot be measured, or the monitor wants to stop.
    fn limits(
        &mut self,
        _storage: &Storage,
        _seed: Option<Seed>,
        _monitor: &Monitor<'_>,
    ) -> Result<Option<Vec<Limit>>, CampaignError> {
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
    ) -> Result<Option<StoredSnapshot>, CampaignError>;

    /// Why a cell cannot be had; `None` when it can.
    fn unavailable(&self, _cell: &Cell) -> Option<&str> {
        None
    }

    /// About the time that stopping and checking a cell takes.
    fn closing(&self, _cell: &Cell) -> Duration {
        Duration::ZERO
    }

    /// Takes away what it made, but for loaded data that is to be kept.
    fn clear_up(&mut self, _keep_data: bool, _monitor: &Monitor<'_>) {}
}

/// An executor whose cells are open at the same time, and take turns.
pub trait SittingExecutor: Executor {
    /// Whether cells that have been prepared can be open at the same time.
    ///
    /// # Errors
    /// When a file system cannot be asked.
    fn fits(&self, _cells: &[&Cell]) -> Result<bool, CampaignError> {
        Ok(true)
    }

    /// Begins a sitting: fresh copies of the cells, all of them started. Each
    /// cell has its number in the plan. The inputs follow from `seed`. A cell
    /// that cannot be started has its error there.
    ///
    /// # Errors
    /// What would fail for every cell.
    fn sit<'s>(
        &'s mut self,
        cells: &[(usize, &'s Cell)],
        seed: Seed,
        monitor: &'s Monitor<'_>,
    ) -> Result<Box<dyn Sitting + 's>, CampaignError>;
}

/// Cells that are open at the same time. They are named by their number in
/// the plan.
pub trait Sitting {
    /// Why a cell could not be started; it has no slices.
    fn failure(&mut self, cell: usize) -> Option<CampaignError>;

    /// Pages of the cell's buffer, or of its data where these are fewer.
    fn frames(&self, cell: usize) -> u64;

    /// Has a cell execute its next transactions.
    ///
    /// # Errors
    /// [`CampaignError::Run`] when this cell cannot go on; all else would fail
    /// for every cell. Of one whose database was lost (`RunError::is_lost`) the
    /// slices before may count: [`Self::leave`] tells.
    fn slice(&mut self, key: SliceKey, transactions: u64) -> Result<Slice, CampaignError>;

    /// What a cell asked of its storage in its last slice; `None` where that is not known.
    fn asked(&self, _cell: usize) -> Option<Asked> {
        None
    }

    /// Counts what the cell did so far as its warm-up; how many transactions failed in
    /// it, which count nowhere else.
    fn end_warm_up(&mut self, cell: usize) -> u64;

    /// An open cell's figures since its warm-up.
    fn figures(&mut self, cell: usize) -> Option<Figures>;

    /// Stops a cell and checks what it left; its figures.
    ///
    /// # Errors
    /// When it cannot be stopped, or left something else than the workload
    /// promises: then its slices are worth nothing.
    fn leave(&mut self, cell: usize) -> Result<Figures, RunError>;
}

/// What has to stay free on a file system, beside what a sitting takes.
pub(crate) const SPARE: ByteCount = ByteCount::mib(64);
