//! Zipf's distribution over any number of ranks: rank k, from 1, has a
//! probability of k^-theta / zeta(n), where zeta(n) is the sum of all k^-theta.
//!
//! YCSB takes Gray et al., "Quickly Generating Billion-Record Synthetic
//! Databases" (SIGMOD 1994), where only the first two ranks are exact. The
//! others come from an integral over [k, k + 1] with k from 0, instead of one
//! with the rank in its middle. At theta 0.99 over 10^6 ranks that draws the
//! third rank 19.4 % too often, the fourth 13.1 %, the fifth 9.4 %, the tenth
//! 3.6 %, the first ten together 5.2 %, and ranks 101 to 1,000 1.4 % too
//! seldom. Over 10^10 the third gets 20.2 % and the first ten 5.6 % too much.
//! The same 10^8 draws leave ranks 1-10, 11-100 and 101-1,000 here within
//! 0.011 % and half a standard deviation (`examples/draw.rs --exactness`).
//!
//! Here the first 1,024 ranks come from a table of their partial sums and are
//! exact. The others come from inverting the integral over
//! [k - 1/2, k + 1/2] (the midpoint rule), scaled to their exact sum. It is off
//! by theta (theta + 1) / (24 k²) of a rank's probability, less than one in
//! 12 million.

use std::{fmt, sync::Arc};

/// How uneven a Zipf distribution is: above 0, nearly uniform, up to
/// [`Theta::MAX`].
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Theta(f64);

impl Theta {
    /// YCSB's, 0.99.
    pub const YCSB: Self = Self(0.99);

    /// The largest, 0.9999. Near 1 the integral's inverse is a power of
    /// 1 / (1 - theta), which multiplies the rounding errors; at this one a
    /// rank of 10^10 is still right to within 0.02.
    pub const MAX: Self = Self(0.9999);

    /// The theta with this value, or `None` when it is not above 0 and at most
    /// [`Self::MAX`].
    pub fn new(value: f64) -> Option<Self> {
        (value > 0.0 && value <= Self::MAX.0).then_some(Self(value))
    }

    /// Its value.
    pub const fn get(self) -> f64 {
        self.0
    }
}

impl Default for Theta {
    fn default() -> Self {
        Self::YCSB
    }
}

impl fmt::Display for Theta {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Ranks that come from a table.
const HEAD: u64 = 1024;

/// Cells of the guide into the table, 8 KiB as the table is: at theta 0.99 no
/// cell meets more than three ranks, so that a search is at most three
/// comparisons.
const GUIDE: usize = 4096;

/// The first ranks' partial sums, and where to begin searching them.
#[derive(Debug)]
struct Head {
    /// `sums[k]` is the sum over the first k + 1 ranks; one more that is never
    /// reached ends every search.
    sums: Box<[f64]>,
    /// For a point in each of [`GUIDE`] equal parts of the sum, the first rank
    /// that it can fall on.
    guide: Box<[u16]>,
    /// Cells for one unit of the sum.
    cells: f64,
}

impl Head {
    fn new(theta: f64) -> Self {
        let mut sum = 0.0;
        let ranks = (1..=HEAD).map(|rank| {
            sum += (rank as f64).powf(-theta);
            sum
        });
        let sums: Box<[f64]> = ranks.chain([f64::INFINITY]).collect();
        let cells = GUIDE as f64 / sums[HEAD as usize - 1];
        let guide = (0..GUIDE)
            .map(|cell| sums.partition_point(|sum| *sum <= cell as f64 / cells) as u16)
            .collect();
        Self { sums, guide, cells }
    }

    /// The sum over all ranks here.
    fn all(&self) -> f64 {
        self.sums[HEAD as usize - 1]
    }

