//! What to do, and why.

use std::{collections::HashSet, time::Duration};

use octavo_experiment::{
    campaign::SITTINGS_WANTED,
    caveats::{Caveat, Severity},
    confidence::{Confidence, ConfidenceLevel, ConfidenceLimit, advised, is_repeated},
    findings::{CellFindings, Findings, GroupFindings},
    lockstep::{BATCH_PASSES, DepartureReason, Horizon},
    plan::{Factor, Level, SnapshotKey},
    record::Source,
    statistics::{Decision, Interval, leads},
    verdict::{BufferFinding, Verdict},
};

use super::place::{Beside, beside_winner};
use crate::{
    naming,
    number::{
        self, change, change_interval, counted, distinct, ends, estimate, factors, is_bounded,
        join, list, percent, signed,
    },
};

/// A recommendation and its evidence.
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
            what: capitals(what),
            why: why.into(),
        }
    }

    /// Both as one text.
    pub(crate) fn text(&self) -> String {
        format!("{}: {}", self.what, self.why)
    }
}

/// The text in capitals, but for units, paths and what stands in parentheses.
fn capitals(text: &str) -> String {
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
        let what = format!("With {}, {}", group.name, capitals(&what));
        Answer { what, why }
    });
    named.collect()
}

/// How much a buffer that knows the future would gain, where there is one in the group.
fn of_bound(group: &GroupFindings) -> String {
    let bound = group
        .cells
        .iter()
        .find(|cell| cell.cell.database.is_bound());
    match bound.and_then(|cell| cell.ratio).filter(is_bounded) {
        Some(ratio) => format!(
            " The bound, opt, has {} of the throughput ({}).",
            percent(ratio.estimate),
            ends(&ratio, percent)
        ),
        None => String::new(),
    }
}

/// What to do in one group, and why.
fn of_group(findings: &Findings, group: &GroupFindings) -> (String, String) {
    if let Some(none) = nothing_to_compare(findings, group) {
        return none;
    }
    if findings.plan.compare == Factor::Copy {
        return of_copies(findings, group);
    }
    let keep = match naming::default_page_size(findings, group) {
        _ if naming::is_of_policies(findings) => "keep its own policy".into(),
        Some(size) => format!("keep {size} pages ({})", naming::as_usual(findings)),
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
            let missing = missing(findings, group);
            let open: Vec<Level> = open
                .iter()
                .filter(|of| !missing.contains(of))
                .cloned()
                .collect();
            for (label, levels) in others_faster(findings, group, ties) {
                why += &format!(" {label}: {}.", naming::levels(&levels, "and"));
            }
            if !open.is_empty() {
                why += &format!(" Not decided: {}.", naming::levels(&open, "and"));
            }
            why += &of_missing(findings, &missing);
            let what = match naming::is_of_policies(findings) {
                true => format!("{} would be faster", level.with_noun()),
                false => format!("use {}", level.with_noun()),
            };
            (what, why)
        }
        Verdict::Keep { equivalent, .. } => {
            let why = if equivalent.len() + 1 == group.cells.len() {
                format!(
                    "nothing differs by more than {}.",
                    percent(findings.plan.margin)
                )
            } else if naming::is_of_policies(findings) {
                format!(
                    "no policy that a database can have is faster.{}",
                    of_bound(group)
                )
            } else {
                not_faster(findings, group)
            };
            let missing = missing(findings, group);
            (keep, why + &of_missing(findings, &missing))
        }
        Verdict::Alone { .. } => (keep, "nothing else was compared.".into()),
        Verdict::Cold { cold, .. } => of_cold(cold),
        Verdict::Inconclusive { open, leader, .. } => (
            format!("{} for now", keep.split(" (").next().unwrap_or(&keep)),
            undecided(group, open, leader.as_ref(), findings),
        ),
    }
}

