//! How far an answer can be trusted, and what limits that.

use octavo_experiment::{
    caveats::{Caveat, Severity},
    confidence::{Confidence, ConfidenceLevel, ConfidenceLimit, advised, is_repeated},
    findings::{Findings, GroupFindings},
    verdict::Verdict,
};

use super::{Answer, on_hosts, place::counted_passes};
use crate::{
    naming,
    number::{self, counted, ends, join, list, percent},
};

/// How much to trust the answer: what a person risks who follows it, and why.
pub(crate) fn confidence(findings: &Findings) -> Option<Answer> {
    let Confidence { trust, doubts } = octavo_experiment::confidence::confidence(findings)?;
    let level = match trust {
        ConfidenceLevel::PredictedOnly => ": predicted only",
        ConfidenceLevel::Low => " low",
        ConfidenceLevel::Medium => " medium",
        ConfidenceLevel::High => " high",
    };
    let why = match doubts.as_slice() {
        [] => format!(
            "decided by {}; nothing else can be more than {} faster.",
            basis(findings),
            percent(findings.plan.margin)
        ),
        [only] => reason(findings, only),
        [first, others @ ..] => {
            let others = others
                .iter()
                .map(|of| naming::capital(&reason(findings, of)));
            let first = match first {
                // With another reason beside it, not all is decided.
                ConfidenceLimit::Caveat { severity } => of_warnings(findings, *severity),
                other => reason(findings, other),
            };
            join([first].into_iter().chain(others), " ")
        }
    };
    Some(Answer::new(&format!("confidence{level}"), why))
}

/// What figures say, as `88 passes in 2 sittings`.
fn basis(findings: &Findings) -> String {
    let all = all_passes(findings);
    match fewest_passes(findings) {
        Some((group, passes)) => format!("{all},{} by {passes}", with_memory(group)),
        None => all,
    }
}

/// `86 of 88 passes in 2 sittings`, of the group with most.
fn all_passes(findings: &Findings) -> String {
    let hosts = findings.fleet.as_ref().filter(|_| findings.is_over_hosts());
    let hosts = hosts.map(|fleet| format!(" on {}", counted(fleet.hosts(), "host")));
    format!(
        "{} in {}{}",
        counted_passes(findings),
        counted(findings.sittings, "sitting"),
        hosts.unwrap_or_default()
    )
}

/// The group that was decided earliest, with the passes that decided it as `34 of 36`: where
/// others have more.
fn fewest_passes(findings: &Findings) -> Option<(&str, String)> {
    let decided = findings.groups.iter().filter_map(|group| {
        let reference = group.cells.iter().find(|cell| cell.reference)?;
        // The reference is measured on beside cells that are still open.
        let advised = advised(group).map_or(reference.passes_counted, |of| of.passes_counted);
        Some((
            group,
            reference.passes,
            advised.min(reference.passes_counted),
        ))
    });
    let (group, passes, counted) = decided.min_by_key(|(_, _, counted)| *counted)?;
    let fewer = passes < findings.passes && !group.name.is_empty();
    fewer.then(|| (group.name.as_str(), format!("{counted} of {passes}")))
}

/// What the worst warnings do to the answer.
fn of_warnings(findings: &Findings, severity: Severity) -> String {
    let (least, what) = match severity {
        Severity::Void | Severity::Choice => (Severity::Choice, "the answer"),
        Severity::Amount | Severity::Note => (Severity::Amount, "by how much"),
    };
    let all = findings.caveats.iter();
    let count = all.filter(|caveat| caveat.severity() >= least).count();
    let first = match count {
        0 | 1 => "the first warning".into(),
        count => format!("the first {count} warnings"),
    };
    format!("{first} may change {what}.")
}