    /// The rank from 0 that `point` falls on.
    #[inline]
    fn rank(&self, point: f64) -> u64 {
        let cell = ((point * self.cells) as usize).min(GUIDE - 1);
        let mut rank = usize::from(self.guide[cell]);
        while self.sums[rank] <= point {
            rank += 1;
        }
        rank as u64
    }
}

/// A Zipf distribution over the ranks from 0 to below [`Zipf::items`]. Clones
/// share the table of the first ranks.
#[derive(Clone, Debug)]
pub struct Zipf {
    theta: f64,
    head: Arc<Head>,
    items: u64,
    zeta: f64,
    /// Points below fall on the head: its sum, or infinity without a tail.
    head_end: f64,
    /// x^(1-theta), to which the integral of x^-theta is proportional, at the
    /// lower end of the tail.
    tail_low: f64,
    /// What one unit of zeta adds to it.
    tail_slope: f64,
    /// 1 / (1 - theta).
    exponent: f64,
}

impl Zipf {
    /// The distribution over `items` ranks, at least one.
    ///
    /// # Panics
    /// When there is none.
    pub fn new(items: u64, Theta(theta): Theta) -> Self {
        let mut zipf = Self {
            theta,
            head: Arc::new(Head::new(theta)),
            items: 0,
            zeta: 0.0,
            head_end: 0.0,
            tail_low: (HEAD as f64 + 0.5).powf(1.0 - theta),
            tail_slope: 0.0,
            exponent: 1.0 / (1.0 - theta),
        };
        zipf.resize(items);
        zipf
    }

    /// Makes it one over `items` ranks, at least one; all that depends on
    /// their number is computed anew, which costs about as much as two draws.
    /// (YCSB adds up zeta term by term, and computes what Gray et al. call eta
    /// with the new zeta but the old number of items.)
    ///
    /// # Panics
    /// When there is none.
    pub fn resize(&mut self, items: u64) {
        assert!(items > 0, "a distribution has at least one rank");
        self.items = items;
        self.zeta = self.zeta_of(items);
        if items <= HEAD {
            self.head_end = f64::INFINITY;
        } else {
            let tail_high = (items as f64 + 0.5).powf(1.0 - self.theta);
            self.head_end = self.head.all();
            self.tail_slope = (tail_high - self.tail_low) / (self.zeta - self.head_end);
        }
    }

    /// Whether both have the same table in memory.
    #[cfg(test)]
    pub(super) fn shares_head_with(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.head, &other.head)
    }

    /// The number of ranks.
    pub fn items(&self) -> u64 {
        self.items
    }

    /// The sum of k^-theta over all ranks.
    pub fn zeta(&self) -> f64 {
        self.zeta
    }

    /// The sum of k^-theta over k from 1 to `items`: by parts up to 1,024,
    /// beyond by the formula of Euler and Maclaurin, whose first term left out
    /// is below 10^-14 there.
    pub fn zeta_of(&self, items: u64) -> f64 {
        match items {
            0 => 0.0,
            1..=HEAD => self.head.sums[items as usize - 1],
            _ => {
                let (low, high) = (HEAD as f64, items as f64);
                let (low_power, high_power) = (low.powf(-self.theta), high.powf(-self.theta));
                let integral = (high * high_power - low * low_power) / (1.0 - self.theta);
                let ends = (high_power - low_power) / 2.0;
                let slopes = -self.theta * (high_power / high - low_power / low) / 12.0;
                self.head.all() + integral + ends + slopes
            }
        }
    }

