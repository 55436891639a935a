//! A MySQL or MariaDB server that the user runs. A database has no comment, so
//! the mark of Octavo's is a table with one row, made before any other and
//! dropped after all others.

mod insert;
mod schema;
#[cfg(test)]
mod tests;

use std::{
    collections::HashMap,
    sync::Arc,
    time::{Duration, Instant},
};

use octavo_units::{ByteCount, PageSize};
use octavo_workload::{ConnectionError, Workload, schema::Table};

use super::{
    Flavour,
    ddl::{self, KeylessTables, ROW_NUMBER},
    inspect,
    instance::session_setup,
    load,
    running::isolation_level,
    session::Session,
    status,
};
use crate::{
    DatabaseError, Inspection, Isolation, LoadReport, Progress, Result, Running,
    error::unless_stopped,
    external::{
        Counted, Driven, ExternalServer, LOADING, LOCK_WAIT, Lock, MARK, SCHEMA, Url, busy,
        note_of, occupied,
    },
    fill::{Feed, fill},
};
use insert::Inserts;
use schema::{Schema, State, one, set_mark};

/// How long a login may take.
const LOGIN_LIMIT: Duration = Duration::from_secs(10);

/// A client's statement that takes longer is given up.
const STATEMENT_LIMIT: Duration = Duration::from_secs(120);

/// What conditions are made of, as the server has it in force: its name and
/// ours. A version has most of them.
const VARIABLES: [(&str, &str); 29] = [
    ("innodb_page_size", ""),
    ("local_infile", ""),
    ("sql_require_primary_key", ""),
    ("innodb_force_primary_key", ""),
    ("innodb_buffer_pool_size", "innodb_buffer_pool_size"),
    (
        "innodb_flush_log_at_trx_commit",
        "innodb_flush_log_at_trx_commit",
    ),
    ("log_bin", "binary_log"),
    ("sync_binlog", "sync_binlog"),
    ("innodb_doublewrite", "innodb_doublewrite"),
    ("innodb_flush_method", "innodb_flush_method"),
    ("innodb_redo_log_capacity", "redo_log"),
    ("innodb_log_file_size", "innodb_log_file_size"),
    ("innodb_data_file_buffering", "innodb_data_file_buffering"),
    ("innodb_log_file_buffering", "innodb_log_file_buffering"),
    ("innodb_use_fdatasync", "innodb_use_fdatasync"),
    ("innodb_log_buffer_size", "innodb_log_buffer_size"),
    ("innodb_io_capacity", "innodb_io_capacity"),
    ("innodb_io_capacity_max", "innodb_io_capacity_max"),
    ("innodb_lru_scan_depth", "innodb_lru_scan_depth"),
    ("innodb_max_dirty_pages_pct", "innodb_max_dirty_pages_pct"),
    (
        "innodb_max_dirty_pages_pct_lwm",
        "innodb_max_dirty_pages_pct_lwm",
    ),
    ("innodb_flush_neighbors", "innodb_flush_neighbors"),
    ("innodb_adaptive_hash_index", "innodb_adaptive_hash_index"),
    ("innodb_change_buffering", "innodb_change_buffering"),
    ("innodb_purge_threads", "innodb_purge_threads"),
    ("innodb_lock_wait_timeout", "innodb_lock_wait_timeout"),
    ("innodb_dedicated_server", "innodb_dedicated_server"),
    ("performance_schema", "performance_schema"),
    // Told in words.
    (SNAPSHOT_ISOLATION, ""),
];

/// MariaDB's switch for what REPEATABLE READ refuses.
const SNAPSHOT_ISOLATION: &str = "innodb_snapshot_isolation";

/// A server that the user runs, with a database that is Octavo's.
pub(crate) struct ExternalMysql {
    schema: Schema,
    flavour: Flavour,
    version: String,
    page_size: PageSize,
    /// By the server's names.
    variables: HashMap<String, String>,
    /// Holds the lock for as long as it lives.
    lock: Arc<Lock<Session>>,
}

impl Drop for ExternalMysql {
    fn drop(&mut self) {
        // Now, and not when the server notices that the connection is gone.
        self.lock.release(|session| {
            let _gone_with_it = session.simple(&format!("DO RELEASE_LOCK('{SCHEMA}')"));
        });
    }
}

impl ExternalMysql {
    /// Connects and takes the lock.
    pub(crate) fn connect(url: &Url) -> Result<Self> {
        let mut session = open(url, None, &[])?;
        let greeting = session.greeting();
        let (flavour, version) = (greeting.flavour, greeting.version.clone());
        let names = VARIABLES.map(|(name, _)| format!("'{name}'")).join(", ");
        let variables = status::pairs(session.texts(&format!(
            "SHOW GLOBAL VARIABLES WHERE Variable_name IN ({names})"
        ))?);
        let page_size = variables
            .get("innodb_page_size")
            .and_then(|bytes| PageSize::new(bytes.parse().ok()?).ok())
            .ok_or_else(|| {
                ConnectionError::other(
                    format!("ask {url} for its page size"),
                    "it tells none that is known here: is InnoDB switched on?",
                )
            })?;
        if !take_lock(&mut session, LOCK_WAIT)? {
            return Err(busy(url));
        }
        let of_url = url.clone();
        let take = move || {
            let mut session = open(&of_url, None, &[])?;
            Ok(take_lock(&mut session, Duration::ZERO)?.then_some(session))
        };
        let is_there = |session: &mut Session| session.simple("DO 1").is_ok();
        Ok(Self {
            schema: Schema {
                server: flavour.kind().name,
                url: url.clone(),
            },
            flavour,
            version,
            page_size,
            variables,
            lock: Arc::new(Lock::held_by(session, take, is_there)),
        })
    }

