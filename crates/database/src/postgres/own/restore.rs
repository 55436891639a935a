//! A dump, and how it gets into a server of Octavo's.

use std::{
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Duration,
};

use rustix::process::Signal;

use super::{
    super::{
        cluster::{DATABASE, Role, Started},
        session::Session,
    },
    setup::Setup,
    tools::Tools,
};
use crate::{
    DatabaseError, Result, files,
    server::process::{Launch, run_tool},
};

/// What the programs say.
pub(super) const LOG: &str = "copy.log";

/// The dump.
const FILE: &str = "copy.dump";

/// The rows of tables that were sampled, as `psql` reads them.
const ROWS: &str = "rows.sql";

/// How the database is set.
const SETUP: &str = "setup.json";

/// A restore of a day is one that hangs.
const LIMIT: Duration = Duration::from_hours(24);

/// What neither holds rows nor changes how they are found, and what reaches for other servers. Of
/// who may do what nothing is left: one owner has all.
/// Through foreign tables statements would reach the servers that these lead to.
const LEFT_OUT: [&str; 13] = [
    "ACL",
    "COMMENT",
    "DEFAULT ACL",
    "EVENT TRIGGER",
    "FOREIGN DATA WRAPPER",
    "FOREIGN TABLE",
    "POLICY",
    "PUBLICATION",
    "ROW SECURITY",
    "SECURITY LABEL",
    "SERVER",
    "SUBSCRIPTION",
    "USER MAPPING",
];

/// What a superuser alone may make. None of it runs what users wrote.
const OF_SUPERUSERS: [&str; 11] = [
    "ACCESS METHOD",
    "CAST",
    "EXTENSION",
    // Those with estimators of their own, with what they commute with.
    "OPERATOR",
    "OPERATOR CLASS",
    "OPERATOR FAMILY",
    "PROCEDURAL LANGUAGE",
    "SHELL TYPE",
    "TEXT SEARCH PARSER",
    "TEXT SEARCH TEMPLATE",
    "TRANSFORM",
];

/// Extensions that lead to other servers and to files.
const LEADING_AWAY: [&str; 4] = ["adminpack", "dblink", "file_fdw", "postgres_fdw"];

/// A dump in a directory of its own.
#[derive(Clone, Debug)]
pub(super) struct Dump {
    directory: PathBuf,
}

impl Dump {
    pub(super) fn in_directory(directory: &Path) -> Result<Self> {
        // Programs work in directories of their own.
        let directory = std::path::absolute(directory).map_err(files::named("find", directory))?;
        Ok(Self { directory })
    }

    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }

    pub(super) fn file(&self) -> PathBuf {
        self.directory.join(FILE)
    }

    /// Rows that are in no table of the dump.
    pub(super) fn rows(&self) -> PathBuf {
        self.directory.join(ROWS)
    }

    pub(super) fn log(&self) -> PathBuf {
        self.directory.join(LOG)
    }

    /// How many bytes there are yet.
    pub(super) fn written(&self) -> u64 {
        let files = [self.file(), self.rows()];
        let sizes = files
            .iter()
            .map(|file| fs::metadata(file).map_or(0, |about| about.len()));
        sizes.sum()
    }

    pub(super) fn note(&self, setup: &Setup) -> Result<()> {
        setup.write(&self.directory.join(SETUP))
    }

    /// Puts all of it into the server's database, by two sessions at a time. They are its owner's:
    /// rows pass through functions of the user's in constraints and indexes.
    ///
    /// # Errors
    /// [`DatabaseError::Rows`] for what the server does not take.
    pub(super) fn restore(
        &self,
        tools: &Tools,
        server: &Started,
        stopped: &mut dyn FnMut() -> bool,
    ) -> Result<()> {
        let setup = Setup::read(&self.directory.join(SETUP))?;
        setup.apply(server).map_err(|error| DatabaseError::Rows {
            reason: format!("texts cannot be sorted as {}: {error}", setup.order()),
        })?;
        let mut session = server.connect_beside()?;
        let kept = self.kept(tools, &mut session)?;
        let is_of_superusers = |line: &String| is_of_superusers(line, &setup);
        let parts: Vec<&[String]> = kept
            .chunk_by(|a, b| is_of_superusers(a) == is_of_superusers(b))
            .collect();
        // Rows are in it.
        let last = parts.iter().rposition(|part| !is_of_superusers(&part[0]));
        for (number, part) in parts.iter().enumerate() {
            let list = Listed {
                dump: self,
                tools,
                server,
                lines: part,
            };
            if is_of_superusers(&part[0]) {
                list.restore(Role::Superuser, &[], stopped)?;
                setup.hand_over(&mut session)?;
            } else if Some(number) == last {
                list.restore_with_rows(Role::Owner, stopped)?;
            } else {
                list.restore(Role::Owner, &[], stopped)?;
            }
        }
        Setup::settle_owner(&mut session)
    }

    /// The lines of the dump's content that are restored, in their order.
    fn kept(&self, tools: &Tools, session: &mut Session) -> Result<Vec<String>> {
        let program = tools.path("pg_restore");
        let failed = |reason: String| DatabaseError::Program {
            action: "list what was copied",
            program: program.clone(),
            reason,
        };
        let output = Command::new(&program)
            .arg("--list")
            .arg(self.file())
            .env("LC_ALL", "C")
            .stdin(Stdio::null())
            .output()
            .map_err(|error| failed(error.to_string()))?;
        if !output.status.success() {
            return Err(failed(String::from_utf8_lossy(&output.stderr).into_owned()));
        }
        let available = session.texts("SELECT name FROM pg_available_extensions")?;
        let available: Vec<String> = available.into_iter().flatten().flatten().collect();
        let all = String::from_utf8_lossy(&output.stdout);
        let kept: Vec<&str> = all
            .lines()
            .filter(|line| is_kept(line, &available))
            .collect();
        // Extensions that are left out may have had rows to dump.
        let left_out = |line: &str| line.contains("; 3079 ") && !is_kept(line, &available);
        let is_all = !all.lines().any(left_out);
        let has_table = |line: &&&str| match named(line, "TABLE DATA") {
            Some(table) => is_all || kept.iter().any(|of| named(of, "TABLE") == Some(table)),
            None => true,
        };
        let kept = kept.iter().filter(has_table);
        Ok(kept.map(|line| (*line).to_owned()).collect())
    }
}

