//! MySQL and MariaDB: their server programs, their data directories, and the
//! way to talk to them.

mod adaptive_wait;
mod arguments;
mod auth;
mod channel;
mod ddl;
mod estimate;
mod external;
mod failure;
mod fields;
mod handshake;
mod infile;
mod inspect;
mod instance;
mod kind;
mod layout;
mod load;
mod marks;
mod programs;
mod running;
mod session;
mod status;
#[cfg(test)]
mod tests;
mod time;
mod value;

use std::{
    path::{Path, PathBuf},
    sync::OnceLock,
};

use octavo_units::{ByteCount, PageSize};
use octavo_workload::Workload;

use crate::{
    Database, DatabaseError, DatabaseKind, Inspection, LoadReport, Progress, RestoreMethod,
    Running, Settings,
    server::{account::Account, tree},
};
use layout::Layout;
use programs::Programs;

pub(crate) use external::ExternalMysql;
pub(crate) use kind::{MARIADB, MYSQL};

/// The least redo log that all versions take: 8 MiB of MySQL since 8.0.30.
const REDO_MIN: ByteCount = arguments::REST_REDO;

/// Which of the two servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flavour {
    /// MySQL.
    Mysql,
    /// MariaDB.
    Mariadb,
}

impl Flavour {
    /// Its description.
    pub(crate) const fn kind(self) -> &'static DatabaseKind {
        match self {
            Self::Mysql => &MYSQL,
            Self::Mariadb => &MARIADB,
        }
    }

    /// The smallest buffer pool that it starts with at a page size.
    ///
    /// MariaDB says it when it refuses less; found with 10.11.19. MySQL's is 5
    /// MiB, and 24 MiB for pages above 16 KiB (`innobase_init` in
    /// `ha_innodb.cc`).
    const fn buffer_min(self, page_size: PageSize) -> ByteCount {
        ByteCount::mib(match (self, page_size.get()) {
            (Self::Mariadb, 0..=4096) => 2,
            (Self::Mariadb, 4097..=8192) => 3,
            (Self::Mariadb, 8193..=16_384) => 6,
            (Self::Mariadb, 16_385..=32_768) => 11,
            (Self::Mariadb, _) => 21,
            (Self::Mysql, 0..=16_384) => 5,
            (Self::Mysql, _) => 24,
        })
    }
}

/// How pages that were only half written at a crash are guarded against
/// (<https://mariadb.com/kb/en/innodb-doublewrite-buffer/>).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Doublewrite {
    /// Each page is written twice.
    On,
    /// Each page is written once: a crash may leave a page that cannot be
    /// repaired, unless the storage writes pages whole.
    Off,
    /// As the server does on its own. It is on; MariaDB leaves it out where it
    /// finds a device that writes pages whole (`innodb_use_atomic_writes`).
    Detect,
}

/// MySQL or MariaDB as a database under test, with InnoDB. MySQL 5.7 to 9,
/// MariaDB 10.5 to 11.
///
/// Page sizes are fixed when a data directory is made, so each has a load of
/// its own. Servers run in data directories of Octavo's own, reached by a Unix
/// socket in them; a commit is flushed before it returns
/// (`innodb_flush_log_at_trx_commit=1`), and there is no binary log. Files are
/// opened for direct I/O, so that [`Settings::memory`], which becomes the
/// `innodb_buffer_pool_size` in whole MiB, is all memory that holds data; where
/// the file system has no direct I/O, the page cache comes on top, without a
/// limit.
#[derive(Clone, Debug)]
pub(crate) struct Mysql {
    flavour: Flavour,
    /// The directory of the server's programs, or the server itself; by
    /// default what is found on `PATH` and in the usual directories.
    programs: Option<PathBuf>,
    /// How torn pages are guarded against; by the doublewrite by default.
    doublewrite: Doublewrite,
    /// The redo log; 512 MiB by default, so that checkpoints do not dominate.
    redo: ByteCount,
    /// What was found once.
    found: OnceLock<Programs>,
}

impl Mysql {
    /// The programs, looked for once.
    fn programs(&self) -> Result<&Programs, DatabaseError> {
        if let Some(found) = self.found.get() {
            return Ok(found);
        }
        let found = Programs::find(self.flavour, self.programs.as_deref())?;
        Ok(self.found.get_or_init(|| found))
    }
}

impl Database for Mysql {
    fn kind(&self) -> &'static DatabaseKind {
        self.flavour.kind()
    }

    /// As the server tells it; "not found" while there is no server.
    fn version(&self) -> String {
        let found = self.programs();
        found.map_or("not found".into(), |found| found.version.text.clone())
    }

    fn accept(&self, settings: &Settings) -> Result<(), DatabaseError> {
        self.kind().check(settings)?;
        let page_size = settings.page_size;
        let least = self.flavour.buffer_min(page_size);
        if settings.memory < least {
            let reason = format!("the smallest buffer pool with {page_size} a page has {least}");
            let memory = settings.memory.to_string();
            return Err(self.kind().refuse("memory", memory, reason));
        }
        Ok(())
    }

    /// The redo log of a run, or of a load.
    fn logs(&self) -> ByteCount {
        self.redo.max(load::REDO)
    }

    fn estimate(&self, workload: &dyn Workload, page_size: PageSize) -> ByteCount {
        estimate::estimate(workload, page_size)
    }

    /// Looks for the programs.
    fn prepare(
        &self,
        _: &[PageSize],
        _: &mut dyn FnMut(&str) -> std::ops::ControlFlow<()>,
    ) -> Result<(), DatabaseError> {
        self.programs().map(drop)
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
        let layout = Layout::of(snapshot)?;
        load::load(self.programs()?, &layout, page_size, workload, progress)
    }

    fn restore(&self, snapshot: &Path, run: &Path) -> Result<RestoreMethod, DatabaseError> {
        tree::restore(snapshot, run, Account::of_servers()?.as_ref())
    }

    fn start(
        &self,
        run: &Path,
        settings: &Settings,
        workload: &dyn Workload,
    ) -> Result<Box<dyn Running>, DatabaseError> {
        self.accept(settings)?;
        let layout = Layout::of(run)?;
        let programs = self.programs()?;
        let running = running::RunningMysql::start(self, programs, &layout, settings, workload)?;
        Ok(Box::new(running))
    }

    fn inspect(
        &self,
        directory: &Path,
        workload: &dyn Workload,
    ) -> Result<Box<dyn Inspection>, DatabaseError> {
        let layout = Layout::of(directory)?;
        let page_size = layout.page_size()?;
        let inspection = inspect::open(self.programs()?, layout, page_size, workload)?;
        Ok(Box::new(inspection))
    }
}
