//! Transactions on PostgreSQL: from rows to versions and entries of indexes, through shared
//! buffers and the log, to storage.

use octavo_buffer::{Clock, Frames, Page, Usage};
use octavo_units::{ByteCount, mix};
use octavo_workload::touch::{AccessPath, Action, Columns, Place, Touch};

use super::{
    PostgresSettings,
    heap::{Heap, Put},
    layout::{Relation, Toast, lay_out},
    log::{Changed, Log},
    storage::Storage,
    tuple::aligned,
};
use crate::{
    arriving::Arriving,
    engine::{Engine, EngineError, Opening, Referred},
    io::Io,
    pages::Pages,
};

/// What records have besides the pages' own bytes (src/include/access/heapam_xlog.h):
/// `SizeOfHeapInsert`, `SizeOfHeapUpdate`, `SizeOfHeapDelete`, `SizeOfHeapLock` and
/// `SizeOfHeapPrune`.
const INSERT: u32 = 3;
const UPDATE: u32 = 14;
const DELETE: u32 = 8;
const LOCK: u32 = 8;
const PRUNE: u32 = 8;
/// `SizeOfHeapHeader`, which stands for the row's own header of 23 bytes.
const ROW_HEADER: u32 = 5;
const ROW_HEADER_WHOLE: u32 = 23;
/// How many bytes of a row are the same before and behind what changed.
const SAME_LENGTHS: u32 = 4;
/// Of what a look at a page removed, each: from one line pointer to another.
const REDIRECT: u32 = 4;
/// `MinSizeOfXactCommit`.
const COMMIT: u32 = 8;

/// What of the buffers holds the system's own tables. Measured with pg_buffercache in
/// version 15 after 4,600 transactions: 138 pages of 8 KiB.
const CATALOG: ByteCount = ByteCount::kib(1104);

/// See the module.
pub(crate) struct Postgres {
    relations: Vec<Relation>,
    pages: Pages,
    storage: Storage,
    frames: u64,
    page: u32,
}

impl Postgres {
    /// A cluster after loading, with empty buffers of `memory`.
    pub(crate) fn new(
        opening: &Opening<'_>,
        settings: &PostgresSettings,
    ) -> Result<Self, EngineError> {
        let Opening {
            workload,
            page_size,
            memory,
            miniature,
            replacement,
            ..
        } = *opening;
        let page = page_size.get();
        let catalog = miniature.share(CATALOG.get());
        let frames = memory.get().saturating_sub(catalog) / u64::from(page);
        let memory_error = EngineError::Memory { memory, page_size };
        let cached = Frames::new(frames.min(Page::COUNT_MAX.into()) as u32).ok_or(memory_error)?;
        EngineError::check_size(workload, page_size)?;
        let mut pages = Pages::default();
        let relations = lay_out(workload, page_size, &mut pages);
        EngineError::check_pages(&pages, workload, page_size)?;
        let known = pages.count();
        let buffer = replacement.open(known, cached);
        let buffer = buffer.unwrap_or_else(|| Box::new(Clock::new(known, cached, Usage::POSTGRES)));
        let log = Log::new(
            settings.log_block,
            settings.max_wal_size,
            settings.full_page_writes,
            miniature,
        );
        Ok(Self {
            relations,
            storage: Storage::new(page, buffer, known, log),
            pages,
            frames,
            page,
        })
    }

    fn touch(&mut self, touch: &Touch) {
        let Self {
            relations,
            pages,
            storage,
            ..
        } = self;
        let relation = &mut relations[touch.table.0];
        match (touch.by, touch.action) {
            (AccessPath::Index(index), Action::Read) => {
                let entries = relation.indexes[index].read(touch.first, touch.rows, storage);
                look_unless_visible(relation, &entries, storage);
            }
            // Entries stay until a vacuum, or until they are found to be of no use.
            (AccessPath::Index(_), Action::Delete) => {}
            (AccessPath::Index(index), _) => {
                relation.indexes[index].insert(touch.first, pages, storage)
            }
            (_, Action::Insert) => insert(relation, touch.first, pages, storage),
            (by, action) => {
                let places = match (&relation.key, by) {
                    (Some(key), AccessPath::Key) => key.read(touch.first, touch.rows, storage),
                    _ => touch.places().collect(),
                };
                let mut last = None;
                for place in places {
                    let number = relation.heap.find(place);
                    // The page stays pinned from one row to the next.
                    if last != Some(number) {
                        look(&mut relation.heap, number, storage);
                        last = Some(number);
                    }
                    look_at_version(relation, place, storage);
                    match action {
                        Action::Update { grows } => {
                            let grows = match relation.has_nulls {
                                true => u32::from(grows),
                                false => 0,
                            };
                            update(relation, place, grows, touch.columns, pages, storage);
                            update_long(relation, place, touch.columns, pages, storage);
                        }
                        Action::Delete => delete(&mut relation.heap, place, storage),
                        Action::Read | Action::Insert => {
                            read_long(relation, place, touch.columns, storage);
                        }
                    }
                }
            }
        }
    }
}

