//! A layer between SQLite and its own file access, which reads the database
//! file and its write-ahead log past the page cache and counts every call.
//!
//! SQLite reaches files through a *VFS*
//! (<https://www.sqlite.org/c3ref/vfs.html>). Ours stands on the "unix" one.
//! It lets that one open each file and keeps it for locks, shared memory,
//! deletion and everything else that has to agree between processes; reading,
//! writing, flushing and sizes of the two files named above are ours. The
//! rollback journal is written by "unix" and counted here. There are no others:
//! connections that are measured keep what is temporary in memory.
//!
//! Closing *any* descriptor of a file drops all POSIX locks that the process
//! holds on it (fcntl(2), "Record locking"), so our own descriptor of the
//! database file must not close while a connection lives: it belongs to the
//! registration, which outlives them all. The log carries no locks; its
//! descriptor goes with the last connection that has it open, because SQLite
//! then deletes the file.
//!
//! `iVersion` 2 of the methods means that there is no `xFetch`, hence no
//! memory map.

#![expect(unsafe_code, reason = "SQLite is a library of C")]

use std::{
    cell::Cell,
    ffi::{CStr, CString, OsStr, c_char, c_int, c_void},
    io,
    mem::{align_of, size_of},
    ops::Range,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
    ptr, slice,
    sync::{
        Arc, Mutex, PoisonError, Weak,
        atomic::{AtomicU64, Ordering},
    },
    time::Instant,
};

use rusqlite::ffi;

use super::{
    OsCache,
    data_file::DataFile,
    direct_file::DirectFile,
    log_file::LogFile,
    page_watch::note_log_write,
    storage_cpu::of_call,
    tally::{FileKind, Tally},
};

/// A VFS of its own for one database file, registered as long as this lives.
pub(crate) struct DirectVfs {
    registered: *mut Registration,
    name: String,
    storage: Arc<Storage>,
}

// SAFETY: SQLite guards its list of VFSs with a mutex, and everything else
// behind the pointer is only read, or is `Storage`, which is Sync.
unsafe impl Send for DirectVfs {}
// SAFETY: as above.
unsafe impl Sync for DirectVfs {}

/// What SQLite gets a pointer to. `vfs` comes first, so that the pointers are
/// the same.
#[repr(C)]
struct Registration {
    vfs: ffi::sqlite3_vfs,
    unix: *mut ffi::sqlite3_vfs,
    storage: Arc<Storage>,
    _name: CString,
}

/// The files of one database, shared by its connections.
struct Storage {
    database: PathBuf,
    os_cache: OsCache,
    tally: Arc<Tally>,
    data: DataFile,
    /// The bytes of the first page in [`CHANGE_BYTES`], as last read or
    /// written.
    change: Mutex<Option<Change>>,
    log: Mutex<Weak<LogFile>>,
}

/// Where the database header keeps the file change counter and its
/// neighbours (<https://www.sqlite.org/fileformat.html#file_change_counter>).
/// Outside of WAL mode SQLite reads just these bytes whenever it takes a lock,
/// to learn whether its buffer is still good. Through the page cache that
/// costs nothing, and no request of the device is to be blamed for it.
const CHANGE_BYTES: Range<u64> = 24..40;

/// What SQLite may rely on past the page cache, where "unix" says that it can. All else stays
/// off, above all `SQLITE_IOCAP_SUBPAGE_READ`: it has SQLite read overflow pages past its
/// cache, each time, which only the kernel's page cache makes cheap.
const CHARACTERISTICS: c_int = ffi::SQLITE_IOCAP_POWERSAFE_OVERWRITE;

type Change = [u8; (CHANGE_BYTES.end - CHANGE_BYTES.start) as usize];

/// SQLite's own VFS, which lives as long as the process.
pub(super) fn unix_vfs() -> Option<*mut ffi::sqlite3_vfs> {
    // SAFETY: sqlite3_initialize may be called at any time from any thread.
    let initialised = unsafe { ffi::sqlite3_initialize() };
    // SAFETY: the name ends in NUL; built-in VFSs are never freed.
    let unix = unsafe { ffi::sqlite3_vfs_find(c"unix".as_ptr()) };
    (initialised == ffi::SQLITE_OK && !unix.is_null()).then_some(unix)
}

