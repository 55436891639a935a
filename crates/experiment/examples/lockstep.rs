//! What judging cells in lockstep does on machines that drift: how often it is
//! wrong, how soon it decides, how wide its intervals are and whether they
//! cover.
//!
//! `cargo run --release -p octavo-experiment --example lockstep -- [TRIALS]`
//! simulates TRIALS (default 1,000) experiments of each kind: two groups of
//! five cells, measured for 260 s.

#[path = "../tests/lockstep/simulated.rs"]
mod simulated;

use std::{error::Error, thread, time::Duration, time::Instant};

// Where the simulation looks for it.
use octavo_experiment::{
    lockstep::{self, Candidate, Group, Horizon, Judgement, Rules, Slice, Unseated},
    statistics::{Decision, Interval},
};
use octavo_units::Seed;
use simulated::{Conditions, Machine, QUIET};

/// Not the one that the constants were tuned with.
const SEED: Seed = Seed::new(1511);

const HORIZON: Duration = Duration::from_secs(260);

/// When the standings are taken, in seconds.
const TIMES: [u64; 4] = [60, 120, 200, 260];

const REFERENCE: usize = 1;

/// Seconds of its own in which a copy forgets how young it was to 1/e.
const YOUNG_S: f64 = 4.0;

/// Where every cell took part in every sitting.
fn judge(rules: &Rules, groups: &[Group], cells: usize, slices: &[Slice]) -> Judgement {
    lockstep::judge(rules, groups, cells, slices, &Unseated::new())
}

fn main() -> Result<(), Box<dyn Error>> {
    let trials: u64 = std::env::args()
        .nth(1)
        .map_or(Ok(1000), |text| text.parse())?;
    let stormy = Conditions {
        storm: 40.0,
        ..QUIET
    };
    let rough = Conditions {
        own: 0.1,
        mood: (0.012, 30.0),
        storm: 40.0,
        ..QUIET
    };
    long_experiment();
    let only = std::env::args().nth(2);
    for (name, conditions) in [("quiet", QUIET), ("stormy", stormy), ("rough", rough)] {
        if only.as_ref().is_some_and(|only| only != name) {
            continue;
        }
        let set_up = SetUp {
            name,
            conditions,
            trials,
        };
        set_up.coverage();
        set_up.equal(0.05);
        set_up.equal(0.03);
        for worse in [0.10f64, 0.05] {
            set_up.different("worse", (1.0 - worse).ln(), worse, Decision::Worse);
        }
        set_up.different("better", 1.05f64.ln(), 0.05, Decision::Better);
        set_up.growing_older();
    }
    Ok(())
}

/// How long judging an hour takes.
fn long_experiment() {
    let mut machine = Machine::new(QUIET, &[0.0; 10], SEED);
    let slices = machine.sitting(0, Duration::from_secs(3600));
    let begin = Instant::now();
    let judgement = judge(&rules(0.01, HORIZON * 14), &groups(5), 10, &slices);
    println!(
        "judging {} passes of 10 cells: {:.0} ms",
        judgement.passes,
        begin.elapsed().as_secs_f64() * 1e3
    );
}

fn rules(margin: f64, horizon: Duration) -> Rules {
    Rules {
        margin,
        drop: true,
        screen: true,
        grows_older: true,
        horizon: Horizon::Time { measured: horizon },
    }
}

fn groups(size: usize) -> Vec<Group> {
    let group = |first: usize| Group {
        cells: (first..first + size).collect(),
        reference: REFERENCE,
    };
    vec![group(0), group(5)]
}

/// The slices of the first seconds of measuring.
fn until(slices: &[Slice], time: Duration) -> &[Slice] {
    let mut measured = Duration::ZERO;
    let mut end = 0;
    for pass in slices.chunk_by(|a, b| a.key.pass == b.key.pass) {
        if measured >= time {
            break;
        }
        measured += pass.iter().map(|slice| slice.elapsed).sum::<Duration>();
        end += pass.len();
    }
    &slices[..end]
}

fn rivals(judgement: &Judgement) -> impl Iterator<Item = &Candidate> {
    judgement.groups.iter().flat_map(|group| {
        let others = group.candidates.iter().enumerate();
        others
            .filter(|(place, _)| *place != REFERENCE)
            .map(|(_, candidate)| candidate)
    })
}

fn half_width(interval: &Interval) -> f64 {
    0.5 * (interval.high / interval.low).ln()
}

