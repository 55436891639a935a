//! Reading a database at rest, without counting it.

use std::{
    ffi::OsStr,
    fs::{self, File},
    path::{Path, PathBuf},
};

use octavo_units::ByteCount;
use octavo_workload::{ConnectionError, Workload, connection::RowVisitor, schema::Table};
use rusqlite::OpenFlags;

use super::{
    failure::sort,
    session::Session,
    statement::Prepared,
    temporary::{Unmeasured, directory_of},
};
use crate::{Inspection, Result, at_rest::AtRest, ddl::select, files};

/// The buffer of a check: its joins go over all data once or twice.
const BUFFER: ByteCount = ByteCount::mib(16);

/// Opens a snapshot, or any database that has no log. What does not fit into
/// `memory` goes to temporary files in `temporary`.
pub(crate) fn open_to_read(
    database: &Path,
    memory: ByteCount,
    temporary: &Path,
) -> Result<Unmeasured> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    open(database, database.as_os_str(), flags, memory, temporary)
}

/// Opens a database that nobody writes, through the page cache.
fn open_at_rest(database: &Path, memory: ByteCount) -> Result<Unmeasured> {
    let temporary = directory_of(database);
    if beside(database, "-wal").exists() || beside(database, "-journal").exists() {
        // Left by a crash: SQLite has to recover it, which writes.
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        open(database, database.as_os_str(), flags, memory, temporary)
    } else {
        // Without the promise that nobody writes, SQLite makes files beside a
        // database that remembers to have a log.
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
            | OpenFlags::SQLITE_OPEN_NO_MUTEX
            | OpenFlags::SQLITE_OPEN_URI;
        let name = uri(database, "?immutable=1");
        open(database, OsStr::new(&name), flags, memory, temporary)
    }
}

fn open(
    database: &Path,
    name: &OsStr,
    flags: OpenFlags,
    memory: ByteCount,
    temporary: &Path,
) -> Result<Unmeasured> {
    fs::metadata(database).map_err(files::named("open", database))?;
    let open = || -> rusqlite::Result<Unmeasured> {
        let connection = Unmeasured::open(name, flags, temporary)?;
        connection.execute_batch(&format!("PRAGMA cache_size=-{}", memory.get() / 1024))?;
        Ok(connection)
    };
    open().map_err(|failure| {
        let context = || format!("open {} with SQLite", database.display());
        sort(failure, context).into()
    })
}

/// The file's URI with parameters (<https://www.sqlite.org/uri.html>): `?immutable=1` promises
/// that nobody changes it.
pub(crate) fn uri(database: &Path, parameters: &str) -> String {
    let mut uri = String::from("file:");
    for &byte in database.as_os_str().as_encoded_bytes() {
        match byte {
            b'/' | b'.' | b'-' | b'_' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' => {
                uri.push(char::from(byte));
            }
            _ => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri + parameters
}

/// A file beside a database, whose name goes on with `end`.
pub(crate) fn beside(database: &Path, end: &str) -> PathBuf {
    let mut name = database.as_os_str().to_owned();
    name.push(end);
    name.into()
}

/// A connection that only reads; forgets the file's pages when dropped.
pub(crate) fn inspect(database: &Path, workload: &dyn Workload) -> Result<AtRest<Session>> {
    let connection = open_at_rest(database, BUFFER)?;
    connection
        .execute_batch("PRAGMA query_only=ON")
        .map_err(|failure| sort(failure, || format!("open {}", database.display())))?;
    // A user's own, which are the last ones, are not executed here, and what they made may be there
    // already.
    let mut statements = workload.statements();
    while let [others @ .., last] = statements
        && last.is_private
    {
        statements = others;
    }
    let session = Session::uncounted(connection, statements)?;
    let database = database.to_owned();
    let forget = move || {
        if let Ok(file) = File::open(database) {
            files::forget(&file);
        }
    };
    Ok(AtRest::new(session, Some(Box::new(forget))))
}

impl Inspection for Session {
    fn scan(&mut self, table: &Table, visit: &mut RowVisitor<'_>) -> Result<u64, ConnectionError> {
        let kinds = table.kinds();
        let mut select = Prepared::new(self.connection(), &select(table))?;
        select.run([], &kinds, visit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uri_escapes_what_uris_use() {
        assert_eq!(
            uri(Path::new("/a b/50%?#.sqlite"), "?immutable=1"),
            "file:/a%20b/50%25%3F%23.sqlite?immutable=1"
        );
    }
}
