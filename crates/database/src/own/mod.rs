//! The user's own database: looked at and copied, never changed.

pub(crate) mod civil;
pub(crate) mod digested;
pub(crate) mod guess;
pub(crate) mod preparation;
pub(crate) mod recorded;
pub(crate) mod sample;

use std::{
    ffi::OsStr,
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use octavo_recording::{End, Left, Recording};
use octavo_script::{Described, Part, Script, StatementText, SyntaxError};
use octavo_units::{ByteCount, Seed};
use octavo_workload::{
    Limit,
    user::{
        CopyOf, Copying, OwnDigests, OwnStatement, OwnStatements, Prepared, Sample, SampledTable,
        Share,
    },
};

use self::{
    digested::{Digests, FoundDigests},
    guess::Guess,
};
use crate::{DatabaseError, Result, files, server::account::Account};
use sample::Size;

/// A database whose own files can be copied.
pub trait CopyOwn {
    /// Looks at what is to be copied, and how. The rows of a sample are counted, until `stopped` says
    /// so.
    ///
    /// # Errors
    /// [`DatabaseError::Source`] for what is no database of this kind, is locked, was not
    /// closed, needs what is not there, or cannot be copied so; [`DatabaseError::Stopped`].
    fn examine(&self, source: &OsStr, copying: &Copying, stopped: &dyn Fn() -> bool)
    -> Result<Own>;

    /// Guesses statements from the schema; `None` where no table has rows to draw from.
    ///
    /// # Errors
    /// As [`Self::examine`].
    fn propose(&self, source: &OsStr) -> Result<Option<Guess>>;

    /// Reads files in which this database, or a program that uses it, recorded statements: those
    /// sent to what is copied.
    ///
    /// # Errors
    /// [`DatabaseError::File`] when one cannot be read, [`DatabaseError::Recording`] for one that
    /// is no recording of this kind.
    fn read_recording(&self, source: &OsStr, copy: &CopyOf, files: &[PathBuf])
    -> Result<Recording>;

    /// Reads the digests that the server counted of the database.
    ///
    /// # Errors
    /// As [`Self::examine`].
    fn read_digests(&self, _source: &OsStr) -> Result<FoundDigests> {
        Ok(FoundDigests::Never)
    }

    /// Puts statements into this database's words, and tries each on the source without running
    /// it.
    ///
    /// # Errors
    /// As [`Self::examine`]; [`OwnError::Script`] for a statement of a script that the database
    /// refuses, or that would change what is measured; [`OwnError::NothingRecorded`] where it
    /// refuses all that was recorded.
    fn prepare(&self, source: &OsStr, statements: Statements<'_>) -> Result<Tried, OwnError>;

    /// A query whose rows are what is wrong with the data, one text each, or "ok"; `None` where
    /// there is none.
    fn check(&self) -> Option<&'static str> {
        None
    }

    /// What the user can do where [`Self::check`] finds damage.
    fn repair(&self) -> &'static str {
        "restore it"
    }

    /// Makes a directory that only those may look into who have to, whatever the umask.
    ///
    /// # Errors
    /// [`DatabaseError::File`] when it cannot be made.
    fn make_private(&self, directory: &Path) -> Result<()> {
        make_private(directory, None)
    }
}

/// Makes a directory for the eyes of its owner alone, who is the account or else Octavo's user.
pub(crate) fn make_private(directory: &Path, account: Option<&Account>) -> Result<()> {
    fs::create_dir_all(directory)
        .and_then(|()| fs::set_permissions(directory, Permissions::from_mode(0o700)))
        .map_err(files::named("create", directory))?;
    account.map_or(Ok(()), |account| {
        let about = fs::metadata(directory).map_err(files::named("examine", directory))?;
        account.own_one(directory, &about)
    })
}