/// Why confidence is not higher.
fn reason(findings: &Findings, doubt: &ConfidenceLimit) -> String {
    let based = basis(findings);
    match doubt {
        ConfidenceLimit::Models => {
            let is_measurable = |caveat: &Caveat| matches!(caveat, Caveat::Predicted);
            let is_open =
                |group: &GroupFindings| matches!(group.verdict, Verdict::Inconclusive { .. });
            let is_to_be_measured =
                findings.groups.iter().any(is_open) && findings.caveats.iter().any(is_measurable);
            let measure = match is_to_be_measured && !naming::is_of_policies(findings) {
                true => " octavo advise on that storage decides.",
                false => "",
            };
            format!("a model of the database on a model of the storage.{measure}")
        }
        ConfidenceLimit::Caveat { severity } => match severity {
            Severity::Void | Severity::Choice => of_warnings(findings, *severity),
            Severity::Amount | Severity::Note => {
                format!("decided by {based}; {}", of_warnings(findings, *severity))
            }
        },
        ConfidenceLimit::TooFew => format!("an interval is not known yet, after {based}."),
        ConfidenceLimit::Open {
            group: name,
            level,
            ratio,
            stake,
        } => {
            let with = with_memory(name);
            let mut groups = findings.groups.iter();
            let group = groups.find(|group| group.name == *name);
            // Its ratio to the reference is in the first table, the one to another not.
            let winner = group.and_then(advised).filter(|of| !of.reference);
            let than = winner.map_or_else(String::new, |winner| {
                format!(
                    " than {} (compared directly {}{}, 95% CI {})",
                    naming::level(&naming::own_level(findings, winner)),
                    number::ratio(ratio.estimate),
                    on_hosts(findings, ratio),
                    ends(ratio, number::ratio)
                )
            });
            format!(
                "{} may still be up to {} faster{than}{with}, after {based}.",
                naming::level(level),
                percent(*stake)
            )
        }
        ConfidenceLimit::Sitting {
            group,
            level,
            sitting,
            stake,
        } => {
            let with = with_memory(group);
            format!(
                "{} was {} faster{with} than what is advised in sitting {sitting} of {}, after {} \
                 in all.",
                naming::level(level),
                percent(*stake),
                findings.sittings,
                counted_passes(findings),
            )
        }
        ConfidenceLimit::OneSitting => {
            let groups = naming::groups(findings).into_iter();
            let once = groups.filter(|group| group.cells.len() > 1 && !is_repeated(group));
            let once: Vec<&str> = once.map(|group| group.name.as_str()).collect();
            let with = with_memory(&list(&once, "and"));
            match (findings.sittings, fewest_passes(findings)) {
                (..=1, _) => {
                    format!(
                        "decided by {based}. A second sitting would show what fresh copies change."
                    )
                }
                (_, fewest) => {
                    let by = match fewest {
                        Some((group, passes)) if once == [group] => format!(" by {passes}"),
                        _ => String::new(),
                    };
                    format!(
                        "decided by {}, but{with}{by} in one alone. More would show what fresh \
                         copies change.",
                        all_passes(findings)
                    )
                }
            }
        }
    }
}

/// ` with 8 MiB of memory`; nothing where there is one group, which has no name.
fn with_memory(groups: &str) -> String {
    match groups {
        "" => String::new(),
        groups => format!(" with {groups}"),
    }
}

#[cfg(test)]
mod tests {
    use octavo_experiment::{
        plan::Level,
        statistics::{Decision, Interval},
    };
    use octavo_units::PageSize;

    use super::*;
    use crate::fixture::{self, stores};

    #[test]
    fn confidence_says_what_is_at_stake() {
        let text = |findings: &Findings| confidence(findings).unwrap().text();
        let mut findings = fixture::one_memory();
        findings.caveats.clear();
        assert_eq!(
            text(&findings),
            "CONFIDENCE HIGH: decided by 81 of 88 passes in 2 sittings; nothing else can be more than \
             3% faster."
        );
        let mut open = |high: f64, margin: f64| {
            let level = Level::PageSize(PageSize::kib(2));
            findings.plan.margin = margin;
            findings.groups[0].cells[0].ratio = Some(Interval {
                estimate: 1.01,
                low: 0.98,
                high,
                batches: 9,
            });
            for cell in &mut findings.groups[0].cells {
                // No sitting says anything against the answer.
                for (_, ratio) in &mut cell.by_sitting {
                    (ratio.low, ratio.high) = (0.1, 10.0);
                }
            }
            findings.groups[0].verdict = Verdict::Inconclusive {
                open: vec![level],
                leader: None,
                more_s: None,
            };
            text(&findings)
        };
        assert!(open(1.02, 0.03).starts_with("CONFIDENCE HIGH"));
        assert_eq!(
            open(1.05, 0.03),
            "CONFIDENCE MEDIUM: 2 KiB may still be up to 5% faster, after 81 of 88 passes in 2 \
             sittings."
        );
        assert!(
            open(1.15, 0.03).starts_with("CONFIDENCE LOW: 2 KiB may still be up to 15% faster")
        );
        assert!(open(1.15, 0.2).starts_with("CONFIDENCE HIGH"));
        assert!(open(f64::INFINITY, 0.03).starts_with("CONFIDENCE LOW: an interval is not known"));
    }

