//! Reports of studies: score cards, figures drawn again, constants and settings.

use octavo_study::{
    BY, Citation, Drawn, Moved, Outcome, Predicted, Relation, Score, ScoredClaim, Study,
};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    chart,
    document::{Block, Cell, Depth, Document, Section, Table, Tone},
    json,
    number::{counted, number, off_by, percent, percent_fine},
};

/// A study with what the models say of it, and what was measured.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Reproduction {
    /// The study.
    #[serde(skip)]
    pub study: Study,
    /// What it is about, asked and answered.
    pub title: String,
    /// Where it was published.
    pub citation: Citation,
    /// Its question.
    pub question: String,
    /// Its answer.
    pub answer: String,
    /// Its score card.
    pub score: Score,
    /// Its charts.
    pub charts: Vec<Drawn>,
    /// What was predicted.
    pub predicted: Predicted,
    /// Its constants moved; empty unless that was asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub constants: Vec<Moved>,
    /// The directory whose measurements are among the figures.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub measured_in: Option<String>,
}

/// Several reproductions for programs.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Studies<'a> {
    sentences: Vec<String>,
    studies: &'a [Reproduction],
}

/// Several reproductions as indented JSON, with what they say in words under `sentences`.
///
/// # Panics
/// Never: every field has a JSON form.
pub fn reproduction_json(all: &[Reproduction]) -> String {
    json::json(Studies {
        sentences: all.iter().map(|of| decision(&of.score)).collect(),
        studies: all,
    })
}

/// One report of all.
pub fn reproduction(all: &[Reproduction]) -> Document {
    let title = match all {
        [one] => format!("{}: {}", one.study.name, one.study.title),
        _ => "Published studies, repeated".to_owned(),
    };
    let mut sections = Vec::new();
    if all.len() > 1 {
        sections.push(overview(all));
    }
    for of in all {
        sections.push(card(of, all.len() == 1));
        sections.push(devices(of));
        sections.push(method(of));
    }
    Document::new(title, sections)
}

fn overview(all: &[Reproduction]) -> Section {
    let mut section = Section::new("studies", "All studies");
    let holds: usize = all.iter().map(|of| of.score.held().0).sum();
    let tested: usize = all.iter().map(|of| of.score.held().1).sum();
    section.push(Block::Decision {
        what: format!("{holds} of {tested} predicted figures are as near as was asked."),
        why: "Each study's bound is stated in its file; figures that constants were fitted to \
              are not counted."
            .into(),
    });
    let table = Table::with_rows("", all)
        .label("study", |of| of.study.name.clone())
        .figure("hold", |of| {
            let (holds, tested) = of.score.held();
            format!("{holds} of {tested}")
        })
        .figure("off by, mean", |of| {
            of.score.mean_error().map_or(String::new(), percent_fine)
        })
        .figure("two constants", |of| {
            let null = of.score.beside_null();
            null.map_or(String::new(), |(holds, null, all)| {
                format!("{null} of {all}, models {holds}")
            })
        })
        .figure("fitted and near", |of| {
            let rows = of.score.rows.iter();
            let is_near = |row: &ScoredClaim| match row.outcome {
                Outcome::Fitted { is_near, .. } => Some(is_near),
                _ => None,
            };
            let fitted: Vec<bool> = rows.filter_map(is_near).collect();
            let near = fitted.iter().filter(|is_near| **is_near).count();
            format!("{near} of {}", fitted.len())
        })
        .prose("it said", |of| of.study.answer.clone());
    section.push(Block::Table(table.build()));
    section
}

fn decision(score: &Score) -> String {
    let (holds, tested) = score.held();
    let mean = score.mean_error().unwrap_or(0.0);
    let verdict = match (holds == tested, holds * 2 > tested) {
        _ if tested == 0 => return "Nothing here tests the models.".into(),
        (true, _) => "The models repeat it",
        (false, true) => "The models repeat most of it",
        (false, false) => "The models do not repeat it",
    };
    let null = score.beside_null().map_or(String::new(), |(holds, null, all)| {
        format!(
            " Of {all} figures a model of two constants (1.25 for pages a quarter as large, 1.08 \
             for twice the buffer) has {null} as near, the models {holds}."
        )
    });
    format!(
        "{verdict}: {holds} of {tested} predicted figures are as near as was asked, off by {} on \
         average.{null}",
        percent(mean)
    )
}

