//! Open databases: a directory, with a column family for each tree.

#![expect(
    unsafe_code,
    reason = "RocksDB is a library of C++ with an interface of C"
)]

use std::{
    cell::RefCell,
    ffi::{CStr, CString, c_char, c_int},
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
    ptr, slice,
    sync::Arc,
};

use octavo_units::{ByteCount, PageSize};
use octavo_workload::{ConnectionError, Result};

use super::{
    blocks::{self, ClientBlocks, FamilyBlocks},
    failure::{Text, sort},
    library::{self, Library},
};
use crate::{
    keyed::{Order, TreeId, Visit},
    options::PageSizesByName,
};

/// The family that each database has, and that no tree is in.
const DEFAULT_FAMILY: &str = "default";

/// What files are written with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Format {
    /// As `rocksdb_no_compression` and others number them.
    pub(super) compression: c_int,
    /// Bits of a Bloom filter for each key; 0 is none.
    pub(super) bloom_bits: u32,
    /// Block sizes of trees that have one of their own.
    pub(super) block_sizes: PageSizesByName,
}

/// What a database is opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose<'f> {
    /// To be filled, with blocks of this size: it is made, and has no log.
    Fill(&'f Format, PageSize),
    /// To run, with blocks of this size: commits are durable.
    Run(&'f Format, PageSize, Memory),
    /// To be read by nobody else.
    Inspect,
}

impl<'f> Purpose<'f> {
    fn format(self) -> Option<(&'f Format, PageSize)> {
        match self {
            Self::Fill(format, page_size) | Self::Run(format, page_size, _) => {
                Some((format, page_size))
            }
            Self::Inspect => None,
        }
    }

    fn memory(self) -> Memory {
        match self {
            Self::Run(_, _, memory) => memory,
            Self::Fill(..) | Self::Inspect => Memory {
                cache: INSPECT_CACHE,
                write_buffers: FILL_WRITE_BUFFERS,
            },
        }
    }

    /// The block size of a tree; `None` where files are only read.
    fn block_size(self, tree: &str) -> Option<PageSize> {
        let (format, page_size) = self.format()?;
        Some(format.block_sizes.of(tree).unwrap_or(page_size))
    }
}

/// How a memory is divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Memory {
    /// The block cache, which has blocks of indexes and filters too.
    pub(super) cache: ByteCount,
    /// Write buffers of all column families together.
    pub(super) write_buffers: ByteCount,
}

impl Memory {
    /// A quarter for write buffers, the rest for the cache. Chosen: the tuning guide wants a block cache
    /// of a third of all memory, with the page cache behind it, which direct I/O leaves out
    /// (<https://github.com/facebook/rocksdb/wiki/Setup-Options-and-Basic-Tuning>).
    pub(super) fn of(all: ByteCount) -> Self {
        let write_buffers = ByteCount::new(all.get() / 4);
        Self {
            cache: ByteCount::new(all.get() - write_buffers.get()),
            write_buffers,
        }
    }
}

/// How large levels and files of merged rows are.
struct Levels {
    /// The first level below the files of write buffers.
    base: ByteCount,
    file: ByteCount,
}

impl Levels {
    /// RocksDB's own sizes, 256 and 64 MiB, are four times and once its own write buffer of 64 MiB
    /// (`include/rocksdb/advanced_options.h`). Smaller buffers keep that: with 8 MiB and 255 MiB of data,
    /// whose size lay about the level's, one block size rewrote all data in a merge and another a
    /// tenth of it.
    fn of(write_buffers: ByteCount) -> Self {
        let file = write_buffers.clamp(ByteCount::mib(1), ByteCount::mib(64));
        Self {
            base: file.saturating_mul(4),
            file,
        }
    }
}

/// Write buffers while rows are loaded.
const FILL_WRITE_BUFFERS: ByteCount = ByteCount::mib(128);

/// The cache of who reads everything once.
const INSPECT_CACHE: ByteCount = ByteCount::mib(8);

/// RocksDB's own size of a write buffer's arena block where it is left to itself: an eighth of the
/// buffer, and at most this (`SanitizeOptions` in `db/column_family.cc`).
const ARENA_BLOCK_MAX: u64 = 1 << 20;

