//! One connection to SQLite with the workload's statements prepared.

#![expect(unsafe_code, reason = "SQLite is a library of C")]

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::Duration,
};

use octavo_units::ByteCount;
use octavo_workload::{
    ConnectionError, Result,
    connection::{Access, Connection as _, RowVisitor, Statement, StatementId, Value},
    schema::ColumnKind,
};
use rusqlite::{Connection, OpenFlags, ffi};

use super::{
    JournalMode,
    failure::sort,
    limit::Limit,
    statement::Prepared,
    tally::Tally,
    temporary::{TemporaryFiles, Unmeasured},
    vfs::DirectVfs,
};

/// How long a connection waits for another one's file locks. Only rollback
/// journals make connections wait like this, and then for one transaction.
const BUSY_TIMEOUT: Duration = Duration::from_secs(30);

/// A connection and its statements. Fields drop in this order: the statements
/// go before the connection, and that before the VFS.
pub(crate) struct Session {
    prepared: Vec<Prepared>,
    begin_read: Prepared,
    begin_write: Prepared,
    commit: Prepared,
    rollback: Prepared,
    statements: &'static [Statement],
    connection: Connection,
    /// Of the user's own statements.
    limit: Option<Limit>,
    counted: Option<Counted>,
    _temporary: Option<TemporaryFiles>,
}

/// What a counted connection needs besides.
struct Counted {
    tally: Arc<Tally>,
    _vfs: Arc<DirectVfs>,
}

// SAFETY: SQLite connections and statements may move between threads as long
// as one uses them at a time (<https://www.sqlite.org/threadsafe.html>,
// multi-thread mode); `&mut self` sees to that, and nothing here is Sync.
unsafe impl Send for Session {}

impl Session {
    /// Opens `database` through `vfs` with a buffer of `memory`.
    pub(crate) fn measured(
        database: &Path,
        vfs: &Arc<DirectVfs>,
        tally: &Arc<Tally>,
        memory: ByteCount,
        journal_mode: JournalMode,
        watch_references: bool,
        statements: &'static [Statement],
    ) -> Result<Self> {
        let references = if watch_references { "ON" } else { "OFF" };
        let settings = format!("PRAGMA synchronous=FULL; PRAGMA foreign_keys={references};");
        let connection = open(database, vfs, memory, journal_mode, &settings)?;
        let counted = Counted {
            tally: Arc::clone(tally),
            _vfs: Arc::clone(vfs),
        };
        Self::prepare(connection, statements, Some(counted))
    }

    /// Opens `database` through `vfs` to learn what the statements do to its pages, with a buffer
    /// of `memory` that writes nothing before a commit. Nothing is flushed: the copy is worth
    /// nothing afterwards.
    pub(crate) fn recorded(
        database: &Path,
        vfs: &Arc<DirectVfs>,
        memory: ByteCount,
        statements: &'static [Statement],
    ) -> Result<Self> {
        let settings = "PRAGMA synchronous=OFF; PRAGMA foreign_keys=OFF; PRAGMA cache_spill=OFF;";
        let connection = open(database, vfs, memory, JournalMode::Wal, settings)?;
        Ok(Self::prepare(connection, statements, None)?.limited(Arc::default()))
    }

    /// Prepares the workload's statements on a connection that is not measured. They may take as
    /// long as it takes to read all of a database.
    pub(crate) fn uncounted(
        connection: Unmeasured,
        statements: &'static [Statement],
    ) -> Result<Self> {
        let (connection, temporary) = connection.into_parts();
        let mut session = Self::prepare(connection, statements, None)?;
        session._temporary = Some(temporary);
        Ok(session)
    }

    fn prepare(
        connection: Connection,
        statements: &'static [Statement],
        counted: Option<Counted>,
    ) -> Result<Self> {
        let prepared = statements
            .iter()
            .map(|statement| Prepared::of(&connection, statement))
            .collect::<Result<_, _>>()?;
        Ok(Self {
            prepared,
            begin_read: Prepared::new(&connection, "BEGIN")?,
            begin_write: Prepared::new(&connection, "BEGIN IMMEDIATE")?,
            commit: Prepared::new(&connection, "COMMIT")?,
            rollback: Prepared::new(&connection, "ROLLBACK")?,
            statements,
            connection,
            limit: None,
            counted,
            _temporary: None,
        })
    }

    /// The same with a limit for each of the user's own statements, if it has any, which end once
    /// `stop` is set.
    pub(crate) fn limited(mut self, stop: Arc<AtomicBool>) -> Self {
        let is_private = self.statements.iter().any(|statement| statement.is_private);
        self.limit = is_private.then(|| Limit::of(&self.connection, stop));
        self
    }

