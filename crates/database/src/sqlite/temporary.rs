//! Connections through the page cache, and where their temporary files go: what
//! the sort of an index or of a check spills, and what a statement may have to
//! take back.
//!
//! SQLite has one place for them a process (`PRAGMA temp_store_directory`,
//! `SQLITE_TMPDIR`, /var/tmp; see <https://www.sqlite.org/tempfiles.html>). That is
//! outside of what Octavo may change, and two experiments in one process could not
//! have one each. So every connection gets a VFS of its own, a copy of "unix" that
//! opens files without a name in a directory of the caller's. The name is deleted
//! as soon as the file is open, so that a kill leaves nothing behind.
//!
//! Connections that are measured have no temporary files: `temp_store=MEMORY` goes
//! for statement journals too.

#![expect(unsafe_code, reason = "SQLite is a library of C")]

use std::{
    ffi::{CString, OsStr, c_char, c_int},
    hash::{BuildHasher as _, RandomState},
    ops::Deref,
    os::unix::ffi::OsStrExt as _,
    path::Path,
    ptr,
    sync::atomic::{AtomicU64, Ordering},
};

use rusqlite::{Connection, Error, OpenFlags, ffi};

use super::{backwards::read_ahead, vfs::unix_vfs};

/// A connection and the VFS that it was opened with. The connection drops first.
pub(crate) struct Unmeasured {
    connection: Connection,
    vfs: TemporaryFiles,
}

impl Unmeasured {
    /// Opens a database, by its path or a URI. Temporary files will be in
    /// `directory`, which exists and can be written to.
    ///
    /// # Errors
    /// When SQLite cannot open it, or `directory` has a NUL in its name.
    pub(crate) fn open(
        database: &OsStr,
        flags: OpenFlags,
        directory: &Path,
    ) -> rusqlite::Result<Self> {
        Self::open_with(database, flags, TemporaryFiles::register(Some(directory))?)
    }

    /// Opens a database of the user's. No file beside it is opened for writing either, and
    /// there are no temporary files.
    ///
    /// # Errors
    /// When SQLite cannot open it.
    pub(crate) fn open_foreign(database: &OsStr, flags: OpenFlags) -> rusqlite::Result<Self> {
        let this = Self::open_with(database, flags, TemporaryFiles::register(None)?)?;
        this.execute_batch("PRAGMA temp_store=MEMORY")?;
        Ok(this)
    }

    fn open_with(
        database: &OsStr,
        flags: OpenFlags,
        vfs: TemporaryFiles,
    ) -> rusqlite::Result<Self> {
        let connection = Connection::open_with_flags_and_vfs(database, flags, vfs.name.as_str())?;
        connection.execute_batch("PRAGMA mmap_size=0; PRAGMA temp_store=FILE")?;
        Ok(Self { connection, vfs })
    }

    /// The connection, for what changes it.
    pub(crate) fn connection_mut(&mut self) -> &mut Connection {
        &mut self.connection
    }

    /// The connection, and what has to outlive it.
    pub(crate) fn into_parts(self) -> (Connection, TemporaryFiles) {
        (self.connection, self.vfs)
    }
}

impl Deref for Unmeasured {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        &self.connection
    }
}

/// The directory that a database is in.
pub(crate) fn directory_of(database: &Path) -> &Path {
    match database.parent() {
        Some(directory) if !directory.as_os_str().is_empty() => directory,
        _ => Path::new("."),
    }
}

/// A registered VFS.
pub(crate) struct TemporaryFiles {
    registered: *mut Registration,
    name: String,
}

/// What SQLite gets a pointer to. `vfs` comes first, so that the pointers are
/// the same.
#[repr(C)]
struct Registration {
    vfs: ffi::sqlite3_vfs,
    unix: *mut ffi::sqlite3_vfs,
    /// The path of each temporary file until it is open. One serves them all: a
    /// connection opens one file at a time. "unix" keeps the pointer. Where there is none, all
    /// files are opened for reading alone.
    file: Option<CString>,
    _name: CString,
}

impl TemporaryFiles {
    /// With a directory for temporary files, or none: then nothing is opened for writing.
    fn register(directory: Option<&Path>) -> rusqlite::Result<Self> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let name = format!("octavo-plain-{}", NUMBER.fetch_add(1, Ordering::Relaxed));
        let c_name = CString::new(name.as_str())?;
        // Nobody else's, whatever namespace of processes they are in.
        let number = RandomState::new().hash_one(&name);
        let file = directory.map(|directory| {
            let file = directory.join(format!("octavo-temporary-{number:016x}"));
            CString::new(file.as_os_str().as_bytes())
        });
        let file = file.transpose()?;
        let unix = unix_vfs().ok_or_else(|| misuse("SQLite was built without its unix VFS"))?;
        // SAFETY: `unix` points to a VFS that lives as long as the process. All of
        // its functions but `xOpen` look only at `pAppData` of what they get.
        let copy = unsafe { *unix };
        let registered = Box::into_raw(Box::new(Registration {
            vfs: ffi::sqlite3_vfs {
                pNext: ptr::null_mut(),
                zName: c_name.as_ptr(),
                xOpen: Some(open),
                ..copy
            },
            unix,
            file,
            _name: c_name,
        }));
        // SAFETY: the registration stays where it is until `drop` has taken it off
        // SQLite's list.
        let status = unsafe { ffi::sqlite3_vfs_register(registered.cast(), 0) };
        let this = Self { registered, name };
        match status {
            ffi::SQLITE_OK => Ok(this),
            _ => Err(misuse("SQLite refused another VFS")),
        }
    }
}

