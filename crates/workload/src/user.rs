//! What a user names to be measured: a database to copy, and scripts as one database runs them.

mod digests;
mod drawn;
mod pace;
mod share;
mod statement;

use std::{ffi::OsString, sync::Arc};

use octavo_recording::{Form, Recording};
use octavo_script::Program;
use octavo_units::{ByteCount, PageSize, Seed};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use digests::{DigestKind, DrawnDigest, OwnDigests, ValueSource};
pub(crate) use digests::{Drawn, DrawnValues, HeldValue, Place, SourceValues};
pub use pace::{Pace, PaceError};
pub use share::{Share, ShareError};
pub(crate) use statement::OwnCall;
use statement::verb;
pub use statement::{LeftOut, OwnStatement};

use crate::{
    Limit, PageTrace, connection::Statement, schema::ColumnKind, transaction::TransactionKind,
};

/// The user's database as it was when it was looked at.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CopyOf {
    /// What it is called in reports: a file's name without its directory, or a database's on its
    /// server.
    pub name: String,
    /// Its size; of a sample, about how large that is.
    pub size: ByteCount,
    /// Its page size.
    pub page_size: PageSize,
    /// What tells its state from later ones.
    pub state: u64,
    /// Whether the copy sorts texts by their bytes because it cannot sort them as the database.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub sorts_by_bytes: bool,
    /// Which rows are copied, where not all are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sample: Option<Sample>,
    /// Bytes a second at which rows are read. It changes nothing of the copy, so stores do not keep
    /// it.
    #[serde(skip)]
    pub rate: Option<ByteCount>,
    /// Tells the file from another one that takes its name; `None` of a server. Stores do not keep it.
    #[serde(skip)]
    pub file: Option<FileIdentity>,
    /// Where it is, as the user names it: a file, or a server's URL. Stores do not keep it.
    #[serde(skip)]
    pub source: std::ffi::OsString,
}

/// What tells a file from any other one (`st_dev` and `st_ino` of stat(2)). A number is used again
/// once its file is gone, so that the file's age tells too, where the file system knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileIdentity {
    /// The number of its schema, where it has one: another file's rows may be written into it.
    pub schema: u32,
    /// The device that it is on.
    pub device: u64,
    /// Its number there.
    pub inode: u64,
    /// When it was made (`stx_btime` of statx(2)).
    pub made: Option<std::time::SystemTime>,
}

impl CopyOf {
    /// What it is called: "a copy of shop", or "10% of the rows of shop".
    pub fn title(&self) -> String {
        match self.sample {
            None => format!("a copy of {}", self.name),
            Some(sample) => format!("{} of the rows of {}", sample.share, self.name),
        }
    }
}

/// A copy that has a part of the rows.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Sample {
    /// The part that is asked for, of tables that are not copied as a whole.
    pub share: Share,
    /// What it is drawn by.
    pub seed: Seed,
    /// The size of the whole database.
    pub of: ByteCount,
}

/// A table of a sample.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SampledTable {
    /// Its name.
    pub table: String,
    /// Rows that are copied.
    pub kept: u64,
    /// Rows that it has.
    pub of: u64,
}

/// How a database is copied.
#[derive(Clone, Copy, Debug)]
pub struct Copying {
    /// Which part of the rows; all without one.
    pub share: Option<Share>,
    /// What a part is drawn by.
    pub seed: Seed,
    /// Bytes a second at which rows are read; as fast as they come without one.
    pub rate: Option<ByteCount>,
}

impl Copying {
    /// All rows, as fast as they come.
    pub const WHOLE: Self = Self {
        share: None,
        seed: Seed::new(1),
        rate: None,
    };
}

/// A script of a workload: what may be told of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OwnScript {
    /// Its name in reports: a file's name without its directory.
    pub name: String,
    /// How often it is drawn, out of the sum of all weights.
    pub weight: u32,
    /// What tells its text and definitions from others.
    pub fingerprint: u64,
}

