//! The rows that transactions touch, for whoever predicts what a database would do
//! with them.
//!
//! A client runs its transactions on a [`Pretence`], as it would on a database: the
//! same statements in the same order, with the same inputs from the same seed. No rows
//! are kept. A [`RowModel`] knows the little of them that decides what a transaction
//! asks next, such as the number of a district's next order, and says which rows each
//! statement touches.

use crate::{
    Result,
    connection::{Access, Connection, Row, RowVisitor, Statement, StatementId, Value},
    schema::{ColumnKind, Table, TableId},
};

/// Where a row is in the order of a key.
///
/// Places of initial rows are numbered from 0, of all tables and indexes in the same
/// way. A row that is inserted later is behind an initial one, among others that are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// Of an initial row its number, of a later one that of the initial row before it.
    pub initial: u64,
    /// 0 for the initial row; later rows in their order.
    pub later: u64,
}

impl Place {
    /// Of an initial row.
    pub const fn initial(number: u64) -> Self {
        Self {
            initial: number,
            later: 0,
        }
    }

    /// Of the row inserted as number `later`, from 0, behind the initial one with this
    /// number.
    pub const fn behind(initial: u64, later: u64) -> Self {
        Self {
            initial,
            later: later + 1,
        }
    }
}

/// How a statement gets at rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum By {
    /// By the table's key; where it has none, in the order in which rows came.
    Key,
    /// By the entries of this one of [`crate::schema::Table::indexes`], which have all
    /// that is wanted.
    Index(usize),
    /// From an index's entry, which was touched before.
    Entry,
}

/// What is done with rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// They are read.
    Read,
    /// Values are replaced.
    Update {
        /// By how many bytes a row's values grow, where a number takes only the bytes
        /// that it needs.
        grows: u16,
    },
    /// They are new.
    Insert,
    /// They go.
    Delete,
}

/// Columns of a table: one bit each, the first one's lowest. No table of a workload has
/// more than 64.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Columns(u64);

impl Columns {
    /// None.
    pub const NONE: Self = Self(0);

    /// Those at these positions.
    pub fn at(positions: impl IntoIterator<Item = usize>) -> Self {
        let bits = positions
            .into_iter()
            .map(|position| 1u64 << (position % 64));
        Self(bits.fold(0, |all, bit| all | bit))
    }

    /// Whether one is among them.
    pub fn has(self, position: usize) -> bool {
        self.0 >> (position % 64) & 1 == 1
    }

    /// Whether they have any in common.
    pub fn meet(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// From the first to the last of them, if there are any.
    pub fn span(self) -> Option<std::ops::RangeInclusive<usize>> {
        let last = 63u32.checked_sub(self.0.leading_zeros())?;
        Some(self.0.trailing_zeros() as usize..=last as usize)
    }

    /// Those that a statement names of a table: of an update those that it sets.
    fn named(sql: &str, table: &Table) -> Self {
        let is_named = |text: &str, name: &str| {
            text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
                .any(|word| word == name)
        };
        let set = sql.split_once(" SET ").map(|(_, rest)| {
            let (set, _) = rest.split_once(" WHERE ").unwrap_or((rest, ""));
            let assigned = set
                .split(',')
                .map(|one| one.split('=').next().unwrap_or(""));
            assigned.collect::<Vec<&str>>().join(" ")
        });
        let text = set.as_deref().unwrap_or(sql);
        let columns = table.columns.iter().enumerate();
        Self::at(
            columns
                .filter(|(_, column)| is_named(text, column.name))
                .map(|(position, _)| position),
        )
    }
}

/// Rows that are touched one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Touch {
    /// The table.
    pub table: TableId,
    /// How they are found.
    pub by: By,
    /// Where the first one is, in the order of the key or of the index.
    pub first: Place,
    /// How many there are.
    pub rows: u32,
    /// What is done with each.
    pub action: Action,
    /// The columns that the statement names: of an update those that it sets. A
    /// [`RowModel`] leaves them out.
    pub columns: Columns,
    /// Bytes of the values that the statement sets in each, numbers counted as eight: a
    /// [`Pretence`] knows, and a [`RowModel`] says 0.
    pub changed: u32,
}

impl Touch {
    /// Whether rows are not only read.
    pub fn is_change(&self) -> bool {
        self.action != Action::Read
    }

    /// Where the rows are that are found in the order in which they came: initial ones one
    /// after the other, and a later one by itself.
    pub fn places(&self) -> impl Iterator<Item = Place> + use<> {
        let first = self.first;
        (0..u64::from(self.rows)).map(move |row| match first.later {
            0 => Place::initial(first.initial + row),
            _ => first,
        })
    }
}

