//! A chooser for each distribution, and the draws of one client from it.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering::Relaxed},
};

use octavo_units::Seed;

use super::{
    Distribution, hotspot::HotspotKeys, ranks::Ranks, scrambled::Scrambled, uniform::Uniform,
};
use crate::{AuditDistribution, random::Draws};

/// Whether a run inserts keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Growth {
    /// It does.
    Growing,
    /// It does not.
    Fixed,
}

impl Growth {
    /// Up to how many keys the likely ones of a scrambled Zipf stay where they
    /// are, when there are `keys` at the start: where they grow there is room
    /// for as many again, and half of the draws are drawn again at first.
    pub(crate) fn room(self, keys: u64) -> u64 {
        match self {
            Self::Growing => 2 * keys,
            Self::Fixed => keys,
        }
    }
}

/// Draws the keys of one client and counts them for the audit.
///
/// The clients of a run have clones of one that has drawn nothing: these share
/// their tables, and whose turn it is.
#[derive(Clone, Debug)]
pub(crate) enum Chooser {
    Uniform(Uniform),
    Sequential(Arc<Turn>),
    Zipfian(Scrambled),
    TrueZipfian(Ranks),
    Latest(Ranks),
    Hotspot(HotspotKeys),
}

impl Chooser {
    /// A chooser among `keys` keys at the start, at least one.
    pub(crate) fn new(distribution: Distribution, keys: u64, growth: Growth) -> Self {
        match distribution {
            Distribution::Uniform => Self::Uniform(Uniform::default()),
            Distribution::Sequential => Self::Sequential(Arc::default()),
            Distribution::Zipfian(theta) => Self::Zipfian(Scrambled::new(growth.room(keys), theta)),
            Distribution::TrueZipfian(theta) => Self::TrueZipfian(Ranks::new(keys, theta)),
            Distribution::Latest(theta) => Self::Latest(Ranks::new(keys, theta)),
            Distribution::Hotspot(hotspot) => Self::Hotspot(HotspotKeys::new(hotspot)),
        }
    }

    /// A key from 0 to below `keys`, of which there is at least one and which
    /// never shrink.
    #[inline]
    pub(crate) fn draw(&mut self, draws: &mut Draws, keys: u64) -> u64 {
        match self {
            Self::Uniform(uniform) => uniform.draw(draws, keys),
            Self::Sequential(turn) => turn.next(keys),
            Self::Zipfian(scrambled) => scrambled.draw(draws, keys),
            Self::TrueZipfian(ranks) => ranks.draw(draws, keys),
            // YCSB draws one rank fewer, so never its first key.
            Self::Latest(ranks) => keys - 1 - ranks.draw(draws, keys),
            Self::Hotspot(hotspot) => hotspot.draw(draws, keys),
        }
    }

    /// What was drawn so far, where it is random; `keys` as for the last draw.
    pub(crate) fn audit(&self, keys: u64) -> Option<AuditDistribution> {
        match self {
            Self::Uniform(uniform) => Some(uniform.audit(keys)),
            Self::Sequential(_) => None,
            Self::Zipfian(scrambled) => Some(scrambled.audit()),
            Self::TrueZipfian(ranks) => Some(ranks.audit("ranks of keys, first to last")),
            Self::Latest(ranks) => Some(ranks.audit("ranks of keys, last to first")),
            Self::Hotspot(hotspot) => Some(hotspot.audit(keys)),
        }
    }
}

/// The next sequential key, shared by all clients of a run, as in YCSB's
/// `SequentialGenerator`.
#[derive(Debug, Default)]
pub(crate) struct Turn(AtomicU64);

impl Turn {
    /// The next key from 0 to below `keys`, which is at least 1. The first follows the last.
    pub(crate) fn next(&self, keys: u64) -> u64 {
        // A client that knows of more keys may have been beyond.
        let wrapped = |key: u64| if key < keys { key } else { 0 };
        let key = self.0.update(Relaxed, Relaxed, |key| wrapped(key) + 1);
        wrapped(key)
    }
}

/// The keys that one client draws when nothing is inserted.
#[derive(Debug)]
pub struct KeyDraws {
    chooser: Chooser,
    draws: Draws,
    keys: u64,
}

impl KeyDraws {
    /// Draws among `keys` keys, at least one.
    ///
    /// # Panics
    /// When there is none.
    pub fn new(distribution: Distribution, keys: u64, seed: Seed) -> Self {
        assert!(keys > 0, "there is at least one key");
        Self {
            chooser: Chooser::new(distribution, keys, Growth::Fixed),
            draws: Draws::new(seed),
            keys,
        }
    }

