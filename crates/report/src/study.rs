//! Reports of studies: score cards, figures drawn again, constants and settings.

use octavo_study::{BY, Drawn, Moved, Outcome, Predicted, Relation, Row, Score, Study};
use serde::Serialize;

use crate::{
    chart,
    document::{Block, Cell, Depth, Document, Section, Table, Tone},
    json,
    number::{counted, number, off_by, percent, percent_fine},
};

/// A study with what the models say of it, and what was measured.
#[derive(Debug, Serialize)]
pub struct Reproduction {
    /// The study.
    #[serde(skip)]
    pub study: Study,
    /// What it is about, asked and answered.
    pub title: String,
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

/// Several reproductions as indented JSON, with what they say in words under `sentences`.
///
/// # Panics
/// Never: every field has a JSON form.
pub fn reproduction_json(all: &[Reproduction]) -> String {
    #[derive(Serialize)]
    struct Studies<'a> {
        sentences: Vec<String>,
        studies: &'a [Reproduction],
    }
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
        sections.push(figures(of));
        sections.push(method(of));
    }
    Document::of(title, sections)
}

fn overview(all: &[Reproduction]) -> Section {
    let mut section = Section::new("studies", "");
    let holds: usize = all.iter().map(|of| of.score.held().0).sum();
    let tested: usize = all.iter().map(|of| of.score.held().1).sum();
    section.push(Block::Decision {
        what: format!("{holds} of {tested} predicted figures are as near as was asked."),
        why: "Each study's bound is stated in its file; figures that constants were fitted to \
              are not counted."
            .into(),
    });
    let table = Table::of("", all)
        .label("study", |of| of.study.name.clone())
        .figure("hold", |of| {
            let (holds, tested) = of.score.held();
            format!("{holds} of {tested}")
        })
        .figure("off by, mean", |of| {
            of.score.mean_error().map_or(String::new(), percent_fine)
        })
        .figure("fitted", |of| {
            let rows = of.score.rows.iter();
            let fitted = rows.filter(|row| matches!(row.outcome, Outcome::Fitted(_)));
            fitted.count().to_string()
        })
        .prose("it said", |of| of.study.answer.clone());
    section.push(Block::Table(table.build()));
    section
}

/// Static names of sections: one for each study there is.
fn id(of: &Reproduction) -> &'static str {
    octavo_study::names()
        .find(|name| *name == of.study.name)
        .unwrap_or("study")
}

fn decision(score: &Score) -> String {
    let (holds, tested) = score.held();
    let mean = score.mean_error().unwrap_or(0.0);
    let verdict = match (holds == tested, holds * 2 > tested) {
        (true, _) => "The models repeat it",
        (false, true) => "The models repeat most of it",
        (false, false) => "The models do not repeat it",
    };
    format!(
        "{verdict}: {holds} of {tested} predicted figures are as near as was asked, off by {} on \
         average.",
        percent(mean)
    )
}

fn card(of: &Reproduction, is_alone: bool) -> Section {
    let study = &of.study;
    let mut section = Section::new(id(of), "");
    if !is_alone {
        section = section.at(Depth::Evidence);
        section.heading(format!("{}: {}", study.name, study.title));
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
    section.push(Block::Table(rows(&of.score)));
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
            "Measured: ratios of throughput on this machine, in {directory}, with 95% CI where \
             both cells executed the same passes."
        ));
    }
    section
}

/// Which predictions are furthest off.
fn misses(score: &Score) -> String {
    let mut off: Vec<&Row> = score
        .rows
        .iter()
        .filter(|row| row.outcome == Outcome::Off)
        .collect();
    let size = |row: &&Row| row.error.unwrap_or(0.0).abs();
    off.sort_by(|a, b| size(b).total_cmp(&size(a)));
    match off[..] {
        [] => "No prediction is off.".into(),
        [worst, ..] => format!(
            "{} off; furthest: {} ({}).",
            counted(off.len(), "prediction"),
            worst.text,
            off_by(worst.error.unwrap_or(0.0))
        ),
    }
}

fn rows(score: &Score) -> Table {
    let tested: Vec<&Row> = score
        .rows
        .iter()
        .filter(|row| !matches!(row.outcome, Outcome::Untested(_)))
        .collect();
    let has_measured = tested.iter().any(|row| row.measured.is_some());
    let mut table = Table::of("Score card (predicted by models)", &tested)
        .prose("claim", |row| row.text.clone())
        .words("published", |row| published(row))
        .figure("predicted", |row| {
            row.predicted.map_or(String::new(), number)
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
        .words("result", |row| match &row.outcome {
            Outcome::Holds => Cell::toned("near", Tone::Good),
            Outcome::Off => Cell::toned("off", Tone::Bad),
            Outcome::Fitted(_) => "fitted".into(),
            Outcome::Asked => "no figure".into(),
            Outcome::Untested(_) => "not tested".into(),
        })
        .build()
}

fn published(row: &Row) -> String {
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

fn measured(row: &Row) -> String {
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

fn figures(of: &Reproduction) -> Section {
    let mut section = Section::new(id(of), "").at(Depth::Evidence);
    section.extend(of.charts.iter().filter_map(chart::study).map(Block::Figure));
    section
}

/// Constants with what they were fitted to, and settings with their sources.
fn method(of: &Reproduction) -> Section {
    let study = &of.study;
    let mut section = Section::new(id(of), "Constants and settings").at(Depth::Method);
    if of.constants.is_empty() {
        for experiment in &study.experiments {
            let constants = experiment.cpu.all();
            let table = Table::of(format!("{}: constants", experiment.title), &constants)
                .label("constant", |(name, ..)| *name)
                .figure("value", |(_, unit, value)| {
                    format!("{} {unit}", number(value.value))
                })
                .prose("source", |(.., value)| value.source.clone());
            section.push(Block::Table(table.build()));
        }
    } else {
        let caption = format!(
            "Constants, and the mean error of predictions where one is {} smaller or larger",
            percent(BY)
        );
        let table = Table::of(caption, &of.constants)
            .label("constant", |of| format!("{} {}", of.experiment, of.name))
            .figure("value", |of| {
                format!("{} {}", number(of.value.value), of.unit)
            })
            .figure("as it is", |of| percent_fine(of.mean_error))
            .figure("smaller", |of| percent_fine(of.mean_error_moved[0]))
            .figure("larger", |of| percent_fine(of.mean_error_moved[1]))
            .prose("source", |of| of.value.source.clone());
        section.push(Block::Table(table.build()));
    }
    for experiment in &study.experiments {
        let settings = experiment.settings();
        let table = Table::of(format!("{}: settings", experiment.title), &settings)
            .label("setting", |of| of.0.clone())
            .prose("value", |of| of.1.clone())
            .prose("source", |of| of.2.clone());
        section.push(Block::Table(table.build()));
    }
    let claims: Vec<&Row> = of.score.rows.iter().collect();
    let sources = Table::of("Claims and where they were published", &claims)
        .prose("claim", |row| row.text.clone())
        .prose("source", |row| row.source.clone());
    section.push(Block::Table(sources.build()));
    section
}
