//! Page sizes of tables and indexes of their own: whether they pay, and what to type for them.

use octavo_database::{Change, ChangePlace, DatabaseKind};
use octavo_experiment::{
    findings::{Findings, GroupFindings},
    own_sizes::{ChosenSizes, MixedOverSingle},
    plan::{Level, MixedSizes},
    statistics::Decision,
    verdict::Verdict,
};

use super::Answer;
use crate::{
    document::Block,
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
                percent(LEAST)
            ),
        )),
        _ => None,
    }
}

/// What a size of its own saves at least: `WORTH_IT` of the choice.
const LEAST: f64 = 0.005;

fn of_measured(
    findings: &Findings,
    mixed: &MixedOverSingle,
    chosen: Option<&ChosenSizes>,
) -> Answer {
    let single = mixed.single;
    let expected = chosen.map_or_else(String::new, |chosen| {
        let saves = percent(chosen.saves().max(0.0));
        format!(" Predicted were {saves} less time of reads.")
    });
    let why = format!(
        "the mixed sizes have {} {} than {single} for all, the best single size ({}).{expected}",
        change(mixed.ratio.estimate),
        naming::rate(findings),
        change_interval(&mixed.ratio),
    );
    let what = match mixed.decision {
        Decision::Better => "sizes of tables pay",
        Decision::Equivalent | Decision::Worse => "one size is enough",
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
    let mixed = match &chosen.mixed {
        Some(sizes) => format!("{} with {sizes}", plain_time(chosen.reads_us)),
        None => "less with no other sizes".into(),
    };
    format!(
        "Page sizes were chosen before anything was measured, by when {} transactions refer to each page \
         again, and by what a random read takes: {}. Predicted time of reads per transaction: {}; {mixed}.",
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

/// What to type for sizes of tables and indexes.
pub(super) fn mixed_change(kind: &DatabaseKind, sizes: &MixedSizes) -> Option<Block> {
    let own_sizes = kind.own_sizes?;
    let others = [(own_sizes.others, sizes.others)].into_iter();
    let lines = |change: &Change, name: &str, bytes: u32| -> Vec<String> {
        let lines = change.lines.iter();
        lines
            .map(|line| {
                let named = line.text.replace("{name}", name);
                named.replace("{bytes}", &bytes.to_string())
            })
            .collect()
    };
    let statements = sizes.own.iter().chain(others);
    let statements = statements.flat_map(|(name, size)| lines(&own_sizes.change, name, size.get()));
    let notes = own_sizes.notes.iter().map(|line| (*line).to_owned());
    let place = match own_sizes.change.place {
        ChangePlace::Configuration { file, .. } => format!("In {file}"),
        _ => "Run once".into(),
    };
    Some(Block::Commands {
        purpose: format!("{place}, for the mixed sizes"),
        statements: statements.chain(notes).collect(),
    })
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
            "SIZES OF TABLES PAY: the mixed sizes have 12% more new orders per minute than 8 KiB for all, \
             the best single size (95% CI 10% to 14%)."
        );
        assert!(said(Decision::Equivalent, 1.0).starts_with("ONE SIZE IS ENOUGH: "));
        assert!(said(Decision::Worse, 0.9).starts_with("ONE SIZE IS ENOUGH: "));
        assert!(said(Decision::Open, 1.02).starts_with("NOT DECIDED WHETHER ONE SIZE IS ENOUGH: "));
    }

    #[test]
    fn every_table_has_its_lines_to_type() {
        let kind = Registry::standard().find("rocksdb").unwrap();
        let sizes = mixed(Decision::Better, 1.1).mixed;
        let Some(Block::Commands {
            purpose,
            statements,
        }) = mixed_change(kind, &sizes)
        else {
            panic!("there is nothing to type");
        };
        assert_eq!(purpose, "In RocksDB's options file, for the mixed sizes");
        assert_eq!(
            statements[..4],
            [
                "[TableOptions/BlockBasedTable \"order_line\"]",
                "block_size=65536",
                "[TableOptions/BlockBasedTable \"default\"]",
                "block_size=4096",
            ]
        );
        let sqlite = Registry::standard().default_kind();
        assert!(mixed_change(sqlite, &sizes).is_none());
    }
}
