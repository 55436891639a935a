//! What keys look like: numbers to texts of one length, and back.
//!
//! A key is digits of base 32 that stand in the same order in every collation. A table of sequential keys
//! has its numbers with zeros before them. One of hashed keys has permuted numbers (a Feistel
//! network of four rounds), so that they are anywhere and none comes twice; what is left of the
//! key's length are digits that follow from those.

use octavo_units::mix;

use crate::shape::{KeyOrder, ShapeTable};

/// Digits in their order.
const DIGITS: &[u8; 32] = b"0123456789abcdefghijklmnopqrstuv";

/// Bits of a digit.
const DIGIT_BITS: u32 = 5;

/// Rounds of the permutation: as many as make all bits depend on all (Luby and Rackoff, 1988).
const ROUNDS: u64 = 4;

/// A number of a table: of a key that is there at some time, or of one that never is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct KeyId(u64);

impl KeyId {
    /// Of the key with this number.
    pub(super) const fn of(number: u64) -> Self {
        Self(number << 1)
    }

    /// Of one beside it that is never there.
    pub(super) const fn absent(number: u64) -> Self {
        Self(number << 1 | 1)
    }

    /// The number of a key that may be there.
    pub(super) const fn number(self) -> Option<u64> {
        match self.0 & 1 {
            0 => Some(self.0 >> 1),
            _ => None,
        }
    }
}

/// How a table's keys are written.
#[derive(Clone, Copy, Debug)]
pub(super) struct KeyForm {
    length: usize,
    digits: u32,
    /// Of a [`KeyId`]; even.
    bits: u32,
    order: KeyOrder,
    salt: u64,
}

impl KeyForm {
    /// Of a table, permuted by a number of its own.
    pub(super) fn new(table: &ShapeTable, salt: u64) -> Self {
        let bits = table.key_bits();
        Self {
            length: table.key_bytes as usize,
            digits: bits.div_ceil(DIGIT_BITS),
            bits,
            order: table.order,
            salt,
        }
    }

    /// Where new keys go.
    pub(super) const fn order(&self) -> KeyOrder {
        self.order
    }

    /// How many keys can be told apart.
    pub(super) const fn capacity(&self) -> u64 {
        1 << (self.bits - 1)
    }

    /// How many places there are.
    pub(super) const fn places(&self) -> u64 {
        1 << self.bits
    }

    /// Where a key stands in the order of all keys that could be.
    #[inline]
    pub(super) fn place(&self, id: KeyId) -> u64 {
        match self.order {
            KeyOrder::Sequential => id.0,
            KeyOrder::Hashed => {
                let (mut left, mut right) = self.halves(id.0);
                for round in 0..ROUNDS {
                    (left, right) = (right, left ^ self.scrambled(right, round));
                }
                left << (self.bits / 2) | right
            }
        }
    }

    /// The key at a place.
    #[inline]
    pub(super) fn at(&self, place: u64) -> KeyId {
        match self.order {
            KeyOrder::Sequential => KeyId(place),
            KeyOrder::Hashed => {
                let (mut left, mut right) = self.halves(place);
                for round in (0..ROUNDS).rev() {
                    (left, right) = (right ^ self.scrambled(left, round), left);
                }
                KeyId(left << (self.bits / 2) | right)
            }
        }
    }

    fn halves(&self, number: u64) -> (u64, u64) {
        let half = self.bits / 2;
        let mask = (1 << half) - 1;
        (number >> half & mask, number & mask)
    }

    fn scrambled(&self, half: u64, round: u64) -> u64 {
        mix(half ^ self.salt.wrapping_add(round)) & ((1 << (self.bits / 2)) - 1)
    }

    /// Appends a key.
    pub(super) fn push(&self, text: &mut String, id: KeyId) {
        self.push_place(text, self.place(id));
    }

    /// Appends the key at a place.
    pub(super) fn push_place(&self, text: &mut String, place: u64) {
        let others = self.length - self.digits as usize;
        match self.order {
            KeyOrder::Sequential => {
                text.extend(std::iter::repeat_n('0', others));
                push_digits(text, place, self.digits);
            }
            KeyOrder::Hashed => {
                push_digits(text, place, self.digits);
                let mut word = mix(place ^ self.salt);
                for digit in 0..others {
                    if digit > 0 && digit.is_multiple_of(WORD_DIGITS) {
                        word = mix(word);
                    }
                    push_digits(text, word, 1);
                    word = word.rotate_right(DIGIT_BITS);
                }
            }
        }
    }

