//! The score card: what was published, predicted and measured, side by side.

use octavo_device::catalog::{Compared, Relation};
use octavo_units::ByteCount;
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    cell_figures::CellFigures,
    claim::{Claim, Shape},
    error::StudyError,
    experiment::StudyCell,
    measured::Measured,
    null,
    place::{Axis, Place},
    predict::Predicted,
    shape,
    study::Study,
};

/// A study's rows, and how many hold.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Score {
    /// The study's name.
    pub study: String,
    /// Claims in the study's order, then the figures of its devices.
    pub rows: Vec<ScoredClaim>,
}

/// One claim.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ScoredClaim {
    /// What is claimed.
    pub text: String,
    /// Whether it is of a device alone, as the catalog has it.
    pub is_of_device: bool,
    /// Where.
    pub source: String,
    /// The published figure, or its lower end.
    pub published: Option<f64>,
    /// Its upper end, where it is a range.
    pub published_to: Option<f64>,
    /// How it is meant.
    pub relation: Relation,
    /// The unit of all figures; empty of ratios and shares.
    pub unit: &'static str,
    /// What the models say.
    pub predicted: Option<f64>,
    /// How far off that is, as a share of the published figure; 0 where a bound is met.
    pub error: Option<f64>,
    /// What real databases gave here, a ratio.
    pub measured: Option<Measured>,
    /// What a model of two constants says (1.25 for pages a quarter as large, 1.08 for twice the buffer); `None` where it says nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub null: Option<f64>,
    /// Whether that is near.
    #[serde(skip)]
    pub is_null_near: bool,
    /// Whether it is the ratio of two figures that are rows themselves: it tests nothing more.
    pub is_derived: bool,
    /// What comes of it.
    pub outcome: Outcome,
}

/// What comes of a claim.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// The prediction is as near as the study's file asks for.
    Holds,
    /// It is not.
    Off,
    /// The predicted curve has no such peak or knee, so it is off altogether.
    NoShape,
    /// Constants were fitted to the figure: it tests nothing.
    Fitted {
        /// What was fitted to it.
        what: String,
        /// Whether that brought the figure as near as a prediction has to be.
        is_near: bool,
    },
    /// The study asks for it and has no figure.
    Asked,
    /// No model says anything of it, and why.
    Untested(String),
}

impl ScoredClaim {
    /// Whether it is a prediction that does not hold.
    pub fn is_off(&self) -> bool {
        matches!(self.outcome, Outcome::Off | Outcome::NoShape)
    }

    /// Whether it tests the models.
    fn is_tested(&self) -> bool {
        !self.is_derived && (self.outcome == Outcome::Holds || self.is_off())
    }
}

impl Score {
    /// Rows that hold, and all that are predictions: without ratios of other rows.
    pub fn held(&self) -> (usize, usize) {
        let tested = self.rows.iter().filter(|row| row.is_tested());
        let holds = tested.clone().filter(|row| row.outcome == Outcome::Holds);
        (holds.count(), tested.count())
    }

    /// Of the predictions of which a model of two constants says something: how many hold, how
    /// many of its own do, and how many there are. `None` without any.
    pub fn beside_null(&self) -> Option<(usize, usize, usize)> {
        let rows = self.rows.iter().filter(|row| row.is_tested());
        let rows: Vec<&ScoredClaim> = rows.filter(|row| row.null.is_some()).collect();
        let holds = rows.iter().filter(|row| row.outcome == Outcome::Holds);
        let null = rows.iter().filter(|row| row.is_null_near);
        (!rows.is_empty()).then_some((holds.count(), null.count(), rows.len()))
    }

    /// The mean of how far predictions are off, as a share, a missing peak or knee by all of
    /// it; `None` without any prediction. A bound is met or not, which is no distance.
    pub fn mean_error(&self) -> Option<f64> {
        let errors: Vec<f64> = self
            .rows
            .iter()
            .filter(|row| row.is_tested() && row.relation == Relation::About)
            .filter_map(|row| match row.outcome {
                Outcome::Holds | Outcome::Off => Some(row.error?.abs()),
                Outcome::NoShape => Some(1.0),
                _ => None,
            })
            .collect();
        (!errors.is_empty()).then(|| errors.iter().sum::<f64>() / errors.len() as f64)
    }
}

