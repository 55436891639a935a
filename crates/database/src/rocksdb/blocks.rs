//! Blocks that clients refer to, by the families that they read.

#![expect(
    unsafe_code,
    reason = "RocksDB is a library of C++ with an interface of C"
)]

use std::{
    cell::{Cell, RefCell},
    ffi::c_int,
    ops::{Add, Sub},
    sync::atomic::{AtomicU64, Ordering::Relaxed},
};

use octavo_units::ByteCount;

use super::library::{Library, PerfContext};
use crate::TreeCounters;

/// As `rocksdb_enable_count` and the metrics of its counts are numbered (`rocksdb/c.h`).
const ENABLE_COUNT: c_int = 2;
const CACHE_HITS: c_int = 1;
const READS: c_int = 2;
const READ_BYTES: c_int = 3;

/// What RocksDB has counted of this thread.
#[derive(Clone, Copy, Debug, Default)]
struct Counted {
    hits: u64,
    reads: u64,
    read_bytes: u64,
}

impl Sub for Counted {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self {
            hits: self.hits.wrapping_sub(other.hits),
            reads: self.reads.wrapping_sub(other.reads),
            read_bytes: self.read_bytes.wrapping_sub(other.read_bytes),
        }
    }
}

impl Add for Counted {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            hits: self.hits.wrapping_add(other.hits),
            reads: self.reads.wrapping_add(other.reads),
            read_bytes: self.read_bytes.wrapping_add(other.read_bytes),
        }
    }
}

thread_local! {
    /// Where this thread's counts are, of the library that was asked last.
    static CONTEXT: Cell<Option<(*const Library, *mut PerfContext)>> = const { Cell::new(None) };
    /// What calls within the one that is under way did, of those that have ended.
    static NESTED: Cell<Counted> = const { Cell::new(Counted { hits: 0, reads: 0, read_bytes: 0 }) };
}

impl Counted {
    fn now(library: &'static Library) -> Self {
        let f = &library.functions;
        let context = match CONTEXT.get() {
            Some((of, context)) if std::ptr::eq(of, library) => context,
            _ => {
                // SAFETY: it leads to what the thread has as long as it lives, and takes some bytes, which
                // stay: threads are few.
                let context = unsafe {
                    (f.set_perf_level)(ENABLE_COUNT);
                    (f.perfcontext_create)()
                };
                CONTEXT.set(Some((library, context)));
                context
            }
        };
        // SAFETY: the context is this thread's own.
        let metric = |number| unsafe { (f.perfcontext_metric)(context, number) };
        Self {
            hits: metric(CACHE_HITS),
            reads: metric(READS),
            read_bytes: metric(READ_BYTES),
        }
    }
}

/// What calls of all clients to one family did.
#[derive(Debug, Default)]
pub(super) struct FamilyBlocks {
    calls: AtomicU64,
    hits: AtomicU64,
    reads: AtomicU64,
    read_bytes: AtomicU64,
}

impl FamilyBlocks {
    pub(super) fn counters(&self, name: &str) -> TreeCounters {
        TreeCounters {
            name: name.to_owned(),
            calls: self.calls.load(Relaxed),
            hits: self.hits.load(Relaxed),
            reads: self.reads.load(Relaxed),
            read_bytes: ByteCount::new(self.read_bytes.load(Relaxed)),
        }
    }
}

/// After so many calls outside of transactions a client adds its counts to those of all. Chosen.
const CALLS_KEPT: u64 = 64;

/// What one client's calls did that is not among those of all clients yet: who shares counters with others
/// at each call waits for them.
#[derive(Debug, Default)]
pub(super) struct ClientBlocks {
    /// By family.
    families: Vec<(u64, Counted)>,
    calls: u64,
}

impl ClientBlocks {
    pub(super) fn new(families: usize) -> Self {
        Self {
            families: vec![Default::default(); families],
            calls: 0,
        }
    }

    fn add(&mut self, family: usize, counted: Counted) {
        let (calls, all) = &mut self.families[family];
        *calls += 1;
        *all = *all + counted;
        self.calls += 1;
    }

    /// Whether there are many.
    pub(super) fn are_many(&self) -> bool {
        self.calls >= CALLS_KEPT
    }

    /// Adds them to those of all clients.
    pub(super) fn hand_over(&mut self, all: &[FamilyBlocks]) {
        if self.calls == 0 {
            return;
        }
        for ((calls, own), all) in self.families.iter_mut().zip(all) {
            let (calls, own) = (std::mem::take(calls), std::mem::take(own));
            if calls > 0 {
                all.calls.fetch_add(calls, Relaxed);
                all.hits.fetch_add(own.hits, Relaxed);
                all.reads.fetch_add(own.reads, Relaxed);
                all.read_bytes.fetch_add(own.read_bytes, Relaxed);
            }
        }
        self.calls = 0;
    }
}

/// Does something that reads a family in this thread, and counts what that takes. Calls that it makes itself
/// are of their own families.
pub(super) fn count<R>(
    library: &'static Library,
    client: &RefCell<ClientBlocks>,
    family: usize,
    call: impl FnOnce() -> R,
) -> R {
    let around = NESTED.replace(Counted::default());
    let before = Counted::now(library);
    let done = call();
    let all = Counted::now(library) - before;
    let own = all - NESTED.get();
    NESTED.set(around + all);
    client.borrow_mut().add(family, own);
    done
}