/// As RocksDB rounds sizes of arena blocks.
const ARENA_BLOCK_MIN: u64 = 1 << 12;

/// Files at the bottom are merged as well (`BottommostLevelCompaction::kForce`): RocksDB would else do that
/// when the first snapshot is released, and each run would begin with writing all rows anew.
const REWRITE_ALL: u8 = 2;

/// The property that counts failures of threads of its own.
const BACKGROUND_ERRORS: &CStr = c"rocksdb.background-errors";

/// Which messages its own log (the file `LOG`) has: warnings and errors (`InfoLogLevel::WARN_LEVEL`).
const LOG_WARNINGS: c_int = 2;

/// The least part of a cache that has a lock of its own: what RocksDB's newer cache has by default
/// (`HyperClockCacheOptions::min_shard_size` in `include/rocksdb/cache.h`).
const SHARD_MIN: u64 = 32 << 20;

/// The most parts, as a power of two: RocksDB's own limit.
const SHARD_BITS_MAX: u32 = 6;

/// Into how many parts a cache is divided, as a power of two. By itself the LRU cache has parts of 512 KiB:
/// the index of one file, some hundred KiB, then throws out whatever else is in its part, which is no more
/// than a fault of small caches (measured: TPC-C with 280 MiB of data and 24 MiB of cache read 3 MiB a
/// transaction, for 9 misses).
fn shard_bits(cache: ByteCount) -> c_int {
    let parts = (cache.get() / SHARD_MIN).max(1);
    parts.ilog2().min(SHARD_BITS_MAX).cast_signed()
}

/// A block cache.
struct BlockCache {
    library: &'static Library,
    raw: *mut library::Cache,
}

impl BlockCache {
    fn new(library: &'static Library, capacity: ByteCount) -> Self {
        let f = &library.functions;
        // SAFETY: the options are freed when the cache has been made of them.
        let raw = unsafe {
            let lru = (f.lru_cache_options_create)();
            (f.lru_cache_options_set_capacity)(lru, bytes(capacity));
            (f.lru_cache_options_set_num_shard_bits)(lru, shard_bits(capacity));
            let raw = (f.cache_create_lru_opts)(lru);
            (f.lru_cache_options_destroy)(lru);
            raw
        };
        Self { library, raw }
    }
}

impl Drop for BlockCache {
    fn drop(&mut self) {
        // SAFETY: who uses the cache holds it as well.
        unsafe { (self.library.functions.cache_destroy)(self.raw) };
    }
}

fn bytes(count: ByteCount) -> usize {
    usize::try_from(count.get()).unwrap_or(usize::MAX)
}

/// How column families with one block size are opened, and the database with the first of them.
struct Opening {
    library: &'static Library,
    /// `None` where files are only read.
    block_size: Option<PageSize>,
    options: *mut library::Options,
    table: *mut library::BlockOptions,
}

