//! Where the level of a series changes, and whether it goes up or down all the
//! time.
//!
//! Both are tested against the noise that is left when neighbours are
//! subtracted from each other: changes of level and slow ones hardly touch
//! differences, so they neither pass for noise nor for its dependence.

use super::period::median;
use crate::series::line;

/// A change of level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Change {
    /// The first value of the new level.
    pub(super) at: usize,
    /// The mean before it, back to the change before.
    pub(super) before: f64,
    /// The mean from it on, up to the next change.
    pub(super) after: f64,
}

/// What a change has to explain: squares of at least this times ln n times the
/// variance of the noise. Twice what the Bayesian information criterion asks
/// for the place and the size of a change (Yao, "Estimating the number of
/// change-points via Schwarz' criterion", Statistics & Probability Letters 6,
/// 1988): a false alarm costs a run.
const PENALTY: f64 = 4.0;

/// The changes of level in `values`, at least `shortest` apart: those that
/// leave the least squares, each change counting as much as it has to explain.
/// Found exactly, by optimal partitioning (Jackson et al., "An algorithm for
/// optimal partitioning of data on an interval", IEEE Signal Processing
/// Letters 12, 2005): cutting in two again and again would miss a stall, whose
/// two ends explain little each. Takes time with the square of their number.
pub(super) fn change_points(values: &[f64], shortest: usize) -> Vec<Change> {
    let (count, shortest) = (values.len(), shortest.max(1));
    if count < 2 * shortest {
        return Vec::new();
    }
    let penalty = least(values);
    let centre = crate::series::mean(values);
    let mut sums = vec![(0.0, 0.0)];
    for value in values {
        let (sum, squares) = sums[sums.len() - 1];
        let value = value - centre;
        sums.push((sum + value, squares + value * value));
    }
    let squares = |first: usize, end: usize| {
        let sum = sums[end].0 - sums[first].0;
        sums[end].1 - sums[first].1 - sum * sum / (end - first) as f64
    };
    // Of the first so many values: the least cost, and the last change.
    let mut best: Vec<(f64, usize)> = vec![(f64::INFINITY, 0); count + 1];
    best[0].0 = -penalty;
    for end in shortest..=count {
        best[end] = (0..=end - shortest)
            .map(|first| (best[first].0 + penalty + squares(first, end), first))
            .min_by(|a, b| a.0.total_cmp(&b.0))
            .unwrap_or((f64::INFINITY, 0));
    }
    let mut edges = vec![count];
    while let Some(&end) = edges.last()
        && end > 0
    {
        edges.push(best[end].1);
    }
    edges.reverse();
    let mean = |first: usize, end: usize| crate::series::mean(&values[first..end]);
    edges
        .windows(3)
        .map(|edge| Change {
            at: edge[1],
            before: mean(edge[0], edge[1]),
            after: mean(edge[1], edge[2]),
        })
        .collect()
}

/// By how much `values` rise (or fall, below 0) from their beginning to their
/// end along the straight line through them; `None` when that may be chance.
pub(super) fn trend(values: &[f64]) -> Option<f64> {
    let count = values.len() as f64;
    let slope = line(values).slope;
    let explained = slope * slope * count * (count * count - 1.0) / 12.0;
    (explained > least(values)).then_some(slope * (count - 1.0))
}

/// The squares that a change of `values` has to explain at least.
fn least(values: &[f64]) -> f64 {
    let count = values.len() as f64;
    // Equal values differ by rounding.
    let size = values.iter().fold(0.0, |most: f64, v| most.max(v.abs()));
    (PENALTY * count.ln() * noise(values)).max(count * (size * 1e-9).powi(2))
}

