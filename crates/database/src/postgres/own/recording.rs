//! Statements in PostgreSQL's csvlog and jsonlog
//! (<https://www.postgresql.org/docs/17/runtime-config-logging.html#RUNTIME-CONFIG-LOGGING-CSVLOG>).
//!
//! What is logged of a statement: its text before it runs (`log_statement = all`), its time and
//! text after it ran (`log_min_duration_statement = 0`), or both (`log_duration` besides). All
//! are understood. Failed statements have a line of their own, which names the statement.

use std::{
    collections::HashMap,
    fs::File,
    hash::{DefaultHasher, Hash as _, Hasher as _},
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
    time::Duration,
};

use octavo_recording::{Dialect, Gathering, Left, Mark, Recording, Type};
use octavo_workload::user::CopyOf;
use serde::Deserialize;

use crate::{
    Result, files,
    own::{
        civil,
        recorded::{Capped, Lines, gather, refuse},
    },
};

pub(super) static DIALECT: Dialect = Dialect {
    has_backslashes: false,
    has_double_quoted_texts: false,
    has_hash_comments: false,
    has_spaced_comments: false,
    has_whole_texts: true,
    // <https://www.postgresql.org/docs/17/protocol-flow.html#PROTOCOL-FLOW-MULTI-STATEMENT>
    has_text_transactions: true,
    has_outer_savepoints: false,
    // <https://www.postgresql.org/docs/17/functions-admin.html#FUNCTIONS-ADVISORY-LOCKS>
    session_functions: &[
        "PG_ADVISORY_LOCK",
        "PG_ADVISORY_LOCK_SHARED",
        "PG_ADVISORY_UNLOCK",
        "PG_ADVISORY_UNLOCK_ALL",
        "PG_ADVISORY_UNLOCK_SHARED",
        "PG_TRY_ADVISORY_LOCK",
        "PG_TRY_ADVISORY_LOCK_SHARED",
    ],
    has_dollar_quotes: true,
    has_bracketed_names: false,
    has_autocommit: false,
    parameter_marks: b"$",
    // The types of numbers are those of
    // <https://www.postgresql.org/docs/17/sql-syntax-lexical.html#SQL-SYNTAX-CONSTANTS-NUMERIC>.
    // The type of a quoted text is found as that of a parameter is.
    parameter: |class| {
        Some(match class {
            Type::Integer => Mark::within("", "::int4"),
            Type::Long => Mark::within("", "::int8"),
            Type::Decimal { .. } | Type::Double => Mark::within("", "::numeric"),
            Type::Text => Mark::PLAIN,
            Type::Bytes | Type::Null => return None,
        })
    },
};

/// How the log is to be written.
const REMEDY: &str = "log with log_destination = 'csvlog' or 'jsonlog', log_statement = 'all' or \
                      log_min_duration_statement = 0, log_connections = on, \
                      log_parameter_max_length = -1 and lc_messages = 'C'";

/// Programs of PostgreSQL's own that read or maintain all of a database, by the names that they
/// give of themselves (<https://www.postgresql.org/docs/17/reference-client.html>).
const TOOLS: [&str; 8] = [
    "clusterdb",
    "pg_amcheck",
    "pg_basebackup",
    "pg_dump",
    "pg_dumpall",
    "pg_restore",
    "reindexdb",
    "vacuumdb",
];

/// Reads logs in their order.
pub(super) fn read(copy: &CopyOf, paths: &[PathBuf]) -> Result<Recording> {
    let mut reading = Reading {
        database: &copy.name,
        last: HashMap::new(),
        before: HashMap::new(),
        statements: 0,
    };
    gather(paths, &DIALECT, &mut |path, reader, gathering| {
        reading.file(path, reader, gathering)
    })
}

