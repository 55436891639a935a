//! How an experiment ends: the answer printed and written, or why there is
//! none.

use std::{fs, path::Path};

use anyhow::anyhow;
use octavo_experiment::{
    campaign::CampaignError,
    directory::{REPORT, STORE},
    findings::Findings,
};

use crate::{failure::Failure, report};

/// Prints what was found in `directory` and writes the page.
pub(crate) fn publish(findings: &Findings, directory: &Path, json: bool) -> Result<(), Failure> {
    let page = directory.join(REPORT);
    let document = octavo_report::findings(findings);
    let html = document.html();
    report::show(json, || octavo_report::findings_json(findings), || document)?;
    if !json {
        report::print(&format!(
            "\nResults: {}\nReport:  {}\n",
            directory.join(STORE).display(),
            page.display()
        ))?;
    }
    report::write(&page, &html)
}

/// What an experiment in `directory` that ended without findings comes to.
pub(crate) fn failure(error: CampaignError, directory: &Path) -> Failure {
    if matches!(error, CampaignError::Stopped) {
        let store = directory.join(STORE);
        let runs = fs::exists(&store).unwrap_or(false);
        return Failure::Interrupted(if runs {
            format!(
                "finished runs are kept in {}; repeat the command to resume",
                store.display()
            )
        } else {
            "nothing was measured yet".into()
        });
    }
    let is_bad_input = error.is_bad_input();
    Failure::of(error, is_bad_input)
}

/// The same with what to do about it.
pub(crate) fn with_remedy(error: &CampaignError, remedy: &str) -> Failure {
    Failure::of(anyhow!("{error}: {remedy}"), error.is_bad_input())
}