    /// A session outside of any database, that takes its time.
    fn outside(&self) -> Result<Session> {
        Ok(open(&self.schema.url, None, &self.setup())?)
    }

    /// A session in Octavo's database, that takes its time.
    fn inside(&self) -> Result<Session> {
        Ok(open(&self.schema.url, Some(SCHEMA), &self.setup())?)
    }

    fn setup(&self) -> Vec<String> {
        setup(self.flavour)
    }

    /// Whether rows can be loaded as files are.
    fn takes_files(&self) -> bool {
        self.is_on("local_infile")
    }

    /// Whether a switch is there and on.
    fn is_on(&self, name: &str) -> bool {
        let value = self.variables.get(name);
        value.is_some_and(|value| value.eq_ignore_ascii_case("on") || value == "1")
    }

    /// As the server wants them: MySQL and MariaDB have a switch each.
    fn keyless_tables(&self) -> KeylessTables {
        match ["sql_require_primary_key", "innodb_force_primary_key"]
            .iter()
            .any(|name| self.is_on(name))
        {
            true => KeylessTables::Numbered,
            false => KeylessTables::AsTheyAre,
        }
    }

    /// Fills the marked database.
    fn fill(
        &self,
        session: &mut Session,
        workload: &dyn Workload,
        progress: &mut Progress<'_>,
    ) -> Result<(u64, ByteCount)> {
        let keyless = self.keyless_tables();
        let rows = fill(workload, progress, |table, feed| {
            let session = self.inside()?;
            match self.takes_files() {
                true => load::fill_table(session, table, keyless, feed),
                false => insert_table(session, table, keyless, feed),
            }
        })?;
        unless_stopped(progress(rows))?;
        load::watch_references(&mut self.inside()?, workload)?;
        let size = one(
            session,
            &format!(
                "SELECT SUM(data_length + index_length) FROM information_schema.tables \
                 WHERE table_schema = '{SCHEMA}'"
            ),
        )?;
        let size = size.and_then(|size| size.parse().ok()).unwrap_or(0);
        Ok((rows, ByteCount::new(size)))
    }
}

/// Creates a table with its rows, indexes and statistics on a server that
/// takes no files.
fn insert_table(
    mut session: Session,
    table: &Table,
    keyless: KeylessTables,
    feed: &mut Feed<'_>,
) -> Result<u64> {
    session.simple(&ddl::create_table(table, keyless))?;
    let kinds = table.kinds();
    let mut inserts = Inserts::begin(&mut session, table, &kinds)?;
    let rows = feed.send(|batch| Ok(inserts.batch(batch)?))?;
    inserts.finish()?;
    load::complete(&mut session, table)?;
    Ok(rows)
}

/// How a session is set up that takes its time.
fn setup(flavour: Flavour) -> Vec<String> {
    let mut setup = session_setup(flavour, "REPEATABLE READ", Duration::ZERO);
    setup.push(load::SETUP.into());
    setup
}

/// Takes the lock, if nobody has it or lets it go in time.
fn take_lock(session: &mut Session, wait: Duration) -> Result<bool> {
    // It says nothing while others work: a week, and all that is allowed.
    session.simple("SET SESSION wait_timeout=604800")?;
    let taken = one(
        session,
        &format!("SELECT GET_LOCK('{SCHEMA}', {})", wait.as_secs()),
    )?;
    Ok(taken.as_deref() == Some("1"))
}

/// Connects and logs in. Errors name the URL, never the password.
fn open(url: &Url, database: Option<&str>, setup: &[String]) -> Result<Session, ConnectionError> {
    Session::open(
        url.connect()?,
        &url.user,
        url.password.as_deref().unwrap_or_default(),
        database,
        setup,
        LOGIN_LIMIT,
    )
    .map_err(|error| url.refused(error))
}