/// Puts a study's claims beside what was predicted, and what was measured where that is
/// given.
///
/// # Errors
/// [`StudyError::Invalid`] for claims that name what the study does not have.
pub fn score(
    study: &Study,
    predicted: &Predicted,
    measured: &[(usize, Measured)],
) -> Result<Score, StudyError> {
    let mut rows = Vec::new();
    for (number, claim) in study.claims.iter().enumerate() {
        let found = found(study, claim, predicted)?;
        let predicted = match found {
            PredictedFigure::Figure(figure) => Some(figure),
            _ => None,
        };
        let error = predicted.and_then(|figure| claim.error(figure));
        let is_near = predicted.is_some_and(|figure| claim.holds(figure));
        let outcome = match (&claim.untested, &claim.fitted, found) {
            (Some(why), ..) => Outcome::Untested(why.clone()),
            (_, _, PredictedFigure::Nothing) => {
                Outcome::Untested("the models give no such figure".into())
            }
            (_, Some(fitted), _) => Outcome::Fitted {
                what: fitted.clone(),
                is_near,
            },
            _ if claim.is_asked => Outcome::Asked,
            _ if is_near => Outcome::Holds,
            // Of a curve that has no peak or knee, nothing is where it was published.
            (_, _, PredictedFigure::NoShape) if claim.published.is_some() => Outcome::NoShape,
            _ => Outcome::Off,
        };
        let measured = measured.iter().find(|(of, _)| *of == number);
        let null = null::predict(study, claim);
        rows.push(ScoredClaim {
            text: claim.text.clone(),
            is_of_device: false,
            source: claim.source.clone(),
            published: claim.published,
            published_to: claim.published_to,
            relation: claim.relation,
            unit: claim.unit(),
            predicted,
            error,
            measured: measured.map(|(_, measured)| *measured),
            null,
            is_null_near: null.is_some_and(|figure| claim.holds(figure)),
            is_derived: is_derived(study, claim),
            outcome,
        });
    }
    let tolerance = study.device_tolerance.as_ref().map_or(0.0, |of| of.value);
    for (device, compared) in &predicted.devices {
        let is_fitted = study.fitted_devices.contains(device);
        rows.extend(
            compared
                .iter()
                .map(|of| of_device(device, of, tolerance, is_fitted)),
        );
    }
    Ok(Score {
        study: study.name.clone(),
        rows,
    })
}

/// Whether a claim is the ratio of two figures that are claims themselves.
fn is_derived(study: &Study, claim: &Claim) -> bool {
    let Some(over) = &claim.over else {
        return false;
    };
    let experiment = |place: &Place| match &place.experiment {
        Some(name) => Some(name.clone()),
        None => claim.experiment.clone(),
    };
    let without = |place: &Place| Place {
        experiment: None,
        ..place.clone()
    };
    let is_claimed = |place: &Place| {
        study.claims.iter().any(|other| {
            other.over.is_none()
                && other.shape.is_none()
                && other.published.is_some()
                && (other.figure, &other.kind) == (claim.figure, &claim.kind)
                && other.experiment == experiment(place)
                && without(&other.at) == without(place)
        })
    };
    claim.shape.is_none() && is_claimed(&claim.at) && is_claimed(over)
}

fn of_device(device: &str, compared: &Compared, tolerance: f64, is_fitted: bool) -> ScoredClaim {
    use octavo_device::catalog::Figure;
    let published = &compared.published;
    let over = published.over.as_ref().map(|over| {
        let whose = published.over_device.as_ref();
        let whose = whose.map_or(String::new(), |whose| format!(" of {whose}"));
        format!(" over {over}{whose}")
    });
    ScoredClaim {
        text: format!("{device}: {}{}", published.at, over.unwrap_or_default()),
        is_of_device: true,
        source: published.source.clone(),
        published: Some(published.value),
        published_to: None,
        relation: published.relation,
        unit: match (&published.over, published.figure) {
            (Some(_), _) => "",
            (None, Figure::Iops) => "IOPS",
            (None, Figure::LatencyMs) => "ms",
            (None, Figure::MbPerS) => "MB/s",
        },
        predicted: Some(compared.simulated),
        error: Some(compared.error),
        measured: None,
        null: None,
        is_null_near: false,
        is_derived: false,
        outcome: match compared.error.abs() <= tolerance {
            is_near if is_fitted => Outcome::Fitted {
                what: "the device's model".into(),
                is_near,
            },
            true => Outcome::Holds,
            false => Outcome::Off,
        },
    }
}

