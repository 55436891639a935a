//! RocksDB's library, found on this machine when it is first needed, and its C interface.

#![expect(
    unsafe_code,
    reason = "RocksDB is a library of C++ with an interface of C"
)]

use std::{
    collections::BTreeMap,
    env,
    error::Error,
    ffi::{c_char, c_double, c_int, c_uchar, c_uint},
    fs,
    path::{Path, PathBuf},
    sync::{LazyLock, Mutex, PoisonError},
};

use super::failure::Text;
use crate::{DatabaseError, Result};

/// Types that only RocksDB looks into.
macro_rules! opaque {
    ($($name:ident)*) => {
        $(
            #[repr(C)]
            pub(super) struct $name([u8; 0]);
        )*
    };
}

opaque! {
    BlockOptions Cache CacheOptions ColumnFamily CompactOptions Db FilterPolicy FlushOptions Iterator Options
    PerfContext PinnedValue ReadOptions Snapshot Transaction TransactionDb TransactionDbOptions
    TransactionOptions WriteBatch WriteOptions
}

/// Declares functions of `rocksdb/c.h` without `rocksdb_` before their names.
macro_rules! functions {
    ($($name:ident($($argument:ty),*) $(-> $answer:ty)?;)*) => {
        /// What is called of `rocksdb/c.h`. The signatures are those of 7.8, which later versions
        /// have kept.
        #[expect(non_snake_case, reason = "names of the header")]
        pub(super) struct Functions {
            $(pub(super) $name: unsafe extern "C" fn($($argument),*) $(-> $answer)?,)*
        }

        impl Functions {
            /// Looks all of them up.
            ///
            /// # Errors
            /// Names the first that is not there.
            fn find(library: &libloading::Library) -> Result<Self, libloading::Error> {
                Ok(Self {
                    $(
                        // SAFETY: the signature is the header's.
                        $name: unsafe {
                            *library.get(concat!("rocksdb_", stringify!($name)))?
                        },
                    )*
                })
            }
        }
    };
}

/// Where functions put what they refuse: a text that is theirs to free, or nothing.
type Refusal = *mut *mut c_char;

