//! The result store: `octavo.db`, an SQLite database that holds a plan and
//! everything that was measured for it. docs/store.md documents the schema.
//!
//! What is new is committed in one transaction, durably, so that an end at any
//! moment loses nothing that was kept and leaves nothing half. While it is
//! written it has a write-ahead log, so that who reads it meanwhile holds
//! nothing up; in between it is a single file.

mod error;
mod migrations;
mod part_rows;
mod parts;
mod prices;
mod runs;
mod steps;
mod stored_part;
#[cfg(test)]
mod tests;
mod warm_up;

use std::{
    fs, io, iter,
    path::{Path, PathBuf},
    time::Duration,
};

use jiff::Timestamp;
use octavo_storage::{directory::DirectoryError, text};
use octavo_units::ByteCount;
use octavo_workload::user::{CopyOf, OwnScript};
use rusqlite::{
    Connection, ErrorCode, OpenFlags, OptionalExtension, Params, Row, RowIndex, ToSql,
    config::DbConfig, params, params_from_iter, types::Type,
};
use schemars::JsonSchema;
use serde::{Serialize, de::DeserializeOwned};

use crate::{
    lockstep::Horizon,
    plan::{Plan, SliceLength, SnapshotKey},
};

pub use error::{StoreAccess, StoreError};
pub use migrations::VERSION;
use migrations::{OLDEST, STEPS, Step};
pub(crate) use part_rows::{PartPlan, PartRows, PutRows, RowsRead, Tables};
pub(crate) use parts::CUT_OFF_PASSES;

/// "OCTV": marks an SQLite file as a result store
/// (<https://www.sqlite.org/pragma.html#pragma_application_id>).
const APPLICATION_ID: i64 = 0x4f43_5456;

/// How long another program that writes is waited for: with a log there are
/// none but people's.
const PATIENCE: Duration = Duration::from_mins(1);

/// The shortest SQLite file, a page of 512 bytes.
const DATABASE_MIN: u64 = 512;

/// The topic of facts that were not the same in all sessions.
pub const CHANGED: &str = "changed";

/// The fact of a storage that says how figures came about, and what it says of predictions.
pub(crate) const SOURCE: &str = "source";
pub(crate) const PREDICTED: &str = "predicted by models, not measured";
/// The fact of a storage that says which part of rows, buffer and log was predicted in place of
/// all, such as "1/8".
pub(crate) const PART: &str = "predicted part";
/// The one that says what could not be recorded of the user's statements, and why.
pub(crate) const NOT_RECORDED: &str = "not recorded";
/// The one that says with which page sizes others used the processors when they were timed.
pub(crate) const TIMED_BESIDE: &str = "timed beside other programs";

const SCHEMA: &str = include_str!("schema.sql");

/// By which name, of storage, a prediction keeps how large its data is about.
pub const DATA_SIZE: &str = "size of the data";

/// How a snapshot was made that was derived from no other.
pub(crate) const LOADED: &str = "load";

/// A snapshot as it is kept.
#[derive(Clone, Debug, PartialEq, serde::Serialize, JsonSchema)]
pub struct StoredSnapshot {
    /// What it is for.
    #[serde(flatten)]
    pub key: SnapshotKey,
    /// "load" or "derive".
    pub made_by: String,
    /// Rows in all tables.
    pub rows: u64,
    /// Its size.
    pub size: ByteCount,
    /// Seconds until durable.
    pub elapsed_s: f64,
    /// Bytes that the server wrote to its log for it, where it counts them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log: Option<ByteCount>,
    /// What it was derived from, of the snapshot that it was made for first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin: Option<SnapshotOrigin>,
}

/// Rows that snapshots are derived from, such as a dump.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct SnapshotOrigin {
    /// Their size.
    pub size: ByteCount,
    /// Seconds that reading and writing them took.
    pub elapsed_s: f64,
}

/// An open result store.
#[derive(Debug)]
pub struct Store {
    path: PathBuf,
    connection: Connection,
    is_writable: bool,
    /// Whether it is written with a log beside it.
    has_log: bool,
}

impl Store {
    /// Opens the store at `path` for reading and writing, creating it when
    /// there is none. One of an earlier version is migrated in place.
    ///
    /// # Errors
    /// When the file is no store, one of a version that is not read, damaged,
    /// or cannot be written.
    pub fn open_or_create(path: &Path) -> Result<Self, StoreError> {
        Self::open_or_create_with(path, STEPS)
    }

