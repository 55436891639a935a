//! libmdbx's environments and transactions: a file, and trees in it by name.

#![expect(unsafe_code, reason = "libmdbx is a library of C")]

use std::{
    ffi::{CString, c_int, c_void},
    fs, io,
    ops::ControlFlow,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
    ptr, slice,
    sync::Arc,
    time::{Duration, Instant},
};

use octavo_units::ByteCount;
use octavo_workload::Result;
use signet_mdbx_sys as ffi;

use super::failure::sort;
use crate::{
    files,
    keyed::{Order, TreeId, Visit},
    mapped::{CommitTimes, Operations, Purpose, Trees, Turn, Writer},
};

/// How much a file grows at a time: libmdbx's own default is a part of its largest size.
const GROWTH: ByteCount = ByteCount::mib(4);

/// The largest file, where page numbers of 31 bits allow it. Only addresses are taken for it.
const SIZE_MAX: ByteCount = ByteCount::mib(1 << 20);

/// The file that libmdbx puts beside a database, for its locks.
pub(super) fn lock_of(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push("-lck");
    name.into()
}

/// An open environment.
pub(crate) struct Environment {
    raw: *mut ffi::MDBX_env,
    /// By [`TreeId`].
    trees: Vec<ffi::MDBX_dbi>,
    /// Whether nobody else can have it open.
    is_alone: bool,
    /// Dropped when it is closed.
    turn: Turn,
}

// SAFETY: threads may share an environment; transactions are what they may not
// (<https://libmdbx.dqdkfa.ru/group__c__api.html>, "MDBX_env").
unsafe impl Send for Environment {}
// SAFETY: as above.
unsafe impl Sync for Environment {}

impl Environment {
    /// Opens the file `path`, with these trees: makes them where it is to be filled.
    pub(super) fn open(path: &Path, purpose: Purpose, trees: &[String]) -> Result<Self> {
        let context = || format!("open {}", path.display());
        let name = CString::new(path.as_os_str().as_bytes())
            .map_err(|error| octavo_workload::ConnectionError::other(context(), error))?;
        let check = |code| checked(code, context);
        let turn = Turn::take(path);
        let mut raw = ptr::null_mut();
        // SAFETY: the place is valid; it gets an environment, which `drop` closes.
        check(unsafe { ffi::mdbx_env_create(&raw mut raw) })?;
        let mut environment = Self {
            raw,
            trees: Vec::new(),
            is_alone: false,
            turn,
        };
        let trees_max = trees.len() as u64;
        let flags = ffi::MDBX_NOSUBDIR | ffi::MDBX_NOSTICKYTHREADS;
        let flags = match purpose {
            Purpose::Fill(_) => flags | ffi::MDBX_UTTERLY_NOSYNC | ffi::MDBX_EXCLUSIVE,
            Purpose::Run {
                readahead: true, ..
            } => flags,
            Purpose::Run { .. } => flags | ffi::MDBX_NORDAHEAD,
            Purpose::Inspect => flags | ffi::MDBX_RDONLY | ffi::MDBX_EXCLUSIVE,
        };
        // SAFETY: the environment was made and is not open yet; the name ends with NUL.
        unsafe {
            check(ffi::mdbx_env_set_option(
                raw,
                ffi::MDBX_opt_max_db,
                trees_max,
            ))?;
            if let Purpose::Run { clients, .. } = purpose {
                // One that reads the last keys of trees besides.
                let readers = u64::from(clients) + 1;
                let option = ffi::MDBX_opt_max_readers;
                check(ffi::mdbx_env_set_option(raw, option, readers))?;
            }
            if let Purpose::Fill(page_size) = purpose {
                let page = page_size.get() as isize;
                let most = ffi::mdbx_limits_dbsize_max(page);
                let most = most.min(SIZE_MAX.get() as isize);
                let growth = GROWTH.get() as isize;
                check(ffi::mdbx_env_set_geometry(
                    raw, 0, -1, most, growth, 0, page,
                ))?;
            }
            check(ffi::mdbx_env_open(raw, name.as_ptr(), flags, 0o644))?;
        }
        // Programs of the user's, such as mdbx_stat, may look at one that runs.
        environment.is_alone = !matches!(purpose, Purpose::Run { .. });
        if let Purpose::Run { readahead, .. } = purpose {
            advise(path, readahead)
                .map_err(|error| octavo_workload::ConnectionError::other(context(), error))?;
        }
        environment.open_trees(matches!(purpose, Purpose::Fill(_)), trees, context)?;
        Ok(environment)
    }

