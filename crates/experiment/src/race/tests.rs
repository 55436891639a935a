//! What racing promises, on simulated machines. The long versions, with their
//! figures, are in `bench/race.sh`.

use octavo_units::Seed;

use super::{
    pairs::Pairs,
    rules::ERROR,
    simulated::{Conditions, Ended, Machine, Noise, SHARED, pass, race, round},
    *,
};
use crate::statistics::{Decision, spending::Boundary};

const RULES: Rules = Rules {
    margin: 0.03,
    seed: Seed::new(11),
    design: Design::Race,
};

/// A machine with nothing but a run's own noise.
const QUIET: Conditions = Conditions {
    own: 0.01,
    drift: 0.0,
    autocorrelation: 0.0,
    step_probability: 0.0,
    step_factor: 1.0,
    slope: 0.0,
};

fn simulated(effects: &[f64], conditions: Conditions, trial: u64, rounds_max: usize) -> Ended {
    let seed = Seed::new(5).derive("trial", trial);
    let mut machine = Machine::new(&Noise::Gaussian, conditions, seed);
    race(&RULES, effects, &mut machine, seed, rounds_max)
}

fn winner(race: &Race) -> Option<usize> {
    match race.outcome {
        Outcome::Winner { candidate, .. } => Some(candidate),
        _ => None,
    }
}

/// Three standard errors of a share in so many trials.
fn slack(share: f64, trials: u64) -> f64 {
    3.0 * (share * (1.0 - share) / trials as f64).sqrt()
}

#[test]
fn equal_cells_have_no_winner() {
    let trials = 300;
    let called = (0..trials)
        .filter(|&trial| winner(&simulated(&[0.0; 5], SHARED, trial, 60).race).is_some())
        .count();
    let share = called as f64 / trials as f64;
    assert!(share <= 0.05 + slack(0.05, trials), "{called} of {trials}");
}

#[test]
fn five_percent_are_found_in_half_the_runs() {
    let trials = 200;
    let effects = [1.0, 1.05, 1.0, 1.0, 1.0].map(f64::ln);
    let ended: Vec<Ended> = (0..trials)
        .map(|trial| simulated(&effects, SHARED, trial, 100))
        .collect();
    let found = ended
        .iter()
        .filter(|ended| winner(&ended.race) == Some(1))
        .count();
    let share = found as f64 / trials as f64;
    assert!(share >= 0.9 - slack(0.9, trials), "{found} of {trials}");
    let runs = ended.iter().map(|ended| ended.runs).sum::<usize>() as f64 / trials as f64;
    assert!(runs < 250.0, "{runs} runs");
}

#[test]
fn fresh_intervals_cover_whoever_was_picked() {
    // Equal cells: every final is of a candidate that was lucky.
    let (mut covered, mut intervals) = (0, 0u64);
    for trial in 0..350 {
        let ended = simulated(&[0.0; 4], SHARED, trial, 60);
        for fresh in ended.race.candidates.iter().filter_map(|c| c.fresh) {
            intervals += 1;
            covered += u64::from(fresh.low <= 1.0 && 1.0 <= fresh.high);
        }
    }
    assert!(intervals > 80, "{intervals}");
    let share = covered as f64 / intervals as f64;
    assert!(
        (share - 0.95).abs() <= slack(0.95, intervals),
        "{covered} of {intervals}"
    );
}

#[test]
fn repeated_intervals_cover_at_all_looks_together() {
    let (trials, rounds) = (300, 40);
    let covered = (0..trials)
        .filter(|&trial| {
            let seed = Seed::new(8).derive("trial", trial);
            let mut machine = Machine::new(&Noise::Gaussian, SHARED, seed);
            let boundary = Boundary::of(ERROR);
            let mut pairs = Pairs::new(2);
            (0..rounds).all(|number| {
                let pass = round(&mut machine, &[0.0; 2], vec![0, 1], seed, number);
                pairs.see(&pass.values, |_| true);
                pairs.seen(0, 1, RULES.seed).is_none_or(|seen| {
                    let interval = seen.interval(&boundary);
                    interval.low <= 1.0 && 1.0 <= interval.high
                })
            })
        })
        .count();
    let share = covered as f64 / trials as f64;
    assert!(share >= 0.95 - slack(0.95, trials), "{covered} of {trials}");
}

