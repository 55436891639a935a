//! What to do, and why.

use std::time::Duration;

use octavo_experiment::{
    caveats::Caveat,
    findings::{CellFindings, Findings, GroupFindings},
    plan::{Factor, Level},
    record::Source,
    statistics::Interval,
    verdict::{BufferFinding, Verdict},
};

use crate::{
    naming,
    number::{
        change, change_interval, counted, distinct, estimate, factor, is_bounded, join, list,
        percent, signed,
    },
};

/// What to do, and what says so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    /// In capitals.
    pub(crate) what: String,
    /// A sentence.
    pub(crate) why: String,
}

impl Answer {
    fn new(what: &str, why: impl Into<String>) -> Self {
        Self {
            what: loud(what),
            why: why.into(),
        }
    }

    /// Both as one text.
    pub(crate) fn text(&self) -> String {
        format!("{}: {}", self.what, self.why)
    }
}

/// The text in capitals, but for units, paths and what stands in parentheses.
fn loud(text: &str) -> String {
    let (text, aside) = text.split_once(" (").unwrap_or((text, ""));
    let words = text.split(' ').map(|word| {
        let is_unit = matches!(word.trim_end_matches(','), "B" | "KiB" | "MiB" | "GiB");
        match is_unit || word.contains('/') {
            true => word.to_owned(),
            false => word.to_uppercase(),
        }
    });
    let text = join(words, " ");
    match aside {
        "" => text,
        aside => format!("{text} ({aside}"),
    }
}

/// One answer a group, in the order of [`naming::groups`]; one for all where
/// all have the same.
pub(crate) fn answers(findings: &Findings) -> Vec<Answer> {
    let groups = naming::groups(findings);
    let mut answers = groups.iter().map(|group| of_group(findings, group));
    let Some(first) = answers.next() else {
        return Vec::new();
    };
    if groups.len() == 1 || answers.clone().all(|answer| answer == first) {
        return vec![Answer::new(&first.0, first.1)];
    }
    let named = groups.iter().map(|group| {
        let (what, why) = of_group(findings, group);
        let what = format!("With {}, {}", group.name, loud(&what));
        Answer { what, why }
    });
    named.collect()
}

/// What to do in one group, and why.
fn of_group(findings: &Findings, group: &GroupFindings) -> (String, String) {
    if group.cells.len() < 2 {
        let only = naming::reference(findings, group);
        let only = only.map_or_else(|| "nothing".into(), |level| level.with_noun());
        return (
            format!("only {only} was measured"),
            "nothing to compare.".into(),
        );
    }
    if without_reference(group) {
        let reference = naming::reference_in_full(findings, group);
        return (
            "no answer".into(),
            format!("no run of {reference} gave a figure to compare with."),
        );
    }
    if findings.plan.compare == Factor::Copy {
        return of_copies(findings, group);
    }
    let keep = match naming::default_page_size(findings, group) {
        Some(size) => format!("keep {size} pages (the default)"),
        None => format!("keep {}", naming::reference_in_full(findings, group)),
    };
    match &group.verdict {
        Verdict::Use {
            level,
            ratio,
            ties,
            open,
        } => {
            let mut why = gain(findings, group, ratio);
            for (label, levels) in [("About as fast", ties), ("Not decided", open)] {
                if !levels.is_empty() {
                    why += &format!(" {label}: {}.", naming::levels(levels, "and"));
                }
            }
            (format!("use {}", level.with_noun()), why)
        }
        Verdict::Keep { equivalent, .. } => {
            let why = if equivalent.len() + 1 == group.cells.len() {
                format!(
                    "nothing differs by more than {}.",
                    percent(findings.plan.margin)
                )
            } else {
                "nothing is faster.".into()
            };
            (keep, why)
        }
        Verdict::Inconclusive { open, leader, .. } => (
            format!("{} for now", keep.split(" (").next().unwrap_or(&keep)),
            undecided(group, open, leader.as_ref(), findings),
        ),
    }
}

fn gain(findings: &Findings, group: &GroupFindings, ratio: &Interval) -> String {
    // 8 clients: more than "with 1 client"; 8 KiB: more than "the default".
    let with = match naming::default_page_size(findings, group) {
        Some(_) => "",
        None => "with ",
    };
    format!(
        "{} {} than {with}{} ({}).",
        change(ratio.estimate),
        naming::rate(findings),
        naming::reference_in_full(findings, group),
        change_interval(ratio),
    )
}

fn undecided(
    group: &GroupFindings,
    open: &[Level],
    leader: Option<&Level>,
    findings: &Findings,
) -> String {
    let of = |level: &Level| {
        let mut cells = group.cells.iter();
        cells.find(|cell| naming::own_level(findings, cell) == *level)
    };
    let ratio = |level: &Level| Some(of(level)?.ratio?.estimate);
    if group.cells.iter().all(|cell| cell.ratio.is_none()) {
        return "nothing was measured yet.".into();
    }
    match leader.and_then(|leader| Some((naming::level(leader), ratio(leader)?))) {
        Some((name, ratio)) => format!(
            "no clear winner yet, {name} leads by {}.",
            signed(ratio).trim_start_matches('+')
        ),
        None => format!("{} could still be faster.", naming::levels(open, "or")),
    }
}

/// Whether others have figures and the reference has none.
fn without_reference(group: &GroupFindings) -> bool {
    let measured = |cell: &CellFindings| cell.throughput.is_some();
    group.cells.iter().any(measured) && !naming::reference_cell(group).is_some_and(measured)
}

