//! Page sizes of tables and indexes of their own: whether they pay, and what to type for them.

use std::collections::BTreeMap;

use octavo_database::{Change, DatabaseKind};
use octavo_experiment::{
    findings::{Findings, GroupFindings},
    own_sizes::{ChosenSizes, MixedOverSingle, WORTH_IT},
    plan::{Level, MixedSizes},
    statistics::Decision,
    verdict::Verdict,
};
use octavo_units::PageSize;

use super::Answer;
use crate::{
    naming,
    number::{change, change_interval, count, is_bounded, join, list, percent, plain_time},
};

/// Whether sizes of tables and indexes pay.
pub(crate) fn own_sizes(findings: &Findings) -> Option<Answer> {
    let mixed = findings
        .groups
        .iter()
        .find_map(|group| group.mixed.as_ref());
    match (
        mixed.filter(|mixed| is_bounded(&mixed.ratio)),
        &findings.chosen_sizes,
    ) {
        (Some(mixed), chosen) => Some(of_measured(findings, mixed, chosen.as_ref())),
        (None, Some(chosen)) if chosen.mixed.is_none() => Some(Answer::new(
            "one size is enough",
            format!(
                "predicted, not measured: no table or index would save more than {} of the time of reads \
                 with a page size of its own.",
                percent(WORTH_IT)
            ),
        )),
        _ => None,
    }
}

fn of_measured(
    findings: &Findings,
    mixed: &MixedOverSingle,
    chosen: Option<&ChosenSizes>,
) -> Answer {
    let single = mixed.single;
    let saves = chosen.and_then(|chosen| chosen.saves_over(single));
    let expected = saves.map_or_else(String::new, |saves| {
        let (saves, than) = (
            percent(saves.abs()),
            if saves < 0.0 { "more" } else { "less" },
        );
        format!(" Predicted was {saves} {than} time of reads than with that.")
    });
    let why = format!(
        "mixed sizes have {} {} than {single} for all, the fastest single size ({}).{expected}",
        change(mixed.ratio.estimate),
        naming::rate(findings),
        change_interval(&mixed.ratio),
    );
    let what = match mixed.decision {
        Decision::Better => "sizes of tables pay",
        Decision::Equivalent => "one size is enough",
        Decision::Worse => "the chosen sizes of tables do not pay",
        Decision::Open => "not decided whether one size is enough",
    };
    Answer::new(what, why)
}

/// What sizes of tables and indexes were chosen by.
pub(crate) fn about_own_sizes(chosen: &ChosenSizes) -> String {
    let times = chosen.read_times.iter();
    let times = times.map(|of| format!("{} {}", of.page_size, plain_time(of.us)));
    let single = chosen.single.iter();
    let single = single.map(|of| format!("{} {}", of.page_size, plain_time(of.reads_us)));
    let few = match chosen.are_few {
        true => " (too few to fill so much memory, so that less is missed in the long run)",
        false => "",
    };
    let mixed = match &chosen.mixed {
        Some(sizes) => format!("{} with {sizes}", plain_time(chosen.reads_us)),
        None => "less with no other sizes".into(),
    };
    format!(
        "Page sizes were chosen before any transaction was measured, by when {} of them refer to each page \
         again{few}, and by what a random read takes: {}. Predicted time of reads per transaction: {}; {mixed}.",
        count(chosen.transactions),
        list(times, "and"),
        join(single, ", "),
    )
}

/// The sizes of tables and indexes that a group's answer is to use.
pub(super) fn wanted_sizes(group: &GroupFindings) -> Option<&MixedSizes> {
    match &group.verdict {
        Verdict::Use {
            level: Level::MixedSizes(sizes),
            ..
        } => Some(sizes),
        _ => None,
    }
}

/// What to type for sizes of tables and indexes, those of each size together: a change, and its lines.
pub(super) fn mixed_change(
    kind: &DatabaseKind,
    sizes: &MixedSizes,
) -> Option<(&'static Change, Vec<String>)> {
    let change = &kind.own_sizes?.change;
    let mut by_size: BTreeMap<PageSize, Vec<String>> = BTreeMap::new();
    for (name, size) in sizes.own.iter() {
        by_size.entry(size).or_default().push(name.to_owned());
    }
    let others = by_size.entry(sizes.others).or_default();
    others.push("all others".into());
    let lines = by_size.into_iter().flat_map(|(size, names)| {
        let lines = change
            .lines
            .iter()
            .filter(|line| line.text.contains("{name}"));
        lines.map(move |line| {
            let line = line.of_size(size.bytes());
            line.replace("{name}", &names.join(", "))
        })
    });
    let first = change
        .lines
        .iter()
        .filter(|line| !line.text.contains("{name}"));
    let first = first.map(|line| line.text.to_owned());
    Some((change, first.chain(lines).collect()))
}

#[cfg(test)]
mod tests {
    use octavo_database::Registry;
    use octavo_experiment::statistics::Interval;
    use octavo_units::PageSize;

    use super::*;
    use crate::fixture;

    fn mixed(decision: Decision, estimate: f64) -> MixedOverSingle {
        MixedOverSingle {
            mixed: MixedSizes {
                others: PageSize::kib(4),
                own: "order_line=64K".parse().unwrap(),
            },
            single: PageSize::kib(8),
            ratio: Interval {
                estimate,
                low: estimate - 0.02,
                high: estimate + 0.02,
                batches: 9,
            },
            decision,
        }
    }

    #[test]
    fn what_sizes_of_tables_do_is_said_beside_the_best_single_one() {
        let mut findings = fixture::one_memory();
        assert_eq!(own_sizes(&findings), None);
        let mut said = |decision, estimate| {
            findings.groups[0].mixed = Some(mixed(decision, estimate));
            own_sizes(&findings).unwrap().text()
        };
        assert_eq!(
            said(Decision::Better, 1.12),
            "SIZES OF TABLES PAY: mixed sizes have 12% more new orders per minute than 8 KiB for all, \
             the fastest single size (95% CI 10% to 14%)."
        );
        assert!(said(Decision::Equivalent, 1.0).starts_with("ONE SIZE IS ENOUGH: "));
        assert!(said(Decision::Worse, 0.9).starts_with("THE CHOSEN SIZES OF TABLES DO NOT PAY: "));
        assert!(said(Decision::Open, 1.02).starts_with("NOT DECIDED WHETHER ONE SIZE IS ENOUGH: "));
    }

    #[test]
    fn every_size_has_its_lines_to_type() {
        let kind = Registry::standard().find("rocksdb").unwrap();
        let mut sizes = mixed(Decision::Better, 1.1).mixed;
        sizes.own = "order_line=64K,item=64K".parse().unwrap();
        let (_, lines) = mixed_change(kind, &sizes).unwrap();
        let wanted = [
            "block_size=4096    # all others",
            "block_size=65536    # order_line, item",
        ];
        assert_eq!(lines[lines.len() - 2..], wanted, "{lines:?}");
        let sqlite = Registry::standard().default_kind();
        assert!(mixed_change(sqlite, &sizes).is_none());
    }
}