/// An error while the user's rows were read. One of a server that went away says so in a sentence
/// instead of its program's many.
pub(crate) fn told_if_lost(error: DatabaseError) -> DatabaseError {
    /// The words of libpq, and of the clients of MariaDB and MySQL.
    const WORDS: [&str; 6] = [
        "server closed the connection",
        "connection to server was lost",
        "terminating connection",
        "Lost connection to",
        "server has gone away",
        "Connection was killed",
    ];
    match error {
        DatabaseError::Program {
            action,
            program,
            reason,
        } if WORDS.iter().any(|words| reason.contains(words)) => DatabaseError::Program {
            action,
            program,
            reason: "the connection to your server was lost; the command repeated copies anew"
                .into(),
        },
        error => error,
    }
}

/// The user's statements.
#[derive(Debug)]
pub enum Statements<'s> {
    /// Of scripts.
    Scripts(&'s [Script]),
    /// Of a recording, with the names of its files.
    Recorded(Recording, &'s [String]),
    /// Digests.
    Digests(Digests),
}

/// A statement to be put into a database's words.
pub(crate) struct Shown<'s> {
    pub(crate) parts: &'s [Part],
    pub(crate) parameters: usize,
    pub(crate) line: usize,
    /// Whether it may run outside of a transaction.
    pub(crate) is_alone: bool,
    /// Whether the names of its columns are wanted.
    pub(crate) wants_columns: bool,
}

/// Why a database does not take a statement.
#[derive(Debug)]
pub(crate) enum Refused {
    /// The statement is wrong.
    Statement {
        message: String,
        /// What the database stopped at, if it says so.
        at: Option<String>,
    },
    /// The database cannot be asked.
    Database(DatabaseError),
}

impl Refused {
    /// The whole statement is wrong.
    pub(crate) fn whole(message: impl Into<String>) -> Self {
        Self::Statement {
            message: message.into(),
            at: None,
        }
    }
}

