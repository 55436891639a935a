//! Parts of a plan that were carried out by themselves, and what of them counts.
//!
//! A part is a session. What a store has once (facts, the device profile, snapshots) is kept for
//! each part as soon as several stores come together; the tables of these follow from the parts
//! that count, so that the same parts always give the same store.

use std::collections::BTreeMap;

use jiff::Timestamp;
use octavo_workload::TransactionKind;
use rusqlite::{
    Connection, OptionalExtension, Row, ToSql, Transaction, config::DbConfig, params,
    params_from_iter, types::Value,
};

use super::{
    CHANGED, Store, StoreError, damage, first_difference, from_integer, migrations, seconds,
};
use crate::{
    lockstep::BATCH_PASSES,
    part::{HOST_NAME_MAX, Host, PARTS_MAX, Part, PartKind, PartOutcome, StoredPart, class},
    plan::SliceLength,
};

/// The passes that each cell of a part has at least that was cut off, if it counts: two batches
/// have a spread. Chosen.
const CUT_OFF_PASSES: usize = 2 * BATCH_PASSES;

/// The tables whose rows belong to a run, but for the run itself.
const OF_RUNS: [&str; 7] = [
    "slice",
    "warm_up",
    "step",
    "latency",
    "consistency",
    "tree",
    "audit",
];

/// The tables that have for each part what a store of one has once, and where that has it.
const OF_PARTS: [(&str, &str); 3] = [
    ("part_fact", "fact"),
    ("part_calibration", "calibration"),
    ("part_snapshot", "snapshot"),
];

/// The topic of what a part's host was at that time …
const HOST: &str = "host";
/// … with the name of its boot.
const BOOT: &str = "boot";

/// Statements that copying a part has, and some more, so that none is prepared twice.
const STATEMENTS: usize = 64;

/// Of a part when two copies of it are compared: how it ended, passes and time.
type Progress = (Option<PartOutcome>, i64, f64);

