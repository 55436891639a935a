//! A database in a process of its own, as an experiment sees it.

use std::{
    ffi::OsStr,
    io::{BufRead, BufReader},
    path::Path,
    process::{ChildStdin, ChildStdout},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        mpsc::{self, Receiver, RecvTimeoutError},
    },
    thread,
    time::{Duration, Instant},
};

use octavo_database::{Counters, DatabaseError, HostProcess, Running, StoragePath, TreeCounters};
use octavo_driver::{Counts, DriverError, LoadSlice};
use octavo_units::Seed;
use octavo_workload::{Audit, Connection, ConnectionError, TransactionKind};

use super::{
    COMMAND,
    message::{Answer, Job, Request, send},
};
use crate::{plan::Cell, resolved::ResolvedPlan};

/// How long the transactions that run may take to end, once no further one is to begin.
const HALTING_MAX: Duration = Duration::from_secs(30);

/// How often the interrupt is looked at while an answer is waited for.
const LOOK: Duration = Duration::from_millis(20);

/// The way to the process.
struct Link {
    process: HostProcess,
    line: Mutex<Line>,
}

struct Line {
    requests: ChildStdin,
    answers: Receiver<Answer>,
    /// What it counted last.
    counted: Option<Counters>,
    state: State,
}

/// What the process does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Still,
    /// Since it was let go nobody has asked what it has counted.
    LetGo,
    AtWork,
    /// It was told to halt and said nothing: somebody holds it. It is asked nothing more.
    Mute,
}

/// How long a process may take to start its database, and to close that and its sessions.
const CLOSING_MAX: Duration = Duration::from_secs(600);

/// How long it may take to say what it has counted.
const COUNTING_MAX: Duration = Duration::from_secs(60);

/// A database in a process of its own.
pub(crate) struct Apart {
    pub(crate) running: ApartDatabase,
    pub(crate) load: ApartLoad,
    /// How it is run, as the process tells it.
    pub(crate) conditions: Vec<(String, String)>,
}

/// The database itself.
pub(crate) struct ApartDatabase {
    link: Arc<Link>,
    storage_path: StoragePath,
}

/// The sessions that drive it, which are in the same process.
pub(crate) struct ApartLoad {
    link: Arc<Link>,
    kinds: &'static [TransactionKind],
    /// Since they were taken.
    counts: Counts,
}

/// Starts a cell, `number` of the plan, on its copy, with `program`, which is Octavo.
///
/// # Errors
/// When the process cannot be started, or the database refuses.
pub(crate) fn start(
    program: &Path,
    resolved: &ResolvedPlan<'_>,
    (number, cell): (usize, &Cell),
    seed: Seed,
    interrupted: &dyn Fn() -> bool,
) -> Result<Apart, DatabaseError> {
    let copy = resolved.copy(number, cell);
    let (process, mut requests, output) = HostProcess::start(program, OsStr::new(COMMAND), &copy)?;
    let job = Job {
        plan: resolved.plan().clone(),
        directory: resolved.own_directory().to_owned(),
        cell: number,
        seed,
    };
    send(&mut requests, &job).map_err(|error| lost(&error.to_string()))?;
    let link = Arc::new(Link {
        process,
        line: Mutex::new(Line {
            requests,
            answers: answers(output),
            counted: None,
            state: State::AtWork,
        }),
    });
    // What does not start in time, or is no longer wanted, is killed when it is dropped.
    let begun = Instant::now();
    let started = link
        .line()
        .answer(&|| interrupted() || begun.elapsed() >= CLOSING_MAX);
    let (conditions, storage_path) = match started.map_err(|error| link.explained(error))? {
        Answer::Started(conditions, storage_path) => (conditions, storage_path),
        other => return Err(odd(&other)),
    };
    let kinds = resolved.workload(cell.data).transactions();
    Ok(Apart {
        running: ApartDatabase {
            link: Arc::clone(&link),
            storage_path,
        },
        load: ApartLoad {
            link,
            kinds,
            counts: Counts::new(kinds),
        },
        conditions,
    })
}

/// What the process says, until it ends.
fn answers(output: ChildStdout) -> Receiver<Answer> {
    let (sender, answers) = mpsc::channel();
    thread::spawn(move || {
        for line in BufReader::new(output).lines() {
            let answer = line.ok().and_then(|line| serde_json::from_str(&line).ok());
            let Some(answer) = answer else {
                break;
            };
            if sender.send(answer).is_err() {
                break;
            }
        }
    });
    answers
}

impl Link {
    fn line(&self) -> MutexGuard<'_, Line> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An error with the process's last words, if it has ended of that.
    fn explained(&self, error: DatabaseError) -> DatabaseError {
        match error {
            DatabaseError::Connection(ConnectionError::Lost(why)) => {
                // Whatever it said last, it says no more.
                self.process.kill();
                match self.process.death() {
                    Some(words) => lost(&words),
                    None => ConnectionError::Lost(why).into(),
                }
            }
            error => error,
        }
    }
}

impl Line {
    /// One that says nothing stays so.
    fn turn(&mut self, state: State) {
        if self.state != State::Mute {
            self.state = state;
        }
    }

    /// Asks what is answered soon.
    fn ask(&mut self, request: Request) -> Result<Answer, DatabaseError> {
        let begun = Instant::now();
        self.ask_until(request, &|| begun.elapsed() >= CLOSING_MAX)
    }

