//! The rows that transactions touch: the input of predictions.
//!
//! A client runs its transactions on a [`TouchTracer`], as it would on a database: the
//! same statements in the same order, with the same inputs from the same seed. No rows
//! are kept. A `RowModel` knows the little of them that decides what a transaction
//! asks next, such as the number of a district's next order, and says where the rows are
//! that each statement hits. All else of a [`Touch`] follows from the statement's tables.

use crate::{
    connection::{
        Access, Connection, Path, Result, Row, RowVisitor, Statement, StatementId, TableAccess,
        Value, Verb,
    },
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
pub enum AccessPath {
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
    /// They are removed.
    Delete,
}

/// Where a statement's cursor comes from: a database that keeps the pages on its way to a
/// row looks for the next one from there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cursor {
    /// The statement was at no row of the table by this path before.
    New,
    /// It was at another row, and looks for this one by its key or entry.
    Seeks,
    /// It goes on to the rows behind those where it was.
    Continues,
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
}

/// Rows that are touched one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Touch {
    /// The table.
    pub table: TableId,
    /// How they are found.
    pub by: AccessPath,
    /// Where the first one is, in the order of the key or of the index.
    pub first: Place,
    /// How many there are.
    pub rows: u32,
    /// Where the statement was before.
    pub cursor: Cursor,
    /// Whether it is the first of a transaction of the database, of which a client's
    /// transaction may have several: a statement outside of any is one of its own.
    pub begins: bool,
    /// What is done with each.
    pub action: Action,
    /// The columns that the statement reads, or sets where it sets any.
    pub columns: Columns,
    /// Bytes of the values that the statement sets in each, numbers counted as eight.
    pub changed: u32,
}

impl Touch {
    /// Whether it changes rows.
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

/// Says where the rows are that statements hit, and answers them.
pub(crate) trait RowModel: Send {
    /// Takes a statement with its parameters. Says what it hits, hands over the rows of its
    /// answer, and returns how many it found or changed.
    fn take(
        &mut self,
        statement: StatementId,
        parameters: &[Value<'_>],
        hits: &mut Hits<'_, '_>,
    ) -> u64;

    /// The transaction is committed, or, with `false`, rolled back.
    fn end(&mut self, _is_committed: bool) {}
}

/// What a statement declares that is not among its workload's tables.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DeclarationError {
    /// No table has this name.
    #[error("there is no table {0}")]
    Table(&'static str),
    /// The table has no index of this name.
    #[error("{0} has no index {1}")]
    Index(&'static str, &'static str),
    /// The table has no column of this name.
    #[error("{0} has no column {1}")]
    Column(&'static str, &'static str),
}

/// Checks that a workload has the tables, indexes and columns that a statement declares.
///
/// # Errors
/// [`DeclarationError`] of the first that it does not have.
pub fn check_declaration(statement: &Statement, tables: &[Table]) -> Result<(), DeclarationError> {
    resolve(statement, tables).map(drop)
}

fn resolve(
    statement: &Statement,
    tables: &[Table],
) -> Result<Vec<ResolvedAccess>, DeclarationError> {
    let accesses = statement.tables.iter();
    accesses
        .map(|access| ResolvedAccess::new(access, tables))
        .collect()
}

/// A [`TableAccess`] by positions in the workload's tables.
#[derive(Debug)]
struct ResolvedAccess {
    table: TableId,
    paths: Vec<AccessPath>,
    action: Action,
    columns: Columns,
    /// The indexes whose entries change with a row.
    indexes: Vec<AccessPath>,
}

impl ResolvedAccess {
    fn new(access: &TableAccess, tables: &[Table]) -> Result<Self, DeclarationError> {
        let table = access.table;
        let position = tables.iter().position(|own| own.name == table);
        let position = position.ok_or(DeclarationError::Table(table))?;
        let Table {
            columns, indexes, ..
        } = &tables[position];
        let path = |path: &Path| match *path {
            Path::Key => Ok(AccessPath::Key),
            Path::Entry => Ok(AccessPath::Entry),
            Path::Index(index) => indexes
                .iter()
                .position(|own| own.name == index)
                .map(AccessPath::Index)
                .ok_or(DeclarationError::Index(table, index)),
        };
        let named = match access.verb {
            Verb::Update | Verb::Insert => access.writes,
            Verb::Read | Verb::Delete => access.reads,
        };
        let named = named.iter().map(|&column| {
            let position = columns.iter().position(|own| own.name == column);
            position.ok_or(DeclarationError::Column(table, column))
        });
        let changes = |indexed: &[&str]| match access.verb {
            Verb::Read => false,
            Verb::Insert | Verb::Delete => true,
            Verb::Update => indexed.iter().any(|column| access.writes.contains(column)),
        };
        let changed = indexes.iter().enumerate();
        let changed = changed.filter(|(_, index)| changes(index.columns));
        Ok(Self {
            table: TableId(position),
            paths: access.paths.iter().map(path).collect::<Result<_, _>>()?,
            action: match access.verb {
                Verb::Read => Action::Read,
                Verb::Update => Action::Update { grows: 0 },
                Verb::Insert => Action::Insert,
                Verb::Delete => Action::Delete,
            },
            columns: Columns::at(named.collect::<Result<Vec<_>, _>>()?),
            indexes: changed.map(|(index, _)| AccessPath::Index(index)).collect(),
        })
    }
}

/// What a statement hits, and its answer.
pub(crate) struct Hits<'a, 'v> {
    statement: &'a Statement,
    tables: &'a [ResolvedAccess],
    changed: u32,
    /// Touches before this statement.
    before: usize,
    begins: &'a mut bool,
    touches: &'a mut Vec<Touch>,
    visit: &'a mut RowVisitor<'v>,
}

impl Hits<'_, '_> {
    fn push(
        &mut self,
        access: &ResolvedAccess,
        by: AccessPath,
        first: Place,
        rows: u64,
        action: Action,
    ) {
        let mut own = self.touches[self.before..].iter().rev();
        let was_there = own.any(|touch| (touch.table, touch.by) == (access.table, by));
        self.touches.push(Touch {
            table: access.table,
            by,
            first,
            rows: u32::try_from(rows).unwrap_or(u32::MAX),
            cursor: match was_there {
                true => Cursor::Seeks,
                false => Cursor::New,
            },
            begins: std::mem::take(self.begins),
            action,
            columns: access.columns,
            changed: match action {
                Action::Read => 0,
                _ => self.changed,
            },
        });
    }