impl Store {
    /// Begins a session that is a part of the plan; returns its number.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub(crate) fn begin_part(&mut self, part: &Part, octavo: &str) -> Result<i64, StoreError> {
        let started = Timestamp::now().to_string();
        let mut session = 0;
        self.write(|transaction| {
            transaction.execute(
                "INSERT INTO session (started, elapsed_s) VALUES (?1, 0)",
                [&started],
            )?;
            session = transaction.last_insert_rowid();
            transaction.execute(
                "INSERT INTO part (part, session, kind, number, parts, host, host_name, octavo, started)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
                params![
                    part.id_text(),
                    session,
                    part.kind.name(),
                    part.number,
                    part.parts,
                    part.host.id,
                    part.host.name,
                    octavo,
                    started,
                ],
            )?;
            Ok(())
        })?;
        Ok(session)
    }

    /// Keeps which boot of a machine a part was carried out in; the first one stays.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub(crate) fn put_boot(&mut self, boot: Option<String>) -> Result<(), StoreError> {
        match boot {
            Some(boot) => self.put_facts(HOST, &[(BOOT, boot)]),
            None => Ok(()),
        }
    }

    /// The boots of machines in which parts were carried out, by the part's id, as far as they are known.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub(crate) fn boots(&self) -> Result<BTreeMap<String, String>, StoreError> {
        let all = self.collect(
            "SELECT part, value FROM part_fact WHERE topic = ?1 AND name = ?2",
            &[&HOST, &BOOT],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )?;
        Ok(all.into_iter().collect())
    }

    /// Keeps how a part ended.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub(crate) fn end_part(&self, session: i64, outcome: PartOutcome) -> Result<(), StoreError> {
        self.run(
            "UPDATE part SET outcome = ?2 WHERE session = ?1",
            params![session, outcome.name()],
        )
    }

    /// How many cells have figures in a part.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn cells_of_part(&self, part: &Part) -> Result<usize, StoreError> {
        let cells: Vec<i64> = self.collect(
            "SELECT count(DISTINCT cell) FROM run JOIN part USING (session)
             WHERE part = ?1 AND failure IS NULL",
            &[&part.id_text()],
            |row| row.get(0),
        )?;
        let cells = cells.first().copied().unwrap_or_default();
        Ok(usize::try_from(cells).unwrap_or_default())
    }

    /// All parts, by kind, number and begin; those too that do not count.
    ///
    /// # Errors
    /// When the store cannot be read, or holds something else.
    pub fn parts(&self) -> Result<Vec<StoredPart>, StoreError> {
        self.collect(
            "SELECT part, session, kind, number, parts, host, host_name, octavo, part.started,
                    outcome, set_aside, elapsed_s
             FROM part JOIN session USING (session)
             ORDER BY kind, number, part.started, part",
            &[],
            stored,
        )
    }

    /// The classes that hosts of these parts are of, in the same order.
    ///
    /// # Errors
    /// When the store cannot be read, or holds something else.
    pub(crate) fn classes(&self, parts: &[StoredPart]) -> Result<Vec<String>, StoreError> {
        let telling = "topic = 'machine' OR topic LIKE 'storage%' OR topic LIKE 'database%'";
        let read = |row: &Row<'_>| -> rusqlite::Result<(String, String, String, String)> {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
        };
        let mut facts: BTreeMap<String, Vec<(String, String, String)>> = BTreeMap::new();
        let all = format!("SELECT part, topic, name, value FROM part_fact WHERE {telling}");
        for (part, topic, name, value) in self.collect(&all, &[], read)? {
            facts.entry(part).or_default().push((topic, name, value));
        }
        let own = format!("SELECT '', topic, name, value FROM fact WHERE {telling}");
        let own: Vec<(String, String, String)> = self
            .collect(&own, &[], read)?
            .into_iter()
            .map(|(_, topic, name, value)| (topic, name, value))
            .collect();
        let of = |part: &StoredPart| {
            // What is predicted is the same wherever that is.
            if part.kind == PartKind::Shard {
                return class([], &part.octavo);
            }
            let facts = facts.get(&part.id).unwrap_or(&own);
            let facts = facts.iter();
            class(
                facts.map(|(topic, name, value)| (&**topic, &**name, &**value)),
                &part.octavo,
            )
        };
        Ok(parts.iter().map(of).collect())
    }

    /// Keeps the plan of a store whose parts are to be taken, or checks that it is the same.
    ///
    /// # Errors
    /// [`StoreError::OtherPlan`] with the first setting that differs, or when a store cannot be read
    /// or written.
    pub(crate) fn take_plan(&mut self, other: &Self) -> Result<(), StoreError> {
        let text = |store: &Self| -> Result<Option<String>, StoreError> {
            store.row("SELECT plan FROM plan", |row| row.get(0))
        };
        // Nearly always, and reading a plan takes longer than comparing it.
        if self.has_log && text(self)? == text(other)? {
            return Ok(());
        }
        let Some(plan) = other.plan()? else {
            return Ok(());
        };
        match self.plan()? {
            None => {
                let (octavo, _) = other.origin()?;
                self.adopt(&plan, SliceLength::default(), &octavo)
            }
            Some(own) => match first_difference(&own, &plan) {
                None => self.begin_log(),
                Some((setting, stored, wanted)) => Err(StoreError::OtherPlan {
                    path: self.path.clone(),
                    setting,
                    stored,
                    wanted,
                }),
            },
        }
    }

    /// The columns of tables that are copied.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub(crate) fn columns(&self) -> Result<Columns, StoreError> {
        Columns::of(&self.connection).map_err(|error| self.error(error))
    }

    /// Leaves the log of whoever writes the store as it is when it is closed: another host may be at work with
    /// locks that are not seen here.
    ///
    /// # Errors
    /// When SQLite refuses it.
    pub(crate) fn leave_log(&self) -> Result<(), StoreError> {
        let set = self
            .connection
            .set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true);
        set.map(|_| ()).map_err(|error| self.error(error))
    }

    /// Whether it has rows of parts, whatever they are worth.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub(crate) fn has_parts(&self) -> Result<bool, StoreError> {
        let has = self.row("SELECT EXISTS (SELECT 1 FROM part)", |row| row.get(0))?;
        Ok(has == Some(true))
    }

    /// Has all that is read of it from now on be of one moment, until it is closed. Locks are taken once.
    ///
    /// # Errors
    /// When SQLite refuses it.
    pub(crate) fn hold_still(&self) -> Result<(), StoreError> {
        let begun = self.connection.execute_batch("BEGIN DEFERRED");
        begun.map_err(|error| self.error(error))
    }

    /// Whether all can be read that is wanted of a store whose parts are to be taken: what cannot would
    /// make the merged store unreadable. `kinds` are the workload's.
    ///
    /// # Errors
    /// When it cannot.
    pub(crate) fn examine_parts(&self, kinds: &[TransactionKind]) -> Result<(), StoreError> {
        self.parts()?;
        self.slices()?;
        self.warm_up()?;
        self.runs(kinds)?;
        self.audit()?;
        self.horizon()?;
        let strange = self.row(
            "SELECT part FROM part JOIN run USING (session)
             WHERE kind = 'sitting' AND sitting <> number LIMIT 1",
            |row| row.get::<_, String>(0),
        )?;
        match strange {
            Some(part) => Err(self.damaged("part", format!("{part} has runs of another sitting"))),
            None => Ok(()),
        }
    }

    /// Whether it may be merged into: it has no part, or was made by merging.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub(crate) fn is_for_merging(&self) -> Result<bool, StoreError> {
        let is_merged = is_merged(&self.connection).map_err(|error| self.error(error))?;
        Ok(is_merged || self.first_part()?.is_none())
    }

    /// Whether anything was ever carried out in it.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub(crate) fn has_sessions(&self) -> Result<bool, StoreError> {
        let has = self.row("SELECT EXISTS (SELECT 1 FROM session)", |row| row.get(0))?;
        Ok(has == Some(true))
    }

    /// Takes the parts of another store that this one has not, each in a transaction of its own, and
    /// those of which it has less. Answers how many it took.
    ///
    /// What counts is to be [decided](Self::rank_parts) afterwards.
    ///
    /// # Errors
    /// When one of the stores cannot be read or written.
    pub(crate) fn absorb(
        &mut self,
        other: &Self,
        of_tables: &Columns,
    ) -> Result<usize, StoreError> {
        let parts: Vec<(String, i64)> =
            other.collect("SELECT part, session FROM part ORDER BY part", &[], |row| {
                Ok((row.get(0)?, row.get(1)?))
            })?;
        let mut taken = 0;
        for (part, session) in parts {
            let theirs = progress(&other.connection, &part).map_err(|error| other.error(error))?;
            let mut is_new = false;
            self.write(|transaction| {
                if let Some(own) = progress(transaction, &part)? {
                    let is_done = own.0 == Some(PartOutcome::Done);
                    if is_done || theirs.is_none_or(|theirs| theirs <= own) {
                        return Ok(());
                    }
                    remove(transaction, &part)?;
                }
                is_new = true;
                take(transaction, &other.connection, (&part, session), of_tables)
            })?;
            taken += usize::from(is_new);
        }
        Ok(taken)
    }

    /// Decides which parts count: of several attempts at one the complete one that began first,
    /// and without any complete one the one that began first of those whose cells all have
    /// something to say.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub(crate) fn rank_parts(&mut self) -> Result<(), StoreError> {
        let cells = self.plan()?.map_or(0, |plan| plan.cell_count());
        self.write(|transaction| {
            transaction.pragma_update(None, "defer_foreign_keys", true)?;
            rank(transaction, cells)
        })
    }

    /// Has what the store has once follow from the parts that count and that `is_wanted` wants.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub(crate) fn keep_once(
        &mut self,
        is_wanted: impl Fn(&StoredPart) -> bool,
    ) -> Result<(), StoreError> {
        let parts = self.parts()?;
        let wanted: Vec<&StoredPart> = parts
            .iter()
            .filter(|part| part.counts() && is_wanted(part))
            .collect();
        let of_tables = self.columns()?;
        self.write(|transaction| {
            for table in ["fact", "calibration", "snapshot", "figures"] {
                transaction.execute(&format!("DELETE FROM {table}"), [])?;
            }
            let mut firsts = BTreeMap::new();
            for part in &wanted {
                put_once(transaction, part, &of_tables.snapshot, &mut firsts)?;
            }
            // The experiment began with its first part, and slices may have lengths of their own.
            transaction.execute(
                "UPDATE plan SET
                     created = coalesce((SELECT min(created) FROM part WHERE set_aside = 0), created),
                     octavo = coalesce(?1, octavo),
                     slice_transactions = (SELECT CASE WHEN min(slice_transactions) = max(slice_transactions)
                                                THEN min(slice_transactions) END
                                           FROM part WHERE set_aside = 0),
                     horizon = (SELECT CASE WHEN min(horizon) = max(horizon) THEN min(horizon) END
                                FROM part WHERE set_aside = 0)",
                [wanted.first().map(|part| &part.octavo)],
            )?;
            Ok(())
        })
    }

    /// Any part; all of a store are of one kind.
    ///
    /// # Errors
    /// When the store cannot be read, or holds something else.
    pub(crate) fn first_part(&self) -> Result<Option<StoredPart>, StoreError> {
        let sql =
            "SELECT part, session, kind, number, parts, host, host_name, octavo, part.started,
                    outcome, set_aside, elapsed_s
             FROM part JOIN session USING (session) LIMIT 1";
        Ok(self.collect(sql, &[], stored)?.into_iter().next())
    }

    /// Has transactions outlast this process and no longer the machine: many that can be repeated
    /// follow, and [`Self::make_durable`] ends them.
    ///
    /// # Errors
    /// When SQLite refuses it.
    pub(crate) fn relax(&self) -> Result<(), StoreError> {
        self.connection
            .set_prepared_statement_cache_capacity(STATEMENTS);
        self.connection
            .execute_batch(
                // Pages that many transactions change are written back once.
                "PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = 50000;
                 PRAGMA cache_size = -65536;",
            )
            .map_err(|error| self.error(error))
    }

    /// Has all that was written outlast the machine.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub(crate) fn make_durable(&mut self) -> Result<(), StoreError> {
        self.connection
            .execute_batch("PRAGMA synchronous = FULL")
            .map_err(|error| self.error(error))?;
        self.connection
            .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
            .map_err(|error| self.error(error))
    }

    /// A copy in memory with these parts alone, as if there were no others.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub(crate) fn of_parts(&self, wanted: &[&StoredPart]) -> Result<Self, StoreError> {
        let connection =
            migrations::copy_to_memory(&self.connection).map_err(|error| self.error(error))?;
        let mut copy = Self {
            path: self.path.clone(),
            connection,
            is_writable: true,
            has_log: false,
        };
        let others: Vec<StoredPart> = copy
            .parts()?
            .into_iter()
            .filter(|part| wanted.iter().all(|wanted| wanted.id != part.id))
            .collect();
        copy.write(|transaction| {
            for part in &others {
                remove(transaction, &part.id)?;
            }
            Ok(())
        })?;
        copy.rank_parts()?;
        copy.keep_once(|_| true)?;
        Ok(copy)
    }
}

