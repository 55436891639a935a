//! Throughput by what is compared, one curve a group.

use octavo_experiment::findings::{CellFindings, Findings};

use super::{
    Figure,
    lines::{Curve, Dot, Lines, Scale, plain},
};
use crate::{
    naming,
    number::{is_bounded, number},
    svg::Round,
};

pub(super) fn draw(findings: &Findings, conditions: &str) -> Option<Figure> {
    let curves = naming::groups(findings)
        .into_iter()
        .map(|group| Curve {
            name: naming::group(group).to_owned(),
            dots: group
                .cells
                .iter()
                .enumerate()
                .filter_map(|(place, cell)| dot(findings, cell, place))
                .collect(),
        })
        .collect();
    let title = format!(
        "Throughput by {}, in {}",
        findings.plan.compare.noun(),
        naming::rate_in_full(findings)
    );
    let unit = naming::rate_in_short(findings);
    let chart = Lines {
        places: naming::places(findings),
        x_label: naming::axis(findings),
        y_label: &unit,
        scale: Scale::FromZero,
        round: Round::Tens,
        label: plain,
        curves,
    };
    Some(Figure::new(
        title.clone(),
        chart.draw(&title)?,
        format!("{WHISKERS} Conditions: {conditions}."),
    ))
}

/// The words for whiskers of throughput.
pub(super) const WHISKERS: &str = "Geometric mean over runs; whiskers: 95 % Student-t interval of \
    each cell alone, which holds the drift between rounds too. Overlapping whiskers do not mean \
    equal cells: judge by the ratios within rounds.";

/// A cell's throughput with its interval.
pub(super) fn dot(findings: &Findings, cell: &CellFindings, place: usize) -> Option<Dot> {
    let throughput = cell.throughput?;
    let interval = is_bounded(&throughput).then_some((throughput.low, throughput.high));
    let range = interval.map_or_else(
        || "interval not known from one round".into(),
        |(low, high)| format!("{} to {}", number(low), number(high)),
    );
    Some(Dot {
        place,
        value: throughput.estimate,
        interval,
        tip: format!(
            "{}: {} {} ({range}, n = {})",
            findings.plan.cell_name(&cell.cell),
            number(throughput.estimate),
            naming::rate_in_short(findings),
            throughput.rounds
        ),
    })
}
