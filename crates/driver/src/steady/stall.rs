//! Times in which nothing is committed.

use schemars::JsonSchema;
use serde::Serialize;

use super::tick::{STALL_COMMITS, Tick};

/// A shorter time without a commit is no outage: people would not notice it.
const OUTAGE_MIN_S: f64 = 1.0;

/// A share by which sums of times may be off.
const ROUNDING: f64 = 1e-3;

/// A time in which no counted transaction was committed, though some dozens
/// would have been.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Outage {
    /// When it began, s, to a tick: after the first tick, and in a
    /// [`Measurement`](crate::Measurement) after the clients began.
    pub begin_s: f64,
    /// How long it was, s, from the workers' own clocks.
    pub length_s: f64,
}

/// The outages of a run: at least a second without a commit, in which the usual
/// rate makes 50 (`STALL_COMMITS`). The usual rate is that without the outages.
pub fn outages(ticks: &[Tick]) -> Vec<Outage> {
    let gaps = gaps(ticks);
    let length_s: f64 = ticks.iter().map(|tick| tick.length_s).sum();
    let counted: u64 = ticks.iter().map(|tick| tick.counted).sum();
    if counted == 0 {
        return gaps;
    }
    let mut limit_s = 0.0;
    let mut without_s = length_s;
    loop {
        let next_s = STALL_COMMITS * without_s / counted as f64;
        if next_s == limit_s {
            break;
        }
        // The rate only grows, since what is left out does: this ends.
        limit_s = next_s;
        let long = gaps.iter().filter(|gap| gap.length_s >= limit_s);
        without_s = length_s - long.map(|gap| gap.length_s).sum::<f64>();
    }
    let mut stalls = gaps;
    stalls.retain(|gap| gap.length_s >= limit_s);
    stalls
}

/// All gaps of at least [`OUTAGE_MIN_S`], by the workers' clocks: a tick may be late, and
/// longer than a gap. One that goes on begins where it did before, to a tick, and another
/// one not before the end of the last: halfway tells them apart.
fn gaps(ticks: &[Tick]) -> Vec<Outage> {
    let mut found: Vec<Outage> = Vec::new();
    let mut end_s = 0.0;
    for tick in ticks {
        end_s += tick.length_s;
        let length_s = tick.gap_s.min(end_s);
        if length_s < OUTAGE_MIN_S * (1.0 - ROUNDING) {
            continue;
        }
        let begin_s = end_s - length_s;
        match found.last_mut() {
            Some(last) if begin_s < last.begin_s + 0.5 * last.length_s => {
                last.length_s = last.length_s.max(length_s);
            }
            _ => found.push(Outage { begin_s, length_s }),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ticks of 100 ms; commits of each of `rates` follow each other evenly.
    fn ticks(rates: &[u64]) -> Vec<Tick> {
        let mut gap_s = 0.0;
        let tick = |&rate: &u64| {
            gap_s = if rate == 0 {
                gap_s + 0.1
            } else {
                0.1 / rate as f64
            };
            Tick {
                length_s: 0.1,
                counted: rate,
                gap_s,
                ..Tick::default()
            }
        };
        rates.iter().map(tick).collect()
    }

    fn rounded(found: &[Outage]) -> Vec<(f64, f64)> {
        let round = |value: f64| (value * 10.0).round() / 10.0;
        let ends = found.iter();
        ends.map(|of| (round(of.begin_s), round(of.length_s)))
            .collect()
    }

    #[test]
    fn outages_are_where_and_as_long_as_they_were() {
        let mut rates = vec![100; 100];
        rates[20..40].fill(0);
        rates[70..79].fill(0);
        rates[85..99].fill(0);
        // The last tick of a gap, in which it ends, says how long it was.
        let mut ticks = ticks(&rates);
        ticks[40].gap_s = 2.05;
        ticks[99].gap_s = 1.45;
        assert_eq!(rounded(&outages(&ticks)), [(2.0, 2.1), (8.5, 1.5)]);
    }

    #[test]
    fn an_outage_from_the_first_tick_on_begins_there() {
        let mut rates = vec![100; 60];
        rates[..30].fill(0);
        let mut ticks = ticks(&rates);
        ticks.iter_mut().take(30).for_each(|tick| tick.gap_s += 0.7);
        assert_eq!(rounded(&outages(&ticks)), [(0.0, 3.0)]);
        assert_eq!(
            rounded(&outages(&ticks[..30])),
            [(0.0, 3.0)],
            "nothing at all"
        );
        assert!(outages(&[]).is_empty());
    }

    #[test]
    fn a_late_tick_hides_no_outage() {
        let mut rates = vec![100; 120];
        rates[20..40].fill(0);
        let mut ticks = ticks(&rates);
        ticks[40].gap_s = 2.05;
        // The process stood still for 4 s.
        (ticks[80].length_s, ticks[80].gap_s) = (4.0, 3.9);
        assert_eq!(rounded(&outages(&ticks)), [(2.0, 2.1), (8.1, 3.9)]);
    }

    #[test]
    fn two_outages_one_commit_apart_are_two() {
        let mut rates = vec![0; 60];
        rates[..20].fill(100);
        rates[40] = 1;
        let mut ticks = ticks(&rates);
        ticks[40].gap_s = 2.05;
        for (index, tick) in ticks.iter_mut().enumerate().skip(41) {
            tick.gap_s = 0.02 + 0.1 * (index - 40) as f64;
        }
        assert_eq!(rounded(&outages(&ticks)), [(2.0, 2.1), (4.1, 1.9)]);
    }

    #[test]
    fn long_gaps_of_a_slow_database_are_no_outages() {
        // A commit each 3 s, then none for 20 s, and so on.
        let mut rates = vec![0; 1200];
        (0..1200).step_by(30).for_each(|at| rates[at] = 1);
        assert!(outages(&ticks(&rates)).is_empty());
        // Ten a second, of which half a minute is missing.
        let mut rates = vec![1; 1200];
        rates[300..600].fill(0);
        assert_eq!(rounded(&outages(&ticks(&rates))), [(29.9, 30.1)]);
    }
}
