//! What racing does on machines that drift: how often it is wrong, what it
//! finds, in how many runs, and whether its intervals cover.
//!
//! `cargo run --release -p octavo-experiment --example race -- [RACES] [RECORDING]`
//! simulates RACES (default 2,000) of each kind and prints one line for each.
//! RECORDING is a text file of a real experiment of identical cells, one run a
//! line in the order of time: `round cell throughput`. Its runs are then
//! replayed in place of a model.

#[path = "../tests/race/simulated.rs"]
#[expect(
    unreachable_pub,
    reason = "a module of the library, included for its tests and here"
)]
mod simulated;

use std::{error::Error, fs, thread, time::Instant};

// Where the simulation looks for it.
use octavo_experiment::race;
use octavo_experiment::{
    race::{Design, Next, Outcome, Pass, Phase, Rules, Why, replay},
    statistics::{Interval, bootstrap::Estimate, spending::Boundary},
};
use octavo_units::Seed;
use simulated::{Ended, Machine, Noise, SHARED};

const MARGIN: f64 = 0.03;
const ROUNDS_MAX: usize = 100;
/// Not the one that the constants of the race were tuned with.
const SEED: Seed = Seed::new(847);

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let races: u64 = arguments.next().map_or(Ok(2000), |text| text.parse())?;
    let mut noises = vec![
        ("gaussian", Noise::Gaussian),
        ("heavy-tailed", Noise::HeavyTailed),
    ];
    if let Some(path) = arguments.next() {
        noises.push(("recorded", recording(&fs::read_to_string(path)?)?));
    }
    let alone = [0.0, 1.05f64.ln(), 0.0, 0.0, 0.0];
    let two = [1.0, 1.08, 1.05, 1.0, 1.0].map(f64::ln);
    let spread = [1.0, 1.05, 0.97, 0.92, 0.80].map(f64::ln);
    long_store();
    for (name, noise) in &noises {
        let set_up = SetUp { name, noise, races };
        set_up.report("A/A", &[0.0; 5]);
        set_up.report("+5 %, others equal", &alone);
        set_up.report("+5 %, others worse", &spread);
        set_up.report("+8 % and +5 %", &two);
        set_up.full_factorials("+5 %, others equal", &alone);
        set_up.full_factorials("+5 %, others worse", &spread);
        set_up.coverage();
    }
    Ok(())
}

/// How long it takes to judge 2,000 rounds of five cells that nothing tells
/// apart: the first time, and once the boundaries are known.
fn long_store() {
    let passes: Vec<Pass> = (0..2000u32)
        .map(|number| Pass {
            phase: Phase::Race,
            values: (0..5)
                .map(|cell| Some(if (number >> cell) & 1 == 0 { 1.0 } else { 2.0 }))
                .collect(),
        })
        .collect();
    for what in ["first", "again"] {
        let begin = Instant::now();
        let race = replay(&SetUp::rules(Design::Race), 5, 0, &passes);
        println!(
            "2000 rounds of 5 cells, {what}: {:.1} ms ({} live)",
            begin.elapsed().as_secs_f64() * 1e3,
            race.candidates.iter().filter(|c| c.left.is_none()).count()
        );
    }
}

/// Reads `round cell throughput` lines, in order of time. The cells are
/// identical, so it is the order alone that counts.
fn recording(text: &str) -> Result<Noise, Box<dyn Error>> {
    let mut logs = Vec::new();
    for line in text.lines() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let throughput: f64 = line
            .split_whitespace()
            .nth(2)
            .ok_or_else(|| format!("not round, cell and throughput: {line}"))?
            .parse()?;
        if !(throughput > 0.0 && throughput.is_finite()) {
            return Err(format!("not a throughput: {line}").into());
        }
        logs.push(throughput.ln());
    }
    if logs.is_empty() {
        return Err("the recording is empty".into());
    }
    Ok(Noise::Recorded(logs))
}

struct SetUp<'a> {
    name: &'a str,
    noise: &'a Noise,
    races: u64,
}

