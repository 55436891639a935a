//! What must hold of the tables after a load and after every run.
//!
//! All rows are read. Keys say their numbers and values follow from these, so that it is known of
//! each row whether it was written, and which rows are missing between the first key and the last.

use std::{collections::HashMap, ops::Range};

use super::{contents::Contents, key::KeyId};
use crate::{
    Condition, Connection, ConnectionError,
    connection::{Row, Statement, Value},
    shape::{ShapeTable, TableStatement},
};

/// Rows that one statement reads.
const PAGE: i64 = 1000;

/// Transactions that failed last may leave keys that are not there behind the first and before the
/// last of the table: fewer than so many. Chosen.
const EDGE: u64 = 4096;

/// Numbers that were seen.
#[derive(Debug, Default)]
struct Seen {
    /// Bits of numbers, 64 words together.
    blocks: HashMap<u64, [u64; 64]>,
    first: Option<u64>,
    last: u64,
}

const BLOCK: u64 = 64 * 64;

impl Seen {
    /// Adds a number; answers whether it is new.
    fn add(&mut self, number: u64) -> bool {
        let block = self.blocks.entry(number / BLOCK).or_insert([0; 64]);
        let word = &mut block[(number % BLOCK / 64) as usize];
        let bit = 1 << (number % 64);
        let is_new = *word & bit == 0;
        *word |= bit;
        self.first = Some(self.first.map_or(number, |first| first.min(number)));
        self.last = self.last.max(number);
        is_new
    }

    /// How many of a range are missing.
    fn missing(&self, range: Range<u64>) -> u64 {
        let words = self.blocks.iter().flat_map(|(block, words)| {
            let of = move |position: usize| block * BLOCK + position as u64 * 64;
            let words = words.iter().enumerate();
            words.map(move |(position, word)| (of(position), *word))
        });
        let seen: u64 = words
            .map(|(begin, word)| {
                let end = begin + 64;
                if range.start <= begin && end <= range.end {
                    return u64::from(word.count_ones());
                }
                let numbers = begin.max(range.start)..end.min(range.end);
                numbers
                    .filter(|number| word >> (number - begin) & 1 == 1)
                    .count() as u64
            })
            .sum();
        range.end.saturating_sub(range.start) - seen
    }

    /// How many keys are missing in a table of which `loaded` were there at first.
    fn holes(&self, loaded: u64, table: &ShapeTable) -> u64 {
        let Some(first) = self.first else {
            return loaded;
        };
        let end = self.last + 1;
        // What was loaded and not removed is there.
        let before = loaded.saturating_sub(end);
        let begin = match (first, table.delete) {
            (_, 0) => 0,
            (0, _) => 0,
            _ => first + EDGE,
        };
        let strict = match end > loaded {
            true => end.saturating_sub(EDGE).max(loaded),
            false => end,
        };
        before + self.missing(begin.min(strict)..strict)
    }
}

/// Checks all conditions of tables.
pub(super) fn check(
    connection: &mut dyn Connection,
    statements: &'static [Statement],
    contents: &Contents,
    tables: &[ShapeTable],
) -> Result<Vec<Condition>, ConnectionError> {
    let mut keys = Condition::new("keys");
    let mut values = Condition::new("values");
    let mut complete = Condition::new("no keys are missing");
    for (position, table) in tables.iter().enumerate() {
        let of = &contents.tables[position];
        let statement = TableStatement::Range.of(position);
        let mut seen = Seen::default();
        let (mut from, mut last, mut again) = (String::new(), String::new(), String::new());
        loop {
            let (mut rows, mut is_readable) = (0, true);
            let mut look = |row: &dyn Row| {
                let (Value::Text(key), Value::Text(value)) = (row.value(0), row.value(1)) else {
                    is_readable = false;
                    return;
                };
                // The one that the page before ended with.
                if rows == 0 && key == from && !from.is_empty() {
                    return;
                }
                rows += 1;
                let number = of.form.read(key, &mut again).and_then(KeyId::number);
                let is_new = number.is_some_and(|number| seen.add(number));
                keys.expect(is_new, || {
                    format!(
                        "{} has a row with key {key}, which was never written",
                        table.name
                    )
                });
                if let Some(number) = number {
                    let is_value = contents.is_value(position, number, value);
                    values.expect(is_value, || {
                        format!(
                            "{} has a value of key {key} that was never written",
                            table.name
                        )
                    });
                }
                last.clear();
                last.push_str(key);
            };
            let parameters = [Value::Text(&from), Value::Integer(PAGE)];
            connection.query(statement, &parameters, &mut look)?;
            if !is_readable {
                let answer = crate::answer::UnexpectedAnswer::Value;
                return Err(crate::answer::failed(statements, statement, answer));
            }
            if rows == 0 {
                break;
            }
            from.clone_from(&last);
        }
        let holes = seen.holes(of.keys, table);
        complete.checked += seen.last + 1;
        if holes > 0 {
            complete.violations += holes;
            complete.first_violation.get_or_insert_with(|| {
                format!(
                    "{holes} keys of {} are missing between its first and its last",
                    table.name
                )
            });
        }
    }
    Ok(vec![keys, values, complete])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shape::Spread;

    fn holes(loaded: u64, deletes: bool, numbers: impl Iterator<Item = u64>) -> u64 {
        let mut seen = Seen::default();
        for number in numbers {
            assert!(seen.add(number));
        }
        let table = ShapeTable {
            insert: 1,
            delete: u32::from(deletes),
            ..ShapeTable::new("t", loaded, 20, Spread::always(1))
        };
        seen.holes(loaded, &table)
    }

    #[test]
    fn what_was_loaded_is_there_or_was_removed_first() {
        let loaded = 20_000;
        assert_eq!(holes(loaded, false, 0..loaded), 0);
        assert_eq!(holes(loaded, false, 0..loaded - 7), 7, "the last");
        assert_eq!(holes(loaded, false, 7..loaded), 7, "nothing is removed");
        assert_eq!(holes(loaded, true, 7..loaded), 0);
        assert_eq!(holes(loaded, true, 7..loaded - 7), 7);
        assert_eq!(holes(loaded, false, std::iter::empty()), loaded);
        let without = |missing: u64| (0..loaded).filter(move |number| *number != missing);
        for missing in [1, 64, 5000, loaded - 2] {
            assert_eq!(holes(loaded, true, without(missing)), 1, "{missing}");
        }
    }

    #[test]
    fn transactions_that_failed_last_leave_holes_at_the_ends() {
        let loaded = 20_000;
        let without = |begin: u64, end: u64, missing: u64| {
            (begin..end).filter(move |number| *number != missing)
        };
        assert_eq!(holes(loaded, true, without(500, 30_000, 501)), 0);
        assert_eq!(holes(loaded, true, without(500, 30_000, 29_998)), 0);
        assert_eq!(holes(loaded, true, without(500, 30_000, 15_000)), 1);
        assert_eq!(holes(loaded, false, without(0, 20_010, 20_005)), 0);
        assert_eq!(
            holes(loaded, false, without(0, 20_010, 19_999)),
            1,
            "it was loaded"
        );
    }
}
