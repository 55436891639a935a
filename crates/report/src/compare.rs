//! The report of a comparison of two stores.

use octavo_experiment::{
    caveats::{Caveat, Severity},
    compare::{CellComparison, Comparison},
    condition::{Condition, Holds},
    findings::Findings,
    record::Source,
    statistics::Decision,
    verdict::Verdict,
};

use crate::{
    document::{Block, Document, Section, Table},
    naming,
    number::{change, change_interval, list, number, percent, ratio_interval},
    outcome::{Case, Outcome},
    sentence::{caveats, decision},
};

/// The report of a comparison of two stores, by their names and what was found in each.
pub fn compare(comparison: &Comparison, stores: [(&str, &Findings); 2]) -> Document {
    let [first, second] = stores.map(|(name, _)| name);
    let mut said = Section::new("answer", "Answer");
    let (what, why) = answer(comparison);
    said.push(Block::Decision { what, why });
    said.push(Block::Warnings(warnings(
        comparison,
        stores.map(|(_, of)| of),
    )));
    let [own, other] = comparison.sources.map(mark);
    said.values([
        ("first", format!("{first}{own}")),
        ("second", format!("{second}{other}")),
    ]);
    let mut ratios = match comparison.in_response_ms {
        true => Section::new("comparison", "Speed, second ÷ first"),
        false => Section::new("comparison", "Throughput, second ÷ first"),
    };
    ratios.push(Block::Table(cells(comparison)));
    if !comparison.cells.is_empty() {
        ratios.paragraph(included(comparison));
    }
    let (only_first, only_second) = (&comparison.only_first, &comparison.only_second);
    let lists = [
        ("verdicts", "Verdicts", verdicts(comparison)),
        ("only-first", "Only in the first", only_first.clone()),
        ("only-second", "Only in the second", only_second.clone()),
        (
            "neither",
            "Without figures in either",
            comparison.neither.clone(),
        ),
    ];
    let lists = lists.map(|(id, title, items)| {
        let mut section = Section::new(id, title);
        section.push(Block::List(items));
        section
    });
    let mut section = Section::new("differences", "Conditions that differ");
    let known = |value: &str| match value {
        "" => "not known".to_owned(),
        value => value.to_owned(),
    };
    let differences = comparison.differences.iter().map(|of| {
        let values = format!("{} | {}", known(&of.first), known(&of.second));
        (of.name.clone(), values)
    });
    section.push(Block::Values(differences.collect()));
    let sections = [said, ratios].into_iter().chain(lists).chain([section]);
    Document::new(format!("{first} and {second}"), sections)
}

/// All that is said but warnings.
pub(crate) fn sentences(comparison: &Comparison) -> Vec<String> {
    let (what, why) = answer(comparison);
    let mut sentences = vec![format!("{what} {why}").trim_end().to_owned()];
    sentences.extend(verdicts(comparison));
    sentences
}

/// What may change the answer of one store, or of both, where they are compared.
pub(crate) fn warnings(comparison: &Comparison, stores: [&Findings; 2]) -> Vec<String> {
    if comparison.cells.is_empty() {
        return Vec::new();
    }
    let [first, second] = stores.map(|findings| {
        let worst = caveats(findings).filter(|(severity, _)| *severity >= Severity::Choice);
        worst.map(|(_, text)| text).collect::<Vec<String>>()
    });
    let of_first = first.iter().map(|text| match second.contains(text) {
        true => format!("Both stores: {text}"),
        false => format!("First store: {text}"),
    });
    let only_second = second.iter().filter(|text| !first.contains(text));
    of_first
        .chain(only_second.map(|text| format!("Second store: {text}")))
        .collect()
}

/// What came out of a condition on the second store, for each cell that both have.
pub fn compare_cases(
    condition: &Condition,
    comparison: &Comparison,
    stores: [&Findings; 2],
) -> Vec<Case> {
    let is_doubtful = stores.into_iter().any(is_doubtful);
    let cells = comparison.cells.iter();
    let cases = cells.map(|cell| {
        let interval = change_interval(&cell.ratio);
        let undecided = format!("whether the second store is {condition} is not decided");
        Case {
            name: cell.name.clone(),
            ratio: Some(cell.ratio),
            outcome: match condition.holds(&cell.ratio) {
                Holds::Yes if is_doubtful => Outcome::Open(format!(
                    "{undecided}, as a warning of a store may change it"
                )),
                Holds::Yes => Outcome::Yes(format!("the second store is {condition} ({interval})")),
                Holds::No => Outcome::No,
                Holds::Open => Outcome::Open(format!("{undecided}: {interval}")),
            },
        }
    });
    cases.collect()
}

