//! The user's server: asked and dumped by its makers' programs, which read in one transaction and
//! lock no table.

use std::{
    env,
    ffi::{OsStr, OsString},
    path::Path,
    process::{Command, Stdio},
    time::Duration,
};

use octavo_units::{ByteCount, PageSize, Seed};
use octavo_workload::user::CopyOf;
use rustix::process::Signal;
use serde::{Deserialize, de::DeserializeOwned};

use super::{
    super::{Flavour, programs::Programs, session::Session},
    restore::{Dump, Setup},
    tools::Tools,
};
use crate::{
    DatabaseError, Own, Result,
    external::{SourceParts, SourceUrl},
    server::{
        piped::Piped,
        process::{Launch, run_tool},
    },
};

/// A dump of a day is one that hangs.
const DUMP_LIMIT: Duration = Duration::from_hours(24);

/// A database on the user's server.
pub(super) struct Original {
    url: SourceUrl,
    parts: SourceParts,
    tools: Tools,
    facts: Facts,
    /// Accounts with whose rights views, triggers and routines run, such as `anna@%`.
    definers: Vec<String>,
    /// Views whose tables or columns are gone. The program that dumps ends at one.
    broken_views: Vec<String>,
}

/// What the server says of the database.
#[derive(Clone, Debug, Deserialize)]
struct Facts {
    version: String,
    /// Of its tables with their indexes.
    bytes: u64,
    tables: u64,
    /// Tables with the engine MEMORY.
    in_memory: u64,
    /// Tables with other engines than InnoDB.
    others: u64,
    /// Tables that keep their history.
    versioned: u64,
    /// Tables with an option that they are encrypted.
    encrypted: u64,
    /// `lower_case_table_names`: 2 keeps names as they were written, but copies take it for 1, which
    /// Linux has alone.
    lower_case: u64,
    page_size: u32,
    /// `innodb_buffer_pool_size`.
    buffer: u64,
    sql_mode: String,
    charset: String,
    collation: String,
    isolation: String,
    /// `innodb_flush_log_at_trx_commit`.
    flush: u64,
    /// Rights on the whole database that a copy needs.
    rights: u64,
    /// Numbers that move with the schema.
    state: Vec<Option<String>>,
}

/// The bytes of tables with their indexes, without free extents of their files: as servers count
/// them, of originals and of copies.
const BYTES: &str = "CAST(COALESCE(SUM(DATA_LENGTH + INDEX_LENGTH), 0) AS UNSIGNED)";

/// What is asked of a server's own list of tables.
const FROM_TABLES: &str = "FROM information_schema.TABLES \
    WHERE TABLE_SCHEMA = DATABASE() AND TABLE_TYPE IN ('BASE TABLE', 'SYSTEM VERSIONED')";

/// Lengths of tables are as old as a day on MySQL without this.
const FRESH: &str = "/*!80000 SET SESSION information_schema_stats_expiry = 0 */";

/// The bytes of the tables of the database that a session is in.
pub(super) fn bytes_of_tables(session: &mut Session) -> Result<ByteCount> {
    session.simple(FRESH)?;
    let rows = session.texts(&format!("SELECT {BYTES} {FROM_TABLES}"))?;
    let bytes = rows.into_iter().flatten().flatten().next();
    let bytes = bytes.and_then(|bytes| bytes.parse().ok());
    Ok(ByteCount::new(bytes.unwrap_or_default()))
}

/// Databases that every server has.
const OF_SERVERS: [&str; 4] = ["information_schema", "mysql", "performance_schema", "sys"];

/// Rights without which tables, views and triggers are left out without a word.
const RIGHTS: [&str; 3] = ["SELECT", "SHOW VIEW", "TRIGGER"];