/// Some lines of a dump's content, which are restored together.
struct Listed<'l> {
    dump: &'l Dump,
    tools: &'l Tools,
    server: &'l Started,
    lines: &'l [String],
}

impl Listed<'_> {
    /// Restores all lines, and the rows that are in no table of the dump.
    fn restore_with_rows(&self, role: Role, stopped: &mut dyn FnMut() -> bool) -> Result<()> {
        let rows = self.dump.rows();
        if !rows.exists() {
            return self.restore(role, &[], stopped);
        }
        // Triggers, indexes and foreign keys come when all rows are there.
        self.restore(role, &["--section=pre-data", "--section=data"], stopped)?;
        let mut arguments: Vec<OsString> = ["--no-psqlrc", "--quiet", "--set=ON_ERROR_STOP=1"]
            .iter()
            .map(Into::into)
            .collect();
        arguments.extend(["--file".into(), rows.into()]);
        self.run(role, &self.tools.path("psql"), arguments, stopped)?;
        self.restore(role, &["--section=post-data"], stopped)
    }

    /// Restores the lines that are of these sections, or of any.
    fn restore(
        &self,
        role: Role,
        sections: &[&str],
        stopped: &mut dyn FnMut() -> bool,
    ) -> Result<()> {
        // Beside the server, since two may be made of one dump.
        let list = self.server.path().with_extension("list");
        let text: String = self
            .lines
            .iter()
            .flat_map(|line| [line.as_str(), "\n"])
            .collect();
        fs::write(&list, text).map_err(files::named("write", &list))?;
        let mut arguments = vec!["--no-owner", "--no-privileges", "--no-tablespaces"];
        // Older ones read what was written to a pipe in its order alone.
        if self.tools.major >= 13 {
            arguments.push("--jobs=2");
        }
        arguments.extend(sections);
        let mut arguments: Vec<OsString> = arguments.into_iter().map(Into::into).collect();
        let dumped = self.dump.file();
        arguments.extend(["--use-list".into(), list.clone().into(), dumped.into()]);
        let done = self.run(role, &self.tools.path("pg_restore"), arguments, stopped);
        files::remove(&list)?;
        done
    }

    /// Runs one of the makers' programs on the server's database.
    fn run(
        &self,
        role: Role,
        program: &Path,
        mut arguments: Vec<OsString>,
        stopped: &mut dyn FnMut() -> bool,
    ) -> Result<()> {
        // Its socket is where the program works, whatever the length of that path.
        let place = [
            "--username",
            role.name(),
            "--dbname",
            DATABASE,
            "--host=/proc/self/cwd",
        ];
        arguments.extend(place.map(OsString::from));
        let (path, log) = (self.server.path(), self.dump.log());
        let before = fs::metadata(&log).map_or(0, |status| status.len());
        let launch = Launch {
            program,
            arguments,
            directory: &path,
            log: &log,
            account: None,
            group: None,
            on_death: Signal::TERM,
            input: None,
            environment: Vec::new(),
        };
        match run_tool("restore your database", &launch, LIMIT, stopped) {
            Err(error @ DatabaseError::Program { .. }) => Err(match refused(&log, before) {
                Some(reason) => DatabaseError::Rows { reason },
                None => error,
            }),
            done => done,
        }
    }
}

