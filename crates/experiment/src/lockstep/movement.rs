//! Whether a ratio moves while the databases grow older, and from which age on it counts.

use schemars::JsonSchema;
use serde::Serialize;

use crate::statistics::{critical_t, mean};

/// How a ratio moved within sittings: the ends of a straight line through the logarithms of its
/// batches, over their passes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Movement {
    /// The ratio on that line at the youngest batch.
    pub first: f64,
    /// At the oldest one.
    pub last: f64,
}

/// Batches from which on a line has a slope to speak of. Chosen.
const BATCHES_MIN: usize = 8;

/// The two-sided error at which a slope is no chance (Student's t), at each look and where batches are
/// independent. Chosen.
const ERROR: f64 = 0.003;

/// The ratio of both ends from which on it matters. Chosen.
const RATIO_CHANGE_MIN: f64 = 1.05;

/// A ratio is level if its ends differ by less than this factor, with the two-sided error
/// [`LEVEL_ERROR`]. Chosen.
const LEVEL_CHANGE_MAX: f64 = 1.1;

/// See [`LEVEL_CHANGE_MAX`]. Chosen.
const LEVEL_ERROR: f64 = 0.05;

/// The sitting and the first pass of a batch.
pub(super) type Place = (u32, u32);

/// The movement of a ratio by its batches' places and logarithms, if there is one.
///
/// # Panics
/// If there are not as many logarithms as batches.
pub(super) fn movement(batches: &[Place], logs: &[f64]) -> Option<Movement> {
    Line::through(batches, logs)?.movement()
}

/// Whether it is known that a ratio moves by little: that it was not found to move says nothing
/// where batches are few or noisy. Batches of one age have nothing to tell it by, so they count as
/// level.
///
/// # Panics
/// If there are not as many logarithms as batches.
pub(super) fn is_level(batches: &[Place], logs: &[f64]) -> bool {
    let is_second = |pair: &&[Place]| pair[0].0 == pair[1].0;
    match batches.windows(2).filter(is_second).count() {
        0 => true,
        // No line can be laid through these either.
        1 if batches.len() >= BATCHES_MIN => true,
        _ => Line::through(batches, logs).is_some_and(|line| {
            let most = line.change.abs() + line.half_width(LEVEL_ERROR);
            line.movement().is_none() && most < LEVEL_CHANGE_MAX.ln()
        }),
    }
}

/// The logarithm of a ratio once its copies are so many times as old as the oldest batch found them, if
/// it goes on as it does: `None` where it is not known to move at all.
///
/// # Panics
/// If there are not as many logarithms as batches.
pub(super) fn at_age(batches: &[Place], logs: &[f64], times: f64) -> Option<f64> {
    let line = Line::through(batches, logs)?;
    let is_known = line.change.abs() > line.half_width(LEVEL_ERROR);
    is_known.then(|| line.at(line.oldest * times))
}

/// The pass with which the older half of all begins, if the ratio in that half can be asked whether it
/// moves.
pub(super) fn older_half(batches: &[Place], logs: &[f64]) -> Option<u32> {
    let half = batches.iter().map(|(_, pass)| *pass).max()?.div_ceil(2);
    let older = batches.iter().copied().zip(logs.iter().copied());
    let (batches, logs): (Vec<Place>, Vec<f64>) =
        older.filter(|((_, pass), _)| *pass >= half).unzip();
    Line::through(&batches, &logs)?;
    batches.iter().map(|(_, pass)| *pass).min()
}

/// A straight line through the logarithms of a ratio, over the passes with which batches begin.
/// A copy is as old as its sitting is long, so that each sitting has a mean of its own, and all have
/// one slope.
struct Line {
    /// The passes of the youngest batch and the oldest one.
    youngest: f64,
    oldest: f64,
    /// At the youngest one.
    first: f64,
    /// From there to the oldest one.
    change: f64,
    /// The standard error of the change.
    error: f64,
    freedom: f64,
}

