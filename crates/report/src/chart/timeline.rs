//! How fast the cells of a group were from the begin of their warm-ups on.

use octavo_experiment::{
    findings::{CellFindings, Findings, GroupFindings, Part, Stretch},
    record::Source,
};

use super::{
    plot::{LegendKey, Mark, Plot},
    scale::{Round, Scale},
};
use crate::{
    document::Figure,
    naming,
    number::{counted, plain},
    svg::Series,
};

/// What is drawn of each stretch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Drawn {
    Throughput,
    ResponseTime,
}

/// A group's chart; `None` of a store that does not have single transactions' places.
pub(super) fn draw(findings: &Findings, group: &GroupFindings, drawn: Drawn) -> Option<Figure> {
    let (what, unit) = match drawn {
        Drawn::Throughput => ("Throughput", naming::rate(findings)),
        Drawn::ResponseTime => ("Mean response time", "milliseconds".to_owned()),
    };
    let value = |of: &Stretch| match drawn {
        Drawn::Throughput => Some(of.per_minute),
        Drawn::ResponseTime => of.response_ms,
    };
    let all = || group.cells.iter().flat_map(|cell| &cell.timeline);
    let values = all().filter_map(value).filter(|value| value.is_finite());
    let y = Scale::from_zero(values, Round::Tens, plain);
    let ends = all().map(|of| of.end as f64);
    let x = Scale::from_zero(ends, Round::Tens, plain);
    let area =
        |class, of: (u64, u64), tip: String| Mark::upright(class, of.0 as f64, of.1 as f64, tip);
    let mut marks = Vec::new();
    let mut legend = Vec::new();
    let warm_up = spans(&group.cells, |of| of.part == Part::WarmUp);
    let left_out = spans(&group.cells, |of| of.part == Part::LeftOut);
    for (of, word) in [(&warm_up, "warm-up"), (&left_out, "left out")] {
        let areas = of.iter().map(|&of| area("left-out", of, word.to_owned()));
        marks.extend(areas);
    }
    let shaded = match (warm_up.is_empty(), left_out.is_empty()) {
        (true, true) => None,
        (false, true) => Some("warm-up"),
        (true, false) => Some("passes left out"),
        (false, false) => Some("warm-up, and passes left out"),
    };
    // As many as a damaged store says.
    let failed = all().fold(0_u64, |failed, of| failed.saturating_add(of.failed));
    for of in spans(&group.cells, |of| of.failed > 0) {
        marks.push(area("outage", of, "with failed transactions".into()));
    }
    let begins = begins(&group.cells);
    marks.extend(begins.iter().map(|&begin| Mark::Rule(begin as f64)));
    for (place, cell) in group.cells.iter().enumerate() {
        let series = Series(place);
        let name = naming::own_level(findings, cell).with_noun();
        if !cell.timeline.is_empty() {
            legend.push((LegendKey::Series(series), name));
        }
        let alike =
            |one: &Stretch, next: &Stretch| one.sitting == next.sitting && one.end == next.begin;
        for stretches in cell.timeline.chunk_by(alike) {
            let points = stretches
                .iter()
                .filter_map(|of| Some(((of.begin as f64 + of.end as f64) / 2.0, value(of)?)));
            marks.push(Mark::Curve(series, points.collect()));
        }
    }
    legend.extend(shaded.map(|name| (LegendKey::Area("left-out"), name.to_owned())));
    if failed > 0 {
        let name = format!("with {}", counted(failed, "failed transaction"));
        legend.push((LegendKey::Area("outage"), name));
    }
    let plot = Plot {
        title: format!("{what} over time, in {unit}{}", naming::in_group(group)),
        caption: format!(
            "Points above each other are the same transactions{}.{}",
            match findings.source {
                Source::Measured => ", measured at about the same time",
                Source::Predicted => "",
            },
            match begins.is_empty() {
                true => "",
                false => " Vertical lines are where sittings begin, with fresh copies.",
            }
        ),
        x: (x, "transactions".into()),
        y: (y, unit),
        legend,
        marks,
    };
    plot.draw()
}

/// Where stretches of this kind are, of whichever cell, those that touch as one.
fn spans(cells: &[CellFindings], is_meant: impl Fn(&Stretch) -> bool) -> Vec<(u64, u64)> {
    let all = cells.iter().flat_map(|cell| &cell.timeline);
    let mut meant: Vec<(u64, u64)> = all
        .filter(|of| is_meant(of))
        .map(|of| (of.begin, of.end))
        .collect();
    meant.sort_unstable();
    let mut spans: Vec<(u64, u64)> = Vec::new();
    for (begin, end) in meant {
        match spans.last_mut() {
            Some(last) if begin <= last.1 => last.1 = last.1.max(end),
            _ => spans.push((begin, end)),
        }
    }
    spans
}

/// Where the second and later sittings begin.
fn begins(cells: &[CellFindings]) -> Vec<u64> {
    let all = cells.iter().flat_map(|cell| &cell.timeline);
    let mut begins: Vec<(u32, u64)> = all.map(|of| (of.sitting, of.begin)).collect();
    begins.sort_unstable();
    begins.dedup_by_key(|(sitting, _)| *sitting);
    begins.into_iter().skip(1).map(|(_, begin)| begin).collect()
}