/// Equal cells: what differs between them, nothing but chance may explain.
fn of_copies(findings: &Findings, group: &GroupFindings) -> (String, String) {
    const FAULT: &str = "All copies are the same, so the machine or the method is at fault, or \
                         rarely chance.";
    let first = naming::reference_in_full(findings, group);
    match &group.verdict {
        Verdict::Use { level, ratio, .. } => (
            format!("{} is faster than {first}", naming::level(level)),
            format!("{} {FAULT}", gain(findings, group, ratio)),
        ),
        Verdict::Keep { worse, .. } if worse.is_empty() => (
            "all copies are equivalent".into(),
            format!(
                "chance causes less than {} here.",
                percent(findings.plan.margin)
            ),
        ),
        Verdict::Keep { worse, .. } => (
            format!("slower than {first}: {}", naming::levels(worse, "and")),
            FAULT.into(),
        ),
        Verdict::Inconclusive { open, leader, .. } => (
            "not decided yet whether the copies differ".into(),
            undecided(group, open, leader.as_ref(), findings),
        ),
    }
}

/// What more cache is worth, with the page size that is to be used with the
/// largest memory.
pub(crate) fn memory(findings: &Findings) -> Option<Answer> {
    let largest = *naming::groups(findings).first()?;
    let page_size = match &largest.verdict {
        Verdict::Use { level, .. } => level.clone(),
        _ => naming::reference(findings, largest)?,
    };
    let is_meant = |of: &&BufferFinding| Level::PageSize(of.page_size) == page_size;
    let buffer = findings.buffers.iter().find(is_meant)?;
    let small = buffer.small_over_large.filter(is_bounded)?;
    let (low, high) = (1.0 / small.high, 1.0 / small.low);
    let (small_size, large_size) = (buffer.small, buffer.large);
    let runs = format!(
        "{large_size} runs {} as fast as {small_size} (95% CI {} to {}).",
        factor(1.0 / small.estimate),
        factor(low),
        factor(high)
    );
    let margin = 1.0 + findings.plan.margin;
    Some(if low > 1.0 && high > margin {
        Answer::new("give it cache", runs)
    } else if high <= margin && low >= 1.0 / margin {
        let margin = percent(findings.plan.margin);
        Answer::new(
            &format!("{small_size} of cache is enough"),
            format!("{large_size} changes less than {margin}."),
        )
    } else {
        Answer::new("more cache may not help", runs)
    })
}

/// What would settle what is open: its names with the time, and the command
/// with the whole budget to give. `None` where nothing is open or that cannot be told.
pub(crate) fn to_settle(findings: &Findings) -> Option<(String, String)> {
    let open = || naming::cells(findings).filter(|cell| cell.more_s.is_some());
    let more_s = open().filter_map(|cell| cell.more_s).fold(0.0, f64::max);
    let names = distinct(open().map(|cell| naming::cell(findings, cell)));
    // A prediction has no budget.
    let is_measured = findings.source == Source::Measured;
    if names.is_empty() || findings.measured_s <= 0.0 || !is_measured {
        return None;
    }
    // Besides measuring, it takes copies and warm-ups.
    let more_s = more_s * (findings.spent_s / findings.measured_s).max(1.0);
    let budget = ((findings.spent_s + more_s) / 60.0).ceil();
    let more = estimate(Duration::try_from_secs_f64(more_s).unwrap_or_default());
    let named = list(&names, "and");
    let with = format!("--budget {budget:.0}m");
    let settle = format!("To settle {named} (about {more} more)");
    Some(match &findings.command {
        Some(command) => (settle, format!("{command} {with}")),
        None => (format!("{settle}, repeat the command with"), with),
    })
}

/// How much to trust the answer, from what was measured and what is warned of.
pub(crate) fn confidence(findings: &Findings) -> Option<Answer> {
    let warnings = findings.caveats.len();
    let open = findings
        .groups
        .iter()
        .filter(|group| matches!(group.verdict, Verdict::Inconclusive { .. }))
        .count();
    if findings.passes == 0 {
        return None;
    }
    if findings.source == Source::Predicted {
        let mut why =
            "a model of the database on a model of the storage, nothing measured.".to_owned();
        let is_measurable = |caveat: &Caveat| matches!(caveat, Caveat::Predicted);
        if open > 0 && findings.caveats.iter().any(is_measurable) {
            why += " octavo advise on that storage settles what is open.";
        }
        return Some(Answer::new("confidence: predicted only", why));
    }
    let sittings = counted(findings.sittings, "sitting");
    let based = format!("{} passes in {sittings}", findings.passes);
    let (level, why) = if findings.caveats.iter().any(super::caveat::is_serious) {
        ("low", "the first warning below says why.".to_owned())
    } else if open > 0 {
        let groups = counted(open, "comparison");
        ("medium", format!("{groups} open after {based}."))
    } else if findings.sittings < 2 {
        (
            "medium",
            format!("{based}; two or more would show what start-up is worth."),
        )
    } else if warnings > 0 {
        let are = if warnings == 1 { "is" } else { "are" };
        let count = counted(warnings, "warning");
        ("medium", format!("there {are} {count} below; {based}."))
    } else {
        (
            "high",
            format!("all decided by {based}, without a warning."),
        )
    };
    Some(Answer::new(&format!("confidence {level}"), why))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_and_paths_keep_their_letters() {
        assert_eq!(
            loud("keep 4 KiB pages (the default)"),
            "KEEP 4 KiB PAGES (the default)"
        );
        assert_eq!(loud("use /mnt/Disk"), "USE /mnt/Disk");
    }
}
