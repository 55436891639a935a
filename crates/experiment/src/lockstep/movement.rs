//! Whether a ratio moves while the databases grow older.

use serde::Serialize;

use super::Batch;

/// How a ratio moved within sittings: the ends of the straight line through the logarithms of its
/// batches, at the first and the last batch of the longest sitting.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Movement {
    /// The ratio at the beginning of a sitting.
    pub first: f64,
    /// At the end.
    pub last: f64,
}

/// Batches from which on a line has a slope to speak of. Chosen.
const BATCHES_MIN: usize = 8;

/// Standard errors of the slope from which on it is no chance. Chosen; batches that resemble their
/// neighbors need more than the two of independent ones.
const ERRORS: f64 = 3.0;

/// The change from which on it matters. Chosen.
const CHANGE_MIN: f64 = 1.05;

/// The movement of a ratio by its batches and their logarithms, if there is one. A copy is as old as
/// its sitting is long, so that each sitting has a mean of its own, and all have one slope.
pub(super) fn movement(batches: &[Batch], logs: &[f64]) -> Option<Movement> {
    let count = logs.len();
    if count < BATCHES_MIN {
        return None;
    }
    // Ages, and the logarithms that belong to them, about the means of their sittings.
    let mut points: Vec<(f64, f64)> = Vec::with_capacity(count);
    let (mut sittings, mut longest) = (0, 0);
    for (batches, logs) in by_sitting(batches, logs) {
        let length = logs.len() as f64;
        let mean = logs.iter().sum::<f64>() / length;
        let middle = (length - 1.0) / 2.0;
        let about = logs.iter().enumerate();
        points.extend(about.map(|(age, log)| (age as f64 - middle, log - mean)));
        sittings += 1;
        longest = longest.max(batches.len());
    }
    let squares: f64 = points.iter().map(|(age, _)| age * age).sum();
    let products: f64 = points.iter().map(|(age, log)| age * log).sum();
    let freedom = count
        .checked_sub(sittings + 1)
        .filter(|freedom| *freedom > 0)?;
    if squares <= 0.0 {
        return None;
    }
    let slope = products / squares;
    let left: f64 = points
        .iter()
        .map(|(age, log)| (log - slope * age).powi(2))
        .sum();
    let error = (left / freedom as f64 / squares).sqrt();
    let half = slope * (longest as f64 - 1.0) / 2.0;
    let is_sure = slope.abs() > ERRORS * error;
    let is_much = (2.0 * half).abs() >= CHANGE_MIN.ln();
    let middle = logs.iter().sum::<f64>() / count as f64;
    (is_sure && is_much).then(|| Movement {
        first: (middle - half).exp(),
        last: (middle + half).exp(),
    })
}

/// The batches of each sitting, with what belongs to them.
fn by_sitting<'a>(
    batches: &'a [Batch],
    logs: &'a [f64],
) -> impl Iterator<Item = (&'a [Batch], &'a [f64])> {
    let mut rest = logs;
    batches
        .chunk_by(|one, next| one.sitting == next.sitting)
        .map(move |of_sitting| {
            let (own, others) = rest.split_at(of_sitting.len().min(rest.len()));
            rest = others;
            (of_sitting, own)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn batches(sittings: &[u32]) -> Vec<Batch> {
        let of = |(sitting, count): (u32, &u32)| {
            (0..*count).map(move |place| Batch {
                sitting,
                pass: place * 4,
                throughput: 1.0,
            })
        };
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
    fn what_moves_by_less_than_matters_is_none() {
        let batches = batches(&[40]);
        let slow: Vec<f64> = (0..40).map(|place| 0.001 * f64::from(place)).collect();
        assert_eq!(movement(&batches, &slow), None);
    }
}
