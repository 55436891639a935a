//! The columns of a row: some are in its key, the others in its value.
//!
//! In a value, a column is a byte and what that says: 0 is NULL, 1 to 8 are as many bytes of a
//! number (two's complement, the lowest first), and 16 is a text, whose length in bytes follows (LEB128)
//! and then the text. Of a table whose key is one text of fixed length and whose value is one text, both are
//! as they are, without anything before or behind: what such a table asks for are bytes of keys and values.

use std::cell::Cell;

use octavo_workload::{
    connection::{self, Value},
    schema::ColumnKind,
};

use super::{field::Field, key};

const NULL: u8 = 0;
const NUMBER_MAX: u8 = 8;
const TEXT: u8 = 16;

/// Appends a text as it is; whether it was one.
pub(super) fn push_plain(bytes: &mut Vec<u8>, column: Value<'_>) -> bool {
    let Value::Text(text) = column else {
        return false;
    };
    bytes.extend_from_slice(text.as_bytes());
    true
}

/// Appends a column to a value.
pub(super) fn push(value: &mut Vec<u8>, column: Value<'_>) {
    match column {
        Value::Null => value.push(NULL),
        Value::Integer(number)
        | Value::Timestamp(number)
        | Value::Decimal {
            unscaled: number, ..
        } => push_number(value, number),
        // Of the user's own statements alone, which do not come here.
        Value::Real(real) => push_number(value, real.get() as i64),
        Value::Text(text) => {
            value.push(TEXT);
            let mut length = text.len();
            while length >= 0x80 {
                value.push(length.to_le_bytes()[0] | 0x80);
                length >>= 7;
            }
            value.push(length.to_le_bytes()[0]);
            value.extend_from_slice(text.as_bytes());
        }
    }
}

fn push_number(value: &mut Vec<u8>, number: i64) {
    // One bit for the sign.
    let bits = 65 - number.unsigned_abs().leading_zeros();
    let count = bits.div_ceil(8).min(8) as usize;
    value.push(u8::try_from(count).unwrap_or(NUMBER_MAX));
    value.extend_from_slice(&number.to_le_bytes()[..count]);
}

/// The column of a value at a place, and where the next one begins. `None` for bytes that are no
/// value.
fn read(value: &[u8], at: usize) -> Option<(Field, usize)> {
    let code = *value.get(at)?;
    let start = at + 1;
    match code {
        NULL => Some((Field::Null, start)),
        1..=NUMBER_MAX => {
            let end = start + usize::from(code);
            let bytes = value.get(start..end)?;
            let is_negative = bytes.last().is_some_and(|byte| *byte >= 0x80);
            let mut all = [if is_negative { 0xff } else { 0 }; 8];
            all[..bytes.len()].copy_from_slice(bytes);
            Some((Field::Integer(i64::from_le_bytes(all)), end))
        }
        TEXT => {
            let (mut length, mut shift, mut start) = (0_usize, 0, start);
            loop {
                let byte = *value.get(start)?;
                start += 1;
                length |= usize::from(byte & 0x7f) << shift;
                if byte < 0x80 {
                    break;
                }
                shift += 7;
                if shift > 28 {
                    return None;
                }
            }
            let end = start
                .checked_add(length)
                .filter(|end| *end <= value.len())?;
            Some((Field::text(false, start, end)?, end))
        }
        _ => None,
    }
}

/// Where a table's columns are.
#[derive(Clone, Debug)]
pub(crate) struct Columns {
    /// In the table's order.
    pub(super) kinds: Vec<ColumnKind>,
    /// Those of the key, in its order.
    pub(super) in_key: Vec<usize>,
    /// Those of the value, in its order.
    pub(super) in_value: Vec<usize>,
    /// Whether key and value are one text each, as it is.
    pub(super) are_plain: bool,
}

/// What is read of rows, in memory that is used again.
#[derive(Debug, Default)]
pub(crate) struct Read {
    /// By the table's columns.
    fields: Vec<Field>,
    /// Where each column ends in the value, by the value's order.
    ends: Vec<usize>,
    /// Set when a text of any row is no UTF-8: bytes of a file may be anything.
    pub(super) unfit: Cell<bool>,
}

impl Read {
    /// Reads all columns of a row. `None` for bytes that are no row.
    pub(super) fn row<'r>(
        &'r mut self,
        columns: &'r Columns,
        key: &'r [u8],
        value: &'r [u8],
    ) -> Option<Row<'r>> {
        if columns.are_plain {
            self.ends.clear();
            self.fields.clear();
            self.fields.resize(columns.kinds.len(), Field::Null);
            for &column in &columns.in_key {
                self.fields[column] = Field::in_key(0, key.len())?;
            }
            for &column in &columns.in_value {
                self.fields[column] = Field::text(false, 0, value.len())?;
                self.ends.push(value.len());
            }
            return Some(self.at_hand(columns, key, value));
        }
        self.key(columns.kinds.len(), &columns.in_key, key)?;
        let mut at = 0;
        for &column in &columns.in_value {
            let (field, next) = read(value, at)?;
            self.fields[column] = field;
            self.ends.push(next);
            at = next;
        }
        Some(self.at_hand(columns, key, value))
    }

    /// Reads the columns that a key has in this order; the others are NULL. `None` for bytes that
    /// are no such key.
    pub(super) fn entry<'r>(
        &'r mut self,
        columns: &'r Columns,
        in_key: &[usize],
        key: &'r [u8],
    ) -> Option<Row<'r>> {
        self.key(columns.kinds.len(), in_key, key)?;
        Some(self.at_hand(columns, key, &[]))
    }

    fn key(&mut self, count: usize, in_key: &[usize], key: &[u8]) -> Option<()> {
        self.ends.clear();
        self.fields.clear();
        self.fields.resize(count, Field::Null);
        let mut at = 0;
        for &column in in_key {
            let (field, next) = key::read(key, at)?;
            self.fields[column] = field;
            at = next;
        }
        Some(())
    }

    fn at_hand<'r>(&'r self, columns: &'r Columns, key: &'r [u8], value: &'r [u8]) -> Row<'r> {
        Row {
            kinds: &columns.kinds,
            fields: &self.fields,
            ends: &self.ends,
            key,
            value,
            unfit: &self.unfit,
        }
    }
}

