//! Drives a started database with a workload's transactions: first a warm-up,
//! then what is measured. One thread a connection.
//!
//! Three ways to load ([`Load`]):
//!
//! - a closed loop, in which a transaction begins when the last one of its
//!   terminal has ended; latency counts from its submission;
//! - an open loop, in which transactions arrive by the clock whatever the
//!   database does; latency counts from the scheduled arrival;
//! - paced, in which operators take the specification's times to key in and
//!   to think; latency counts from the moment at which the operator submits,
//!   whether or not a connection was free.
//!
//! How a transaction that fails is treated: after a conflict (deadlock,
//! serialisation failure, lock timeout) it is run again at once with the same
//! inputs, up to [`DriveSettings::retries`] times, and its latency covers all
//! tries; then it counts as given up. A statement's timeout and a lost
//! connection are not repeated, the first because the next try would take as
//! long, the second because nobody knows whether it was committed. A lost
//! connection is replaced. All of these are counted apart and the run goes
//! on; any other error ends it.
//!
//! The figures are of the time in which the run was steady: what MSER-5 cuts
//! off the beginning of the measured part is left out of all of them
//! (docs/steady-state.md).

mod arrivals;
mod measured;
mod meeting;
mod metered;
mod pool;
mod recorder;
mod sampler;
#[cfg(test)]
mod tests;
mod wait;
mod worker;

use std::{
    io,
    sync::{
        Mutex, OnceLock,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use octavo_database::{Counters, DatabaseError, Running};
use octavo_units::{ByteCount, PageSize, Rate, Seed};
use octavo_workload::{Audit, ConnectionError, Workload};
use serde::{Deserialize, Serialize};

use crate::{plan::RunLength, stability::Stability, steady::Steadiness};
use arrivals::Arrivals;
use meeting::Meeting;
use metered::Metered;
use pool::Pool;
use recorder::{Recorder, lock};
use sampler::{Line, Sampler};
use worker::{Session, Source, Worker};

pub use arrivals::ArrivalProcess;
pub(crate) use recorder::new_histogram;
pub use recorder::{Counts, KindCounts};

/// How transactions come to the connections.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "loop")]
pub enum Load {
    /// Each terminal submits as soon as it has its answer. With as many
    /// terminals as connections each has one of its own; more of them wait
    /// for a free one, first come, first served.
    Closed {
        /// Terminals; at least as many as connections.
        terminals: u32,
    },
    /// Transactions arrive by the clock.
    Open {
        /// Arrivals a second.
        rate: Rate,
        /// How they follow each other.
        arrivals: ArrivalProcess,
    },
    /// Each terminal's operator takes the times of the specification.
    Paced {
        /// Terminals.
        terminals: u32,
    },
}

/// One second of a run, warm-up included. A diagnostic, never a sample of the
/// statistics.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// Time since the clients began, at the end of the sample.
    pub at: Duration,
    /// Whether all of it was in the time of the figures. (While the run lasts:
    /// whether the measured part had begun. What is cut off its beginning is
    /// known at its end.)
    pub measured: bool,
    /// Length of the sample; the last one of a part may be short.
    pub length: Duration,
    /// Transactions ended (committed or rolled back).
    pub transactions: u64,
    /// Commits of the counted kind.
    pub counted: u64,
    /// Pages that had to be read.
    pub buffer_misses: u64,
    /// Bytes read by the database.
    pub read_bytes: ByteCount,
    /// Bytes written by the database.
    pub written_bytes: ByteCount,
}

/// A sample with all that was recorded in it, as it passes by.
#[derive(Clone, Copy, Debug)]
pub struct Second<'a> {
    /// What is kept of it.
    pub sample: &'a Sample,
    /// Endings and latencies.
    pub counts: &'a Counts,
    /// What was due and not begun at its end; `None` in a closed loop.
    pub backlog: Option<u64>,
}

