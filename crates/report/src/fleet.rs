//! What hosts say of a plan that was divided among them, and what was merged.

use std::collections::HashSet;

use octavo_experiment::{
    caveats::Severity,
    findings::{
        ClassFindings, ClassGroup, Findings, Fleet, HostCell, HostFindings, HostSummary, LostPart,
    },
    merge::Merged,
    part::{PartKind, PartOutcome, StoredPart},
    verdict::Verdict,
};

use crate::{
    document::{Block, Depth, Document, Section, Table},
    naming,
    number::{UNKNOWN, clock, count, counted, list, number, percent, ratio, ratio_interval},
    parts, sentence, table,
};

/// The hosts of a plan that was divided; nothing of another one.
pub(crate) fn section(findings: &Findings) -> Section {
    let mut section = Section::new("hosts", "Hosts").at(Depth::Evidence);
    let Some(fleet) = &findings.fleet else {
        return section;
    };
    section.paragraph(counted_parts(fleet));
    for (place, class) in fleet.classes.iter().enumerate() {
        if fleet.classes.len() > 1 {
            section.heading(class.class.clone());
        } else {
            section.paragraph(format!("All hosts: {}.", class.class));
        }
        if class.is_over_hosts {
            section.paragraph(over_hosts(class));
        }
        if fleet.classes.len() > 1 {
            let is_small = fleet.classes_too_small > 0 && !class.is_over_hosts;
            let answers = class.groups.iter().map(|group| match is_small {
                true => format!("{} Of these hosts alone.", answer(group)),
                false => answer(group),
            });
            section.push(Block::List(answers.collect()));
        }
        let own = findings.of_class(place).filter(|_| fleet.classes.len() > 1);
        section.extend(own.and_then(sentence::confidence).map(|of| {
            let what = capital(&of.what.to_lowercase());
            Block::Paragraph(format!("{what}: {}", of.why))
        }));
        // Those of the first are above.
        let others = own.filter(|_| place > 0);
        section.push(Block::Warnings(
            others.map(first_warnings).unwrap_or_default(),
        ));
        // That of the first is among the answers.
        let is_first = place == 0;
        if !is_first {
            let odd = sentence::odd_hosts(findings, class).into_iter();
            section.extend(
                odd.chain(sentence::more_hosts(findings, class))
                    .map(Block::Paragraph),
            );
        }
        for (group, of_plan) in class.groups.iter().zip(&findings.groups) {
            let cells = of_plan
                .cells
                .iter()
                .map(|cell| naming::cell(findings, cell));
            let named: Vec<Named<'_>> = cells.zip(&group.cells).collect();
            if class.is_over_hosts && named.len() > 1 {
                section.push(Block::Table(ratios(findings, group, &named)));
            }
            if class.hosts.len() > 1 {
                section.push(Block::Table(by_host(findings, class, group, &named)));
            }
        }
        section.push(Block::Table(hosts(fleet, class)));
        // Those of the first are among the load.
        let failed = findings.of_class(place).filter(|_| place > 0);
        if let Some(own) = failed.filter(|own| !own.runs_failed.is_empty()) {
            let failed = table::failed(own, Some(fleet));
            section.details("Failed runs of this class", vec![Block::Table(failed)]);
        }
    }
    if !fleet.lost.is_empty() {
        let title = format!("{}s that do not count", capital(fleet.kind.name()));
        section.details(title, vec![Block::Table(lost(fleet))]);
    }
    section
}

/// Warnings of a class that are told, if no more of them may change its answer. Chosen.
const WARNINGS: usize = 3;

/// What to know before believing the answer of a class: what may change it, else the first ones.
fn first_warnings(findings: &Findings) -> Vec<String> {
    let warnings = sentence::caveats(findings).enumerate();
    let first = warnings
        .filter(|(place, (severity, _))| *place < WARNINGS || *severity >= Severity::Choice);
    first.map(|(_, (_, text))| text).collect()
}