impl Drop for TemporaryFiles {
    fn drop(&mut self) {
        // SAFETY: the connection is gone, as the fields' order in `Unmeasured` and
        // what takes its parts sees to. The registration came from Box::into_raw.
        unsafe {
            ffi::sqlite3_vfs_unregister(self.registered.cast());
            drop(Box::from_raw(self.registered));
        }
    }
}

fn misuse(what: &str) -> Error {
    Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_MISUSE), Some(what.to_owned()))
}

unsafe extern "C" fn open(
    vfs: *mut ffi::sqlite3_vfs,
    name: ffi::sqlite3_filename,
    file: *mut ffi::sqlite3_file,
    flags: c_int,
    out_flags: *mut c_int,
) -> c_int {
    // SAFETY: SQLite calls with our VFS; the arguments go on unchanged but for the
    // name, which is NULL only for files that are deleted once they are open.
    unsafe {
        let registration = &*vfs.cast::<Registration>();
        let (name, flags): (*const c_char, c_int) = match &registration.file {
            Some(file) if name.is_null() => (file.as_ptr(), flags),
            Some(_) => (name, flags),
            // SQLite asks for a log that it can write, even of who only reads.
            None => {
                let writing = ffi::SQLITE_OPEN_READWRITE | ffi::SQLITE_OPEN_CREATE;
                (name, flags & !writing | ffi::SQLITE_OPEN_READONLY)
            }
        };
        match (*registration.unix).xOpen {
            Some(open) => {
                let status = open(registration.unix, name, file, flags, out_flags);
                let is_ours = registration.file.is_some();
                if status == ffi::SQLITE_OK && is_ours && flags & ffi::SQLITE_OPEN_MAIN_DB != 0 {
                    read_ahead(file);
                }
                status
            }
            None => unreachable!("the unix VFS opens files"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, thread};

    use octavo_storage::confine::confine;

    use super::*;
    use crate::scratch;

    /// Sorts some 4 MB in pieces of the smallest size, 250 pages of 512 bytes.
    const SORT: &str = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
        SELECT count(DISTINCT x) FROM (SELECT (i % 9973) || hex(zeroblob(100)) AS x FROM n ORDER BY x)";

    /// Each thread may change files in its own directory alone, as experiments in one
    /// process may be held to theirs.
    #[test]
    fn what_a_sort_spills_is_in_the_directory_of_its_own_connection() {
        let directories = [scratch::directory(), scratch::directory()];
        thread::scope(|scope| {
            for directory in &directories {
                scope.spawn(|| {
                    if !confine(&[directory.path().to_owned()]).unwrap() {
                        eprintln!("skipped: this kernel has no Landlock");
                        return;
                    }
                    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
                    let database = directory.path().join("data");
                    let open = || Unmeasured::open(database.as_os_str(), flags, directory.path());
                    let connection = open().unwrap();
                    connection
                        .execute_batch("PRAGMA page_size=512; PRAGMA cache_size=-64")
                        .unwrap();
                    for _ in 0..3 {
                        let sorted: u32 = connection.query_row(SORT, [], |row| row.get(0)).unwrap();
                        assert_eq!(sorted, 9973);
                    }
                    // With temporary files elsewhere the same sort is refused.
                    let elsewhere = scratch_outside();
                    let outside = Unmeasured::open(database.as_os_str(), flags, &elsewhere);
                    let outside = outside.unwrap();
                    outside.execute_batch("PRAGMA cache_size=-64").unwrap();
                    let refused = outside.query_row(SORT, [], |row| row.get::<_, u32>(0));
                    let code = refused.unwrap_err().sqlite_error_code();
                    assert_eq!(code, Some(rusqlite::ErrorCode::CannotOpen));
                });
            }
        });
        for directory in &directories {
            let left = fs::read_dir(directory.path()).unwrap();
            let names: Vec<_> = left.map(|entry| entry.unwrap().file_name()).collect();
            assert!(names.iter().all(|name| name == "data"), "{names:?}");
        }
    }

    /// The directory that the test program is in, where the threads may not write.
    fn scratch_outside() -> std::path::PathBuf {
        let program = std::env::current_exe().unwrap();
        directory_of(&program).to_owned()
    }
}