/// A line of `pg_restore --list`: `3349; 1262 16384 TABLE public item owner`.
struct Line<'l> {
    /// The number of the catalog, and the object's in it.
    object: Option<(u32, u32)>,
    /// Kind, schema, name and owner.
    what: &'l str,
}

impl<'l> Line<'l> {
    /// Lines that begin with a semicolon are comments.
    fn read(line: &'l str) -> Option<Self> {
        let (_, entry) = line.split_once("; ").filter(|(id, _)| !id.is_empty())?;
        let mut parts = entry.splitn(3, ' ');
        let mut number = || parts.next()?.parse().ok();
        let object = number().zip(number());
        Some(Self {
            object,
            what: parts.next()?,
        })
    }

    /// What follows on the kind, if it is of this one.
    fn of(&self, kind: &str) -> Option<&'l str> {
        self.what.strip_prefix(kind)?.strip_prefix(' ')
    }
}

/// Whether a line is restored.
fn is_kept(line: &str, available: &[String]) -> bool {
    let Some(line) = Line::read(line) else {
        return false;
    };
    if let Some(name) = line.of("EXTENSION -") {
        let name = name.trim_end();
        return available.iter().any(|known| known == name) && !LEADING_AWAY.contains(&name);
    }
    !LEFT_OUT.iter().any(|kind| line.of(kind).is_some())
}

/// Whether a superuser alone may make what a line is about.
fn is_of_superusers(line: &str, setup: &Setup) -> bool {
    let Some(line) = Line::read(line) else {
        return false;
    };
    let listed = |(catalog, object)| setup.is_of_superusers(catalog, object);
    OF_SUPERUSERS.iter().any(|kind| line.of(kind).is_some()) || line.object.is_some_and(listed)
}

/// Schema and name, without the owner, in a line of this kind.
fn named<'l>(line: &'l str, kind: &str) -> Option<&'l str> {
    let name = Line::read(line)?.of(kind)?;
    name.rsplit_once(' ').map(|(name, _)| name)
}

/// How errors begin whose words name objects of the schema, and no values of rows. Others may be those
/// of a function of the user's, which may say anything.
const OF_SCHEMA: [&str; 27] = [
    "access method ",
    "cannot ",
    "collation ",
    "column ",
    "could not access file ",
    "could not create unique index ",
    "could not load library ",
    "could not open extension ",
    "data type ",
    "encoding ",
    "extension ",
    "function ",
    "index row ",
    "insert or update on table ",
    "invalid input syntax for type ",
    "language ",
    "must be ",
    "new row for relation ",
    "no collation ",
    "null value in column ",
    "operator ",
    "permission denied ",
    "relation ",
    "row is too big",
    "schema ",
    "text search ",
    "type ",
];

