//! Drives a started database with a workload's clients: closed loop, one
//! thread a session, first a warm-up and then what is measured.
//!
//! Latency is counted in microseconds from submission (closed loop). A
//! deferred transaction is run at once, so that its submission is its
//! queueing.

mod client;
mod sampler;
#[cfg(test)]
mod tests;

use std::{
    io,
    sync::{
        Barrier, Condvar, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU8, AtomicU64},
    },
    thread,
    time::Duration,
};

use hdrhistogram::Histogram;
use octavo_database::{Counters, DatabaseError, Running};
use octavo_units::{ByteCount, PageSize, Seed};
use octavo_workload::{Audit, ConnectionError, Workload};
use serde::{Deserialize, Serialize};

use crate::plan::RunLength;
use client::{Tally, Worker};
use sampler::Sampler;

/// The longest latency that a histogram holds, 10 minutes; longer ones count
/// as this long.
const LATENCY_US_MAX: u64 = 600_000_000;

/// What one kind of transaction did while measured.
#[derive(Clone, Debug)]
pub struct KindResult {
    /// Its name.
    pub name: &'static str,
    /// Committed.
    pub committed: u64,
    /// Rolled back as the specification wants.
    pub rolled_back: u64,
    /// Tries that ended in a conflict and were repeated.
    pub retries: u64,
    /// Latencies in microseconds.
    pub latency_us: Histogram<u64>,
}

/// One second of a run, warm-up included. A diagnostic, never a sample of the
/// statistics.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// Time since the clients began, at the end of the sample.
    pub at: Duration,
    /// Whether the measured part had begun.
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
    /// Length of the measured part.
    pub measured: Duration,
    /// One entry a kind of transaction.
    pub kinds: Vec<KindResult>,
    /// The database's counts in the measured part.
    pub counters: Counters,
    /// Bytes of the column values that transactions set or inserted in the
    /// measured part.
    pub changed_bytes: ByteCount,
    /// The per-second series.
    pub samples: Vec<Sample>,
    /// What was generated, warm-up included.
    pub audit: Audit,
}

impl Drive {
    /// Commits of the counted kind, measured.
    pub fn counted(&self, workload: &dyn Workload) -> u64 {
        self.kinds
            .iter()
            .zip(workload.transactions())
            .filter(|(_, kind)| kind.counted)
            .map(|(result, _)| result.committed)
            .sum()
    }

    /// Transactions that ended, measured.
    pub fn transactions(&self) -> u64 {
        self.kinds.iter().map(|k| k.committed + k.rolled_back).sum()
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
    #[error("start a thread for each of {clients} clients: choose fewer --clients")]
    Thread {
        /// Sessions wanted.
        clients: u32,
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
    /// The caller asked to stop.
    #[error("stopped")]
    Stopped,
}

/// What a run is driven with.
#[derive(Clone, Copy)]
pub struct DriveSettings<'a> {
    /// The workload.
    pub workload: &'a dyn Workload,
    /// Origin of the inputs.
    pub seed: Seed,
    /// Sessions.
    pub clients: u32,
    /// How long.
    pub length: RunLength,
    /// The page size, to know when the buffer is full.
    pub page_size: PageSize,
    /// The buffer's size, likewise.
    pub memory: ByteCount,
}

const WARMING: u8 = 0;
const MEASURING: u8 = 1;
const ENDING: u8 = 2;

/// What the clients and the sampler share.
struct Shared {
    phase: AtomicU8,
    transactions: AtomicU64,
    counted: AtomicU64,
    failure: Mutex<Option<DriveError>>,
    start: Gate,
    /// Where clients that run by the number of transactions wait for each
    /// other and for the sampler at the end of a phase.
    turn: Barrier,
    failed: AtomicBool,
}

/// Holds threads back until all of them exist.
#[derive(Default)]
struct Gate {
    decided: Mutex<Option<bool>>,
    told: Condvar,
}

impl Gate {
    /// Lets all threads go, to work or to end.
    fn open(&self, work: bool) {
        *self.decided.lock().unwrap_or_else(PoisonError::into_inner) = Some(work);
        self.told.notify_all();
    }

    /// Waits; whether to work.
    fn wait(&self) -> bool {
        let mut decided = self.decided.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            match *decided {
                Some(work) => return work,
                None => {
                    decided = self
                        .told
                        .wait(decided)
                        .unwrap_or_else(PoisonError::into_inner);
                }
            }
        }
    }
}

/// Called when the measured part begins and when it has ended, with the
/// clients' work between the two: to read counters outside of the database.
pub trait Boundary {
    /// The measured part begins.
    fn begin(&mut self);
    /// The measured part has ended.
    fn end(&mut self);
}

/// Runs the workload's clients against `database`. `interrupted` is looked at
/// several times a second.
pub fn drive(
    database: &dyn Running,
    settings: DriveSettings<'_>,
    boundary: &mut dyn Boundary,
    interrupted: &(dyn Fn() -> bool + Sync),
) -> Result<Drive, DriveError> {
    let clients = settings.clients.max(1);
    // Sessions are opened before any thread starts, so that a refusal is an
    // ordinary error.
    let sessions = (0..clients)
        .zip(settings.workload.clients(settings.seed, clients))
        .map(|(index, client)| Ok((index, database.connect(index)?, client)))
        .collect::<Result<Vec<_>, DriveError>>()?;
    let shared = Shared {
        phase: AtomicU8::new(WARMING),
        transactions: AtomicU64::new(0),
        counted: AtomicU64::new(0),
        failure: Mutex::new(None),
        start: Gate::default(),
        turn: Barrier::new(clients as usize + 1),
        failed: AtomicBool::new(false),
    };
    thread::scope(|scope| {
        let mut threads = Vec::with_capacity(clients as usize);
        for (index, connection, client) in sessions {
            let worker = Worker::new(index, client, settings, &shared, interrupted);
            let shared = &shared;
            let thread = thread::Builder::new().spawn_scoped(scope, move || {
                // All begin together, or none does.
                shared.start.wait().then(|| worker.work(connection))
            });
            match thread {
                Ok(thread) => threads.push(thread),
                Err(source) => {
                    shared.start.open(false);
                    return Err(DriveError::Thread { clients, source });
                }
            }
        }
        shared.start.open(true);
        let timeline = Sampler::new(database, &shared).follow(settings, boundary, interrupted);
        let tallies: Vec<Tally> = threads
            .into_iter()
            .filter_map(|thread| thread.join().expect("a client's thread does not panic"))
            .collect();
        if let Some(error) = shared
            .failure
            .lock()
            .expect("no thread panics while holding the failure")
            .take()
        {
            return Err(error);
        }
        timeline.map(|timeline| timeline.with(settings.workload, tallies))
    })
}

pub(crate) fn new_histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, LATENCY_US_MAX, 3).expect("the bounds are sound constants")
}
