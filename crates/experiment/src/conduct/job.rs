//! The order of the work: preparing databases, calibrating, then snapshots
//! and rounds until there is enough, and clearing up.

use std::{
    collections::HashMap,
    fs,
    ops::ControlFlow,
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use octavo_database::DatabaseError;
use octavo_storage::{
    calibrate::{self, CalibrateError},
    location::Location,
};
use octavo_units::PageSize;

use super::{ConductError, ConductSettings, resolved::ResolvedPlan};
use crate::{
    causes::with_causes,
    directory::{DirectoryError, WorkDirectory},
    emulation::Emulation,
    findings::Findings,
    machine,
    observer::Observer,
    plan::{Cell, Plan, SnapshotKey, Storage, TestedDatabase},
    store::{Store, StoreError},
};

pub(super) struct Job<'a> {
    pub(super) settings: &'a ConductSettings,
    pub(super) observer: &'a dyn Observer,
    /// The directory that it works in, and those of other storages, held as
    /// long as this works.
    pub(super) directories: Vec<WorkDirectory>,
    pub(super) resolved: ResolvedPlan<'a>,
    pub(super) locations: HashMap<Storage, Location>,
    pub(super) cells: Vec<Cell>,
    pub(super) store: Store,
    pub(super) session: i64,
    pub(super) earlier: Duration,
    pub(super) begin: Instant,
    pub(super) unavailable: Vec<Unavailable>,
    /// Last, so that they are unmounted when nothing uses them any more.
    pub(super) emulations: Vec<Emulation>,
}

/// A database at a page size that cannot be had.
pub(super) struct Unavailable {
    database: Arc<TestedDatabase>,
    page_size: PageSize,
    pub(super) reason: String,
}