impl Opening {
    fn new(
        purpose: Purpose<'_>,
        block_size: Option<PageSize>,
        families: usize,
        cache: &BlockCache,
    ) -> Self {
        let library = cache.library;
        let f = &library.functions;
        let write_buffers = purpose.memory().write_buffers;
        // SAFETY: options are made, set with values that they take, and freed by `drop`.
        unsafe {
            let table = (f.block_based_options_create)();
            (f.block_based_options_set_block_cache)(table, cache.raw);
            (f.block_based_options_set_cache_index_and_filter_blocks)(table, 1);
            if let Some(size) = block_size {
                (f.block_based_options_set_block_size)(table, size.get() as usize);
            }
            let options = (f.options_create)();
            if let Some((format, _)) = purpose.format() {
                if format.bloom_bits > 0 {
                    let filter = (f.filterpolicy_create_bloom)(format.bloom_bits.into());
                    // The options own it from here on.
                    (f.block_based_options_set_filter_policy)(table, filter);
                }
                (f.options_set_compression)(options, format.compression);
            }
            (f.options_set_block_based_table_factory)(options, table);
            (f.options_set_use_direct_reads)(options, 1);
            (f.options_set_use_direct_io_for_flush_and_compaction)(options, 1);
            (f.options_set_db_write_buffer_size)(options, bytes(write_buffers));
            // Else each family empties its own at 64 MiB, however much there is for all.
            let own = write_buffers.max(ByteCount::mib(64));
            (f.options_set_write_buffer_size)(options, bytes(own));
            let arena = write_buffers.get() / (8 * families as u64);
            let arena = arena.clamp(ARENA_BLOCK_MIN, ARENA_BLOCK_MAX);
            (f.options_set_arena_block_size)(options, arena as usize);
            let levels = Levels::of(write_buffers);
            (f.options_set_max_bytes_for_level_base)(options, levels.base.get());
            (f.options_set_target_file_size_base)(options, levels.file.get());
            // Else transactions keep buffers that are on disk already, up to 128 MiB a family, beyond
            // the memory.
            (f.options_set_max_write_buffer_size_to_maintain)(options, 1);
            // The default of newer versions (11.8, not 7.8): rows that are loaded are at the bottom,
            // where long use has them.
            (f.options_set_level_compaction_dynamic_level_bytes)(options, 1);
            (f.options_set_info_log_level)(options, LOG_WARNINGS);
            (f.options_set_keep_log_file_num)(options, 2);
            (f.options_set_stats_dump_period_sec)(options, 0);
            (f.options_set_stats_persist_period_sec)(options, 0);
            match purpose {
                Purpose::Fill(..) => {
                    (f.options_set_create_if_missing)(options, 1);
                    (f.options_set_create_missing_column_families)(options, 1);
                    (f.options_set_error_if_exists)(options, 1);
                }
                Purpose::Run(..) => (f.options_enable_statistics)(options),
                Purpose::Inspect => {}
            }
            Self {
                library,
                block_size,
                options,
                table,
            }
        }
    }

    /// The openings of all these families, and which of them each family has. The first is that of the
    /// default family, which comes last.
    fn all(
        library: &'static Library,
        purpose: Purpose<'_>,
        trees: &[String],
    ) -> (Vec<Self>, Vec<usize>) {
        let cache = BlockCache::new(library, purpose.memory().cache);
        let families = trees.len() + 1;
        let of = |size| Self::new(purpose, size, families, &cache);
        let usual = purpose.block_size(DEFAULT_FAMILY);
        let mut openings = vec![of(usual)];
        let sizes = trees.iter().map(|tree| purpose.block_size(tree));
        let positions = sizes.chain([usual]).map(|size| {
            let known = openings
                .iter()
                .position(|opening| opening.block_size == size);
            known.unwrap_or_else(|| {
                openings.push(of(size));
                openings.len() - 1
            })
        });
        let positions = positions.collect();
        (openings, positions)
    }
}

impl Drop for Opening {
    fn drop(&mut self) {
        let f = &self.library.functions;
        // SAFETY: both were made by `new`, and databases have copies of them.
        unsafe {
            (f.options_destroy)(self.options);
            (f.block_based_options_destroy)(self.table);
        }
    }
}

/// An open database.
pub(super) struct Store {
    library: &'static Library,
    path: PathBuf,
    opened: Opened,
    /// By [`TreeId`], and then the default one.
    families: Vec<*mut library::ColumnFamily>,
    /// What clients read of each.
    blocks: Vec<FamilyBlocks>,
    /// What its statistics are asked of.
    options: Opening,
}

#[derive(Clone, Copy)]
enum Opened {
    /// Without transactions.
    Plain(*mut library::Db),
    Transactional(*mut library::TransactionDb),
}

// SAFETY: databases may be shared by threads without synchronization
// (<https://github.com/facebook/rocksdb/wiki/Basic-Operations>, "Concurrency").
unsafe impl Send for Store {}
// SAFETY: as above.
unsafe impl Sync for Store {}