/// Other levels that are faster than the reference, by how they compare with the winner:
/// labels with their levels, the fastest first.
fn others_faster(
    findings: &Findings,
    group: &GroupFindings,
    ties: &[Level],
) -> Vec<(&'static str, Vec<Level>)> {
    const LABELS: [&str; 5] = [
        "May be faster",
        "As fast",
        "May be as fast",
        "Also faster",
        "Also faster, but by less",
    ];
    let find = |level: &Level| {
        let mut cells = group.cells.iter();
        cells.find(|cell| naming::own_level(findings, cell) == *level)
    };
    // What left because another one led is no tie, and faster than the reference all the same.
    let is_behind = |cell: &&CellFindings| {
        let why = cell.left.map(|left| left.why);
        let is_behind = matches!(why, Some(DepartureReason::Behind { .. }));
        is_behind && cell.decision == Some(Decision::Better) && !cell.cell.database.is_bound()
    };
    let behind = group.cells.iter().filter(is_behind);
    let behind: Vec<Level> = behind
        .map(|cell| naming::own_level(findings, cell))
        .filter(|level| !ties.contains(level))
        .collect();
    let label = |level: &Level| {
        let beside = find(level).and_then(|cell| beside_winner(findings, group, cell));
        LABELS[match beside {
            Some(Beside::Faster | Beside::MayBeFaster) => 0,
            Some(Beside::AsFast) => 1,
            Some(Beside::AtMostAsFast) => 2,
            None if ties.contains(level) => 3,
            Some(Beside::Behind) | None => 4,
        }]
    };
    // In the order of the table.
    let mut all: Vec<&Level> = ties.iter().chain(&behind).collect();
    let place = |level: &Level| {
        let mut cells = group.cells.iter();
        cells.position(|cell| naming::own_level(findings, cell) == *level)
    };
    all.sort_by_key(|level| place(level));
    let is_winner =
        |level: &Level| matches!(&group.verdict, Verdict::Use { level: of, .. } if of == level);
    all.retain(|level| !is_winner(level));
    let labeled = LABELS.iter().map(|&wanted| {
        let own = all.iter().filter(|level| label(level) == wanted);
        (wanted, own.map(|&level| level.clone()).collect::<Vec<_>>())
    });
    labeled.filter(|(_, levels)| !levels.is_empty()).collect()
}

/// That nothing is faster of what was compared.
fn not_faster(findings: &Findings, group: &GroupFindings) -> String {
    let compared = |cell: &&CellFindings| !cell.reference && cell.ratio.is_some();
    let mut compared = group.cells.iter().filter(compared);
    match (compared.next(), compared.next()) {
        (Some(only), None) => {
            let only = naming::own_level(findings, only).with_noun();
            format!("{only} would not be faster.")
        }
        _ => format!(
            "nothing else that was {} is faster.",
            findings.source.name()
        ),
    }
}

/// Why there is no answer, where caches were not warm.
fn of_cold(cold: &[Level]) -> (String, String) {
    let why = format!(
        "with {} the cache was not warm, and the long run may differ. Use a longer --warm-up.",
        naming::levels(cold, "and")
    );
    ("no answer yet".into(), why)
}

fn gain(findings: &Findings, group: &GroupFindings, ratio: &Interval) -> String {
    // 8 clients: more than "with 1 client"; 8 KiB: more than "the default".
    let with = match naming::default_page_size(findings, group) {
        Some(_) => "",
        None => "with ",
    };
    if let Some(pace) = naming::pace(findings) {
        let shorter = Interval {
            estimate: 1.0 / ratio.estimate,
            low: 1.0 / ratio.high,
            high: 1.0 / ratio.low,
            ..*ratio
        };
        return format!(
            "mean response time {} of that with {} (95% CI {}), at {pace}.",
            percent(shorter.estimate),
            naming::reference_in_full(findings, group),
            ends(&shorter, percent),
        );
    }
    format!(
        "{} {} than {with}{} ({}).",
        change(ratio.estimate),
        naming::rate(findings),
        naming::reference_in_full(findings, group),
        change_interval(ratio),
    )
}

