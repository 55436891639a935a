//! Recording which pages statements refer to, and what they log.
//!
//! A server says nothing of a page that it finds in its buffer. So one runs with a buffer of a few
//! pages, and the reads of the process that serves the session are seen as system calls. What such a
//! buffer keeps is referred to again so soon that any larger one keeps it too: a stream of pages
//! that one buffer lacked stands for the whole where larger buffers are asked (A. J. Smith, Two
//! methods for the efficient analysis of memory address trace data, IEEE TSE 3(1), 1977). Pages that
//! change, and how many bytes of the log that takes, are in the log.
//!
//! | file | what |
//! |---|---|
//! | relations | which page a part of a file is |
//! | log | the records of the log |
//! | seen | what was seen, put together |
//! | processor | what transactions take of a processor |
//! | settings | what servers are started with |
//! | answers | questions to a server |

mod answers;
mod log;
mod processor;
mod relations;
mod seen;
mod settings;

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::Instant,
};

use octavo_units::ByteCount;
use octavo_workload::{
    ConnectionError, PageTrace, Result as Answer, Workload,
    connection::{Access, Connection, RowVisitor, StatementId, Value},
    page_trace::TracedPage,
};

use super::{
    cluster::{self, Started},
    configured::Postgres,
    kind::KIND,
    programs::major_of,
    running::session_options,
    session::Session,
};
use crate::{
    DatabaseError, Isolation, PagesWanted, Progress, RecordPages, RecordedPages, Result,
    error::unless_stopped,
    files,
    server::file_calls::{self, FileAction, FileCall, Followed},
    turns::ClientTurns,
};
use answers::number;
use log::{LogReader, Wholes};
use relations::Relations;
use seen::{Event, Seen};
use settings::{BUFFER_PAGES, parameters};

/// Bytes of the log after which no further transaction is recorded. Chosen.
const LOG_MAX: ByteCount = ByteCount::mib(4096);

/// What a server needs to have its processes follow nobody's orders but Octavo's.
const NOT_FOLLOWED: &str = "the kernel does not let Octavo follow its server's system calls \
    (ptrace): run it as the user that servers run as, or as root with CAP_SYS_PTRACE, on Linux 5.3 \
    or later";

impl RecordPages for Postgres {
    fn watch(&self) -> Result<()> {
        file_calls::ready();
        Ok(())
    }

    fn record(
        &self,
        run: &Path,
        wanted: &PagesWanted<'_>,
        progress: &mut Progress<'_>,
    ) -> Result<RecordedPages> {
        let found = cluster::page_size_of(run)?;
        if found != wanted.page_size {
            let reason = format!("the copy has pages of {found}");
            return Err(KIND.refuse("page size", wanted.page_size, reason));
        }
        let mut turns = ClientTurns::new(wanted);
        let recorded = record(self, run, &mut turns, wanted, progress)?;
        let audit = turns.audit();
        let trace = recorded.put_together(wanted)?;
        let server = self.cluster(run, found)?;
        let server = server.start(&processor::parameters(wanted, &trace), None)?;
        let mut session = open(&server, wanted)?;
        let processor = processor::time(&mut session, &mut turns, progress, wanted)?;
        drop(session);
        server.stop()?;
        Ok(RecordedPages {
            trace,
            processor,
            audit,
        })
    }
}

/// A session of the user's statements, as measured ones are.
fn open(server: &Started, wanted: &PagesWanted<'_>) -> Result<Session> {
    let (mut options, _) = session_options(wanted.isolation);
    let workload: &dyn Workload = wanted.workload;
    let mut statements = workload.statements().iter();
    if statements.any(|statement| statement.is_planned_by_values) {
        options.push(("plan_cache_mode", "force_custom_plan".into()));
    }
    let session = server.connect(&options)?;
    let mut session = session.at_level(wanted.isolation.unwrap_or(Isolation::ReadCommitted));
    session.prepare_all(workload.statements())?;
    Ok(session)
}

/// What is recorded of a server, and what is needed to read it.
struct Recorded {
    cluster: PathBuf,
    /// Pages before the first transaction.
    loaded: u32,
    watched: Watched,
    seen: Seen,
}

/// What is seen of a process.
struct Watched {
    relations: Relations,
    events: Vec<Event>,
}