impl Line {
    /// `None` where batches are too few.
    fn through(batches: &[Place], logs: &[f64]) -> Option<Self> {
        let count = logs.len();
        assert_eq!(batches.len(), count);
        if count < BATCHES_MIN {
            return None;
        }
        let age = |batch: &Place| f64::from(batch.1);
        // About the means of their sittings.
        let (mut squares, mut products, mut left) = (0.0, 0.0, 0.0);
        let mut means = 0;
        let mut rest = logs;
        for of_sitting in batches.chunk_by(|one, next| one.0 == next.0) {
            let (own, others) = rest.split_at(of_sitting.len());
            rest = others;
            let middle = mean(&of_sitting.iter().map(age).collect::<Vec<f64>>());
            let center = mean(own);
            for (batch, log) in of_sitting.iter().zip(own) {
                let (age, log) = (age(batch) - middle, log - center);
                squares += age * age;
                products += age * log;
                left += log * log;
            }
            means += 1;
        }
        let freedom = count
            .checked_sub(means + 1)
            .filter(|freedom| *freedom > 0)? as f64;
        if squares <= 0.0 {
            return None;
        }
        let slope = products / squares;
        // What the line leaves of the squares; rounding can make nothing less than that.
        let left = (left - slope * products).max(0.0);
        let ages: Vec<f64> = batches.iter().map(age).collect();
        let youngest = ages.iter().copied().fold(f64::INFINITY, f64::min);
        let oldest = ages.iter().copied().fold(0.0, f64::max);
        // The line goes through the mean of all at their mean age.
        Some(Self {
            youngest,
            oldest,
            first: mean(logs) - slope * (mean(&ages) - youngest),
            change: slope * (oldest - youngest),
            error: (left / freedom / squares).sqrt() * (oldest - youngest),
            freedom,
        })
    }

    /// At a pass.
    fn at(&self, pass: f64) -> f64 {
        self.first + self.change * (pass - self.youngest) / (self.oldest - self.youngest)
    }

    /// The movement along it, if that is sure and matters.
    fn movement(&self) -> Option<Movement> {
        let is_sure = self.change.abs() > self.half_width(ERROR);
        let is_much = self.change.abs() >= RATIO_CHANGE_MIN.ln();
        (is_sure && is_much).then(|| Movement {
            first: self.first.exp(),
            last: (self.first + self.change).exp(),
        })
    }

