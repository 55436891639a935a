//! A dump, and how it gets into a server of Octavo's.

use std::{
    ffi::OsString,
    fs::{self, File, OpenOptions},
    hash::{BuildHasher as _, Hasher as _, RandomState},
    io,
    path::{Path, PathBuf},
    time::Duration,
};

use rustix::process::Signal;
use serde::{Deserialize, Serialize};

use super::{
    super::{
        Flavour,
        ddl::DATABASE,
        failure::numbered,
        instance::OWNER,
        layout::{Layout, SOCKET},
        session::Session,
    },
    options,
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

/// How the database is called and set.
const NOTE: &str = "setup.json";

/// A restore of a day is one that hangs.
const LIMIT: Duration = Duration::from_hours(24);

/// How the user's database is called and set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Setup {
    /// The copy has the same name: statements and triggers may name it.
    pub(super) name: String,
    pub(super) sql_mode: String,
    pub(super) charset: String,
    pub(super) collation: String,
    /// Whether names of tables are the same in small and capital letters.
    #[serde(default)]
    pub(super) is_any_case: bool,
    /// Accounts with whose rights views, triggers and routines run, such as `anna@%`.
    #[serde(default)]
    pub(super) definers: Vec<String>,
}

impl Setup {
    /// What sessions on the copy begin with.
    fn of_sessions(&self) -> [String; 2] {
        [
            format!("SET SESSION sql_mode='{}'", word(&self.sql_mode)),
            format!("USE {}", quoted(&self.name)),
        ]
    }
}

/// Letters, digits and what stands between the words of a mode: what is put into statements.
fn word(text: &str) -> String {
    let is_known =
        |character: &char| character.is_ascii_alphanumeric() || "_,".contains(*character);
    text.chars().filter(is_known).collect()
}

