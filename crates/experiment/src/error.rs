//! Why an experiment ends without findings.

use std::path::PathBuf;

use octavo_database::DatabaseError;
use octavo_storage::{calibrate::CalibrateError, confine::ConfineError};
use octavo_units::ByteCount;
use octavo_workload::WorkloadError;

use crate::{
    cpus::CpusError, descriptors::TooManyFiles, directory::DirectoryError, mounted::MountError,
    run::RunError, store::StoreError,
};

/// Why an experiment ended without findings.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CampaignError {
    /// The directory cannot be used.
    #[error(transparent)]
    Directory(#[from] DirectoryError),
    /// A device cannot be emulated, or a file system not be made.
    #[error(transparent)]
    Mount(#[from] MountError),
    /// The store cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The database refused a setting or failed.
    #[error(transparent)]
    Database(#[from] DatabaseError),
    /// The workload cannot be had.
    #[error(transparent)]
    Workload(#[from] WorkloadError),
    /// The CPUs cannot be had.
    #[error(transparent)]
    Cpus(#[from] CpusError),
    /// The system does not hold this process to its directories.
    #[error(transparent)]
    Confine(#[from] ConfineError),
    /// The sessions need more files than may be open.
    #[error(transparent)]
    Files(#[from] TooManyFiles),
    /// A run failed in a way that would repeat.
    #[error(transparent)]
    Run(RunError),
    /// Calibrating failed.
    #[error(transparent)]
    Calibrate(#[from] CalibrateError),
    /// The file system has too little room.
    #[error(
        "{} has {available} free, but needs {needed}",
        path.display()
    )]
    Space {
        /// The directory.
        path: PathBuf,
        /// Bytes needed.
        needed: ByteCount,
        /// Bytes free.
        available: ByteCount,
    },
    /// The experiment does not fit into the budget.
    #[error(
        "{} with {data} of data {} about {needed_s} s, more than the budget of {budget_s} s",
        if *cells == 1 { "1 cell".to_owned() } else { format!("{cells} cells") },
        if *cells == 1 { "needs" } else { "need" },
    )]
    Budget {
        /// Cells of the plan.
        cells: usize,
        /// Size of the data.
        data: ByteCount,
        /// Seconds needed at least.
        needed_s: u64,
        /// Seconds allowed.
        budget_s: u64,
    },
    /// A setting makes no sense.
    #[error("{0}")]
    Setting(String),
    /// A file could not be made or deleted while at work.
    #[error(transparent)]
    File(DirectoryError),
    /// A base does not satisfy the workload's specification.
    #[error("consistency condition {clause} does not hold after loading: {what}")]
    Inconsistent {
        /// The clause.
        clause: String,
        /// The first place.
        what: String,
    },
    /// Nothing could be measured in the budget.
    #[error("the budget of {budget_s} s was used up before anything could be measured")]
    UsedUp {
        /// Seconds allowed.
        budget_s: u64,
    },
    /// No cell of a sitting gave figures.
    #[error("every run of a sitting failed, the last one with: {0}")]
    AllFailed(String),
    /// The disk ran full; what was finished is kept.
    #[error(
        "no space left in {}: free some space and run the same command again",
        path.display()
    )]
    Full {
        /// The directory.
        path: PathBuf,
    },
    /// The caller asked to stop; what was finished is kept.
    #[error("stopped")]
    Stopped,
}

impl CampaignError {
    /// Whether the user's input is at fault, rather than the machine.
    pub fn is_bad_input(&self) -> bool {
        match self {
            Self::Directory(_)
            | Self::Space { .. }
            | Self::Budget { .. }
            | Self::Setting(_)
            | Self::Workload(_)
            | Self::Cpus(CpusError::TooMany { .. })
            | Self::Files(_)
            | Self::Mount(MountError::Refused { input: true, .. })
            | Self::Database(
                DatabaseError::Setting { .. }
                | DatabaseError::Source { .. }
                | DatabaseError::Unknown { .. },
            ) => true,
            Self::Store(error) => error.is_bad_input(),
            _ => false,
        }
    }
}
