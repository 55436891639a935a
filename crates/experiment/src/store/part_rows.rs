//! All rows of one part, on their way from its own store into a merged one.

use std::collections::BTreeMap;

use octavo_workload::{Audit, TransactionKind};
use rusqlite::{
    Connection, OptionalExtension, Row, ToSql, Transaction, params, params_from_iter, types::Value,
};

use super::{
    Store, StoreError, damage, from_integer, json,
    runs::{kind_counts, record, slice, tree},
    seconds,
    steps::step,
    warm_up::block,
};
use crate::{
    lockstep::Horizon,
    part::{PartKind, PartOutcome, StoredPart},
    record::RunKey,
};

/// The tables whose rows belong to a run, but for the run itself, with what finds a row out that cannot be
/// read again: what a merged store takes, its readers have to bear.
const OF_RUNS: [(&str, Check); 7] = [
    ("slice", |row, run, _| slice(row, run).map(drop)),
    ("warm_up", |row, run, _| block(row, run).map(drop)),
    ("step", |row, _, _| step(row).map(drop)),
    ("latency", |row, _, kinds| kind_counts(row, kinds).map(drop)),
    ("consistency", |_, _, _| Ok(())),
    ("tree", |row, _, _| tree(row).map(drop)),
    ("audit", |row, _, _| json::<Audit>(row, "audit").map(drop)),
];

/// Fails where a row of this run cannot be read.
type Check = fn(&Row<'_>, RunKey, &[TransactionKind]) -> rusqlite::Result<()>;

/// The tables that have for each part what a store of one has once, and where that has it.
const OF_PARTS: [(&str, &str); 3] = [
    ("part_fact", "fact"),
    ("part_calibration", "calibration"),
    ("part_snapshot", "snapshot"),
];

/// The values of a row, in the order of a statement.
type Values = Vec<Value>;

/// Of a part when two copies of it are compared: how it ended, passes and time.
type Progress = (Option<PartOutcome>, u64, f64);

/// All rows of a part. Numbers of runs and of the session are those of the store that they were read from.
#[derive(Debug)]
pub(crate) struct PartRows {
    about: StoredPart,
    session: Values,
    part: Values,
    runs: Vec<Values>,
    of_runs: Vec<Vec<Values>>,
    of_parts: Vec<Vec<Values>>,
}

impl PartRows {
    /// Reads and checks the rows of a part that `store` has. `kinds` are the workload's.
    ///
    /// # Errors
    /// When a row cannot be read or is of another part: it would make the merged store unreadable.
    pub(crate) fn read(
        store: &Store,
        about: &StoredPart,
        tables: &Tables,
        kinds: &[TransactionKind],
    ) -> Result<Self, StoreError> {
        read(&store.connection, about, tables, kinds).map_err(|error| store.error(error))
    }

    fn progress(&self) -> Progress {
        let slices = self.of_runs.first().map_or(0, Vec::len) as u64;
        (self.about.outcome, slices, self.about.spent_s)
    }

    /// Puts them into a store, in a transaction of its own, unless it has as much of this part. Whether it
    /// did.
    ///
    /// What counts is to be [decided](Store::rank_parts) afterwards.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub(crate) fn put(self, store: &mut Store, tables: &Tables) -> Result<bool, StoreError> {
        let mut is_new = false;
        store.write(|transaction| {
            if let Some(own) = progress(transaction, &self.about.id)? {
                if own.0 == Some(PartOutcome::Done) || self.progress() <= own {
                    return Ok(());
                }
                remove(transaction, &self.about.id)?;
            }
            is_new = true;
            self.insert(transaction, tables)
        })?;
        Ok(is_new)
    }

    fn insert(self, transaction: &Transaction<'_>, tables: &Tables) -> rusqlite::Result<()> {
        let as_it_is: &Change<'_> = &|_| {};
        insert(transaction, &tables.session, [self.session], as_it_is)?;
        let own = transaction.last_insert_rowid();
        // Until it is decided which attempt counts, none of what is new does: a merge may end here.
        let aside: i64 = transaction
            .prepare_cached(
                "SELECT coalesce(max(set_aside), 0) + 1 FROM part WHERE kind = ?1 AND number = ?2",
            )?
            .query_row(params![self.about.kind.name(), self.about.number], |row| {
                row.get(0)
            })?;
        let offset: i64 = transaction
            .prepare_cached("SELECT coalesce(max(run), 0) FROM run")?
            .query_row([], |row| row.get(0))?;
        let shift = |run: &mut Value| {
            if let Value::Integer(number) = run {
                *number = number.saturating_add(offset);
            }
        };
        insert(transaction, &tables.part, [self.part], &|row| {
            row[1] = own.into();
            row[2] = aside.into();
        })?;
        insert(transaction, &tables.run, self.runs, &|row| {
            shift(&mut row[0]);
            row[1] = own.into();
            row[2] = aside.into();
        })?;
        for (table, rows) in tables.of_runs.iter().zip(self.of_runs) {
            insert(transaction, table, rows, &|row| shift(&mut row[0]))?;
        }
        for ((table, _), rows) in tables.of_parts.iter().zip(self.of_parts) {
            insert(transaction, table, rows, as_it_is)?;
        }
        Ok(())
    }
}

