//! What a PostgreSQL server counts, in the views of its version.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use octavo_units::{ByteCount, PageSize};
use octavo_workload::ConnectionError;
use rustix::process::Signal;

use super::{reporting, session::Session};
use crate::{
    Counters,
    server::{child::Child, monitor::Monitor},
};

/// The checkpointer is waited for no longer than this.
const AWAKE_MAX: Duration = Duration::from_millis(20);
/// While a run is followed it is woken so often.
const AWAKE_EVERY: Duration = Duration::from_secs(1);

/// Reads a server's counters.
///
/// Sessions report what they did at the end of a transaction, but at most once
/// a second (<https://www.postgresql.org/docs/current/monitoring-stats.html>),
/// so each reading is up to a second of each client behind, but right after they
/// were asked to report ([`super::reporting`]).
///
/// Times are 0 where the server does not take them (`track_io_timing`,
/// `track_wal_io_timing`). A session that waits while another one flushes the
/// log for both has no time of its own in them.
///
/// Up to version 16 what sessions wrote themselves is counted when the checkpointer takes
/// over the files that it is to flush for them (`AbsorbSyncRequests` in checkpointer.c):
/// not before half as many pages were written as the buffer has, as long as it sleeps. So it
/// is woken ([`Checkpointer`]). That is done on servers that Octavo started; on others these
/// writes are up to half a buffer behind.
pub(super) struct Statistics {
    sql: String,
    page_bytes: u64,
    /// Whether a session can be asked to report.
    has_reports: bool,
}

impl Statistics {
    /// For a server of a major version with pages of a size.
    pub(super) fn for_version(major: u32, page_size: PageSize) -> Self {
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
        let log = if major >= 18 {
            "(SELECT sum(writes) AS writes, sum(fsyncs) AS syncs, sum(write_time) AS write_ms, \
             sum(fsync_time) AS sync_ms FROM pg_stat_io WHERE object = 'wal')"
        } else {
            "(SELECT wal_write AS writes, wal_sync AS syncs, wal_write_time AS write_ms, \
             wal_sync_time AS sync_ms FROM pg_stat_wal)"
        };
        // Times are in milliseconds, with fractions.
        let sql = format!(
            "SELECT hit::bigint, read::bigint, {checkpoints}, {written}, {spilled}, \
             coalesce(writes, 0)::bigint, coalesce(syncs, 0)::bigint, \
             (pg_current_wal_insert_lsn() - '0/0'::pg_lsn)::bigint, \
             (read_ms * 1000)::bigint, (spill_ms * 1000)::bigint, \
             coalesce(write_ms * 1000, 0)::bigint, coalesce(sync_ms * 1000, 0)::bigint \
             FROM (SELECT sum(blks_hit) AS hit, sum(blks_read) AS read, \
             sum(blk_read_time) AS read_ms, sum(blk_write_time) AS spill_ms \
             FROM pg_stat_database) data, {log} log"
        );
        Self {
            sql,
            page_bytes: u64::from(page_size.get()),
            has_reports: major >= reporting::MAJOR_MIN,
        }
    }

    /// Reads the counters of this session's server from now on, with the CPU
    /// time of its processes where their first one is known.
    pub(super) fn monitor(
        self,
        mut session: Session,
        pid: Option<i32>,
        checkpointer: Option<Arc<Checkpointer>>,
    ) -> Monitor {
        // Views are read one after the other, and one that is reset while the
        // server recovers from a crash begins anew: the monitor sees to it.
        // What this session read of the catalog so far, some hundred pages, would be counted in a
        // run that lasts longer than a second.
        let begun = self.read(&mut session);
        if begun.is_ok() && self.has_reports {
            let _asked = session.simple(reporting::REPORT);
        }
        let monitor = Monitor::new(Counters::default(), pid, move || {
            if let Some(checkpointer) = &checkpointer {
                checkpointer.wake_now_and_then();
            }
            self.read(&mut session)
        });
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
            read_us,
            spill_us,
            log_write_us,
            log_sync_us,
        ] = numbers[..]
        else {
            return Err(ConnectionError::other(
                format!("run {}", self.sql),
                format!("{} columns instead of 12", numbers.len()),
            ));
        };
        let bytes = |pages: u64| ByteCount::new(pages.saturating_mul(self.page_bytes));
        Ok(Counters {
            buffer_hits: hits,
            buffer_misses: misses,
            buffer_spills: spilled,
            reads: misses,
            read_bytes: bytes(misses),
            data_writes: written + spilled,
            data_written_bytes: bytes(written + spilled),
            log_writes,
            log_written_bytes: ByteCount::new(log_bytes),
            syncs: log_syncs,
            checkpoints,
            read_time: Duration::from_micros(read_us),
            write_time: Duration::from_micros(spill_us.saturating_add(log_write_us)),
            log_write_time: Duration::from_micros(log_write_us),
            sync_time: Duration::from_micros(log_sync_us),
            log_sync_time: Duration::from_micros(log_sync_us),
            ..Counters::default()
        })
    }
}

/// The server's checkpointer, for whom writes of sessions wait up to version 16.
pub(super) struct Checkpointer {
    process: Child,
    woken: Mutex<Instant>,
}

impl Checkpointer {
    /// The checkpointer of a server of ours, where writes wait for it in this major version.
    pub(super) fn find(server: i32, major: u32, session: &mut Session) -> Option<Arc<Self>> {
        if major >= 17 {
            return None;
        }
        let sql = "SELECT pid FROM pg_stat_activity WHERE backend_type = 'checkpointer'";
        let pid = session.one(sql).ok()??.parse().ok()?;
        Some(Arc::new(Self {
            process: Child::new(server, pid),
            woken: Mutex::new(Instant::now()),
        }))
    }

    /// Wakes the checkpointer so that it takes over pending flushes, which counts them. The
    /// signal's handler does nothing else (`procsignal_sigusr1_handler`), but it ends the nap
    /// of a tenth of a second between two pages of a checkpoint.
    pub(super) fn wake(&self) {
        *self.woken.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
        self.process.wake(Signal::USR1, AWAKE_MAX);
    }

    /// Likewise, unless that was done within the last second.
    fn wake_now_and_then(&self) {
        let woken = *self.woken.lock().unwrap_or_else(PoisonError::into_inner);
        if woken.elapsed() >= AWAKE_EVERY {
            self.wake();
        }
    }
}