/// What came out of all of these together.
pub fn compare_outcome(condition: &Condition, cases: &[Case]) -> Outcome {
    if cases.is_empty() {
        return Outcome::Open(format!(
            "'{condition}' cannot be told: the stores have no cell with figures in common"
        ));
    }
    let named = |wanted: fn(&Outcome) -> bool| {
        let cases = cases.iter().filter(|case| wanted(&case.outcome));
        let names: Vec<&str> = cases.map(|case| case.name.as_str()).collect();
        (!names.is_empty()).then(|| names.join("; "))
    };
    if let Some(met) = named(|of| matches!(of, Outcome::Yes(_))) {
        return Outcome::Yes(format!("the second store is {condition}: {met}"));
    }
    let doubted = cases.iter().find_map(|case| match &case.outcome {
        Outcome::Open(why)
            if case
                .ratio
                .is_some_and(|of| condition.holds(&of) == Holds::Yes) =>
        {
            Some(format!("{why}: {}", case.name))
        }
        _ => None,
    });
    let open = named(|of| matches!(of, Outcome::Open(_)));
    let open =
        open.map(|open| format!("whether the second store is {condition} is not decided: {open}"));
    doubted.or(open).map_or(Outcome::No, Outcome::Open)
}

/// Whether a warning of a store may change what is said of it beside another one: not what holds of all
/// predictions, or of all debug builds.
fn is_doubtful(findings: &Findings) -> bool {
    let of_all = |caveat: &Caveat| {
        matches!(
            caveat,
            Caveat::Predicted | Caveat::NeverCompared { .. } | Caveat::DebugBuild
        )
    };
    let mut caveats = findings.caveats.iter().filter(|caveat| !of_all(caveat));
    caveats.any(|caveat| caveat.severity() >= Severity::Choice)
}

/// Marks predicted figures.
fn mark(source: Source) -> &'static str {
    match source {
        Source::Predicted => " (predicted)",
        Source::Measured => "",
    }
}

/// Conditions that differ and so are part of the ratios.
fn included(comparison: &Comparison) -> &'static str {
    match comparison.sources.map(|source| source == Source::Predicted) {
        [one, other] if comparison.is_same_experiment && one == other => {
            "Both stores are of one experiment and share all that the shorter one measured, so \
             ratios show only what was added."
        }
        [false, false] => {
            "The stores share no batches, so ratios include every other change of the machine \
             between them."
        }
        [true, true] => {
            "Both stores are predicted, so ratios include everything below in which they differ, \
             and how far models are off for each."
        }
        _ => {
            "One store is predicted and one measured, so ratios include how far the model is off \
             from that machine."
        }
    }
}

fn cells(comparison: &Comparison) -> Table {
    let [first, second] = comparison.sources.map(mark);
    let (caption, ratio) = match comparison.in_response_ms {
        true => ("Mean response time in milliseconds", "speed (95% CI)"),
        false => ("Per minute", "ratio (95% CI)"),
    };
    let marks = match (first, second) {
        ("", "") => String::new(),
        ("", _) => ", second predicted".into(),
        (_, "") => ", first predicted".into(),
        _ => ", both predicted".into(),
    };
    Table::with_rows(format!("{caption}{marks}"), &comparison.cells)
        .label("cell", |cell| cell.name.clone())
        .figure(("first", 9), |cell| number(cell.first.estimate))
        .figure(("second", 8), |cell| number(cell.second.estimate))
        .words(ratio, |cell| ratio_interval(&cell.ratio))
        .words("second is", |cell| decision(cell.decision, cell.ratio))
        .build()
}

/// The answer, and its evidence.
fn answer(comparison: &Comparison) -> (String, String) {
    let margin = percent(comparison.margin);
    match &comparison.cells[..] {
        [] => (
            "Nothing can be compared.".into(),
            "The stores have no cell with figures in common.".into(),
        ),
        [cell] => single(cell, &margin),
        cells => {
            let mut counts: Vec<(String, usize)> = Vec::new();
            for wanted in [
                Decision::Better,
                Decision::Worse,
                Decision::Equivalent,
                Decision::Open,
            ] {
                for cell in cells.iter().filter(|cell| cell.decision == wanted) {
                    let word = decision(wanted, cell.ratio).text;
                    match counts.iter_mut().find(|(known, _)| *known == word) {
                        Some((_, count)) => *count += 1,
                        None => counts.push((word, 1)),
                    }
                }
            }
            let parts: Vec<String> = counts
                .into_iter()
                .map(|(word, count)| format!("{word} in {count}"))
                .collect();
            (
                format!("Second store: {}.", list(&parts, "and")),
                format!("{} cells in common, margin {margin}.", cells.len()),
            )
        }
    }
}

