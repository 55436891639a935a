//! One client of a store: carries out plans.

use std::{
    ops::ControlFlow,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering::Relaxed},
    },
};

use octavo_workload::{
    Connection, ConnectionError, Result,
    connection::{Access, RowVisitor, StatementId, Value},
    keyed::Change,
    schema::Table,
};

use super::{
    Engine, Layout, Order, Plans, TreeId,
    aggregate::{Sums, number},
    field::Field,
    key::{self, KeyError},
    layout::TableLayout,
    plan::{Blind, Find, MatchKey, Plan, Reply, Set, Work},
    row::{self, Chosen, Made, Read, Row},
    search::{self, Search, damaged, holds},
};
use crate::Inspection;

/// The next number of each table without a key, by its tree; others have one that is not used.
pub(crate) type Numbers = Arc<[AtomicI64]>;

/// A client, whose transactions change trees of an engine.
pub(crate) struct Session<E> {
    engine: E,
    layout: Arc<Layout>,
    plans: Arc<Plans>,
    numbers: Numbers,
    is_open: bool,
    scratch: Scratch,
}

/// Memory that is used again for each statement.
#[derive(Default)]
struct Scratch {
    search: search::Scratch,
    key: Vec<u8>,
    value: Vec<u8>,
    /// Keys and values that a statement will write, one after the other, and where each ends.
    bytes: Vec<u8>,
    ends: Vec<(usize, usize)>,
}

/// The numbers that the rows of tables without a key go on with.
///
/// # Errors
/// When a tree cannot be read.
pub(crate) fn numbers(engine: &mut impl Engine, layout: &Layout) -> Result<Numbers> {
    let mut next = vec![1; layout.tables_len()];
    engine.begin(Access::Read)?;
    for tree in layout.numbered() {
        let mut last = None;
        engine.range(tree, &[key::ABOVE], Order::Falling, &mut |found, _| {
            last = key::read(found, 0).and_then(|(field, _)| match field {
                Field::Integer(number) => Some(number),
                _ => None,
            });
            ControlFlow::Break(())
        })?;
        next[tree.0] = last.map_or(1, |last| last.saturating_add(1));
    }
    engine.rollback()?;
    Ok(next.into_iter().map(AtomicI64::new).collect())
}

impl<E: Engine> Session<E> {
    pub(crate) fn new(engine: E, layout: Arc<Layout>, plans: Arc<Plans>, numbers: Numbers) -> Self {
        Self {
            engine,
            layout,
            plans,
            numbers,
            is_open: false,
            scratch: Scratch::default(),
        }
    }

    /// Does something within the open transaction, or else in one of its own that `begin` begins.
    fn within<R>(
        &mut self,
        begin: impl FnOnce(&mut E) -> Result<()>,
        work: impl FnOnce(&mut Self) -> Result<R>,
    ) -> Result<R> {
        if self.is_open {
            return work(self);
        }
        begin(&mut self.engine)?;
        match work(self) {
            Ok(done) => {
                self.engine.commit()?;
                Ok(done)
            }
            Err(error) => {
                // The first error says more.
                let _undone = self.engine.rollback();
                Err(error)
            }
        }
    }

