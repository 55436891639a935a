//! Seeds: everything random in Octavo comes from one of these.

use std::{fmt, str::FromStr};

use rand::SeedableRng;
use rand_pcg::Pcg64Mcg;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The origin of a deterministic stream of random numbers.
///
/// A plan has one seed; parts of it take their own by [`Seed::derive`], so
/// that one part's draws never move another's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Seed(u64);

impl Seed {
    /// The seed with this number.
    pub const fn new(number: u64) -> Self {
        Self(number)
    }

    /// The seed's number.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The seed of a part, by its name and index. Different names or indices
    /// give unrelated streams.
    ///
    /// FNV-1a over the name (Fowler, Noll and Vo, 64 bits), then [`mix`] after
    /// each word.
    pub const fn derive(self, name: &str, index: u64) -> Self {
        let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
        let bytes = name.as_bytes();
        let mut i = 0;
        while i < bytes.len() {
            hash = (hash ^ bytes[i] as u64).wrapping_mul(0x0000_0100_0000_01b3);
            i += 1;
        }
        Self(mix(mix(mix(self.0) ^ hash) ^ index))
    }

    /// A generator that starts here: PCG-MCG, 128-bit state, 64-bit output.
    pub fn generator(self) -> Pcg64Mcg {
        Pcg64Mcg::seed_from_u64(self.0)
    }
}

/// Mixes a word: every bit of the result depends on every one of it, and no two words
/// give the same (the finalizer of SplitMix64, Steele, Lea and Flood, OOPSLA 2014).
#[inline]
pub const fn mix(word: u64) -> u64 {
    let word = word.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

impl fmt::Display for Seed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for Seed {
    type Err = std::num::ParseIntError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse().map(Self)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn parts_have_unrelated_seeds() {
        let seeds: HashSet<u64> = (0..1000)
            .flat_map(|index| {
                ["stock", "customer"].map(|name| Seed::new(7).derive(name, index).get())
            })
            .collect();
        assert_eq!(seeds.len(), 2000);
        // SplitMix64 from state 0 begins with this word (Vigna's test vector).
        assert_eq!(mix(0), 0xe220_a839_7b1d_cdaf);
    }

    #[test]
    fn a_seed_replays() {
        use rand::Rng;
        let mut once = Seed::new(42).derive("x", 3).generator();
        let mut again = Seed::new(42).derive("x", 3).generator();
        assert_eq!(once.next_u64(), again.next_u64());
    }
}
