//! How even throughput was.

use octavo_driver::steady::{Label, UnsteadyReason};
use octavo_experiment::{
    findings::{CellFindings, Findings, GroupFindings},
    statistics::Variation,
};

use crate::{
    naming,
    number::{UNKNOWN, number, percent, seconds, time},
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
    let Some(reference) = naming::reference_cell(group) else {
        return Vec::new();
    };
    let rivals = group.cells.len().saturating_sub(1);
    let name = naming::reference_in_full(findings, group);
    let said = |cell: &CellFindings| {
        let (own, usual) = (cell.stability?, reference.stability?);
        let level = naming::own_level(findings, cell).with_noun();
        let is_stalled =
            own.longest_s >= STALL_MATTERS_S && own.longest_s >= LESS_STABLE * usual.longest_s;
        let stalls = [own.longest_s, usual.longest_s].map(stall);
        let sentence = match varies_more(cell, reference, rivals) {
            true => {
                let mut parts = vec![format!(
                    "throughput varies by {} instead of {}",
                    own.variation.map_or_else(|| UNKNOWN.into(), percent),
                    usual.variation.map_or_else(|| UNKNOWN.into(), percent)
                )];
                if is_stalled {
                    let [own, usual] = stalls;
                    parts.push(format!("slowest transaction {own} instead of {usual}"));
                }
                format!(
                    "much less stable with {level} than with {name}: {}.",
                    parts.join(", ")
                )
            }
            // One transaction says nothing of how even the others are.
            false if is_stalled => {
                let [own, usual] = stalls;
                format!("slowest transaction {own} with {level}, {usual} with {name}.")
            }
            false => return None,
        };
        Some(naming::with(&group.name, &sentence))
    };
    let others = group.cells.iter().filter(|cell| !cell.reference);
    others.filter_map(said).collect()
}

/// Whether throughput varies so much more between batches that it matters and that chance
/// does not explain it.
fn varies_more(cell: &CellFindings, reference: &CellFindings, rivals: usize) -> bool {
    let of = |cell: &CellFindings| {
        Some(Variation {
            of_mean: cell.stability?.variation?,
            values: cell.batches.len(),
        })
    };
    let (Some(own), Some(usual)) = (of(cell), of(reference)) else {
        return false;
    };
    own.of_mean >= VARIATION_MATTERS
        && own.of_mean >= LESS_STABLE * usual.of_mean
        && own.is_above(&usual, rivals)
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
    // Of the level before: a fall is by 100% at most. From nothing, no share tells a rise.
    let by = |change: f64, before: f64| match change {
        _ if change > 0.0 && before <= 0.0 => "up from nothing".to_owned(),
        _ if change > 0.0 => format!("up by {}", percent(change / before)),
        _ => format!("down by {}", percent((-change / before).clamp(0.0, 1.0))),
    };
    match label {
        Label::Steady => "steady".into(),
        Label::Periodic { period_s } => format!("periodic, every {} s", number(period_s)),
        Label::NotJudged => "not tested for being steady".into(),
        Label::NotSteady { why } => match why {
            UnsteadyReason::StillWarming => "still warming up".into(),
            // From half of it below the mean to half of it above.
            UnsteadyReason::Drift { change } => {
                format!("drifts {}", by(change, 1.0 - change / 2.0))
            }
            UnsteadyReason::Shift {
                change,
                before,
                at_s,
            } => {
                let jump = match before {
                    Some(before) => by(change, before),
                    // Of stores that have the share of the mean alone.
                    None => format!("{} of the mean", by(change, 1.0)),
                };
                format!("jumps {jump} after {}", seconds(at_s))
            }
            UnsteadyReason::Uneven { variation } => {
                format!("varies by {} between windows", percent(variation))
            }
        },
    }
}

#[cfg(test)]
mod tests {
    use octavo_driver::steady::UnsteadyReason as Unsteady;

    use super::*;
    use crate::fixture;

    #[test]
    fn unstable_page_size_is_named() {
        let mut findings = fixture::one_memory();
        assert_eq!(
            stability(&findings),
            [
                "Much less stable with 64 KiB pages than with the default 4 KiB: throughput varies \
                 by 41% instead of 6.4%, slowest transaction 2.60 s instead of 31.0 ms."
            ]
        );
        // Chance explains as much in two batches.
        let cells = &mut findings.groups[0].cells;
        for cell in cells.iter_mut() {
            cell.batches.truncate(2);
        }
        assert_eq!(
            stability(&findings),
            ["Slowest transaction 2.60 s with 64 KiB pages, 31.0 ms with the default 4 KiB."]
        );
        let mut findings = fixture::one_memory();
        let unstable = findings.groups[0].cells[4].stability.as_mut().unwrap();
        (unstable.variation, unstable.longest_s) = (Some(0.1), 0.05);
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
            because(Unsteady::Drift { change: -0.2 }),
            "drifts down by 18%"
        );
        let shift = |change, before| {
            because(Unsteady::Shift {
                change,
                before,
                at_s: 14.2,
            })
        };
        assert_eq!(shift(0.25, Some(0.5)), "jumps up by 50% after 14 s");
        // Of the mean, this fall is by more than all of it.
        assert_eq!(shift(-1.04, Some(1.3)), "jumps down by 80% after 14 s");
        assert_eq!(shift(1.1, Some(0.0)), "jumps up from nothing after 14 s");
        assert_eq!(
            shift(-0.3, None),
            "jumps down by 30% of the mean after 14 s"
        );
        for change in [-2.0, -1.0, -0.5, 0.5, 1.9, 2.0] {
            let said = because(Unsteady::Drift { change });
            assert!(change > 0.0 || !said.contains("200%"), "{said}");
        }
        assert_eq!(
            because(Unsteady::Drift { change: -2.0 }),
            "drifts down by 100%"
        );
        assert_eq!(
            why(Label::Periodic { period_s: 12.34 }),
            "periodic, every 12.3 s"
        );
    }
}
