//! One client, which counts what it does.

use std::{
    cell::Cell,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    thread::{self, ThreadId},
    time::{Duration, Instant},
};

use octavo_units::{ByteCount, PageSize};
use octavo_workload::{Result, connection::Access};

use super::{
    counted::{CommitTimes, Counted},
    library::{Library, Trees as _},
    usage::{ThreadUsage, ThreadWrites, Writes},
};
use crate::keyed::{Engine, Order, TreeId, Visit};

/// What clients did, all of them together.
#[derive(Debug)]
pub(super) struct Tally {
    page_bytes: u64,
    references: AtomicU64,
    /// Commits that wrote.
    commits: AtomicU64,
    faults: AtomicU64,
    read_bytes: AtomicU64,
    write_calls: AtomicU64,
    written_bytes: AtomicU64,
    write_nanoseconds: AtomicU64,
    sync_nanoseconds: AtomicU64,
    read_nanoseconds: AtomicU64,
}

impl Tally {
    /// Of a database with pages of this size.
    pub(super) fn new(page_size: PageSize) -> Self {
        Self {
            page_bytes: page_size.get().into(),
            references: AtomicU64::default(),
            commits: AtomicU64::default(),
            faults: AtomicU64::default(),
            read_bytes: AtomicU64::default(),
            write_calls: AtomicU64::default(),
            written_bytes: AtomicU64::default(),
            write_nanoseconds: AtomicU64::default(),
            sync_nanoseconds: AtomicU64::default(),
            read_nanoseconds: AtomicU64::default(),
        }
    }

    fn add(&self, counted: &Counted) {
        let time = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let Counted {
            references,
            commits,
            usage,
            write_calls,
            written,
            times,
            reading,
        } = *counted;
        for (counter, count) in [
            (&self.references, references),
            (&self.commits, commits),
            (&self.faults, usage.faults),
            (&self.read_bytes, usage.read.get()),
            (&self.write_calls, write_calls),
            (&self.written_bytes, written.get()),
            (&self.write_nanoseconds, time(times.write)),
            (&self.sync_nanoseconds, time(times.sync)),
            (&self.read_nanoseconds, time(reading)),
        ] {
            // Most transactions find all in memory.
            if count > 0 {
                counter.fetch_add(count, Relaxed);
            }
        }
    }

    /// Pages that were missed, by their bytes.
    pub(super) fn misses(&self) -> u64 {
        self.read_bytes.load(Relaxed) / self.page_bytes
    }

    pub(super) fn counted(&self) -> Counted {
        let count = |counter: &AtomicU64| counter.load(Relaxed);
        Counted {
            references: count(&self.references),
            commits: count(&self.commits),
            usage: ThreadUsage {
                faults: count(&self.faults),
                read: ByteCount::new(count(&self.read_bytes)),
                ..ThreadUsage::default()
            },
            write_calls: count(&self.write_calls),
            written: ByteCount::new(count(&self.written_bytes)),
            times: CommitTimes {
                write: Duration::from_nanos(count(&self.write_nanoseconds)),
                sync: Duration::from_nanos(count(&self.sync_nanoseconds)),
            },
            reading: Duration::from_nanos(count(&self.read_nanoseconds)),
        }
    }
}

/// How many clients this process has had.
static CLIENTS: AtomicU64 = AtomicU64::new(0);

thread_local! {
    /// The client that worked last in this thread; 0 is none.
    static LAST: Cell<u64> = const { Cell::new(0) };
}

/// A client.
pub(super) struct Client<L: Library> {
    own: L::Trees,
    /// Pages from the root to a leaf, by tree, when it connected.
    depths: Arc<[u32]>,
    tally: Arc<Tally>,
    /// Since the transaction began.
    references: Cell<u64>,
    /// That of the last transaction.
    thread: Option<Thread>,
    /// No other client of this process has it.
    number: u64,
}

impl<L: Library> Client<L> {
    /// Of an environment with this many trees.
    pub(super) fn new(
        environment: &Arc<L::Environment>,
        trees: usize,
        tally: &Arc<Tally>,
    ) -> Result<Self> {
        let mut own = L::trees(environment)?;
        own.begin_read()?;
        let depths = (0..trees).map(|tree| own.depth(TreeId(tree)));
        let depths = depths.collect::<Result<_>>()?;
        own.rollback()?;
        Ok(Self {
            own,
            depths,
            tally: Arc::clone(tally),
            references: Cell::new(0),
            thread: None,
            number: CLIENTS.fetch_add(1, Relaxed) + 1,
        })
    }

    fn refer(&self, tree: TreeId) {
        let depth = u64::from(self.depths[tree.0]);
        self.references.set(self.references.get() + depth);
    }

    /// A node of more than half a page is on pages of its own, the first of which has a header.
    fn refer_to_long(&self, key: &[u8], value: &[u8]) {
        let page = self.tally.page_bytes;
        if L::is_long(key.len() as u64 + value.len() as u64, page) {
            let pages = (L::PAGE_HEADER + value.len() as u64).div_ceil(page);
            self.references.set(self.references.get() + pages);
        }
    }

