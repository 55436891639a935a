//! What became of a cell, for a table.

use octavo_experiment::{
    findings::{CellFindings, Findings, GroupFindings},
    lockstep::Why,
    statistics::Decision,
    verdict::Verdict,
};

use super::standing;
use crate::{
    document::Cell,
    naming,
    number::{join, percent, seconds, signed},
};

/// How a cell compares, and when and why it was dropped.
pub(crate) fn place(findings: &Findings, group: &GroupFindings, cell: &CellFindings) -> Cell {
    let reference = cell.reference.then(|| naming::reference_word(findings));
    let mut said = standing(cell.decision, cell.likely, reference);
    let own = naming::own_level(findings, cell);
    if matches!(&group.verdict, Verdict::Use { level, .. } if *level == own) {
        said.text += ", winner";
    }
    if let Some(expected) = cell.expected.filter(|_| !cell.reference) {
        said.text += &format!(", predicted {}", signed(expected.ratio));
        if expected.is_left_out && cell.throughput.is_none() {
            return said;
        }
    }
    if let Some(left) = cell.left {
        match left.why {
            Why::Behind { leader } => {
                let leader = group.cells.get(leader);
                let leader = leader.map_or("the leader".into(), |of| naming::cell(findings, of));
                said.text += &format!(", behind {leader}");
            }
            Why::NoResult => said.text += ", no result",
            Why::Slower | Why::Equal => {}
        }
        said.text += &format!(", out at {}", seconds(left.measured.as_secs_f64()));
    }
    said
}

/// What leaving decided cells out saved; `None` while nothing is saved.
pub(crate) fn saved(findings: &Findings) -> Option<String> {
    let saved = findings.saved_s;
    (saved >= 1.0).then(|| format!("Dropping losers early saved {}.", seconds(saved.round())))
}

/// What was left out and why; `None` where nothing was.
pub(crate) fn screened(findings: &Findings) -> Option<String> {
    let out = findings.screened;
    let reasons = [
        (out.slow, "took more than 1.5 times as long as usual"),
        (out.foreign_traffic, "met other programs on the disk"),
    ];
    let reasons = reasons.into_iter().filter(|(count, _)| *count > 0);
    let reasons = join(reasons.map(|(count, why)| format!("{count} {why}")), ", ");
    (!reasons.is_empty()).then(|| {
        let passes = findings.passes;
        format!("{} of {passes} passes were left out: {reasons}.", out.all())
    })
}

/// A decision between two stores or two ratios.
pub(crate) fn decision(decision: Decision) -> Cell {
    standing(Some(decision), None, None)
}

/// `11% of the data`, of a group's memory; `None` where its data is not known.
pub(crate) fn share_of_data(findings: &Findings, group: &GroupFindings) -> Option<String> {
    let cell = &naming::reference_cell(group)?.cell;
    let key = cell.snapshot();
    let snapshot = findings.snapshots.iter().find(|of| of.key == key)?;
    let share = cell.memory.get() as f64 / snapshot.size.get() as f64;
    (share > 0.0 && share < 1.0).then(|| format!("{} of the data", percent(share)))
}