fn card(of: &Reproduction, is_alone: bool) -> Section {
    let study = &of.study;
    let name = study.name.clone();
    let mut section = match is_alone {
        true => Section::new(name, "Score card"),
        false => Section::new(name.clone(), name).at(Depth::Evidence),
    };
    if !is_alone {
        section.paragraph(&study.title);
    }
    section.push(Block::Decision {
        what: decision(&of.score),
        why: misses(&of.score),
    });
    section.paragraph(format!(
        "It asked: {} It answered: {}.",
        study.question, study.answer
    ));
    section.paragraph(format!("Not seen: {}", study.not_seen));
    section.paragraph(format!("Published: {}", of.citation));
    section.extend(of.charts.iter().filter_map(chart::study).map(Block::Figure));
    section.push(Block::Table(rows(
        "Score card (predicted by models)",
        &tested(&of.score, false),
    )));
    let untested: Vec<String> = of
        .score
        .rows
        .iter()
        .filter_map(|row| match &row.outcome {
            Outcome::Untested(why) => Some(format!("{}: not tested, {why}.", row.text)),
            _ => None,
        })
        .collect();
    section.push(Block::List(untested));
    if let Some(directory) = &of.measured_in {
        section.paragraph(format!(
            "Measured: ratios of throughput on this machine, in {directory}, with intervals (95% \
             for all cells and looks together) where both cells executed the same passes."
        ));
    }
    section
}

/// What was published of its devices alone, and their models were fitted to.
fn devices(of: &Reproduction) -> Section {
    let name = &of.study.name;
    let title = format!("{name}: devices that were fitted");
    let mut section = Section::new(format!("{name}-devices"), title).at(Depth::Evidence);
    section.push(Block::Table(rows(
        "Devices (simulated by models)",
        &tested(&of.score, true),
    )));
    section
}

/// What is said of a curve that has no peak or knee where one was published.
const NO_SHAPE: &str = "no such shape";

/// Which predictions are furthest off.
fn misses(score: &Score) -> String {
    let off = score
        .rows
        .iter()
        .filter(|row| row.is_off() && !row.is_derived);
    let mut off: Vec<&ScoredClaim> = off.collect();
    // A shape that is missing has no figure, and is off by more than any.
    let size = |row: &&ScoredClaim| row.error.map_or(f64::INFINITY, f64::abs);
    off.sort_by(|a, b| size(b).total_cmp(&size(a)));
    match off[..] {
        [] => "No prediction is off.".into(),
        [worst, ..] => format!(
            "{} off; furthest: {} ({}).",
            counted(off.len(), "prediction"),
            worst.text,
            worst.error.map_or(NO_SHAPE.into(), off_by)
        ),
    }
}

/// Rows of one sort: figures that device models were fitted to, or all others.
fn tested(score: &Score, are_fitted_devices: bool) -> Vec<&ScoredClaim> {
    let says = |row: &&ScoredClaim| !matches!(row.outcome, Outcome::Untested(_));
    let is_fitted_device =
        |row: &ScoredClaim| row.is_of_device && matches!(row.outcome, Outcome::Fitted { .. });
    let rows = score.rows.iter().filter(says);
    rows.filter(|row| is_fitted_device(row) == are_fitted_devices)
        .collect()
}

fn rows(caption: &str, rows: &[&ScoredClaim]) -> Table {
    let has_measured = rows.iter().any(|row| row.measured.is_some());
    let mut table = Table::with_rows(caption, rows)
        .prose("claim", |row| row.text.clone())
        .words("published", |row| published(row))
        .figure("predicted", |row| {
            row.predicted.map_or("none".into(), number)
        });
    if has_measured {
        table = table.words("measured", |row| measured(row));
    }
    table
        .figure("off by", |row| match row.error {
            Some(0.0) if row.relation != Relation::About || row.published_to.is_some() => {
                "holds".into()
            }
            Some(error) => off_by(error),
            None => String::new(),
        })
        .figure("two constants", |row| {
            row.null.map_or(String::new(), number)
        })
        .words("result", |row| match &row.outcome {
            Outcome::Holds if row.is_derived => "near, of other rows".into(),
            Outcome::Off if row.is_derived => "off, of other rows".into(),
            Outcome::Holds => Cell::toned("near", Tone::Good),
            Outcome::Off => Cell::toned("off", Tone::Bad),
            Outcome::NoShape => Cell::toned(NO_SHAPE, Tone::Bad),
            Outcome::Fitted { is_near: true, .. } => "fitted".into(),
            Outcome::Fitted { is_near: false, .. } => Cell::toned("fitted, off", Tone::Bad),
            Outcome::Asked => "no figure".into(),
            Outcome::Untested(_) => "not tested".into(),
        })
        .build()
}