    /// The key that a text is; `None` for any other text. `again` is memory to write it in.
    pub(super) fn read(&self, text: &str, again: &mut String) -> Option<KeyId> {
        let others = self.length - self.digits as usize;
        let digits = match self.order {
            KeyOrder::Sequential => text.get(others..),
            KeyOrder::Hashed => text.get(..self.digits as usize),
        };
        let place = read_digits(digits?).filter(|place| *place < self.places())?;
        again.clear();
        self.push_place(again, place);
        (text == again).then(|| self.at(place))
    }
}

/// Digits of 64 random bits, after which they come again.
const WORD_DIGITS: usize = 12;

/// Appends the lowest digits of a number.
pub(super) fn push_digits(text: &mut String, number: u64, count: u32) {
    for digit in (0..count).rev() {
        let digit = number >> (digit * DIGIT_BITS) & 31;
        text.push(char::from(DIGITS[digit as usize]));
    }
}

/// The number that at most 12 digits are.
pub(super) fn read_digits(text: &str) -> Option<u64> {
    let digit = |byte: u8| match byte {
        b'0'..=b'9' => Some(u64::from(byte - b'0')),
        b'a'..=b'v' => Some(u64::from(byte - b'a') + 10),
        _ => None,
    };
    if text.len() > WORD_DIGITS {
        return None;
    }
    let mut bytes = text.bytes();
    bytes.try_fold(0, |number, byte| Some(number << DIGIT_BITS | digit(byte)?))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;
    use crate::shape::Spread;

    fn form(key_bytes: u32, order: KeyOrder) -> KeyForm {
        let table = ShapeTable {
            order,
            ..ShapeTable::new("t", 1000, key_bytes, Spread::always(1))
        };
        KeyForm::new(&table, 77)
    }

    const ORDERS: [KeyOrder; 2] = [KeyOrder::Hashed, KeyOrder::Sequential];

    proptest! {
        #[test]
        fn keys_have_their_length_and_are_read_again(length in 4_u32..=255, number: u64, absent: bool) {
            for order in ORDERS {
                let form = form(length, order);
                let number = number % form.capacity();
                let id = if absent { KeyId::absent(number) } else { KeyId::of(number) };
                let mut text = String::new();
                form.push(&mut text, id);
                prop_assert_eq!(text.len(), length as usize);
                let mut again = String::new();
                prop_assert_eq!(form.read(&text, &mut again), Some(id));
                prop_assert_eq!(id.number(), (!absent).then_some(number));
                prop_assert_eq!(form.at(form.place(id)), id);
            }
        }

        #[test]
        fn other_texts_are_no_keys(text: String, length in 4_u32..40) {
            for order in ORDERS {
                let mut again = String::new();
                let read = form(length, order).read(&text, &mut again);
                prop_assert!(read.is_none() || text.len() == length as usize);
            }
        }

        #[test]
        fn texts_stand_in_the_order_of_their_places(length in 4_u32..40, one: u64, other: u64) {
            for order in ORDERS {
                let form = form(length, order);
                let places = [one, other].map(|place| place % form.places());
                let texts = places.map(|place| {
                    let mut text = String::new();
                    form.push_place(&mut text, place);
                    text
                });
                prop_assert_eq!(texts[0].cmp(&texts[1]), places[0].cmp(&places[1]));
            }
        }
    }

    /// All of the smallest form: none comes twice, and hashed ones are anywhere.
    #[test]
    fn no_key_comes_twice() {
        for order in ORDERS {
            let form = form(4, order);
            let places: HashSet<u64> = (0..form.places()).map(|id| form.place(KeyId(id))).collect();
            assert_eq!(places.len() as u64, form.places());
            let below_half = (0..1000).filter(|&of| form.place(KeyId::of(of)) < form.places() / 2);
            let count = below_half.count();
            match order {
                KeyOrder::Hashed => assert!((400..600).contains(&count), "{count}"),
                KeyOrder::Sequential => assert_eq!(count, 1000),
            }
        }
    }

    #[test]
    fn a_changed_character_is_found() {
        let form = form(20, KeyOrder::Hashed);
        let (mut text, mut again) = (String::new(), String::new());
        form.push(&mut text, KeyId::of(5));
        for position in 0..20 {
            let mut changed = text.clone().into_bytes();
            changed[position] = if changed[position] == b'0' {
                b'1'
            } else {
                b'0'
            };
            let changed = String::from_utf8(changed).unwrap();
            assert_eq!(form.read(&changed, &mut again), None, "{position}");
        }
    }
}