    #[test]
    fn what_may_beat_the_winner_has_the_interval_that_says_so() {
        let mut findings = fixture::one_memory();
        findings.caveats.clear();
        let level = Level::PageSize(PageSize::kib(16));
        let Verdict::Use { open, .. } = &mut findings.groups[0].verdict else {
            panic!("8 KiB wins");
        };
        open.push(level);
        let cell = &mut findings.groups[0].cells[3];
        (cell.left, cell.decision, cell.likely) = (None, Some(Decision::Open), None);
        // Nobody knows how it stands to the default, which had moods of its own.
        cell.ratio = Some(Interval {
            estimate: 1.442,
            low: 0.369,
            high: 5.643,
            batches: 6,
        });
        cell.over_advised = Some(Interval {
            estimate: 0.912,
            low: 0.73,
            high: 1.14,
            batches: 6,
        });
        assert_eq!(
            confidence(&findings).unwrap().text(),
            "CONFIDENCE LOW: 16 KiB may still be up to 14% faster than 8 KiB (compared \
             directly 0.912, 95% CI 0.730 to 1.140), after 81 of 88 passes in 2 sittings."
        );
        let page = crate::experiment::findings(&findings).verbose(200, false);
        let page = page.replace('\u{a0}', " ");
        let row = page
            .lines()
            .filter(|line| line.contains("may be faster than 8 KiB"));
        assert_eq!(row.count(), 2, "{page}");
        let cell = page.matches("0.912 (0.730 to 1.140)").count();
        assert_eq!(cell, 1, "{page}");
    }

    #[test]
    fn a_warning_hides_no_other_reason() {
        let mut findings = fixture::one_memory();
        findings.caveats = vec![Caveat::PageCache { runs: 4, of: 12 }];
        findings.groups[0].cells[0].ratio = None;
        findings.groups[0].verdict = Verdict::Inconclusive {
            open: vec![Level::PageSize(PageSize::kib(2))],
            leader: None,
            more_s: None,
        };
        assert_eq!(
            confidence(&findings).unwrap().text(),
            "CONFIDENCE LOW: the first warning may change the answer. An interval is not known \
             yet, after 81 of 88 passes in 2 sittings."
        );
    }

    #[test]
    fn a_sitting_against_the_answer_is_named() {
        let mut findings = fixture::one_memory();
        findings.caveats.clear();
        let winner = &mut findings.groups[0].cells[2];
        let of = |estimate: f64| Interval {
            estimate,
            low: estimate / 1.01,
            high: estimate * 1.01,
            batches: 9,
        };
        winner.by_sitting = vec![(0, of(1.2)), (1, of(0.96))];
        assert_eq!(
            confidence(&findings).unwrap().text(),
            "CONFIDENCE MEDIUM: 4 KiB was 4.2% faster than what is advised in sitting 2 of 2, \
             after 81 of 88 passes in all."
        );
    }

    #[test]
    fn a_group_that_was_compared_in_one_sitting_is_named() {
        let mut findings = fixture::findings();
        findings.caveats.clear();
        let text = |findings: &Findings| confidence(findings).unwrap().text();
        for cell in &mut findings.groups[1].cells {
            cell.by_sitting.truncate(1);
        }
        let said = text(&findings);
        let name = findings.groups[1].name.clone();
        assert!(
            said.contains(&format!("2 sittings, but with {name} in one alone.")),
            "{said}"
        );
        // Decided early, so that it has fewer passes than others; the reference went on.
        for cell in &mut findings.groups[1].cells {
            cell.passes = 40;
            cell.passes_counted = if cell.reference { 39 } else { 38 };
        }
        let said = text(&findings);
        assert!(
            said.contains(&format!(
                "2 sittings, but with {name} by 38 of 40 in one alone."
            )),
            "{said}"
        );
        findings.sittings = 1;
        assert!(
            text(&findings).contains("in 1 sitting, with")
                && text(&findings).contains("A second sitting would"),
            "{}",
            text(&findings)
        );
    }

    #[test]
    fn confidence_of_unlucky_stores_has_their_reason() {
        let text = |findings: Findings| confidence(&findings).map(|answer| answer.text());
        assert_eq!(
            text(stores::screened()).unwrap(),
            "CONFIDENCE LOW: the first 2 warnings may change the answer."
        );
        assert_eq!(
            text(stores::few_passes()).unwrap(),
            "CONFIDENCE LOW: an interval is not known yet, after 7 of 8 passes in 1 sitting."
        );
        assert!(
            text(stores::one_sitting()).unwrap().starts_with(
                "CONFIDENCE MEDIUM: decided by 81 of 88 passes in 1 sitting. A second"
            )
        );
        assert_eq!(text(stores::one_cell()), None);
        assert_eq!(text(fixture::empty()), None);
    }
}