    /// Rows of the statement's first table, by its first path.
    pub(crate) fn rows(&mut self, first: Place, rows: u64) {
        let access = &self.tables[0];
        self.push(access, access.paths[0], first, rows, access.action);
    }

    /// Rows of its first table behind those of the last such call.
    pub(crate) fn next_rows(&mut self, first: Place, rows: u64) {
        self.rows(first, rows);
        if let Some(Touch { cursor, .. }) = self.touches.last_mut()
            && *cursor == Cursor::Seeks
        {
            *cursor = Cursor::Continues;
        }
    }

    /// One row of its first table, by its first path, whose change moves no entry of an index,
    /// and a query's answer. Returns 1.
    pub(crate) fn row(&mut self, place: Place) -> u64 {
        debug_assert!(self.tables[0].indexes.is_empty(), "{:?}", self.statement);
        self.rows(place, 1);
        match self.statement.result {
            [] => 1,
            _ => self.answer(&[]),
        }
    }

    /// Rows of its first table whose values it replaces with such as take more bytes.
    pub(crate) fn grow(&mut self, first: Place, rows: u64, grows: u16) {
        let access = &self.tables[0];
        let action = Action::Update { grows };
        self.push(access, access.paths[0], first, rows, action);
    }

    /// A row of its first table, by an entry that it hit before.
    pub(crate) fn entry(&mut self, place: Place) {
        let table = self.tables[0].table;
        self.read(table.0, AccessPath::Entry, place, 1);
    }

    /// Rows of one of its tables, by one of the paths to that.
    ///
    /// # Panics
    /// When the statement declares no such path: a bug in the workload.
    pub(crate) fn read(&mut self, table: usize, by: AccessPath, first: Place, rows: u64) {
        let mut tables = self.tables.iter();
        let access = tables.find(|access| access.table.0 == table && access.paths.contains(&by));
        let access = access.unwrap_or_else(|| panic!("{by:?} is no path of {:?}", self.statement));
        self.push(access, by, first, rows, Action::Read);
    }

    /// A row of one of its tables, by the key.
    pub(crate) fn read_key(&mut self, table: usize, place: Place) {
        self.read(table, AccessPath::Key, place, 1);
    }

    /// A row that a new one refers to: a database that watches over references looks for
    /// it by its key.
    pub(crate) fn refer(&mut self, table: usize, place: Place) {
        self.touches.push(Touch {
            table: TableId(table),
            by: AccessPath::Key,
            first: place,
            rows: 1,
            cursor: Cursor::New,
            begins: std::mem::take(self.begins),
            action: Action::Read,
            columns: Columns::NONE,
            changed: 0,
        });
    }

    /// The row that it inserts or deletes, and its entry in each index. Returns 1.
    pub(crate) fn row_with_entries(&mut self, place: Place, entries: &[Place]) -> u64 {
        self.rows(place, 1);
        let access = &self.tables[0];
        debug_assert_eq!(access.indexes.len(), entries.len());
        for (&by, &entry) in access.indexes.iter().zip(entries) {
            self.push(access, by, entry, 1, access.action);
        }
        1
    }

    /// Entries of the row that it updates that move because of that, in each index with
    /// columns that it sets.
    pub(crate) fn move_entries(&mut self, moves: &[[Place; 2]]) {
        let access = &self.tables[0];
        debug_assert_eq!(access.indexes.len(), moves.len());
        for (&by, &[from, to]) in access.indexes.iter().zip(moves) {
            self.push(access, by, from, 1, Action::Delete);
            self.push(access, by, to, 1, Action::Insert);
        }
    }

