//! What keys look like, and their order.

use std::{cmp::Ordering, fmt::Write};

use crate::keys::fnv_hash;

/// What every key begins with.
pub(super) const PREFIX: &str = "user";

/// The longest key: the prefix and the 19 digits of 2^63.
pub(super) const LENGTH_MAX: usize = PREFIX.len() + 19;

/// Appends the key of a key number, as YCSB's `buildKeyName` does for hashed
/// insert order without padding.
pub(super) fn push_key(text: &mut String, number: u64) {
    // Writing to a string never fails.
    let _ = write!(text, "{PREFIX}{}", fnv_hash(number));
}

/// Where a key stands in the order of the keys, which is that of their text:
/// 10 before 9, and 1 before 10. Digits stand alike in every collation.
///
/// `digits` are a hash's, filled up with zeros on the right to 19 of them, so
/// that comparing numbers compares texts; where two are alike the shorter text,
/// which is the smaller hash, comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct KeyPlace {
    pub(super) digits: u64,
    /// The key number.
    pub(super) number: u64,
}

/// The smallest number of 19 digits.
const SMALLEST: u64 = 10u64.pow(18);

/// Hashes are uniform up to here.
const HASHES: u64 = 1 << 63;

impl KeyPlace {
    #[inline]
    pub(super) fn new(number: u64) -> Self {
        Self {
            digits: filled_up(fnv_hash(number)),
            number,
        }
    }

    /// The digits of a key as [`push_key`] writes it; 0 for any other text.
    pub(super) fn digits_of(key: &str) -> u64 {
        let hash = key.strip_prefix(PREFIX).and_then(|hash| hash.parse().ok());
        filled_up(hash.unwrap_or(0))
    }
}

/// Zeros on the right, to 19 digits.
#[inline]
fn filled_up(mut hash: u64) -> u64 {
    // Nine of ten have 19 digits, nine of ten others 18. The hash 0 is the text 0,
    // before all others as it is here.
    while hash < SMALLEST && hash != 0 {
        hash *= 10;
    }
    hash
}

impl Ord for KeyPlace {
    fn cmp(&self, other: &Self) -> Ordering {
        let hashes = || fnv_hash(self.number).cmp(&fnv_hash(other.number));
        self.digits
            .cmp(&other.digits)
            .then_with(hashes)
            .then(self.number.cmp(&other.number))
    }
}

impl PartialOrd for KeyPlace {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The digits below which `part` of `parts` of all keys lie.
///
/// Of the hashes below 2^63, those with 19 digits begin at 10^18, and those
/// with fewer lie evenly over 10^18 to 10^19 once filled up: a tenth, a
/// hundredth, ... as densely as their range is wide, a ninth together. So the
/// density is 10/9 up to 2^63 and 1/9 from there to 10^19, of 2^63 in all.
pub(super) fn quantile(part: u64, parts: u64) -> u64 {
    let hashes = u128::from(HASHES) * u128::from(part) / u128::from(parts);
    let dense = u128::from(HASHES - SMALLEST) * 10 / 9;
    let digits = match hashes <= dense {
        true => u128::from(SMALLEST) + hashes * 9 / 10,
        false => u128::from(HASHES) + (hashes - dense) * 9,
    };
    // At most 10^19.
    digits as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn key(number: u64) -> String {
        let mut text = String::new();
        push_key(&mut text, number);
        text
    }

    #[test]
    fn keys_are_those_of_ycsb() {
        assert_eq!(key(0), "user6284781860667377211");
        assert_eq!(key(1), "user8517097267634966620");
        assert_eq!(key(2), "user1820151046732198393");
    }

    #[test]
    fn quantiles_cut_the_keys_evenly() {
        const KEYS: u64 = 100_000;
        const PARTS: u64 = 16;
        let mut counts = [0u64; PARTS as usize];
        for number in 0..KEYS {
            let digits = KeyPlace::new(number).digits;
            let part = (1..PARTS).filter(|part| digits >= quantile(*part, PARTS));
            counts[part.count()] += 1;
        }
        let mean = KEYS / PARTS;
        // The standard deviation is 77.
        assert!(
            counts.iter().all(|count| count.abs_diff(mean) < 5 * 77),
            "{counts:?}"
        );
        assert_eq!(quantile(0, PARTS), SMALLEST);
        assert!(quantile(PARTS, PARTS).abs_diff(10 * SMALLEST) < 100);
    }

    proptest! {
        #[test]
        fn places_are_in_the_order_of_the_texts(one in 0u64..1_000_000_000, other in any::<u64>()) {
            let places = KeyPlace::new(one).cmp(&KeyPlace::new(other));
            prop_assert_eq!(places, key(one).cmp(&key(other)));
            prop_assert!(key(other).len() <= LENGTH_MAX);
        }
    }
}