/// Looks at a page of a table; what nobody sees may go.
fn look(heap: &mut Heap, number: u32, storage: &mut Storage) {
    let (page, image) = heap.at(number);
    storage.read(page);
    if let Some(pruned) = heap.prune(number) {
        let gone = Changed::new(page, pruned.count * REDIRECT, image);
        storage.change(PRUNE, &[gone]);
    }
}

/// The first look at a version that was committed notes that on it; where the row came from
/// another page, the entry that led there first is marked (`kill_prior_tuple`).
fn look_at_version(relation: &mut Relation, place: Place, storage: &mut Storage) {
    let heap = &mut relation.heap;
    let Some(first) = heap.look_first(place) else {
        return;
    };
    let (page, _) = heap.at(heap.find(place));
    storage.hint(page);
    if let Some(left) = first.left {
        look(heap, left, storage);
        if let Some(key) = &relation.key {
            key.mark(place, storage);
        }
    }
}

/// Rows of which an index's entries have all that is wanted are looked at only where their
/// page was changed since it was loaded (its bit in the visibility map is off). Which rows
/// entries lead to is drawn from their places.
fn look_unless_visible(relation: &mut Relation, entries: &[Place], storage: &mut Storage) {
    let rows = relation.heap.rows().max(1);
    for entry in entries {
        let number = relation
            .heap
            .find(Place::initial(mix(entry.initial) % rows));
        if !relation.heap.is_as_loaded(number) {
            look(&mut relation.heap, number, storage);
        }
    }
}

fn insert(relation: &mut Relation, place: Place, pages: &mut Pages, storage: &mut Storage) {
    if let Some(toast) = &mut relation.toast {
        insert_long(toast, place, pages, storage);
    }
    let (page, is_new) = relation.heap.insert(place, pages);
    let data = ROW_HEADER + relation.heap.row() - ROW_HEADER_WHOLE;
    storage.change(INSERT, &[put(&relation.heap, place, page, is_new, data)]);
    if let Some(key) = &mut relation.key {
        key.insert(place, pages, storage);
    }
}

/// The page that got a row's version.
fn put(heap: &Heap, place: Place, page: Page, is_new: bool, data: u32) -> Changed {
    match is_new {
        true => Changed::made(page, data),
        false => Changed::new(page, data, heap.at(heap.find(place)).1),
    }
}

fn update(
    relation: &mut Relation,
    place: Place,
    grows: u32,
    columns: Columns,
    pages: &mut Pages,
    storage: &mut Storage,
) {
    let changed = changed_bytes(&relation.ends, columns) + grows;
    let heap = &mut relation.heap;
    let (_, before) = heap.at(heap.find(place));
    match heap.update(place, grows, pages) {
        Put::HeapOnly(page) => {
            let image = heap.at(heap.find(place)).1;
            let data = ROW_HEADER + SAME_LENGTHS + changed;
            storage.change(UPDATE, &[Changed::new(page, data, image)]);
            // A version with other values in an index is found by entries of its own, in all
            // indexes (storage/README.HOT).
            if relation.indexed.iter().any(|own| own.meet(columns)) {
                point_elsewhere(relation, place, columns, pages, storage);
            }
        }
        Put::Elsewhere { from, to, is_new } => {
            // The row is locked while a page is looked for.
            storage.change(LOCK, &[Changed::new(from, 0, before)]);
            let data = ROW_HEADER + heap.row() - ROW_HEADER_WHOLE;
            let to = put(heap, place, to, is_new, data);
            storage.change(UPDATE, &[to, Changed::new(from, 0, before)]);
            point_elsewhere(relation, place, columns, pages, storage);
        }
    }
}

