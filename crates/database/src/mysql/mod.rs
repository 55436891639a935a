//! MySQL and MariaDB: their server programs, their data directories, and the
//! way to talk to them.

mod adaptive_wait;
mod arguments;
mod auth;
mod channel;
mod configured;
mod ddl;
mod estimate;
mod external;
mod failure;
mod fields;
mod flavour;
mod handshake;
mod infile;
mod inspect;
mod instance;
mod kind;
mod layout;
mod load;
mod old_blocks;
mod own;
mod programs;
mod record;
mod running;
mod session;
mod status;
#[cfg(test)]
mod tests;
mod time;
mod value;

use std::{path::Path, time::Duration};

use octavo_units::{ByteCount, PageSize};
use octavo_workload::Workload;

use crate::{
    CopyOwn, Database, DatabaseError, DatabaseKind, Derive, Inspection, LoadReport, Progress,
    RecordPages, RestoreMethod, Result, Running, Settings,
    database::at_rate,
    server::{account::Account, tree},
};
use configured::Mysql;
use flavour::{Doublewrite, Flavour};
use layout::Layout;

pub(crate) use external::ExternalMysql;
pub use kind::{MARIADB, MYSQL};

impl Database for Mysql {
    fn kind(&self) -> &'static DatabaseKind {
        self.flavour.kind()
    }

    /// As the server tells it; empty while there is no server.
    fn version(&self) -> String {
        let found = self.programs();
        found.map_or_else(|_| String::new(), |found| found.version.text.clone())
    }

    fn accept(&self, settings: &Settings) -> Result<()> {
        self.kind().check(settings)?;
        let page_size = settings.page_size;
        let least = self.flavour.buffer_min(page_size);
        if settings.memory < least {
            let reason = format!("the smallest buffer pool with {page_size} a page has {least}");
            return Err(self.kind().refuse("memory", settings.memory, reason));
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

    fn estimate_rows(&self, workload: &dyn Workload, page_size: PageSize) -> ByteCount {
        estimate::estimate_rows(workload, page_size)
    }

    /// Making the data directory, rows as fast as two processors make them,
    /// and a slow shutdown.
    fn load_time(&self, snapshot: ByteCount) -> Duration {
        let empty = match self.flavour {
            Flavour::Mysql => Duration::from_secs(4),
            Flavour::Mariadb => Duration::from_secs(2),
        };
        empty + at_rate(25, snapshot)
    }

    fn find_programs(&self) -> Result<()> {
        self.programs().map(drop)
    }

    /// Looks for the programs.
    fn prepare(
        &self,
        _: &[PageSize],
        _: &mut dyn FnMut(&str) -> std::ops::ControlFlow<()>,
    ) -> Result<()> {
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
    ) -> Result<LoadReport> {
        match workload.copy_of() {
            Some(copy) => own::dump(self, copy, snapshot, progress),
            None => {
                let layout = Layout::resolve(snapshot)?;
                load::load(self.programs()?, &layout, page_size, workload, progress)
            }
        }
    }

    fn copies_own(&self) -> Option<&dyn CopyOwn> {
        Some(self)
    }

    fn records_pages(&self) -> Result<&dyn RecordPages> {
        match self.flavour {
            Flavour::Mariadb => Ok(self),
            Flavour::Mysql => Err(DatabaseError::Unrecorded {
                reason: record::NOT_OF_MYSQL,
            }),
        }
    }

    /// The user's own database is asked for its rows once.
    fn derivation(&self, workload: &dyn Workload) -> Option<&dyn Derive> {
        workload.copy_of().map(|_| self as &dyn Derive)
    }

    fn restore(&self, snapshot: &Path, run: &Path) -> Result<RestoreMethod> {
        tree::restore(snapshot, run, Account::of_servers()?.as_ref())
    }

    fn start(
        &self,
        run: &Path,
        settings: &Settings,
        workload: &dyn Workload,
    ) -> Result<Box<dyn Running>> {
        self.accept(settings)?;
        let layout = Layout::resolve(run)?;
        let programs = self.programs()?;
        let running = running::RunningMysql::start(self, programs, &layout, settings, workload)?;
        Ok(Box::new(running))
    }

    fn inspect(&self, directory: &Path, workload: &dyn Workload) -> Result<Box<dyn Inspection>> {
        let layout = Layout::resolve(directory)?;
        let page_size = layout.page_size()?;
        let inspection = inspect::open(self.programs()?, layout, page_size, workload)?;
        Ok(Box::new(inspection))
    }
}
