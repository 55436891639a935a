//! The user's own database on a PostgreSQL server: read by PostgreSQL's own programs, dumped once,
//! and restored into a cluster of each page size.
//!
//! | file | what |
//! |---|---|
//! | tools | `psql`, `pg_dump` and `pg_restore`, and which versions go together |
//! | original | the user's server: what it is asked, and the dump |
//! | digests | statements that the server counts, and where their values come from |
//! | limits | what its schema and settings say of other page sizes |
//! | propose | what a guess of statements needs to know |
//! | recording | statements in the server's logs |
//! | restore | a dump into a server of Octavo's |
//! | sample | a part of the rows |
//! | setup | encoding, order of texts and settings of the database |
//! | trial | a server with the schema alone, in which statements are tried |

mod digests;
mod limits;
mod original;
mod propose;
mod recording;
mod restore;
mod sample;
mod setup;
#[cfg(test)]
mod tests;
mod tools;
mod trial;

use std::{
    ffi::OsStr,
    ops::ControlFlow,
    path::{Path, PathBuf},
    time::Instant,
};

use octavo_recording::Recording;
use octavo_units::{ByteCount, PageSize};
use octavo_workload::user::{CopyOf, Copying};

use super::{cluster::Role, configured::Postgres, load, session::Session};
use crate::{
    CopyOwn, Derive, Guess, LoadReport, Own, OwnError, Progress, Result, Tried,
    own::{Statements, digested::FoundDigests, make_private, told_if_lost},
    server::{account::Account, tree},
};
use original::Original;
use restore::Dump;
use tools::Tools;
use trial::Trial;

impl CopyOwn for Postgres {
    fn examine(
        &self,
        source: &OsStr,
        copying: &Copying,
        stopped: &dyn Fn() -> bool,
    ) -> Result<Own> {
        sample::examine(
            &Original::open(source, &self.programs)?,
            source,
            copying,
            stopped,
        )
    }

    fn propose(&self, source: &OsStr) -> Result<Option<Guess>> {
        propose::propose(&Original::open(source, &self.programs)?)
    }

    fn read_recording(
        &self,
        _source: &OsStr,
        copy: &CopyOf,
        files: &[PathBuf],
    ) -> Result<Recording> {
        recording::read(copy, files)
    }

    fn read_digests(&self, source: &OsStr) -> Result<FoundDigests> {
        digests::read(&Original::open(source, &self.programs)?)
    }

    fn prepare(&self, source: &OsStr, statements: Statements<'_>) -> Result<Tried, OwnError> {
        let original = Original::open(source, &self.programs)?;
        Trial::begin(self, &original)?.prepare(statements, original.unlike())
    }

    fn make_private(&self, directory: &Path) -> Result<()> {
        make_private(directory, Account::of_servers()?.as_ref())
    }
}

/// Dumps the user's database into the directory of a snapshot, which others are made of.
pub(super) fn dump(
    postgres: &Postgres,
    copy: &CopyOf,
    snapshot: &Path,
    progress: &mut Progress<'_>,
) -> Result<LoadReport> {
    let begin = Instant::now();
    let original = Original::open(&copy.source, &postgres.programs)?;
    let dump = Dump::in_directory(snapshot)?;
    let setup = original.setup();
    let setup = if copy.sorts_by_bytes {
        setup.by_bytes()
    } else {
        setup
    };
    sample::dump(&original, &dump, &setup, copy, progress).map_err(told_if_lost)?;
    let size = tree::size(snapshot)?;
    Ok(LoadReport {
        // They are counted when they are restored.
        rows: 0,
        size,
        log: None,
        elapsed: begin.elapsed(),
    })
}

impl Derive for Postgres {
    /// Of a dump. When it fails, a part of the snapshot may be there: the caller removes the
    /// directory.
    fn derive(
        &self,
        from: &Path,
        to: &Path,
        page_size: PageSize,
        progress: &mut Progress<'_>,
    ) -> Result<LoadReport> {
        let begin = Instant::now();
        let cluster = self.cluster(to, page_size)?;
        let path = cluster.path();
        let mut written = |_: u64| progress(tree::size(&path).map_or(0, |size| size.get()));
        cluster.create(page_size, &mut || written(0) == ControlFlow::Break(()))?;
        let server = cluster.start(&load::parameters(), None)?;
        let tools = Tools::of_dumps(&self.programs)?;
        let before = log_written(&mut server.connect_to_template()?)?;
        Dump::in_directory(from)?.restore(&tools, &server, &mut || {
            written(0) == ControlFlow::Break(())
        })?;
        let mut session = server.connect_beside()?;
        load::settle(&mut session)?;
        let after = log_written(&mut session)?;
        // Planning a question evaluates what indexes are made of.
        let rows = count_rows(&mut server.connect_as(Role::Owner, &[])?)?;
        // As the user's own were asked for.
        let bytes = session.one(&format!("SELECT {}", original::BYTES))?;
        let bytes = bytes
            .and_then(|bytes| bytes.parse().ok())
            .unwrap_or_default();
        drop(session);
        server.stop()?;
        Ok(LoadReport {
            rows,
            size: ByteCount::new(bytes),
            log: before
                .zip(after)
                .map(|(before, after)| ByteCount::new(after.saturating_sub(before))),
            elapsed: begin.elapsed(),
        })
    }
}

/// Where the log of the server ends, in bytes.
fn log_written(session: &mut Session) -> Result<Option<u64>> {
    let end = session.one("SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::bigint")?;
    Ok(end.and_then(|end| end.parse().ok()))
}

/// The rows of all tables but the system's.
fn count_rows(session: &mut Session) -> Result<u64> {
    let tables = session.texts(
        "SELECT quote_ident(n.nspname) || '.' || quote_ident(c.relname) FROM pg_class AS c \
         JOIN pg_namespace AS n ON n.oid = c.relnamespace WHERE c.relkind = 'r' \
         AND n.nspname NOT IN ('pg_catalog', 'information_schema')",
    )?;
    let mut rows = 0u64;
    for table in tables.into_iter().flatten().flatten() {
        let count = session.one(&format!("SELECT count(*) FROM ONLY {table}"))?;
        rows += count
            .and_then(|count| count.parse::<u64>().ok())
            .unwrap_or_default();
    }
    Ok(rows)
}