/// What the variance of the mean of noise like that of `values` is, times
/// their number: v (1 + r) / (1 - r) with the variance v and the
/// autocorrelation r of neighbours (an autoregression of the first order).
///
/// Both from differences: their mean square is 2 v (1 - r) over one place and
/// 2 v (1 - r^2) over two, so the ratio is 1 + r. (The idea is that of Chakar,
/// Lebarbier, Levy-Leduc & Robin, "A robust approach for estimating
/// change-points in the mean of an AR(1) process", Bernoulli 23, 2017, who
/// take medians, which needs longer series than there are.) Differences are
/// bounded, those for v less tightly, so that a change of level is one of many
/// and a stall still belongs to the noise. r is raised by its standard error,
/// about 1 / sqrt(n).
fn noise(values: &[f64]) -> f64 {
    if values.len() < 4 {
        return f64::INFINITY;
    }
    // Without what a trend adds to all of them.
    let differences = |places: usize| -> Vec<f64> {
        let pairs = values.iter().zip(&values[places..]);
        let differences: Vec<f64> = pairs.map(|(a, b)| b - a).collect();
        let usual = median(&mut differences.clone());
        differences.iter().map(|d| (d - usual).abs()).collect()
    };
    let one = differences(1);
    let mean_square = |differences: &[f64], most: f64| {
        let squares = differences.iter().map(|d| d.min(most).powi(2));
        squares.sum::<f64>() / differences.len() as f64
    };
    let most = DIFFERENCE_MAX * median(&mut one.clone());
    if most <= 0.0 {
        // Most differences are none: what is left are changes, or stalls.
        return mean_square(&one, f64::INFINITY) / 2.0;
    }
    let near = mean_square(&one, most);
    let correlation = if near > 0.0 {
        let found = mean_square(&differences(2), most) / near - 1.0;
        let error = (values.len() as f64).sqrt().recip();
        (found + error).clamp(0.0, CORRELATION_MAX)
    } else {
        0.0
    };
    let variance = mean_square(&one, 2.0 * most) / 2.0 / (1.0 - correlation);
    variance * (1.0 + correlation) / (1.0 - correlation)
}

/// In medians of the differences: of normal ones (median 0.67 standard
/// deviations) one in 23 is larger.
const DIFFERENCE_MAX: f64 = 3.0;

/// The correlation is taken to be no more than this. Of more, a series of some
/// dozen values shows no change at all, and the estimate, which errs by 0.15,
/// would say so of many a series that has one.
const CORRELATION_MAX: f64 = 0.7;

#[cfg(test)]
mod tests {
    use super::{super::tests::autoregression, *};

    fn with(noise: &[f64], level: impl Fn(usize) -> f64) -> Vec<f64> {
        let at = |(index, noise): (usize, &f64)| level(index) + noise;
        noise.iter().enumerate().map(at).collect()
    }

    #[test]
    fn steps_are_found_where_they_are() {
        let mut found_in = 0;
        for seed in 0..100 {
            let noise = autoregression(seed, 40, 0.2, 4.0);
            let level = |index| match index {
                0..12 => 100.0,
                12..25 => 130.0,
                _ => 90.0,
            };
            let found = change_points(&with(&noise, level), 4);
            if found.len() != 2 {
                continue;
            }
            found_in += 1;
            assert!(found[0].at.abs_diff(12) <= 1 && found[1].at.abs_diff(25) <= 1);
            assert!((found[1].after - 90.0).abs() < 8.0, "{found:?}");
        }
        assert!(found_in >= 90, "{found_in} of 100");
    }

    #[test]
    fn a_step_without_noise_is_found_and_a_constant_has_none() {
        let step: Vec<f64> = (0..20).map(|i| if i < 7 { 3.0 } else { 4.0 }).collect();
        let found = change_points(&step, 2);
        let expected = Change {
            at: 7,
            before: 3.0,
            after: 4.0,
        };
        assert_eq!(found, [expected]);
        assert!(change_points(&[0.1 + 0.2; 40], 2).is_empty());
        assert!(change_points(&[0.0; 40], 2).is_empty());
        assert!(change_points(&[1.0, 2.0], 2).is_empty());
    }

    #[test]
    fn trends_are_found_straight_or_bent() {
        for seed in 0..100 {
            let noise = autoregression(seed, 40, 0.2, 3.0);
            let rise = trend(&with(&noise, |i| 100.0 + 1.5 * i as f64)).unwrap();
            assert!((rise - 58.5).abs() < 15.0, "{rise}");
            let bent = trend(&with(&noise, |i| 100.0 - 60.0 * (-(i as f64) / 20.0).exp()));
            assert!(bent.is_some_and(|rise| rise > 25.0), "{bent:?}");
        }
        let rise = trend(&with(&[0.0; 20], |i| i as f64)).unwrap();
        assert!((rise - 19.0).abs() < 1e-9);
        assert_eq!(trend(&[0.1 + 0.2; 20]), None);
        assert_eq!(trend(&[0.0; 20]), None);
    }

    #[test]
    fn noise_is_rarely_a_change() {
        for count in [40, 60] {
            for (correlation, most) in [(0.0, 10), (0.3, 20), (0.6, 50), (0.8, 250)] {
                let of = |found: &dyn Fn(&[f64]) -> bool| {
                    let found = |&seed: &u64| found(&autoregression(seed, count, correlation, 1.0));
                    (0..1000).filter(found).count()
                };
                let steps = of(&|noise| !change_points(noise, count / 10).is_empty());
                let trends = of(&|noise| trend(noise).is_some());
                assert!(steps <= most && trends <= most, "{steps} {trends} of 1000");
            }
        }
    }
}
