//! A plan file to what is predicted.

use std::path::{Path, PathBuf};

use anyhow::anyhow;
use clap::parser::ValueSource;
use octavo_experiment::plan::{
    Storage,
    file::{PlanFile, PlanFileError, Registries},
};

use crate::{
    defaults, devices,
    failure::Failure,
    flags::PredictFlags,
    guide,
    modeled::{check_devices, check_models},
};

/// Whether a command names a plan file where it could name a directory. One that is not there is
/// meant by its ending.
pub(super) fn is_plan(path: &Path) -> bool {
    let is_toml = path.extension().is_some_and(|ending| ending == "toml");
    path.is_file() || (is_toml && !path.is_dir())
}

/// Flags that hold with a plan, too, by their names in the program.
const WITH_PLANS: [&str; 17] = [
    "directory",
    "results",
    "device",
    "enlarge",
    "calibrated_by",
    "cpu",
    "cpus",
    "machine",
    "part",
    "passes",
    "shard",
    "into",
    "json",
    "verbose",
    "seconds",
    "quiet",
    "markdown",
];

/// Reads a plan, and refuses what cannot be predicted at its line.
pub(super) fn read(path: &Path, flags: &PredictFlags) -> Result<PlanFile, Failure> {
    let mut file = PlanFile::read(path, &Registries::standard()).map_err(Failure::input)?;
    refuse_flags(&file)?;
    check(&file, flags).map_err(Failure::input)?;
    set_storage(&mut file, flags)?;
    check_models(&file).map_err(Failure::input)?;
    Ok(file)
}

/// Refuses flags that a plan answers.
fn refuse_flags(file: &PlanFile) -> Result<(), Failure> {
    let words = std::iter::once("octavo".into()).chain(defaults::words());
    // The same words were read before.
    let Ok(matches) = guide::command().try_get_matches_from(words) else {
        return Ok(());
    };
    let Some((name, matches)) = matches.subcommand() else {
        return Ok(());
    };
    let command = guide::command();
    let Some(command) = command.find_subcommand(name) else {
        return Ok(());
    };
    for argument in command.get_arguments() {
        let id = argument.get_id().as_str();
        let is_typed = matches.ids().any(|of| of.as_str() == id)
            && matches.value_source(id) == Some(ValueSource::CommandLine);
        let Some(flag) = argument.get_long().filter(|_| is_typed) else {
            continue;
        };
        if WITH_PLANS.contains(&id) {
            continue;
        }
        let key = key_of(flag);
        let refused = match file.has(key) {
            true => file.refuse(
                key,
                format!("--{flag} is said here in a plan: leave it out"),
            ),
            false => file.refuse(
                "",
                format!("--{flag} is not for plans: leave it out, and say {key} in the plan"),
            ),
        };
        return Err(Failure::input(refused));
    }
    if file.has("cpus") && matches.value_source("cpus") == Some(ValueSource::CommandLine) {
        return Err(Failure::input(
            file.refuse("cpus", "--cpus is said here in a plan: leave it out"),
        ));
    }
    Ok(())
}

/// The key of plans that says what a flag does.
fn key_of(flag: &str) -> &str {
    match flag {
        "page-sizes" => "page-size",
        "workload" => "name",
        "data" => "the size of the rows",
        "cache" => "memory",
        flag => flag,
    }
}

/// What no model knows of.
fn check(file: &PlanFile, flags: &PredictFlags) -> Result<(), PlanFileError> {
    if file.own.is_some() {
        return Err(file.refuse(
            "copy-of",
            "statements of your own are predicted without a plan: octavo predict --copy-of",
        ));
    }
    if let Some(ramp) = file.plan.ramp {
        return Err(file.refuse(
            "ramp",
            format!(
                "ramp {} cannot be predicted: measure it with octavo run, or give clients in \
                 [cells]",
                ramp.clients
            ),
        ));
    }
    if flags.part && file.slices.warm_up.is_some() {
        return Err(file.refuse(
            "warm-up",
            "a part has a warm-up of its own: leave warm-up out, or --part",
        ));
    }
    Ok(())
}

/// Puts --device in the place of the storage that a plan does not name, and refuses directories.
fn set_storage(file: &mut PlanFile, flags: &PredictFlags) -> Result<(), Failure> {
    if let Some(device) = &flags.device.name {
        if file.has("storage") {
            return Err(Failure::input(file.refuse(
                "storage",
                "--device is for plans that name no storages: write \"device:NAME\" here instead",
            )));
        }
        let device = devices::storage(device).map_err(Failure::Input)?;
        file.set_storage(Storage::Device(device));
    }
    check_devices(file)
}

/// A fault of what a plan is predicted from, at the line of what it is about.
pub(super) fn refuse(file: &PlanFile, key: &str, error: &anyhow::Error) -> anyhow::Error {
    anyhow!(file.refuse(key, format!("{error:#}")))
}

/// Where a plan's predictions go when nobody says: beside what `octavo run` measures of it.
pub(super) fn directory_of(plan: &Path) -> PathBuf {
    let mut name = std::ffi::OsString::from("octavo-");
    name.push(plan.file_stem().unwrap_or_default());
    name.push("-predicted");
    name.into()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn plans_are_files_or_end_as_they_do() {
        let parent = tempfile::tempdir().unwrap();
        let at = |name: &str| parent.path().join(name);
        fs::write(at("plan"), "").unwrap();
        fs::create_dir(at("results.toml")).unwrap();
        assert!(is_plan(&at("plan")) && is_plan(&at("missing.toml")));
        assert!(!is_plan(&at("results.toml")) && !is_plan(&at("missing")));
        assert_eq!(
            directory_of(Path::new("plans/a b.toml")),
            Path::new("octavo-a b-predicted")
        );
    }

    #[test]
    fn flags_that_hold_with_plans_are_flags_of_predict() {
        let command = guide::command();
        let predict = command.find_subcommand("predict").unwrap();
        for id in WITH_PLANS {
            let mut all = predict.get_arguments();
            assert!(all.any(|of| of.get_id() == id), "{id}");
        }
    }
}
