//! `octavo run`: a plan in a file to settings, the call, and what is printed.

use std::path::Path;

use octavo_database::{DatabaseError, OwnError};
use octavo_experiment::{
    campaign::{CampaignError, CampaignSettings, campaign},
    directory::STORE,
    own::{self, OwnPlanError},
    plan::{
        Storage,
        file::{PlanFile, Registries},
    },
    store::Store,
};

use crate::{
    devices::storage,
    failure::Failure,
    flags::{RAMP_APART, RunFlags},
    host::program,
    outcome, output, sitting,
    watcher::Watcher,
};

pub(crate) fn run(flags: RunFlags) -> Result<(), Failure> {
    let mut file = PlanFile::read(&flags.plan, &Registries::standard()).map_err(Failure::input)?;
    file.budget = flags.campaign.budget.or(file.budget);
    file.passes = flags.passes.or(file.passes);
    if let Some(device) = &flags.device.name {
        emulate(&mut file, device)?;
    }
    let directory = flags
        .directory
        .clone()
        .unwrap_or_else(|| output::directory_of(&flags.plan));
    if file.plan.ramp.is_some() && flags.passes.is_some() {
        return Err(Failure::input(file.refuse(
            "ramp",
            "--passes is for cells that are compared in lockstep, and ramp in [clients] makes each \
             cell a ramp by itself: leave --passes out",
        )));
    }
    if file.plan.ramp.is_some() && flags.part.sitting.is_some() {
        return Err(Failure::input(file.refuse("ramp", RAMP_APART)));
    }
    file.check(&directory).map_err(Failure::input)?;
    // Before the user's own server is asked, so that an interrupt leaves nothing behind.
    let watcher = Watcher::answering(flags.progress, flags.metrics)?;
    complete(&mut file, &|| watcher.is_interrupted())?;
    let settings = CampaignSettings {
        prediction: None,
        directory,
        plan: file.plan.clone(),
        budget: file.budget,
        passes: file.passes,
        slices: file.slices,
        calibrate: flags.calibrate,
        predict_first: false,
        chosen_sizes: None,
        program: program()?,
        keep_data: flags.campaign.keep_data,
        until: None,
        part: None,
        later: Vec::new(),
        command: Some(outcome::command()),
        octavo_version: env!("CARGO_PKG_VERSION"),
    };
    let failure = |error| failure(error, &file, &flags, &settings);
    if flags.dry_run.is_dry {
        return outcome::forecast(&settings, flags.print, failure);
    }
    if let (Some(sittings), Some(into)) = (flags.part.sitting, &flags.part.into) {
        return sitting::sittings(
            sittings,
            into,
            flags.part.host.as_deref(),
            &settings,
            &watcher,
        );
    }
    let result = campaign(&settings, &watcher);
    watcher.finish();
    // Not in a store that this plan was refused by.
    if matches!(result, Ok(_) | Err(CampaignError::Stopped)) {
        keep_prices(&file, &settings.directory)?;
    }
    let findings = result.map_err(failure)?;
    outcome::publish(&findings, &settings.directory, flags.print)
}

/// Looks at the user's own data and statements, where a plan names them.
pub(crate) fn complete(file: &mut PlanFile, stopped: &dyn Fn() -> bool) -> Result<(), Failure> {
    let Some(settings) = file.own.take() else {
        return Ok(());
    };
    let has = own::Given {
        page_sizes: file.has("page-size"),
        clients: file.has("clients"),
    };
    own::complete(&mut file.plan, &settings, has, stopped).map_err(|error| look_failed(error, file))
}

/// Keeps a plan's prices with its results, also with those of a plan that was interrupted.
pub(crate) fn keep_prices(file: &PlanFile, directory: &Path) -> Result<(), Failure> {
    let store = directory.join(STORE);
    match &file.prices {
        Some(prices) if store.exists() => Store::open_or_create(&store)
            .and_then(|mut store| store.set_prices(prices))
            .map_err(|error| Failure::Fault(error.into())),
        _ => Ok(()),
    }
}

/// Points at the line of the plan that names the user's own database, or a key that it does not
/// allow.
fn look_failed(error: OwnPlanError, file: &PlanFile) -> Failure {
    if error.is_stopped() {
        return Failure::of_plan(error);
    }
    let key = match &error {
        // It has a place of its own.
        OwnPlanError::Script(_) | OwnPlanError::Own(OwnError::Script(_)) => {
            return Failure::input(error);
        }
        OwnPlanError::PresentPageSize(_) => "page-size",
        OwnPlanError::Databases => "database",
        OwnPlanError::OneClient | OwnPlanError::Sessions { .. } => "clients",
        OwnPlanError::Weights(_) | OwnPlanError::File(_) | OwnPlanError::NoStatement(_) => "script",
        OwnPlanError::Own(OwnError::NothingRecorded { .. })
        | OwnPlanError::Own(OwnError::Database(DatabaseError::Recording { .. })) => "recording",
        OwnPlanError::NoDigests(_) | OwnPlanError::Own(OwnError::NoDigest { .. }) => "digests",
        _ => "copy-of",
    };
    let reason = format!("{:#}", anyhow::Error::new(error));
    Failure::input(file.refuse(key, reason))
}

/// Puts a device in the place of the storage that a plan does not name.
fn emulate(file: &mut PlanFile, device: &str) -> Result<(), Failure> {
    if file.has("storage") {
        return Err(Failure::input(file.refuse(
            "storage",
            "--device is for plans that name no storages: write \"device:NAME\" here instead",
        )));
    }
    let device = storage(device).map_err(Failure::Input)?;
    file.set_storage(Storage::Device(device));
    Ok(())
}

/// Points at the line of the plan that a refusal is about, where there is one.
fn failure(
    error: CampaignError,
    file: &PlanFile,
    flags: &RunFlags,
    settings: &CampaignSettings,
) -> Failure {
    let key = match &error {
        CampaignError::Budget { .. } => Some("budget").filter(|_| flags.campaign.budget.is_none()),
        CampaignError::Space { .. } => Some("storage").filter(|key| file.has(key)),
        _ => None,
    };
    match key.zip(outcome::remedy_in_plan(&error)) {
        Some((key, remedy)) => Failure::input(file.refuse(key, format!("{error}: {remedy}"))),
        None => outcome::failure_of_plan(error, &settings.directory),
    }
}