fn single(cell: &CellComparison, margin: &str) -> (String, String) {
    let interval = change_interval(&cell.ratio);
    let said = match cell.decision {
        Decision::Better | Decision::Worse => {
            format!(
                "{} in the second store ({interval}).",
                change(cell.ratio.estimate)
            )
        }
        Decision::Equivalent => format!("No difference above {margin} ({interval})."),
        Decision::Open => format!("More time is needed ({interval})."),
    };
    let what = format!(
        "{}: second store {}.",
        cell.name,
        decision(cell.decision, cell.ratio).text
    );
    (what, naming::capital(&said))
}

/// What each store recommends, where both do.
fn verdicts(comparison: &Comparison) -> Vec<String> {
    let said = |(name, first, second): &(String, Verdict, Verdict)| {
        let (first, second) = (recommendation(first), recommendation(second));
        let sentence = if first == second {
            format!("both say {first}.")
        } else {
            format!("the first says {first}, the second {second}.")
        };
        naming::with(name, &sentence)
    };
    comparison.verdicts.iter().map(said).collect()
}

fn recommendation(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Use { level, .. } => format!("use {}", level.with_noun()),
        Verdict::Keep { level, .. } => format!("keep {}", level.with_noun()),
        Verdict::Alone { .. } => "nothing to compare".into(),
        Verdict::Cold { .. } => "no answer, since caches were not warm".into(),
        Verdict::Inconclusive { .. } => "no clear winner".into(),
    }
}

#[cfg(test)]
mod tests {
    use octavo_experiment::compare::compare as of;

    use super::*;
    use crate::fixture;

    fn text(comparison: &Comparison, [first, second]: [&Findings; 2], width: usize) -> String {
        compare(comparison, [("a.db", first), ("b.db", second)]).terminal(width, false)
    }