/// What waited: arrivals of an open loop, or terminals whose operators have
/// submitted, for a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Backlog {
    /// Due and not begun when the measured part began.
    pub begin: u64,
    /// … and when it ended.
    pub end: u64,
    /// What became due in the measured part.
    pub offered: u64,
    /// More waiting than this, at the beginning or at the end, is no chance:
    /// the database cannot follow.
    pub bound: u64,
}

impl Backlog {
    /// Whether the database could not follow: too many waited, or in the
    /// measured part the line grew by a hundredth of what arrived (and by more
    /// than chance lets it).
    pub fn is_saturated(&self, connections: u32) -> bool {
        let chance = chance(connections);
        let added = self.end.saturating_sub(self.begin);
        self.begin.max(self.end) > self.bound || added > chance.max(self.offered / 100)
    }
}

/// So many may wait for `connections` connections now and then, when
/// transactions come together or one takes longer.
fn chance(connections: u32) -> u64 {
    10 * u64::from(connections)
}

/// What driving a database gave.
#[derive(Clone, Debug)]
pub struct Drive {
    /// Length of the warm-up.
    pub warm_up: Duration,
    /// Pages read in it.
    pub warm_up_misses: u64,
    /// Whether the warm-up read at least as many pages as the buffer has
    /// frames.
    pub buffer_filled: bool,
    /// Length of the measured part that the figures are of: without what
    /// [`Steadiness::cut_s`] leaves out.
    pub measured: Duration,
    /// Whether an interrupt ended it early.
    pub interrupted: bool,
    /// Endings and latencies of the measured part.
    pub counts: Counts,
    /// The database's counts in the measured part.
    pub counters: Counters,
    /// What waited; `None` in a closed loop.
    pub backlog: Option<Backlog>,
    /// The per-second series.
    pub samples: Vec<Sample>,
    /// What was run, warm-up included.
    pub audit: Audit,
    /// Whether the run was steady, and what the figures leave out.
    pub steadiness: Steadiness,
    /// How even the throughput was.
    pub stability: Stability,
}

impl Drive {
    /// Commits of the counted kinds, measured.
    pub fn counted(&self, workload: &dyn Workload) -> u64 {
        self.counts.counted(workload.transactions())
    }

    /// Transactions that ended as the workload wants, measured.
    pub fn transactions(&self) -> u64 {
        self.counts.transactions()
    }

    /// Bytes of the column values that committed transactions set or inserted
    /// in the measured part.
    pub fn changed_bytes(&self) -> ByteCount {
        ByteCount::new(self.counts.changed_bytes)
    }
}

/// Why driving ended without a result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DriveError {
    /// The database refused or died.
    #[error(transparent)]
    Database(#[from] DatabaseError),
    /// The system has no room for a session's thread.
    #[error("start a thread for each of {connections} clients: choose fewer --clients")]
    Thread {
        /// Sessions wanted.
        connections: u32,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// A client's transaction failed.
    #[error("{transaction} of client {client} failed")]
    Transaction {
        /// The transaction's name.
        transaction: &'static str,
        /// The client's number.
        client: u32,
        /// What the database said.
        #[source]
        source: ConnectionError,
    },
    /// A lost connection could not be replaced.
    #[error("client {client} lost its connection and could not connect again in {seconds} s")]
    Reconnect {
        /// The client's number.
        client: u32,
        /// How long it tried.
        seconds: u64,
        /// What the database said last.
        #[source]
        source: ConnectionError,
    },
    /// The caller asked to stop.
    #[error("stopped")]
    Stopped,
}

/// What becomes of a run by the clock that is still warming up at its planned
/// end ([`WarmUp::goes_on`](crate::steady::WarmUp::goes_on)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Extension {
    /// It ends and is labelled.
    #[default]
    Never,
    /// It goes on for the planned length, twice at most.
    WhileWarming,
}