#[test]
fn the_course_of_a_race() {
    // On a quiet machine: +20 %, +10 %, nothing, -20 %.
    let effects = [1.0, 1.1, 1.2, 1.0, 0.8].map(f64::ln);
    let ended = simulated(&effects, QUIET, 1, 100);
    let Outcome::Winner {
        candidate: 2,
        ratio,
        fresh: true,
        runner_up: Some(1),
        ties,
    } = &ended.race.outcome
    else {
        panic!("{:?}", ended.race);
    };
    assert!(ratio.low < 1.2 && 1.2 < ratio.high, "{ratio:?}");
    assert!(ties.is_empty());
    assert_eq!(ended.race.next, Next::Finished);
    let why = |candidate: usize| ended.race.candidates[candidate].left.map(|left| left.why);
    assert_eq!(why(1), Some(Why::Behind { leader: 2 }));
    assert_eq!(why(2), None);
    assert!(why(3).is_some() && why(4).is_some());
    assert_eq!(ended.race.candidates[0], Candidate::default());
    // The finals' rounds have no others than the finalists.
    let last = ended.passes.last().unwrap();
    assert_eq!(last.phase, Phase::Final);
    let ran: Vec<bool> = last.values.iter().map(Option::is_some).collect();
    assert_eq!(ran, [true, true, true, false, false]);
    assert_eq!(ratio.rounds % 2, 0);
}

#[test]
fn nothing_to_find_keeps_the_reference() {
    let ended = simulated(&[1.0, 1.0, 1.001, 0.7].map(f64::ln), QUIET, 2, 100);
    assert_eq!(
        ended.race.outcome,
        Outcome::Keep {
            equivalent: vec![1, 2],
            worse: vec![3],
            not_confirmed: vec![],
        }
    );
    assert_eq!(ended.race.next, Next::Finished);
}

#[test]
fn every_prefix_is_a_race_of_its_own() {
    for trial in 0..8 {
        let effects = [1.0, 1.05, 1.04, 0.97, 1.0].map(f64::ln);
        let ended = simulated(&effects, SHARED, trial, 60);
        let mut elimination = Elimination::new(&RULES, 5, 0);
        let mut before: Option<Race> = None;
        for (number, pass) in ended.passes.iter().enumerate() {
            if let Some(before) = &before {
                // What was run is what was asked for.
                let ran: Vec<usize> = (0..5).filter(|&c| pass.values[c].is_some()).collect();
                let mut wanted = match &before.next {
                    Next::Race { live } => live.clone(),
                    Next::Final { candidates, .. } => candidates.clone(),
                    Next::Finished => panic!("a pass after the end"),
                };
                wanted.sort_unstable();
                assert_eq!(ran, wanted);
            }
            elimination.see(pass);
            let so_far = replay(&RULES, 5, 0, &ended.passes[..=number]);
            assert_eq!(so_far, elimination.race());
            before = Some(so_far);
        }
        assert_eq!(before, Some(ended.race));
    }
}

