//! What every session of an experiment does, however it measures: looks at the machine,
//! gets what cells need, and keeps its time.

use std::time::Duration;

use octavo_database::DatabaseError;
use octavo_units::ByteCount;

use super::settings::CampaignSettings;
use crate::{
    budget,
    error::CampaignError,
    executor::{Executor, Monitor},
    findings::Findings,
    lockstep::Slice,
    plan::{Cell, Factor},
    record::RunRecord,
    store::{LOADED, Store, StoreError},
};

/// A session of an experiment, with its store.
pub(super) struct Session<'a> {
    settings: &'a CampaignSettings,
    pub(super) store: Store,
    number: i64,
    monitor: &'a Monitor<'a>,
}

impl<'a> Session<'a> {
    /// Begins a session of the experiment in `store`.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub(super) fn begin(
        settings: &'a CampaignSettings,
        store: Store,
        monitor: &'a Monitor<'a>,
    ) -> Result<Self, StoreError> {
        Ok(Self {
            settings,
            number: store.begin_session()?,
            store,
            monitor,
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
        let noted = self.note_time();
        result.map_err(|error| self.explain(error))?;
        noted?;
        let findings = Findings::of(&self.store)?.expect("the plan was adopted");
        executor.clear_up(self.settings.keep_data, self.monitor);
        Ok(findings)
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
        if self.settings.calibrate && self.store.calibration()?.is_none() {
            let seed = self.settings.plan.seed.derive("calibrate", 0);
            let limit = self.settings.budget.map(budget::calibration);
            if let Some(profile) = executor.calibrate(seed, limit, self.monitor)? {
                self.store.put_calibration(&profile)?;
            }
            self.note_time()?;
        }
        Ok(())
    }

    /// Gets what cells need, what others are derived from first; why none of them can be had,
    /// where that is so.
    ///
    /// # Errors
    /// What would fail for every cell; [`CampaignError::Budget`] once it shows that all of
    /// the budget would go into it.
    pub(super) fn prepare(
        &mut self,
        executor: &mut dyn Executor,
        cells: &[&Cell],
    ) -> Result<Option<String>, CampaignError> {
        let snapshots = self.settings.plan.snapshots();
        let mut due = cells.to_vec();
        due.sort_by_key(|cell| snapshots.iter().position(|key| *key == cell.snapshot()));
        due.dedup_by_key(|cell| cell.snapshot());
        for (place, cell) in due.iter().enumerate() {
            self.monitor.stop_if_interrupted()?;
            if let Some(snapshot) = executor.prepare(cell, self.monitor)? {
                self.store.put_snapshot(&snapshot)?;
                self.note_time()?;
                // Deriving is soon done.
                if snapshot.made_by == LOADED {
                    let load = Duration::from_secs_f64(snapshot.elapsed_s);
                    let check = executor.closing(cell);
                    self.check_time(load, check, &due[place + 1..], snapshot.size)?;
                }
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

    /// Refuses to go on where nothing could be measured any more once the
    /// snapshots of `left` are made, each of which takes as long to load and
    /// to check as the last one did. Each cell is checked in the end.
    fn check_time(
        &self,
        load: Duration,
        check: Duration,
        left: &[&Cell],
        size: ByteCount,
    ) -> Result<(), CampaignError> {
        let settings = self.settings;
        let (None, None, Some(budget)) = (settings.plan.ramp, settings.passes, settings.budget)
        else {
            return Ok(());
        };
        let made = self.store.snapshots()?;
        let is_made = |cell: &Cell| made.iter().any(|made| made.key == cell.snapshot());
        let left = left.iter().filter(|cell| !is_made(cell)).count();
        if left == 0 || !self.store.slices()?.is_empty() {
            return Ok(());
        }
        let cells = settings.plan.cells().len();
        let times = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        let needed = self
            .monitor
            .spent()
            .saturating_add(load.saturating_add(check).saturating_mul(times(left)))
            .saturating_add(check.saturating_mul(times(cells)))
            .saturating_add(budget::sitting(size, cells));
        if needed <= budget {
            return Ok(());
        }
        Err(CampaignError::Budget {
            cells,
            data: size,
            needed_s: needed.as_secs() + 1,
            budget_s: budget.as_secs(),
        })
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

    /// Keeps how a cell's database was run, under a topic that tells what it may depend on.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub(super) fn put_conditions(
        &mut self,
        cell: &Cell,
        conditions: &[(String, String)],
    ) -> Result<(), StoreError> {
        let plan = &self.settings.plan;
        let mut topic = String::from("database");
        for factor in [Factor::Database, Factor::Clients, Factor::Cpus] {
            if plan.count(factor) > 1 {
                topic += &format!(" {}", plan.level(cell, factor).with_noun());
            }
        }
        self.store.put_facts(&topic, conditions)
    }
}
