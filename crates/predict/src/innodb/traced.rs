//! Transactions on MariaDB whose pages and bytes of the redo log were recorded.
//!
//! Undo logs and what purge changes are among the pages and bytes that were recorded. How often an
//! undo log gets a page of its own depends on how many transactions come in a second, and a recording
//! has another pace: the bytes that this takes are those of the [model](super::undo).

use std::{collections::BTreeSet, sync::Arc};

use octavo_buffer::{Access, Page, Reference};
use octavo_units::{ByteCount, Moment};
use octavo_workload::{
    PageTrace,
    page_trace::{LoggedAs, TracedPage, TracedPart},
    touch::Touch,
};

use super::{
    files::Files,
    log::{Log, UNDO_NEW},
    pool::Pool,
    undo::Undo,
};
use crate::{
    arriving::Arriving,
    engine::{Engine, EngineError, Opening, Referred},
    io::Io,
    pages::{Pages, Steps},
};

/// Bytes of the undo records of a transaction, by which pages of undo logs are filled in the model.
/// Measured: 70 to 150 of transactions with one to three changes.
const UNDO_BYTES: u32 = 100;

/// See the module.
pub(super) struct Traced {
    trace: Arc<PageTrace>,
    pool: Pool,
    arriving: Arriving,
    log: Log,
    /// How often undo logs get pages. Which pages these are is recorded.
    undo: Undo,
    undo_pages: Pages,
    now: Moment,
    /// Pages so far.
    pages: u32,
}

impl Traced {
    /// A copy before its first transaction, with an empty buffer pool, which writes changed pages
    /// beside one that is written or not.
    pub(super) fn new(
        opening: &Opening<'_>,
        writes_neighbors: bool,
        trace: &Arc<PageTrace>,
    ) -> Result<Self, EngineError> {
        let Opening {
            page_size,
            memory,
            miniature,
            replacement,
            ..
        } = *opening;
        EngineError::check_recorded(trace, page_size)?;
        let log = Log::new(miniature);
        // Which file a page is in was not recorded.
        let files = Files::default();
        let pool = Pool::new(
            opening,
            trace.most(),
            files,
            writes_neighbors,
            log.capacity(),
        );
        let mut pool = pool.ok_or(EngineError::Memory { memory, page_size })?;
        pool.replace(replacement);
        for page in trace.buffered() {
            // Those that were not loaded the server made: they are written once, when they leave.
            let is_new = *page >= trace.loaded();
            let access = match is_new {
                true => Access::Change,
                false => Access::Read,
            };
            let reference = Reference::new(Page::new(*page), access);
            pool.refer(reference, is_new, 0, &mut Vec::new());
        }
        let mut undo_pages = Pages::default();
        Ok(Self {
            undo: Undo::new(page_size.get(), &mut undo_pages),
            undo_pages,
            trace: Arc::clone(trace),
            pool,
            arriving: Arriving::default(),
            log,
            now: Moment::START,
            pages: trace.loaded(),
        })
    }

    fn refer(&mut self, page: TracedPage, referred: &mut Referred, ios: &mut Vec<Io>) {
        self.pages = self.pages.max(page.number() + 1);
        let access = match page.is_change() {
            true => Access::Change,
            false => Access::Read,
        };
        let reference = Reference::new(Page::new(page.number()), access);
        let (is_new, lsn) = (page.is_new(), self.log.lsn());
        let arriving = &mut self.arriving;
        self.pool
            .wait_for(reference, is_new, lsn, arriving, referred, ios);
    }

    /// Adds a part's records to the log, and gives up the pages that they leave.
    fn log(&mut self, part: &TracedPart<'_>) {
        let mut freed = BTreeSet::new();
        let mut bytes = 0.0;
        let mut had_new = false;
        for record in part.records {
            bytes += f64::from(record.bytes);
            for page in part.pages_of(record) {
                match page.logged_as {
                    LoggedAs::Freed => {
                        freed.insert(page.number);
                    }
                    LoggedAs::New | LoggedAs::NewUndo => {
                        freed.remove(&page.number);
                        had_new |= page.logged_as == LoggedAs::NewUndo;
                    }
                    LoggedAs::Change | LoggedAs::Whole => {}
                }
            }
        }
        for page in freed {
            self.pool.forget(Page::new(page));
        }
        if had_new {
            bytes -= UNDO_NEW;
        }
        if self.undo(part) {
            bytes += UNDO_NEW;
        }
        self.log.add(bytes.max(0.0));
    }

    /// Whether a part gets a page for its undo log.
    fn undo(&mut self, part: &TracedPart<'_>) -> bool {
        let (undo, pages) = (&mut self.undo, &mut self.undo_pages);
        let mut steps = Steps::default();
        undo.truncate(self.now, &mut steps);
        if !commits(part) {
            return false;
        }
        let is_new = undo.begin(pages, &mut steps);
        undo.append(UNDO_BYTES, pages, &mut steps);
        is_new
    }
}

/// Whether a part has changed something, and has committed.
fn commits(part: &TracedPart<'_>) -> bool {
    part.end.is_committed && !part.end.only_reads
}

impl Engine for Traced {
    fn advance(&mut self, now: Moment, is_written: bool) {
        self.now = now;
        self.pool.advance(now, is_written);
    }

    fn set_clients(&mut self, clients: u32) {
        self.pool.set_clients(clients);
    }

    /// # Panics
    /// Always: no rows are known.
    fn transaction(&mut self, _: usize, _: &[Touch], _: bool, _: &mut Vec<Io>) -> Referred {
        unreachable!("transactions are those of the trace")
    }

    fn trace(&self) -> Option<&Arc<PageTrace>> {
        Some(&self.trace)
    }

    fn replay(&mut self, _client: usize, part: &TracedPart<'_>, ios: &mut Vec<Io>) -> Referred {
        let mut referred = Referred::default();
        let before = self.log.lsn();
        for page in part.pages {
            self.refer(*page, &mut referred, ios);
        }
        self.log(part);
        if commits(part) {
            self.log.flush(ios);
        }
        self.pool.clean(self.now, self.log.lsn(), ios);
        referred.logged = self.log.lsn() - before;
        referred
    }

    fn arriving(&mut self) -> &mut Arriving {
        &mut self.arriving
    }

    fn frames(&self) -> u64 {
        self.pool.frames().into()
    }

    fn pages(&self) -> u64 {
        self.pages.into()
    }

    fn size(&self) -> ByteCount {
        ByteCount::new(self.pool.place(Page::new(self.pages)))
    }
}