impl Store {
    /// Opens the directory `path`, with these trees.
    ///
    /// # Errors
    /// When RocksDB refuses.
    pub(super) fn open(
        library: &'static Library,
        path: &Path,
        purpose: Purpose<'_>,
        trees: &[String],
    ) -> Result<Self> {
        let context = || format!("open {}", path.display());
        let odd = |error| ConnectionError::other(context(), error);
        let name = CString::new(path.as_os_str().as_bytes()).map_err(odd)?;
        let names = trees.iter().map(String::as_str).chain([DEFAULT_FAMILY]);
        let names: Vec<CString> = names
            .map(|name| CString::new(name).map_err(odd))
            .collect::<Result<_>>()?;
        let names: Vec<*const c_char> = names.iter().map(|name| name.as_ptr()).collect();
        let count = c_int::try_from(names.len())
            .map_err(|error| ConnectionError::other(context(), error))?;
        let (mut openings, positions) = Opening::all(library, purpose, trees);
        let all: Vec<*const library::Options> = positions
            .into_iter()
            .map(|position| openings[position].options.cast_const())
            .collect();
        let options = openings[0].options;
        let mut families = vec![ptr::null_mut(); names.len()];
        // SAFETY: names end with NUL and live; each list is as long as `count` says.
        let opened = library.ask(|f, refusal| unsafe {
            let (name, names, all) = (name.as_ptr(), names.as_ptr(), all.as_ptr());
            let handles = families.as_mut_ptr();
            match purpose {
                Purpose::Fill(..) => Opened::Plain((f.open_column_families)(
                    options, name, count, names, all, handles, refusal,
                )),
                Purpose::Inspect => Opened::Plain((f.open_for_read_only_column_families)(
                    options, name, count, names, all, handles, 0, refusal,
                )),
                Purpose::Run(..) => {
                    let transactions = (f.transactiondb_options_create)();
                    let opened = (f.transactiondb_open_column_families)(
                        options,
                        transactions,
                        name,
                        count,
                        names,
                        all,
                        handles,
                        refusal,
                    );
                    (f.transactiondb_options_destroy)(transactions);
                    Opened::Transactional(opened)
                }
            }
        });
        Ok(Self {
            library,
            path: path.to_owned(),
            opened: opened.map_err(|text| sort(text, context))?,
            blocks: families.iter().map(|_| FamilyBlocks::default()).collect(),
            families,
            options: openings.swap_remove(0),
        })
    }

    /// The names of the trees of a directory.
    ///
    /// # Errors
    /// When it is no database.
    pub(super) fn trees(library: &'static Library, path: &Path) -> Result<Vec<String>> {
        let context = || format!("open {}", path.display());
        let name = CString::new(path.as_os_str().as_bytes());
        let name = name.map_err(|error| ConnectionError::other(context(), error))?;
        let (openings, _) = Opening::all(library, Purpose::Inspect, &[]);
        let options = openings[0].options;
        let mut length = 0;
        // SAFETY: the name ends with NUL and lives.
        let list = library.ask(|f, refusal| unsafe {
            (f.list_column_families)(options, name.as_ptr(), &raw mut length, refusal)
        });
        let list = list.map_err(|text| sort(text, context))?;
        let mut trees = Vec::new();
        for position in 0..length {
            // SAFETY: the list has `length` texts that end with NUL.
            let text = unsafe { CStr::from_ptr(*list.add(position)) };
            trees.push(text.to_string_lossy().into_owned());
        }
        // SAFETY: nobody uses it any more.
        unsafe { (library.functions.list_column_families_destroy)(list, length) };
        trees.retain(|name| name != DEFAULT_FAMILY);
        Ok(trees)
    }

    /// What it has counted, as its text of tickers and histograms.
    pub(super) fn statistics(&self) -> String {
        let f = &self.library.functions;
        // SAFETY: the options are those that it was opened with.
        let text = unsafe { (f.options_statistics_get_string)(self.options.options) };
        self.library.take(text).unwrap_or_default()
    }

