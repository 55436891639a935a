//! What the race saved, and who left it when.

use octavo_experiment::{
    findings::{CellFindings, Findings, GroupFindings},
    race::Why,
    verdict::Verdict,
};

use crate::{
    naming,
    number::{list, percent, rounds, seconds},
};

/// What leaving decided cells out saved; `None` in a full factorial and
/// before the first round.
pub(crate) fn saved(findings: &Findings) -> Option<String> {
    let saved = findings.saved?;
    let runs = |count: usize| {
        if count == 1 {
            "1 run".into()
        } else {
            format!("{count} runs")
        }
    };
    if saved.runs >= saved.full_runs {
        return Some(format!(
            "Racing made {}, as many as each cell in each round would have taken: nothing is saved \
             yet.",
            runs(saved.runs)
        ));
    }
    let share = 1.0 - saved.runs as f64 / saved.full_runs as f64;
    Some(format!(
        "Racing made {} where each cell in {} would have taken {}: {} fewer, about {} saved.",
        runs(saved.runs),
        match findings.rounds {
            1 => "the one round".into(),
            count => format!("each of the {count} rounds"),
        },
        saved.full_runs,
        percent(share),
        roughly(saved.seconds)
    ))
}

/// An estimated time without needless digits: whole minutes from ten on.
fn roughly(time_s: f64) -> String {
    if time_s >= 600.0 {
        seconds((time_s / 60.0).round() * 60.0)
    } else {
        seconds(time_s)
    }
}

/// When and why a cell left the race: `out after 5 rounds: worse`. `None`
/// while it runs.
pub(crate) fn left(group: &GroupFindings, cell: &CellFindings) -> Option<String> {
    let (after, why) = (cell.left_after?, cell.left?);
    Some(format!(
        "out after {}: {}",
        rounds(after),
        reason(group, why)
    ))
}

fn reason(group: &GroupFindings, why: Why) -> String {
    match why {
        Why::Worse => "worse".into(),
        Why::Equivalent => "no difference".into(),
        Why::Behind { leader } => group.cells.get(leader).map_or_else(
            || "behind the leader".into(),
            |cell| format!("behind {}", naming::cell(cell)),
        ),
        Why::NotConfirmed => "led, not confirmed".into(),
        Why::NoFinalLeft => "better, no final left".into(),
        Why::NoResult => "no result".into(),
    }
}

/// All that left, in one sentence for where a table has no room; `None` when
/// nothing did.
pub(crate) fn all_left(group: &GroupFindings) -> Option<String> {
    let left: Vec<String> = group
        .cells
        .iter()
        .filter_map(|cell| {
            let (after, why) = (cell.left_after?, cell.left?);
            Some(format!(
                "{} after {} ({})",
                naming::cell(cell),
                rounds(after),
                reason(group, why)
            ))
        })
        .collect();
    (!left.is_empty()).then(|| format!("Out of the race: {}.", list(&left, "and")))
}

/// A cell's place in the race, for a table.
pub(crate) fn place(findings: &Findings, group: &GroupFindings, cell: &CellFindings) -> String {
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
    let parts: Vec<String> = title
        .map(str::to_owned)
        .into_iter()
        .chain(left(group, cell))
        .collect();
    match parts.as_slice() {
        [] if cell.reference => "compared with".into(),
        [] => "in".into(),
        _ => parts.join(", "),
    }
}
