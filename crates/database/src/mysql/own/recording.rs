//! Statements in the general and the slow query log of MySQL and MariaDB.
//!
//! The general log has all that sessions send, in the order of arrival, without their ends
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

use super::{clock::Clock, general_log::entry};
use crate::{
    Result, files,
    own::{
        civil::since_1970,
        recorded::{Lines, gather, refuse},
    },
};

/// How statements are written with SQL modes that change that
/// (<https://dev.mysql.com/doc/refman/8.4/en/sql-mode.html>).
const fn dialect(has_backslashes: bool, has_double_quoted_texts: bool) -> Dialect {
    Dialect {
        has_backslashes,
        has_double_quoted_texts,
        has_hash_comments: true,
        // <https://dev.mysql.com/doc/refman/8.4/en/ansi-diff-comments.html>
        has_spaced_comments: true,
        has_dollar_quotes: false,
        has_bracketed_names: false,
        has_autocommit: true,
        has_whole_texts: true,
        has_text_transactions: false,
        has_outer_savepoints: false,
        // <https://dev.mysql.com/doc/refman/8.4/en/locking-functions.html>
        session_functions: &["GET_LOCK", "RELEASE_ALL_LOCKS", "RELEASE_LOCK"],
        parameter_marks: b"?",
        // <https://dev.mysql.com/doc/refman/8.4/en/number-literals.html>
        parameter: |class| {
            Some(match class {
                Type::Integer | Type::Long | Type::Text => Mark::PLAIN,
                // Its largest precision and scale.
                Type::Decimal { digits, scale } if digits <= 65 && scale <= 30 => {
                    Mark::within("CAST(", format!(" AS DECIMAL({digits},{scale}))"))
                }
                Type::Decimal { .. } | Type::Null => return None,
                Type::Double => Mark::PLAIN.real(),
                Type::Bytes => Mark::within("UNHEX(", ")"),
            })
        },
    }
}

static USUAL: Dialect = dialect(true, true);
static ANSI_QUOTES: Dialect = dialect(true, false);
static NO_BACKSLASHES: Dialect = dialect(false, true);
static NEITHER: Dialect = dialect(false, false);

const REMEDY: &str = "log with general_log = ON, or slow_query_log = ON and long_query_time = 0, \
                      and log_output = FILE";

/// How a server with this SQL mode writes statements.
pub(super) fn dialect_of(sql_mode: &str) -> &'static Dialect {
    let has = |mode: &str| sql_mode.split(',').any(|of| of.eq_ignore_ascii_case(mode));
    match (has("NO_BACKSLASH_ESCAPES"), has("ANSI_QUOTES")) {
        (false, false) => &USUAL,
        (false, true) => &ANSI_QUOTES,
        (true, false) => &NO_BACKSLASHES,
        (true, true) => &NEITHER,
    }
}

/// Reads logs in their order.
pub(super) fn read(
    copy: &CopyOf,
    sql_mode: &str,
    is_any_case: bool,
    paths: &[PathBuf],
) -> Result<Recording> {
    let dialect = dialect_of(sql_mode);
    let mut reading = Reading {
        database: copy.name.as_bytes(),
        is_any_case,
        of_sessions: HashMap::new(),
        statements: 0,
    };
    gather(paths, dialect, &mut |path, reader, gathering| {
        reading.file(path, reader, gathering)
    })
}

