//! Transactions on SQLite: from rows to pages, through its cache, to storage.

use octavo_buffer::{Frames, Outcome, Page, Pcache, Policy};
use octavo_units::ByteCount;
use octavo_workload::{
    schema::TableId,
    touch::{AccessPath, Action, Cursor, Place, Touch},
};

use super::{
    layout::{TableTrees, lay_out},
    log::Log,
    reader::Reader,
    values::Wanted,
};
use crate::{
    arriving::Arriving,
    engine::{Engine, EngineError, Grain, Opening, Referred},
    hashed::HashMap,
    io::{Io, Purpose},
    pages::{Pages, Step, Steps},
    replacement::{Buffer, Replacement},
    tree::Tree,
};

/// What SQLite keeps for a page in its cache besides the page (`EXTRA_SIZE`, the size of
/// its `MemPage`, in 64-bit builds).
const PAGE_OVERHEAD: u64 = 136;

/// The part of the memory that several clients' readers have: one in so many, as measured
/// ones (a commit empties their caches).
const READERS_SHARE: u64 = 8;

/// The page of the database's header.
const FIRST: Page = Page::new(0);

/// The cache of the connection that changes rows.
enum Cache {
    /// SQLite's own.
    Own(Pcache),
    /// One by another policy.
    Replaced(Buffer),
}

impl Cache {
    fn new(pages: u32, frames: Frames, replacement: &Replacement) -> Self {
        // SQLite's own holds a page less than it has frames.
        let held = Frames::new(frames.get() - 1).unwrap_or(frames);
        match replacement.open(pages, held) {
            Some(buffer) => Self::Replaced(buffer),
            None => Self::Own(Pcache::new(pages, frames)),
        }
    }

    fn policy(&mut self) -> &mut dyn Policy {
        match self {
            Self::Own(cache) => cache,
            Self::Replaced(buffer) => buffer.as_mut(),
        }
    }

    /// What a transaction changed is in the log.
    fn commit(&mut self, changed: &[Page]) {
        match self {
            Self::Own(cache) => {
                cache.commit();
            }
            Self::Replaced(buffer) => {
                for &page in changed {
                    buffer.clean(page);
                }
            }
        }
    }
}

/// See the module.
pub(crate) struct Sqlite {
    page: u32,
    tables: Vec<TableTrees>,
    pages: Pages,
    /// Of whatever changes rows; with one client of what reads them too.
    cache: Cache,
    /// Of what only reads, by clients; none with one.
    readers: Vec<Reader>,
    /// Transactions so far whose commits emptied the readers' caches.
    commits: u64,
    arriving: Arriving,
    /// Pages that the memory has room for, without what SQLite keeps besides.
    frames: u64,
    log: Log,
    steps: Steps,
    /// Rows by rowid of those inserted later into tables whose key has an index.
    rowids: HashMap<(TableId, Place), u64>,
    /// The leaf that a statement's cursor was at last, by table and path.
    leaves: HashMap<(TableId, AccessPath), Page>,
    changed: Vec<Page>,
    /// Pages that the cache has room to know of.
    known: u32,
}

impl Sqlite {
    /// A database after loading, with empty caches. Several clients have a connection each
    /// for what only reads, besides the one that all write through, as measured ones.
    pub(crate) fn new(opening: &Opening<'_>) -> Result<Self, EngineError> {
        let Opening {
            workload,
            page_size,
            memory,
            clients,
            replacement,
            ..
        } = *opening;
        let page = u64::from(page_size.get());
        EngineError::check_size(workload, page_size)?;
        let mut pages = Pages::default();
        let tables = lay_out(workload, page_size, &mut pages);
        EngineError::check_pages(&pages, workload, page_size)?;
        let (memory_of_all, clients) = (memory.get(), u64::from(clients));
        let for_readers = match clients {
            1 => 0,
            _ => memory_of_all / READERS_SHARE,
        };
        let frames = |bytes: u64| {
            // More frames than pages are as good as the most.
            let frames = (bytes / (page + PAGE_OVERHEAD)).min(Page::COUNT_MAX.into());
            Frames::new(frames as u32).ok_or(EngineError::Memory { memory, page_size })
        };
        let cached = frames(memory_of_all - for_readers)?;
        let readers = match clients {
            1 => Vec::new(),
            _ => vec![Reader::new(frames(for_readers / clients)?); clients as usize],
        };
        let known = pages.count();
        Ok(Self {
            page: page_size.get(),
            tables,
            cache: Cache::new(known, cached, replacement),
            readers,
            commits: 0,
            arriving: Arriving::default(),
            frames: (memory_of_all - for_readers) / page,
            log: Log::new(page_size),
            pages,
            steps: Steps::default(),
            rowids: HashMap::default(),
            leaves: HashMap::default(),
            changed: Vec::new(),
            known,
        })
    }

