//! Throughput by page size, one curve a memory.

use octavo_experiment::findings::Findings;

use super::{
    Figure,
    lines::{Curve, Dot, Lines, Scale, plain},
};
use crate::{
    number::{is_bounded, number},
    svg::Round,
};

pub(super) fn draw(findings: &Findings, conditions: &str) -> Option<Figure> {
    let curves = findings
        .memories
        .iter()
        .map(|memory| Curve {
            name: memory.memory.to_string(),
            dots: memory
                .cells
                .iter()
                .enumerate()
                .filter_map(|(place, cell)| {
                    let throughput = cell.throughput?;
                    let interval =
                        is_bounded(&throughput).then_some((throughput.low, throughput.high));
                    let range = interval.map_or_else(
                        || "interval not known from one round".into(),
                        |(low, high)| format!("{} to {}", number(low), number(high)),
                    );
                    Some(Dot {
                        place,
                        value: throughput.estimate,
                        interval,
                        tip: format!(
                            "page size {}, {}: {} NOPM ({range}, n = {})",
                            cell.cell.page_size.get(),
                            memory.memory,
                            number(throughput.estimate),
                            throughput.rounds
                        ),
                    })
                })
                .collect(),
        })
        .collect();
    let title = "Throughput by page size, in new orders a minute (NOPM)";
    let chart = Lines {
        places: findings
            .plan
            .page_sizes
            .iter()
            .map(|page| page.get().to_string())
            .collect(),
        x_label: "page size in bytes",
        y_label: "NOPM",
        scale: Scale::FromZero,
        round: Round::Tens,
        label: plain,
        curves,
    };
    Some(Figure::new(
        title,
        chart.draw(title)?,
        format!(
            "Geometric mean over runs; whiskers: 95 % Student-t interval of each cell alone, which \
             holds the drift between rounds too. Overlapping whiskers do not mean equal cells: \
             judge by the ratios within rounds. One curve a memory. Conditions: {conditions}."
        ),
    ))
}
