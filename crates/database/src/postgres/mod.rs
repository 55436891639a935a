//! PostgreSQL: its server programs, its clusters, and the way to talk to it.

mod build;
mod cache;
mod cluster;
mod configured;
mod copy;
mod ddl;
mod external;
mod failure;
mod inspect;
mod kind;
mod load;
mod login;
mod messages;
mod numeric;
mod own;
mod programs;
mod record;
mod refusal;
mod reporting;
mod running;
mod session;
mod shared_memory;
mod shares;
mod source;
mod statement;
mod statistics;
mod value;

use std::{
    ops::ControlFlow,
    path::{Path, PathBuf},
    time::Duration,
};

use octavo_units::{ByteCount, PageSize};
use octavo_workload::Workload;

use shares::Shares;

use crate::{
    CopyOwn, Database, DatabaseKind, Derive, Inspection, LoadReport, Progress, RecordPages,
    RestoreMethod, Result, Running, Settings, database::at_rate,
};
use configured::Postgres;

pub(crate) use external::ExternalPostgres;
pub use kind::KIND;
pub(crate) use shared_memory::free_below;

/// Smaller pages cannot be read past the page cache: `PG_IO_ALIGN_SIZE`
/// (pg_config_manual.h), checked by the server at its start.
const DIRECT_IO_PAGE_MIN: PageSize = PageSize::kib(4);

impl Database for Postgres {
    fn kind(&self) -> &'static DatabaseKind {
        &KIND
    }

    fn version(&self) -> String {
        // What cannot be told is refused by `choose` and again when needed.
        self.programs.version().unwrap_or_default()
    }

    fn accept(&self, settings: &Settings) -> Result<()> {
        KIND.check(settings)?;
        if !self.programs.covers(settings.page_size) {
            return Err(KIND.refuse(
                "page size",
                settings.page_size,
                "bin names no programs for it, and no source or version says what to build",
            ));
        }
        let direct = self.is_direct()?;
        if direct && settings.page_size < DIRECT_IO_PAGE_MIN {
            return Err(KIND.refuse(
                "page size",
                settings.page_size,
                "direct I/O needs pages of at least 4 KiB: leave smaller ones out, or give \
                 direct-io off, so that all page sizes reach the storage in the same way",
            ));
        }
        let least = Shares::least(settings, direct);
        if settings.memory < least {
            return Err(KIND.refuse(
                "memory",
                settings.memory,
                format!(
                    "{} clients with {} a page need at least {least}",
                    settings.clients, settings.page_size
                ),
            ));
        }
        let most = Shares::most(settings.page_size, direct);
        if settings.memory > most {
            return Err(KIND.refuse(
                "memory",
                settings.memory,
                format!(
                    "with {} a page its buffer has at most 1,073,741,823 pages \
                     (shared_buffers): give at most {} GiB",
                    settings.page_size,
                    most.get() >> 30
                ),
            ));
        }
        Ok(())
    }

    fn estimate(&self, workload: &dyn Workload, page_size: PageSize) -> ByteCount {
        ddl::estimate(workload, page_size)
    }

    fn estimate_rows(&self, workload: &dyn Workload, page_size: PageSize) -> ByteCount {
        ddl::estimate_rows(workload, page_size)
    }

    fn buffer(&self, memory: ByteCount) -> Result<ByteCount> {
        Ok(Shares::divide(memory, self.is_direct()?).buffer)
    }

    /// A checkpoint's log may be up to twice what it was asked to be, while it is
    /// spread.
    fn logs(&self) -> ByteCount {
        self.max_wal_size.saturating_mul(2)
    }

    /// Making the cluster, and rows as fast as two processors make them.
    fn load_time(&self, snapshot: ByteCount) -> Duration {
        Duration::from_secs(1) + at_rate(40, snapshot)
    }

    fn find_programs(&self) -> Result<()> {
        self.programs.version().map(drop)
    }

    fn programs_directory(&self, page_sizes: &[PageSize]) -> Result<Option<PathBuf>> {
        self.programs
            .is_built_for(page_sizes)
            .then(cache::cache_directory)
            .transpose()
    }

    fn prepare(
        &self,
        page_sizes: &[PageSize],
        step: &mut dyn FnMut(&str) -> ControlFlow<()>,
    ) -> Result<()> {
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
    ) -> Result<LoadReport> {
        match workload.copy_of() {
            Some(copy) => own::dump(self, copy, snapshot, progress),
            None => {
                let cluster = self.cluster(snapshot, page_size)?;
                load::load(cluster, page_size, workload, progress)
            }
        }
    }

    fn copies_own(&self) -> Option<&dyn CopyOwn> {
        Some(self)
    }

    fn records_pages(&self) -> Result<&dyn RecordPages> {
        Ok(self)
    }

    /// The user's own database is asked for its rows once.
    fn derivation(&self, workload: &dyn Workload) -> Option<&dyn Derive> {
        workload.copy_of().map(|_| self as &dyn Derive)
    }

    fn restore(&self, snapshot: &Path, run: &Path) -> Result<RestoreMethod> {
        cluster::restore(snapshot, run)
    }

    fn start(
        &self,
        run: &Path,
        settings: &Settings,
        workload: &dyn Workload,
    ) -> Result<Box<dyn Running>> {
        self.accept(settings)?;
        let found = cluster::page_size_of(run)?;
        if found != settings.page_size {
            return Err(KIND.refuse(
                "page size",
                settings.page_size,
                format!("the copy has pages of {found}"),
            ));
        }
        let cluster = self.cluster(run, found)?;
        let running = running::RunningPostgres::start(self, cluster, settings, workload)?;
        Ok(Box::new(running))
    }

    fn inspect(&self, directory: &Path, workload: &dyn Workload) -> Result<Box<dyn Inspection>> {
        let cluster = self.cluster(directory, cluster::page_size_of(directory)?)?;
        let inspection = inspect::open(cluster, workload)?;
        Ok(Box::new(inspection))
    }
}