/// Entries for a row's version in all indexes but those whose values changed: these are
/// inserted by themselves.
fn point_elsewhere(
    relation: &mut Relation,
    place: Place,
    changed: Columns,
    pages: &mut Pages,
    storage: &mut Storage,
) {
    if let Some(key) = &mut relation.key {
        key.point_elsewhere(place, pages, storage);
    }
    let rows = relation.heap.rows().max(1);
    for (index, own) in relation.indexes.iter_mut().zip(&relation.indexed) {
        if !own.meet(changed) {
            let entry = Place::initial(mix(place.initial) % rows);
            index.point_elsewhere(entry, pages, storage);
        }
    }
}

/// From the first to the last byte that an update changes.
fn changed_bytes(ends: &[u32], columns: Columns) -> u32 {
    let Some(span) = columns.span() else { return 0 };
    let begin = match span.start().checked_sub(1) {
        Some(before) => ends.get(before).copied().unwrap_or(0),
        None => aligned(ROW_HEADER_WHOLE),
    };
    let end = ends.get(*span.end()).copied().unwrap_or(begin);
    end.saturating_sub(begin)
}

fn delete(heap: &mut Heap, place: Place, storage: &mut Storage) {
    let image = heap.at(heap.find(place)).1;
    let page = heap.delete(place);
    storage.change(DELETE, &[Changed::new(page, 0, image)]);
}

/// The rows that have a row's long values.
fn chunks(toast: &Toast, place: Place) -> impl Iterator<Item = Place> + use<> {
    let begin = (place.initial as f64 * toast.chunks) as u64;
    let end = ((place.initial + 1) as f64 * toast.chunks) as u64;
    (begin..end).map(move |chunk| Place {
        initial: chunk,
        later: place.later,
    })
}

fn is_long(relation: &Relation, columns: Columns) -> bool {
    let toast = relation.toast.as_ref();
    toast.is_some_and(|toast| {
        (0..relation.ends.len()).any(|c| columns.has(c) && toast.columns.has(c))
    })
}

fn read_long(relation: &mut Relation, place: Place, columns: Columns, storage: &mut Storage) {
    if !is_long(relation, columns) {
        return;
    }
    let Some(toast) = &mut relation.toast else {
        return;
    };
    for chunk in chunks(toast, place) {
        toast.index.read(chunk, 1, storage);
        let number = toast.heap.find(chunk);
        look(&mut toast.heap, number, storage);
    }
}

/// The rows of a new row's long values.
fn insert_long(toast: &mut Toast, place: Place, pages: &mut Pages, storage: &mut Storage) {
    for chunk in chunks(toast, place) {
        let (to, is_new) = toast.heap.insert(chunk, pages);
        let data = ROW_HEADER + toast.heap.row() - ROW_HEADER_WHOLE;
        storage.change(INSERT, &[put(&toast.heap, chunk, to, is_new, data)]);
        // Its number is the highest so far.
        toast.made += 1;
        let last = Place::behind(toast.heap.rows().saturating_sub(1), toast.made);
        toast.index.insert(last, pages, storage);
    }
}

/// Where an update sets a long value, the new one's rows are made, and those of the old one
/// go.
fn update_long(
    relation: &mut Relation,
    place: Place,
    columns: Columns,
    pages: &mut Pages,
    storage: &mut Storage,
) {
    if !is_long(relation, columns) {
        return;
    }
    read_long(relation, place, columns, storage);
    let Some(toast) = &mut relation.toast else {
        return;
    };
    for chunk in chunks(toast, place) {
        delete(&mut toast.heap, chunk, storage);
    }
    insert_long(toast, place, pages, storage);
}

impl Engine for Postgres {
    fn transaction(
        &mut self,
        _client: usize,
        touches: &[Touch],
        is_committed: bool,
        ios: &mut Vec<Io>,
    ) -> Referred {
        self.storage.referred = Referred::default();
        let before = self.storage.log.end();
        for touch in touches {
            self.touch(touch);
        }
        let changed = self.storage.log.end() != before;
        if changed {
            self.storage.log.record(COMMIT, &[]);
        }
        for touch in touches {
            let relation = &mut self.relations[touch.table.0];
            relation.heap.end();
            if let Some(toast) = &mut relation.toast {
                toast.heap.end();
            }
        }
        if changed && is_committed {
            self.storage.log.flush(&mut self.storage.ios);
        }
        self.storage.check_point();
        ios.append(&mut self.storage.ios);
        Referred {
            logged: self.storage.log.end() - before,
            ..self.storage.referred
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
        self.pages.count().into()
    }

    fn size(&self) -> ByteCount {
        let data = u64::from(self.pages.count()) * u64::from(self.page);
        ByteCount::new(self.storage.log.data() + data)
    }
}
