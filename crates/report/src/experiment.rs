//! The report of an experiment, whether its cells are compared or are ramps of clients.

use octavo_experiment::findings::Findings;

use crate::{document::Document, findings as compared, ramps, sentence};

/// The report of an experiment.
pub fn findings(findings: &Findings) -> Document {
    match findings.plan.ramp {
        Some(_) => ramps::document(findings),
        None => compared::document(findings),
    }
}

/// All that the figures say, in the order of the reports.
pub(crate) fn sentences(findings: &Findings) -> Vec<String> {
    match findings.plan.ramp {
        Some(_) => ramps::answers(findings)
            .map(|answer| answer.text())
            .collect(),
        None => sentence::all(findings),
    }
}
