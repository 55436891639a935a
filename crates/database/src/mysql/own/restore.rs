//! A dump, and how it gets into a server of Octavo's.

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use rustix::process::Signal;

use super::{
    super::{
        ddl::DATABASE,
        layout::{Layout, SOCKET},
        session::Session,
    },
    tools::Tools,
};
use crate::{
    DatabaseError, Result,
    files::named,
    server::process::{Launch, run_tool},
};

/// What the programs say.
const LOG: &str = "copy.log";

/// The dump.
const FILE: &str = "copy.sql";

/// The SQL mode, character set and collation, a line each.
const NOTE: &str = "settings";

/// A restore of a day is one that hangs.
const LIMIT: Duration = Duration::from_hours(24);

/// A dump in a directory of its own.
#[derive(Clone, Debug)]
pub(super) struct Dump {
    directory: PathBuf,
}

impl Dump {
    pub(super) fn in_directory(directory: &Path) -> Result<Self> {
        // Programs work in directories of their own.
        let directory = std::path::absolute(directory).map_err(named("find", directory))?;
        Ok(Self { directory })
    }

    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }

    pub(super) fn file(&self) -> PathBuf {
        self.directory.join(FILE)
    }

    pub(super) fn log(&self) -> PathBuf {
        self.directory.join(LOG)
    }

    /// Notes how the user's server is set.
    pub(super) fn note(&self, sql_mode: &str, charset: &str, collation: &str) -> Result<()> {
        let file = self.directory.join(NOTE);
        fs::write(&file, format!("{sql_mode}\n{charset}\n{collation}\n"))
            .map_err(named("write", &file))
    }

    fn noted(&self) -> Result<[String; 3]> {
        let file = self.directory.join(NOTE);
        let text = fs::read_to_string(&file).map_err(named("read", &file))?;
        let mut lines = text.lines();
        // They are put into statements.
        let is_word =
            |character: &char| character.is_ascii_alphanumeric() || "_,".contains(*character);
        let mut next = || {
            lines
                .next()
                .unwrap_or_default()
                .chars()
                .filter(is_word)
                .collect()
        };
        Ok([next(), next(), next()])
    }

    /// Puts all of it into a fresh server that `session` is of. Returns how many rows its tables
    /// have then.
    ///
    /// # Errors
    /// [`DatabaseError::Rows`] for what the server does not take.
    pub(super) fn restore(
        &self,
        tools: &Tools,
        layout: &Layout,
        session: &mut Session,
        stopped: &mut dyn FnMut() -> bool,
    ) -> Result<u64> {
        let [sql_mode, charset, collation] = self.noted()?;
        layout.note_sql_mode(&sql_mode)?;
        let made = session.simple(&format!(
            "CREATE DATABASE {DATABASE} CHARACTER SET {charset} COLLATE {collation}"
        ));
        made.map_err(|error| DatabaseError::Rows {
            reason: match std::error::Error::source(&error) {
                Some(said) => said.to_string(),
                None => error.to_string(),
            },
        })?;
        session.simple("SET GLOBAL max_allowed_packet=1073741824")?;
        let (file, log) = (self.file(), self.log());
        let before = fs::metadata(&log).map_or(0, |status| status.len());
        let launch = Launch {
            program: &tools.client,
            arguments: vec![
                "--no-defaults".into(),
                // Where the program works, whatever the length of that path.
                format!("--socket={SOCKET}").into(),
                "--user=root".into(),
                "--default-character-set=utf8mb4".into(),
                "--max-allowed-packet=1G".into(),
                format!("--database={DATABASE}").into(),
            ],
            directory: &layout.data,
            log: &log,
            account: None,
            group: None,
            on_death: Signal::TERM,
            // From here it ends at the first error. SOURCE goes on, and says that all is well.
            input: Some(&file),
            environment: Vec::new(),
        };
        match run_tool("restore your database", &launch, LIMIT, stopped) {
            Err(error @ DatabaseError::Program { .. }) => {
                return Err(match refused(&log, before) {
                    Some(reason) => DatabaseError::Rows { reason },
                    None => error,
                });
            }
            done => done?,
        }
        session.simple(&format!("USE {DATABASE}"))?;
        make_definers(session)?;
        self.look_at_tables(session)
    }

    /// Renews the statistics of all tables, and counts their rows.
    fn look_at_tables(&self, session: &mut Session) -> Result<u64> {
        let names = session.texts(&format!(
            "SELECT TABLE_NAME FROM information_schema.TABLES \
             WHERE TABLE_SCHEMA = '{DATABASE}' AND TABLE_TYPE = 'BASE TABLE'"
        ))?;
        let mut rows = 0u64;
        for name in names.into_iter().flatten().flatten() {
            let name = format!("`{}`", name.replace('`', "``"));
            session.texts(&format!("ANALYZE TABLE {name}"))?;
            let counted = session.texts(&format!("SELECT COUNT(*) FROM {name}"))?;
            let counted = counted.into_iter().flatten().flatten().next();
            rows += counted
                .and_then(|count| count.parse::<u64>().ok())
                .unwrap_or_default();
        }
        Ok(rows)
    }
}

/// Makes the accounts with whose rights triggers, views and routines run.
fn make_definers(session: &mut Session) -> Result<()> {
    let found = session.texts(&format!(
        "SELECT DEFINER FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA = '{DATABASE}' \
         UNION SELECT DEFINER FROM information_schema.VIEWS WHERE TABLE_SCHEMA = '{DATABASE}' \
         UNION SELECT DEFINER FROM information_schema.ROUTINES \
         WHERE ROUTINE_SCHEMA = '{DATABASE}'"
    ))?;
    for definer in found.into_iter().flatten().flatten() {
        let (user, host) = definer.rsplit_once('@').unwrap_or((&definer, "%"));
        let quoted = |text: &str| format!("'{}'", text.replace('\\', "\\\\").replace('\'', "''"));
        let account = format!("{}@{}", quoted(user), quoted(host));
        session.simple(&format!("CREATE USER IF NOT EXISTS {account}"))?;
        session.simple(&format!("GRANT ALL ON {DATABASE}.* TO {account}"))?;
    }
    Ok(())
}

/// What the server refused, in the program's words from a place of its log on:
/// `ERROR 1118 (42000) at line 33: Row size too large (> 1982).`
fn refused(log: &Path, from: u64) -> Option<String> {
    let text = fs::read(log).ok()?;
    let text = String::from_utf8_lossy(text.get(usize::try_from(from).ok()?..)?);
    let line = text.lines().find(|line| line.starts_with("ERROR "))?;
    let (place, reason) = line.split_once(": ")?;
    let code = place.split(' ').nth(1).unwrap_or_default();
    Some(format!("{reason} (error {code})"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_are_told_by_the_server_s_words() {
        let directory = crate::scratch::directory();
        let log = directory.path().join(LOG);
        for (line, wanted) in [
            (
                "ERROR 1118 (42000) at line 33: Row size too large (> 1982).",
                "Row size too large (> 1982). (error 1118)",
            ),
            (
                "ERROR 1071 (42000) at line 3: Specified key was too long; max is 768 bytes",
                "Specified key was too long; max is 768 bytes (error 1071)",
            ),
        ] {
            fs::write(&log, format!("before\n--------------\n{line}\n")).unwrap();
            assert_eq!(refused(&log, 7).unwrap(), wanted);
        }
        fs::write(&log, "mariadb: cannot open file\n").unwrap();
        assert_eq!(refused(&log, 0), None);
    }
}
