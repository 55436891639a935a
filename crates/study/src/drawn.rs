//! A study's charts as numbers: predicted curves and the published points beside them.

use octavo_device::catalog::Relation;
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    error::StudyError,
    experiment::StudyCell,
    place::Axis,
    predict::Predicted,
    study::{Chart, Study},
};

/// A chart with its figures.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Drawn {
    /// What it shows.
    pub title: String,
    /// The unit upwards; empty of shares.
    pub unit: &'static str,
    /// What changes to the right.
    pub along: Axis,
    /// Its levels, in order.
    pub places: Vec<String>,
    /// Predicted ones, and those that were published.
    pub curves: Vec<DrawnCurve>,
}

/// One curve.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct DrawnCurve {
    /// What it is of.
    pub name: String,
    /// Whether it was published rather than predicted.
    pub is_published: bool,
    /// Its points: the number of the place, and the value.
    pub points: Vec<(usize, f64)>,
}

impl Study {
    /// A chart of this study with what was predicted.
    ///
    /// # Errors
    /// [`StudyError::Invalid`] for a chart of another study.
    pub fn draw(&self, chart: &Chart, predicted: &Predicted) -> Result<Drawn, StudyError> {
        let axes = [chart.along, chart.lines];
        let cells = self.cells(&chart.experiment, &chart.at, &axes)?;
        let places = levels(&cells, chart.along);
        let mut curves = Vec::new();
        for line in levels(&cells, chart.lines) {
            let own: Vec<&StudyCell> = cells
                .iter()
                .filter(|cell| cell.level(chart.lines) == line)
                .collect();
            let at = |cell: &StudyCell| {
                let level = cell.level(chart.along);
                places.iter().position(|place| *place == level)
            };
            let kind = chart.kind.as_deref();
            let found = predicted
                .of(self, &cells)
                .filter(|of| own.contains(&&of.cell));
            let found =
                found.filter_map(|of| Some((at(&of.cell)?, of.figure(chart.figure, kind)?)));
            curves.push(DrawnCurve {
                name: format!("{line}, predicted"),
                is_published: false,
                points: found.collect(),
            });
            let published = own
                .iter()
                .filter_map(|cell| Some((at(cell)?, self.published(chart, cell)?)));
            let published: Vec<(usize, f64)> = published.collect();
            if !published.is_empty() {
                curves.push(DrawnCurve {
                    name: format!("{line}, published"),
                    is_published: true,
                    points: published,
                });
            }
        }
        Ok(Drawn {
            title: chart.title.clone(),
            unit: chart.figure.unit(),
            along: chart.along,
            places,
            curves,
        })
    }

    /// What was published of a cell of a chart: in the middle where that is a range.
    fn published(&self, chart: &Chart, cell: &StudyCell) -> Option<f64> {
        let claims = self.claims.iter().filter(|claim| {
            claim.experiment.as_ref() == Some(&chart.experiment)
                && claim.figure == Some(chart.figure)
                && claim.kind == chart.kind
                && claim.over.is_none()
                && claim.shape.is_none()
                && claim.relation == Relation::About
        });
        let mut at = claims.filter_map(|claim| {
            let cells = self.cells(&chart.experiment, &claim.at, &[]).ok()?;
            let low = claim.published?;
            let middle = (low + claim.published_to.unwrap_or(low)) / 2.0;
            (cells == [cell.clone()]).then_some(middle)
        });
        at.next()
    }
}

/// The levels that cells have of an axis, as they come.
fn levels(cells: &[StudyCell], axis: Axis) -> Vec<String> {
    let mut levels: Vec<String> = Vec::new();
    for cell in cells {
        let level = cell.level(axis);
        if !levels.contains(&level) {
            levels.push(level);
        }
    }
    levels
}