/// What a run is driven with.
#[derive(Clone, Copy)]
pub struct DriveSettings<'a> {
    /// The workload.
    pub workload: &'a dyn Workload,
    /// Origin of the inputs.
    pub seed: Seed,
    /// Sessions of the database.
    pub connections: u32,
    /// How transactions come to them.
    pub load: Load,
    /// How often a transaction is run again after conflicts.
    pub retries: u32,
    /// How long. Numbers of transactions need a closed loop with as many
    /// terminals as connections.
    pub length: RunLength,
    /// Whether a run by the clock that is still warming up at its end is
    /// extended.
    pub extension: Extension,
    /// Whether an interrupt in the measured part ends that part and keeps what
    /// was measured, instead of giving up the run.
    pub keep_interrupted: bool,
    /// The page size, to know when the buffer is full.
    pub page_size: PageSize,
    /// What fills the buffer, likewise: its size, or that of the data where
    /// that is less.
    pub memory: ByteCount,
}

/// What the workers and the sampler share.
struct Shared {
    ending: AtomicBool,
    failure: Mutex<Option<DriveError>>,
    /// Of the second that is under way.
    counts: Mutex<Counts>,
    /// Arrivals begun.
    started: AtomicU64,
    start: OnceLock<Instant>,
}

impl Shared {
    /// Whether the workers have to end.
    fn is_ending(&self) -> bool {
        self.ending.load(Ordering::Acquire)
    }

    fn end(&self) {
        self.ending.store(true, Ordering::Release);
    }

    /// Keeps the first failure and ends the run.
    fn fail(&self, error: DriveError) {
        lock(&self.failure).get_or_insert(error);
        self.end();
    }

    /// When the workers were let go.
    fn start(&self) -> Instant {
        *self.start.get_or_init(Instant::now)
    }
}