impl Job<'_> {
    pub(super) fn work(mut self) -> Result<Findings, ConductError> {
        self.set_begun_round_aside()?;
        let result = self.measure();
        let noted = self.note_time();
        result.map_err(|error| self.explain(error))?;
        noted?;
        let findings = Findings::of(&self.store)?.expect("the plan was adopted");
        self.clear_up();
        Ok(findings)
    }

    /// A round is compared within itself because its runs are close together
    /// in time. One that an earlier session began is made again when longer
    /// has passed since than a round takes, or ten minutes.
    fn set_begun_round_aside(&self) -> Result<(), StoreError> {
        const PAUSE_MIN: Duration = Duration::from_mins(10);
        let (Some(round), Some(pace), Some(pause)) =
            (self.upcoming()?, self.pace()?, self.store.since_last_run()?)
        else {
            return Ok(());
        };
        let begun = round.missing.len() < round.cells.len();
        let runs = u32::try_from(round.cells.len()).unwrap_or(u32::MAX);
        if begun && pause > pace.run.saturating_mul(runs).max(PAUSE_MIN) {
            self.observer.note(&format!(
                "round {} was begun {} min ago: its runs are set aside and it is made again",
                round.number + 1,
                pause.as_secs() / 60
            ));
            self.store.set_aside(round.number)?;
        }
        Ok(())
    }

    /// Deletes what is not to be kept, and unmounts. The answer is worth more
    /// than the room: that data stays is only noted.
    fn clear_up(self) {
        let keep = self.settings.keep_data;
        let stay = |error: &dyn std::error::Error| {
            self.observer.note(&format!(
                "the loaded databases stay: {}",
                with_causes(error)
            ));
        };
        for directory in self.directories {
            if !keep && let Err(error) = directory.remove_data() {
                stay(&error);
            }
        }
        for mut emulation in self.emulations {
            if let Some(slow) = emulation.end() {
                self.observer.note(&slow);
            }
            if !keep && let Err(error) = emulation.remove() {
                stay(&error);
            }
        }
    }

    pub(super) fn plan(&self) -> &Plan {
        &self.settings.plan
    }

    /// A full disk shows in many places; the user is told one thing.
    fn explain(&self, error: ConductError) -> ConductError {
        let full = match &error {
            ConductError::Database(error) => error.is_full(),
            ConductError::Store(StoreError::Full { .. }) => true,
            ConductError::Directory(error) => error.is_full(),
            _ => false,
        };
        match error {
            _ if full => self.full(self.directories[0].path()),
            ConductError::Database(DatabaseError::Stopped) => ConductError::Stopped,
            ConductError::Directory(error) => ConductError::File(error),
            other => other,
        }
    }

    pub(super) fn full(&self, path: &Path) -> ConductError {
        ConductError::Full {
            path: path.to_owned(),
        }
    }

    fn measure(&mut self) -> Result<(), ConductError> {
        self.store.put_facts("machine", &machine::describe())?;
        for storage in &self.settings.plan.storages {
            let topic = match storage {
                Storage::Own => "storage".to_owned(),
                other => format!("storage {other}"),
            };
            let facts = self.locations[storage].facts.known();
            self.store.put_facts(&topic, &facts)?;
        }
        self.prepare()?;
        self.note_time()?;
        if self.settings.calibrate && self.store.calibration()?.is_none() {
            self.calibrate()?;
        }
        while let Some(round) = self.next_round()? {
            self.make_snapshots(&round)?;
            let length = match self.store.run_length()? {
                Some(length) => length,
                None => self.decide_length()?,
            };
            self.round(&round, length)?;
        }
        Ok(())
    }

    /// Gets what the databases need, one page size after the other: one that
    /// cannot be had costs its own cells alone.
    fn prepare(&mut self) -> Result<(), ConductError> {
        let mut had = 0;
        for spec in &self.settings.plan.databases {
            for &page_size in &self.settings.plan.page_sizes {
                let database = self.resolved.database(spec);
                let prepared = database.prepare(&[page_size], &mut |step| {
                    self.progress(step);
                    self.flow()
                });
                match prepared {
                    Ok(()) => had += 1,
                    Err(error) => self.do_without(spec, page_size, error)?,
                }
            }
        }
        match self.unavailable.first() {
            Some(missing) if had == 0 => Err(ConductError::AllFailed(missing.reason.clone())),
            _ => Ok(()),
        }
    }

    /// Goes on without a database at a page size, unless the error is one of
    /// everything.
    pub(super) fn do_without(
        &mut self,
        database: &Arc<TestedDatabase>,
        page_size: PageSize,
        error: DatabaseError,
    ) -> Result<(), ConductError> {
        if matches!(
            error,
            DatabaseError::Stopped | DatabaseError::Setting { .. }
        ) || error.is_full()
        {
            return Err(error.into());
        }
        let reason = with_causes(&error);
        self.observer.note(&format!(
            "{} with {page_size} pages is left out: {reason}",
            database.name
        ));
        self.unavailable.push(Unavailable {
            database: database.clone(),
            page_size,
            reason,
        });
        Ok(())
    }

    /// Why a snapshot cannot be had; `None` when it can.
    pub(super) fn unavailable(&self, key: &SnapshotKey) -> Option<&str> {
        self.unavailable
            .iter()
            .find(|other| (&other.database, other.page_size) == (&key.database, key.page_size))
            .map(|other| other.reason.as_str())
    }

    pub(super) fn spent(&self) -> Duration {
        self.earlier.saturating_add(self.begin.elapsed())
    }

    pub(super) fn note_time(&self) -> Result<(), StoreError> {
        self.store
            .extend_session(self.session, self.begin.elapsed())
    }

    pub(super) fn progress(&self, now: &str) {
        // With a number of rounds the time follows from what runs have cost;
        // that cells may leave early is not foreseen.
        let expected = match (self.settings.rounds, self.pace()) {
            (Some(rounds), Ok(Some(pace))) => {
                let missing =
                    (rounds as usize * self.cells.len()).saturating_sub(pace.runs_done) as u32;
                self.spent() + pace.run.saturating_mul(missing)
            }
            _ => self.settings.budget.unwrap_or_else(|| self.spent()),
        };
        self.observer.progress(now, self.spent(), expected);
    }

    pub(super) fn stop_if_interrupted(&self) -> Result<(), ConductError> {
        if self.observer.interrupted() {
            Err(ConductError::Stopped)
        } else {
            Ok(())
        }
    }

    pub(super) fn flow(&self) -> ControlFlow<()> {
        if self.observer.interrupted() {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }

    /// Calibrates the first storage.
    fn calibrate(&self) -> Result<(), ConductError> {
        let profile = calibrate::calibrate(
            &self.resolved.directories()[0],
            &calibrate::Settings::brief(self.plan().seed.derive("calibrate", 0)),
            &mut |step| {
                self.progress(&format!("calibrate: {}", step.name));
                self.flow()
            },
        )
        .map_err(|error| {
            if matches!(error, CalibrateError::Stopped) {
                ConductError::Stopped
            } else {
                error.into()
            }
        })?;
        self.store.put_calibration(&profile.to_toml())?;
        self.note_time()?;
        Ok(())
    }
}

pub(super) fn create(path: &Path) -> Result<(), DirectoryError> {
    fs::create_dir_all(path).map_err(DirectoryError::io("create directory", path))
}
