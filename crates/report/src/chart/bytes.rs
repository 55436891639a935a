//! Bytes read and written per transaction, by what is compared.

use octavo_experiment::findings::{CellFindings, Findings, GroupFindings, PerTransaction};

use super::{
    lines::{Curve, Dot, Lines},
    scale::{Round, Scale},
};
use crate::{
    document::Figure,
    naming,
    number::{bytes, plain_bytes},
};

/// Above this ratio of the largest to the smallest value the scale is
/// logarithmic: small ones could not be told apart otherwise.
const LINEAR_SPREAD_MAX: f64 = 10.0;

/// A name and its figure.
type Direction = (&'static str, fn(&PerTransaction) -> f64);

const DIRECTIONS: [Direction; 2] = [
    ("read", |figures| figures.read_bytes),
    ("written", |figures| figures.written_bytes),
];

pub(super) fn draw(findings: &Findings) -> Option<Figure> {
    let groups = naming::groups(findings).into_iter();
    let curves = groups.flat_map(|group| DIRECTIONS.map(|kind| curve(findings, group, kind)));
    let curves: Vec<Curve> = curves.collect();
    let dots = || curves.iter().flat_map(|curve| &curve.dots);
    let values = || dots().map(|dot| dot.value);
    let spread = values().fold(0.0, f64::max) / values().fold(f64::INFINITY, f64::min);
    let is_wide = spread > LINEAR_SPREAD_MAX;
    let compared = findings.plan.compare.noun();
    let chart = Lines {
        title: format!("Bytes read and written per transaction, by {compared}"),
        caption: format!(
            "Means, {}. Written includes data files and log.",
            if is_wide {
                "logarithmic scale"
            } else {
                "scale from 0"
            }
        ),
        places: (compared, naming::places(findings)),
        values: "bytes per transaction",
        curves,
    };
    chart.draw(|values| match is_wide {
        true => Scale::logarithmic(values, Round::Twos, plain_bytes),
        false => Scale::from_zero(values, Round::Twos, plain_bytes),
    })
}

fn curve(findings: &Findings, group: &GroupFindings, (kind, of): Direction) -> Curve {
    let dot = |(place, cell): (usize, &CellFindings)| {
        let value = of(cell.per_transaction.as_ref()?);
        // A logarithmic scale has no place for 0.
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
    };
    Curve {
        name: format!("{kind}{}", naming::in_group(group)),
        dots: group.cells.iter().enumerate().filter_map(dot).collect(),
    }
}