    /// Writes all that is in write buffers to files, and merges these into one level.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(super) fn settle(&self) -> Result<()> {
        let Opened::Plain(db) = self.opened else {
            return Ok(());
        };
        let f = &self.library.functions;
        for family in &self.families {
            // SAFETY: the family is the database's; no bounds are all keys.
            let done = self.library.ask(|f, refusal| unsafe {
                let options = (f.flushoptions_create)();
                (f.flush_cf)(db, options, *family, refusal);
                (f.flushoptions_destroy)(options);
            });
            done.map_err(|text| self.refused(text, "flush"))?;
            // SAFETY: as above.
            unsafe {
                let options = (f.compactoptions_create)();
                (f.compactoptions_set_bottommost_level_compaction)(options, REWRITE_ALL);
                (f.compact_range_cf_opt)(db, *family, options, ptr::null(), 0, ptr::null(), 0);
                (f.compactoptions_destroy)(options);
            }
        }
        let mut errors = 0;
        // SAFETY: the name ends with NUL.
        let asked = unsafe { (f.property_int)(db, BACKGROUND_ERRORS.as_ptr(), &raw mut errors) };
        match errors {
            0 if asked == 0 => Ok(()),
            // Merging tells of none itself.
            _ => Err(ConnectionError::other(
                format!("merge files of {}", self.path.display()),
                format!("{errors} errors: the file LOG there says which"),
            )),
        }
    }

    fn refused(&self, text: Text, action: &str) -> ConnectionError {
        sort(text, || format!("{action} {}", self.path.display()))
    }

    /// What clients read of a tree.
    pub(super) fn blocks(&self, tree: TreeId) -> &FamilyBlocks {
        &self.blocks[tree.0]
    }

    fn family(&self, tree: TreeId) -> *mut library::ColumnFamily {
        self.families[tree.0]
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        let f = &self.library.functions;
        // SAFETY: clients hold the store, so none is left; families go before their database.
        unsafe {
            for family in &self.families {
                (f.column_family_handle_destroy)(*family);
            }
            match self.opened {
                Opened::Plain(db) => (f.close)(db),
                Opened::Transactional(db) => (f.transactiondb_close)(db),
            }
        }
    }
}

/// Rows on their way into a database that is filled.
pub(super) struct Batch<'s> {
    store: &'s Store,
    batch: *mut library::WriteBatch,
    options: *mut library::WriteOptions,
    bytes: usize,
}

/// Bytes of keys and values that are written at a time.
const BATCH_BYTES: usize = 256 << 10;

impl<'s> Batch<'s> {
    pub(super) fn new(store: &'s Store) -> Self {
        let f = &store.library.functions;
        // SAFETY: both are freed by `drop`.
        unsafe {
            let options = (f.writeoptions_create)();
            // A load that fails is thrown away as a whole.
            (f.writeoptions_disable_WAL)(options, 1);
            Self {
                store,
                batch: (f.writebatch_create)(),
                options,
                bytes: 0,
            }
        }
    }

    pub(super) fn put(&mut self, tree: TreeId, key: &[u8], value: &[u8]) -> Result<()> {
        let f = &self.store.library.functions;
        let family = self.store.family(tree);
        let (k, v) = (key.as_ptr().cast(), value.as_ptr().cast());
        // SAFETY: it copies as many bytes as it is told.
        unsafe { (f.writebatch_put_cf)(self.batch, family, k, key.len(), v, value.len()) };
        self.bytes += key.len() + value.len();
        match self.bytes >= BATCH_BYTES {
            true => self.write(),
            false => Ok(()),
        }
    }

    /// Hands over what was put.
    pub(super) fn write(&mut self) -> Result<()> {
        let store = self.store;
        let Opened::Plain(db) = store.opened else {
            let why = "it was opened for transactions";
            return Err(ConnectionError::other("fill a database", why));
        };
        // SAFETY: the batch is of this database.
        let written = store.library.ask(|f, refusal| unsafe {
            (f.write)(db, self.options, self.batch, refusal);
            (f.writebatch_clear)(self.batch);
        });
        self.bytes = 0;
        written.map_err(|text| store.refused(text, "write"))
    }
}

impl Drop for Batch<'_> {
    fn drop(&mut self) {
        let f = &self.store.library.functions;
        // SAFETY: both were made by `new`.
        unsafe {
            (f.writebatch_destroy)(self.batch);
            (f.writeoptions_destroy)(self.options);
        }
    }
}

