//! LMDB's environments and transactions: a file, and trees in it by name.

#![expect(unsafe_code, reason = "LMDB is a library of C")]

use std::{
    cell::Cell,
    ffi::{CString, c_char, c_int},
    fs::File,
    ops::ControlFlow,
    os::unix::{ffi::OsStrExt, fs::FileExt as _},
    path::{Path, PathBuf},
    ptr, slice,
    sync::Arc,
    time::{Duration, Instant},
};

use lmdb_master3_sys as ffi;
use octavo_units::ByteCount;
use octavo_workload::{ConnectionError, Result};
use rustix::time::{ClockId, clock_gettime};

use super::failure::sort;
use crate::{
    files,
    keyed::{Order, TreeId, Visit},
    mapped::{CommitTimes, Purpose, Trees, Turn, Writer},
};

/// The largest file. Only addresses are taken for it; a file has the pages that were written.
const SIZE_MAX: ByteCount = ByteCount::mib(1 << 20);

/// The file that LMDB puts beside a database, for its locks.
pub(super) fn lock_of(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push("-lock");
    name.into()
}

/// Places in the table of readers that LMDB makes by itself (`DEFAULT_READERS`).
const READERS: u32 = 126;

/// Places besides those of clients. Chosen.
const GUESTS: u32 = 16;

/// Refuses a file whose first page LMDB would divide by: it trusts the page size that stands there.
fn check_header(path: &Path, context: impl Fn() -> String) -> Result<()> {
    // The header of a page, the magic number and the version, an address, the size of the map, and the page size
    // (`MDB_meta` of mdb.c).
    let mut header = [0; 52];
    let file = File::open(path).map_err(|error| ConnectionError::other(context(), error))?;
    let read = file.read_exact_at(&mut header, 0);
    let number = |at: usize| {
        let bytes = header[at..].first_chunk().copied();
        u32::from_ne_bytes(bytes.unwrap_or_default())
    };
    let page = number(48);
    let is_page = page.is_power_of_two() && (256..=65_536).contains(&page);
    match read.is_ok() && number(24) == MAGIC && is_page {
        true => Ok(()),
        false => Err(sort(ffi::MDB_INVALID, context)),
    }
}

/// `MDB_MAGIC` of mdb.c.
const MAGIC: u32 = 0xbeef_c0de;

/// An open environment.
pub(crate) struct Environment {
    raw: *mut ffi::MDB_env,
    /// By [`TreeId`].
    trees: Vec<ffi::MDB_dbi>,
    /// Whether nobody else can have it open.
    is_alone: bool,
    /// Dropped when it is closed.
    turn: Turn,
}

// SAFETY: threads may share an environment; transactions are what they may not (lmdb.h, "Caveats").
unsafe impl Send for Environment {}
// SAFETY: as above.
unsafe impl Sync for Environment {}

/// LMDB met a page that it never writes: as if that had led outside of the file, which has its words.
unsafe extern "C" fn end_at_impossible(_: *mut ffi::MDB_env, _: *const c_char) {
    // SAFETY: whoever handles the signal does not come back.
    unsafe { libc::raise(libc::SIGSEGV) };
}