functions! {
    block_based_options_create() -> *mut BlockOptions;
    block_based_options_destroy(*mut BlockOptions);
    block_based_options_set_block_cache(*mut BlockOptions, *mut Cache);
    block_based_options_set_block_size(*mut BlockOptions, usize);
    block_based_options_set_cache_index_and_filter_blocks(*mut BlockOptions, c_uchar);
    block_based_options_set_filter_policy(*mut BlockOptions, *mut FilterPolicy);
    cache_create_lru_opts(*mut CacheOptions) -> *mut Cache;
    cache_destroy(*mut Cache);
    close(*mut Db);
    column_family_handle_destroy(*mut ColumnFamily);
    compact_range_cf_opt(*mut Db, *mut ColumnFamily, *mut CompactOptions, *const c_char, usize, *const c_char, usize);
    compactoptions_create() -> *mut CompactOptions;
    compactoptions_destroy(*mut CompactOptions);
    compactoptions_set_bottommost_level_compaction(*mut CompactOptions, c_uchar);
    create_iterator_cf(*mut Db, *const ReadOptions, *mut ColumnFamily) -> *mut Iterator;
    filterpolicy_create_bloom(c_double) -> *mut FilterPolicy;
    flush_cf(*mut Db, *const FlushOptions, *mut ColumnFamily, Refusal);
    flushoptions_create() -> *mut FlushOptions;
    flushoptions_destroy(*mut FlushOptions);
    free(*mut c_char);
    get_pinned_cf(*mut Db, *const ReadOptions, *mut ColumnFamily, *const c_char, usize, Refusal) -> *mut PinnedValue;
    iter_destroy(*mut Iterator);
    iter_get_error(*const Iterator, Refusal);
    iter_key(*const Iterator, *mut usize) -> *const c_char;
    iter_next(*mut Iterator);
    iter_prev(*mut Iterator);
    iter_seek(*mut Iterator, *const c_char, usize);
    iter_seek_for_prev(*mut Iterator, *const c_char, usize);
    iter_valid(*const Iterator) -> c_uchar;
    iter_value(*const Iterator, *mut usize) -> *const c_char;
    list_column_families(*const Options, *const c_char, *mut usize, Refusal) -> *mut *mut c_char;
    list_column_families_destroy(*mut *mut c_char, usize);
    lru_cache_options_create() -> *mut CacheOptions;
    lru_cache_options_destroy(*mut CacheOptions);
    lru_cache_options_set_capacity(*mut CacheOptions, usize);
    lru_cache_options_set_num_shard_bits(*mut CacheOptions, c_int);
    open_column_families(*const Options, *const c_char, c_int, *const *const c_char, *const *const Options, *mut *mut ColumnFamily, Refusal) -> *mut Db;
    open_for_read_only_column_families(*const Options, *const c_char, c_int, *const *const c_char, *const *const Options, *mut *mut ColumnFamily, c_uchar, Refusal) -> *mut Db;
    options_create() -> *mut Options;
    options_destroy(*mut Options);
    options_enable_statistics(*mut Options);
    options_set_arena_block_size(*mut Options, usize);
    options_set_block_based_table_factory(*mut Options, *mut BlockOptions);
    options_set_compression(*mut Options, c_int);
    options_set_create_if_missing(*mut Options, c_uchar);
    options_set_create_missing_column_families(*mut Options, c_uchar);
    options_set_db_write_buffer_size(*mut Options, usize);
    options_set_error_if_exists(*mut Options, c_uchar);
    options_set_info_log_level(*mut Options, c_int);
    options_set_keep_log_file_num(*mut Options, usize);
    options_set_level_compaction_dynamic_level_bytes(*mut Options, c_uchar);
    options_set_max_bytes_for_level_base(*mut Options, u64);
    options_set_max_write_buffer_size_to_maintain(*mut Options, i64);
    options_set_stats_dump_period_sec(*mut Options, c_uint);
    options_set_stats_persist_period_sec(*mut Options, c_uint);
    options_set_target_file_size_base(*mut Options, u64);
    options_set_use_direct_io_for_flush_and_compaction(*mut Options, c_uchar);
    options_set_use_direct_reads(*mut Options, c_uchar);
    options_set_write_buffer_size(*mut Options, usize);
    options_statistics_get_string(*mut Options) -> *mut c_char;
    perfcontext_create() -> *mut PerfContext;
    perfcontext_metric(*mut PerfContext, c_int) -> u64;
    pinnableslice_destroy(*mut PinnedValue);
    pinnableslice_value(*const PinnedValue, *mut usize) -> *const c_char;
    property_int(*mut Db, *const c_char, *mut u64) -> c_int;
    readoptions_create() -> *mut ReadOptions;
    readoptions_destroy(*mut ReadOptions);
    readoptions_set_fill_cache(*mut ReadOptions, c_uchar);
    readoptions_set_snapshot(*mut ReadOptions, *const Snapshot);
    set_perf_level(c_int);
    transaction_begin(*mut TransactionDb, *const WriteOptions, *const TransactionOptions, *mut Transaction) -> *mut Transaction;
    transaction_commit(*mut Transaction, Refusal);
    transaction_create_iterator_cf(*mut Transaction, *const ReadOptions, *mut ColumnFamily) -> *mut Iterator;
    transaction_delete_cf(*mut Transaction, *mut ColumnFamily, *const c_char, usize, Refusal);
    transaction_destroy(*mut Transaction);
    transaction_get_pinned_cf(*mut Transaction, *const ReadOptions, *mut ColumnFamily, *const c_char, usize, Refusal) -> *mut PinnedValue;
    transaction_get_pinned_for_update_cf(*mut Transaction, *const ReadOptions, *mut ColumnFamily, *const c_char, usize, c_uchar, Refusal) -> *mut PinnedValue;
    transaction_get_snapshot(*mut Transaction) -> *const Snapshot;
    transaction_options_create() -> *mut TransactionOptions;
    transaction_options_destroy(*mut TransactionOptions);
    transaction_options_set_deadlock_detect(*mut TransactionOptions, c_uchar);
    transaction_options_set_set_snapshot(*mut TransactionOptions, c_uchar);
    transaction_put_cf(*mut Transaction, *mut ColumnFamily, *const c_char, usize, *const c_char, usize, Refusal);
    transaction_rollback(*mut Transaction, Refusal);
    transactiondb_close(*mut TransactionDb);
    transactiondb_create_iterator_cf(*mut TransactionDb, *const ReadOptions, *mut ColumnFamily) -> *mut Iterator;
    transactiondb_create_snapshot(*mut TransactionDb) -> *const Snapshot;
    transactiondb_get_pinned_cf(*mut TransactionDb, *const ReadOptions, *mut ColumnFamily, *const c_char, usize, Refusal) -> *mut PinnedValue;
    transactiondb_open_column_families(*const Options, *const TransactionDbOptions, *const c_char, c_int, *const *const c_char, *const *const Options, *mut *mut ColumnFamily, Refusal) -> *mut TransactionDb;
    transactiondb_options_create() -> *mut TransactionDbOptions;
    transactiondb_options_destroy(*mut TransactionDbOptions);
    transactiondb_release_snapshot(*mut TransactionDb, *const Snapshot);
    write(*mut Db, *const WriteOptions, *mut WriteBatch, Refusal);
    writebatch_clear(*mut WriteBatch);
    writebatch_create() -> *mut WriteBatch;
    writebatch_destroy(*mut WriteBatch);
    writebatch_put_cf(*mut WriteBatch, *mut ColumnFamily, *const c_char, usize, *const c_char, usize);
    writeoptions_create() -> *mut WriteOptions;
    writeoptions_destroy(*mut WriteOptions);
    writeoptions_disable_WAL(*mut WriteOptions, c_int);
    writeoptions_set_sync(*mut WriteOptions, c_uchar);
}

