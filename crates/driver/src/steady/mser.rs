//! MSER-5: where the warm-up ends.
//!
//! White, Cobb & Spratt, "A comparison of five steady-state truncation
//! heuristics for simulation", Winter Simulation Conference 2000: the series
//! is averaged in batches of five, and as many batches are cut off its
//! beginning as make the standard error of the mean of the rest least.

use crate::series::batch_means;

/// Values in a batch.
pub const BATCH: usize = 5;

/// So many batches at the end are never cut off: a few values that happen to
/// lie close together would win. Five, as Hoad, Robinson & Davies,
/// "Automating warm-up length estimation", Journal of the Operational Research
/// Society 61 (2010), section 3, have it; of short series a quarter, so that a
/// cut in the second half can be seen.
const KEPT: usize = 5;

/// How many values to cut off the beginning of `values`, at most `most`; a
/// multiple of [`BATCH`]. 0 of a series that has no more batches than are
/// kept.
pub fn cut(values: &[f64], most: usize) -> usize {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_statistic_is_the_papers() {
        // The sum of squares over the square of the count: 49.71/49 of all
        // batches, 1.5/36 = 0.0417 without the first, 1.2/25 = 0.048 without
        // two.
        let means = [9.0, 1.0, 2.0, 1.0, 2.0, 1.0, 2.0];
        let values: Vec<f64> = means.iter().flat_map(|&mean| [mean; BATCH]).collect();
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