impl Environment {
    /// As [`crate::mapped::Library::open`].
    pub(super) fn open(path: &Path, purpose: Purpose, trees: &[String]) -> Result<Self> {
        let context = || format!("open {}", path.display());
        let name = CString::new(path.as_os_str().as_bytes())
            .map_err(|error| ConnectionError::other(context(), error))?;
        let check = |code| checked(code, context);
        let turn = Turn::take(path);
        if !matches!(purpose, Purpose::Fill(_)) {
            check_header(path, context)?;
        }
        let mut raw = ptr::null_mut();
        // SAFETY: the place is valid; it gets an environment, which `drop` closes.
        check(unsafe { ffi::mdb_env_create(&raw mut raw) })?;
        let mut environment = Self {
            raw,
            trees: Vec::new(),
            // Programs of the user's, such as mdb_stat, may look at one that runs, and have its lock.
            is_alone: matches!(purpose, Purpose::Fill(_)),
            turn,
        };
        let flags = ffi::MDB_NOSUBDIR | ffi::MDB_NOTLS;
        let flags = match purpose {
            Purpose::Fill(_) => flags | ffi::MDB_NOSYNC,
            Purpose::Run {
                readahead: true, ..
            } => flags,
            Purpose::Run { .. } => flags | ffi::MDB_NORDAHEAD,
            Purpose::Inspect => flags | ffi::MDB_RDONLY | ffi::MDB_NOLOCK,
        };
        let trees_max = ffi::MDB_dbi::try_from(trees.len()).unwrap_or(ffi::MDB_dbi::MAX);
        // SAFETY: the environment was made and is not open yet; the name ends with NUL.
        unsafe {
            // Else it aborts, with a line of its source.
            check(ffi::mdb_env_set_assert(raw, Some(end_at_impossible)))?;
            check(ffi::mdb_env_set_maxdbs(raw, trees_max))?;
            check(ffi::mdb_env_set_mapsize(raw, SIZE_MAX.get() as _))?;
            match purpose {
                // One that reads the last keys of trees besides, and programs of the user's.
                Purpose::Run { clients, .. } => {
                    let readers = clients.saturating_add(GUESTS).max(READERS);
                    check(ffi::mdb_env_set_maxreaders(raw, readers))?;
                }
                Purpose::Fill(page_size) => {
                    let bytes = c_int::try_from(page_size.get()).unwrap_or(c_int::MAX);
                    check(ffi::mdb_env_set_pagesize(raw, bytes))?;
                }
                Purpose::Inspect => {}
            }
            check(ffi::mdb_env_open(raw, name.as_ptr(), flags, 0o644))?;
        }
        environment.open_trees(matches!(purpose, Purpose::Fill(_)), trees, context)?;
        Ok(environment)
    }

    /// As [`crate::mapped::Library::discover`].
    pub(super) fn discover(path: &Path) -> Result<(Self, Vec<String>)> {
        let context = || format!("look for the trees of {}", path.display());
        let names = {
            let mut environment = Self::open(path, Purpose::Inspect, &[])?;
            let mut transaction = Transaction::begin(&environment, ffi::MDB_RDONLY, context)?;
            let mut names = 0;
            // SAFETY: the transaction is open; without a name it is the tree of names.
            let code =
                unsafe { ffi::mdb_dbi_open(transaction.raw, ptr::null(), 0, &raw mut names) };
            checked(code, context)?;
            transaction.commit(context)?;
            environment.trees.push(names);
            let mut handle = Handle::new(Arc::new(environment));
            let mut found = Vec::new();
            handle.begin_read()?;
            handle.range(TreeId(0), &[], Order::Rising, &mut |name, _| {
                // 1.0 keeps them with the NUL at their end, and versions before without.
                let name = name.strip_suffix(b"\0").unwrap_or(name);
                found.push(String::from_utf8_lossy(name).into_owned());
                ControlFlow::Continue(())
            })?;
            found
        };
        Ok((Self::open(path, Purpose::Inspect, &names)?, names))
    }

    fn open_trees(
        &mut self,
        are_made: bool,
        trees: &[String],
        context: impl Fn() -> String + Copy,
    ) -> Result<()> {
        let (begin, open) = match are_made {
            true => (0, ffi::MDB_CREATE),
            false => (ffi::MDB_RDONLY, 0),
        };
        let mut transaction = Transaction::begin(self, begin, context)?;
        for tree in trees {
            let name = CString::new(tree.as_str()).unwrap_or_default();
            let mut handle = 0;
            // SAFETY: the transaction is open, the name ends with NUL, the place is valid.
            let code =
                unsafe { ffi::mdb_dbi_open(transaction.raw, name.as_ptr(), open, &raw mut handle) };
            checked(code, context)?;
            self.trees.push(handle);
        }
        transaction.commit(context).map(|_| ())
    }

    /// The page size that the file has.
    pub(super) fn page_size(&self) -> Result<u32> {
        let mut found = NOTHING;
        // SAFETY: the environment is open, the place valid.
        let code = unsafe { ffi::mdb_env_stat(self.raw, &raw mut found) };
        checked(code, || "ask LMDB for its page size".into())?;
        Ok(found.ms_psize)
    }

    /// Flushes all that was committed.
    pub(super) fn flush(&self) -> Result<()> {
        // SAFETY: the environment is open.
        let code = unsafe { ffi::mdb_env_sync(self.raw, 1) };
        checked(code, || "flush".into())
    }
}

