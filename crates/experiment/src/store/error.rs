//! Why a store cannot be used, and what can be done about it.

use std::path::PathBuf;

use rusqlite::ErrorCode;

use super::migrations::{OLDEST, STEPS, VERSION};

/// Why a store cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The file is not a result store.
    #[error("{} is not an Octavo result store: {}", path.display(), wanted.when_foreign())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// What it was wanted for.
        wanted: StoreAccess,
    },
    /// The store is of a version that is not read.
    #[error(
        "{} has store version {found}, this octavo reads {}: use the octavo that made it or name \
         another directory",
        path.display(),
        versions_read()
    )]
    Version {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: i64,
    },
    /// The file is damaged.
    #[error("{} is damaged ({what}): {}", path.display(), wanted.when_damaged())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        what: String,
        /// What it was wanted for.
        wanted: StoreAccess,
    },
    /// There is no store.
    #[error("{} does not exist: name the octavo.db of an advise, run or predict, or its directory", path.display())]
    Missing {
        /// The file.
        path: PathBuf,
    },
    /// It is a directory, a device or a pipe.
    #[error("{} is not a file: name the octavo.db of an advise, run or predict, or its directory", path.display())]
    NotAFile {
        /// What was named.
        path: PathBuf,
    },
    /// What the user named is there, and is another than it was.
    #[error(
        "{} was made with {what}, which has changed since: name another directory, or measure a copy \
         that stays as it is",
        path.display()
    )]
    OwnChanged {
        /// The store.
        path: PathBuf,
        /// The database or script.
        what: String,
    },
    /// The store was made for another plan.
    #[error(
        "{} was made with {setting} {stored}, not {wanted}: repeat the command with the old value \
         to resume, or name another directory",
        path.display()
    )]
    OtherPlan {
        /// The file.
        path: PathBuf,
        /// The first setting that differs.
        setting: &'static str,
        /// Its value in the store.
        stored: String,
        /// The value asked for.
        wanted: String,
    },
    /// It was being written when a program was killed, and what undoes that cannot be played back.
    #[error(
        "{} was left half written by a program that was killed, and {} cannot be played back there: copy \
         both into a directory that can be written, and name that one",
        path.display(),
        journal.display()
    )]
    Journal {
        /// The file.
        path: PathBuf,
        /// What undoes the half that was written.
        journal: PathBuf,
    },
    /// Another program holds it.
    #[error(
        "another program is at work in {}, such as one that shows tables: end its transaction and \
         run the same command again",
        path.display()
    )]
    Busy {
        /// The file.
        path: PathBuf,
    },
    /// The disk is full.
    #[error("no space left to write {}: free some space and run the same command again", path.display())]
    Full {
        /// The file.
        path: PathBuf,
    },
    /// SQLite refused.
    // The cause of what it says is a code with the same words, and so no source.
    #[error("use result store {}: {refused}", path.display())]
    Sqlite {
        /// The file.
        path: PathBuf,
        /// What SQLite said.
        refused: rusqlite::Error,
    },
}

impl StoreError {
    /// Whether SQLite refused rows that do not go with those that are there.
    pub(crate) fn is_of_rows(&self) -> bool {
        let Self::Sqlite { refused, .. } = self else {
            return false;
        };
        refused.sqlite_error_code() == Some(ErrorCode::ConstraintViolation)
    }

    /// Whether another path or other settings would do.
    pub fn is_bad_input(&self) -> bool {
        !matches!(self, Self::Full { .. } | Self::Sqlite { .. })
    }
}

/// What a store is wanted for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreAccess {
    /// Its results are read.
    Read,
    /// Results are added.
    Write,
}

impl StoreAccess {
    fn when_foreign(self) -> &'static str {
        match self {
            Self::Read => "name the octavo.db of an advise, run or predict, or its directory",
            Self::Write => "move it away or name another directory",
        }
    }

    fn when_damaged(self) -> &'static str {
        match self {
            Self::Read => {
                "restore it from a backup, or repeat the command that made it in a new directory"
            }
            Self::Write => "move it away or name another directory",
        }
    }
}

fn versions_read() -> String {
    match STEPS {
        [] => format!("version {VERSION}"),
        _ => format!("versions {OLDEST} to {VERSION}"),
    }
}
