//! SQLite's pages: from references through its caches and its log to storage.

use octavo_buffer::{Frames, Outcome, Page, Pcache, Policy, Reference};
use octavo_units::ByteCount;

use super::{log::Log, reader::Reader};
use crate::{
    arriving::Arriving,
    engine::{EngineError, Opening, Referred},
    io::{Io, Purpose},
    replacement::{Buffer, Replacement},
};

/// What SQLite keeps for a page in its cache besides the page (`EXTRA_SIZE`, the size of
/// its `MemPage`, in 64-bit builds).
const PAGE_OVERHEAD: u64 = 136;

/// The part of the memory that several clients' readers have: one in so many, as measured
/// ones (a commit empties their caches).
const READERS_SHARE: u64 = 8;

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

/// A reference of a transaction.
#[derive(Clone, Copy, Debug)]
pub(super) struct PageStep {
    pub(super) reference: Reference,
    /// Whether the page has no content before, so that it is not read.
    pub(super) is_new: bool,
    /// Whether SQLite counts it where the cache has the page.
    pub(super) is_counted: bool,
}

/// What a transaction is besides its references.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    /// Whether it only reads: of several clients each has a connection for that.
    pub(super) only_reads: bool,
    pub(super) is_committed: bool,
}

/// See the module.
pub(super) struct Pager {
    page: u32,
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
    changed: Vec<Page>,
    /// Pages that the cache has room to know of.
    known: u32,
}

impl Pager {
    /// Of a database of `known` pages, with empty caches. Several clients have a connection each
    /// for what only reads, besides the one that all write through, as measured ones.
    pub(super) fn new(opening: &Opening<'_>, known: u32) -> Result<Self, EngineError> {
        let Opening {
            page_size,
            memory,
            clients,
            replacement,
            ..
        } = *opening;
        let page = u64::from(page_size.get());
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
        Ok(Self {
            page: page_size.get(),
            cache: Cache::new(known, cached, replacement),
            readers,
            commits: 0,
            arriving: Arriving::default(),
            frames: (memory_of_all - for_readers) / page,
            log: Log::new(page_size),
            changed: Vec::new(),
            known,
        })
    }

    /// The database has so many pages now.
    pub(super) fn know(&mut self, pages: u32) {
        if pages > self.known {
            self.known = pages.saturating_mul(2);
            self.cache.policy().extend(self.known);
        }
    }

    /// Executes a client's transaction, and appends what it asks of storage.
    pub(super) fn execute(
        &mut self,
        client: usize,
        part: Part,
        steps: impl Iterator<Item = PageStep>,
        ios: &mut Vec<Io>,
    ) -> Referred {
        let mut reader = match part.only_reads {
            true => self.readers.get_mut(client),
            false => None,
        };
        if let Some(reader) = &mut reader {
            self.log.begin_read(client);
            reader.begin(self.commits);
        }
        self.changed.clear();
        let mut referred = Referred::default();
        let begin = ios.len();
        for PageStep {
            reference,
            is_new,
            is_counted,
        } in steps
        {
            let page = reference.page();
            let outcome = match &mut reader {
                Some(reader) => reader.access(reference),
                None => self.cache.policy().access(reference),
            };
            // Connections do not share what they read.
            if matches!(outcome, Outcome::Miss(_)) && !is_new {
                referred.misses += 1;
                self.arriving.miss(page, self.log.read(page), ios);
            } else if is_counted {
                referred.hits += 1;
            }
            if reference.is_change() {
                self.changed.push(page);
            }
        }
        self.changed.sort_unstable();
        self.changed.dedup();
        if part.is_committed {
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
        let logged = ios[begin..].iter();
        let logged = logged.filter(|io| io.purpose == Purpose::LogWrite);
        referred.logged = logged.map(|io| u64::from(io.request.length)).sum();
        referred
    }

    /// A client's transaction is over.
    pub(super) fn end(&mut self, client: usize) {
        self.log.end_read(client);
    }

    pub(super) fn arriving(&mut self) -> &mut Arriving {
        &mut self.arriving
    }

    /// Whether what a checkpoint copies waits for its flush.
    pub(super) fn gathers_checkpoints(&self) -> bool {
        self.log.gathers()
    }

    /// Pages that the caches have room for.
    pub(super) fn frames(&self) -> u64 {
        self.frames
    }

    /// Where on storage a database of so many pages ends.
    pub(super) fn size(&self, pages: u32) -> ByteCount {
        ByteCount::new(self.log.data() + u64::from(pages) * u64::from(self.page))
    }
}
