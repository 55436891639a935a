//! A session whose pages are seen: the calls of who serves it are followed, and behind each
//! transaction of the database it is noted how far its log is.

use std::{
    fs,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
    time::Instant,
};

use octavo_units::ByteCount;
use octavo_workload::{
    Result as Answer,
    connection::{Access, Connection, RowVisitor, StatementId, Value},
};

use super::seen::{Event, PartSeen, Seen};
use crate::{
    DatabaseError, PagesWanted, Progress, Result,
    error::unless_stopped,
    server::file_calls::{FileCall, Followed},
    turns::ClientTurns,
};

/// Bytes of the log after which no further transaction is recorded: a record of 100 of them takes 40
/// of memory. Chosen.
const LOG_MAX: ByteCount = ByteCount::mib(1024);

/// What a server needs to have its processes follow nobody's orders but Octavo's.
const NOT_FOLLOWED: &str = "the kernel does not let Octavo follow its server's system calls \
    (ptrace): run it as the user that servers run as, or as root with CAP_SYS_PTRACE, on Linux 5.3 \
    or later";

/// The files of a database's pages.
pub(crate) trait PageFiles {
    /// Notes what a call does to pages, by the file's path below the database's directory.
    fn note(&mut self, file: &Path, call: &FileCall, events: &mut Vec<Event>);
}

/// What is seen of who serves the session.
pub(crate) struct Watched<F> {
    /// The files.
    pub(crate) files: F,
    /// What happened to their pages.
    pub(crate) events: Vec<Event>,
}

impl<F> Watched<F> {
    /// Nothing yet, to be shared with the thread that follows.
    pub(crate) fn new(files: F) -> Arc<Mutex<Self>> {
        Arc::new(Mutex::new(Self {
            files,
            events: Vec::new(),
        }))
    }

    /// What was seen, when nobody is followed any more.
    ///
    /// # Errors
    /// When somebody is.
    pub(crate) fn take(shared: Arc<Mutex<Self>>) -> Result<Self> {
        let watched = Arc::try_unwrap(shared).map_err(|_| DatabaseError::Unrecorded {
            reason: "what serves the session does not end",
        })?;
        Ok(watched.into_inner().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Notes from now on what a process or thread does to the files of pages below a directory.
///
/// # Errors
/// [`DatabaseError::Unrecorded`] when the kernel does not let it be followed.
pub(crate) fn follow<F: PageFiles + Send + 'static>(
    pid: i32,
    directory: &Path,
    watched: &Arc<Mutex<Watched<F>>>,
) -> Result<Followed> {
    let (directory, watched) = (directory.to_owned(), Arc::clone(watched));
    let note = move |call: &FileCall| {
        let Ok(path) = fs::read_link(format!("/proc/{pid}/fd/{}", call.file)) else {
            return;
        };
        let Ok(file) = path.strip_prefix(&directory) else {
            return;
        };
        let mut watched = watched.lock().unwrap_or_else(PoisonError::into_inner);
        let Watched { files, events } = &mut *watched;
        files.note(file, call, events);
    };
    Followed::begin(pid, Box::new(note)).map_err(|_| DatabaseError::Unrecorded {
        reason: NOT_FOLLOWED,
    })
}

/// Tells how far a database's log is.
pub(crate) trait Marks {
    /// The files of pages.
    type Files;

    /// A transaction of the database has ended.
    ///
    /// # Errors
    /// When the server does not answer, or its log cannot be read.
    fn end_part(&mut self, watched: &mut Watched<Self::Files>) -> Answer<PartSeen>;
}

/// See the module.
pub(crate) struct Watching<S, M: Marks> {
    session: S,
    /// Who tells where the log ends.
    pub(crate) marks: M,
    watched: Arc<Mutex<Watched<M::Files>>>,
    /// What was seen.
    pub(crate) seen: Seen,
    /// Whether a transaction is open.
    is_open: bool,
}

impl<S: Connection, M: Marks> Watching<S, M> {
    pub(crate) fn new(session: S, marks: M, watched: &Arc<Mutex<Watched<M::Files>>>) -> Self {
        Self {
            session,
            marks,
            watched: Arc::clone(watched),
            seen: Seen::default(),
            is_open: false,
        }
    }

    /// Executes transactions in turn, from this position of the log on, until all are recorded or
    /// they are as many as can be.
    ///
    /// # Errors
    /// [`DatabaseError::Stopped`] when `progress` stopped it, and when one fails.
    pub(crate) fn record(
        &mut self,
        turns: &mut ClientTurns,
        begin: u64,
        wanted: &PagesWanted<'_>,
        progress: &mut Progress<'_>,
    ) -> Result<()> {
        let began = Instant::now();
        for done in 0..wanted.transactions {
            unless_stopped(progress(done))?;
            let (kind, outcome) = turns.next(self)?;
            self.seen.end_transaction(kind, outcome);
            let (events, log) = self.seen.last();
            let is_full =
                events >= wanted.references_max || log.saturating_sub(begin) >= LOG_MAX.get();
            if is_full || wanted.is_late(done + 1, began.elapsed()) {
                break;
            }
        }
        Ok(())
    }

    /// Ends the session.
    pub(crate) fn close(self) -> (M, Seen) {
        (self.marks, self.seen)
    }

    /// A transaction of the database has ended.
    fn end(&mut self) -> Answer<()> {
        let mut watched = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
        let part = self.marks.end_part(&mut watched)?;
        self.seen.end_part(watched.events.len(), part);
        Ok(())
    }

    /// Runs a statement, which outside of a transaction is one of its own. Its error comes first: a
    /// server that ends for it, as on a full disk, does not tell where its log is.
    fn with_session<R>(&mut self, work: impl FnOnce(&mut S) -> Answer<R>) -> Answer<R> {
        let result = work(&mut self.session);
        let ended = if self.is_open { Ok(()) } else { self.end() };
        result.and_then(|answer| ended.map(|()| answer))
    }
}

impl<S: Connection, M: Marks> Connection for Watching<S, M> {
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