/// Told when the measured part begins and ends, with nothing but the workers'
/// transactions between the two, and of each second.
pub trait DriveObserver {
    /// The measured part begins.
    fn begin(&mut self) {}
    /// A batch of the measured part has ended. The figures begin at one of
    /// these edges, or with the measured part, and end at the last of them.
    fn edge(&mut self) {}
    /// The measured part has ended: at the edge before, or some milliseconds
    /// later where the run had to be judged first.
    fn end(&mut self) {}
    /// After the end: the figures begin at this edge, counted from 1; with the
    /// measured part if it is 0.
    fn figures_from(&mut self, _edge: usize) {}
    /// A second, or the rest of a part, has passed.
    fn second(&mut self, _second: &Second<'_>) {}
}

/// An observer that wants to know nothing.
#[derive(Debug)]
pub struct Unobserved;

impl DriveObserver for Unobserved {}

/// How often a transaction is run again after conflicts when nobody says
/// otherwise.
pub const RETRIES: u32 = 20;

/// Runs the workload's transactions against `database`. `interrupted` is
/// looked at several times a second.
///
/// # Panics
/// When [`DriveSettings::length`] is in transactions and the load is not a
/// closed loop with as many terminals as connections.
pub fn drive(
    database: &dyn Running,
    settings: DriveSettings<'_>,
    observer: &mut dyn DriveObserver,
    interrupted: &(dyn Fn() -> bool + Sync),
) -> Result<Drive, DriveError> {
    let connections = settings.connections.max(1);
    let pooled = match settings.load {
        Load::Closed { terminals } => terminals > connections,
        Load::Open { .. } => false,
        Load::Paced { .. } => true,
    };
    assert!(
        matches!(settings.length, RunLength::Time { .. })
            || (matches!(settings.load, Load::Closed { .. }) && !pooled),
        "transactions are counted by connection"
    );
    // Sessions are opened before any thread starts, so that a refusal is an
    // ordinary error.
    let sessions = (0..connections)
        .map(|index| Ok((index, database.connect(index)?)))
        .collect::<Result<Vec<_>, DriveError>>()?;
    let arrivals = match settings.load {
        Load::Open { rate, arrivals } => Some(Arrivals::new(arrivals, rate, settings.seed)),
        _ => None,
    };
    let watch = match settings.load {
        Load::Open { rate, .. } => {
            wait::watch(Duration::from_secs_f64(f64::from(connections) / rate.get()))
        }
        _ => Duration::ZERO,
    };
    let shared_arrivals = arrivals.clone().map(Mutex::new);
    let clients = |count| settings.workload.clients(settings.seed, count);
    let (pool, mut own) = match settings.load {
        Load::Closed { terminals } | Load::Paced { terminals } if pooled => {
            let paced = matches!(settings.load, Load::Paced { .. });
            let kinds = settings.workload.transactions();
            let sources = if paced {
                settings.workload.operators(settings.seed, terminals.max(1))
            } else {
                clients(terminals)
            };
            let pool = Pool::new(sources, kinds, paced, settings.seed);
            (Some(pool), Vec::new())
        }
        _ => (None, clients(connections)),
    };
    own.reverse();
    let mut source = || match (&pool, own.pop(), &shared_arrivals) {
        (None, Some(client), Some(arrivals)) => Source::Arriving {
            client,
            arrivals,
            watch,
        },
        (None, Some(client), None) => Source::Own(client),
        (Some(pool), _, _) => Source::Pool(pool),
        (None, None, _) => unreachable!("a client was made for each connection"),
    };
    let shared = Shared {
        ending: AtomicBool::new(false),
        failure: Mutex::new(None),
        counts: Mutex::new(Counts::new(settings.workload.transactions())),
        started: AtomicU64::new(0),
        start: OnceLock::new(),
    };
    let recorders: Vec<Recorder> = (0..connections).map(|_| Recorder::new()).collect();
    let meeting = Meeting::default();
    let timeline = thread::scope(|scope| {
        let mut threads = Vec::with_capacity(connections as usize);
        for ((index, connection), recorder) in sessions.into_iter().zip(&recorders) {
            let session = Session {
                index,
                connection: Metered::new(connection, settings.workload.statements()),
                database,
                settings,
                shared: &shared,
                recorder,
            };
            let worker = Worker::new(source(), session);
            let member = meeting.join();
            let thread = thread::Builder::new().spawn_scoped(scope, move || worker.work(&member));
            match thread {
                Ok(thread) => threads.push(thread),
                Err(source) => {
                    shared.fail(DriveError::Thread {
                        connections,
                        source,
                    });
                    break;
                }
            }
        }
        // All begin together, or none does.
        meeting.gather();
        shared.start();
        meeting.release();
        let line = match (arrivals, &pool, settings.load) {
            (Some(arrivals), _, _) => Line::Arrivals(arrivals),
            (None, Some(pool), Load::Paced { terminals }) => Line::Pool(pool, terminals),
            _ => Line::None,
        };
        let sampler = Sampler::new(database, &shared, &recorders, settings, observer, line);
        let timeline = sampler.follow(&meeting, interrupted);
        let mut audit = Audit::default();
        for thread in threads {
            if let Some(own) = thread.join().expect("a client's thread does not panic") {
                audit.merge(&own);
            }
        }
        timeline.map(|timeline| (timeline, audit))
    });
    if let Some(error) = lock(&shared.failure).take() {
        return Err(error);
    }
    let (timeline, mut audit) = timeline?;
    if let Some(pool) = &pool {
        audit.merge(&pool.audit());
    }
    Ok(Drive {
        warm_up: timeline.warm_up,
        warm_up_misses: timeline.warm_up_misses,
        buffer_filled: timeline.buffer_filled,
        measured: timeline.measured,
        interrupted: timeline.interrupted,
        counts: timeline.counts,
        counters: timeline.counters,
        backlog: timeline.backlog,
        samples: timeline.samples,
        audit,
        steadiness: timeline.steadiness,
        stability: timeline.stability,
    })
}