fn stored(row: &Row<'_>) -> rusqlite::Result<StoredPart> {
    let kind: String = row.get("kind")?;
    let outcome: Option<String> = row.get("outcome")?;
    let outcome = outcome.map(|name| {
        let mut known = PartOutcome::ALL.into_iter().filter(|of| of.name() == name);
        known.next().ok_or_else(|| damage("outcome", name))
    });
    let known = PartKind::ALL.into_iter().find(|of| of.name() == kind);
    let count = |name: &str| -> rusqlite::Result<u32> {
        let count: u32 = row.get(name)?;
        match count < PARTS_MAX {
            true => Ok(count),
            false => Err(damage(name, count)),
        }
    };
    let host_name: String = row.get("host_name")?;
    if host_name.len() > HOST_NAME_MAX {
        return Err(damage("length of a host's name", host_name.len()));
    }
    let parts: Option<i64> = row.get("parts")?;
    let parts = parts.map(|_| count("parts")).transpose()?;
    Ok(StoredPart {
        id: row.get("part")?,
        session: row.get("session")?,
        kind: known.ok_or_else(|| damage("kind of part", kind))?,
        number: count("number")?,
        parts,
        host: Host {
            id: row.get("host")?,
            name: host_name,
        },
        octavo: row.get("octavo")?,
        started: row.get("started")?,
        outcome: outcome.transpose()?,
        set_aside: row.get("set_aside")?,
        spent_s: seconds(row, "elapsed_s")?.as_secs_f64(),
    })
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
        Ok((outcome, row.get(2)?, seconds(row, 1)?.as_secs_f64()))
    };
    statement.query_row([part], read).optional()
}