/// Recorded statements that run: what may be told of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OwnRecording {
    /// The names of its files, without their directories.
    pub files: Vec<String>,
    /// How many sessions it has.
    pub sessions: u32,
    /// How many transactions run.
    pub transactions: u64,
    /// How many statements these have.
    pub statements: u64,
    /// How many were recorded.
    pub recorded: u64,
    /// The share of the time of all statements that those took that run, 0 to 1; `None` where
    /// no times were recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<f64>,
    /// Statements that do not run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left: Vec<LeftOut>,
    /// How many sessions were at work at the same time, at most; 0 in older stores.
    #[serde(default)]
    pub sessions_at_once: u32,
    /// The pace at which transactions are sent; `None` as fast as they are answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pace: Option<Pace>,
}

impl CopyOf {
    /// All rows of a database of this name and size, which sorts texts as the database does.
    pub fn whole(
        name: &str,
        size: ByteCount,
        page_size: PageSize,
        source: impl Into<OsString>,
    ) -> Self {
        Self {
            name: name.to_owned(),
            size,
            page_size,
            state: 0,
            sorts_by_bytes: false,
            sample: None,
            rate: None,
            file: None,
            source: source.into(),
        }
    }
}

/// The user's own workload, as plans and stores keep it.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Own {
    /// Whose rows.
    pub copy: CopyOf,
    /// The scripts, at least one.
    pub scripts: Vec<OwnScript>,
    /// In what the copy is not as the database, each as half a sentence: "tables with the engine
    /// MEMORY are empty".
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unlike: Vec<String>,
    /// Tables of a sample with far more or fewer rows than were asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub uneven: Vec<SampledTable>,
    /// The recording whose statements run instead of scripts'. [`Self::scripts`] are its kinds of
    /// transactions then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recording: Option<OwnRecording>,
    /// The digests that run instead of scripts. [`Self::scripts`] are its kinds of transactions
    /// then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digests: Option<OwnDigests>,
    /// Why a guess was made although the server may have digests, as half a sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub without_digests: Option<String>,
    /// What its schema and settings say of other page sizes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<Limit>,
    /// Whether the script was guessed from the schema.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_guess: bool,
    /// What the guess leaves out: tables with rows, in SQL, and what is done to none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub guess_without: Vec<String>,
    /// What runs. A store does not keep it, so that what was read from one can be looked at, not
    /// run.
    #[serde(skip)]
    pub prepared: Option<Prepared>,
}

impl Own {
    /// Scripts on a copy that is as the database, of which nothing else is known and nothing can run
    /// yet.
    pub fn new(copy: CopyOf, scripts: Vec<OwnScript>) -> Self {
        Self {
            copy,
            scripts,
            unlike: Vec::new(),
            uneven: Vec::new(),
            recording: None,
            digests: None,
            without_digests: None,
            limits: Vec::new(),
            is_guess: false,
            guess_without: Vec::new(),
            prepared: None,
        }
    }
}

impl Own {
    /// How many transactions run before they begin again; `None` of scripts, which have no end.
    pub fn transactions(&self) -> Option<u64> {
        self.recording.as_ref().map(|of| of.transactions)
    }

    /// Why a page size is impossible, if it is.
    pub fn forbidden(&self, page_size: PageSize) -> Option<&str> {
        let mut limits = self.limits.iter();
        let found = limits.find(|limit| limit.forbids && limit.is_of(page_size));
        found.map(|limit| limit.what.as_str())
    }
}

/// Two are equal if they would do the same; one that was read from a store has no programs.
impl PartialEq for Own {
    fn eq(&self, other: &Self) -> bool {
        // A server counts digests as long as it runs: more time is of those of that moment.
        let are_digests = self.digests.is_some() && other.digests.is_some();
        (are_digests || self.scripts == other.scripts)
            && (&self.copy.name, self.copy.state) == (&other.copy.name, other.copy.state)
    }
}

