//! libmdbx's codes as the errors that workloads and callers act on.

#![expect(unsafe_code, reason = "libmdbx is a library of C")]

use std::{
    error::Error,
    ffi::{CStr, c_int},
    fmt, io,
};

use octavo_workload::ConnectionError;
use signet_mdbx_sys as ffi;

/// A code that libmdbx answered with: its own, or one of the system.
#[derive(Clone, Copy, Debug)]
pub(super) struct Failure(c_int);

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&words(self.0))?;
        match self.0 {
            libc::ENOMEM => f.write_str(
                ": the map of a file takes addresses for 1 TiB; lift the limit of ulimit -v",
            ),
            ffi::MDBX_CORRUPTED
            | ffi::MDBX_PAGE_NOTFOUND
            | ffi::MDBX_INVALID
            | ffi::MDBX_NOTFOUND
            | ffi::MDBX_WANNA_RECOVERY
            | libc::ENODATA => f.write_str(
                ": the file is damaged; delete the directory that was named and load again",
            ),
            _ => Ok(()),
        }
    }
}

impl Error for Failure {}

/// What a code means in libmdbx's words.
fn words(code: c_int) -> String {
    // SAFETY: it answers with a text that stays, or with null for a code that is not libmdbx's.
    let text = unsafe { ffi::mdbx_liberr2str(code) };
    match text.is_null() {
        true => io::Error::from_raw_os_error(code).to_string(),
        // SAFETY: the text ends with NUL.
        false => unsafe { CStr::from_ptr(text) }
            .to_string_lossy()
            .into_owned(),
    }
}

/// What a failed call means.
pub(super) fn sort(code: c_int, context: impl FnOnce() -> String) -> ConnectionError {
    match code {
        libc::ENOSPC | libc::EDQUOT | ffi::MDBX_MAP_FULL => {
            ConnectionError::Full(Box::new(Failure(code)))
        }
        code => ConnectionError::other(context(), Failure(code)),
    }
}