    #[test]
    fn what_may_change_the_answer_of_a_store_is_said_again() {
        let (mut first, mut second) = (fixture::one_memory(), fixture::one_memory());
        first.caveats = vec![Caveat::NoDeviceCounters, Caveat::DebugBuild];
        second.caveats = vec![Caveat::MissesNotAtDevice { share: 0.2 }, Caveat::DebugBuild];
        let said = warnings(&of(&first, &second), [&first, &second]);
        assert_eq!(said.len(), 2, "{said:?}");
        assert!(
            said[0].starts_with("Both stores: A debug build"),
            "{said:?}"
        );
        assert!(said[1].starts_with("Second store: Only 20% of"), "{said:?}");
        let text = text(&of(&first, &second), [&first, &second], 80);
        assert!(text.contains("! Both stores: A debug build"), "{text}");
        assert!(is_doubtful(&second) && !is_doubtful(&first));
        let json = crate::compare_json(&of(&first, &second), [&first, &second]);
        let value: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert_eq!(value["warnings"][1], said[1]);
    }

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
        let text = text(&comparison, [&findings, &findings], 80);
        assert!(text.contains("10 cells in common, margin 3%."), "{text}");
        assert!(text.contains("both say use 8\u{a0}KiB pages."), "{text}");
        assert!(!text.contains("Conditions that differ"), "{text}");
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            text.contains("Both stores are of one experiment and share all"),
            "{text}"
        );
        assert!(!text.contains("share no batches"), "{text}");
    }

    #[test]
    fn stores_at_a_pace_are_compared_by_response_times() {
        let first = fixture::stores::paced();
        let mut second = first.clone();
        for cell in second.groups.iter_mut().flat_map(|group| &mut group.cells) {
            for of in cell.mean_response_ms.iter_mut() {
                (of.estimate, of.low, of.high) = (of.estimate / 2.0, of.low / 2.0, of.high / 2.0);
            }
        }
        let comparison = of(&first, &second);
        let cells = comparison.cells.iter();
        assert!(cells.clone().count() > 0);
        for cell in cells {
            assert!((cell.ratio.estimate - 2.0).abs() < 1e-9, "{cell:?}");
        }
        let text = text(&comparison, [&first, &second], 100);
        for shown in [
            "Speed, second",
            "response time in milliseconds",
            "speed (95% CI)",
        ] {
            assert!(text.contains(shown), "{text}");
        }
        assert!(
            !text.contains("hroughput") && !text.contains("Per minute"),
            "{text}"
        );
    }

    #[test]
    fn cells_without_figures_and_without_an_interval_are_named() {
        let mut first = fixture::one_memory();
        let mut second = fixture::one_memory();
        second.created = "2026-01-01T00:00:00Z".into();
        first.groups[0].cells[4].throughput = None;
        second.groups[0].cells[4].throughput = None;
        second.groups[0].cells[3].throughput = None;
        for cell in &mut second.groups[0].cells[..2] {
            let of = cell.throughput.as_mut().unwrap();
            (of.low, of.high) = (0.0, f64::INFINITY);
        }
        let comparison = of(&first, &second);
        assert_eq!(comparison.neither, ["64 KiB pages"]);
        assert_eq!(comparison.only_first, ["16 KiB pages"]);
        let text = text(&comparison, [&first, &second], 200);
        let text = text.replace('\u{a0}', " ");
        assert!(text.contains("not known yet in 2"), "{text}");
        assert!(text.contains("Without figures in either"), "{text}");
        assert!(text.contains("share no batches"), "{text}");
    }

    #[test]
    fn differing_conditions_are_listed() {
        let first = fixture::findings();
        let mut second = fixture::one_memory();
        second.machine[0].1 = "Linux 7.0".into();
        for cell in &mut second.groups[0].cells {
            for of in cell.throughput.iter_mut() {
                (of.estimate, of.low, of.high) = (2.0 * of.estimate, 2.0 * of.low, 2.0 * of.high);
            }
        }
        let comparison = of(&first, &second);
        assert_eq!(comparison.cells.len(), 5);
        assert_eq!(comparison.only_first.len(), 5);
        for cell in &comparison.cells {
            let beside = cell.second.estimate / cell.first.estimate;
            assert!(
                (cell.ratio.estimate / beside - 1.0).abs() < 1e-9,
                "{cell:?}"
            );
        }
        assert!(
            comparison
                .cells
                .iter()
                .all(|cell| cell.decision == Decision::Better)
        );
        let text = text(&comparison, [&first, &second], 100);
        assert!(text.starts_with("  Second store: faster in 5. "), "{text}");
        assert!(text.contains("Linux 7.0"), "{text}");
        let json = crate::compare_json(&comparison, [&first, &second]);
        let value: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert_eq!(value["cells"][0]["decision"], "better");
    }

    #[test]
    fn rows_data_and_warm_up_that_differ_are_listed() {
        let first = fixture::findings();
        let mut second = fixture::findings();
        second.plan.data = vec![
            second
                .plan
                .workload
                .data_spec(&[("warehouses", 9)])
                .unwrap(),
        ];
        for snapshot in &mut second.snapshots {
            snapshot.size = octavo_units::ByteCount::mib(900);
        }
        second.warm_up = Some("5000 transactions".into());
        let names: Vec<String> = of(&first, &second)
            .differences
            .into_iter()
            .map(|of| of.name)
            .collect();
        assert_eq!(names, ["rows", "data", "warm-up"]);
    }

    #[test]
    fn predictions_have_no_machine() {
        let measured = fixture::findings();
        let mut predicted = fixture::findings();
        fixture::predict(&mut predicted);
        let text = |first, second| {
            let text = text(&of(first, second), [first, second], 200);
            text.split_whitespace().collect::<Vec<_>>().join(" ")
        };
        let mut later = fixture::findings();
        later.created = "2026-01-01T00:00:00Z".into();
        assert!(text(&measured, &later).contains("change of the machine"));
        let mut other = fixture::findings();
        fixture::predict(&mut other);
        other.created = later.created.clone();
        let both = text(&predicted, &other);
        assert!(
            !both.contains("machine") && both.contains("Both stores are predicted"),
            "{both}"
        );
        assert!(text(&predicted, &measured).contains("One store is predicted"));
    }

    #[test]
    fn stores_with_nothing_in_common_say_so() {
        let findings = fixture::findings();
        let comparison = of(&findings, &fixture::empty());
        assert!(answer(&comparison).0.contains("Nothing can be compared"));
    }
}
