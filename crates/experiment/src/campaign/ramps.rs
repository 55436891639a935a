//! Cells one after the other, each of them a ramp of clients on one database that keeps
//! running.
//!
//! A ramp is a sitting of its own. Its steps are kept as they end; one that was interrupted
//! begins anew in another sitting, since a database that was stopped is no more the one that
//! the first steps ran on.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use jiff::Timestamp;
use octavo_driver::{DriverObserver, Ramp, Second};

use super::{session::Session, settings::CampaignSettings};
use crate::{
    bench::words_of_second,
    causes::with_causes,
    error::CampaignError,
    executor::{Executor as _, MeasuredExecutor},
    findings::Findings,
    monitor::Monitor,
    plan::{Cell, Plan},
    ramp::RampRecorder,
    record::{RunKey, RunRecord, UNFINISHED},
    store::{Store, StoreError},
};

/// A session in which each cell is a ramp.
pub(super) struct Ramps<'a> {
    settings: &'a CampaignSettings,
    ramp: Ramp,
    session: Session<'a>,
    cells: Vec<Cell>,
    monitor: &'a Monitor<'a>,
}

impl<'a> Ramps<'a> {
    /// Begins a session of the experiment in `store`, whose cells are such ramps.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub(super) fn begin(
        settings: &'a CampaignSettings,
        ramp: Ramp,
        store: Store,
        monitor: &'a Monitor<'a>,
    ) -> Result<Self, CampaignError> {
        Ok(Self {
            settings,
            ramp,
            session: Session::begin(settings, store, monitor)?,
            cells: settings.plan.cells(),
            monitor,
        })
    }

    /// Works until each cell has a ramp that came to its end, the budget is spent, or the
    /// observer wants to stop.
    ///
    /// # Errors
    /// As [`campaign`](super::campaign).
    pub(super) fn carry_out(
        mut self,
        executor: &mut MeasuredExecutor<'_>,
    ) -> Result<Findings, CampaignError> {
        let result = self.work(executor);
        self.session.end(result, executor)
    }

    fn plan(&self) -> &'a Plan {
        &self.settings.plan
    }

    fn work(&mut self, executor: &mut MeasuredExecutor<'_>) -> Result<(), CampaignError> {
        self.session.look_around(executor)?;
        let finished = self.session.store.finished_cells()?;
        let mut due = self.plan().order_of_ramps();
        due.retain(|cell| !finished.contains(cell));
        let cells: Vec<&Cell> = due.iter().map(|&cell| &self.cells[cell]).collect();
        let mut failure = self.session.prepare(executor, &cells)?;
        let mut done = finished.len();
        for (cell, later) in due.iter().copied().zip((0..due.len()).rev()) {
            self.monitor.stop_if_interrupted()?;
            if let Some(budget) = self.settings.budget
                && self.monitor.spent() + least(self.ramp) > budget
            {
                if done == 0 && failure.is_none() {
                    return Err(CampaignError::UsedUp {
                        budget_s: budget.as_secs(),
                    });
                }
                break;
            }
            if let Some(reason) = executor.unavailable(&self.cells[cell]) {
                let mut record = self.record(executor, cell)?;
                record.result = Err(reason.to_owned());
                self.session.put_runs(&[&record], &[])?;
                failure = Some(reason.to_owned());
                continue;
            }
            match self.run(executor, cell, later) {
                Ok(()) => done += 1,
                Err(CampaignError::Run(error)) => failure = Some(with_causes(&error)),
                Err(error) => return Err(error),
            }
        }
        match failure {
            Some(reason) if done == 0 => Err(CampaignError::AllFailed(reason)),
            _ => Ok(()),
        }
    }

    /// The next run of a cell, of which nothing is known yet.
    fn record(
        &self,
        executor: &MeasuredExecutor<'_>,
        cell: usize,
    ) -> Result<RunRecord, StoreError> {
        Ok(RunRecord {
            source: executor.source(),
            key: RunKey {
                sitting: self.session.store.next_sitting()?,
                cell,
            },
            started_at: Timestamp::now(),
            result: Err(UNFINISHED.to_owned()),
        })
    }

    /// The ramp of one cell, after which so many others come.
    fn run(
        &mut self,
        executor: &mut MeasuredExecutor<'_>,
        cell: usize,
        later: usize,
    ) -> Result<(), CampaignError> {
        let mut record = self.record(executor, cell)?;
        self.session.put_runs(&[&record], &[])?;
        let of_cell = &self.cells[cell];
        let plan = &self.settings.plan;
        let name = plan.cell_name(of_cell);
        self.monitor.progress(&format!("copy and start {name}"));
        let workload = plan.workload(of_cell.data)?;
        // All cells are given the same inputs, as in a sitting.
        let seed = plan.inputs_seed(0);
        let has_failed = AtomicBool::new(false);
        let mut follower = Follower {
            recorder: RampRecorder::new(self.ramp, workload.transactions()),
            ramp: self.ramp,
            taken: 0,
            key: record.key,
            session: &mut self.session,
            error: None,
            has_failed: &has_failed,
            monitor: self.monitor,
            name: &name,
            later: least(self.ramp).saturating_mul(u32::try_from(later).unwrap_or(u32::MAX)),
            warm_up: Duration::ZERO,
        };
        let observer = self.monitor.observer();
        let interrupted = || observer.interrupted() || has_failed.load(Ordering::Relaxed);
        let given = (cell, of_cell);
        let result = executor.ramp(given, self.ramp, seed, &mut follower, &interrupted);
        if result.is_ok() {
            follower.take(usize::MAX);
        }
        if let Some(error) = follower.error {
            return Err(error.into());
        }
        let result = match result {
            Ok(figures) => {
                let conditions = &figures.conditions;
                self.session.put_conditions(of_cell, conditions)?;
                record.result = Ok(Box::new(figures));
                Ok(())
            }
            Err(CampaignError::Run(error)) => {
                let reason = with_causes(&error);
                self.monitor
                    .note(&format!("{name} gave no figures: {reason}"));
                record.result = Err(reason);
                Err(CampaignError::Run(error))
            }
            Err(error) => return Err(error),
        };
        self.session.put_runs(&[&record], &[])?;
        self.session.note_time()?;
        result
    }
}

