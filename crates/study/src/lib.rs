//! Published experiments: what they claim, what Octavo's models predict of the same cells,
//! and what it measured of them.
//!
//! A [`Study`] is a TOML file in `studies/`: experiments, every setting with its source, and
//! claims, each with the published figure and how near a prediction has to come.
//! [`predict`] asks the models for all cells that claims and charts want, [`score`] puts the
//! figures side by side, [`sensitivity()`] moves each constant, and [`measured`] reads what a
//! scaled plan gave on real databases. Words and pages are the crate `octavo-report`'s.

mod catalog;
mod cell_figures;
mod claim;
mod drawn;
mod error;
mod experiment;
pub mod measured;
mod null;
mod place;
mod predict;
mod score;
mod sensitivity;
mod shape;
mod study;
mod text;

pub use catalog::{find, names, plan_text};
pub use octavo_device::catalog::Relation;

pub use cell_figures::CellFigures;
pub use claim::{Claim, Figure, MeasuredPlace, Shape};
pub use drawn::{Drawn, DrawnCurve};
pub use error::StudyError;
pub use experiment::{Constants, Experiment, StudyCell};
pub use place::{Axis, Place};
pub use predict::{Predicted, Progress, predict};
pub use score::{Outcome, Score, ScoredClaim, score};
pub use sensitivity::{BY, Moved, sensitivity};
pub use study::{Chart, Citation, Study, StudyPrices};