/// What the models say of a claim.
#[derive(Clone, Copy, Debug)]
enum PredictedFigure {
    /// Nothing: its figure is not known of these cells.
    Nothing,
    /// The figures of a curve, which has not the shape that is claimed.
    NoShape,
    /// This.
    Figure(f64),
}

fn found(
    study: &Study,
    claim: &Claim,
    predicted: &Predicted,
) -> Result<PredictedFigure, StudyError> {
    let (Some(experiment), Some(figure)) = (&claim.experiment, claim.figure) else {
        return Ok(PredictedFigure::Nothing);
    };
    let kind = claim.kind.as_deref();
    let of = |place| -> Result<PredictedFigure, StudyError> {
        let cells = study.cells(experiment, place, &claim.axes())?;
        let figures: Vec<(&CellFigures, f64)> = predicted
            .of(study, &cells)
            .filter_map(|of| Some((of, of.figure(figure, kind)?)))
            .collect();
        if let Some(kind) = kind
            && figures.is_empty()
        {
            let reason = format!("claim '{}': no transaction is a {kind}", claim.text);
            return Err(study.invalid(reason));
        }
        Ok(match (claim.shape, claim.along, &figures[..]) {
            (_, _, []) => PredictedFigure::Nothing,
            (Some(shape), Some(along), _) => of_curve(shape, along, &figures)
                .map_or(PredictedFigure::NoShape, PredictedFigure::Figure),
            (_, _, [(_, figure), ..]) => PredictedFigure::Figure(*figure),
        })
    };
    let found = match (of(&claim.at)?, &claim.over) {
        (PredictedFigure::Figure(own), Some(over)) => match of(over)? {
            PredictedFigure::Figure(other) => PredictedFigure::Figure(own / other),
            less => less,
        },
        (found, _) => found,
    };
    Ok(match found {
        PredictedFigure::Figure(figure) if !figure.is_finite() => PredictedFigure::Nothing,
        found => found,
    })
}

/// Where a cell is along an axis, as a number.
fn position(cell: &StudyCell, along: Axis) -> f64 {
    match along {
        Axis::Memory => cell.memory.get() as f64 / ByteCount::mib(1024).get() as f64,
        Axis::PageSize => f64::from(cell.page_size.get()),
        Axis::Cpus => f64::from(cell.cpus),
        Axis::Clients => f64::from(cell.clients),
        Axis::Device => 0.0,
    }
}

fn of_curve(wanted: Shape, along: Axis, figures: &[(&CellFigures, f64)]) -> Option<f64> {
    let mut points: Vec<(f64, f64)> = figures
        .iter()
        .map(|(of, figure)| (position(&of.cell, along), *figure))
        .collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    let values: Vec<f64> = points.iter().map(|point| point.1).collect();
    match wanted {
        Shape::Knee => shape::knee(&points),
        Shape::Peak => shape::peak(&points),
        Shape::Growth => Some(values.last()? / values.first()?),
        Shape::Spread => shape::spread(&values),
        Shape::Saturating => shape::saturating(&points),
        Shape::Rising => shape::rising(&points),
        Shape::SteepestStep => shape::steepest_step(&points),
        Shape::Level => shape::level(&points),
        Shape::Apart | Shape::ApartBy => {
            let at = |place: f64| {
                let here = points.iter().filter(|point| point.0 == place);
                let here: Vec<f64> = here.map(|point| point.1).collect();
                match wanted {
                    Shape::ApartBy => shape::width(&here),
                    _ => shape::spread(&here),
                }
            };
            let apart = points.iter().filter_map(|point| at(point.0));
            apart.max_by(f64::total_cmp)
        }
    }
}
