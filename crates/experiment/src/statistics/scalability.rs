//! The universal scalability law: throughput by the number of clients.
//!
//! `X(N) = rate · N / (1 + contention · (N − 1) + coherence · N · (N − 1))`
//! (Gunther, "Guerrilla Capacity Planning", Springer 2007, chapter 4). What clients wait
//! for each other makes throughput level off (contention); what each does for all others
//! makes it fall again (coherence).

use octavo_units::Seed;
use rand::{RngExt as _, SeedableRng as _, rngs::Xoshiro256PlusPlus};
use schemars::JsonSchema;
use serde::Serialize;

/// A number of clients, and what they reached.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// Clients.
    pub clients: f64,
    /// Transactions a second.
    pub throughput: f64,
    /// The standard error of that.
    pub error: f64,
}

/// The law's parameters.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Scalability {
    /// Transactions a second of a single client.
    pub rate: f64,
    /// The share of a transaction during which only one client gets on, 0 and more.
    pub contention: f64,
    /// What each pair of clients costs, as a share of a transaction, 0 and more.
    pub coherence: f64,
}

/// The number of clients with the most throughput, and where it lies in 95% of repetitions.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Peak {
    /// The number; `None` where throughput never falls by the law.
    pub clients: Option<f64>,
    /// The lower end; likewise.
    pub low: Option<f64>,
    /// The upper end; likewise.
    pub high: Option<f64>,
}

/// A figure and where it lies in 95% of repetitions, as far as steps scatter.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct FitEstimate {
    /// The figure.
    pub estimate: f64,
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// What a ramp says.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Fitted {
    /// The law that fits best.
    pub law: Scalability,
    /// See [`Scalability::rate`].
    pub rate: FitEstimate,
    /// See [`Scalability::contention`].
    pub contention: FitEstimate,
    /// See [`Scalability::coherence`].
    pub coherence: FitEstimate,
    /// Clients at which throughput is highest.
    pub peak: Peak,
    /// The root mean square of how far steps are from the law, as a share of it.
    pub off: f64,
}

/// Steps that a fit needs: three parameters, and one to see that they fit.
pub const STEPS_MIN: usize = 4;

/// Repetitions by which intervals are found, and their first random number.
const REPEATED: usize = 1000;
const SEED: Seed = Seed::new(1);

/// Rounds of a fit at most.
const ROUNDS: usize = 200;

impl Scalability {
    /// Throughput of so many clients.
    pub fn throughput(&self, clients: f64) -> f64 {
        self.rate * clients / self.slowed(clients)
    }

    fn slowed(&self, clients: f64) -> f64 {
        1.0 + self.contention * (clients - 1.0) + self.coherence * clients * (clients - 1.0)
    }

    /// Clients at which throughput is highest: `√((1 − contention) / coherence)`. `None`
    /// where it never falls.
    pub fn peak(&self) -> Option<f64> {
        let square = (1.0 - self.contention).max(0.0) / self.coherence;
        (self.coherence > 0.0).then(|| square.sqrt().max(1.0))
    }

    /// The law that is nearest to steps: least squares, weighted by their errors; steps
    /// without errors all weigh the same. No parameter is less than 0.
    ///
    /// `None` of fewer than [`STEPS_MIN`] steps with different numbers of clients, and where
    /// a throughput is not above 0.
    pub fn fit(steps: &[Step]) -> Option<Fitted> {
        let mut numbers: Vec<u64> = steps.iter().map(|step| step.clients.to_bits()).collect();
        numbers.sort_unstable();
        numbers.dedup();
        let is_usable = |step: &Step| step.clients >= 1.0 && step.throughput > 0.0;
        if numbers.len() < STEPS_MIN || !steps.iter().all(is_usable) {
            return None;
        }
        let law = Self::nearest(steps);
        let mut draws = Xoshiro256PlusPlus::seed_from_u64(SEED.get());
        let mut repeated = Vec::with_capacity(REPEATED);
        let mut again = steps.to_vec();
        // What the law does not explain is an error of steps as well.
        let unexplained = unexplained(&law, steps);
        for _ in 0..REPEATED {
            for (new, step) in again.iter_mut().zip(steps) {
                let error = step.error.hypot(unexplained * step.throughput);
                let drawn = step.throughput + error * normal(&mut draws);
                new.throughput = drawn.max(step.throughput * 0.01);
            }
            repeated.push(Self::nearest(&again));
        }
        let between = |estimate: f64, of: &dyn Fn(&Self) -> f64| {
            let mut values: Vec<f64> = repeated.iter().map(of).collect();
            values.sort_by(f64::total_cmp);
            let at = |share: f64| values[((values.len() - 1) as f64 * share).round() as usize];
            FitEstimate {
                estimate,
                low: at(0.025).min(estimate),
                high: at(0.975).max(estimate),
            }
        };
        let peak = |law: &Self| law.peak().unwrap_or(f64::INFINITY);
        let peak_between = between(peak(&law), &peak);
        let off = steps.iter().map(|step| {
            let share = step.throughput / law.throughput(step.clients) - 1.0;
            share * share
        });
        Some(Fitted {
            law,
            rate: between(law.rate, &|law| law.rate),
            contention: between(law.contention, &|law| law.contention),
            coherence: between(law.coherence, &|law| law.coherence),
            peak: Peak {
                clients: finite(peak_between.estimate),
                low: finite(peak_between.low),
                high: finite(peak_between.high),
            },
            off: (off.sum::<f64>() / steps.len() as f64).sqrt(),
        })
    }