    /// Of the interval of the change, by Student's t.
    fn half_width(&self, error: f64) -> f64 {
        critical_t(error, self.freedom) * self.error
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of sittings with so many.
    fn batches(sittings: &[u32]) -> Vec<Place> {
        let of = |(sitting, count): (u32, &u32)| (0..*count).map(move |place| (sitting, 4 * place));
        (0..).zip(sittings).flat_map(of).collect()
    }

    /// Some noise that is the same each time.
    fn noise(place: usize) -> f64 {
        ((place * 7919) as f64).sin() * 0.02
    }

    #[test]
    fn a_ratio_that_rises_by_a_tenth_moves_and_one_that_is_only_noisy_does_not() {
        let batches = batches(&[16]);
        let level: Vec<f64> = (0..16).map(|place| -0.4 + noise(place)).collect();
        assert_eq!(movement(&batches, &level), None);
        let rising = level.iter().enumerate();
        let rising: Vec<f64> = rising
            .map(|(place, log)| log + 0.1 * place as f64 / 15.0)
            .collect();
        let found = movement(&batches, &rising).unwrap();
        assert!((found.last / found.first - 1.1).abs() < 0.03, "{found:?}");
        // The middle is where it was in the mean.
        let mean = (rising.iter().sum::<f64>() / 16.0).exp();
        assert!(((found.first * found.last).sqrt() / mean - 1.0).abs() < 1e-9);
        // Too few to tell.
        assert_eq!(movement(&batches[..7], &rising[..7]), None);
    }

    #[test]
    fn sittings_begin_again_with_young_copies() {
        let batches = batches(&[8, 8]);
        let saw: Vec<f64> = (0..16)
            .map(|place| 0.02 * (place % 8) as f64 + noise(place) / 10.0)
            .collect();
        let found = movement(&batches, &saw).unwrap();
        assert!((found.last / found.first).ln() > 0.13, "{found:?}");
        // Another level in another sitting is no movement.
        let steps: Vec<f64> = (0..16)
            .map(|place| f64::from(u8::from(place >= 8)) * 0.2 + noise(place) / 10.0)
            .collect();
        assert_eq!(movement(&batches, &steps), None);
    }

    #[test]
    fn a_short_sitting_has_young_batches_alone() {
        let lengths = [16, 4];
        let of = |length: u32| (0..length).map(|place| 0.02 * f64::from(place));
        let logs: Vec<f64> = lengths.into_iter().flat_map(of).collect();
        let found = movement(&batches(&lengths), &logs).unwrap();
        assert!(found.first.ln().abs() < 1e-9, "{found:?}");
        assert!((found.last.ln() - 0.3).abs() < 1e-9, "{found:?}");
    }

    #[test]
    fn ages_are_passes_whatever_is_missing_between_them() {
        let mut batches = batches(&[32]);
        let mut logs: Vec<f64> = (0..32).map(|place| 0.02 * f64::from(place)).collect();
        // A storm.
        batches.drain(4..20);
        logs.drain(4..20);
        let found = movement(&batches, &logs).unwrap();
        assert!((found.last.ln() - 0.02 * 31.0).abs() < 1e-9, "{found:?}");
        assert_eq!(older_half(&batches, &logs), Some(80));
        assert_eq!(older_half(&batches[..15], &logs[..15]), Some(80));
        // Seven in the half.
        assert_eq!(older_half(&batches[..11], &logs[..11]), None);
        assert_eq!(older_half(&[], &[]), None);
    }

    #[test]
    fn what_moves_by_less_than_matters_is_none() {
        let batches = batches(&[40]);
        let slow: Vec<f64> = (0..40).map(|place| 0.001 * f64::from(place)).collect();
        assert_eq!(movement(&batches, &slow), None);
    }

    #[test]
    fn what_moves_for_sure_is_followed_however_slow_it_is() {
        let batches = batches(&[40]);
        let drifting = |rise: f64| -> Vec<f64> {
            let places = 0..40;
            places
                .map(|place| -0.1 + rise * f64::from(place) / 39.0 + noise(place as usize) / 10.0)
                .collect()
        };
        let later = at_age(&batches, &drifting(0.01), 20.0).unwrap();
        assert!((later - 0.1).abs() < 0.02, "{later}");
        assert_eq!(at_age(&batches, &drifting(0.0), 20.0), None);
        assert_eq!(at_age(&batches[..7], &drifting(0.5)[..7], 20.0), None);
    }

    #[test]
    fn a_ratio_is_level_once_batches_show_it() {
        let level = |count: u32, noise_factor: f64, rise: f64| {
            let logs: Vec<f64> = (0..count as usize)
                .map(|place| {
                    let age = place as f64 / f64::from(count - 1);
                    -0.4 + noise(place) * noise_factor + rise * age
                })
                .collect();
            is_level(&batches(&[count]), &logs)
        };
        assert!(level(8, 1.0, 0.0));
        assert!(!level(7, 1.0, 0.0), "too few");
        // Nothing is found to move, which is no proof.
        assert!(!level(8, 5.0, 0.0));
        assert!(level(200, 5.0, 0.0));
        assert!(!level(40, 1.0, 0.12));
        assert!(level(40, 1.0, 0.03));
        assert!(!level(200, 0.1, 0.08), "it moves for sure");
        // A batch a sitting: all copies are as young.
        let young = batches(&[1; 5]);
        assert!(is_level(&young, &[0.1, 0.5, 0.2, 0.3, 0.4]));
        assert!(is_level(&batches(&[1, 1, 1, 2, 1, 1, 1]), &[0.1; 8]));
        assert!(!is_level(&batches(&[2]), &[0.1; 2]));
    }
}
