//! Steps that bring a store of an earlier version to the present schema.
//!
//! A change of `schema.sql` that earlier stores do not have adds a step here,
//! and a sample of the version that it leaves to `tests/stores/`.

use std::sync::atomic::{AtomicU64, Ordering};

use rusqlite::{Connection, OpenFlags, TransactionBehavior};

/// The oldest version that is read: 1 and 2 differ in more than SQL can change.
pub(super) const OLDEST: i64 = 3;

/// The version of `schema.sql`, which is read and written.
pub const VERSION: i64 = OLDEST + STEPS.len() as i64;

/// A step to the next version.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    /// The version that it begins with.
    pub(super) from: i64,
    /// Statements that leave a store of the version `from` + 1.
    pub(super) sql: &'static str,
}

/// All steps, the first one from [`OLDEST`], without gaps.
pub(super) const STEPS: &[Step] = &[
    Step {
        // Cells were compared by runs in rounds, each on a fresh copy: a round was
        // a sitting with one pass.
        from: 3,
        sql: include_str!("from-3.sql"),
    },
    Step {
        // There were no ramps.
        from: 4,
        sql: include_str!("from-4.sql"),
    },
    Step {
        // A database that was lost left no figures.
        from: 5,
        sql: include_str!("from-5.sql"),
    },
    Step {
        // Of copies of the user's data only the time was known.
        from: 6,
        sql: include_str!("from-6.sql"),
    },
    Step {
        // Transactions had no times of their own.
        from: 7,
        sql: include_str!("from-7.sql"),
    },
    Step {
        // What was found was nowhere but in reports.
        from: 8,
        sql: include_str!("from-8.sql"),
    },
    Step {
        // Figures stood without their conditions.
        from: 9,
        sql: include_str!("from-9.sql"),
    },
    Step {
        // Nothing was counted by table and index.
        from: 10,
        sql: include_str!("from-10.sql"),
    },
    Step {
        // Warm-ups were known as a whole.
        from: 11,
        sql: include_str!("from-11.sql"),
    },
    Step {
        // All of an experiment was done by one program on one machine.
        from: 12,
        sql: include_str!("from-12.sql"),
    },
];

/// Takes the steps that a store still needs, all in one transaction.
///
/// # Errors
/// When SQLite refuses a statement; then the store is as it was.
pub(super) fn migrate(connection: &mut Connection, steps: &[Step]) -> rusqlite::Result<()> {
    // A step may make a table anew, which must not delete the rows that refer
    // to it; within a transaction this cannot be changed.
    connection.pragma_update(None, "foreign_keys", false)?;
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Read again: another process may have migrated since.
    let version: i64 = transaction.pragma_query_value(None, "user_version", |row| row.get(0))?;
    for step in steps.iter().filter(|step| step.from >= version) {
        transaction.execute_batch(step.sql)?;
        transaction.pragma_update(None, "user_version", step.from + 1)?;
    }
    transaction.commit()
}

/// Keeps sorts and statement journals in memory, where all that is read of a store goes
/// anyway. SQLite's temporary files are in /var/tmp, which a process that measures may
/// not change.
///
/// # Errors
/// When SQLite refuses it.
pub(super) fn keep_temporary_in_memory(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch("PRAGMA temp_store = MEMORY")
}

/// Copies a store into memory. `connection` has to allow names that are URIs.
///
/// # Errors
/// When the store cannot be read.
pub(super) fn copy_to_memory(connection: &Connection) -> rusqlite::Result<Connection> {
    static COPIES: AtomicU64 = AtomicU64::new(0);
    // Databases of this VFS are shared by name within the process, for as long
    // as a connection is open (<https://www.sqlite.org/inmemorydb.html>).
    let name = format!(
        "file:/octavo-store-{}?vfs=memdb",
        COPIES.fetch_add(1, Ordering::Relaxed)
    );
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_CREATE
        | OpenFlags::SQLITE_OPEN_URI
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let copy = Connection::open_with_flags(&name, flags)?;
    keep_temporary_in_memory(&copy)?;
    connection.execute("VACUUM INTO ?1", [&name])?;
    Ok(copy)
}
