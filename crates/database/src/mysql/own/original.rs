//! The user's server: asked and dumped by its makers' programs, which read in one transaction and
//! lock no table.

use std::{
    env,
    ffi::{OsStr, OsString},
    fs,
    io::Write as _,
    ops::ControlFlow,
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Duration,
};

use octavo_units::{ByteCount, PageSize, Seed};
use octavo_workload::user::CopyOf;
use rustix::process::Signal;
use serde::{Deserialize, de::DeserializeOwned};
use tempfile::TempDir;

use super::{
    super::{Flavour, programs::Programs},
    restore::Dump,
    tools::Tools,
};
use crate::{
    DatabaseError, Own, Progress, Result,
    external::{SourceParts, SourceUrl},
    files::named,
    server::process::{Launch, run_tool},
};

/// A dump of a day is one that hangs.
const DUMP_LIMIT: Duration = Duration::from_hours(24);

/// A database on the user's server.
pub(super) struct Original {
    url: SourceUrl,
    parts: SourceParts,
    tools: Tools,
    facts: Facts,
}

/// What the server says of the database.
#[derive(Clone, Debug, Deserialize)]
struct Facts {
    version: String,
    /// Of its tables with their indexes.
    bytes: u64,
    tables: u64,
    page_size: u32,
    /// `innodb_buffer_pool_size`.
    buffer: u64,
    sql_mode: String,
    charset: String,
    collation: String,
    /// Numbers that move with rows and with the schema.
    state: Vec<Option<String>>,
}

/// One line of JSON.
const QUESTION: &str = "\
    /*!80000 SET SESSION information_schema_stats_expiry = 0 */; \
    SELECT JSON_OBJECT( \
      'version', VERSION(), \
      'bytes', CAST(COALESCE(SUM(DATA_LENGTH + INDEX_LENGTH), 0) AS UNSIGNED), \
      'tables', COUNT(*), \
      'page_size', @@innodb_page_size, \
      'buffer', @@innodb_buffer_pool_size, \
      'sql_mode', @@sql_mode, \
      'charset', @@character_set_database, \
      'collation', @@collation_database, \
      'state', JSON_ARRAY(CAST(COUNT(*) AS CHAR), CAST(MAX(CREATE_TIME) AS CHAR), \
        CAST(MAX(UPDATE_TIME) AS CHAR))) \
    FROM information_schema.TABLES \
    WHERE TABLE_SCHEMA = DATABASE() AND TABLE_TYPE = 'BASE TABLE'";

impl Original {
    /// Asks the server what it is. How to log in is written into a file in `scratch` meanwhile.
    pub(super) fn open(source: &OsStr, programs: &Programs, scratch: &Path) -> Result<Self> {
        let url = SourceUrl::read(source)?;
        let parts = url.parts()?;
        let tools = Tools::find(programs)?;
        let facts: Vec<Facts> = ask(&url, &parts, &tools, scratch, QUESTION)?;
        let facts = facts.into_iter().next();
        let facts = facts.ok_or_else(|| url.refuse("answers nothing"))?;
        let is_mariadb = facts.version.contains("MariaDB");
        if is_mariadb != (tools.flavour == Flavour::Mariadb) {
            return Err(url.refuse(format!(
                "runs {}: begin its URL with {}://",
                if is_mariadb { "MariaDB" } else { "MySQL" },
                if is_mariadb { "mariadb" } else { "mysql" },
            )));
        }
        if facts.tables == 0 {
            return Err(url.refuse("has no table"));
        }
        Ok(Self {
            url,
            parts,
            tools,
            facts,
        })
    }

    /// What the server answers to a question with a line of JSON a row.
    pub(super) fn ask<T: DeserializeOwned>(&self, question: &str) -> Result<Vec<T>> {
        let scratch = env::temp_dir();
        ask(&self.url, &self.parts, &self.tools, &scratch, question)
    }

    /// The database's name.
    pub(super) fn name(&self) -> &str {
        &self.parts.database
    }

    pub(super) fn tools(&self) -> &Tools {
        &self.tools
    }

    pub(super) fn refuse(&self, reason: String) -> DatabaseError {
        self.url.refuse(reason)
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
        let state = facts.state.iter().flatten();
        let state = state.fold(place, |seed, number| seed.derive(number, 1));
        Ok(Own {
            copy: CopyOf {
                name: self.parts.database.clone(),
                size: ByteCount::new(facts.bytes),
                page_size,
                // 52 bits, so that every reader of JSON keeps them.
                state: state.get() >> 12,
                source: source.to_owned(),
            },
            options: Vec::new(),
            cache: ByteCount::new(facts.buffer.min(facts.bytes)),
        })
    }

    /// Dumps all of it.
    pub(super) fn dump(&self, dump: &Dump, progress: &mut Progress<'_>) -> Result<()> {
        self.run(dump, &[], progress)
    }

    /// Dumps the schema alone.
    pub(super) fn dump_schema(&self, dump: &Dump) -> Result<()> {
        self.run(dump, &["--no-data"], &mut |_| ControlFlow::Continue(()))
    }

