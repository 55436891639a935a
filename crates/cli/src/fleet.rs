//! `octavo fleet`: what schedulers need to run a plan on many hosts.
//!
//! Octavo starts nothing on other hosts. It runs a part of a plan, a *sitting* or a *shard*, and
//! finds which in the environment of whatever scheduler started it. `script` prints
//! what a scheduler is given.

pub(crate) mod environment;
mod script;

use std::{collections::BTreeSet, path::Path, time::Duration};

use anyhow::{Context, anyhow, ensure};
use octavo_experiment::plan::file::{PlanFile, Registries};
use octavo_storage::text;

use crate::{
    failure::Failure,
    flags::{FleetCommand, FleetFlags, FleetScriptFlags, RAMP_APART, SchedulerName},
    modeled::check_for_shards,
    output, print,
};
use script::{Parts, Script};

/// Sittings on each host where nobody says. Chosen: with one, a host that differs is not told from
/// a sitting that went wrong.
const SITTINGS_EACH: u32 = 2;

/// Hosts where nobody says, the fewest that a verdict over hosts is quoted from (docs/fleet.md).
const HOSTS: u32 = 6;

pub(crate) fn fleet(flags: FleetFlags) -> Result<(), Failure> {
    match flags.command {
        FleetCommand::Script(flags) => script(&flags),
    }
}

/// Reads and checks the plan, and prints the script.
fn script(flags: &FleetScriptFlags) -> Result<(), Failure> {
    let file = PlanFile::read(&flags.plan, &Registries::standard()).map_err(Failure::input)?;
    let into = flags.into.clone();
    let into = into.unwrap_or_else(|| output::directory_of(&flags.plan));
    file.check(&into).map_err(Failure::input)?;
    if file.plan.ramp.is_some() {
        return Err(Failure::input(file.refuse("ramp", RAMP_APART)));
    }
    if flags.shards.is_some() {
        check_for_shards(&file)?;
    }
    let hosts = flags.hosts.as_deref();
    let names = hosts.map(names).transpose().map_err(Failure::Input)?;
    let sittings = names.as_ref().map_or(HOSTS, |names| {
        u32::try_from(names.len()).expect("a file that long is not read")
    });
    let script = Script {
        plan: absolute(&flags.plan)?,
        into: absolute(&into)?,
        hosts: hosts.map(absolute).transpose()?,
        names: names.unwrap_or_default(),
        parts: match (flags.shards, flags.sittings) {
            (Some(shards), _) => Parts::Shards(shards),
            (None, Some(sittings)) => Parts::Sittings(sittings),
            (None, None) => Parts::Sittings(sittings.saturating_mul(SITTINGS_EACH)),
        },
        time_limit: file
            .budget
            .filter(|_| flags.shards.is_none())
            .map(time_limit),
        measures_into: flags.shards.is_none() && !file.has("storage"),
    };
    let text = match flags.scheduler {
        SchedulerName::Slurm => script.slurm(),
        SchedulerName::Parallel => script.parallel(),
        SchedulerName::Hyperqueue => script.hyperqueue(),
        SchedulerName::Kubernetes => script.kubernetes(),
    };
    print::text(&text.map_err(Failure::Input)?)
}

fn absolute(path: &Path) -> Result<std::path::PathBuf, Failure> {
    let absolute = std::path::absolute(path);
    absolute
        .with_context(|| format!("find {}", path.display()))
        .map_err(Failure::Input)
}

/// When a scheduler may take a sitting for lost: after twice its budget.
///
/// Schedulers ask a sitting to end 2 minutes before, some a minute earlier than they were told, so
/// that much is left to short ones.
fn time_limit(budget: Duration) -> Duration {
    let least = budget.saturating_add(Duration::from_secs(300));
    budget.saturating_mul(2).max(least)
}

/// The hosts that a file names. Blank lines and comments are not.
fn names(path: &Path) -> anyhow::Result<Vec<String>> {
    let read = || {
        let text = text::read(path, text::WRITTEN_MAX)?;
        let mut seen = BTreeSet::new();
        let mut names = Vec::new();
        for (number, line) in (1..).zip(text.lines()) {
            let name = line.trim();
            if name.is_empty() || name.starts_with('#') {
                continue;
            }
            let is_printed = !name.contains(char::is_control);
            ensure!(
                is_printed,
                "line {number} has a control character: take it out"
            );
            ensure!(
                seen.insert(name.to_owned()),
                "line {number} names {name} once more, which would run two sittings on it at once: \
                 take it out"
            );
            names.push(name.to_owned());
        }
        match names.is_empty() {
            true => Err(anyhow!("it names no host: write one on each line")),
            false => Ok(names),
        }
    };
    read().with_context(|| path.display().to_string())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn hosts_are_lines_that_are_no_comments() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("hosts");
        let of = |text: &str| {
            fs::write(&path, text).unwrap();
            names(&path).map_err(|error| format!("{error:#}"))
        };
        assert_eq!(
            of("# mine\nn1\n\n  root@n2 \nssh -p 22 n3").unwrap(),
            ["n1", "root@n2", "ssh -p 22 n3"]
        );
        for (text, why) in [
            ("", "names no host"),
            ("# n1\n", "names no host"),
            ("n1\nn2\n n1\n", "line 3 names n1 once more"),
            ("n1\nn\u{1b}2", "line 2 has a control character"),
        ] {
            let error = of(text).unwrap_err();
            assert!(error.contains(why), "{error}");
        }
    }

    #[test]
    fn a_time_limit_is_twice_the_budget_and_leaves_time_to_end() {
        for (budget, limit) in [(3600, 7200), (300, 600), (60, 360), (1, 301)] {
            let limit = Duration::from_secs(limit);
            assert_eq!(time_limit(Duration::from_secs(budget)), limit);
        }
        assert_eq!(time_limit(Duration::MAX), Duration::MAX);
    }
}
