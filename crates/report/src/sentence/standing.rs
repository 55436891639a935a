//! How cells compare with their reference: as a word in tables and charts, and
//! all of them in the line of progress.

use octavo_experiment::{
    findings::{CellFindings, Findings, Fleet, HostFindings},
    lockstep::{Candidate, DepartureReason, Group, GroupJudgement, Judgement},
    plan::{Factor, Plan},
    statistics::{Decision, Interval},
};

use crate::{
    document::{Cell, Tone},
    naming,
    number::{counted, is_bounded, join, list, share_of_change, signed},
};

/// A decision as a word, toned: `likely` counts where the decision is open, and nothing is
/// close where the ratio has no interval yet.
/// `reference` is what the reference is called, of the reference.
pub(crate) fn standing(
    decision: Option<Decision>,
    ratio: Option<Interval>,
    likely: Option<Decision>,
    reference: Option<&'static str>,
) -> Cell {
    use Decision::{Better, Equivalent, Open, Worse};
    let (word, tone) = match (reference, decision, likely) {
        (Some(name), ..) => (name, Tone::Plain),
        (_, Some(Better), _) => ("faster", Tone::Good),
        (_, Some(Worse), _) => ("slower", Tone::Bad),
        (_, Some(Equivalent), _) => ("no difference", Tone::Plain),
        (_, Some(Open), Some(Better)) => ("likely faster", Tone::Open),
        (_, Some(Open), Some(Worse)) => ("likely slower", Tone::Open),
        (_, Some(Open), _) if !ratio.is_some_and(|ratio| is_bounded(&ratio)) => {
            ("not known yet", Tone::Open)
        }
        (_, Some(Open), _) => ("too close to call", Tone::Open),
        (_, None, _) => ("not measured", Tone::Plain),
    };
    Cell::toned(word, tone)
}

/// The same of a cell, whose reference has this name.
pub(crate) fn standing_of(
    findings: &Findings,
    cell: &CellFindings,
    reference: Option<&'static str>,
) -> Cell {
    match on_few_hosts(findings, cell) {
        // Others have it without the reference.
        Some(hosts) if hosts < hosts_with(findings, cell) => {
            let hosts = counted(hosts, "host");
            Cell::toned(format!("compared on {hosts}, not decided"), Tone::Open)
        }
        Some(hosts) => Cell::toned(measured_on(hosts), Tone::Open),
        // No host has it and the reference.
        None if !cell.reference && cell.decision.is_none() && hosts_with(findings, cell) > 0 => {
            Cell::toned("not compared", Tone::Open)
        }
        None => standing(cell.decision, cell.ratio, cell.likely, reference),
    }
}

/// That so few hosts measured something, which decides nothing.
pub(super) fn measured_on(hosts: usize) -> String {
    format!("measured on {}, not decided", counted(hosts, "host"))
}

/// On how many hosts a cell was compared, where these are too few for an interval over hosts.
pub(crate) fn on_few_hosts(findings: &Findings, cell: &CellFindings) -> Option<usize> {
    if cell.reference || cell.ratio.is_some() {
        return None;
    }
    let of = over_hosts(findings, cell)?;
    let hosts = of.by_host.iter().filter(|of| of.ratio.is_some()).count();
    (hosts > 0).then_some(hosts)
}

/// ` on 4 of 8 hosts`, of an interval over fewer hosts than there are; else nothing.
pub(crate) fn on_hosts(findings: &Findings, interval: &Interval) -> String {
    let fleet = findings.fleet.as_ref().filter(|_| findings.is_over_hosts());
    match fleet.map(Fleet::hosts) {
        Some(hosts) if interval.batches < hosts => {
            format!(" on {} of {}", interval.batches, counted(hosts, "host"))
        }
        _ => String::new(),
    }
}

/// How many hosts gave figures of a cell, of the first class; 0 where figures are not of hosts.
pub(crate) fn hosts_with(findings: &Findings, cell: &CellFindings) -> usize {
    let of = over_hosts(findings, cell);
    of.map_or(0, |of| {
        of.by_host
            .iter()
            .filter(|of| of.throughput.is_some())
            .count()
    })
}

/// What the hosts of the first class say of a cell, where figures are of hosts.
fn over_hosts<'a>(findings: &'a Findings, cell: &CellFindings) -> Option<&'a HostFindings> {
    let mut classes = findings.fleet.iter().flat_map(|fleet| &fleet.classes);
    let class = classes.next().filter(|class| class.is_over_hosts)?;
    let groups = findings.groups.iter().zip(&class.groups);
    let mut cells = groups.flat_map(|(group, of)| group.cells.iter().zip(&of.cells));
    cells
        .find(|(own, _)| own.cell == cell.cell)
        .map(|(_, of)| of)
}

