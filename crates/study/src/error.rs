//! Why a study cannot be repeated.

use octavo_database::DatabaseError;
use octavo_device::catalog::{EntryError, SimulateError};
use octavo_predict::PredictError;
use octavo_storage::{entry::NamedError, text::TextError};
use octavo_workload::{DataError, WorkloadError};

/// Why a study cannot be read or repeated.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StudyError {
    /// A name that is none of a study.
    #[error("no study '{name}': Octavo has {known}")]
    Unknown {
        /// What was asked for.
        name: String,
        /// Those that there are.
        known: String,
    },
    /// A file that is no study.
    #[error("study {study}: {source}")]
    Toml {
        /// Which one.
        study: String,
        /// Where and why.
        source: Box<toml::de::Error>,
    },
    /// A study whose parts do not fit together.
    #[error("study {study}: {reason}")]
    Invalid {
        /// Which one.
        study: String,
        /// What does not fit.
        reason: String,
    },
    /// A file that cannot be read.
    #[error(transparent)]
    File(Box<TextError>),
    /// A device of the catalog.
    #[error(transparent)]
    Entry(#[from] EntryError),
    /// A device or machine of a study.
    #[error(transparent)]
    Device(Box<NamedError>),
    /// A published figure of a device.
    #[error(transparent)]
    Simulate(#[from] SimulateError),
    /// A database of a study.
    #[error(transparent)]
    Database(#[from] DatabaseError),
    /// A workload of a study.
    #[error(transparent)]
    Workload(#[from] WorkloadError),
    /// Rows of a study.
    #[error(transparent)]
    Rows(#[from] DataError),
    /// A cell that the models refuse.
    #[error("{cell}: {source}")]
    Predict {
        /// Which one.
        cell: String,
        /// Why.
        source: PredictError,
    },
    /// Who asked for it does not want it any more.
    #[error("stopped")]
    Stopped,
}

impl From<NamedError> for StudyError {
    fn from(error: NamedError) -> Self {
        Self::Device(Box::new(error))
    }
}

impl From<TextError> for StudyError {
    fn from(error: TextError) -> Self {
        Self::File(Box::new(error))
    }
}