    /// A key from 0 to below the number of keys.
    #[inline]
    pub fn draw(&mut self) -> u64 {
        self.chooser.draw(&mut self.draws, self.keys)
    }
}

#[cfg(test)]
mod tests {
    use std::{
        sync::atomic::{AtomicBool, Ordering::SeqCst},
        thread,
    };

    use octavo_units::Seed;
    use proptest::prelude::*;

    use super::*;
    use crate::keys::{AcknowledgedKeys, Hotspot, Theta};

    const ALL: [Distribution; 6] = [
        Distribution::Uniform,
        Distribution::Sequential,
        Distribution::Zipfian(Theta::YCSB),
        Distribution::TrueZipfian(Theta::YCSB),
        Distribution::Latest(Theta::YCSB),
        Distribution::Hotspot(Hotspot::DEFAULT),
    ];

    proptest! {
        #[test]
        fn every_key_exists_while_the_keys_grow(
            start in prop_oneof![1u64..2000, 1u64..1_000_000_000],
            steps in proptest::collection::vec(0u64..1000, 1..100),
            seed in any::<u64>(),
        ) {
            for distribution in ALL {
                let mut draws = Draws::new(Seed::new(seed));
                let mut chooser = Chooser::new(distribution, start, Growth::Growing);
                let mut keys = start;
                for step in &steps {
                    keys += step;
                    let key = chooser.draw(&mut draws, keys);
                    prop_assert!(key < keys, "{distribution}: {key} of {keys}");
                }
            }
        }
    }

    #[test]
    fn no_chooser_gives_a_key_before_it_is_acknowledged() {
        const THREADS: u64 = 3;
        const EACH: u64 = 5_000;
        const START: u64 = 100;
        for distribution in ALL {
            let keys = AcknowledgedKeys::new(START);
            let chooser = Chooser::new(distribution, START, Growth::Growing);
            let exists: Vec<AtomicBool> = (0..START + THREADS * EACH)
                .map(|key| AtomicBool::new(key < START))
                .collect();
            thread::scope(|scope| {
                for thread in 0..THREADS {
                    let (keys, exists) = (&keys, &exists);
                    let mut chooser = chooser.clone();
                    scope.spawn(move || {
                        let mut draws = Draws::new(Seed::new(thread));
                        for _ in 0..EACH {
                            let new = keys.next().unwrap();
                            let drawn = chooser.draw(&mut draws, keys.limit());
                            assert!(exists[drawn as usize].load(SeqCst), "{distribution}");
                            exists[new as usize].store(true, SeqCst);
                            keys.acknowledge(new);
                        }
                    });
                }
            });
            assert_eq!(keys.limit(), START + THREADS * EACH);
        }
    }

    #[test]
    fn latest_prefers_the_last_key() {
        let mut draws = Draws::new(Seed::new(9));
        let latest = Distribution::Latest(Theta::YCSB);
        let mut chooser = Chooser::new(latest, 1000, Growth::Growing);
        let mut last = 0;
        for draw in 0..10_000 {
            let keys = 1000 + draw;
            last += u32::from(chooser.draw(&mut draws, keys) == keys - 1);
        }
        // 1 / zeta falls from 0.129 at 1,000 keys to 0.096 at 11,000.
        assert!((960..1290).contains(&last), "{last}");
    }

    /// A table of its own for each of 100,000 terminals would be 1.8 GB.
    #[test]
    fn clones_share_tables_and_sequence() {
        for distribution in ALL {
            let chooser = Chooser::new(distribution, 1000, Growth::Growing);
            match (&chooser, &chooser.clone()) {
                (Chooser::Sequential(one), Chooser::Sequential(other)) => {
                    assert!(Arc::ptr_eq(one, other));
                }
                (Chooser::Zipfian(one), Chooser::Zipfian(other)) => {
                    assert!(one.shares_table_with(other));
                }
                (Chooser::TrueZipfian(one), Chooser::TrueZipfian(other))
                | (Chooser::Latest(one), Chooser::Latest(other)) => {
                    assert!(one.shares_table_with(other));
                }
                // The others have none.
                _ => assert!(size_of::<Chooser>() < 512),
            }
        }
    }

    #[test]
    fn keys_come_in_turn_while_they_grow() {
        let turn = Turn::default();
        let keys: Vec<u64> = [2, 2, 2, 4, 4, 4, 4, 3]
            .into_iter()
            .map(|keys| turn.next(keys))
            .collect();
        assert_eq!(keys, [0, 1, 0, 1, 2, 3, 0, 1]);
    }
}