    /// Asks what it has counted, which it knows.
    fn ask_counts(&mut self, request: Request) -> Result<Answer, DatabaseError> {
        let begun = Instant::now();
        self.ask_until(request, &|| begun.elapsed() >= COUNTING_MAX)
    }

    /// Asks, and waits for the answer. Tells the process to halt once `interrupted`, and waits on.
    fn ask_until(
        &mut self,
        request: Request,
        interrupted: &dyn Fn() -> bool,
    ) -> Result<Answer, DatabaseError> {
        if matches!(self.state, State::Still | State::Mute) {
            return Err(lost("its process stands still"));
        }
        send(&mut self.requests, &request).map_err(|error| lost(&error.to_string()))?;
        self.answer(interrupted)
    }

    /// Waits for an answer: once `interrupted` tells the process to halt, and then no longer than a
    /// transaction may take.
    fn answer(&mut self, interrupted: &dyn Fn() -> bool) -> Result<Answer, DatabaseError> {
        let mut halted: Option<Instant> = None;
        loop {
            match self.answers.recv_timeout(LOOK) {
                Ok(Answer::Refused(refusal)) => return Err(refusal.error()),
                Ok(answer) => return Ok(answer),
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(lost("its process has ended"));
                }
                Err(RecvTimeoutError::Timeout) => match halted {
                    Some(since) if since.elapsed() >= HALTING_MAX => {
                        self.state = State::Mute;
                        return Err(DatabaseError::Stopped);
                    }
                    Some(_) => {}
                    None if interrupted() => {
                        halted = Some(Instant::now());
                        send(&mut self.requests, &Request::Halt)
                            .map_err(|error| lost(&error.to_string()))?;
                    }
                    None => {}
                },
            }
        }
    }
}

fn lost(why: &str) -> DatabaseError {
    ConnectionError::Lost(why.into()).into()
}

/// An answer to something else: a bug of ours.
fn odd(answer: &Answer) -> DatabaseError {
    ConnectionError::other(
        "talk to a database's process",
        format!("it said {answer:?}"),
    )
    .into()
}

impl Running for ApartDatabase {
    /// Its sessions are in its process.
    fn connect(&self, _client: u32) -> Result<Box<dyn Connection + Send>, DatabaseError> {
        let why = "it is driven in its own process";
        Err(ConnectionError::other("connect", why).into())
    }

    fn counters(&self) -> Counters {
        let mut line = self.link.line();
        // Its threads work until it stands still, and from when it is let go: what they did since it
        // was asked last is of the slice that begins.
        let is_known = line.counted.is_some() && line.state != State::AtWork;
        if line.state == State::LetGo {
            line.state = State::AtWork;
        }
        if !is_known && let Ok(Answer::Counters(counters)) = line.ask_counts(Request::Counters) {
            line.counted = Some(counters);
        }
        line.counted.unwrap_or_default()
    }

    fn tree_counters(&self) -> Vec<TreeCounters> {
        match self.link.line().ask_counts(Request::TreeCounters) {
            Ok(Answer::TreeCounters(counters)) => counters,
            _ => Vec::new(),
        }
    }

    /// They are told when it is started.
    fn conditions(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    fn storage_path(&self) -> StoragePath {
        self.storage_path
    }

    fn death(&self) -> Option<String> {
        self.link.process.death()
    }

    fn freeze(&self) -> Result<(), DatabaseError> {
        let mut line = self.link.line();
        self.link.process.freeze()?;
        line.turn(State::Still);
        Ok(())
    }

    fn thaw(&self) -> Result<(), DatabaseError> {
        let mut line = self.link.line();
        self.link.process.thaw()?;
        line.turn(State::LetGo);
        Ok(())
    }

    fn stop(self: Box<Self>) -> Result<(), DatabaseError> {
        let stopped = self.link.line().ask(Request::Stop);
        if stopped.is_err() {
            // It may be asked nothing more.
            self.link.process.kill();
        }
        match stopped.map_err(|error| self.link.explained(error))? {
            Answer::Stopped => self.link.process.ended(),
            other => Err(odd(&other)),
        }
    }
}

impl ApartLoad {
    /// As [`octavo_driver::SlicedLoad::slice`].
    pub(crate) fn slice(
        &mut self,
        transactions: u64,
        interrupted: &dyn Fn() -> bool,
    ) -> Result<LoadSlice, DriverError> {
        let answer = {
            let mut line = self.link.line();
            line.ask_until(Request::Slice(transactions), interrupted)
        };
        if matches!(answer, Err(DatabaseError::Stopped)) {
            // Its copy is thrown away, and it may not hear of anything else.
            self.link.process.kill();
        }
        match answer? {
            Answer::Slice(done) => {
                let slice = done.slice();
                let counts = done.counts(self.kinds);
                let odd = |error| ConnectionError::other("count a slice", error);
                self.counts
                    .add(&counts.map_err(odd).map_err(DatabaseError::from)?);
                Ok(slice)
            }
            other => Err(odd(&other).into()),
        }
    }

    /// As [`octavo_driver::SlicedLoad::take_counts`].
    pub(crate) fn take_counts(&mut self) -> Counts {
        std::mem::replace(&mut self.counts, Counts::new(self.kinds))
    }

    /// As [`octavo_driver::SlicedLoad::close`]. Nothing is known of a process that has ended.
    pub(crate) fn close(self) -> Audit {
        match self.link.line().ask(Request::Close) {
            Ok(Answer::Closed(audit)) => audit,
            _ => Audit::default(),
        }
    }
}
