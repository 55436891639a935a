//! What comes before the first sitting: checks that change nothing, then the
//! directories and the store.

use super::{
    requirements::{Requirements, check},
    settings::CampaignSettings,
    sittings::Campaign,
};
use crate::{
    error::CampaignError,
    executor::{MeasuredExecutor, Monitor},
    findings::Findings,
    observer::Observer,
    resolved::ResolvedPlan,
    store::Store,
};

/// Carries out a plan. Everything is checked before anything is changed.
///
/// # Errors
/// When the plan cannot be carried out here, its directory cannot be used, or
/// no run gives a result; [`CampaignError::Stopped`] when the observer wants
/// it. Finished runs are in the store in any case.
pub fn campaign(
    settings: &CampaignSettings,
    observer: &dyn Observer,
) -> Result<Findings, CampaignError> {
    let plan = &settings.plan;
    let resolved = ResolvedPlan::of(plan, &settings.directory)?;
    check(settings, &resolved)?;
    resolved.examine()?;
    Requirements::of(settings, &resolved).check(settings)?;
    let mut executor = MeasuredExecutor::open(resolved, &settings.emulator, observer)?;
    let mut store = match Store::open_or_create(&executor.store()) {
        Ok(store) => store,
        Err(error) => {
            executor.abandon()?;
            return Err(error.into());
        }
    };
    store.adopt(plan, settings.slices, settings.octavo_version)?;
    if let Some(command) = &settings.command {
        store.set_command(command)?;
    }
    executor.adopt(store.snapshots()?);
    let monitor = Monitor::new(observer, store.time_spent()?, settings.budget);
    Campaign::new(settings, store, &monitor)?.carry_out(&mut executor)
}