    fn change(&mut self, plan: &Plan, parameters: &[Value<'_>]) -> Result<u64> {
        let layout = Arc::clone(&self.layout);
        let table = &layout.tables[plan.table];
        if let Some(blind) = &plan.blind {
            return self.write_blindly(plan, table, blind, parameters);
        }
        match &plan.work {
            Work::Insert(columns) => {
                let of = |column: usize| columns[column].map_or(Value::Null, |at| parameters[at]);
                self.insert(plan, table, of)
            }
            Work::Update(find, sets) => self.update(plan, table, find, sets, parameters),
            Work::Delete(find) => self.delete(plan, table, find, parameters),
            Work::Query(..) => Err(ConnectionError::other(plan.sql, "it is a query")),
        }
    }

    /// Writes a row of which it is known whether it is there.
    fn write_blindly(
        &mut self,
        plan: &Plan,
        table: &TableLayout,
        blind: &Blind,
        parameters: &[Value<'_>],
    ) -> Result<u64> {
        let Scratch { key, value, .. } = &mut self.scratch;
        let of = |column: usize| blind.columns[column].map_or(Value::Null, |at| parameters[at]);
        let refused = |error: KeyError| ConnectionError::other(plan.sql, error);
        table.write_key(key, 0, of).map_err(refused)?;
        match blind.puts {
            true => {
                table.write_value(value, of);
                self.engine.put(table.tree, key, value)?;
            }
            false => self.engine.delete(table.tree, key)?,
        }
        Ok(1)
    }

    fn insert<'v>(
        &mut self,
        plan: &Plan,
        table: &TableLayout,
        of: impl Fn(usize) -> Value<'v> + Copy,
    ) -> Result<u64> {
        let Scratch { key, value, .. } = &mut self.scratch;
        let number = match table.has_key() {
            true => 0,
            false => self.numbers[table.tree.0].fetch_add(1, Relaxed),
        };
        let refused = |error: KeyError| ConnectionError::other(plan.sql, error);
        table.write_key(key, number, of).map_err(refused)?;
        table.write_value(value, of);
        if !self.engine.insert(table.tree, key, value)? {
            return Err(ConnectionError::other(
                plan.sql,
                format!("a row of {} with this key is there already", table.name),
            ));
        }
        for index in &table.indexes {
            table.write_entry(index, key, number, of).map_err(refused)?;
            self.engine.put(index.tree, key, &[])?;
        }
        Ok(1)
    }

    fn update(
        &mut self,
        plan: &Plan,
        table: &TableLayout,
        find: &Find,
        sets: &[Set],
        parameters: &[Value<'_>],
    ) -> Result<u64> {
        let mut scratch = std::mem::take(&mut self.scratch);
        let (mut bytes, mut ends) = (
            std::mem::take(&mut scratch.bytes),
            std::mem::take(&mut scratch.ends),
        );
        bytes.clear();
        ends.clear();
        let mut look = |row: &Row<'_>| {
            bytes.extend_from_slice(row.key);
            let key_end = bytes.len();
            changed(table, row, sets, parameters, &mut bytes);
            ends.push((key_end, bytes.len()));
            ControlFlow::Continue(())
        };
        let search = Search {
            engine: &self.engine,
            sql: plan.sql,
            table,
            find,
            parameters,
        };
        let looked = search.each(&mut scratch.search, &mut look);
        let mut begin = 0;
        let mut done = looked;
        for &(key_end, end) in &ends {
            if done.is_err() {
                break;
            }
            done = self
                .engine
                .put(table.tree, &bytes[begin..key_end], &bytes[key_end..end]);
            begin = end;
        }
        let rows = ends.len() as u64;
        self.scratch = Scratch {
            bytes,
            ends,
            ..scratch
        };
        done.map(|()| rows)
    }

    fn delete(
        &mut self,
        plan: &Plan,
        table: &TableLayout,
        find: &Find,
        parameters: &[Value<'_>],
    ) -> Result<u64> {
        let mut scratch = std::mem::take(&mut self.scratch);
        let mut gone: Vec<(TreeId, Vec<u8>)> = Vec::new();
        let mut rows = 0;
        let mut look = |row: &Row<'_>| {
            rows += 1;
            gone.push((table.tree, row.key.to_vec()));
            let number = match key::read(row.key, 0) {
                Some((Field::Integer(number), _)) if !table.has_key() => number,
                _ => 0,
            };
            for index in &table.indexes {
                let mut entry = Vec::new();
                let of = |column| row.column(column);
                // What was read of a key can be written to one.
                if table.write_entry(index, &mut entry, number, of).is_ok() {
                    gone.push((index.tree, entry));
                }
            }
            ControlFlow::Continue(())
        };
        let search = Search {
            engine: &self.engine,
            sql: plan.sql,
            table,
            find,
            parameters,
        };
        let looked = search.each(&mut scratch.search, &mut look);
        self.scratch = scratch;
        looked?;
        for (tree, key) in &gone {
            self.engine.delete(*tree, key)?;
        }
        Ok(rows)
    }

    fn answer(
        &mut self,
        plan: &Plan,
        parameters: &[Value<'_>],
        visit: &mut RowVisitor<'_>,
    ) -> Result<u64> {
        let Work::Query(find, reply) = &plan.work else {
            return Err(ConnectionError::other(plan.sql, "it is no query"));
        };
        let layout = &*self.layout;
        let table = &layout.tables[plan.table];
        let (engine, scratch) = (&self.engine, &mut self.scratch.search);
        let search = Search {
            engine,
            sql: plan.sql,
            table,
            find,
            parameters,
        };
        let mut rows = 0;
        match reply {
            Reply::Columns(columns) => {
                let mut look = |row: &Row<'_>| {
                    rows += 1;
                    visit(&Chosen { row: *row, columns });
                    ControlFlow::Continue(())
                };
                search.each(scratch, &mut look)?;
            }
            Reply::Values(values) => {
                let mut sums = Sums::new(values);
                let mut look = |row: &Row<'_>| {
                    sums.add(row);
                    ControlFlow::Continue(())
                };
                search.each(scratch, &mut look)?;
                visit(&Made(&sums.values()));
                rows = 1;
            }
            Reply::ValuesBy(by, values) => {
                let mut group: Option<(i64, Sums<'_>)> = None;
                let mut tell = |group: Option<(i64, Sums<'_>)>| {
                    if let Some((value, sums)) = group {
                        let value = row::number_of(table.columns.kinds[*by], value);
                        let values: Vec<Value<'_>> =
                            [value].into_iter().chain(sums.values()).collect();
                        visit(&Made(&values));
                        rows += 1;
                    }
                };
                let mut look = |row: &Row<'_>| {
                    let value = number(row.column(*by)).unwrap_or(0);
                    if group.as_ref().is_none_or(|(of, _)| *of != value) {
                        tell(group.replace((value, Sums::new(values))));
                    }
                    if let Some((_, sums)) = &mut group {
                        sums.add(row);
                    }
                    ControlFlow::Continue(())
                };
                search.each(scratch, &mut look)?;
                tell(group);
            }
            Reply::Matches {
                table: other,
                key,
                keep,
                values,
            } => {
                let other = &layout.tables[*other];
                let mut sums = Sums::new(values);
                let (mut wanted, mut read) = (Vec::new(), Read::default());
                let mut failed = Ok(());
                let mut look = |row: &Row<'_>| {
                    wanted.clear();
                    for part in key {
                        let value = match part {
                            MatchKey::Parameter(parameter) => parameters[*parameter],
                            MatchKey::Column(column) => row.column(*column),
                        };
                        if let Err(error) = other.push_key(&mut wanted, value) {
                            failed = Err(ConnectionError::other(plan.sql, error));
                            return ControlFlow::Break(());
                        }
                    }
                    let taken = engine.get(other.tree, &wanted, |value| {
                        let row = read.row(&other.columns, &wanted, value)?;
                        if holds(&row, keep, parameters) {
                            sums.add(&row);
                        }
                        Some(())
                    });
                    match taken {
                        Ok(None | Some(Some(()))) => ControlFlow::Continue(()),
                        Ok(Some(None)) => {
                            failed = Err(damaged(other));
                            ControlFlow::Break(())
                        }
                        Err(error) => {
                            failed = Err(error);
                            ControlFlow::Break(())
                        }
                    }
                };
                search.each(scratch, &mut look)?;
                failed?;
                visit(&Made(&sums.values()));
                rows = 1;
            }
        }
        Ok(rows)
    }
}

