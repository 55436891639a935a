//! The schedule of an experiment: what its runs so far decide, and which come
//! next. A pure function of plan and runs, so that going on after an end is
//! the same as never having ended.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    plan::{Design, Group, LiveGroup, Plan},
    race::{self, Next, Pass, Phase, Race, Rules},
    store::RunOutcome,
};

/// What the runs so far lead to.
pub(crate) struct Schedule {
    /// The groups of the plan with what whole rounds say of each.
    pub(crate) groups: Vec<GroupSchedule>,
    /// Rounds of which no run is missing.
    pub(crate) rounds: u32,
    /// The round that comes next or is under way; `None` when all is decided.
    pub(crate) next: Option<Round>,
}

/// Where a group stands.
pub(crate) struct GroupSchedule {
    /// The group.
    pub(crate) group: Group,
    /// Its rounds that were not fresh ones of a final.
    pub(crate) rounds: usize,
    /// What follows from its rounds.
    pub(crate) race: Race,
}

/// A round to be made.
#[derive(Clone, Debug)]
pub(crate) struct Round {
    /// Its number, from 0.
    pub(crate) number: u32,
    /// Its cells, in order.
    pub(crate) cells: Vec<(usize, Phase)>,
    /// Those that have no run yet.
    pub(crate) missing: Vec<(usize, Phase)>,
}

impl Round {
    /// Whether a run of it was made.
    pub(crate) fn is_begun(&self) -> bool {
        self.missing.len() < self.cells.len()
    }
}

/// The rules of a plan. `rounds` is the number that ends a full factorial,
/// `looks` how often it was judged. A cell that is compared with nothing is
/// measured as in a full factorial: there is nothing to decide early.
pub(crate) fn rules(plan: &Plan, rounds: Option<u32>, looks: usize) -> Rules {
    Rules {
        margin: plan.margin,
        seed: plan.seed.derive("bootstrap", 0),
        design: match plan.design {
            Design::Race if plan.count(plan.compare) > 1 => race::Design::Race,
            Design::Race | Design::Full => race::Design::Full { rounds, looks },
        },
    }
}

impl Schedule {
    /// Follows the experiment through its runs.
    pub(crate) fn of(plan: &Plan, rules: &Rules, outcomes: &[RunOutcome]) -> Self {
        let mut rounds: BTreeMap<u32, BTreeMap<usize, (Phase, Option<f64>)>> = BTreeMap::new();
        for outcome in outcomes {
            rounds.entry(outcome.key.round).or_default().insert(
                outcome.key.cell,
                (outcome.key.phase, outcome.throughput_per_minute),
            );
        }
        // Only the last round can lack a run. Whether it does follows from
        // what was known before it.
        let last = rounds.last_key_value().map_or(0, |(&last, _)| last);
        let known = |until: u32| -> Vec<GroupSchedule> {
            plan.groups()
                .into_iter()
                .map(|group| {
                    let passes = passes(&group, rounds.range(..until).map(|(_, runs)| runs));
                    let race = race::replay(rules, group.cells.len(), group.reference, &passes);
                    GroupSchedule {
                        rounds: passes
                            .iter()
                            .filter(|pass| pass.phase == Phase::Race)
                            .count(),
                        group,
                        race,
                    }
                })
                .collect()
        };
        let before = known(last);
        let mut begun = round(plan, last, &before);
        let made: BTreeSet<usize> = rounds
            .get(&last)
            .map(|runs| runs.keys().copied().collect())
            .unwrap_or_default();
        begun.missing.retain(|(cell, _)| !made.contains(cell));
        if !begun.missing.is_empty() || made.is_empty() {
            return Self {
                groups: before,
                rounds: last,
                next: (!begun.cells.is_empty()).then_some(begun),
            };
        }
        let groups = known(last + 1);
        let next = round(plan, last + 1, &groups);
        Self {
            groups,
            rounds: last + 1,
            next: (!next.cells.is_empty()).then_some(next),
        }
    }
}

/// The rounds of a group, from all of an experiment's.
fn passes<'a>(
    group: &Group,
    rounds: impl Iterator<Item = &'a BTreeMap<usize, (Phase, Option<f64>)>>,
) -> Vec<Pass> {
    rounds
        .filter_map(|runs| {
            let (phase, _) = group.cells.iter().find_map(|cell| runs.get(cell))?;
            Some(Pass {
                phase: *phase,
                values: group.cells.iter().map(|cell| runs.get(cell)?.1).collect(),
            })
        })
        .collect()
}

