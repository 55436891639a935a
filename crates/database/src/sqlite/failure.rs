//! SQLite's result codes as the errors that workloads and callers act on.

#![expect(unsafe_code, reason = "SQLite is a library of C")]

use std::{
    ffi::{CStr, c_int},
    io,
    path::Path,
};

use octavo_workload::{ConnectionError, connection::Conflict};
use rusqlite::{Error, ErrorCode, ffi};

use crate::DatabaseError;

/// What the connection's last call failed with, given its result `code`.
///
/// # Safety
/// `connection` is open, and no other thread uses it.
pub(crate) unsafe fn last_failure(
    connection: *mut ffi::sqlite3,
    code: c_int,
    context: impl FnOnce() -> String,
) -> ConnectionError {
    // SAFETY: as the caller promises; the text is copied before another call.
    let (message, errno) = unsafe {
        let text = CStr::from_ptr(ffi::sqlite3_errmsg(connection));
        (
            text.to_string_lossy().into_owned(),
            ffi::sqlite3_system_errno(connection),
        )
    };
    let failure = Error::SqliteFailure(ffi::Error::new(code), Some(message));
    if code & 0xff == ffi::SQLITE_IOERR && matches!(errno, libc::ENOSPC | libc::EDQUOT) {
        return ConnectionError::Full(Box::new(io::Error::from_raw_os_error(errno)));
    }
    sort(failure, context)
}

/// What a failed call of rusqlite means.
pub(crate) fn sort(failure: Error, context: impl FnOnce() -> String) -> ConnectionError {
    let primary = match &failure {
        Error::SqliteFailure(failure, _) => failure.extended_code & 0xff,
        _ => ffi::SQLITE_ERROR,
    };
    match primary {
        ffi::SQLITE_BUSY | ffi::SQLITE_LOCKED => ConnectionError::Conflict {
            kind: conflict(&failure),
            source: Box::new(Said(failure)),
        },
        ffi::SQLITE_FULL => ConnectionError::Full(Box::new(Said(failure))),
        ffi::SQLITE_INTERRUPT => ConnectionError::Timeout(Box::new(Said(failure))),
        _ => ConnectionError::other(context(), Said(failure)),
    }
}

/// What to do about a damaged file.
pub(super) const REPAIR: &str = "restore it, or try sqlite3's .recover";

/// As [`sort`], of a call that reads the database in a file.
pub(crate) fn sort_in(
    file: &Path,
    failure: Error,
    context: impl FnOnce() -> String,
) -> DatabaseError {
    match failure.sqlite_error_code() {
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => DatabaseError::Damaged {
            path: file.to_owned(),
            said: failure.to_string(),
            remedy: REPAIR,
        },
        _ => sort(failure, context).into(),
    }
}

/// What SQLite said, without the code that rusqlite has as its cause: its words are those of the
/// message once more.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Said(Error);

/// A busy database was locked by another connection for longer than the busy
/// timeout, unless the snapshot of a reader is too old for it to write
/// (<https://www.sqlite.org/rescode.html#busy_snapshot>).
fn conflict(failure: &Error) -> Conflict {
    match failure {
        Error::SqliteFailure(failure, _) if failure.extended_code == ffi::SQLITE_BUSY_SNAPSHOT => {
            Conflict::Serialisation
        }
        _ => Conflict::LockTimeout,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_become_what_callers_act_on() {
        let of = |code| {
            sort(Error::SqliteFailure(ffi::Error::new(code), None), || {
                "run SELECT 1".into()
            })
        };
        assert!(matches!(
            of(ffi::SQLITE_BUSY_SNAPSHOT),
            ConnectionError::Conflict {
                kind: Conflict::Serialisation,
                ..
            }
        ));
        for code in [
            ffi::SQLITE_BUSY,
            ffi::SQLITE_BUSY_RECOVERY,
            ffi::SQLITE_LOCKED,
        ] {
            assert!(matches!(
                of(code),
                ConnectionError::Conflict {
                    kind: Conflict::LockTimeout,
                    ..
                }
            ));
        }
        assert!(matches!(of(ffi::SQLITE_FULL), ConnectionError::Full(_)));
        assert_eq!(of(ffi::SQLITE_CORRUPT).to_string(), "run SELECT 1");
    }

    #[test]
    fn what_sqlite_says_is_said_once() {
        let chain = |message: Option<&str>| {
            let failure = ffi::Error::new(ffi::SQLITE_CONSTRAINT_PRIMARYKEY);
            let failure = Error::SqliteFailure(failure, message.map(str::to_owned));
            let error = sort(failure, || "run a statement".into());
            let mut text = error.to_string();
            let mut cause = std::error::Error::source(&error);
            while let Some(error) = cause {
                text += &format!(": {error}");
                cause = error.source();
            }
            text
        };
        assert_eq!(
            chain(Some("UNIQUE constraint failed: a.b")),
            "run a statement: UNIQUE constraint failed: a.b"
        );
        let alone = chain(None);
        assert_eq!(alone.matches("constraint failed").count(), 1, "{alone}");
    }
}
