//! Recording which pages a workload's statements refer to, for predictions.

use std::{path::Path, time::Duration};

use octavo_units::{ByteCount, PageSize, Seed};
use octavo_workload::{Audit, PageTrace, Workload};

use crate::{Isolation, Progress, Result};

/// A database that tells which pages statements refer to.
pub trait RecordPages {
    /// Has this process watch pages. It comes before any database is opened in it, and before it is
    /// held to its directories.
    ///
    /// # Errors
    /// [`DatabaseError::Unrecorded`](crate::DatabaseError::Unrecorded) when one was opened.
    fn watch(&self) -> Result<()>;

    /// The smallest memory that can be predicted with pages that are recorded, where that is larger
    /// than what the database takes.
    fn memory_min(&self, _page_size: PageSize) -> ByteCount {
        ByteCount::default()
    }

    /// Executes a workload's transactions, one at a time, on a copy in `run` that is of no use
    /// afterwards, and records the pages that each refers to. `progress` is told how many there
    /// are and may stop it. What they take of a processor is measured behind that, when pages are
    /// no longer watched, and `progress` gets the number of all wanted ones.
    ///
    /// # Errors
    /// [`DatabaseError::Stopped`](crate::DatabaseError::Stopped) when `progress` stopped it,
    /// [`DatabaseError::Unrecorded`](crate::DatabaseError::Unrecorded) when the system does not let
    /// pages be watched; otherwise when the copy cannot be used or a transaction fails.
    fn record(
        &self,
        run: &Path,
        wanted: &PagesWanted<'_>,
        progress: &mut Progress<'_>,
    ) -> Result<RecordedPages>;
}

/// What to record.
#[derive(Clone, Copy)]
pub struct PagesWanted<'a> {
    /// Whose transactions.
    pub workload: &'a dyn Workload,
    /// The page size of the copy.
    pub page_size: PageSize,
    /// The memory that the database is to plan statements for, where it asks for that.
    pub memory: ByteCount,
    /// The isolation level of transactions that ask for none; the database's default without one.
    pub isolation: Option<Isolation>,
    /// Random seed of the inputs.
    pub seed: Seed,
    /// Clients that take turns.
    pub clients: u32,
    /// How many transactions.
    pub transactions: u64,
    /// References at most: fewer transactions are recorded then.
    pub references_max: usize,
    /// Transactions that are recorded however long they take.
    pub needed: u64,
    /// Time after which no transaction beyond the needed ones is recorded.
    pub time_max: Duration,
}

impl PagesWanted<'_> {
    /// Whether no more than so many transactions are recorded, as they have taken long enough.
    pub(crate) fn is_late(&self, recorded: u64, elapsed: Duration) -> bool {
        recorded >= self.needed && elapsed >= self.time_max
    }
}

/// What was recorded.
#[derive(Clone, Debug)]
pub struct RecordedPages {
    /// The pages.
    pub trace: PageTrace,
    /// What a transaction takes of a processor beyond its reads, writes and flushes, by the
    /// workload's kinds: those that none was seen of have no time.
    pub processor: Vec<Option<Duration>>,
    /// What statements found, and how often a recording was run.
    pub audit: Audit,
    /// What could not be recorded.
    pub missing: Option<Missing>,
}

/// What could not be recorded, while all else was.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Missing {
    /// What, and why, as half a sentence.
    pub what: &'static str,
    /// How far misses are off for it, as a standard deviation of their logarithm.
    pub misses_off: f64,
}
