//! What every session of an experiment does, however it measures: looks at the machine,
//! gets what cells need, and keeps its time.

use std::time::Duration;

use octavo_database::DatabaseError;
use octavo_device::profile::Profile;

use super::settings::CampaignSettings;
use crate::{
    budget,
    error::CampaignError,
    executor::Executor,
    findings::Findings,
    limits::StorageLimits,
    lockstep::{Slice, WarmUpBlock},
    monitor::Monitor,
    part::{Host, PartOutcome},
    plan::{Cell, SnapshotKey},
    record::{RunRecord, Source},
    store::{LOADED, Store, StoreError},
};

/// A session of an experiment, with its store.
pub(super) struct Session<'a> {
    settings: &'a CampaignSettings,
    pub(super) store: Store,
    number: i64,
    monitor: &'a Monitor<'a>,
    /// What is not loaded, for want of time.
    without_time: Vec<SnapshotKey>,
}

/// The least budget in which limits of storage are looked for that is not calibrated: that takes about 4 s.
const LIMITS_BUDGET_MIN: Duration = Duration::from_secs(150);

/// So many snapshots are loaded whatever the budget: with fewer, nothing is compared.
const COMPARED_MIN: usize = 2;

impl<'a> Session<'a> {
    /// Begins a session of the experiment in `store`.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub(super) fn begin(
        settings: &'a CampaignSettings,
        mut store: Store,
        monitor: &'a Monitor<'a>,
    ) -> Result<Self, StoreError> {
        let number = match &settings.part {
            Some(part) => store.begin_part(part, settings.octavo_version)?,
            None => store.begin_session()?,
        };
        Ok(Self {
            settings,
            number,
            store,
            monitor,
            without_time: Vec::new(),
        })
    }

    /// Its number in the store.
    pub(super) fn number(&self) -> i64 {
        self.number
    }

    /// Ends the session, whose work came to `result`: what was found so far, and what the
    /// executor made is taken away.
    ///
    /// # Errors
    /// That of the work, or when the store cannot be used.
    pub(super) fn end(
        &self,
        result: Result<(), CampaignError>,
        executor: &mut dyn Executor,
    ) -> Result<Findings, CampaignError> {
        let noted = self.note_time().and_then(|()| self.note_outcome(&result));
        result.map_err(|error| self.explain(error))?;
        noted?;
        let findings = Findings::read(&self.store)?.expect("the plan was adopted");
        executor.clear_up(self.settings.keep_data, self.monitor);
        Ok(findings)
    }

    /// Keeps how a part ended.
    fn note_outcome(&self, result: &Result<(), CampaignError>) -> Result<(), StoreError> {
        let outcome = match result {
            Ok(()) => PartOutcome::Done,
            Err(_) => PartOutcome::Incomplete,
        };
        match self.settings.part {
            Some(_) => self.store.end_part(self.number, outcome),
            None => Ok(()),
        }
    }

    /// A full disk makes many calls fail: all of these become one error.
    fn explain(&self, error: CampaignError) -> CampaignError {
        let full = match &error {
            CampaignError::Database(error) => error.is_full(),
            CampaignError::Store(StoreError::Full { .. }) => true,
            CampaignError::Directory(error) => error.is_full(),
            _ => false,
        };
        match error {
            _ if full => CampaignError::Full {
                path: self.settings.directory.clone(),
            },
            CampaignError::Database(DatabaseError::Stopped) => CampaignError::Stopped,
            CampaignError::Directory(error) => CampaignError::File(error),
            other => other,
        }
    }

    /// Keeps how long the session has lasted.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub(super) fn note_time(&self) -> Result<(), StoreError> {
        self.store
            .extend_session(self.number, self.monitor.session())
    }

    /// Keeps what is known of where the executor works; calibrates the storage where that is
    /// wanted and was not done yet.
    ///
    /// # Errors
    /// When the storage cannot be measured, or the store cannot be written.
    pub(super) fn look_around(&mut self, executor: &mut dyn Executor) -> Result<(), CampaignError> {
        for (topic, facts) in executor.facts() {
            self.store.put_facts(&topic, &facts)?;
        }
        if self.settings.part.is_some() {
            self.store.put_boot(Host::boot())?;
        }
        if self.settings.calibrate && self.store.calibration()?.is_none() {
            let seed = self.settings.plan.seed.derive("calibrate", 0);
            let limit = self.settings.budget.map(budget::calibration);
            if let Some(profile) = executor.calibrate(seed, limit, self.monitor)? {
                self.store.put_calibration(&profile)?;
            }
            self.note_time()?;
        }
        self.know_limits(executor)
    }

    /// Keeps what each storage is limited to, where cells take turns on it and that is not kept yet: by its
    /// model, as it was calibrated, or found where there is time for that.
    fn know_limits(&mut self, executor: &mut dyn Executor) -> Result<(), CampaignError> {
        let plan = &self.settings.plan;
        if executor.source() != Source::Measured || plan.ramp.is_some() {
            return Ok(());
        }
        let known = StorageLimits::all(&self.store)?;
        let profile = self.store.calibration()?;
        let profile = profile.and_then(|text| Profile::from_toml(&text).ok());
        // The first storage is what was calibrated.
        let mut calibrated = profile.and_then(|profile| profile.limits);
        let budget = self.settings.budget;
        let has_time = budget.is_some_and(|budget| budget >= LIMITS_BUDGET_MIN);
        for (number, storage) in (0..).zip(&plan.storages) {
            let calibrated = calibrated.take();
            if known.iter().any(|limits| limits.storage == *storage) {
                continue;
            }
            let look = has_time && calibrated.is_none();
            let seed = look.then(|| plan.seed.derive("limits", number));
            let limits = executor.limits(storage, seed, self.monitor)?;
            if let Some(limits) = limits.or(calibrated) {
                let storage = storage.clone();
                StorageLimits { storage, limits }.keep(&mut self.store)?;
            }
            self.note_time()?;
        }
        Ok(())
    }

    /// Gets what cells need, that of reference cells first; why none of them can be had,
    /// where that is so. What there is no time for is left out.
    ///
    /// # Errors
    /// What would fail for every cell; [`CampaignError::UsedUp`] where the budget is over
    /// before anything can be compared.
    pub(super) fn prepare(
        &mut self,
        executor: &mut dyn Executor,
        cells: &[&Cell],
    ) -> Result<Option<String>, CampaignError> {
        let due = self.in_order(cells);
        for (place, cell) in due.iter().enumerate() {
            self.monitor.stop_if_interrupted()?;
            if self.without_time.contains(&cell.snapshot()) {
                continue;
            }
            let later = &due[place + 1..];
            match executor.prepare(cell, self.monitor) {
                Ok(Some(snapshot)) => {
                    self.store.put_snapshot(&snapshot)?;
                    self.note_time()?;
                    // Deriving is soon done.
                    if snapshot.made_by == LOADED {
                        let load = Duration::from_secs_f64(snapshot.elapsed_s);
                        let check = executor.closing(cell);
                        let ready = self.ready(executor, &due[..=place]);
                        self.plan_loads(load.saturating_add(check), check, ready, later)?;
                    }
                }
                Ok(None) => {}
                Err(CampaignError::UsedUp { .. })
                    if self.ready(executor, &due[..place]).len() >= COMPARED_MIN =>
                {
                    self.leave_out(&due[place..])?;
                }
                Err(error) => return Err(error),
            }
            self.note_time()?;
        }
        let reasons: Vec<&str> = due
            .iter()
            .filter_map(|cell| executor.unavailable(cell))
            .collect();
        let all = reasons.len() == due.len();
        Ok(reasons.first().filter(|_| all).map(|&reason| reason.into()))
    }

    /// A cell for each snapshot that cells need, in the order in which these are made:
    /// without a reference cell nothing is compared.
    fn in_order<'c>(&self, cells: &[&'c Cell]) -> Vec<&'c Cell> {
        let plan = &self.settings.plan;
        let all = plan.cells();
        let groups = plan.groups().into_iter();
        let references: Vec<SnapshotKey> = groups
            .map(|group| all[group.reference_cell()].snapshot())
            .collect();
        let snapshots = plan.snapshots();
        let mut due = cells.to_vec();
        due.sort_by_key(|cell| {
            let key = cell.snapshot();
            let place = snapshots.iter().position(|other| *other == key);
            (!references.contains(&key), place)
        });
        due.dedup_by_key(|cell| cell.snapshot());
        due
    }

    /// The snapshots of cells that can be had.
    fn ready(&self, executor: &dyn Executor, cells: &[&Cell]) -> Vec<SnapshotKey> {
        let cells = cells.iter();
        cells
            .filter(|cell| executor.unavailable(cell).is_none())
            .map(|cell| cell.snapshot())
            .filter(|key| !self.without_time.contains(key))
            .collect()
    }

    /// Leaves out what would not be loaded in time to be measured, where that takes as long
    /// as the last snapshot took to be `made`. Each cell is checked in the end. As long as
    /// nothing can be compared, it takes longer than the budget instead.
    fn plan_loads(
        &mut self,
        made: Duration,
        check: Duration,
        ready: Vec<SnapshotKey>,
        later: &[&Cell],
    ) -> Result<(), CampaignError> {
        let settings = self.settings;
        let (None, None, Some(budget)) = (settings.plan.ramp, settings.passes, settings.budget)
        else {
            return Ok(());
        };
        let known = self.store.snapshots()?;
        let is_made = |cell: &&&Cell| known.iter().any(|made| made.key == cell.snapshot());
        let Some(next) = later.iter().find(|cell| !is_made(cell)) else {
            return Ok(());
        };
        let has_figures = !self.store.slices()?.is_empty();
        let size = known.iter().map(|made| made.size).max().unwrap_or_default();
        let mut measured = ready.clone();
        measured.push(next.snapshot());
        measured.extend(later.iter().filter(is_made).map(|cell| cell.snapshot()));
        let cells = settings.plan.cells().into_iter();
        let cells = cells
            .filter(|cell| measured.contains(&cell.snapshot()))
            .count();
        let needed = self
            .monitor
            .spent()
            .saturating_add(made)
            .saturating_add(check.saturating_mul(u32::try_from(cells).unwrap_or(u32::MAX)))
            .saturating_add(budget::sitting(size, cells));
        let fits = needed <= budget;
        if has_figures || ready.len() >= COMPARED_MIN {
            return match fits {
                true => Ok(()),
                false => self.leave_out(later),
            };
        }
        self.monitor.lift_limit();
        if !fits {
            self.monitor.note(&format!(
                "loading is slow here, so this takes about {} s, more than the budget of {} s",
                needed.as_secs() + 1,
                budget.as_secs()
            ));
        }
        Ok(())
    }

    /// Leaves out the snapshots of cells that are not made.
    fn leave_out(&mut self, cells: &[&Cell]) -> Result<(), CampaignError> {
        let known = self.store.snapshots()?;
        for cell in cells {
            let key = cell.snapshot();
            if known.iter().all(|made| made.key != key) && !self.without_time.contains(&key) {
                self.monitor.note(&format!(
                    "{} with {} pages is left out: no time to load it in the budget of {} s, \
                     give a larger one",
                    cell.database.name,
                    cell.page_size,
                    self.settings.budget.unwrap_or_default().as_secs()
                ));
                self.without_time.push(key);
            }
        }
        Ok(())
    }

    /// Whether a cell is not loaded in this session, for want of time.
    pub(super) fn is_left_out(&self, cell: &Cell) -> bool {
        self.without_time.contains(&cell.snapshot())
    }

    /// Keeps runs of this session as they are now, and the slices that are new.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub(super) fn put_runs(
        &mut self,
        runs: &[&RunRecord],
        slices: &[Slice],
    ) -> Result<(), StoreError> {
        self.store.put_runs(self.number, runs, slices)
    }

    /// The same with blocks of their warm-ups.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub(super) fn put_sitting(
        &mut self,
        runs: &[&RunRecord],
        warm_up: &[WarmUpBlock],
        slices: &[Slice],
    ) -> Result<(), StoreError> {
        self.store.put_sitting(self.number, runs, warm_up, slices)
    }

    /// Keeps how a cell's database was run, under a topic that tells what it may depend on.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub(super) fn put_conditions(
        &mut self,
        cell: &Cell,
        conditions: &[(String, String)],
    ) -> Result<(), StoreError> {
        let topic = format!("database {}", self.settings.plan.conditions_topic(cell));
        self.store.put_facts(topic.trim_end(), conditions)
    }
}
