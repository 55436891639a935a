//! Files of TOML: plans, entries of the catalog and profiles.

use std::{
    fs,
    path::{Path, PathBuf},
};

use octavo_device::{
    catalog::{Entry, machine::MachineEntry},
    profile::Profile,
};
use octavo_experiment::plan::file::{PlanFile, Registries};

use crate::reader::{Reader, as_text, refuse, render};

pub(crate) const PLAN: Reader = Reader {
    name: "plan",
    sound: || files("../../plans", "toml"),
    read: read_plan,
    cost: 1,
};

pub(crate) const ENTRY: Reader = Reader {
    name: "entry",
    sound: || files("../device/catalog", "toml"),
    read: read_entry,
    cost: 1,
};

pub(crate) const MACHINE: Reader = Reader {
    name: "machine",
    sound: || files("../device/catalog/machines", "toml"),
    read: read_machine,
    cost: 1,
};

pub(crate) const PROFILE: Reader = Reader {
    name: "profile",
    sound: || vec![include_bytes!("../../../bench/runs/2026-11-22-twin/profile.toml").to_vec()],
    read: read_profile,
    cost: 1,
};

/// The files of a directory of this project with such an ending.
pub(crate) fn files(directory: &str, ending: &str) -> Vec<Vec<u8>> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join(directory);
    let entries = fs::read_dir(&directory).expect("a directory of this project");
    let mut paths: Vec<PathBuf> = entries
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|found| found == ending))
        .collect();
    paths.sort();
    assert!(!paths.is_empty(), "{}", directory.display());
    let read = |path: &PathBuf| fs::read(path).expect("a file of this project");
    paths.iter().map(read).collect()
}

fn read_plan(bytes: &[u8]) -> bool {
    match PlanFile::parse("plan.toml", &as_text(bytes), &Registries::standard()) {
        Ok(file) => {
            assert!(!file.plan.cells().is_empty());
            let _fits_here_or_not = file.check(Path::new("/nowhere"));
            true
        }
        Err(error) => refuse(&error),
    }
}

fn read_entry(bytes: &[u8]) -> bool {
    match Entry::from_toml(&as_text(bytes)) {
        Ok(entry) => {
            render(&octavo_report::described(&entry, &[]));
            render(&octavo_report::devices(std::slice::from_ref(&entry)));
            assert!(
                Entry::from_toml(&entry.to_toml()).is_ok(),
                "it is read again"
            );
            true
        }
        Err(error) => refuse(&error),
    }
}

fn read_machine(bytes: &[u8]) -> bool {
    match MachineEntry::from_toml(&as_text(bytes)) {
        Ok(entry) => {
            render(&octavo_report::machines(std::slice::from_ref(&entry)));
            true
        }
        Err(error) => refuse(&error),
    }
}

fn read_profile(bytes: &[u8]) -> bool {
    match Profile::from_toml(&as_text(bytes)) {
        Ok(profile) => {
            render(&octavo_report::profile(&profile));
            true
        }
        Err(error) => refuse(&error),
    }
}
