//! The boundary of modeled databases.

use std::sync::Arc;

use octavo_buffer::Page;
use octavo_units::{ByteCount, Moment, PageSize};
use octavo_workload::{PageTrace, Workload, page_trace::TracedPart, touch::Touch};

use crate::{
    arriving::Arriving,
    io::Io,
    miniature::Miniature,
    pages::{ObjectPages, Pages},
    replacement::Replacement,
};

/// A modeled database with the settings that decide what it does.
pub(crate) trait Modeled: std::fmt::Debug + Send + Sync {
    /// The database after loading, with an empty buffer.
    ///
    /// # Errors
    /// [`EngineError`] for memory that holds no pages, and for more pages than can be
    /// numbered.
    fn open(&self, opening: &Opening<'_>) -> Result<Box<dyn Engine>, EngineError>;

    /// Whether it can be had in small: all that it keeps by numbers of pages, bytes of its log
    /// or its clock is divided.
    fn is_divisible(&self) -> bool {
        false
    }

    /// How many pages each table and index has after loading.
    fn sizes(&self, workload: &dyn Workload, page_size: PageSize) -> Vec<ObjectPages>;
}

/// With what a modeled database is opened.
#[derive(Clone, Copy)]
pub(crate) struct Opening<'a> {
    /// The rows, a part of them in a miniature.
    pub(crate) workload: &'a dyn Workload,
    /// Bytes of a page.
    pub(crate) page_size: PageSize,
    /// Memory of the buffer, of the same part.
    pub(crate) memory: ByteCount,
    /// How many clients there will be.
    pub(crate) clients: u32,
    /// Which part of the whole this is.
    pub(crate) miniature: Miniature,
    /// The policy of its buffer.
    pub(crate) replacement: &'a Replacement,
}

#[cfg(test)]
impl<'a> Opening<'a> {
    /// Of one client, with the database's own policy.
    pub(crate) fn whole(
        workload: &'a dyn Workload,
        page_size: PageSize,
        memory: ByteCount,
    ) -> Self {
        Self {
            workload,
            page_size,
            memory,
            clients: 1,
            miniature: Miniature::WHOLE,
            replacement: &Replacement::Own,
        }
    }
}

/// A database whose rows lie on pages, some of them in its buffer.
pub(crate) trait Engine: Send {
    /// It is this late when the next transaction begins, and what was to be written in the
    /// background is written or not.
    fn advance(&mut self, _now: Moment, _is_written: bool) {}

    /// From now on so many clients execute transactions.
    fn set_clients(&mut self, _clients: u32) {}

    /// Executes a client's transaction that touches these rows, and appends what it asks of
    /// storage, in order.
    fn transaction(
        &mut self,
        client: usize,
        touches: &[Touch],
        is_committed: bool,
        ios: &mut Vec<Io>,
    ) -> Referred;

    /// The pages of transactions that were recorded, which are replayed then.
    fn trace(&self) -> Option<&Arc<PageTrace>> {
        None
    }

    /// Executes a part of a client's recorded transaction, in the same way.
    ///
    /// # Panics
    /// Without a [trace](Self::trace).
    fn replay(&mut self, _client: usize, _part: &TracedPart<'_>, _ios: &mut Vec<Io>) -> Referred {
        unreachable!("an engine without a trace has nothing to replay")
    }

    /// A client's transaction, or a part of a recorded one, is over.
    fn end(&mut self, _client: usize) {}

    /// What a transaction that changes rows keeps from others.
    fn grain(&self) -> Grain {
        Grain::Row
    }

    /// Pages that transactions have missed and that were not read yet.
    fn arriving(&mut self) -> &mut Arriving;

    /// Whether the pages that it writes go to the page cache: a run of transactions that comes
    /// to its end does so when that is written, as a slice of a measurement.
    fn is_cached(&self) -> bool {
        false
    }

