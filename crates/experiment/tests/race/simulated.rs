//! A machine that drifts, and races run on it.
//!
//! The logarithm of a run's throughput is its cell's effect, what the machine
//! is like at that moment, and the run's own noise. Orders are those of
//! [`Plan::order`](crate::plan::Plan::order): shuffled for each round.

use octavo_units::Seed;
use rand::{Rng, RngExt, seq::SliceRandom};

use crate::race::{Elimination, Next, Pass, Phase, Race, Rules};

/// How a single run's noise is distributed. Its standard deviation is the
/// same for all.
#[derive(Clone, Debug)]
pub enum Noise {
    /// Normal.
    Gaussian,
    /// Student's t with three degrees of freedom, scaled.
    HeavyTailed,
    /// No model at all: the logarithms of the throughputs of a recording of
    /// identical cells, run after run from a random start on.
    Recorded(Vec<f64>),
}

/// What the machine does to the runs on it.
#[derive(Clone, Copy, Debug)]
pub struct Conditions {
    /// Standard deviation of a run's own noise.
    pub own: f64,
    /// Standard deviation of the drift, an AR(1) process over runs.
    pub drift: f64,
    /// Its autocorrelation from one run to the next.
    pub autocorrelation: f64,
    /// The probability that the machine moves to another level before a run.
    pub step_probability: f64,
    /// The largest ratio between two levels.
    pub step_factor: f64,
    /// Linear drift a run.
    pub slope: f64,
}

/// A shared machine on which one identical cell ranges over a factor of two
/// within minutes.
pub const SHARED: Conditions = Conditions {
    own: 0.03,
    drift: 0.09,
    autocorrelation: 0.9,
    step_probability: 1.0 / 200.0,
    step_factor: 1.9,
    slope: 0.0005,
};

/// A machine at a moment.
pub struct Machine<'a> {
    noise: &'a Noise,
    conditions: Conditions,
    generator: rand_pcg::Pcg64Mcg,
    drift: f64,
    level: f64,
    runs: usize,
    start: usize,
}

impl<'a> Machine<'a> {
    pub fn new(noise: &'a Noise, conditions: Conditions, seed: Seed) -> Self {
        let mut generator = seed.derive("machine", 0).generator();
        let start = match noise {
            Noise::Recorded(logs) => generator.random_range(0..logs.len()),
            _ => 0,
        };
        Self {
            drift: conditions.drift * normal(&mut generator),
            level: 0.0,
            runs: 0,
            start,
            noise,
            conditions,
            generator,
        }
    }

    /// The throughput of one run of a cell with this effect.
    pub fn run(&mut self, effect: f64) -> f64 {
        let Conditions {
            own,
            drift,
            autocorrelation,
            step_probability,
            step_factor,
            slope,
        } = self.conditions;
        self.runs += 1;
        let noise = match self.noise {
            Noise::Recorded(logs) => {
                return (effect + logs[(self.start + self.runs) % logs.len()]).exp();
            }
            Noise::Gaussian => normal(&mut self.generator),
            Noise::HeavyTailed => {
                let chi_square: f64 = (0..3).map(|_| normal(&mut self.generator).powi(2)).sum();
                // The variance of t with three degrees of freedom is 3.
                normal(&mut self.generator) / chi_square.sqrt()
            }
        };
        self.drift = autocorrelation * self.drift
            + drift * (1.0 - autocorrelation.powi(2)).sqrt() * normal(&mut self.generator);
        if self.generator.random::<f64>() < step_probability {
            self.level = step_factor.ln() * (self.generator.random::<f64>() - 0.5);
        }
        (effect + self.drift + self.level + slope * self.runs as f64 + own * noise).exp()
    }
}

/// Box and Muller.
fn normal(generator: &mut impl Rng) -> f64 {
    let (u, v): (f64, f64) = (generator.random(), generator.random());
    (-2.0 * (1.0 - u).ln()).sqrt() * (std::f64::consts::TAU * v).cos()
}

/// One pass over these candidates in this order.
pub fn pass(machine: &mut Machine<'_>, effects: &[f64], order: &[usize], phase: Phase) -> Pass {
    let mut values = vec![None; effects.len()];
    for &candidate in order {
        values[candidate] = Some(machine.run(effects[candidate]));
    }
    Pass { phase, values }
}

/// One round in a shuffled order.
pub fn round(
    machine: &mut Machine<'_>,
    effects: &[f64],
    mut live: Vec<usize>,
    seed: Seed,
    number: usize,
) -> Pass {
    live.shuffle(&mut seed.derive("order", number as u64).generator());
    pass(machine, effects, &live, Phase::Race)
}

/// A race that is over, or out of rounds.
#[derive(Clone, Debug)]
pub struct Ended {
    pub race: Race,
    pub passes: Vec<Pass>,
    pub runs: usize,
}

/// Runs a race of at most `rounds_max` rounds, finals' included. The first
/// candidate is the reference; effects are logarithms of ratios to it.
pub fn race(
    rules: &Rules,
    effects: &[f64],
    machine: &mut Machine<'_>,
    seed: Seed,
    rounds_max: usize,
) -> Ended {
    let mut elimination = Elimination::new(rules, effects.len(), 0);
    let mut passes = Vec::new();
    let mut runs = 0;
    for number in 0..rounds_max {
        let pass = match elimination.next() {
            Next::Finished => break,
            Next::Race { live } => {
                runs += live.len();
                round(machine, effects, live, seed, number)
            }
            Next::Final {
                mut candidates,
                done,
                ..
            } => {
                runs += candidates.len();
                if done % 2 == 1 {
                    candidates.reverse();
                }
                pass(machine, effects, &candidates, Phase::Final)
            }
        };
        elimination.see(&pass);
        passes.push(pass);
    }
    Ended {
        race: elimination.race(),
        passes,
        runs,
    }
}
