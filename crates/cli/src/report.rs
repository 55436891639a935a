//! `octavo report`: prints a store's findings again.

use std::path::{Path, PathBuf};

use anyhow::anyhow;
use octavo_experiment::{
    directory::STORE,
    findings::Findings,
    store::{Store, StoreError},
};

use crate::{failure::Failure, flags::ReportFlags, output, print};

pub(crate) fn report(flags: ReportFlags) -> Result<(), Failure> {
    let findings = findings(&flags.directory)?;
    output::keep_apart(&[
        ("--html", flags.page.html.as_deref()),
        ("--csv", flags.csv.as_deref()),
    ])?;
    flags.page.check()?;
    if let Some(csv) = &flags.csv {
        // Before version 9 of stores the first column was called group.
        let is_ours = |text: &str| {
            text.is_empty()
                || text.starts_with("group_name,cell,")
                || text.starts_with("group,cell,")
        };
        output::keep_foreign(csv, "a table of Octavo", is_ours)?;
        output::probe(csv)?;
        output::write(csv, &octavo_report::findings_csv(&findings))?;
    }
    flags.page.write(|| octavo_report::findings(&findings))?;
    print::findings(&findings, flags.print, Vec::new())
}

/// What the store at `path`, or in the directory `path`, says.
pub(crate) fn findings(path: &Path) -> Result<Findings, Failure> {
    let all = read(path, |store| {
        Ok(Findings::read(store)?.into_iter().collect())
    })?;
    all.into_iter().next().ok_or_else(|| no_plan(path))
}

/// What it says of each class of hosts, if it was merged; else of all.
pub(crate) fn findings_by_class(path: &Path) -> Result<Vec<Findings>, Failure> {
    let all = read(path, Findings::by_class)?;
    match all.is_empty() {
        true => Err(no_plan(path)),
        false => Ok(all),
    }
}

fn no_plan(path: &Path) -> Failure {
    Failure::Input(anyhow!(
        "{} holds no plan yet; repeat the command that made it",
        store_at(path).display()
    ))
}

fn read(
    path: &Path,
    read: impl Fn(&Store) -> Result<Vec<Findings>, StoreError>,
) -> Result<Vec<Findings>, Failure> {
    if path.join("a-b").join(STORE).exists() {
        return Err(Failure::Input(anyhow!(
            "{0} is of octavo ab: name {0}/a-b, or {0}/a-a for A beside itself",
            path.display()
        )));
    }
    let store = Store::open(&store_at(path)).map_err(Failure::input)?;
    read(&store).map_err(Failure::input)
}

/// The store at `path`, which may be its directory.
pub(crate) fn store_at(path: &Path) -> PathBuf {
    match path.is_dir() {
        true => path.join(STORE),
        false => path.to_owned(),
    }
}