struct Reading<'c> {
    database: &'c [u8],
    /// Whether it has the same name in small and capital letters.
    is_any_case: bool,
    /// The database of each session, where that is known.
    of_sessions: HashMap<String, Vec<u8>>,
    /// Statements of the file.
    statements: u64,
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
        let clock = Clock::of(path, is_slow)?;
        let lines = Lines::new(path, reader);
        match is_slow {
            true => self.slow(lines, clock, gathering)?,
            false => self.general(lines, clock, gathering)?,
        }
        match self.statements {
            0 => Err(refuse(path, format!("has no statement: {REMEDY}"))),
            _ => Ok(()),
        }
    }

    fn general(
        &mut self,
        mut lines: Lines<'_>,
        mut clock: Clock,
        gathering: &mut Gathering,
    ) -> Result<()> {
        let mut text: Vec<u8> = Vec::new();
        // Session, command and line of the entry whose text is read.
        let mut open: Option<(String, String, u64)> = None;
        let mut header = Header::default();
        while let Some((number, line)) = lines.next()? {
            if header.takes(line) {
                self.general_entry(open.take(), &text, gathering);
                if header.is_first() {
                    gathering.restarted();
                    self.of_sessions.clear();
                }
            } else if let Some(entry) = entry(line) {
                self.general_entry(open.take(), &text, gathering);
                gathering.at(clock.of_general(line));
                text.clear();
                text.extend_from_slice(entry.argument);
                open = Some((entry.session.to_owned(), entry.command.to_owned(), number));
            } else if open.is_some() {
                text.push(b'\n');
                text.extend_from_slice(line);
            }
        }
        // The server may be writing it.
        match open {
            Some((session, command, _)) if !lines.is_ended() && command != "Quit" => {
                self.statements += 1;
                gathering.left(&session, &Left::NoEnd, None);
            }
            open => self.general_entry(open, &text, gathering),
        }
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
            // It rolls back the open transaction, and the session continues.
            "Reset connection" | "Reset Connection" | "Change user" => gathering.ended(&session),
            "Query" | "Execute" => self.statement(&session, line, text, None, gathering),
            _ => {}
        }
    }

    fn slow(
        &mut self,
        mut lines: Lines<'_>,
        mut clock: Clock,
        gathering: &mut Gathering,
    ) -> Result<()> {
        let mut entry = SlowEntry::default();
        // The database that was written last, which is that of what follows.
        let mut of_file: Option<Vec<u8>> = None;
        let mut header = Header::default();
        let mut is_head = true;
        loop {
            let next = lines.next()?;
            let is_end = next.is_none();
            let (number, line) = next.unwrap_or_default();
            let is_header = header.takes(line);
            // A statement's own comments begin so too, but not with these.
            let is_new =
                is_time(line) || (line.starts_with(b"# User@Host: ") && line.contains(&b'['));
            if (is_end || is_header || (is_new && !is_head)) && !entry.text.is_empty() {
                self.slow_entry(&mut entry, of_file.as_deref(), gathering);
            }
            if is_end {
                return Ok(());
            }
            is_head |= is_new || is_header;
            if is_header {
                if header.is_first() {
                    gathering.restarted();
                }
            } else if line.starts_with(b"# administrator command: ") {
                if line.starts_with(b"# administrator command: Quit") {
                    gathering.ended(&entry.session);
                }
            } else if is_head && line.starts_with(b"#") {
                entry.takes(&String::from_utf8_lossy(line));
            } else if is_head && line.starts_with(b"SET ") && contains(line, b"timestamp=") {
                entry.began = clock.of_slow(line);
                is_head = false;
            } else if is_head && let Some(name) = used(line) {
                of_file = Some(name);
            } else {
                if entry.text.is_empty() {
                    entry.line = number;
                } else {
                    entry.text.push(b'\n');
                }
                is_head = false;
                entry.text.extend_from_slice(line);
            }
        }
    }

    fn slow_entry(
        &mut self,
        entry: &mut SlowEntry,
        of_file: Option<&[u8]>,
        gathering: &mut Gathering,
    ) {
        match entry.schema.as_deref().or(of_file) {
            Some(name) => self.uses(&entry.session, name),
            None => self.uses(&entry.session, b""),
        }
        let SlowEntry {
            session,
            line,
            text,
            took,
            began,
            ended,
            ..
        } = entry;
        let began_before = ended.map(|ended| ended.saturating_sub(took.unwrap_or_default()));
        gathering.at(began_before.or(*began));
        (*began, *ended) = (None, None);
        self.statement(session, *line, text, *took, gathering);
        text.clear();
        *took = None;
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
        if let Some(name) = used(text) {
            self.uses(session, &name);
            gathering.statement(session, line, "USE", None, took);
            return;
        }
        let database = self.of_sessions.get(session);
        let is_ours = |database: &Vec<u8>| match self.is_any_case {
            true => in_small_letters(database) == in_small_letters(self.database),
            false => database == self.database,
        };
        if database.is_some_and(|database| !is_ours(database)) {
            gathering.left(session, &Left::OtherDatabase, took);
            return;
        }
        match std::str::from_utf8(text) {
            Ok(text) if text.starts_with(DUMPED) => gathering.left(session, &Left::Tool, took),
            Ok(text) => gathering.statement(session, line, text, None, took),
            Err(_) => gathering.left(session, &Left::NoText, took),
        }
    }
}

fn in_small_letters(name: &[u8]) -> String {
    String::from_utf8_lossy(name).to_lowercase()
}

/// How mysqldump and mariadb-dump begin what reads a table
/// (<https://dev.mysql.com/doc/refman/8.4/en/query-cache.html> names the modifier; as both sent it
/// to MariaDB 10.11).
const DUMPED: &str = "SELECT /*!40001 SQL_NO_CACHE */ ";

