//! One run: started, driven, stopped and checked.

use std::{
    path::PathBuf,
    thread,
    time::{Duration, Instant},
};

use octavo_database::{
    Database, DatabaseError, Isolation, Noop, RestoreMethod, Running, Settings, StoragePath,
};
use octavo_driver::{
    DriverError, DriverObserver, DriverSettings, Measurement, RECONNECT, RECONNECT_PAUSE, drive,
};
use octavo_storage::location::Location;
use octavo_units::{ByteCount, PageSize};
use octavo_workload::{Condition, ConnectionError, Workload};

use crate::{
    causes::with_causes,
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

    /// Whether the database died, or a session of it was lost: nothing that its
    /// transactions did.
    pub fn is_lost(&self) -> bool {
        matches!(
            self,
            Self::Died(_)
                | Self::Measurement(
                    DriverError::Reconnect { .. }
                        | DriverError::Transaction {
                            source: ConnectionError::Lost(_),
                            ..
                        }
                )
        )
    }

    /// Whether the disk is full.
    pub fn is_full(&self) -> bool {
        match self {
            Self::Database(error) => error.is_full(),
            Self::Measurement(error) => error.is_full(),
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

    /// Whether the buffer has room for all data: it need never be full then.
    fn data_fits(&self) -> bool {
        false
    }

    /// What else to know of how it was run.
    fn conditions(&self) -> Vec<(String, String)> {
        Vec::new()
    }

    /// The workload's consistency conditions on what the run left.
    fn check(&self, workload: &dyn Workload) -> Result<Vec<Condition>, DatabaseError>;

    /// Whether somebody else runs it, and may start it again.
    fn may_return(&self) -> bool {
        false
    }
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
    /// How it is run, where a process of its own told it.
    pub(crate) told: Vec<(String, String)>,
}

impl FreshCopy<'_> {
    /// Makes the copy.
    pub(crate) fn restore(&self) -> Result<RestoreMethod, DatabaseError> {
        self.database.restore(&self.snapshot, &self.copy)
    }
}

impl Subject for FreshCopy<'_> {
    fn start(
        &self,
        workload: &dyn Workload,
        isolation: Option<Isolation>,
    ) -> Result<(Box<dyn Running>, Option<RestoreMethod>), DatabaseError> {
        let restored_by = self.restore()?;
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
        let held = self.database.holds(self.memory);
        held.min(size).get() / u64::from(self.page_size.get())
    }

    fn data_fits(&self) -> bool {
        directory_size(&self.snapshot) <= self.database.holds(self.memory)
    }

    fn conditions(&self) -> Vec<(String, String)> {
        self.told.clone()
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

/// How a load ended that gave figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LoadEnd {
    /// As it was to, or by an interrupt.
    Whole,
    /// Its database was lost.
    Lost,
    /// The storage had no space left.
    Full,
}

/// What becomes of figures when there is no space left to stop the database or to check
/// its rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FullStorage {
    /// They stay, and say so.
    Kept,
    /// They are given up: whoever has more to run cannot go on.
    Fails,
}

/// What is known of a database beside its load.
pub(crate) struct RunContext {
    data_fits: bool,
    restored_by: Option<RestoreMethod>,
    storage_path: Option<StoragePath>,
    conditions: Vec<(String, String)>,
    checks: Vec<Condition>,
    unchecked: Option<String>,
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

    /// One that was started since `begin`, on a copy that was made so.
    pub(crate) fn of(
        running: Box<dyn Running>,
        restored_by: RestoreMethod,
        begin: Instant,
    ) -> Self {
        Self {
            running,
            restored_by: Some(restored_by),
            starting: begin.elapsed(),
        }
    }