/// Why there is no answer, where nothing can be compared.
fn nothing_to_compare(findings: &Findings, group: &GroupFindings) -> Option<(String, String)> {
    let source = findings.source.name();
    let is_known = |cell: &CellFindings| cell.throughput.is_some();
    if !group.cells.iter().any(is_known) {
        return Some(("no answer yet".into(), format!("nothing was {source} yet.")));
    }
    if let Verdict::Alone { level } = &group.verdict {
        return Some((
            "nothing to compare".into(),
            format!("{source} with {} alone.", level.with_noun()),
        ));
    }
    let reference = naming::reference_in_full(findings, group);
    if !naming::reference_cell(group).is_some_and(is_known) {
        let why = format!("no run of {reference} gave a figure to compare with.");
        return Some(("no answer".into(), why));
    }
    let mut others = group.cells.iter().filter(|cell| !cell.reference);
    let own = findings.plan.own.as_ref();
    let is_forbidden =
        |cell: &CellFindings| own.is_some_and(|own| own.forbidden(cell.cell.page_size).is_some());
    if others.clone().all(is_forbidden) {
        let why = "your schema allows no other page size that was to be measured.";
        return Some((format!("keep {reference}"), why.into()));
    }
    if !others.any(is_known) {
        let why = format!("no run but that of {reference} gave a figure.");
        return Some(("no answer".into(), why));
    }
    if group.cells.iter().any(|cell| cell.ratio.is_some()) {
        return None;
    }
    let least = 2 * BATCH_PASSES;
    let count = findings.passes.saturating_sub(findings.screened.all());
    let why = match count < least {
        true => format!(
            "{} count, and {least} or a second sitting are needed to compare. Use a larger {}.",
            counted_passes(findings),
            match findings.horizon {
                Some(Horizon::Time { .. }) => "--budget",
                _ => "--passes",
            }
        ),
        false => "too few passes have figures of two cells.".into(),
    };
    Some(("no answer yet".into(), why))
}

/// Levels without a figure to compare.
fn missing(findings: &Findings, group: &GroupFindings) -> Vec<Level> {
    let missing = |cell: &&CellFindings| !cell.reference && cell.ratio.is_none();
    let cells = group.cells.iter().filter(missing);
    cells
        .map(|cell| naming::own_level(findings, cell))
        .collect()
}

fn of_missing(findings: &Findings, missing: &[Level]) -> String {
    match missing {
        [] => String::new(),
        missing => format!(
            " Not {}: {}.",
            findings.source.name(),
            naming::levels(missing, "and")
        ),
    }
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
    let ratio = |level: &Level| of(level)?.ratio;
    // What has some figures, but too few to compare, is open.
    let has_figures = |level: &Level| of(level).is_some_and(|cell| cell.throughput.is_some());
    let mut missing = missing(findings, group);
    missing.retain(|level| !open.contains(level) || !has_figures(level));
    let open: Vec<Level> = open
        .iter()
        .filter(|of| !missing.contains(of))
        .cloned()
        .collect();
    let leader = leader.and_then(|leader| Some((leader, ratio(leader)?)));
    let leader = leader.filter(|(_, ratio)| leads(ratio, findings.plan.margin));
    let why = match leader {
        Some((leader, ratio)) => {
            let others: Vec<Level> = open.iter().filter(|of| *of != leader).cloned().collect();
            let others = match others.as_slice() {
                [] => String::new(),
                others => format!(" Not decided: {}.", naming::levels(others, "and")),
            };
            format!(
                "no clear winner yet, {} leads by {}.{others}",
                naming::level(leader),
                signed(ratio.estimate).trim_start_matches('+')
            )
        }
        None => {
            let is_slower =
                |level: &&Level| of(level).is_some_and(|cell| cell.likely == Some(Decision::Worse));
            let (slower, hopeful): (Vec<Level>, Vec<Level>) =
                open.iter().cloned().partition(|of| is_slower(&of));
            let hopeful = (!hopeful.is_empty())
                .then(|| format!("{} could still be faster.", naming::levels(&hopeful, "or")));
            let are = if slower.len() == 1 { "is" } else { "are" };
            let slower = (!slower.is_empty()).then(|| {
                let slower = naming::levels(&slower, "and");
                format!("{slower} {are} likely slower, but not surely.")
            });
            match hopeful.is_none() && slower.is_none() {
                true => format!(
                    "nothing else that was {} is faster.",
                    findings.source.name()
                ),
                false => join(hopeful.into_iter().chain(slower), " "),
            }
        }
    };
    why + &of_missing(findings, &missing)
}