/// An entry of the slow query log.
#[derive(Default)]
struct SlowEntry {
    session: String,
    /// Its database, where the log says it.
    schema: Option<Vec<u8>>,
    took: Option<Duration>,
    /// When it began, by the whole second.
    began: Option<Duration>,
    /// When it ended, where the log has that by the microsecond.
    ended: Option<Duration>,
    line: u64,
    text: Vec<u8>,
}

impl SlowEntry {
    /// Takes over what a line of its head says.
    fn takes(&mut self, line: &str) {
        if let Some(time) = line.strip_prefix("# Time: ") {
            // <https://dev.mysql.com/doc/refman/8.4/en/slow-query-log.html>: when it was written.
            // MariaDB's form has the second in which the statement began, as SET has.
            self.ended = since_1970(time);
        }
        if let Some(id) = field(line, " Id: ").or_else(|| field(line, "Thread_id: ")) {
            id.clone_into(&mut self.session);
        }
        if let Some(schema) = field(line, "Schema: ") {
            // An empty one is followed by the next field.
            let is_empty = schema.ends_with(':');
            self.schema = (!is_empty).then(|| schema.as_bytes().to_vec());
        }
        let seconds = field(line, "Query_time: ").and_then(|time| time.parse().ok());
        if let Some(seconds) = seconds {
            self.took = Duration::try_from_secs_f64(seconds).ok();
        }
    }
}

/// What follows a name in a line, up to the next blank.
fn field<'l>(line: &'l str, name: &str) -> Option<&'l str> {
    let (_, behind) = line.split_once(name)?;
    behind.split_whitespace().next()
}

fn contains(line: &[u8], part: &[u8]) -> bool {
    line.windows(part.len()).any(|of| of == part)
}

/// Whether a line is `# Time:` with a time.
fn is_time(line: &[u8]) -> bool {
    let time = line.strip_prefix(b"# Time: ").unwrap_or_default();
    time.first().is_some_and(u8::is_ascii_digit)
}

/// The database of a `USE` that stands alone.
fn used(text: &[u8]) -> Option<Vec<u8>> {
    let text = text.trim_ascii();
    let (word, name) = text.split_at_checked(4)?;
    let name = name.trim_ascii();
    let name = name.strip_suffix(b";").unwrap_or(name).trim_ascii_end();
    let inner = name.strip_prefix(b"`").and_then(|of| of.strip_suffix(b"`"));
    let name = inner.unwrap_or(name);
    let is_name = !name.is_empty() && (inner.is_some() || !contains(name, b" "));
    (word.eq_ignore_ascii_case(b"use ") && is_name).then(|| name.to_vec())
}

/// The lines that a server writes when it opens its log: its name and version, where it listens,
/// and what columns are called.
#[derive(Default)]
struct Header {
    /// Lines of it so far.
    lines: u8,
}

impl Header {
    /// Whether a line is one of them.
    fn takes(&mut self, line: &[u8]) -> bool {
        let is_first = line.ends_with(b"started with:") && contains(line, b", Version: ");
        let is_next = match self.lines {
            1 => line.starts_with(b"Tcp port: ") || line.starts_with(b"TCP Port: "),
            2 => line.starts_with(b"Time ") || line.starts_with(b"Time\t"),
            _ => false,
        };
        self.lines = match (is_first, is_next) {
            (true, _) => 1,
            (_, true) => self.lines + 1,
            _ => 0,
        };
        self.lines > 0
    }

    /// Whether the line that was taken last is the first of them.
    fn is_first(&self) -> bool {
        self.lines == 1
    }
}

#[cfg(test)]
mod tests {
    use octavo_recording::End;

    use super::{super::general_log::Entry, *};

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

    /// What is read of a log.
    fn recording(log: &str, sql_mode: &str) -> Recording {
        recording_in(log, sql_mode, false)
    }

    fn recording_in(log: &str, sql_mode: &str, is_any_case: bool) -> Recording {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("server.log");
        std::fs::write(&path, log).unwrap();
        let copy = CopyOf::whole(
            "shop",
            octavo_units::ByteCount::mib(1),
            octavo_units::PageSize::kib(16),
            "",
        );
        read(&copy, sql_mode, is_any_case, &[path]).unwrap()
    }

    fn left(recording: &Recording) -> Vec<(String, u64)> {
        let left = recording.left.iter();
        left.map(|(reason, count)| (reason.to_string(), *count))
            .collect()
    }

