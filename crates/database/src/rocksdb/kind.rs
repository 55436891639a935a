//! The description of RocksDB.

use std::{path::PathBuf, time::Duration};

use octavo_units::{ByteCount, PageSize};

use super::{
    configured::{BLOOM_BITS, RocksDb},
    library::LIBRARY,
    store::{Format, Memory},
    trees::trees,
};
use crate::{
    Advice, Change, ChangeLine, ChangePlace, DatabaseKind, Defaults, OptionKind, OwnSizes,
    PageSizes, ReadAhead, ValueKind,
};

/// The option that compresses blocks.
const COMPRESSION: &str = "compression";

/// The option that gives trees block sizes of their own.
pub(super) const BLOCK_SIZES: &str = "block-sizes";

/// The smallest and the largest block: offered, and of trees of their own.
const SMALLEST: PageSize = PageSize::kib(1);
const LARGEST: PageSize = PageSize::kib(64);

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
    merges_files: true,
    writes_between_checkpoints: false,
    own_sizes: Some(&OWN_SIZES),
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
        OptionKind::new(
            BLOCK_SIZES,
            ValueKind::PageSizesByName(SMALLEST..=LARGEST),
            None,
            "block sizes of tables and indexes that differ, such as stock=4K,order_line=16K",
        ),
    ],
    page_sizes: PageSizes {
        smallest: SMALLEST,
        largest: LARGEST,
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
                IN_EACH_SECTION,
                ChangeLine::always("block_size={bytes}"),
                ChangeLine::always(
                    "# In code: BlockBasedOptions::set_block_size({bytes}) (Rust) or",
                ),
                ChangeLine::always("# BlockBasedTableOptions::block_size = {bytes} (C++)"),
                ChangeLine::always(
                    "# In a running program, for each family: DB::SetOptions(family,",
                ),
                ChangeLine::always(
                    "#   {{\"block_based_table_factory\", \"{block_size={bytes};}\"}})",
                ),
                WRITE_ANEW,
            ],
            costs: &[],
        },
        buffer: Change {
            place: OPTIONS_FILE,
            lines: &[
                IN_EACH_SECTION,
                ChangeLine::always("cache_index_and_filter_blocks=true"),
                // RocksDB reads block_cache from the file, and writes the next file without it.
                ChangeLine::always("# One cache for all families, which only code can set:"),
                ChangeLine::always(
                    "# Rust: BlockBasedOptions::set_block_cache(&Cache::new_lru_cache({bytes}))",
                ),
                ChangeLine::always(
                    "# C++: BlockBasedTableOptions::block_cache = NewLRUCache({bytes})",
                ),
                ChangeLine::always(
                    "# below 2 GiB with num_shard_bits, so that a shard has 32 MiB or more,",
                ),
                ChangeLine::always("# and write buffers of a third of that (db_write_buffer_size)"),
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
                block_sizes: options.given_value(BLOCK_SIZES).unwrap_or_default(),
            },
        }))
    },
};

/// Iterators read two blocks by themselves; behind these `readahead_size` begins with 8 KiB and doubles up to
/// 256 KiB (`num_file_reads_for_auto_readahead`, `initial_auto_readahead_size` and
/// `max_auto_readahead_size` in `include/rocksdb/table.h`).
///
/// Of seven eighths of all write buffers the one that is oldest is emptied (`WriteBufferManager`), so how
/// long a row stays varies. Three quarters were chosen by one measurement (TPC-C, 8 MiB of write buffers,
/// blocks of 4, 16 and 64 KiB): 3.25, 3.00 and 3.75 reads of stock a transaction. A simulation of such a
/// cache has 3.3, 3.3 and 3.5 with three quarters, and 5.6, 6.9 and 7.4 without write buffers.
static OWN_SIZES: OwnSizes = OwnSizes {
    option: BLOCK_SIZES,
    trees,
    read_ahead: Some(ReadAhead {
        alone: 2,
        first: ByteCount::kib(8),
        most: ByteCount::kib(256),
    }),
    recent: |memory| {
        let buffers = Memory::of(memory).write_buffers.get();
        ByteCount::new(buffers / 4 * 3)
    },
    change: Change {
        place: OPTIONS_FILE,
        lines: &[
            IN_EACH_SECTION,
            ChangeLine::always(
                "# In a running program: DB::SetOptions(family, {{\"block_based_table_factory\",",
            ),
            ChangeLine::always(
                "#   \"{block_size=BYTES;}\"}}). Families need table factories of their own.",
            ),
            WRITE_ANEW,
            ChangeLine::always("block_size={bytes}    # {name}"),
        ],
        costs: &[],
    },
};

/// Where options of blocks stand in the file that `LoadOptionsFromFile` reads
/// (<https://github.com/facebook/rocksdb/wiki/RocksDB-Options-File>).
const OPTIONS_FILE: ChangePlace = ChangePlace::Configuration {
    file: "RocksDB's options file",
    section: None,
};

/// A second section of the same name undoes the first (`options/options_parser.cc`), and of two lines in a
/// section the first counts.
const IN_EACH_SECTION: ChangeLine = ChangeLine::always(
    "# In the section [TableOptions/BlockBasedTable \"NAME\"] of each family, in place of its line:",
);

/// With `kForce` RocksDB would write files of the last level twice.
const WRITE_ANEW: ChangeLine = ChangeLine::always(
    "# Files change when written anew: CompactRange(), bottommost_level_compaction = kForceOptimized",
);