/// A name in SQL.
pub(super) fn quoted(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

/// A database's name in a grant, where it is a pattern
/// (<https://dev.mysql.com/doc/refman/8.4/en/grant.html>).
fn granted(name: &str) -> String {
    let name = name.replace('\\', "\\\\");
    quoted(&name.replace('_', "\\_").replace('%', "\\%"))
}

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

    /// Moves it behind another dump, and removes its directory.
    pub(super) fn append_to(self, other: &Self) -> Result<()> {
        let (from, to) = (self.file(), other.file());
        let append = || {
            let mut file = OpenOptions::new().append(true).open(&to)?;
            io::copy(&mut File::open(&from)?, &mut file)?;
            fs::remove_dir_all(&self.directory)
        };
        append().map_err(named("write", &to))
    }

    pub(super) fn log(&self) -> PathBuf {
        self.directory.join(LOG)
    }

    /// Takes options of tables out that a server of Octavo's cannot have; whether there were any.
    pub(super) fn blank_options(&self) -> Result<bool> {
        let file = self.file();
        options::blank(&file).map_err(named("write", &file))
    }

    /// Another one in a directory within this one's.
    pub(super) fn beside(&self, name: &str) -> Result<Self> {
        let dump = Self::in_directory(&self.directory.join(name))?;
        fs::create_dir(&dump.directory).map_err(named("create", &dump.directory))?;
        Ok(dump)
    }

    /// Removes its directory.
    pub(super) fn remove(self) -> Result<()> {
        fs::remove_dir_all(&self.directory).map_err(named("remove", &self.directory))
    }

    /// Notes how the user's database is called and set.
    pub(super) fn note(&self, setup: &Setup) -> Result<()> {
        let file = self.directory.join(NOTE);
        let text = serde_json::to_string(setup).expect("texts are written as JSON");
        fs::write(&file, text).map_err(named("write", &file))
    }

    /// Prepares the directory of a server that it will be put into, before that is made.
    pub(super) fn prepare(&self, layout: &Layout) -> Result<()> {
        match self.noted()?.is_any_case {
            true => layout.note_small_letters(),
            false => Ok(()),
        }
    }

    fn noted(&self) -> Result<Setup> {
        let file = self.directory.join(NOTE);
        let text = fs::read(&file).map_err(named("read", &file))?;
        serde_json::from_slice(&text).map_err(|error| named("read", &file)(error.into()))
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
        let setup = self.noted()?;
        layout.note_own_setup(&setup.of_sessions())?;
        let name = quoted(&setup.name);
        // Sessions begin in it.
        session.simple(&format!("CREATE DATABASE IF NOT EXISTS {DATABASE}"))?;
        session.simple(&format!("CREATE DATABASE IF NOT EXISTS {name}"))?;
        let made = session.simple(&format!(
            "ALTER DATABASE {name} CHARACTER SET {} COLLATE {}",
            word(&setup.charset),
            word(&setup.collation)
        ));
        made.map_err(|error| DatabaseError::Rows {
            reason: match std::error::Error::source(&error) {
                Some(said) => said.to_string(),
                None => error.to_string(),
            },
        })?;
        session.simple("SET GLOBAL max_allowed_packet=1073741824")?;
        make_accounts(session, layout, &setup.name)?;
        // A view over another one, or with a function in it, is made only if the other's account is there.
        make_definers(session, &setup.definers, &setup.name)?;
        let (file, log) = (self.file(), self.log());
        let before = fs::metadata(&log).map_or(0, |status| status.len());
        let mut arguments: Vec<OsString> = vec![
            "--no-defaults".into(),
            // Where the program works, whatever the length of that path.
            format!("--socket={SOCKET}").into(),
            format!("--user={OWNER}").into(),
            // No commands of the client's own, such as for a shell.
            "--binary-mode".into(),
            "--default-character-set=utf8mb4".into(),
            "--max-allowed-packet=1G".into(),
            format!("--database={}", setup.name).into(),
        ];
        // Rows that are there may be older than a constraint.
        if tools.flavour == Flavour::Mariadb {
            arguments.push("--init-command=SET SESSION check_constraint_checks=0".into());
        }
        let launch = Launch {
            program: &tools.client,
            arguments,
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
        for privileges in MAKING_FOR_OTHERS {
            // That which it was given.
            let _others_are_not_known =
                session.simple(&format!("REVOKE {privileges} ON *.* FROM {}", account()));
        }
        session.simple(&format!("USE {name}"))?;
        look_at_tables(session)
    }
}

/// Renews the statistics of all tables, and counts their rows.
fn look_at_tables(session: &mut Session) -> Result<u64> {
    let names = session.texts(
        "SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() \
         AND TABLE_TYPE IN ('BASE TABLE', 'SYSTEM VERSIONED')",
    )?;
    let mut rows = 0u64;
    for name in names.into_iter().flatten().flatten() {
        let name = quoted(&name);
        session.texts(&format!("ANALYZE TABLE {name}"))?;
        let counted = session.texts(&format!("SELECT COUNT(*) FROM {name}"))?;
        let counted = counted.into_iter().flatten().flatten().next();
        rows += counted
            .and_then(|count| count.parse::<u64>().ok())
            .unwrap_or_default();
    }
    Ok(rows)
}

/// The account that a copy is restored with, and whose statements run on it.
fn account() -> String {
    format!("'{OWNER}'@'localhost'")
}

/// The right to make triggers, views and routines that run with the rights of others, by the names
/// that it has in MariaDB from 10.5 on, MySQL from 8.2 on and 8.0, and before.
const MAKING_FOR_OTHERS: [&str; 4] = [
    "SET USER",
    "SET_ANY_DEFINER, ALLOW_NONEXISTENT_DEFINER",
    "SET_USER_ID",
    "SUPER",
];

/// Makes the account that a dump is restored with: routines in it may be written so that the client
/// takes a part of them for statements. The superuser gets a name that no dump can know, so that none
/// of them runs with its rights.
fn make_accounts(session: &mut Session, layout: &Layout, database: &str) -> Result<()> {
    // Its keys are random.
    let unknown = RandomState::new().build_hasher().finish();
    let superuser = format!("octavo_{unknown:016x}");
    layout.note_superuser(&superuser)?;
    session.simple(&format!(
        "RENAME USER 'root'@'localhost' TO '{superuser}'@'localhost'"
    ))?;
    let account = account();
    session.simple(&format!("CREATE USER {account}"))?;
    for of in [database, DATABASE] {
        session.simple(&format!("GRANT ALL ON {}.* TO {account}", granted(of)))?;
    }
    for privileges in MAKING_FOR_OTHERS {
        if session
            .simple(&format!("GRANT {privileges} ON *.* TO {account}"))
            .is_ok()
        {
            break;
        }
    }
    Ok(())
}

/// Makes the accounts with whose rights triggers, views and routines run.
fn make_definers(session: &mut Session, definers: &[String], database: &str) -> Result<()> {
    for definer in definers {
        let (user, host) = definer.rsplit_once('@').unwrap_or((definer, "%"));
        let text = |text: &str| format!("'{}'", text.replace('\\', "\\\\").replace('\'', "''"));
        let account = format!("{}@{}", text(user), text(host));
        session.simple(&format!("CREATE USER IF NOT EXISTS {account}"))?;
        session.simple(&format!(
            "GRANT ALL ON {}.* TO {account}",
            granted(database)
        ))?;
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
    // These tell of columns and keys; the words of others may have values in them.
    const OF_SCHEMA: [&str; 13] = [
        "1005", "1031", "1044", "1045", "1049", "1054", "1071", "1118", "1142", "1146", "1449",
        "1478", "3185",
    ];
    if let Some(elsewhere) = reason.split_once(" for table ").map(|(_, name)| name)
        && code == "1142"
    {
        return Some(format!(
            "a view or trigger has to do with {elsewhere}, and of other databases nothing is copied \
             (error {code})"
        ));
    }
    if !OF_SCHEMA.contains(&code) {
        return code.parse().ok().map(numbered);
    }
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
            (
                "ERROR 1142 (42000) at line 9: ANY command denied to user 'octavo_owner'@'localhost' for \
                 table 'other'.'o'",
                "a view or trigger has to do with 'other'.'o', and of other databases nothing is copied \
                 (error 1142)",
            ),
        ] {
            fs::write(&log, format!("before\n--------------\n{line}\n")).unwrap();
            assert_eq!(refused(&log, 7).unwrap(), wanted);
        }
        fs::write(&log, "ERROR 1062 (23000) at line 9: Duplicate entry 'x'\n").unwrap();
        assert_eq!(refused(&log, 0).unwrap(), "error 1062 (ER_DUP_ENTRY)");
        fs::write(&log, "mariadb: cannot open file\n").unwrap();
        assert_eq!(refused(&log, 0), None);
    }
}