    /// Opens a file that nobody else reads with all its trees, and answers their names.
    pub(super) fn discover(path: &Path) -> Result<(Self, Vec<String>)> {
        let context = || format!("look for the trees of {}", path.display());
        let names = {
            let mut environment = Self::open(path, Purpose::Inspect, &[])?;
            let mut transaction = Transaction::begin(&environment, ffi::MDBX_TXN_RDONLY, context)?;
            let mut names = 0;
            // SAFETY: the transaction is open; without a name it is the tree of names.
            let code = unsafe {
                let flags = ffi::MDBX_DB_DEFAULTS;
                ffi::mdbx_dbi_open(transaction.raw, ptr::null(), flags, &raw mut names)
            };
            checked(code, context)?;
            transaction.commit(context)?;
            environment.trees.push(names);
            let mut handle = Handle::new(Arc::new(environment))?;
            let mut found = Vec::new();
            handle.begin_read()?;
            handle.range(TreeId(0), &[], Order::Rising, &mut |name, _| {
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
            true => (ffi::MDBX_TXN_READWRITE, ffi::MDBX_CREATE),
            false => (ffi::MDBX_TXN_RDONLY, ffi::MDBX_DB_DEFAULTS),
        };
        let mut transaction = Transaction::begin(self, begin, context)?;
        for tree in trees {
            let name = CString::new(tree.as_str()).unwrap_or_default();
            let mut handle = 0;
            // SAFETY: the transaction is open, the name ends with NUL, the place is valid.
            let code = unsafe {
                ffi::mdbx_dbi_open(transaction.raw, name.as_ptr(), open, &raw mut handle)
            };
            checked(code, context)?;
            self.trees.push(handle);
        }
        transaction.commit(context).map(|_| ())
    }

    /// The page size that the file has.
    pub(super) fn page_size(&self) -> Result<u32> {
        Ok(self.info()?.mi_dxb_pagesize)
    }

    /// What libmdbx counts; `None` where it cannot be asked now.
    pub(super) fn operations(&self) -> Option<Operations> {
        let statistics = self.info().ok()?.mi_pgop_stat;
        Some(Operations {
            writes: statistics.wops,
            syncs: statistics.fsync.saturating_add(statistics.msync),
        })
    }

    fn info(&self) -> Result<ffi::MDBX_envinfo> {
        // SAFETY: all of it is numbers, for which zeros are valid.
        let mut info: ffi::MDBX_envinfo = unsafe { std::mem::zeroed() };
        // SAFETY: the environment is open; the place has the size that is given.
        let code = unsafe {
            ffi::mdbx_env_info_ex(self.raw, ptr::null(), &raw mut info, size_of_val(&info))
        };
        checked(code, || "ask libmdbx for its counters".into())?;
        Ok(info)
    }

    /// Writes and flushes all that was committed.
    pub(super) fn flush(&self) -> Result<()> {
        // SAFETY: the environment is open.
        let code = unsafe { ffi::mdbx_env_sync_ex(self.raw, true, false) };
        match code {
            // There was nothing to flush.
            ffi::MDBX_RESULT_TRUE => Ok(()),
            code => checked(code, || "flush".into()),
        }
    }
}

impl Drop for Environment {
    fn drop(&mut self) {
        // SAFETY: transactions hold an `Arc` of it or borrow it, so all are gone.
        let _closed = unsafe { ffi::mdbx_env_close_ex(self.raw, false) };
        if self.is_alone {
            // In this process nobody has the file open before its turn ends. A lock that stays is
            // taken over.
            let _stays = files::remove(&lock_of(self.turn.file()));
        }
    }
}

/// Tells the kernel for all of the map of a file whether to read neighbours along. libmdbx itself leaves
/// out the end of the file, and asks for none where the file is larger than the memory that is free at
/// the moment (`mdbx_is_readahead_reasonable`).
fn advise(file: &Path, readahead: bool) -> io::Result<()> {
    let file = fs::canonicalize(file)?;
    let advice = match readahead {
        true => libc::MADV_NORMAL,
        false => libc::MADV_RANDOM,
    };
    let maps = fs::read("/proc/self/maps")?;
    for line in maps.split(|byte| *byte == b'\n') {
        // The name is the last field, behind a space.
        let before = line.strip_suffix(file.as_os_str().as_bytes());
        if !before.is_some_and(|before| before.ends_with(b" ")) {
            continue;
        }
        let Some((from, to)) = addresses(line) else {
            continue;
        };
        // SAFETY: a part of the map, which the environment keeps; this advice changes no byte.
        if unsafe { libc::madvise(from as *mut c_void, to - from, advice) } != 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

/// Where a mapping begins and ends, from its line in `/proc/self/maps` (proc_pid_maps(5)).
fn addresses(line: &[u8]) -> Option<(usize, usize)> {
    let text = str::from_utf8(line.split(|byte| *byte == b' ').next()?).ok()?;
    let (from, to) = text.split_once('-')?;
    let number = |text| usize::from_str_radix(text, 16).ok();
    let (from, to) = (number(from)?, number(to)?);
    (from < to).then_some((from, to))
}

/// A transaction of an environment, which has to outlive it.
struct Transaction {
    /// Null once it has ended.
    raw: *mut ffi::MDBX_txn,
}

impl Transaction {
    fn begin(
        environment: &Environment,
        flags: ffi::MDBX_txn_flags_t,
        context: impl FnOnce() -> String,
    ) -> Result<Self> {
        let mut raw = ptr::null_mut();
        // SAFETY: the environment is open, the place valid.
        let code = unsafe {
            let (parent, user) = (ptr::null_mut(), ptr::null_mut::<c_void>());
            ffi::mdbx_txn_begin_ex(environment.raw, parent, flags, &raw mut raw, user)
        };
        checked(code, context)?;
        Ok(Self { raw })
    }

    fn commit(&mut self, context: impl FnOnce() -> String) -> Result<CommitTimes> {
        // SAFETY: all of it is numbers, for which zeros are valid.
        let mut latency: ffi::MDBX_commit_latency = unsafe { std::mem::zeroed() };
        let raw = std::mem::replace(&mut self.raw, ptr::null_mut());
        let begun = Instant::now();
        // SAFETY: the transaction is open and has ended afterwards, whatever the code.
        let code = unsafe { ffi::mdbx_txn_commit_ex(raw, &raw mut latency) };
        checked(code, context)?;
        let all = begun.elapsed();
        // In 1/65536 of a second, which is too coarse for the writes.
        let sync = Duration::from_secs_f64(f64::from(latency.sync) / 65_536.0).min(all);
        Ok(CommitTimes {
            write: all - sync,
            sync,
        })
    }
}

impl Drop for Transaction {
    fn drop(&mut self) {
        if !self.raw.is_null() {
            // SAFETY: it is open, or a reader that rests.
            let _ended = unsafe { ffi::mdbx_txn_abort(self.raw) };
        }
    }
}

/// One client's transactions and cursor.
pub(crate) struct Handle {
    // Fields drop in this order: the cursor before transactions, these before the environment.
    cursor: Cursor,
    /// Of reads: rests between transactions.
    reader: Option<Transaction>,
    writer: Option<Writer<Transaction>>,
    is_reading: bool,
    environment: Arc<Environment>,
}

// SAFETY: with MDBX_NOSTICKYTHREADS, readers and cursors may move between threads; one uses them at a
// time, since all methods that change anything take `&mut self`, and nothing here is Sync. A writer
// holds a lock of its thread: `Writer` ends it there alone.
unsafe impl Send for Handle {}

/// Why a transaction is needed.
const NO_TRANSACTION: c_int = libc::EINVAL;

impl Handle {
    pub(super) fn new(environment: Arc<Environment>) -> Result<Self> {
        // SAFETY: it takes no arguments but one that is only handed back.
        let raw = unsafe { ffi::mdbx_cursor_create(ptr::null_mut()) };
        if raw.is_null() {
            return Err(sort(libc::ENOMEM, || "make a cursor".into()));
        }
        Ok(Self {
            cursor: Cursor { raw },
            reader: None,
            writer: None,
            is_reading: false,
            environment,
        })
    }

    fn rest(&mut self) -> Result<()> {
        if std::mem::take(&mut self.is_reading)
            && let Some(reader) = &self.reader
        {
            // SAFETY: the reader is open.
            checked(unsafe { ffi::mdbx_txn_reset(reader.raw) }, || {
                "end to read".into()
            })?;
        }
        Ok(())
    }

    fn transaction(&self) -> Result<*mut ffi::MDBX_txn> {
        let reader = self.reader.as_ref().filter(|_| self.is_reading);
        let writer = self.writer.as_ref().map(|writer| writer.transaction());
        match writer.or(reader) {
            Some(transaction) => Ok(transaction.raw),
            None => Err(sort(NO_TRANSACTION, || "use a transaction".into())),
        }
    }

    fn tree(&self, tree: TreeId) -> ffi::MDBX_dbi {
        self.environment.trees[tree.0]
    }

    fn write(
        &mut self,
        tree: TreeId,
        key: &[u8],
        new: &[u8],
        flags: ffi::MDBX_put_flags_t,
    ) -> Result<c_int> {
        let transaction = self.transaction()?;
        let (key, mut new) = (value(key), value(new));
        // SAFETY: the transaction is open; key and value are copied. The value is where an old one
        // is told, of which nothing is read here.
        Ok(unsafe {
            let key = &raw const *key.as_ref();
            ffi::mdbx_put(transaction, self.tree(tree), key, &raw mut new.0, flags)
        })
    }

    fn examine(&self, tree: TreeId) -> Result<ffi::MDBX_stat> {
        // SAFETY: all of it is numbers, for which zeros are valid.
        let mut found: ffi::MDBX_stat = unsafe { std::mem::zeroed() };
        let transaction = self.transaction()?;
        // SAFETY: the transaction is open; the place has the size that is given.
        let code = unsafe {
            ffi::mdbx_dbi_stat(
                transaction,
                self.tree(tree),
                &raw mut found,
                size_of_val(&found),
            )
        };
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
                checked(unsafe { ffi::mdbx_txn_renew(reader.raw) }, context)?;
            }
            None => {
                let flags = ffi::MDBX_TXN_RDONLY;
                self.reader = Some(Transaction::begin(&self.environment, flags, context)?);
            }
        }
        self.is_reading = true;
        Ok(())
    }

    fn begin_write(&mut self) -> Result<()> {
        let flags = ffi::MDBX_TXN_READWRITE;
        let context = || "begin to write".to_owned();
        let transaction = Transaction::begin(&self.environment, flags, context)?;
        self.writer = Some(Writer::here(transaction));
        Ok(())
    }

    /// Whether the transaction writes.
    fn writes(&self) -> bool {
        self.writer.is_some()
    }

    /// Ends the transaction; answers how long a commit took that wrote.
    fn commit(&mut self) -> Result<Option<CommitTimes>> {
        match self.writer.take() {
            Some(writer) => match writer.end() {
                Some(mut transaction) => transaction.commit(|| "commit".into()).map(Some),
                None => Err(sort(libc::EPERM, || "commit in another thread".into())),
            },
            None => self.rest().map(|()| None),
        }
    }

    fn rollback(&mut self) -> Result<()> {
        if let Some(writer) = self.writer.take() {
            drop(writer.end());
        }
        self.rest()
    }

    fn get<R>(&self, tree: TreeId, key: &[u8], take: impl FnOnce(&[u8]) -> R) -> Result<Option<R>> {
        let transaction = self.transaction()?;
        let mut found = EMPTY;
        // SAFETY: the transaction is open, the key valid meanwhile, the place too.
        let code = unsafe {
            ffi::mdbx_get(
                transaction,
                self.tree(tree),
                &raw const *value(key).as_ref(),
                &raw mut found,
            )
        };
        match code {
            ffi::MDBX_NOTFOUND => Ok(None),
            code => {
                checked(code, || "read".into())?;
                // SAFETY: the bytes stay until the transaction ends or changes them, which needs
                // `&mut self`; `take` cannot keep them.
                Ok(Some(take(unsafe { bytes(&found) })))
            }
        }
    }

    /// As [`crate::keyed::Engine::range`].
    fn range(&self, tree: TreeId, from: &[u8], order: Order, visit: &mut Visit<'_>) -> Result<()> {
        let context = || "read".to_owned();
        let cursor = self.cursor.bind(self.transaction()?, self.tree(tree))?;
        let (mut key, mut found) = (*value(from).as_ref(), EMPTY);
        let first = match order {
            Order::Rising if from.is_empty() => ffi::MDBX_FIRST,
            Order::Rising | Order::Falling => ffi::MDBX_SET_RANGE,
        };
        let mut code = cursor.get(&mut key, &mut found, first);
        if order == Order::Falling {
            code = match code {
                ffi::MDBX_NOTFOUND => cursor.get(&mut key, &mut found, ffi::MDBX_LAST),
                ffi::MDBX_SUCCESS => cursor.get(&mut key, &mut found, ffi::MDBX_PREV),
                code => code,
            };
        }
        let next = match order {
            Order::Rising => ffi::MDBX_NEXT,
            Order::Falling => ffi::MDBX_PREV,
        };
        loop {
            match code {
                ffi::MDBX_NOTFOUND => return Ok(()),
                code => checked(code, context)?,
            }
            // SAFETY: as in `get`; the cursor stands on this entry.
            let flow = unsafe { visit(bytes(&key), bytes(&found)) };
            if flow.is_break() {
                return Ok(());
            }
            code = cursor.get(&mut key, &mut found, next);
        }
    }

    /// Adds a key that is not there; answers whether it was added. `is_last` promises that it comes
    /// behind all others.
    fn insert(&mut self, tree: TreeId, key: &[u8], new: &[u8], is_last: bool) -> Result<bool> {
        let flags = match is_last {
            true => ffi::MDBX_NOOVERWRITE | ffi::MDBX_APPEND,
            false => ffi::MDBX_NOOVERWRITE,
        };
        match self.write(tree, key, new, flags)? {
            ffi::MDBX_KEYEXIST => Ok(false),
            code => checked(code, || "insert".into()).map(|()| true),
        }
    }

    fn put(&mut self, tree: TreeId, key: &[u8], new: &[u8]) -> Result<()> {
        let code = self.write(tree, key, new, ffi::MDBX_UPSERT)?;
        checked(code, || "write".into())
    }

    fn delete(&mut self, tree: TreeId, key: &[u8]) -> Result<()> {
        let transaction = self.transaction()?;
        let key = value(key);
        // SAFETY: the transaction is open, the key valid meanwhile.
        let code = unsafe {
            let key = &raw const *key.as_ref();
            ffi::mdbx_del(transaction, self.tree(tree), key, ptr::null())
        };
        checked(code, || "delete".into())
    }

    /// Pages from the root of a tree to its leaves.
    fn depth(&self, tree: TreeId) -> Result<u32> {
        Ok(self.examine(tree)?.ms_depth)
    }

    /// How many keys a tree has.
    fn entries(&self, tree: TreeId) -> Result<u64> {
        Ok(self.examine(tree)?.ms_entries)
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        // Nobody asks any more.
        let _undone = self.rollback();
    }
}

/// A cursor without a tree.
struct Cursor {
    raw: *mut ffi::MDBX_cursor,
}

impl Cursor {
    /// Binds it to a tree, until the answer is dropped.
    fn bind(&self, transaction: *mut ffi::MDBX_txn, tree: ffi::MDBX_dbi) -> Result<Bound<'_>> {
        // SAFETY: the transaction is open and the cursor unbound.
        let code = unsafe { ffi::mdbx_cursor_bind(transaction, self.raw, tree) };
        checked(code, || "read".into())?;
        Ok(Bound(self))
    }
}

impl Drop for Cursor {
    fn drop(&mut self) {
        // SAFETY: it is unbound.
        unsafe { ffi::mdbx_cursor_close(self.raw) };
    }
}

struct Bound<'c>(&'c Cursor);