    /// A row of the answer: its first columns as given, and then the smallest values of
    /// their kinds. Returns 1.
    pub(crate) fn answer(&mut self, given: &[Value<'_>]) -> u64 {
        let statement = self.statement;
        (self.visit)(&Answer { statement, given });
        1
    }

    /// So many rows of the answer, of the smallest values. Returns how many.
    pub(crate) fn answers(&mut self, rows: u64) -> u64 {
        (0..rows).map(|_| self.answer(&[])).sum()
    }
}

/// A connection to no database, which records the rows that statements would touch. See the
/// module.
pub struct TouchTracer {
    model: Box<dyn RowModel>,
    statements: &'static [Statement],
    /// By statement.
    tables: Vec<Vec<ResolvedAccess>>,
    touches: Vec<Touch>,
    /// Whether a transaction is open, and whether none of its rows was touched yet.
    is_open: bool,
    begins: bool,
    statements_run: u32,
    changed_bytes: u64,
}

impl TouchTracer {
    /// A tracer of a workload's `statements` on its `tables`, from the initial rows on.
    ///
    /// # Panics
    /// When a statement declares what [`check_declaration`] refuses: a bug in the workload,
    /// for which the tests look.
    pub(crate) fn new(
        model: impl RowModel + 'static,
        statements: &'static [Statement],
        tables: &[Table],
    ) -> Self {
        let resolved = |statement: &Statement| {
            resolve(statement, tables).unwrap_or_else(|error| panic!("{}: {error}", statement.sql))
        };
        Self {
            model: Box::new(model),
            statements,
            tables: statements.iter().map(resolved).collect(),
            touches: Vec::new(),
            is_open: false,
            begins: false,
            statements_run: 0,
            changed_bytes: 0,
        }
    }

    /// Touches since [`Self::forget`], in order.
    pub fn touches(&self) -> &[Touch] {
        &self.touches
    }

    /// How many statements were run since [`Self::forget`].
    pub fn statements(&self) -> u32 {
        self.statements_run
    }

    /// Bytes of the values that were set or inserted since [`Self::forget`].
    pub fn changed_bytes(&self) -> u64 {
        self.changed_bytes
    }

    /// Forgets what was touched.
    pub fn forget(&mut self) {
        self.touches.clear();
        self.statements_run = 0;
        self.changed_bytes = 0;
    }
}

impl std::fmt::Debug for TouchTracer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TouchTracer").finish_non_exhaustive()
    }
}

impl Connection for TouchTracer {
    fn begin(&mut self, _access: Access) -> Result<()> {
        (self.is_open, self.begins) = (true, true);
        Ok(())
    }

    fn commit(&mut self) -> Result<()> {
        self.is_open = false;
        self.model.end(true);
        Ok(())
    }

    fn rollback(&mut self) -> Result<()> {
        self.is_open = false;
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
        self.statements_run += 1;
        self.begins |= !self.is_open;
        let called = &self.statements[statement.0];
        let changed = &parameters[..called.changed_parameters];
        let changed = changed.iter().map(Value::byte_length).sum::<u64>();
        self.changed_bytes += changed;
        let mut hits = Hits {
            statement: called,
            tables: &self.tables[statement.0],
            changed: u32::try_from(changed).unwrap_or(u32::MAX),
            before: self.touches.len(),
            begins: &mut self.begins,
            touches: &mut self.touches,
            visit,
        };
        Ok(self.model.take(statement, parameters, &mut hits))
    }
}

struct Answer<'a> {
    statement: &'a Statement,
    given: &'a [Value<'a>],
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
            ColumnKind::Any => Value::Null,
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

    #[test]
    fn declarations_of_what_is_not_there_are_refused() {
        let tables = crate::schema::tables! {
            item(8) key [id] index item_by_name [name] {
                id: ColumnKind::Integer,
                name: ColumnKind::Char(8),
            }
        };
        let refused = |access: &TableAccess| ResolvedAccess::new(access, &tables).err();
        const ACCESS: TableAccess = TableAccess {
            table: "item",
            verb: Verb::Read,
            paths: &[Path::Index("item_by_name"), Path::Entry],
            reads: &["name"],
            writes: &[],
        };
        assert_eq!(refused(&ACCESS), None);
        let wrong = |refused: Option<DeclarationError>| refused.unwrap().to_string();
        let items = TableAccess {
            table: "items",
            ..ACCESS
        };
        assert_eq!(wrong(refused(&items)), "there is no table items");
        let by_id = TableAccess {
            paths: &[Path::Index("item_by_id")],
            ..ACCESS
        };
        assert_eq!(wrong(refused(&by_id)), "item has no index item_by_id");
        let title = TableAccess {
            reads: &["title"],
            ..ACCESS
        };
        assert_eq!(wrong(refused(&title)), "item has no column title");
    }

    #[test]
    fn columns_span_from_the_first_to_the_last() {
        assert_eq!(Columns::at([3, 7, 5]).span(), Some(3..=7));
        assert_eq!(Columns::NONE.span(), None);
    }
}
