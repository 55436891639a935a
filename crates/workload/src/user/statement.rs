//! A statement as one database runs it, and what does not run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Recorded statements that do not run, for one reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LeftOut {
    /// As behind their number: "SET", "of other databases".
    pub reason: String,
    /// How many.
    pub statements: u64,
}

/// A statement in the words of one database.
#[derive(Clone, Debug)]
pub struct OwnStatement {
    /// SQL with parameters.
    pub sql: String,
    /// The line of its script that it begins in, from 1.
    pub line: usize,
    /// How many parameters it has.
    pub parameters: usize,
    /// How many columns of it become variables.
    pub columns: usize,
    /// Whether it writes and cannot do so by itself, so that outside of a transaction it needs one
    /// of its own. Not so on servers, where every statement can be asked for its rows.
    pub writes: bool,
    /// Whether it answers with rows.
    pub answers: bool,
    /// Whether it asks outside of a transaction for what the statement before did, on a
    /// connection that several clients share.
    pub needs_one_client: bool,
}

/// How a statement is called, and what is expected of it.
#[derive(Debug)]
pub(crate) struct OwnCall {
    /// Whether it needs a transaction to write.
    pub(crate) writes: bool,
    /// Whether it answers with rows.
    pub(crate) answers: bool,
    /// How many of its columns are wanted.
    pub(crate) columns: usize,
    /// What it is called where its rows are counted; `None` for one that is not after any.
    pub(crate) counted: Option<String>,
}

impl OwnCall {
    /// Of a statement that stands in this `file`.
    pub(super) fn new(file: &str, own: &OwnStatement) -> Self {
        const AFTER_ROWS: [&str; 9] = [
            "SELECT", "TABLE", "WITH", "VALUES", "INSERT", "UPDATE", "DELETE", "REPLACE", "MERGE",
        ];
        let verb = verb(&own.sql);
        Self {
            writes: own.writes,
            answers: own.answers,
            columns: own.columns,
            counted: AFTER_ROWS
                .contains(&verb.as_str())
                .then(|| format!("{file}, line {}", own.line)),
        }
    }
}

/// The word that a statement begins with, in upper case.
pub(super) fn verb(sql: &str) -> String {
    let is_word = |character: char| character.is_ascii_alphabetic();
    let begin = sql.trim_start_matches(|character| !is_word(character));
    let end = begin.find(|character| !is_word(character));
    begin[..end.unwrap_or(begin.len())].to_ascii_uppercase()
}
