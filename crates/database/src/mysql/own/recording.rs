//! Statements in the general and the slow query log of MySQL and MariaDB.
//!
//! The general log has all that sessions send, in the order of arrival, without times
//! (<https://dev.mysql.com/doc/refman/8.4/en/query-log.html>). The slow query log has a time for
//! each, in the order of their ends, and with `long_query_time = 0` all of them
//! (<https://dev.mysql.com/doc/refman/8.4/en/slow-query-log.html>). Both have the values of
//! prepared statements in their texts.

use std::{
    collections::HashMap,
    fs::File,
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
    time::Duration,
};

use octavo_recording::{Dialect, Gathering, Left, Mark, Recording, Type};
use octavo_workload::user::CopyOf;

use crate::{
    Result, files,
    own::recorded::{Lines, gather, refuse},
};

const DIALECT: Dialect = Dialect {
    has_backslashes: true,
    has_double_quoted_texts: true,
    has_hash_comments: true,
    has_dollar_quotes: false,
    has_bracketed_names: false,
    has_autocommit: true,
    parameter_marks: b"?",
    // <https://dev.mysql.com/doc/refman/8.4/en/number-literals.html>
    parameter: |class| {
        Some(match class {
            Type::Integer | Type::Long | Type::Text => Mark::PLAIN,
            // Its largest precision and scale.
            Type::Decimal { digits, scale } if digits <= 65 && scale <= 30 => {
                Mark::within("CAST(", format!(" AS DECIMAL({digits},{scale}))"))
            }
            Type::Decimal { .. } => return None,
            Type::Double => Mark::PLAIN.real(),
            Type::Bytes => Mark::within("UNHEX(", ")"),
        })
    },
};

const REMEDY: &str = "log with general_log = ON, or slow_query_log = ON and long_query_time = 0, \
                      and log_output = FILE";

/// Reads logs in their order.
pub(super) fn read(copy: &CopyOf, paths: &[PathBuf]) -> Result<Recording> {
    let mut reading = Reading {
        database: copy.name.as_bytes(),
        of_sessions: HashMap::new(),
        statements: 0,
    };
    gather(paths, &DIALECT, &mut |path, reader, gathering| {
        reading.file(path, reader, gathering)
    })
}

struct Reading<'c> {
    database: &'c [u8],
    /// The database of each session, where that is known.
    of_sessions: HashMap<String, Vec<u8>>,
    /// Statements of the file.
    statements: u64,
}

/// An entry of the general log.
#[derive(Debug, PartialEq, Eq)]
struct Entry<'l> {
    session: &'l str,
    command: &'l str,
    argument: &'l [u8],
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
        let is_slow = begin
            .split(|byte| *byte == b'\n')
            .any(|line| line.starts_with(b"# User@Host:"));
        let lines = Lines::new(path, reader);
        match is_slow {
            true => self.slow(lines, gathering)?,
            false => self.general(lines, gathering)?,
        }
        match self.statements {
            0 => Err(refuse(path, format!("has no statement: {REMEDY}"))),
            _ => Ok(()),
        }
    }

    fn general(&mut self, mut lines: Lines<'_>, gathering: &mut Gathering) -> Result<()> {
        let mut text: Vec<u8> = Vec::new();
        // Session, command and line of the entry whose text is read.
        let mut open: Option<(String, String, u64)> = None;
        while let Some((number, line)) = lines.next()? {
            if let Some(entry) = entry(line) {
                self.general_entry(open.take(), &text, gathering);
                text.clear();
                text.extend_from_slice(entry.argument);
                open = Some((entry.session.to_owned(), entry.command.to_owned(), number));
            } else if is_header(line) {
                self.general_entry(open.take(), &text, gathering);
            } else if open.is_some() {
                text.push(b'\n');
                text.extend_from_slice(line);
            }
        }
        self.general_entry(open, &text, gathering);
        Ok(())
    }

    fn general_entry(
        &mut self,
        open: Option<(String, String, u64)>,
        text: &[u8],
        gathering: &mut Gathering,
    ) {
        let Some((session, command, line)) = open else {
            return;
        };
        match command.as_str() {
            // "anna@host on shop using TCP/IP"
            "Connect" => {
                gathering.began(&session);
                let text = String::from_utf8_lossy(text);
                let database = text.rsplit_once(" on ").map(|(_, behind)| behind);
                let database = database.and_then(|behind| behind.split(" using ").next());
                let database = database.unwrap_or_default().trim();
                self.uses(&session, database.as_bytes());
            }
            "Quit" => {
                gathering.ended(&session);
                self.of_sessions.remove(&session);
            }
            "Init DB" => self.uses(&session, text),
            "Query" | "Execute" => self.statement(&session, line, text, None, gathering),
            _ => {}
        }
    }

    fn slow(&mut self, mut lines: Lines<'_>, gathering: &mut Gathering) -> Result<()> {
        let mut session = String::new();
        let mut took = None;
        let mut text: Vec<u8> = Vec::new();
        let mut first = 0;
        let mut is_head = true;
        loop {
            let next = lines.next()?;
            let is_end = next.is_none();
            let (number, line) = next.unwrap_or_default();
            // A statement's own comments begin so too, but not with these.
            let is_new = line.starts_with(b"# Time: ") || line.starts_with(b"# User@Host: ");
            if (is_end || is_header(line) || (is_new && !is_head)) && !text.is_empty() {
                self.statement(&session, first, &text, took, gathering);
                text.clear();
                took = None;
            }
            if is_end {
                return Ok(());
            }
            if is_new || is_header(line) {
                is_head = true;
            }
            let shown = || String::from_utf8_lossy(line);
            if is_head && line.starts_with(b"# ") {
                let line = shown();
                if let Some(id) = field(&line, " Id: ").or_else(|| field(&line, "Thread_id: ")) {
                    id.clone_into(&mut session);
                }
                if let Some(schema) = field(&line, "Schema: ") {
                    // An empty one is followed by the next field.
                    let schema = if schema.ends_with(':') { "" } else { schema };
                    self.uses(&session, schema.as_bytes());
                }
                let seconds = field(&line, "Query_time: ").and_then(|time| time.parse().ok());
                if let Some(seconds) = seconds {
                    took = Duration::try_from_secs_f64(seconds).ok();
                }
                if line.starts_with("# administrator command: Quit") {
                    gathering.ended(&session);
                }
            } else if is_head && line.starts_with(b"SET timestamp=") {
                is_head = false;
            } else if is_head && line.to_ascii_lowercase().starts_with(b"use ") {
                let name = line[4..].trim_ascii().trim_ascii_end();
                let name = name.strip_suffix(b";").unwrap_or(name);
                let name = name.strip_prefix(b"`").unwrap_or(name);
                let name = name.strip_suffix(b"`").unwrap_or(name).to_vec();
                self.uses(&session, &name);
            } else if !is_header(line) {
                if text.is_empty() {
                    first = number;
                } else {
                    text.push(b'\n');
                }
                is_head = false;
                text.extend_from_slice(line);
            }
        }
    }

    fn uses(&mut self, session: &str, database: &[u8]) {
        if database.is_empty() {
            self.of_sessions.remove(session);
        } else {
            self.of_sessions
                .insert(session.to_owned(), database.to_vec());
        }
    }

    fn statement(
        &mut self,
        session: &str,
        line: u64,
        text: &[u8],
        took: Option<Duration>,
        gathering: &mut Gathering,
    ) {
        self.statements += 1;
        let database = self.of_sessions.get(session);
        if database.is_some_and(|database| database != self.database) {
            gathering.left(session, &Left::OtherDatabase, took);
            return;
        }
        match std::str::from_utf8(text) {
            Ok(text) => gathering.statement(session, line, text, None, took),
            Err(_) => gathering.left(session, &Left::NoText, took),
        }
    }
}