/// How the rows of the tables of parts are read and written, with the columns of this schema.
#[derive(Debug)]
pub(crate) struct Tables {
    session: Statements,
    part: Statements,
    run: Statements,
    of_runs: Vec<Statements>,
    /// Where a store has them by part, with how one of a program alone selects them.
    of_parts: Vec<(Statements, String)>,
    /// The columns of a snapshot.
    pub(super) snapshot: String,
}

#[derive(Debug)]
struct Statements {
    /// With the part or its session as ?1.
    select: String,
    insert: String,
}

impl Tables {
    /// As the schema of `store` has them.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub(crate) fn of(store: &Store) -> Result<Self, StoreError> {
        Self::read(&store.connection).map_err(|error| store.error(error))
    }

    fn read(connection: &Connection) -> rusqlite::Result<Self> {
        let statements = |table: &str, first: &[&str], select: &dyn Fn(&str) -> String| {
            let others = columns(connection, table, first)?;
            let all = first.iter().map(|name| (*name).to_owned()).chain(others);
            let all: Vec<String> = all.collect();
            let places = vec!["?"; all.len()].join(", ");
            let names = all.join(", ");
            Ok(Statements {
                select: select(&names),
                insert: format!("INSERT INTO {table} ({names}) VALUES ({places})"),
            })
        };
        let of_runs = OF_RUNS.iter().map(|(table, _)| {
            statements(table, &["run"], &|names| {
                format!(
                    "SELECT {names} FROM {table}
                     WHERE run IN (SELECT run FROM run WHERE session = ?1)"
                )
            })
        });
        let of_parts = OF_PARTS.iter().map(|(table, once)| {
            let others = columns(connection, table, &["part"])?.join(", ");
            let own = format!("SELECT ?1, {others} FROM {once} WHERE ?1 IS NOT NULL");
            let by_part = statements(table, &["part"], &|names| {
                format!("SELECT {names} FROM {table} WHERE part = ?1")
            })?;
            Ok((by_part, own))
        });
        Ok(Self {
            session: Statements {
                select: "SELECT started, elapsed_s FROM session WHERE session = ?1".into(),
                insert: "INSERT INTO session (started, elapsed_s) VALUES (?, ?)".into(),
            },
            // A store of a program alone has these once.
            part: Statements {
                select: "SELECT part, session, set_aside, kind, number, parts, host, host_name, octavo,
                                started, outcome, coalesce(created, (SELECT created FROM plan)),
                                coalesce(slice_transactions, (SELECT slice_transactions FROM plan)),
                                coalesce(horizon, (SELECT horizon FROM plan)) AS horizon
                         FROM part WHERE session = ?1"
                    .into(),
                insert: "INSERT INTO part (part, session, set_aside, kind, number, parts, host, host_name,
                                           octavo, started, outcome, created, slice_transactions, horizon)
                         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
                    .into(),
            },
            run: statements("run", &["run", "session", "set_aside"], &|names| {
                format!("SELECT {names} FROM run WHERE session = ?1")
            })?,
            of_runs: of_runs.collect::<rusqlite::Result<_>>()?,
            of_parts: of_parts.collect::<rusqlite::Result<_>>()?,
            snapshot: columns(connection, "snapshot", &[])?.join(", "),
        })
    }
}

/// The columns of a table of this schema, but for these.
fn columns(
    connection: &Connection,
    table: &str,
    without: &[&str],
) -> rusqlite::Result<Vec<String>> {
    let mut statement = connection.prepare_cached("SELECT name FROM pragma_table_info(?1)")?;
    let names = statement.query_map([table], |row| row.get::<_, String>(0))?;
    let names: Vec<String> = names.collect::<rusqlite::Result<_>>()?;
    let kept = names.into_iter().filter(|name| !without.contains(&&**name));
    Ok(kept.collect())
}

