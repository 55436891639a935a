//! What to do in each group, and what to type for it.

use octavo_experiment::{
    findings::{CellFindings, Findings, GroupFindings},
    plan::{Factor, Level},
    race::Why,
    statistics::Interval,
    verdict::Verdict,
};

use crate::{
    naming,
    number::{change, change_interval, is_bounded, list, percent, rounds},
};

/// What to do in one group.
pub(crate) fn answer(findings: &Findings, group: &GroupFindings) -> String {
    let sentence = if group.cells.len() < 2 {
        nothing_to_compare(findings, group)
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
            } => change_to(findings, group, level, ratio, *fresh, ties),
            Verdict::Keep { .. } => keep(findings, group),
            Verdict::Inconclusive { .. } => {
                format!("inconclusive: {}", undecided(findings, group))
            }
        }
    };
    if group.name.is_empty() {
        naming::capital(&sentence)
    } else {
        format!("With {}: {sentence}", group.name)
    }
}

fn nothing_to_compare(findings: &Findings, group: &GroupFindings) -> String {
    match naming::reference(findings, group) {
        Some(Level::PageSize(size)) => format!(
            "only page_size {} was measured, so there is nothing to compare.",
            size.get()
        ),
        Some(level) => format!(
            "only {} was measured, so there is nothing to compare.",
            level.with_noun()
        ),
        None => "nothing was measured.".into(),
    }
}

fn change_to(
    findings: &Findings,
    group: &GroupFindings,
    level: &Level,
    ratio: &Interval,
    fresh: bool,
    ties: &[Level],
) -> String {
    let tied = if ties.is_empty() {
        String::new()
    } else {
        format!(
            " Not told apart from it: {}.",
            list(&naming::levels(ties), "and")
        )
    };
    let what = match level {
        Level::PageSize(size) => format!("page_size {}", size.get()),
        other => other.with_noun(),
    };
    let than = match naming::default_page_size(findings, group) {
        Some(size) => format!("the default {}", size.get()),
        None => naming::reference(findings, group)
            .map_or_else(String::new, |level| format!("with {}", level.with_noun())),
    };
    format!(
        "use {what}: {} {} than {than} ({}, {}).{tied}",
        more(ratio.estimate),
        naming::rate(findings),
        change_interval(ratio),
        made_from(ratio, fresh),
    )
}

/// `5 rounds`, `5 fresh rounds after choosing`.
fn made_from(ratio: &Interval, fresh: bool) -> String {
    match (fresh, ratio.rounds) {
        (false, count) => rounds(count),
        (true, 1) => "one fresh round after choosing".into(),
        (true, count) => format!("{count} fresh rounds after choosing"),
    }
}

fn more(ratio: f64) -> String {
    // "times as many ... than" is no English.
    if ratio >= 2.0 {
        format!("{} more", percent(ratio - 1.0))
    } else {
        change(ratio)
    }
}

/// The reference as the object of a sentence.
fn reference(findings: &Findings, group: &GroupFindings) -> String {
    match (
        naming::default_page_size(findings, group),
        naming::reference(findings, group),
    ) {
        (Some(size), _) => format!("the default {}", size.get()),
        (None, Some(level)) => level.with_noun(),
        (None, None) => "the reference".into(),
    }
}

fn keep(findings: &Findings, group: &GroupFindings) -> String {
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
    let kept = reference(findings, group);
    if equivalent.len() + 1 == group.cells.len() {
        let (all, verb) = match equivalent.as_slice() {
            [one] => (naming::level(one), "is"),
            more => (list(&naming::levels(more), "and"), "are"),
        };
        return format!("keep {kept}: {all} {verb} equivalent to it, within {margin}.");
    }
    let subject = match findings.plan.compare {
        Factor::PageSize => "no page size",
        _ => "nothing else",
    };
    // What led and was not confirmed may still gain more: then no more is
    // claimed than that it was not shown.
    let bounded = not_confirmed.iter().all(|level| {
        cell_at(findings, group, level)
            .and_then(|cell| cell.ratio)
            .is_some_and(|ratio| ratio.high <= 1.0 + findings.plan.margin)
    });
    let claim = if bounded {
        format!("{subject} gains more than {margin}")
    } else {
        format!("{subject} was shown to be better")
    };
    let said = |levels: &[Level], one: &str, several: &str| {
        let verb = if levels.len() == 1 { one } else { several };
        (!levels.is_empty()).then(|| format!("{} {verb}", list(&naming::levels(levels), "and")))
    };
    let parts: Vec<String> = [
        said(equivalent, "makes no difference", "make no difference"),
        said(worse, "is slower", "are slower"),
        said(
            not_confirmed,
            "led, and fresh rounds did not confirm it",
            "led, and fresh rounds did not confirm them",
        ),
    ]
    .into_iter()
    .flatten()
    .collect();
    let parts = if parts.is_empty() {
        String::new()
    } else {
        format!(" ({})", parts.join("; "))
    };
    format!("keep {kept}: {claim}{parts}.")
}

