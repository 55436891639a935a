//! What a PostgreSQL server counts, in the views of its version.

use std::time::Duration;

use octavo_units::{ByteCount, PageSize};
use octavo_workload::ConnectionError;

use super::session::Session;
use crate::{Counters, server::monitor::Monitor};

/// Reads a server's counters.
///
/// Sessions report what they did at the end of a transaction, but at most once
/// a second (<https://www.postgresql.org/docs/current/monitoring-stats.html>),
/// so each reading is up to a second of each client behind.
pub(super) struct Statistics {
    sql: String,
    page_bytes: u64,
}

impl Statistics {
    /// For a server of a major version with pages of a size.
    pub(super) fn of(major: u32, page_size: PageSize) -> Self {
        // Views and columns by version: the release notes of 17 (checkpoints
        // and writes moved) and 18 (the log's writes moved to pg_stat_io).
        let (checkpoints, written, spilled) = if major >= 17 {
            (
                "(SELECT num_timed + num_requested FROM pg_stat_checkpointer)",
                "(SELECT buffers_written FROM pg_stat_checkpointer) \
                 + (SELECT buffers_clean FROM pg_stat_bgwriter)",
                "(SELECT coalesce(sum(writes), 0)::bigint FROM pg_stat_io \
                 WHERE backend_type IN ('client backend', 'autovacuum worker') \
                 AND object = 'relation')",
            )
        } else {
            (
                "(SELECT checkpoints_timed + checkpoints_req FROM pg_stat_bgwriter)",
                "(SELECT buffers_checkpoint + buffers_clean FROM pg_stat_bgwriter)",
                "(SELECT buffers_backend FROM pg_stat_bgwriter)",
            )
        };
        let (log_writes, log_syncs) = if major >= 18 {
            (
                "(SELECT coalesce(sum(writes), 0)::bigint FROM pg_stat_io WHERE object = 'wal')",
                "(SELECT coalesce(sum(fsyncs), 0)::bigint FROM pg_stat_io WHERE object = 'wal')",
            )
        } else {
            (
                "(SELECT wal_write FROM pg_stat_wal)",
                "(SELECT wal_sync FROM pg_stat_wal)",
            )
        };
        let sql = format!(
            "SELECT sum(blks_hit)::bigint, sum(blks_read)::bigint, {checkpoints}, {written}, \
             {spilled}, {log_writes}, {log_syncs}, \
             (pg_current_wal_insert_lsn() - '0/0'::pg_lsn)::bigint FROM pg_stat_database"
        );
        Self {
            sql,
            page_bytes: u64::from(page_size.get()),
        }
    }

    /// Reads the counters of this session's server from now on.
    pub(super) fn monitor(self, mut session: Session) -> Monitor {
        // Views are read one after the other, and one that is reset while the
        // server recovers from a crash begins anew: the monitor sees to it.
        let monitor = Monitor::new(Counters::default(), move || self.read(&mut session));
        let _since_its_start = monitor.counters();
        monitor
    }

    /// What was counted since the cluster's making.
    pub(super) fn read(&self, session: &mut Session) -> Result<Counters, ConnectionError> {
        let rows = session.texts(&self.sql)?;
        let numbers: Vec<u64> = rows
            .first()
            .map(|row| {
                row.iter()
                    .map(|text| {
                        text.as_deref()
                            .and_then(|text| text.parse().ok())
                            .unwrap_or(0)
                    })
                    .collect()
            })
            .unwrap_or_default();
        let [
            hits,
            misses,
            checkpoints,
            written,
            spilled,
            log_writes,
            log_syncs,
            log_bytes,
        ] = numbers[..]
        else {
            return Err(ConnectionError::other(
                format!("run {}", self.sql),
                format!("{} columns instead of 8", numbers.len()),
            ));
        };
        let bytes = |pages: u64| ByteCount::new(pages.saturating_mul(self.page_bytes));
        Ok(Counters {
            buffer_hits: hits,
            buffer_misses: misses,
            buffer_spills: spilled,
            reads: misses,
            read_bytes: bytes(misses),
            // The server would have to read its clock twice a page.
            read_time: Duration::ZERO,
            data_writes: written + spilled,
            data_written_bytes: bytes(written + spilled),
            log_writes,
            log_written_bytes: ByteCount::new(log_bytes),
            write_time: Duration::ZERO,
            syncs: log_syncs,
            sync_time: Duration::ZERO,
            checkpoints,
        })
    }
}