/// Removes all that is of a part.
fn remove(transaction: &Transaction<'_>, part: &str) -> rusqlite::Result<()> {
    transaction.pragma_update(None, "defer_foreign_keys", true)?;
    let session: i64 =
        transaction.query_row("SELECT session FROM part WHERE part = ?1", [part], |row| {
            row.get(0)
        })?;
    for table in OF_RUNS {
        transaction.execute(
            &format!("DELETE FROM {table} WHERE run IN (SELECT run FROM run WHERE session = ?1)"),
            [session],
        )?;
    }
    transaction.execute("DELETE FROM run WHERE session = ?1", [session])?;
    for table in ["part_fact", "part_calibration", "part_snapshot", "part"] {
        transaction.execute(&format!("DELETE FROM {table} WHERE part = ?1"), [part])?;
    }
    transaction.execute("DELETE FROM session WHERE session = ?1", [session])?;
    Ok(())
}

/// Takes a part of another store, which is not here, with its session there.
fn take(
    transaction: &Transaction<'_>,
    other: &Connection,
    (part, session): (&str, i64),
    of_tables: &Columns,
) -> rusqlite::Result<()> {
    let copy = |from: &str, parameter: &dyn ToSql, into: &str, change: &Change<'_>| {
        copy(other, (from, parameter), transaction, into, change)
    };
    let as_it_is: &Change<'_> = &|_| {};
    copy(
        "SELECT started, elapsed_s FROM session WHERE session = ?1",
        &session,
        "INSERT INTO session (started, elapsed_s) VALUES",
        as_it_is,
    )?;
    let own = transaction.last_insert_rowid();
    let number = "SELECT kind, number FROM part WHERE part = ?1";
    let (kind, number): (String, u32) = other
        .prepare_cached(number)?
        .query_row([part], |row| Ok((row.get(0)?, row.get(1)?)))?;
    // Until it is decided which attempt counts, none of what is new does: a merge may end here.
    let aside: i64 = transaction
        .prepare_cached(
            "SELECT coalesce(max(set_aside), 0) + 1 FROM part WHERE kind = ?1 AND number = ?2",
        )?
        .query_row(params![kind, number], |row| row.get(0))?;
    copy(
        "SELECT part, session, kind, number, parts, host, host_name, octavo, started, outcome, set_aside,
                coalesce(created, (SELECT created FROM plan)),
                coalesce(slice_transactions, (SELECT slice_transactions FROM plan)),
                coalesce(horizon, (SELECT horizon FROM plan))
         FROM part WHERE part = ?1",
        &part,
        "INSERT INTO part VALUES",
        &|row| {
            row[1] = own.into();
            row[10] = aside.into();
        },
    )?;
    let offset: i64 = transaction
        .prepare_cached("SELECT coalesce(max(run), 0) FROM run")?
        .query_row([], |row| row.get(0))?;
    let shift = |run: &mut Value| {
        if let Value::Integer(number) = run {
            *number = number.saturating_add(offset);
        }
    };
    let of_run = &of_tables.run;
    copy(
        &format!("SELECT run, session, set_aside, {of_run} FROM run WHERE session = ?1"),
        &session,
        &format!("INSERT INTO run (run, session, set_aside, {of_run}) VALUES"),
        &|row| {
            shift(&mut row[0]);
            row[1] = own.into();
            row[2] = aside.into();
        },
    )?;
    for (table, others) in OF_RUNS.iter().zip(&of_tables.of_runs) {
        copy(
            &format!(
                "SELECT run, {others} FROM {table}
                 WHERE run IN (SELECT run FROM run WHERE session = ?1)"
            ),
            &session,
            &format!("INSERT INTO {table} (run, {others}) VALUES"),
            &|row| shift(&mut row[0]),
        )?;
    }
    // A store that was merged has these by part, and one of a program alone has them once.
    let is_merged = is_merged(other)?;
    for ((table, once), columns) in OF_PARTS.iter().zip(&of_tables.of_parts) {
        let from = match is_merged {
            true => format!("{table} WHERE part = ?1"),
            false => format!("{once} WHERE ?1 IS NOT NULL"),
        };
        copy(
            &format!("SELECT ?1, {columns} FROM {from}"),
            &part,
            &format!("INSERT INTO {table} (part, {columns}) VALUES"),
            as_it_is,
        )?;
    }
    Ok(())
}

