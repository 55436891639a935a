//! Figures of a cell for each transaction.

use std::time::Duration;

use octavo_database::{Counters, StoragePath};
use octavo_units::PageSize;
use schemars::JsonSchema;
use serde::Serialize;

use crate::record::{DeviceUse, Figures};

/// Figures of a cell per transaction (committed or rolled back, of every
/// kind), over all of its runs.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct PerTransaction {
    /// Transactions that they are made from.
    pub transactions: u64,
    /// Share of page references found in the buffer, 0 to 1.
    pub hit_ratio: f64,
    /// Pages that had to be read.
    pub buffer_misses: f64,
    /// Reads of its files by the database.
    pub reads: f64,
    /// Writes of its files, log or journal included.
    pub writes: f64,
    /// Bytes that the database read from its files.
    pub read_bytes: f64,
    /// Bytes that it wrote to its files.
    pub written_bytes: f64,
    /// Of these, to the log or journal.
    pub log_written_bytes: f64,
    /// Flushes to stable storage.
    pub syncs: f64,
    /// Bytes written by the database ÷ bytes of column values that
    /// transactions set or inserted.
    pub write_amplification: f64,
    /// Share of the buffer's misses that became reads of files, 0 to 1 (a
    /// miss of a page that was never written needs no read). `None` where nothing was
    /// missed, and where misses go to the page cache, whose reads the database does not know.
    pub misses_read: Option<f64>,
    /// Reads that the device counted ÷ reads of the database: about 1 when
    /// the storage was seen; below where the page cache answered, above where
    /// others used the device. `None` where the device cannot be asked.
    pub device_reads_ratio: Option<f64>,
    /// The same of bytes: more than of requests where the kernel merged some, less where pages
    /// were read in parts.
    pub device_read_ratio: Option<f64>,
    /// Bytes that the device counted as written ÷ bytes that the database
    /// wrote.
    pub device_written_ratio: Option<f64>,
    /// Mean time of one read of a file, in microseconds.
    pub read_us_mean: f64,
    /// Mean time of one of all flushes, in microseconds: commits wait only for those of the log.
    pub sync_us_mean: f64,
}

/// Misses a transaction below which it does not matter where they were read: one read of
/// 100 µs in a hundred transactions adds 1 µs to each. Chosen.
pub const MISSES_THAT_MATTER: f64 = 0.01;

/// Reads of the device a read of the database above which others read too, as passes are
/// judged by what others move (docs/verdicts.md): then the device's counters do not tell
/// whose reads reached it.
pub const OTHERS_READ: f64 = 1.25;

/// Reads and misses that differ by more than this share of the misses are both worth telling. Mapped pages are
/// read in parts, other reads bring several pages, and compaction reads without a miss. Chosen.
const READS_APART: f64 = 0.1;

impl PerTransaction {
    /// Reads of the device a read of the database, where others read so much that its counters
    /// say nothing of this one's; `None` also with fewer misses than [`MISSES_THAT_MATTER`].
    pub fn others_read(&self) -> Option<f64> {
        self.misses_that_matter()?;
        self.device_reads_ratio.filter(|reads| *reads > OTHERS_READ)
    }

    /// Reads of the device a miss of the buffer; `None` where that is not known, or there
    /// were fewer misses than [`MISSES_THAT_MATTER`].
    pub fn device_reads_a_miss(&self) -> Option<f64> {
        self.misses_that_matter()?;
        Some(self.device_reads_ratio? * self.misses_read.unwrap_or(1.0))
    }

    /// Share of the misses that reached the device: the smaller of what the database's
    /// files and what the device's counters say, of requests or of bytes, whichever is more:
    /// one request may read several pages. `None` where there were fewer misses than
    /// [`MISSES_THAT_MATTER`].
    pub fn misses_at_device(&self) -> Option<f64> {
        self.misses_that_matter()?;
        let bytes = self.device_read_ratio.unwrap_or(0.0);
        let at_device = self.device_reads_ratio;
        let at_device = at_device.map(|requests| requests.max(bytes).min(1.0));
        match (self.misses_read, at_device) {
            (Some(read), Some(at_device)) => Some(read * at_device),
            (read, at_device) => read.or(at_device),
        }
    }

