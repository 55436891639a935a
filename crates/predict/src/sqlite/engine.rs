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
    layout::{ByKey, TableTrees, lay_out},
    log::Log,
};
use crate::{
    engine::{Engine, EngineError},
    io::{Io, Purpose},
    pages::{Pages, References},
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
    frames: Frames,
    log: Log,
    references: References,
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
        let mut pages = Pages::default();
        let tables = lay_out(workload, page_size, &mut pages);
        let page = u64::from(page_size.get());
        let frames = memory.get() / (page + PAGE_OVERHEAD);
        let frames = u32::try_from(frames).ok().and_then(Frames::new);
        let frames = frames.ok_or(EngineError::Memory { memory, page_size })?;
        let known = pages.count();
        Ok(Self {
            page: page_size.get(),
            tables,
            cache: Pcache::new(known, frames),
            frames,
            log: Log::new(page_size),
            pages,
            references: References::default(),
            rowids: HashMap::new(),
            changed: Vec::new(),
            known,
        })
    }

    /// What the loaded database and its log take.
    pub(crate) fn size(&self) -> ByteCount {
        ByteCount::new(self.log.data() + u64::from(self.pages.count()) * u64::from(self.page))
    }

    fn touch(&mut self, touch: &Touch) {
        let Self {
            tables,
            pages,
            references,
            rowids,
            ..
        } = self;
        let trees = &mut tables[touch.table.0];
        let next = rowids.len() as u64;
        let Touch { first, rows, .. } = *touch;
        let tree = match touch.by {
            By::Index(index) => &mut trees.indexes[index],
            By::Key | By::Entry => match &mut trees.key {
                Some(key) if touch.by == By::Key => {
                    // The row is where its rowid is: behind all others if it is new.
                    let own = &mut trees.rows;
                    let at = |own: &Tree, place: Place, rowids: &HashMap<_, _>| match place.later {
                        0 => place,
                        _ => own.numbered(rowids.get(&(touch.table, place)).copied().unwrap_or(0)),
                    };
                    debug_assert!(matches!(trees.by_key, ByKey::Index));
                    match touch.action {
                        Action::Insert => {
                            rowids.entry((touch.table, first)).or_insert(next);
                            key.insert(first, pages, references);
                            own.insert(at(own, first, rowids), pages, references);
                        }
                        Action::Delete => {
                            key.remove(first, pages, references);
                            own.remove(at(own, first, rowids), pages, references);
                        }
                        Action::Read | Action::Update { .. } => {
                            for place in key.read(first, rows, references) {
                                let row = at(own, place, rowids);
                                match touch.action {
                                    Action::Update { grows } => {
                                        let grows = u32::from(grows);
                                        own.update(row, 1, grows, pages, references);
                                    }
                                    _ => drop(own.read(row, 1, references)),
                                }
                            }
                        }
                    }
                    return;
                }
                _ => &mut trees.rows,
            },
        };
        match touch.action {
            Action::Read => drop(tree.read(first, rows, references)),
            Action::Update { grows } => {
                tree.update(first, rows, u32::from(grows), pages, references);
            }
            Action::Insert => tree.insert(first, pages, references),
            Action::Delete => tree.remove(first, pages, references),
        }
    }
}

impl Engine for Sqlite {
    fn transaction(&mut self, touches: &[Touch], is_committed: bool, ios: &mut Vec<Io>) -> u64 {
        self.references.clear();
        self.references.read(FIRST);
        let taken = self.pages.changes();
        for touch in touches {
            self.touch(touch);
        }
        if self.pages.changes() != taken {
            // The header has the database's size and its free pages.
            self.references.change(FIRST);
        }
        if self.pages.count() > self.known {
            self.known = self.pages.count().saturating_mul(2);
            self.cache.extend(self.known);
        }
        self.changed.clear();
        for &reference in self.references.as_slice() {
            let page = reference.page();
            let outcome = self.cache.access(reference);
            if matches!(outcome, Outcome::Miss(_)) && !self.references.is_new(page) {
                ios.push(Io {
                    purpose: Purpose::Read,
                    request: self.log.read(page),
                });
            }
            if reference.is_change() {
                self.changed.push(page);
            }
        }
        self.cache.commit();
        self.changed.sort_unstable();
        self.changed.dedup();
        if is_committed && !self.changed.is_empty() {
            self.log.commit(&self.changed, ios);
        }
        self.references.as_slice().len() as u64
    }

    fn frames(&self) -> Frames {
        let pages = Frames::new(self.pages.count()).unwrap_or(self.frames);
        self.frames.min(pages)
    }
}