struct Reading<'c> {
    database: &'c str,
    /// The statement that each session was last said to run, without an end so far.
    last: HashMap<String, u64>,
    /// What each session has spent on parsing its next statement and binding its values.
    before: HashMap<String, Duration>,
    /// Statements of the file.
    statements: u64,
}

/// A line of the log.
#[derive(Deserialize)]
struct Line<'l> {
    /// When it was written, in the server's `log_timezone`.
    #[serde(borrow, default)]
    timestamp: std::borrow::Cow<'l, str>,
    #[serde(borrow, default)]
    dbname: std::borrow::Cow<'l, str>,
    #[serde(borrow, default)]
    session_id: std::borrow::Cow<'l, str>,
    /// What the session does: "INSERT", or "BIND" where values are given.
    #[serde(borrow, default)]
    ps: std::borrow::Cow<'l, str>,
    #[serde(borrow, default)]
    error_severity: std::borrow::Cow<'l, str>,
    #[serde(borrow, default)]
    message: std::borrow::Cow<'l, str>,
    #[serde(borrow, default)]
    detail: std::borrow::Cow<'l, str>,
    /// The statement that failed.
    #[serde(borrow, default)]
    statement: std::borrow::Cow<'l, str>,
    /// What the client calls itself.
    #[serde(borrow, default)]
    application_name: std::borrow::Cow<'l, str>,
}