    /// The rank, from 0, that a fraction of all probability falls on; for a
    /// uniform `fraction` from 0 to below 1 it has the distribution. Rank 0 is
    /// the likeliest.
    #[inline]
    pub fn rank(&self, fraction: f64) -> u64 {
        let point = fraction * self.zeta;
        let rank = if point < self.head_end {
            self.head.rank(point)
        } else {
            let power = self.tail_low + (point - self.head_end) * self.tail_slope;
            // Faster than `powf`: 19.9 to 21.3 instead of 18.1 to 19.5 million
            // scrambled draws a second. The error of the logarithm, 10^-16,
            // times an exponent of 100 is 10^-14: of 10^10 ranks 10^-4.
            let end = (self.exponent * power.log2()).exp2();
            // Rank k from 1 reaches from k - 1/2 to k + 1/2.
            ((end - 0.5) as u64).max(HEAD)
        };
        // Rounding may reach the end of the last rank.
        rank.min(self.items - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn theta(value: f64) -> Theta {
        Theta::new(value).unwrap()
    }

    #[test]
    fn zeta_is_that_of_ycsb() {
        let zipf = Zipf::new(10_000_000_000, Theta::YCSB);
        // `ScrambledZipfianGenerator.ZETAN`, summed term by term.
        let wanted = 26.469_028_201_783_02;
        assert!((zipf.zeta() / wanted - 1.0).abs() < 1e-9, "{}", zipf.zeta());
    }

    #[test]
    fn zeta_is_the_sum() {
        for value in [0.01, 0.5, 0.99, Theta::MAX.get()] {
            let mut zipf = Zipf::new(1, theta(value));
            let mut sum = 0.0;
            for rank in 1..=100_000u64 {
                sum += (rank as f64).powf(-value);
                if [1, 2, 1023, 1024, 1025, 3000, 100_000].contains(&rank) {
                    zipf.resize(rank);
                    let error = (zipf.zeta() / sum - 1.0).abs();
                    // 10^5 roundings of the sum; 10^4 times 2^-53 of the power
                    // at the largest theta.
                    assert!(error < 1e-11, "{value} {rank}: {error}");
                }
            }
        }
    }

    /// Where each rank ends among the fractions, found by bisection, against
    /// the partial sums.
    #[test]
    fn every_rank_has_its_probability() {
        for (value, items) in [
            (0.99, 1),
            (0.99, 3),
            (0.99, 1024),
            (0.99, 1025),
            (0.2, 5000),
            (0.99, 1_000_000),
            (0.9999, 100_000),
        ] {
            let zipf = Zipf::new(items, theta(value));
            let end = |rank: u64| {
                let (mut low, mut high) = (0.0, 1.0);
                for _ in 0..60 {
                    let middle = (low + high) / 2.0;
                    match zipf.rank(middle) <= rank {
                        true => low = middle,
                        false => high = middle,
                    }
                }
                high
            };
            let ranks = [
                0, 1, 2, 9, 99, 1021, 1022, 1023, 1024, 1025, 1500, 4998, 99_998, 999_998,
            ];
            for rank in ranks.into_iter().filter(|rank| rank + 1 < items) {
                let share = end(rank) - if rank == 0 { 0.0 } else { end(rank - 1) };
                let wanted = ((rank + 1) as f64).powf(-value) / zipf.zeta();
                let error = (share / wanted - 1.0).abs();
                // The midpoint rule, and the resolution of the fractions
                // multiplied by the power's exponent.
                let k = (rank + 1) as f64;
                let midpoint = if rank < HEAD {
                    0.0
                } else {
                    value * (value + 1.0) / (24.0 * 1024.0 * 1024.0)
                };
                let resolution = 1e-15 * k / (1.0 - value) + 1e-15 / wanted;
                assert!(
                    error < 1.01 * midpoint + 4.0 * resolution,
                    "{value} {items} {rank}: {error}"
                );
            }
            assert_eq!(zipf.rank(1.0 - f64::EPSILON / 2.0), items - 1);
            assert_eq!(zipf.rank(0.0), 0);
        }
    }

    #[test]
    fn only_possible_thetas_are_taken() {
        for value in [0.0, -0.5, 1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(Theta::new(value), None);
        }
        assert_eq!(Theta::new(0.99), Some(Theta::YCSB));
    }

    proptest! {
        #[test]
        fn ranks_are_within_the_items_and_grow_with_the_fraction(
            value in 0.001f64..0.9999,
            items in prop_oneof![1u64..2000, 1u64..20_000_000_000],
            low in 0.0f64..1.0,
            high in 0.0f64..1.0,
        ) {
            let zipf = Zipf::new(items, theta(value));
            let (low, high) = (low.min(high), low.max(high));
            prop_assert!(zipf.rank(low) <= zipf.rank(high));
            prop_assert!(zipf.rank(high) < items);
        }
    }
}
