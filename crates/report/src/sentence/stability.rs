//! How even throughput was.

use octavo_driver::steady::{Label, Why};
use octavo_experiment::findings::{CellFindings, CellStability, Findings, GroupFindings};

use crate::{
    naming,
    number::{number, percent, seconds, time},
};

/// A cell is called much less stable from so many times the reference's
/// variation on: below it, two halves of one experiment differ as much.
const LESS_STABLE: f64 = 2.0;
/// … if it is at least this: nobody notices less.
const VARIATION_MATTERS: f64 = 0.05;
/// … or from stalls on that are so long, and as many times the reference's.
const STALL_MATTERS_S: f64 = 1.0;

/// Cells that are much less stable than the reference of their group.
pub(crate) fn stability(findings: &Findings) -> Vec<String> {
    let groups = naming::groups(findings).into_iter();
    groups
        .flat_map(|group| less_stable(findings, group))
        .collect()
}

fn less_stable(findings: &Findings, group: &GroupFindings) -> Vec<String> {
    let reference = naming::reference_cell(group);
    let Some(reference) = reference.and_then(|cell| cell.stability) else {
        return Vec::new();
    };
    let said = |cell: &CellFindings| {
        let own = cell.stability.filter(|_| !cell.reference)?;
        let parts = worse(&own, &reference);
        let level = naming::own_level(findings, cell);
        let sentence = format!(
            "much less stable with {} than with {}: {}.",
            level.with_noun(),
            naming::reference_in_full(findings, group),
            parts.join(", ")
        );
        (!parts.is_empty()).then(|| naming::with(&group.name, &sentence))
    };
    group.cells.iter().filter_map(said).collect()
}

/// In what it is worse.
fn worse(own: &CellStability, reference: &CellStability) -> Vec<String> {
    let mut parts = Vec::new();
    if own.variation >= VARIATION_MATTERS && own.variation >= LESS_STABLE * reference.variation {
        parts.push(format!(
            "throughput varies by {} instead of {}",
            percent(own.variation),
            percent(reference.variation)
        ));
    }
    if own.longest_s >= STALL_MATTERS_S && own.longest_s >= LESS_STABLE * reference.longest_s {
        parts.push(format!(
            "slowest transaction {} instead of {}",
            stall(own.longest_s),
            stall(reference.longest_s)
        ));
    }
    parts
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
            Why::Uneven { variation } => {
                format!("varies by {} between windows", percent(variation))
            }
        },
    }
}

#[cfg(test)]
mod tests {
    use octavo_driver::steady::Why as Unsteady;

    use super::*;
    use crate::fixture;

    #[test]
    fn unstable_page_size_is_named() {
        let mut findings = fixture::one_memory();
        assert_eq!(
            stability(&findings),
            [
                "Much less stable with 64 KiB pages than with the default 4 KiB: throughput varies \
                 by 21% instead of 6.4%, slowest transaction 2.60 s instead of 31.0 ms."
            ]
        );
        let unstable = findings.groups[0].cells[4].stability.as_mut().unwrap();
        (unstable.variation, unstable.longest_s) = (0.1, 0.05);
        assert!(stability(&findings).is_empty());
        assert!(stability(&fixture::empty()).is_empty());
    }

    #[test]
    fn runs_that_were_not_steady_have_a_reason() {
        let because = |why| super::why(Label::NotSteady { why });
        assert_eq!(because(Unsteady::StillWarming), "still warming up");
        assert!(why(Label::NotJudged).starts_with("not tested"));
        let uneven = Unsteady::Uneven { variation: 0.49 };
        assert_eq!(because(uneven), "varies by 49% between windows");
        assert_eq!(
            because(Unsteady::Drift { change: -0.18 }),
            "drifts down by 18%"
        );
        assert_eq!(
            because(Unsteady::Shift {
                change: 0.25,
                at_s: 14.2
            }),
            "jumps up by 25% after 14 s"
        );
        assert_eq!(
            why(Label::Periodic { period_s: 12.34 }),
            "periodic, every 12.3 s"
        );
    }
}