/// One line of JSON, with the bytes and the list of tables to be put in. A database's name in a grant
/// is a pattern. Counts are cast: MariaDB 11.4 writes them as texts beside one that is.
const QUESTION: &str = "\
    SELECT JSON_OBJECT( \
      'version', VERSION(), \
      'bytes', BYTES, \
      'tables', CAST(COUNT(*) AS UNSIGNED), \
      'in_memory', CAST(COALESCE(SUM(ENGINE = 'MEMORY'), 0) AS UNSIGNED), \
      'others', CAST(COALESCE(SUM(ENGINE <> 'InnoDB'), 0) AS UNSIGNED), \
      'versioned', CAST(COALESCE(SUM(TABLE_TYPE = 'SYSTEM VERSIONED'), 0) AS UNSIGNED), \
      'encrypted', CAST(COALESCE(SUM(LOWER(CREATE_OPTIONS) REGEXP \
        'encrypt(ed|ion)[^=]{0,2}=[^a-z0-9]?(y|on|1)'), 0) AS UNSIGNED), \
      'lower_case', @@lower_case_table_names, \
      'page_size', @@innodb_page_size, \
      'buffer', @@innodb_buffer_pool_size, \
      'sql_mode', @@sql_mode, \
      'charset', @@character_set_database, \
      'collation', @@collation_database, \
      'isolation', @@ISOLATION, \
      'flush', @@innodb_flush_log_at_trx_commit, \
      'rights', (SELECT CAST(COUNT(DISTINCT PRIVILEGE_TYPE) AS UNSIGNED) FROM ( \
        SELECT GRANTEE, PRIVILEGE_TYPE FROM information_schema.USER_PRIVILEGES \
        UNION ALL SELECT GRANTEE, PRIVILEGE_TYPE FROM information_schema.SCHEMA_PRIVILEGES \
        WHERE DATABASE() LIKE TABLE_SCHEMA) AS granted \
        WHERE PRIVILEGE_TYPE IN ('SELECT', 'SHOW VIEW', 'TRIGGER')), \
      'state', JSON_ARRAY(CAST(COUNT(*) AS CHAR), CAST(MAX(CREATE_TIME) AS CHAR))) ";

/// A line of JSON for each view whose tables or columns are gone, with the number of tables and views whose
/// names are nearly the same. Of all others the comment is `VIEW`, and MariaDB opens a view to tell its comment only
/// where something is asked of its rows.
const BROKEN_VIEWS: &str = "SELECT JSON_OBJECT('name', v.TABLE_NAME, 'alike', ( \
      SELECT COUNT(*) FROM information_schema.TABLES AS t WHERE t.TABLE_SCHEMA = DATABASE() \
      AND BINARY t.TABLE_NAME <> BINARY v.TABLE_NAME AND CONVERT(t.TABLE_NAME USING utf8mb4) COLLATE utf8mb4_unicode_ci \
        = CONVERT(v.TABLE_NAME USING utf8mb4) COLLATE utf8mb4_unicode_ci)) \
    FROM information_schema.TABLES AS v \
    WHERE v.TABLE_SCHEMA = DATABASE() AND v.TABLE_TYPE = 'VIEW' AND v.TABLE_COMMENT <> 'VIEW' \
    AND COALESCE(v.TABLE_ROWS, 0) >= 0 \
    ORDER BY v.TABLE_NAME";

/// A view that cannot be read.
#[derive(Debug, Deserialize)]
struct BrokenView {
    name: String,
    alike: u64,
}

/// One line of JSON for each account with whose rights something of the database runs.
const DEFINERS: &str = "SELECT JSON_QUOTE(DEFINER) FROM ( \
    SELECT DEFINER FROM information_schema.VIEWS WHERE TABLE_SCHEMA = DATABASE() \
    UNION SELECT DEFINER FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA = DATABASE() \
    UNION SELECT DEFINER FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA = DATABASE()) AS definers \
    WHERE DEFINER IS NOT NULL ORDER BY DEFINER";

impl Original {
    /// Asks the server what it is.
    pub(super) fn open(source: &OsStr, programs: &Programs) -> Result<Self> {
        let url = SourceUrl::read(source)?;
        let parts = url.parts()?;
        let tools = Tools::find(programs)?;
        // MySQL has had another name for the level since 5.7.20, and no longer the old one.
        let level = match tools.flavour {
            Flavour::Mariadb => "tx_isolation",
            Flavour::Mysql => "transaction_isolation",
        };
        let question = QUESTION
            .replace("ISOLATION, ", &format!("{level}, "))
            .replace("'bytes', BYTES", &format!("'bytes', {BYTES}"));
        let question = format!("{FRESH}; {question}{FROM_TABLES}");
        let facts: Vec<Facts> = ask(&url, &parts, &tools, &question)?;
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
        let name = match facts.lower_case {
            0 => parts.database.clone(),
            _ => parts.database.to_lowercase(),
        };
        if OF_SERVERS.contains(&name.as_str()) {
            return Err(url.refuse("is a database of the server's own: name one of yours"));
        }
        if facts.tables == 0 {
            return Err(url.refuse("has no table"));
        }
        let definers = ask(&url, &parts, &tools, DEFINERS)?;
        let broken_views: Vec<BrokenView> = ask(&url, &parts, &tools, BROKEN_VIEWS)?;
        // The programs that dump leave names out by the order of texts, in which these are the same.
        if let Some(view) = broken_views.iter().find(|view| view.alike > 0) {
            return Err(url.refuse(format!(
                "has a view {} of tables that are gone, and a table or view whose name is nearly the \
                 same: drop the view",
                view.name
            )));
        }
        Ok(Self {
            url,
            parts,
            tools,
            facts,
            definers,
            broken_views: broken_views.into_iter().map(|view| view.name).collect(),
        })
    }