fn published(row: &ScoredClaim) -> String {
    if row.published.is_none() {
        return "none".into();
    }
    let relation = match row.relation {
        Relation::About => "",
        Relation::AtLeast => "at least ",
        Relation::AtMost => "at most ",
    };
    let low = row.published.map_or(String::new(), number);
    let high = row
        .published_to
        .map_or(String::new(), |high| format!(" to {}", number(high)));
    let unit = if row.unit.is_empty() { "" } else { " " };
    format!("{relation}{low}{high}{unit}{}", row.unit)
}

fn measured(row: &ScoredClaim) -> String {
    let Some(measured) = row.measured else {
        return String::new();
    };
    match measured.interval {
        Some((low, high)) => format!(
            "{} ({} to {})",
            number(measured.estimate),
            number(low),
            number(high)
        ),
        None => number(measured.estimate),
    }
}

/// Constants with what they were fitted to, and settings with their sources.
fn method(of: &Reproduction) -> Section {
    let study = &of.study;
    let name = &study.name;
    let title = format!("{name}: constants and settings");
    let mut section = Section::new(format!("{name}-method"), title).at(Depth::Method);
    if of.constants.is_empty() {
        for experiment in &study.experiments {
            let constants = experiment.cpu.all();
            let table = Table::with_rows(format!("{}: constants", experiment.title), &constants)
                .label("constant", |(name, ..)| *name)
                .figure("value", |(_, unit, value)| {
                    format!("{} {unit}", number(value.value))
                })
                .prose("source", |(.., value)| value.source.clone());
            section.push(Block::Table(table.build()));
        }
    } else {
        let by = percent(BY);
        let caption =
            format!("Constants moved by {by}: mean error of predictions, and how many are near");
        let of_moved = |error: f64, held: usize| format!("{} ({held})", percent_fine(error));
        let table = Table::with_rows(caption, &of.constants)
            .label("constant", |of| of.name)
            .prose("of", |of| of.experiments.join(", "))
            .figure("value", |of| {
                format!("{} {}", number(of.value.value), of.unit)
            })
            .figure("as it is", |of| of_moved(of.mean_error, of.held))
            .figure("smaller", |of| {
                of_moved(of.mean_error_moved[0], of.held_moved[0])
            })
            .figure("larger", |of| {
                of_moved(of.mean_error_moved[1], of.held_moved[1])
            })
            .prose("source", |of| of.value.source.clone());
        section.push(Block::Table(table.build()));
    }
    for experiment in &study.experiments {
        let settings = experiment.settings();
        let table = Table::with_rows(format!("{}: settings", experiment.title), &settings)
            .label("setting", |of| of.0.clone())
            .prose("value", |of| of.1.clone())
            .prose("source", |of| of.2.clone());
        section.push(Block::Table(table.build()));
    }
    let claims: Vec<&ScoredClaim> = of.score.rows.iter().collect();
    let sources = Table::with_rows("Claims and where they were published", &claims)
        .prose("claim", |row| row.text.clone())
        .prose("source", |row| row.source.clone())
        .prose("fitted to it", |row| match &row.outcome {
            Outcome::Fitted { what, .. } => what.clone(),
            _ => String::new(),
        });
    section.push(Block::Table(sources.build()));
    section
}

#[cfg(test)]
mod tests {
    use octavo_device::sourced::Sourced;

    use super::*;

    fn row(text: &str, predicted: f64, outcome: Outcome) -> ScoredClaim {
        ScoredClaim {
            text: text.into(),
            is_of_device: text.starts_with("device"),
            source: "table 2".into(),
            published: Some(1000.0),
            published_to: None,
            relation: Relation::About,
            unit: "tps",
            predicted: Some(predicted),
            error: Some(predicted / 1000.0 - 1.0),
            measured: None,
            null: None,
            is_null_near: false,
            is_derived: false,
            outcome,
        }
    }

    fn fitted(is_near: bool) -> Outcome {
        Outcome::Fitted {
            what: "a constant".into(),
            is_near,
        }
    }