impl DirectVfs {
    /// Opens the existing file `database` and registers a VFS for it under a
    /// fresh name.
    pub(crate) fn register(
        database: &Path,
        os_cache: OsCache,
        tally: Arc<Tally>,
    ) -> io::Result<Arc<Self>> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let name = format!("octavo-{}", NUMBER.fetch_add(1, Ordering::Relaxed));
        let c_name = CString::new(name.as_str()).expect("the name has no NUL");
        // SQLite hands its VFS full paths without symbolic links.
        let database = database.canonicalize()?;
        let storage = Arc::new(Storage {
            data: DataFile::open(&database, os_cache, Arc::clone(&tally))?,
            database,
            os_cache,
            tally,
            change: Mutex::new(None),
            log: Mutex::new(Weak::new()),
        });
        let unix =
            unix_vfs().ok_or_else(|| io::Error::other("SQLite was built without its unix VFS"))?;
        // SAFETY: `unix` points to a VFS that lives as long as the process.
        let (path_max, file_size) = unsafe { ((*unix).mxPathname, (*unix).szOsFile) };
        let vfs = ffi::sqlite3_vfs {
            iVersion: 2,
            szOsFile: size_of::<OpenFile>() as c_int + file_size,
            mxPathname: path_max,
            pNext: ptr::null_mut(),
            zName: c_name.as_ptr(),
            pAppData: ptr::null_mut(),
            xOpen: Some(open),
            xDelete: Some(delete),
            xAccess: Some(access),
            xFullPathname: Some(full_pathname),
            // No connection loads extensions, which SQLite refuses unless it is
            // told to.
            xDlOpen: None,
            xDlError: None,
            xDlSym: None,
            xDlClose: None,
            xRandomness: Some(randomness),
            xSleep: Some(sleep),
            xCurrentTime: Some(current_time),
            xGetLastError: Some(get_last_error),
            xCurrentTimeInt64: Some(current_time_int64),
            xSetSystemCall: None,
            xGetSystemCall: None,
            xNextSystemCall: None,
        };
        let registered = Box::into_raw(Box::new(Registration {
            vfs,
            unix,
            storage: Arc::clone(&storage),
            _name: c_name,
        }));
        // SAFETY: the registration stays where it is until `drop` has taken it
        // off SQLite's list.
        let status = unsafe { ffi::sqlite3_vfs_register(registered.cast(), 0) };
        let this = Arc::new(Self {
            registered,
            name,
            storage,
        });
        if status == ffi::SQLITE_OK {
            Ok(this)
        } else {
            Err(io::Error::other("SQLite refused another VFS"))
        }
    }

    /// The name to open connections with.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Whether reads of the database file pass by the page cache.
    pub(crate) fn is_direct(&self) -> bool {
        self.storage.data.is_direct()
    }

    /// The share of the database file that the page cache holds, 0 to 1.
    pub(crate) fn resident(&self) -> io::Result<f64> {
        self.storage.data.resident()
    }

    /// Waits until the kernel has written what it still has of the database file.
    pub(crate) fn write_back(&self) -> io::Result<()> {
        self.storage.data.write_back()
    }
}

impl Drop for DirectVfs {
    fn drop(&mut self) {
        // SAFETY: every connection keeps the Arc around this alive, so none is
        // left to use the registration, which came from Box::into_raw.
        unsafe {
            ffi::sqlite3_vfs_unregister(self.registered.cast());
            drop(Box::from_raw(self.registered));
        }
    }
}

impl Storage {
    /// Reads the database file.
    fn read(&self, target: &mut [u8], offset: u64) -> io::Result<usize> {
        if !touches_change(offset, target.len()) {
            return self.data.read(target, offset);
        }
        let mut change = self.change.lock().unwrap_or_else(PoisonError::into_inner);
        if offset == CHANGE_BYTES.start
            && let Some(change) = change
                .as_ref()
                .filter(|change| change.len() == target.len())
        {
            target.copy_from_slice(change);
            return Ok(target.len());
        }
        let read = self.data.read(target, offset)?;
        remember(&mut change, &target[..read], offset);
        Ok(read)
    }

