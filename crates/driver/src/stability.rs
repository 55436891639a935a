//! How even a run was: a result of its own. What windows are is [`octavo_units::spread`]'s.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    observer::Sample,
    steady::{Tick, longest_gap_s, spread},
};

/// A sample of at least this length counts as a second, s: looks come 20 ms
/// apart, and the last sample may be cut short.
const SECOND_MIN_S: f64 = 0.9;

/// How even the throughput was in the time of the figures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Stability {
    /// Length of the windows, s: 10, or a tenth of the run where that is less.
    pub window_s: f64,
    /// Coefficient of variation of the throughput between windows: standard
    /// deviation ÷ mean. `None` with fewer than two windows, or nothing
    /// counted.
    pub variation: Option<f64>,
    /// The longest time without a counted commit, s, from the workers' own
    /// clocks; what was before the figures' time is left out.
    pub longest_stall_s: f64,
    /// The lowest throughput of a whole second ÷ the mean; `None` without one.
    pub lowest_second: Option<f64>,
}

/// The stability of a run, from the ticks of its figures and its seconds (of
/// which those that are measured count).
pub fn stability(ticks: &[Tick], samples: &[Sample]) -> Stability {
    let length_s: f64 = ticks.iter().map(|tick| tick.length_s).sum();
    let counted: u64 = ticks.iter().map(|tick| tick.counted).sum();
    let level = counted as f64 / length_s.max(1e-9);
    let (window_s, spread) = spread(ticks);
    let lowest_second = samples
        .iter()
        .filter(|sample| sample.measured && sample.length.as_secs_f64() >= SECOND_MIN_S)
        .map(|sample| sample.counted as f64 / sample.length.as_secs_f64())
        .reduce(f64::min)
        .filter(|_| counted > 0)
        .map(|lowest| lowest / level);
    Stability {
        window_s,
        variation: spread.map(|spread| spread.variation),
        longest_stall_s: longest_gap_s(ticks),
        lowest_second,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use octavo_units::ByteCount;

    use super::*;

    /// Each commit is at the end of its tick.
    fn ticks(counted: impl IntoIterator<Item = u64>, length_s: f64) -> Vec<Tick> {
        let mut gap_s = 0.0;
        let tick = |counted| {
            gap_s += length_s;
            let tick = Tick {
                length_s,
                counted,
                gap_s,
                ..Tick::default()
            };
            if counted > 0 {
                gap_s = 0.0;
            }
            tick
        };
        counted.into_iter().map(tick).collect()
    }

    #[test]
    fn windows_last_ten_seconds_or_a_tenth_of_the_run() {
        // 200 s: ten windows at 100/s, ten at 140/s.
        let counted = (0..200).map(|second| if second < 100 { 100 } else { 140 });
        let long = stability(&ticks(counted, 1.0), &[]);
        assert_eq!(long.window_s, 10.0);
        // Of 20 values 20 off 120 on each side: sd = 20 sqrt(20/19).
        let expected = 20.0 * (20.0_f64 / 19.0).sqrt() / 120.0;
        assert!(
            (long.variation.unwrap() - expected).abs() < 1e-9,
            "{long:?}"
        );
        let short = stability(&ticks((0..60).map(|tick| 1 + tick % 2), 0.02), &[]);
        assert!((short.window_s - 0.12).abs() < 1e-12);
        assert!(
            short.variation.unwrap() < 1e-9,
            "six ticks have 9 each: {short:?}"
        );
    }

    #[test]
    fn the_longest_stall_and_the_lowest_second_are_found() {
        let mut counted = vec![50; 100];
        counted[10..13].fill(0);
        counted[40..47].fill(0);
        let sample = |measured, millis, counted| Sample {
            at: Duration::ZERO,
            measured,
            length: Duration::from_millis(millis),
            transactions: 0,
            counted,
            buffer_misses: 0,
            read_bytes: ByteCount::ZERO,
            written_bytes: ByteCount::ZERO,
            ..Sample::default()
        };
        // The mean is 2250/s.
        let samples = [
            sample(false, 1000, 10),
            sample(true, 1000, 2250),
            sample(true, 1000, 900),
            sample(true, 100, 3),
        ];
        let found = stability(&ticks(counted, 0.02), &samples);
        assert!((found.longest_stall_s - 0.16).abs() < 1e-9, "{found:?}");
        assert!(
            (found.lowest_second.unwrap() - 0.4).abs() < 1e-9,
            "{found:?}"
        );
    }

    #[test]
    fn a_stall_counts_from_the_beginning_of_the_figures() {
        let mut ticks = ticks([50; 10], 0.5);
        ticks[1].gap_s = 2.5;
        assert_eq!(stability(&ticks, &[]).longest_stall_s, 1.0);
        // A sampler that was late itself: a long tick with commits at its end.
        ticks[7].length_s = 2.0;
        ticks[7].gap_s = 1.9;
        assert_eq!(stability(&ticks, &[]).longest_stall_s, 1.9);
    }

    #[test]
    fn an_empty_series_has_no_variation() {
        let found = stability(&[], &[]);
        assert_eq!((found.variation, found.lowest_second), (None, None));
        let found = stability(&ticks([0; 30], 1.0), &[]);
        assert_eq!((found.variation, found.longest_stall_s), (None, 30.0));
    }
}