/// The option that names the library.
pub(super) const LIBRARY: &str = "library";

/// A library that was loaded. It stays so: RocksDB's threads never end.
pub(super) struct Library {
    pub(super) functions: Functions,
    get_version: Option<GetVersion>,
    /// Its file, links followed.
    pub(super) path: PathBuf,
}

/// `rocksdb::GetRocksVersionAsString(bool with_patch)` of `rocksdb/version.h`, for which the interface of C has
/// no call.
type GetVersion = unsafe extern "C" fn(bool) -> CxxString;

/// Its name in libraries that were built with libstdc++ and its strings of 2015.
const GET_VERSION: &str = "_ZN7rocksdb23GetRocksVersionAsStringB5cxx11Eb";

/// A string of libstdc++ (`basic_string.h`): one of at most 15 bytes is in it.
#[repr(C)]
struct CxxString {
    /// Where the text was before the string was moved here.
    _bytes: *const u8,
    length: usize,
    short: [u8; 16],
}

/// The libraries that this process has loaded, by what names them.
static LOADED: LazyLock<Mutex<BTreeMap<PathBuf, &'static Library>>> = LazyLock::new(Mutex::default);

impl Library {
    /// The library of this path, or else the newest that the distribution or the administrator has
    /// installed.
    ///
    /// # Errors
    /// [`DatabaseError::Missing`] where there is none; [`DatabaseError::Setting`] for one that cannot be
    /// loaded or does not have what is called.
    pub(super) fn find(wanted: Option<&Path>) -> Result<&'static Self> {
        let path = match wanted {
            Some(path) => path.to_owned(),
            None => installed().ok_or_else(missing)?,
        };
        let path = fs::canonicalize(&path).map_err(|error| unusable(&path, &error.to_string()))?;
        // Opening a pipe would wait for a program that writes to it.
        crate::files::check_is_file(&path).map_err(|_| unusable(&path, "it is no file"))?;
        let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(library) = loaded.get(&path) {
            return Ok(library);
        }
        let library: &'static Self = Box::leak(Box::new(Self::load(&path)?));
        loaded.insert(path, library);
        Ok(library)
    }

    fn load(path: &Path) -> Result<Self> {
        let failed = |error: libloading::Error| unusable(path, &with_causes(&error));
        // SAFETY: whoever names a library, or has installed RocksDB, wants its code to run.
        let library = unsafe { libloading::Library::new(path) }.map_err(failed)?;
        let functions = Functions::find(&library).map_err(failed)?;
        // SAFETY: the name has the arguments in it, and libstdc++'s strings.
        let get_version = unsafe { library.get::<GetVersion>(GET_VERSION) };
        let get_version = get_version.ok().map(|symbol| *symbol);
        std::mem::forget(library);
        Ok(Self {
            functions,
            get_version,
            path: path.to_owned(),
        })
    }

    /// The version as it tells it; `None` where it cannot be asked.
    pub(super) fn told_version(&self) -> Option<String> {
        // SAFETY: it only makes a text. A longer one would be lost memory.
        let text = unsafe { self.get_version?(true) };
        // The last byte is a NUL.
        let bytes = text.short[..15].get(..text.length)?;
        Some(str::from_utf8(bytes).ok()?.to_owned())
    }

    /// Calls a function that may refuse.
    ///
    /// # Errors
    /// What it refused, in its words.
    pub(super) fn ask<R>(&self, call: impl FnOnce(&Functions, Refusal) -> R) -> Result<R, Text> {
        let mut refusal = std::ptr::null_mut();
        let answer = call(&self.functions, &raw mut refusal);
        match self.take(refusal) {
            None => Ok(answer),
            Some(text) => Err(Text(text)),
        }
    }

    /// A text that is for the caller to free.
    pub(super) fn take(&self, text: *mut c_char) -> Option<String> {
        if text.is_null() {
            return None;
        }
        // SAFETY: a text of RocksDB's ends with NUL.
        let taken = unsafe { std::ffi::CStr::from_ptr(text) };
        let taken = taken.to_string_lossy().into_owned();
        // SAFETY: it is the caller's, and not used after this.
        unsafe { (self.functions.free)(text) };
        Some(taken)
    }
}

