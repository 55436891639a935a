//! The description of the database that is like Oracle.

use std::sync::Arc;

use octavo_database::{
    Advice, Change, ChangeLine, ChangePlace, Cost, DatabaseKind, Defaults, OnlyModeled, OptionKind,
    PageSizes, ValueKind, buffer_is_all,
};
use octavo_units::{ByteCount, PageSize};

use super::{Oracle, OracleSettings};
use crate::{
    description::{Comparison, ModeledKind, ProcessorCosts, Timing},
    innodb, postgres,
};

/// As Oracle 11.2.
pub(crate) static KIND: ModeledKind = ModeledKind {
    database: &DATABASE,
    model: |options, _| {
        Ok(Arc::new(Oracle(OracleSettings {
            redo: options.get("redo"),
            is_log_elsewhere: options.get("log-elsewhere"),
            flushes_pages: options.get("checkpoint-flush"),
        })))
    },
    processor: ProcessorCosts::StandIn(&postgres::KIND),
    timing: Timing::ReadsAndLog,
    worth_measuring: 0.6,
    // As far as InnoDB's at least: nothing was compared.
    misses_off: innodb::MISSES_OFF,
    comparison: Comparison::Never,
};

/// Heaps, undo records in pages of their own, touch counts: as Oracle has them.
///
/// Sources: Oracle Database Reference 11.2, `DB_BLOCK_SIZE` (2 to 32 KiB, default 8 KiB) and
/// `DB_nK_CACHE_SIZE`; Administrator's Guide 11.2, "Specifying Nonstandard Block Sizes for
/// Tablespaces".
static DATABASE: DatabaseKind = DatabaseKind {
    name: "oracle-like",
    aliases: &[],
    title: "Oracle-like",
    is_server: true,
    has_threads: false,
    merges_files: false,
    writes_between_checkpoints: false,
    own_sizes: None,
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
        buffer_size: buffer_is_all,
        session_buffers: None,
        rebuild: None,
    },
    make: |_| {
        Ok(Box::new(OnlyModeled {
            kind: &DATABASE,
            version: "11.2 (modeled)",
        }))
    },
};

/// The least redo log of an Oracle-like database: three files of 4 MiB. Chosen.
const REDO_MIN: ByteCount = ByteCount::mib(12);
