//! What an experiment and a process that runs a database for it say to each other.

use std::{
    io::{self, Write},
    path::PathBuf,
    time::Duration,
};

use octavo_database::{Counters, DatabaseError, StoragePath, TreeCounters};
use octavo_driver::{Counts, DriverError, KindCounts, Latencies, LoadSlice, Outcomes};
use octavo_units::Seed;
use octavo_workload::{Audit, ConnectionError, TransactionKind};
use serde::{Deserialize, Serialize};

use crate::plan::Plan;

/// What is to be run: the first line that the process reads.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Job {
    pub(super) plan: Plan,
    /// Where the experiment works.
    pub(super) directory: PathBuf,
    /// The position of the cell in the plan.
    pub(super) cell: usize,
    /// Of the transactions.
    pub(super) seed: Seed,
}

/// What the process is asked; each is answered before the next, but for [`Self::Halt`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Request {
    /// Execute so many transactions.
    Slice(u64),
    /// Begin no further transaction of the slice; has no answer of its own.
    Halt,
    /// What has the database counted?
    Counters,
    /// The same by table and index.
    TreeCounters,
    /// Close the sessions.
    Close,
    /// Stop the database, and end.
    Stop,
}

/// What the process answers.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Answer {
    /// The database is started and its sessions are open: how it is run.
    Started(Vec<(String, String)>, StoragePath),
    Slice(Done),
    Counters(Counters),
    TreeCounters(Vec<TreeCounters>),
    Closed(Audit),
    Stopped,
    Refused(Refusal),
}

/// What a slice gave.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Done {
    elapsed: Duration,
    transactions: u64,
    counted: u64,
    response: Option<Duration>,
    cpu: Duration,
    kinds: Vec<(Outcomes, Vec<u8>)>,
    late: Vec<u8>,
    changed_bytes: u64,
}

impl Done {
    pub(super) fn new(slice: &LoadSlice, counts: &Counts) -> Self {
        let kinds = counts.kinds.iter();
        Self {
            elapsed: slice.elapsed,
            transactions: slice.transactions,
            counted: slice.counted,
            response: slice.response,
            cpu: slice.cpu,
            kinds: kinds
                .map(|kind| (*kind.outcomes(), kind.latencies.packed()))
                .collect(),
            late: counts.late.packed(),
            changed_bytes: counts.changed_bytes,
        }
    }

    pub(super) fn slice(&self) -> LoadSlice {
        LoadSlice {
            elapsed: self.elapsed,
            transactions: self.transactions,
            counted: self.counted,
            response: self.response,
            cpu: self.cpu,
        }
    }

    /// # Errors
    /// When latencies are none: the process is another program.
    pub(super) fn counts(self, kinds: &[TransactionKind]) -> Result<Counts, String> {
        let kinds = kinds.iter().zip(self.kinds);
        let kinds = kinds.map(|(kind, (outcomes, latencies))| {
            let latencies = Latencies::from_packed(latencies)?;
            Ok(KindCounts::with_outcomes(kind, outcomes, latencies))
        });
        Ok(Counts {
            kinds: kinds.collect::<Result<_, String>>()?,
            late: Latencies::from_packed(self.late)?,
            changed_bytes: self.changed_bytes,
        })
    }
}

/// Why the process could not do something.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Refusal {
    what: What,
    /// An error and its causes.
    words: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum What {
    Stopped,
    Full,
    Other,
}

impl Refusal {
    pub(super) fn of(error: &DriverError) -> Self {
        let what = match error {
            DriverError::Stopped | DriverError::Database(DatabaseError::Stopped) => What::Stopped,
            error if error.is_full() => What::Full,
            _ => What::Other,
        };
        Self::words(what, error)
    }

    /// An error of what no database did.
    pub(super) fn other(error: &dyn std::error::Error) -> Self {
        Self::words(What::Other, error)
    }

    fn words(what: What, error: &dyn std::error::Error) -> Self {
        let causes = std::iter::successors(Some(error), |error| error.source());
        Self {
            what,
            words: causes.map(ToString::to_string).collect(),
        }
    }

    /// The error as if it had been met here.
    pub(super) fn error(self) -> DatabaseError {
        let mut words = self.words.into_iter();
        let first = words.next().unwrap_or_default();
        let rest = words.collect::<Vec<_>>().join(": ");
        match self.what {
            What::Stopped => DatabaseError::Stopped,
            What::Full => ConnectionError::Full(rest.into()).into(),
            What::Other if rest.is_empty() => DatabaseError::Missing {
                what: "the database cannot run".into(),
                remedy: first,
            },
            What::Other => ConnectionError::other(first, rest).into(),
        }
    }
}

/// Writes one message.
pub(super) fn send(output: &mut impl Write, message: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    output.write_all(&line)?;
    output.flush()
}
