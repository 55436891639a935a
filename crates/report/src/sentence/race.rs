//! How cells compare, and what the race saved.

use octavo_experiment::{
    findings::{CellFindings, Findings, GroupFindings},
    race::Why,
    statistics::Decision,
    verdict::Verdict,
};

use crate::{
    document::{Cell, Tone},
    naming,
    number::{counted, seconds},
};

/// What leaving decided cells out saved; `None` in a full factorial, before
/// the first round, and while nothing is saved.
pub(crate) fn saved(findings: &Findings) -> Option<String> {
    let saved = findings
        .saved
        .filter(|saved| saved.runs < saved.full_runs)?;
    // Whole minutes from ten on: it is an estimate.
    let time = if saved.seconds >= 600.0 {
        (saved.seconds / 60.0).round() * 60.0
    } else {
        saved.seconds
    };
    Some(format!(
        "Dropping decided cells early saved {} ({} runs instead of {}).",
        seconds(time),
        saved.runs,
        saved.full_runs
    ))
}

/// How a cell compares, with its place in the race, for a table.
pub(crate) fn place(findings: &Findings, group: &GroupFindings, cell: &CellFindings) -> Cell {
    let reference = cell.reference.then(|| naming::reference_word(findings));
    let own = findings.plan.level(&cell.cell, findings.plan.compare);
    let title = match &group.verdict {
        Verdict::Use { level, .. } if *level == own => Some("winner"),
        Verdict::Use {
            runner_up: Some(level),
            ..
        } if *level == own => Some("runner-up"),
        Verdict::Inconclusive {
            leader: Some(level),
            ..
        } if *level == own => Some("leads"),
        _ => None,
    };
    let mut said = decision(cell.decision, reference);
    let left = cell.left.and_then(|why| reason(findings, group, why));
    for part in [title.map(str::to_owned), left].into_iter().flatten() {
        said.text += &format!(", {part}");
    }
    if let Some(after) = cell.left_after {
        said.text += &format!(", out after {}", counted(after, "round"));
    }
    said
}

/// Why a cell left, where its decision does not say it.
fn reason(findings: &Findings, group: &GroupFindings, why: Why) -> Option<String> {
    match why {
        Why::Worse | Why::Equivalent => None,
        Why::Behind { leader } => Some(group.cells.get(leader).map_or_else(
            || "well behind the leader".into(),
            |cell| format!("well behind {}", naming::cell(findings, cell)),
        )),
        Why::NotConfirmed => Some("led, not confirmed".into()),
        Why::NoFinalLeft => Some("no final left".into()),
        Why::NoResult => Some("no result".into()),
    }
}

/// A decision, toned. `reference` is what the reference is called.
pub(crate) fn decision(decision: Option<Decision>, reference: Option<&'static str>) -> Cell {
    let (word, tone) = match (decision, reference) {
        (_, Some(name)) => (name, Tone::Plain),
        (Some(Decision::Better), _) => ("faster", Tone::Good),
        (Some(Decision::Worse), _) => ("slower", Tone::Bad),
        (Some(Decision::Equivalent), _) => ("no difference", Tone::Plain),
        (Some(Decision::Open), _) => ("undecided", Tone::Open),
        (None, _) => ("not known", Tone::Plain),
    };
    Cell::toned(word, tone)
}
