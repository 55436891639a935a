//! One run: started, driven, stopped and checked.

use std::{
    path::PathBuf,
    thread,
    time::{Duration, Instant},
};

use octavo_database::{
    Database, DatabaseError, Isolation, Noop, RestoreMethod, Running, Settings, StoragePath,
};
use octavo_driver::{DriverError, DriverObserver, DriverSettings, Measurement, drive};
use octavo_storage::location::Location;
use octavo_units::{ByteCount, PageSize};
use octavo_workload::{Condition, ConnectionError, Workload};

use crate::{
    directory::directory_size,
    machine::MachineUse,
    record::{DeviceUse, Figures},
    watch::Watch,
};

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

/// After an error, the end of a database that is behind it is known by then.
const DEATH_KNOWN: Duration = Duration::from_secs(1);

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

    /// Pages that fill the buffer. Nothing where it is not known what it
    /// holds: it counts as filled at once.
    fn frames(&self) -> u64 {
        0
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
    pub(crate) snapshot: PathBuf,
    /// Where the copy goes.
    pub(crate) copy: PathBuf,
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
        let restored_by = self.database.restore(&self.snapshot, &self.copy)?;
        let settings = Settings {
            page_size: self.page_size,
            memory: self.memory,
            clients: self.clients,
            isolation,
        };
        let running = self.database.start(&self.copy, &settings, workload)?;
        Ok((running, Some(restored_by)))
    }

    fn location(&self) -> Option<&Location> {
        Some(self.location)
    }

    fn frames(&self) -> u64 {
        // What does not fit is what can be missed.
        let size = directory_size(&self.snapshot);
        self.memory.min(size).get() / u64::from(self.page_size.get())
    }

    fn check(&self, workload: &dyn Workload) -> Result<Vec<Condition>, DatabaseError> {
        let mut connection = self.database.inspect(&self.copy, workload)?;
        Ok(workload.check(connection.as_mut())?)
    }
}

/// A started database, until it is stopped and checked.
pub(crate) struct Started {
    /// The database.
    pub(crate) running: Box<dyn Running>,
    restored_by: Option<RestoreMethod>,
    /// What making the copy and starting took.
    starting: Duration,
}

/// What is known of a database beside its load.
pub(crate) struct Around {
    restored_by: Option<RestoreMethod>,
    storage_path: Option<StoragePath>,
    conditions: Vec<(String, String)>,
    checks: Vec<Condition>,
    /// What starting, stopping and checking took.
    overhead: Duration,
}

impl Started {
    /// Starts a subject.
    pub(crate) fn start(
        subject: &dyn Subject,
        workload: &dyn Workload,
        isolation: Option<Isolation>,
    ) -> Result<Self, DatabaseError> {
        let begin = Instant::now();
        let (running, restored_by) = subject.start(workload, isolation)?;
        Ok(Self {
            running,
            restored_by,
            starting: begin.elapsed(),
        })
    }

    /// What is known of it while it runs.
    pub(crate) fn so_far(&self, subject: &dyn Subject) -> Around {
        Around {
            restored_by: self.restored_by,
            storage_path: subject.location().map(|_| self.running.storage_path()),
            conditions: self.conditions(subject),
            checks: Vec::new(),
            overhead: self.starting,
        }
    }

    fn conditions(&self, subject: &dyn Subject) -> Vec<(String, String)> {
        let own = self.running.conditions().into_iter();
        own.map(|(name, value)| (name.to_owned(), value))
            .chain(subject.conditions())
            .collect()
    }

    /// How the database ended, if `error` followed from that. Who was asked to
    /// stop, or has no room left, is told that. One that is killed closes its
    /// connections a moment before its end is known.
    pub(crate) fn death_behind(&self, error: &RunError) -> Option<String> {
        if error.is_stop() || error.is_full() {
            return None;
        }
        let since = Instant::now();
        loop {
            let death = self.running.death();
            if death.is_some() || since.elapsed() >= DEATH_KNOWN {
                return death;
            }
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Stops it, whose load gave `driven`, and checks what it left.
    ///
    /// # Errors
    /// When the load failed or the database died, cannot be stopped, or left a
    /// condition of the workload violated.
    pub(crate) fn stop<T>(
        self,
        subject: &dyn Subject,
        workload: &dyn Workload,
        driven: Result<T, DriverError>,
    ) -> Result<(T, Around), RunError> {
        let begin = Instant::now();
        let mut around = self.so_far(subject);
        let driven = driven.map_err(RunError::from);
        let death = match &driven {
            Ok(_) => self.running.death(),
            Err(error) => self.death_behind(error),
        };
        let stopped = self.running.stop();
        if let Some(words) = death {
            return Err(RunError::Died(words));
        }
        let driven = driven?;
        stopped?;
        around.checks = subject.check(workload)?;
        expect_consistent(&around.checks)?;
        around.overhead += begin.elapsed();
        Ok((driven, around))
    }
}

impl Around {
    /// The figures of a run of which everything else is known.
    pub(crate) fn figures(
        self,
        load: Measurement,
        device: Option<DeviceUse>,
        machine: MachineUse,
    ) -> Figures {
        Figures {
            overhead: self.overhead,
            restored_by: self.restored_by,
            storage_path: self.storage_path,
            device,
            machine,
            conditions: self.conditions,
            checks: self.checks,
            load,
        }
    }
}

/// Makes one run. `interrupted` is looked at several times a second.
///
/// # Errors
/// When the database cannot be started, dies or refuses, a transaction fails
/// in a way that is not counted, the caller stops it, or a consistency
/// condition does not hold afterwards.
pub(crate) fn run(
    subject: &dyn Subject,
    settings: DriverSettings<'_>,
    isolation: Option<Isolation>,
    observer: &mut dyn DriverObserver,
    interrupted: &(dyn Fn() -> bool + Sync),
) -> Result<Figures, RunError> {
    let started = Started::start(subject, settings.workload, isolation)?;
    let mut watch = Watch::new(subject.location(), observer);
    let driven = drive(started.running.as_ref(), settings, &mut watch, interrupted);
    let (load, around) = started.stop(subject, settings.workload, driven)?;
    Ok(around.figures(load, watch.device(), watch.machine()))
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