fn contains(interval: &Interval, log: f64) -> bool {
    (interval.low..=interval.high).contains(&log.exp())
}

fn percent(part: usize, whole: usize) -> f64 {
    100.0 * part as f64 / whole as f64
}

struct SetUp {
    name: &'static str,
    conditions: Conditions,
    trials: u64,
}

impl SetUp {
    fn slices(&self, effect: f64, trial: u64) -> Vec<Slice> {
        let effects: Vec<f64> = (0..10)
            .map(|cell| if cell % 5 == 3 { effect } else { 0.0 })
            .collect();
        Machine::new(self.conditions, &effects, SEED.derive(self.name, trial))
            .sitting(0, HORIZON + Duration::from_secs(2))
    }

    /// Every trial's result, on two threads.
    fn each<T: Send>(&self, of: impl Fn(u64) -> T + Sync) -> Vec<T> {
        let half = self.trials / 2;
        let of = &of;
        thread::scope(|scope| {
            let second = scope.spawn(move || (half..self.trials).map(of).collect::<Vec<T>>());
            let mut all: Vec<T> = (0..half).map(of).collect();
            all.extend(second.join().expect("a simulation panicked"));
            all
        })
    }

    /// Intervals of one rival that are looked at once, at 95%.
    fn coverage(&self) {
        // Beyond the horizon all error is spent, here on the only look.
        let single = Rules {
            margin: 0.03,
            drop: false,
            screen: true,
            grows_older: false,
            horizon: Horizon::Passes { passes: 1 },
        };
        let found = self.each(|trial| {
            let slices = self.slices(0.0, trial);
            TIMES.map(|time| {
                let slices = until(&slices, Duration::from_secs(time));
                let judgement = judge(&single, &groups(2), 10, slices);
                let ratios: Vec<Interval> = judgement
                    .groups
                    .iter()
                    .filter_map(|group| group.candidates[0].ratio)
                    .collect();
                (ratios, judgement.screened.len(), judgement.passes)
            })
        });
        for (place, time) in TIMES.iter().enumerate() {
            let all: Vec<&Interval> = found.iter().flat_map(|found| &found[place].0).collect();
            let covered = all.iter().filter(|i| contains(i, 0.0)).count();
            let rms = |of: &dyn Fn(&Interval) -> f64| {
                let squares: f64 = all.iter().map(|interval| of(interval).powi(2)).sum();
                100.0 * (squares / all.len() as f64).sqrt()
            };
            let screened = found.iter().map(|found| found[place].1).sum();
            let passes = found.iter().map(|found| found[place].2).sum();
            println!(
                "{} | {time} s, one interval: covers {:.1}%, half-width {:.2}%, actual deviation {:.2}%, passes screened {:.1}%",
                self.name,
                percent(covered, all.len()),
                rms(&half_width),
                rms(&|interval: &Interval| interval.estimate.ln()),
                percent(screened, passes),
            );
        }
    }

    /// Judgements at all looks of an experiment.
    fn looks(&self, margin: f64, slices: &[Slice]) -> Vec<Judgement> {
        (1..=10)
            .map(|look| {
                let slices = until(slices, HORIZON * look / 10);
                judge(&rules(margin, HORIZON), &groups(5), 10, slices)
            })
            .collect()
    }