    /// Writes the database file.
    fn write(&self, source: &[u8], offset: u64) -> io::Result<()> {
        if !touches_change(offset, source.len()) {
            return self.data.write(source, offset);
        }
        let mut change = self.change.lock().unwrap_or_else(PoisonError::into_inner);
        *change = None;
        self.data.write(source, offset)?;
        remember(&mut change, source, offset);
        Ok(())
    }

    /// The log at `path`, shared with the connections that have it open.
    fn log(&self, path: &Path) -> io::Result<Arc<LogFile>> {
        let mut shared = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(log) = shared.upgrade() {
            return Ok(log);
        }
        let file = DirectFile::open(path, self.os_cache, FileKind::Log, Arc::clone(&self.tally))?;
        let log = Arc::new(LogFile::new(file, path)?);
        *shared = Arc::downgrade(&log);
        Ok(log)
    }
}

/// Whether bytes at `offset` lie in [`CHANGE_BYTES`], wholly or in part.
fn touches_change(offset: u64, length: usize) -> bool {
    offset < CHANGE_BYTES.end && offset + length as u64 > CHANGE_BYTES.start
}

/// Keeps what `bytes` at `offset` say of [`CHANGE_BYTES`], if they have all.
fn remember(change: &mut Option<Change>, bytes: &[u8], offset: u64) {
    *change = CHANGE_BYTES
        .start
        .checked_sub(offset)
        .and_then(|start| bytes.get(start as usize..(CHANGE_BYTES.end - offset) as usize))
        .and_then(|bytes| bytes.try_into().ok());
}

/// What an open file is to us.
enum Role {
    /// The database file, which [`Storage`] holds.
    Data,
    Log(Arc<LogFile>),
    /// The rollback journal: "unix" does the work.
    Journal,
}

/// SQLite's view of a file of ours. The file of the "unix" VFS follows it in
/// the same allocation. SQLite aligns that to 8 bytes, so neither may need
/// more, and the size keeps the second one aligned.
#[repr(C)]
struct OpenFile {
    base: ffi::sqlite3_file,
    role: Role,
    storage: Arc<Storage>,
}

const _: () = assert!(align_of::<OpenFile>() <= 8 && size_of::<OpenFile>().is_multiple_of(8));

static METHODS: ffi::sqlite3_io_methods = ffi::sqlite3_io_methods {
    iVersion: 2,
    xClose: Some(close),
    xRead: Some(read),
    xWrite: Some(write),
    xTruncate: Some(truncate),
    xSync: Some(sync),
    xFileSize: Some(file_size),
    xLock: Some(lock),
    xUnlock: Some(unlock),
    xCheckReservedLock: Some(check_reserved_lock),
    xFileControl: Some(file_control),
    xSectorSize: Some(sector_size),
    xDeviceCharacteristics: Some(device_characteristics),
    xShmMap: Some(shm_map),
    xShmLock: Some(shm_lock),
    xShmBarrier: Some(shm_barrier),
    xShmUnmap: Some(shm_unmap),
    xFetch: None,
    xUnfetch: None,
};

/// Calls a method of the "unix" file that follows ours.
macro_rules! unix_file {
    ($file:expr, $method:ident $(, $argument:expr)*) => {{
        let unix = beneath($file);
        match (*(*unix).pMethods).$method {
            Some(method) => method(unix $(, $argument)*),
            None => unreachable!("the unix VFS has all methods of version 2"),
        }
    }};
}

/// Calls a method of the "unix" VFS.
macro_rules! unix_vfs {
    ($vfs:expr, $method:ident $(, $argument:expr)*) => {{
        let unix = (*$vfs.cast::<Registration>()).unix;
        match (*unix).$method {
            Some(method) => method(unix $(, $argument)*),
            None => unreachable!("the unix VFS has all methods of version 2"),
        }
    }};
}