/// How many parts there are, and on how many hosts.
fn counted_parts(fleet: &Fleet) -> String {
    // One that changed is of several classes.
    let hosts = fleet.classes.iter().flat_map(|class| &class.hosts);
    let hosts = hosts.map(|of| &of.host).collect::<HashSet<_>>().len();
    let on = match fleet.classes.len() {
        0 | 1 => format!("on {}", counted(hosts, "host")),
        classes => format!("on {} of {classes} classes", counted(hosts, "host")),
    };
    let small = fleet.classes_too_small;
    let agree = match fleet.agree {
        Some(true) if small > 0 => " The answers of all classes with enough hosts agree.",
        Some(true) => " The answers of all classes agree.",
        Some(false) => " Classes have other answers.",
        None if fleet.classes.len() - small > 1 => " Not all classes have an answer yet.",
        None if small > 0 => {
            " Only one class has enough hosts for an answer that is not theirs alone."
        }
        None => "",
    };
    let missing = match fleet.missing.as_slice() {
        [] => String::new(),
        missing => format!(" Missing: {}.", parts::named(fleet.kind, missing)),
    };
    let missing = match fleet.cut_off.as_slice() {
        [] => missing,
        cut_off => format!(
            " Cut off, or still at work: {}.{missing}",
            parts::named(fleet.kind, cut_off)
        ),
    };
    format!(
        "{} of {} {}, {on}.{missing}{agree}",
        fleet.counted,
        counted(fleet.wanted as usize, fleet.kind.name()),
        match fleet.counted {
            1 => "counts",
            _ => "count",
        },
    )
}

/// What a class is told to do, in a line.
fn answer(group: &ClassGroup) -> String {
    let said = match &group.verdict {
        Verdict::Use { level, .. } => format!("Use {}.", naming::level(level)),
        Verdict::Keep { level, .. } | Verdict::Alone { level } => {
            format!("Keep {}.", naming::level(level))
        }
        Verdict::Cold { .. } | Verdict::Inconclusive { .. } => "Not decided.".to_owned(),
    };
    naming::with(&group.name, &said)
}

/// What intervals over hosts are.
fn over_hosts(class: &ClassFindings) -> String {
    format!(
        "Each host gives one ratio, and intervals are Student's t over {}: they say what the mean of \
         many hosts like these would be. \"Next host\" is between what one more of them would lie.",
        parts::compared_hosts(class)
    )
}

/// A cell with its name in tables.
type Named<'a> = (String, &'a HostFindings);

/// A caption of a table of a group.
fn caption(said: &str, group: &ClassGroup) -> String {
    match group.name.as_str() {
        "" => said.to_owned(),
        name => format!("{said}, {name}"),
    }
}

