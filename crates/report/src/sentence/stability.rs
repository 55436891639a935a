//! How even runs were, and which were not steady.

use octavo_experiment::{
    findings::{CellFindings, CellStability, Findings, GroupFindings, NotSteady},
    steady::{Label, Why},
};

use crate::{
    naming,
    number::{list, number, percent, seconds, time},
};

/// A cell is called much less stable from so many times the reference's
/// variation on: below it, two runs of one cell differ as much.
const LESS_STABLE: f64 = 2.0;
/// … if it is at least this: nobody notices less.
const VARIATION_MATTERS: f64 = 0.05;
/// … or from stalls on that are so long, and as many times the reference's.
const STALL_MATTERS_S: f64 = 1.0;
/// Windows whose lengths differ by more than this factor cannot be compared:
/// throughput varies less over longer ones.
const SAME_WINDOW: f64 = 1.25;

/// Cells that are much less stable than the reference of their group.
pub(crate) fn stability(findings: &Findings) -> Vec<String> {
    naming::groups(findings)
        .into_iter()
        .flat_map(|group| less_stable(findings, group))
        .collect()
}

fn less_stable(findings: &Findings, group: &GroupFindings) -> Vec<String> {
    let Some(reference) = group
        .cells
        .iter()
        .find(|cell| cell.reference)
        .and_then(|cell| cell.stability)
    else {
        return Vec::new();
    };
    group
        .cells
        .iter()
        .filter(|cell| !cell.reference)
        .filter_map(|cell| {
            let own = cell.stability?;
            let parts: Vec<String> = [
                more_varied(&own, &reference),
                longer_stalls(&own, &reference),
            ]
            .into_iter()
            .flatten()
            .collect();
            (!parts.is_empty()).then(|| said(findings, group, cell, &parts))
        })
        .collect()
}

fn said(
    findings: &Findings,
    group: &GroupFindings,
    cell: &CellFindings,
    parts: &[String],
) -> String {
    let own = findings.plan.level(&cell.cell, findings.plan.compare);
    let reference = naming::reference(findings, group);
    let reference = match naming::default_page_size(findings, group) {
        Some(size) => format!("the default {}", size.get()),
        None => reference.map_or_else(|| "the reference".into(), |level| level.with_noun()),
    };
    let sentence = format!(
        "{} is much less stable than {reference}: {}.",
        own.with_noun(),
        list(parts, "and")
    );
    if group.name.is_empty() {
        naming::capital(&sentence)
    } else {
        format!("With {}: {sentence}", group.name)
    }
}

fn more_varied(own: &CellStability, reference: &CellStability) -> Option<String> {
    let comparable = own.window_s <= reference.window_s * SAME_WINDOW
        && reference.window_s <= own.window_s * SAME_WINDOW;
    (comparable
        && own.variation >= VARIATION_MATTERS
        && own.variation >= LESS_STABLE * reference.variation)
        .then(|| {
            format!(
                "throughput over windows of {} varies by {} instead of {}",
                seconds(own.window_s),
                percent(own.variation),
                percent(reference.variation)
            )
        })
}

fn longer_stalls(own: &CellStability, reference: &CellStability) -> Option<String> {
    (own.stall_s >= STALL_MATTERS_S && own.stall_s >= LESS_STABLE * reference.stall_s).then(|| {
        format!(
            "there were up to {} without any of the transactions that are counted, instead of {}",
            stall(own.stall_s),
            stall(reference.stall_s)
        )
    })
}

/// The longest time without a commit.
pub(crate) fn stall(stall_s: f64) -> String {
    if stall_s == 0.0 {
        "0 s".into()
    } else {
        time(stall_s * 1e6)
    }
}

/// Why a run was not steady, in words.
pub(crate) fn why(label: Label) -> String {
    let by = |change: f64| {
        let direction = if change < 0.0 { "down" } else { "up" };
        format!("{direction} by {}", percent(change.abs()))
    };
    match label {
        Label::Steady => "steady".into(),
        Label::Periodic { period_s } => format!("periodic, every {} s", number(period_s)),
        Label::NotJudged => "not judged (too short, or of a fixed number of transactions)".into(),
        Label::NotSteady { why } => match why {
            Why::StillWarming => "still warming up".into(),
            Why::Drift { change } => format!("drifts {}", by(change)),
            Why::Shift { change, at_s } => {
                format!("jumps {} after {}", by(change), seconds(at_s))
            }
        },
    }
}

/// The runs of a cell that were not steady, with their rounds.
pub(crate) fn not_steady(runs: &[NotSteady]) -> String {
    let said: Vec<String> = runs
        .iter()
        .map(|run| format!("round {}: {}", run.round, why(run.label)))
        .collect();
    said.join("; ")
}
