//! How far a fit is, and why there is none.

use crate::{DeviceError, point::PointSpec, profiled::ProfiledError};

/// How far fitting is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// Trials done.
    pub done: usize,
    /// Trials of the whole fit.
    pub total: usize,
}

/// Why a profile has no twin.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FitError {
    /// The profile lacks points or has impossible ones.
    #[error(transparent)]
    Profile(#[from] ProfiledError),
    /// A point that does not fit the file that the profile is of.
    #[error("point '{point}' of the profile cannot be simulated")]
    Point {
        /// Which.
        point: PointSpec,
        /// Why.
        #[source]
        source: DeviceError,
    },
    /// The progress function stopped it.
    #[error("fitting was stopped")]
    Stopped,
}