/// Whether a store was made by merging: then it has facts by part. Each program keeps some before it begins
/// a part, such as how it was called.
fn is_merged(connection: &Connection) -> rusqlite::Result<bool> {
    connection
        .prepare_cached("SELECT EXISTS (SELECT 1 FROM part_fact)")?
        .query_row([], |row| row.get(0))
}

/// What is another value in a row that is copied.
type Change<'a> = dyn Fn(&mut [Value]) + 'a;

/// Copies the rows that `from` selects into the table of `into`, an insertion without its values.
fn copy(
    other: &Connection,
    (from, parameter): (&str, &dyn ToSql),
    transaction: &Transaction<'_>,
    into: &str,
    change: &Change<'_>,
) -> rusqlite::Result<()> {
    let mut select = other.prepare_cached(from)?;
    let count = select.column_count();
    let places = vec!["?"; count].join(", ");
    let mut insert = transaction.prepare_cached(&format!("{into} ({places})"))?;
    let mut rows = select.query([parameter])?;
    while let Some(row) = rows.next()? {
        let values = (0..count).map(|column| row.get::<_, Value>(column));
        let mut values: Vec<Value> = values.collect::<rusqlite::Result<_>>()?;
        change(&mut values);
        insert.execute(params_from_iter(values))?;
    }
    Ok(())
}

