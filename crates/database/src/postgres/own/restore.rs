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
    super::cluster::{DATABASE, Started, USER},
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
/// who may do what nothing is left: all is asked by one user who may do everything.
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

    /// Puts all of it into the server's database, by two sessions at a time.
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
        let list = self.list(tools, server)?;
        let done = self.restore_listed(&list, tools, server, stopped);
        files::remove(&list)?;
        done
    }

    fn restore_listed(
        &self,
        list: &Path,
        tools: &Tools,
        server: &Started,
        stopped: &mut dyn FnMut() -> bool,
    ) -> Result<()> {
        let restore = |sections: &[&str], stopped: &mut dyn FnMut() -> bool| {
            let mut arguments = vec!["--no-owner", "--no-privileges", "--no-tablespaces"];
            // Older ones read what was written to a pipe in its order alone.
            if tools.major >= 13 {
                arguments.push("--jobs=2");
            }
            arguments.extend(sections);
            let mut arguments: Vec<OsString> = arguments.into_iter().map(Into::into).collect();
            arguments.extend(["--use-list".into(), list.into(), self.file().into()]);
            self.run_on(server, &tools.path("pg_restore"), arguments, stopped)
        };
        let rows = self.rows();
        if !rows.exists() {
            return restore(&[], stopped);
        }
        // Triggers, indexes and foreign keys come when all rows are there.
        restore(&["--section=pre-data", "--section=data"], stopped)?;
        let mut arguments: Vec<OsString> = ["--no-psqlrc", "--quiet", "--set=ON_ERROR_STOP=1"]
            .iter()
            .map(Into::into)
            .collect();
        arguments.extend(["--file".into(), rows.into()]);
        self.run_on(server, &tools.path("psql"), arguments, stopped)?;
        restore(&["--section=post-data"], stopped)
    }

    /// Runs one of the makers' programs on the server's database.
    fn run_on(
        &self,
        server: &Started,
        program: &Path,
        mut arguments: Vec<OsString>,
        stopped: &mut dyn FnMut() -> bool,
    ) -> Result<()> {
        // Its socket is where the program works, whatever the length of that path.
        let place = [
            "--username",
            USER,
            "--dbname",
            DATABASE,
            "--host=/proc/self/cwd",
        ];
        arguments.extend(place.map(OsString::from));
        let (path, log) = (server.path(), self.log());
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

    /// Writes what is restored of the dump's content, and answers where.
    fn list(&self, tools: &Tools, server: &Started) -> Result<PathBuf> {
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
        let mut session = server.connect(&[])?;
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
        let text: String = kept.flat_map(|line| [*line, "\n"]).collect();
        // Beside the server, since two may be made of one dump.
        let file = server.path().with_extension("list");
        fs::write(&file, text).map_err(files::named("write", &file))?;
        Ok(file)
    }
}

/// Whether a line of `pg_restore --list` is restored: `3349; 1262 16384 TABLE public item owner`.
fn is_kept(line: &str, available: &[String]) -> bool {
    // Lines that begin with a semicolon are comments.
    let Some((_, entry)) = line.split_once("; ").filter(|(id, _)| !id.is_empty()) else {
        return false;
    };
    // The numbers of the catalog and of the object.
    let what = entry.splitn(3, ' ').nth(2).unwrap_or_default();
    let is = |kind: &str| {
        what.strip_prefix(kind)
            .is_some_and(|rest| rest.starts_with(' '))
    };
    if let Some(name) = what.strip_prefix("EXTENSION - ") {
        let name = name.trim_end();
        return available.iter().any(|known| known == name) && !LEADING_AWAY.contains(&name);
    }
    !LEFT_OUT.iter().any(|kind| is(kind))
}

/// Schema and name, without the owner, in a line of this kind.
fn named<'l>(line: &'l str, kind: &str) -> Option<&'l str> {
    let (_, entry) = line.split_once("; ")?;
    let what = entry.splitn(3, ' ').nth(2)?;
    let name = what.strip_prefix(kind)?.strip_prefix(' ')?;
    name.rsplit_once(' ').map(|(name, _)| name)
}

/// What the server refused, in the program's words from a place of its log on; without values of
/// rows, which stand in other lines.
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
        let of = what
            .strip_prefix("COPY failed for table ")
            .map_or_else(String::new, |rest| {
                format!("table {}: ", rest.trim_end_matches([' ', ':']))
            });
        Some(format!("{of}{}", reason.trim()))
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
            pg_restore: warning: errors ignored on restore: 3\n\
            psql:/a: b/rows.sql:7: ERROR:  row is too big: size 9, maximum size 8\n";
        fs::write(&log, format!("{before}{text}")).unwrap();
        assert_eq!(
            refused(&log, before.len() as u64).unwrap(),
            "index row size 1368 exceeds btree version 4 maximum 1344 for index \"i\"; \
             table \"b\": row is too big; table \"c\": invalid input syntax for type json; row is too big: size 9, maximum size 8"
        );
        fs::write(&log, "pg_restore: error: could not open input file\n").unwrap();
        assert_eq!(refused(&log, 0), None);
    }
}
