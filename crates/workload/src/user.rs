//! What a user names to be measured: a database to copy, and scripts as one database runs them.

use std::sync::Arc;

use octavo_script::Program;
use octavo_units::{ByteCount, PageSize};
use serde::{Deserialize, Serialize};

use crate::{connection::Statement, schema::ColumnKind, transaction::TransactionKind};

/// The user's database as it was when it was looked at.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CopyOf {
    /// What it is called in reports: a file's name without its directory, or a database's on its
    /// server.
    pub name: String,
    /// Its size.
    pub size: ByteCount,
    /// Its page size.
    pub page_size: PageSize,
    /// What tells its state from later ones.
    pub state: u64,
    /// Whether the copy sorts texts by their bytes because it cannot sort them as the database.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub sorts_by_bytes: bool,
    /// Where it is, as the user names it: a file, or a server's URL. Stores do not keep it.
    #[serde(skip)]
    pub source: std::ffi::OsString,
}

/// A script of a workload: what may be told of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OwnScript {
    /// Its name in reports: a file's name without its directory.
    pub name: String,
    /// How often it is drawn, out of the sum of all weights.
    pub weight: u32,
    /// What tells its text and definitions from others.
    pub fingerprint: u64,
}

/// The user's own workload, as plans and stores keep it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Own {
    /// Whose rows.
    pub copy: CopyOf,
    /// The scripts, at least one.
    pub scripts: Vec<OwnScript>,
    /// In what the copy is not as the database, each as half a sentence: "tables with the engine
    /// MEMORY are empty".
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unlike: Vec<String>,
    /// Whether the script was guessed from the schema.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_guess: bool,
    /// What runs. A store does not keep it, so that what was read from one can be looked at, not
    /// run.
    #[serde(skip)]
    pub prepared: Option<Prepared>,
}

/// Two are equal if they would do the same; one that was read from a store has no programs.
impl PartialEq for Own {
    fn eq(&self, other: &Self) -> bool {
        self.scripts == other.scripts
            && (&self.copy.name, self.copy.state) == (&other.copy.name, other.copy.state)
    }
}

/// Scripts as one database runs them.
#[derive(Clone, Debug)]
pub struct Prepared {
    pub(crate) programs: Arc<[OwnProgram]>,
    pub(crate) statements: &'static [Statement],
    pub(crate) kinds: &'static [TransactionKind],
    needs_one_client: bool,
}

/// A script's program, and where its statements begin among those of all scripts.
#[derive(Debug)]
pub(crate) struct OwnProgram {
    pub(crate) program: Program,
    pub(crate) first_statement: usize,
    pub(crate) statements: Vec<OwnCall>,
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
    fn new(script: &str, own: &OwnStatement) -> Self {
        const AFTER_ROWS: [&str; 8] = [
            "SELECT", "WITH", "VALUES", "INSERT", "UPDATE", "DELETE", "REPLACE", "MERGE",
        ];
        let is_word = |character: char| character.is_ascii_alphabetic();
        let begin = own.sql.trim_start_matches(|character| !is_word(character));
        let end = begin.find(|character| !is_word(character));
        let verb = begin[..end.unwrap_or(begin.len())].to_ascii_uppercase();
        Self {
            writes: own.writes,
            answers: own.answers,
            columns: own.columns,
            counted: AFTER_ROWS
                .contains(&verb.as_str())
                .then(|| format!("{script}, line {}", own.line)),
        }
    }
}

/// A script with the SQL of its statements in the words of one database.
#[derive(Debug)]
pub struct OwnStatements {
    /// Its name.
    pub name: String,
    /// The program.
    pub program: Program,
    /// Its statements.
    pub statements: Vec<OwnStatement>,
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

impl Prepared {
    /// Of scripts in their order. A database may add a `check`, a query whose rows are one text
    /// each: what is wrong with the data, or "ok".
    ///
    /// A process has one workload of its own, and what workloads declare lives as long as the
    /// process: statements and names are never freed.
    pub fn new(scripts: Vec<OwnStatements>, check: Option<&'static str>) -> Self {
        let mut statements: Vec<Statement> = Vec::new();
        let mut kinds = Vec::new();
        let mut programs = Vec::new();
        if let Some(check) = check {
            statements.push(Statement::of_user(check, 0, 1));
        }
        let mut needs_one_client = false;
        for script in scripts {
            needs_one_client |= script.statements.iter().any(|own| own.needs_one_client);
            let calls = script.statements.iter();
            let calls = calls.map(|own| OwnCall::new(&script.name, own)).collect();
            kinds.push(TransactionKind::plain(String::leak(script.name)));
            programs.push(OwnProgram {
                program: script.program,
                first_statement: statements.len(),
                statements: calls,
            });
            statements.extend(
                script.statements.into_iter().map(|own| {
                    Statement::of_user(String::leak(own.sql), own.parameters, own.columns)
                }),
            );
        }
        Self {
            programs: programs.into(),
            statements: Vec::leak(statements),
            kinds: Vec::leak(kinds),
            needs_one_client,
        }
    }

    /// Whether several clients would disturb each other's answers.
    pub fn needs_one_client(&self) -> bool {
        self.needs_one_client
    }
}

impl Statement {
    /// A user's statement: what it touches is not known.
    fn of_user(sql: &'static str, parameters: usize, columns: usize) -> Self {
        Self {
            is_private: true,
            ..Self::new(
                sql,
                Vec::leak(vec![ColumnKind::Any; parameters]),
                Vec::leak(vec![ColumnKind::Any; columns]),
                &[],
            )
        }
    }
}