/// The columns of tables that are copied, as this schema has them, in lists.
#[derive(Debug)]
pub(crate) struct Columns {
    run: String,
    of_runs: Vec<String>,
    of_parts: Vec<String>,
    snapshot: String,
}

impl Columns {
    fn of(connection: &Connection) -> rusqlite::Result<Self> {
        let all = |tables: &[&str], without: &[&str]| -> rusqlite::Result<Vec<String>> {
            let lists = tables
                .iter()
                .map(|table| columns(connection, table, without));
            lists.collect()
        };
        let of_parts: Vec<&str> = OF_PARTS.iter().map(|(table, _)| *table).collect();
        Ok(Self {
            run: columns(connection, "run", &["run", "session", "set_aside"])?,
            of_runs: all(&OF_RUNS, &["run"])?,
            of_parts: all(&of_parts, &["part"])?,
            snapshot: columns(connection, "snapshot", &[])?,
        })
    }
}

/// The columns of a table of this schema, but for these.
fn columns(connection: &Connection, table: &str, without: &[&str]) -> rusqlite::Result<String> {
    let mut statement = connection.prepare_cached("SELECT name FROM pragma_table_info(?1)")?;
    let names = statement.query_map([table], |row| row.get::<_, String>(0))?;
    let names: Vec<String> = names.collect::<rusqlite::Result<_>>()?;
    let kept = names.into_iter().filter(|name| !without.contains(&&**name));
    Ok(kept.collect::<Vec<_>>().join(", "))
}