    /// Removes a store that nobody has open, if it is there, with what SQLite keeps beside it.
    ///
    /// # Errors
    /// When a file cannot be removed.
    pub(crate) fn remove(path: &Path) -> Result<(), DirectoryError> {
        for end in ["", "-wal", "-shm"] {
            let name = beside(path, end);
            match fs::remove_file(&name) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(DirectoryError::io("remove", &name)(error));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// A store that is gone with its last user: for results that go into another one.
    ///
    /// # Errors
    /// When SQLite has no memory for it.
    pub(crate) fn in_memory() -> Result<Self, StoreError> {
        Self::open_or_create(Path::new(":memory:"))
    }

    fn open_or_create_with(path: &Path, steps: &[Step]) -> Result<Self, StoreError> {
        let new = !path.exists();
        let mut store = Self::connect(
            path,
            OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE,
        )?;
        store.is_writable = true;
        if new || store.is_blank()? {
            // One transaction: a store is there wholly or not at all.
            store
                .connection
                .execute_batch(&format!(
                    "PRAGMA synchronous = FULL;
                     BEGIN IMMEDIATE; {SCHEMA}
                     PRAGMA application_id = {APPLICATION_ID};
                     PRAGMA user_version = {VERSION}; COMMIT;"
                ))
                .map_err(|error| store.error(error))?;
        } else if store.verify(steps)? {
            migrations::migrate(&mut store.connection, steps)
                .map_err(|error| store.error(error))?;
        }
        store
            .connection
            .execute_batch("PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON;")
            .map_err(|error| store.error(error))?;
        Ok(store)
    }

    /// Opens an existing store for reading. One of an earlier version is
    /// migrated in memory, so that the file stays as it is.
    ///
    /// # Errors
    /// When there is no such file, or it is no store, one of a version that is
    /// not read, damaged, or cannot be read.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        Self::open_with(path, STEPS)
    }

    /// The same of a store that others may be at work in, such as another host with locks that are not seen
    /// here: a log stays as it is.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub(crate) fn open_as_guest(path: &Path) -> Result<Self, StoreError> {
        Self::open_by(path, STEPS, Self::connect_as_guest)
    }

    fn open_with(path: &Path, steps: &[Step]) -> Result<Self, StoreError> {
        Self::open_by(path, steps, Self::connect)
    }