    /// The connection, for what no workload does.
    pub(crate) fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Copies the log, if there is one, into the database file. Closing the
    /// last connection does so too, but keeps errors to itself.
    pub(crate) fn checkpoint(&mut self) -> Result<()> {
        self.rollback()?;
        // Of the database alone: a connection that has never read it opens the log here, by a
        // transaction of all its databases, and then finds the temporary one in use.
        self.connection
            .query_row("PRAGMA main.wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
            .map_err(|failure| sort(failure, || "copy the log into the database".into()))
    }

    /// Adds what the buffer did since the last time to the shared counts.
    pub(crate) fn publish(&self) {
        let Some(Counted { tally, .. }) = &self.counted else {
            return;
        };
        for (operation, counter) in [
            (ffi::SQLITE_DBSTATUS_CACHE_HIT, &tally.buffer.hits),
            (ffi::SQLITE_DBSTATUS_CACHE_MISS, &tally.buffer.misses),
            (ffi::SQLITE_DBSTATUS_CACHE_SPILL, &tally.buffer.spills),
        ] {
            let (mut current, mut highest) = (0, 0);
            // SAFETY: the connection is open and ours, both places are valid.
            unsafe {
                ffi::sqlite3_db_status(
                    self.connection.handle(),
                    operation,
                    &raw mut current,
                    &raw mut highest,
                    1,
                );
            }
            // Most transactions spill nothing, and many miss nothing.
            if let Ok(count @ 1..) = u64::try_from(current) {
                counter.fetch_add(count, Relaxed);
            }
        }
    }
}

/// Opens a database past the page cache, with a buffer of `memory` and more settings.
fn open(
    database: &Path,
    vfs: &Arc<DirectVfs>,
    memory: ByteCount,
    journal_mode: JournalMode,
    settings: &str,
) -> Result<Connection> {
    let opening = || format!("open {} with SQLite", database.display());
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags_and_vfs(database, flags, vfs.name())
        .map_err(|failure| sort(failure, opening))?;
    let configure = || -> rusqlite::Result<String> {
        connection.busy_timeout(BUSY_TIMEOUT)?;
        connection.execute_batch(&format!(
            "PRAGMA mmap_size=0; PRAGMA temp_store=MEMORY; PRAGMA locking_mode=NORMAL; \
             PRAGMA cache_size=-{}; {settings}",
            memory.get() / 1024
        ))?;
        let sql = format!("PRAGMA journal_mode={}", journal_mode.name());
        connection.query_row(&sql, [], |row| row.get(0))
    };
    let found = configure().map_err(|failure| sort(failure, opening))?;
    match found == journal_mode.name() {
        true => Ok(connection),
        false => Err(ConnectionError::other(
            opening(),
            format!(
                "SQLite uses journal mode {found} instead of {} here; try a directory on a local \
                 file system",
                journal_mode.name()
            ),
        )),
    }
}

impl octavo_workload::Connection for Session {
    fn begin(&mut self, access: Access) -> Result<()> {
        let statement = match access {
            Access::Read => &mut self.begin_read,
            // Transactions that write are serializable here.
            Access::Write | Access::WriteRepeatable | Access::WriteSerializable => {
                &mut self.begin_write
            }
        };
        control(statement)
    }

    /// Commits; when that fails the transaction is still open.
    fn commit(&mut self) -> Result<()> {
        control(&mut self.commit)?;
        self.publish();
        Ok(())
    }

    /// Rolls back, if there is anything to.
    fn rollback(&mut self) -> Result<()> {
        let result = if self.connection.is_autocommit() {
            Ok(())
        } else {
            control(&mut self.rollback)
        };
        self.publish();
        result
    }

    fn execute(&mut self, statement: StatementId, parameters: &[Value<'_>]) -> Result<u64> {
        // SAFETY: the connection is open and ours.
        let all =
            |session: &Self| unsafe { ffi::sqlite3_total_changes64(session.connection.handle()) };
        let before = all(self);
        self.query(statement, parameters, &mut |_| {})?;
        // SAFETY: as above.
        let changed = unsafe { ffi::sqlite3_changes64(self.connection.handle()) };
        // What INSTEAD OF triggers change for a statement is counted with all alone.
        let changed = match changed {
            0 => all(self) - before,
            changed => changed,
        };
        Ok(u64::try_from(changed).unwrap_or(0))
    }

    fn query(
        &mut self,
        statement: StatementId,
        parameters: &[Value<'_>],
        visit: &mut RowVisitor<'_>,
    ) -> Result<u64> {
        let declared = &self.statements[statement.0];
        assert_eq!(
            parameters.len(),
            declared.parameters.len(),
            "parameters of {}",
            declared.sql
        );
        debug_assert!(
            declared.parameters.iter().zip(parameters).all(fits),
            "a parameter of {} is not of its declared kind: {parameters:?}",
            declared.sql
        );
        if let Some(limit) = &self.limit {
            limit.begin();
        }
        self.prepared[statement.0].run(parameters.iter().copied(), declared.result, visit)
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.publish();
    }
}

/// Runs a statement without parameters or rows.
fn control(statement: &mut Prepared) -> Result<()> {
    statement.run([], &[], |_| {}).map(|_| ())
}

/// Whether a parameter is of its declared kind. A decimal of another scale
/// would be stored as another number.
fn fits((kind, value): (&ColumnKind, &Value<'_>)) -> bool {
    match (kind, value) {
        (_, Value::Null)
        | (ColumnKind::Any, _)
        | (ColumnKind::Integer | ColumnKind::Integer32, Value::Integer(_))
        | (ColumnKind::Timestamp, Value::Timestamp(_))
        | (ColumnKind::Char(_) | ColumnKind::Varchar(_), Value::Text(_)) => true,
        (ColumnKind::Decimal { scale: wanted, .. }, Value::Decimal { scale, .. }) => {
            wanted == scale
        }
        _ => false,
    }
}
