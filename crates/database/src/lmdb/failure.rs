//! LMDB's codes as the errors that workloads and callers act on.

#![expect(unsafe_code, reason = "LMDB is a library of C")]

use std::{
    error::Error,
    ffi::{CStr, c_int},
    fmt,
};

use lmdb_master3_sys as ffi;
use octavo_workload::ConnectionError;

/// A code that LMDB answered with: its own, or one of the system.
#[derive(Clone, Copy, Debug)]
pub(super) struct Failure(c_int);

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // SAFETY: it answers with a text that stays until the next call in this thread (strerror(3)), and ends
        // with NUL.
        let words = unsafe { CStr::from_ptr(ffi::mdb_strerror(self.0)) };
        f.write_str(&words.to_string_lossy())?;
        match self.0 {
            libc::ENOMEM => f.write_str(
                ": the map of a file takes addresses for 1 TiB; lift the limit of ulimit -v. If there is none, the \
                 file is damaged: delete the directory that was named and load again",
            ),
            ffi::MDB_CORRUPTED
            | ffi::MDB_PAGE_NOTFOUND
            | ffi::MDB_INVALID
            | ffi::MDB_NOTFOUND
            | ffi::MDB_VERSION_MISMATCH
            | ffi::MDB_PANIC
            | ffi::MDB_CURSOR_FULL
            | ffi::MDB_INCOMPATIBLE
            | ffi::MDB_BAD_TXN
            | ffi::MDB_BAD_DBI
            | libc::EINVAL => f.write_str(
                ": the file is damaged; delete the directory that was named and load again",
            ),
            _ => Ok(()),
        }
    }
}

impl Error for Failure {}

/// What a failed call means.
pub(super) fn sort(code: c_int, context: impl FnOnce() -> String) -> ConnectionError {
    match code {
        libc::ENOSPC | libc::EDQUOT | ffi::MDB_MAP_FULL => {
            ConnectionError::Full(Box::new(Failure(code)))
        }
        code => ConnectionError::other(context(), Failure(code)),
    }
}
