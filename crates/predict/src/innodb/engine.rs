//! Transactions on InnoDB: from rows to pages, through the buffer pool and the logs, to
//! storage.

use octavo_buffer::{Access, Page, Reference};
use octavo_units::{ByteCount, Moment};
use octavo_workload::touch::{AccessPath, Action, Place, Touch};

use super::{
    files::{File, Files},
    heap::{HERE_AND_THERE, Heaps, IN_ORDER},
    layout::{TableTrees, lay_out},
    log::{self, Log},
    pool::Pool,
    record::EXTERN_POINTER,
    undo::Undo,
};
use crate::{
    arriving::Arriving,
    engine::{Engine, EngineError, Opening, Referred},
    io::Io,
    pages::{Pages, Steps},
};

/// What a split puts on other pages, and so into the log, as a share of a page. Measured:
/// 0.31 to 0.84 with rows that come in, 0.62 to 0.66 with those that grow.
const SPLIT_BY_INSERT: f64 = 0.45;
const SPLIT_BY_GROWTH: f64 = 0.63;
/// Pages that are allocated and linked. Measured: 300 and more.
const SPLIT: f64 = 300.0;

/// Leaves that are read to estimate how many rows there are (`N_PAGES_READ_LIMIT`,
/// `btr_estimate_n_rows_in_range_on_level`).
const ESTIMATED_BY: u32 = 10;

/// See the module.
pub(crate) struct Innodb {
    page: u32,
    tables: Vec<TableTrees>,
    pages: Pages,
    pool: Pool,
    arriving: Arriving,
    log: Log,
    undo: Undo,
    heaps: Heaps,
    steps: Steps,
    /// Rows, and entries of further indexes, that are marked as deleted.
    deleted: Vec<(usize, AccessPath, Place)>,
    /// Pages of values that were replaced, which the purge frees.
    replaced: Vec<Page>,
    now: Moment,
    purged: Moment,
}

/// From one purge to the next: measured, the history has what came within the last
/// second.
const PURGED_NS: u64 = 500_000_000;

impl Innodb {
    /// A database after loading, with an empty buffer pool, which writes changed pages beside
    /// one that is written or not.
    pub(crate) fn new(opening: &Opening<'_>, writes_neighbors: bool) -> Result<Self, EngineError> {
        let Opening {
            workload,
            page_size,
            memory,
            miniature,
            replacement,
            ..
        } = *opening;
        EngineError::check_size(workload, page_size)?;
        let mut pages = Pages::default();
        let mut files = Files::default();
        let undo = Undo::new(page_size.get(), &mut pages);
        files.grow(File::System, pages.count());
        let tables = lay_out(workload, page_size, &mut pages, &mut files);
        EngineError::check_pages(&pages, workload, page_size)?;
        let log = Log::new(miniature);
        let pool = Pool::new(
            opening,
            pages.count(),
            files,
            writes_neighbors,
            log.capacity(),
        );
        let mut pool = pool.ok_or(EngineError::Memory { memory, page_size })?;
        pool.replace(replacement);
        // A server that starts reads these before anything else, and they are young.
        for page in undo.known_at_start() {
            pool.refer(
                Reference::new(page, Access::Read),
                false,
                0,
                &mut Vec::new(),
            );
        }
        Ok(Self {
            page: page_size.get(),
            tables,
            pool,
            arriving: Arriving::default(),
            pages,
            log,
            undo,
            heaps: Heaps::default(),
            steps: Steps::default(),
            deleted: Vec::new(),
            replaced: Vec::new(),
            now: Moment::START,
            purged: Moment::START,
        })
    }

    /// The undo record of a change, and what it adds to the log.
    fn undo(&mut self, bytes: f64, is_first: bool) {
        if is_first {
            let is_new = self.undo.begin(&mut self.pages, &mut self.steps);
            self.log.add(match is_new {
                true => log::UNDO_CREATED,
                false => log::UNDO_REUSED,
            });
        }
        self.log.add(bytes);
        self.undo
            .append(bytes as u32, &mut self.pages, &mut self.steps);
        self.pool.extend(File::System, self.pages.count());
    }