/// The least time that a ramp takes: its warm-up is at least a step.
pub(super) fn least(ramp: Ramp) -> Duration {
    ramp.step.saturating_add(ramp.length())
}

/// Follows a ramp: keeps each step as it ends, and shows how it goes.
struct Follower<'f, 'a> {
    recorder: RampRecorder,
    ramp: Ramp,
    /// Steps that are in the store, or of which too little is there.
    taken: usize,
    key: RunKey,
    session: &'f mut Session<'a>,
    /// Why a step could not be kept; then the ramp is to stop.
    error: Option<StoreError>,
    has_failed: &'f AtomicBool,
    monitor: &'f Monitor<'a>,
    name: &'f str,
    /// What the ramps of other cells take.
    later: Duration,
    warm_up: Duration,
}

impl Follower<'_, '_> {
    /// Keeps the steps that have ended.
    fn take(&mut self, ended: usize) {
        let ended = ended.min(self.ramp.clients.count() as usize);
        while self.taken < ended && self.error.is_none() {
            if let Some(step) = self.recorder.record(self.taken) {
                let kept = self.session.store.put_step(self.key, &step);
                let kept = kept.and_then(|()| self.session.note_time());
                self.error = kept.err();
                self.has_failed
                    .store(self.error.is_some(), Ordering::Relaxed);
            }
            self.taken += 1;
        }
    }
}

impl DriverObserver for Follower<'_, '_> {
    fn second(&mut self, second: &Second<'_>) {
        let ended = self.recorder.second(second);
        self.take(ended);
        let sample = second.sample;
        let (number, left) = match sample.measured {
            true => {
                let measured = sample.at.saturating_sub(self.warm_up);
                (ended, self.ramp.length().saturating_sub(measured))
            }
            false => {
                self.warm_up = sample.at;
                (0, least(self.ramp).saturating_sub(sample.at))
            }
        };
        let last = self.ramp.clients.last();
        let clients = self.ramp.clients.clients().nth(number).unwrap_or(last);
        let now = format!(
            "{}, {clients} of {last} clients, {}",
            self.name,
            words_of_second(sample)
        );
        self.monitor
            .progress_with(&now, left.saturating_add(self.later));
    }
}
