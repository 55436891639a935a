//! Intervals of a mean whose numbers need not be normal: Student's t while
//! they are few, the bootstrap-t from ten on.

use octavo_units::Seed;
use rand::RngExt;
use serde::{Deserialize, Serialize};

use super::{Interval, mean, standard_deviation, student_t};

/// Below this many values the bootstrap has too little to draw from.
pub const BOOTSTRAP_MIN: usize = 10;

/// Above this many the normal theory is as good, and faster.
const BOOTSTRAP_MAX: usize = 250;

/// Resamples. One less than a round number, so that the quantile is one of
/// them (Davison and Hinkley, Bootstrap Methods, 1997, section 2.4).
const RESAMPLES: usize = 999;

/// The two-sided error at which the bootstrap is compared with Student's t.
/// Levels that looks and comparisons share out are far smaller than what 999
/// resamples can show, so t's critical value there is stretched by what was
/// seen here.
const COMPARED_AT: f64 = 0.05;

/// The mean of logarithms of ratios, and all that an interval around it needs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// How many values.
    pub rounds: usize,
    /// Their mean.
    pub mean: f64,
    /// Their standard deviation; infinite of one value.
    pub deviation: f64,
    /// The symmetric bootstrap-t's critical value over Student's t's, at a
    /// two-sided error of 5 %; 1 where the bootstrap is not used.
    pub stretch: f64,
}

impl Estimate {
    /// From the logarithms of ratios; `None` of nothing. The seed is that of
    /// the bootstrap: the same seed draws the same rounds for every sample of
    /// a length.
    pub fn of(logs: &[f64], seed: Seed) -> Option<Self> {
        if logs.is_empty() {
            return None;
        }
        Some(Self {
            rounds: logs.len(),
            mean: mean(logs),
            deviation: if logs.len() < 2 {
                f64::INFINITY
            } else {
                standard_deviation(logs)
            },
            stretch: if (BOOTSTRAP_MIN..=BOOTSTRAP_MAX).contains(&logs.len()) {
                stretch(logs, seed)
            } else {
                1.0
            },
        })
    }

    /// The estimate of the ratio turned round.
    pub fn inverse(self) -> Self {
        Self {
            mean: -self.mean,
            ..self
        }
    }

    /// The standard error of the mean.
    pub fn standard_error(&self) -> f64 {
        self.deviation / (self.rounds as f64).sqrt()
    }

    /// The interval of the ratio whose half-width is Student's t at this
    /// two-sided error. With one value it is unbounded.
    pub fn interval(&self, error: f64) -> Interval {
        self.interval_of(student_t(error, self.rounds))
    }

    /// How many rounds in all would settle an open ratio, if its mean and
    /// spread stay as they are: enough either to leave 1 outside or to stay
    /// within the margin. `None` when fewer than two rounds are known or
    /// [`ROUNDS_MAX`] would not do.
    pub fn rounds_to_settle(&self, margin: f64, error: f64) -> Option<usize> {
        if self.rounds < 2 {
            return None;
        }
        let distance = self.mean.abs();
        let room = distance.max(margin.ln_1p() - distance);
        (self.rounds..=ROUNDS_MAX).find(|&rounds| {
            let error_of_mean = self.deviation / (rounds as f64).sqrt();
            student_t(error, rounds) * self.stretch * error_of_mean < room
        })
    }

    /// The interval of the ratio with this many standard errors to each side,
    /// stretched as the bootstrap says.
    pub fn interval_of(&self, critical: f64) -> Interval {
        let half = critical * self.stretch * self.standard_error();
        Interval {
            estimate: self.mean.exp(),
            low: (self.mean - half).exp(),
            high: (self.mean + half).exp(),
            rounds: self.rounds,
        }
    }
}

/// The largest number of rounds that [`Estimate::rounds_to_settle`] looks at.
pub const ROUNDS_MAX: usize = 1000;

/// The critical value of the symmetric bootstrap-t (Hall, The Bootstrap and
/// Edgeworth Expansion, 1992, section 3.6; Efron and Tibshirani, An
/// Introduction to the Bootstrap, 1993, chapter 12) over that of Student's t.
fn stretch(logs: &[f64], seed: Seed) -> f64 {
    let count = logs.len();
    let centre = mean(logs);
    let deviation = standard_deviation(logs);
    if deviation <= 1e-12 * centre.abs() {
        return 1.0;
    }
    let centred: Vec<f64> = logs.iter().map(|log| log - centre).collect();
    let mut generator = seed.derive("bootstrap", count as u64).generator();
    let mut distances: Vec<f64> = (0..RESAMPLES)
        .map(|_| {
            let (mut sum, mut squares) = (0.0, 0.0);
            for _ in 0..count {
                let value = centred[generator.random_range(0..count)];
                sum += value;
                squares += value * value;
            }
            let n = count as f64;
            // |mean| in standard errors of the resample.
            let variance = (squares - sum * sum / n).max(0.0) / (n - 1.0);
            (sum / n).abs() / (variance / n).sqrt()
        })
        // A resample of one value over and over has no standard error.
        .map(|distance| if distance.is_nan() { 0.0 } else { distance })
        .collect();
    let place = ((RESAMPLES + 1) as f64 * (1.0 - COMPARED_AT)).round() as usize - 1;
    let (_, critical, _) = distances.select_nth_unstable_by(place, f64::total_cmp);
    *critical / student_t(COMPARED_AT, count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn enough_rounds_settle() {
        let logs = [0.012, 0.075, 0.02, 0.061];
        let estimate = Estimate::of(&logs, Seed::new(1)).unwrap();
        let rounds = estimate.rounds_to_settle(0.03, 0.05).unwrap();
        let half =
            |rounds: usize| student_t(0.05, rounds) * estimate.deviation / (rounds as f64).sqrt();
        assert!(rounds > 4, "{rounds}");
        assert!(half(rounds) < estimate.mean && estimate.mean <= half(rounds - 1));
        let one = Estimate::of(&[0.5], Seed::new(1)).unwrap();
        assert_eq!(one.rounds_to_settle(0.03, 0.05), None);
    }
}
