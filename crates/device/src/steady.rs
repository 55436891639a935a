//! Steady state as the SNIA Solid State Storage Performance Test
//! Specification defines it: pure functions over the rates of rounds.
//!
//! PTS 2.0.2, definition "Steady State"
//! (<https://www.snia.org/tech_activities/standards/curr_standards/pts>): in
//! a window of 5 rounds the largest and smallest value differ by at most 20 %
//! of the average, and so do, by at most 10 %, the largest and smallest value
//! of the least-squares line through them.
//!
//! Rounds there last a minute. fio's `steadystate` compares values of one second each, with
//! limits that its user gives. What is measured for a tenth of a second varies by more than
//! these limits on any machine that does something else too, and says nothing of the
//! storage's state: for such rounds there is [`margin`].
//!
//! Not covered: *what* is a round. The specification repeats a whole set of
//! points per round; here a point may be repeated by itself, so that it can
//! be measured alone. See docs/device-profile.md.

/// Rounds that are looked at together.
pub const WINDOW: usize = 5;

/// A write point gives up being steady after this many rounds (PTS: "no more
/// than 25 rounds").
pub const ROUNDS_MAX: usize = 25;

const EXCURSION_MAX: f64 = 0.20;
const SLOPE_EXCURSION_MAX: f64 = 0.10;

/// Whether exactly one window of rates is steady. Fewer values than
/// [`WINDOW`], and rates that average 0, never are.
pub fn is_steady(window: &[f64]) -> bool {
    if window.len() != WINDOW {
        return false;
    }
    let average = window.iter().sum::<f64>() / WINDOW as f64;
    if average.is_nan() || average <= 0.0 {
        return false;
    }
    let largest = window.iter().copied().fold(f64::MIN, f64::max);
    let smallest = window.iter().copied().fold(f64::MAX, f64::min);
    // A straight line's largest and smallest values lie at its ends, which
    // are WINDOW - 1 rounds apart.
    let line_excursion = slope(window).abs() * (WINDOW - 1) as f64;
    largest - smallest <= EXCURSION_MAX * average && line_excursion <= SLOPE_EXCURSION_MAX * average
}

/// The first round, counted from 1, whose window of that round and the four
/// before it is steady.
pub fn first_steady_round(rates: &[f64]) -> Option<usize> {
    rates
        .windows(WINDOW)
        .position(is_steady)
        .map(|start| start + WINDOW)
}

/// Rounds that are shorter are not asked whether they are steady, in seconds: half of what
/// fio takes.
pub const ROUND_S_MIN: f64 = 0.5;

/// Student's t of four degrees of freedom at 97.5%, for the mean of [`WINDOW`] rounds.
const T_OF_WINDOW: f64 = 2.776;

/// Half of the 95% confidence interval of the mean of the last [`WINDOW`] rates, as a share
/// of that mean; `None` with fewer, or with none above 0.
pub fn margin(rates: &[f64]) -> Option<f64> {
    let window = rates.last_chunk::<WINDOW>()?;
    let count = WINDOW as f64;
    let mean = window.iter().sum::<f64>() / count;
    let squares = window.iter().map(|rate| (rate - mean).powi(2)).sum::<f64>();
    let error = (squares / (count - 1.0) / count).sqrt();
    let margin = T_OF_WINDOW * error / mean;
    (mean > 0.0 && margin.is_finite()).then_some(margin)
}

/// The slope of the least-squares line through `values` at 0, 1, 2, ...
fn slope(values: &[f64]) -> f64 {
    let count = values.len() as f64;
    let x_mean = (count - 1.0) / 2.0;
    let y_mean = values.iter().sum::<f64>() / count;
    let (mut covariance, mut variance) = (0.0, 0.0);
    for (index, value) in values.iter().enumerate() {
        let x = index as f64 - x_mean;
        covariance += x * (value - y_mean);
        variance += x * x;
    }
    covariance / variance
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slope_of_a_line_is_its_slope() {
        assert_eq!(slope(&[3.0, 5.0, 7.0, 9.0, 11.0]), 2.0);
        // By hand: covariance -2*1 + -1*2 + 0 + 1*2 + 2*9 = 16 less nothing
        // (the x sum to 0), variance 10.
        assert!((slope(&[1.0, 2.0, 5.0, 2.0, 9.0]) - 1.6).abs() < 1e-12);
    }

    #[test]
    fn the_excursion_limit_is_a_fifth_of_the_average() {
        // Symmetric, so the line is flat and only the excursion counts.
        assert!(is_steady(&[100.0, 90.0, 110.0, 90.0 + 10.0, 100.0]));
        assert!(is_steady(&[110.0, 90.0, 100.0, 90.0, 110.0]));
        assert!(!is_steady(&[111.0, 89.0, 100.0, 89.0, 111.0]));
    }

    #[test]
    fn the_slope_limit_is_a_tenth_of_the_average() {
        // 2.5 a round over 4 steps is 10 of 100.
        assert!(is_steady(&[95.0, 97.5, 100.0, 102.5, 105.0]));
        // 2.6 a round: the excursion of 10.4 is allowed, the slope is not.
        assert!(!is_steady(&[94.8, 97.4, 100.0, 102.6, 105.2]));
        assert!(!is_steady(&[105.2, 102.6, 100.0, 97.4, 94.8]));
    }

    #[test]
    fn the_margin_is_that_of_students_t() {
        assert_eq!(margin(&[7.0; 5]), Some(0.0));
        // By hand: mean 100, squares 1000, error of the mean sqrt(1000 / 4 / 5) = 7.07.
        let found = margin(&[1.0, 110.0, 90.0, 100.0, 80.0, 120.0]).unwrap();
        assert!((found - 0.1963).abs() < 1e-4, "{found}");
        for rates in [
            &[100.0; 4][..],
            &[0.0; 5],
            &[f64::NAN; 5],
            &[f64::INFINITY; 5],
        ] {
            assert_eq!(margin(rates), None);
        }
    }

    #[test]
    fn the_first_steady_round_ends_its_window() {
        let falling_then_flat = [900.0, 500.0, 300.0, 100.0, 100.0, 100.0, 100.0, 100.0];
        assert_eq!(first_steady_round(&falling_then_flat), Some(8));
        assert_eq!(first_steady_round(&[100.0; 5]), Some(5));
        assert_eq!(first_steady_round(&[100.0; 4]), None);
        assert_eq!(first_steady_round(&[0.0; 9]), None);
        assert_eq!(first_steady_round(&[f64::NAN; 9]), None);
    }
}