impl Drop for Environment {
    fn drop(&mut self) {
        // SAFETY: transactions hold an `Arc` of it or borrow it, so all are gone.
        unsafe { ffi::mdb_env_close(self.raw) };
        if self.is_alone {
            // In this process nobody has the file open before its turn ends. A lock that stays is
            // taken over.
            let _stays = files::remove(&lock_of(self.turn.file()));
        }
    }
}

/// A transaction of an environment, which has to outlive it.
struct Transaction {
    /// Null once it has ended.
    raw: *mut ffi::MDB_txn,
}

impl Transaction {
    fn begin(
        environment: &Environment,
        flags: u32,
        context: impl FnOnce() -> String,
    ) -> Result<Self> {
        let mut raw = ptr::null_mut();
        // SAFETY: the environment is open, the place valid.
        let code =
            unsafe { ffi::mdb_txn_begin(environment.raw, ptr::null_mut(), flags, &raw mut raw) };
        checked(code, context)?;
        Ok(Self { raw })
    }

    /// LMDB does not say how long its flushes took. Pages are handed to the page cache, for which the thread
    /// works; what it waits for is the flush of these and that of the meta page.
    fn commit(&mut self, context: impl FnOnce() -> String) -> Result<CommitTimes> {
        let raw = std::mem::replace(&mut self.raw, ptr::null_mut());
        let (begun, worked) = (Instant::now(), processor_time());
        // SAFETY: the transaction is open and has ended afterwards, whatever the code.
        let code = unsafe { ffi::mdb_txn_commit(raw) };
        checked(code, context)?;
        let all = begun.elapsed();
        let write = processor_time().saturating_sub(worked).min(all);
        Ok(CommitTimes {
            write,
            sync: all - write,
        })
    }
}

/// How long this thread has been on a processor.
fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    let seconds = Duration::from_secs(time.tv_sec.unsigned_abs());
    seconds + Duration::from_nanos(time.tv_nsec.unsigned_abs())
}

impl Drop for Transaction {
    fn drop(&mut self) {
        if !self.raw.is_null() {
            // SAFETY: it is open, or a reader that rests.
            unsafe { ffi::mdb_txn_abort(self.raw) };
        }
    }
}

/// One client's transactions and cursors.
pub(crate) struct Handle {
    // Fields drop in this order: cursors before transactions, these before the environment.
    /// Of reads, by [`TreeId`]: kept for the next transaction.
    cursors: Vec<Cell<Option<Cursor>>>,
    /// Of reads: rests between transactions.
    reader: Option<Transaction>,
    writer: Option<Writer<Transaction>>,
    is_reading: bool,
    environment: Arc<Environment>,
}

// SAFETY: with MDB_NOTLS, readers and their cursors may move between threads; one uses them at a time, since
// `Cell`s are not Sync and so nothing here is. A writer holds a lock of its thread: `Writer` ends it there
// alone, and its cursors end within a call.
unsafe impl Send for Handle {}

impl Handle {
    pub(super) fn new(environment: Arc<Environment>) -> Self {
        let none = |_: &ffi::MDB_dbi| Cell::new(None);
        Self {
            cursors: environment.trees.iter().map(none).collect(),
            reader: None,
            writer: None,
            is_reading: false,
            environment,
        }
    }

    fn rest(&mut self) {
        if std::mem::take(&mut self.is_reading)
            && let Some(reader) = &self.reader
        {
            // SAFETY: the reader is open.
            unsafe { ffi::mdb_txn_reset(reader.raw) };
        }
    }

    fn transaction(&self) -> Result<*mut ffi::MDB_txn> {
        let reader = self.reader.as_ref().filter(|_| self.is_reading);
        let writer = self.writer.as_ref().map(Writer::transaction);
        match writer.or(reader) {
            Some(transaction) => Ok(transaction.raw),
            None => Err(sort(libc::EINVAL, || "use a transaction".into())),
        }
    }

    fn tree(&self, tree: TreeId) -> ffi::MDB_dbi {
        self.environment.trees[tree.0]
    }

    /// A cursor of the transaction that is open.
    fn cursor(&self, tree: TreeId) -> Result<Cursor> {
        let transaction = self.transaction()?;
        let kept = match self.writer {
            Some(_) => None,
            None => self.cursors[tree.0].take(),
        };
        match kept {
            Some(cursor) => {
                // SAFETY: both are of reads, and the cursor of this tree.
                let code = unsafe { ffi::mdb_cursor_renew(transaction, cursor.0) };
                checked(code, || "read".into()).map(|()| cursor)
            }
            None => {
                let mut raw = ptr::null_mut();
                // SAFETY: the transaction is open, the place valid.
                let code =
                    unsafe { ffi::mdb_cursor_open(transaction, self.tree(tree), &raw mut raw) };
                checked(code, || "read".into()).map(|()| Cursor(raw))
            }
        }
    }