    /// Whether what a checkpoint writes is gathered by the page cache until the checkpoint's
    /// flush, and neighbours are joined; otherwise each page is written for itself.
    fn gathers_checkpoints(&self) -> bool {
        false
    }

    /// Pages of the buffer, however many the data has.
    fn frames(&self) -> u64;

    /// Pages of the data.
    fn pages(&self) -> u64;

    /// Where on storage what was loaded ends.
    fn size(&self) -> ByteCount;
}

/// What a transaction that changes rows keeps from others that change some.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Grain {
    /// These rows.
    Row,
    /// All of the database.
    Database,
}

/// What a database counts of a transaction: how often pages were referred to, and its log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Referred {
    /// Those that the buffer had.
    pub hits: u64,
    /// Those that it had not.
    pub misses: u64,
    /// Of the misses, pages that are new, but that the database counts as read.
    pub made: u64,
    /// Bytes of the log that the database counts.
    pub logged: u64,
    /// Checkpoints that ended beside it, of a database that no session waits for with them.
    pub checkpoints: u64,
}

impl std::ops::Add for Referred {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            hits: self.hits + other.hits,
            misses: self.misses + other.misses,
            made: self.made + other.made,
            logged: self.logged + other.logged,
            checkpoints: self.checkpoints + other.checkpoints,
        }
    }
}

/// Why a database cannot be modeled so.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EngineError {
    /// No page fits.
    #[error("a buffer of {memory} holds no pages of {page_size}: give it more memory")]
    Memory {
        /// The buffer.
        memory: ByteCount,
        /// The page size.
        page_size: PageSize,
    },
    /// The pages of statements were recorded with another page size.
    #[error("pages were recorded with {recorded}, not with {page_size}")]
    Unrecorded {
        /// The page size.
        page_size: PageSize,
        /// That of the trace.
        recorded: PageSize,
    },
    /// OPT without a future.
    #[error("opt needs the references of a run, and there are none: leave it out")]
    NoFuture,
    /// There are more pages than can be numbered.
    #[error("{size} are too many pages of {page_size} to predict: name larger pages, or less data")]
    Size {
        /// The data.
        size: ByteCount,
        /// The page size.
        page_size: PageSize,
    },
}

impl EngineError {
    /// Refuses data that has more pages than can be numbered, with room for indexes, growth
    /// and what rows take besides their values.
    pub(crate) fn check_size(
        workload: &dyn Workload,
        page_size: PageSize,
    ) -> Result<(), EngineError> {
        let size = Self::size(workload);
        let pages_max = u64::from(Page::COUNT_MAX) / 4;
        match size.get() / u64::from(page_size.get()) > pages_max {
            true => Err(Self::Size { size, page_size }),
            false => Ok(()),
        }
    }

    /// Refuses what took more pages than can be numbered, with room for as many again: values
    /// that have pages of their own leave most of these empty.
    pub(crate) fn check_pages(
        pages: &Pages,
        workload: &dyn Workload,
        page_size: PageSize,
    ) -> Result<(), EngineError> {
        let size = Self::size(workload);
        match pages.has_room() {
            true => Ok(()),
            false => Err(Self::Size { size, page_size }),
        }
    }

    /// Refuses pages that were recorded with another page size.
    pub(crate) fn check_recorded(
        trace: &PageTrace,
        page_size: PageSize,
    ) -> Result<(), EngineError> {
        let recorded = trace.page_size();
        match recorded == page_size {
            true => Ok(()),
            false => Err(Self::Unrecorded {
                page_size,
                recorded,
            }),
        }
    }

    /// Bytes of all rows.
    fn size(workload: &dyn Workload) -> ByteCount {
        let population = workload.population();
        let partitions = population.partitions();
        let bytes = partitions.iter().map(|part| {
            let row = workload.tables()[part.table.0].row_bytes_mean;
            part.rows_about.saturating_mul(u64::from(row))
        });
        ByteCount::new(bytes.fold(0, u64::saturating_add))
    }
}
