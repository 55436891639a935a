//! Transactions on SQLite: from rows to pages, through its cache, to storage.

use std::collections::HashMap;

use octavo_buffer::{Frames, Outcome, Page, Pcache, Policy};
use octavo_units::{ByteCount, PageSize};
use octavo_workload::{
    Workload,
    schema::TableId,
    touch::{Action, By, Place, Touch},
};

use super::{
    layout::{TableTrees, lay_out},
    log::Log,
};
use crate::{
    engine::{Engine, EngineError, Referred},
    io::{Io, Purpose},
    pages::{Pages, Step, Steps},
    tree::Tree,
};

/// What SQLite keeps for a page in its cache besides the page (`EXTRA_SIZE`, the size of
/// its `MemPage`, in 64-bit builds).
const PAGE_OVERHEAD: u64 = 136;

/// The page of the database's header.
const FIRST: Page = Page::new(0);

/// See the module.
pub(crate) struct Sqlite {
    page: u32,
    tables: Vec<TableTrees>,
    pages: Pages,
    cache: Pcache,
    /// Pages that the memory has room for, without what SQLite keeps besides.
    frames: u64,
    log: Log,
    steps: Steps,
    /// Rows by rowid of those inserted later into tables whose key has an index.
    rowids: HashMap<(TableId, Place), u64>,
    changed: Vec<Page>,
    /// Pages that the cache has room to know of.
    known: u32,
}

impl Sqlite {
    /// A database after loading, with an empty cache.
    pub(crate) fn new(
        workload: &dyn Workload,
        page_size: PageSize,
        memory: ByteCount,
    ) -> Result<Self, EngineError> {
        let page = u64::from(page_size.get());
        EngineError::check_size(workload, page_size)?;
        let mut pages = Pages::default();
        let tables = lay_out(workload, page_size, &mut pages);
        // More frames than pages are as good as the most.
        let cached = (memory.get() / (page + PAGE_OVERHEAD)).min(Page::COUNT_MAX.into());
        let cached = Frames::new(cached as u32);
        let cached = cached.ok_or(EngineError::Memory { memory, page_size })?;
        let known = pages.count();
        Ok(Self {
            page: page_size.get(),
            tables,
            cache: Pcache::new(known, cached),
            frames: memory.get() / page,
            log: Log::new(page_size),
            pages,
            steps: Steps::default(),
            rowids: HashMap::new(),
            changed: Vec::new(),
            known,
        })
    }

    fn read(&self, page: Page) -> Io {
        Io {
            purpose: Purpose::Read,
            request: self.log.read(page),
        }
    }

    fn touch(&mut self, touch: &Touch) {
        let Self {
            tables,
            pages,
            steps,
            rowids,
            ..
        } = self;
        let TableTrees { rows, key, indexes } = &mut tables[touch.table.0];
        match (touch.by, key) {
            (By::Key, Some(key)) => {
                let places = apply(
                    key,
                    touch.first,
                    touch.rows,
                    key_action(touch.action),
                    pages,
                    steps,
                );
                for place in places {
                    // The row is where its rowid is: behind all others if it is new.
                    let next = rowids.len() as u64;
                    let row = match place.later {
                        0 => place,
                        _ => rows.numbered(*rowids.entry((touch.table, place)).or_insert(next)),
                    };
                    apply(rows, row, 1, touch.action, pages, steps);
                }
            }
            (By::Index(index), _) => {
                let index = &mut indexes[index];
                apply(index, touch.first, touch.rows, touch.action, pages, steps);
            }
            (By::Key | By::Entry, _) => {
                apply(rows, touch.first, touch.rows, touch.action, pages, steps);
            }
        }
    }
}

/// What is done with entries of the key's index for what is done with rows.
fn key_action(action: Action) -> Action {
    match action {
        Action::Update { .. } => Action::Read,
        other => other,
    }
}

/// Does something with rows of a tree one after the other; answers where they are.
fn apply(
    tree: &mut Tree,
    first: Place,
    rows: u32,
    action: Action,
    pages: &mut Pages,
    steps: &mut Steps,
) -> Vec<Place> {
    match action {
        Action::Read => tree.read(first, rows, steps),
        Action::Update { grows } => tree.update(first, rows, u32::from(grows), pages, steps),
        Action::Insert => {
            tree.insert(first, pages, steps);
            vec![first]
        }
        Action::Delete => {
            tree.remove(first, pages, steps);
            vec![first]
        }
    }
}

impl Engine for Sqlite {
    fn transaction(
        &mut self,
        touches: &[Touch],
        is_committed: bool,
        ios: &mut Vec<Io>,
    ) -> Referred {
        self.steps.clear();
        self.steps.read(FIRST);
        let taken = self.pages.changes();
        for touch in touches {
            self.touch(touch);
        }
        if self.pages.changes() != taken {
            // The header has the database's size and its free pages.
            self.steps.change(FIRST);
        }
        if self.pages.count() > self.known {
            self.known = self.pages.count().saturating_mul(2);
            self.cache.extend(self.known);
        }
        self.changed.clear();
        let mut referred = Referred::default();
        for &step in self.steps.as_slice() {
            let (reference, is_new) = match step {
                // `sqlite3PagerDirectReadOk`: past the cache.
                Step::Copy(page) if self.changed.is_empty() && !self.log.has(page) => {
                    ios.push(self.read(page));
                    continue;
                }
                _ => step.reference(),
            };
            let page = reference.page();
            match self.cache.access(reference) {
                Outcome::Miss(_) if !is_new => {
                    referred.misses += 1;
                    ios.push(self.read(page));
                }
                Outcome::Hit | Outcome::Miss(_) => referred.hits += 1,
            }
            if reference.is_change() {
                self.changed.push(page);
            }
        }
        self.changed.sort_unstable();
        self.changed.dedup();
        if is_committed {
            self.cache.commit();
            if !self.changed.is_empty() {
                self.log.commit(&self.changed, ios);
            }
        } else {
            // What was changed is read again.
            for &page in &self.changed {
                self.cache.forget(page);
            }
        }
        let logged = ios.iter().filter(|io| io.purpose == Purpose::LogWrite);
        referred.logged = logged.map(|io| u64::from(io.request.length)).sum();
        referred
    }

    fn frames(&self) -> u64 {
        self.frames.min(self.pages.count().into())
    }

    fn size(&self) -> ByteCount {
        ByteCount::new(self.log.data() + u64::from(self.pages.count()) * u64::from(self.page))
    }
}
