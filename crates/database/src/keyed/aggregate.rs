//! Values over rows, as queries ask for them.

use std::collections::HashSet;

use octavo_workload::{connection, keyed::Aggregate, schema::ColumnKind};

use super::row::{Row, number_of};

/// An aggregate whose columns are known by their positions.
#[derive(Clone, Copy, Debug)]
pub(super) struct Value {
    of: Aggregate,
    /// 0 for what has no column.
    column: usize,
}

impl Value {
    /// `None` where a column is not known.
    pub(super) fn new(of: &Aggregate, column: impl FnOnce(&str) -> Option<usize>) -> Option<Self> {
        let column = match *of {
            Aggregate::Count => 0,
            Aggregate::CountTexts { column: name, .. }
            | Aggregate::Distinct(name)
            | Aggregate::Sum(name)
            | Aggregate::Least(name)
            | Aggregate::Shortest(name)
            | Aggregate::Longest(name) => column(name)?,
        };
        Some(Self { of: *of, column })
    }
}

/// Values over the rows so far.
pub(super) struct Sums<'p> {
    values: &'p [Value],
    so_far: Vec<SoFar>,
}

#[derive(Default)]
struct SoFar {
    /// A count, sum, or number; sums saturate as bytes of a file may be anything.
    number: Option<i64>,
    kind: Option<ColumnKind>,
    seen: HashSet<Vec<u8>>,
}

impl<'p> Sums<'p> {
    /// Before the first row.
    pub(super) fn new(values: &'p [Value]) -> Self {
        Self {
            values,
            so_far: values.iter().map(|_| SoFar::default()).collect(),
        }
    }

    /// Adds a row.
    pub(super) fn add(&mut self, row: &Row<'_>) {
        for (value, so_far) in self.values.iter().zip(&mut self.so_far) {
            so_far.add(value, row);
        }
    }

    /// The values, as a row has them.
    pub(super) fn values(&self) -> Vec<connection::Value<'static>> {
        let values = self.values.iter().zip(&self.so_far);
        values.map(|(value, so_far)| so_far.value(value)).collect()
    }
}

impl SoFar {
    fn add(&mut self, value: &Value, row: &Row<'_>) {
        let found = match value.of {
            Aggregate::Count => {
                self.count();
                return;
            }
            _ => row.column(value.column),
        };
        let length = match found {
            connection::Value::Text(text) => i64::try_from(text.chars().count()).ok(),
            _ => None,
        };
        let least = |old: Option<i64>, new: i64| Some(old.map_or(new, |old| old.min(new)));
        match value.of {
            Aggregate::Count => {}
            Aggregate::CountTexts {
                prefix,
                longer_than,
                shorter_than,
                ..
            } => {
                if let connection::Value::Text(text) = found
                    && text.starts_with(prefix)
                    && (longer_than + 1..shorter_than).contains(&text.chars().count())
                {
                    self.count();
                }
            }
            Aggregate::Distinct(_) => {
                let mut bytes = Vec::new();
                // A text with NUL is in no key of a table that is asked this.
                let is_null = found == connection::Value::Null;
                if !is_null && super::key::push(&mut bytes, found).is_ok() {
                    self.seen.insert(bytes);
                }
            }
            Aggregate::Sum(_) => {
                if let Some(number) = number(found) {
                    self.kind = Some(row.kinds[value.column]);
                    self.number = Some(self.number.unwrap_or(0).saturating_add(number));
                }
            }
            Aggregate::Least(_) => {
                if let Some(number) = number(found) {
                    self.kind = Some(row.kinds[value.column]);
                    self.number = least(self.number, number);
                }
            }
            Aggregate::Shortest(_) => {
                self.number = length.map_or(self.number, |length| least(self.number, length));
            }
            Aggregate::Longest(_) => {
                let longest = |length: i64| Some(self.number.map_or(length, |old| old.max(length)));
                self.number = length.map_or(self.number, longest);
            }
        }
    }

    fn count(&mut self) {
        self.number = Some(self.number.unwrap_or(0) + 1);
    }

    fn value(&self, of: &Value) -> connection::Value<'static> {
        match of.of {
            Aggregate::Count | Aggregate::CountTexts { .. } => {
                connection::Value::Integer(self.number.unwrap_or(0))
            }
            Aggregate::Distinct(_) => connection::Value::Integer(self.seen.len() as i64),
            _ => match (self.number, self.kind) {
                (None, _) => connection::Value::Null,
                (Some(number), kind) => number_of(kind.unwrap_or(ColumnKind::Integer), number),
            },
        }
    }
}

/// A number as it is stored.
pub(super) fn number(value: connection::Value<'_>) -> Option<i64> {
    match value {
        connection::Value::Integer(number)
        | connection::Value::Timestamp(number)
        | connection::Value::Decimal {
            unscaled: number, ..
        } => Some(number),
        _ => None,
    }
}
