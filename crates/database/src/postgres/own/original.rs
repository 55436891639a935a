//! The user's server: asked by `psql` and copied by `pg_dump`, so that every way to log in works
//! that works elsewhere. Both read in a transaction that is read-only, and `pg_dump` has one
//! snapshot of all tables.

use std::{
    ffi::{OsStr, OsString},
    process::{Command, Stdio},
    time::Duration,
};

use octavo_units::{ByteCount, PageSize, Seed};
use octavo_workload::user::CopyOf;
use serde::{Deserialize, de::DeserializeOwned};

use super::{
    limits,
    restore::Dump,
    setup::{self, Setup},
    tools::{MAJOR_MIN, Tools, environment},
};
use crate::{
    DatabaseError, Own, Result,
    external::SourceUrl,
    postgres::programs::{Programs, major_of},
    server::{
        piped::Piped,
        process::{Launch, run_tool},
    },
};

/// A dump of a day is one that hangs.
const DUMP_LIMIT: Duration = Duration::from_hours(24);

/// How long `pg_dump` waits for a table that somebody has locked for himself.
const LOCK_LIMIT: &str = "--lock-wait-timeout=30000";

/// A database on the user's server.
pub(super) struct Original {
    url: SourceUrl,
    tools: Tools,
    facts: Facts,
}

/// What the server says of the database.
#[derive(Clone, Debug, Deserialize)]
struct Facts {
    /// `server_version_num`.
    version: u32,
    database: String,
    /// Of tables with their indexes and large values.
    bytes: u64,
    tables: u64,
    page_size: u32,
    /// `shared_buffers`, in bytes.
    buffer: u64,
    user: String,
    setup: Setup,
    isolation: String,
    synchronous_commit: String,
    /// Numbers that move with rows and with the schema.
    state: Vec<String>,
    limits: limits::Facts,
}

/// The first half of a question whose answer is one line of JSON; what follows is the setup. The
/// number of the newest table tells of changes of the schema. Rows change all the time: the copy
/// that was made is what is measured.
const QUESTION: &str = "\
    SELECT json_build_object(\
      'version', current_setting('server_version_num')::int, \
      'database', current_database(), \
      'tables', (SELECT count(*) FROM pg_class AS c JOIN pg_namespace AS n \
        ON n.oid = c.relnamespace WHERE c.relkind = 'r' AND c.relpersistence <> 't' \
        AND n.nspname NOT IN ('pg_catalog', 'information_schema')), \
      'page_size', current_setting('block_size')::int, \
      'buffer', (SELECT setting::bigint * current_setting('block_size')::int FROM pg_settings \
        WHERE name = 'shared_buffers'), \
      'user', current_user, \
      'state', json_build_array( \
        (SELECT oid::text FROM pg_database WHERE datname = current_database()), \
        (SELECT max(oid::bigint)::text FROM pg_class WHERE relpersistence <> 't')), \
      'isolation', current_setting('default_transaction_isolation'), \
      'synchronous_commit', current_setting('synchronous_commit'), \
      'setup', ";

/// The bytes of tables with their indexes and large values.
pub(super) const BYTES: &str = "\
    (SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0) FROM pg_class AS c \
      JOIN pg_namespace AS n ON n.oid = c.relnamespace WHERE c.relkind IN ('r', 'm') \
      AND c.relpersistence <> 't' AND n.nspname NOT IN ('pg_catalog', 'information_schema'))";

impl Original {
    /// Asks the server what it is.
    pub(super) fn open(source: &OsStr, programs: &Programs) -> Result<Self> {
        let url = SourceUrl::read(source)?;
        let ours = major_of(&programs.version()?).unwrap_or_default();
        let any = Tools::find(programs, MAJOR_MIN, u32::MAX)?;
        let facts: Facts = ask(
            &url,
            &any,
            &format!(
                "{QUESTION}{}, 'bytes', {BYTES}, 'limits', {})",
                setup::QUESTION,
                limits::QUESTION
            ),
        )?;
        let major = facts.version / 10_000;
        if major > ours {
            let remedy = match major <= 18 {
                true => format!("give --pg-version {major}, or --bin with servers of that version"),
                false => "that is newer than what is known here".into(),
            };
            return Err(url.refuse(format!(
                "runs PostgreSQL {major}, whose dumps {ours} does not read: {remedy}"
            )));
        }
        if major < MAJOR_MIN {
            return Err(url.refuse(format!(
                "runs PostgreSQL {major}: {MAJOR_MIN} is the oldest that is copied"
            )));
        }
        if facts.tables == 0 {
            return Err(url.refuse("has no table"));
        }
        let tools = Tools::find(programs, major, ours)?;
        Ok(Self { url, tools, facts })
    }

