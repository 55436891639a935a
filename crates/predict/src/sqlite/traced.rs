//! Transactions on SQLite whose pages were recorded.

use std::sync::Arc;

use octavo_buffer::{Access, Page, Reference};
use octavo_units::ByteCount;
use octavo_workload::{
    PageTrace,
    page_trace::{TracedPage, TracedPart},
    touch::Touch,
};

use super::pager::{PageStep, Pager, Part};
use crate::{
    arriving::Arriving,
    engine::{Engine, EngineError, Grain, Opening, Referred},
    io::Io,
};

/// See the module.
pub(super) struct Traced {
    trace: Arc<PageTrace>,
    pager: Pager,
    /// Pages so far.
    pages: u32,
}

impl Traced {
    /// A copy before its first transaction, with empty caches.
    pub(super) fn new(opening: &Opening<'_>, trace: &Arc<PageTrace>) -> Result<Self, EngineError> {
        EngineError::check_recorded(trace, opening.page_size)?;
        Ok(Self {
            pager: Pager::new(opening, trace.most())?,
            pages: trace.loaded(),
            trace: Arc::clone(trace),
        })
    }
}

fn step(page: &TracedPage) -> PageStep {
    let access = match page.is_change() {
        true => Access::Change,
        false => Access::Read,
    };
    PageStep {
        reference: Reference::new(Page::new(page.number()), access),
        is_new: page.is_new(),
        is_counted: !page.is_new(),
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

    fn replay(&mut self, client: usize, traced: &TracedPart<'_>, ios: &mut Vec<Io>) -> Referred {
        let last = traced.pages.iter().map(|page| page.number() + 1).max();
        self.pages = self.pages.max(last.unwrap_or(0));
        let part = Part {
            only_reads: traced.end.only_reads,
            is_committed: traced.end.is_committed,
        };
        self.pager
            .execute(client, part, traced.pages.iter().map(step), ios)
    }

    fn end(&mut self, client: usize) {
        self.pager.end(client);
    }

    fn grain(&self) -> Grain {
        Grain::Database
    }

    fn arriving(&mut self) -> &mut Arriving {
        self.pager.arriving()
    }

    fn gathers_checkpoints(&self) -> bool {
        self.pager.gathers_checkpoints()
    }

    fn frames(&self) -> u64 {
        self.pager.frames()
    }

    fn pages(&self) -> u64 {
        self.pages.into()
    }

    fn size(&self) -> ByteCount {
        self.pager.size(self.pages)
    }
}
