//! The description of libmdbx.

use std::time::Duration;

use octavo_units::{ByteCount, PageSize};

use super::library::Libmdbx;
use crate::{
    Advice, Change, ChangeLine, ChangePlace, Cost, DatabaseKind, Defaults, OptionKind, PageSizes,
    ValueKind,
    description::buffer_is_all,
    mapped::{Mapped, READAHEAD},
};

/// Sources: libmdbx's `mdbx.h` of 0.13 (`mdbx_env_set_geometry`: "the page size of a database being
/// created", powers of two from 256 to 65,536 bytes, and the system's by default). Those below the page
/// cache's own are left out: each of them is read and written as one of its pages.
///
/// Read-ahead is off by default, as in the programs that most people run it in: erigon
/// (`mdbx.NoReadahead`) and reth (`no_rdahead: true`).
pub static KIND: DatabaseKind = DatabaseKind {
    name: "libmdbx",
    aliases: &["mdbx"],
    title: "libmdbx",
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
            "whether the kernel reads neighbours of a page along (MDBX_NORDAHEAD): on or off",
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
                ChangeLine::always("# End all programs that use the database first."),
                ChangeLine::always(
                    "mdbx_dump -a OLD | sed 's/^db_pagesize=.*/db_pagesize={bytes}/' | mdbx_load NEW",
                ),
                ChangeLine::always("mdbx_chk NEW"),
                ChangeLine::always(
                    "# New ones: mdbx_env_set_geometry(env, -1, -1, -1, -1, -1, {bytes}) before mdbx_env_open",
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
    make: |options| {
        Ok(Box::new(Mapped::<Libmdbx>::new(
            &KIND,
            options.get(READAHEAD),
        )))
    },
};
