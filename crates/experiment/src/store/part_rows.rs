//! All rows of one part, on their way from its own store into a merged one.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use octavo_device::profile::Profile;
use octavo_workload::{Audit, TransactionKind};
use rusqlite::{
    Connection, OptionalExtension, Row, ToSql, params, params_from_iter,
    types::{Value, ValueRef},
};

use super::{
    CENTURY_S, PETABYTE, Store, StoreError, damage, from_integer, json,
    runs::{kind_counts, record, slice, tree},
    seconds,
    steps::step,
    stored_part::{STORED, stored},
    warm_up::block,
};
use crate::{
    lockstep::{Group, Horizon},
    part::{PartKind, PartOutcome, StoredPart},
    plan::Shard,
    record::{RunKey, Source},
};

/// The tables whose rows belong to a run, but for the run itself, with what finds a row out that cannot be
/// read again: what a merged store takes, its readers have to bear.
const OF_RUNS: [(&str, Check); 7] = [
    ("slice", |row, run, _| check_slice(row, run)),
    ("warm_up", |row, run, _| block(row, run.key).map(drop)),
    ("step", |row, _, _| step(row).map(drop)),
    ("latency", check_latency),
    ("consistency", |_, _, _| Ok(())),
    ("tree", |row, _, _| tree(row).map(drop)),
    ("audit", |row, run, _| {
        let audit: Audit = json(row, "audit")?;
        run.is_audited = !audit.lines.is_empty();
        Ok(())
    }),
];

