//! Rounds: how long their runs are, which comes next, and making one.

use jiff::Timestamp;
use octavo_driver::{Extension, Load, RETRIES, RunLength, Unobserved};
use octavo_units::Seed;

use super::{
    ConductError,
    job::{Job, create},
};
use crate::{
    budget::{self, Pace},
    causes::with_causes,
    cpus::HeldCpus,
    directory::directory_size,
    plan::{Cell, Factor},
    race::Phase,
    record::{Figures, RunKey, RunRecord, Source},
    run::{FreshCopy, RunError, RunSettings, run},
    schedule::{Round, Schedule, rules},
    store::StoreError,
};

impl Job<'_> {
    /// Decides how long runs are: as given, or after one unrecorded run of a
    /// reference with the largest memory has shown what a run costs here.
    pub(super) fn decide_length(&mut self) -> Result<RunLength, ConductError> {
        let length = match (self.settings.run_length, self.settings.budget) {
            (Some(length), _) => length,
            (None, None) => unreachable!("a budget or a length was checked for"),
            (None, Some(budget)) => {
                self.progress("try one run");
                let cell = self
                    .plan()
                    .groups()
                    .into_iter()
                    .map(|group| &self.cells[group.cells[group.reference]])
                    .chain(&self.cells)
                    .filter(|cell| self.unavailable(&cell.snapshot()).is_none())
                    .reduce(|most, cell| {
                        if cell.memory > most.memory {
                            cell
                        } else {
                            most
                        }
                    });
                let Some(cell) = cell else {
                    let reason = self.unavailable.first().map(|of| of.reason.clone());
                    return Err(ConductError::AllFailed(reason.unwrap_or_default()));
                };
                let seed = self.plan().seed.derive("trial", 0);
                let trial = self.run_cell(cell, seed, budget::TRIAL)?;
                let remaining = budget.saturating_sub(self.spent());
                let (length, round) = budget::length(
                    &self.cells,
                    cell,
                    &trial,
                    remaining,
                    self.settings.rounds,
                    |cell| {
                        let snapshot = self.resolved.snapshot(&cell.snapshot());
                        cell.memory.min(directory_size(&snapshot))
                    },
                );
                if self.settings.rounds.is_none()
                    && !budget::fits(2, self.spent() + round * 2, round, budget)
                {
                    return Err(ConductError::TooSlow {
                        round_s: round.as_secs() + 1,
                        budget_s: budget.as_secs(),
                    });
                }
                length
            }
        };
        self.store.set_run_length(length)?;
        Ok(length)
    }

    /// What a run costs, from those in the store; `None` without any.
    pub(super) fn pace(&self) -> Result<Option<Pace>, StoreError> {
        self.store.pace()
    }

    /// The round that comes next, or is under way, whether or not there is time
    /// for it; `None` when everything is decided.
    pub(super) fn upcoming(&self) -> Result<Option<Round>, StoreError> {
        // How often the whole was judged says nothing of what comes next.
        let rules = rules(self.plan(), self.settings.rounds, 1);
        Ok(Schedule::of(self.plan(), &rules, &self.store.outcomes()?).next)
    }

    /// The round that comes next, or `None` when there is enough: when
    /// everything is decided, or no further round fits. Begun rounds are
    /// always finished.
    pub(super) fn next_round(&self) -> Result<Option<Round>, ConductError> {
        let Some(round) = self.upcoming()? else {
            return Ok(None);
        };
        let begun = round.missing.len() < round.cells.len();
        let fits = match (self.settings.rounds, self.settings.budget, self.pace()?) {
            (Some(rounds), _, _) => round.number < rounds,
            (None, Some(budget), Some(pace)) => budget::fits(
                round.number,
                self.spent(),
                pace.run
                    .saturating_mul(u32::try_from(round.cells.len()).unwrap_or(u32::MAX)),
                budget,
            ),
            _ => true,
        };
        Ok((begun || fits).then_some(round))
    }

    pub(super) fn round(&mut self, round: &Round, length: RunLength) -> Result<(), ConductError> {
        let mut failure = None;
        let mut succeeded = round.missing.len() < round.cells.len();
        for (position, &(number, phase)) in round.cells.iter().enumerate() {
            if !round.missing.contains(&(number, phase)) {
                continue;
            }
            self.stop_if_interrupted()?;
            let cell = &self.cells[number];
            let name = self.plan().cell_name(cell);
            self.progress(&format!(
                "round {}{}, run {} of {}: {name}",
                round.number + 1,
                match phase {
                    Phase::Race => "",
                    Phase::Final => " (fresh)",
                },
                position + 1,
                round.cells.len(),
            ));
            let key = RunKey {
                round: round.number,
                position: position as u32,
                cell: number,
                phase,
            };
            let started_at = Timestamp::now();
            let result = match self.unavailable(&cell.snapshot()) {
                Some(reason) => Err(reason.to_owned()),
                None => match self.run_cell(cell, self.plan().inputs_seed(round.number), length) {
                    Ok(figures) if figures.load.counted() == 0 => Err(
                        "no counted transaction committed while measuring: the run is too short \
                         for this storage"
                            .into(),
                    ),
                    Ok(figures) => Ok(Box::new(figures)),
                    Err(ConductError::Run(error)) => Err(with_causes(&error)),
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
                    self.observer.note(&format!(
                        "round {}: {name} gave no result: {reason}",
                        round.number + 1,
                    ));
                    failure = Some(reason.clone());
                }
            }
            let record = RunRecord {
                source: Source::Measured,
                key,
                started_at,
                result,
            };
            self.store.put_run(self.session, &record)?;
            self.note_time()?;
        }
        match failure {
            Some(reason) if !succeeded => Err(ConductError::AllFailed(reason)),
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

    fn run_cell(
        &self,
        cell: &Cell,
        seed: Seed,
        length: RunLength,
    ) -> Result<Figures, ConductError> {
        let resolved = &self.resolved;
        let copy = resolved.data(&cell.storage).join("run");
        create(&copy)?;
        let _held = HeldCpus::hold(cell.cpus)?;
        run(
            &FreshCopy {
                database: resolved.database(&cell.database),
                snapshot: &resolved.snapshot(&cell.snapshot()),
                copy: &copy,
                location: &self.locations[&cell.storage],
                page_size: cell.page_size,
                memory: cell.memory,
                clients: cell.clients,
            },
            RunSettings {
                workload: resolved.workload(cell.data),
                clients: cell.clients,
                load: Load::Closed {
                    terminals: cell.clients,
                },
                retries: RETRIES,
                isolation: self.plan().isolation,
                seed,
                length,
                extension: Extension::WhileWarming,
                keep_interrupted: false,
            },
            &mut Unobserved,
            &|| self.observer.interrupted(),
        )
        .and_then(|run| match run.load.counts.failed() {
            0 => Ok(run),
            failed => Err(RunError::Failed(failed)),
        })
        .map_err(|error| {
            if error.is_stop() {
                ConductError::Stopped
            } else if error.is_full() {
                self.full(&resolved.directory(&cell.storage))
            } else {
                ConductError::Run(error)
            }
        })
    }
}