/// # Safety
/// `file` is one that [`open`] filled in.
unsafe fn beneath(file: *mut ffi::sqlite3_file) -> *mut ffi::sqlite3_file {
    // SAFETY: szOsFile asks for both, one after the other.
    unsafe { file.cast::<OpenFile>().add(1).cast() }
}

/// # Safety
/// `file` is one that [`open`] filled in and [`close`] has not yet taken.
unsafe fn ours<'a>(file: *mut ffi::sqlite3_file) -> &'a OpenFile {
    // SAFETY: as the caller promises.
    unsafe { &*file.cast::<OpenFile>() }
}

/// SQLite's code for a failed system call. A full disk has one of its own,
/// which callers can tell from a broken one.
fn code(error: &io::Error, otherwise: c_int) -> c_int {
    match error.raw_os_error() {
        Some(libc::ENOSPC | libc::EDQUOT) => ffi::SQLITE_FULL,
        _ => otherwise,
    }
}

fn status(result: io::Result<()>, otherwise: c_int) -> c_int {
    match result {
        Ok(()) => ffi::SQLITE_OK,
        Err(error) => code(&error, otherwise),
    }
}

unsafe extern "C" fn open(
    vfs: *mut ffi::sqlite3_vfs,
    name: ffi::sqlite3_filename,
    file: *mut ffi::sqlite3_file,
    flags: c_int,
    out_flags: *mut c_int,
) -> c_int {
    // SAFETY: SQLite calls with our VFS, a file of szOsFile bytes, and a name
    // that is NULL (only for temporary files) or ends in NUL.
    unsafe {
        let registration = vfs.cast::<Registration>();
        let storage = &(*registration).storage;
        let path = (!name.is_null())
            .then(|| Path::new(OsStr::from_bytes(CStr::from_ptr(name).to_bytes())));
        let kind = flags
            & (ffi::SQLITE_OPEN_MAIN_DB | ffi::SQLITE_OPEN_WAL | ffi::SQLITE_OPEN_MAIN_JOURNAL);
        let handled = match (kind, path) {
            (ffi::SQLITE_OPEN_MAIN_DB, Some(path)) => path == storage.database,
            (ffi::SQLITE_OPEN_WAL | ffi::SQLITE_OPEN_MAIN_JOURNAL, Some(_)) => true,
            _ => false,
        };
        let Some(path) = path.filter(|_| handled) else {
            return unix_vfs!(vfs, xOpen, name, file, flags, out_flags);
        };
        (*file).pMethods = ptr::null();
        let result = unix_vfs!(
            vfs,
            xOpen,
            name,
            file.cast::<OpenFile>().add(1).cast(),
            flags,
            out_flags
        );
        if result != ffi::SQLITE_OK {
            return result;
        }
        let role = match kind {
            ffi::SQLITE_OPEN_MAIN_DB => Ok(Role::Data),
            ffi::SQLITE_OPEN_WAL => storage.log(path).map(Role::Log),
            _ => Ok(Role::Journal),
        };
        match role {
            Ok(role) => {
                file.cast::<OpenFile>().write(OpenFile {
                    base: ffi::sqlite3_file {
                        pMethods: &raw const METHODS,
                    },
                    role,
                    storage: Arc::clone(storage),
                });
                ffi::SQLITE_OK
            }
            Err(error) => {
                unix_file!(file, xClose);
                code(&error, ffi::SQLITE_CANTOPEN)
            }
        }
    }
}

unsafe extern "C" fn close(file: *mut ffi::sqlite3_file) -> c_int {
    // SAFETY: SQLite closes an open file once and does not use it again.
    unsafe {
        let result = unix_file!(file, xClose);
        ptr::drop_in_place(file.cast::<OpenFile>());
        (*file).pMethods = ptr::null();
        result
    }
}

