//! Filling a snapshot: all tables at the same time as far as there are processors,
//! by LOAD DATA in key order, then indexes and statistics.
//!
//! Rows go in the ordinary way. MariaDB's bulk insert, which it takes without
//! `unique_checks`, sorts rows that are sorted already: it took 6.3 s of
//! processor time for 600,000 order lines on MariaDB 10.11, the ordinary way
//! 2.6 s.

use std::time::Instant;

use octavo_units::{ByteCount, PageSize};
use octavo_workload::{ConnectionError, Workload, schema::Table};

use super::{
    arguments::Purpose,
    ddl::{self, KeylessTables},
    infile::{FORMAT, LoadData},
    instance::{Instance, initialise},
    layout::Layout,
    programs::Programs,
    session::Session,
};
use crate::{
    LoadReport, Progress, Result,
    ddl::{create_index, references},
    error::unless_stopped,
    files,
    fill::{Feed, fill},
    server::{account::Account, tree},
};

/// The buffer while loading, at most. Rows come in key order mostly, so more
/// of it saves writing pages twice.
const BUFFER_MAX: ByteCount = ByteCount::mib(1024);

/// The redo log while loading, so that no row waits for a checkpoint.
pub(super) const REDO: ByteCount = ByteCount::mib(1024);

/// Rows of one statement and so of one transaction, about. The undo of a
/// transaction is kept until its end, in a file that never shrinks and that
/// every copy carries.
const ROWS_AT_ONCE: usize = 20_000;

/// How a session that loads is set: no row is checked for what the workload
/// does not have, and none is changed to fit.
pub(super) const SETUP: &str = "SET SESSION sql_mode='STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION', \
     time_zone='+00:00', foreign_key_checks=0";

/// Makes and fills the data directory; see [`crate::Database::load`].
pub(super) fn load(
    programs: &Programs,
    layout: &Layout,
    page_size: PageSize,
    workload: &dyn Workload,
    progress: &mut Progress<'_>,
) -> Result<LoadReport> {
    let begin = Instant::now();
    let account = Account::of_servers()?;
    let account = account.as_ref();
    let (server, mut session) = start(programs, layout, page_size, account, &mut || {
        progress(0).is_break()
    })?;
    session.simple(&ddl::create_database())?;
    let mut watched = |rows| {
        let answer = progress(rows);
        if answer.is_break() {
            // Whatever a session waits for ends with it.
            server.kill();
        }
        answer
    };
    let rows = fill(workload, &mut watched, |table, feed| {
        fill_table(
            server.session(Some(ddl::DATABASE), &[SETUP.into()])?,
            table,
            KeylessTables::AsTheyAre,
            feed,
        )
    })?;
    session.simple(&format!("USE {}", ddl::DATABASE))?;
    watch_references(&mut session, workload)?;
    settle(programs, layout, page_size, account, server, session)?;
    unless_stopped(progress(rows))?;
    Ok(LoadReport {
        rows,
        size: tree::size(&layout.directory)?,
        log: None,
        elapsed: begin.elapsed(),
    })
}

/// Makes a data directory and starts a server that loads it.
pub(super) fn start(
    programs: &Programs,
    layout: &Layout,
    page_size: PageSize,
    account: Option<&Account>,
    stopped: &mut dyn FnMut() -> bool,
) -> Result<(Instance, Session)> {
    initialise(programs, layout, page_size, account, stopped)?;
    let purpose = Purpose::Load {
        buffer: buffer(),
        redo: REDO,
    };
    Instance::start(programs, layout, page_size, &purpose, account)
}

/// Stops a server that has loaded, and leaves its files as snapshots have them.
pub(super) fn settle(
    programs: &Programs,
    layout: &Layout,
    page_size: PageSize,
    account: Option<&Account>,
    server: Instance,
    mut session: Session,
) -> Result<()> {
    // Nothing is left for a copy's first run to purge or merge.
    session.simple("SET GLOBAL innodb_fast_shutdown=0")?;
    drop(session);
    server.stop()?;
    shrink(programs, layout, page_size, account)
}

/// A quarter of the memory, at most [`BUFFER_MAX`], in MiB.
fn buffer() -> ByteCount {
    let system = rustix::system::sysinfo();
    let memory = system.totalram.saturating_mul(u64::from(system.mem_unit));
    let mib = (memory / 4).min(BUFFER_MAX.get()) >> 20;
    ByteCount::mib(mib.max(64))
}

/// Lets the server make its redo log as small as a snapshot keeps it, which it
/// does at a start after a clean stop; then all files are flushed, and leave
/// the page cache.
fn shrink(
    programs: &Programs,
    layout: &Layout,
    page_size: PageSize,
    account: Option<&Account>,
) -> Result<()> {
    let (server, session) = Instance::start(programs, layout, page_size, &Purpose::Rest, account)?;
    drop(session);
    server.stop()?;
    // Copies are made from what is on storage: neither the files that tools
    // made nor our own were flushed by a server.
    tree::sync(&layout.directory)?;
    files::remove(&layout.log)?;
    tree::forget(&layout.directory)
}

/// Creates a table with its rows, indexes and statistics, through a session
/// that [`SETUP`] was run in.
pub(super) fn fill_table(
    mut session: Session,
    table: &Table,
    keyless: KeylessTables,
    feed: &mut Feed<'_>,
) -> Result<u64> {
    session.simple(&ddl::create_table(table, keyless))?;
    let kinds = table.kinds();
    let mut load = LoadData::begin(&mut session, &ddl::load(table, FORMAT), &kinds)?;
    let (mut taken, mut waiting) = (0, 0);
    let sent = feed.send(|batch| {
        load.batch(batch)?;
        waiting += batch.len();
        if waiting >= ROWS_AT_ONCE {
            taken += load.renew()?;
            waiting = 0;
        }
        Ok(())
    })?;
    taken += load.finish()?;
    if taken != sent {
        return Err(ConnectionError::other(
            format!("load {}", table.name),
            format!("of {sent} rows the server took {taken}"),
        )
        .into());
    }
    complete(&mut session, table)?;
    Ok(sent)
}

/// Has the server watch over references from now on. The rows keep them; InnoDB makes an
/// index of the columns where there is none that begins with them.
pub(super) fn watch_references(
    session: &mut Session,
    workload: &dyn Workload,
) -> Result<(), ConnectionError> {
    session.simple(SETUP)?;
    references(workload).try_for_each(|sql| session.simple(&sql))
}

/// Gives a table that has its rows its indexes and statistics.
pub(super) fn complete(session: &mut Session, table: &Table) -> Result<(), ConnectionError> {
    for index in table.indexes {
        session.simple(&create_index(table, index))?;
    }
    session.simple(&format!("ANALYZE TABLE {}", table.name))
}