impl Reading<'_> {
    fn file(
        &mut self,
        path: &Path,
        mut reader: BufReader<File>,
        gathering: &mut Gathering,
    ) -> Result<()> {
        self.statements = 0;
        let begin = reader.fill_buf().map_err(files::named("read", path))?;
        if begin.trim_ascii_start().starts_with(b"{") {
            self.json(path, reader, gathering)?;
        } else {
            self.csv(path, reader, gathering)?;
        }
        match self.statements {
            0 => Err(refuse(path, format!("has no statement: {REMEDY}"))),
            _ => Ok(()),
        }
    }

    fn json(
        &mut self,
        path: &Path,
        reader: BufReader<File>,
        gathering: &mut Gathering,
    ) -> Result<()> {
        let mut lines = Lines::new(path, reader);
        while let Some((number, line)) = lines.next()? {
            if line.trim_ascii().is_empty() {
                continue;
            }
            let text = String::from_utf8_lossy(line);
            match serde_json::from_str::<Line<'_>>(&text) {
                Ok(line) => self.line(&line, number, gathering),
                // The last one may be half written.
                Err(error) if error.is_eof() => gathering.left("", &Left::NoEnd, None),
                Err(error) => {
                    let reason = format!("is no jsonlog, line {number}: {error}; {REMEDY}");
                    return Err(refuse(path, reason));
                }
            }
        }
        Ok(())
    }

    fn csv(
        &mut self,
        path: &Path,
        reader: BufReader<File>,
        gathering: &mut Gathering,
    ) -> Result<()> {
        /// Columns of the oldest version that is copied; later ones have more at the end.
        const COLUMNS_MIN: usize = 23;
        let mut reader = csv::ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .from_reader(Capped::new(reader));
        let mut record = csv::ByteRecord::new();
        loop {
            let line = reader.position().line();
            reader.get_mut().begin();
            let is_there = reader.read_byte_record(&mut record).map_err(|error| {
                refuse(
                    path,
                    format!("is no csvlog, line {line}: {error}; {REMEDY}"),
                )
            })?;
            if !is_there {
                return Ok(());
            }
            if record.len() < COLUMNS_MIN {
                if reader.is_done() {
                    // The last one may be half written.
                    gathering.left("", &Left::NoEnd, None);
                    return Ok(());
                }
                let reason = format!(
                    "is no csvlog: line {line} has {} columns, not {COLUMNS_MIN} or more; {REMEDY}",
                    record.len()
                );
                return Err(refuse(path, reason));
            }
            let column = |position: usize| String::from_utf8_lossy(&record[position]);
            let found = Line {
                timestamp: column(0),
                dbname: column(2),
                session_id: column(5),
                ps: column(7),
                error_severity: column(11),
                message: column(13),
                detail: column(14),
                statement: column(19),
                application_name: column(22),
            };
            self.line(&found, line, gathering);
        }
    }

    fn line(&mut self, line: &Line<'_>, number: u64, gathering: &mut Gathering) {
        let session = line.session_id.as_ref();
        match line.error_severity.as_ref() {
            "LOG" => {}
            "ERROR" | "FATAL" | "PANIC" => {
                if !line.statement.is_empty() && self.foreign(line).is_none() {
                    // The one before had the same text, where it failed before it ran.
                    let has_run = !matches!(line.ps.as_ref(), "BIND" | "PARSE");
                    let last = self.last.remove(session).filter(|_| has_run);
                    gathering.failed(session, last == Some(hash(&line.statement)));
                }
                return;
            }
            _ => return,
        }
        let (took, what) = match line.message.strip_prefix("duration: ") {
            Some(behind) => match duration(behind) {
                Some((took, what)) => (Some(took), what),
                None => return,
            },
            None => (None, line.message.as_ref()),
        };
        let found = statement(what);
        // A log may say anything.
        let took = took.map(|took| {
            let before = self.before.remove(session).unwrap_or_default();
            took.saturating_add(before)
        });
        // A line with a duration is written when that has passed.
        let written = civil::since_1970(&line.timestamp);
        gathering.at(written.map(|at| at.saturating_sub(took.unwrap_or_default())));
        if let Some(took) = took.filter(|_| found.is_none()) {
            if what.is_empty() && self.last.remove(session).is_some() {
                gathering.took(session, took);
            } else {
                self.before.insert(session.to_owned(), took);
            }
        } else if let Some((text, is_bound)) = found {
            self.statements += 1;
            match took {
                Some(_) => self.last.remove(session),
                None => self.last.insert(session.to_owned(), hash(text)),
            };
            if let Some(left) = self.foreign(line) {
                gathering.left(session, &left, took);
                return;
            }
            // What is no text was replaced.
            if text.contains('\u{fffd}') || line.detail.contains('\u{fffd}') {
                gathering.left(session, &Left::NoText, took);
                return;
            }
            let values = match is_bound {
                true => parameters(&line.detail),
                false => Vec::new(),
            };
            // The server cuts them at `log_parameter_max_length`.
            if values.iter().flatten().any(|value| value.ends_with("...")) {
                gathering.left(session, &Left::NoValues, took);
                return;
            }
            let values: Vec<Option<&str>> = values.iter().map(Option::as_deref).collect();
            gathering.statement(session, number, text, Some(&values), took);
        } else if what.starts_with("connection authorized:") {
            gathering.began(session);
        } else if what.starts_with("disconnection:") {
            self.last.remove(session);
            gathering.ended(session);
        }
    }

    /// Why a statement is none of a program's that works with the database.
    fn foreign(&self, line: &Line<'_>) -> Option<Left> {
        if line.dbname != self.database {
            return Some(Left::OtherDatabase);
        }
        let is_tool = TOOLS.contains(&line.application_name.as_ref());
        is_tool.then_some(Left::Tool)
    }
}

