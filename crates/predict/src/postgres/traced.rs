//! Transactions on PostgreSQL whose pages and records of the log were recorded.
//!
//! Pages of the system's own tables are among those that were recorded, and in no part of the
//! buffer that is set aside for them.

use std::sync::Arc;

use octavo_buffer::{Access, Clock, Frames, Page, Usage};
use octavo_units::ByteCount;
use octavo_workload::{
    PageTrace,
    page_trace::{LoggedAs, LoggedPage, TracedPart},
    touch::Touch,
};

use super::{
    PostgresSettings,
    log::{Changed, Log},
    storage::Storage,
};
use crate::{
    arriving::Arriving,
    engine::{Engine, EngineError, Opening, Referred},
    io::Io,
};

/// See the module.
pub(super) struct Traced {
    trace: Arc<PageTrace>,
    storage: Storage,
    frames: u64,
    page: u32,
    /// Pages so far.
    pages: u32,
}

impl Traced {
    /// A copy before its first transaction, with empty buffers.
    pub(super) fn new(
        opening: &Opening<'_>,
        settings: &PostgresSettings,
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
        let page = page_size.get();
        let frames = memory.get() / u64::from(page);
        // More frames than pages can be numbered are as good as the most.
        let cached = u32::try_from(frames).map_or(Page::COUNT_MAX, |all| all.min(Page::COUNT_MAX));
        let cached = Frames::new(cached).ok_or(EngineError::Memory { memory, page_size })?;
        let known = trace.most();
        let buffer = replacement.open(known, cached);
        let buffer = buffer.unwrap_or_else(|| Box::new(Clock::new(known, cached, Usage::POSTGRES)));
        let log = Log::new(
            settings.log_block,
            settings.max_wal_size,
            settings.full_page_writes,
            miniature,
        );
        let log = log.begins_at(trace.log_begin());
        Ok(Self {
            trace: Arc::clone(trace),
            storage: Storage::new(page, buffer, known, log),
            frames,
            page,
            pages: trace.loaded(),
        })
    }
}

fn changed(logged: &LoggedPage) -> Changed {
    Changed {
        page: Page::new(logged.number),
        data: logged.data,
        image: logged.whole,
        is_new: logged.logged_as != LoggedAs::Change,
    }
}

impl Engine for Traced {
    /// # Panics
    /// Always: no rows are known.
    fn transaction(&mut self, _: usize, _: &[Touch], _: bool, _: &mut Vec<Io>) -> Referred {
        unreachable!("transactions are those of the trace")
    }

    fn trace(&self) -> Option<&Arc<PageTrace>> {
        Some(&self.trace)
    }

    fn replay(&mut self, _client: usize, part: &TracedPart<'_>, ios: &mut Vec<Io>) -> Referred {
        let storage = &mut self.storage;
        storage.referred = Referred::default();
        let before = storage.log.end();
        for page in part.pages {
            let access = match page.is_change() {
                true => Access::Change,
                false => Access::Read,
            };
            storage.access(Page::new(page.number()), access, page.is_new());
            self.pages = self.pages.max(page.number() + 1);
        }
        for record in part.records {
            let pages = part.pages_of(record).iter().map(changed);
            storage.log.record_found(record.bytes.into(), pages);
        }
        if part.end.is_committed && !part.end.only_reads {
            storage.log.flush(&mut storage.ios);
        }
        storage.check_point();
        ios.append(&mut storage.ios);
        Referred {
            logged: storage.log.end() - before,
            ..storage.referred
        }
    }

    fn is_cached(&self) -> bool {
        true
    }

    fn arriving(&mut self) -> &mut Arriving {
        &mut self.storage.arriving
    }

    fn frames(&self) -> u64 {
        self.frames
    }

    fn pages(&self) -> u64 {
        self.pages.into()
    }

    fn size(&self) -> ByteCount {
        let data = u64::from(self.trace.most()) * u64::from(self.page);
        ByteCount::new(self.storage.log.data() + data)
    }
}
