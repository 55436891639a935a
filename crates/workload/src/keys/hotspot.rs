//! A hot part of the keys, which gets most operations.

use super::{distribution::Hotspot, uniform::below};
use crate::{
    AuditDistribution,
    audit::{range_of, range_shares},
    random::Draws,
};

/// Ranges that the audit counts of the hot keys, and as many of the others.
const RANGES: u64 = 8;

/// Draws and counts keys.
///
/// The hot keys are the first ones, as in YCSB's `HotspotIntegerGenerator`,
/// uniform within. That one draws from the keys at the start alone; here both
/// parts grow with the keys, so that their shares hold.
#[derive(Clone, Debug)]
pub(crate) struct HotspotKeys {
    hotspot: Hotspot,
    hot_counts: [u64; RANGES as usize],
    cold_counts: [u64; RANGES as usize],
}

impl HotspotKeys {
    pub(crate) fn new(hotspot: Hotspot) -> Self {
        Self {
            hotspot,
            hot_counts: [0; RANGES as usize],
            cold_counts: [0; RANGES as usize],
        }
    }

    /// The number of hot keys among `keys`: at least one, where YCSB would
    /// divide by zero.
    fn hot(&self, keys: u64) -> u64 {
        (keys * u64::from(self.hotspot.keys_percent()) / 100).max(1)
    }

    /// A key from 0 to below `keys`, of which there is at least one.
    #[inline]
    pub(crate) fn draw(&mut self, draws: &mut Draws, keys: u64) -> u64 {
        let hot = self.hot(keys);
        let cold = keys - hot;
        if draws.percent(self.hotspot.operations_percent().into()) || cold == 0 {
            let key = below(draws, hot);
            self.hot_counts[range_of(key, hot, RANGES)] += 1;
            key
        } else {
            let key = below(draws, cold);
            self.cold_counts[range_of(key, cold, RANGES)] += 1;
            hot + key
        }
    }

    /// The keys drawn so far, by eighths of the hot ones and of the others
    /// among the `keys` there are.
    pub(crate) fn audit(&self, keys: u64) -> AuditDistribution {
        let hot = self.hot(keys);
        let cold = keys - hot;
        let hot_share = match cold {
            0 => 1.0,
            _ => f64::from(self.hotspot.operations_percent()) / 100.0,
        };
        let hot_shares = range_shares(hot, RANGES).map(|share| share * hot_share);
        // Without cold keys nothing is divided: the shares are 0.
        let cold_shares = range_shares(cold.max(1), RANGES).map(|share| share * (1.0 - hot_share));
        AuditDistribution {
            name: format!("keys, {}", self.hotspot),
            counts: [self.hot_counts, self.cold_counts].concat(),
            wanted: hot_shares.chain(cold_shares).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use octavo_units::Seed;

    use super::*;

    #[test]
    fn hot_keys_get_their_share_while_the_keys_grow() {
        for (keys, growth) in [(1, 0), (3, 0), (1_000_000, 1)] {
            let mut draws = Draws::new(Seed::new(7));
            let mut hotspot = HotspotKeys::new(Hotspot::default());
            for draw in 0..50_000 {
                let keys = keys + draw * growth;
                assert!(hotspot.draw(&mut draws, keys) < keys);
            }
            let audit = hotspot.audit(keys + 50_000 * growth);
            // 15 degrees of freedom: above 44 once in 10,000 seeds.
            let chi_square = audit.chi_square();
            assert!(chi_square < 44.0, "{keys}: {chi_square}");
            let sum: f64 = audit.wanted.iter().sum();
            assert!((sum - 1.0).abs() < 1e-12);
        }
        // A fifth of 10 keys.
        let hotspot = HotspotKeys::new(Hotspot::default());
        assert_eq!(hotspot.hot(10), 2);
    }
}
