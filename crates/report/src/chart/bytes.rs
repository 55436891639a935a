//! Bytes read and written per transaction, by what is compared.

use octavo_experiment::findings::{Findings, PerTransaction};

use super::lines::{Curve, Dot, Lines, Scale};
use crate::{
    document::Figure,
    naming,
    number::{bytes, plain_bytes},
    svg::Round,
};

/// Above this ratio of the largest to the smallest value the scale is
/// logarithmic: small ones could not be told apart otherwise.
const LINEAR_SPREAD_MAX: f64 = 10.0;

/// A name and its figure.
type Kind = (&'static str, fn(&PerTransaction) -> f64);

pub(super) fn draw(findings: &Findings) -> Option<Figure> {
    let kinds: [Kind; 2] = [
        ("read", |figures| figures.read_bytes),
        ("written", |figures| figures.written_bytes),
    ];
    let mut curves = Vec::new();
    for group in naming::groups(findings) {
        for (kind, of) in kinds {
            let dots = group
                .cells
                .iter()
                .enumerate()
                .filter_map(|(place, cell)| {
                    let value = of(cell.per_transaction.as_ref()?);
                    // A logarithmic axis has no place for 0.
                    (value.is_finite() && value > 0.0).then(|| Dot {
                        place,
                        value,
                        interval: None,
                        tip: format!(
                            "{}: {} {kind} per transaction",
                            findings.plan.cell_name(&cell.cell),
                            bytes(value)
                        ),
                    })
                })
                .collect();
            curves.push(Curve {
                name: format!("{kind}{}", naming::in_group(group)),
                dots,
            });
        }
    }
    let values = || {
        curves
            .iter()
            .flat_map(|curve| &curve.dots)
            .map(|dot| dot.value)
    };
    let spread = values().fold(0.0, f64::max) / values().fold(f64::INFINITY, f64::min);
    let (scale, said) = if spread > LINEAR_SPREAD_MAX {
        (Scale::Logarithmic, "logarithmic scale")
    } else {
        (Scale::FromZero, "scale from 0")
    };
    let compared = findings.plan.compare.noun();
    let chart = Lines {
        title: format!("Bytes read and written per transaction, by {compared}"),
        places: naming::places(findings),
        x_label: compared,
        y_label: "bytes per transaction",
        scale,
        round: Round::Twos,
        label: plain_bytes,
        curves,
    };
    chart.draw(format!(
        "Means over all runs and transactions, {said}. Written includes data files and log, as the \
         database's file layer counted them."
    ))
}