/// The loader's own words are a cause.
fn with_causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}

fn unusable(path: &Path, said: &str) -> DatabaseError {
    DatabaseError::Setting {
        database: "rocksdb",
        setting: LIBRARY,
        value: path.display().to_string(),
        reason: format!("it cannot be used as librocksdb.so of version 7.8 or newer ({said})"),
    }
}

fn missing() -> DatabaseError {
    DatabaseError::Missing {
        what: "RocksDB's library (librocksdb.so) is not installed".into(),
        remedy:
            "install it ('apt install librocksdb-dev', 'dnf install rocksdb'), or name it with \
                 --library"
                .into(),
    }
}

/// Directories where libraries are installed, besides those of `LD_LIBRARY_PATH`.
const DIRECTORIES: [&str; 6] = [
    "/usr/local/lib",
    "/usr/local/lib64",
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib64",
    "/usr/lib",
];

/// The newest library in the first directory that has one.
fn installed() -> Option<PathBuf> {
    let named = env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    let named: Vec<PathBuf> = env::split_paths(&named).collect();
    let mut directories = named.into_iter().chain(DIRECTORIES.map(PathBuf::from));
    directories.find_map(|directory| newest_in(&directory))
}

fn newest_in(directory: &Path) -> Option<PathBuf> {
    let entries = fs::read_dir(directory).ok()?;
    let files = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let newest = files
        .filter_map(|name| Some((version_in(&name)?, directory.join(name))))
        // A link may lead nowhere.
        .filter(|(_, path)| path.exists())
        .max()?;
    Some(newest.1)
}

/// The numbers of `librocksdb.so.7.8`; none of `librocksdb.so`.
fn version_in(name: &str) -> Option<Vec<u32>> {
    match name.strip_prefix("librocksdb.so")? {
        "" => Some(Vec::new()),
        numbers => {
            let numbers = numbers.strip_prefix('.')?.split('.');
            numbers.map(|number| number.parse().ok()).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_library_of_a_directory_is_taken() {
        let scratch = crate::scratch::directory();
        let directory = scratch.path();
        assert_eq!(newest_in(directory), None);
        for name in [
            "librocksdb.so",
            "librocksdb.so.9.11",
            "librocksdb.so.10.2.1",
            "librocksdb.so.bak",
            "librocksdb.a",
            "librocksdbjni.so.11",
        ] {
            fs::write(directory.join(name), "").unwrap();
        }
        let newest = newest_in(directory).unwrap();
        assert_eq!(newest, directory.join("librocksdb.so.10.2.1"));
    }

    #[test]
    fn what_is_no_library_is_refused_with_its_name() {
        let scratch = crate::scratch::directory();
        let path = scratch.path().join("librocksdb.so");
        let error = |path: &Path| Library::find(Some(path)).err().unwrap().to_string();
        assert!(error(&path).contains("librocksdb.so"));
        fs::write(&path, "no library").unwrap();
        let said = error(&path);
        assert!(
            said.contains("file too short") || said.contains("ELF"),
            "{said}"
        );
        let directory = error(scratch.path());
        assert!(directory.contains("it is no file"), "{directory}");
    }
}
