//! Filling a snapshot: all tables at the same time as far as there are processors,
//! by COPY of frozen rows in key order, then keys, indexes and statistics.
//!
//! A snapshot is loaded without flushes and without a log of the rows, because a
//! load that fails is thrown away as a whole.

use std::{ops::ControlFlow, time::Instant};

use octavo_units::{ByteCount, PageSize};
use octavo_workload::{Workload, schema::Table};

use super::{cluster::Cluster, copy::CopyIn, ddl, session::Session};
use crate::{
    LoadReport, Progress, Result,
    ddl::{create_index, create_table, references},
    error::unless_stopped,
    fill::{Feed, fill},
    server::tree,
};

/// The server's buffer while it loads.
const BUFFER: ByteCount = ByteCount::mib(128);

/// For sorting the keys of an index, of each session.
const SORT_MEMORY: ByteCount = ByteCount::mib(128);

/// Creates and fills the cluster; see [`crate::Database::load`].
pub(super) fn load(
    cluster: Cluster,
    page_size: PageSize,
    workload: &dyn Workload,
    progress: &mut Progress<'_>,
) -> Result<LoadReport> {
    let begin = Instant::now();
    let path = cluster.path();
    cluster.create(page_size, &mut || progress(0) == ControlFlow::Break(()))?;
    let server = cluster.start(&parameters(), None)?;
    // Whoever is asked to stop does not wait for an index to be built.
    let mut watched = |rows| {
        let flow = progress(rows);
        if flow.is_break() {
            server.end();
        }
        flow
    };
    let rows = fill(workload, &mut watched, |table, feed| {
        fill_table(server.connect(&[])?, table, feed)
    })?;
    let mut session = server.connect(&[])?;
    for sql in references(workload) {
        unless_stopped(progress(rows))?;
        session.simple(&sql)?;
    }
    settle(&mut session)?;
    drop(session);
    server.stop()?;
    Ok(LoadReport {
        rows,
        size: tree::size(&path)?,
        log: None,
        elapsed: begin.elapsed(),
    })
}

/// What a server that loads is started with.
pub(super) fn parameters() -> Vec<(&'static str, String)> {
    let kilobytes = |bytes: ByteCount| format!("{}kB", bytes.get() >> 10);
    vec![
        ("shared_buffers", kilobytes(BUFFER)),
        ("maintenance_work_mem", kilobytes(SORT_MEMORY)),
        ("fsync", "off".into()),
        ("full_page_writes", "off".into()),
        // With the least log, rows of a table that the same transaction
        // created are not logged.
        ("wal_level", "minimal".into()),
        ("max_wal_senders", "0".into()),
        ("max_wal_size", "4GB".into()),
        // What stays is copied for every run.
        ("min_wal_size", "32MB".into()),
        ("checkpoint_timeout", "1h".into()),
        ("autovacuum", "off".into()),
        // Rows of the user's own may stand in them.
        ("log_min_messages", "log".into()),
    ]
}

/// Brings what was loaded to rest.
pub(super) fn settle(session: &mut Session) -> Result<()> {
    // Rows lie as they were loaded: this freezes those that are not, makes the
    // maps of free and visible pages, and the statistics of the planner.
    session.simple("VACUUM (FREEZE, ANALYZE)")?;
    // The second one frees the segments of the log that the first one needed.
    session.simple("CHECKPOINT")?;
    session.simple("CHECKPOINT")?;
    Ok(())
}

/// Creates a table with its rows, key and indexes, in one transaction.
pub(super) fn fill_table(mut session: Session, table: &Table, feed: &mut Feed<'_>) -> Result<u64> {
    session.simple("BEGIN")?;
    session.simple(&create_table(table, ddl::type_of, false))?;
    let rows = copy(&mut session, table, feed)?;
    for sql in ddl::add_primary_key(table)
        .into_iter()
        .chain(table.indexes.iter().map(|index| create_index(table, index)))
    {
        session.simple(&sql)?;
    }
    session.simple("COMMIT")?;
    Ok(rows)
}

fn copy(session: &mut Session, table: &Table, feed: &mut Feed<'_>) -> Result<u64> {
    let kinds = table.kinds();
    let mut copy = CopyIn::start(session, &ddl::copy(table), &kinds)?;
    let sent = feed.send(|batch| Ok(copy.batch(batch)?))?;
    let copied = copy.finish()?;
    if copied != sent {
        return Err(octavo_workload::ConnectionError::other(
            format!("fill {}", table.name),
            format!("{copied} rows arrived of {sent}"),
        )
        .into());
    }
    Ok(copied)
}