fn record(
    postgres: &Postgres,
    run: &Path,
    turns: &mut ClientTurns,
    wanted: &PagesWanted<'_>,
    progress: &mut Progress<'_>,
) -> Result<Recorded> {
    let cluster = postgres.cluster(run, wanted.page_size)?;
    let mut parameters = parameters(wanted, BUFFER_PAGES.into());
    // The process reads for itself.
    if major_of(&postgres.programs.version()?).is_some_and(|major| major >= 18) {
        parameters.push(("io_method", "sync".into()));
    }
    let server = cluster.start(&parameters, None)?;
    let path = server.path();
    let path = fs::canonicalize(&path).map_err(files::named("find", &path))?;
    let mut marks = server.connect(&[])?;
    let database = number(
        &mut marks,
        "SELECT oid FROM pg_database WHERE datname = current_database()",
    )?;
    marks.simple("CHECKPOINT")?;
    let relations = Relations::find(&path, database, wanted.page_size)?;
    let loaded = relations.count();
    if relations.is_full() || loaded > TracedPage::COUNT_MAX / 2 {
        let reason = "its pages are more than can be recorded: name larger ones";
        return Err(KIND.refuse("page size", wanted.page_size, reason));
    }
    let mut session = open(&server, wanted)?;
    let pid: i32 = number(&mut session, "SELECT pg_backend_pid()")?;
    let watched = Arc::new(Mutex::new(Watched {
        relations,
        events: Vec::new(),
    }));
    let begin = end_of_log(&mut marks)?;
    let followed = follow(pid, &path, &watched)?;
    let mut connection = Watching {
        session,
        marks,
        watched: Arc::clone(&watched),
        seen: Seen::default(),
        is_open: false,
    };
    let began = Instant::now();
    for done in 0..wanted.transactions {
        unless_stopped(progress(done))?;
        let (kind, outcome) = turns.next(&mut connection)?;
        connection.seen.end_transaction(kind, outcome);
        let (events, log) = connection.seen.last();
        let is_full = events >= wanted.references_max || log - begin >= LOG_MAX.get();
        if is_full || began.elapsed() >= wanted.time_max {
            break;
        }
    }
    let Watching {
        session,
        mut marks,
        mut seen,
        watched: shared,
        ..
    } = connection;
    drop(shared);
    // Its process ends.
    drop(session);
    followed.wait();
    // All of the log is in its files then.
    marks.simple("SELECT pg_switch_wal()")?;
    let watched = Arc::try_unwrap(watched).map_err(|_| DatabaseError::Unrecorded {
        reason: "the server's process does not end",
    })?;
    let watched = watched.into_inner().unwrap_or_else(PoisonError::into_inner);
    let log = LogReader::new(&path, postgres.wal_block_size, begin);
    seen.read(log)
        .map_err(files::named("read the log of", &path))?;
    drop(marks);
    server.stop()?;
    Ok(Recorded {
        cluster: path,
        loaded,
        watched,
        seen,
    })
}

impl Recorded {
    /// All that was seen as a trace.
    fn put_together(mut self, wanted: &PagesWanted<'_>) -> Result<PageTrace> {
        let mut wholes = Wholes::default();
        let mut whole = |page: &log::LoggedBlock| wholes.of(&self.cluster, page, wanted.page_size);
        let trace = PageTrace::new(wanted.page_size, self.loaded);
        let trace = self.seen.into_trace(
            trace,
            &self.watched.events,
            &mut self.watched.relations,
            &mut whole,
        );
        if self.watched.relations.is_full() {
            let reason = "its pages are more than can be recorded: name larger ones";
            return Err(KIND.refuse("page size", wanted.page_size, reason));
        }
        Ok(trace)
    }
}

/// Notes what a process does to the files of pages of a cluster from now on.
fn follow(pid: i32, cluster: &Path, watched: &Arc<Mutex<Watched>>) -> Result<Followed> {
    let (cluster, watched) = (cluster.to_owned(), Arc::clone(watched));
    let note = move |call: &FileCall| {
        let Ok(path) = fs::read_link(format!("/proc/{pid}/fd/{}", call.file)) else {
            return;
        };
        let Ok(file) = path.strip_prefix(&cluster) else {
            return;
        };
        let mut watched = watched.lock().unwrap_or_else(PoisonError::into_inner);
        let Watched { relations, events } = &mut *watched;
        for (page, is_new) in relations.at(file, call.offset, call.bytes) {
            events.push(match (call.action, is_new) {
                (FileAction::Read, _) => Event::read(page),
                (FileAction::Write | FileAction::Allocate, true) => Event::made(page),
                (FileAction::Write, false) => Event::written(page),
                (FileAction::Allocate, false) => continue,
            });
        }
    };
    Followed::begin(pid, Box::new(note)).map_err(|_| DatabaseError::Unrecorded {
        reason: NOT_FOLLOWED,
    })
}

/// Where the next record of the log will begin.
fn end_of_log(session: &mut Session) -> Answer<u64> {
    let sql = "SELECT pg_current_wal_insert_lsn()";
    let answer = session.one(sql)?;
    let position = answer.as_deref().and_then(log::position);
    position.ok_or_else(|| ConnectionError::other(sql, "the answer is no position"))
}

/// A session whose pages are watched.
struct Watching {
    session: Session,
    /// Asks where the log ends.
    marks: Session,
    watched: Arc<Mutex<Watched>>,
    seen: Seen,
    /// Whether a transaction is open.
    is_open: bool,
}

impl Watching {
    /// A transaction of the database has ended.
    fn end(&mut self) -> Answer<()> {
        let log = end_of_log(&mut self.marks)?;
        let watched = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
        self.seen.end_part(watched.events.len(), log);
        Ok(())
    }

    /// Runs a statement, which outside of a transaction is one of its own.
    fn with_session<R>(&mut self, work: impl FnOnce(&mut Session) -> Answer<R>) -> Answer<R> {
        let result = work(&mut self.session);
        if !self.is_open {
            self.end()?;
        }
        result
    }
}

impl Connection for Watching {
    fn begin(&mut self, access: Access) -> Answer<()> {
        self.session.begin(access)?;
        self.is_open = true;
        Ok(())
    }

    fn commit(&mut self) -> Answer<()> {
        self.session.commit()?;
        self.is_open = false;
        self.end()
    }

    fn rollback(&mut self) -> Answer<()> {
        self.session.rollback()?;
        match std::mem::take(&mut self.is_open) {
            true => self.end(),
            false => Ok(()),
        }
    }

    fn execute(&mut self, statement: StatementId, parameters: &[Value<'_>]) -> Answer<u64> {
        self.with_session(|session| session.execute(statement, parameters))
    }

    fn query(
        &mut self,
        statement: StatementId,
        parameters: &[Value<'_>],
        visit: &mut RowVisitor<'_>,
    ) -> Answer<u64> {
        self.with_session(|session| session.query(statement, parameters, visit))
    }
}
