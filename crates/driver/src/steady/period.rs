//! Whether a series repeats itself: by the peaks of its autocorrelation.

use crate::series::{line, mean};

/// Fewer values tell nothing.
const VALUES_MIN: usize = 20;

/// The least contrast (see [`period`]) that is a period. A sawtooth reaches it
/// while noise has less than half of the variance.
const CONTRAST: f64 = 0.45;

/// … and in short or dependent series: so many times the standard error of the
/// autocorrelations, sqrt((1 + 2 (r1^2 + r2^2 + …)) / n) with those before the
/// first that is negative (Bartlett, "On the theoretical specification and
/// sampling properties of autocorrelated time-series", Supplement to the
/// Journal of the Royal Statistical Society 8, 1946). Of white noise and of
/// autoregressions up to 0.9 at most 3 % of series reach it (the tests
/// count).
const CONTRAST_ERRORS: f64 = 5.0;

/// The period of `values`, in values, when they repeat themselves at least
/// three times: the autocorrelations at one and two periods are, on average,
/// higher by `CONTRAST` than those half a period before them.
pub(super) fn period(values: &[f64]) -> Option<f64> {
    let count = values.len();
    if count < VALUES_MIN {
        return None;
    }
    let trend = line(values);
    let flat: Vec<f64> = (0u32..)
        .zip(values)
        .map(|(index, value)| value - trend.at(f64::from(index)))
        .collect();
    let correlations = autocorrelations(&flat, 2 * count / 3 + 1);
    let longest = count / 3;
    let start = correlations.iter().position(|&r| r < 0.0)?;
    let is_peak = |lag: usize| {
        correlations[lag] >= correlations[lag - 1] && correlations[lag] > correlations[lag + 1]
    };
    let highest = (start + 1..=longest)
        .filter(|&lag| is_peak(lag))
        .map(|lag| correlations[lag])
        .reduce(f64::max)?;
    // Multiples of the period are about as high as the period itself.
    let first = (start + 1..=longest).find(|&lag| {
        is_peak(lag) && correlations[lag] > 0.0 && correlations[lag] >= 0.6 * highest
    })?;
    let first = peak_near(&correlations, first, first.div_ceil(4) - 1);
    if 2 * first >= correlations.len() {
        return None;
    }
    let second = peak_near(&correlations, 2 * first, first.div_ceil(4));
    let high = (correlations[first] + correlations[second]) / 2.0;
    let half = |lag: usize| (correlations[lag / 2] + correlations[lag.div_ceil(2)]) / 2.0;
    let low = (half(first) + half(first + second)) / 2.0;
    let dependence = 2.0 * correlations[1..start].iter().map(|r| r * r).sum::<f64>();
    let error = ((1.0 + dependence) / count as f64).sqrt();
    let least = CONTRAST.max(CONTRAST_ERRORS * error);
    if high - low < least {
        return None;
    }
    // The further away the peak, the better it tells the period.
    let mut period = top_of(&correlations, second) / 2.0;
    for times in 3u32.. {
        let lag = (period * f64::from(times)).round() as usize;
        if lag + first.div_ceil(4) + 1 >= correlations.len() {
            break;
        }
        let peak = peak_near(&correlations, lag, first.div_ceil(4));
        if correlations[peak] < 0.5 * correlations[first] {
            break;
        }
        period = top_of(&correlations, peak) / f64::from(times);
    }
    Some(period)
}

/// The highest lag within `reach` of `lag`.
fn peak_near(correlations: &[f64], lag: usize, reach: usize) -> usize {
    let last = (lag + reach).min(correlations.len() - 1);
    (lag - reach..=last)
        .max_by(|&a, &b| correlations[a].total_cmp(&correlations[b]))
        .unwrap_or(lag)
}

/// The top of the parabola through a peak and its neighbours.
fn top_of(correlations: &[f64], peak: usize) -> f64 {
    let at = peak as f64;
    let (Some(&before), Some(&after)) = (
        peak.checked_sub(1).and_then(|lag| correlations.get(lag)),
        correlations.get(peak + 1),
    ) else {
        return at;
    };
    let bend = before - 2.0 * correlations[peak] + after;
    if bend >= 0.0 {
        return at;
    }
    at + (0.5 * (before - after) / bend).clamp(-0.5, 0.5)
}