fn read(
    connection: &Connection,
    about: &StoredPart,
    tables: &Tables,
    kinds: &[TransactionKind],
) -> rusqlite::Result<PartRows> {
    let of_session = |statements: &Statements, check: &mut Checked<'_>| {
        select(connection, &statements.select, about.session, check)
    };
    let one = |mut rows: Vec<Values>| rows.pop().ok_or(rusqlite::Error::QueryReturnedNoRows);
    let mut runs = BTreeMap::new();
    let rows = of_session(&tables.run, &mut |row| {
        let run = record(row, kinds)?;
        if about.kind == PartKind::Sitting && run.key.sitting != about.number {
            return Err(damage(
                "part",
                format!("{} has runs of another sitting", about.id),
            ));
        }
        runs.insert(row.get::<_, i64>("run")?, run.key);
        Ok(())
    })?;
    let mut of_runs = Vec::with_capacity(OF_RUNS.len());
    for ((_, check), statements) in OF_RUNS.iter().zip(&tables.of_runs) {
        of_runs.push(of_session(statements, &mut |row| {
            let run = runs.get(&row.get("run")?);
            check(
                row,
                *run.ok_or(rusqlite::Error::QueryReturnedNoRows)?,
                kinds,
            )
        })?);
    }
    // A store that was merged has these by part, and one of a program alone has them once.
    let is_merged = is_merged(connection)?;
    let mut of_parts = Vec::with_capacity(OF_PARTS.len());
    for (statements, once) in &tables.of_parts {
        let from = if is_merged { &statements.select } else { once };
        of_parts.push(select(connection, from, &about.id, &mut |_| Ok(()))?);
    }
    Ok(PartRows {
        about: about.clone(),
        session: one(of_session(&tables.session, &mut |_| Ok(()))?)?,
        part: one(of_session(&tables.part, &mut |row| {
            json::<Option<Horizon>>(row, "horizon").map(drop)
        })?)?,
        runs: rows,
        of_runs,
        of_parts,
    })
}

/// Fails where a row cannot be read.
type Checked<'a> = dyn FnMut(&Row<'_>) -> rusqlite::Result<()> + 'a;

/// The rows that a statement selects.
fn select(
    connection: &Connection,
    statement: &str,
    parameter: impl ToSql,
    check: &mut Checked<'_>,
) -> rusqlite::Result<Vec<Values>> {
    let mut select = connection.prepare_cached(statement)?;
    let count = select.column_count();
    let mut rows = select.query([parameter])?;
    let mut all = Vec::new();
    while let Some(row) = rows.next()? {
        check(row)?;
        let values = (0..count).map(|column| row.get::<_, Value>(column));
        all.push(values.collect::<rusqlite::Result<_>>()?);
    }
    Ok(all)
}

/// What is another value in a row that is put in.
type Change<'a> = dyn Fn(&mut [Value]) + 'a;

fn insert(
    transaction: &Transaction<'_>,
    statements: &Statements,
    rows: impl IntoIterator<Item = Values>,
    change: &Change<'_>,
) -> rusqlite::Result<()> {
    let mut insert = transaction.prepare_cached(&statements.insert)?;
    for mut row in rows {
        change(&mut row);
        insert.execute(params_from_iter(row))?;
    }
    Ok(())
}

/// How far a part has come; `None` where the store has no such part.
fn progress(connection: &Connection, part: &str) -> rusqlite::Result<Option<Progress>> {
    let mut statement = connection.prepare_cached(
        "SELECT outcome, elapsed_s,
                (SELECT count(*) FROM slice JOIN run USING (run) WHERE run.session = part.session)
         FROM part JOIN session USING (session) WHERE part = ?1",
    )?;
    let read = |row: &Row<'_>| {
        let outcome: Option<String> = row.get(0)?;
        let mut known = PartOutcome::ALL.into_iter();
        let outcome = outcome.and_then(|name| known.find(|of| of.name() == name));
        Ok((
            outcome,
            from_integer(row, 2)?,
            seconds(row, 1)?.as_secs_f64(),
        ))
    };
    statement.query_row([part], read).optional()
}

/// Removes all that is of a part.
pub(super) fn remove(transaction: &Transaction<'_>, part: &str) -> rusqlite::Result<()> {
    transaction.pragma_update(None, "defer_foreign_keys", true)?;
    let session: i64 =
        transaction.query_row("SELECT session FROM part WHERE part = ?1", [part], |row| {
            row.get(0)
        })?;
    for (table, _) in OF_RUNS {
        transaction.execute(
            &format!("DELETE FROM {table} WHERE run IN (SELECT run FROM run WHERE session = ?1)"),
            [session],
        )?;
    }
    transaction.execute("DELETE FROM run WHERE session = ?1", [session])?;
    let of_parts = OF_PARTS.iter().map(|(table, _)| *table);
    for table in of_parts.chain(["part"]) {
        transaction.execute(&format!("DELETE FROM {table} WHERE part = ?1"), [part])?;
    }
    transaction.execute("DELETE FROM session WHERE session = ?1", [session])?;
    Ok(())
}

/// Whether a store was made by merging: then it has facts by part. Each program keeps some before it begins
/// a part, such as how it was called.
pub(super) fn is_merged(connection: &Connection) -> rusqlite::Result<bool> {
    connection
        .prepare_cached("SELECT EXISTS (SELECT 1 FROM part_fact)")?
        .query_row([], |row| row.get(0))
}
