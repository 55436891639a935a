//! Boundaries for repeated looks: how wide an interval has to be at each look
//! so that all looks together, however many, keep the error they promise.
//!
//! The error is spent over the looks (Lan and DeMets, Biometrika 70, 1983) and
//! turned into critical values by following the density of a normal random
//! walk that has not crossed yet from look to look (Armitage, McPherson and
//! Rowe, J. Royal Statistical Society A 132, 1969). An interval built with
//! them is a repeated confidence interval (Jennison and Turnbull, J. Royal
//! Statistical Society B 51, 1989).

use std::{
    collections::BTreeMap,
    f64::consts::{PI, SQRT_2},
    sync::{Arc, Mutex, PoisonError},
};

use octavo_units::Seed;
use statrs::function::erf::erfc;

use super::{Interval, bootstrap::Estimate, student_t};

/// At how many rounds half of the error is spent. Smaller makes early looks
/// sharper and late ones blunter. Chosen by simulation (bench/race.sh).
const HALF_SPENT_ROUNDS: f64 = 10.0;

/// The share of the error that may be spent by `rounds` rounds:
/// n / (n + n0). It never reaches 1, so an experiment has no horizon: it may
/// be resumed with any budget.
fn spent(rounds: f64) -> f64 {
    rounds / (rounds + HALF_SPENT_ROUNDS)
}

/// The exponents k of the looks at 10^(k/10) rounds, rounded: 3, 4, 5, 6, 8,
/// 10, 13, 16, 20, 25, 32, 40, … (the R10 series of preferred numbers, ISO 3).
/// Before three rounds a standard deviation is worth nothing; after a million
/// nobody looks.
const EXPONENTS: std::ops::RangeInclusive<i32> = 5..=60;

/// The number of rounds at the look with this number, from 0.
fn rounds_at(look: usize) -> usize {
    10f64
        .powf((f64::from(*EXPONENTS.start()) + look as f64) / 10.0)
        .round() as usize
}

/// The number of the look that is made at just this many rounds.
pub fn look_at(rounds: usize) -> Option<usize> {
    let nearest = (10.0 * (rounds as f64).log10()).round() as i32;
    EXPONENTS
        .contains(&nearest)
        .then(|| (nearest - EXPONENTS.start()) as usize)
        .filter(|&look| rounds_at(look) == rounds)
}

/// The interval of a ratio at the last planned look at the logarithms of its
/// values in the order of the rounds: the intervals of all looks together err
/// with `error`. `None` before the first look.
pub fn repeated_interval(logs: &[f64], error: f64, seed: Seed) -> Option<Interval> {
    let rounds = (1..=logs.len()).rev().find(|&n| look_at(n).is_some())?;
    let critical = Boundary::of(error).look(look_at(rounds)?).critical;
    Some(Estimate::of(&logs[..rounds], seed)?.interval_of(critical))
}

/// One planned look.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlannedLook {
    /// At how many rounds.
    pub rounds: usize,
    /// The two-sided error of the look taken alone.
    pub nominal: f64,
    /// The half-width of the interval in standard errors: Student's t at the
    /// nominal level (the significance-level approach of Jennison and
    /// Turnbull, Group Sequential Methods, 2000, chapter 4).
    pub critical: f64,
}

/// The planned looks and how wide the interval is at each, for one error that
/// all of them share.
#[derive(Debug)]
pub struct Boundary {
    looks: Vec<PlannedLook>,
}

impl Boundary {
    /// The boundary of a two-sided error, such as 0.05. Computed once for each
    /// (some milliseconds) and kept.
    ///
    /// # Panics
    /// If the error is not between 0 and 1.
    pub fn of(error: f64) -> Arc<Self> {
        static KNOWN: Mutex<BTreeMap<u64, Arc<Boundary>>> = Mutex::new(BTreeMap::new());
        assert!(0.0 < error && error < 1.0, "an error of {error}");
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(
            known
                .entry(error.to_bits())
                .or_insert_with(|| Arc::new(Self::computed(error))),
        )
    }

    fn computed(error: f64) -> Self {
        let mut walk = Walk::new();
        let mut before = 0.0;
        let looks = (0..EXPONENTS.count())
            .map(|look| {
                let rounds = rounds_at(look);
                let now = error * spent(rounds as f64);
                let normal = walk.critical_spending(rounds as f64, now - before);
                walk.go_on(rounds as f64, normal);
                before = now;
                let nominal = 2.0 * upper_tail(normal);
                PlannedLook {
                    rounds,
                    nominal,
                    critical: student_t(nominal, rounds),
                }
            })
            .collect();
        Self { looks }
    }

    /// The look with this number, the last one for all that come after it.
    pub fn look(&self, look: usize) -> PlannedLook {
        self.looks[look.min(self.looks.len() - 1)]
    }

