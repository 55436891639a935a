//! How latencies scatter around their mean.

use rand::Rng;
use rand_pcg::Pcg64Mcg;

use crate::profile::Latency;

/// A distribution with mean 1 and the shape of measured quantiles: straight
/// lines between the median, the 99th and the 99.9th percentile.
///
/// The profile tells the mean as well, which fixes one more point: the 90th
/// percentile, and where that does not suffice, the least latency. Assumed:
/// the least latency is half of the median unless the mean says otherwise, and
/// the last thousandth ends at twice the 99.9th percentile (the measured
/// longest is one request and no quantile).
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Spread {
    /// Values at [`SHARES`].
    knots: [f64; 6],
}

/// The shares of requests that take at most the value at a knot.
const SHARES: [f64; 6] = [0.0, 0.5, 0.9, 0.99, 0.999, 1.0];

impl Spread {
    /// The spread of a point's latencies. Quantiles that are not positive, not numbers or
    /// not ascending are raised to the one below.
    pub(crate) fn new(latency: &Latency) -> Self {
        let mean = latency.us_mean;
        if !(mean.is_normal() && mean > 0.0) {
            return Self { knots: [1.0; 6] };
        }
        let max = latency.us_max.min(2.0 * latency.us_p999);
        Self::through([latency.us_p50, latency.us_p99, latency.us_p999, max].map(|us| us / mean))
    }

    /// Of quantiles as shares of the mean.
    pub(crate) fn of_shares(p50: f64, p99: f64, p999: f64) -> Self {
        Self::through([p50, p99, p999, 2.0 * p999])
    }

    fn through(shares: [f64; 4]) -> Self {
        let mut least = 0.0;
        let [p50, p99, p999, max] = shares.map(|share| {
            // Greater shares than this would leave nothing to the others.
            if share.is_finite() && share > least {
                least = share.min(1e9);
            }
            least
        });
        let mut knots = [p50 / 2.0, p50, p50, p99, p999, max];
        // The mean is linear in each knot: raise the 90th percentile first,
        // then move the least.
        let weight = |knot: usize| {
            let low = if knot == 0 { 0.0 } else { SHARES[knot - 1] };
            (SHARES[(knot + 1).min(5)] - low) / 2.0
        };
        let missing = 1.0 - Self { knots }.mean();
        knots[2] = (p50 + missing / weight(2)).clamp(p50, p99);
        let missing = 1.0 - Self { knots }.mean();
        knots[0] = (knots[0] + missing / weight(0)).clamp(0.0, p50);
        let mean = Self { knots }.mean();
        if mean > 0.0 {
            knots = knots.map(|knot| knot / mean);
        } else {
            knots = [1.0; 6];
        }
        Self { knots }
    }

    fn mean(&self) -> f64 {
        (0..5)
            .map(|knot| {
                (SHARES[knot + 1] - SHARES[knot]) * (self.knots[knot] + self.knots[knot + 1]) / 2.0
            })
            .sum()
    }

    /// One value, of mean 1 over many.
    #[inline]
    pub(crate) fn draw(&self, generator: &mut Pcg64Mcg) -> f64 {
        // 53 bits: every value is exact in an f64.
        let share = (generator.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
        let knot = SHARES[1..5]
            .iter()
            .position(|limit| share < *limit)
            .unwrap_or(4);
        let along = (share - SHARES[knot]) / (SHARES[knot + 1] - SHARES[knot]);
        self.knots[knot] + (self.knots[knot + 1] - self.knots[knot]) * along
    }
}

#[cfg(test)]
mod tests {
    use octavo_units::Seed;

    use super::*;

    #[test]
    fn quantiles_and_mean_are_those_of_the_profile() {
        let latency = Latency {
            us_mean: 120.0,
            us_p50: 100.0,
            us_p99: 400.0,
            us_p999: 900.0,
            us_max: 20_000.0,
        };
        let spread = Spread::new(&latency);
        assert!((spread.mean() - 1.0).abs() < 1e-12);
        let mut generator = Seed::new(5).generator();
        let count = 200_000;
        let mut draws: Vec<f64> = (0..count).map(|_| spread.draw(&mut generator)).collect();
        draws.sort_by(f64::total_cmp);
        let mean: f64 = draws.iter().sum::<f64>() / f64::from(count);
        assert!((mean - 1.0).abs() < 0.005, "{mean}");
        let at = |share: f64| draws[(f64::from(count) * share) as usize] * 120.0;
        for (share, us) in [(0.5, 100.0), (0.99, 400.0), (0.999, 900.0)] {
            assert!((at(share) / us - 1.0).abs() < 0.03, "{share} {}", at(share));
        }
    }

    #[test]
    fn unusable_quantiles_give_a_spread_of_mean_one() {
        for values in [
            [0.0; 5],
            [f64::NAN; 5],
            [1.0, 50.0, 2.0, f64::INFINITY, 0.0],
            [1e300, 1e-300, 1e300, 1e300, 1e300],
            [1.0, 0.0, 0.0, 0.0, 0.0],
        ] {
            let [us_mean, us_p50, us_p99, us_p999, us_max] = values;
            let spread = Spread::new(&Latency {
                us_mean,
                us_p50,
                us_p99,
                us_p999,
                us_max,
            });
            assert!((spread.mean() - 1.0).abs() < 1e-9, "{values:?} {spread:?}");
        }
    }
}