    /// What the server answers to a question with a line of JSON a row.
    pub(super) fn ask<T: DeserializeOwned>(&self, question: &str) -> Result<Vec<T>> {
        ask(&self.url, &self.parts, &self.tools, question)
    }

    /// The database's name.
    pub(super) fn name(&self) -> &str {
        &self.parts.database
    }

    /// Its SQL mode: words with commas between them.
    pub(super) fn sql_mode(&self) -> &str {
        &self.facts.sql_mode
    }

    /// Whether names of databases and tables are the same in small and capital letters.
    pub(super) fn is_any_case(&self) -> bool {
        self.facts.lower_case > 0
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
                // 52 bits, so that every reader of JSON keeps them.
                state: state.get() >> 12,
                ..CopyOf::whole(
                    &self.parts.database,
                    ByteCount::new(facts.bytes),
                    page_size,
                    source,
                )
            },
            options: Vec::new(),
            limits: Vec::new(),
            cache: ByteCount::new(facts.buffer.min(facts.bytes)),
            uneven: Vec::new(),
        })
    }

    /// In what a copy is not as it is.
    pub(super) fn unlike(&self) -> Vec<String> {
        let facts = &self.facts;
        let mut unlike = Vec::new();
        if facts.isolation != "REPEATABLE-READ" {
            unlike.push(format!(
                "your transactions are {} and the copy's repeatable read, unless --isolation says \
                 otherwise",
                facts.isolation.to_ascii_lowercase().replace('-', " ")
            ));
        }
        if facts.flush != 1 {
            unlike.push(format!(
                "your commits do not wait for the log (innodb_flush_log_at_trx_commit={}), the \
                 copy's do",
                facts.flush
            ));
        }
        if facts.in_memory > 0 {
            unlike.push("tables with the engine MEMORY are empty".into());
        }
        if facts.others > facts.in_memory {
            unlike.push("tables with another engine than InnoDB do not have its pages".into());
        }
        if facts.versioned > 0 && !self.tools.dumps_history {
            unlike.push("tables that keep their history are without it".into());
        }
        if facts.encrypted > 0 {
            unlike.push("your encrypted tables are not encrypted".into());
        }
        if let [first, rest @ ..] = self.broken_views.as_slice() {
            let more = match rest.len() {
                0 => String::new(),
                count => format!(" and {count} more"),
            };
            unlike.push(format!(
                "views of tables or columns that are gone are missing ({first}{more})"
            ));
        }
        if facts.rights < RIGHTS.len() as u64 {
            unlike.push(format!(
                "your account may not have {} on all of it, and what it may not see is missing",
                RIGHTS.join(", ")
            ));
        }
        unlike
    }

    /// Dumps the schema alone.
    pub(super) fn dump_schema(&self, dump: &Dump) -> Result<()> {
        let of_schema = ["--no-data", "--routines", "--triggers"];
        self.run(dump, &of_schema, None, &|| false)?;
        dump.blank_options()?;
        dump.note(&self.setup())
    }

    /// How its database is called and set.
    pub(super) fn setup(&self) -> Setup {
        Setup {
            name: self.parts.database.clone(),
            sql_mode: self.facts.sql_mode.clone(),
            charset: self.facts.charset.clone(),
            collation: self.facts.collation.clone(),
            is_any_case: self.is_any_case(),
            definers: self.definers.clone(),
        }
    }

    /// Runs the client on the database, whose answers are read as they are sent.
    pub(super) fn client<'s>(
        &self,
        directory: &Path,
        rate: Option<ByteCount>,
        stopped: &'s dyn Fn() -> bool,
    ) -> Result<Piped<'s>> {
        let mut arguments = login(&self.parts);
        let usual = [
            "--connect-timeout=10",
            "--batch",
            "--raw",
            "--skip-column-names",
            "--quick",
            "--unbuffered",
            "--binary-mode",
            "--max-allowed-packet=1G",
            "--default-character-set=utf8mb4",
            "--database",
        ];
        arguments.extend(usual.map(OsString::from));
        arguments.push((&self.parts.database).into());
        let log = directory.join("sample.log");
        let launch = Launch {
            program: &self.tools.client,
            arguments,
            directory,
            log: &log,
            account: None,
            group: None,
            on_death: Signal::TERM,
            input: None,
            environment: environment(self.url.password()),
        };
        Piped::start("sample your database", &launch, rate, stopped)
    }

    /// Runs the program that dumps, at a rate if one is given.
    pub(super) fn run(
        &self,
        dump: &Dump,
        more: &[&str],
        rate: Option<ByteCount>,
        stopped: &dyn Fn() -> bool,
    ) -> Result<()> {
        let file = dump.file();
        let mut arguments = login(&self.parts);
        let usual = [
            "--single-transaction",
            "--quick",
            "--skip-lock-tables",
            "--no-tablespaces",
            "--hex-blob",
            "--max-allowed-packet=1G",
            "--default-character-set=utf8mb4",
        ];
        // MySQL's own program asks for what its servers alone have.
        let of_mysql: &[&str] = match self.tools.flavour {
            Flavour::Mysql => &["--set-gtid-purged=OFF", "--column-statistics=0"],
            Flavour::Mariadb => &[],
        };
        let history: &[&str] = match self.facts.versioned > 0 && self.tools.dumps_history {
            true => &["--dump-history"],
            false => &[],
        };
        let all = usual.iter().chain(of_mysql).chain(history).chain(more);
        arguments.extend(all.map(OsString::from));
        let database = &self.parts.database;
        let broken = self.broken_views.iter();
        arguments.extend(broken.map(|view| format!("--ignore-table={database}.{view}").into()));
        if rate.is_none() {
            let mut result_file = OsString::from("--result-file=");
            result_file.push(&file);
            arguments.push(result_file);
        }
        arguments.push((&self.parts.database).into());
        let launch = Launch {
            program: &self.tools.dump,
            arguments,
            directory: dump.directory(),
            log: &dump.log(),
            account: None,
            group: None,
            on_death: Signal::TERM,
            input: None,
            environment: environment(self.url.password()),
        };
        const ACTION: &str = "copy your database";
        match rate {
            None => run_tool(ACTION, &launch, DUMP_LIMIT, &mut || stopped()),
            // A pipe that is read slowly keeps the server waiting.
            rate => Piped::start(ACTION, &launch, rate, stopped)?.write_to(&file),
        }
    }
}