/// `values` without what repeats itself each `period`: of each phase the
/// median of all periods is taken off, and the mean of the medians put back.
/// (The median, since a warm-up is in the first periods alone.)
pub(super) fn without_period(values: &[f64], period: f64) -> Vec<f64> {
    let phases = (period.floor() as usize).max(1);
    let phase = |index: usize| {
        let turns = index as f64 / period;
        (((turns - turns.floor()) * phases as f64 + 1e-9) as usize).min(phases - 1)
    };
    let mut of_phase = vec![Vec::new(); phases];
    for (index, &value) in values.iter().enumerate() {
        of_phase[phase(index)].push(value);
    }
    let medians: Vec<f64> = of_phase.iter_mut().map(|values| median(values)).collect();
    let counts = (0..values.len()).map(|index| medians[phase(index)]);
    let level = counts.sum::<f64>() / values.len().max(1) as f64;
    let flat = |(index, value)| value - medians[phase(index)] + level;
    values.iter().enumerate().map(flat).collect()
}

/// The median; 0 of nothing. Sorts.
pub(super) fn median(values: &mut [f64]) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    match values.len() {
        0 => 0.0,
        count if count % 2 == 1 => values[count / 2],
        count => (values[count / 2 - 1] + values[count / 2]) / 2.0,
    }
}

/// The autocorrelation of `values` at each lag from 0 to `longest`, each sum
/// of products divided by its own number of terms. Empty where the values do
/// not vary.
pub(super) fn autocorrelations(values: &[f64], longest: usize) -> Vec<f64> {
    let centre = mean(values);
    let around: Vec<f64> = values.iter().map(|value| value - centre).collect();
    let covariance = |lag: usize| {
        let products = around.iter().zip(&around[lag..]).map(|(a, b)| a * b);
        products.sum::<f64>() / (around.len() - lag) as f64
    };
    if values.len() < 2 {
        return Vec::new();
    }
    let variance = covariance(0);
    // Equal values differ by rounding alone.
    if variance <= (centre * 1e-9).powi(2) {
        return Vec::new();
    }
    (0..=longest.min(values.len() - 1))
        .map(|lag| covariance(lag) / variance)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{super::tests::autoregression, *};

    fn sawtooth(count: usize, period: f64, noise: f64, seed: u64) -> Vec<f64> {
        let noise = autoregression(seed, count, 0.0, noise);
        let tooth = |(index, noise)| {
            let turns = index as f64 / period;
            100.0 + 60.0 * (turns - turns.floor() - 0.5) + noise
        };
        noise.into_iter().enumerate().map(tooth).collect()
    }

    #[test]
    fn a_sawtooth_has_its_period() {
        // 60 * sqrt(1/12) = 17.3 is the tooth's standard deviation.
        for (count, wanted) in [
            (60, 7.0),
            (100, 3.0),
            (100, 12.5),
            (300, 90.0),
            (1000, 41.3),
        ] {
            for seed in 0..50 {
                let found = period(&sawtooth(count, wanted, 8.0, seed));
                let error = found.map(|found| (found / wanted - 1.0).abs());
                assert!(error.is_some_and(|e| e < 0.06), "{found:?} of {wanted}");
            }
        }
    }

    #[test]
    fn short_stalls_that_return_are_periodic() {
        // One value in nine is low.
        for seed in 0..50 {
            let mut values = autoregression(seed, 100, 0.0, 5.0);
            for (index, value) in values.iter_mut().enumerate() {
                *value += if index % 9 == 4 { 40.0 } else { 100.0 };
            }
            let found = period(&values).unwrap();
            assert!((found - 9.0).abs() < 0.3, "{found}");
        }
    }

    #[test]
    fn noise_is_rarely_periodic() {
        for count in [60, 100, 300] {
            for correlation in [0.0, 0.5, 0.8, 0.9] {
                let periodic = (0..500)
                    .filter(|&seed| {
                        period(&autoregression(seed, count, correlation, 1.0)).is_some()
                    })
                    .count();
                assert!(periodic <= 15, "{periodic} of 500 ({count}, {correlation})");
            }
        }
    }

    #[test]
    fn what_repeats_is_taken_off_and_what_does_not_stays() {
        let values = sawtooth(120, 12.0, 0.0, 0);
        let flat = without_period(&values, 12.0);
        let level = crate::series::mean(&values);
        assert!(flat.iter().all(|value| (value - level).abs() < 1e-9));
        // A warm-up of one period of ten is still seen.
        let slow: Vec<f64> = (0..)
            .zip(&values)
            .map(|(index, value)| if index < 12 { value / 2.0 } else { *value })
            .collect();
        let flat = without_period(&slow, 12.0);
        assert!(flat[..12].iter().all(|value| *value < 80.0), "{flat:?}");
    }
}