/// What follows a name in a line, up to the next blank.
fn field<'l>(line: &'l str, name: &str) -> Option<&'l str> {
    let (_, behind) = line.split_once(name)?;
    behind.split_whitespace().next()
}

/// Whether a line is one of those that a server writes when it opens its log.
fn is_header(line: &[u8]) -> bool {
    let ends = |with: &[u8]| line.ends_with(with);
    ends(b"started with:")
        || line.starts_with(b"Tcp port: ")
        || (line.starts_with(b"Time") && ends(b"Id Command\tArgument"))
        || (line.starts_with(b"Time") && ends(b"Id Command    Argument"))
}

/// An entry's first line: a time or nothing, a tab, the session's number, a command, a tab, and
/// its argument.
fn entry(line: &[u8]) -> Option<Entry<'_>> {
    const COMMANDS: [&str; 16] = [
        "Binlog Dump",
        "Change user",
        "Close stmt",
        "Connect",
        "Debug",
        "Execute",
        "Fetch",
        "Field List",
        "Init DB",
        "Long Data",
        "Ping",
        "Prepare",
        "Query",
        "Quit",
        "Reset stmt",
        "Statistics",
    ];
    let tab = line.iter().position(|byte| *byte == b'\t')?;
    let is_time = |byte: &u8| byte.is_ascii_digit() || b"-:.TZ+ ".contains(byte);
    if !line[..tab].iter().all(is_time) {
        return None;
    }
    let behind = line[tab..].trim_ascii_start();
    let digits = behind.iter().take_while(|byte| byte.is_ascii_digit());
    let (number, behind) = behind.split_at(digits.count());
    let behind = behind.strip_prefix(b" ")?;
    let end = behind.iter().position(|byte| *byte == b'\t');
    let (command, argument) = match end {
        Some(end) => (&behind[..end], &behind[end + 1..]),
        None => (behind, &b""[..]),
    };
    let command = std::str::from_utf8(command).ok()?.trim_end();
    let session = std::str::from_utf8(number).ok()?;
    (!session.is_empty() && COMMANDS.contains(&command)).then_some(Entry {
        session,
        command,
        argument,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_those_of_both_makers() {
        let found = |session, command, argument| {
            Some(Entry {
                session,
                command,
                argument,
            })
        };
        for (line, wanted) in [
            (
                &b"261127  0:34:04\t     3 Connect\troot@localhost on  using Socket"[..],
                found("3", "Connect", &b"root@localhost on  using Socket"[..]),
            ),
            (
                b"\t\t     3 Query\tselect 1\t2",
                found("3", "Query", b"select 1\t2"),
            ),
            (
                b"2026-11-26T10:00:00.123456Z\t   12 Init DB\tshop",
                found("12", "Init DB", b"shop"),
            ),
            (b"\t\t     3 Quit\t", found("3", "Quit", b"")),
            (b"two lines',\t1.50)", None),
            (b"Time\t\t    Id Command\tArgument", None),
            (b"", None),
        ] {
            assert_eq!(entry(line), wanted, "{}", String::from_utf8_lossy(line));
        }
    }
}