    fn equal(&self, margin: f64) {
        let found = self.each(|trial| {
            let slices = self.slices(0.0, trial);
            let looks = self.looks(margin, &slices);
            let ever = |group: usize, decisions: &[Decision]| {
                looks.iter().any(|judgement| {
                    let mut candidates = judgement.groups[group].candidates.iter();
                    candidates.any(|c| c.decision.is_some_and(|d| decisions.contains(&d)))
                })
            };
            let winners = (0..2).filter(|&g| ever(g, &[Decision::Better])).count();
            let claims = (0..2)
                .filter(|&g| ever(g, &[Decision::Better, Decision::Worse]))
                .count();
            let decided = TIMES.map(|time| {
                let judgement = judge(
                    &rules(margin, HORIZON),
                    &groups(5),
                    10,
                    until(&slices, Duration::from_secs(time)),
                );
                let equal = rivals(&judgement)
                    .filter(|c| c.decision == Some(Decision::Equivalent) && c.left.is_some())
                    .count();
                let widths: Vec<f64> = rivals(&judgement)
                    .filter(|c| c.left.is_none())
                    .filter_map(|c| Some(half_width(&c.ratio?)))
                    .collect();
                (equal, widths)
            });
            (winners, claims, decided)
        });
        let groups = 2 * found.len();
        println!(
            "{} | all equal, margin {:.0}%: false winners {:.1}% of groups, false winners and losers {:.1}%",
            self.name,
            100.0 * margin,
            percent(found.iter().map(|f| f.0).sum(), groups),
            percent(found.iter().map(|f| f.1).sum(), groups),
        );
        for (place, time) in TIMES.iter().enumerate() {
            let equal = found.iter().map(|f| f.2[place].0).sum();
            let all = found.iter().filter(|f| f.2[place].0 == 8).count();
            let widths: Vec<f64> = found.iter().flat_map(|f| f.2[place].1.clone()).collect();
            let squares: f64 = widths.iter().map(|w| w * w).sum();
            println!(
                "{} | all equal, margin {:.0}%, {time} s: found equal {:.1}% of rivals, all eight in {:.1}%; half-width of live rivals, simultaneous {:.2}%",
                self.name,
                100.0 * margin,
                percent(equal, 8 * found.len()),
                percent(all, found.len()),
                100.0 * (squares / widths.len() as f64).sqrt(),
            );
        }
    }

    /// One of each group is slower while its copy is young, and then 10% slower than the others: what
    /// is said of it with and without the beginning, at the end.
    fn growing_older(&self) {
        let kinds = [(true, "older half"), (false, "all batches")];
        for young in [0.7f64, 1.0, 1.4] {
            let found = self.each(|trial| {
                let mut slices = self.slices(0.9f64.ln(), trial);
                let mut ages = [0.0; 10];
                for slice in &mut slices {
                    let age = &mut ages[slice.key.cell];
                    let older = 1.0 - (-*age / YOUNG_S).exp();
                    *age += slice.elapsed.as_secs_f64();
                    if slice.key.cell % 5 == 3 {
                        let factor = young.powf(older - 1.0);
                        slice.elapsed = slice.elapsed.mul_f64(factor);
                        slice.spent = None;
                    }
                }
                kinds.map(|(grows_older, _)| {
                    let rules = Rules {
                        grows_older,
                        ..rules(0.03, HORIZON)
                    };
                    let judgement = judge(&rules, &groups(5), 10, &slices);
                    let planted = judgement.groups.iter().map(|group| &group.candidates[3]);
                    let ratios = planted.filter_map(|candidate| candidate.ratio);
                    ratios.collect::<Vec<Interval>>()
                })
            });
            for (place, (_, counts)) in kinds.iter().enumerate() {
                let all: Vec<&Interval> = found.iter().flat_map(|found| &found[place]).collect();
                let logs = all.iter().map(|interval| interval.estimate.ln());
                let covered = all.iter().filter(|i| contains(i, 0.9f64.ln())).count();
                println!(
                    "{} | 10% worse, {young} times as fast while young, {counts}: {:.1}% worse in the mean, covers {:.1}%",
                    self.name,
                    -100.0 * (logs.sum::<f64>() / all.len() as f64).exp_m1(),
                    percent(covered, all.len()),
                );
            }
        }
    }

    fn different(&self, what: &str, effect: f64, size: f64, right: Decision) {
        let found = self.each(|trial| {
            let slices = self.slices(effect, trial);
            TIMES.map(|time| {
                let judgement = judge(
                    &rules(0.03, HORIZON),
                    &groups(5),
                    10,
                    until(&slices, Duration::from_secs(time)),
                );
                let planted = judgement.groups.iter().map(|group| &group.candidates[3]);
                let decisions: Vec<_> =
                    planted.filter_map(|candidate| candidate.decision).collect();
                let right = decisions.iter().filter(|&&d| d == right).count();
                let open = decisions.iter().filter(|&&d| d == Decision::Open).count();
                (right, 2 - right - open)
            })
        });
        for (place, time) in TIMES.iter().enumerate() {
            println!(
                "{} | {:.0}% {what}, {time} s: decided {:.1}%, wrong {:.1}%",
                self.name,
                100.0 * size,
                percent(found.iter().map(|f| f[place].0).sum(), 2 * found.len()),
                percent(found.iter().map(|f| f[place].1).sum(), 2 * found.len()),
            );
        }
    }
}
