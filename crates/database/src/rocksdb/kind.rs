//! The description of RocksDB.

use std::{path::PathBuf, time::Duration};

use octavo_units::{ByteCount, PageSize};

use super::{
    configured::RocksDb,
    library::LIBRARY,
    store::{Format, Memory},
};
use crate::{
    Advice, Change, ChangeLine, ChangePlace, DatabaseKind, Defaults, OptionKind, PageSizes,
    ValueKind,
};

/// The option that compresses blocks.
const COMPRESSION: &str = "compression";

/// The option that sizes Bloom filters.
const BLOOM_BITS: &str = "bloom-bits";

/// Names of compressions, and their numbers (`rocksdb/c.h`).
const COMPRESSIONS: [(&str, i32); 4] = [("none", 0), ("snappy", 1), ("lz4", 4), ("zstd", 7)];

/// Its page size is `block_size`, by whose bytes (before compression) a block of rows is ended
/// (`include/rocksdb/table.h`: 4 KiB by default; "Setup Options and Basic Tuning" recommends 16).
///
/// Rows are not compressed by default: those of Octavo's workloads are random, and compress as nobody's
/// rows do. Bloom filters have 10 bits, as that page recommends; RocksDB's own default is none.
pub static KIND: DatabaseKind = DatabaseKind {
    name: "rocksdb",
    aliases: &[],
    title: "RocksDB",
    is_server: false,
    has_threads: true,
    writes_between_checkpoints: false,
    options: &[
        OptionKind::new(
            LIBRARY,
            ValueKind::Text,
            None,
            "the file librocksdb.so; else the newest that is installed",
        ),
        OptionKind {
            is_condition: true,
            ..OptionKind::new(
                COMPRESSION,
                ValueKind::Word(&["none", "snappy", "lz4", "zstd"]),
                Some("none"),
                "of blocks: none, snappy, lz4 or zstd",
            )
        },
        OptionKind {
            is_condition: true,
            ..OptionKind::new(
                BLOOM_BITS,
                ValueKind::Number(0..=20),
                Some("10"),
                "bits of Bloom filters for each key; 0 is no filter",
            )
        },
    ],
    page_sizes: PageSizes {
        smallest: PageSize::kib(1),
        largest: PageSize::kib(64),
        default: PageSize::kib(4),
    },
    defaults: Defaults {
        budget: Duration::from_mins(10),
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
            place: OPTIONS_FILE,
            lines: &[
                ChangeLine::always("block_size={bytes}"),
                ChangeLine::always("# Rust: BlockBasedOptions::set_block_size({bytes})"),
                ChangeLine::always("# C++: BlockBasedTableOptions::block_size = {bytes}"),
                ChangeLine::always(
                    "# In a running program: DB::SetOptions(family, {{\"block_based_table_factory\",",
                ),
                ChangeLine::always("#   \"{block_size={bytes};}\"}})"),
                ChangeLine::always(
                    "# Files have it when they are written anew: CompactRange(), with",
                ),
                ChangeLine::always("#   bottommost_level_compaction = kForce"),
            ],
            costs: &[],
        },
        buffer: Change {
            place: OPTIONS_FILE,
            lines: &[
                ChangeLine::always("block_cache={bytes}"),
                ChangeLine::always("cache_index_and_filter_blocks=true"),
            ],
            costs: &[],
        },
        buffer_size: |memory, _, _| Memory::of(memory).cache,
        session_buffers: None,
        rebuild: None,
    },
    make: |options| {
        let compression: &str = options.get(COMPRESSION);
        let known = COMPRESSIONS.iter().find(|(name, _)| *name == compression);
        let bloom_bits: u64 = options.get(BLOOM_BITS);
        Ok(Box::new(RocksDb {
            library: options.given_value::<String>(LIBRARY).map(PathBuf::from),
            format: Format {
                compression: known.map_or(0, |(_, number)| *number),
                bloom_bits: u32::try_from(bloom_bits).unwrap_or(0),
            },
        }))
    },
};

/// Where options of blocks stand in the file that `LoadOptionsFromFile` reads
/// (<https://github.com/facebook/rocksdb/wiki/RocksDB-Options-File>).
const OPTIONS_FILE: ChangePlace = ChangePlace::Configuration {
    file: "RocksDB's options file",
    section: Some("[TableOptions/BlockBasedTable \"default\"]"),
};
