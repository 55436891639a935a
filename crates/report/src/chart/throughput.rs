//! Throughput by what is compared, one curve a group.

use octavo_experiment::findings::{CellFindings, Findings};

use super::lines::{Curve, Dot, Lines, Scale};
use crate::{
    document::Figure,
    naming,
    number::{ends, is_bounded, number, plain},
    svg::Round,
};

pub(super) fn draw(findings: &Findings) -> Option<Figure> {
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
    let compared = findings.plan.compare.noun();
    over(findings, compared, naming::places(findings), curves)
}

/// Curves of throughput over the places of a factor.
pub(super) fn over(
    findings: &Findings,
    factor: &str,
    places: Vec<String>,
    curves: Vec<Curve>,
) -> Option<Figure> {
    let unit = naming::rate_in_short(findings);
    let chart = Lines {
        title: format!(
            "Throughput by {factor}, in {}",
            naming::rate_in_full(findings)
        ),
        places,
        x_label: factor,
        y_label: &unit,
        scale: Scale::FromZero,
        round: Round::Tens,
        label: plain,
        curves,
    };
    chart.draw(WHISKERS.into())
}

/// The words for whiskers of throughput.
const WHISKERS: &str = "Geometric mean over runs. Whiskers: 95% CI of each cell alone, \
    which includes drift between rounds. Overlapping whiskers do not mean equal cells: judge by \
    the ratios.";

/// A cell's throughput with its interval.
pub(super) fn dot(findings: &Findings, cell: &CellFindings, place: usize) -> Option<Dot> {
    let throughput = cell.throughput?;
    let interval = is_bounded(&throughput).then_some((throughput.low, throughput.high));
    Some(Dot {
        place,
        value: throughput.estimate,
        interval,
        tip: format!(
            "{}: {} {} ({}, n = {})",
            findings.plan.cell_name(&cell.cell),
            number(throughput.estimate),
            naming::rate_in_short(findings),
            ends(&throughput, number),
            throughput.rounds
        ),
    })
}
