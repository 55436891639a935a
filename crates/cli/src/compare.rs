//! `octavo compare`: two stores beside each other.

use std::path::Path;

use anyhow::anyhow;
use octavo_experiment::{
    compare::{Comparison, compare as compare_findings},
    condition::{Condition, Holds},
    findings::Findings,
};

use crate::{failure::Failure, flags::CompareFlags, print, report};

pub(crate) fn compare(flags: CompareFlags) -> Result<(), Failure> {
    let read = |path: &Path| -> Result<Findings, Failure> {
        let findings = report::findings(path)?;
        if findings.runs_done == 0 {
            return Err(Failure::Input(anyhow!(
                "{} has no run with a result; repeat the command that made it",
                path.display()
            )));
        }
        if findings.plan.ramp.is_some() {
            return Err(Failure::Input(anyhow!(
                "{} has ramps, which ran at different times and are not compared: read both with \
                 octavo report",
                path.display()
            )));
        }
        Ok(findings)
    };
    let (first, second) = (read(&flags.first)?, read(&flags.second)?);
    let comparison = compare_findings(&first, &second);
    let names = [&flags.first, &flags.second].map(|path| path.display().to_string());
    print::result(
        (flags.markdown, flags.format),
        || octavo_report::compare_json(&comparison, [&first, &second]),
        || octavo_report::compare(&comparison, [(&names[0], &first), (&names[1], &second)]),
    )?;
    match &flags.fail_if.condition {
        Some(condition) => judge(condition, &comparison, [&first, &second]),
        None => Ok(()),
    }
}

/// Ends as a condition on the second store says.
fn judge(
    condition: &Condition,
    comparison: &Comparison,
    stores: [&Findings; 2],
) -> Result<(), Failure> {
    if comparison.cells.is_empty() {
        return Err(Failure::Undecided(format!(
            "'{condition}' cannot be told: the stores have no cell with figures in common"
        )));
    }
    let named = |wanted: Holds| {
        let cells = comparison.cells.iter();
        let cells = cells.filter(|cell| condition.holds(&cell.ratio) == wanted);
        let names: Vec<&str> = cells.map(|cell| cell.name.as_str()).collect();
        (!names.is_empty()).then(|| names.join("; "))
    };
    let is_doubtful = stores.iter().any(|store| octavo_report::is_doubtful(store));
    if let (Some(met), true) = (named(Holds::Yes), is_doubtful) {
        return Err(Failure::Undecided(format!(
            "whether the second store is {condition} is not decided, as a warning of a store may \
             change it: {met}"
        )));
    }
    if let Some(met) = named(Holds::Yes) {
        return Err(Failure::Met(format!(
            "the second store is {condition}: {met}"
        )));
    }
    match named(Holds::Open) {
        Some(open) => Err(Failure::Undecided(format!(
            "whether the second store is {condition} is not decided: {open}"
        ))),
        None => Ok(()),
    }
}
