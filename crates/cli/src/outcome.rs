//! How an experiment ends: the answer printed and written, or why there is
//! none.

use std::{fs, path::Path};

use anyhow::anyhow;
use octavo_experiment::{
    campaign::CampaignError,
    directory::{REPORT, STORE},
    findings::Findings,
};

use crate::{Failure, report};

/// Prints what was found in `directory` and writes the page.
pub(crate) fn publish(findings: &Findings, directory: &Path, json: bool) -> Result<(), Failure> {
    let page = directory.join(REPORT);
    report::print(&if json {
        format!("{}\n", octavo_report::json(findings))
    } else {
        let (width, colour) = report::screen();
        format!(
            "{}\nResults: {}\nReport:  {}\n",
            octavo_report::terminal(findings, width, colour),
            directory.join(STORE).display(),
            page.display()
        )
    })?;
    report::write(&page, &octavo_report::html(findings))
}

/// What an experiment in `directory` that ended without findings comes to.
pub(crate) fn failure(error: CampaignError, directory: &Path) -> Failure {
    if matches!(error, CampaignError::Stopped) {
        let store = directory.join(STORE);
        let runs = fs::exists(&store).unwrap_or(false);
        return Failure::Interrupted(if runs {
            format!(
                "finished runs are kept in {}: repeat the command to go on",
                store.display()
            )
        } else {
            "nothing was measured yet".into()
        });
    }
    if error.is_bad_input() {
        Failure::Input(error.into())
    } else {
        Failure::Fault(error.into())
    }
}

/// The same with what to do about it.
pub(crate) fn with_remedy(error: &CampaignError, remedy: &str) -> Failure {
    let message = anyhow!("{error}: {remedy}");
    if error.is_bad_input() {
        Failure::Input(message)
    } else {
        Failure::Fault(message)
    }
}
