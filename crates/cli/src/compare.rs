//! `octavo compare`: two stores beside each other.

use std::path::Path;

use anyhow::anyhow;
use octavo_experiment::{compare::compare as compare_findings, findings::Findings};

use crate::{failure::Failure, flags::CompareFlags, outcome, print, report};

pub(crate) fn compare(flags: CompareFlags) -> Result<(), Failure> {
    flags.fail_if.check()?;
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
    let Some(condition) = &flags.fail_if.condition else {
        return Ok(());
    };
    let cases = octavo_report::compare_cases(condition, &comparison, [&first, &second]);
    flags.fail_if.write(&second.created, &cases)?;
    outcome::judged(octavo_report::compare_outcome(condition, &cases))
}
