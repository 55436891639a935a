//! One run: started, driven, stopped and checked.

use std::{path::Path, time::Instant};

use octavo_database::{Database, DatabaseError, Isolation, Noop, RestoreMethod, Running, Settings};
use octavo_driver::{
    DriverError, DriverObserver, DriverSettings, Extension, Load, RunLength, drive,
};
use octavo_storage::location::Location;
use octavo_units::{ByteCount, PageSize, Seed};
use octavo_workload::{Condition, ConnectionError, Workload};

use crate::{directory::directory_size, record::Figures, watch::Watch};

/// Why a run gave no result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The database refused or died.
    #[error(transparent)]
    Database(#[from] DatabaseError),
    /// The database died.
    #[error("the database died: {0}")]
    Died(String),
    /// A transaction failed or the caller stopped it.
    #[error(transparent)]
    Measurement(#[from] DriverError),
    /// Transactions failed, and not by the workload's wish.
    #[error(
        "{0} transactions failed for conflicts, timeouts or lost connections: 'octavo bench' \
         shows which"
    )]
    Failed(u64),
    /// The data does not satisfy the workload's specification afterwards.
    #[error("consistency condition {clause} does not hold after the run: {what}")]
    Inconsistent {
        /// The specification's clause.
        clause: String,
        /// The first place that does not hold.
        what: String,
    },
}

impl RunError {
    /// Whether the caller asked for the end.
    pub fn is_stop(&self) -> bool {
        matches!(
            self,
            Self::Database(DatabaseError::Stopped)
                | Self::Measurement(
                    DriverError::Stopped | DriverError::Database(DatabaseError::Stopped)
                )
        )
    }

    /// Whether the disk is full.
    pub fn is_full(&self) -> bool {
        match self {
            Self::Database(error) | Self::Measurement(DriverError::Database(error)) => {
                error.is_full()
            }
            Self::Measurement(DriverError::Transaction { source, .. }) => {
                matches!(source, ConnectionError::Full(_))
            }
            _ => false,
        }
    }
}

/// The database that a run drives: how it is started and how it is checked
/// once it has stopped.
pub(crate) trait Subject {
    /// Starts it, and says how a copy was made for it.
    fn start(
        &self,
        workload: &dyn Workload,
        isolation: Option<Isolation>,
    ) -> Result<(Box<dyn Running>, Option<RestoreMethod>), DatabaseError>;

    /// Where its data lies, when that is a block device whose counters can be
    /// read.
    fn location(&self) -> Option<&Location> {
        None
    }

    /// Page size, and the memory that can be filled with data: what is read
    /// until then is warm-up. Nothing where it is not known what the buffer
    /// holds: it counts as filled at once.
    fn buffer(&self) -> (PageSize, ByteCount) {
        (PageSize::MIN, ByteCount::ZERO)
    }

    /// What else to know of how it was run.
    fn conditions(&self) -> Vec<(String, String)> {
        Vec::new()
    }

    /// The workload's consistency conditions on what the run left.
    fn check(&self, workload: &dyn Workload) -> Result<Vec<Condition>, DatabaseError>;
}

/// A database that answers at once: the driver alone.
impl Subject for Noop {
    fn start(
        &self,
        workload: &dyn Workload,
        _isolation: Option<Isolation>,
    ) -> Result<(Box<dyn Running>, Option<RestoreMethod>), DatabaseError> {
        Ok((Box::new(Self::new(workload)), None))
    }

    fn check(&self, _workload: &dyn Workload) -> Result<Vec<Condition>, DatabaseError> {
        Ok(Vec::new())
    }
}

/// A fresh copy of a loaded database.
pub(crate) struct FreshCopy<'a> {
    /// The database.
    pub(crate) database: &'a dyn Database,
    /// The loaded database at rest.
    pub(crate) snapshot: &'a Path,
    /// Where the copy goes.
    pub(crate) copy: &'a Path,
    /// Where the copy's bytes go.
    pub(crate) location: &'a Location,
    /// The page size.
    pub(crate) page_size: PageSize,
    /// All memory that may hold data.
    pub(crate) memory: ByteCount,
    /// Sessions.
    pub(crate) clients: u32,
}