    fn reproduction_of(rows: Vec<ScoredClaim>) -> Reproduction {
        let study = octavo_study::find("pure-2012").unwrap();
        Reproduction {
            title: study.title.clone(),
            question: study.question.clone(),
            answer: study.answer.clone(),
            citation: study.citation.clone(),
            score: Score {
                study: study.name.clone(),
                rows,
            },
            charts: Vec::new(),
            predicted: Predicted::default(),
            constants: Vec::new(),
            measured_in: None,
            study,
        }
    }

    #[test]
    fn a_score_card_says_what_holds_and_what_is_furthest_off() {
        let rows = vec![
            row("small", 1010.0, Outcome::Holds),
            row("large", 700.0, Outcome::Off),
            row("larger", 1200.0, Outcome::Off),
            row("fit", 1000.0, fitted(true)),
            row("bad fit", 500.0, fitted(false)),
            row("device reads", 1000.0, fitted(true)),
            row("device writes", 1000.0, Outcome::Holds),
        ];
        let all = [reproduction_of(rows)];
        let text = reproduction(&all).terminal(100, false);
        let said = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(said.contains("2 of 4 predicted figures"), "{text}");
        assert!(
            said.contains("2 predictions off; furthest: large (-30.0%)"),
            "{text}"
        );
        assert!(said.contains("1,000 tps"), "{text}");
        assert_eq!(said.matches("fitted, off").count(), 1, "{text}");
        assert!(!said.contains("device reads"), "{text}");
        let all_of_it = reproduction(&all).verbose(100, false);
        let (card, devices) = all_of_it.split_once("devices that were fitted").unwrap();
        assert!(devices.contains("device reads"), "{all_of_it}");
        // All that was counted is on the card.
        assert!(card.contains("device writes"), "{all_of_it}");
        let json: serde_json::Value = serde_json::from_str(&reproduction_json(&all)).unwrap();
        assert_eq!(json["studies"][0]["score"]["rows"][1]["outcome"], "off");
        assert_eq!(json["format"], json::FORMAT);
        let page = reproduction(&all).html();
        assert!(page.contains("pure-2012: constants and settings"), "{page}");
    }

    #[test]
    fn measured_ratios_stand_beside_with_their_intervals() {
        let mut measured = row("ratio", 1010.0, Outcome::Holds);
        measured.measured = Some(octavo_study::measured::Measured {
            estimate: 1.2,
            interval: Some((1.1, 1.3)),
        });
        let other = row("other", 1010.0, Outcome::Holds);
        let all = [reproduction_of(vec![measured, other])];
        let text = reproduction(&all).terminal(100, false);
        assert!(text.contains("1.20 (1.10 to 1.30)"), "{text}");
    }

    #[test]
    fn moved_constants_are_a_table_and_have_a_json_form() {
        let mut of = reproduction_of(vec![row("small", 1010.0, Outcome::Holds)]);
        of.constants.push(Moved {
            experiments: vec!["reads".into()],
            name: "transaction-us",
            unit: "µs",
            value: Sourced::new(150.0, "chosen"),
            moved: [120.0, 180.0],
            mean_error: 0.01,
            mean_error_moved: [0.02, 0.15],
            held: 1,
            held_moved: [1, 0],
        });
        let all = [of];
        let text = reproduction(&all).verbose(100, false);
        let said = text.split_whitespace().collect::<Vec<_>>().join(" ");
        for wanted in [
            "Constants moved by 20%",
            "150 µs 1.0% (1) 2.0% (1) 15.0% (0) chosen",
        ] {
            assert!(said.contains(wanted), "{wanted} in {text}");
        }
        let json: serde_json::Value = serde_json::from_str(&reproduction_json(&all)).unwrap();
        let constant = &json["studies"][0]["constants"][0];
        assert_eq!(constant["value"], serde_json::json!([150.0, "chosen"]));
        assert_eq!(constant["held_moved"][1], 0);
    }

    #[test]
    fn several_studies_have_an_overview() {
        let one = || reproduction_of(vec![row("small", 1010.0, Outcome::Holds)]);
        let text = reproduction(&[one(), one()]).verbose(100, false);
        assert!(text.contains("2 of 2 predicted figures"), "{text}");
        assert!(text.contains("1 of 1"), "{text}");
        let headings = text.lines().filter(|line| *line == "pure-2012");
        assert_eq!(headings.count(), 2, "{text}");
    }
}
