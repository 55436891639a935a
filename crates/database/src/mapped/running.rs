//! A started store.

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
};

use octavo_units::ByteCount;
use octavo_workload::{Connection, ConnectionError, Workload};

use super::{
    client::{Client, Tally},
    fatal_signal,
    library::{Library, Purpose, READAHEAD, Words},
};
use crate::{
    Counters, DatabaseKind, Result, Running, Settings, StoragePath,
    keyed::{
        Layout, Plans, Session,
        session::{Numbers, numbers},
    },
    server::{memory::MemoryGroup, memory_limiter::MemoryLimiter, seat::Seat},
};

/// This process is never ended for what it takes: it is Octavo. So the group has no limit between two
/// looks at its page cache.
const NO_LIMIT: ByteCount = ByteCount::new(1 << 60);

pub(super) struct RunningMapped<L: Library> {
    environment: Arc<L::Environment>,
    file: PathBuf,
    clients: u32,
    readahead: bool,
    layout: Arc<Layout>,
    plans: Arc<Plans>,
    numbers: Numbers,
    tally: Arc<Tally>,
    /// What was told last.
    told: Mutex<Counters>,
    /// The last to be dropped: this process leaves the group when nothing maps the file any more.
    limited: Result<Limited, String>,
}

/// This process in a group of its own, whose page cache is limited.
struct Limited {
    /// Dropped first: this process leaves the group before that goes.
    seat: Seat,
    limiter: MemoryLimiter,
    kind: &'static str,
    /// Whether this process could not be moved at some time.
    has_failed: AtomicBool,
}

impl Limited {
    fn new(memory: ByteCount) -> Result<Self, String> {
        let group = Arc::new(MemoryGroup::create()?);
        let seat = Seat::new(Arc::clone(&group))?;
        let kind = group.kind();
        seat.enter().map_err(|error| error.to_string())?;
        Ok(Self {
            limiter: MemoryLimiter::start(group, memory, memory, NO_LIMIT, NO_LIMIT),
            seat,
            kind,
            has_failed: AtomicBool::new(false),
        })
    }

    fn is_held(&self) -> bool {
        self.limiter.held() && !self.has_failed.load(Relaxed)
    }
}

impl<L: Library> RunningMapped<L> {
    pub(super) fn start(
        kind: &'static DatabaseKind,
        file: &Path,
        readahead: bool,
        settings: &Settings,
        workload: &dyn Workload,
    ) -> Result<Self> {
        let layout = Arc::new(Layout::new(workload));
        let plans = Arc::new(Plans::new(workload, &layout)?);
        fatal_signal::explain();
        // Before the first page is read, so that all are charged there.
        let limited = Limited::new(settings.memory);
        let clients = settings.clients;
        let purpose = Purpose::Run { readahead, clients };
        let environment = Arc::new(L::open(file, purpose, layout.trees())?);
        let page_size = L::page_size(&environment)?;
        if page_size != settings.page_size.get() {
            let reason = format!("the copy has pages of {page_size} bytes");
            return Err(kind.refuse("page size", settings.page_size, reason));
        }
        let tally = Arc::new(Tally::new(settings.page_size));
        let mut first = Client::<L>::new(&environment, layout.trees().len(), &tally)?;
        let numbers = numbers(&mut first, &layout)?;
        Ok(Self {
            limited,
            environment,
            file: file.to_owned(),
            clients,
            readahead,
            layout,
            plans,
            numbers,
            tally,
            told: Mutex::default(),
        })
    }
}

impl<L: Library> Running for RunningMapped<L> {
    fn connect(&self, client: u32) -> Result<Box<dyn Connection + Send>> {
        assert!(client < self.clients, "client {client} is too many");
        let engine = Client::<L>::new(&self.environment, self.layout.trees().len(), &self.tally)?;
        Ok(Box::new(Session::new(
            engine,
            Arc::clone(&self.layout),
            Arc::clone(&self.plans),
            Arc::clone(&self.numbers),
        )))
    }

    /// A miss is as many bytes of reads as a page has: the kernel reads parts of large pages, and
    /// several small ones at once.
    fn counters(&self) -> Counters {
        let counted = self.tally.counted();
        let operations = L::operations(&self.environment, &counted);
        let misses = self.tally.misses();
        let times = counted.times;
        let now = Counters {
            buffer_hits: counted.references.saturating_sub(misses),
            buffer_misses: misses,
            reads: counted.usage.faults,
            read_bytes: counted.usage.read,
            read_time: counted.reading,
            data_writes: operations.writes,
            data_written_bytes: counted.written,
            write_time: times.write,
            syncs: operations.syncs,
            sync_time: times.sync,
            checkpoint_time: times.write + times.sync,
            ..Counters::default()
        };
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        *told = told.max(now);
        *told
    }

    fn conditions(&self) -> Vec<(&'static str, String)> {
        let memory = match &self.limited {
            Ok(limited) => format!(
                "page cache, held to that by a control group ({}) that this process is in while \
                 it is at work, besides changed pages of transactions",
                limited.kind
            ),
            Err(why) => format!("page cache without a limit ({why})"),
        };
        let Words { sync, map, page } = L::WORDS;
        vec![
            ("version", L::version()),
            ("memory", memory),
            ("sync", sync.into()),
            (READAHEAD, if self.readahead { "on" } else { "off" }.into()),
            ("map", map.into()),
            (
                "isolation",
                "serializable: one writer, and readers of snapshots".into(),
            ),
            (
                "torn_page_protection",
                "copy on write, without a log".into(),
            ),
            (
                "rows",
                format!("a tree of keys and values for each table and index ({page})"),
            ),
            ("unchecked", "foreign keys and conditions of columns".into()),
        ]
    }

    fn storage_path(&self) -> StoragePath {
        match &self.limited {
            Ok(limited) if limited.is_held() => StoragePath::Limited,
            _ => StoragePath::PageCache,
        }
    }

    fn freeze(&self) -> Result<()> {
        if let Ok(limited) = &self.limited {
            limited.limiter.pause(true);
            if limited.seat.leave().is_err() {
                limited.has_failed.store(true, Relaxed);
            }
        }
        Ok(())
    }

    fn thaw(&self) -> Result<()> {
        if let Ok(limited) = &self.limited {
            if limited.seat.enter().is_err() {
                limited.has_failed.store(true, Relaxed);
            }
            limited.limiter.pause(false);
        }
        Ok(())
    }

    fn stop(self: Box<Self>) -> Result<()> {
        let Self {
            environment, file, ..
        } = *self;
        let Some(environment) = Arc::into_inner(environment) else {
            return Err(ConnectionError::other(
                format!("stop {}", file.display()),
                "a client's connection is still open; drop it before",
            )
            .into());
        };
        Ok(L::flush(&environment)?)
    }
}
