//! The main job: which page size, at which memory, from a few settings.

use std::{path::PathBuf, sync::Arc, time::Duration};

use octavo_database::Isolation;
use octavo_units::{ByteCount, PageSize, Seed};
use octavo_workload::{DataSet, WorkloadError, WorkloadName, WorkloadSpec};

use crate::{
    conduct::{ConductError, ConductSettings, conduct},
    findings::Findings,
    observer::Observer,
    plan::{Design, Factor, Plan, RunLength, Storage, TestedDatabase},
};

/// How many times larger than the largest buffer the data has to be.
pub const DATA_OVER_MEMORY: u64 = 8;

/// What to advise on.
#[derive(Clone, Debug)]
pub struct AdviseSettings {
    /// Where to work: new, empty or Octavo's own.
    pub directory: PathBuf,
    /// The database.
    pub database: TestedDatabase,
    /// The device to emulate, a name of the catalogue or the path of a file;
    /// `None` for the storage under the directory.
    pub device: Option<String>,
    /// As in [`ConductSettings::emulator`].
    pub emulator: PathBuf,
    /// Time for everything, results of earlier sessions included.
    pub budget: Duration,
    /// Page sizes; the database's default is added when it is missing.
    pub page_sizes: Vec<PageSize>,
    /// Buffer sizes.
    pub memories: Vec<ByteCount>,
    /// What the data's size follows from, when the buffers are smaller.
    pub memory_for_scale: Option<ByteCount>,
    /// The scale, or `None` for the smallest that is large enough.
    pub warehouses: Option<u32>,
    /// Sessions.
    pub clients: u32,
    /// How transactions are kept apart; `None` for the database's default.
    pub isolation: Option<Isolation>,
    /// Origin of everything random.
    pub seed: Seed,
    /// Ratios within this share of 1 make no difference.
    pub margin: f64,
    /// Exactly this many rounds, whatever the budget.
    pub rounds: Option<u32>,
    /// Length of a run, or `None` to derive it from the budget.
    pub run_length: Option<RunLength>,
    /// Whether to calibrate the storage first.
    pub calibrate: bool,
    /// Whether the loaded databases stay when everything is finished.
    pub keep_data: bool,
    /// The version of Octavo, for the store.
    pub octavo_version: &'static str,
}

/// Does the main job. The settings are checked before anything is changed.
pub fn advise(
    settings: &AdviseSettings,
    observer: &dyn Observer,
) -> Result<Findings, ConductError> {
    let plan = settle(settings)?;
    conduct(
        &ConductSettings {
            directory: settings.directory.clone(),
            plan,
            budget: Some(settings.budget),
            rounds: settings.rounds,
            run_length: settings.run_length,
            calibrate: settings.calibrate,
            emulator: settings.emulator.clone(),
            keep_data: settings.keep_data,
            octavo_version: settings.octavo_version,
        },
        observer,
    )
}

/// Turns settings into a plan, refusing what cannot be.
fn settle(settings: &AdviseSettings) -> Result<Plan, ConductError> {
    let refuse = |text: &str| Err(ConductError::Setting(text.into()));
    if settings.memories.is_empty() || settings.page_sizes.is_empty() {
        return refuse("at least one memory and one page size are needed");
    }
    if settings.clients == 0 {
        return refuse("clients 0 is not possible: at least 1 is needed");
    }
    if settings.warehouses == Some(0) {
        return refuse("warehouses 0 is not possible: at least 1 is needed");
    }
    let mut page_sizes = settings.page_sizes.clone();
    page_sizes.push(settings.database.default_page_size);
    page_sizes.sort_unstable();
    page_sizes.dedup();
    let mut memories = settings.memories.clone();
    memories.sort_unstable();
    memories.dedup();
    let mut plan = Plan {
        name: None,
        workload: WorkloadName::default(),
        mix: None,
        distribution: None,
        isolation: settings.isolation,
        seed: settings.seed,
        margin: settings.margin,
        design: Design::Race,
        databases: vec![Arc::new(settings.database.clone())],
        data: vec![rows(settings.warehouses.unwrap_or(1))?],
        storages: vec![
            settings
                .device
                .clone()
                .map_or(Storage::Own, Storage::Device),
        ],
        page_sizes,
        memories,
        cpus: vec![None],
        clients: vec![settings.clients],
        copies: 1,
        compare: Factor::PageSize,
        reference: None,
    };
    if settings.warehouses.is_none() {
        let largest = plan.memories.last().copied().unwrap_or_default();
        let wanted = settings
            .memory_for_scale
            .map_or(largest, |memory| memory.max(largest))
            .saturating_mul(DATA_OVER_MEMORY);
        let warehouses = warehouses_for(&plan, wanted)?;
        plan.data = vec![rows(warehouses)?];
    }
    Ok(plan)
}

fn rows(warehouses: u32) -> Result<DataSet, WorkloadError> {
    Ok(WorkloadName::default().data_set(&[("warehouses", warehouses.into())])?)
}

/// The fewest warehouses whose data has the wanted size at every page size.
fn warehouses_for(plan: &Plan, wanted: ByteCount) -> Result<u32, ConductError> {
    let database = plan.databases[0].make()?;
    // Data grows in proportion, except for what does not depend on the scale:
    // two points give the line.
    let size = |warehouses: u32| -> Result<u64, ConductError> {
        let workload = WorkloadSpec::new(plan.workload, rows(warehouses)?, plan.seed).build()?;
        Ok(plan
            .page_sizes
            .iter()
            .map(|&page_size| database.estimate(workload.as_ref(), page_size).get())
            .min()
            .unwrap_or_default())
    };
    let (one, two) = (size(1)?, size(2)?);
    let each = two.saturating_sub(one).max(1);
    let more = wanted.get().saturating_sub(one).div_ceil(each);
    u32::try_from(more + 1).map_err(|_| {
        ConductError::Setting(format!(
            "memory is too large: data of {wanted} cannot be made"
        ))
    })
}
