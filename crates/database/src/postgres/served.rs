//! A PostgreSQL server that the user runs.

use std::{
    ops::ControlFlow,
    sync::{Mutex, PoisonError},
    time::Instant,
};

use octavo_units::{ByteCount, PageSize};
use octavo_workload::{Connection, ConnectionError, Workload, connection::Statement};

use super::{
    NAME, inspect::PostgresInspection, load, programs::major_of, running::{About, Monitor, session_options},
    session::Session, statistics::Statistics,
};
use crate::{
    Counters, DatabaseError, Inspection, Isolation, Loaded, Progress, Running, StoragePath,
    fill::fill,
    served::{LOADING, MARK, SCHEMA, Served, Url, foreign},
};

/// A server that the user runs, with Octavo's schema in one of its databases.
pub(crate) struct ServedPostgres {
    url: Url,
    about: About,
    page_size: PageSize,
}

impl ServedPostgres {
    pub(crate) fn connect(url: &Url) -> Result<Self, DatabaseError> {
        let mut session = open(url, &[])?;
        let about = About::read(&mut session)?;
        let page_size = about.page_size.ok_or_else(|| ConnectionError::Other {
            context: format!("ask {url} for its block size"),
            source: "it tells none that is known".into(),
        })?;
        Ok(Self {
            url: url.clone(),
            about,
            page_size,
        })
    }

    /// A session that sees Octavo's schema alone.
    fn session(&self, options: &[(&str, String)]) -> Result<Session, DatabaseError> {
        let mut all = vec![("search_path", SCHEMA.to_owned())];
        all.extend_from_slice(options);
        Ok(open(&self.url, &all)?)
    }

    /// The mark of the schema; `None` without a schema.
    fn mark(&self, session: &mut Session) -> Result<Option<String>, DatabaseError> {
        let rows = session.texts(&format!(
            "SELECT coalesce(obj_description(oid, 'pg_namespace'), '') FROM pg_namespace \
             WHERE nspname = '{SCHEMA}'"
        ))?;
        let Some(mark) = rows.into_iter().flatten().flatten().next() else {
            return Ok(None);
        };
        if mark.starts_with(MARK) {
            Ok(Some(mark))
        } else {
            Err(foreign(NAME, &format!("schema {SCHEMA} of {}", self.url)))
        }
    }
}

fn open(url: &Url, options: &[(&str, String)]) -> Result<Session, ConnectionError> {
    let stream = url.connect().map_err(|error| ConnectionError::Other {
        context: format!("connect to {url}"),
        source: Box::new(error),
    })?;
    let database = url.database.as_deref().unwrap_or(&url.user);
    Session::open(
        stream,
        &url.user,
        url.password.as_deref(),
        database,
        &super::cluster::with_always(options),
        super::cluster::CONNECT_LIMIT,
    )
}

/// A text as a literal of SQL.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