/// A row at hand.
#[derive(Clone, Copy)]
pub(crate) struct Row<'r> {
    pub(super) kinds: &'r [ColumnKind],
    fields: &'r [Field],
    /// Where each column ends in the value, by the value's order.
    pub(super) ends: &'r [usize],
    pub(super) key: &'r [u8],
    pub(super) value: &'r [u8],
    unfit: &'r Cell<bool>,
}

impl<'r> Row<'r> {
    /// A column of the table.
    pub(super) fn column(&self, column: usize) -> Value<'r> {
        match self.fields[column] {
            Field::Null => Value::Null,
            Field::Integer(number) => number_of(self.kinds[column], number),
            Field::Text { in_key, start, end } => {
                let bytes = if in_key { self.key } else { self.value };
                let text = &bytes[start as usize..end as usize];
                let text = str::from_utf8(text).unwrap_or_else(|_| {
                    self.unfit.set(true);
                    ""
                });
                Value::Text(text)
            }
        }
    }
}

/// A number as a column of this kind has it.
pub(super) fn number_of(kind: ColumnKind, number: i64) -> Value<'static> {
    match kind {
        ColumnKind::Decimal { scale, .. } => Value::Decimal {
            unscaled: number,
            scale,
        },
        ColumnKind::Timestamp => Value::Timestamp(number),
        _ => Value::Integer(number),
    }
}

/// Some columns of a row, as a query answers.
pub(super) struct Chosen<'r> {
    pub(super) row: Row<'r>,
    pub(super) columns: &'r [usize],
}

impl connection::Row for Chosen<'_> {
    fn value(&self, column: usize) -> Value<'_> {
        self.row.column(self.columns[column])
    }
}

/// A row of values that were made.
pub(super) struct Made<'v>(pub(super) &'v [Value<'v>]);

impl connection::Row for Made<'_> {
    fn value(&self, column: usize) -> Value<'_> {
        self.0[column]
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_value_is_read_as_it_was_written(number: i64, text: String, small in -300_i64..300) {
            let mut value = Vec::new();
            for column in [
                Value::Integer(number), Value::Null, Value::Text(&text), Value::Timestamp(small)
            ] {
                push(&mut value, column);
            }
            let columns = Columns {
                kinds: vec![
                    ColumnKind::Integer, ColumnKind::Integer, ColumnKind::Varchar(9),
                    ColumnKind::Decimal { precision: 5, scale: 2 },
                ],
                in_key: Vec::new(),
                in_value: vec![0, 1, 2, 3],
                are_plain: false,
            };
            let mut read = Read::default();
            let row = read.row(&columns, &[], &value).unwrap();
            prop_assert_eq!(row.column(0), Value::Integer(number));
            prop_assert_eq!(row.column(1), Value::Null);
            prop_assert_eq!(row.column(2), Value::Text(&text));
            prop_assert_eq!(row.column(3), Value::Decimal { unscaled: small, scale: 2 });
            prop_assert_eq!(row.ends.last(), Some(&value.len()));
        }

        #[test]
        fn any_bytes_can_be_read(bytes: Vec<u8>, at in 0_usize..20) {
            if let Some((_, next)) = super::read(&bytes, at) {
                prop_assert!(next <= bytes.len());
            }
        }
    }

    #[test]
    fn numbers_take_the_bytes_that_they_need() {
        for (number, bytes) in [
            (0, 1),
            (127, 1),
            (128, 2),
            (-128, 2),
            (-127, 1),
            (i64::MIN, 8),
        ] {
            let mut value = Vec::new();
            push(&mut value, Value::Integer(number));
            assert_eq!(value.len(), bytes + 1, "{number}");
            assert_eq!(super::read(&value, 0).unwrap().0, Field::Integer(number));
        }
        let long = "x".repeat(70_000);
        let mut value = Vec::new();
        push(&mut value, Value::Text(&long));
        assert_eq!(value.len(), 70_004);
        assert!(super::read(&value[..60_000], 0).is_none(), "it is cut off");
        assert!(super::read(&[TEXT, 0xff, 0xff, 0xff, 0xff, 0xff, 1], 0).is_none());
        assert!(super::read(&[9], 0).is_none());
    }
}