#[test]
fn numbers_of_candidates_mean_nothing() {
    let places = [3, 1, 4, 0, 2];
    for trial in 0..8 {
        let effects = [1.0, 1.05, 1.04, 0.9, 1.0].map(f64::ln);
        let ended = simulated(&effects, SHARED, trial, 60);
        let passes: Vec<Pass> = ended
            .passes
            .iter()
            .map(|pass| {
                let mut values = vec![None; 5];
                for (candidate, value) in pass.values.iter().enumerate() {
                    values[places[candidate]] = *value;
                }
                Pass { values, ..*pass }
            })
            .collect();
        let other = replay(&RULES, 5, places[0], &passes);
        assert_eq!(
            winner(&other),
            winner(&ended.race).map(|candidate| places[candidate])
        );
        for (candidate, &place) in places.iter().enumerate() {
            let (one, two) = (ended.race.candidates[candidate], other.candidates[place]);
            assert_eq!(one.decision, two.decision);
            assert_eq!(one.left.map(|l| l.after), two.left.map(|l| l.after));
            if let (Some(one), Some(two)) = (one.ratio, two.ratio) {
                assert!((one.estimate / two.estimate - 1.0).abs() < 1e-12);
                assert!((one.low / two.low - 1.0).abs() < 1e-12 || one.low == two.low);
            }
        }
    }
}

#[test]
fn runs_without_a_result_are_left_out() {
    let effects = [1.0, 1.2, 1.0].map(f64::ln);
    let seed = Seed::new(4);
    let mut machine = Machine::new(&Noise::Gaussian, QUIET, seed);
    let mut elimination = Elimination::new(&RULES, 3, 0);
    let mut asked_again = 0;
    for number in 0..60 {
        let (live, phase) = match elimination.next() {
            Next::Finished => break,
            Next::Race { live } => (live, Phase::Race),
            Next::Final { candidates, .. } => (candidates, Phase::Final),
        };
        asked_again += usize::from(live.contains(&2));
        let mut pass = pass(&mut machine, &effects, &live, phase);
        // One never has a result; the others now and then have none, or
        // nonsense.
        pass.values[2] = None;
        match number % 16 {
            1 => pass.values[0] = None,
            6 => pass.values[1] = Some(f64::NAN),
            11 => pass.values[1] = Some(0.0),
            _ => {}
        }
        elimination.see(&pass);
    }
    let race = elimination.race();
    assert_eq!(winner(&race), Some(1), "{race:?}");
    assert!(asked_again >= 3);
    assert_eq!(race.candidates[2].decision, Some(Decision::Open));
    assert_eq!(race.candidates[2].ratio, None);
    // Passes that do not fit are no reason to panic either.
    let odd = [
        Pass {
            phase: Phase::Final,
            values: vec![],
        },
        Pass {
            phase: Phase::Race,
            values: vec![Some(f64::INFINITY), Some(-1.0)],
        },
    ];
    for design in [
        Design::Race,
        Design::Full {
            rounds: Some(2),
            looks: 1,
        },
    ] {
        let race = replay(&Rules { design, ..RULES }, 3, 2, &odd);
        assert!(matches!(
            race.outcome,
            Outcome::Inconclusive {
                more_rounds: None,
                ..
            }
        ));
    }
}

#[test]
fn whoever_was_behind_comes_back_when_the_leader_is_not_confirmed() {
    // One seems to be better until its final; the other is, and is a little
    // behind it.
    let wobble = |number: usize, of: f64| 0.004 * ((number as f64 + 1.0) * of).sin();
    let mut elimination = Elimination::new(&RULES, 3, 0);
    let mut finals = Vec::new();
    for number in 0..100 {
        let (phase, leader) = match elimination.next() {
            Next::Finished => break,
            Next::Race { .. } => (Phase::Race, None),
            Next::Final { candidates, .. } => {
                (Phase::Final, candidates.iter().rev().nth(1).copied())
            }
        };
        if finals.last() != leader.as_ref() {
            finals.extend(leader);
        }
        let first = if phase == Phase::Race { 0.15 } else { 0.0 };
        let values = vec![
            Some(wobble(number, 1.3).exp()),
            Some((first + wobble(number, 2.1)).exp()),
            Some((0.08 + wobble(number, 4.7)).exp()),
        ];
        elimination.see(&Pass { phase, values });
    }
    let race = elimination.race();
    assert_eq!(finals, [1, 2]);
    assert_eq!(winner(&race), Some(2), "{race:?}");
    assert_eq!(
        race.candidates[1].left.map(|left| left.why),
        Some(Why::NotConfirmed)
    );
}

