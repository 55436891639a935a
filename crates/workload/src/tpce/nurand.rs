//! Non-uniform draws (EGen 1.14, `Random.cpp`).

use crate::random::Draws;

/// `((uniform(low, high) | (uniform(0, ones) << shift)) mod values) + low`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NuRnd {
    pub(super) low: i64,
    pub(super) high: i64,
    /// One less than a power of two.
    pub(super) ones: i64,
    pub(super) shift: u32,
}

/// The most blocks of numbers with equal upper bits that shares are computed for, which takes
/// some seconds.
const BLOCKS_MAX: i64 = 1000;

impl NuRnd {
    /// Ranges that draws are counted in.
    pub(super) const BINS: usize = 16;

    fn values(&self) -> i64 {
        self.high - self.low + 1
    }

    #[inline]
    pub(super) fn draw(&self, draws: &mut Draws) -> i64 {
        let mixed = draws.uniform(self.low, self.high) | draws.uniform(0, self.ones) << self.shift;
        mixed % self.values() + self.low
    }

    /// The range that a value is in.
    pub(super) fn bin(&self, value: i64) -> usize {
        let bins = Self::BINS as i128;
        ((i128::from(value - self.low) * bins) / i128::from(self.values())) as usize
    }

    /// The share of each range, exact but for the runs of 2^shift values that a range's end
    /// cuts: these are shared out evenly. Of very many blocks of numbers each range has as
    /// many, so that all are taken to be as likely.
    ///
    /// `u | a` with `a`'s bits in the middle has `u`'s upper and lower bits, and in the
    /// middle `r` in as many ways as `u`'s middle bits are among `r`'s and `a` has the others
    /// and any of `u`'s: sums over subsets.
    pub(super) fn bin_shares(&self) -> Vec<f64> {
        let run = 1i64 << self.shift;
        let block = (self.ones + 1) * run;
        if (self.high - self.low) / block > BLOCKS_MAX {
            return vec![1.0 / Self::BINS as f64; Self::BINS];
        }
        let mut bins = vec![0.0; Self::BINS];
        for upper in self.low.div_euclid(block)..=self.high.div_euclid(block) {
            let first_of = |middle: i64| upper * block + middle * run;
            let mut ways: Vec<f64> = (0..=self.ones)
                .map(|middle| {
                    let first = first_of(middle);
                    let drawn = (self.high + 1).min(first + run) - self.low.max(first);
                    drawn.max(0) as f64 * f64::from(middle.count_ones()).exp2()
                })
                .collect();
            for bit in (0..self.ones.count_ones()).map(|bit| 1usize << bit) {
                for middle in (0..ways.len()).filter(|middle| middle & bit != 0) {
                    ways[middle] += ways[middle ^ bit];
                }
            }
            for (middle, ways) in (0..).zip(ways) {
                self.share_out(first_of(middle), run, ways, &mut bins);
            }
        }
        let all: f64 = bins.iter().sum();
        bins.iter().map(|ways| ways / all).collect()
    }

    /// Shares out a run of values that come about in `ways` ways together.
    fn share_out(&self, first: i64, run: i64, ways: f64, bins: &mut [f64]) {
        if ways == 0.0 {
            return;
        }
        let last = first + run - 1;
        let is_whole = last < self.values() && first >= self.low;
        if is_whole && self.bin(first + self.low) == self.bin(last + self.low) {
            bins[self.bin(first + self.low)] += ways;
            return;
        }
        // Of a run that is cut a hundred values stand for all.
        let points = run.min(100);
        for point in 0..points {
            let value = (first + point * run / points) % self.values() + self.low;
            bins[self.bin(value)] += ways / points as f64;
        }
    }
}

#[cfg(test)]
mod tests {
    use octavo_units::Seed;

    use super::*;

    #[test]
    fn shares_are_those_of_enumerating() {
        for of in [
            NuRnd {
                low: 1,
                high: 1000,
                ones: 7,
                shift: 3,
            },
            NuRnd {
                low: 0,
                high: 300,
                ones: 0,
                shift: 0,
            },
        ] {
            let mut wanted = vec![0.0; NuRnd::BINS];
            let mut all = 0.0;
            for a in 0..=of.ones {
                for u in of.low..=of.high {
                    let value = (u | a << of.shift) % of.values() + of.low;
                    wanted[of.bin(value)] += 1.0;
                    all += 1.0;
                }
            }
            for (share, wanted) in of.bin_shares().iter().zip(wanted) {
                // A run's first values may not all be drawn.
                assert!(
                    (share - wanted / all).abs() < 2e-3,
                    "{share} {wanted} {all}"
                );
            }
        }
    }

    #[test]
    fn draws_follow_their_shares() {
        // Trade-Lookup's trades and moments, at the default size.
        for of in [
            NuRnd {
                low: 1,
                high: 290_880,
                ones: 65_535,
                shift: 7,
            },
            NuRnd {
                low: 1,
                high: 100_800_000,
                ones: 4095,
                shift: 16,
            },
        ] {
            let mut draws = Draws::new(Seed::new(7));
            let mut counts = [0.0; NuRnd::BINS];
            const N: u32 = 200_000;
            for _ in 0..N {
                let value = of.draw(&mut draws);
                assert!((of.low..=of.high).contains(&value));
                counts[of.bin(value)] += 1.0;
            }
            let chi_square: f64 = (counts.iter().zip(of.bin_shares()))
                .map(|(count, share)| {
                    (count - share * f64::from(N)).powi(2) / (share * f64::from(N))
                })
                .sum();
            // 15 degrees of freedom: above 44 once in 10,000 seeds.
            assert!(chi_square < 44.0, "{chi_square}");
        }
    }
}
