//! Ranks drawn from a Zipf distribution, with what the audit needs to know.

use super::zipf::{Theta, Zipf};
use crate::{AuditDistribution, random::Draws};

/// Draws and counts ranks.
///
/// They are counted in ranges that double: rank 1, 2 to 3, 4 to 7, and so on;
/// the last has no end.
#[derive(Clone, Debug)]
pub(crate) struct Ranks {
    zipf: Zipf,
    /// 1 / zeta at present.
    rank_one: f64,
    counts: Vec<u64>,
    /// The sum of `rank_one` over all draws. Where the ranks grow in number,
    /// the exact probability of a range is that of its mean.
    rank_one_sum: f64,
}

impl Ranks {
    /// Ranks from 0 to below `items`, of which there is at least one.
    pub(crate) fn new(items: u64, theta: Theta) -> Self {
        let zipf = Zipf::new(items, theta);
        // The last range begins at a half to a quarter of the ranks.
        let ranges = items.ilog2().max(1) as usize;
        Self {
            rank_one: 1.0 / zipf.zeta(),
            zipf,
            counts: vec![0; ranges],
            rank_one_sum: 0.0,
        }
    }

    /// A rank from 0 to below `items`, the likeliest first.
    #[inline]
    pub(crate) fn draw(&mut self, draws: &mut Draws, items: u64) -> u64 {
        if items != self.zipf.items() {
            self.zipf.resize(items);
            self.rank_one = 1.0 / self.zipf.zeta();
        }
        let rank = self.zipf.rank(draws.fraction());
        let range = ((rank + 1).ilog2() as usize).min(self.counts.len() - 1);
        self.counts[range] += 1;
        self.rank_one_sum += self.rank_one;
        rank
    }

    /// Whether both have the same table in memory.
    #[cfg(test)]
    pub(super) fn shares_table_with(&self, other: &Self) -> bool {
        self.zipf.shares_head_with(&other.zipf)
    }

    /// The ranks drawn so far; `name` says of what.
    pub(crate) fn audit(&self, name: &str) -> AuditDistribution {
        let total = self.counts.iter().sum::<u64>();
        let rank_one = match total {
            0 => self.rank_one,
            _ => self.rank_one_sum / total as f64,
        };
        let below = |range: usize| self.zipf.zeta_of((1 << range) - 1) * rank_one;
        let last = self.counts.len() - 1;
        let wanted = (0..=last)
            .map(|range| match range == last {
                true => 1.0 - below(range),
                false => below(range + 1) - below(range),
            })
            .collect();
        AuditDistribution {
            name: name.into(),
            counts: self.counts.clone(),
            wanted,
        }
    }
}

#[cfg(test)]
mod tests {
    use octavo_units::Seed;

    use super::*;

    #[test]
    fn drawn_ranks_fit_while_the_items_grow() {
        for (items, growth) in [(1, 0), (2, 1), (1000, 0), (1000, 1), (100_000, 5)] {
            let mut draws = Draws::new(Seed::new(5));
            let mut ranks = Ranks::new(items, Theta::YCSB);
            for draw in 0..100_000 {
                let items = items + draw * growth;
                assert!(ranks.draw(&mut draws, items) < items);
            }
            let audit = ranks.audit("ranks");
            let sum: f64 = audit.wanted.iter().sum();
            assert!((sum - 1.0).abs() < 1e-12);
            // At most 15 degrees of freedom: above 44 once in 10,000 seeds.
            let chi_square = audit.chi_square();
            assert!(chi_square < 44.0, "{items} {growth}: {chi_square}");
        }
    }
}