    /// All planned looks, in order.
    pub fn looks(&self) -> &[PlannedLook] {
        &self.looks
    }
}

/// The probability that a standard normal number is above this.
fn upper_tail(z: f64) -> f64 {
    0.5 * erfc(z / SQRT_2)
}

/// The distance from 0 of a normal random walk that has stayed within the
/// boundaries of all looks so far. Its variance grows with the information
/// (the number of rounds).
struct Walk {
    information: f64,
    /// Distances, and the probability of being around each.
    mass: Vec<(f64, f64)>,
}

impl Walk {
    /// Simpson's rule over this many intervals: twice as many change no
    /// critical value of any look by more than 5e-6.
    const INTERVALS: usize = 64;

    fn new() -> Self {
        Self {
            information: 0.0,
            mass: vec![(0.0, 1.0)],
        }
    }

    /// The probability of being outside `critical` standard deviations at
    /// this information, and of not having been outside before.
    fn crossing(&self, information: f64, critical: f64) -> f64 {
        let edge = critical * information.sqrt();
        let step = (information - self.information).sqrt();
        self.mass
            .iter()
            .map(|(at, mass)| {
                mass * (upper_tail((edge - at) / step) + upper_tail((edge + at) / step))
            })
            .sum()
    }

    /// The critical value at which just `probability` crosses.
    fn critical_spending(&self, information: f64, probability: f64) -> f64 {
        let (mut low, mut high) = (0.0, 20.0);
        while high - low > 1e-10 {
            let middle = 0.5 * (low + high);
            if self.crossing(information, middle) > probability {
                low = middle;
            } else {
                high = middle;
            }
        }
        0.5 * (low + high)
    }

    /// Goes on to this information; what crosses there is gone.
    fn go_on(&mut self, information: f64, critical: f64) {
        let width = critical * information.sqrt() / Self::INTERVALS as f64;
        let step = (information - self.information).sqrt();
        let density = |z: f64| (-0.5 * z * z).exp() / (2.0 * PI).sqrt() / step;
        self.mass = (0..=Self::INTERVALS)
            .map(|point| {
                let to = point as f64 * width;
                let simpson = match point {
                    0 | Self::INTERVALS => 1.0,
                    _ if point % 2 == 1 => 4.0,
                    _ => 2.0,
                };
                let arriving: f64 = self
                    .mass
                    .iter()
                    .map(|(at, mass)| {
                        mass * (density((to - at) / step) + density((to + at) / step))
                    })
                    .sum();
                (to, arriving * simpson * width / 3.0)
            })
            .collect();
        self.information = information;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The error of five equal looks with these critical values.
    fn error_of_five(critical: impl Fn(f64) -> f64) -> f64 {
        let mut walk = Walk::new();
        (1..=5)
            .map(|look| {
                let information = f64::from(look);
                let crossing = walk.crossing(information, critical(information));
                walk.go_on(information, critical(information));
                crossing
            })
            .sum()
    }

    #[test]
    fn published_designs_have_their_error() {
        // Jennison and Turnbull 2000, tables 2.1 and 2.3: five looks, 5 %.
        let pocock = error_of_five(|_| 2.413);
        assert!((pocock - 0.05).abs() < 5e-5, "{pocock}");
        let obrien_fleming = error_of_five(|look| 2.040 * (5.0 / look).sqrt());
        assert!((obrien_fleming - 0.05).abs() < 5e-5, "{obrien_fleming}");
    }

    #[test]
    fn looks_are_those_of_the_preferred_numbers() {
        let rounds: Vec<usize> = (0..13).map(rounds_at).collect();
        assert_eq!(rounds, [3, 4, 5, 6, 8, 10, 13, 16, 20, 25, 32, 40, 50]);
        for (look, &rounds) in rounds.iter().enumerate() {
            assert_eq!(look_at(rounds), Some(look));
        }
        for rounds in [0, 1, 2, 7, 9, 11, 33] {
            assert_eq!(look_at(rounds), None, "{rounds}");
        }
    }

    #[test]
    fn the_whole_error_is_never_spent() {
        let error = 0.05;
        let boundary = Boundary::of(error);
        let mut walk = Walk::new();
        let mut crossed = 0.0;
        for look in boundary.looks() {
            let information = look.rounds as f64;
            let critical = {
                // Back from the nominal level to the normal critical value.
                let (mut low, mut high) = (0.0, 20.0);
                while high - low > 1e-11 {
                    let middle = 0.5 * (low + high);
                    if 2.0 * upper_tail(middle) > look.nominal {
                        low = middle;
                    } else {
                        high = middle;
                    }
                }
                low
            };
            crossed += walk.crossing(information, critical);
            walk.go_on(information, critical);
            assert!(
                (crossed - error * spent(information)).abs() < 1e-7,
                "{look:?}: {crossed}"
            );
        }
        assert!(crossed < error);
    }
}
