//! What intervals over hosts do on fleets: whether they cover what many hosts would say, how wide they are,
//! and how often equal cells win.
//!
//! `cargo run --release -p octavo-experiment --example hosts -- [TRIALS]` simulates TRIALS (default
//! 1,000) fleets of each kind: two cells on 3 to 12 hosts with one to five sittings of 12 to 40 passes
//! each, whose ratio is 2% in the mean and deviates between hosts by 0, 2 and 5%. Beside it stands what
//! all batches in one pool say.

#[allow(dead_code, reason = "another simulation takes time instead of passes")]
#[path = "../tests/lockstep/simulated.rs"]
mod simulated;

use std::{collections::BTreeMap, error::Error, thread};

// Where the simulation looks for it.
use octavo_experiment::{
    lockstep::{self, Group, Horizon, Rules, Slice, Unseated, judge, over_hosts},
    statistics::{Decision, Interval},
};
use octavo_units::Seed;
use rand::RngExt;
use simulated::{Machine, QUIET, normal};

/// Not one that tests have.
const SEED: Seed = Seed::new(4311);

/// The mean of the logarithm of the ratio.
const EFFECT: f64 = 0.02;

const RULES: Rules = Rules {
    margin: 0.03,
    drop: false,
    screen: true,
    grows_older: false,
    horizon: Horizon::Passes { passes: u32::MAX },
};

fn main() -> Result<(), Box<dyn Error>> {
    let trials: u64 = std::env::args()
        .nth(1)
        .map_or(Ok(1000), |text| text.parse())?;
    println!(
        "hosts  between  covered  half-width  pooled: covered  half-width   A/A: false winners"
    );
    for hosts in [3, 4, 6, 8, 12] {
        for between in [0.0, 0.02, 0.05] {
            let (over, pooled) = many(trials, hosts, EFFECT, between);
            let (equal, _) = many(trials, hosts, 0.0, between);
            println!(
                "{hosts:5} {:7.0}% {:7.1}% {:10.1}% {:15.1}% {:10.1}% {:19.1}%",
                100.0 * between,
                over.covered(EFFECT),
                over.half_width(),
                pooled.covered(EFFECT),
                pooled.half_width(),
                equal.decided(),
            );
        }
    }
    Ok(())
}

/// What was said in many trials.
#[derive(Default)]
struct Said(Vec<(Interval, Decision)>);

impl Said {
    fn share(&self, count: usize) -> f64 {
        100.0 * count as f64 / self.0.len().max(1) as f64
    }

    fn covered(&self, log: f64) -> f64 {
        let covers = |of: &Interval| (of.low..=of.high).contains(&log.exp());
        self.share(self.0.iter().filter(|(ratio, _)| covers(ratio)).count())
    }

    /// In the median.
    fn half_width(&self) -> f64 {
        let mut widths: Vec<f64> = self
            .0
            .iter()
            .map(|(ratio, _)| 50.0 * (ratio.high / ratio.low).ln())
            .collect();
        widths.sort_by(f64::total_cmp);
        widths.get(widths.len() / 2).copied().unwrap_or(f64::NAN)
    }

    fn decided(&self) -> f64 {
        let is_decided = |of: &Decision| matches!(of, Decision::Better | Decision::Worse);
        self.share(self.0.iter().filter(|(_, of)| is_decided(of)).count())
    }
}

/// Fleets on all processors; over hosts, and in one pool.
fn many(trials: u64, hosts: usize, effect: f64, between: f64) -> (Said, Said) {
    let threads = thread::available_parallelism().map_or(1, usize::from) as u64;
    let (mut over, mut pooled) = (Said::default(), Said::default());
    thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|worker| {
                scope.spawn(move || {
                    let own = (worker..trials).step_by(threads as usize);
                    own.map(|trial| once(trial, hosts, effect, between))
                        .collect::<Vec<_>>()
                })
            })
            .collect();
        for worker in workers {
            for (one, other) in worker.join().expect("a simulation does not panic") {
                over.0.push(one);
                pooled.0.push(other);
            }
        }
    });
    (over, pooled)
}

fn once(
    trial: u64,
    hosts: usize,
    effect: f64,
    between: f64,
) -> ((Interval, Decision), (Interval, Decision)) {
    let name = format!("{hosts} {effect} {between}");
    let (slices, host_of) = fleet(hosts, effect, between, SEED.derive(&name, trial));
    let groups = [Group {
        cells: vec![0, 1],
        reference: 0,
    }];
    let seated = Unseated::new();
    let mut judgement = judge(&RULES, &groups, 2, &slices, &seated);
    let said = |judgement: &lockstep::Judgement| {
        let candidate = &judgement.groups[0].candidates[1];
        (
            candidate.ratio.expect("both cells ran"),
            candidate.decision.expect("both cells ran"),
        )
    };
    let pooled = said(&judgement);
    let of_plan = (&groups[..], 2);
    over_hosts(&mut judgement, &RULES, of_plan, &slices, &seated, &host_of);
    (said(&judgement), pooled)
}

/// The slices of a fleet, and whose sittings they are.
fn fleet(
    hosts: usize,
    effect: f64,
    between: f64,
    seed: Seed,
) -> (Vec<Slice>, BTreeMap<u32, usize>) {
    let mut generator = seed.generator();
    let mut slices = Vec::new();
    let mut host_of = BTreeMap::new();
    let mut sitting = 0;
    for host in 0..hosts {
        let own = effect + between * normal(&mut generator);
        for _ in 0..generator.random_range(1..=5) {
            let mut machine =
                Machine::new(QUIET, &[0.0, own], seed.derive("sitting", sitting.into()));
            for pass in 0..generator.random_range(12..=40) {
                slices.extend(machine.pass(sitting, pass, vec![0, 1]));
            }
            host_of.insert(sitting, host);
            sitting += 1;
        }
    }
    (slices, host_of)
}