/// Numbers the attempts at each part: 0 counts.
fn rank(transaction: &Transaction<'_>, cells: usize) -> rusqlite::Result<()> {
    let mut statement = transaction.prepare(
        "SELECT part, session, kind, number, parts, host, host_name, octavo, part.started,
                outcome, set_aside, elapsed_s
         FROM part JOIN session USING (session)",
    )?;
    let parts = statement.query_map([], stored)?;
    let mut attempts: BTreeMap<(PartKind, u32), Vec<StoredPart>> = BTreeMap::new();
    for part in parts {
        let part = part?;
        attempts
            .entry((part.kind, part.number))
            .or_default()
            .push(part);
    }
    let mut changed = Vec::new();
    for mut attempts in attempts.into_values() {
        let mut says = Vec::new();
        for part in &attempts {
            says.push((part.id.clone(), says_something(transaction, part, cells)?));
        }
        let says = |part: &StoredPart| says.iter().any(|(id, says)| *id == part.id && *says);
        attempts.sort_by(|one, other| {
            let order = |part: &StoredPart| {
                (
                    !says(part),
                    part.outcome != Some(PartOutcome::Done),
                    part.started.clone(),
                    part.id.clone(),
                )
            };
            order(one).cmp(&order(other))
        });
        let first = u32::from(attempts.first().is_some_and(|first| !says(first)));
        for (rank, part) in (first..).zip(&attempts) {
            if part.set_aside != rank {
                changed.push((part.session, rank));
            }
        }
    }
    // Two steps, as (sitting, cell, set_aside) is unique at each moment.
    for step in ["-1 - ?2", "?2"] {
        for table in ["run", "part"] {
            let mut update = transaction.prepare_cached(&format!(
                "UPDATE {table} SET set_aside = {step} WHERE session = ?1"
            ))?;
            for (session, rank) in &changed {
                update.execute(params![session, rank])?;
            }
        }
    }
    Ok(())
}

/// Whether a part has anything to say: it is done, or each cell was measured for a while before it
/// was cut off.
fn says_something(
    transaction: &Transaction<'_>,
    part: &StoredPart,
    cells: usize,
) -> rusqlite::Result<bool> {
    if part.outcome == Some(PartOutcome::Done) {
        return Ok(true);
    }
    let mut statement = transaction.prepare_cached(
        "SELECT count(*), coalesce(min(passes), 0) FROM
             (SELECT count(slice.pass) AS passes
              FROM run LEFT JOIN slice USING (run) WHERE session = ?1 GROUP BY run)",
    )?;
    let (seen, passes) = statement.query_row([part.session], |row| {
        Ok((from_integer(row, 0)?, from_integer(row, 1)?))
    })?;
    Ok(seen >= cells as u64 && passes >= CUT_OFF_PASSES as u64)
}

/// Adds what a part kept to what the store has once: as sessions do, the first value of a fact
/// stays. What is another one later on the same host has changed; other hosts have others.
fn put_once(
    transaction: &Transaction<'_>,
    part: &StoredPart,
    snapshot: &str,
    firsts: &mut BTreeMap<(String, String, String), String>,
) -> rusqlite::Result<()> {
    let mut facts = transaction.prepare_cached(
        "SELECT topic, name, value FROM part_fact WHERE part = ?1 ORDER BY topic, name",
    )?;
    let mut keep = transaction.prepare_cached("INSERT OR IGNORE INTO fact VALUES (?1, ?2, ?3)")?;
    let mut change =
        transaction.prepare_cached("INSERT OR REPLACE INTO fact VALUES (?1, ?2, ?3)")?;
    let rows = facts.query_map([&part.id], |row| {
        Ok((row.get(0)?, row.get(1)?, row.get(2)?))
    })?;
    for row in rows {
        let (topic, name, value): (String, String, String) = row?;
        // Each program was called in its own way, and hosts start anew.
        if topic == "octavo" || topic == HOST {
            continue;
        }
        if topic == CHANGED {
            change.execute(params![topic, name, value])?;
            continue;
        }
        let key = (part.host.id.clone(), topic, name);
        match firsts.get(&key) {
            Some(first) if *first == value => {}
            Some(first) => {
                let what = format!("{first} is now {value}");
                change.execute(params![CHANGED, format!("{} {}", key.1, key.2), what])?;
            }
            None => {
                keep.execute(params![key.1, key.2, value])?;
                firsts.insert(key, value);
            }
        }
    }
    transaction.execute(
        "INSERT OR IGNORE INTO calibration SELECT 1, profile FROM part_calibration WHERE part = ?1",
        [&part.id],
    )?;
    transaction.execute(
        &format!(
            "INSERT OR IGNORE INTO snapshot SELECT {snapshot} FROM part_snapshot WHERE part = ?1"
        ),
        [&part.id],
    )?;
    Ok(())
}
