//! Why a database could not do something.

use std::{
    io,
    ops::ControlFlow,
    path::{Path, PathBuf},
};

use octavo_workload::ConnectionError;

/// The outcome of what a database was to do.
pub type Result<T, E = DatabaseError> = std::result::Result<T, E>;

/// What [`DatabaseError::Rows`] begins with, also where its words alone were kept.
pub const REFUSES_ROWS: &str = "it does not take your data: ";

/// Why a database could not do something.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DatabaseError {
    /// The database cannot work with a setting.
    #[error("{setting} {value} is not possible with {database}: {reason}")]
    Setting {
        /// The database's name.
        database: &'static str,
        /// The setting's name.
        setting: &'static str,
        /// Its value.
        value: String,
        /// The possible values, or why this one is not.
        reason: String,
    },
    /// There is no database of this name.
    #[error("database '{name}' is not known: {instead}")]
    Unknown {
        /// The name.
        name: String,
        /// What to choose.
        instead: String,
    },
    /// The user's own database cannot be copied.
    #[error("{name} {reason}")]
    Source {
        /// What the user called it.
        name: String,
        /// What is wrong with it, and what to do.
        reason: String,
    },
    /// A database's file cannot be read as one.
    #[error("{} is damaged ({said}): {remedy}", on_one_line(&path.to_string_lossy()))]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What the database says.
        said: String,
        /// What to do about it.
        remedy: &'static str,
    },
    /// The user's own rows or schema cannot be as they are with this page size or version.
    #[error("{}{reason}", REFUSES_ROWS)]
    Rows {
        /// What the database says.
        reason: String,
    },
    /// A recording of statements cannot be read.
    #[error("{} {reason}", on_one_line(&path.to_string_lossy()))]
    Recording {
        /// Its file.
        path: PathBuf,
        /// What is wrong with it, and what to do.
        reason: String,
    },
    /// The pages that statements refer to cannot be recorded.
    #[error("the pages of your statements cannot be recorded: {reason}")]
    Unrecorded {
        /// Why, and what to do.
        reason: &'static str,
    },
    /// A file could not be used.
    #[error("{action} {}", on_one_line(&path.to_string_lossy()))]
    File {
        /// A verb, such as "copy".
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// A program of the database could not do its work.
    #[error("{action} with {}: {reason}", program.display())]
    Program {
        /// What it was to do, such as "start the server".
        action: &'static str,
        /// The program.
        program: PathBuf,
        /// Why it failed, with the last lines of its log where there are any.
        reason: String,
    },
    /// Something that servers need is not there.
    #[error("{what}: {remedy}")]
    Missing {
        /// The missing thing, in words.
        what: String,
        /// What to do about it.
        remedy: String,
    },
    /// The database refused.
    #[error(transparent)]
    Connection(#[from] ConnectionError),
    /// The caller asked to stop.
    #[error("stopped")]
    Stopped,
}

/// [`DatabaseError::Stopped`] when whoever watches a long step wants no more
/// of it.
pub(crate) fn unless_stopped(flow: ControlFlow<()>) -> Result<()> {
    match flow {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(DatabaseError::Stopped),
    }
}

/// A file's name, which may have ends of lines.
pub(crate) fn on_one_line(name: &str) -> String {
    name.replace(char::is_control, "\u{fffd}")
}

impl DatabaseError {
    /// Why the user's own file cannot be used.
    pub(crate) fn source(path: &Path, reason: impl Into<String>) -> Self {
        Self::Source {
            name: on_one_line(&path.to_string_lossy()),
            reason: reason.into(),
        }
    }

    /// That the user's own file is damaged, whenever that was found, and what to do about it.
    pub fn damaged_source(path: &Path, said: &str, remedy: &str) -> Self {
        Self::source(path, format!("is damaged ({said}): {remedy}"))
    }

    /// Whether the disk is full.
    pub fn is_full(&self) -> bool {
        match self {
            Self::Connection(ConnectionError::Full(_)) => true,
            Self::File { source, .. } => matches!(
                source.kind(),
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
            ),
            _ => false,
        }
    }
}
