//! Finding the rows that a plan looks for.

use std::ops::ControlFlow;

use octavo_workload::{ConnectionError, Result, connection::Value, keyed::Relation};

use super::{
    Engine, Order,
    aggregate::number,
    key::{self, KeyError},
    layout::{IndexLayout, TableLayout},
    plan::{Find, Limit, Part, Test, Way},
    row::{Read, Row},
};

/// Memory that is used again for each search.
#[derive(Default)]
pub(super) struct Scratch {
    /// The key that is looked for, or where a part of a tree begins.
    key: Vec<u8>,
    /// Where the part ends.
    end: Vec<u8>,
    pub(super) read: Read,
}

/// Receives a row, and says whether it wants more.
pub(super) type Look<'l> = dyn FnMut(&Row<'_>) -> ControlFlow<()> + 'l;

/// What is looked for.
pub(super) struct Search<'s, E> {
    pub(super) engine: &'s E,
    /// The statement, for errors.
    pub(super) sql: &'static str,
    pub(super) table: &'s TableLayout,
    pub(super) find: &'s Find,
    pub(super) parameters: &'s [Value<'s>],
}

/// What else can end a search.
enum Failure {
    /// Bytes that are no row, or an entry of an index without its row.
    Damage,
    Engine(ConnectionError),
}

