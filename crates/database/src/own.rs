//! The user's own database: looked at and copied, never changed.

use std::path::Path;

use octavo_script::{Script, SyntaxError};
use octavo_units::ByteCount;
use octavo_workload::user::{CopyOf, Prepared};

use crate::{DatabaseError, Result};

/// A database whose own files can be copied.
pub trait CopyOwn {
    /// Looks at what is to be copied.
    ///
    /// # Errors
    /// [`DatabaseError::Source`] for what is no database of this kind, is locked, was not
    /// closed, or needs what is not there.
    fn examine(&self, source: &Path) -> Result<Own>;

    /// Guesses a script from the schema, in pgbench's language; `None` where no table has rows to
    /// draw from.
    ///
    /// # Errors
    /// As [`Self::examine`].
    fn propose(&self, source: &Path) -> Result<Option<String>>;

    /// Puts the statements of scripts into this database's words, and tries each on the source
    /// without running it.
    ///
    /// # Errors
    /// As [`Self::examine`]; [`OwnError::Script`] for a statement that the database refuses, or
    /// that would change what is measured.
    fn prepare(&self, source: &Path, scripts: &[Script]) -> Result<Prepared, OwnError>;
}

/// What was found.
#[derive(Clone, Debug)]
pub struct Own {
    /// What is copied.
    pub copy: CopyOf,
    /// Options that make a copy work as the original does, by name.
    pub options: Vec<(String, String)>,
    /// The cache that connections to it have unless they say otherwise.
    pub cache: ByteCount,
}

/// Why scripts cannot run on the user's own database.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OwnError {
    /// A script.
    #[error(transparent)]
    Script(#[from] Box<SyntaxError>),
    /// The database.
    #[error(transparent)]
    Database(#[from] DatabaseError),
}