    fn touch(&mut self, touch: &Touch) {
        let Self {
            tables,
            pages,
            steps,
            rowids,
            leaves,
            ..
        } = self;
        if touch.begins {
            steps.read(FIRST);
        }
        let TableTrees {
            rows,
            values,
            key,
            indexes,
        } = &mut tables[touch.table.0];
        let wanted = match touch.action {
            Action::Update { .. } => Wanted::Kept,
            _ => Wanted::Named,
        };
        rows.refer_to_overflow(values.references_a_page(touch.columns, wanted));
        // A cursor keeps the root, and the way to its leaf if it goes on from there.
        let begin = steps.as_slice().len();
        let is_new = touch.cursor == Cursor::New;
        match (touch.by, key) {
            (AccessPath::Key, Some(key)) => {
                let places = apply(
                    key,
                    touch.first,
                    touch.rows,
                    key_action(touch.action),
                    pages,
                    steps,
                );
                steps.hold(begin..begin + usize::from(!is_new));
                let mut cursor = None;
                for place in places {
                    // The row is where its rowid is: behind all others if it is new.
                    let next = rowids.len() as u64;
                    let row = match place.later {
                        0 => place,
                        _ => rows.numbered(*rowids.entry((touch.table, place)).or_insert(next)),
                    };
                    let (begin, height) = (steps.as_slice().len(), rows.height());
                    apply(rows, row, 1, touch.action, pages, steps);
                    let leaf = steps.as_slice()[begin + height - 1];
                    let leaf = leaf.reference().0.page();
                    let held = held(cursor, row, leaf, height).max(usize::from(!is_new));
                    steps.hold(begin..begin + held);
                    cursor = Some((row, leaf));
                }
            }
            (by, _) => {
                let tree = match by {
                    AccessPath::Index(index) => &mut indexes[index],
                    AccessPath::Key | AccessPath::Entry => rows,
                };
                let height = tree.height();
                apply(tree, touch.first, touch.rows, touch.action, pages, steps);
                let page = |step: &Step| step.reference().0.page();
                let leaf = steps.as_slice().get(begin + height - 1).map(page);
                let last = steps.as_slice().last().map(page);
                let at = (touch.table, by);
                let held = match touch.cursor {
                    Cursor::New => 0,
                    Cursor::Seeks => 1,
                    Cursor::Continues if leaf == leaves.get(&at).copied() => height,
                    Cursor::Continues => height - 1,
                };
                steps.hold(begin..begin + held);
                if let Some(last) = last {
                    leaves.insert(at, last);
                }
            }
        }
    }
}

/// How many pages of the way to a row's leaf, which has so many, a statement's cursor still
/// has that was at another row: to the next rowid it goes by `sqlite3BtreeNext`, from leaf to
/// leaf below a page that it has, and to any other from the root.
fn held(cursor: Option<(Place, Page)>, row: Place, leaf: Page, height: usize) -> usize {
    let Some((before, its_leaf)) = cursor else {
        return 0;
    };
    let next = [
        Place::initial(before.initial + 1),
        Place::behind(before.initial, before.later),
    ];
    match (next.contains(&row), its_leaf == leaf) {
        (true, true) => height,
        (true, false) => height - 1,
        // The root.
        (false, _) => 1,
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
        client: usize,
        touches: &[Touch],
        is_committed: bool,
        ios: &mut Vec<Io>,
    ) -> Referred {
        self.steps.clear();
        let taken = self.pages.changes();
        for touch in touches {
            self.touch(touch);
        }
        if self.pages.changes() != taken {
            // The header has the database's size and its free pages.
            self.steps.change(FIRST);
        }
        let only_reads = !touches.iter().any(Touch::is_change);
        let mut reader = match only_reads {
            true => self.readers.get_mut(client),
            false => None,
        };
        if let Some(reader) = &mut reader {
            self.log.begin_read(client);
            reader.begin(self.commits);
        }
        if self.pages.count() > self.known {
            self.known = self.pages.count().saturating_mul(2);
            self.cache.policy().extend(self.known);
        }
        self.changed.clear();
        let mut referred = Referred::default();
        for &step in self.steps.as_slice() {
            let (reference, is_new) = step.reference();
            let page = reference.page();
            let outcome = match &mut reader {
                Some(reader) => reader.access(reference),
                None => self.cache.policy().access(reference),
            };
            // Connections do not share what they read.
            if matches!(outcome, Outcome::Miss(_)) && !is_new {
                referred.misses += 1;
                self.arriving.miss(page, self.log.read(page), ios);
            } else if matches!(step, Step::Refer(_)) {
                // SQLite does not ask its cache again for what a cursor has, and counts no
                // new page.
                referred.hits += 1;
            }
            if reference.is_change() {
                self.changed.push(page);
            }
        }
        self.changed.sort_unstable();
        self.changed.dedup();
        if is_committed {
            self.cache.commit(&self.changed);
            if !self.changed.is_empty() {
                self.commits += 1;
                self.log.commit(&self.changed, ios);
            }
        } else {
            // What was changed is read again.
            for &page in &self.changed {
                self.cache.policy().forget(page);
            }
        }
        let logged = ios.iter().filter(|io| io.purpose == Purpose::LogWrite);
        referred.logged = logged.map(|io| u64::from(io.request.length)).sum();
        referred
    }

    fn end(&mut self, client: usize) {
        self.log.end_read(client);
    }

    fn grain(&self) -> Grain {
        Grain::Database
    }

    fn arriving(&mut self) -> &mut Arriving {
        &mut self.arriving
    }

    fn frames(&self) -> u64 {
        self.frames
    }

    fn pages(&self) -> u64 {
        self.pages.count().into()
    }

    fn size(&self) -> ByteCount {
        ByteCount::new(self.log.data() + u64::from(self.pages.count()) * u64::from(self.page))
    }
}
#[cfg(test)]
mod tests {
    use octavo_units::{PageSize, Seed, mix};
    use octavo_workload::{Outcome, Pgbench, Tpcc, Workload, Ycsb, ycsb::Core};