impl Subject for FreshCopy<'_> {
    fn start(
        &self,
        workload: &dyn Workload,
        isolation: Option<Isolation>,
    ) -> Result<(Box<dyn Running>, Option<RestoreMethod>), DatabaseError> {
        let restored_by = self.database.restore(self.snapshot, self.copy)?;
        let settings = Settings {
            page_size: self.page_size,
            memory: self.memory,
            clients: self.clients,
            isolation,
        };
        let running = self.database.start(self.copy, &settings, workload)?;
        Ok((running, Some(restored_by)))
    }

    fn location(&self) -> Option<&Location> {
        Some(self.location)
    }

    fn buffer(&self) -> (PageSize, ByteCount) {
        // What does not fit is what can be missed.
        let size = directory_size(self.snapshot);
        (self.page_size, self.memory.min(size))
    }

    fn check(&self, workload: &dyn Workload) -> Result<Vec<Condition>, DatabaseError> {
        let mut connection = self.database.inspect(self.copy, workload)?;
        Ok(workload.check(connection.as_mut())?)
    }
}

/// The load of a run.
#[derive(Clone, Copy)]
pub(crate) struct RunSettings<'a> {
    /// The workload.
    pub(crate) workload: &'a dyn Workload,
    /// Sessions.
    pub(crate) clients: u32,
    /// How transactions come to them.
    pub(crate) load: Load,
    /// How often a transaction is run again after conflicts.
    pub(crate) retries: u32,
    /// The isolation level; `None` for the database's default.
    pub(crate) isolation: Option<Isolation>,
    /// Origin of the inputs.
    pub(crate) seed: Seed,
    /// How long.
    pub(crate) length: RunLength,
    /// Whether a run that is still warming up at its end is extended.
    pub(crate) extension: Extension,
    /// Whether an interrupt while measuring keeps what was measured.
    pub(crate) keep_interrupted: bool,
}

/// Makes one run. `interrupted` is looked at several times a second.
///
/// # Errors
/// When the database cannot be started, dies or refuses, a transaction fails
/// in a way that is not counted, the caller stops it, or a consistency
/// condition does not hold afterwards.
pub(crate) fn run(
    subject: &dyn Subject,
    settings: RunSettings<'_>,
    observer: &mut dyn DriverObserver,
    interrupted: &(dyn Fn() -> bool + Sync),
) -> Result<Figures, RunError> {
    let begin = Instant::now();
    let (running, restored_by) = subject.start(settings.workload, settings.isolation)?;
    let mut watch = Watch::new(subject.location(), observer);
    let (page_size, memory) = subject.buffer();
    let driven = drive(
        running.as_ref(),
        DriverSettings {
            workload: settings.workload,
            seed: settings.seed,
            connections: settings.clients,
            load: settings.load,
            retries: settings.retries,
            length: settings.length,
            extension: settings.extension,
            keep_interrupted: settings.keep_interrupted,
            page_size,
            memory,
        },
        &mut watch,
        interrupted,
    );
    let storage_path = running.storage_path();
    let conditions = running.conditions().into_iter();
    let mut conditions: Vec<(String, String)> = conditions
        .map(|(name, value)| (name.to_owned(), value))
        .collect();
    conditions.extend(subject.conditions());
    let death = running.death();
    let stopped = running.stop();
    // Whatever else went wrong followed from it; but who was asked to stop, or
    // has no room left, is told that.
    let driven = driven.map_err(RunError::from);
    if let Some(words) = death
        && !driven
            .as_ref()
            .is_err_and(|error| error.is_stop() || error.is_full())
    {
        return Err(RunError::Died(words));
    }
    let load = driven?;
    stopped?;
    let checks = subject.check(settings.workload)?;
    expect_consistent(&checks)?;
    Ok(Figures {
        overhead: begin.elapsed().saturating_sub(load.warm_up + load.measured),
        restored_by,
        storage_path: subject.location().map(|_| storage_path),
        device: watch.device(),
        machine: watch.machine(),
        conditions,
        checks,
        load,
    })
}

/// Refuses data of which a condition does not hold.
fn expect_consistent(checks: &[Condition]) -> Result<(), RunError> {
    match checks.iter().find(|check| check.violations > 0) {
        None => Ok(()),
        Some(broken) => Err(RunError::Inconsistent {
            clause: broken.clause.clone(),
            what: broken.first_violation.clone().unwrap_or_default(),
        }),
    }
}
