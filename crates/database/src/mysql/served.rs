//! A MySQL or MariaDB server that the user runs. A database has no comment, so
//! the mark of Octavo's is a table with one row, made before any other and
//! dropped after all others.

mod insert;
#[cfg(test)]
mod tests;

use std::{
    collections::HashMap,
    ops::ControlFlow,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use octavo_units::{ByteCount, PageSize};
use octavo_workload::{
    Connection, ConnectionError, Workload,
    connection::Statement,
    schema::{ColumnKind, Table},
};

use super::{
    Flavour, ddl,
    failure::ServerError,
    inspect::{self, MysqlInspection},
    instance::session_setup,
    load,
    running::isolation_level,
    session::Session,
    status,
};
use crate::{
    Counters, DatabaseError, Inspection, Isolation, Loaded, Progress, Running, StoragePath,
    fill::{Feed, fill},
    served::{
        LOADING, MARK, SCHEMA, Served, Url, busy, entangled, foreign, is_own_table, note_of,
        occupied,
    },
};
use insert::Inserts;

/// The table with the mark.
const MARK_TABLE: &str = "octavo_mark";

/// How long a login may take.
const LOGIN_LIMIT: Duration = Duration::from_secs(10);

/// A client's statement that takes longer is given up.
const STATEMENT_LIMIT: Duration = Duration::from_secs(120);

/// What conditions are made of, as the server has it in force: its name and
/// ours. A version has most of them.
const VARIABLES: [(&str, &str); 14] = [
    ("innodb_page_size", ""),
    ("local_infile", ""),
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
    ("innodb_io_capacity", "innodb_io_capacity"),
    ("innodb_flush_neighbors", "innodb_flush_neighbors"),
    ("innodb_adaptive_hash_index", "innodb_adaptive_hash_index"),
    ("innodb_snapshot_isolation", "innodb_snapshot_isolation"),
];

/// Errors of an account that lacks a right: ER_DBACCESS_DENIED_ERROR,
/// ER_TABLEACCESS_DENIED_ERROR, ER_SPECIFIC_ACCESS_DENIED_ERROR.
const NO_RIGHT: [u16; 3] = [1044, 1142, 1227];

/// A server that the user runs, with a database that is Octavo's.
pub(crate) struct ServedMysql {
    url: Url,
    flavour: Flavour,
    version: String,
    page_size: PageSize,
    /// By the server's names.
    variables: HashMap<String, String>,
    /// Holds the lock for as long as it lives.
    _lock: Mutex<Session>,
}

impl ServedMysql {
    /// Connects and takes the lock.
    pub(crate) fn connect(url: &Url) -> Result<Self, DatabaseError> {
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
            .ok_or_else(|| ConnectionError::Other {
                context: format!("ask {url} for its page size"),
                source: "it tells none that is known here: is InnoDB switched on?".into(),
            })?;
        // It says nothing while others work: a week, and all that is allowed.
        session.simple("SET SESSION wait_timeout=604800")?;
        let locked = one(&mut session, &format!("SELECT GET_LOCK('{SCHEMA}', 0)"))?;
        if locked.as_deref() != Some("1") {
            return Err(busy(url));
        }
        Ok(Self {
            url: url.clone(),
            flavour,
            version,
            page_size,
            variables,
            _lock: Mutex::new(session),
        })
    }

    /// A session outside of any database, that takes its time.
    fn outside(&self) -> Result<Session, DatabaseError> {
        Ok(open(&self.url, None, &self.setup())?)
    }

    /// A session in Octavo's database, that takes its time.
    fn inside(&self) -> Result<Session, DatabaseError> {
        Ok(open(&self.url, Some(SCHEMA), &self.setup())?)
    }

    fn setup(&self) -> Vec<String> {
        let mut setup = session_setup(self.flavour, "REPEATABLE READ", Duration::ZERO);
        setup.push(load::SETUP.into());
        setup
    }

    /// The tables of Octavo's database; `None` without one.
    fn tables(&self, session: &mut Session) -> Result<Option<Vec<String>>, DatabaseError> {
        let found = session.texts(&format!(
            "SELECT schema_name FROM information_schema.schemata WHERE schema_name = '{SCHEMA}'"
        ))?;
        if found.is_empty() {
            return Ok(None);
        }
        let tables = session.texts(&format!(
            "SELECT table_name FROM information_schema.tables WHERE table_schema = '{SCHEMA}'"
        ))?;
        Ok(Some(tables.into_iter().flatten().flatten().collect()))
    }

    /// The mark of the database; `None` without a database.
    fn mark(&self, session: &mut Session) -> Result<Option<String>, DatabaseError> {
        let Some(tables) = self.tables(session)? else {
            return Ok(None);
        };
        if !tables.iter().any(|table| table == MARK_TABLE) {
            return Err(foreign(self.name(), &self.url));
        }
        match one(session, &format!("SELECT mark FROM {SCHEMA}.{MARK_TABLE}"))? {
            Some(mark) if mark.starts_with(MARK) => Ok(Some(mark)),
            _ => Err(foreign(self.name(), &self.url)),
        }
    }

    /// Drops the tables and the database. What Octavo did not make is in the
    /// way.
    fn drop_database(&self, session: &mut Session) -> Result<(), DatabaseError> {
        let tables = self.tables(session)?.unwrap_or_default();
        let (own, others): (Vec<_>, Vec<_>) = tables
            .into_iter()
            .filter(|name| name != MARK_TABLE)
            .partition(|name| is_own_table(name));
        let routines = session.texts(&format!(
            "SELECT routine_name FROM information_schema.routines \
             WHERE routine_schema = '{SCHEMA}'"
        ))?;
        let routines = routines.into_iter().flatten().flatten();
        if let Some(other) = others.into_iter().chain(routines).next() {
            return Err(entangled(self.name(), &self.url, &other));
        }
        // Tables go one by one: of those that are left the mark says that they
        // are of no use.
        set_mark(session, LOADING)?;
        for table in own {
            session.simple(&format!("DROP TABLE {SCHEMA}.{}", ddl::quoted(&table)))?;
        }
        Ok(session.simple(&format!("DROP DATABASE {SCHEMA}"))?)
    }

    fn create_database(&self, session: &mut Session) -> Result<(), DatabaseError> {
        let created = session.simple(&ddl::create_database());
        created.map_err(|error| self.without_right(error))?;
        session.simple(&format!(
            "CREATE TABLE {SCHEMA}.{MARK_TABLE} (mark TEXT NOT NULL) ENGINE=InnoDB"
        ))?;
        Ok(session.simple(&format!(
            "INSERT INTO {SCHEMA}.{MARK_TABLE} VALUES ({})",
            quoted(LOADING)
        ))?)
    }

    /// Names the remedy where a right is missing.
    fn without_right(&self, error: ConnectionError) -> DatabaseError {
        if let ConnectionError::Other { source, .. } = &error
            && let Some(server) = source.downcast_ref::<ServerError>()
            && NO_RIGHT.contains(&server.code)
        {
            return DatabaseError::Missing {
                what: format!(
                    "{} may not create the database {SCHEMA}: {server}",
                    self.url
                ),
                remedy: format!("GRANT ALL ON {SCHEMA}.* to this account"),
            };
        }
        error.into()
    }

    /// Whether rows can be loaded as files are.
    fn takes_files(&self) -> bool {
        let value = self.variables.get("local_infile");
        value.is_some_and(|value| value.eq_ignore_ascii_case("on") || value == "1")
    }

    /// Fills the marked database.
    fn fill(
        &self,
        session: &mut Session,
        workload: &dyn Workload,
        progress: &mut Progress<'_>,
    ) -> Result<(u64, ByteCount), DatabaseError> {
        let rows = fill(workload, progress, |table, feed| {
            let session = self.inside()?;
            match self.takes_files() {
                true => load::fill_table(session, table, feed),
                false => insert_table(session, table, feed),
            }
        })?;
        if progress(rows) == ControlFlow::Break(()) {
            return Err(DatabaseError::Stopped);
        }
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
    feed: &mut Feed<'_>,
) -> Result<u64, DatabaseError> {
    session.simple(&ddl::create_table(table))?;
    let kinds: Vec<ColumnKind> = table.columns.iter().map(|column| column.kind).collect();
    let mut inserts = Inserts::begin(&mut session, table.name, &kinds)?;
    let rows = feed.send(|batch| Ok(inserts.batch(batch)?))?;
    inserts.finish()?;
    load::complete(&mut session, table)?;
    Ok(rows)
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

/// The first column of a query's first row; `None` without rows, or for NULL.
fn one(session: &mut Session, sql: &str) -> Result<Option<String>, ConnectionError> {
    Ok(session.texts(sql)?.into_iter().flatten().next().flatten())
}

/// A text as a literal of SQL.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "''"))
}

fn set_mark(session: &mut Session, mark: &str) -> Result<(), ConnectionError> {
    session.simple(&format!(
        "UPDATE {SCHEMA}.{MARK_TABLE} SET mark = {}",
        quoted(mark)
    ))
}

impl Served for ServedMysql {
    fn name(&self) -> &'static str {
        self.flavour.name()
    }

    fn version(&self) -> String {
        self.version.clone()
    }

    fn page_size(&self) -> PageSize {
        self.page_size
    }

    fn place(&self) -> String {
        self.url.to_string()
    }

    fn found(&self) -> Result<Option<String>, DatabaseError> {
        let mark = self.mark(&mut self.outside()?)?;
        Ok(mark.and_then(|mark| note_of(&mark).map(str::to_owned)))
    }

    fn load(
        &self,
        workload: &dyn Workload,
        note: &dyn Fn(&Loaded) -> String,
        progress: &mut Progress<'_>,
    ) -> Result<Loaded, DatabaseError> {
        let begin = Instant::now();
        let mut session = self.outside()?;
        match self.mark(&mut session)? {
            None => {}
            Some(mark) if mark == LOADING => self.drop_database(&mut session)?,
            Some(_) => return Err(occupied(self.name(), &self.url)),
        }
        if progress(0) == ControlFlow::Break(()) {
            return Err(DatabaseError::Stopped);
        }
        self.create_database(&mut session)?;
        let (rows, size) = match self.fill(&mut session, workload, progress) {
            Ok(filled) => filled,
            Err(stopped @ DatabaseError::Stopped) => return Err(stopped),
            Err(error) => {
                // It may have been for want of space. The first error is the
                // one to tell; what stays is marked.
                let _removed = self.drop_database(&mut session);
                return Err(error);
            }
        };
        let loaded = Loaded {
            rows,
            size,
            elapsed: begin.elapsed(),
        };
        set_mark(&mut session, &format!("{MARK}{}", note(&loaded)))?;
        Ok(loaded)
    }

    fn set_note(&self, note: &str) -> Result<(), DatabaseError> {
        Ok(set_mark(&mut self.outside()?, &format!("{MARK}{note}"))?)
    }

    fn remove(&self) -> Result<bool, DatabaseError> {
        let mut session = self.outside()?;
        let is_there = self.mark(&mut session)?.is_some();
        if is_there {
            self.drop_database(&mut session)?;
        }
        Ok(is_there)
    }

    fn start(
        &self,
        isolation: Option<Isolation>,
        workload: &dyn Workload,
    ) -> Result<Box<dyn Running>, DatabaseError> {
        let mut conditions = vec![("version", self.version.clone())];
        for (name, shown) in VARIABLES {
            if let Some(value) = self.variables.get(name).filter(|_| !shown.is_empty()) {
                conditions.push((shown, value.to_ascii_lowercase()));
            }
        }
        let level = isolation.unwrap_or(Isolation::RepeatableRead);
        conditions.push((
            "isolation",
            match isolation {
                Some(_) => format!("{level} (InnoDB)"),
                None => format!("{level}, the default (InnoDB)"),
            },
        ));
        let mut monitor = self.outside()?;
        let last = status::read(&mut monitor)?;
        Ok(Box::new(Visited {
            url: self.url.clone(),
            setup: session_setup(self.flavour, isolation_level(isolation), STATEMENT_LIMIT),
            statements: workload.statements(),
            monitor: Mutex::new((Some(monitor), last)),
            conditions,
        }))
    }

    fn inspect(&self, workload: &dyn Workload) -> Result<Box<dyn Inspection>, DatabaseError> {
        let session = open(&self.url, Some(SCHEMA), &inspect::setup(self.flavour))?;
        Ok(Box::new(MysqlInspection::through(session, workload)?))
    }
}

/// The user's server while it is driven.
struct Visited {
    url: Url,
    setup: Vec<String>,
    statements: &'static [Statement],
    /// The session that counts, until the server is gone, and what it read
    /// last.
    monitor: Mutex<(Option<Session>, Counters)>,
    conditions: Vec<(&'static str, String)>,
}

impl Running for Visited {
    fn connect(&self, _client: u32) -> Result<Box<dyn Connection + Send>, DatabaseError> {
        let mut session = open(&self.url, Some(SCHEMA), &self.setup)?;
        session.prepare_all(self.statements)?;
        Ok(Box::new(session))
    }

    fn counters(&self) -> Counters {
        let mut monitor = self.monitor.lock().unwrap_or_else(PoisonError::into_inner);
        let (session, last) = &mut *monitor;
        match session.as_mut().map(status::read) {
            Some(Ok(now)) => *last = status::not_less(*last, now),
            // The last ones are what is known of a server that is gone.
            Some(Err(_)) => *session = None,
            None => {}
        }
        *last
    }

    fn conditions(&self) -> Vec<(&'static str, String)> {
        self.conditions.clone()
    }

    /// What memory the user's server may use is not known.
    fn storage_path(&self) -> StoragePath {
        StoragePath::PageCache
    }

    fn stop(self: Box<Self>) -> Result<(), DatabaseError> {
        Ok(())
    }
}
