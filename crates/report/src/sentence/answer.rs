//! What to do in each group, and why.

use std::time::Duration;

use octavo_experiment::{
    findings::{CellFindings, Findings, GroupFindings},
    plan::{Factor, Level},
    race::Why,
    statistics::Interval,
    verdict::Verdict,
};

use crate::{
    naming,
    number::{change, change_interval, counted, estimate, is_bounded, list, percent},
};

/// What to do in one group, and what says so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    /// A sentence.
    pub(crate) what: String,
    /// Sentences; empty where nothing was measured.
    pub(crate) why: String,
}

impl Answer {
    /// Both as one text.
    pub(crate) fn text(&self) -> String {
        format!("{} {}", self.what, self.why).trim_end().to_owned()
    }
}

/// What to do in one group.
pub(crate) fn answer(findings: &Findings, group: &GroupFindings) -> Answer {
    let (what, why) = if group.cells.len() < 2 {
        let only = naming::reference(findings, group);
        let only = only.map_or_else(|| "nothing".into(), |level| level.with_noun());
        (
            format!("only {only} was measured"),
            "There is nothing to compare.".into(),
        )
    } else if findings.plan.compare == Factor::Copy {
        of_copies(findings, group)
    } else {
        match &group.verdict {
            Verdict::Use {
                level,
                ratio,
                fresh,
                ties,
                ..
            } => (
                format!("use {}", level.with_noun()),
                gain(findings, group, ratio, *fresh) + &tied(ties),
            ),
            Verdict::Keep { .. } => (
                format!("keep {}", naming::reference_in_full(findings, group)),
                kept(findings, group),
            ),
            Verdict::Inconclusive { .. } => {
                ("no clear winner yet".into(), undecided(findings, group))
            }
        }
    };
    Answer {
        what: naming::with(&group.name, &format!("{what}.")),
        why: naming::capital(&why),
    }
}

fn gain(findings: &Findings, group: &GroupFindings, ratio: &Interval, fresh: bool) -> String {
    // 8 clients: more than "with 1 client"; 8 KiB: more than "the default".
    let with = match naming::default_page_size(findings, group) {
        Some(_) => "",
        None => "with ",
    };
    format!(
        "{} {} than {with}{} ({}, {}).",
        change(ratio.estimate),
        naming::rate(findings),
        naming::reference_in_full(findings, group),
        change_interval(ratio),
        counted(ratio.rounds, if fresh { "fresh round" } else { "round" }),
    )
}

fn tied(ties: &[Level]) -> String {
    if ties.is_empty() {
        String::new()
    } else {
        format!(" Too close to call: {}.", naming::levels(ties, "and"))
    }
}

fn kept(findings: &Findings, group: &GroupFindings) -> String {
    let Verdict::Keep {
        equivalent,
        worse,
        not_confirmed,
        ..
    } = &group.verdict
    else {
        return String::new();
    };
    let margin = percent(findings.plan.margin);
    if equivalent.len() + 1 == group.cells.len() {
        return format!(
            "No difference above {margin}: {}.",
            naming::levels(equivalent, "and")
        );
    }
    let subject = match findings.plan.compare {
        Factor::PageSize => "No page size",
        _ => "Nothing else",
    };
    // What led and was not confirmed may still gain more: then no more is
    // claimed than that it was not shown.
    let bounded = not_confirmed.iter().all(|level| {
        let mut cells = group.cells.iter();
        cells
            .find(|cell| findings.plan.level(&cell.cell, findings.plan.compare) == *level)
            .and_then(|cell| cell.ratio)
            .is_some_and(|ratio| ratio.high <= 1.0 + findings.plan.margin)
    });
    let claim = if bounded {
        format!("{subject} gains more than {margin}.")
    } else {
        format!("{subject} was shown to be faster.")
    };
    let parts = [
        ("Slower", worse),
        ("No difference", equivalent),
        ("Led, not confirmed by fresh rounds", not_confirmed),
    ];
    parts
        .into_iter()
        .filter(|(_, levels)| !levels.is_empty())
        .fold(claim, |text, (label, levels)| {
            format!("{text} {label}: {}.", naming::levels(levels, "and"))
        })
}

/// Whether more rounds decide nothing in a group though it is not decided: all
/// have left, some of them for want of a result.
pub(crate) fn is_stuck(group: &GroupFindings) -> bool {
    let mut others = group.cells.iter().filter(|cell| !cell.reference);
    matches!(group.verdict, Verdict::Inconclusive { .. }) && others.all(|cell| cell.left.is_some())
}