    fn open_by(
        path: &Path,
        steps: &[Step],
        connect: fn(&Path, OpenFlags) -> Result<Self, StoreError>,
    ) -> Result<Self, StoreError> {
        if !path.exists() {
            return Err(StoreError::Missing {
                path: path.to_owned(),
            });
        }
        // A rollback journal left by a kill must be played back, which needs
        // writing; only where that is not allowed is it opened read-only.
        let mut store = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE)
            .or_else(|_| connect(path, OpenFlags::SQLITE_OPEN_READ_ONLY))?;
        let verified = match store.verify(steps) {
            // Without it what is half written would be read.
            Err(StoreError::Sqlite { .. }) if beside(path, JOURNAL).exists() => {
                Err(StoreError::Journal {
                    path: path.to_owned(),
                    journal: beside(path, JOURNAL),
                })
            }
            // One in the mode of a log needs files beside it even for reading; without a log nobody is
            // writing it.
            Err(StoreError::Sqlite { .. }) if !beside(path, "-wal").exists() => {
                store = Self::connect_as(path, &as_it_is(path), OpenFlags::SQLITE_OPEN_READ_ONLY)?;
                store.verify(steps)
            }
            verified => verified,
        };
        if verified? {
            store.connection = migrations::copy_to_memory(&store.connection)
                .map_err(|error| store.error(error))?;
            migrations::migrate(&mut store.connection, steps)
                .map_err(|error| store.error(error))?;
        }
        Ok(store)
    }

    fn connect(path: &Path, flags: OpenFlags) -> Result<Self, StoreError> {
        Self::connect_as(path, &no_uri(path), flags)
    }

    /// Opens a store whose log is left as it is when that is closed, whatever comes of opening.
    fn connect_as_guest(path: &Path, flags: OpenFlags) -> Result<Self, StoreError> {
        let store = Self::connect(path, flags)?;
        let set = store
            .connection
            .set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true);
        set.map_err(|error| store.error(error))?;
        Ok(store)
    }

    /// Opens the store at `path` by a name that SQLite may take for a URI.
    fn connect_as(path: &Path, name: &Path, flags: OpenFlags) -> Result<Self, StoreError> {
        // A pipe would be waited for.
        let about = std::fs::metadata(path);
        if about.as_ref().is_ok_and(|about| !about.is_file()) {
            return Err(StoreError::NotAFile {
                path: path.to_owned(),
            });
        }
        // Files of the kernel say that they are empty, and some wait for what is to come. A
        // larger one is not opened here: closing it would end SQLite's locks (fcntl(2)).
        if about.is_ok_and(|about| about.len() < DATABASE_MIN) {
            let is_empty = text::begin(path, ByteCount::new(1)).map(|bytes| bytes.is_empty());
            if !matches!(is_empty, Ok(true)) {
                return Err(StoreError::Foreign {
                    path: path.to_owned(),
                    wanted: match flags.contains(OpenFlags::SQLITE_OPEN_CREATE) {
                        true => StoreAccess::Write,
                        false => StoreAccess::Read,
                    },
                });
            }
        }
        // With URIs, which a copy in memory is named by.
        let flags = flags | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_URI;
        let open = || {
            let connection = Connection::open_with_flags(name, flags)?;
            migrations::keep_temporary_in_memory(&connection)?;
            Ok(connection)
        };
        open()
            .map(|connection| Self {
                path: path.to_owned(),
                connection,
                is_writable: false,
                has_log: false,
            })
            .map_err(|refused| StoreError::Sqlite {
                path: path.to_owned(),
                refused,
            })
    }

    /// Whether a file is one whose making was cut short, so that nothing was kept in it.
    pub(crate) fn is_nothing_yet(path: &Path) -> bool {
        let opened = Self::connect_as_guest(path, OpenFlags::SQLITE_OPEN_READ_WRITE);
        opened.is_ok_and(|store| store.is_blank().unwrap_or(false))
    }

    /// Whether the file has nothing in it, as when creating it was cut short.
    fn is_blank(&self) -> Result<bool, StoreError> {
        let length = std::fs::metadata(&self.path).map_or(0, |data| data.len());
        if length == 0 {
            return Ok(true);
        }
        let (application, objects): (i64, i64) = self
            .connection
            .query_row(
                "SELECT (SELECT application_id FROM pragma_application_id),
                        (SELECT count(*) FROM sqlite_schema)",
                [],
                |row| Ok((row.get(0)?, row.get(1)?)),
            )
            .map_err(|error| self.error(error))?;
        Ok(application == 0 && objects == 0)
    }

    /// Refuses what is not a sound store of a version that is read; whether it
    /// needs some of the `steps`.
    fn verify(&self, steps: &[Step]) -> Result<bool, StoreError> {
        let pragma = |name: &str| {
            self.connection
                .pragma_query_value(None, name, |row| row.get::<_, i64>(0))
                .map_err(|error| self.error(error))
        };
        if pragma("application_id")? != APPLICATION_ID {
            return Err(StoreError::Foreign {
                path: self.path.clone(),
                wanted: self.wanted(),
            });
        }
        let found = pragma("user_version")?;
        let current = OLDEST + steps.len() as i64;
        if !(OLDEST..=current).contains(&found) {
            return Err(StoreError::Version {
                path: self.path.clone(),
                found,
            });
        }
        let check: String = self
            .connection
            .query_row("PRAGMA quick_check(1)", [], |row| row.get(0))
            .map_err(|error| self.error(error))?;
        if check != "ok" {
            return Err(StoreError::Damaged {
                path: self.path.clone(),
                what: check.lines().last().unwrap_or_default().to_owned(),
                wanted: self.wanted(),
            });
        }
        Ok(found < current)
    }

    fn error(&self, error: rusqlite::Error) -> StoreError {
        let (path, wanted) = (self.path.clone(), self.wanted());
        let damaged = |what: &str| StoreError::Damaged {
            path: self.path.clone(),
            what: on_one_line(what),
            wanted,
        };
        // What Octavo never writes.
        match &error {
            rusqlite::Error::FromSqlConversionFailure(_, _, what) => {
                return damaged(&what.to_string());
            }
            rusqlite::Error::Utf8Error(..) => return damaged("a text is not UTF-8"),
            rusqlite::Error::InvalidColumnType(_, name, found) => {
                return damaged(&format!("{name} is of type {found}"));
            }
            rusqlite::Error::IntegralValueOutOfRange(_, value) => {
                return damaged(&format!("{value} is out of range"));
            }
            _ => {}
        }
        match error.sqlite_error_code() {
            Some(ErrorCode::NotADatabase) => StoreError::Foreign { path, wanted },
            Some(ErrorCode::DatabaseCorrupt) => self.damaged("SQLite", error),
            Some(ErrorCode::DiskFull) => StoreError::Full { path },
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => StoreError::Busy { path },
            _ => StoreError::Sqlite {
                path,
                refused: error,
            },
        }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Keeps the plan of a new store, or checks that the store was made for
    /// this one, by this version of Octavo, and with slices of this length when
    /// one is wanted. One without any result, whose script or database changed since, is as a new
    /// one.
    ///
    /// # Errors
    /// [`StoreError::OtherPlan`] with the first setting that differs, or when the
    /// store cannot be written.
    pub fn adopt(
        &mut self,
        plan: &Plan,
        slices: SliceLength,
        octavo_version: &str,
    ) -> Result<(), StoreError> {
        if let Some(stored) = self.plan()? {
            if let Some(what) = changed_since(&stored, plan) {
                if self.is_writable && self.has_no_result()? {
                    self.forget(stored.storages == plan.storages)?;
                    return self.adopt(plan, slices, octavo_version);
                }
                return Err(StoreError::OwnChanged {
                    path: self.path.clone(),
                    what,
                });
            }
            let mut difference = first_difference(&stored, plan);
            let (version, _) = self.origin()?;
            if version != octavo_version {
                difference = Some(("octavo version", version, octavo_version.to_owned()));
            }
            if let (Some(stored), Some(wanted)) = (self.slice_transactions()?, slices.transactions)
                && stored != wanted
            {
                let transactions = |count: u64| format!("{count} transactions");
                let (stored, wanted) = (transactions(stored), transactions(wanted));
                difference = Some(("slices of", stored, wanted));
            }
            return match difference {
                None => {
                    // What was found may change with what is measured now.
                    if self.is_writable {
                        self.run("DELETE FROM figures", [])?;
                    }
                    self.begin_log()
                }
                Some((setting, stored, wanted)) => Err(StoreError::OtherPlan {
                    path: self.path.clone(),
                    setting,
                    stored,
                    wanted,
                }),
            };
        }
        self.keep_plan(plan, octavo_version)?;
        self.begin_log()
    }

    /// Keeps the plan of a store that has none.
    fn keep_plan(&mut self, plan: &Plan, octavo_version: &str) -> Result<(), StoreError> {
        let text = to_json(plan);
        self.write(|transaction| {
            transaction.execute(
                "INSERT INTO plan (id, octavo, created, plan) VALUES (1, ?1, ?2, ?3)",
                params![octavo_version, Timestamp::now().to_string(), text],
            )?;
            for (number, cell) in plan.cells().into_iter().enumerate() {
                transaction.execute(
                    "INSERT INTO cell VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
                    params![
                        number as i64,
                        plan.cell_name(&cell),
                        cell.database.to_string(),
                        cell.data.to_string(),
                        cell.storage.to_string(),
                        cell.page_size.get(),
                        to_integer(cell.memory.get()),
                        cell.cpus,
                        cell.clients,
                        cell.copy
                    ],
                )?;
            }
            Ok(())
        })
    }

    /// Whether nothing was measured or predicted yet, as with a script that fails.
    pub(crate) fn has_no_result(&self) -> Result<bool, StoreError> {
        let has = "SELECT EXISTS (SELECT 1 FROM slice) OR EXISTS (SELECT 1 FROM step)";
        Ok(self.row(has, |row| row.get(0))? == Some(false))
    }

    /// Forgets the plan and all that was kept for it, at most but for how fast the storage is.
    fn forget(&mut self, keeps_calibration: bool) -> Result<(), StoreError> {
        let kept = if keeps_calibration { "calibration" } else { "" };
        self.write(|transaction| {
            // Whichever refers to which, in the end all are empty.
            transaction.pragma_update(None, "defer_foreign_keys", true)?;
            let mut query = transaction
                .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name <> ?1")?;
            let tables = query.query_map([kept], |row| row.get::<_, String>(0))?;
            for table in tables.collect::<Result<Vec<_>, _>>()? {
                transaction.execute(&format!("DELETE FROM {table}"), [])?;
            }
            transaction.pragma_update(None, "defer_foreign_keys", false)
        })
    }

    /// From here on who reads it holds nothing up. Not before it is known that
    /// the store is the right one: the mode is kept in the file.
    fn begin_log(&mut self) -> Result<(), StoreError> {
        if !self.is_writable {
            return Ok(());
        }
        // SQLite answers with another mode where there can be no log.
        let mode: String = self
            .connection
            .pragma_update_and_check(None, "journal_mode", "wal", |row| row.get(0))
            .map_err(|error| self.error(error))?;
        self.has_log = mode == "wal";
        self.connection
            .busy_timeout(PATIENCE)
            .map_err(|error| self.error(error))
    }

    /// The plan, when one was kept.
    ///
    /// # Errors
    /// When the store cannot be read, or holds what Octavo does not write.
    pub fn plan(&self) -> Result<Option<Plan>, StoreError> {
        let plan: Option<Plan> = self.row("SELECT plan FROM plan", |row| json(row, "plan"))?;
        match plan.as_ref().and_then(Plan::fault) {
            Some(fault) => Err(self.damaged("plan", fault)),
            None => Ok(plan),
        }
    }

    /// The version of Octavo that made the store and when, as RFC 3339.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn origin(&self) -> Result<(String, String), StoreError> {
        self.row("SELECT octavo, created FROM plan", |row| {
            Ok((row.get(0)?, row.get(1)?))
        })?
        .ok_or_else(|| self.error(rusqlite::Error::QueryReturnedNoRows))
    }

    /// How many transactions a slice has, once that was decided.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn slice_transactions(&self) -> Result<Option<u64>, StoreError> {
        let transactions: Option<Option<i64>> =
            self.row("SELECT slice_transactions FROM plan", |row| row.get(0))?;
        Ok(transactions
            .flatten()
            .map(|transactions| transactions.max(1).unsigned_abs()))
    }

    /// Decides how many transactions a slice has, for all that follow.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub fn set_slice_transactions(&self, transactions: u64) -> Result<(), StoreError> {
        self.set("slice_transactions", &to_integer(transactions))
    }

    /// How far the experiment is meant to go, once that was decided.
    ///
    /// # Errors
    /// When the store cannot be read, or holds what Octavo does not write.
    pub fn horizon(&self) -> Result<Option<Horizon>, StoreError> {
        let horizon: Option<Option<Horizon>> =
            self.row("SELECT horizon FROM plan", |row| json(row, "horizon"))?;
        Ok(horizon.flatten())
    }

    /// Decides how far the experiment is meant to go.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub fn set_horizon(&self, horizon: Horizon) -> Result<(), StoreError> {
        self.set("horizon", &to_json(&horizon))
    }

    fn set(&self, column: &str, value: &dyn ToSql) -> Result<(), StoreError> {
        self.run(&format!("UPDATE plan SET {column} = ?1"), [value])
    }

    /// The command that was last carried out for it, without its budget.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn command(&self) -> Result<Option<String>, StoreError> {
        let facts = self.facts("octavo")?;
        Ok(facts
            .into_iter()
            .find(|(name, _)| name == "command")
            .map(|(_, value)| value))
    }

    /// Keeps the command, without its budget, in place of an earlier one.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub fn set_command(&self, command: &str) -> Result<(), StoreError> {
        self.run(
            "INSERT OR REPLACE INTO fact VALUES ('octavo', 'command', ?1)",
            [command],
        )
    }

    /// What a finished prediction was made from, as [`Self::set_inputs`] has it.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn inputs(&self) -> Result<Option<String>, StoreError> {
        let mut facts = self.facts("octavo")?.into_iter();
        let inputs = facts.find(|(name, _)| name == "inputs");
        Ok(inputs.map(|(_, value)| value))
    }

    /// Keeps that a prediction is finished, and what it was made from: the same from the same
    /// program is the same prediction.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub fn set_inputs(&self, inputs: &str) -> Result<(), StoreError> {
        self.run(
            "INSERT OR REPLACE INTO fact VALUES ('octavo', 'inputs', ?1)",
            [inputs],
        )
    }

    /// Keeps what was found, in place of what was found before: rows with these columns.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub(crate) fn set_figures<T: ToSql>(
        &mut self,
        columns: &[&str],
        rows: &[impl AsRef<[T]>],
    ) -> Result<(), StoreError> {
        let places = vec!["?"; columns.len()].join(", ");
        let insert = format!(
            "INSERT INTO figures ({}) VALUES ({places})",
            columns.join(", ")
        );
        self.write(|transaction| {
            transaction.execute("DELETE FROM figures", [])?;
            for row in rows {
                transaction.execute(&insert, params_from_iter(row.as_ref()))?;
            }
            Ok(())
        })
    }

    /// Keeps facts under a topic. The first value of a name stays; what it has
    /// become since is kept under the topic [`CHANGED`].
    ///
    /// # Errors
    /// When the store cannot be written.
    pub fn put_facts(
        &mut self,
        topic: &str,
        facts: &[(impl AsRef<str>, String)],
    ) -> Result<(), StoreError> {
        self.write(|transaction| {
            for (name, value) in facts {
                transaction.execute(
                    "INSERT OR IGNORE INTO fact VALUES (?1, ?2, ?3)",
                    params![topic, name.as_ref(), value],
                )?;
                transaction.execute(
                    "INSERT OR REPLACE INTO fact
                     SELECT ?4, topic || ' ' || name, value || ' is now ' || ?3
                     FROM fact WHERE topic = ?1 AND name = ?2 AND value <> ?3",
                    params![topic, name.as_ref(), value, CHANGED],
                )?;
            }
            Ok(())
        })
    }

    /// Keeps facts under a topic instead of those that are there.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub(crate) fn replace_facts(
        &mut self,
        topic: &str,
        facts: &[(String, String)],
    ) -> Result<(), StoreError> {
        self.write(|transaction| {
            transaction.execute("DELETE FROM fact WHERE topic = ?1", [topic])?;
            for (name, value) in facts {
                transaction.execute(
                    "INSERT INTO fact VALUES (?1, ?2, ?3)",
                    params![topic, name, value],
                )?;
            }
            Ok(())
        })
    }

    /// The facts under a topic, by name.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn facts(&self, topic: &str) -> Result<Vec<(String, String)>, StoreError> {
        self.collect(
            "SELECT name, value FROM fact WHERE topic = ?1 ORDER BY name",
            &[&topic],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )
    }

    /// The facts under a topic and under those that begin with it and a blank,
    /// whose names then begin with the rest of the topic.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn facts_below(&self, topic: &str) -> Result<Vec<(String, String)>, StoreError> {
        self.collect(
            "SELECT ltrim(substr(topic, length(?1) + 1) || ': ' || name, ': '), value
             FROM fact WHERE topic = ?1 OR substr(topic, 1, length(?1) + 1) = ?1 || ' '
             ORDER BY topic, name",
            &[&topic],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )
    }

    /// Keeps the device profile, as TOML.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub fn put_calibration(&self, profile: &str) -> Result<(), StoreError> {
        self.run(
            "INSERT OR REPLACE INTO calibration VALUES (1, ?1)",
            [profile],
        )
    }

    /// The device profile, as TOML.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn calibration(&self) -> Result<Option<String>, StoreError> {
        self.row("SELECT profile FROM calibration", |row| row.get(0))
    }

    /// Keeps what making a snapshot took.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub fn put_snapshot(&self, snapshot: &StoredSnapshot) -> Result<(), StoreError> {
        self.run(
            "INSERT OR REPLACE INTO snapshot VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
            params![
                snapshot.key.database.to_string(),
                snapshot.key.data.to_string(),
                snapshot.key.storage.to_string(),
                snapshot.key.page_size.get(),
                snapshot.made_by,
                to_integer(snapshot.rows),
                to_integer(snapshot.size.get()),
                snapshot.elapsed_s,
                snapshot.log.map(|log| to_integer(log.get())),
                snapshot.origin.map(|origin| to_integer(origin.size.get())),
                snapshot.origin.map(|origin| origin.elapsed_s),
            ],
        )
    }

    /// The snapshots that were made, in the plan's order.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn snapshots(&self) -> Result<Vec<StoredSnapshot>, StoreError> {
        let Some(plan) = self.plan()? else {
            return Ok(Vec::new());
        };
        let mut made = Vec::new();
        for key in plan.snapshots() {
            // Earlier versions of Octavo made one for each way in which a database is run.
            let databases = plan.databases.iter();
            let others = databases.filter(|of| of.of_rows() == key.database);
            let names = iter::once(&key.database).chain(others);
            for name in names.map(ToString::to_string) {
                let found = self.collect(
                "SELECT made_by, row_count, size_bytes, elapsed_s, log_bytes, origin_bytes, origin_s
                 FROM snapshot
                 WHERE database = ?1 AND data = ?2 AND storage = ?3 AND page_size_bytes = ?4",
                &[
                    &name,
                    &key.data.to_string(),
                    &key.storage.to_string(),
                    &key.page_size.get(),
                ],
                |row| snapshot(row, &key),
            )?;
                if !found.is_empty() {
                    made.extend(found);
                    break;
                }
            }
        }
        Ok(made)
    }

    /// Begins a session, whose time counts against the budget; returns its
    /// number.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub fn begin_session(&self) -> Result<i64, StoreError> {
        self.run(
            "INSERT INTO session (started, elapsed_s) VALUES (?1, 0)",
            [Timestamp::now().to_string()],
        )?;
        Ok(self.connection.last_insert_rowid())
    }

    /// Notes how long a session has lasted.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub fn extend_session(&self, session: i64, elapsed: Duration) -> Result<(), StoreError> {
        self.run(
            "UPDATE session SET elapsed_s = ?2 WHERE session = ?1",
            params![session, elapsed.as_secs_f64()],
        )
    }

    /// The time of all sessions.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn time_spent(&self) -> Result<Duration, StoreError> {
        let total = self.row("SELECT total(elapsed_s) FROM session", |row| {
            seconds(row, 0)
        })?;
        Ok(total.unwrap_or_default())
    }

    /// The same without that of parts that do not count.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub(crate) fn time_counted(&self) -> Result<Duration, StoreError> {
        let counting = "SELECT total(elapsed_s) FROM session WHERE NOT EXISTS (
                            SELECT 1 FROM part WHERE part.session = session.session AND set_aside > 0)";
        let total = self.row(counting, |row| seconds(row, 0))?;
        Ok(total.unwrap_or_default())
    }

    fn run(&self, sql: &str, parameters: impl Params) -> Result<(), StoreError> {
        self.connection
            .execute(sql, parameters)
            .map(|_| ())
            .map_err(|error| self.error(error))
    }

    /// Does all of it in one transaction, or nothing. Within [one that has begun](Self::wholly), who began
    /// that undoes it: in a savepoint SQLite keeps each changed page, and walks along all of them after each
    /// statement that changes several rows, which for many statements takes the square of their number
    /// (`memjrnlTruncate` in SQLite 3.54.1).
    fn write(
        &mut self,
        work: impl FnOnce(&Connection) -> rusqlite::Result<()>,
    ) -> Result<(), StoreError> {
        let work = |store: &mut Self| work(&store.connection).map_err(|error| store.error(error));
        match self.connection.is_autocommit() {
            true => self.wholly(work),
            false => work(self),
        }
    }

    /// Does all of it in one transaction, or nothing. Within one that has begun, what is undone is this
    /// part of it.
    ///
    /// # Errors
    /// Those of the work, or when the store cannot be written.
    pub(crate) fn wholly<T, E: From<StoreError>>(
        &mut self,
        work: impl FnOnce(&mut Self) -> Result<T, E>,
    ) -> Result<T, E> {
        let [begin, keep, undo] = match self.connection.is_autocommit() {
            true => ["BEGIN", "COMMIT", "ROLLBACK"],
            false => [
                "SAVEPOINT within",
                "RELEASE within",
                "ROLLBACK TO within; RELEASE within",
            ],
        };
        self.execute_all(begin)?;
        let done = work(self).and_then(|done| {
            self.execute_all(keep)?;
            Ok(done)
        });
        // SQLite ends all of it itself on some errors, such as a full disk.
        if done.is_err() && !self.connection.is_autocommit() {
            let _the_first_error_counts = self.execute_all(undo);
        }
        done
    }

    fn execute_all(&self, sql: &str) -> Result<(), StoreError> {
        let done = self.connection.execute_batch(sql);
        done.map_err(|error| self.error(error))
    }

    /// The first row, if there is one.
    fn row<T>(
        &self,
        sql: &str,
        read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Option<T>, StoreError> {
        let row = self
            .connection
            .prepare_cached(sql)
            .and_then(|mut statement| statement.query_row([], read).optional());
        row.map_err(|error| self.error(error))
    }

    #[cfg(test)]
    pub(crate) fn connection(&self) -> &Connection {
        &self.connection
    }

    pub(crate) fn collect<T>(
        &self,
        sql: &str,
        parameters: &[&dyn ToSql],
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, StoreError> {
        let mut statement = self
            .connection
            .prepare_cached(sql)
            .map_err(|error| self.error(error))?;
        let rows = statement
            .query_map(parameters, read)
            .map_err(|error| self.error(error))?;
        rows.collect::<Result<_, _>>()
            .map_err(|error| self.error(error))
    }

    /// The store is damaged: `found` is wrong with `what`, on one line.
    pub(crate) fn damaged(&self, what: &str, found: impl std::fmt::Display) -> StoreError {
        StoreError::Damaged {
            path: self.path.clone(),
            what: on_one_line(&format!("{what}: {found}")),
            wanted: self.wanted(),
        }
    }

    fn wanted(&self) -> StoreAccess {
        match self.is_writable {
            true => StoreAccess::Write,
            false => StoreAccess::Read,
        }
    }
}

/// Reads a row of the table `snapshot`, that of `key`.
fn snapshot(row: &Row<'_>, key: &SnapshotKey) -> rusqlite::Result<StoredSnapshot> {
    Ok(StoredSnapshot {
        key: key.clone(),
        made_by: row.get("made_by")?,
        rows: from_integer(row, "row_count")?,
        size: ByteCount::new(from_integer(row, "size_bytes")?),
        elapsed_s: row.get("elapsed_s")?,
        log: optional(row, "log_bytes")?.map(ByteCount::new),
        origin: match (optional(row, "origin_bytes")?, row.get("origin_s")?) {
            (Some(size), Some(elapsed_s)) => Some(SnapshotOrigin {
                size: ByteCount::new(size),
                elapsed_s,
            }),
            _ => None,
        },
    })
}

/// The file that SQLite keeps beside a store, by the end of its name.
fn beside(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    name.into()
}

/// The end of the name of the journal that one transaction has while it is written without a log.
const JOURNAL: &str = "-journal";

/// A path by which SQLite finds no URI (<https://www.sqlite.org/uri.html>).
fn no_uri(path: &Path) -> PathBuf {
    match path.as_os_str().as_encoded_bytes().starts_with(b"file:") {
        true => Path::new(".").join(path),
        false => path.to_owned(),
    }
}

/// A store that nobody changes, as a URI: SQLite makes no files beside it and takes no locks
/// (<https://www.sqlite.org/uri.html#uriimmutable>).
fn as_it_is(path: &Path) -> PathBuf {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/-._~".contains(&byte);
    let bytes = path.as_os_str().as_encoded_bytes().iter();
    let name: String = bytes
        .map(|&byte| match plain(byte) {
            true => char::from(byte).to_string(),
            false => format!("%{byte:02X}"),
        })
        .collect();
    format!("file:{name}?immutable=1").into()
}

impl Drop for Store {
    /// Makes a single file of it again, which can be read where nothing can be
    /// written. With somebody reading it the log stays.
    fn drop(&mut self) {
        if self.has_log {
            let _stays = self.connection.busy_timeout(Duration::ZERO);
            let _stays = self
                .connection
                .pragma_update(None, "journal_mode", "delete");
        }
    }
}

/// What of the user's own has changed since the stored plan was made, where the same is named.
fn changed_since(stored: &Plan, wanted: &Plan) -> Option<String> {
    let (stored, wanted) = (stored.own.as_ref()?, wanted.own.as_ref()?);
    let (one, other) = (&stored.copy, &wanted.copy);
    // Of another sample all differs, and it is told what was asked for.
    let is_alike = one.name == other.name && sample(one) == sample(other);
    if is_alike && one.state != other.state {
        return Some(stored.copy.name.clone());
    }
    let mut pairs = stored.scripts.iter().zip(&wanted.scripts);
    let changed = |(one, other): &(&OwnScript, &OwnScript)| {
        one.name == other.name && one.fingerprint != other.fingerprint
    };
    let (script, _) = pairs.find(changed)?;
    Some(match &wanted.recording {
        Some(recording) => recording.files.join(", "),
        None => format!("{} (or a -D)", script.name),
    })
}

/// The part of the rows that a copy has.
fn sample(copy: &CopyOf) -> String {
    copy.sample
        .map_or_else(|| "all rows".into(), |sample| sample.share.to_string())
}

/// The first setting in which plans differ whose parts are to be merged, with both values. A copy of the user's
/// own rows may be of another state on each host.
pub(crate) fn plan_difference(one: &Plan, other: &Plan) -> Option<(&'static str, String, String)> {
    let scripts = || {
        let (one, other) = (one.own.as_ref()?, other.own.as_ref()?);
        let mut pairs = one.scripts.iter().zip(&other.scripts);
        let (script, _) = pairs.find(|(one, other)| one.fingerprint != other.fingerprint)?;
        let words = |other: &str| format!("{} with {other}", script.name);
        Some(("statements of", words("one text"), words("another")))
    };
    first_difference(one, other).or_else(scripts)
}

/// The first setting in which two plans differ, with both values.
fn first_difference(stored: &Plan, wanted: &Plan) -> Option<(&'static str, String, String)> {
    fn list<T: ToString>(items: &[T]) -> String {
        let items: Vec<String> = items.iter().map(T::to_string).collect();
        items.join(", ")
    }
    fn or_default<T: ToString>(item: Option<&T>) -> String {
        item.map_or_else(|| "the default".into(), T::to_string)
    }
    let settings = |plan: &Plan| {
        let versions: Vec<&str> = plan.databases.iter().map(|s| s.version.as_str()).collect();
        let ramp = plan.ramp.map_or_else(
            || "none".into(),
            |ramp| format!("{} of {:?} a step", ramp.clients, ramp.step),
        );
        let own = plan.own.as_ref();
        let copy = own.map(|own| own.copy.name.clone());
        let sample = own.map(|own| sample(&own.copy));
        let recording = own.and_then(|own| own.recording.as_ref());
        let recording = recording.map(|recording| recording.files.join(", "));
        let digests = own.and_then(|own| own.digests.as_ref());
        let has_scripts = recording.is_none() && digests.is_none();
        let scripts = own.filter(|_| has_scripts).map(|own| {
            let scripts = own.scripts.iter();
            let named = scripts.map(|script| format!("{}@{}", script.name, script.weight));
            named.collect::<Vec<_>>().join(", ")
        });
        let shape = plan.shape.as_ref().map(|shape| to_json(&**shape));
        let cpus: Vec<String> = plan.cpus.iter().map(|c| or_default(c.as_ref())).collect();
        [
            ("name", or_default(plan.name.as_ref())),
            ("database", list(&plan.databases)),
            ("database version", versions.join(", ")),
            ("workload", plan.workload.to_string()),
            ("mix", or_default(plan.mix.as_ref())),
            ("distribution", or_default(plan.distribution.as_ref())),
            ("isolation", or_default(plan.isolation.as_ref())),
            ("copy of", copy.unwrap_or_else(|| "nothing".into())),
            ("sample", sample.unwrap_or_else(|| "nothing".into())),
            ("recording", recording.unwrap_or_else(|| "none".into())),
            (
                "digests",
                digests.map_or("none", |_| "the server's").to_owned(),
            ),
            ("scripts", scripts.unwrap_or_else(|| "none".into())),
            ("shape", shape.unwrap_or_else(|| "the workload's".into())),
            ("rows", list(&plan.data)),
            ("storage", list(&plan.storages)),
            ("seed", plan.seed.to_string()),
            ("page sizes", list(&plan.page_sizes)),
            ("page sizes of tables", mixed(plan)),
            ("memory", list(&plan.memories)),
            ("cpus", cpus.join(", ")),
            // Its clients follow from it.
            ("ramp", ramp),
            ("clients", list(&plan.clients)),
            ("copies", plan.copies.to_string()),
            ("margin", plan.margin.to_string()),
            ("design", format!("{:?}", plan.design).to_lowercase()),
            ("comparison of", plan.compare.to_string()),
            ("reference", or_default(plan.reference.as_ref())),
        ]
    };
    settings(stored)
        .into_iter()
        .zip(settings(wanted))
        .find(|(stored, wanted)| stored != wanted)
        .map(|((setting, stored), (_, wanted))| (setting, stored, wanted))
}

/// The page sizes of tables and indexes of a plan.
fn mixed(plan: &Plan) -> String {
    match plan.mixed.is_empty() {
        true => "none".into(),
        false => {
            let sizes: Vec<String> = plan.mixed.iter().map(ToString::to_string).collect();
            sizes.join("; ")
        }
    }
}

fn to_json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("these types have only string keys")
}