impl ExternalServer for ExternalMysql {
    fn name(&self) -> &'static str {
        self.schema.server
    }

    fn version(&self) -> String {
        self.version.clone()
    }

    fn page_size(&self) -> PageSize {
        self.page_size
    }

    fn address(&self) -> String {
        self.schema.url.to_string()
    }

    fn found(&self) -> Result<Option<String>> {
        Ok(match self.schema.state(&mut self.outside()?)? {
            State::Absent | State::Empty => None,
            State::Marked(mark) => note_of(&mark).map(str::to_owned),
        })
    }

    fn load(
        &self,
        workload: &dyn Workload,
        note: &dyn Fn(&LoadReport) -> String,
        progress: &mut Progress<'_>,
    ) -> Result<LoadReport> {
        let begin = Instant::now();
        let mut session = self.outside()?;
        let is_there = match self.schema.state(&mut session)? {
            State::Absent => false,
            // An Octavo that was killed may have made it, or the user for us.
            State::Empty => true,
            State::Marked(mark) if mark == LOADING => {
                self.schema.drop_database(&mut session, &mark)?;
                false
            }
            State::Marked(_) => return Err(occupied(self.name(), &self.schema.url)),
        };
        unless_stopped(progress(0))?;
        if !is_there {
            self.schema.create_database(&mut session)?;
        }
        if let Err(error) = self.schema.create_mark(&mut session) {
            if !is_there {
                // Without a mark nobody would take it for ours. The first
                // error is the one to tell.
                let _removed = self.schema.drop_unmarked(&mut session);
            }
            return Err(error);
        }
        let filled = self.fill(&mut session, workload, progress);
        if !matches!(filled, Ok(_) | Err(DatabaseError::Stopped)) {
            // It may have been for want of space. The first error is the one to
            // tell; what stays is marked.
            let _removed = self.schema.drop_database(&mut session, LOADING);
        }
        let (rows, size) = filled?;
        let loaded = LoadReport {
            rows,
            size,
            log: None,
            elapsed: begin.elapsed(),
        };
        set_mark(&mut session, &format!("{MARK}{}", note(&loaded)))?;
        Ok(loaded)
    }

    fn rehearse(&self, workload: &dyn Workload) -> Result<()> {
        let mut session = self.outside()?;
        if !matches!(self.schema.state(&mut session)?, State::Marked(_)) {
            return Ok(());
        }
        let mut session = self.inside()?;
        let keyless = self.keyless_tables();
        schema::rehearse(&mut session, workload, |table| {
            ddl::create_table(table, keyless)
        })
    }

    fn set_note(&self, note: &str) -> Result<()> {
        Ok(set_mark(&mut self.outside()?, &format!("{MARK}{note}"))?)
    }

    fn remove(&self) -> Result<bool> {
        let mut session = self.outside()?;
        match self.schema.state(&mut session)? {
            State::Absent => Ok(false),
            State::Empty => Err(self.schema.refuse_empty()),
            State::Marked(mark) => self
                .schema
                .drop_database(&mut session, &mark)
                .map(|()| true),
        }
    }

    fn start(
        &self,
        isolation: Option<Isolation>,
        workload: &dyn Workload,
    ) -> Result<Box<dyn Running>> {
        let mut conditions = vec![("version", self.version.clone())];
        for (name, shown) in VARIABLES {
            if let Some(value) = self.variables.get(name).filter(|_| !shown.is_empty()) {
                conditions.push((shown, value.to_ascii_lowercase()));
            }
        }
        if self.variables.contains_key(SNAPSHOT_ISOLATION) {
            let value = match self.is_on(SNAPSHOT_ISOLATION) {
                true => {
                    "on: repeatable read refuses rows that others changed meanwhile \
                     (serialization failures)"
                }
                false => "off",
            };
            conditions.push((SNAPSHOT_ISOLATION, value.into()));
        }
        if self.keyless_tables() == KeylessTables::Numbered {
            let numbered = |table: &&Table| table.primary_key.is_empty();
            let names: Vec<&str> = workload
                .tables()
                .iter()
                .filter(numbered)
                .map(|table| table.name)
                .collect();
            if !names.is_empty() {
                conditions.push((
                    "added_keys",
                    format!(
                        "{} by {ROW_NUMBER}: the server takes no table without a key",
                        names.join(", ")
                    ),
                ));
            }
        }
        let level = isolation.unwrap_or(Isolation::RepeatableRead);
        conditions.push((
            "isolation",
            match isolation {
                Some(_) => format!("{level} (InnoDB)"),
                None => format!("{level}, the default; transactions may ask for more (InnoDB)"),
            },
        ));
        let (url, statements) = (self.schema.url.clone(), workload.statements());
        let setup = session_setup(self.flavour, isolation_level(isolation), STATEMENT_LIMIT);
        let (of_monitor, flavour) = (self.schema.url.clone(), self.flavour);
        let counted = Counted::by(move || {
            let session = open(&of_monitor, None, &self::setup(flavour))?;
            Ok(status::monitor(session, None)?)
        })?;
        let lock = Arc::clone(&self.lock);
        Ok(Box::new(Driven {
            connect: move || {
                let session = open(&url, Some(SCHEMA), &setup)?;
                let mut session = session.at_level(level);
                session.prepare_all(statements)?;
                Ok(Box::new(session) as Box<_>)
            },
            counted,
            keep_lock: Box::new(move || lock.keep()),
            conditions,
        }))
    }

    fn inspect(&self, workload: &dyn Workload) -> Result<Box<dyn Inspection>> {
        let session = open(
            &self.schema.url,
            Some(SCHEMA),
            &inspect::setup(self.flavour),
        )?;
        Ok(Box::new(inspect::through(session, workload)?))
    }
}