/// `about 4 more rounds (about 3 min)`, at the mean time of a run so far.
fn more_rounds(findings: &Findings, more: usize) -> String {
    let is_open = |group: &&GroupFindings| matches!(group.verdict, Verdict::Inconclusive { .. });
    let open = findings.groups.iter().filter(is_open);
    let cells = open.flat_map(|group| &group.cells);
    let running = cells.filter(|cell| cell.left.is_none()).count();
    let run_s = findings.spent_s / findings.runs_done.max(1) as f64;
    let time = Duration::try_from_secs_f64(run_s * (running * more) as f64).unwrap_or_default();
    format!(
        "about {} (about {})",
        counted(more, "more round"),
        estimate(time)
    )
}

/// What is not decided, and what would decide it.
fn undecided(findings: &Findings, group: &GroupFindings) -> String {
    const REPEAT: &str = "Repeat the command with more time or rounds.";
    let Verdict::Inconclusive {
        open,
        leader,
        more_rounds: more,
    } = &group.verdict
    else {
        return String::new();
    };
    let reference = naming::reference_in_full(findings, group);
    let open = naming::levels(open, "and");
    let ratios = || group.cells.iter().filter_map(|cell| cell.ratio);
    let known = ratios().map(|ratio| ratio.rounds).max().unwrap_or(0);
    let bounded = ratios().any(|ratio| is_bounded(&ratio));
    match (leader.as_ref().map(naming::level), *more) {
        _ if is_stuck(group) => {
            let unknown: Vec<String> = group
                .cells
                .iter()
                .filter(|cell| cell.left == Some(Why::NoResult))
                .map(|cell| naming::cell(findings, cell))
                .collect();
            format!(
                "No run of {} gave a result. Nothing else was shown to be faster than {reference}.",
                list(&unknown, "or"),
            )
        }
        (Some(leader), Some(count)) => format!(
            "{leader} leads, not confirmed yet. {} would show whether it is faster than \
             {reference}. {REPEAT}",
            naming::capital(&more_rounds(findings, count)),
        ),
        (Some(leader), None) => format!("{leader} leads, not confirmed yet. {REPEAT}"),
        (None, Some(count)) => format!(
            "{} would settle it between {reference} and {open}. {REPEAT}",
            more_rounds(findings, count),
        ),
        (None, None) if without_reference(group) => format!(
            "No run of {reference} gave a figure, so nothing can be compared with it. See the \
             warnings."
        ),
        (None, None) if known == 0 => {
            "No finished runs to compare. Repeat the command: it resumes where it stopped.".into()
        }
        (None, None) if !bounded => format!(
            "No interval between {reference} and {open} from {}. {REPEAT}",
            counted(known, "round")
        ),
        (None, None) => format!(
            "{reference} and {open} vary too much from round to round, or too few rounds \
             succeeded. A quieter machine helps more than more rounds."
        ),
    }
}

/// Whether others have runs and the reference has none.
fn without_reference(group: &GroupFindings) -> bool {
    let measured = |cell: &CellFindings| !cell.throughput_per_minute.is_empty();
    group.cells.iter().any(measured)
        && !group
            .cells
            .iter()
            .any(|cell| cell.reference && measured(cell))
}

/// Equal cells: what differs between them, nothing but chance may explain.
fn of_copies(findings: &Findings, group: &GroupFindings) -> (String, String) {
    const FAULT: &str = "All copies are the same, so the machine or the method is at fault, or \
                         rarely chance.";
    let first = naming::reference_in_full(findings, group);
    let all = match group.cells.as_slice() {
        [one, .., last] => format!(
            "copies {} to {}",
            naming::cell(findings, one),
            naming::cell(findings, last)
        ),
        _ => "the copies".into(),
    };
    match &group.verdict {
        Verdict::Use {
            level,
            ratio,
            fresh,
            ..
        } => (
            format!("{} is faster than {first}", naming::level(level)),
            format!("{} {FAULT}", gain(findings, group, ratio, *fresh)),
        ),
        Verdict::Keep {
            worse,
            not_confirmed,
            ..
        } => match (worse.as_slice(), not_confirmed.as_slice()) {
            ([], []) => (
                format!("{all} are equivalent"),
                format!(
                    "Chance causes less than {} here.",
                    percent(findings.plan.margin)
                ),
            ),
            ([], led) => (
                format!("{all} do not differ"),
                format!(
                    "Led, not confirmed by fresh rounds: {}.",
                    naming::levels(led, "and")
                ),
            ),
            (slower, _) => (
                format!("slower than {first}: {}", naming::levels(slower, "and")),
                FAULT.into(),
            ),
        },
        Verdict::Inconclusive { .. } => (
            format!("not decided yet whether {all} differ"),
            undecided(findings, group),
        ),
    }
}