    /// Levenberg and Marquardt's method from a start that follows from the steps. A
    /// parameter that would fall below 0 stays there.
    fn nearest(steps: &[Step]) -> Self {
        let weight = |step: &Step| match step.error > 0.0 {
            true => 1.0 / step.error,
            false => 1.0 / steps.iter().map(|step| step.throughput).fold(0.0, f64::max),
        };
        let squares = |law: &Self| -> f64 {
            let off = |step: &Step| weight(step) * (step.throughput - law.throughput(step.clients));
            steps.iter().map(|step| off(step).powi(2)).sum()
        };
        let a_client = steps.iter().map(|step| step.throughput / step.clients);
        let mut law = Self {
            rate: a_client.fold(0.0, f64::max),
            contention: 0.01,
            coherence: 1e-4,
        };
        let (mut least, mut damping) = (squares(&law), 1e-3);
        for _ in 0..ROUNDS {
            let mut matrix = [[0.0; 3]; 3];
            let mut right = [0.0; 3];
            for step in steps {
                let (n, slowed) = (step.clients, law.slowed(step.clients));
                let found = law.throughput(n);
                let by = [
                    found / law.rate,
                    -found * (n - 1.0) / slowed,
                    -found * n * (n - 1.0) / slowed,
                ];
                let square = weight(step).powi(2);
                for row in 0..3 {
                    right[row] += square * by[row] * (step.throughput - found);
                    for column in 0..3 {
                        matrix[row][column] += square * by[row] * by[column];
                    }
                }
            }
            let mut next = law;
            let mut held = [false; 3];
            // Those that would leave are held at 0, and the others go on without them.
            for _ in 0..3 {
                let change = solved(&matrix, &right, damping, held);
                next = Self {
                    rate: law.rate + change[0],
                    contention: law.contention + change[1],
                    coherence: law.coherence + change[2],
                };
                let leaves = [
                    next.rate <= 0.0,
                    next.contention < 0.0,
                    next.coherence < 0.0,
                ];
                let at_0 = [false, law.contention == 0.0, law.coherence == 0.0];
                let held_more: Vec<usize> = (0..3)
                    .filter(|&p| leaves[p] && at_0[p] && !held[p])
                    .collect();
                if held_more.is_empty() {
                    break;
                }
                held_more.into_iter().for_each(|p| held[p] = true);
            }
            next.rate = next.rate.max(law.rate * 0.1);
            next.contention = next.contention.max(0.0);
            next.coherence = next.coherence.max(0.0);
            let now = squares(&next);
            if now < least {
                let gained = least - now;
                (law, least, damping) = (next, now, damping / 10.0);
                if gained <= 1e-14 * least {
                    break;
                }
            } else {
                damping *= 10.0;
                if damping > 1e12 {
                    break;
                }
            }
        }
        law
    }
}

fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}

/// The standard deviation of what a law leaves of steps, as a share of them, beyond their
/// errors: 0 where these say as much.
fn unexplained(law: &Scalability, steps: &[Step]) -> f64 {
    let freedom = (steps.len() - 3) as f64;
    let square = |step: &Step| {
        let found = law.throughput(step.clients);
        // As much of the errors as three parameters leave of them.
        let left = freedom / steps.len() as f64;
        ((step.throughput - found) / found).powi(2) - left * (step.error / found).powi(2)
    };
    (steps.iter().map(square).sum::<f64>() / freedom)
        .max(0.0)
        .sqrt()
}

/// The change that a damped system asks for, without the parameters that are held.
fn solved(matrix: &[[f64; 3]; 3], right: &[f64; 3], damping: f64, held: [bool; 3]) -> [f64; 3] {
    let mut rows = [[0.0; 4]; 3];
    for row in 0..3 {
        for column in 0..3 {
            let is_free = !held[row] && !held[column];
            rows[row][column] = if is_free { matrix[row][column] } else { 0.0 };
        }
        rows[row][row] += matrix[row][row] * damping + f64::MIN_POSITIVE;
        rows[row][3] = if held[row] { 0.0 } else { right[row] };
    }
    // Gauss and Jordan; the matrix is positive definite but for rounding.
    for pivot in 0..3 {
        let row = rows[pivot].map(|value| value / rows[pivot][pivot]);
        rows[pivot] = row;
        for other in (0..3).filter(|&other| other != pivot) {
            let factor = rows[other][pivot];
            for (value, of_pivot) in rows[other].iter_mut().zip(row) {
                *value -= factor * of_pivot;
            }
        }
    }
    rows.map(|row| if row[3].is_finite() { row[3] } else { 0.0 })
}