impl Served for ServedPostgres {
    fn name(&self) -> &'static str {
        NAME
    }

    fn version(&self) -> String {
        self.about.version.clone()
    }

    fn page_size(&self) -> PageSize {
        self.page_size
    }

    fn found(&self) -> Result<Option<String>, DatabaseError> {
        let mark = self.mark(&mut self.session(&[])?)?;
        Ok(mark
            .filter(|mark| mark != LOADING)
            .map(|mark| mark[MARK.len()..].to_owned()))
    }

    fn load(
        &self,
        workload: &dyn Workload,
        note: &dyn Fn(&Loaded) -> String,
        progress: &mut Progress<'_>,
    ) -> Result<Loaded, DatabaseError> {
        let begin = Instant::now();
        let mut session = self.session(&[])?;
        match self.mark(&mut session)? {
            None => {}
            Some(mark) if mark == LOADING => {
                self.remove()?;
            }
            Some(_) => {
                return Err(super::refuse(
                    "schema",
                    SCHEMA.into(),
                    "it holds rows already: --remove takes them away".into(),
                ));
            }
        }
        if progress(0) == ControlFlow::Break(()) {
            return Err(DatabaseError::Stopped);
        }
        // With its mark at once: what is not marked cannot be removed again.
        session.simple("BEGIN")?;
        session.simple(&format!("CREATE SCHEMA {SCHEMA}"))?;
        let mark = |session: &mut Session, mark: &str| {
            session.simple(&format!("COMMENT ON SCHEMA {SCHEMA} IS {}", quoted(mark)))
        };
        mark(&mut session, LOADING)?;
        session.simple("COMMIT")?;
        let rows = fill(workload, progress, |table, feed| {
            load::fill_table(self.session(&[])?, table, feed)
        })?;
        for table in workload.tables() {
            session.simple(&format!("VACUUM ANALYZE {SCHEMA}.{}", table.name))?;
        }
        let sizes = session.texts(&format!(
            "SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint FROM pg_class c \
             JOIN pg_namespace n ON n.oid = c.relnamespace \
             WHERE n.nspname = '{SCHEMA}' AND c.relkind = 'r'"
        ))?;
        let size = sizes.into_iter().flatten().flatten().next();
        let loaded = Loaded {
            rows,
            size: ByteCount::new(size.and_then(|size| size.parse().ok()).unwrap_or(0)),
            elapsed: begin.elapsed(),
        };
        mark(&mut session, &format!("{MARK}{}", note(&loaded)))?;
        Ok(loaded)
    }

    fn remove(&self) -> Result<bool, DatabaseError> {
        let mut session = self.session(&[("client_min_messages", "error".into())])?;
        let is_there = self.mark(&mut session)?.is_some();
        if is_there {
            session.simple(&format!("DROP SCHEMA {SCHEMA} CASCADE"))?;
        }
        Ok(is_there)
    }

    fn start(
        &self,
        isolation: Option<Isolation>,
        workload: &dyn Workload,
    ) -> Result<Box<dyn Running>, DatabaseError> {
        let major = major_of(&self.about.version).unwrap_or(0);
        let mut monitor = Monitor::new(
            self.session(&[])?,
            Statistics::of(major, self.page_size),
        );
        monitor.read();
        let mut conditions = vec![("server", self.url.to_string())];
        conditions.extend(self.about.conditions());
        for name in ["shared_buffers", "max_wal_size"] {
            let value = self.session(&[])?.texts(&format!("SHOW {name}"))?;
            conditions.extend(value.into_iter().flatten().flatten().map(|value| (name, value)));
        }
        let (options, isolation) = session_options(isolation);
        conditions.push(("isolation", isolation));
        let mut options: Vec<(&'static str, String)> = options;
        options.push(("search_path", SCHEMA.into()));
        Ok(Box::new(Visited {
            url: self.url.clone(),
            options,
            statements: workload.statements(),
            monitor: Mutex::new(monitor),
            conditions,
        }))
    }

    fn inspect(&self, workload: &dyn Workload) -> Result<Box<dyn Inspection>, DatabaseError> {
        let session = self.session(&[("default_transaction_read_only", "on".into())])?;
        Ok(Box::new(PostgresInspection::through(session, workload)?))
    }
}

/// The user's server while it is driven.
struct Visited {
    url: Url,
    options: Vec<(&'static str, String)>,
    statements: &'static [Statement],
    monitor: Mutex<Monitor>,
    conditions: Vec<(&'static str, String)>,
}

impl Running for Visited {
    fn connect(&self, _client: u32) -> Result<Box<dyn Connection + Send>, DatabaseError> {
        let mut session = open(&self.url, &self.options)?;
        session.prepare_all(self.statements)?;
        Ok(Box::new(session))
    }

    fn counters(&self) -> Counters {
        let mut monitor = self.monitor.lock().unwrap_or_else(PoisonError::into_inner);
        monitor.read()
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