/// The round `number` of groups that stand like this.
fn round(plan: &Plan, number: u32, groups: &[GroupSchedule]) -> Round {
    let mut phases = BTreeMap::new();
    let mut live = Vec::new();
    for of in groups {
        let (candidates, phase, mirrored, rounds_before) = match &of.race.next {
            Next::Finished => continue,
            Next::Race { live } => (live, Phase::Race, false, of.rounds),
            Next::Final {
                candidates, done, ..
            } => (candidates, Phase::Final, true, *done),
        };
        let cells: Vec<usize> = candidates.iter().map(|&c| of.group.cells[c]).collect();
        phases.extend(cells.iter().map(|&cell| (cell, phase)));
        live.push(LiveGroup {
            cells,
            mirrored,
            rounds_before,
        });
    }
    let cells: Vec<(usize, Phase)> = plan
        .order(number, &live)
        .into_iter()
        .map(|cell| (cell, phases[&cell]))
        .collect();
    Round {
        number,
        missing: cells.clone(),
        cells,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{plan::tests::plan, record::RunKey, store::RunOutcome};

    /// Throughput of a cell in a round: 8192 a tenth faster and 65536 a third
    /// slower, with a wobble of each run's own.
    fn throughput(plan: &Plan, round: u32, cell: usize) -> f64 {
        let page_size = plan.cells()[cell].page_size.get();
        let level = match page_size {
            8192 => 1100.0,
            65536 => 670.0,
            _ => 1000.0,
        };
        let wobble = f64::from(round * 13 + cell as u32 * 7).sin();
        level * (1.0 + 0.01 * wobble)
    }

    /// Carries a plan out to its end, or at most so many rounds.
    fn carry_out(plan: &Plan, rounds: u32) -> Vec<RunOutcome> {
        let rules = rules(plan, Some(rounds), 1);
        let mut outcomes = Vec::new();
        while let Some(round) = Schedule::of(plan, &rules, &outcomes).next
            && round.number < rounds
        {
            assert_eq!(round.cells, round.missing);
            for (position, (cell, phase)) in round.cells.into_iter().enumerate() {
                outcomes.push(RunOutcome {
                    key: RunKey {
                        round: round.number,
                        position: position as u32,
                        cell,
                        phase,
                    },
                    throughput_per_minute: Some(throughput(plan, round.number, cell)),
                });
            }
        }
        outcomes
    }

    #[test]
    fn losers_leave_and_the_winner_is_measured_again() {
        let plan = plan();
        let outcomes = carry_out(&plan, 100);
        let rules = rules(&plan, Some(100), 1);
        let schedule = Schedule::of(&plan, &rules, &outcomes);
        assert!(schedule.next.is_none());
        assert!(schedule.rounds < 40, "{} rounds", schedule.rounds);
        for of in &schedule.groups {
            let race::Outcome::Winner {
                candidate, fresh, ..
            } = of.race.outcome
            else {
                panic!("{:?}", of.race.outcome);
            };
            assert_eq!((candidate, fresh), (1, true));
        }
        let runs_of = |cell: usize| outcomes.iter().filter(|o| o.key.cell == cell).count();
        assert!(runs_of(2) < runs_of(1), "65536 left early");
        assert!(outcomes.iter().any(|o| o.key.phase == Phase::Final));
    }

    #[test]
    fn an_end_at_any_run_changes_nothing() {
        let plan = plan();
        let rules = rules(&plan, Some(100), 1);
        let outcomes = carry_out(&plan, 100);
        for end in 0..outcomes.len() {
            let next = Schedule::of(&plan, &rules, &outcomes[..end])
                .next
                .expect("not yet at the end");
            let due = outcomes[end].key;
            assert_eq!(next.number, due.round);
            assert_eq!(next.missing.first(), Some(&(due.cell, due.phase)));
        }
    }

    #[test]
    fn a_full_factorial_runs_every_cell_to_the_end() {
        let mut plan = plan();
        plan.design = Design::Full;
        let outcomes = carry_out(&plan, 7);
        assert_eq!(outcomes.len(), 7 * 6);
        let schedule = Schedule::of(&plan, &rules(&plan, Some(7), 1), &outcomes);
        assert_eq!(schedule.rounds, 7);
        assert!(outcomes.iter().all(|o| o.key.phase == Phase::Race));
    }

    #[test]
    fn a_cell_that_is_compared_with_nothing_is_measured_all_the_same() {
        let mut plan = plan();
        plan.page_sizes.truncate(1);
        plan.memories.truncate(1);
        assert_eq!(carry_out(&plan, 4).len(), 4);
    }

    #[test]
    fn a_run_without_a_result_does_not_stop_the_others() {
        let plan = plan();
        let mut outcomes = carry_out(&plan, 3);
        for outcome in outcomes.iter_mut().filter(|o| o.key.cell == 1) {
            outcome.throughput_per_minute = None;
        }
        let schedule = Schedule::of(&plan, &rules(&plan, None, 1), &outcomes);
        assert_eq!(schedule.rounds, 3);
        assert!(schedule.next.is_some());
    }
}