/// A client's transactions, one after the other.
pub(super) struct Handle {
    store: Arc<Store>,
    read: *mut library::ReadOptions,
    write: *mut library::WriteOptions,
    options: *mut library::TransactionOptions,
    open: Open,
    /// The transaction that writes; null where none does.
    transaction: *mut library::Transaction,
    blocks: RefCell<ClientBlocks>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Open {
    None,
    /// With the snapshot; null where nobody writes.
    Reading(*const library::Snapshot),
    Writing,
}

// SAFETY: a transaction is used by one thread at a time, and need not be the one that began it.
unsafe impl Send for Handle {}

impl Handle {
    /// `fills_cache`: whether blocks that it reads stay in the cache.
    pub(super) fn new(store: Arc<Store>, fills_cache: bool) -> Self {
        let f = &store.library.functions;
        // SAFETY: all are freed by `drop`.
        unsafe {
            let read = (f.readoptions_create)();
            (f.readoptions_set_fill_cache)(read, fills_cache.into());
            let write = (f.writeoptions_create)();
            (f.writeoptions_set_sync)(write, 1);
            let options = (f.transaction_options_create)();
            (f.transaction_options_set_set_snapshot)(options, 1);
            (f.transaction_options_set_deadlock_detect)(options, 1);
            Self {
                read,
                write,
                options,
                open: Open::None,
                transaction: ptr::null_mut(),
                blocks: RefCell::new(ClientBlocks::new(store.families.len())),
                store,
            }
        }
    }

    /// Begins to read, as of now.
    pub(super) fn begin_read(&mut self) {
        self.end();
        let f = &self.store.library.functions;
        let snapshot = match self.store.opened {
            Opened::Plain(_) => ptr::null(),
            // SAFETY: it is released when the transaction ends.
            Opened::Transactional(db) => unsafe { (f.transactiondb_create_snapshot)(db) },
        };
        // SAFETY: the options let go of it before it is released.
        unsafe { (f.readoptions_set_snapshot)(self.read, snapshot) };
        self.open = Open::Reading(snapshot);
    }

    /// Begins to read as of now, and to write.
    pub(super) fn begin_write(&mut self) -> Result<()> {
        self.end();
        let f = &self.store.library.functions;
        let Opened::Transactional(db) = self.store.opened else {
            let why = "it was opened for reading";
            return Err(ConnectionError::other("begin to write", why));
        };
        // SAFETY: the snapshot is the transaction's, and lives as long as that; its handle is freed
        // here.
        unsafe {
            self.transaction = (f.transaction_begin)(db, self.write, self.options, ptr::null_mut());
            let snapshot = (f.transaction_get_snapshot)(self.transaction);
            (f.readoptions_set_snapshot)(self.read, snapshot);
            (f.free)(snapshot.cast_mut().cast());
        }
        self.open = Open::Writing;
        Ok(())
    }

    /// Makes what was written durable.
    pub(super) fn commit(&mut self) -> Result<()> {
        let done = match self.open {
            // SAFETY: it is open.
            Open::Writing => self.store.library.ask(|f, refusal| unsafe {
                (f.transaction_commit)(self.transaction, refusal);
            }),
            _ => Ok(()),
        };
        if let Err(text) = done {
            // The first error says more.
            let _undone = self.rollback();
            return Err(self.store.refused(text, "commit to"));
        }
        self.end();
        Ok(())
    }

    /// Undoes what was written; nothing where no transaction is open.
    pub(super) fn rollback(&mut self) -> Result<()> {
        let done = match self.open {
            // SAFETY: it is open.
            Open::Writing => self.store.library.ask(|f, refusal| unsafe {
                (f.transaction_rollback)(self.transaction, refusal);
            }),
            _ => Ok(()),
        };
        self.end();
        done.map_err(|text| self.store.refused(text, "undo a transaction of"))
    }

    fn end(&mut self) {
        if self.open == Open::None {
            return;
        }
        let f = &self.store.library.functions;
        // SAFETY: the options let go of the snapshot first.
        unsafe { (f.readoptions_set_snapshot)(self.read, ptr::null()) };
        if let (Open::Reading(snapshot), Opened::Transactional(db)) = (self.open, self.store.opened)
        {
            // SAFETY: it is this database's, and nobody has it any more.
            unsafe { (f.transactiondb_release_snapshot)(db, snapshot) };
        }
        if !self.transaction.is_null() {
            // SAFETY: it has ended; its snapshot goes with it, which lives as long.
            unsafe { (f.transaction_destroy)(self.transaction) };
            self.transaction = ptr::null_mut();
        }
        self.open = Open::None;
        self.blocks.get_mut().hand_over(&self.store.blocks);
    }