    /// Whether there are as many reads as misses, within 10%; also where there were fewer misses than
    /// [`MISSES_THAT_MATTER`].
    pub fn misses_are_reads(&self) -> bool {
        self.misses_that_matter()
            .is_none_or(|misses| (self.reads / misses - 1.0).abs() <= READS_APART)
    }

    /// Misses a transaction, where there were enough of them.
    fn misses_that_matter(&self) -> Option<f64> {
        let misses = self.buffer_misses;
        (misses >= MISSES_THAT_MATTER).then_some(misses)
    }
}

/// Of runs with this page size that had any transactions.
pub(super) fn per_transaction(runs: &[&Figures], page_size: PageSize) -> Option<PerTransaction> {
    let of_runs = runs.iter().map(|run| run.load.transactions());
    let transactions: u64 = of_runs.fold(0, u64::saturating_add);
    if transactions == 0 {
        return None;
    }
    let sum = |of: &dyn Fn(&Counters) -> u64| -> f64 {
        runs.iter().map(|run| of(&run.load.counters) as f64).sum()
    };
    let micros = |time: Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
    let ratio = |above: f64, below: f64| if below > 0.0 { above / below } else { 0.0 };
    let each = |total: f64| total / transactions as f64;
    let hits = sum(&|c| c.buffer_hits);
    let misses = sum(&|c| c.buffer_misses);
    let reads = sum(&|c| c.reads);
    let written = sum(&|c| c.written_bytes().get());
    let changed: f64 = runs
        .iter()
        .map(|run| run.load.counts.changed_bytes as f64)
        .sum();
    // With all data in memory nothing is to reach the device: its counters tell of others, and of runs
    // that the OS did not hold, which have a warning of their own.
    let is_in_memory = runs
        .iter()
        .any(|run| run.storage_path == Some(StoragePath::Resident));
    let device = |of: fn(&DeviceUse) -> u64| -> Option<f64> {
        let each = runs.iter().map(|run| run.device.as_ref().map(of));
        each.map(|value| value.map(|value| value as f64)).sum()
    };
    let read = sum(&|c| c.read_bytes.get());
    let over = |device: Option<f64>, own: f64| device.filter(|_| own > 0.0).map(|all| all / own);
    let read_over = |device, own| over(device, own).filter(|_| !is_in_memory);

    let through_cache = [
        StoragePath::Limited,
        StoragePath::Resident,
        StoragePath::PageCache,
    ]
    .map(Some);
    let are_reads_known = runs
        .iter()
        .all(|run| !through_cache.contains(&run.storage_path));
    Some(PerTransaction {
        transactions,
        hit_ratio: ratio(hits, hits + misses),
        buffer_misses: each(misses),
        reads: each(reads),
        writes: each(sum(&|c| c.data_writes.saturating_add(c.log_writes))),
        read_bytes: each(read),
        written_bytes: each(written),
        log_written_bytes: each(sum(&|c| c.log_written_bytes.get())),
        syncs: each(sum(&|c| c.syncs)),
        // What the user's own statements change is not known, and nothing is no part of nothing.
        write_amplification: match changed > 0.0 {
            true => ratio(written, changed),
            false => f64::NAN,
        },
        // One request may read several pages.
        misses_read: (misses > 0.0 && are_reads_known).then(|| {
            let pages = read / f64::from(page_size.get());
            (reads.max(pages) / misses).min(1.0)
        }),
        device_reads_ratio: read_over(device(|of| of.reads), reads),
        device_read_ratio: read_over(device(|of| of.read_bytes.get()), read),
        device_written_ratio: over(device(|of| of.written_bytes.get()), written),
        read_us_mean: mean_time(sum(&|c| micros(c.read_time)), reads),
        sync_us_mean: mean_time(sum(&|c| micros(c.sync_time)), sum(&|c| c.syncs)),
    })
}

/// NaN where nothing was timed: servers are not asked to.
fn mean_time(micros: f64, times: f64) -> f64 {
    if micros > 0.0 {
        micros / times
    } else {
        f64::NAN
    }
}
