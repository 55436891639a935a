//! Databases that cannot be measured here and are only predicted: what plans and reports
//! have to know of them.

use std::path::Path;

use octavo_units::{ByteCount, PageSize};
use octavo_workload::{Workload, schema::Table};

use crate::{
    Database, DatabaseError, DatabaseKind, Inspection, LoadReport, Progress, RestoreMethod, Result,
    Running, Settings, estimate::sum_of_tables,
};

/// Pages of a buffer below which nothing works: a transaction's pages find no room. Chosen.
const PAGES_MIN: u64 = 64;

/// Bytes of a row besides its values, and of an index's entry with columns of 8 bytes each;
/// and how full pages are. For planning the size of data: models know it better.
const ROW_OVERHEAD: u64 = 12;
const ENTRY: u64 = 12;
const ENTRY_COLUMN: u64 = 8;
const FILL_PERCENT: u64 = 85;

/// A database of which there is only a model: it says what it can have, and is refused
/// wherever it would have to run.
#[derive(Debug)]
pub struct OnlyModeled {
    /// Its description.
    pub kind: &'static DatabaseKind,
    /// The version that is modeled, in words.
    pub version: &'static str,
}

impl OnlyModeled {
    fn refuse(&self) -> DatabaseError {
        let reason = "there is only a model of it, octavo predict has it";
        self.kind.refuse("database", self.kind.name, reason)
    }
}

impl Database for OnlyModeled {
    fn kind(&self) -> &'static DatabaseKind {
        self.kind
    }

    fn version(&self) -> String {
        self.version.to_owned()
    }

    fn accept(&self, settings: &Settings) -> Result<()> {
        self.kind.check(settings)?;
        let least = PAGES_MIN * u64::from(settings.page_size.get());
        if settings.memory.get() < least {
            let reason = format!(
                "pages of {} need {}",
                settings.page_size,
                ByteCount::new(least)
            );
            return Err(self.kind.refuse("memory", settings.memory, reason));
        }
        match settings.isolation {
            Some(isolation) => {
                let reason = "there is no model of levels, leave it out";
                Err(self.kind.refuse("isolation", isolation, reason))
            }
            None => Ok(()),
        }
    }

    fn estimate(&self, workload: &dyn Workload, _page_size: PageSize) -> ByteCount {
        let of_table = |table: &Table, rows: u64| {
            let row = u64::from(table.row_bytes_mean) + ROW_OVERHEAD;
            let keys = std::iter::once(table.primary_key.len()).filter(|columns| *columns > 0);
            let indexes = keys.chain(table.indexes.iter().map(|index| index.columns.len()));
            let entries = indexes.map(|columns| ENTRY + ENTRY_COLUMN * columns as u64);
            let used = rows.saturating_mul(row + entries.sum::<u64>());
            used / FILL_PERCENT * 100
        };
        ByteCount::new(sum_of_tables(workload, of_table))
    }

    fn load(
        &self,
        _snapshot: &Path,
        _page_size: PageSize,
        _workload: &dyn Workload,
        _progress: &mut Progress<'_>,
    ) -> Result<LoadReport> {
        Err(self.refuse())
    }

    fn restore(&self, _snapshot: &Path, _run: &Path) -> Result<RestoreMethod> {
        Err(self.refuse())
    }

    fn start(
        &self,
        _run: &Path,
        _settings: &Settings,
        _workload: &dyn Workload,
    ) -> Result<Box<dyn Running>> {
        Err(self.refuse())
    }

    fn inspect(&self, _directory: &Path, _workload: &dyn Workload) -> Result<Box<dyn Inspection>> {
        Err(self.refuse())
    }
}
