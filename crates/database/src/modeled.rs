//! Databases that cannot be measured here and are only predicted: what plans and reports
//! have to know of them.

use std::path::Path;

use octavo_units::{ByteCount, PageSize};
use octavo_workload::{Workload, schema::Table};

use crate::{
    Advice, Change, ChangeLine, ChangePlace, Cost, Database, DatabaseError, DatabaseKind, Defaults,
    Inspection, LoadReport, OptionKind, PageSizes, Progress, RestoreMethod, Result, Running,
    Settings, ValueKind, estimate::sum_of_tables,
};

/// Heaps, undo records in pages of their own, touch counts: as Oracle has them.
///
/// Sources: Oracle Database Reference 11.2, `DB_BLOCK_SIZE` (2 to 32 KiB, default 8 KiB) and
/// `DB_nK_CACHE_SIZE`; Administrator's Guide 11.2, "Specifying Nonstandard Block Sizes for
/// Tablespaces".
pub(crate) static ORACLE_LIKE: DatabaseKind = DatabaseKind {
    name: "oracle-like",
    aliases: &[],
    title: "Oracle-like",
    is_server: true,
    options: &[
        // Three files of 50 MiB are the default.
        OptionKind::new(
            "redo",
            ValueKind::Bytes(REDO_MIN..=ByteCount::mib(1 << 20)),
            Some("150MiB"),
            "size of the redo log, all of its three files",
        ),
        OptionKind::new(
            "log-elsewhere",
            ValueKind::Switch,
            Some("off"),
            "redo and undo on another device, which takes no time",
        ),
        OptionKind::new(
            "checkpoint-flush",
            ValueKind::Switch,
            Some("on"),
            "whether checkpoints flush the cache of the device",
        ),
    ],
    page_sizes: PageSizes {
        smallest: PageSize::kib(2),
        largest: PageSize::kib(32),
        default: PageSize::kib(8),
    },
    defaults: Defaults::of_server(&[
        PageSize::kib(2),
        PageSize::kib(4),
        PageSize::kib(8),
        PageSize::kib(16),
        PageSize::kib(32),
    ]),
    advice: Advice {
        page_size: Change {
            place: ChangePlace::OneSession,
            // Blocks of other sizes than the database's have caches of their own.
            lines: &[
                ChangeLine::always(
                    "ALTER SYSTEM SET db_{kib}k_cache_size = 1G;  -- size its cache",
                ),
                ChangeLine::always(
                    "CREATE TABLESPACE other DATAFILE 'other.dbf' SIZE 10G BLOCKSIZE {bytes};",
                ),
                ChangeLine::always("ALTER TABLE name MOVE TABLESPACE other;  -- each"),
                ChangeLine::always("ALTER INDEX name REBUILD TABLESPACE other;  -- each"),
            ],
            costs: &[Cost::RoomForCopy],
        },
        buffer: Change {
            place: ChangePlace::OneSession,
            lines: &[ChangeLine::always(
                "ALTER SYSTEM SET db_cache_size = {bytes};  -- of the default block size",
            )],
            costs: &[],
        },
    },
    make: |_| {
        Ok(Box::new(Modeled {
            kind: &ORACLE_LIKE,
            version: "11.2 (modeled)",
        }))
    },
};

/// Heaps, undo records in the log, a buffer with hot and cold zones: as CUBRID has them.
///
/// Source: `IO_MIN_PAGE_SIZE`, `IO_MAX_PAGE_SIZE` and `IO_DEFAULT_PAGE_SIZE`
/// (storage_common.h, 8.4), and the manual's `createdb` and `data_buffer_size`.
pub(crate) static CUBRID_LIKE: DatabaseKind = DatabaseKind {
    name: "cubrid-like",
    aliases: &[],
    title: "CUBRID-like",
    is_server: true,
    options: &[],
    page_sizes: PageSizes {
        smallest: PageSize::kib(4),
        largest: PageSize::kib(16),
        default: PageSize::kib(16),
    },
    defaults: Defaults::of_server(&[PageSize::kib(4), PageSize::kib(8), PageSize::kib(16)]),
    advice: Advice {
        page_size: Change {
            place: ChangePlace::Shell,
            lines: &[
                ChangeLine::always("cubrid unloaddb name"),
                ChangeLine::always(
                    "cubrid createdb --db-page-size={bytes} other en_US.utf8  # 9.2 and later",
                ),
                ChangeLine::always("cubrid loaddb -u dba -s name_schema -d name_objects other"),
            ],
            costs: &[Cost::DumpAndRestore],
        },
        buffer: Change {
            place: ChangePlace::Configuration {
                file: "cubrid.conf",
                section: Some("[common]"),
            },
            lines: &[ChangeLine::always("data_buffer_size={kib}K")],
            costs: &[],
        },
    },
    make: |_| {
        Ok(Box::new(Modeled {
            kind: &CUBRID_LIKE,
            version: "8.4 (modeled)",
        }))
    },
};

/// The least redo log of an Oracle-like database: three files of 4 MiB. Chosen.
const REDO_MIN: ByteCount = ByteCount::mib(12);

/// Pages of a buffer below which nothing works: a transaction's pages find no room. Chosen.
const PAGES_MIN: u64 = 64;

/// Bytes of a row besides its values, and of an index's entry with columns of 8 bytes each;
/// and how full pages are. For planning the size of data: models know it better.
const ROW_OVERHEAD: u64 = 12;
const ENTRY: u64 = 12;
const ENTRY_COLUMN: u64 = 8;
const FILL_PERCENT: u64 = 85;

/// One of them.
struct Modeled {
    kind: &'static DatabaseKind,
    version: &'static str,
}

impl Modeled {
    fn refuse(&self) -> DatabaseError {
        let reason = "there is only a model of it, octavo predict has it";
        self.kind.refuse("database", self.kind.name, reason)
    }
}

impl Database for Modeled {
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