    /// Does something that reads a tree, and counts what that takes.
    pub(super) fn counted<R>(&self, tree: TreeId, call: impl FnOnce() -> R) -> R {
        let done = blocks::count(self.store.library, &self.blocks, tree.0, call);
        // Transactions hand over at their end.
        if self.open == Open::None && self.blocks.borrow().are_many() {
            self.blocks.borrow_mut().hand_over(&self.store.blocks);
        }
        done
    }

    pub(super) fn get<R>(
        &self,
        tree: TreeId,
        key: &[u8],
        take: impl FnOnce(&[u8]) -> R,
    ) -> Result<Option<R>> {
        let (family, length) = (self.store.family(tree), key.len());
        let key = key.as_ptr().cast();
        // SAFETY: the key has as many bytes as it is told, and the transaction is open.
        let found = self.store.library.ask(|f, refusal| unsafe {
            match (self.open, self.store.opened) {
                (Open::Writing, _) => (f.transaction_get_pinned_cf)(
                    self.transaction,
                    self.read,
                    family,
                    key,
                    length,
                    refusal,
                ),
                (_, Opened::Transactional(db)) => {
                    (f.transactiondb_get_pinned_cf)(db, self.read, family, key, length, refusal)
                }
                (_, Opened::Plain(db)) => {
                    (f.get_pinned_cf)(db, self.read, family, key, length, refusal)
                }
            }
        });
        let found = found.map_err(|text| self.store.refused(text, "read"))?;
        Ok(self.value(found, take))
    }

    /// Whether a key is there, which nobody else may change until the transaction ends.
    pub(super) fn lock(&self, tree: TreeId, key: &[u8]) -> Result<bool> {
        let family = self.store.family(tree);
        // SAFETY: as in `get`; who calls it writes.
        let found = self.store.library.ask(|f, refusal| unsafe {
            let (bytes, length) = (key.as_ptr().cast(), key.len());
            (f.transaction_get_pinned_for_update_cf)(
                self.transaction,
                self.read,
                family,
                bytes,
                length,
                1,
                refusal,
            )
        });
        let found = found.map_err(|text| self.store.refused(text, "read"))?;
        Ok(self.value(found, |_| ()).is_some())
    }

    fn value<R>(
        &self,
        found: *mut library::PinnedValue,
        take: impl FnOnce(&[u8]) -> R,
    ) -> Option<R> {
        if found.is_null() {
            return None;
        }
        let f = &self.store.library.functions;
        let mut length = 0;
        // SAFETY: the value lives until it is destroyed, below.
        let taken = unsafe {
            let bytes = (f.pinnableslice_value)(found, &raw mut length);
            take(bytes_of(bytes, length))
        };
        // SAFETY: nobody has it any more.
        unsafe { (f.pinnableslice_destroy)(found) };
        Some(taken)
    }

    pub(super) fn range(
        &self,
        tree: TreeId,
        from: &[u8],
        order: Order,
        visit: &mut Visit<'_>,
    ) -> Result<()> {
        let f = &self.store.library.functions;
        let family = self.store.family(tree);
        // SAFETY: the transaction is open, and the iterator ends before it.
        let iterator = unsafe {
            match (self.open, self.store.opened) {
                (Open::Writing, _) => {
                    (f.transaction_create_iterator_cf)(self.transaction, self.read, family)
                }
                (_, Opened::Transactional(db)) => {
                    (f.transactiondb_create_iterator_cf)(db, self.read, family)
                }
                (_, Opened::Plain(db)) => (f.create_iterator_cf)(db, self.read, family),
            }
        };
        let mut iterator = Entries {
            library: self.store.library,
            iterator,
        };
        iterator.seek(from, order);
        while let Some((key, value)) = iterator.entry() {
            if visit(key, value).is_break() {
                break;
            }
            iterator.step(order);
        }
        iterator
            .ended()
            .map_err(|text| self.store.refused(text, "read"))
    }