    const HEADER: &str = "mariadbd, Version: 10.11.19-MariaDB-log (Debian 12). started with:\n\
        Tcp port: 0  Unix socket: /run/s.sock\nTime\t\t    Id Command\tArgument\n";

    #[test]
    fn general_logs_are_read() {
        let log = format!(
            "{HEADER}261127  0:34:04\t     3 Connect\tanna@localhost on shop using Socket\n\
             \t\t     3 Query\tBEGIN\n\
             \t\t     3 Query\tUPDATE t SET b='one\nserver started with:\nTcp port: 1' WHERE a=5\n\
             \t\t     3 Reset connection\t\n\
             \t\t     3 Query\tUSE `other`\n\
             \t\t     3 Query\tDELETE FROM t\n\
             \t\t     3 Refresh\t\n\
             \t\t     3 Query\tuse shop\n\
             \t\t     3 Query\tSELECT a FROM t\n\
             \t\t     3 Query\tSELECT /*!40001 SQL_NO_CACHE */ * FROM `t`\n\
             {HEADER}\t\t     3 Query\tSELECT b FROM t\n\
             \t\t     3 Query\tDELETE FROM t WHERE a = 1"
        );
        let recording = recording(&log, "");
        let ends: Vec<(u32, End)> = recording
            .transactions
            .iter()
            .map(|of| (of.session, of.end))
            .collect();
        assert_eq!(
            ends,
            [(0, End::Rollback), (0, End::Alone), (1, End::Alone)],
            "{recording:?}"
        );
        assert_eq!(
            left(&recording),
            [
                ("USE".into(), 2),
                ("of other databases".into(), 1),
                ("of tools that dump or maintain the database".into(), 1),
                ("that are cut off".into(), 1),
            ]
        );
    }

    #[test]
    fn slow_logs_are_read() {
        let head = |id: u32| {
            format!(
                "# User@Host: anna[anna] @ localhost []  Id:     {id}\n\
                 # Query_time: 0.001000  Lock_time: 0.000000 Rows_sent: 0  Rows_examined: 0\n"
            )
        };
        let log = format!(
            "/usr/sbin/mysqld, Version: 8.0.40 (MySQL). started with:\n\
             Tcp port: 3306  Unix socket: /run/s.sock\nTime                 Id Command    Argument\n\
             # Time: 2026-11-26T10:00:00.000000Z\n{}use other;\nSET timestamp=1;\n\
             DELETE FROM t WHERE a = 1;\n\
             {}SET timestamp=2;\nDELETE FROM t WHERE a = 2;\n\
             {}use shop;\nSET insert_id=5,timestamp=3;\nINSERT INTO t VALUES ('\n# Time: x\n');\n\
             {}SET timestamp=3;\nBEGIN;\n\
             {}SET timestamp=3;\nSELECT a FROM t;\n\
             {}SET timestamp=4;\n# administrator command: Quit;\n\
             {}#\n# explain: id\nSET timestamp=5;\nSELECT b FROM t;\n",
            head(8),
            head(9),
            head(9),
            head(8),
            head(8),
            head(8),
            head(8),
        );
        let recording = recording(&log, "");
        let ends: Vec<End> = recording.transactions.iter().map(|of| of.end).collect();
        assert_eq!(
            ends,
            [End::Alone, End::Rollback, End::Alone],
            "{recording:?}"
        );
        assert_eq!(left(&recording), [("of other databases".into(), 2)]);
        let share = recording.share_of_time().unwrap();
        assert!((share - 0.6).abs() < 1e-9, "{share}");
    }

    #[test]
    fn a_database_may_have_its_name_in_any_letters() {
        let log = "\t\t     3 Connect\troot@localhost on Shop using Socket\n\
                   \t\t     3 Query\tSELECT a FROM t\n";
        let left_of = |is_any_case| left(&recording_in(log, "", is_any_case));
        assert_eq!(left_of(false), [("of other databases".into(), 1)]);
        assert_eq!(left_of(true), []);
    }

    #[test]
    fn sql_modes_say_how_texts_are_written() {
        let log = "\t\t     3 Query\tINSERT INTO t VALUES ('C:\\', 'a; b')\n\
                   \t\t     3 Query\tINSERT INTO t VALUES ('D', 'b')\n";
        let usual = recording(log, "STRICT_TRANS_TABLES");
        assert_eq!(left(&usual), [("that are cut off".into(), 1)]);
        let recording = recording(log, "NO_BACKSLASH_ESCAPES,ANSI_QUOTES");
        assert_eq!((recording.kept(), recording.forms.len()), (2, 1));
    }
}
