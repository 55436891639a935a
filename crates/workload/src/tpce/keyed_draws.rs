//! Draws that follow from a number alone.
//!
//! Who owns an account and what it trades is drawn from its number, so that clients need
//! not ask for it (EGen does the same).

use octavo_units::{Seed, mix};

/// A stream of draws for one attribute of one numbered thing: the same each time.
#[derive(Clone, Copy, Debug)]
pub(super) struct KeyedDraws(u64);

impl KeyedDraws {
    /// The draws of this attribute of the thing with this number.
    #[inline]
    pub(super) fn new(seed: Seed, attribute: Attribute, number: i64) -> Self {
        let word = seed.get() ^ (attribute as u64 + 1).wrapping_mul(0xd6e8_feb8_6659_fd93);
        Self(mix(mix(word) ^ number.cast_unsigned()))
    }

    /// A whole number from `low` to `high`, both included, as
    /// [`crate::random::Draws::uniform`] draws it.
    #[inline]
    pub(super) fn uniform(&mut self, low: i64, high: i64) -> i64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let values = low.abs_diff(high) + 1;
        low + ((u128::from(mix(self.0)) * u128::from(values)) >> 64) as i64
    }

    /// A fraction from 0 to below 1.
    #[inline]
    pub(super) fn fraction(&mut self) -> f64 {
        self.uniform(0, (1 << 53) - 1) as f64 * (-53f64).exp2()
    }

    /// True with a probability of `percent` in 100.
    #[inline]
    pub(super) fn percent(&mut self, percent: i64) -> bool {
        self.uniform(1, 100) <= percent
    }
}

/// What is drawn from a number. The position of each is part of its seed.
#[derive(Clone, Copy, Debug)]
pub(super) enum Attribute {
    Person,
    TaxIdent,
    Account,
    Permissions,
    Basket,
    Address,
    Zip,
    TaxRates,
    Company,
}
