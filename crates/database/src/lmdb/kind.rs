//! The description of LMDB.

use std::time::Duration;

use octavo_units::{ByteCount, PageSize};

use super::library::Lmdb;
use crate::{
    Advice, Change, ChangeLine, ChangePlace, Cost, DatabaseKind, Defaults, OptionKind, PageSizes,
    ValueKind,
    description::buffer_is_all,
    mapped::{Mapped, READAHEAD},
};

/// Sources: `lmdb.h` and `mdb.c` of LMDB's branch mdb.master3, from which 1.0 was made (`mdb_env_set_pagesize`:
/// powers of two from 256 to 65,536 bytes, and the system's by default; versions before have the system's, up to
/// 32 KiB).
/// Those below the page cache's own are left out: each of them is read and written as one of its pages.
///
/// Read-ahead is off by default, though in LMDB it has to be turned off (`MDB_NORDAHEAD`, of which lmdb.h says that it helps
/// where data is larger than memory, as here). What is read ahead does not shrink with the memory of an experiment, so
/// it would fill a small one.
pub static KIND: DatabaseKind = DatabaseKind {
    name: "lmdb",
    aliases: &[],
    title: "LMDB",
    is_server: false,
    has_threads: false,
    merges_files: false,
    writes_between_checkpoints: true,
    own_sizes: None,
    options: &[OptionKind {
        is_condition: true,
        is_of_runs: true,
        ..OptionKind::new(
            READAHEAD,
            ValueKind::Switch,
            Some("off"),
            "whether the kernel reads neighbours of a page along (MDB_NORDAHEAD): on or off",
        )
    }],
    page_sizes: PageSizes {
        smallest: PageSize::kib(4),
        largest: PageSize::kib(64),
        default: PageSize::kib(4),
    },
    defaults: Defaults {
        budget: Duration::from_mins(5),
        memories: &[ByteCount::mib(32), ByteCount::mib(96)],
        page_sizes: &[
            PageSize::kib(4),
            PageSize::kib(8),
            PageSize::kib(16),
            PageSize::kib(32),
            PageSize::kib(64),
        ],
        clients: 1,
        held_by_os: None,
    },
    advice: Advice {
        page_size: Change {
            place: ChangePlace::Shell,
            lines: &[
                ChangeLine::always(
                    "# LMDB 1.0 or later; the mdb_dump of 0.9 for files of 0.9. End all programs that use the database first.",
                ),
                ChangeLine::always("set -o pipefail; mkdir NEW"),
                ChangeLine::always(
                    "mdb_dump -a OLD | sed 's/^db_pagesize=.*/db_pagesize={bytes}/' | mdb_load NEW",
                ),
                ChangeLine::always(
                    "mdb_stat -a OLD; mdb_stat -a NEW  # The same entries? -a leaves out keys outside of named databases",
                ),
                ChangeLine::always(
                    "# New ones: mdb_env_set_pagesize(env, {bytes}) before mdb_env_open",
                ),
            ],
            costs: &[Cost::ExclusiveAccess, Cost::RoomForCopy],
        },
        // It has no cache of its own, so there is nothing to type: more memory is more page cache.
        buffer: Change {
            place: ChangePlace::Shell,
            lines: &[],
            costs: &[],
        },
        buffer_size: buffer_is_all,
        session_buffers: None,
        rebuild: None,
    },
    make: |options| Ok(Box::new(Mapped::<Lmdb>::new(&KIND, options.get(READAHEAD)))),
};
