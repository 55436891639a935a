//! MSER-5: where the warm-up ends.
//!
//! White, Cobb & Spratt, "A comparison of five steady-state truncation
//! heuristics for simulation", Winter Simulation Conference 2000: the series
//! is averaged in batches of five, and as many batches are cut off its
//! beginning as make the standard error of the mean of the rest least.

use crate::series::{batch_means, mean, standard_deviation};

/// Values in a batch.
const BATCH: usize = 5;

/// So many batches at the end are never cut off: a few values that happen to
/// lie close together would win. Five, as Hoad, Robinson & Davies,
/// "Automating warm-up length estimation", Journal of the Operational Research
/// Society 61 (2010), section 3, have it; of short series a quarter, so that a
/// cut in the second half can be seen.
const KEPT: usize = 5;

/// How many values to cut off the beginning of `values`, at most `most`; a
/// multiple of [`BATCH`]. 0 of a series that has no more batches than are
/// kept.
pub(super) fn cut(values: &[f64], most: usize) -> usize {
    let batches = batch_means(values, BATCH);
    let least = KEPT.min(batches.len().div_ceil(4));
    // From the end, with Welford's sums of what is kept.
    let (mut mean, mut squares) = (0.0, 0.0);
    let mut best = (f64::INFINITY, 0);
    for (kept, (first, value)) in (1..).zip(batches.iter().enumerate().rev()) {
        let count = f64::from(kept);
        let difference = value - mean;
        mean += difference / count;
        squares += difference * (value - mean);
        let error = squares / (count * count);
        // Of equal ones the one that keeps more, which comes later.
        if kept as usize >= least && first * BATCH <= most && error <= best.0 {
            best = (error, first * BATCH);
        }
    }
    best.1
}

/// Noise of a batch, in standard deviations of the rest's batches: one in
/// 30,000 normal ones is farther off on its side.
const NOISE: f64 = 4.0;

/// Whether the first `cut` values approach the level of the rest from one side:
/// what goes back on the way, or beyond the level, is no warm-up but a stall,
/// or the work that a stall has left. Steps back within the noise of the rest
/// count as none, and so do those of less than `share` of its level or than
/// `matters`.
pub(super) fn is_approach(values: &[f64], cut: usize, share: f64, matters: f64) -> bool {
    let rest = batch_means(&values[cut..], BATCH);
    let level = mean(&rest);
    let noise = if rest.len() > 1 {
        NOISE * standard_deviation(&rest)
    } else {
        0.0
    };
    let tolerance = noise.max(share * level.abs()).max(matters);
    let mut steps = batch_means(&values[..cut], BATCH);
    steps.push(level);
    let upward = if steps[0] <= level { 1.0 } else { -1.0 };
    let mut farthest = f64::NEG_INFINITY;
    steps.iter().all(|step| {
        farthest = farthest.max(upward * step);
        upward * step >= farthest - tolerance
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Batches of these means.
    fn batches(means: &[f64]) -> Vec<f64> {
        means.iter().flat_map(|&mean| [mean; BATCH]).collect()
    }

    #[test]
    fn an_approach_is_one_sided_and_ends_at_the_level() {
        let is_approach = |before: &[f64]| {
            let level = [10.0, 10.2, 9.8, 10.0, 10.2, 9.8];
            let values = batches(&[before, &level].concat());
            is_approach(&values, before.len() * BATCH, 0.15, 0.0)
        };
        assert!(is_approach(&[]));
        assert!(is_approach(&[2.0, 6.0, 9.0]), "from below");
        assert!(is_approach(&[30.0, 18.0, 12.0]), "from above");
        assert!(is_approach(&[2.0, 6.0, 5.0, 11.0]), "within 1.5");
        assert!(!is_approach(&[2.0, 8.0, 5.0]), "a step back");
        assert!(!is_approach(&[0.0, 0.0, 15.0]), "catches up");
        assert!(!is_approach(&[14.0, 6.0, 11.0]), "through the level");
    }

    #[test]
    fn the_statistic_is_the_papers() {
        // The sum of squares over the square of the count: 49.71/49 of all
        // batches, 1.5/36 = 0.0417 without the first, 1.2/25 = 0.048 without
        // two.
        let values = batches(&[9.0, 1.0, 2.0, 1.0, 2.0, 1.0, 2.0]);
        assert_eq!(cut(&values, usize::MAX), BATCH);
        assert_eq!(cut(&values, 0), 0);
    }

    #[test]
    fn nothing_is_cut_of_what_does_not_change_or_is_short() {
        assert_eq!(cut(&[3.0; 100], usize::MAX), 0);
        assert_eq!(cut(&[9.0, 1.0, 1.0, 1.0, 1.0], usize::MAX), 0);
        assert_eq!(cut(&[], usize::MAX), 0);
    }
}
