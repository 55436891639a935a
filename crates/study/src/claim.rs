//! What a study claims: a figure of cells, the published one, and how near is near.

use octavo_device::catalog::Relation;
use octavo_units::PageSize;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    place::{Axis, Place},
    text::Text,
};

/// One row of a score card.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Claim {
    /// What is claimed.
    pub text: String,
    /// Of which experiment; none where the claim is not tested.
    #[serde(default)]
    pub experiment: Option<String>,
    /// Which figure.
    #[serde(default)]
    pub figure: Option<Figure>,
    /// Of which kind of transaction, where it is of one.
    #[serde(default)]
    pub kind: Option<String>,
    /// Of which cell, or of which cells along an axis.
    #[serde(default)]
    pub at: Place,
    /// With it the figure is a ratio: of that at `at` and of this cell's.
    #[serde(default)]
    pub over: Option<Place>,
    /// What of a curve is meant.
    #[serde(default)]
    pub shape: Option<Shape>,
    /// Along which axis the curve goes.
    #[serde(default)]
    pub along: Option<Axis>,
    /// What was published; the lower end where `published_to` has the upper one.
    #[serde(default)]
    pub published: Option<f64>,
    /// The upper end.
    #[serde(default)]
    pub published_to: Option<f64>,
    /// How that is meant.
    #[serde(default)]
    pub relation: Relation,
    /// How far off is near, as a share of the published figure.
    #[serde(default)]
    pub tolerance: Option<f64>,
    /// How far off is near, in the figure's unit.
    #[serde(default)]
    pub within: Option<f64>,
    /// The constants that were fitted to it: then it is no prediction.
    #[serde(default)]
    pub fitted: Option<String>,
    /// That the study asks for it and has no figure: the prediction answers, and is not scored.
    #[serde(default)]
    pub is_asked: bool,
    /// Why no model and no measurement says anything of it.
    #[serde(default)]
    pub untested: Option<String>,
    /// Which cells of the measured plan say the same.
    #[serde(default)]
    pub measured: Option<MeasuredPlace>,
    /// Where it was published.
    pub source: String,
}

/// A figure of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Figure {
    /// Transactions of all kinds a second.
    Tps,
    /// Counted transactions a minute.
    Nopm,
    /// Mean response of transactions, of a kind where one is named, in seconds, with the time
    /// that they waited to be let into the database.
    ResponseS,
    /// Hits of all page references, 0 to 1.
    HitRatio,
    /// Requests of the device a second.
    RequestsPerSecond,
    /// Requests that write pages for each that reads one.
    WritesPerRead,
    /// Share of the processors' time in use, 0 to 1.
    CpuBusy,
    /// Watts of the machine and its storage.
    Watts,
    /// Joules of the machine and its storage for each transaction.
    JoulesPerTransaction,
    /// Standard deviation of transactions a second between windows of 10 s.
    DeviationTps,
    /// Transactions of all kinds a second for each 1000 of the study's currency.
    TpsPerThousand,
}

impl Figure {
    /// What it is in.
    pub fn unit(self) -> &'static str {
        match self {
            Self::Tps | Self::DeviationTps => "tps",
            Self::Nopm => "NOPM",
            Self::ResponseS => "s",
            Self::HitRatio | Self::CpuBusy | Self::WritesPerRead => "",
            Self::RequestsPerSecond => "IOPS",
            Self::Watts => "W",
            Self::JoulesPerTransaction => "J",
            Self::TpsPerThousand => "tps per 1000",
        }
    }
}

/// What of a curve is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Shape {
    /// Where it bends most, as a number of its axis (GiB of memory).
    Knee,
    /// Where it is highest, if that is more than 1% above both ends.
    Peak,
    /// Its last value over its first.
    Growth,
    /// Its highest value over its lowest, less 1.
    Spread,
    /// How far the widest lines are apart where they are, as a share: of all lines of
    /// `lines`, the highest over the lowest less 1, at most along the axis.
    Apart,
    /// The same as a difference, in the figure's unit.
    ApartBy,
    /// From where on no more than a tenth of the curve's rise is left, as a number of its
    /// axis (GiB of memory).
    Level,
    /// How well a saturating exponential follows it: 1 less the share of variance that it
    /// leaves.
    Saturating,
    /// The share of its steps that go up.
    Rising,
    /// The largest step upwards, as a share of all of the rise.
    SteepestStep,
}

