//! PostgreSQL: its server programs, its clusters, and the way to talk to it.

mod build;
mod cache;
mod cluster;
mod copy;
mod ddl;
mod external;
mod failure;
mod inspect;
mod kind;
mod load;
mod login;
mod memory_limiter;
mod messages;
mod numeric;
mod programs;
mod running;
mod session;
mod source;
mod statement;
mod statistics;
mod value;

use std::{ops::ControlFlow, path::Path, time::Duration};

use octavo_units::{ByteCount, PageSize};
use octavo_workload::Workload;

use crate::{
    Database, DatabaseError, DatabaseKind, Inspection, LoadReport, Progress, RestoreMethod,
    Running, Settings,
};
use cluster::Cluster;
use programs::major_of;

use programs::Programs;

pub(crate) use external::ExternalPostgres;
pub(crate) use kind::KIND;

/// The first version with direct I/O, by its parameter `debug_io_direct`
/// (<https://www.postgresql.org/docs/16/runtime-config-developer.html>).
const DIRECT_IO_MAJOR: u32 = 16;

/// Smaller pages cannot be read past the page cache: `PG_IO_ALIGN_SIZE`
/// (pg_config_manual.h), checked by the server at its start.
const DIRECT_IO_PAGE_MIN: PageSize = PageSize::kib(4);

/// PostgreSQL as a database under test.
///
/// Page sizes are fixed when it is compiled, so each has programs of its own.
/// Servers run in clusters of Octavo's own, reached by a Unix socket in the
/// cluster's directory; a commit is flushed before it returns. Versions 14 to
/// 18.
///
/// From version 16 on, its files are opened for direct I/O and
/// [`Settings::memory`] is its `shared_buffers`. Before, the server and the
/// page cache of what it reads are held to that memory together, of which an
/// eighth is left to the page cache; what the server's processes take for
/// themselves comes on top, as it changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Postgres {
    /// Where the programs come from.
    programs: Programs,
    /// The block size of the write-ahead log; 8 KiB by default.
    wal_block_size: PageSize,
    /// Whether the log takes a whole page at its first change after a
    /// checkpoint, which is what protects from torn pages; on by default.
    full_page_writes: bool,
    /// The time between checkpoints, at least 30 s. By default the least, so
    /// that a run has whole cycles; the server's own default is 5 minutes.
    checkpoint_timeout: Duration,
    /// Whether data files are opened for direct I/O, from version 16 on; on by
    /// default.
    direct_io: bool,
}

impl Postgres {
    /// Whether a server of this page size reads past the page cache.
    fn is_direct(&self) -> Result<bool, DatabaseError> {
        Ok(self.direct_io
            && major_of(&self.programs.version()?).is_some_and(|major| major >= DIRECT_IO_MAJOR))
    }

    fn cluster(&self, directory: &Path, page_size: PageSize) -> Result<Cluster, DatabaseError> {
        let programs = self.programs.find(page_size, self.wal_block_size)?;
        Cluster::new(directory, programs)
    }
}

impl Database for Postgres {
    fn kind(&self) -> &'static DatabaseKind {
        &KIND
    }

    fn version(&self) -> String {
        // What cannot be told is refused by `choose` and again when needed.
        self.programs.version().unwrap_or_default()
    }

    fn accept(&self, settings: &Settings) -> Result<(), DatabaseError> {
        KIND.check(settings)?;
        if !self.programs.covers(settings.page_size) {
            return Err(refuse(
                "page size",
                settings.page_size.to_string(),
                "bin names no programs for it, and no source or version says what to build".into(),
            ));
        }
        let direct = self.is_direct()?;
        if direct && settings.page_size < DIRECT_IO_PAGE_MIN {
            return Err(refuse(
                "page size",
                settings.page_size.to_string(),
                "direct I/O needs pages of at least 4 KiB: leave smaller ones out, or give \
                 direct-io off, so that all page sizes reach the storage in the same way"
                    .into(),
            ));
        }
        let least = running::Shares::least(settings, direct);
        if settings.memory < least {
            return Err(refuse(
                "memory",
                settings.memory.to_string(),
                format!(
                    "{} clients with {} a page need at least {least}",
                    settings.clients, settings.page_size
                ),
            ));
        }
        Ok(())
    }

    fn estimate(&self, workload: &dyn Workload, page_size: PageSize) -> ByteCount {
        ddl::estimate(workload, page_size)
    }

    /// A checkpoint cycle's log, and the one before it.
    fn logs(&self) -> ByteCount {
        ByteCount::mib(1024)
    }

    fn prepare(
        &self,
        page_sizes: &[PageSize],
        step: &mut dyn FnMut(&str) -> ControlFlow<()>,
    ) -> Result<(), DatabaseError> {
        self.programs.prepare(page_sizes, self.wal_block_size, step)
    }

    /// As [`Database::load`] says. When it fails, a part of the snapshot may be
    /// there: the caller removes the directory.
    fn load(
        &self,
        snapshot: &Path,
        page_size: PageSize,
        workload: &dyn Workload,
        progress: &mut Progress<'_>,
    ) -> Result<LoadReport, DatabaseError> {
        let cluster = self.cluster(snapshot, page_size)?;
        load::load(cluster, page_size, workload, progress)
    }

    fn restore(&self, snapshot: &Path, run: &Path) -> Result<RestoreMethod, DatabaseError> {
        cluster::restore(snapshot, run)
    }

    fn start(
        &self,
        run: &Path,
        settings: &Settings,
        workload: &dyn Workload,
    ) -> Result<Box<dyn Running>, DatabaseError> {
        self.accept(settings)?;
        let found = cluster::page_size_of(run)?;
        if found != settings.page_size {
            return Err(refuse(
                "page size",
                settings.page_size.to_string(),
                format!("the copy has pages of {found}"),
            ));
        }
        let cluster = self.cluster(run, found)?;
        let running = running::RunningPostgres::start(self, cluster, settings, workload)?;
        Ok(Box::new(running))
    }

    fn inspect(
        &self,
        directory: &Path,
        workload: &dyn Workload,
    ) -> Result<Box<dyn Inspection>, DatabaseError> {
        let cluster = self.cluster(directory, cluster::page_size_of(directory)?)?;
        let inspection = inspect::open(cluster, workload)?;
        Ok(Box::new(inspection))
    }
}

/// A setting's refusal.
fn refuse(setting: &'static str, value: String, reason: String) -> DatabaseError {
    KIND.refuse(setting, value, reason)
}
