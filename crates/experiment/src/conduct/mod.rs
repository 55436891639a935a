//! Carries out a plan within a budget: calibrates the storage, loads bases,
//! decides how long runs are, and makes round after round of what is not
//! decided yet. Each step is kept in the store as it ends, and the same plan
//! goes on with what is missing.

mod error;
mod job;
mod requirements;
mod resolved;
mod rounds;
mod snapshots;

use std::{
    collections::HashMap,
    path::PathBuf,
    time::{Duration, Instant},
};

use octavo_storage::location::Location;

use self::{job::Job, requirements::check, resolved::ResolvedPlan};
use crate::{
    directory::WorkDirectory,
    emulation::{Emulation, EmulationError},
    findings::Findings,
    observer::Observer,
    plan::{Plan, RunLength},
    store::Store,
};

pub use error::ConductError;
pub use requirements::Requirements;

/// What to carry out, and how far.
#[derive(Clone, Debug)]
pub struct ConductSettings {
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
    /// The program that emulates devices when it is told `emulate`: octavo.
    pub emulator: PathBuf,
    /// Whether the loaded databases stay when everything is finished.
    pub keep_data: bool,
    /// The version of Octavo, for the store.
    pub octavo_version: &'static str,
}

/// Carries out a plan. Everything is checked before anything is changed.
pub fn conduct(
    settings: &ConductSettings,
    observer: &dyn Observer,
) -> Result<Findings, ConductError> {
    let plan = &settings.plan;
    let resolved = ResolvedPlan::of(settings)?;
    check(settings, &resolved)?;
    resolved.examine()?;
    Requirements::of(settings, &resolved).check(settings)?;
    let mut emulations = Vec::new();
    let mut directories = Vec::new();
    let opened = open(
        settings,
        &resolved,
        observer,
        &mut directories,
        &mut emulations,
    );
    let mut store = match opened {
        Ok(store) => store,
        Err(error) => {
            abandon(directories, emulations)?;
            return Err(match error {
                ConductError::Emulation(EmulationError::Stopped) => ConductError::Stopped,
                error => error,
            });
        }
    };
    store.adopt(plan, settings.run_length, settings.octavo_version)?;
    let session = store.begin_session()?;
    let job = Job {
        settings,
        observer,
        locations: plan
            .storages
            .iter()
            .map(|storage| (storage.clone(), Location::of(&resolved.directory(storage))))
            .collect::<HashMap<_, _>>(),
        earlier: store.time_spent()?,
        begin: Instant::now(),
        cells: plan.cells(),
        directories,
        resolved,
        store,
        session,
        unavailable: Vec::new(),
        emulations,
    };
    job.work()
}

/// Opens the directory to work in and the store, mounts the devices that are
/// emulated, and opens the directories of other storages.
fn open(
    settings: &ConductSettings,
    resolved: &ResolvedPlan<'_>,
    observer: &dyn Observer,
    directories: &mut Vec<WorkDirectory>,
    emulations: &mut Vec<Emulation>,
) -> Result<Store, ConductError> {
    directories.push(WorkDirectory::open(&settings.directory)?);
    for (wanted, number) in resolved.devices().iter().zip(0..) {
        let seed = settings.plan.seed.derive("device", number);
        let interrupted = || observer.interrupted();
        let started = Emulation::start(&settings.emulator, wanted, seed, &interrupted);
        emulations.push(started?);
    }
    for path in resolved.directories() {
        if path != settings.directory {
            directories.push(WorkDirectory::open(&path)?);
        }
    }
    Ok(Store::open_or_create(&directories[0].store())?)
}

/// Takes back the directories and devices that were made for input that is
/// refused after all, or before there was an interrupt.
fn abandon(
    directories: Vec<WorkDirectory>,
    emulations: Vec<Emulation>,
) -> Result<(), ConductError> {
    let mut directories = directories.into_iter();
    let own = directories.next();
    directories.try_for_each(WorkDirectory::abandon)?;
    emulations.into_iter().try_for_each(Emulation::abandon)?;
    own.map_or(Ok(()), WorkDirectory::abandon)?;
    Ok(())
}