/// Statements as one database runs them.
#[derive(Clone, Debug)]
pub struct Prepared {
    pub(crate) runs: Runs,
    pub(crate) statements: &'static [Statement],
    pub(crate) kinds: &'static [TransactionKind],
    /// Whether the first statement checks the data.
    pub(crate) has_check: bool,
    /// The pages that they refer to, where these were recorded.
    pub(crate) trace: Option<Arc<PageTrace>>,
    needs_one_client: bool,
}

/// What runs.
#[derive(Clone, Debug)]
pub(crate) enum Runs {
    /// Scripts, drawn by their weights.
    Scripts(Arc<[OwnProgram]>),
    /// Recorded transactions, in their order.
    Recorded(Arc<Replayed>),
    /// Digests, drawn by their calls.
    Digests(Arc<Drawn>),
}

/// A recording whose forms are statements.
#[derive(Debug)]
pub(crate) struct Replayed {
    pub(crate) recording: Recording,
    pub(crate) first_statement: usize,
    /// By form.
    pub(crate) calls: Vec<OwnCall>,
    /// Whether a transaction of such statements alone is better begun as one that only reads, by
    /// form.
    pub(crate) reads: Vec<bool>,
    /// By transaction.
    pub(crate) kinds: Vec<RecordedKind>,
    /// As fast as they are answered without one.
    pub(crate) pace: Option<Pace>,
}

/// The kinds of recorded transactions. Their position is that of their name in
/// [`RecordedKind::NAMES`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordedKind {
    /// All statements begin with SELECT, VALUES or TABLE.
    Reads,
    /// Others.
    Writes,
}

impl RecordedKind {
    /// What they are called.
    pub const NAMES: [&str; 2] = ["recorded reads", "recorded writes"];
}

/// A script's program, and where its statements begin among those of all scripts.
#[derive(Debug)]
pub(crate) struct OwnProgram {
    pub(crate) program: Program,
    pub(crate) first_statement: usize,
    pub(crate) statements: Vec<OwnCall>,
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

impl Prepared {
    /// Of scripts in their order. A database may add a `check`, a query whose rows are one text
    /// each: what is wrong with the data, or "ok".
    ///
    /// A process has one workload of its own, and what workloads declare lives as long as the
    /// process: statements and names are never freed.
    pub fn new(scripts: Vec<OwnStatements>, check: Option<&'static str>) -> Self {
        let mut statements = with_check(check);
        let mut kinds = Vec::new();
        let mut programs = Vec::new();
        let mut needs_one_client = false;
        for script in scripts {
            needs_one_client |= script.statements.iter().any(|own| own.needs_one_client);
            let calls = script.statements.iter();
            let calls = calls.map(|own| OwnCall::new(&script.name, own)).collect();
            kinds.push(TransactionKind::script(String::leak(script.name)));
            programs.push(OwnProgram {
                program: script.program,
                first_statement: statements.len(),
                statements: calls,
            });
            statements.extend(script.statements.into_iter().map(Statement::of_user));
        }
        Self {
            runs: Runs::Scripts(programs.into()),
            statements: Vec::leak(statements),
            kinds: Vec::leak(kinds),
            has_check: check.is_some(),
            trace: None,
            needs_one_client,
        }
    }

    /// Of nothing but a `check`: for rows at rest.
    pub fn nothing(check: Option<&'static str>) -> Self {
        Self::new(Vec::new(), check)
    }

    /// The same of a recording, at a pace.
    #[must_use]
    pub fn at_pace(mut self, pace: Pace) -> Self {
        if let Runs::Recorded(replayed) = &mut self.runs
            && let Some(replayed) = Arc::get_mut(replayed)
        {
            replayed.pace = Some(pace);
        }
        self
    }