impl Bound<'_> {
    fn get(
        &self,
        key: &mut ffi::MDBX_val,
        found: &mut ffi::MDBX_val,
        operation: ffi::MDBX_cursor_op,
    ) -> c_int {
        // SAFETY: the cursor is bound; the places are valid. A key that is looked for is borrowed
        // by the caller meanwhile.
        unsafe { ffi::mdbx_cursor_get(self.0.raw, key, found, operation) }
    }
}

impl Drop for Bound<'_> {
    fn drop(&mut self) {
        // SAFETY: it is bound.
        let _unbound = unsafe { ffi::mdbx_cursor_unbind(self.0.raw) };
    }
}

const EMPTY: ffi::MDBX_val = ffi::MDBX_val {
    iov_base: ptr::null_mut(),
    iov_len: 0,
};

/// Bytes as libmdbx takes them, for as long as they are borrowed.
struct Borrowed<'b>(ffi::MDBX_val, std::marker::PhantomData<&'b [u8]>);

impl Borrowed<'_> {
    fn as_ref(&self) -> &ffi::MDBX_val {
        &self.0
    }
}

fn value(bytes: &[u8]) -> Borrowed<'_> {
    let value = ffi::MDBX_val {
        iov_base: bytes.as_ptr().cast_mut().cast(),
        iov_len: bytes.len(),
    };
    Borrowed(value, std::marker::PhantomData)
}

/// # Safety
/// libmdbx filled it in, and its transaction has neither ended nor changed these bytes.
unsafe fn bytes<'v>(value: &ffi::MDBX_val) -> &'v [u8] {
    match value.iov_len {
        0 => &[],
        // SAFETY: as the caller promises.
        length => unsafe { slice::from_raw_parts(value.iov_base.cast(), length) },
    }
}

fn checked(code: c_int, context: impl FnOnce() -> String) -> Result<()> {
    match code {
        ffi::MDBX_SUCCESS => Ok(()),
        code => Err(sort(code, context)),
    }
}

/// The library's version.
pub(super) fn version() -> String {
    // SAFETY: a constant of the library, which nothing changes.
    let version = unsafe { ffi::mdbx_version };
    format!("{}.{}.{}", version.major, version.minor, version.patch)
}
