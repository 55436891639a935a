//! What stands in values.
//!
//! A value follows from its table, its key's number and a version, which it begins with: so whoever
//! reads one sees whether it was ever written there. The rest is a part of a text that is the same
//! for all. That text is so long that values of one page seldom have a part of it in common, and
//! comparing takes far less time than making random characters would.

use std::sync::{Arc, OnceLock};

use octavo_units::{Seed, mix};

use super::key::{KeyForm, push_digits, read_digits};
use crate::{
    random::Draws,
    shape::{Shape, Spread},
};

/// Digits of a version.
const VERSION_DIGITS: u32 = 8;

/// Versions are below this.
const VERSIONS: u64 = 1 << (5 * VERSION_DIGITS);

/// Where a value's part of the text can begin: below this.
const OFFSETS: u64 = 1 << 20;

/// A version of a value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Version(u64);

impl Version {
    /// Of random bits.
    pub(super) const fn new(bits: u64) -> Self {
        Self(bits % VERSIONS)
    }
}

/// The rows of all tables.
#[derive(Debug)]
pub(super) struct Contents {
    pub(super) tables: Vec<TableContents>,
    seed: Seed,
    text: OnceLock<String>,
}

/// The rows of one table.
#[derive(Clone, Copy, Debug)]
pub(super) struct TableContents {
    /// Keys that are loaded.
    pub(super) keys: u64,
    pub(super) form: KeyForm,
    pub(super) values: Spread,
    salt: u64,
}

impl Contents {
    /// Those of a shape, with as many keys in each of its tables.
    pub(super) fn new(shape: &Shape, keys: &[u64], seed: Seed) -> Arc<Self> {
        let tables = shape.tables().iter().zip(keys).map(|(table, &keys)| {
            let seed = seed.derive(&table.name, 0);
            TableContents {
                keys,
                form: KeyForm::new(table, seed.derive("keys", 0).get()),
                values: table.value_bytes,
                salt: seed.derive("values", 0).get(),
            }
        });
        Arc::new(Self {
            tables: tables.collect(),
            seed,
            text: OnceLock::new(),
        })
    }

    fn text(&self) -> &str {
        self.text.get_or_init(|| {
            let longest = self.tables.iter().map(|table| table.values.most() as usize);
            let length = OFFSETS as usize + longest.max().unwrap_or_default();
            let mut text = String::with_capacity(length);
            Draws::new(self.seed.derive("text", 0)).text(&mut text, length);
            text
        })
    }

    /// Appends the value of a key in a version.
    pub(super) fn push(&self, text: &mut String, table: usize, number: u64, version: Version) {
        let (length, rest) = self.parts(table, number, version);
        let before = text.len();
        push_digits(text, version.0, VERSION_DIGITS);
        text.truncate(before + length);
        text.push_str(rest);
    }

    /// The version that is loaded or inserted.
    pub(super) fn first_version(&self, table: usize, number: u64) -> Version {
        Version::new(mix(self.tables[table].salt ^ !number))
    }

    /// Whether this is the value of a key in any version. Of one that is no longer than its version
    /// only the length is known.
    pub(super) fn is_value(&self, table: usize, number: u64, text: &str) -> bool {
        if text.len() <= VERSION_DIGITS as usize {
            let length = u32::try_from(text.len());
            return length.is_ok_and(|length| self.tables[table].values.contains(length))
                && read_digits(text).is_some();
        }
        let Some((version, rest)) = text.split_at_checked(VERSION_DIGITS as usize) else {
            return false;
        };
        let Some(version) = read_digits(version) else {
            return false;
        };
        let (length, wanted) = self.parts(table, number, Version(version));
        length == text.len() && rest == wanted
    }

    /// Whether a text stands for a value where no rows are kept: no version has this letter.
    pub(super) fn is_made_up(text: &str) -> bool {
        !text.is_empty() && text.bytes().all(|byte| byte == b'x')
    }

    /// The length of a value, and what stands behind its version.
    fn parts(&self, table: usize, number: u64, version: Version) -> (usize, &str) {
        let TableContents { values, salt, .. } = self.tables[table];
        let bits = mix(mix(salt ^ number) ^ version.0);
        // Its upper half.
        let length = values.by_bits(u32::try_from(bits >> 32).unwrap_or(0)) as usize;
        let rest = length.saturating_sub(VERSION_DIGITS as usize);
        let offset = (bits % OFFSETS) as usize;
        (length, &self.text()[offset..offset + rest])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shape::ShapeTable;

    fn contents(least: u32, most: u32) -> Arc<Contents> {
        let values = Spread::new(least, most).unwrap();
        let table = |name| ShapeTable {
            get: 1,
            ..ShapeTable::new(name, 1000, 20, values)
        };
        let shape = Shape::new(1, vec![table("a"), table("b")]).unwrap();
        Contents::new(&shape, &[1000, 1000], Seed::new(1))
    }

    fn value(contents: &Contents, number: u64, version: u64) -> String {
        let mut text = String::from("before");
        contents.push(&mut text, 0, number, Version::new(version));
        text.split_off("before".len())
    }

    #[test]
    fn values_have_their_lengths_and_are_known_again() {
        for (least, most) in [(1, 1), (5, 8), (1, 60), (32, 32), (100, 4000)] {
            let contents = contents(least, most);
            let (mut shortest, mut longest) = (u32::MAX, 0);
            for number in 0..2000 {
                let text = value(&contents, number, mix(number));
                assert!(contents.is_value(0, number, &text), "{text}");
                let length = u32::try_from(text.len()).unwrap();
                (shortest, longest) = (shortest.min(length), longest.max(length));
            }
            assert!(
                shortest >= least && longest <= most,
                "{shortest}..{longest}"
            );
            let width = most - least;
            assert!(shortest <= least + width / 50 && longest >= most - width / 50);
        }
    }

    #[test]
    fn wrong_values_are_found() {
        let contents = contents(32, 200);
        let text = value(&contents, 7, 1);
        assert!(!contents.is_value(0, 8, &text), "another key");
        assert!(!contents.is_value(1, 7, &text), "another table");
        assert!(!contents.is_value(0, 7, &text[..text.len() - 1]), "cut off");
        assert!(!contents.is_value(0, 7, &format!("{text}x")), "too long");
        for position in 0..text.len() {
            let mut changed = text.clone().into_bytes();
            changed[position] = if changed[position] == b'0' {
                b'1'
            } else {
                b'0'
            };
            let changed = String::from_utf8(changed).unwrap();
            assert!(!contents.is_value(0, 7, &changed), "changed at {position}");
        }
        assert!(!contents.is_value(0, 7, &"x".repeat(32)), "made up");
        assert!(!contents.is_value(0, 7, ""));
        assert!(!contents.is_value(0, 7, "ääääääääääääääääääää"));
    }

    #[test]
    fn versions_differ() {
        let contents = contents(32, 32);
        assert_ne!(value(&contents, 7, 1), value(&contents, 7, 2));
        let first = |number| contents.first_version(0, number);
        assert_ne!(first(1), first(2));
    }
}
