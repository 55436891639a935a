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
    schema::{ColumnKind, TableId},
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
    /// Bytes of the values that the statement sets in each, numbers counted as eight: a
    /// [`Pretence`] knows, and a [`RowModel`] says 0.
    pub changed: u32,
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
    touches: Vec<Touch>,
    statements: u32,
    changed_bytes: u64,
}

impl Pretence {
    /// What a workload's statements, `known`, touch, from its initial rows on.
    pub(crate) fn new(model: impl RowModel + 'static, known: &'static [Statement]) -> Self {
        Self {
            model: Box::new(model),
            known,
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
        let before = self.touches.len();
        let found = self
            .model
            .take(statement, parameters, &mut self.touches, visit);
        for touch in &mut self.touches[before..] {
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