fn hash(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

/// "0.123 ms", and what stands behind it.
fn duration(text: &str) -> Option<(Duration, &str)> {
    let (number, behind) = text.split_once(" ms")?;
    let milliseconds: f64 = number.parse().ok()?;
    let took = Duration::try_from_secs_f64(milliseconds * 1e-3).ok()?;
    Some((took, behind.trim_start()))
}

/// The text of a statement, and whether it may have values.
fn statement(message: &str) -> Option<(&str, bool)> {
    if let Some(text) = message.strip_prefix("statement: ") {
        return Some((text, false));
    }
    // The portal's or statement's name is `<unnamed>`, or any text without a colon and a blank.
    let behind = message.strip_prefix("execute ")?;
    if behind.starts_with("fetch from ") {
        return None;
    }
    let (_, text) = behind.split_once(": ")?;
    Some((text, true))
}

/// The values of `parameters: $1 = 'it''s', $2 = NULL`; none where it says something else.
fn parameters(detail: &str) -> Vec<Option<String>> {
    let mut values = Vec::new();
    // Version 16 begins it with a capital.
    let behind = detail
        .strip_prefix("parameters: ")
        .or_else(|| detail.strip_prefix("Parameters: "));
    let mut rest = behind.unwrap_or_default();
    while let Some((_, value)) = rest.split_once(" = ") {
        if let Some(behind) = value.strip_prefix("NULL") {
            values.push(None);
            rest = behind;
            continue;
        }
        let Some(quoted) = value.strip_prefix('\'') else {
            return Vec::new();
        };
        let mut text = String::new();
        let mut from = 0;
        loop {
            let Some(end) = quoted[from..].find('\'') else {
                return Vec::new();
            };
            text.push_str(&quoted[from..from + end]);
            from += end + 1;
            if !quoted[from..].starts_with('\'') {
                break;
            }
            text.push('\'');
            from += 1;
        }
        values.push(Some(text));
        rest = &quoted[from..];
    }
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_those_of_the_log() {
        let some = |text: &str| Some(text.to_owned());
        for (detail, wanted) in [
            ("", vec![]),
            ("prepare: PREPARE p AS SELECT 1", vec![]),
            (
                "parameters: $1 = '5', $2 = NULL, $3 = 'it''s = ''x'', $4'",
                vec![some("5"), None, some("it's = 'x', $4")],
            ),
            ("Parameters: $1 = ''", vec![some("")]),
            ("parameters: $1 = 'cut", vec![]),
            ("parameters: $1 = '6', $2 = (cut", vec![]),
        ] {
            assert_eq!(parameters(detail), wanted, "{detail}");
        }
    }

    #[test]
    fn statements_of_dumps_are_left_out() {
        // A line of version 15 with three columns empty, and who sent it.
        let line = |session: &str, sender: &str| {
            format!(
                "2026-11-27 08:00:00.000 UTC,\"a\",\"shop\",7,\"[local]\",{session},1,\"SELECT\",\
                 2026-11-27 08:00:00 UTC,3/2,0,LOG,00000,\"statement: SELECT 1\",,,,,,,,,\
                 \"{sender}\",\"client backend\",,0\n"
            )
        };
        let file = tempfile::NamedTempFile::new().unwrap();
        let log = [line("5.1", "pg_dump"), line("5.2", "shop"), line("5.3", "")];
        std::fs::write(file.path(), log.concat()).unwrap();
        let copy = CopyOf::whole(
            "shop",
            octavo_units::ByteCount::kib(8),
            octavo_units::PageSize::kib(8),
            "postgres://a@localhost/shop",
        );
        let recording = read(&copy, &[file.path().to_owned()]).unwrap();
        assert_eq!(recording.left, [(Left::Tool, 1)].into());
        assert_eq!(recording.kept(), 2);
    }

    #[test]
    fn messages_name_statements() {
        for (message, wanted) in [
            ("statement: SELECT 1", Some(("SELECT 1", false))),
            ("execute <unnamed>: SELECT $1", Some(("SELECT $1", true))),
            ("execute S_1/C_2: SELECT ': '", Some(("SELECT ': '", true))),
            ("execute fetch from c: SELECT 1", None),
            ("parse <unnamed>: SELECT 1", None),
            ("checkpoint starting: time", None),
        ] {
            assert_eq!(statement(message), wanted, "{message}");
        }
        assert_eq!(
            duration("1.500 ms  statement: SELECT 1"),
            Some((Duration::from_micros(1500), "statement: SELECT 1"))
        );
        assert_eq!(duration("x"), None);
    }
}