    /// What is known of it while it runs.
    pub(crate) fn so_far(&self, subject: &dyn Subject) -> RunContext {
        RunContext {
            data_fits: subject.data_fits(),
            restored_by: self.restored_by,
            storage_path: subject.location().map(|_| self.running.storage_path()),
            conditions: self.conditions(subject),
            checks: Vec::new(),
            unchecked: None,
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
        self.death_within(DEATH_KNOWN)
    }

    fn death_within(&self, time: Duration) -> Option<String> {
        let since = Instant::now();
        loop {
            let death = self.running.death();
            if death.is_some() || since.elapsed() >= time {
                return death;
            }
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Stops it, whose load gave `driven`, and checks what it left. What was
    /// measured stays where the database died, was lost or had no space left (which
    /// `end` tells of what was driven), so that nothing can be checked.
    ///
    /// # Errors
    /// When the load failed, the storage is full and `full` does not keep figures, or the
    /// database left a condition of the workload violated.
    pub(crate) fn stop<T>(
        self,
        subject: &dyn Subject,
        workload: &dyn Workload,
        driven: Result<T, DriverError>,
        end: impl Fn(&T) -> LoadEnd,
        full: FullStorage,
        interrupted: &dyn Fn() -> bool,
    ) -> Result<(T, RunContext), RunError> {
        let begin = Instant::now();
        let mut context = self.so_far(subject);
        let driven = driven.map_err(RunError::from);
        let death = match &driven {
            // Connections are closed a moment before an end is known.
            Ok(driven) if end(driven) == LoadEnd::Lost => self.death_within(DEATH_KNOWN),
            Ok(_) => self.running.death(),
            Err(error) => self.death_behind(error),
        };
        let stopped = self.running.stop();
        let end = driven.as_ref().map_or(LoadEnd::Whole, end);
        // Clients have waited for it already.
        let patience = match end {
            LoadEnd::Lost => Duration::ZERO,
            LoadEnd::Whole | LoadEnd::Full => RECONNECT,
        };
        let is_kept = |error: &DatabaseError| full == FullStorage::Kept && error.is_full();
        let driven = match (driven, &death) {
            (Err(error), None) => return Err(error),
            (Err(_), Some(words)) => return Err(RunError::Died(words.clone())),
            (Ok(driven), _) => driven,
        };
        match (death, stopped) {
            // It may have died of that.
            _ if end == LoadEnd::Full => context.unchecked = Some("the storage is full".into()),
            (Some(words), _) => context.unchecked = Some(format!("the database died: {words}")),
            (None, Err(error))
                if matches!(error, DatabaseError::Stopped)
                    || (error.is_full() && !is_kept(&error)) =>
            {
                return Err(error.into());
            }
            (None, Err(error)) => context.unchecked = Some(with_causes(&error)),
            (None, Ok(())) => match check(subject, workload, patience, interrupted) {
                Ok(checks) => context.checks = checks,
                Err(error)
                    if is_kept(&error) || (subject.may_return() && is_of_connection(&error)) =>
                {
                    context.unchecked = Some(with_causes(&error));
                }
                Err(error) => return Err(error.into()),
            },
        }
        expect_consistent(&context.checks)?;
        context.overhead += begin.elapsed();
        Ok((driven, context))
    }
}

/// How long a server that may return is waited for by whoever interrupted the run: one
/// connection that fails does not cost the check.
const INTERRUPTED_PATIENCE: Duration = Duration::from_secs(1);

/// Checks what a run left. A server that is gone and may return is waited for, as
/// clients wait, and only a moment once the run is interrupted.
fn check(
    subject: &dyn Subject,
    workload: &dyn Workload,
    patience: Duration,
    interrupted: &dyn Fn() -> bool,
) -> Result<Vec<Condition>, DatabaseError> {
    let since = Instant::now();
    loop {
        let checked = subject.check(workload);
        let patience = match interrupted() {
            true => patience.min(INTERRUPTED_PATIENCE),
            false => patience,
        };
        let waits = subject.may_return()
            && checked.as_ref().is_err_and(is_of_connection)
            && since.elapsed() < patience;
        if !waits {
            return checked;
        }
        thread::sleep(RECONNECT_PAUSE);
    }
}

fn is_of_connection(error: &DatabaseError) -> bool {
    matches!(error, DatabaseError::Connection(_))
}

impl RunContext {
    /// The figures of a run of which everything else is known.
    pub(crate) fn figures(
        self,
        load: Measurement,
        device: Option<DeviceUse>,
        machine: MachineUse,
    ) -> Figures {
        let load = Measurement {
            buffer_filled: load.buffer_filled || self.data_fits,
            ..load
        };
        Figures {
            overhead: self.overhead,
            restored_by: self.restored_by,
            storage_path: self.storage_path,
            device,
            machine,
            conditions: self.conditions,
            checks: self.checks,
            unchecked: self.unchecked,
            trees: Vec::new(),
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
    let (workload, full) = (
        settings.workload,
        match settings.keep_interrupted {
            true => FullStorage::Kept,
            false => FullStorage::Fails,
        },
    );
    let driven = drive(started.running.as_ref(), settings, &mut watch, interrupted);
    let end = |load: &Measurement| match (&load.lost, &load.full) {
        (_, Some(_)) => LoadEnd::Full,
        (Some(_), None) => LoadEnd::Lost,
        (None, None) => LoadEnd::Whole,
    };
    let (load, context) = started.stop(subject, workload, driven, end, full, interrupted)?;
    Ok(context.figures(load, watch.device(), watch.machine()))
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

#[cfg(test)]
mod tests {
    use std::sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    };

    use octavo_database::Counters;
    use octavo_units::Seed;
    use octavo_workload::{Connection, Pgbench};

    use super::*;

    /// A database that is or is not there at its end.
    #[derive(Clone, Default)]
    struct Ending {
        death: Option<&'static str>,
        /// So many checks do not reach it.
        unreached: Arc<AtomicU32>,
        may_return: bool,
        /// There is no space left to stop it.
        is_full: bool,
    }

    impl Running for Ending {
        fn connect(&self, _client: u32) -> Result<Box<dyn Connection + Send>, DatabaseError> {
            unreachable!("nothing is driven")
        }

        fn counters(&self) -> Counters {
            Counters::default()
        }

        fn conditions(&self) -> Vec<(&'static str, String)> {
            Vec::new()
        }

        fn storage_path(&self) -> StoragePath {
            StoragePath::None
        }

        fn death(&self) -> Option<String> {
            self.death.map(str::to_owned)
        }

        fn stop(self: Box<Self>) -> Result<(), DatabaseError> {
            match self.is_full {
                true => Err(ConnectionError::Full("planted".into()).into()),
                false => Ok(()),
            }
        }
    }

    impl Subject for Ending {
        fn start(
            &self,
            _workload: &dyn Workload,
            _isolation: Option<Isolation>,
        ) -> Result<(Box<dyn Running>, Option<RestoreMethod>), DatabaseError> {
            Ok((Box::new(self.clone()), None))
        }

        fn check(&self, _workload: &dyn Workload) -> Result<Vec<Condition>, DatabaseError> {
            let less = |left: u32| left.checked_sub(1);
            let order = Ordering::Relaxed;
            match self.unreached.fetch_update(order, order, less) {
                Ok(_) => Err(ConnectionError::Lost("no server".into()).into()),
                Err(_) => Ok(vec![Condition {
                    clause: "1".into(),
                    checked: 7,
                    violations: 0,
                    first_violation: None,
                }]),
            }
        }

        fn may_return(&self) -> bool {
            self.may_return
        }
    }

    /// How many conditions hold, and why none were checked.
    fn ended(
        ending: &Ending,
        is_lost: bool,
        is_interrupted: bool,
    ) -> Result<(usize, Option<String>), RunError> {
        let workload = Pgbench::new(1, Seed::new(1)).unwrap();
        let started = Started::start(ending, &workload, None).unwrap();
        let driven = Ok::<_, DriverError>(match is_lost {
            true => LoadEnd::Lost,
            false => LoadEnd::Whole,
        });
        let kept = FullStorage::Kept;
        let (_, context) = started.stop(ending, &workload, driven, |end| *end, kept, &|| {
            is_interrupted
        })?;
        Ok((context.checks.len(), context.unchecked))
    }

    #[test]
    fn figures_of_a_storage_that_is_full_stay_where_they_are_kept() {
        let full = Ending {
            is_full: true,
            ..Ending::default()
        };
        let workload = Pgbench::new(1, Seed::new(1)).unwrap();
        let ended = |end, full_storage| {
            let started = Started::start(&full, &workload, None).unwrap();
            let driven = Ok::<_, DriverError>(end);
            let stopped = started.stop(&full, &workload, driven, |end| *end, full_storage, &|| {
                false
            });
            stopped.map(|(_, context)| context.unchecked.unwrap())
        };
        let kept = ended(LoadEnd::Whole, FullStorage::Kept).unwrap();
        assert_eq!(kept.matches("space").count(), 2, "{kept}");
        let ended_early = ended(LoadEnd::Full, FullStorage::Kept).unwrap();
        assert_eq!(ended_early, "the storage is full");
        assert!(
            ended(LoadEnd::Whole, FullStorage::Fails)
                .unwrap_err()
                .is_full()
        );
    }

    #[test]
    fn a_server_that_may_return_is_waited_for() {
        let returning = |unreached| Ending {
            unreached: Arc::new(AtomicU32::new(unreached)),
            may_return: true,
            ..Ending::default()
        };
        assert_eq!(ended(&returning(3), false, false).unwrap(), (1, None));
        let why = "the connection to the database was lost: no server";
        let unchecked = (0, Some(why.to_owned()));
        // Clients have waited: asked once.
        let gone = returning(u32::MAX);
        assert_eq!(ended(&gone, true, false).unwrap(), unchecked);
        assert_eq!(u32::MAX - gone.unreached.load(Ordering::Relaxed), 1);
        // Whoever interrupts it waits a moment.
        assert_eq!(ended(&gone, false, true).unwrap(), unchecked);
        assert_eq!(ended(&returning(1), false, true).unwrap(), (1, None));
    }

    #[test]
    fn what_was_measured_of_a_database_that_died_stays() {
        let died = Ending {
            death: Some("planted"),
            ..Ending::default()
        };
        let why = Some("the database died: planted".to_owned());
        assert_eq!(ended(&died, false, false).unwrap(), (0, why));
        // What cannot be opened again though it was stopped well is broken.
        let broken = Ending {
            unreached: Arc::new(AtomicU32::new(u32::MAX)),
            ..Ending::default()
        };
        assert!(ended(&broken, false, false).is_err());
        assert_eq!(ended(&Ending::default(), false, false).unwrap(), (1, None));
    }
}
