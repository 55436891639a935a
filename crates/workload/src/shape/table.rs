//! A table of keys and values, and what is done with it.

use octavo_units::Seed;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{error::ShapeError, operation::Operation, spread::Spread};
use crate::keys::Distribution;

/// One table: how many keys of which size it has, and how often what is done with them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct ShapeTable {
    /// Its name in every database: lower-case letters, digits and `_`.
    pub name: String,
    /// Keys that are loaded.
    pub keys: u64,
    /// Bytes of each key.
    pub key_bytes: u32,
    /// Bytes of values.
    pub value_bytes: Spread,
    /// In which order of their making keys stand beside each other.
    #[serde(default)]
    pub order: KeyOrder,
    /// How often operations fall on which keys.
    pub distribution: Distribution,
    /// Keys that a range reads.
    pub range_length: Spread,
    /// The weight of reads of a key.
    #[serde(default)]
    pub get: u32,
    /// The weight of reads of a key that was never there.
    #[serde(default)]
    pub get_absent: u32,
    /// The weight of new values of keys that are there.
    #[serde(default)]
    pub put: u32,
    /// The weight of new keys.
    #[serde(default)]
    pub insert: u32,
    /// The weight of removals of the oldest key.
    #[serde(default)]
    pub delete: u32,
    /// The weight of reads of keys beside each other.
    #[serde(default)]
    pub range: u32,
}

/// Where new keys go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum KeyOrder {
    /// Anywhere among the others, as with hashes.
    #[default]
    Hashed,
    /// Behind all others, as with numbers that count up.
    Sequential,
}

impl KeyOrder {
    /// All of them, by their names in files.
    pub const NAMES: [(&'static str, Self); 2] =
        [("hashed", Self::Hashed), ("sequential", Self::Sequential)];
}

impl ShapeTable {
    /// The most keys of a table: 1 TB with a thousand bytes each.
    pub const KEYS_MAX: u64 = 1_000_000_000;

    /// Bytes that a key can have. Fewer are too few keys. 255 fit in an index of each database with
    /// each of its page sizes: of those that have a limit, PostgreSQL's is a third of a page of 1
    /// KiB, MariaDB's 768 bytes with pages of 4 KiB (3,072 with 16 KiB), LMDB's 511, and libmdbx' 2,022 bytes
    /// with 4 KiB.
    pub const KEY_BYTES: std::ops::RangeInclusive<u32> = 4..=255;

    /// Bytes that a value can have: MariaDB's widest row is 65,535.
    pub const VALUE_BYTES: std::ops::RangeInclusive<u32> = 1..=60_000;

    /// Keys that a range can read. Chosen.
    pub const RANGE_LENGTH: std::ops::RangeInclusive<u32> = 1..=100_000;

    /// One of this name and size with which nothing is done.
    pub fn new(name: impl Into<String>, keys: u64, key_bytes: u32, value_bytes: Spread) -> Self {
        Self {
            name: name.into(),
            keys,
            key_bytes,
            value_bytes,
            order: KeyOrder::Hashed,
            distribution: Distribution::Uniform,
            range_length: Self::RANGE_LENGTH_DEFAULT,
            get: 0,
            get_absent: 0,
            put: 0,
            insert: 0,
            delete: 0,
            range: 0,
        }
    }

    /// Keys that a range reads when nobody says: as YCSB's scans.
    pub const RANGE_LENGTH_DEFAULT: Spread = match Spread::new(1, 100) {
        Some(spread) => spread,
        None => Spread::always(1),
    };

    /// The weight of an operation.
    pub fn weight(&self, operation: Operation) -> u32 {
        match operation {
            Operation::Get => self.get,
            Operation::GetAbsent => self.get_absent,
            Operation::Put => self.put,
            Operation::Insert => self.insert,
            Operation::Delete => self.delete,
            Operation::Range => self.range,
        }
    }

    /// Bits of the numbers that tell its keys apart, an even number.
    ///
    /// Keys are digits of 5 bits each. More than 12 of them tell no more keys apart than anybody
    /// has.
    pub(crate) fn key_bits(&self) -> u32 {
        const DIGITS_MAX: u32 = 12;
        (5 * self.key_bytes.min(DIGITS_MAX)) & !1
    }

    /// How many keys can be loaded with keys of this length. A quarter of all numbers: half of them
    /// are of keys that are never there, and there has to be room for new ones.
    pub(crate) fn keys_max(&self) -> u64 {
        (1 << (self.key_bits() - 2)).min(Self::KEYS_MAX)
    }

    /// Refuses what cannot be.
    pub(super) fn check(&self) -> Result<(), ShapeError> {
        let refuse =
            |key: &'static str, reason: String| Err(ShapeError::of(&self.name, key, reason));
        let mut letters = self.name.bytes();
        let is_name = matches!(letters.next(), Some(b'a'..=b'z'))
            && letters.all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_'))
            && self.name.len() <= 40;
        if !is_name {
            let reason = "a table's name is up to 40 lower-case letters, digits and _, and begins \
                          with a letter";
            return refuse(ShapeError::NAME, reason.into());
        }
        if super::reserved::is_reserved(&self.name) {
            let reason = format!(
                "'{}' is a word of SQL: choose another name, such as {}_table",
                self.name, self.name
            );
            return refuse(ShapeError::NAME, reason);
        }
        if !Self::KEY_BYTES.contains(&self.key_bytes) {
            let (least, most) = Self::KEY_BYTES.into_inner();
            let reason = format!(
                "key-bytes must be {least} to {most}, not {}: all databases take such keys with \
                 all page sizes",
                self.key_bytes
            );
            return refuse("key-bytes", reason);
        }
        if !(1..=self.keys_max()).contains(&self.keys) {
            let reason = format!(
                "keys must be 1 to {} with key-bytes = {}, not {}",
                self.keys_max(),
                self.key_bytes,
                self.keys
            );
            return refuse("keys", reason);
        }
        let spreads = [
            ("value-bytes", self.value_bytes, Self::VALUE_BYTES),
            ("range-length", self.range_length, Self::RANGE_LENGTH),
        ];
        for (key, spread, range) in spreads {
            if !spread.is_within(&range) {
                let (least, most) = range.into_inner();
                let reason = format!("{key} must be {least} to {most}, not {spread}");
                return refuse(key, reason);
            }
        }
        if self.delete > self.insert {
            let reason = format!(
                "delete = {} is more than insert = {}: the table would shrink; raise insert",
                self.delete, self.insert
            );
            return refuse("delete", reason);
        }
        Ok(())
    }

    /// Goes on with a fingerprint of the rows that are loaded.
    pub(super) fn fingerprint(&self, before: Seed) -> Seed {
        let order = match self.order {
            KeyOrder::Hashed => 0,
            KeyOrder::Sequential => 1,
        };
        let numbers = [
            self.keys,
            self.key_bytes.into(),
            self.value_bytes.least().into(),
            self.value_bytes.most().into(),
            order,
        ];
        let numbers = numbers.into_iter();
        numbers.fold(before, |seed, number| seed.derive(&self.name, number))
    }
}
