//! How even runs were, and which were not steady.

use octavo_driver::steady::{Label, Why};
use octavo_experiment::findings::{
    CellFindings, CellStability, Findings, GroupFindings, NotSteady,
};

use crate::{
    naming,
    number::{number, percent, seconds, time},
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
    let sentence = format!(
        "much less stable with {} than with {}: {}.",
        own.with_noun(),
        naming::reference_in_full(findings, group),
        parts.join(", ")
    );
    naming::with(&group.name, &sentence)
}

fn more_varied(own: &CellStability, reference: &CellStability) -> Option<String> {
    let comparable = own.window_s <= reference.window_s * SAME_WINDOW
        && reference.window_s <= own.window_s * SAME_WINDOW;
    (comparable
        && own.variation >= VARIATION_MATTERS
        && own.variation >= LESS_STABLE * reference.variation)
        .then(|| {
            format!(
                "throughput varies by {} instead of {} (windows of {})",
                percent(own.variation),
                percent(reference.variation),
                seconds(own.window_s)
            )
        })
}

fn longer_stalls(own: &CellStability, reference: &CellStability) -> Option<String> {
    (own.stall_s >= STALL_MATTERS_S && own.stall_s >= LESS_STABLE * reference.stall_s).then(|| {
        format!(
            "longest gap between commits {} instead of {}",
            stall(own.stall_s),
            stall(reference.stall_s)
        )
    })
}

/// A gap between commits.
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
        Label::NotJudged => "not tested for being steady".into(),
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