fn cell_at<'a>(
    findings: &Findings,
    group: &'a GroupFindings,
    level: &Level,
) -> Option<&'a CellFindings> {
    group
        .cells
        .iter()
        .find(|cell| findings.plan.level(&cell.cell, findings.plan.compare) == *level)
}

/// Whether more rounds decide nothing in a group though it is not decided: all
/// have left, some of them for want of a result.
pub(crate) fn is_stuck(group: &GroupFindings) -> bool {
    let mut others = group.cells.iter().filter(|cell| !cell.reference);
    matches!(group.verdict, Verdict::Inconclusive { .. }) && others.all(|cell| cell.left.is_some())
}

/// Those of a group that left for want of a result.
fn without_result(findings: &Findings, group: &GroupFindings) -> Vec<String> {
    group
        .cells
        .iter()
        .filter(|cell| cell.left == Some(Why::NoResult))
        .map(|cell| naming::level(&findings.plan.level(&cell.cell, findings.plan.compare)))
        .collect()
}

/// What is not decided, and what would decide it.
fn undecided(findings: &Findings, group: &GroupFindings) -> String {
    let Verdict::Inconclusive {
        open,
        leader,
        more_rounds,
    } = &group.verdict
    else {
        return String::new();
    };
    let kept = match naming::default_page_size(findings, group) {
        Some(size) => size.get().to_string(),
        None => naming::reference(findings, group)
            .map_or_else(|| "the reference".into(), |level| naming::level(&level)),
    };
    let open = list(&naming::levels(open), "and");
    let ratios = || group.cells.iter().filter_map(|cell| cell.ratio);
    let known = ratios().map(|ratio| ratio.rounds).max().unwrap_or(0);
    let bounded = ratios().any(|ratio| is_bounded(&ratio));
    let more = |more: usize| {
        format!(
            "about {more} more {}",
            if more == 1 { "round" } else { "rounds" }
        )
    };
    match (leader, *more_rounds) {
        _ if is_stuck(group) => {
            let unknown = without_result(findings, group);
            format!(
                "no run of {} gave a result, so nothing is known of {}; nothing else was shown to \
                 be better than {}.",
                list(&unknown, "or"),
                if unknown.len() == 1 { "it" } else { "them" },
                reference(findings, group)
            )
        }
        (Some(leader), Some(count)) => format!(
            "{} leads, and is not confirmed yet: {} would show whether it is better than {} \
             (repeat the command with more time or rounds).",
            naming::level(leader),
            more(count),
            reference(findings, group)
        ),
        (Some(leader), None) => format!(
            "{} leads, and is not confirmed yet; how many more rounds that takes cannot be told \
             (repeat the command with more time or rounds).",
            naming::level(leader)
        ),
        (None, Some(count)) => format!(
            "{} would settle it between {kept} and {open} (repeat the command with more time or \
             rounds).",
            more(count)
        ),
        (None, None) if without_reference(group) => format!(
            "nothing can be compared: no run of {kept}, with which the others are compared, gave \
             a figure (see the warnings)."
        ),
        (None, None) if known == 0 => "nothing can be compared yet, for want of finished runs \
                                       (repeat the command: it goes on where it stopped)."
            .into(),
        (None, None) if !bounded => format!(
            "{kept} and {open} were compared in {} alone, which gives no interval (repeat the \
             command with more time or rounds).",
            rounds(known)
        ),
        (None, None) => format!(
            "{kept} and {open} vary too much from round to round, or too few rounds succeeded; a \
             quieter machine helps more than more rounds."
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
fn of_copies(findings: &Findings, group: &GroupFindings) -> String {
    const FAULT: &str = "although both are the same: the machine or the method is at fault or, \
                         seldom, chance";
    let first = reference(findings, group);
    let names: Vec<String> = group.cells.iter().map(naming::cell).collect();
    let all = match names.as_slice() {
        [one, other] => format!("copies {one} and {other}"),
        [one, .., last] => format!("copies {one} to {last}"),
        _ => "the copies".into(),
    };
    match &group.verdict {
        Verdict::Use {
            level,
            ratio,
            fresh,
            ..
        } => format!(
            "{} does {} {} than {first} ({}, {}), {FAULT}.",
            naming::level(level),
            more(ratio.estimate),
            naming::rate(findings),
            change_interval(ratio),
            made_from(ratio, *fresh),
        ),
        Verdict::Keep {
            worse,
            not_confirmed,
            ..
        } => match (worse.as_slice(), not_confirmed.as_slice()) {
            ([], []) => format!(
                "{all} are equivalent: what chance alone does here is within {}.",
                percent(findings.plan.margin)
            ),
            ([], led) => format!(
                "{all} were not told apart: {} led by chance, and fresh rounds did not confirm it.",
                list(&naming::levels(led), "and")
            ),
            (slower, _) => format!(
                "{} {} slower than {first}, {FAULT}.",
                list(&naming::levels(slower), "and"),
                if slower.len() == 1 { "is" } else { "are" },
            ),
        },
        Verdict::Inconclusive { .. } => format!(
            "not decided yet whether {all} differ: {}",
            undecided(findings, group)
        ),
    }
}