    fn run(&self, dump: &Dump, more: &[&str], progress: &mut Progress<'_>) -> Result<()> {
        let login = LoginFile::write(&self.parts, self.url.password(), dump.directory())?;
        let file = dump.file();
        let mut result_file = OsString::from("--result-file=");
        result_file.push(&file);
        let mut arguments = vec![login.argument()];
        let usual = [
            "--single-transaction",
            "--quick",
            "--skip-lock-tables",
            "--no-tablespaces",
            "--hex-blob",
            "--routines",
            "--triggers",
            "--max-allowed-packet=1G",
            "--default-character-set=utf8mb4",
        ];
        // MySQL's own program asks for what its servers alone have.
        let of_mysql: &[&str] = match self.tools.flavour {
            Flavour::Mysql => &["--set-gtid-purged=OFF", "--column-statistics=0"],
            Flavour::Mariadb => &[],
        };
        let all = usual.iter().chain(of_mysql).chain(more);
        arguments.extend(all.map(OsString::from));
        arguments.extend([result_file, (&self.parts.database).into()]);
        let launch = Launch {
            program: &self.tools.dump,
            arguments,
            directory: dump.directory(),
            log: &dump.log(),
            account: None,
            group: None,
            on_death: Signal::TERM,
            input: None,
            environment: environment(),
        };
        run_tool("copy your database", &launch, DUMP_LIMIT, &mut || {
            let written = fs::metadata(&file).map_or(0, |status| status.len());
            progress(written) == ControlFlow::Break(())
        })?;
        dump.note(
            &self.facts.sql_mode,
            &self.facts.charset,
            &self.facts.collation,
        )
    }
}

/// The user's own configuration of clients lies below it.
fn environment() -> Vec<(OsString, OsString)> {
    let home = env::var_os("HOME").map(|home| ("HOME".into(), home));
    home.into_iter().collect()
}

/// How to log in, in a file that nobody else may read: what stands in a command line may be read
/// by all.
struct LoginFile {
    _directory: TempDir,
    path: PathBuf,
}

impl LoginFile {
    fn write(parts: &SourceParts, password: Option<&str>, above: &Path) -> Result<Self> {
        let directory = TempDir::with_prefix_in("octavo-", above)
            .map_err(named("create a directory in", above))?;
        let path = directory.path().join("login.cnf");
        let mut text = String::from("[client]\nloose-connect-timeout=10\n");
        let mut add = |name: &str, value: &str| {
            let value = value.replace('\\', "\\\\").replace('"', "\\\"");
            text.push_str(&format!("{name}=\"{value}\"\n"));
        };
        if !parts.user.is_empty() {
            add("user", &parts.user);
        }
        if !parts.host.is_empty() {
            add("host", &parts.host);
            add("port", &parts.port.to_string());
        }
        if let Some(password) = password {
            add("password", password);
        }
        for (name, value) in &parts.parameters {
            add(name, value);
        }
        fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&path)
            .and_then(|mut file| file.write_all(text.as_bytes()))
            .map_err(named("write", &path))?;
        Ok(Self {
            _directory: directory,
            path,
        })
    }

    /// It has to be the first argument.
    fn argument(&self) -> OsString {
        let mut argument = OsString::from("--defaults-extra-file=");
        argument.push(&self.path);
        argument
    }
}

/// What the server answers to a question with a line of JSON a row.
fn ask<T: DeserializeOwned>(
    url: &SourceUrl,
    parts: &SourceParts,
    tools: &Tools,
    scratch: &Path,
    question: &str,
) -> Result<Vec<T>> {
    let known = |name: &str| name == "socket" || name.starts_with("ssl");
    let one_line = |text: &str| !text.contains(char::is_control);
    let texts = [&parts.user, &parts.host, &parts.database];
    if !parts.parameters.iter().all(|(name, _)| known(name)) {
        return Err(url.refuse(
            "is no URL of a database: only socket and options that begin with ssl are known \
             behind the ?",
        ));
    }
    let values = parts.parameters.iter().map(|(_, value)| value);
    if !texts.into_iter().chain(values).all(|text| one_line(text)) {
        return Err(url.refuse("is no URL of a database: it has more than one line"));
    }
    let login = LoginFile::write(parts, url.password(), scratch)?;
    let output = Command::new(&tools.client)
        .arg(login.argument())
        .args([
            "--batch",
            "--raw",
            "--skip-column-names",
            "--execute",
            question,
        ])
        .args(["--default-character-set=utf8mb4", "--database"])
        .arg(&parts.database)
        .env("LC_ALL", "C")
        .current_dir(Path::new("/"))
        .stdin(Stdio::null())
        .output()
        .map_err(|error| DatabaseError::Program {
            action: "ask a server",
            program: tools.client.clone(),
            reason: error.to_string(),
        })?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let last = said.trim().lines().last().unwrap_or_default();
        return Err(url.refuse(format!("cannot be read: {last}")));
    }
    let rows = serde_json::Deserializer::from_slice(&output.stdout).into_iter();
    rows.collect::<Result<_, _>>()
        .map_err(|error| url.refuse(format!("answers what is not understood: {error}")))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn logins_are_written_for_nobody_else() {
        let url = SourceUrl::read(OsStr::new(
            "mariadb://shop:a%22b%5C@db.example:3307/sh%20op?ssl-ca=/x.pem",
        ))
        .unwrap();
        assert_eq!(
            url.to_string(),
            "mariadb://shop@db.example:3307/sh%20op?ssl-ca=/x.pem"
        );
        let parts = url.parts().unwrap();
        assert_eq!((parts.database.as_str(), parts.port), ("sh op", 3307));
        let login = LoginFile::write(&parts, url.password(), &env::temp_dir()).unwrap();
        let mode = fs::metadata(&login.path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert_eq!(
            fs::read_to_string(&login.path).unwrap(),
            "[client]\nloose-connect-timeout=10\nuser=\"shop\"\nhost=\"db.example\"\nport=\"3307\"\n\
             password=\"a\\\"b\\\\\"\nssl-ca=\"/x.pem\"\n"
        );
        for text in [
            "mariadb://a@b",
            "mariadb://a@b/",
            "mariadb://a@b:x/c",
            "mariadb://a@b/c?d",
        ] {
            let url = SourceUrl::read(OsStr::new(text)).unwrap();
            assert!(url.parts().is_err(), "{text}");
        }
    }
}
