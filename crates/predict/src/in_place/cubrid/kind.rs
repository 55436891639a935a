//! The description of the database that is like CUBRID.

use std::sync::Arc;

use octavo_database::{
    Advice, Change, ChangeLine, ChangePlace, Cost, DatabaseKind, Defaults, OnlyModeled, PageSizes,
    buffer_is_all,
};
use octavo_units::PageSize;

use super::Cubrid;
use crate::{
    description::{Comparison, ModeledKind, ProcessorCosts, Timing},
    innodb, postgres,
};

/// As CUBRID 11.4.
pub(crate) static KIND: ModeledKind = ModeledKind {
    database: &DATABASE,
    model: |_, _| Ok(Arc::new(Cubrid)),
    processor: ProcessorCosts::StandIn(&postgres::KIND),
    timing: Timing::ReadsAndLog,
    worth_measuring: 0.6,
    // As far as InnoDB's at least: no misses were compared.
    misses_off: innodb::MISSES_OFF,
    comparison: Comparison::Never,
};

/// Heaps, undo records in the log, a buffer with hot and cold zones: as CUBRID has them.
///
/// Source: `IO_MIN_PAGE_SIZE`, `IO_MAX_PAGE_SIZE` and `IO_DEFAULT_PAGE_SIZE`
/// (storage_common.h, 8.4), and the manual's `createdb` and `data_buffer_size`.
static DATABASE: DatabaseKind = DatabaseKind {
    name: "cubrid-like",
    aliases: &[],
    title: "CUBRID-like",
    is_server: true,
    has_threads: false,
    merges_files: false,
    writes_between_checkpoints: false,
    own_sizes: None,
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
        buffer_size: buffer_is_all,
        session_buffers: None,
        rebuild: None,
    },
    make: |_| {
        Ok(Box::new(OnlyModeled {
            kind: &DATABASE,
            version: "11.4 (modeled)",
        }))
    },
};