impl<E: Engine> Search<'_, E> {
    /// Hands over the rows, in the order of the path.
    pub(super) fn each(&self, scratch: &mut Scratch, look: &mut Look<'_>) -> Result<()> {
        let refused = |error: KeyError| ConnectionError::other(self.sql, error);
        scratch.read.unfit.set(false);
        // Nothing is equal to NULL, nor more or less.
        let is_null = |at: &usize| self.parameters[*at] == Value::Null;
        let equal = match &self.find.way {
            Way::Point(columns) => columns,
            Way::Part(part) => &part.equal,
        };
        if equal.iter().any(is_null) {
            return Ok(());
        }
        let failure = match &self.find.way {
            Way::Point(columns) => {
                self.write(&mut scratch.key, None, columns)
                    .map_err(refused)?;
                self.point(scratch, look)
            }
            Way::Part(part) => {
                let prefix = self.bounds(part, scratch).map_err(refused)?;
                self.part(part, prefix, scratch, look)
            }
        };
        match failure {
            Err(Failure::Engine(error)) => Err(error),
            Ok(()) if !scratch.read.unfit.get() => Ok(()),
            _ => Err(damaged(self.table)),
        }
    }

    fn point(&self, scratch: &mut Scratch, look: &mut Look<'_>) -> Result<(), Failure> {
        let Scratch { key, read, .. } = scratch;
        let found = self.engine.get(self.table.tree, key, |value| {
            let row = read.row(&self.table.columns, key, value)?;
            // There is no other one.
            let _wants_more = look(&row);
            Some(())
        });
        match found {
            Ok(None | Some(Some(()))) => Ok(()),
            Ok(Some(None)) => Err(Failure::Damage),
            Err(error) => Err(Failure::Engine(error)),
        }
    }

    /// Writes where a part of a tree begins and ends; answers how many bytes all its keys begin
    /// with.
    fn bounds(&self, part: &Part, scratch: &mut Scratch) -> Result<usize, KeyError> {
        let Scratch { key, end, .. } = scratch;
        self.write(key, part.index, &part.equal)?;
        let prefix = key.len();
        end.clear();
        end.extend_from_slice(key);
        if let Some(to) = part.to {
            self.push(end, part.index, self.parameters[to.parameter])?;
        }
        if let Some(from) = part.from {
            self.push(key, part.index, self.parameters[from])?;
        }
        if part.limit == Limit::Last {
            key.push(key::ABOVE);
        }
        Ok(prefix)
    }

    /// Writes the first columns of a key: of an index, or else of the table.
    fn write(
        &self,
        key: &mut Vec<u8>,
        index: Option<usize>,
        parameters: &[usize],
    ) -> Result<(), KeyError> {
        key.clear();
        let mut values = parameters.iter().map(|at| self.parameters[*at]);
        values.try_for_each(|value| self.push(key, index, value))
    }

    fn push(
        &self,
        key: &mut Vec<u8>,
        index: Option<usize>,
        value: Value<'_>,
    ) -> Result<(), KeyError> {
        match index {
            None => self.table.push_key(key, value),
            Some(_) => key::push(key, value),
        }
    }

    fn part(
        &self,
        part: &Part,
        prefix: usize,
        scratch: &mut Scratch,
        look: &mut Look<'_>,
    ) -> Result<(), Failure> {
        let Scratch { key, end, read } = scratch;
        let mut left = match part.limit {
            Limit::All => u64::MAX,
            Limit::First | Limit::Last => 1,
            Limit::Parameter(at) => {
                let limit = number(self.parameters[at]);
                limit
                    .and_then(|limit| u64::try_from(limit).ok())
                    .unwrap_or(0)
            }
        };
        if left == 0 {
            return Ok(());
        }
        let order = match part.limit {
            Limit::Last => Order::Falling,
            _ => Order::Rising,
        };
        let index = part.index.map(|index| &self.table.indexes[index]);
        let mut ended = Ok(());
        let mut visit = |found: &[u8], value: &[u8]| {
            if !found.starts_with(&key[..prefix]) || is_behind(part, end, found) {
                return ControlFlow::Break(());
            }
            let mut offer = |row: &Row<'_>| {
                if !self.passes(row) {
                    return ControlFlow::Continue(());
                }
                left -= 1;
                look(row)?;
                match left {
                    0 => ControlFlow::Break(()),
                    _ => ControlFlow::Continue(()),
                }
            };
            let flow = match index {
                None => match read.row(&self.table.columns, found, value) {
                    Some(row) => Ok(offer(&row)),
                    None => Err(Failure::Damage),
                },
                Some(index) if part.is_covered => {
                    match read.entry(&self.table.columns, &index.in_key, found) {
                        Some(row) => Ok(offer(&row)),
                        None => Err(Failure::Damage),
                    }
                }
                Some(index) => self.behind_entry(index, found, read, &mut offer),
            };
            flow.unwrap_or_else(|failure| {
                ended = Err(failure);
                ControlFlow::Break(())
            })
        };
        let walked = self.engine.range(part.tree, key, order, &mut visit);
        walked.map_err(Failure::Engine)?;
        ended
    }

    /// Offers the row that an entry of an index leads to.
    fn behind_entry(
        &self,
        index: &IndexLayout,
        entry: &[u8],
        read: &mut Read,
        offer: &mut Look<'_>,
    ) -> Result<ControlFlow<()>, Failure> {
        let mut at = 0;
        for _ in &index.columns {
            (_, at) = key::read(entry, at).ok_or(Failure::Damage)?;
        }
        let key = &entry[at..];
        let found = self.engine.get(self.table.tree, key, |value| {
            let row = read.row(&self.table.columns, key, value)?;
            Some(offer(&row))
        });
        match found {
            Ok(Some(Some(flow))) => Ok(flow),
            Ok(_) => Err(Failure::Damage),
            Err(error) => Err(Failure::Engine(error)),
        }
    }

    fn passes(&self, row: &Row<'_>) -> bool {
        let mut lists = self.find.tests.iter();
        let holds = |test: &Test| holds(row, test, self.parameters);
        self.find.tests.is_empty() || lists.any(|list| list.iter().all(holds))
    }
}

/// Whether a key comes behind the end of a part.
fn is_behind(part: &Part, end: &[u8], key: &[u8]) -> bool {
    match part.to {
        None => false,
        Some(to) if to.inclusive => key > end && !key.starts_with(end),
        Some(_) => key >= end,
    }
}

/// Whether a test holds of a row. NULL passes none.
pub(super) fn holds(row: &Row<'_>, test: &Test, parameters: &[Value<'_>]) -> bool {
    let (column, parameter) = (row.column(test.column), parameters[test.parameter]);
    let order = match (column, parameter) {
        (Value::Text(column), Value::Text(parameter)) => column.cmp(parameter),
        _ => match (number(column), number(parameter)) {
            (Some(column), Some(parameter)) => column.cmp(&parameter),
            _ => return false,
        },
    };
    match test.relation {
        Relation::Equal => order.is_eq(),
        Relation::AtLeast => order.is_ge(),
        Relation::AtMost => order.is_le(),
        Relation::Below => order.is_lt(),
    }
}

/// Bytes that are no row of this table.
pub(super) fn damaged(table: &TableLayout) -> ConnectionError {
    ConnectionError::other(
        format!("read a row of {}", table.name),
        "its bytes are damaged",
    )
}