    fn write(&mut self, tree: TreeId, key: &[u8], new: &[u8], flags: u32) -> Result<c_int> {
        let transaction = self.transaction()?;
        let (mut key, mut new) = (value(key), value(new));
        // SAFETY: the transaction is open; key and value are copied. The value is where an old one is told,
        // of which nothing is read here.
        Ok(unsafe {
            ffi::mdb_put(
                transaction,
                self.tree(tree),
                &raw mut key,
                &raw mut new,
                flags,
            )
        })
    }

    fn examine(&self, tree: TreeId) -> Result<ffi::MDB_stat> {
        let (transaction, mut found) = (self.transaction()?, NOTHING);
        // SAFETY: the transaction is open, the place valid.
        let code = unsafe { ffi::mdb_stat(transaction, self.tree(tree), &raw mut found) };
        checked(code, || "examine a tree".into())?;
        Ok(found)
    }
}

impl Trees for Handle {
    fn begin_read(&mut self) -> Result<()> {
        let context = || "begin to read".to_owned();
        match &self.reader {
            Some(reader) => {
                // SAFETY: the reader rests.
                checked(unsafe { ffi::mdb_txn_renew(reader.raw) }, context)?;
            }
            None => {
                self.reader = Some(Transaction::begin(
                    &self.environment,
                    ffi::MDB_RDONLY,
                    context,
                )?);
            }
        }
        self.is_reading = true;
        Ok(())
    }

    fn begin_write(&mut self) -> Result<()> {
        let context = || "begin to write".to_owned();
        let transaction = Transaction::begin(&self.environment, 0, context)?;
        self.writer = Some(Writer::here(transaction));
        Ok(())
    }

    fn writes(&self) -> bool {
        self.writer.is_some()
    }

    fn commit(&mut self) -> Result<Option<CommitTimes>> {
        match self.writer.take() {
            Some(writer) => match writer.end() {
                Some(mut transaction) => transaction.commit(|| "commit".into()).map(Some),
                None => Err(sort(libc::EPERM, || "commit in another thread".into())),
            },
            None => {
                self.rest();
                Ok(None)
            }
        }
    }

    fn rollback(&mut self) -> Result<()> {
        if let Some(writer) = self.writer.take() {
            drop(writer.end());
        }
        self.rest();
        Ok(())
    }

    fn get<R>(&self, tree: TreeId, key: &[u8], take: impl FnOnce(&[u8]) -> R) -> Result<Option<R>> {
        let transaction = self.transaction()?;
        let (mut key, mut found) = (value(key), EMPTY);
        // SAFETY: the transaction is open, the key valid meanwhile, the place too.
        let code =
            unsafe { ffi::mdb_get(transaction, self.tree(tree), &raw mut key, &raw mut found) };
        match code {
            ffi::MDB_NOTFOUND => Ok(None),
            code => {
                checked(code, || "read".into())?;
                // SAFETY: the bytes stay until the transaction ends or changes them, which needs
                // `&mut self`; `take` cannot keep them.
                Ok(Some(take(unsafe { bytes(&found) })))
            }
        }
    }

    fn range(&self, tree: TreeId, from: &[u8], order: Order, visit: &mut Visit<'_>) -> Result<()> {
        let cursor = self.cursor(tree)?;
        let (mut key, mut found) = (value(from), EMPTY);
        let first = match order {
            Order::Rising if from.is_empty() => ffi::MDB_FIRST,
            Order::Rising | Order::Falling => ffi::MDB_SET_RANGE,
        };
        let mut code = cursor.get(&mut key, &mut found, first);
        if order == Order::Falling {
            code = match code {
                ffi::MDB_NOTFOUND => cursor.get(&mut key, &mut found, ffi::MDB_LAST),
                ffi::MDB_SUCCESS => cursor.get(&mut key, &mut found, ffi::MDB_PREV),
                code => code,
            };
        }
        let next = match order {
            Order::Rising => ffi::MDB_NEXT,
            Order::Falling => ffi::MDB_PREV,
        };
        loop {
            match code {
                ffi::MDB_NOTFOUND => break,
                code => checked(code, || "read".into())?,
            }
            // SAFETY: as in `get`; the cursor stands on this entry.
            let flow = unsafe { visit(bytes(&key), bytes(&found)) };
            if flow.is_break() {
                break;
            }
            code = cursor.get(&mut key, &mut found, next);
        }
        if self.writer.is_none() {
            self.cursors[tree.0].set(Some(cursor));
        }
        Ok(())
    }

