//! What a plan needs of time and room, and whether it can be carried out at
//! all: known before anything is changed.

use std::{path::PathBuf, time::Duration};

use octavo_database::Settings;
use octavo_units::ByteCount;

use super::{ramps::least, settings::CampaignSettings};
use crate::{
    budget, cpus, descriptors,
    directory::{by_file_system, directory_size, free_space},
    error::CampaignError,
    plan::SnapshotKey,
    resolved::ResolvedPlan,
};

/// Refuses what cannot be, before anything is changed.
///
/// # Errors
/// When nothing says when to end, or the databases or
/// this machine cannot do what a cell asks for.
pub(super) fn check(
    settings: &CampaignSettings,
    resolved: &ResolvedPlan<'_>,
) -> Result<(), CampaignError> {
    let plan = &settings.plan;
    let refuse = |text: String| Err(CampaignError::Setting(text));
    if settings.passes == Some(0) {
        return refuse("passes must be at least 1".into());
    }
    if plan.ramp.is_some() && settings.passes.is_some() {
        return refuse("a plan with a ramp has no passes: give a budget or nothing".into());
    }
    if settings.passes.is_none() && settings.budget.is_none() && plan.ramp.is_none() {
        return refuse("neither a budget nor a number of passes is given: one is needed".into());
    }
    for path in resolved.directories() {
        if path.to_str().is_none() {
            return refuse(format!(
                "{} is not UTF-8, which SQL needs: name another directory",
                path.display()
            ));
        }
    }
    for &cpus in plan.cpus.iter().flatten() {
        cpus::check(cpus)?;
    }
    for cell in plan.cells() {
        let database = resolved.database(&cell.database);
        database.accept_workload(resolved.workload(cell.data))?;
        database.accept(&Settings {
            page_size: cell.page_size,
            memory: cell.memory,
            clients: cell.clients,
            isolation: plan.isolation,
        })?;
    }
    // The cells that are compared are all open in a sitting; of ramps there is one.
    let files = plan
        .cells()
        .into_iter()
        .map(|cell| u64::from(cell.clients) * resolved.database(&cell.database).files_a_session());
    descriptors::check(files.max().unwrap_or_default() * plan.open_together() as u64)?;
    Ok(())
}

/// Refuses a plan of whose databases none can be run here: where some can, the
/// others are left out.
///
/// # Errors
/// What is missing of the first one.
pub(super) fn find_programs(
    settings: &CampaignSettings,
    resolved: &ResolvedPlan<'_>,
) -> Result<(), CampaignError> {
    let databases = settings.plan.databases.iter();
    let mut found = databases.map(|spec| resolved.database(spec).find_programs());
    let Some(Err(first)) = found.next() else {
        return Ok(());
    };
    match found.all(|found| found.is_err()) {
        true => Err(first.into()),
        false => Ok(()),
    }
}

/// What an experiment takes at least, before anything is known of the
/// machine.
#[derive(Clone, Debug)]
pub struct Requirements {
    /// Space in each directory, beside what is there already.
    pub space: Vec<(PathBuf, ByteCount)>,
    /// The largest snapshot.
    pub largest: ByteCount,
    /// Snapshots to be made, in that order, with about the bytes of each.
    pub snapshots: Vec<(SnapshotKey, ByteCount)>,
    /// Cells to be measured.
    pub cells: usize,
    /// The least time in which the plan makes sense.
    pub time_min: Duration,
    /// About the time of calibrating and of making the snapshots.
    pub making: Duration,
    /// About the time in which a sitting of all cells begins.
    pub beginning: Duration,
}

impl Requirements {
    /// Estimates without changing anything.
    ///
    /// # Errors
    /// When the plan cannot be carried out, or a directory is somebody
    /// else's.
    pub fn estimate(settings: &CampaignSettings) -> Result<Self, CampaignError> {
        let resolved = ResolvedPlan::new(&settings.plan, &settings.directory)?;
        check(settings, &resolved)?;
        resolved.examine()?;
        Ok(Self::of_resolved(settings, &resolved))
    }

    pub(super) fn of_resolved(settings: &CampaignSettings, resolved: &ResolvedPlan<'_>) -> Self {
        let plan = &settings.plan;
        let snapshots = resolved.snapshot_sizes();
        let storages = plan.storages.iter();
        let space = storages.map(|storage| {
            let needed = resolved.needed(storage);
            // The file of a file system is written whole.
            let needed = match storage.file_system() {
                Some(system) => system.size_for(needed),
                None => needed,
            };
            // What is there already needs no room again.
            let (room, taken) = resolved.room(storage);
            (room, needed.saturating_sub(directory_size(&taken)))
        });
        let space = space.collect();
        let largest = snapshots
            .iter()
            .map(|&(_, size)| size)
            .max()
            .unwrap_or_default();
        let cells = plan.cells().len();
        let loads = snapshots
            .iter()
            .map(|(key, size)| resolved.database(&key.database).load_time(*size))
            .fold(Duration::ZERO, Duration::saturating_add);
        let making = budget::making(loads, settings.calibrate);
        Self {
            space,
            largest,
            cells,
            time_min: match plan.ramp {
                None => making.saturating_add(budget::sitting(largest, cells)),
                Some(ramp) => making
                    .saturating_add(budget::beginning(largest, cells))
                    .saturating_add(
                        least(ramp).saturating_mul(u32::try_from(cells).unwrap_or(u32::MAX)),
                    ),
            },
            making,
            beginning: budget::beginning(largest, cells),
            snapshots,
        }
    }

    /// Refuses what cannot fit.
    ///
    /// # Errors
    /// When the budget or the free space is too small, or a file system cannot
    /// be asked for its free space.
    pub fn check(&self, settings: &CampaignSettings) -> Result<(), CampaignError> {
        if let (None, Some(budget)) = (settings.passes, settings.budget)
            && self.time_min > budget
        {
            return Err(CampaignError::Budget {
                cells: self.cells,
                data: self.largest,
                needed_s: self.time_min.as_secs() + 1,
                budget_s: budget.as_secs(),
            });
        }
        for (path, needed) in by_file_system(self.space.iter().cloned()) {
            let available = free_space(&path)?;
            if available < needed {
                return Err(CampaignError::Space {
                    path,
                    needed,
                    available,
                });
            }
        }
        Ok(())
    }
}