/// The answer for equal cells: only chance may explain their differences.
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
        Verdict::Alone { .. } => ("nothing to compare".into(), "there is one copy.".into()),
        Verdict::Cold { cold, .. } => of_cold(cold),
        Verdict::Inconclusive { open, leader, .. } => (
            "not decided yet whether the copies differ".into(),
            undecided(group, open, leader.as_ref(), findings),
        ),
    }
}

/// What more cache is worth, with the page size that is to be used with the
/// largest memory.
pub(crate) fn memory(findings: &Findings) -> Option<Answer> {
    let (buffer, page_size) = compared_memories(findings)?;
    let small = buffer.small_over_large.filter(is_bounded)?;
    let (low, high) = (1.0 / small.high, 1.0 / small.low);
    let (small_size, large_size) = (buffer.small, buffer.large);
    let [ratio, from, to] = factors([1.0 / small.estimate, low, high]);
    // Where another memory is advised another page size, both are of this one.
    let is_other = |group: &&GroupFindings| match &group.verdict {
        Verdict::Use { level, .. } => *level != page_size,
        _ => naming::reference(findings, group).is_some_and(|level| level != page_size),
    };
    // And where it is not decided of all page sizes alike.
    let is_more = |of: &BufferFinding| {
        let small = of.small_over_large.filter(is_bounded);
        small.is_some_and(|small| small.high < 1.0)
    };
    let differs = |of: &BufferFinding| is_more(of) != is_more(buffer);
    let is_named =
        naming::groups(findings).iter().any(is_other) || findings.buffers.iter().any(differs);
    let with = match is_named {
        true => format!(" with {}", page_size.with_noun()),
        false => String::new(),
    };
    let runs =
        format!("{large_size} runs {ratio} as fast as {small_size}{with} (95% CI {from} to {to}).");
    let margin = 1.0 + findings.plan.margin;
    Some(if low > 1.0 && high > margin {
        Answer::new("give it cache", runs)
    } else if is_enough(findings, small) {
        let margin = percent(findings.plan.margin);
        Answer::new(
            &format!("{small_size} of cache is enough"),
            format!("{large_size} changes less than {margin}."),
        )
    } else if high <= margin {
        Answer::new("more cache may not help", runs)
    } else {
        Answer::new("not decided whether more cache helps", runs)
    })
}

/// Two memories with the page size that the largest is advised, and that one.
fn compared_memories(findings: &Findings) -> Option<(&BufferFinding, Level)> {
    let largest = *naming::groups(findings).first()?;
    let page_size = match &largest.verdict {
        Verdict::Use { level, .. } => level.clone(),
        _ => naming::reference(findings, largest)?,
    };
    let is_meant = |of: &&BufferFinding| Level::PageSize(of.page_size) == page_size;
    let buffer = findings.buffers.iter().find(is_meant)?;
    Some((buffer, page_size))
}

/// Whether throughput with less memory over that with more is none of a difference.
fn is_enough(findings: &Findings, small_over_large: Interval) -> bool {
    let margin = 1.0 + findings.plan.margin;
    1.0 / small_over_large.low <= margin && 1.0 / small_over_large.high >= 1.0 / margin
}

/// The group to follow: the first, or the one with less memory that is said to be enough.
pub(crate) fn to_follow<'a>(
    findings: &Findings,
    groups: &[&'a GroupFindings],
) -> Option<&'a GroupFindings> {
    let enough = compared_memories(findings).and_then(|(buffer, _)| {
        let small = buffer.small_over_large.filter(is_bounded)?;
        is_enough(findings, small).then_some(buffer.small)
    });
    let is_meant = |group: &&&GroupFindings| {
        let memory = group.cells.first().map(|cell| cell.cell.memory);
        memory.is_some() && memory == enough
    };
    let meant = groups.iter().find(is_meant);
    meant.or(groups.first()).copied()
}