    pub(super) fn refuse(&self, reason: String) -> DatabaseError {
        self.url.refuse(reason)
    }

    /// What the server answers to a question with one line of JSON.
    pub(super) fn ask<T: DeserializeOwned>(&self, question: &str) -> Result<T> {
        ask(&self.url, &self.tools, question)
    }

    /// The same, where the server may refuse to answer.
    pub(super) fn try_ask<T: DeserializeOwned>(
        &self,
        question: &str,
    ) -> Result<Result<T, Refusal>> {
        try_ask(&self.url, &self.tools, question)
    }

    /// The database's name.
    pub(super) fn name(&self) -> &str {
        &self.facts.database
    }

    pub(super) fn tools(&self) -> &Tools {
        &self.tools
    }

    /// Where it is.
    pub(super) fn url(&self) -> &SourceUrl {
        &self.url
    }

    /// What is known of it.
    pub(super) fn examine(&self, source: &OsStr) -> Result<Own> {
        let facts = &self.facts;
        let page_size = PageSize::new(facts.page_size).map_err(|error| {
            let reason = format!(
                "says that its pages have {} bytes: {error}",
                facts.page_size
            );
            self.url.refuse(reason)
        })?;
        let place = Seed::new(0).derive(&self.url.to_string(), 0);
        let state = facts.state.iter();
        let state = state.fold(place, |seed, number| seed.derive(number, 1));
        Ok(Own {
            copy: CopyOf {
                // 52 bits, so that every reader of JSON keeps them.
                state: state.get() >> 12,
                ..CopyOf::whole(
                    &facts.database,
                    ByteCount::new(facts.bytes),
                    page_size,
                    source,
                )
            },
            options: Vec::new(),
            limits: limits::limits(&facts.limits, page_size),
            cache: ByteCount::new(facts.buffer.min(facts.bytes)),
            uneven: Vec::new(),
        })
    }

    /// How its database is set, for whoever logged in.
    pub(super) fn setup(&self) -> Setup {
        self.facts.setup.clone().for_user(&self.facts.user)
    }

    /// In what a copy is not as it is, but for the order of texts.
    pub(super) fn unlike(&self) -> Vec<String> {
        let Facts {
            isolation,
            synchronous_commit,
            ..
        } = &self.facts;
        let mut unlike = Vec::new();
        if isolation != "read committed" {
            unlike.push(format!(
                "your transactions are {isolation} and the copy's read committed, unless --isolation \
                 says otherwise"
            ));
        }
        if synchronous_commit == "off" {
            unlike.push(
                "your commits do not wait for the log (synchronous_commit), the copy's do".into(),
            );
        }
        unlike
    }

    /// Dumps the schema alone.
    pub(super) fn dump_schema(&self, dump: &Dump, setup: &Setup) -> Result<()> {
        self.run(dump, vec!["--schema-only".into()], None, &|| false)?;
        dump.note(setup)
    }

    /// Runs the program that dumps, at a rate if one is given.
    pub(super) fn run(
        &self,
        dump: &Dump,
        more: Vec<OsString>,
        rate: Option<ByteCount>,
        stopped: &dyn Fn() -> bool,
    ) -> Result<()> {
        let file = dump.file();
        let mut arguments: Vec<_> = [
            // Not compressed: that takes longer than writing.
            "--format=custom",
            "--compress=0",
            "--no-password",
            "--no-owner",
            "--no-privileges",
            "--no-tablespaces",
            "--no-publications",
            "--no-subscriptions",
            "--no-security-labels",
            "--no-comments",
            LOCK_LIMIT,
        ]
        .iter()
        .map(Into::into)
        .collect();
        arguments.extend(more);
        arguments.extend(["--dbname".into(), self.url.bare().into()]);
        if rate.is_none() {
            arguments.extend(["--file".into(), file.clone().into_os_string()]);
        }
        let program = self.tools.path("pg_dump");
        let launch = Launch {
            program: &program,
            arguments,
            directory: dump.directory(),
            log: &dump.log(),
            account: None,
            group: None,
            on_death: rustix::process::Signal::TERM,
            input: None,
            environment: environment(self.url.password(), None),
        };
        const ACTION: &str = "copy your database";
        match rate {
            None => run_tool(ACTION, &launch, DUMP_LIMIT, &mut || stopped()),
            // A pipe that is read slowly keeps the server waiting.
            rate => Piped::start(ACTION, &launch, rate, stopped)?.write_to(&file),
        }
    }
}

/// The schemas that the account's search path finds names in, `pg_catalog` among them, in their order.
/// The path itself is `current_setting('octavo.path')` in a question.
pub(super) const SCHEMAS: &str = "current_setting('octavo.schemas')::name[]";

