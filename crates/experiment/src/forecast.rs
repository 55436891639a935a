//! What carrying out a plan takes, before anything is changed: estimates of
//! sizes and times, and nothing measured.

use std::{collections::BTreeSet, path::PathBuf, time::Duration};

use octavo_units::{ByteCount, PageSize};
use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use crate::{
    campaign::{CampaignError, CampaignSettings, Requirements},
    directory::{STORE, free_space},
    own_sizes::ChosenSizes,
    plan::{Factor, Plan, SliceLength},
    store::{Store, StoreError},
};

/// What an experiment would do and take.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Forecast {
    /// The plan.
    pub plan: Plan,
    /// Where it would work.
    pub directory: PathBuf,
    /// What would be compared.
    pub compared: Factor,
    /// All cells, in the plan's order.
    pub cells: Vec<ForecastCell>,
    /// The page sizes of tables and indexes that are chosen, where that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chosen_sizes: Option<ChosenSizes>,
    /// Cells in the order of the first pass, or in which they run that are ramps.
    pub order_of_first_pass: Vec<usize>,
    /// Snapshots to be made, in that order.
    pub snapshots: Vec<ForecastSnapshot>,
    /// Space in each directory.
    pub space: Vec<ForecastSpace>,
    /// Passes that are in the store already.
    pub passes_done: usize,
    /// Cells of which a ramp is in the store already; 0 where they are none.
    pub ramps_done: usize,
    /// How many passes are wanted; `None` for as many as fit.
    pub passes: Option<u32>,
    /// How long slices and warm-ups are, where that is not found out.
    pub slices: SliceLength,
    /// Whether the storage would be calibrated first.
    pub calibrate: bool,
    /// Time for everything; `None` for as long as it takes.
    #[serde(rename = "budget_s", serialize_with = "seconds_if_known")]
    #[schemars(with = "Option<f64>")]
    pub budget: Option<Duration>,
    /// About the time of calibrating and of making the snapshots.
    #[serde(rename = "making_s_about", serialize_with = "octavo_driver::seconds")]
    #[schemars(with = "f64")]
    pub making: Duration,
    /// About the time in which a sitting of all cells begins: copies and
    /// warm-ups.
    #[serde(
        rename = "beginning_s_about",
        serialize_with = "octavo_driver::seconds"
    )]
    #[schemars(with = "f64")]
    pub beginning: Duration,
    /// The least time in which the plan makes sense.
    #[serde(rename = "time_s_min", serialize_with = "octavo_driver::seconds")]
    #[schemars(with = "f64")]
    pub time_min: Duration,
}

/// A cell of a forecast.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ForecastCell {
    /// Its number, from 0.
    pub cell: usize,
    /// All in which it differs from others, in words.
    pub name: String,
    /// Its level of what is compared.
    pub level: String,
    /// What sets its group apart; empty with one group.
    pub group: String,
    /// Whether others are compared with it.
    pub reference: bool,
}

/// Rows to be loaded.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ForecastSnapshot {
    /// The database with its options.
    pub database: String,
    /// The rows.
    pub rows: String,
    /// Where.
    pub directory: PathBuf,
    /// The page size.
    #[serde(rename = "page_size_bytes")]
    pub page_size: PageSize,
    /// About its size.
    #[serde(rename = "size_bytes_about")]
    pub size: ByteCount,
}

/// Space for an experiment.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ForecastSpace {
    /// Where.
    pub directory: PathBuf,
    /// About what is needed, beside what is there already.
    #[serde(rename = "needed_bytes_about")]
    pub needed: ByteCount,
    /// What is free.
    #[serde(rename = "free_bytes")]
    pub free: ByteCount,
}

impl Forecast {
    /// Estimates without changing anything. What does not fit is part of the
    /// forecast: [`Requirements::check`] refuses it.
    ///
    /// # Errors
    /// As of [`Requirements::estimate`]; [`CampaignError::Store`] when the directory
    /// holds a store that cannot be read or is of another plan; and where a
    /// file system cannot be asked for its free space.
    pub fn estimate(settings: &CampaignSettings) -> Result<(Self, Requirements), CampaignError> {
        let plan = &settings.plan;
        let requirements = Requirements::estimate(settings)?;
        let cells = plan.cells();
        let groups = plan.groups();
        let done = done(settings)?;
        let all: Vec<Vec<usize>> = groups.iter().map(|group| group.cells.clone()).collect();
        let forecast = Self {
            directory: settings.directory.clone(),
            compared: plan.compare,
            cells: cells
                .iter()
                .enumerate()
                .map(|(number, cell)| ForecastCell {
                    cell: number,
                    name: plan.cell_name(cell),
                    level: plan.level(cell, plan.compare).to_string(),
                    group: plan.group_name(cell),
                    reference: groups.iter().any(|group| group.reference_cell() == number),
                })
                .collect(),
            chosen_sizes: settings.chosen_sizes.clone(),
            order_of_first_pass: match plan.ramp {
                None => plan.order(0, 0, &all),
                Some(_) => plan.order_of_ramps(),
            },
            snapshots: requirements
                .snapshots
                .iter()
                .map(|(key, size)| ForecastSnapshot {
                    database: key.database.to_string(),
                    rows: key.data.to_string(),
                    directory: key.storage.path(&settings.directory),
                    page_size: key.page_size,
                    size: *size,
                })
                .collect(),
            space: requirements
                .space
                .iter()
                .map(|(directory, needed)| {
                    Ok(ForecastSpace {
                        directory: directory.clone(),
                        needed: *needed,
                        free: free_space(directory)?,
                    })
                })
                .collect::<Result<_, CampaignError>>()?,
            passes_done: done.0,
            ramps_done: done.1,
            passes: settings.passes,
            slices: settings.slices,
            calibrate: settings.calibrate,
            budget: settings.budget,
            making: requirements.making,
            beginning: requirements.beginning,
            time_min: requirements.time_min,
            plan: plan.clone(),
        };
        Ok((forecast, requirements))
    }
}

/// How many passes and ramps earlier sessions left, which have to be of the same plan.
fn done(settings: &CampaignSettings) -> Result<(usize, usize), StoreError> {
    let path = settings.directory.join(STORE);
    if !path.exists() {
        return Ok((0, 0));
    }
    let mut store = Store::open(&path)?;
    // A store with a plan is compared with it and not changed.
    if store.plan()?.is_some() {
        store.adopt(&settings.plan, settings.slices, settings.octavo_version)?;
    }
    let slices = store.slices()?;
    let passes: BTreeSet<_> = slices
        .iter()
        .map(|slice| (slice.key.sitting, slice.key.pass))
        .collect();
    let ramps = match settings.plan.ramp {
        None => 0,
        Some(_) => store.finished_cells()?.len(),
    };
    Ok((passes.len(), ramps))
}

fn seconds_if_known<S: Serializer>(time: &Option<Duration>, to: S) -> Result<S::Ok, S::Error> {
    time.map(|time| time.as_secs_f64()).serialize(to)
}
