//! Two stores beside each other, for a terminal and for programs.

use octavo_experiment::{
    compare::{CellComparison, Comparison},
    statistics::Standing,
    verdict::Verdict,
};
use serde::Serialize;

use crate::{
    number::{change, change_interval, is_bounded, list, number, percent, ratio_interval},
    page::Page,
    table::Table,
};

#[derive(Serialize)]
struct Report<'a> {
    sentences: Vec<String>,
    #[serde(flatten)]
    comparison: &'a Comparison,
}

/// The comparison as indented JSON, with what it says in words under
/// `sentences`.
///
/// # Panics
/// Never: every part of a comparison has a JSON form.
pub fn compare_json(comparison: &Comparison) -> String {
    let mut sentences = vec![answer(comparison)];
    sentences.extend(verdicts(comparison));
    serde_json::to_string_pretty(&Report {
        sentences,
        comparison,
    })
    .expect("a comparison has a JSON form")
}

/// The comparison of the stores `first` and `second` as text of at most
/// `width` columns; with `colour`, ANSI escape sequences mark headings and
/// standings. Ends with a line break.
pub fn compare(
    comparison: &Comparison,
    first: &str,
    second: &str,
    width: usize,
    colour: bool,
) -> String {
    let mut page = Page::new(width, colour);
    page.answer(&answer(comparison));
    page.entry("first", first);
    page.entry("second", second);
    page.blank();
    if !comparison.cells.is_empty() {
        page.heading("Throughput a minute (geometric means), second over first");
        page.table(&cells(comparison), &[1, 2]);
        page.prose(
            "",
            "The stores share no rounds: what else changed on the machine between them is part \
             of every ratio, and only cells of one store are compared within rounds.",
        );
        page.blank();
    }
    page.sentences("Verdicts", &verdicts(comparison));
    for (heading, names) in [
        ("Only in the first", &comparison.only_first),
        ("Only in the second", &comparison.only_second),
    ] {
        page.sentences(heading, names);
    }
    if !comparison.differences.is_empty() {
        page.heading("Conditions that differ");
        for difference in &comparison.differences {
            let known = |value: &str| {
                if value.is_empty() {
                    "not known".to_owned()
                } else {
                    value.to_owned()
                }
            };
            page.entry(
                &difference.name,
                &format!(
                    "{} | {}",
                    known(&difference.first),
                    known(&difference.second)
                ),
            );
        }
    }
    page.finish()
}

fn cells(comparison: &Comparison) -> Table {
    Table::new(
        ["cell", "first", "second", "ratio (95 %)", "second is"],
        comparison.cells.iter().map(|cell| {
            [
                cell.name.clone(),
                number(cell.first.estimate),
                number(cell.second.estimate),
                ratio_interval(&cell.ratio),
                word(cell.standing).into(),
            ]
        }),
    )
}

/// The standings in the order in which they are told.
const STANDINGS: [Standing; 4] = [
    Standing::Better,
    Standing::Worse,
    Standing::Equivalent,
    Standing::Open,
];

fn word(standing: Standing) -> &'static str {
    match standing {
        Standing::Better => "better",
        Standing::Worse => "worse",
        Standing::Equivalent => "equivalent",
        Standing::Open => "open",
    }
}

/// What it comes to.
fn answer(comparison: &Comparison) -> String {
    match &comparison.cells[..] {
        [] => "The stores have no measured cell in common: nothing can be compared.".into(),
        [cell] => single(cell, comparison.margin),
        cells => {
            let parts: Vec<String> = STANDINGS
                .into_iter()
                .filter_map(|standing| {
                    let count = cells
                        .iter()
                        .filter(|cell| cell.standing == standing)
                        .count();
                    (count > 0).then(|| format!("{} in {count}", word(standing)))
                })
                .collect();
            format!(
                "Of {} cells that both measured, the second store is {} (margin {}).",
                cells.len(),
                list(&parts, "and"),
                percent(comparison.margin)
            )
        }
    }
}

fn single(cell: &CellComparison, margin: f64) -> String {
    let interval = if is_bounded(&cell.ratio) {
        change_interval(&cell.ratio)
    } else {
        "no interval from one run".into()
    };
    match cell.standing {
        Standing::Better | Standing::Worse => format!(
            "{}: the second store's throughput is {} than the first's ({interval}).",
            cell.name,
            change(cell.ratio.estimate)
        ),
        Standing::Equivalent => format!(
            "{}: both stores are equivalent, within {} ({interval}).",
            cell.name,
            percent(margin)
        ),
        Standing::Open => format!(
            "{}: open: more rounds are needed to tell the stores apart ({interval}).",
            cell.name
        ),
    }
}

/// What each store recommends, where both do.
fn verdicts(comparison: &Comparison) -> Vec<String> {
    comparison
        .verdicts
        .iter()
        .map(|(name, first, second)| {
            let with = if name.is_empty() {
                String::new()
            } else {
                format!("With {name}: ")
            };
            let (first, second) = (recommendation(first), recommendation(second));
            if first == second {
                format!("{with}both say {first}.")
            } else {
                format!("{with}the first says {first}, the second {second}.")
            }
        })
        .collect()
}

fn recommendation(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Use { level, .. } => format!("use {}", level.with_noun()),
        Verdict::Keep { level, .. } => format!("keep {}", level.with_noun()),
        Verdict::Inconclusive { .. } => "inconclusive".into(),
    }
}

#[cfg(test)]
mod tests {
    use octavo_experiment::compare::compare as of;

    use super::*;
    use crate::fixture;

    #[test]
    fn a_store_is_equivalent_to_itself_or_open() {
        let findings = fixture::findings();
        let comparison = of(&findings, &findings);
        assert_eq!(comparison.cells.len(), 10);
        assert!(comparison.differences.is_empty());
        assert!(
            comparison
                .cells
                .iter()
                .all(|cell| (cell.ratio.estimate - 1.0).abs() < 1e-12)
        );
        let text = compare(&comparison, "a.db", "b.db", 80, false);
        assert!(text.starts_with("Of 10 cells that both measured"), "{text}");
        assert!(text.contains("both say use page size 8192."), "{text}");
        assert!(!text.contains("Conditions that differ"), "{text}");
    }

    #[test]
    fn what_differs_is_named() {
        let first = fixture::findings();
        let mut second = fixture::one_memory();
        second.machine[0].1 = "Linux 7.0".into();
        for cell in &mut second.groups[0].cells {
            for throughput in &mut cell.throughput_per_minute {
                *throughput *= 2.0;
            }
        }
        let comparison = of(&first, &second);
        assert_eq!(comparison.cells.len(), 5);
        assert_eq!(comparison.only_first.len(), 5);
        assert!(
            comparison
                .cells
                .iter()
                .all(|cell| cell.standing == Standing::Better)
        );
        let text = compare(&comparison, "a.db", "b.db", 100, false);
        assert!(text.contains("better in 5"), "{text}");
        assert!(text.contains("Linux 7.0"), "{text}");
        let value: serde_json::Value = serde_json::from_str(&compare_json(&comparison)).unwrap();
        assert_eq!(value["cells"][0]["standing"], "better");
    }

    #[test]
    fn stores_with_nothing_in_common_say_so() {
        let findings = fixture::findings();
        let comparison = of(&findings, &fixture::empty());
        assert!(answer(&comparison).contains("nothing can be compared"));
    }
}