    /// Of a recording, with a statement for each of its forms, and whether a transaction of such
    /// statements alone is better begun as one that only reads. `files` are the names of its files.
    ///
    /// # Panics
    /// When there are not as many statements as forms.
    pub fn recorded(
        recording: Recording,
        files: &[String],
        forms: Vec<(OwnStatement, bool)>,
        check: Option<&'static str>,
    ) -> Self {
        assert_eq!(recording.forms.len(), forms.len(), "one statement a form");
        let (forms, reads): (Vec<OwnStatement>, Vec<bool>) = forms.into_iter().unzip();
        let mut statements = with_check(check);
        let first_statement = statements.len();
        let own = recording.forms.iter().zip(&forms);
        let call = |(form, own): (&Form, &OwnStatement)| {
            OwnCall::new(files.get(form.file).map_or("", String::as_str), own)
        };
        let calls = own.map(call).collect();
        let are_queries: Vec<bool> = forms
            .iter()
            .map(|own| matches!(verb(&own.sql).as_str(), "SELECT" | "VALUES" | "TABLE"))
            .collect();
        let kinds = recording.transactions.iter().map(|transaction| {
            let mut steps = recording.steps(transaction).iter();
            match steps.all(|step| are_queries[step.form as usize]) {
                true => RecordedKind::Reads,
                false => RecordedKind::Writes,
            }
        });
        let kinds = kinds.collect();
        let needs_one_client = forms.iter().any(|own| own.needs_one_client);
        let forms = recording.forms.iter().zip(forms);
        statements.extend(forms.map(|(form, own)| Statement {
            is_planned_by_values: !form.is_bound,
            ..Statement::of_user(own)
        }));
        Self {
            runs: Runs::Recorded(Arc::new(Replayed {
                recording,
                first_statement,
                calls,
                reads,
                kinds,
                pace: None,
            })),
            statements: Vec::leak(statements),
            kinds: &const {
                [
                    TransactionKind::plain(RecordedKind::NAMES[0]),
                    TransactionKind::plain(RecordedKind::NAMES[1]),
                ]
            },
            has_check: check.is_some(),
            trace: None,
            needs_one_client,
        }
    }

    /// What was recorded, if that is what runs.
    pub fn recording(&self) -> Option<&Recording> {
        match &self.runs {
            Runs::Recorded(replayed) => Some(&replayed.recording),
            Runs::Scripts(_) | Runs::Digests(_) => None,
        }
    }

    /// How many transactions of each kind a recording has; zeros for scripts.
    pub fn recorded_kinds(&self) -> [u64; RecordedKind::NAMES.len()] {
        let mut counts = [0; RecordedKind::NAMES.len()];
        if let Runs::Recorded(replayed) = &self.runs {
            for kind in &replayed.kinds {
                counts[*kind as usize] += 1;
            }
        }
        counts
    }

    /// The same with the pages that they refer to, to be predicted from.
    #[must_use]
    pub fn with_trace(self, trace: Arc<PageTrace>) -> Self {
        Self {
            trace: Some(trace),
            ..self
        }
    }

    /// The script that waits by itself (`\sleep`), if one does.
    pub fn sleeps(&self) -> Option<&'static str> {
        let Runs::Scripts(programs) = &self.runs else {
            return None;
        };
        let sleeping = programs.iter().position(|own| own.program.sleeps())?;
        Some(self.kinds[sleeping].name)
    }

    /// Whether several clients would disturb each other's answers.
    pub fn needs_one_client(&self) -> bool {
        self.needs_one_client
    }
}

/// The statement that checks the data, if there is one: Octavo's, and none of the user's.
fn with_check(check: Option<&'static str>) -> Vec<Statement> {
    let check = check.map(|sql| OwnStatement {
        sql: sql.to_owned(),
        line: 1,
        parameters: 0,
        columns: 1,
        writes: false,
        answers: true,
        needs_one_client: false,
    });
    let check = check.map(|own| Statement {
        is_private: false,
        ..Statement::of_user(own)
    });
    check.into_iter().collect()
}

impl Statement {
    /// A user's statement: what it touches is not known.
    fn of_user(own: OwnStatement) -> Self {
        Self {
            is_private: true,
            ..Self::new(
                String::leak(own.sql),
                Vec::leak(vec![ColumnKind::Any; own.parameters]),
                Vec::leak(vec![ColumnKind::Any; own.columns]),
                &[],
            )
        }
    }
}
