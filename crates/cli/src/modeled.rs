//! What a plan needs to be predicted: devices and databases that have models.

use octavo_database::DatabaseError;
use octavo_experiment::plan::{
    Storage,
    file::{PlanFile, PlanFileError},
};

use crate::{devices, failure::Failure};

/// Refuses a plan that `octavo predict` would refuse without any flag.
pub(crate) fn check_for_shards(file: &PlanFile) -> Result<(), Failure> {
    if !file.has("storage") {
        return Err(Failure::input(file.refuse(
            "storage",
            "shards are predicted: write storage = [\"device:NAME\"] in [cells]",
        )));
    }
    check_devices(file)?;
    check_models(file).map_err(Failure::input)
}

/// Refuses what is no device that is known.
pub(crate) fn check_devices(file: &PlanFile) -> Result<(), Failure> {
    for storage in &file.plan.storages {
        let refused = match storage {
            Storage::Device(device) => match devices::named(device) {
                Ok(_) => continue,
                Err(error) => format!("{error:#}"),
            },
            Storage::Directory(path) => format!(
                "'{}' is a directory, and only devices can be predicted: write \"device:NAME\"",
                path.display()
            ),
            Storage::FileSystem { system, .. } => {
                let reason = format!("file system {system} cannot be predicted: measure it");
                return Err(Failure::input(file.refuse("file-system", reason)));
            }
            Storage::Own if file.has("storage") => {
                "only devices can be predicted: write \"device:NAME\"".to_owned()
            }
            Storage::Own => continue,
        };
        return Err(Failure::input(file.refuse("storage", refused)));
    }
    Ok(())
}

/// Refuses databases and options without a model.
pub(crate) fn check_models(file: &PlanFile) -> Result<(), PlanFileError> {
    for database in &file.plan.databases {
        // On whatever storage: what rotates changes defaults alone.
        let Err(error) = database.model(false) else {
            continue;
        };
        let key = match &error {
            DatabaseError::Setting { setting, .. } => setting.replace(' ', "-"),
            _ => "database".to_owned(),
        };
        let key = if file.has(&key) {
            key
        } else {
            "database".into()
        };
        return Err(file.refuse(&key, error.to_string()));
    }
    Ok(())
}