unsafe extern "C" fn read(
    file: *mut ffi::sqlite3_file,
    target: *mut c_void,
    length: c_int,
    offset: i64,
) -> c_int {
    // SAFETY: SQLite gives an open file and `length` bytes of memory. They may
    // be uninitialised, which is why they are zeroed before a slice is made;
    // a page's worth of zeroing is lost beside the read itself.
    unsafe {
        let this = ours(file);
        let target = {
            ptr::write_bytes(target.cast::<u8>(), 0, length as usize);
            slice::from_raw_parts_mut(target.cast::<u8>(), length as usize)
        };
        let result = match &this.role {
            Role::Data => of_call(|| this.storage.read(target, offset as u64)),
            Role::Log(log) => of_call(|| log.read(target, offset as u64, IN_CHECKPOINT.get())),
            Role::Journal => {
                return unix_file!(file, xRead, target.as_mut_ptr().cast(), length, offset);
            }
        };
        match result {
            Ok(read) if read == target.len() => ffi::SQLITE_OK,
            Ok(read) => {
                // SQLite wants zeros behind the end of the file.
                target[read..].fill(0);
                ffi::SQLITE_IOERR_SHORT_READ
            }
            Err(_) => ffi::SQLITE_IOERR_READ,
        }
    }
}

unsafe extern "C" fn write(
    file: *mut ffi::sqlite3_file,
    source: *const c_void,
    length: c_int,
    offset: i64,
) -> c_int {
    // SAFETY: SQLite gives an open file and `length` initialised bytes.
    unsafe {
        let this = ours(file);
        let bytes = slice::from_raw_parts(source.cast::<u8>(), length as usize);
        let result = match &this.role {
            Role::Data => of_call(|| this.storage.write(bytes, offset as u64)),
            Role::Log(log) => {
                note_log_write(bytes, offset as u64);
                of_call(|| log.write(bytes, offset as u64))
            }
            Role::Journal => {
                let start = Instant::now();
                let result = unix_file!(file, xWrite, source, length, offset);
                let writes = &this.storage.tally.log.writes;
                writes.add(length as usize, start.elapsed());
                return result;
            }
        };
        status(result, ffi::SQLITE_IOERR_WRITE)
    }
}

unsafe extern "C" fn truncate(file: *mut ffi::sqlite3_file, size: i64) -> c_int {
    // SAFETY: SQLite gives an open file.
    unsafe {
        let this = ours(file);
        let result = match &this.role {
            Role::Data => this.storage.data.set_size(size as u64),
            Role::Log(log) => log.truncate(size as u64),
            Role::Journal => return unix_file!(file, xTruncate, size),
        };
        status(result, ffi::SQLITE_IOERR_TRUNCATE)
    }
}

unsafe extern "C" fn sync(file: *mut ffi::sqlite3_file, flags: c_int) -> c_int {
    // SAFETY: SQLite gives an open file.
    unsafe {
        let this = ours(file);
        let result = match &this.role {
            Role::Data => of_call(|| this.storage.data.sync()),
            Role::Log(log) => of_call(|| log.sync()),
            Role::Journal => {
                let start = Instant::now();
                let result = unix_file!(file, xSync, flags);
                this.storage.tally.log.syncs.add(0, start.elapsed());
                return result;
            }
        };
        status(result, ffi::SQLITE_IOERR_FSYNC)
    }
}

unsafe extern "C" fn file_size(file: *mut ffi::sqlite3_file, size: *mut i64) -> c_int {
    // SAFETY: SQLite gives an open file and a place for the answer.
    unsafe {
        let this = ours(file);
        let result = match &this.role {
            Role::Data => this.storage.data.size(),
            Role::Log(log) => Ok(log.size()),
            Role::Journal => return unix_file!(file, xFileSize, size),
        };
        match result {
            Ok(bytes) => {
                *size = bytes as i64;
                ffi::SQLITE_OK
            }
            Err(_) => ffi::SQLITE_IOERR_FSTAT,
        }
    }
}

unsafe extern "C" fn sector_size(file: *mut ffi::sqlite3_file) -> c_int {
    // SAFETY: SQLite gives an open file.
    unsafe {
        let aligned = ours(file).storage.data.offset_align() as c_int;
        let unix = unix_file!(file, xSectorSize);
        unix.max(aligned).max(512)
    }
}

