//! What to do, and why.

use octavo_experiment::{
    findings::{CellFindings, Findings, GroupFindings},
    lockstep::{BATCH_PASSES, HOSTS_MIN, Horizon},
    plan::{Factor, Level},
    record::Source,
    statistics::{Decision, Interval, leads},
    verdict::Verdict,
};

use super::{
    place::{Beside, beside_winner, counted_passes},
    range::ends_here,
    standing::{hosts_with, measured_on, on_few_hosts, on_hosts},
};
use crate::{
    naming,
    number::{change, change_interval, counted, ends, is_bounded, join, percent, signed},
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
    pub(super) fn new(what: &str, why: impl Into<String>) -> Self {
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
            if let Level::PageSize(size) = level
                && let Some(end) = ends_here(findings, group, *size)
            {
                why += &format!(" {end}");
            }
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
            why += &of_missing(findings, group, &missing);
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
            (keep, why + &of_missing(findings, group, &missing))
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
    let is_winner =
        |level: &Level| matches!(&group.verdict, Verdict::Use { level: of, .. } if of == level);
    // What is behind the winner is no tie, and faster than the reference all the same.
    let is_behind = |cell: &&CellFindings| {
        let is_better = cell.decision == Some(Decision::Better) && !cell.reference;
        is_better
            && !is_winner(&naming::own_level(findings, cell))
            && !cell.cell.database.is_bound()
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
        _ => nothing_else(findings, group),
    }
}

/// That nothing is faster of what was measured, or of what enough hosts have.
fn nothing_else(findings: &Findings, group: &GroupFindings) -> String {
    let is_few = |cell: &CellFindings| on_few_hosts(findings, cell).is_some();
    match group.cells.iter().any(is_few) {
        true => "nothing else that enough hosts have is faster.".to_owned(),
        false => format!(
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
    if let Some(pace) = findings.plan.pace() {
        let shorter = ratio.inverse();
        return format!(
            "mean response time {} of that with {} (95% CI {}), at {pace}.",
            percent(shorter.estimate),
            naming::reference_in_full(findings, group),
            ends(&shorter, percent),
        );
    }
    format!(
        "{} {} than {with}{} ({}{}).",
        change(ratio.estimate),
        naming::rate(findings),
        naming::reference_in_full(findings, group),
        change_interval(ratio),
        on_hosts(findings, ratio),
    )
}

/// Why there is no answer, where nothing can be compared.
fn nothing_to_compare(findings: &Findings, group: &GroupFindings) -> Option<(String, String)> {
    let source = findings.source.name();
    let is_known = |cell: &CellFindings| cell.throughput.is_some();
    if !group.cells.iter().any(is_known) {
        let fleet = findings.fleet.as_ref();
        let why = match fleet.is_some_and(|fleet| !fleet.missing.is_empty()) {
            true if let Some(fleet) = fleet.filter(|fleet| fleet.counted == 0) => {
                format!("no {} counts yet.", fleet.kind.name())
            }
            true => format!("what was to be {source} is in a part that is missing."),
            false => format!("nothing was {source} yet."),
        };
        return Some(("no answer yet".into(), why));
    }
    if let Verdict::Alone { level } = &group.verdict {
        return Some((
            "nothing to compare".into(),
            format!("{source} with {} alone.", level.with_noun()),
        ));
    }
    let reference = naming::reference_in_full(findings, group);
    if !naming::reference_cell(group).is_some_and(is_known) {
        let own = naming::reference_cell(group).map_or(0, |cell| hosts_with(findings, cell));
        let why = match own {
            0 => format!("no run of {reference} gave a figure to compare with."),
            hosts => format!(
                "{reference} gave figures on {}, too few to compare with.",
                counted(hosts, "host")
            ),
        };
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
    if findings.is_over_hosts() && !others.clone().any(is_known) {
        let is_few = |cell: &CellFindings| on_few_hosts(findings, cell).is_some();
        let why = match others.clone().any(is_few) {
            true => {
                let said = of_missing(findings, group, &missing(findings, group));
                said.replacen("Measured", "measured", 1)
            }
            false => format!("no run but that of {reference} gave a figure."),
        };
        return Some(("no answer".into(), why.trim_start().to_owned()));
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
            "{} {}, and {least} or a second sitting are needed to compare. Use a larger {}.",
            counted_passes(findings),
            if findings.passes == 1 {
                "counts"
            } else {
                "count"
            },
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

fn of_missing(findings: &Findings, group: &GroupFindings, missing: &[Level]) -> String {
    let hosts = |level: &Level| {
        let mut cells = group.cells.iter();
        let cell = cells.find(|cell| naming::own_level(findings, cell) == *level)?;
        on_few_hosts(findings, cell)
    };
    let not_at_all = format!("Not {}", findings.source.name());
    let few = (1..HOSTS_MIN).map(|few| (Some(few), naming::capital(&measured_on(few))));
    let all = few.chain([(None, not_at_all)]).filter_map(|(few, label)| {
        let own = missing.iter().filter(|level| hosts(level) == few);
        let own: Vec<Level> = own.cloned().collect();
        (!own.is_empty()).then(|| format!(" {label}: {}.", naming::levels(&own, "and")))
    });
    all.collect()
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
    let is_slower =
        |level: &&Level| of(level).is_some_and(|cell| cell.likely == Some(Decision::Worse));
    let (slower, others): (Vec<Level>, Vec<Level>) =
        open.iter().cloned().partition(|of| is_slower(&of));
    let are = if slower.len() == 1 { "is" } else { "are" };
    let slower = (!slower.is_empty()).then(|| {
        let slower = naming::levels(&slower, "and");
        format!("{slower} {are} likely slower, but not surely.")
    });
    let why = match leader {
        Some((leader, ratio)) => {
            let others: Vec<Level> = others.into_iter().filter(|of| of != leader).collect();
            let undecided = (!others.is_empty())
                .then(|| format!("Not decided: {}.", naming::levels(&others, "and")));
            let others = undecided.into_iter().chain(slower);
            let others: String = others.map(|said| format!(" {said}")).collect();
            // More passes do not tell more of what a prediction is made from.
            let yet = match findings.source {
                Source::Measured => " yet",
                Source::Predicted => "",
            };
            format!(
                "no clear winner{yet}, {} leads by {}.{others}",
                naming::level(leader),
                signed(ratio.estimate).trim_start_matches('+')
            )
        }
        None => {
            let may_be_faster = |level: &Level| {
                ratio(level).is_none_or(|ratio| ratio.high >= 1.0 + findings.plan.margin)
            };
            let (hopeful, equal): (Vec<Level>, Vec<Level>) =
                others.into_iter().partition(may_be_faster);
            let could = |levels: &[Level], be: &str| {
                (!levels.is_empty())
                    .then(|| format!("{} could still be {be}.", naming::levels(levels, "or")))
            };
            let (hopeful, equal) = (could(&hopeful, "faster"), could(&equal, "slower"));
            match hopeful.is_none() && equal.is_none() && slower.is_none() {
                true => nothing_else(findings, group),
                false => join(hopeful.into_iter().chain(equal).chain(slower), " "),
            }
        }
    };
    why + &of_missing(findings, group, &missing)
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use octavo_experiment::lockstep::DepartureReason;
    use octavo_units::PageSize;

    use super::*;
    use crate::fixture::{self, stores};

    #[test]
    fn nobody_is_told_to_use_a_policy_that_no_setting_has() {
        let mut findings = fixture::one_memory();
        let own = findings.plan.databases[0].clone();
        findings
            .plan
            .databases
            .push(Arc::new(own.with_replacement("cflru")));
        findings.plan.compare = Factor::Database;
        // The cells are those of page sizes.
        for cell in &mut findings.groups[0].cells {
            cell.decision = Some(Decision::Worse);
        }
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
    fn what_is_likely_slower_is_not_said_to_be_faster() {
        let mut findings = fixture::one_memory();
        let open = [8, 16].map(|kib| Level::PageSize(PageSize::kib(kib)));
        findings.groups[0].verdict = Verdict::Inconclusive {
            open: open.to_vec(),
            leader: None,
            more_s: None,
        };
        let wide = |high: f64| Interval {
            estimate: 1.0,
            low: 0.9,
            high,
            batches: 9,
        };
        for cell in &mut findings.groups[0].cells {
            cell.ratio = Some(wide(1.1));
        }
        let said = |findings: &Findings| answers(findings)[0].text();
        assert_eq!(
            said(&findings),
            "KEEP 4 KiB PAGES FOR NOW: 8 KiB or 16 KiB could still be faster."
        );
        // What cannot be faster by more than the margin of 3% may be slower.
        findings.groups[0].cells[3].ratio = Some(wide(1.02));
        assert_eq!(
            said(&findings),
            "KEEP 4 KiB PAGES FOR NOW: 8 KiB could still be faster. 16 KiB could still be slower."
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