/// Reads a column of JSON; where it is NULL, as JSON's null.
fn json<T: DeserializeOwned>(row: &Row<'_>, column: &str) -> rusqlite::Result<T> {
    let text: Option<String> = row.get(column)?;
    serde_json::from_str(text.as_deref().unwrap_or("null")).map_err(|error| damage(column, error))
}

/// In a row, `found` is wrong with `what`: [`Store::error`] has it as damage.
fn damage(what: &str, found: impl std::fmt::Display) -> rusqlite::Error {
    let text = format!("{what}: {found}");
    rusqlite::Error::FromSqlConversionFailure(0, Type::Text, text.into())
}

fn on_one_line(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    lines.join(" ")
}

/// SQLite's integers are signed; counts beyond 2^63 do not happen.
fn to_integer(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// More of anything that is counted, and more bytes, Octavo cannot have.
const PETABYTE: u64 = 1 << 50;

/// Longer it cannot have taken.
const CENTURY_S: f64 = 3.2e9;

/// A count, or a number of bytes, that Octavo stored: a petabyte and more it
/// cannot have.
fn from_integer(row: &Row<'_>, column: impl RowIndex) -> rusqlite::Result<u64> {
    let index = column.idx(row.as_ref())?;
    let value: i64 = row.get(index)?;
    u64::try_from(value)
        .ok()
        .filter(|&value| value <= PETABYTE)
        .ok_or(rusqlite::Error::IntegralValueOutOfRange(index, value))
}

/// The same where it may be unknown.
fn optional(row: &Row<'_>, column: &str) -> rusqlite::Result<Option<u64>> {
    match row.get_ref(column)? {
        rusqlite::types::ValueRef::Null => Ok(None),
        _ => from_integer(row, column).map(Some),
    }
}

/// A time that Octavo stored; a century and more it cannot have.
fn seconds(row: &Row<'_>, column: impl RowIndex) -> rusqlite::Result<Duration> {
    let seconds: f64 = row.get(column)?;
    Duration::try_from_secs_f64(if seconds < CENTURY_S { seconds } else { -1.0 })
        .map_err(|error| damage("a time", error))
}