/// Fails where a row of this run cannot be read.
type Check = fn(&Row<'_>, &mut RunSums, &[TransactionKind]) -> rusqlite::Result<()>;

/// The tables that have for each part what a store of one has once, and where that has it, with what finds a
/// row out that cannot be read again.
const OF_PARTS: [(&str, &str, CheckOnce); 3] = [
    ("part_fact", "fact", |row, check| {
        let (topic, name): (String, String) = (row.get("topic")?, row.get("name")?);
        let value: String = row.get("value")?;
        check(&topic, &name, &value).map_err(|error| damage(&topic, error))
    }),
    ("part_calibration", "calibration", |row, _| {
        let profile = Profile::from_toml(&row.get::<_, String>("profile")?);
        let profile = profile.map(drop);
        profile.map_err(|error| damage("device profile", error))
    }),
    // Its numbers are checked as all are.
    ("part_snapshot", "snapshot", |_, _| Ok(())),
];

/// Fails where a row cannot be read.
type CheckOnce = fn(&Row<'_>, FactCheck) -> rusqlite::Result<()>;

/// Says why a fact cannot be read by who reads facts of its topic; by topic, name and value.
pub(crate) type FactCheck = fn(&str, &str, &str) -> Result<(), serde_json::Error>;

/// The values of a row, in the order of a statement.
type Values = Vec<Value>;

/// Of a part when two copies of it are compared: how it ended, passes and time.
type Progress = (Option<PartOutcome>, u64, f64);

/// What the rows of a plan's parts have to be of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PartPlan<'a> {
    /// The kinds of the workload's transactions.
    pub(crate) kinds: &'a [TransactionKind],
    /// The groups of cells.
    pub(crate) groups: &'a [Group],
    /// Whether its cells are ramps, which have steps instead of slices.
    pub(crate) has_ramps: bool,
    /// What facts have to be.
    pub(crate) check_fact: FactCheck,
}

/// The cells that a part of a plan with these groups is to have.
pub(super) fn cells_of(part: &StoredPart, groups: &[Group]) -> BTreeSet<usize> {
    let own = match (part.kind, part.parts) {
        (PartKind::Shard, Some(parts)) => Shard::new(part.number, parts)
            .map(|shard| shard.groups(groups.len()))
            .unwrap_or_default(),
        _ => (0..groups.len()).collect(),
    };
    let cells = own.iter().flat_map(|&group| &groups[group].cells);
    cells.copied().collect()
}

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

/// What became of rows that were to be put into a store.
#[derive(Debug)]
pub(crate) enum PutRows {
    /// They are in it.
    Taken,
    /// It had as much of this part.
    Known,
    /// It has an attempt with the same id that is another one.
    Other(Box<StoredPart>),
}

impl PartRows {
    /// Reads and checks the rows of a part that `store` has.
    ///
    /// # Errors
    /// When a row cannot be read, or is not what this part of `plan` has: it would make the merged store
    /// unreadable, or say something else.
    pub(crate) fn read(
        store: &Store,
        about: &StoredPart,
        tables: &Tables,
        plan: PartPlan<'_>,
    ) -> Result<Self, StoreError> {
        read(&store.connection, about, tables, plan).map_err(|error| store.error(error))
    }

    fn progress(&self) -> Progress {
        let slices = self.of_runs.first().map_or(0, Vec::len) as u64;
        (self.about.outcome, slices, self.about.spent_s)
    }

    /// Puts them into a store, in a transaction of its own, unless it has as much of this part.
    ///
    /// What counts is to be [decided](Store::rank_parts) afterwards.
    ///
    /// # Errors
    /// When the store cannot be written, or has rows that these do not go with.
    pub(crate) fn put(self, store: &mut Store, tables: &Tables) -> Result<PutRows, StoreError> {
        let mut put = PutRows::Taken;
        store.write(|connection| {
            if let Some((other, own)) = earlier(connection, &self.about.id)? {
                // What is done stays as it is.
                let is_changed = own.0 == Some(PartOutcome::Done)
                    && self.about.outcome == own.0
                    && self.progress().1 != own.1;
                if is_changed || !is_same_attempt(&other, &self.about) {
                    put = PutRows::Other(Box::new(other));
                    return Ok(());
                }
                if own.0 == Some(PartOutcome::Done) || self.progress() <= own {
                    put = PutRows::Known;
                    return Ok(());
                }
                remove(connection, &self.about.id)?;
            }
            self.insert(connection, tables)
        })?;
        Ok(put)
    }

    fn insert(self, connection: &Connection, tables: &Tables) -> rusqlite::Result<()> {
        insert(connection, &tables.session, [self.session], &mut |row| {
            row[0] = Value::Null;
            Ok(())
        })?;
        let own = connection.last_insert_rowid();
        // Until it is decided which attempt counts, none of what is new does.
        let aside: i64 = connection
            .prepare_cached(
                "SELECT coalesce(max(set_aside), 0) + 1 FROM part WHERE kind = ?1 AND number = ?2",
            )?
            .query_row(params![self.about.kind.name(), self.about.number], |row| {
                row.get(0)
            })?;
        let last: i64 = connection
            .prepare_cached("SELECT coalesce(max(run), 0) FROM run")?
            .query_row([], |row| row.get(0))?;
        // Whatever the numbers were: these follow on those that are there.
        let mut numbers = BTreeMap::new();
        let mut next = last;
        for run in &self.runs {
            next = next.checked_add(1).ok_or_else(|| damage("run", last))?;
            if let Some(Value::Integer(number)) = run.first() {
                numbers.insert(*number, next);
            }
        }
        let renumber = |run: &mut Value| -> rusqlite::Result<()> {
            if let Value::Integer(number) = run {
                let new = numbers.get(number);
                *number = *new.ok_or_else(|| damage("run", &number))?;
            }
            Ok(())
        };
        insert(connection, &tables.part, [self.part], &mut |row| {
            row[1] = own.into();
            row[2] = aside.into();
            Ok(())
        })?;
        insert(connection, &tables.run, self.runs, &mut |row| {
            renumber(&mut row[0])?;
            row[1] = own.into();
            row[2] = aside.into();
            Ok(())
        })?;
        for (table, rows) in tables.of_runs.iter().zip(self.of_runs) {
            insert(connection, table, rows, &mut |row| renumber(&mut row[0]))?;
        }
        for ((table, _), rows) in tables.of_parts.iter().zip(self.of_parts) {
            insert(connection, table, rows, &mut |_| Ok(()))?;
        }
        Ok(())
    }
}

/// How many rows of each table were read of a store's parts: others would be lost without a word.
#[derive(Debug, Default)]
pub(crate) struct RowsRead {
    of_runs: Vec<usize>,
    of_parts: Vec<usize>,
}

impl RowsRead {
    /// Counts those of a part.
    pub(crate) fn add(&mut self, rows: &PartRows) {
        let add = |all: &mut Vec<usize>, counts: Vec<usize>| {
            all.resize(counts.len(), 0);
            for (all, count) in all.iter_mut().zip(counts) {
                *all += count;
            }
        };
        let of_runs = [1, 1, rows.runs.len()];
        let of_runs = of_runs.into_iter().chain(rows.of_runs.iter().map(Vec::len));
        add(&mut self.of_runs, of_runs.collect());
        add(
            &mut self.of_parts,
            rows.of_parts.iter().map(Vec::len).collect(),
        );
    }

    /// Refuses a store that has more or fewer rows than those of its parts: rows of no part, or an index
    /// that does not have all.
    ///
    /// # Errors
    /// That it is damaged, or cannot be read.
    pub(crate) fn check(&self, store: &Store) -> Result<(), StoreError> {
        let check = || -> rusqlite::Result<()> {
            let is_merged = is_merged(&store.connection)?;
            let of_runs = ["session", "part", "run"].into_iter();
            let of_runs = of_runs.chain(OF_RUNS.iter().map(|(table, _)| *table));
            let of_parts = OF_PARTS.iter().map(|(table, ..)| *table);
            // A store of a program alone has these once, whatever its parts.
            let of_parts = of_parts.zip(&self.of_parts).filter(|_| is_merged);
            let tables: Vec<(&str, &usize)> = of_runs.zip(&self.of_runs).chain(of_parts).collect();
            let counts = tables.iter();
            let counts =
                counts.map(|(table, _)| format!("(SELECT count(*) FROM {table} NOT INDEXED)"));
            let counts = format!("SELECT {}", counts.collect::<Vec<_>>().join(", "));
            let mut count = store.connection.prepare_cached(&counts)?;
            count.query_row([], |row| {
                for (place, (table, read)) in tables.iter().enumerate() {
                    let there = from_integer(row, place)?;
                    if there != **read as u64 {
                        let what = format!("{there} rows, of which {read} are of its parts");
                        return Err(damage(table, what));
                    }
                }
                Ok(())
            })
        };
        check().map_err(|error| store.error(error))
    }
}

/// Whether two attempts with one id are the same.
fn is_same_attempt(one: &StoredPart, other: &StoredPart) -> bool {
    let key = |part: &StoredPart| {
        (
            part.kind,
            part.number,
            part.parts,
            part.host.clone(),
            part.octavo.clone(),
            part.started.clone(),
        )
    };
    key(one) == key(other)
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
        let statements = |table: &str, first: &[&str], select: &dyn Fn(&[String]) -> String| {
            let others = columns(connection, table, first)?;
            let all = first.iter().map(|name| (*name).to_owned()).chain(others);
            let all: Vec<String> = all.collect();
            let places = vec!["?"; all.len()].join(", ");
            Ok(Statements {
                select: select(&all),
                insert: format!("INSERT INTO {table} ({}) VALUES ({places})", all.join(", ")),
            })
        };
        let of_runs = OF_RUNS.iter().map(|(table, _)| {
            statements(table, &["run"], &|names| {
                format!(
                    "SELECT {} FROM {table}
                     WHERE run IN (SELECT run FROM run WHERE session = ?1)",
                    names.join(", ")
                )
            })
        });
        let of_parts = OF_PARTS.iter().map(|(table, once, _)| {
            let others = columns(connection, table, &["part"])?.join(", ");
            let own = format!("SELECT ?1, {others} FROM {once} WHERE ?1 IS NOT NULL");
            let by_part = statements(table, &["part"], &|names| {
                format!("SELECT {} FROM {table} WHERE part = ?1", names.join(", "))
            })?;
            Ok((by_part, own))
        });
        // A store of a program alone has these once.
        let of_plan = columns(connection, "plan", &[])?;
        let of_part = |name: &String| match of_plan.contains(name) {
            true => format!("coalesce({name}, (SELECT {name} FROM plan)) AS {name}"),
            false => name.clone(),
        };
        Ok(Self {
            session: statements("session", &["session"], &|names| {
                format!(
                    "SELECT {} FROM session WHERE session = ?1",
                    names.join(", ")
                )
            })?,
            part: statements("part", &["part", "session", "set_aside"], &|names| {
                let names: Vec<String> = names.iter().map(of_part).collect();
                format!("SELECT {} FROM part WHERE session = ?1", names.join(", "))
            })?,
            run: statements("run", &["run", "session", "set_aside"], &|names| {
                format!("SELECT {} FROM run WHERE session = ?1", names.join(", "))
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

/// What a run says of its own slices and latencies, and what these say: a run has the sums of what is kept of
/// it, so that a value that changed on a disk is found out.
#[derive(Debug)]
struct RunSums {
    key: RunKey,
    /// What it says of them, where it has figures.
    said: Option<Sums>,
    slices: Sums,
    /// Transactions by outcome, of all kinds; `None` without any.
    ended: Option<u64>,
    names: BTreeSet<String>,
    is_audited: bool,
    is_predicted: bool,
    ended_early: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    transactions: u64,
    counted: u64,
    elapsed_s: f64,
}

impl RunSums {
    fn new(row: &Row<'_>, key: RunKey, source: Source) -> rusqlite::Result<Self> {
        let has_figures = row.get_ref("failure")? == ValueRef::Null;
        let said = || -> rusqlite::Result<Sums> {
            Ok(Sums {
                transactions: from_integer(row, "transactions")?,
                counted: from_integer(row, "counted")?,
                elapsed_s: seconds(row, "measured_s")?.as_secs_f64(),
            })
        };
        Ok(Self {
            key,
            said: has_figures.then(said).transpose()?,
            slices: Sums::default(),
            ended: None,
            names: BTreeSet::new(),
            is_audited: false,
            is_predicted: source == Source::Predicted,
            ended_early: row.get_ref("ended_early")? != ValueRef::Null,
        })
    }

    /// Refuses sums of slices and latencies that are not those of the run. A pass that was cut short is in
    /// the run's figures and has no slices; a cell that left in order has none of these.
    fn check(&self, part: &StoredPart) -> rusqlite::Result<()> {
        let Some(said) = self.said else {
            return Ok(());
        };
        let is_whole = part.outcome == Some(PartOutcome::Done)
            && !self.ended_early
            && (self.is_audited || self.is_predicted);
        let refuse = |what: &str, said: f64, found: f64| {
            let cell = self.key.cell;
            Err(damage(
                what,
                format!("cell {cell} has {said} of them, and its rows {found}"),
            ))
        };
        let fits = |said: u64, found: u64| match is_whole {
            true => said == found,
            false => found <= said,
        };
        let of_slices = [
            ("transactions", said.transactions, self.slices.transactions),
            ("counted transactions", said.counted, self.slices.counted),
        ];
        for (what, said, found) in of_slices {
            if !fits(said, found) {
                return refuse(what, said as f64, found as f64);
            }
        }
        let (longer, shorter) = (self.slices.elapsed_s, said.elapsed_s);
        // Sums of many floating-point numbers.
        let is_near = (longer - shorter).abs() <= 1e-6 * shorter;
        if (longer > shorter || is_whole) && !is_near {
            return refuse("seconds", shorter, longer);
        }
        match self.ended {
            Some(ended) if ended != said.transactions => refuse(
                "transactions by kind",
                said.transactions as f64,
                ended as f64,
            ),
            None => refuse("transactions by kind", said.transactions as f64, 0.0),
            Some(_) => Ok(()),
        }
    }
}

fn check_slice(row: &Row<'_>, run: &mut RunSums) -> rusqlite::Result<()> {
    let slice = slice(row, run.key)?;
    if slice.transactions == 0 || slice.counted > slice.transactions {
        let what = format!("{} of {}", slice.counted, slice.transactions);
        return Err(damage("transactions of a slice", what));
    }
    if slice.elapsed.is_zero() {
        return Err(damage("elapsed_s of a slice", 0));
    }
    run.slices.transactions = run.slices.transactions.saturating_add(slice.transactions);
    run.slices.counted = run.slices.counted.saturating_add(slice.counted);
    run.slices.elapsed_s += slice.elapsed.as_secs_f64();
    Ok(())
}

fn check_latency(
    row: &Row<'_>,
    run: &mut RunSums,
    kinds: &[TransactionKind],
) -> rusqlite::Result<()> {
    kind_counts(row, kinds)?;
    let name: String = row.get("name")?;
    if !run.names.insert(name.clone()) {
        return Err(damage("a kind of transaction twice", name));
    }
    let ended = from_integer(row, "committed")?.saturating_add(from_integer(row, "rolled_back")?);
    run.ended = Some(run.ended.unwrap_or_default().saturating_add(ended));
    Ok(())
}

/// Fails where a text is not a time, as RFC 3339 has it.
fn check_time(row: &Row<'_>, column: &str) -> rusqlite::Result<()> {
    let Some(text) = row.get::<_, Option<String>>(column)? else {
        return Ok(());
    };
    let time = text.parse::<Timestamp>().map(drop);
    time.map_err(|error| damage(column, error))
}

fn read(
    connection: &Connection,
    about: &StoredPart,
    tables: &Tables,
    plan: PartPlan<'_>,
) -> rusqlite::Result<PartRows> {
    let of_session = |statements: &Statements, check: &mut Checked<'_>| {
        select(connection, &statements.select, about.session, check)
    };
    let one = |mut rows: Vec<Values>| rows.pop().ok_or(rusqlite::Error::QueryReturnedNoRows);
    let foreign = |what: &str| damage("part", format!("{} has {what}", about.id));
    let (own_sitting, own_source) = match about.kind {
        PartKind::Sitting => (about.number, Source::Measured),
        PartKind::Shard => (0, Source::Predicted),
    };
    let own_cells = cells_of(about, plan.groups);
    let mut seen = BTreeSet::new();
    let mut runs = BTreeMap::new();
    let rows = of_session(&tables.run, &mut |row| {
        let run = record(row, plan.kinds)?;
        if run.source != own_source {
            return Err(foreign(&format!("runs that were {}", run.source.name())));
        }
        if run.key.sitting != own_sitting {
            return Err(foreign("runs of another sitting"));
        }
        if !own_cells.contains(&run.key.cell) {
            return Err(foreign(&format!(
                "the cell {}, which is not of it",
                run.key.cell
            )));
        }
        if !seen.insert(run.key.cell) {
            return Err(foreign(&format!("the cell {} twice", run.key.cell)));
        }
        let sums = RunSums::new(row, run.key, run.source)?;
        runs.insert(row.get::<_, i64>("run")?, sums);
        Ok(())
    })?;
    if rows.is_empty() && about.outcome == Some(PartOutcome::Done) {
        return Err(foreign("no runs, and is done"));
    }
    let mut of_runs = Vec::with_capacity(OF_RUNS.len());
    for ((_, check), statements) in OF_RUNS.iter().zip(&tables.of_runs) {
        of_runs.push(of_session(statements, &mut |row| {
            let run = runs.get_mut(&row.get("run")?);
            check(
                row,
                run.ok_or(rusqlite::Error::QueryReturnedNoRows)?,
                plan.kinds,
            )
        })?);
    }
    if !plan.has_ramps {
        for run in runs.values() {
            run.check(about)?;
        }
    }
    // A store that was merged has these by part, and one of a program alone has them once.
    let is_merged = is_merged(connection)?;
    let mut of_parts = Vec::with_capacity(OF_PARTS.len());
    for ((statements, once), (.., check)) in tables.of_parts.iter().zip(OF_PARTS) {
        let from = if is_merged { &statements.select } else { once };
        of_parts.push(select(connection, from, &about.id, &mut |row| {
            check(row, plan.check_fact)
        })?);
    }
    Ok(PartRows {
        about: about.clone(),
        session: one(of_session(&tables.session, &mut |row| {
            check_time(row, "started")
        })?)?,
        part: one(of_session(&tables.part, &mut |row| {
            check_time(row, "started")?;
            check_time(row, "created")?;
            if row.get::<_, Option<i64>>("slice_transactions")? == Some(0) {
                return Err(damage("slice_transactions", 0));
            }
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
        let values = (0..count).map(|column| checked(row, column));
        all.push(values.collect::<rusqlite::Result<_>>()?);
    }
    Ok(all)
}

/// A value of a row. All numbers that are kept are counts, bytes, numbers of something and seconds.
fn checked(row: &Row<'_>, column: usize) -> rusqlite::Result<Value> {
    let value: Value = row.get(column)?;
    let is_sound = match &value {
        Value::Integer(number) => u64::try_from(*number).is_ok_and(|number| number <= PETABYTE),
        Value::Real(number) => (0.0..CENTURY_S).contains(number),
        _ => true,
    };
    match is_sound {
        true => Ok(value),
        false => {
            let name = row.as_ref().column_name(column).unwrap_or_default();
            let number = match value {
                Value::Integer(number) => number.to_string(),
                Value::Real(number) => number.to_string(),
                _ => String::new(),
            };
            Err(damage(name, format!("{number} is out of range")))
        }
    }
}

/// What is another value in a row that is put in.
type Change<'a> = dyn FnMut(&mut [Value]) -> rusqlite::Result<()> + 'a;

fn insert(
    transaction: &Connection,
    statements: &Statements,
    rows: impl IntoIterator<Item = Values>,
    change: &mut Change<'_>,
) -> rusqlite::Result<()> {
    let mut insert = transaction.prepare_cached(&statements.insert)?;
    for mut row in rows {
        change(&mut row)?;
        insert.execute(params_from_iter(row))?;
    }
    Ok(())
}

/// A part and how far it has come; `None` where the store has no such part.
fn earlier(
    connection: &Connection,
    part: &str,
) -> rusqlite::Result<Option<(StoredPart, Progress)>> {
    let mut statement = connection.prepare_cached(&format!(
        "SELECT {STORED},
                (SELECT count(*) FROM slice JOIN run USING (run) WHERE run.session = part.session)
                    AS slices
         FROM part JOIN session USING (session) WHERE part = ?1"
    ))?;
    let read = |row: &Row<'_>| {
        let part = stored(row)?;
        let progress = (part.outcome, from_integer(row, "slices")?, part.spent_s);
        Ok((part, progress))
    };
    statement.query_row([part], read).optional()
}

/// Removes all that is of a part.
pub(super) fn remove(transaction: &Connection, part: &str) -> rusqlite::Result<()> {
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
    let of_parts = OF_PARTS.iter().map(|(table, ..)| *table);
    for table in of_parts.chain(["part"]) {
        transaction.execute(&format!("DELETE FROM {table} WHERE part = ?1"), [part])?;
    }
    transaction.execute("DELETE FROM session WHERE session = ?1", [session])?;
    // What follows in the same transaction is checked at once again.
    transaction.pragma_update(None, "defer_foreign_keys", false)?;
    Ok(())
}

/// Whether a store was made by merging: then it has facts by part. Each program keeps some before it begins
/// a part, such as how it was called.
pub(super) fn is_merged(connection: &Connection) -> rusqlite::Result<bool> {
    connection
        .prepare_cached("SELECT EXISTS (SELECT 1 FROM part_fact)")?
        .query_row([], |row| row.get(0))
}