/// Who is out and who leads in each group, for a line of progress:
/// `64 KiB out (-55%) · 2 KiB leads by 7% so far`.
pub fn standings(plan: &Plan, judgement: &Judgement) -> String {
    let cells = plan.cells();
    let groups = plan.groups();
    let said = groups.iter().zip(&judgement.groups).map(|(group, of)| {
        let name = |place: usize| match &cells[group.cells[place]] {
            // A number alone is no name.
            cell if plan.compare == Factor::Copy => cell.level(Factor::Copy).with_noun(),
            cell => naming::level_alone(plan, cell),
        };
        let is_bound = |place: usize| cells[group.cells[place]].database.is_bound();
        let standing = of_group(plan.margin, group, of, name, is_bound).join(" · ");
        match plan.group_name(&cells[group.cells[0]]) {
            name if name.is_empty() => standing,
            name => format!("{name}: {standing}"),
        }
    });
    join(said, " | ")
}

fn of_group(
    margin: f64,
    group: &Group,
    of: &GroupJudgement,
    name: impl Fn(usize) -> String,
    is_bound: impl Fn(usize) -> bool,
) -> Vec<String> {
    let candidates = || of.candidates.iter().enumerate();
    let out: Vec<String> = candidates()
        .filter_map(|(place, candidate)| {
            let why = match candidate.left?.why {
                DepartureReason::Slower => signed(candidate.ratio?.estimate),
                DepartureReason::Equal => "no difference".into(),
                DepartureReason::Behind { leader } => format!("behind {}", name(leader)),
                DepartureReason::NoResult if candidate.ratio.is_none() => "not measured".into(),
                DepartureReason::NoResult => "no result".into(),
            };
            Some(format!("{} out ({why})", name(place)))
        })
        .collect();
    let mut said = Vec::new();
    if !out.is_empty() {
        said.push(list(&out, "and"));
    }
    let is_live = |candidate: &Candidate| candidate.left.is_none();
    let estimate = |candidate: &Candidate| Some(candidate.ratio?.estimate);
    let live = candidates().filter(|&(place, candidate)| is_live(candidate) && !is_bound(place));
    let best = live
        .filter_map(|(place, candidate)| Some((place, estimate(candidate)?, candidate)))
        .max_by(|one, other| one.1.total_cmp(&other.1));
    let reference = name(group.reference);
    said.push(match best {
        _ if of.finished => match best {
            Some((place, ratio, candidate)) if candidate.decision == Some(Decision::Better) => {
                format!("{} wins by {}", name(place), gain(ratio))
            }
            _ if of.candidates.len() == 1 => format!("{reference} alone"),
            _ => format!("decided, keep {reference}"),
        },
        None if of.candidates.len() == 1 => format!("{reference} alone"),
        None => "nothing to compare yet".into(),
        // Nothing is certain before the end: what is better at one look may be open at the
        // next.
        Some((_, _, candidate)) if !candidate.ratio.is_some_and(|of| is_bounded(&of)) => {
            "too early to compare".into()
        }
        // What is within the margin is no difference.
        Some((place, ratio, _)) if ratio > 1.0 + margin => {
            format!("{} leads by {} so far", name(place), gain(ratio))
        }
        Some((place, ratio, _)) if ratio >= 1.0 / (1.0 + margin) => {
            format!("{reference} and {} are even so far", name(place))
        }
        Some(_) => format!("{reference} leads so far"),
    });
    said
}