fn ratios(findings: &Findings, group: &ClassGroup, cells: &[Named<'_>]) -> Table {
    let reference = naming::reference_word(findings);
    let known = |value: Option<String>| value.unwrap_or_else(|| UNKNOWN.into());
    Table::with_rows(caption("Ratios over hosts (95%)", group), cells)
        .label(naming::column(findings), |(name, _)| name.clone())
        .words((format!("vs {reference}"), 1), |(_, cell)| {
            match cell.reference {
                true => "1".into(),
                false => known(cell.ratio.as_ref().map(ratio_interval)),
            }
        })
        .figure(("hosts", 3), |(_, cell)| {
            let is_known = |of: &&HostCell| match cell.reference {
                true => of.throughput.is_some(),
                false => of.ratio.is_some(),
            };
            count(cell.by_host.iter().filter(is_known).count() as u64)
        })
        .words(("next host", 2), |(_, cell)| match cell.reference {
            true => "1".into(),
            false => known(cell.next.as_ref().map(ratio_interval)),
        })
        .words(("spread of hosts", 3), |(_, cell)| {
            known(cell.deviation.map(percent))
        })
        .prose("hosts that say the opposite", |(_, cell)| {
            match cell.against.as_slice() {
                [] if cell.reference => String::new(),
                // Of a level that too few hosts have there is nothing to contradict.
                [] if cell.ratio.is_none() => UNKNOWN.into(),
                [] => "none".into(),
                hosts => list(hosts, "and"),
            }
        })
        .build()
}

/// The reference's throughput on each host, and the ratios of the others to it.
fn by_host(
    findings: &Findings,
    class: &ClassFindings,
    group: &ClassGroup,
    cells: &[Named<'_>],
) -> Table {
    let places: Vec<usize> = (0..class.hosts.len()).collect();
    let at = |cell: &HostFindings, place: usize| cell.by_host.get(place).cloned();
    let mut table = Table::with_rows(caption("By host", group), &places)
        .label("host", |&place| class.hosts[place].host.name.clone());
    let Some((reference, own)) = cells.iter().find(|(_, cell)| cell.reference) else {
        return table.build();
    };
    let rate = naming::per_minute(&findings.counted_name);
    table = table.figure((format!("{rate} of {reference}"), 1), |&place| {
        let throughput = at(own, place).and_then(|of| of.throughput);
        throughput.map_or_else(|| UNKNOWN.into(), number)
    });
    for (name, cell) in cells.iter().filter(|(_, cell)| !cell.reference) {
        table = table.figure((format!("{name} vs {reference}"), 2), |&place| {
            let own = at(cell, place).and_then(|of| of.ratio);
            own.map_or_else(|| UNKNOWN.into(), ratio)
        });
    }
    table.build()
}

fn hosts(fleet: &Fleet, class: &ClassFindings) -> Table {
    let parts = format!("{}s", fleet.kind.name());
    Table::with_rows("What each host did", &class.hosts)
        .label("host", |of: &HostSummary| of.host.name.clone())
        .words((parts, 1), |of| match of.parts.len() {
            0..=8 => {
                let numbers = of
                    .parts
                    .iter()
                    .map(|number| parts::shown(fleet.kind, *number));
                numbers.collect::<Vec<_>>().join(", ")
            }
            many => count(many as u64),
        })
        .figure(("passes", 2), |of| match of.passes {
            0 => UNKNOWN.into(),
            passes => count(passes as u64),
        })
        .figure(("lost", 2), |of| count(of.lost as u64))
        .build()
}

fn lost(fleet: &Fleet) -> Table {
    Table::with_rows("", &fleet.lost)
        .label(fleet.kind.name(), |of: &LostPart| {
            parts::shown(fleet.kind, of.number)
        })
        .words(("host", 1), |of| of.host.name.clone())
        .words(("end", 1), |of| end(of.outcome).to_owned())
        .prose("instead", |of| match of.has_another {
            true => "another attempt counts".to_owned(),
            false => "none: carry it out again".to_owned(),
        })
        .build()
}

/// How a part ended.
fn end(outcome: Option<PartOutcome>) -> &'static str {
    match outcome {
        Some(PartOutcome::Done) => "done",
        Some(PartOutcome::Incomplete) => "incomplete",
        None => "killed, or under way",
    }
}

fn capital(word: &str) -> String {
    naming::capital(word)
}

/// What a merge did.
pub fn merged(merged: &Merged) -> Document {
    let mut section = Section::new("merged", "Merged");
    let counting = merged.parts.iter().filter(|part| part.counts()).count();
    let kind = merged
        .parts
        .first()
        .map_or(PartKind::Sitting, |part| part.kind);
    let cut_off = merged
        .parts
        .iter()
        .filter(|part| part.counts() && part.outcome != Some(PartOutcome::Done));
    let cut_off: Vec<u32> = cut_off.map(|part| part.number).collect();
    let cut_off = match cut_off.as_slice() {
        [] => String::new(),
        cut_off => format!(
            " Cut off, or still at work: {}.",
            parts::named(kind, cut_off)
        ),
    };
    let missing = match merged.missing.as_slice() {
        [] => String::new(),
        [only] => format!(" Missing: {} {}.", kind.name(), parts::shown(kind, *only)),
        missing => format!(
            " Missing: {}s {}.",
            kind.name(),
            parts::numbers(kind, missing)
        ),
    };
    section.paragraph(format!(
        "{} from {}; {} of {} {}.{cut_off}{missing}",
        match merged.taken {
            0 => "Nothing new".to_owned(),
            taken => format!("{} taken", counted(taken, "attempt")),
        },
        counted(merged.stores, "store"),
        count(counting as u64),
        counted(merged.parts.len(), "attempt"),
        match counting {
            1 => "counts",
            _ => "count",
        },
    ));
    let parts: Vec<&StoredPart> = merged.parts.iter().collect();
    let table = Table::with_rows("", &parts)
        .label(kind.name(), |part| parts::shown(part.kind, part.number))
        .words(("host", 1), |part| part.host.name.clone())
        .words(("end", 1), |part| end(part.outcome).to_owned())
        .words(("counts", 1), |part| {
            match part.counts() {
                true => "yes",
                false => "no",
            }
            .to_owned()
        })
        .words(("took", 2), |part| clock(part.spent_s))
        .build();
    section.details("All attempts", vec![Block::Table(table)]);
    Document::new("Merged", [section])
}

#[cfg(test)]
#[path = "fleet/tests.rs"]
mod tests;