#[test]
fn two_finals_are_all() {
    // All seem to be better until their finals, which say nothing.
    let wobble = |number: usize, of: f64| 0.004 * ((number as f64 + 1.0) * of).sin();
    let mut elimination = Elimination::new(&RULES, 4, 0);
    let mut finals = 0;
    for number in 0..100 {
        let phase = match elimination.next() {
            Next::Finished => break,
            Next::Race { .. } => Phase::Race,
            Next::Final { done, .. } => {
                finals += usize::from(done == 0);
                Phase::Final
            }
        };
        let values = [0.0, 0.15, 0.12, 0.09]
            .iter()
            .zip([1.3, 2.1, 4.7, 3.3])
            .map(|(&lead, of)| {
                let log = match phase {
                    Phase::Race => lead + wobble(number, of),
                    Phase::Final => 20.0 * wobble(number, of),
                };
                Some(log.exp())
            })
            .collect();
        elimination.see(&Pass { phase, values });
    }
    let race = elimination.race();
    assert_eq!(finals, 2);
    assert_eq!(race.next, Next::Finished);
    assert_eq!(
        race.outcome,
        Outcome::Inconclusive {
            open: vec![2, 3],
            leader: None,
            more_rounds: None,
        }
    );
}

#[test]
fn a_leader_that_is_neither_confirmed_nor_refuted_has_the_second_final_too() {
    let wobble = |number: usize, of: f64| 0.004 * ((number as f64 + 1.0) * of).sin();
    let mut elimination = Elimination::new(&RULES, 2, 0);
    let mut finals = 0;
    for number in 0..100 {
        let (phase, noise) = match elimination.next() {
            Next::Finished => break,
            Next::Race { .. } => (Phase::Race, 1.0),
            Next::Final { done, .. } => {
                finals += usize::from(done == 0);
                (Phase::Final, if finals == 1 { 40.0 } else { 1.0 })
            }
        };
        let lead = 0.05 + noise * wobble(number, 2.1);
        elimination.see(&Pass {
            phase,
            values: vec![Some(1.0), Some(lead.exp())],
        });
    }
    assert_eq!(finals, 2);
    let race = elimination.race();
    assert_eq!(winner(&race), Some(1), "{race:?}");
    // The figure is the second final's alone.
    let fresh = race.candidates[1].fresh.unwrap();
    assert!(fresh.low > 1.04 && fresh.high < 1.06, "{fresh:?}");
}

#[test]
fn a_leader_that_fails_half_of_its_final_does_not_win() {
    let wobble = |number: usize, of: f64| 0.004 * ((number as f64 + 1.0) * of).sin();
    let mut elimination = Elimination::new(&RULES, 2, 0);
    for number in 0..100 {
        let (phase, fails) = match elimination.next() {
            Next::Finished => break,
            Next::Race { .. } => (Phase::Race, false),
            Next::Final { .. } => (Phase::Final, number % 2 == 0),
        };
        let lead = Some((0.1 + wobble(number, 2.1)).exp()).filter(|_| !fails);
        elimination.see(&Pass {
            phase,
            values: vec![Some(1.0), lead],
        });
    }
    assert_eq!(winner(&elimination.race()), None);
    assert_eq!(elimination.next(), Next::Finished);
}

#[test]
fn a_race_without_its_reference_ends() {
    let mut elimination = Elimination::new(&RULES, 2, 0);
    for _ in 0..4 {
        elimination.see(&Pass {
            phase: Phase::Race,
            values: vec![None, Some(1.0)],
        });
    }
    assert_eq!(elimination.next(), Next::Finished);
    assert!(matches!(
        elimination.race().outcome,
        Outcome::Inconclusive {
            more_rounds: None,
            ..
        }
    ));
}