/// What would settle what is open, and measure what there was no time for: its names with the
/// time, and the command with the whole budget to give. `None` where nothing is open or that
/// cannot be told.
pub(crate) fn to_settle(findings: &Findings) -> Option<(String, String)> {
    // A prediction has no budget.
    if findings.source != Source::Measured || findings.measured_s <= 0.0 {
        return None;
    }
    let more_s = naming::cells(findings).filter_map(|cell| cell.more_s);
    let more_s = more_s.fold(0.0, f64::max);
    let measuring_s = more_s;
    let more_s = more_s + beginnings_s(findings, more_s);
    let mut budget_s = findings.spent_s + more_s;
    let mut purposes = Vec::new();
    let settled = named(findings, |cell| cell.more_s.is_some());
    if !settled.is_empty() {
        let is_endless = |cell: &CellFindings| {
            let is_open = cell.decision == Some(Decision::Open) && cell.left.is_none();
            is_open && cell.ratio.is_some() && cell.more_s.is_none()
        };
        let others = match named(findings, is_endless) {
            others if others.is_empty() => others,
            others => format!("; {others} may stay open"),
        };
        let more = estimate(Duration::try_from_secs_f64(more_s).unwrap_or_default());
        purposes.push(format!("settle {settled} (about {more} more{others})"));
    }
    let is_untried = |cell: &CellFindings| is_untried(findings, cell);
    let untried = named(findings, is_untried);
    if !untried.is_empty() {
        purposes.push(format!("measure {untried}"));
        budget_s = budget_s.max(budget_to_load_s(findings, is_untried));
    }
    let uncompared = named(findings, |cell| {
        let is_live = !cell.reference && cell.left.is_none();
        is_live && cell.throughput.is_some() && cell.ratio.is_none()
    });
    if !uncompared.is_empty() {
        purposes.push(format!("compare {uncompared}"));
        budget_s = budget_s.max(2.0 * findings.spent_s);
    }
    if purposes.is_empty() {
        return None;
    }
    let with = match findings.horizon {
        // Passes that are counted go on as far as they were wanted, whatever the budget.
        Some(Horizon::Passes { .. }) => {
            let part = (findings.measured_s + measuring_s) / findings.measured_s;
            format!(
                "--passes {:.0}",
                (findings.passes as f64 * part.max(2.0)).ceil()
            )
        }
        _ => format!("--budget {:.0}m", (budget_s / 60.0).ceil()),
    };
    let purpose = format!("To {}", list(&purposes, "and to"));
    Some(match &findings.command {
        Some(command) => (purpose, format!("{} {with}", without_passes(command))),
        None => (format!("{purpose}, repeat the command with"), with),
    })
}

/// A command without the passes that it had.
fn without_passes(command: &str) -> String {
    let (before, after) = match command.split_once(" --passes") {
        Some((before, after)) if after.starts_with([' ', '=']) => (before, &after[1..]),
        _ => return command.to_owned(),
    };
    let rest = after.split_once(' ').map_or("", |(_, rest)| rest);
    join([before, rest].iter().filter(|part| !part.is_empty()), " ")
}

/// About the time of copies and warm-ups, of as many sittings as there will be in so much
/// measuring: one, or [`SITTINGS_WANTED`] within a quarter of all.
fn beginnings_s(findings: &Findings, measured_s: f64) -> f64 {
    if measured_s <= 0.0 {
        return 0.0;
    }
    let loads: f64 = findings.snapshots.iter().map(|of| of.elapsed_s).sum();
    let around = (findings.spent_s - findings.measured_s - loads).max(0.0);
    let one = around / findings.sittings.max(1) as f64;
    one.max((one * f64::from(SITTINGS_WANTED)).min(measured_s / 3.0))
}

/// Whether a cell had no run at all, though nothing speaks against one: there was no time.
fn is_untried(findings: &Findings, cell: &CellFindings) -> bool {
    let is_slow = cell.expected.is_some_and(|expected| expected.is_left_out);
    let mut failed = findings.runs_failed.iter();
    cell.throughput.is_none()
        && cell.left.is_none()
        && !is_slow
        && !failed.any(|run| run.cell == cell.cell)
}

