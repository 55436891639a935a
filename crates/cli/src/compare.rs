//! `octavo compare`: two stores beside each other.

use std::path::Path;

use anyhow::anyhow;
use octavo_experiment::{compare::compare as compare_findings, findings::Findings};

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
    let comparison = compare_findings(&read(&flags.first)?, &read(&flags.second)?);
    print::result(
        flags.format,
        || octavo_report::compare_json(&comparison),
        || {
            octavo_report::compare(
                &comparison,
                &flags.first.display().to_string(),
                &flags.second.display().to_string(),
            )
        },
    )
}