    pub(super) fn put(&mut self, tree: TreeId, key: &[u8], value: &[u8]) -> Result<()> {
        let family = self.store.family(tree);
        // SAFETY: it copies as many bytes as it is told; who calls it writes.
        let done = self.store.library.ask(|f, refusal| unsafe {
            let (k, v) = (key.as_ptr().cast(), value.as_ptr().cast());
            let (k_length, v_length) = (key.len(), value.len());
            (f.transaction_put_cf)(self.transaction, family, k, k_length, v, v_length, refusal);
        });
        done.map_err(|text| self.store.refused(text, "write to"))
    }

    pub(super) fn delete(&mut self, tree: TreeId, key: &[u8]) -> Result<()> {
        let family = self.store.family(tree);
        // SAFETY: as in `put`.
        let done = self.store.library.ask(|f, refusal| unsafe {
            (f.transaction_delete_cf)(
                self.transaction,
                family,
                key.as_ptr().cast(),
                key.len(),
                refusal,
            );
        });
        done.map_err(|text| self.store.refused(text, "write to"))
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        // Nobody asks any more.
        let _undone = self.rollback();
        self.blocks.get_mut().hand_over(&self.store.blocks);
        let f = &self.store.library.functions;
        // SAFETY: all were made for this client, and the database is still open.
        unsafe {
            (f.transaction_options_destroy)(self.options);
            (f.writeoptions_destroy)(self.write);
            (f.readoptions_destroy)(self.read);
        }
    }
}

/// A place in a tree.
struct Entries {
    library: &'static Library,
    iterator: *mut library::Iterator,
}

impl Entries {
    fn seek(&mut self, from: &[u8], order: Order) {
        let f = &self.library.functions;
        let (bytes, length) = (from.as_ptr().cast(), from.len());
        // SAFETY: the key has as many bytes as it is told.
        unsafe {
            match order {
                Order::Rising => (f.iter_seek)(self.iterator, bytes, length),
                Order::Falling => (f.iter_seek_for_prev)(self.iterator, bytes, length),
            }
        }
        // Falling begins before the key itself.
        if order == Order::Falling && self.entry().is_some_and(|(key, _)| key == from) {
            self.step(order);
        }
    }

    fn step(&mut self, order: Order) {
        let f = &self.library.functions;
        // SAFETY: it is at an entry.
        unsafe {
            match order {
                Order::Rising => (f.iter_next)(self.iterator),
                Order::Falling => (f.iter_prev)(self.iterator),
            }
        }
    }

    /// What it is at, until it moves.
    fn entry(&self) -> Option<(&[u8], &[u8])> {
        let f = &self.library.functions;
        let (mut key_length, mut value_length) = (0, 0);
        // SAFETY: keys and values live until the iterator moves, which is not possible while they are
        // borrowed.
        unsafe {
            if (f.iter_valid)(self.iterator) == 0 {
                return None;
            }
            let key = (f.iter_key)(self.iterator, &raw mut key_length);
            let value = (f.iter_value)(self.iterator, &raw mut value_length);
            Some((bytes_of(key, key_length), bytes_of(value, value_length)))
        }
    }

    /// Whether it ended because there was no more.
    fn ended(&self) -> Result<(), Text> {
        // SAFETY: it lives.
        let asked = |f: &library::Functions, refusal| unsafe {
            (f.iter_get_error)(self.iterator, refusal);
        };
        self.library.ask(asked)
    }
}

impl Drop for Entries {
    fn drop(&mut self) {
        // SAFETY: nobody has entries of it any more.
        unsafe { (self.library.functions.iter_destroy)(self.iterator) };
    }
}

/// # Safety
/// As many bytes have to be there, and to stay for the lifetime.
unsafe fn bytes_of<'a>(bytes: *const c_char, length: usize) -> &'a [u8] {
    match bytes.is_null() {
        true => &[],
        // SAFETY: the caller's.
        false => unsafe { slice::from_raw_parts(bytes.cast(), length) },
    }
}