/// A standard normal number (Box and Muller 1958).
fn normal(draws: &mut Xoshiro256PlusPlus) -> f64 {
    let radius = (-2.0 * (1.0 - draws.random::<f64>()).ln()).sqrt();
    radius * (std::f64::consts::TAU * draws.random::<f64>()).cos()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(of: &[(f64, f64)], error: f64) -> Vec<Step> {
        let step = |&(clients, throughput): &(f64, f64)| Step {
            clients,
            throughput,
            error: error * throughput,
        };
        of.iter().map(step).collect()
    }

    fn planted(law: Scalability, error: f64) -> Vec<Step> {
        let numbers = [1.0, 2.0, 5.0, 10.0, 20.0, 30.0, 40.0, 60.0];
        let of: Vec<(f64, f64)> = numbers.iter().map(|&n| (n, law.throughput(n))).collect();
        steps(&of, error)
    }

    /// SPEC SDM91 (`specsdm91` in the `usl` package of R, after Gunther 2007) by that package:
    /// contention 0.0277299, coherence 0.0001043665, rate 89.9952330, peak at 96.52.
    #[test]
    fn a_published_ramp_gives_what_a_peer_gives() {
        let of = [
            (1.0, 64.9),
            (18.0, 995.9),
            (36.0, 1652.4),
            (72.0, 1853.2),
            (108.0, 1828.9),
            (144.0, 1775.0),
            (216.0, 1702.2),
        ];
        let found = Scalability::fit(&steps(&of, 0.0)).unwrap();
        for (is, wanted) in [
            (found.law.contention, 0.027_729_9),
            (found.law.coherence, 0.000_104_366_5),
            (found.law.rate, 89.995_233),
            (found.peak.clients.unwrap(), 96.52),
        ] {
            assert!((is / wanted - 1.0).abs() < 1e-3, "{is} {wanted} {found:?}");
        }
        assert!(found.peak.low.unwrap() < 90.0, "{:?}", found.peak);
        assert!(
            found.peak.high.is_none_or(|high| high > 105.0),
            "{:?}",
            found.peak
        );
    }

    #[test]
    fn what_was_planted_is_found() {
        for (contention, coherence) in [(0.05, 0.001), (0.0, 0.002), (0.3, 0.0), (0.0, 0.0)] {
            let law = Scalability {
                rate: 120.0,
                contention,
                coherence,
            };
            let found = Scalability::fit(&planted(law, 0.01)).unwrap();
            assert!((found.law.rate / 120.0 - 1.0).abs() < 1e-3, "{found:?}");
            assert!(
                (found.law.contention - contention).abs() < 1e-4,
                "{found:?}"
            );
            assert!((found.law.coherence - coherence).abs() < 1e-5, "{found:?}");
            assert_eq!(found.peak.clients.is_some(), coherence > 0.0, "{found:?}");
            assert!(
                found.contention.low <= contention && contention <= found.contention.high + 1e-4
            );
        }
    }

    #[test]
    fn intervals_hold_what_is_true_as_often_as_they_say() {
        let law = Scalability {
            rate: 100.0,
            contention: 0.04,
            coherence: 0.000_8,
        };
        let mut draws = Xoshiro256PlusPlus::seed_from_u64(7);
        let mut held = [0; 3];
        const ROUNDS: usize = 100;
        for _ in 0..ROUNDS {
            let mut drawn = planted(law, 0.03);
            for step in &mut drawn {
                step.throughput += step.error * normal(&mut draws);
            }
            let found = Scalability::fit(&drawn).unwrap();
            for (held, (between, truth)) in held.iter_mut().zip([
                (found.rate, law.rate),
                (found.contention, law.contention),
                (found.coherence, law.coherence),
            ]) {
                *held += usize::from(between.low <= truth && truth <= between.high);
            }
        }
        assert!(held.iter().all(|held| *held >= 88), "{held:?} of {ROUNDS}");
    }

    #[test]
    fn too_little_is_not_fitted() {
        let of = [(1.0, 10.0), (2.0, 19.0), (4.0, 35.0)];
        assert_eq!(Scalability::fit(&steps(&of, 0.01)), None);
        let same = [(1.0, 10.0), (2.0, 19.0), (4.0, 35.0), (4.0, 36.0)];
        assert_eq!(Scalability::fit(&steps(&same, 0.01)), None);
        let stalled = [(1.0, 10.0), (2.0, 19.0), (4.0, 0.0), (8.0, 36.0)];
        assert_eq!(Scalability::fit(&steps(&stalled, 0.01)), None);
    }
}
