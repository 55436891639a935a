//! Counts of what reached the storage, kept where the system calls are made.

use std::{
    io,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    time::{Duration, Instant},
};

use octavo_units::ByteCount;

use crate::Counters;

/// One kind of call: how many, how many bytes, how long.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    count: AtomicU64,
    bytes: AtomicU64,
    nanoseconds: AtomicU64,
}

impl Calls {
    /// Runs one call and counts it with the bytes it says it moved.
    pub(crate) fn measure(&self, call: impl FnOnce() -> io::Result<usize>) -> io::Result<usize> {
        let start = Instant::now();
        let result = call();
        self.add(*result.as_ref().unwrap_or(&0), start.elapsed());
        result
    }

    /// Counts a call that was made elsewhere.
    pub(crate) fn add(&self, bytes: usize, elapsed: Duration) {
        self.count.fetch_add(1, Relaxed);
        self.bytes.fetch_add(bytes as u64, Relaxed);
        // 2^64 ns are 584 years.
        self.nanoseconds
            .fetch_add(elapsed.as_nanos() as u64, Relaxed);
    }

    fn time(&self) -> Duration {
        Duration::from_nanos(self.nanoseconds.load(Relaxed))
    }
}

/// The calls made for one kind of file.
#[derive(Debug, Default)]
pub(crate) struct FileTally {
    /// Reads that went to the file.
    pub(crate) reads: Calls,
    /// Writes that went to the file.
    pub(crate) writes: Calls,
    /// Flushes to stable storage; they have no bytes.
    pub(crate) syncs: Calls,
}

/// What a connection's buffer did, published at each transaction's end.
#[derive(Debug, Default)]
pub(crate) struct BufferTally {
    /// Pages found.
    pub(crate) hits: AtomicU64,
    /// Pages read.
    pub(crate) misses: AtomicU64,
    /// Pages written early.
    pub(crate) spills: AtomicU64,
}

/// Which of a database's files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileKind {
    /// The pages.
    Data,
    /// The write-ahead log or the rollback journal.
    Log,
}

/// All counts of one started database. Every field only grows.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    /// The database file.
    pub(crate) data: FileTally,
    /// The write-ahead log or the rollback journal.
    pub(crate) log: FileTally,
    /// The buffers of all connections.
    pub(crate) buffer: BufferTally,
    /// Checkpoints of the write-ahead log that copied all they could.
    pub(crate) checkpoints: AtomicU64,
}

impl Tally {
    /// The counts of one kind of file.
    pub(crate) fn file(&self, kind: FileKind) -> &FileTally {
        match kind {
            FileKind::Data => &self.data,
            FileKind::Log => &self.log,
        }
    }

    /// The counts so far. Fields are read one after the other: a call that
    /// ends in between may be in one field and not yet in the next.
    pub(crate) fn counters(&self) -> Counters {
        let load = |counter: &AtomicU64| counter.load(Relaxed);
        let bytes = |counter: &AtomicU64| ByteCount::new(load(counter));
        let Self {
            data,
            log,
            buffer,
            checkpoints,
        } = self;
        Counters {
            buffer_hits: load(&buffer.hits),
            buffer_misses: load(&buffer.misses),
            buffer_spills: load(&buffer.spills),
            reads: load(&data.reads.count) + load(&log.reads.count),
            read_bytes: bytes(&data.reads.bytes).saturating_add(bytes(&log.reads.bytes)),
            read_time: data.reads.time() + log.reads.time(),
            data_writes: load(&data.writes.count),
            data_written_bytes: bytes(&data.writes.bytes),
            log_writes: load(&log.writes.count),
            log_written_bytes: bytes(&log.writes.bytes),
            write_time: data.writes.time() + log.writes.time(),
            log_write_time: log.writes.time(),
            syncs: load(&data.syncs.count) + load(&log.syncs.count),
            sync_time: data.syncs.time() + log.syncs.time(),
            log_sync_time: log.syncs.time(),
            checkpoints: load(checkpoints),
            // With a write-ahead log nothing else writes data files. With a rollback journal
            // each commit does what a checkpoint does: it writes pages to their places and
            // flushes them.
            checkpoint_time: data.writes.time() + data.syncs.time(),
            cpu_time: Duration::ZERO,
        }
    }
}