    use super::*;

    #[test]
    fn a_cursor_goes_from_row_to_row_by_hand() {
        let leaf = Page::new;
        let at = |row| Place::initial(row);
        assert_eq!(held(None, at(7), leaf(1), 3), 0);
        assert_eq!(held(Some((at(7), leaf(1))), at(8), leaf(1), 3), 3);
        assert_eq!(held(Some((at(7), leaf(1))), at(8), leaf(2), 3), 2);
        assert_eq!(held(Some((at(7), leaf(1))), at(9), leaf(1), 3), 1);
        // Rows that came later, the first of them behind the last initial one.
        let later = |number| Place::behind(7, number);
        assert_eq!(held(Some((at(7), leaf(1))), later(0), leaf(1), 3), 3);
        assert_eq!(held(Some((later(0), leaf(1))), later(1), leaf(2), 3), 2);
        assert_eq!(held(Some((later(0), leaf(1))), later(2), leaf(1), 1), 1);
    }

    /// Counted in SQLite 3.54 (`SQLITE_DBSTATUS_CACHE_HIT` and `_MISS`) in 4,000 transactions
    /// each, in pages of 4 KiB, on data that `VACUUM` had packed: 141.61 and 10.59 references
    /// a transaction. Stock-Level's join has 35.3 of them, since its cursors keep the root;
    /// a read-modify-write refers to the first page twice, as two transactions.
    #[test]
    fn references_are_those_that_sqlite_counts() {
        let tpcc = Tpcc::new(1, Seed::new(1)).unwrap();
        let ycsb = Ycsb::new(50_000, Seed::new(1)).unwrap().with_core(Core::F);
        let both: [(&dyn Workload, f64); 2] = [(&tpcc, 141.61), (&ycsb, 10.59)];
        for (workload, counted) in both {
            let memory = ByteCount::mib(500);
            let mut engine =
                Sqlite::new(&Opening::whole(workload, PageSize::kib(4), memory)).unwrap();
            let mut client = workload.clients(Seed::new(2), 1).remove(0);
            let (mut tracer, mut ios, mut references) = (workload.touch_tracer(), Vec::new(), 0);
            for _ in 0..4000 {
                client.draw();
                let is_committed = client.run(&mut tracer).unwrap() == Outcome::Committed;
                let referred = engine.transaction(0, tracer.touches(), is_committed, &mut ios);
                references += referred.hits + referred.misses;
                tracer.forget();
                ios.clear();
            }
            let each = references as f64 / 4000.0;
            let error = each / counted - 1.0;
            assert!(error.abs() < 0.01, "{each} of {counted}");
        }
    }

    /// Counted in SQLite 3.40: a file of a million accounts in pages of 2 KiB, which
    /// `VACUUM INTO` filled, had so many pages more after 10,000 to 40,000 updates of random
    /// balances. A leaf has 21 rows and nearly always 3 bytes left; a balance takes 2 more
    /// once it is not 0.
    const GROWN: [f64; 4] = [772.0, 2406.0, 4215.0, 5763.0];

    #[test]
    fn full_leaves_split_as_in_sqlite() {
        let workload = Pgbench::new(10, Seed::new(1)).unwrap();
        let mut pages = Pages::default();
        let mut tables = lay_out(&workload, PageSize::kib(2), &mut pages);
        let is_accounts = |name: &str| name == "pgbench_accounts";
        let mut names = workload.tables().iter().map(|table| table.name);
        let accounts = names.position(is_accounts).unwrap();
        let (loaded, mut steps) = (pages.count(), Steps::default());
        let mut changed = std::collections::HashSet::new();
        for (number, grown) in GROWN.into_iter().enumerate() {
            for number in (number as u64 * 10_000..).take(10_000) {
                let row = mix(number) % 1_000_000;
                let grows = if changed.insert(row) { 2 } else { 0 };
                let (tree, action) = (&mut tables[accounts].rows, Action::Update { grows });
                apply(tree, Place::initial(row), 1, action, &mut pages, &mut steps);
                steps.clear();
            }
            let error = f64::from(pages.count() - loaded) / grown - 1.0;
            assert!(error.abs() < 0.1, "{number}: {error}");
        }
    }
}