impl SetUp<'_> {
    fn machine(&self, trial: u64) -> Machine<'_> {
        Machine::new(self.noise, SHARED, SEED.derive(self.name, trial))
    }

    fn rules(design: Design) -> Rules {
        Rules {
            margin: MARGIN,
            seed: SEED,
            design,
        }
    }

    fn race(&self, effects: &[f64], trial: u64) -> Ended {
        simulated::race(
            &Self::rules(Design::Race),
            effects,
            &mut self.machine(trial),
            SEED.derive("race", trial),
            ROUNDS_MAX,
        )
    }

    /// Every trial's result, on two threads.
    fn each<T: Send>(&self, of: impl Fn(u64) -> T + Sync) -> Vec<T> {
        let half = self.races / 2;
        let of = &of;
        thread::scope(|scope| {
            let second = scope.spawn(move || (half..self.races).map(of).collect::<Vec<T>>());
            let mut all: Vec<T> = (0..half).map(of).collect();
            all.extend(second.join().expect("a simulation panicked"));
            all
        })
    }

    fn report(&self, what: &str, effects: &[f64]) {
        let ended = self.each(|trial| self.race(effects, trial));
        let total = ended.len() as f64;
        let share = |of: &dyn Fn(&Ended) -> bool| {
            100.0 * ended.iter().filter(|ended| of(ended)).count() as f64 / total
        };
        let winner = |ended: &Ended| match &ended.race.outcome {
            Outcome::Winner { candidate, .. } => Some(*candidate),
            _ => None,
        };
        let mut runs: Vec<usize> = ended.iter().map(|ended| ended.runs).collect();
        runs.sort_unstable();
        let mean = runs.iter().sum::<usize>() as f64 / total;
        println!(
            "{} | {what}: winner {:.1} % (planted {:.1} %), keep {:.1} %, inconclusive {:.1} %, out of rounds {:.1} %",
            self.name,
            share(&|e| winner(e).is_some()),
            share(&|e| winner(e) == Some(1)),
            share(&|e| matches!(e.race.outcome, Outcome::Keep { .. })),
            share(&|e| matches!(e.race.outcome, Outcome::Inconclusive { .. })),
            share(&|e| e.race.next != Next::Finished),
        );
        println!(
            "{} | {what}: runs mean {mean:.1}, median {}, 90 % {}, of {} ({:.1} %)",
            self.name,
            runs[runs.len() / 2],
            runs[runs.len() * 9 / 10],
            ROUNDS_MAX * effects.len(),
            100.0 * mean / (ROUNDS_MAX * effects.len()) as f64,
        );
        let finals: Vec<usize> = ended
            .iter()
            .map(|e| e.passes.iter().filter(|p| p.phase == Phase::Final).count())
            .collect();
        let had = finals.iter().filter(|&&rounds| rounds > 0).count();
        println!(
            "{} | {what}: rounds of the race mean {:.1}; a final in {:.1} %, of {:.1} fresh rounds; planted not confirmed {:.1} %, worse {:.1} %, equivalent {:.1} %, behind {:.1} %",
            self.name,
            ended
                .iter()
                .map(|e| e.passes.iter().filter(|p| p.phase == Phase::Race).count())
                .sum::<usize>() as f64
                / total,
            100.0 * had as f64 / total,
            finals.iter().sum::<usize>() as f64 / (had.max(1)) as f64,
            share(&|e| e.race.candidates[1]
                .left
                .is_some_and(|l| l.why == Why::NotConfirmed)),
            share(&|e| e.race.candidates[1]
                .left
                .is_some_and(|l| l.why == Why::Worse)),
            share(&|e| e.race.candidates[1]
                .left
                .is_some_and(|l| l.why == Why::Equivalent)),
            share(&|e| e.race.candidates[1]
                .left
                .is_some_and(|l| matches!(l.why, Why::Behind { .. }))),
        );
        // Intervals of finals, whoever won: no figure may owe anything to selection.
        let (mut fresh, mut quoted) = (Coverage::default(), Coverage::default());
        for ended in &ended {
            for (candidate, effect) in ended.race.candidates.iter().zip(effects) {
                if let Some(interval) = candidate.fresh {
                    fresh.count(&interval, *effect);
                }
            }
            if let Outcome::Winner {
                candidate, ratio, ..
            } = &ended.race.outcome
            {
                quoted.count(ratio, effects[*candidate]);
            }
        }
        println!(
            "{} | {what}: coverage of fresh intervals {fresh}, of winners' alone {quoted}",
            self.name
        );
    }

    fn passes(&self, effects: &[f64], trial: u64, rounds: usize) -> Vec<Pass> {
        let mut machine = self.machine(trial);
        let seed = SEED.derive("race", trial);
        (0..rounds)
            .map(|number| {
                simulated::round(
                    &mut machine,
                    effects,
                    (0..effects.len()).collect(),
                    seed,
                    number,
                )
            })
            .collect()
    }

    /// How often the full factorial finds the planted cell, by its rounds.
    fn full_factorials(&self, what: &str, effects: &[f64]) {
        const ROUNDS: [usize; 14] = [10, 20, 25, 30, 32, 34, 36, 38, 40, 45, 50, 60, 80, 100];
        let found = self.each(|trial| {
            let passes = self.passes(effects, trial, ROUNDS_MAX);
            ROUNDS.map(|rounds| {
                let rules = Self::rules(Design::Full {
                    rounds: Some(rounds as u32),
                    looks: 1,
                });
                let race = replay(&rules, effects.len(), 0, &passes[..rounds]);
                matches!(race.outcome, Outcome::Winner { candidate: 1, .. })
            })
        });
        for (place, rounds) in ROUNDS.iter().enumerate() {
            let share = found.iter().filter(|found| found[place]).count() as f64;
            println!(
                "{} | {what}: full factorial of {rounds} rounds, {} runs: planted {:.1} %",
                self.name,
                rounds * effects.len(),
                100.0 * share / found.len() as f64
            );
        }
    }

    /// Plain intervals at a fixed number of rounds, with t alone and as they
    /// are made; repeated intervals of four candidates at all looks.
    fn coverage(&self) {
        const ROUNDS: [usize; 6] = [5, 10, 13, 20, 40, 80];
        const LEVELS: [f64; 3] = [0.05, 0.0125, 0.002];
        let effects = [0.0; 5];
        let claims = Boundary::of(0.05 / 4.0);
        let trials = self.each(|trial| {
            let passes = self.passes(&effects, trial, ROUNDS_MAX);
            let logs = |candidate: usize| -> Vec<f64> {
                passes
                    .iter()
                    .filter_map(|pass| Some((pass.values[candidate]? / pass.values[0]?).ln()))
                    .collect()
            };
            let first = logs(1);
            let plain = ROUNDS.map(|rounds| {
                let estimate = Estimate::of(&first[..rounds], SEED);
                LEVELS.map(|level| {
                    let covers = |stretch: f64| {
                        estimate.is_some_and(|estimate| {
                            let estimate = Estimate {
                                stretch,
                                ..estimate
                            };
                            contains(&estimate.interval(level), 0.0)
                        })
                    };
                    let stretch = estimate.map_or(1.0, |estimate| estimate.stretch);
                    [covers(stretch), covers(1.0)]
                })
            });
            let repeated = |wide: bool| {
                (1..5).all(|candidate| {
                    let logs = logs(candidate);
                    claims
                        .looks()
                        .iter()
                        .take_while(|look| look.rounds <= ROUNDS_MAX)
                        .all(|look| {
                            let Some(mut estimate) = Estimate::of(&logs[..look.rounds], SEED)
                            else {
                                return false;
                            };
                            if !wide {
                                estimate.stretch = 1.0;
                            }
                            contains(&estimate.interval_of(look.critical), 0.0)
                        })
                })
            };
            Covers {
                plain,
                repeated: [repeated(true), repeated(false)],
            }
        });
        let share = |of: &dyn Fn(&Covers) -> bool| {
            100.0 * trials.iter().filter(|trial| of(trial)).count() as f64 / trials.len() as f64
        };
        for (place, rounds) in ROUNDS.iter().enumerate() {
            for (level, error) in LEVELS.iter().enumerate() {
                println!(
                    "{} | coverage at {rounds} rounds, {:.2} %: {:.2} % (t alone {:.2} %)",
                    self.name,
                    100.0 * (1.0 - error),
                    share(&|trial| trial.plain[place][level][0]),
                    share(&|trial| trial.plain[place][level][1]),
                );
            }
        }
        println!(
            "{} | coverage of repeated intervals, 4 candidates, all looks up to {ROUNDS_MAX} rounds: {:.2} % (t alone {:.2} %)",
            self.name,
            share(&|trial| trial.repeated[0]),
            share(&|trial| trial.repeated[1]),
        );
    }
}

/// Whether one trial's intervals contain the truth: as they are made, and
/// with Student's t alone.
struct Covers {
    /// By rounds and level.
    plain: [[[bool; 2]; 3]; 6],
    repeated: [bool; 2],
}

/// How many of how many intervals contain the truth.
#[derive(Default)]
struct Coverage {
    contain: usize,
    intervals: usize,
}

impl Coverage {
    fn count(&mut self, interval: &Interval, truth: f64) {
        self.intervals += 1;
        self.contain += usize::from(contains(interval, truth));
    }
}

impl std::fmt::Display for Coverage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let share = 100.0 * self.contain as f64 / self.intervals as f64;
        write!(f, "{share:.1} % of {}", self.intervals)
    }
}

fn contains(interval: &Interval, log: f64) -> bool {
    (interval.low..=interval.high).contains(&log.exp())
}
