//! The order of the work: calibrating, then rounds until there is enough, and
//! clearing up.

use jiff::Timestamp;
use octavo_database::DatabaseError;
use octavo_driver::RunLength;

use super::settings::CampaignSettings;
use crate::{
    budget,
    causes::with_causes,
    error::CampaignError,
    executor::{Executor, Monitor},
    findings::Findings,
    plan::{Cell, Factor, Plan},
    race::Phase,
    record::{RunKey, RunRecord},
    run_cost::RunCost,
    schedule::{Round, Schedule, rules},
    store::{Store, StoreError},
};
use std::time::Duration;

/// A session of an experiment.
pub(super) struct Campaign<'a> {
    settings: &'a CampaignSettings,
    cells: Vec<Cell>,
    store: Store,
    session: i64,
    executor: &'a mut dyn Executor,
    monitor: Monitor<'a>,
}

impl<'a> Campaign<'a> {
    /// Begins a session of the experiment in `store`.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub(super) fn new(
        settings: &'a CampaignSettings,
        store: Store,
        executor: &'a mut dyn Executor,
        monitor: Monitor<'a>,
    ) -> Result<Self, CampaignError> {
        Ok(Self {
            settings,
            cells: settings.plan.cells(),
            session: store.begin_session()?,
            store,
            executor,
            monitor,
        })
    }

    /// Works until there is enough, the budget is spent, or the observer wants
    /// to stop.
    ///
    /// # Errors
    /// As [`campaign`](super::campaign).
    pub(super) fn carry_out(mut self) -> Result<Findings, CampaignError> {
        self.set_begun_round_aside()?;
        let result = self.work();
        let noted = self.note_time();
        result.map_err(|error| self.explain(error))?;
        noted?;
        let findings = Findings::of(&self.store)?.expect("the plan was adopted");
        self.executor
            .clear_up(self.settings.keep_data, &self.monitor);
        Ok(findings)
    }

    /// A round is compared within itself because its runs are close together
    /// in time. One that an earlier session began is made again when longer
    /// has passed since than a round takes, or ten minutes.
    fn set_begun_round_aside(&self) -> Result<(), StoreError> {
        const PAUSE_MIN: Duration = Duration::from_mins(10);
        let (Some(round), Some(cost), Some(pause)) = (
            self.upcoming()?,
            self.store.run_cost()?,
            self.store.since_last_run()?,
        ) else {
            return Ok(());
        };
        if round.is_begun() && pause > cost.of(round.cells.len()).max(PAUSE_MIN) {
            self.monitor.note(&format!(
                "round {} was begun {} min ago: its runs are set aside and it is made again",
                round.number + 1,
                pause.as_secs() / 60
            ));
            self.store.set_aside(round.number)?;
        }
        Ok(())
    }

    fn plan(&self) -> &'a Plan {
        &self.settings.plan
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

    fn note_time(&self) -> Result<(), StoreError> {
        self.store
            .extend_session(self.session, self.monitor.session())
    }

    fn work(&mut self) -> Result<(), CampaignError> {
        for (topic, facts) in self.executor.facts() {
            self.store.put_facts(&topic, &facts)?;
        }
        if self.settings.calibrate && self.store.calibration()?.is_none() {
            let seed = self.plan().seed.derive("calibrate", 0);
            if let Some(profile) = self.executor.calibrate(seed, &self.monitor)? {
                self.store.put_calibration(&profile)?;
            }
            self.note_time()?;
        }
        while let Some(round) = self.next_round()? {
            self.prepare(&round)?;
            let length = match self.store.run_length()? {
                Some(length) => length,
                None => self.decide_length()?,
            };
            self.round(&round, length)?;
        }
        Ok(())
    }

    /// Gets what the cells of a round need: what others are derived from
    /// first.
    fn prepare(&mut self, round: &Round) -> Result<(), CampaignError> {
        let snapshots = self.plan().snapshots();
        let mut due: Vec<&Cell> = round
            .missing
            .iter()
            .map(|&(cell, _)| &self.cells[cell])
            .collect();
        due.sort_by_key(|cell| snapshots.iter().position(|key| *key == cell.snapshot()));
        due.dedup_by_key(|cell| cell.snapshot());
        for cell in &due {
            self.monitor.stop_if_interrupted()?;
            for snapshot in self.executor.prepare(cell, &self.monitor)? {
                self.store.put_snapshot(&snapshot)?;
            }
            self.note_time()?;
        }
        let reasons: Vec<&str> = due
            .iter()
            .filter_map(|cell| self.executor.unavailable(cell))
            .collect();
        match reasons.first() {
            Some(reason) if reasons.len() == due.len() => {
                Err(CampaignError::AllFailed((*reason).to_owned()))
            }
            _ => Ok(()),
        }
    }

    /// Decides how long runs are: as given, or after one unrecorded run of a
    /// reference with the largest memory has shown what a run costs here.
    fn decide_length(&mut self) -> Result<RunLength, CampaignError> {
        let length = match (self.settings.run_length, self.settings.budget) {
            (Some(length), _) => length,
            (None, None) => unreachable!("a budget or a length was checked for"),
            (None, Some(budget)) => self.length_within(budget)?,
        };
        self.store.set_run_length(length)?;
        Ok(length)
    }

    fn length_within(&mut self, budget: Duration) -> Result<RunLength, CampaignError> {
        self.monitor.progress("try one run");
        let tried = self
            .plan()
            .groups()
            .into_iter()
            .map(|group| &self.cells[group.cells[group.reference]])
            .chain(&self.cells)
            .filter(|cell| self.executor.unavailable(cell).is_none())
            .reduce(|most, cell| {
                if cell.memory > most.memory {
                    cell
                } else {
                    most
                }
            })
            .expect("a cell could be prepared");
        let seed = self.plan().seed.derive("trial", 0);
        let trial = self
            .executor
            .run(tried, seed, budget::TRIAL, &self.monitor)?;
        let snapshots = self.store.snapshots()?;
        let (length, round) = budget::length(
            &self.cells,
            tried,
            &trial,
            budget.saturating_sub(self.monitor.spent()),
            self.settings.rounds,
            |cell| {
                let key = cell.snapshot();
                let snapshot = snapshots.iter().find(|snapshot| snapshot.key == key);
                snapshot.map_or(cell.memory, |snapshot| cell.memory.min(snapshot.size))
            },
        );
        if self.settings.rounds.is_none()
            && !budget::fits(2, self.monitor.spent() + round * 2, round, budget)
        {
            return Err(CampaignError::TooSlow {
                round_s: round.as_secs() + 1,
                budget_s: budget.as_secs(),
            });
        }
        Ok(length)
    }

    /// The round that comes next, or is under way, whether or not there is time
    /// for it; `None` when everything is decided.
    fn upcoming(&self) -> Result<Option<Round>, StoreError> {
        // How often the whole was judged says nothing of what comes next.
        let rules = rules(self.plan(), self.settings.rounds, 1);
        Ok(Schedule::of(self.plan(), &rules, &self.store.outcomes()?).next)
    }

    /// The round that comes next, or `None` when there is enough: when
    /// everything is decided, or no further round fits. Begun rounds are
    /// always finished.
    fn next_round(&self) -> Result<Option<Round>, CampaignError> {
        let Some(round) = self.upcoming()? else {
            return Ok(None);
        };
        let cost = self.store.run_cost()?;
        let fits = match (self.settings.rounds, self.settings.budget, cost) {
            (Some(rounds), _, _) => round.number < rounds,
            (None, Some(budget), Some(cost)) => budget::fits(
                round.number,
                self.monitor.spent(),
                cost.of(round.cells.len()),
                budget,
            ),
            _ => true,
        };
        if let (Some(rounds), Some(cost)) = (self.settings.rounds, cost) {
            self.monitor.expect(self.time_of(rounds, cost));
        }
        Ok((round.is_begun() || fits).then_some(round))
    }

    /// The time of a number of rounds, from what runs have cost; that cells may
    /// leave early is not foreseen.
    fn time_of(&self, rounds: u32, cost: RunCost) -> Duration {
        let missing = (rounds as usize * self.cells.len()).saturating_sub(cost.runs);
        self.monitor.spent() + cost.of(missing)
    }

    /// Makes the runs of a round that are missing.
    fn round(&mut self, round: &Round, length: RunLength) -> Result<(), CampaignError> {
        let mut failure = None;
        let mut succeeded = round.is_begun();
        for (position, &(number, phase)) in round.cells.iter().enumerate() {
            if !round.missing.contains(&(number, phase)) {
                continue;
            }
            self.monitor.stop_if_interrupted()?;
            let cell = &self.cells[number];
            let name = self.plan().cell_name(cell);
            self.monitor.progress(&format!(
                "round {}{}, run {} of {}: {name}",
                round.number + 1,
                match phase {
                    Phase::Race => "",
                    Phase::Final => " (fresh)",
                },
                position + 1,
                round.cells.len(),
            ));
            let started_at = Timestamp::now();
            let seed = self.plan().inputs_seed(round.number);
            let result = match self.executor.unavailable(cell) {
                Some(reason) => Err(reason.to_owned()),
                None => match self.executor.run(cell, seed, length, &self.monitor) {
                    Ok(figures) if figures.load.counted() == 0 => Err(
                        "no counted transaction committed while measuring: the run is too short \
                         for this storage"
                            .into(),
                    ),
                    Ok(figures) => Ok(Box::new(figures)),
                    Err(CampaignError::Run(error)) => Err(with_causes(&error)),
                    Err(error) => return Err(error),
                },
            };
            match &result {
                Ok(figures) => {
                    let topic = self.conditions_topic(cell);
                    self.store.put_facts(&topic, &figures.conditions)?;
                    succeeded = true;
                }
                Err(reason) => {
                    self.monitor.note(&format!(
                        "round {}: {name} gave no result: {reason}",
                        round.number + 1,
                    ));
                    failure = Some(reason.clone());
                }
            }
            let record = RunRecord {
                source: self.executor.source(),
                key: RunKey {
                    round: round.number,
                    position: position as u32,
                    cell: number,
                    phase,
                },
                started_at,
                result,
            };
            self.store.put_run(self.session, &record)?;
            self.note_time()?;
        }
        match failure {
            Some(reason) if !succeeded => Err(CampaignError::AllFailed(reason)),
            _ => Ok(()),
        }
    }

    /// Under which topic the conditions of a cell's database are kept: what
    /// they may depend on is part of it.
    fn conditions_topic(&self, cell: &Cell) -> String {
        let plan = self.plan();
        let mut topic = String::from("database");
        for factor in [Factor::Database, Factor::Clients, Factor::Cpus] {
            if plan.count(factor) > 1 {
                topic += &format!(" {}", plan.level(cell, factor).with_noun());
            }
        }
        topic
    }
}
