//! Zipf's distribution with its likely keys scattered among the others.

use super::{ranks::Ranks, zipf::Theta};
use crate::{AuditDistribution, random::Draws};

/// YCSB's `ScrambledZipfianGenerator`: a rank out of [`Self::RANKS`], hashed,
/// modulo the number of keys.
///
/// That is flatter than a Zipf distribution over the keys: the likeliest key
/// gets 1 / zeta(10^10), 3.8 %, however few keys there are, and on the others
/// fall sums of many small probabilities.
///
/// YCSB's source now says 10^16 ranks but still has the zeta of 10^10, 26.469;
/// what it draws is a Zipf distribution over neither. Here there are 10^10, to
/// which the constant belongs.
#[derive(Clone, Debug)]
pub(crate) struct Scrambled {
    ranks: Ranks,
    theta: Theta,
    /// What the hash is divided by. A key that does not exist yet is drawn
    /// again, as in YCSB's `nextKeynum`.
    modulus: u64,
}

impl Scrambled {
    /// Ranks that are scattered.
    const RANKS: u64 = 10_000_000_000;

    /// Over `keys` keys, at least one. Where the keys grow, `modulus` is to
    /// leave them room: a change of it would move the likely keys. YCSB adds
    /// twice the inserts it expects.
    pub(crate) fn new(modulus: u64, theta: Theta) -> Self {
        Self {
            ranks: Ranks::new(Self::RANKS, theta),
            theta,
            modulus,
        }
    }

    /// A key from 0 to below `keys`, of which there is at least one. When they
    /// outgrow the modulus, it doubles; the likely keys are others then.
    #[inline]
    pub(crate) fn draw(&mut self, draws: &mut Draws, keys: u64) -> u64 {
        while self.modulus < keys {
            self.modulus *= 2;
        }
        // Ends: among the residues of all ranks there is each key.
        loop {
            let key = fnv_hash(self.ranks.draw(draws, Self::RANKS)) % self.modulus;
            if key < keys {
                return key;
            }
        }
    }

    /// Whether both have the same table in memory.
    #[cfg(test)]
    pub(super) fn shares_table_with(&self, other: &Self) -> bool {
        self.ranks.shares_table_with(&other.ranks)
    }

    /// The ranks drawn so far, with those that were drawn again.
    pub(crate) fn audit(&self) -> AuditDistribution {
        let name = format!("ranks of keys, zipfian over 10^10, theta {}", self.theta);
        self.ranks.audit(&name)
    }
}

/// FNV-1a over the eight bytes of `number`, the lowest first, then the
/// absolute value as a signed number: YCSB's `Utils.fnvhash64`
/// (<https://github.com/brianfrankcooper/YCSB/blob/master/core/src/main/java/site/ycsb/Utils.java>).
///
/// At most 2^63; that one value Java would leave negative. Two numbers may
/// have one hash: among n there is such a pair with a chance of about
/// n² / 2^64.
#[inline]
pub(crate) fn fnv_hash(number: u64) -> u64 {
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    for byte in number.to_le_bytes() {
        hash = (hash ^ u64::from(byte)).wrapping_mul(1_099_511_628_211);
    }
    hash.cast_signed().unsigned_abs()
}

#[cfg(test)]
mod tests {
    use octavo_units::Seed;

    use super::*;

    #[test]
    fn the_likeliest_keys_are_those_of_ycsb_and_stay_where_they_are() {
        let mut draws = Draws::new(Seed::new(8));
        // The hash of rank 0, 6284781860667377211, modulo 2,000 is 1211, and of
        // rank 1, 8517097267634966620, is 620.
        let mut scrambled = Scrambled::new(2000, Theta::YCSB);
        for keys in [1000, 1300, 2000] {
            let mut counts = vec![0; keys as usize];
            for _ in 0..20_000 {
                counts[scrambled.draw(&mut draws, keys) as usize] += 1;
            }
            let likeliest = (0..counts.len()).max_by_key(|key| counts[*key]);
            assert_eq!(likeliest, Some(if keys == 1000 { 620 } else { 1211 }));
        }
        assert!(scrambled.draw(&mut draws, 2001) < 2001);
        assert_eq!(scrambled.modulus, 4000);
    }

    /// The first keys that YCSB loads, as its basic binding prints them:
    /// `INSERT usertable user6284781860667377211 ...`.
    #[test]
    fn hashes_are_those_of_ycsb() {
        assert_eq!(fnv_hash(0), 6_284_781_860_667_377_211);
        assert_eq!(fnv_hash(1), 8_517_097_267_634_966_620);
        assert_eq!(fnv_hash(2), 1_820_151_046_732_198_393);
    }
}