/// `7%` of 1.07, `0.4%` of 1.004.
fn gain(ratio: f64) -> String {
    match signed(ratio).as_str() {
        "0%" => share_of_change(ratio - 1.0),
        more => more.trim_start_matches('+').to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use octavo_experiment::{
        lockstep::{Departure, Levels},
        statistics::Interval,
    };

    use super::*;
    use crate::fixture;

    fn candidate(estimate: f64, decision: Decision) -> Candidate {
        Candidate {
            ratio: Some(Interval {
                estimate,
                low: estimate * 0.9,
                high: estimate * 1.1,
                batches: 5,
            }),
            decision: Some(decision),
            ..Candidate::default()
        }
    }

    fn out(estimate: f64, why: DepartureReason) -> Candidate {
        Candidate {
            left: Some(Departure {
                sitting: 0,
                pass: 12,
                measured: Duration::from_secs(20),
                why,
            }),
            ..candidate(estimate, Decision::Worse)
        }
    }

    /// 2, 4 (the reference), 8, 16 and 64 KiB.
    fn judgement(others: [Candidate; 4], finished: bool) -> Judgement {
        let [two, eight, sixteen, last] = others;
        Judgement {
            passes: 12,
            measured: Duration::from_secs(20),
            screened: Vec::new(),
            groups: vec![GroupJudgement {
                candidates: vec![two, Candidate::default(), eight, sixteen, last],
                finished,
                young: None,
            }],
            levels: Levels::default(),
        }
    }

    #[test]
    fn line_of_progress_names_losers_and_the_leader() {
        let plan = fixture::one_memory().plan;
        let open = |estimate| candidate(estimate, Decision::Open);
        let unknown = |estimate: f64| Candidate {
            ratio: Some(Interval {
                estimate,
                low: 5e-13,
                high: 2e12,
                batches: 2,
            }),
            ..open(estimate)
        };
        let slow = || out(0.45, DepartureReason::Slower);
        for (others, finished, said) in [
            (
                [open(1.07), open(0.9), open(0.8), slow()],
                false,
                "64 KiB out (-55%) · 2 KiB leads by 7% so far",
            ),
            (
                [
                    open(0.97),
                    open(0.9),
                    out(1.0, DepartureReason::Equal),
                    slow(),
                ],
                false,
                "16 KiB out (no difference) and 64 KiB out (-55%) · 4 KiB leads so far",
            ),
            (
                [open(1.004), open(0.9), open(0.8), slow()],
                false,
                "64 KiB out (-55%) · 4 KiB and 2 KiB are even so far",
            ),
            (
                [open(1.02), open(0.9), open(0.8), slow()],
                false,
                "64 KiB out (-55%) · 4 KiB and 2 KiB are even so far",
            ),
            (
                [unknown(1.3), unknown(0.9), unknown(0.8), slow()],
                false,
                "64 KiB out (-55%) · too early to compare",
            ),
            (
                [
                    candidate(1.2, Decision::Better),
                    open(0.9),
                    open(0.8),
                    slow(),
                ],
                false,
                "64 KiB out (-55%) · 2 KiB leads by 20% so far",
            ),
            (
                [
                    candidate(1.12, Decision::Better),
                    out(1.05, DepartureReason::Behind { leader: 0 }),
                    slow(),
                    out(0.5, DepartureReason::NoResult),
                ],
                true,
                "8 KiB out (behind 2 KiB), 16 KiB out (-55%) and 64 KiB out (no result) · 2 KiB \
                 wins by 12%",
            ),
            (
                [slow(), slow(), slow(), out(0.45, DepartureReason::Equal)],
                true,
                "2 KiB out (-55%), 8 KiB out (-55%), 16 KiB out (-55%) and 64 KiB out (no \
                 difference) · decided, keep 4 KiB",
            ),
            (
                [(); 4].map(|()| Candidate::default()),
                false,
                "nothing to compare yet",
            ),
        ] {
            assert_eq!(standings(&plan, &judgement(others, finished)), said);
        }
    }

    #[test]
    fn nobody_wins_by_nothing() {
        let plan = fixture::one_memory().plan;
        let mut others = [(); 4].map(|()| out(0.45, DepartureReason::Slower));
        others[0] = candidate(1.004, Decision::Better);
        let said = standings(&plan, &judgement(others, true));
        assert!(said.ends_with("2 KiB wins by 0.4%"), "{said}");
    }

    #[test]
    fn groups_are_named_where_there_are_several() {
        let plan = fixture::findings().plan;
        let mut two = judgement([(); 4].map(|()| candidate(1.2, Decision::Better)), false);
        two.groups.push(two.groups[0].clone());
        assert_eq!(
            standings(&plan, &two),
            "8 MiB of memory: 64 KiB leads by 20% so far | 32 MiB of memory: 64 KiB leads by 20% \
             so far"
        );
    }

    #[test]
    fn likely_counts_where_nothing_is_decided() {
        let ratio = |low, high| Interval {
            estimate: 1.0,
            low,
            high,
            batches: 5,
        };
        let close = ratio(0.9, 1.1);
        let word = |decision, likely| standing(Some(decision), Some(close), likely, None).text;
        assert_eq!(
            word(Decision::Open, Some(Decision::Better)),
            "likely faster"
        );
        assert_eq!(word(Decision::Worse, Some(Decision::Better)), "slower");
        assert_eq!(word(Decision::Open, None), "too close to call");
        assert_eq!(standing(None, None, None, None).text, "not measured");
        for unknown in [None, Some(ratio(0.0, f64::INFINITY))] {
            let said = standing(Some(Decision::Open), unknown, None, None);
            assert_eq!(said.text, "not known yet");
        }
    }
}
