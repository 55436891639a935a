//! Draws of keys alone, without operations: for measuring the choosers.

use octavo_units::Seed;

use super::{
    Distribution,
    chooser::{Chooser, Growth},
};
use crate::random::Draws;

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