    /// Does what a statement does; whether it changed something. `is_first` where nothing
    /// was changed before it.
    fn touch(&mut self, touch: &Touch, is_first: bool) -> bool {
        let table = touch.table.0;
        if touch.action != Action::Insert {
            self.estimate(touch);
            self.look_around(touch);
        }
        let is_index = matches!(touch.by, AccessPath::Index(_));
        if touch.action == Action::Read {
            let TableTrees { rows, indexes, .. } = &self.tables[table];
            let tree = match touch.by {
                AccessPath::Index(index) => &indexes[index],
                AccessPath::Key | AccessPath::Entry => rows,
            };
            tree.read(touch.first, touch.rows, &mut self.steps);
            return false;
        }
        let bytes = &self.tables[table].bytes;
        let (row, key, columns) = (bytes.row, bytes.key, bytes.key_columns);
        match touch.action {
            Action::Read => {}
            Action::Insert if is_index => {
                let AccessPath::Index(index) = touch.by else {
                    return false;
                };
                let entry = bytes.entries.get(index).copied().unwrap_or(row);
                self.insert(touch, entry, key);
            }
            Action::Insert => {
                self.undo(log::undo_of_insert(key, columns), is_first);
                self.insert(touch, row, key);
            }
            Action::Delete => {
                // It is only marked; the purge removes it. Entries have no undo of their own.
                if !is_index {
                    self.undo(log::undo_of_update(key, columns, 0), is_first);
                }
                self.log.add(log::DELETE_MARK);
                let tree = self.tables[table].tree(touch.by);
                tree.update(touch.first, 1, 0, &mut self.pages, &mut self.steps);
                self.deleted.push((table, touch.by, touch.first));
            }
            Action::Update { grows } => {
                let is_external = bytes.external.meet(touch.columns);
                // What has pages of its own keeps them: the undo record has where they are.
                let changed = match is_external {
                    true => EXTERN_POINTER,
                    false => touch.changed,
                };
                for _ in 0..touch.rows {
                    let undo = log::undo_of_update(key, columns, changed);
                    self.undo(undo, is_first);
                }
                match is_external {
                    true => self.renew(touch),
                    false => self.update(touch, grows > 0),
                }
            }
        }
        true
    }

    /// Rows are looked for behind the last pointer that is smaller
    /// (`btr_cur_t::search_leaf`, `PAGE_CUR_GE`): that of the first row of a leaf leads to
    /// the leaf before. What changes rows, or wants several, goes on to the row behind
    /// them. (That a change of one row does was found by counting pages in buffer pools:
    /// of 500 transactions of YCSB A, 754 of 4 KiB, where 682 have the rows or are before
    /// them.)
    fn look_around(&mut self, touch: &Touch) {
        let TableTrees { rows, indexes, .. } = &self.tables[touch.table.0];
        let tree = match touch.by {
            AccessPath::Index(index) => &indexes[index],
            AccessPath::Key | AccessPath::Entry => rows,
        };
        if let Some(page) = tree.before_first(touch.first) {
            self.steps.read(page);
        }
        if touch.action != Action::Read || touch.rows > 1 {
            let places = tree.read(touch.first, touch.rows, &mut Steps::default());
            let last = places.last().copied().unwrap_or(touch.first);
            if let Some(page) = tree.behind_last(last) {
                self.steps.read(page);
            }
        }
    }

    /// Where the key could be used as well as an index, the optimizer asks how many rows
    /// there are with the values that both begin with (`ha_innobase::records_in_range`),
    /// before each execution: of a read by an index in the key's tree; of a change by the
    /// key in the index's, though one row is wanted (a read of one is known to be that
    /// beforehand). Seen in `INNODB_BUFFER_PAGE`: TPC-C with 16 KiB pages has 364 of 405 pages
    /// of the customers' names and 249 of the orders' in a pool of 3,042, which else would be
    /// wanted seldom.
    fn estimate(&mut self, touch: &Touch) {
        let TableTrees {
            rows,
            indexes,
            bytes,
        } = &self.tables[touch.table.0];
        let is_read = touch.action == Action::Read;
        let ranges = bytes
            .groups
            .iter()
            .enumerate()
            .filter_map(|(index, group)| {
                let tree = match touch.by {
                    AccessPath::Index(own) if own == index && is_read => rows,
                    AccessPath::Key if !is_read => &indexes[index],
                    _ => return None,
                };
                Some((tree, (*group)?))
            });
        for (tree, group) in ranges {
            let first = touch.first.initial / group * group;
            let last = Place::behind(first + group - 1, u64::MAX - 1);
            tree.read_borders(Place::initial(first), last, ESTIMATED_BY, &mut self.steps);
        }
    }

    fn insert(&mut self, touch: &Touch, row: f64, key: f64) {
        let TableTrees {
            rows,
            indexes,
            bytes,
        } = &mut self.tables[touch.table.0];
        let tree = match touch.by {
            AccessPath::Index(index) => &mut indexes[index],
            AccessPath::Key | AccessPath::Entry => rows,
        };
        self.log.add(log::insert(row, key));
        let (page, left) = tree.room(touch.first);
        let taken = self.pages.changes();
        tree.insert(touch.first, &mut self.pages, &mut self.steps);
        if self.pages.changes() != taken {
            self.heaps.forget(page);
            // Rows without a key come last of all, and no other one moves.
            let moved = if bytes.is_in_order {
                0.0
            } else {
                SPLIT_BY_INSERT
            };
            self.log.add(SPLIT + moved * f64::from(self.page));
        } else if self.heaps.put(page, left, row as u32 + 1, 0) {
            self.log.add(IN_ORDER * f64::from(self.page));
        }
    }