/// What the server refused, in the program's words from a place of its log on; without values of
/// rows, which stand in other lines and in messages of others.
fn refused(log: &Path, from: u64) -> Option<String> {
    const MOST: usize = 5;
    let text = fs::read(log).ok()?;
    let from = usize::try_from(from).ok()?;
    let text = String::from_utf8_lossy(text.get(from..)?);
    let said = text.lines().filter_map(|line| {
        // psql begins with the file, and the line in it.
        let line = line
            .strip_prefix("pg_restore: error: ")
            .or_else(|| line.strip_prefix("psql:"))?;
        let (what, reason) = line.split_once("ERROR:")?;
        // What it quotes at the end is a value.
        let reason = reason
            .split_once(": \"")
            .map_or(reason, |(reason, _)| reason);
        let reason = reason.trim();
        let is_of_schema = OF_SCHEMA.iter().any(|begin| reason.starts_with(begin));
        let reason = match is_of_schema {
            true => reason,
            false => "an error in words that may have values in them, so they are not shown",
        };
        let of = what
            .strip_prefix("COPY failed for table ")
            .map_or_else(String::new, |rest| {
                format!("table {}: ", rest.trim_end_matches([' ', ':']))
            });
        Some(format!("{of}{reason}"))
    });
    let mut all: Vec<String> = said.collect();
    all.dedup();
    let more = all.len().saturating_sub(MOST);
    all.truncate(MOST);
    if more > 0 {
        all.push(format!("and {more} more"));
    }
    (!all.is_empty()).then(|| all.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_holds_rows_is_kept() {
        let available = ["pg_trgm", "dblink"].map(str::to_owned);
        for (line, wanted) in [
            ("215; 1259 16386 TABLE public item owner", true),
            ("3343; 0 16386 TABLE DATA public item owner", true),
            ("2; 3079 16400 EXTENSION - pg_trgm ", true),
            ("3; 3079 16401 EXTENSION - pg_cron ", false),
            ("3; 3079 16402 EXTENSION - dblink ", false),
            ("215; 1259 16386 FOREIGN TABLE public remote owner", false),
            ("4; 1417 16403 SERVER - other owner", false),
            ("3350; 0 0 COMMENT - EXTENSION pg_trgm ", false),
            ("3351; 3256 16500 POLICY public item mine owner", false),
            ("3352; 0 16386 ROW SECURITY public item owner", false),
            (
                "3353; 2606 16390 CONSTRAINT public item item_pkey owner",
                true,
            ),
            ("; Archive created at 2026-11-26", false),
            (";", false),
            ("", false),
        ] {
            assert_eq!(is_kept(line, &available), wanted, "{line}");
        }
        let data = "3343; 0 16386 TABLE DATA public my item owner";
        assert_eq!(named(data, "TABLE DATA"), Some("public my item"));
        assert_eq!(named(data, "SEQUENCE"), None);
    }

    #[test]
    fn what_a_superuser_alone_may_make_is_known() {
        let setup: Setup = serde_json::from_str(
            r#"{"encoding": "UTF8", "collate": "C", "ctype": "C", "search_path": "", "settings": [],
                "of_superusers": [{"catalog": 1255, "object": 16400, "function": "public.in_c(integer)",
                    "is_public": true}]}"#,
        )
        .unwrap();
        for (line, wanted) in [
            ("2; 3079 16400 EXTENSION - pg_trgm ", true),
            ("3; 2616 16401 OPERATOR CLASS public reversed owner", true),
            ("4; 0 0 SHELL TYPE public pair owner", true),
            ("5; 1255 16400 FUNCTION public in_c(integer) owner", true),
            ("6; 1255 16401 FUNCTION public in_sql(integer) owner", false),
            ("7; 1259 16400 TABLE public item owner", false),
            ("; Archive created at 2026-11-26", false),
        ] {
            assert_eq!(is_of_superusers(line, &setup), wanted, "{line}");
        }
    }

    #[test]
    fn refusals_are_told_without_rows() {
        let directory = crate::scratch::directory();
        let log = directory.path().join(LOG);
        let before = "pg_restore: error: could not execute query: ERROR:  old\n";
        let text = "pg_restore: while PROCESSING TOC:\n\
            pg_restore: from TOC entry 3200; 1259 16390 INDEX i owner\n\
            pg_restore: error: could not execute query: ERROR:  index row size 1368 exceeds btree \
            version 4 maximum 1344 for index \"i\"\n\
            DETAIL:  Index row references tuple (0,1) in relation \"a\".\n\
            Command was: CREATE INDEX i ON a(secret);\n\
            pg_restore: error: COPY failed for table \"b\": ERROR:  row is too big\n\
            CONTEXT:  COPY b, line 1: \"secret\"\n\
            pg_restore: error: COPY failed for table \"c\": ERROR:  invalid input syntax for type \
            json: \"secret\"\n\
            pg_restore: error: COPY failed for table \"d\": ERROR:  no country for Anna\n\
            pg_restore: warning: errors ignored on restore: 4\n\
            psql:/a: b/rows.sql:7: ERROR:  row is too big: size 9, maximum size 8\n";
        fs::write(&log, format!("{before}{text}")).unwrap();
        assert_eq!(
            refused(&log, before.len() as u64).unwrap(),
            "index row size 1368 exceeds btree version 4 maximum 1344 for index \"i\"; \
             table \"b\": row is too big; table \"c\": invalid input syntax for type json; \
             table \"d\": an error in words that may have values in them, so they are not shown; \
             row is too big: size 9, maximum size 8"
        );
        fs::write(&log, "pg_restore: error: could not open input file\n").unwrap();
        assert_eq!(refused(&log, 0), None);
    }
}