/// Puts a statement into a database's words.
pub(crate) type Describe<'d> =
    dyn FnMut(&Shown<'_>) -> Result<(OwnStatement, Described), Refused> + 'd;

/// Statements that run, and what may be told of digests among them.
#[derive(Debug)]
pub(crate) struct Runnable {
    pub(crate) prepared: Prepared,
    pub(crate) digests: Option<OwnDigests>,
}

impl From<Prepared> for Runnable {
    fn from(prepared: Prepared) -> Self {
        Self {
            prepared,
            digests: None,
        }
    }
}

fn prepare_scripts(
    scripts: &[Script],
    check: Option<&'static str>,
    describe: &mut Describe<'_>,
) -> Result<Prepared, OwnError> {
    let mut prepared = Vec::new();
    for script in scripts {
        let mut statements = Vec::new();
        let mut described = Vec::new();
        for statement in script.statements() {
            let shown = Shown {
                parts: &statement.parts,
                parameters: statement.parameters,
                line: statement.line,
                is_alone: statement.is_alone,
                wants_columns: statement.wants_columns,
            };
            let (own, of) = describe(&shown).map_err(|refused| match refused {
                Refused::Statement { message, at } => {
                    let place = place(script, statement, at.as_deref());
                    OwnError::Script(Box::new(script.error(place, message)))
                }
                Refused::Database(error) => error.into(),
            })?;
            statements.push(own);
            described.push(of);
        }
        prepared.push(OwnStatements {
            name: script.name().to_owned(),
            program: script.compile(&described).map_err(Box::new)?,
            statements,
        });
    }
    Ok(Prepared::new(prepared, check))
}

fn prepare_recorded(
    mut recording: Recording,
    files: &[String],
    check: Option<&'static str>,
    describe: &mut Describe<'_>,
) -> Result<Prepared, OwnError> {
    let mut are_alone = vec![false; recording.forms.len()];
    for transaction in &recording.transactions {
        for step in recording.steps(transaction) {
            are_alone[step.form as usize] |= transaction.end == End::Alone;
        }
    }
    let mut taken = Vec::new();
    let mut wanted = Vec::new();
    let mut first_refusal = None;
    for (form, is_alone) in recording.forms.iter().zip(are_alone) {
        let line = usize::try_from(form.line).unwrap_or(usize::MAX);
        let shown = Shown {
            parts: &form.parts,
            parameters: form.parameters,
            line,
            is_alone,
            wants_columns: false,
        };
        match describe(&shown) {
            Ok((own, described)) => taken.push((own, described.reads)),
            Err(Refused::Statement { message, .. }) => {
                let file = files.get(form.file).map_or("", String::as_str);
                let message = without_values(&message);
                first_refusal.get_or_insert_with(|| format!("{file}, line {line}: {message}"));
            }
            Err(Refused::Database(error)) => return Err(error.into()),
        }
        wanted.push(taken.len() > wanted.iter().filter(|taken| **taken).count());
    }
    recording.retain(&wanted, &Left::Refused);
    if recording.transactions.is_empty() {
        return Err(OwnError::NothingRecorded {
            files: files.join(", "),
            reason: first_refusal.unwrap_or_else(|| why_nothing(&recording)),
        });
    }
    Ok(Prepared::recorded(recording, files, taken, check))
}

/// A message up to what it may quote of a statement.
pub(crate) fn without_values(message: &str) -> String {
    let (who, said) = message.split_once(": ").unwrap_or(("", message));
    match said.find(['\'', '"', ':']) {
        Some(end) => format!("{who}: {} ...", said[..end].trim_end()),
        None => message.to_owned(),
    }
}

/// Why a recording has no statement to run.
fn why_nothing(recording: &Recording) -> String {
    let left = recording.left.iter();
    let left: Vec<String> = left.map(|(why, count)| format!("{count} {why}")).collect();
    match left.is_empty() {
        true => "there is none".into(),
        false => format!("there are {}", left.join(", ")),
    }
}

/// What is wrong with a statement whose marks are not all of variables.
pub(crate) const NO_VARIABLE: &str =
    "a parameter is none of the script's variables: write :name, and set it";

/// What is wrong with one whose columns are wanted, and that has none.
pub(crate) const NO_ROWS: &str = "this statement has no rows for \\gset or \\aset";

/// A statement of a server's that answers with these `columns`: each client has a session of its
/// own there, in which every statement can be asked for its rows.
///
/// # Errors
/// [`NO_ROWS`].
pub(crate) fn on_server(
    shown: &Shown<'_>,
    sql: String,
    columns: Vec<String>,
) -> Result<(OwnStatement, Described), Refused> {
    let answers = !columns.is_empty();
    if shown.wants_columns && !answers {
        return Err(Refused::whole(NO_ROWS));
    }
    let columns = match shown.wants_columns {
        true => columns,
        false => Vec::new(),
    };
    let own = OwnStatement {
        sql,
        line: shown.line,
        parameters: shown.parameters,
        columns: columns.len(),
        writes: false,
        answers,
        needs_one_client: false,
    };
    // Any statement may call a function that writes.
    let reads = false;
    Ok((own, Described { columns, reads }))
}

/// A statement's SQL, with this mark and a number from 1 for each parameter.
pub(crate) fn numbered(parts: &[Part], mark: char) -> String {
    let part = |part: &Part| match part {
        Part::Text(text) => text.clone(),
        Part::Parameter(position) => format!("{mark}{}", position + 1),
    };
    parts.iter().map(part).collect()
}

/// Where in a script the database stopped: the first place behind the statement's beginning that
/// has this text, or the beginning.
fn place(script: &Script, statement: &StatementText, stopped_at: Option<&str>) -> usize {
    let behind = &script.source()[statement.offset..];
    let found = stopped_at
        .filter(|word| !word.is_empty())
        .and_then(|word| behind.find(word));
    statement.offset + found.unwrap_or_default()
}

/// The word that a text begins with, or its first character.
pub(crate) fn first_word(text: &str) -> &str {
    let is_word = |character: char| character.is_alphanumeric() || character == '_';
    match text.find(|character| !is_word(character)) {
        Some(0) => &text[..text.chars().next().map_or(0, char::len_utf8)],
        Some(length) => &text[..length],
        None => text,
    }
}

/// Scripts that were tried.
#[derive(Clone, Debug)]
pub struct Tried {
    /// What runs.
    pub prepared: Prepared,
    /// What may be told of the digests that run, where these are what was tried.
    pub digests: Option<OwnDigests>,
    /// In what a copy is not as the original, each as half a sentence.
    pub unlike: Vec<String>,
    /// Whether a copy cannot sort texts as the original does.
    pub sorts_by_bytes: bool,
}

impl Tried {
    /// On copies that are as the original in everything.
    pub(crate) fn alike(runnable: Runnable) -> Self {
        Self {
            prepared: runnable.prepared,
            digests: runnable.digests,
            unlike: Vec::new(),
            sorts_by_bytes: false,
        }
    }
}

/// What was found.
#[derive(Clone, Debug)]
pub struct Own {
    /// What is copied.
    pub copy: CopyOf,
    /// Options that make a copy work as the original does, by name.
    pub options: Vec<(String, String)>,
    /// What its schema and settings say of other page sizes.
    pub limits: Vec<Limit>,
    /// The cache that connections to it have unless they say otherwise.
    pub cache: ByteCount,
    /// Tables of a sample with far more or fewer rows than were asked for.
    pub uneven: Vec<SampledTable>,
}

impl Own {
    /// The same of a copy as it is to be made. A sample is as large as `size` says; a cache that has
    /// the same share of it holds as much of what is asked for.
    pub(crate) fn copied(
        mut self,
        copying: &Copying,
        size: impl FnOnce(Share) -> Result<Size>,
    ) -> Result<Self> {
        let copy = &mut self.copy;
        copy.rate = copying.rate;
        let Some(share) = copying.share.filter(|share| *share < Share::ALL) else {
            return Ok(self);
        };
        let of = copy.size;
        let Size { bytes, uneven } = size(share)?;
        copy.size = bytes.min(of);
        self.uneven = uneven;
        let part = copy.size.get() as f64 / of.get().max(1) as f64;
        self.cache = ByteCount::new((self.cache.get() as f64 * part) as u64);
        copy.sample = Some(Sample {
            share,
            seed: copying.seed,
            of,
        });
        // A copy of another share or seed is another one.
        let state = Seed::new(copy.state).derive("sample", copying.seed.get());
        copy.state = state.derive("share", share.get().to_bits()).get() >> 12;
        Ok(self)
    }
}

/// Why scripts cannot run on the user's own database.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OwnError {
    /// A script.
    #[error(transparent)]
    Script(#[from] Box<SyntaxError>),
    /// No statement of a recording can run.
    #[error("no statement of {files} can run on a copy: {reason}")]
    NothingRecorded {
        /// Its files.
        files: String,
        /// Why.
        reason: String,
    },
    /// No digest can run.
    #[error("no digest of the server can run on a copy: {reason}")]
    NoDigest {
        /// Why.
        reason: String,
    },
    /// The database.
    #[error(transparent)]
    Database(#[from] DatabaseError),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lost_servers_are_told_in_a_sentence() {
        let told = |reason: &str| {
            let error = DatabaseError::Program {
                action: "sample your database",
                program: "psql".into(),
                reason: reason.into(),
            };
            told_if_lost(error).to_string()
        };
        let lost = "sample your database with psql: the connection to your server was lost; the \
            command repeated copies anew";
        for reason in [
            "exit status: 2: FATAL:  terminating connection due to administrator command\nserver \
             closed the connection unexpectedly\nconnection to server was lost",
            "exit status: 1: ERROR 2013 (HY000) at line 9: Lost connection to server during query",
        ] {
            assert_eq!(told(reason), lost);
        }
        let other = "exit status: 1: ERROR 1412 (HY000) at line 9: Table definition has changed";
        assert!(told(other).ends_with(other));
    }
}
