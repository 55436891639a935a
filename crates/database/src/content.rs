//! What tables hold, as numbers that are the same in every database.
//!
//! A table is a multiset of rows, so its hash is the sum of its rows' hashes
//! modulo 2^128: independent of their order, and unlike an exclusive or it
//! counts rows that are there twice (Clarke et al., "Incremental Multiset Hash
//! Functions and Their Application to Memory Integrity Checking", ASIACRYPT
//! 2003).
//!
//! A row's hash is SipHash-2-4 with 128 bits of output and a key of zeros
//! (<https://github.com/veorq/SipHash>) over its values in the columns' order,
//! each a byte for its kind and then, the lowest byte first:
//!
//! | kind | bytes |
//! |---|---|
//! | 0, NULL | none |
//! | 1, whole number | the number in 8 |
//! | 2, decimal | the scale in 1, the unscaled digits in 8 |
//! | 3, text | its length in 8, then UTF-8; of a `Char` column without blanks at its end, since databases differ there |
//! | 4, time | microseconds since 1970 in 8 |
//!
//! The sixteen bytes that come out are a number, the lowest byte first.
//!
//! Different rows have different bytes, and SipHash is made to look like a
//! random function. So two different tables have one hash with a chance of
//! about 2^-128: no error goes unseen by accident. The key is known, so it
//! protects from no forger. A plain hash such as FNV-1a would not do even so:
//! its sum often stays the same when two rows swap their last values.

use std::hash::Hasher;

use octavo_workload::{
    ConnectionError, Workload,
    connection::Value,
    population::RowBatch,
    schema::{Column, ColumnKind},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use siphasher::sip128::{Hash128, Hasher128, SipHasher24};

use crate::Inspection;

/// What one table holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TableContent {
    /// The table's name.
    pub table: String,
    /// Its rows.
    pub rows: u64,
    /// The sum of its rows' hashes, in 32 hexadecimal digits.
    pub hash: String,
}

/// What the workload's tables hold in a database at rest, in the order of
/// [`Workload::tables`].
///
/// # Errors
/// As [`Inspection::scan`].
pub fn contents(
    inspection: &mut dyn Inspection,
    workload: &dyn Workload,
) -> Result<Vec<TableContent>, ConnectionError> {
    let content = |table| {
        let mut sum = RowSum::default();
        inspection.scan(table, &mut |row| {
            sum.add(&table.columns, |column| row.value(column));
        })?;
        Ok(sum.content(table.name))
    };
    workload.tables().iter().map(content).collect()
}

/// What [`contents`] has to answer after a load: generates all rows on this
/// thread and stores none.
pub fn expected_contents(workload: &dyn Workload) -> Vec<TableContent> {
    let tables = workload.tables();
    let mut sums: Vec<RowSum> = tables.iter().map(|_| RowSum::default()).collect();
    let population = workload.population();
    let mut batch = RowBatch::new();
    for partition in population.partitions() {
        population.generate(&partition, &mut batch, &mut |batch| {
            let table = batch.table().0;
            for row in 0..batch.len() {
                sums[table].add(&tables[table].columns, |column| batch.value(row, column));
            }
            true
        });
    }
    sums.into_iter()
        .zip(tables)
        .map(|(sum, table)| sum.content(table.name))
        .collect()
}

/// The rows of one table so far.
#[derive(Debug, Default)]
struct RowSum {
    rows: u64,
    hash: u128,
    /// Encoded form of the row added last, kept to reuse its memory.
    bytes: Vec<u8>,
}

impl RowSum {
    fn add<'v>(&mut self, columns: &[Column], value: impl Fn(usize) -> Value<'v>) {
        self.bytes.clear();
        for (position, column) in columns.iter().enumerate() {
            push(&mut self.bytes, column.kind, value(position));
        }
        let mut hasher = SipHasher24::new();
        hasher.write(&self.bytes);
        let Hash128 { h1, h2 } = hasher.finish128();
        let hash = u128::from(h2) << 64 | u128::from(h1);
        self.rows += 1;
        self.hash = self.hash.wrapping_add(hash);
    }

    fn content(self, table: &str) -> TableContent {
        TableContent {
            table: table.into(),
            rows: self.rows,
            hash: format!("{:032x}", self.hash),
        }
    }
}

