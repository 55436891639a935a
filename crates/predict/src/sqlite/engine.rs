//! Transactions on SQLite: from rows to pages, which its pager has.

use octavo_buffer::Page;
use octavo_units::ByteCount;
use octavo_workload::{
    schema::TableId,
    touch::{AccessPath, Action, Cursor, Place, Touch},
};

use super::{
    layout::{TableTrees, lay_out},
    pager::{PageStep, Pager, Part},
    values::Wanted,
};
use crate::{
    arriving::Arriving,
    engine::{Engine, EngineError, Grain, Opening, Referred},
    hashed::HashMap,
    io::Io,
    pages::{Pages, Step, Steps},
    tree::Tree,
};

/// The page of the database's header.
const FIRST: Page = Page::new(0);

/// See the module.
pub(crate) struct Sqlite {
    tables: Vec<TableTrees>,
    pages: Pages,
    pager: Pager,
    steps: Steps,
    /// Rows by rowid of those inserted later into tables whose key has an index.
    rowids: HashMap<(TableId, Place), u64>,
    /// The leaf that a statement's cursor was at last, by table and path.
    leaves: HashMap<(TableId, AccessPath), Page>,
}

impl Sqlite {
    /// A database after loading, with empty caches. Several clients have a connection each
    /// for what only reads, besides the one that all write through, as measured ones.
    pub(crate) fn new(opening: &Opening<'_>) -> Result<Self, EngineError> {
        let Opening {
            workload,
            page_size,
            ..
        } = *opening;
        EngineError::check_size(workload, page_size)?;
        let mut pages = Pages::default();
        let tables = lay_out(workload, page_size, &mut pages);
        EngineError::check_pages(&pages, workload, page_size)?;
        Ok(Self {
            pager: Pager::new(opening, pages.count())?,
            tables,
            pages,
            steps: Steps::default(),
            rowids: HashMap::default(),
            leaves: HashMap::default(),
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
        rows.replace_at(values.replaced(touch.columns));
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
        let part = Part {
            only_reads: !touches.iter().any(Touch::is_change),
            is_committed,
        };
        self.pager.know(self.pages.count());
        let steps = self.steps.as_slice().iter();
        let steps = steps.map(|step| {
            let (reference, is_new) = step.reference();
            // SQLite does not ask its cache again for what a cursor has, and counts no new page.
            let is_counted = matches!(step, Step::Refer(_));
            PageStep {
                reference,
                is_new,
                is_counted,
            }
        });
        self.pager.execute(client, part, steps, ios)
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
        self.pages.count().into()
    }

    fn size(&self) -> ByteCount {
        self.pager.size(self.pages.count())
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