/// About the budget in which cells are loaded, too: twice what was spent, or more where many
/// loads are missing. The data of the reference is loaded anew.
fn budget_to_load_s(findings: &Findings, is_untried: impl Fn(&CellFindings) -> bool) -> f64 {
    let untried = naming::cells(findings).filter(|cell| is_untried(cell));
    let missing: HashSet<SnapshotKey> = untried.map(|cell| cell.cell.snapshot()).collect();
    let loads = || findings.snapshots.iter().map(|of| of.elapsed_s);
    let longest_s = loads().fold(0.0, f64::max);
    let other_s = (findings.spent_s - loads().sum::<f64>()).max(0.0);
    let more_s = (missing.len() + 1) as f64 * longest_s + other_s;
    findings.spent_s + more_s.max(findings.spent_s)
}

/// Cells that are wanted, by group: `8 KiB and 64 KiB with 32 MiB of memory`.
pub(super) fn named(findings: &Findings, is_wanted: impl Fn(&CellFindings) -> bool) -> String {
    let of_group = |group: &GroupFindings| {
        let cells = group.cells.iter().filter(|cell| is_wanted(cell));
        let names = distinct(cells.map(|cell| naming::cell(findings, cell)));
        let names = list(&names, "and");
        match (names.is_empty(), group.name.as_str()) {
            (true, _) => None,
            (false, "") => Some(names),
            (false, group) => Some(format!("{names} with {group}")),
        }
    };
    let groups = naming::groups(findings).into_iter();
    list(groups.filter_map(of_group), "and")
}

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
    format!(
        "{} in {}",
        counted_passes(findings),
        counted(findings.sittings, "sitting")
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
                    " than {} (compared directly {}, 95% CI {})",
                    naming::level(&naming::own_level(findings, winner)),
                    number::ratio(ratio.estimate),
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

/// `88 passes`, or how many of them count.
fn counted_passes(findings: &Findings) -> String {
    match findings.screened.all() {
        0 => counted(findings.passes, "pass"),
        out => format!(
            "{} of {}",
            findings.passes.saturating_sub(out),
            counted(findings.passes, "pass")
        ),
    }
}

#[cfg(test)]
mod tests {
    use octavo_experiment::findings::FailedRun;
    use octavo_units::PageSize;

    use std::sync::Arc;

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
    fn nobody_is_told_to_use_a_policy_that_no_setting_has() {
        let mut findings = fixture::one_memory();
        let own = findings.plan.databases[0].clone();
        findings
            .plan
            .databases
            .push(Arc::new(own.with_replacement("cflru")));
        findings.plan.compare = Factor::Database;
        let level = Level::Database("replacement cflru".into());
        let ratio = findings.groups[0].cells[0].ratio.unwrap();
        let said = |findings: &Findings| answers(findings)[0].text();
        findings.groups[0].verdict = Verdict::Use {
            level: level.clone(),
            ratio,
            ties: vec![Level::Database("replacement lru".into())],
            open: Vec::new(),
        };
        let faster = said(&findings);
        assert!(
            faster.starts_with("REPLACEMENT CFLRU WOULD BE FASTER: "),
            "{faster}"
        );
        assert!(
            faster.ends_with(" Also faster: replacement lru."),
            "{faster}"
        );
        findings.groups[0].verdict = Verdict::Inconclusive {
            open: vec![level],
            leader: None,
            more_s: None,
        };
        assert!(said(&findings).starts_with("KEEP ITS OWN POLICY FOR NOW: "));
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
    fn what_is_open_has_its_memory_and_what_stays_open_is_named() {
        let mut findings = fixture::findings();
        let open = |findings: &mut Findings, group: usize, place: usize, more_s| {
            let cell = &mut findings.groups[group].cells[place];
            cell.decision = Some(Decision::Open);
            (cell.left, cell.more_s) = (None, more_s);
        };
        open(&mut findings, 1, 0, Some(30.0));
        open(&mut findings, 1, 2, Some(60.0));
        open(&mut findings, 0, 3, None);
        assert_eq!(
            to_settle(&findings).unwrap().0,
            "To settle 2 KiB and 8 KiB with 32 MiB of memory and 2 KiB with 8 MiB of memory (about \
             3 min more; 16 KiB with 8 MiB of memory may stay open)"
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
    fn what_is_likely_slower_is_not_said_to_be_faster() {
        let mut findings = fixture::one_memory();
        let open = [8, 16].map(|kib| Level::PageSize(PageSize::kib(kib)));
        findings.groups[0].verdict = Verdict::Inconclusive {
            open: open.to_vec(),
            leader: None,
            more_s: None,
        };
        let said = |findings: &Findings| answers(findings)[0].text();
        assert_eq!(
            said(&findings),
            "KEEP 4 KiB PAGES FOR NOW: 8 KiB or 16 KiB could still be faster."
        );
        // It is open all the same, and more time would settle it.
        findings.groups[0].cells[3].likely = Some(Decision::Worse);
        assert_eq!(
            said(&findings),
            "KEEP 4 KiB PAGES FOR NOW: 8 KiB could still be faster. 16 KiB is likely slower, but \
             not surely."
        );
        findings.groups[0].cells[2].likely = Some(Decision::Worse);
        assert_eq!(
            said(&findings),
            "KEEP 4 KiB PAGES FOR NOW: 8 KiB and 16 KiB are likely slower, but not surely."
        );
    }

    /// There was no time to load these page sizes.
    fn without_time(findings: &mut Findings, kib: &[u32]) {
        for cell in &mut findings.groups[0].cells {
            if kib.contains(&(cell.cell.page_size.get() >> 10)) {
                (cell.throughput, cell.ratio, cell.decision) = (None, None, None);
                (cell.left, cell.more_s, cell.likely) = (None, None, None);
                findings
                    .snapshots
                    .retain(|of| of.key != cell.cell.snapshot());
            }
        }
        findings.runs_failed.clear();
    }

    #[test]
    fn what_there_was_no_time_to_load_is_named_with_the_budget_that_measures_it() {
        let mut findings = fixture::one_memory();
        without_time(&mut findings, &[16, 64]);
        let levels = |all: &[u32]| {
            let all = all.iter().map(|&kib| Level::PageSize(PageSize::kib(kib)));
            all.collect::<Vec<_>>()
        };
        let inconclusive = |open: &[u32], leader: &[u32]| Verdict::Inconclusive {
            open: levels(open),
            leader: levels(leader).pop(),
            more_s: None,
        };
        findings.groups[0].verdict = inconclusive(&[16, 64], &[]);
        assert_eq!(
            answers(&findings)[0].text(),
            "KEEP 4 KiB PAGES FOR NOW: nothing else that was measured is faster. Not measured: \
             16 KiB and 64 KiB."
        );
        findings.groups[0].verdict = inconclusive(&[2, 16, 64], &[]);
        let why = answers(&findings)[0].text();
        assert!(
            why.ends_with("2 KiB could still be faster. Not measured: 16 KiB and 64 KiB."),
            "{why}"
        );
        for snapshot in &mut findings.snapshots {
            snapshot.elapsed_s = 20.0;
        }
        (findings.spent_s, findings.measured_s) = (100.0, 30.0);
        let (purpose, command) = to_settle(&findings).unwrap();
        assert_eq!(purpose, "To measure 16 KiB and 64 KiB");
        assert!(command.ends_with(" --budget 4m"), "{command}");
        findings.groups[0].cells[0].more_s = Some(30.0);
        let (purpose, _) = to_settle(&findings).unwrap();
        assert_eq!(
            purpose,
            "To settle 2 KiB (about 40 s more) and to measure 16 KiB and 64 KiB"
        );
        // What failed is not measured by more time.
        findings.groups[0].cells[0].more_s = None;
        for cell in findings.groups[0].cells.clone() {
            findings.runs_failed.push(FailedRun {
                sitting: 1,
                cell: cell.cell,
                reason: "gone".into(),
            });
        }
        assert_eq!(to_settle(&findings), None);
    }

    #[test]
    fn counted_passes_are_settled_by_more_passes() {
        let mut findings = fixture::findings();
        findings.horizon = Some(Horizon::Passes { passes: 88 });
        for (command, wanted) in [
            (
                "octavo advise x --passes 88 --seed 7",
                "octavo advise x --seed 7 --passes 176",
            ),
            (
                "octavo advise x --passes=88",
                "octavo advise x --passes 176",
            ),
            ("octavo advise x", "octavo advise x --passes 176"),
        ] {
            findings.command = Some(command.into());
            assert_eq!(to_settle(&findings).unwrap().1, wanted);
        }
    }

    #[test]
    fn nobody_leads_within_the_margin_or_without_an_interval() {
        let mut findings = fixture::one_memory();
        let level = Level::PageSize(PageSize::kib(8));
        findings.groups[0].verdict = Verdict::Inconclusive {
            open: vec![level.clone()],
            leader: Some(level),
            more_s: None,
        };
        let mut said = |estimate, low, high| {
            findings.groups[0].cells[2].ratio = Some(Interval {
                estimate,
                low,
                high,
                batches: 2,
            });
            answers(&findings)[0].text()
        };
        for (estimate, low, high) in [
            (1.004, 0.9, 1.1),
            (1.01, 0.9, 1.1),
            (1.03, 5e-13, 2e12),
            (1.2, 0.0, f64::INFINITY),
        ] {
            assert_eq!(
                said(estimate, low, high),
                "KEEP 4 KiB PAGES FOR NOW: 8 KiB could still be faster."
            );
        }
        assert_eq!(
            said(1.05, 0.9, 1.2),
            "KEEP 4 KiB PAGES FOR NOW: no clear winner yet, 8 KiB leads by 5%."
        );
    }

    #[test]
    fn others_that_are_faster_are_named_by_how_they_compare_with_the_winner() {
        let mut findings = fixture::one_memory();
        let level = |kib| Level::PageSize(PageSize::kib(kib));
        let over = |estimate: f64, half: f64| {
            Some(Interval {
                estimate,
                low: estimate / half,
                high: estimate * half,
                batches: 9,
            })
        };
        let group = &mut findings.groups[0];
        group.cells[1].reference = false;
        group.cells[0].reference = true;
        for cell in &mut group.cells[1..] {
            (cell.decision, cell.likely) = (Some(Decision::Better), None);
        }
        // 4 KiB led when 64 KiB left, and 8 KiB won.
        let left = group.cells[4].left.as_mut().unwrap();
        left.why = DepartureReason::Behind { leader: 1 };
        (group.cells[1].left, group.cells[3].left) = (None, None);
        group.cells[1].ratio = over(1.8309, 1.1);
        group.cells[1].over_advised = over(0.9986, 1.01);
        group.cells[3].over_advised = over(0.98, 1.2);
        group.cells[4].over_advised = over(0.84, 1.05);
        group.verdict = Verdict::Use {
            level: level(8),
            ratio: over(1.8335, 1.1).unwrap(),
            ties: vec![level(4), level(16)],
            open: Vec::new(),
        };
        let said = answers(&findings)[0].text();
        assert!(
            said.ends_with(
                " May be faster: 16 KiB. As fast: 4 KiB. Also faster, but by less: 64 KiB."
            ),
            "{said}"
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

    #[test]
    fn nothing_is_answered_that_nothing_says() {
        let said = |findings: Findings| answers(&findings)[0].text();
        assert_eq!(
            said(stores::few_passes()),
            "NO ANSWER YET: 7 of 8 passes count, and 8 or a second sitting are needed to compare. Use a \
             larger --budget."
        );
        assert_eq!(
            said(fixture::empty()),
            "NO ANSWER YET: nothing was measured yet."
        );
        assert_eq!(
            said(stores::one_cell()),
            "NOTHING TO COMPARE: measured with 4 KiB pages alone."
        );
        assert_eq!(
            said(stores::only_the_reference()),
            "NO ANSWER: no run but that of the default 4 KiB gave a figure."
        );
        assert_eq!(
            said(stores::missing()),
            "KEEP 4 KiB PAGES (the default): nothing else that was measured is faster. Not \
             measured: 64 KiB."
        );
    }

    #[test]
    fn units_and_paths_keep_their_letters() {
        assert_eq!(
            capitals("keep 4 KiB pages (the default)"),
            "KEEP 4 KiB PAGES (the default)"
        );
        assert_eq!(capitals("use /mnt/Disk"), "USE /mnt/Disk");
    }
}