/// Appends a row's value with its changes: what stays is copied as it is.
fn changed(
    table: &TableLayout,
    row: &Row<'_>,
    sets: &[Set],
    parameters: &[Value<'_>],
    bytes: &mut Vec<u8>,
) {
    let mut begin = 0;
    for (&column, &end) in table.columns.in_value.iter().zip(row.ends) {
        match sets.iter().find(|set| set.column == column) {
            None => bytes.extend_from_slice(&row.value[begin..end]),
            Some(set) => {
                let new = new_value(row.column(column), set.change, parameters[set.parameter]);
                table.push_value(bytes, new);
            }
        }
        begin = end;
    }
}

/// What becomes of a column. Sums wrap no more than those of SQL: they saturate.
fn new_value<'v>(old: Value<'v>, change: Change, parameter: Value<'v>) -> Value<'v> {
    if change == Change::Set {
        return parameter;
    }
    let (Some(old), Some(by)) = (number(old), number(parameter)) else {
        return Value::Null;
    };
    Value::Integer(match change {
        Change::Set | Change::Add => old.saturating_add(by),
        Change::Subtract => old.saturating_sub(by),
        Change::SubtractAndRefill { least, by: refill } => {
            let left = old.saturating_sub(by);
            match left < least {
                true => left.saturating_add(refill),
                false => left,
            }
        }
    })
}

impl<E: Engine> Connection for Session<E> {
    fn begin(&mut self, access: Access) -> Result<()> {
        self.engine.begin(access)?;
        self.is_open = true;
        Ok(())
    }

    fn commit(&mut self) -> Result<()> {
        self.is_open = false;
        self.engine.commit()
    }

    fn rollback(&mut self) -> Result<()> {
        self.is_open = false;
        self.engine.rollback()
    }

    fn execute(&mut self, statement: StatementId, parameters: &[Value<'_>]) -> Result<u64> {
        let plans = Arc::clone(&self.plans);
        let begin = |engine: &mut E| engine.begin(Access::Write);
        self.within(begin, |session| {
            session.change(plans.of(statement), parameters)
        })
    }

    fn query(
        &mut self,
        statement: StatementId,
        parameters: &[Value<'_>],
        visit: &mut RowVisitor<'_>,
    ) -> Result<u64> {
        let plans = Arc::clone(&self.plans);
        let plan = plans.of(statement);
        let begin = |engine: &mut E| match plan.is_one_call() {
            true => engine.begin_call(),
            false => engine.begin(Access::Read),
        };
        self.within(begin, |session| session.answer(plan, parameters, visit))
    }
}

impl<E: Engine> Inspection for Session<E> {
    fn scan(&mut self, table: &Table, visit: &mut RowVisitor<'_>) -> Result<u64> {
        let layout = Arc::clone(&self.layout);
        let Some(table) = layout.table(table.name) else {
            return Err(ConnectionError::other(
                format!("read {}", table.name),
                "there is no such table",
            ));
        };
        let columns: Vec<usize> = (0..table.columns.kinds.len()).collect();
        self.within(E::begin_call, |session| {
            let read = &mut session.scratch.search.read;
            let (mut rows, mut is_damaged) = (0, false);
            session.engine.range(
                table.tree,
                &[],
                Order::Rising,
                &mut |key, value| match read.row(&table.columns, key, value) {
                    Some(row) => {
                        rows += 1;
                        visit(&Chosen {
                            row,
                            columns: &columns,
                        });
                        ControlFlow::Continue(())
                    }
                    None => {
                        is_damaged = true;
                        ControlFlow::Break(())
                    }
                },
            )?;
            match is_damaged || read.unfit.get() {
                true => Err(damaged(table)),
                false => Ok(rows),
            }
        })
    }
}