    /// What the thread does between transactions is not the database's, and next to no I/O, unless it is
    /// another client's.
    fn begin_to_count(&mut self) {
        let id = thread::current().id();
        let begun = Instant::now();
        let is_last = LAST.replace(self.number) == self.number;
        match &mut self.thread {
            Some(thread) if thread.id == id && is_last => thread.begun = begun,
            _ => {
                self.thread = Some(Thread {
                    id,
                    begun,
                    asked: begun,
                    usage: ThreadUsage::now(),
                    writes: ThreadWrites::here(),
                });
            }
        }
    }

    fn count(&mut self, times: CommitTimes, written: Writes) {
        let counted = self.thread.as_mut().map(|thread| thread.count(times));
        let counted = counted.unwrap_or_default();
        self.tally.add(&Counted {
            references: self.references.take(),
            commits: u64::from(written.bytes > 0),
            write_calls: written.calls,
            written: ByteCount::new(written.bytes),
            times,
            ..counted
        });
    }
}

/// A quicker transaction waited for no page. What its thread used is counted with the next one: asking
/// the kernel each time made reads that find all in memory 11% slower.
const NO_READ: Duration = Duration::from_micros(4);

/// The thread that a client works in.
struct Thread {
    id: ThreadId,
    /// When the transaction had begun; a writer had its turn.
    begun: Instant,
    /// When the kernel was asked last, and what it said.
    asked: Instant,
    usage: ThreadUsage,
    writes: ThreadWrites,
}

impl Thread {
    /// What it used since it was asked last.
    fn count(&mut self, times: CommitTimes) -> Counted {
        let now = Instant::now();
        let elapsed = now - self.begun;
        if elapsed < NO_READ {
            return Counted::default();
        }
        let all = ThreadUsage::now();
        let usage = all.since(self.usage);
        let since = now - self.asked;
        (self.usage, self.asked) = (all, now);
        // Whatever the library did not use since then; a load that keeps a pace waits between
        // transactions too.
        let others = since.saturating_sub(usage.user).min(elapsed);
        let reading = match usage.faults {
            0 => Duration::ZERO,
            _ => others.saturating_sub(times.write + times.sync),
        };
        Counted {
            usage,
            reading,
            ..Counted::default()
        }
    }
}

impl<L: Library> Engine for Client<L> {
    fn begin(&mut self, access: Access) -> Result<()> {
        match access {
            Access::Read => self.own.begin_read(),
            // Writers take turns, so each is as if it were alone.
            Access::Write | Access::WriteRepeatable | Access::WriteSerializable => {
                self.own.begin_write()
            }
        }?;
        self.begin_to_count();
        Ok(())
    }

    fn commit(&mut self) -> Result<()> {
        let is_writer = self.own.writes();
        let times = self.own.commit();
        let thread = self.thread.as_mut().filter(|_| is_writer);
        let mut written = thread.map_or_else(Writes::default, |thread| thread.writes.since_last());
        // It ends with a record of some hundred bytes in a meta page, for which the page cache writes
        // a whole page.
        written.bytes = written
            .bytes
            .next_multiple_of(rustix::param::page_size() as u64);
        let known = times.as_ref().ok().copied().flatten();
        self.count(known.unwrap_or_default(), written);
        times.map(|_| ())
    }

    fn rollback(&mut self) -> Result<()> {
        let done = self.own.rollback();
        self.count(CommitTimes::default(), Writes::default());
        done
    }

    fn get<R>(&self, tree: TreeId, key: &[u8], take: impl FnOnce(&[u8]) -> R) -> Result<Option<R>> {
        self.refer(tree);
        self.own.get(tree, key, |value| {
            self.refer_to_long(key, value);
            take(value)
        })
    }

    fn range(&self, tree: TreeId, from: &[u8], order: Order, visit: &mut Visit<'_>) -> Result<()> {
        self.refer(tree);
        let page = |bytes: &[u8]| bytes.as_ptr().addr() as u64 / self.tally.page_bytes;
        let mut leaf = None;
        self.own.range(tree, from, order, &mut |key, value| {
            let on = page(key);
            if leaf.replace(on).is_some_and(|leaf| leaf != on) {
                self.references.set(self.references.get() + 1);
            }
            self.refer_to_long(key, value);
            visit(key, value)
        })
    }

    fn insert(&mut self, tree: TreeId, key: &[u8], value: &[u8]) -> Result<bool> {
        self.refer(tree);
        self.own.insert(tree, key, value, false)
    }

    fn put(&mut self, tree: TreeId, key: &[u8], value: &[u8]) -> Result<()> {
        self.refer(tree);
        self.own.put(tree, key, value)
    }

    fn delete(&mut self, tree: TreeId, key: &[u8]) -> Result<()> {
        self.refer(tree);
        self.own.delete(tree, key)
    }
}
