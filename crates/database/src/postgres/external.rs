//! A PostgreSQL server that the user runs. The mark of Octavo's schema is its
//! comment.

use std::{
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use octavo_units::{ByteCount, PageSize};
use octavo_workload::{ConnectionError, Workload, schema::Table};

use super::{
    cluster::{CONNECT_LIMIT, with_always},
    ddl,
    failure::ServerError,
    inspect, load,
    programs::major_of,
    refusal::NAME,
    running::{About, session_options},
    session::{Session, unanswered},
    statistics::Statistics,
};
use crate::{
    DatabaseError, Inspection, Isolation, LoadReport, Progress, Result, Running,
    ddl::{create_table, references},
    error::unless_stopped,
    external::{
        Counted, Driven, ExternalServer, LOADING, LOCK_WAIT, Lock, MARK, SCHEMA, Url, busy,
        entangled, foreign, is_own_table, note_of, occupied,
    },
    fill::fill,
};

/// The oldest version whose views and parameters are known here.
const MAJOR_MIN: u32 = 14;

/// The lock of the schema, of the database that it is in: "octavo" in ASCII.
const LOCK: i64 = 0x6f63_7461_766f;

/// The table that is made and taken back to see whether a load can make its
/// own.
const TRIAL_TABLE: &str = "octavo_trial";

/// Between two tries to take it.
const LOCK_PAUSE: Duration = Duration::from_millis(50);

/// What something else depends on is not dropped
/// (<https://www.postgresql.org/docs/current/errcodes-appendix.html>).
const DEPENDENT_OBJECTS: &str = "2BP01";

/// A server that the user runs, with Octavo's schema in one of its databases.
pub(crate) struct ExternalPostgres {
    url: Url,
    about: About,
    page_size: PageSize,
    /// Holds the lock for as long as it lives.
    lock: Arc<Lock<Session>>,
}

impl Drop for ExternalPostgres {
    fn drop(&mut self) {
        // Now, and not when the server notices that the connection is gone.
        self.lock.release(|session| {
            let _gone_with_it = session.simple(&format!("SELECT pg_advisory_unlock({LOCK})"));
        });
    }
}

impl ExternalPostgres {
    /// Connects and takes the lock.
    pub(crate) fn connect(url: &Url) -> Result<Self> {
        if shares_processes(url)? {
            return Err(DatabaseError::Missing {
                what: format!(
                    "{url} is a pooler that gives clients another connection of the server for \
                     each transaction"
                ),
                remedy: "let it pool by session (PgBouncer: pool_mode=session), or give the URL \
                         of the server itself"
                    .into(),
            });
        }
        let mut session = open(url, &[])?;
        let about = About::read(&mut session)?;
        if major_of(&about.version).is_none_or(|major| major < MAJOR_MIN) {
            return Err(DatabaseError::Missing {
                what: format!("{url} runs PostgreSQL {}", about.version),
                remedy: format!("version {MAJOR_MIN} is the oldest that is known here"),
            });
        }
        let page_size = about.page_size.ok_or_else(|| {
            ConnectionError::other(
                format!("ask {url} for its block size"),
                "it tells none that is known here",
            )
        })?;
        let since = Instant::now();
        while !take_lock(&mut session)? {
            if since.elapsed() >= LOCK_WAIT {
                return Err(busy(url));
            }
            thread::sleep(LOCK_PAUSE);
        }
        let of_url = url.clone();
        let take = move || {
            let mut session = open(&of_url, &[])?;
            Ok(take_lock(&mut session)?.then_some(session))
        };
        let is_there = |session: &mut Session| session.simple("SELECT 1").is_ok();
        Ok(Self {
            url: url.clone(),
            about,
            page_size,
            lock: Arc::new(Lock::held_by(session, take, is_there)),
        })
    }

    /// A session that sees Octavo's schema alone, and takes its time.
    fn session(&self, options: &[(&str, String)]) -> Result<Session> {
        session(&self.url, options)
    }

    /// The mark of the schema; `None` without a schema.
    fn mark(&self, session: &mut Session) -> Result<Option<String>> {
        let mark = session.one(&format!(
            "SELECT coalesce(obj_description(oid, 'pg_namespace'), '') FROM pg_namespace \
                 WHERE nspname = '{SCHEMA}'"
        ))?;
        match mark {
            Some(mark) if !mark.starts_with(MARK) => Err(foreign(NAME, &self.url)),
            mark => Ok(mark),
        }
    }

    /// Refuses a user who may not make the schema.
    fn check_right(&self, session: &mut Session) -> Result<()> {
        let answer = session.texts(
            "SELECT has_database_privilege(current_database(), 'CREATE'), \
             quote_ident(current_database()), quote_ident(current_user)",
        )?;
        let mut answer = answer.into_iter().flatten().flatten();
        if answer.next().as_deref() == Some("t") {
            return Ok(());
        }
        let (database, user) = (
            answer.next().unwrap_or_default(),
            answer.next().unwrap_or_default(),
        );
        Err(DatabaseError::Missing {
            what: format!("{user} may not create the schema {SCHEMA} in {}", self.url),
            remedy: format!("GRANT CREATE ON DATABASE {database} TO {user}"),
        })
    }

    /// Drops Octavo's tables and the schema, all or nothing. What Octavo did
    /// not make, in the schema or made from its tables, is in the way.
    fn drop_schema(&self, session: &mut Session) -> Result<()> {
        let tables = session.texts(&format!(
            "SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace \
             WHERE n.nspname = '{SCHEMA}' AND c.relkind = 'r'"
        ))?;
        let tables: Vec<String> = tables
            .into_iter()
            .flatten()
            .flatten()
            .filter(|name| is_own_table(name))
            .map(|name| format!("{SCHEMA}.{name}"))
            .collect();
        session.simple("BEGIN")?;
        let dropped = match tables.is_empty() {
            true => Ok(()),
            false => session.simple(&format!("DROP TABLE {}", tables.join(", "))),
        }
        .and_then(|()| session.simple(&format!("DROP SCHEMA {SCHEMA}")));
        match dropped {
            Ok(()) => Ok(session.simple("COMMIT")?),
            Err(error) => {
                // The first error is the one to tell.
                let _undone = session.simple("ROLLBACK");
                Err(match dependent(&error) {
                    Some(what) => entangled(NAME, &self.url, &what),
                    None => error.into(),
                })
            }
        }
    }

    /// Makes the marked schema's tables and rows.
    fn fill(
        &self,
        session: &mut Session,
        workload: &dyn Workload,
        progress: &mut Progress<'_>,
    ) -> Result<(u64, ByteCount)> {
        let rows = fill(workload, progress, |table, feed| {
            load::fill_table(self.session(&[])?, table, feed)
        })?;
        for sql in references(workload) {
            unless_stopped(progress(rows))?;
            session.simple(&sql)?;
        }
        for table in workload.tables() {
            unless_stopped(progress(rows))?;
            session.simple(&format!("VACUUM ANALYZE {SCHEMA}.{}", table.name))?;
        }
        let size = session.one(&format!(
            "SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint FROM pg_class c \
                 JOIN pg_namespace n ON n.oid = c.relnamespace \
                 WHERE n.nspname = '{SCHEMA}' AND c.relkind = 'r'"
        ))?;
        let size = size.and_then(|size| size.parse().ok()).unwrap_or(0);
        Ok((rows, ByteCount::new(size)))
    }
}

/// Whether sessions share the server's processes: a pooler then stands before
/// it, and what a session sets, locks and prepares would be others' too. Two
/// sessions take turns in asking. Nothing is set or prepared.
fn shares_processes(url: &Url) -> Result<bool> {
    let bare = || {
        Session::log_in(
            url.connect()?,
            &url.user,
            url.password.as_deref(),
            url.database.as_deref().unwrap_or(&url.user),
            &with_always(&[]),
            CONNECT_LIMIT,
        )
        .map_err(|error| url.refused(error))
    };
    let (mut first, mut second) = (bare()?, bare()?);
    let process = |session: &mut Session| {
        let process = session.one("SELECT pg_backend_pid()");
        process.map_err(|error| url.refused(unanswered(error)))
    };
    let (a, b) = (process(&mut first)?, process(&mut second)?);
    // In the other order, for a pooler that takes its connections in turn.
    Ok(a == b || process(&mut second)? != b || process(&mut first)? != a)
}

/// Connects and logs in. Errors name the URL, never the password.
fn open(url: &Url, options: &[(&str, String)]) -> Result<Session, ConnectionError> {
    let database = url.database.as_deref().unwrap_or(&url.user);
    Session::open(
        url.connect()?,
        &url.user,
        url.password.as_deref(),
        database,
        &with_always(options),
        CONNECT_LIMIT,
    )
    .map_err(|error| url.refused(error))
}

/// Takes the lock, if nobody has it.
fn take_lock(session: &mut Session) -> Result<bool, ConnectionError> {
    // It says nothing while others work.
    session.simple("SET idle_session_timeout = 0")?;
    let taken = session.one(&format!("SELECT pg_try_advisory_lock({LOCK})"))?;
    Ok(taken.as_deref() == Some("t"))
}

/// A session of Octavo's schema alone, that takes its time.
fn session(url: &Url, options: &[(&str, String)]) -> Result<Session> {
    let mut all = vec![
        ("search_path", SCHEMA.to_owned()),
        ("statement_timeout", "0".into()),
        ("lock_timeout", "0".into()),
        ("idle_in_transaction_session_timeout", "0".into()),
        ("idle_session_timeout", "0".into()),
        ("standard_conforming_strings", "on".into()),
        ("client_min_messages", "error".into()),
    ];
    all.extend_from_slice(options);
    Ok(open(url, &all)?)
}

/// A text as a literal of SQL, with `standard_conforming_strings`.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

fn set_mark(session: &mut Session, mark: &str) -> Result<(), ConnectionError> {
    session.simple(&format!("COMMENT ON SCHEMA {SCHEMA} IS {}", quoted(mark)))
}

/// What depends on what was to be dropped, when that is why it was not.
fn dependent(error: &ConnectionError) -> Option<String> {
    let ConnectionError::Other { source, .. } = error else {
        return None;
    };
    let error = source.downcast_ref::<ServerError>()?;
    // The detail is such as "view v depends on table t", a line each.
    let words = error.detail.lines().next().unwrap_or_default();
    (error.code == DEPENDENT_OBJECTS).then(|| {
        let what = words.split(" depends on ").next().unwrap_or_default();
        what.to_owned()
    })
}

impl ExternalServer for ExternalPostgres {
    fn name(&self) -> &'static str {
        NAME
    }

    fn version(&self) -> String {
        self.about.version.clone()
    }

    fn page_size(&self) -> PageSize {
        self.page_size
    }

    fn address(&self) -> String {
        self.url.to_string()
    }

    fn found(&self) -> Result<Option<String>> {
        let mark = self.mark(&mut self.session(&[])?)?;
        Ok(mark.and_then(|mark| note_of(&mark).map(str::to_owned)))
    }

    fn load(
        &self,
        workload: &dyn Workload,
        note: &dyn Fn(&LoadReport) -> String,
        progress: &mut Progress<'_>,
    ) -> Result<LoadReport> {
        let begin = Instant::now();
        let mut session = self.session(&[])?;
        match self.mark(&mut session)? {
            None => {}
            Some(mark) if mark == LOADING => self.drop_schema(&mut session)?,
            Some(_) => return Err(occupied(NAME, &self.url)),
        }
        self.check_right(&mut session)?;
        unless_stopped(progress(0))?;
        // With its mark at once: what is not marked is not removed again.
        session.simple("BEGIN")?;
        session.simple(&format!("CREATE SCHEMA {SCHEMA}"))?;
        set_mark(&mut session, LOADING)?;
        session.simple("COMMIT")?;
        let filled = self.fill(&mut session, workload, progress);
        if !matches!(filled, Ok(_) | Err(DatabaseError::Stopped)) {
            // It may have been for want of space. The first error is the one to
            // tell; what stays is marked.
            let _removed = self.drop_schema(&mut session);
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
        let mut session = self.session(&[])?;
        if self.mark(&mut session)?.is_none() {
            return Ok(());
        }
        self.check_right(&mut session)?;
        session.simple("BEGIN")?;
        let made = workload.tables().iter().try_for_each(|table| {
            let trial = Table {
                name: TRIAL_TABLE,
                ..table.clone()
            };
            session.simple(&create_table(&trial, ddl::type_of, false))?;
            session.simple(&format!("DROP TABLE {TRIAL_TABLE}"))
        });
        // Whatever became of it. The first error is the one to tell.
        let undone = session.simple("ROLLBACK");
        made?;
        Ok(undone?)
    }

    fn set_note(&self, note: &str) -> Result<()> {
        let mut session = self.session(&[])?;
        Ok(set_mark(&mut session, &format!("{MARK}{note}"))?)
    }

    fn remove(&self) -> Result<bool> {
        let mut session = self.session(&[])?;
        let is_there = self.mark(&mut session)?.is_some();
        if is_there {
            self.drop_schema(&mut session)?;
        }
        Ok(is_there)
    }

    fn start(
        &self,
        isolation: Option<Isolation>,
        workload: &dyn Workload,
    ) -> Result<Box<dyn Running>> {
        let major = major_of(&self.about.version).unwrap_or(MAJOR_MIN);
        let mut session = self.session(&[])?;
        let mut conditions = self.about.conditions();
        let buffers = session.one("SHOW shared_buffers")?;
        conditions.extend(buffers.map(|value| ("shared_buffers", value)));
        let level = isolation.unwrap_or(Isolation::ReadCommitted);
        let (mut options, isolation) = session_options(isolation);
        conditions.push(("isolation", isolation));
        options.push(("search_path", SCHEMA.into()));
        let (url, statements) = (self.url.clone(), workload.statements());
        let (of_monitor, page_size) = (self.url.clone(), self.page_size);
        let counted = Counted::by(move || {
            let session = self::session(&of_monitor, &[])?;
            Ok(Statistics::for_version(major, page_size).monitor(session, None, None))
        })?;
        let lock = Arc::clone(&self.lock);
        Ok(Box::new(Driven {
            connect: move || {
                let mut session = open(&url, &options)?.at_level(level);
                session.prepare_all(statements)?;
                Ok(Box::new(session) as Box<_>)
            },
            counted,
            keep_lock: Box::new(move || lock.keep()),
            conditions,
        }))
    }

    fn inspect(&self, workload: &dyn Workload) -> Result<Box<dyn Inspection>> {
        let session = self.session(&[("default_transaction_read_only", "on".into())])?;
        Ok(Box::new(inspect::through(session, workload)?))
    }
}

#[cfg(test)]
mod tests;