/// The password stands in the environment, which others may not read. Options in files of the
/// user's are not read: one of them leaves rows out of a dump.
fn environment(password: Option<&str>) -> Vec<(OsString, OsString)> {
    let given = env::var_os("MYSQL_PWD");
    let password = password.map(OsString::from).or(given);
    let password = password.map(|password| ("MYSQL_PWD".into(), password));
    password.into_iter().collect()
}

/// The first arguments of the makers' programs.
fn login(parts: &SourceParts) -> Vec<OsString> {
    let mut arguments = vec!["--no-defaults".to_owned()];
    let mut add = |name: &str, value: &str| arguments.push(format!("--{name}={value}"));
    if !parts.user.is_empty() {
        add("user", &parts.user);
    }
    if !parts.host.is_empty() {
        add("host", &parts.host);
        add("port", &parts.port.to_string());
    }
    for (name, value) in &parts.parameters {
        add(name, value);
    }
    arguments.into_iter().map(OsString::from).collect()
}

/// What the server answers to a question with a line of JSON a row.
fn ask<T: DeserializeOwned>(
    url: &SourceUrl,
    parts: &SourceParts,
    tools: &Tools,
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
    let output = Command::new(&tools.client)
        .args(login(parts))
        .arg("--connect-timeout=10")
        .args([
            "--batch",
            "--raw",
            "--skip-column-names",
            "--execute",
            question,
        ])
        .args(["--default-character-set=utf8mb4", "--database"])
        .arg(&parts.database)
        .envs(environment(url.password()))
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
    use super::*;

    #[test]
    fn a_login_shows_no_password() {
        let url = SourceUrl::read(OsStr::new(
            "mariadb://shop:a%22b%5C@db.example:3307/sh%20op?ssl-ca=/x.pem",
        ))
        .unwrap();
        assert_eq!(
            url.to_string(),
            "mariadb://shop@db.example:3307/sh%20op?ssl-ca=/x.pem"
        );
        let parts = url.parts().unwrap();
        assert_eq!(parts.database, "sh op");
        assert_eq!(
            login(&parts),
            [
                "--no-defaults",
                "--user=shop",
                "--host=db.example",
                "--port=3307",
                "--ssl-ca=/x.pem"
            ]
        );
        assert_eq!(
            environment(url.password()),
            [("MYSQL_PWD".into(), "a\"b\\".into())]
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