/// Says which rows statements touch, and answers them.
pub trait RowModel: Send {
    /// Takes a statement with its parameters. Appends what it touches, hands over the
    /// rows of its answer, and returns how many it found or changed.
    fn take(
        &mut self,
        statement: StatementId,
        parameters: &[Value<'_>],
        touches: &mut Vec<Touch>,
        visit: &mut RowVisitor<'_>,
    ) -> u64;

    /// The transaction is committed, or, with `false`, rolled back.
    fn end(&mut self, _is_committed: bool) {}
}

/// A connection to no database. See the module.
pub struct Pretence {
    model: Box<dyn RowModel>,
    known: &'static [Statement],
    /// By statement and table.
    named: Vec<Vec<Columns>>,
    touches: Vec<Touch>,
    statements: u32,
    changed_bytes: u64,
}

impl Pretence {
    /// What a workload's statements, `known`, touch of its tables, from its initial rows
    /// on.
    pub(crate) fn new(
        model: impl RowModel + 'static,
        known: &'static [Statement],
        tables: &[Table],
    ) -> Self {
        let of = |statement: &Statement| {
            let named = |table| Columns::named(statement.sql, table);
            tables.iter().map(named).collect()
        };
        Self {
            model: Box::new(model),
            known,
            named: known.iter().map(of).collect(),
            touches: Vec::new(),
            statements: 0,
            changed_bytes: 0,
        }
    }

    /// What was touched since [`Self::forget`], in its order.
    pub fn touches(&self) -> &[Touch] {
        &self.touches
    }

    /// How many statements were run since [`Self::forget`].
    pub fn statements(&self) -> u32 {
        self.statements
    }

    /// Bytes of the values that were set or inserted since [`Self::forget`].
    pub fn changed_bytes(&self) -> u64 {
        self.changed_bytes
    }

    /// Forgets what was touched.
    pub fn forget(&mut self) {
        self.touches.clear();
        self.statements = 0;
        self.changed_bytes = 0;
    }
}

impl std::fmt::Debug for Pretence {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pretence").finish_non_exhaustive()
    }
}

impl Connection for Pretence {
    fn begin(&mut self, _access: Access) -> Result<()> {
        Ok(())
    }

    fn commit(&mut self) -> Result<()> {
        self.model.end(true);
        Ok(())
    }

    fn rollback(&mut self) -> Result<()> {
        self.model.end(false);
        Ok(())
    }

    fn execute(&mut self, statement: StatementId, parameters: &[Value<'_>]) -> Result<u64> {
        self.query(statement, parameters, &mut |_row| {})
    }

    fn query(
        &mut self,
        statement: StatementId,
        parameters: &[Value<'_>],
        visit: &mut RowVisitor<'_>,
    ) -> Result<u64> {
        self.statements += 1;
        let changed = &parameters[..self.known[statement.0].changed_parameters];
        let changed_bytes = changed.iter().map(Value::byte_length).sum::<u64>();
        self.changed_bytes += changed_bytes;
        let (model, touches) = (&mut self.model, &mut self.touches);
        let before = touches.len();
        let found = model.take(statement, parameters, touches, visit);
        for touch in &mut touches[before..] {
            touch.columns = self.named[statement.0][touch.table.0];
            if touch.action != Action::Read {
                touch.changed = changed_bytes as u32;
            }
        }
        Ok(found)
    }
}

/// A row of a statement's answer: its first columns as given, and then the smallest
/// values of their kinds.
pub(crate) struct Answer<'a> {
    statement: &'a Statement,
    given: &'a [Value<'a>],
}

impl<'a> Answer<'a> {
    pub(crate) fn new(statement: &'a Statement, given: &'a [Value<'a>]) -> Self {
        Self { statement, given }
    }
}

impl Row for Answer<'_> {
    fn value(&self, column: usize) -> Value<'_> {
        if let Some(value) = self.given.get(column) {
            return *value;
        }
        match self.statement.result[column] {
            ColumnKind::Integer | ColumnKind::Integer32 => Value::Integer(1),
            ColumnKind::Decimal { scale, .. } => Value::Decimal { unscaled: 1, scale },
            ColumnKind::Char(_) | ColumnKind::Varchar(_) => Value::Text("x"),
            ColumnKind::Timestamp => Value::Timestamp(0),
        }
    }
}

/// The whole numbers among a statement's parameters, 0 for others.
pub(crate) fn integers<const COUNT: usize>(parameters: &[Value<'_>]) -> [i64; COUNT] {
    std::array::from_fn(|position| match parameters.get(position) {
        Some(&Value::Integer(value)) => value,
        _ => 0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Tpcc, Workload};
    use octavo_units::Seed;

    #[test]
    fn columns_are_those_that_a_statement_names() {
        let workload = Tpcc::new(1, Seed::new(1)).unwrap();
        let tables = workload.tables();
        let table = |name| tables.iter().find(|table| table.name == name).unwrap();
        let names = |sql, name| {
            let named = Columns::named(sql, table(name));
            let columns = table(name).columns.iter().enumerate();
            let named = columns.filter(|(position, _)| named.has(*position));
            named.map(|(_, column)| column.name).collect::<Vec<_>>()
        };
        let take = "UPDATE stock SET s_quantity = CASE WHEN s_quantity >= ?1 + 10 \
             THEN s_quantity - ?1 END, s_ytd = s_ytd + ?2 WHERE s_w_id = ?5";
        assert_eq!(names(take, "stock"), ["s_quantity", "s_ytd"]);
        let low = "SELECT COUNT(DISTINCT s_i_id) FROM order_line, stock WHERE ol_w_id = ?1";
        assert_eq!(names(low, "stock"), ["s_i_id"]);
        assert_eq!(names(low, "order_line"), ["ol_w_id"]);
    }

    #[test]
    fn columns_span_from_the_first_to_the_last() {
        assert_eq!(Columns::at([3, 7, 5]).span(), Some(3..=7));
        assert_eq!(Columns::NONE.span(), None);
    }
}