fn push(bytes: &mut Vec<u8>, kind: ColumnKind, value: Value<'_>) {
    match value {
        Value::Null => bytes.push(0),
        Value::Integer(number) => {
            bytes.push(1);
            bytes.extend(number.to_le_bytes());
        }
        Value::Decimal { unscaled, scale } => {
            bytes.extend([2, scale]);
            bytes.extend(unscaled.to_le_bytes());
        }
        Value::Text(text) => {
            let text = match kind {
                ColumnKind::Char(_) => text.trim_end_matches(' '),
                _ => text,
            };
            bytes.push(3);
            bytes.extend((text.len() as u64).to_le_bytes());
            bytes.extend(text.as_bytes());
        }
        Value::Timestamp(microseconds) => {
            bytes.push(4);
            bytes.extend(microseconds.to_le_bytes());
        }
        Value::Real(number) => {
            bytes.push(5);
            bytes.extend(number.get().to_le_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MONEY: ColumnKind = ColumnKind::Decimal {
        precision: 12,
        scale: 2,
    };

    fn hash_of(kinds: &[ColumnKind], rows: &[&[Value<'_>]]) -> u128 {
        let column = |&kind| Column {
            name: "c",
            kind,
            nullable: true,
        };
        let columns: Vec<Column> = kinds.iter().map(column).collect();
        let mut sum = RowSum::default();
        for row in rows {
            sum.add(&columns, |position| row[position]);
        }
        assert_eq!(sum.rows, rows.len() as u64);
        sum.hash
    }

    /// Stored hashes have to stay comparable. The wanted one is OpenSSL's, its
    /// bytes read from the last to the first:
    ///
    /// ```text
    /// { printf '\1\376\377\377\377\377\377\377\377'
    ///   printf '\2\2\71\60\0\0\0\0\0\0'
    ///   printf '\3\3\0\0\0\0\0\0\0\303\266x'
    ///   printf '\4\7\0\0\0\0\0\0\0\0'
    /// } | openssl mac -macopt hexkey:00000000000000000000000000000000 \
    ///     -macopt size:16 -in - SIPHASH
    /// ```
    #[test]
    fn one_row_has_the_hash_that_is_documented() {
        let kinds = [
            ColumnKind::Integer,
            MONEY,
            ColumnKind::Char(4),
            ColumnKind::Timestamp,
            MONEY,
        ];
        let row = [
            Value::Integer(-2),
            Value::Decimal {
                unscaled: 12345,
                scale: 2,
            },
            Value::Text("öx  "),
            Value::Timestamp(7),
            Value::Null,
        ];
        let hash = hash_of(&kinds, &[&row]);
        assert_eq!(hash, 0xb5b4_87f5_1fd4_15ea_4c76_5589_2198_53d4);
    }

    #[test]
    fn the_order_of_rows_does_not_matter_and_all_else_does() {
        let kinds = [ColumnKind::Varchar(9), ColumnKind::Varchar(9)];
        let text = Value::Text;
        let (a, b) = ([text("a"), text("x")], [text("b"), text("y")]);
        let both = hash_of(&kinds, &[&a, &b]);
        assert_eq!(both, hash_of(&kinds, &[&b, &a]));
        let mut seen = vec![both];
        for rows in [
            vec![&a],
            vec![&a, &a],
            vec![&a, &a, &b],
            vec![&a, &b, &b],
            // The same values in other rows and columns.
            vec![&[text("a"), text("y")], &[text("b"), text("x")]],
            vec![&[text("x"), text("a")], &[text("y"), text("b")]],
            vec![&[text("ax"), text("")], &b],
            vec![&[text("a "), text("x")], &b],
            vec![&[Value::Null, text("x")], &b],
            vec![&[text(""), text("x")], &b],
            vec![],
        ] {
            let rows: Vec<&[Value<'_>]> = rows.iter().map(|row| &row[..]).collect();
            let hash = hash_of(&kinds, &rows);
            assert!(!seen.contains(&hash), "{rows:?}");
            seen.push(hash);
        }
    }

    #[test]
    fn numbers_of_different_kinds_and_scales_differ() {
        let decimal = |unscaled, scale| Value::Decimal { unscaled, scale };
        let values = [
            Value::Null,
            Value::Integer(1),
            Value::Timestamp(1),
            decimal(1, 2),
            decimal(1, 4),
            decimal(100, 4),
            decimal(-1, 2),
        ];
        let hashes = values.map(|value| hash_of(&[MONEY], &[&[value]]));
        for (position, hash) in hashes.iter().enumerate() {
            assert!(!hashes[..position].contains(hash), "{position}");
        }
    }

    #[test]
    fn blanks_at_the_end_count_in_varying_texts_alone() {
        let hash = |kind, text| hash_of(&[kind], &[&[Value::Text(text)]]);
        let char = ColumnKind::Char(3);
        let varchar = ColumnKind::Varchar(3);
        assert_eq!(hash(char, "a"), hash(char, "a  "));
        assert_ne!(hash(char, "a"), hash(char, " a"));
        assert_ne!(hash(varchar, "a"), hash(varchar, "a  "));
    }

    #[test]
    fn a_hash_has_32_digits() {
        let content = RowSum::default().content("t");
        assert_eq!(content.hash, "0".repeat(32));
    }
}