    /// Replaces values of rows: where they are, or with the whole row where its size
    /// changes (`row_upd_changes_field_size_or_external`).
    fn update(&mut self, touch: &Touch, grows: bool) {
        let TableTrees { rows, bytes, .. } = &mut self.tables[touch.table.0];
        let grown = if grows { bytes.nulls } else { 0 };
        let is_text = touch.changed > log::NUMBERS_MAX;
        let is_replaced = grown > 0 || (is_text && bytes.varies);
        if !is_replaced {
            self.log
                .add(log::update(touch.changed) * f64::from(touch.rows));
            rows.update(touch.first, touch.rows, 0, &mut self.pages, &mut self.steps);
            return;
        }
        let new = bytes.row as u32 + 1;
        let places = rows.read(touch.first, touch.rows, &mut Steps::default());
        for place in places {
            self.log.add(log::replace(bytes.row, bytes.key));
            let (page, left) = rows.room(place);
            let taken = self.pages.changes();
            rows.update(place, 1, grown, &mut self.pages, &mut self.steps);
            if self.pages.changes() != taken {
                self.heaps.forget(page);
                self.log.add(SPLIT + SPLIT_BY_GROWTH * f64::from(self.page));
            } else if self.heaps.put(page, left, new, new.saturating_sub(grown)) {
                let share = if grown > 0 { IN_ORDER } else { HERE_AND_THERE };
                self.log.add(share * f64::from(self.page));
            }
        }
    }

    /// Replaces values of rows that are on pages of their own: they get new ones, and the purge frees the old
    /// ones (`btr_store_big_rec_extern_fields`, `btr_free_externally_stored_field`). All of the values that are
    /// set are taken for such.
    fn renew(&mut self, touch: &Touch) {
        let TableTrees { rows, bytes, .. } = &mut self.tables[touch.table.0];
        let places = rows.read(touch.first, touch.rows, &mut self.steps);
        for place in places {
            let old = rows.renew(place, &mut self.pages, &mut self.steps);
            self.log
                .add(log::renew(bytes.row, bytes.key, touch.changed, old.len()));
            self.replaced.extend(old);
        }
    }

    /// Removes what is marked, and truncates the history, when it is time to.
    fn purge(&mut self) {
        if self.now.since(self.purged) >= PURGED_NS {
            self.purged = self.now;
            for (table, by, place) in std::mem::take(&mut self.deleted) {
                let tree = self.tables[table].tree(by);
                tree.remove(place, &mut self.pages, &mut self.steps);
            }
            for page in std::mem::take(&mut self.replaced) {
                // Each says which one is next.
                self.steps.read(page);
                self.pages.release(page);
            }
        }
    }

    /// Has the pool do all steps so far.
    fn refer(&mut self, referred: &mut Referred, ios: &mut Vec<Io>) {
        let lsn = self.log.lsn();
        for &step in self.steps.as_slice() {
            let (reference, is_new) = step.reference();
            let arriving = &mut self.arriving;
            self.pool
                .wait_for(reference, is_new, lsn, arriving, referred, ios);
        }
        self.steps.clear();
    }
}

impl Engine for Innodb {
    fn advance(&mut self, now: Moment, is_written: bool) {
        self.now = now;
        self.pool.advance(now, is_written);
    }

    fn set_clients(&mut self, clients: u32) {
        self.pool.set_clients(clients);
    }

    fn transaction(
        &mut self,
        _client: usize,
        touches: &[Touch],
        is_committed: bool,
        ios: &mut Vec<Io>,
    ) -> Referred {
        self.steps.clear();
        let mut referred = Referred::default();
        let before = self.log.lsn();
        let mut has_changed = false;
        for touch in touches {
            has_changed |= self.touch(touch, !has_changed);
            self.pool
                .extend(File::Table(touch.table.0), self.pages.count());
        }
        self.refer(&mut referred, ios);
        if has_changed && is_committed {
            self.log.flush(ios);
        } else if has_changed {
            // All is done again backwards, and not made durable.
            self.log.add((self.log.lsn() - before) as f64);
        }
        // In the background: nobody waits, but what is read is read.
        self.purge();
        let freed = self.undo.truncate(self.now, &mut self.steps);
        self.refer(&mut referred, ios);
        for page in freed.unwrap_or_default() {
            self.pool.forget(page);
        }
        self.pool.clean(self.now, self.log.lsn(), ios);
        referred.logged = self.log.lsn() - before;
        referred
    }

    fn arriving(&mut self) -> &mut Arriving {
        &mut self.arriving
    }

    fn frames(&self) -> u64 {
        u64::from(self.pool.frames())
    }

    fn pages(&self) -> u64 {
        self.pages.count().into()
    }

    fn size(&self) -> ByteCount {
        ByteCount::new(self.pool.place(Page::new(self.pages.count())))
    }
}