/// What comes before a question. The path is empty then: along the account's, functions that other
/// users made for narrower types than the server's own would run with the account's rights
/// (<https://wiki.postgresql.org/wiki/A_Guide_to_CVE-2018-1058>). Policies of tables are functions of
/// others too: a table that has some is refused, as `pg_dump` refuses it. A table that somebody has
/// locked for himself is not waited for long.
const BEFORE: [&str; 5] = [
    "--command=BEGIN READ ONLY",
    // The answer is the question's alone.
    "--command=\\o /dev/null",
    // All names have a schema here, and all functions one form.
    "--command=SELECT \
      pg_catalog.set_config('octavo.path', pg_catalog.current_setting('search_path'), true), \
      pg_catalog.set_config('octavo.schemas', \
        pg_catalog.current_schemas(true)::pg_catalog.text, true)",
    "--command=\\o",
    "--command=SET LOCAL search_path = ''; SET LOCAL row_security = off; \
      SET LOCAL lock_timeout = '30s'; SET LOCAL statement_timeout = '60s'",
];

/// Why a server does not answer.
#[derive(Debug)]
pub(super) struct Refusal {
    /// Its SQLSTATE, where the server gave one.
    pub(super) code: Option<String>,
    /// In words.
    pub(super) reason: String,
}

impl Refusal {
    /// Reads what `psql` wrote with `VERBOSITY=verbose`: `ERROR:  42P01: relation "a" does not exist`.
    /// The first word may be of another language. Warnings come before, with codes of their own classes.
    fn read(text: &str) -> Self {
        let of_server = text.lines().find_map(|line| {
            let (code, reason) = line.split_once(":  ")?.1.split_once(": ")?;
            let is_code = |byte: u8| byte.is_ascii_digit() || byte.is_ascii_uppercase();
            let is_warning = ["00", "01", "02"]
                .iter()
                .any(|class| code.starts_with(class));
            (code.len() == 5 && code.bytes().all(is_code) && !is_warning).then_some((code, reason))
        });
        match of_server {
            Some((code, reason)) => Self {
                code: Some(code.into()),
                reason: reason.into(),
            },
            None => {
                let last = text.trim().lines().last().unwrap_or_default();
                Self {
                    code: None,
                    reason: last.trim_start_matches("psql: error: ").into(),
                }
            }
        }
    }
}

/// What the server answers to a question with one line of JSON.
fn ask<T: DeserializeOwned>(url: &SourceUrl, tools: &Tools, question: &str) -> Result<T> {
    let refuse = |refusal: Refusal| url.refuse(format!("cannot be read: {}", refusal.reason));
    try_ask(url, tools, question)?.map_err(refuse)
}

fn try_ask<T: DeserializeOwned>(
    url: &SourceUrl,
    tools: &Tools,
    question: &str,
) -> Result<Result<T, Refusal>> {
    let program = tools.path("psql");
    let output = Command::new(&program)
        .args([
            "--no-psqlrc",
            "--no-password",
            "--quiet",
            "--tuples-only",
            "--no-align",
        ])
        .arg("--dbname")
        .arg(url.bare())
        .args(["--set=ON_ERROR_STOP=1", "--set=VERBOSITY=verbose"])
        .args(BEFORE)
        .arg(format!("--command={question}"))
        .args(["--command=COMMIT"])
        .envs(environment(url.password(), Some("UTF8")))
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .output()
        .map_err(|error| DatabaseError::Program {
            action: "ask a server",
            program,
            reason: error.to_string(),
        })?;
    if !output.status.success() {
        let text = String::from_utf8_lossy(&output.stderr);
        return Ok(Err(Refusal::read(&text)));
    }
    serde_json::from_slice(&output.stdout)
        .map(Ok)
        .map_err(|error| url.refuse(format!("answers what is not understood: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_have_the_code_of_the_server() {
        for (text, code, reason) in [
            (
                "WARNING:  01000: old\nERROR:  42501: permission denied for view a\nLOCATION:  aclcheck_error, aclchk.c:3650\n",
                Some("42501"),
                "permission denied for view a",
            ),
            (
                "FEHLER:  22P05: Zeichen: ohne Entsprechung\nORT:  report_untranslatable_char, a.c:1\n",
                Some("22P05"),
                "Zeichen: ohne Entsprechung",
            ),
            (
                "psql: error: connection to server at \"a\" failed: FATAL:  role \"b\" does not exist\n",
                None,
                "connection to server at \"a\" failed: FATAL:  role \"b\" does not exist",
            ),
        ] {
            let refusal = Refusal::read(text);
            assert_eq!(refusal.code.as_deref(), code, "{text}");
            assert_eq!(refusal.reason, reason);
        }
    }
}