#[test]
fn who_never_has_a_result_leaves() {
    let mut elimination = Elimination::new(&RULES, 3, 0);
    for _ in 0..40 {
        elimination.see(&Pass {
            phase: Phase::Race,
            values: vec![Some(1.0), None, Some(1.0)],
        });
    }
    let race = elimination.race();
    assert_eq!(
        race.candidates[1].left,
        Some(Left {
            after: 4,
            why: Why::NoResult
        })
    );
    assert_eq!(race.next, Next::Finished);
    assert!(
        matches!(&race.outcome, Outcome::Inconclusive { open, .. } if *open == [1]),
        "{:?}",
        race.outcome
    );
}

#[test]
fn more_rounds_are_about_right() {
    // Asked after eight rounds; what it takes in fact differs by luck.
    let effects = [1.0, 1.05, 1.0].map(f64::ln);
    let races: Vec<Ended> = (0..40)
        .map(|trial| simulated(&effects, SHARED, trial, 200))
        .filter(|ended| ended.race.next == Next::Finished && ended.passes.len() > 8)
        .collect();
    let mut ratios: Vec<f64> = races
        .iter()
        .filter_map(|ended| {
            let early = replay(&RULES, 3, 0, &ended.passes[..8]);
            let Outcome::Inconclusive { more_rounds, .. } = early.outcome else {
                panic!("{early:?}");
            };
            Some(more_rounds? as f64 / (ended.passes.len() - 8) as f64)
        })
        .collect();
    assert!(ratios.len() > 20, "{}", ratios.len());
    ratios.sort_by(f64::total_cmp);
    let median = ratios[ratios.len() / 2];
    assert!((0.4..2.5).contains(&median), "{ratios:?}");
    let ended = &races[0];
    // During a final it is what is left of it.
    let last = &ended.passes[..ended.passes.len() - 1];
    assert!(matches!(
        replay(&RULES, 3, 0, last).outcome,
        Outcome::Inconclusive {
            more_rounds: Some(1),
            ..
        }
    ));
}

#[test]
fn the_full_factorial_looks_once_at_the_whole() {
    let effects = [1.0, 1.05, 1.0, 0.8].map(f64::ln);
    let seed = Seed::new(6);
    let mut machine = Machine::new(&Noise::Gaussian, QUIET, seed);
    let passes: Vec<Pass> = (0..12)
        .map(|number| round(&mut machine, &effects, vec![0, 1, 2, 3], seed, number))
        .collect();
    let full = |rounds, looks| {
        let rules = Rules {
            design: Design::Full { rounds, looks },
            ..RULES
        };
        replay(&rules, 4, 0, &passes)
    };
    let race = full(Some(12), 1);
    assert_eq!(race.next, Next::Finished);
    assert_eq!(
        full(None, 1).next,
        Next::Race {
            live: vec![0, 1, 2, 3]
        }
    );
    let Outcome::Winner {
        candidate: 1,
        ratio,
        fresh: false,
        ..
    } = race.outcome
    else {
        panic!("{race:?}");
    };
    assert_eq!(race.candidates[3].decision, Some(Decision::Worse));
    // More looks, wider intervals.
    let wide = full(None, 5).candidates[1].ratio.unwrap();
    assert!(wide.low < ratio.low && ratio.high < wide.high);
}

#[test]
fn a_long_store_is_analysed() {
    // 2,000 rounds of five cells too noisy to be told apart: now one is
    // ahead, now another.
    let passes: Vec<Pass> = (0..2000u32)
        .map(|number| Pass {
            phase: Phase::Race,
            values: (0..5)
                .map(|cell| {
                    Some(if (number >> cell) & 1 == 0 {
                        1000.0
                    } else {
                        2000.0
                    })
                })
                .collect(),
        })
        .collect();
    let race = replay(&RULES, 5, 0, &passes);
    assert_eq!(
        race.next,
        Next::Race {
            live: vec![0, 1, 2, 3, 4]
        }
    );
    // The last planned look was at 10^3.3 rounds.
    assert_eq!(
        race.candidates[4].ratio.map(|ratio| ratio.rounds),
        Some(1995)
    );
}
