//! Every key equally often.

use crate::{
    AuditDistribution,
    audit::{range_of, range_shares},
    random::Draws,
};

/// Ranges of keys that the audit counts.
const RANGES: u64 = 16;

/// Draws and counts keys.
#[derive(Clone, Debug, Default)]
pub(crate) struct Uniform {
    counts: [u64; RANGES as usize],
}

impl Uniform {
    /// A key from 0 to below `keys`, of which there is at least one.
    #[inline]
    pub(crate) fn draw(&mut self, draws: &mut Draws, keys: u64) -> u64 {
        let key = below(draws, keys);
        self.counts[range_of(key, keys, RANGES)] += 1;
        key
    }

    /// The keys drawn so far, by sixteenths of the `keys` there are. While
    /// these grow, a range's probability changes by less than one key's.
    pub(crate) fn audit(&self, keys: u64) -> AuditDistribution {
        AuditDistribution {
            name: "keys, uniform".into(),
            counts: self.counts.to_vec(),
            wanted: range_shares(keys, RANGES).collect(),
        }
    }
}

/// A number from 0 to below `end`, which is at least one.
#[inline]
pub(super) fn below(draws: &mut Draws, end: u64) -> u64 {
    draws.uniform(0, end as i64 - 1).unsigned_abs()
}

#[cfg(test)]
mod tests {
    use octavo_units::Seed;

    use super::*;

    #[test]
    fn drawn_keys_are_uniform_while_they_grow() {
        let mut draws = Draws::new(Seed::new(6));
        let mut uniform = Uniform::default();
        for draw in 0..50_000 {
            let keys = 1_000_000 + draw;
            assert!(uniform.draw(&mut draws, keys) < keys);
        }
        // 15 degrees of freedom: above 44 once in 10,000 seeds.
        let chi_square = uniform.audit(1_050_000).chi_square();
        assert!(chi_square < 44.0, "{chi_square}");
    }
}
