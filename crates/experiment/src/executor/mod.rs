//! What turns the cells of a plan into slices and figures.
//!
//! Measuring is one way and predicting another. Store, schedule, analysis and report
//! know records by their [`Source`] alone, so each way is an [`Executor`].

mod measured;
mod predicted;
mod seat;
mod snapshots;

use std::time::Duration;

use octavo_device::limit::Limit;
use octavo_predict::Warmth;
use octavo_units::{ByteCount, Seed};

use crate::{
    error::CampaignError,
    inputs::Input,
    limits::Asked,
    lockstep::{Slice, SliceKey},
    monitor::Monitor,
    plan::{Cell, Storage},
    record::{Figures, Source},
    run::RunError,
    store::StoredSnapshot,
    waits::Waits,
};

pub(crate) use measured::MeasuredExecutor;
pub(crate) use predicted::{PredictedExecutor, Wanted};

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

    /// Whether cells that have been prepared can be open at the same time.
    ///
    /// # Errors
    /// When a file system cannot be asked.
    fn fits(&self, _cells: &[&Cell]) -> Result<bool, CampaignError> {
        Ok(true)
    }

    /// About the time that stopping and checking a cell takes.
    fn closing(&self, _cell: &Cell) -> Duration {
        Duration::ZERO
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

    /// Takes away what it made, but for loaded data that is to be kept.
    fn clear_up(&mut self, _keep_data: bool, _monitor: &Monitor<'_>) {}
}

/// What a model tells of a cell that no figure says.
pub struct Modeled {
    /// What it is made from that is not known exactly.
    pub(crate) inputs: Vec<Input>,
    /// What its transactions wait for.
    pub(crate) waits: Waits,
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

    /// Has cells execute their next transactions, in this order, or side by side where they
    /// share nothing; none after an error that would come for every cell.
    ///
    /// # Errors
    /// Of each cell as [`Self::slice`].
    fn slices(
        &mut self,
        keys: &[SliceKey],
        transactions: u64,
        monitor: &Monitor<'_>,
    ) -> Vec<Result<Slice, CampaignError>> {
        let mut slices = Vec::new();
        for key in keys {
            let slice = monitor.stop_if_interrupted();
            let slice = slice.and_then(|()| self.slice(*key, transactions));
            let goes_on = matches!(slice, Ok(_) | Err(CampaignError::Run(_)));
            slices.push(slice);
            if !goes_on {
                break;
            }
        }
        slices
    }

    /// How warm a modeled cell is; `None` of what is measured, and of a cell that is not open.
    fn warmth(&self, _cell: usize) -> Option<&Warmth> {
        None
    }

    /// What a cell asked of its storage in its last slice; `None` of what is modeled, which has its storage
    /// to itself.
    fn asked(&self, _cell: usize) -> Option<Asked> {
        None
    }

    /// Counts what the cell did so far as its warm-up; how many transactions failed in
    /// it, which count nowhere else.
    fn end_warm_up(&mut self, cell: usize) -> u64;

    /// An open cell's figures since its warm-up.
    fn figures(&mut self, cell: usize) -> Option<Figures>;

    /// What models tell of open cells that no figure says; nothing of measured ones. They
    /// execute more transactions, that do not count, side by side.
    ///
    /// # Errors
    /// As [`Self::slice`].
    fn modeled(&mut self, _cells: &[usize]) -> Result<Vec<(usize, Modeled)>, CampaignError> {
        Ok(Vec::new())
    }

    /// Stops a cell and checks what it left; its figures.
    ///
    /// # Errors
    /// When it cannot be stopped, or left something else than the workload
    /// promises: then its slices are worth nothing.
    fn leave(&mut self, cell: usize) -> Result<Figures, RunError>;
}

/// What has to stay free on a file system, beside what a sitting takes.
pub(crate) const SPARE: ByteCount = ByteCount::mib(64);