unsafe extern "C" fn device_characteristics(file: *mut ffi::sqlite3_file) -> c_int {
    // SAFETY: SQLite gives an open file.
    unsafe {
        let told = unix_file!(file, xDeviceCharacteristics);
        match ours(file).storage.os_cache {
            OsCache::None => told & CHARACTERISTICS,
            OsCache::Whole => told,
        }
    }
}

/// Methods that only pass on what they get.
macro_rules! pass_on_file {
    ($($name:ident => $method:ident ( $($argument:ident : $kind:ty),* ) $(-> $result:ty)?;)*) => {$(
        unsafe extern "C" fn $name(
            file: *mut ffi::sqlite3_file $(, $argument: $kind)*
        ) $(-> $result)? {
            // SAFETY: SQLite gives an open file; the arguments go on unchanged.
            unsafe { unix_file!(file, $method $(, $argument)*) }
        }
    )*};
}

pass_on_file! {
    lock => xLock(level: c_int) -> c_int;
    unlock => xUnlock(level: c_int) -> c_int;
    check_reserved_lock => xCheckReservedLock(result: *mut c_int) -> c_int;
    shm_map => xShmMap(
        region: c_int, size: c_int, extend: c_int, address: *mut *mut c_void
    ) -> c_int;
    shm_barrier => xShmBarrier();
    shm_unmap => xShmUnmap(delete: c_int) -> c_int;
}

unsafe extern "C" fn file_control(
    file: *mut ffi::sqlite3_file,
    operation: c_int,
    argument: *mut c_void,
) -> c_int {
    // SAFETY: SQLite gives an open file; the arguments go on unchanged.
    unsafe {
        if operation == ffi::SQLITE_FCNTL_CKPT_DONE {
            ours(file)
                .storage
                .tally
                .checkpoints
                .fetch_add(1, Ordering::Relaxed);
        }
        unix_file!(file, xFileControl, operation, argument)
    }
}

/// The lock in the shared memory that a checkpoint holds, from
/// <https://www.sqlite.org/walformat.html>, "WAL Locks".
const CHECKPOINT_LOCK: c_int = 1;

thread_local! {
    /// Whether the connection that works on this thread is in a checkpoint:
    /// it takes and gives back the lock on the thread that copies the pages.
    static IN_CHECKPOINT: Cell<bool> = const { Cell::new(false) };
}

unsafe extern "C" fn shm_lock(
    file: *mut ffi::sqlite3_file,
    offset: c_int,
    count: c_int,
    flags: c_int,
) -> c_int {
    // SAFETY: SQLite gives an open file; the arguments go on unchanged.
    let status = unsafe { unix_file!(file, xShmLock, offset, count, flags) };
    let exclusive = flags & ffi::SQLITE_SHM_EXCLUSIVE != 0;
    if status == ffi::SQLITE_OK && exclusive && (offset..offset + count).contains(&CHECKPOINT_LOCK)
    {
        IN_CHECKPOINT.set(flags & ffi::SQLITE_SHM_LOCK != 0);
    }
    status
}

macro_rules! pass_on_vfs {
    ($($name:ident => $method:ident ( $($argument:ident : $kind:ty),* ) -> $result:ty;)*) => {$(
        unsafe extern "C" fn $name(
            vfs: *mut ffi::sqlite3_vfs $(, $argument: $kind)*
        ) -> $result {
            // SAFETY: SQLite gives our VFS; the arguments go on unchanged.
            unsafe { unix_vfs!(vfs, $method $(, $argument)*) }
        }
    )*};
}

pass_on_vfs! {
    delete => xDelete(name: *const c_char, sync_directory: c_int) -> c_int;
    access => xAccess(name: *const c_char, flags: c_int, result: *mut c_int) -> c_int;
    full_pathname => xFullPathname(
        name: *const c_char, length: c_int, full: *mut c_char
    ) -> c_int;
    randomness => xRandomness(length: c_int, target: *mut c_char) -> c_int;
    sleep => xSleep(microseconds: c_int) -> c_int;
    current_time => xCurrentTime(days: *mut f64) -> c_int;
    current_time_int64 => xCurrentTimeInt64(milliseconds: *mut i64) -> c_int;
    get_last_error => xGetLastError(length: c_int, text: *mut c_char) -> c_int;
}