    fn insert(&mut self, tree: TreeId, key: &[u8], new: &[u8], is_last: bool) -> Result<bool> {
        let flags = match is_last {
            true => ffi::MDB_NOOVERWRITE | ffi::MDB_APPEND,
            false => ffi::MDB_NOOVERWRITE,
        };
        match self.write(tree, key, new, flags)? {
            ffi::MDB_KEYEXIST => Ok(false),
            code => checked(code, || "insert".into()).map(|()| true),
        }
    }

    fn put(&mut self, tree: TreeId, key: &[u8], new: &[u8]) -> Result<()> {
        let code = self.write(tree, key, new, 0)?;
        checked(code, || "write".into())
    }

    fn delete(&mut self, tree: TreeId, key: &[u8]) -> Result<()> {
        let transaction = self.transaction()?;
        let mut key = value(key);
        // SAFETY: the transaction is open, the key valid meanwhile.
        let code =
            unsafe { ffi::mdb_del(transaction, self.tree(tree), &raw mut key, ptr::null_mut()) };
        checked(code, || "delete".into())
    }

    fn depth(&self, tree: TreeId) -> Result<u32> {
        Ok(self.examine(tree)?.ms_depth)
    }

    fn entries(&self, tree: TreeId) -> Result<u64> {
        Ok(self.examine(tree)?.ms_entries as u64)
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        // Nobody asks any more.
        let _undone = self.rollback();
    }
}

/// A cursor of a tree.
struct Cursor(*mut ffi::MDB_cursor);

impl Cursor {
    fn get(
        &self,
        key: &mut ffi::MDB_val,
        found: &mut ffi::MDB_val,
        operation: ffi::MDB_cursor_op,
    ) -> c_int {
        // SAFETY: the cursor is of an open transaction; the places are valid. A key that is looked for is
        // borrowed by the caller meanwhile.
        unsafe { ffi::mdb_cursor_get(self.0, key, found, operation) }
    }
}

impl Drop for Cursor {
    fn drop(&mut self) {
        // SAFETY: one of a writer ends before that does; one of a reader may be closed at any time.
        unsafe { ffi::mdb_cursor_close(self.0) };
    }
}

const EMPTY: ffi::MDB_val = ffi::MDB_val {
    mv_size: 0,
    mv_data: ptr::null_mut(),
};

const NOTHING: ffi::MDB_stat = ffi::MDB_stat {
    ms_psize: 0,
    ms_depth: 0,
    ms_branch_pages: 0,
    ms_leaf_pages: 0,
    ms_overflow_pages: 0,
    ms_entries: 0,
};

/// Bytes as LMDB takes them; they have to stay for as long as it is used.
fn value(bytes: &[u8]) -> ffi::MDB_val {
    ffi::MDB_val {
        mv_size: bytes.len() as _,
        mv_data: bytes.as_ptr().cast_mut().cast(),
    }
}

/// # Safety
/// LMDB filled it in, and its transaction has neither ended nor changed these bytes.
unsafe fn bytes<'v>(value: &ffi::MDB_val) -> &'v [u8] {
    match value.mv_size {
        0 => &[],
        // SAFETY: as the caller promises.
        length => unsafe { slice::from_raw_parts(value.mv_data.cast(), length) },
    }
}

fn checked(code: c_int, context: impl FnOnce() -> String) -> Result<()> {
    match code {
        ffi::MDB_SUCCESS => Ok(()),
        code => Err(sort(code, context)),
    }
}

/// The library's version.
pub(super) fn version() -> String {
    let (mut major, mut minor, mut patch) = (0, 0, 0);
    // SAFETY: the places are valid.
    unsafe { ffi::mdb_version(&raw mut major, &raw mut minor, &raw mut patch) };
    format!("{major}.{minor}.{patch}")
}