/// Which cells of the measured plan say what a claim says: the throughput of one over that
/// of another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct MeasuredPlace {
    /// The page size.
    pub page_size: Text<PageSize>,
    /// The page size that it is compared with.
    pub over_page_size: Text<PageSize>,
    /// Which memory of the plan, from 0 for the smallest.
    #[serde(default)]
    pub memory: usize,
    /// Which memory the other has, where it is another.
    #[serde(default)]
    pub over_memory: Option<usize>,
}

impl Claim {
    /// Its unit: none of ratios and shares.
    pub fn unit(&self) -> &'static str {
        match (self.shape, self.figure) {
            (Some(Shape::Knee | Shape::Peak | Shape::Level), _) => match self.along {
                Some(Axis::Memory) => "GiB",
                _ => "",
            },
            (Some(Shape::ApartBy), Some(figure)) => figure.unit(),
            (Some(_), _) => "",
            (None, Some(figure)) if self.over.is_none() => figure.unit(),
            _ => "",
        }
    }

    /// How far a figure is off, as a share of what was published; 0 where that is met.
    pub fn error(&self, found: f64) -> Option<f64> {
        let low = self.published.filter(|_| found.is_finite())?;
        let high = self.published_to.unwrap_or(low);
        Some(match self.relation {
            Relation::AtLeast => (found / low - 1.0).min(0.0),
            Relation::AtMost => (found / high - 1.0).max(0.0),
            Relation::About if found < low => found / low - 1.0,
            Relation::About if found > high => found / high - 1.0,
            Relation::About => 0.0,
        })
    }

    /// Whether a figure is near enough.
    pub fn holds(&self, found: f64) -> bool {
        let Some(error) = self.error(found) else {
            return false;
        };
        let end = match error < 0.0 {
            true => self.published,
            false => self.published_to.or(self.published),
        };
        let off = (found - end.unwrap_or(found)).abs();
        error == 0.0
            || self.within.is_some_and(|within| off <= within)
            || self.tolerance.is_some_and(|most| error.abs() <= most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim(published: f64, to: Option<f64>, relation: Relation) -> Claim {
        Claim {
            text: String::new(),
            experiment: None,
            figure: Some(Figure::Tps),
            kind: None,
            at: Place::default(),
            over: None,
            shape: None,
            along: None,
            published: Some(published),
            published_to: to,
            relation,
            tolerance: Some(0.1),
            within: None,
            fitted: None,
            is_asked: false,
            untested: None,
            measured: None,
            source: String::new(),
        }
    }

    #[test]
    fn near_is_a_share_of_what_was_published() {
        let about = claim(100.0, None, Relation::About);
        assert!(about.holds(109.9) && about.holds(90.1));
        assert!(!about.holds(110.5) && !about.holds(89.5));
        assert_eq!(about.error(150.0), Some(0.5));
        let between = claim(80.0, Some(90.0), Relation::About);
        assert!(between.holds(85.0) && between.error(85.0) == Some(0.0));
        assert!(between.holds(98.9) && !between.holds(99.5));
        assert!(between.holds(72.1) && !between.holds(71.0));
        let least = claim(10.0, None, Relation::AtLeast);
        assert!(least.holds(1000.0) && least.holds(9.1) && !least.holds(8.9));
        let most = claim(10.0, None, Relation::AtMost);
        assert!(most.holds(1.0) && most.holds(10.9) && !most.holds(11.1));
        assert_eq!(about.error(f64::NAN), None);
        assert!(!about.holds(f64::NAN) && !about.holds(f64::INFINITY));
        let within = Claim {
            tolerance: None,
            within: Some(0.05),
            ..claim(1.2, None, Relation::About)
        };
        assert!(within.holds(1.249) && !within.holds(1.26));
    }
}
