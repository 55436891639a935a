//! What would settle what is open.

use std::{collections::HashSet, time::Duration};

use octavo_experiment::{
    campaign::SITTINGS_WANTED,
    findings::{CellFindings, ClassFindings, Findings, GroupFindings, HostFindings},
    lockstep::{BATCH_PASSES, Horizon},
    plan::SnapshotKey,
    record::Source,
    statistics::Decision,
};

use crate::{
    naming,
    number::{counted, distinct, estimate, join, list, ratio},
};

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
        // At least the passes that compare anything, as long as those that there are.
        let missing = (2 * BATCH_PASSES).saturating_sub(findings.passes);
        let pass_s = findings.measured_s / findings.passes.max(1) as f64;
        let all_s = findings.spent_s + missing as f64 * pass_s;
        budget_s = budget_s.max(2.0 * findings.spent_s).max(all_s);
    }
    if purposes.is_empty() {
        return None;
    }
    let with = match findings.horizon {
        // Passes that are counted go on as far as they were wanted, whatever the budget.
        Some(Horizon::Passes { .. }) => {
            let part = (findings.measured_s + measuring_s) / findings.measured_s;
            // Those that are left out are made up for.
            let counting = findings.passes - findings.screened.disturbed();
            let passes = (counting as f64 * part.max(2.0)).ceil();
            format!("--passes {passes:.0}")
        }
        _ => format!("--budget {:.0}m", (budget_s / 60.0).ceil()),
    };
    let purpose = format!("To {}", list(&purposes, "and to"));
    // A part of something larger does not know the budget of that.
    let command = findings.command.as_ref()?;
    Some((purpose, format!("{} {with}", without_passes(command))))
}

/// How many hosts would settle what is open in a class, if they say the same. A new fleet, as whoever adds
/// hosts until it is decided is wrong more often. What one host alone keeps open is none of it: see
/// [`odd_hosts`].
pub(crate) fn more_hosts(findings: &Findings, class: &ClassFindings) -> Option<String> {
    let open = open_cells(findings, class).filter(|(_, cell)| cell.odd.is_none());
    let (known, endless): (Vec<_>, Vec<_>) = open.partition(|(_, cell)| cell.more_hosts.is_some());
    // Of those that have the level: some of a new fleet may fail, too.
    let hosts = known
        .iter()
        .filter_map(|(_, cell)| Some(known_hosts(cell) + cell.more_hosts?));
    let most = hosts.max()?;
    let names = |of: Vec<(String, &HostFindings)>| {
        let names = of.into_iter().map(|(name, _)| name);
        list(distinct(names), "and")
    };
    let may_stay = match endless.is_empty() {
        true => String::new(),
        false => format!("; {} may stay open", names(endless)),
    };
    Some(format!(
        "To settle {}, a new fleet of about {} hosts would do if they say the same{may_stay}. Adding hosts to \
         these until it is decided is wrong more often.",
        names(known),
        most
    ))
}

/// How many hosts have a ratio of a cell.
fn known_hosts(cell: &HostFindings) -> usize {
    cell.by_host.iter().filter(|of| of.ratio.is_some()).count()
}

/// Others than these are needed to tell two kinds of hosts from a stranger. Chosen.
const OTHERS_MIN: usize = 5;

/// One in so many hosts on the other side is few enough to be named. Chosen.
const FEW: usize = 4;

/// Who keeps a cell of a class open: the one host without which it would be decided, or the few on the other
/// side of 1.
pub(crate) fn odd_hosts(findings: &Findings, class: &ClassFindings) -> Vec<String> {
    let said = open_cells(findings, class).filter_map(|(name, cell)| {
        let own = |host: &String| {
            let of = cell.by_host.iter().find(|of| of.host == *host)?;
            Some(format!("{host} ({})", ratio(of.ratio?)))
        };
        let hosts = known_hosts(cell);
        let few = cell.against.len();
        let is_few = few > 0 && few * FEW <= hosts;
        // Of several strangers none is the one.
        match cell.odd.as_ref().filter(|_| few < 2 || !is_few) {
            Some(odd) => {
                let others = hosts - 1;
                let or_kinds = match others < OTHERS_MIN {
                    true => ", or measure more hosts, which may be of two kinds",
                    false => "",
                };
                Some(format!(
                    "{name} is open because of one host: {} is far from all others, and the other {others} would \
                     decide it. Find out what differs there{or_kinds}.",
                    own(odd)?
                ))
            }
            None if is_few => {
                let few: Vec<String> = cell.against.iter().filter_map(own).collect();
                let says = if few.len() == 1 { "says" } else { "say" };
                Some(format!(
                    "{name} is open: of {} {} {says} the opposite of the others.",
                    counted(hosts, "host"),
                    list(&few, "and")
                ))
            }
            None => None,
        }
    });
    said.collect()
}

/// The cells of a class that are open over hosts, by name.
fn open_cells<'a>(
    findings: &'a Findings,
    class: &'a ClassFindings,
) -> impl Iterator<Item = (String, &'a HostFindings)> {
    let groups = class.groups.iter().zip(&findings.groups);
    let groups = groups.filter(|_| class.is_over_hosts);
    groups.flat_map(move |(group, of_plan)| {
        let cells = group.cells.iter().zip(&of_plan.cells);
        let open = cells.filter(|(cell, _)| cell.decision == Some(Decision::Open));
        open.map(move |(cell, of_plan)| {
            let name = naming::cell(findings, of_plan);
            let name = match group.name.as_str() {
                "" => name,
                group => format!("{name} with {group}"),
            };
            (name, cell)
        })
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

#[cfg(test)]
mod tests {
    use octavo_experiment::{findings::FailedRun, plan::Level, verdict::Verdict};
    use octavo_units::PageSize;

    use super::*;
    use crate::{fixture, sentence::answers};

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
            why.ends_with("2 KiB could still be slower. Not measured: 16 KiB and 64 KiB."),
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
        // Twice the 81 that count: seven are left out.
        assert_eq!((findings.passes, findings.screened.disturbed()), (88, 7));
        for (command, wanted) in [
            (
                "octavo advise x --passes 88 --seed 7",
                "octavo advise x --seed 7 --passes 162",
            ),
            (
                "octavo advise x --passes=88",
                "octavo advise x --passes 162",
            ),
            ("octavo advise x", "octavo advise x --passes 162"),
        ] {
            findings.command = Some(command.into());
            assert_eq!(to_settle(&findings).unwrap().1, wanted);
        }
    }
}
