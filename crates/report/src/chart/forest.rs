//! Ratios to the reference with their intervals, and the margin around 1.

use octavo_experiment::findings::{Findings, GroupFindings};

use super::{
    plot::{Area, Mark, Plot},
    rows::{CellRow, rows},
    scale::Scale,
};
use crate::{
    document::{Figure, Tone},
    naming,
    number::{is_bounded, percent, plain, ratio_interval, signed},
    sentence::standing_of,
    svg::Series,
};

/// The axis ends at this factor from 1: one page size that is far off would
/// squeeze all that matters together.
const FARTHEST: f64 = 1.6;

/// Ratios of these groups, one above the other.
pub(crate) fn draw(findings: &Findings, groups: &[&GroupFindings]) -> Option<Figure> {
    let margin = 1.0 + findings.plan.margin;
    let reference = naming::reference_word(findings);
    let (names, rows, headings) = rows(findings, groups);
    let ratios = || {
        groups
            .iter()
            .flat_map(|of| &of.cells)
            .filter_map(|of| of.ratio)
    };
    let air = (margin.ln() * 2.5).exp();
    let ends = ratios().flat_map(|ratio| match is_bounded(&ratio) {
        true => [ratio.low, ratio.high],
        false => [ratio.estimate; 2],
    });
    let (low, high) = ends.fold((1.0 / air, air), |(low, high), end| {
        (low.min(end), high.max(end))
    });
    let height = names.len() as f64;
    let mut marks = vec![
        Mark::Area(Area {
            class: "band",
            from: (1.0 / margin, -0.5),
            to: (margin, height - 0.5),
            opacity: 1.0,
            text: String::new(),
            tip: format!(
                "within {} of 1: no difference",
                percent(findings.plan.margin)
            ),
        }),
        Mark::Rule(1.0),
    ];
    ratios().next()?;
    marks.extend(headings);
    for CellRow { place, group, cell } in rows {
        let name = cell.reference.then_some(reference);
        let said = standing_of(findings, cell, name);
        let class = match said.tone {
            Tone::Good => "better",
            Tone::Bad => "worse",
            Tone::Plain | Tone::Open => "",
        };
        let Some(ratio) = cell.ratio else {
            if cell.reference {
                marks.push(Mark::Dot(Series(group), (1.0, place), said.text.clone()));
            }
            marks.push(Mark::Note(class, place, said.text));
            continue;
        };
        let tip = format!(
            "{}: {}, {}",
            findings.plan.cell_name(&cell.cell),
            ratio_interval(&ratio),
            said.text
        );
        let series = Series(group);
        if is_bounded(&ratio) {
            marks.push(Mark::Interval(
                series,
                (ratio.low, place),
                (ratio.high, place),
            ));
        }
        marks.push(Mark::Dot(series, (ratio.estimate, place), tip));
        let note = format!("{} {}", signed(ratio.estimate), said.text);
        marks.push(Mark::Note(class, place, note));
    }
    let full = groups
        .first()
        .map(|group| naming::reference_in_full(findings, group));
    let plot = Plot {
        title: format!(
            "{} against {}",
            naming::shown(findings).compared,
            full.unwrap_or_default()
        ),
        caption: format!(
            "95% CI of the ratio. Within the band ({}) is no difference. Arrows point beyond \
             the axis.",
            percent(findings.plan.margin)
        ),
        x: (
            Scale::around_one(
                (low / 1.02).max(1.0 / FARTHEST),
                (high * 1.02).min(FARTHEST),
                |ratio| format!("{}x", plain(ratio)),
            ),
            String::new(),
        ),
        y: (Scale::places(names), String::new()),
        legend: Vec::new(),
        marks,
    };
    plot.draw()
}
