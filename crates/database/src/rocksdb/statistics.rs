//! What RocksDB counts, read from its text of tickers and histograms.

use std::{collections::HashMap, time::Duration};

use octavo_units::ByteCount;

use crate::Counters;

/// Pages of the page cache, through which the log is written: each flush writes the last of them anew.
const LOG_PAGE: u64 = 4096;

/// Tickers and histograms by their names without `rocksdb.`
/// (<https://github.com/facebook/rocksdb/wiki/Statistics>; the names are those of `monitoring/statistics.cc`).
struct Statistics<'t>(HashMap<&'t str, Figure>);

/// A ticker, which has no sum, or a histogram.
#[derive(Clone, Copy, Debug, Default)]
struct Figure {
    count: u64,
    /// In microseconds, of histograms of times.
    sum: u64,
}

impl<'t> Statistics<'t> {
    fn read(text: &'t str) -> Self {
        let lines = text.lines().filter_map(|line| {
            let (name, figures) = line.strip_prefix("rocksdb.")?.split_once(' ')?;
            let after = |what: &str| {
                let mut words = figures.split_whitespace();
                words.find(|word| *word == what)?;
                words.nth(1)?.parse().ok()
            };
            let count = after("COUNT")?;
            let sum = after("SUM").unwrap_or_default();
            Some((name, Figure { count, sum }))
        });
        Self(lines.collect())
    }

    fn of(&self, name: &str) -> Figure {
        self.0.get(name).copied().unwrap_or_default()
    }

    fn count(&self, name: &str) -> u64 {
        self.of(name).count
    }

    fn time(&self, name: &str) -> Duration {
        Duration::from_micros(self.of(name).sum)
    }
}

/// What RocksDB hands to the system at a time when it writes a file past the page cache
/// (`writable_file_max_buffer_size`).
const WRITE: u64 = 1 << 20;

/// The counters of a text. Bytes that were read are not in it: it counts those that somebody asked for.
///
/// The time in reads is that of clients where the version tells it apart: 7.8 does not, and has what merging
/// files read in it.
pub(super) fn counters(text: &str) -> Counters {
    let all = Statistics::read(text);
    let files = all.of("sst.read.micros");
    let background = ["file.read.compaction.micros", "file.read.flush.micros"];
    let background: u64 = background.iter().map(|name| all.of(name).sum).sum();
    let read_us = files.sum.saturating_sub(background);
    let written = ["flush.write.bytes", "compact.write.bytes"];
    let written: u64 = written.iter().map(|name| all.count(name)).sum();
    let file_syncs = [
        "table.sync.micros",
        "compaction.outfile.sync.micros",
        "manifest.file.sync.micros",
    ];
    let log_syncs = all.count("wal.synced");
    // Where the log ends within a page is as good as random: a flush of n bytes writes n and the rest of
    // a page.
    let log_bytes = all
        .count("wal.bytes")
        .saturating_add(log_syncs.saturating_mul(LOG_PAGE - 1));
    let log_sync_time = all.time("wal.file.sync.micros");
    Counters {
        // Blocks of rows: those of indexes and filters are referred to once for each file, and would
        // have filters and more files look like a better cache.
        buffer_hits: all.count("block.cache.data.hit"),
        buffer_misses: all.count("block.cache.add"),
        reads: files.count,
        read_time: Duration::from_micros(read_us),
        data_writes: written.div_ceil(WRITE),
        data_written_bytes: ByteCount::new(written),
        log_writes: all.count("write.self"),
        log_written_bytes: ByteCount::new(log_bytes),
        syncs: log_syncs + file_syncs.iter().map(|name| all.count(name)).sum::<u64>(),
        sync_time: log_sync_time
            + file_syncs
                .iter()
                .map(|name| all.time(name))
                .sum::<Duration>(),
        log_sync_time,
        checkpoints: all.count("db.flush.micros"),
        ..Counters::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tickers_and_histograms_are_read() {
        let counted = counters(
            "rocksdb.block.cache.miss COUNT : 9\n\
             rocksdb.block.cache.data.hit COUNT : 20\n\
             rocksdb.block.cache.add COUNT : 7\n\
             rocksdb.wal.synced COUNT : 2\n\
             rocksdb.wal.bytes COUNT : 1000\n\
             rocksdb.write.self COUNT : 3\n\
             rocksdb.flush.write.bytes COUNT : 4096\n\
             rocksdb.compact.write.bytes COUNT : 8192\n\
             rocksdb.sst.read.micros P50 : 1.0 P95 : 2.0 P99 : 2.0 P100 : 90.0 COUNT : 10 SUM : 900\n\
             rocksdb.file.read.compaction.micros P50 : 1.0 P100 : 90.0 COUNT : 4 SUM : 300\n\
             rocksdb.wal.file.sync.micros P50 : 1.0 P100 : 90.0 COUNT : 2 SUM : 500\n\
             rocksdb.db.flush.micros P50 : 1.0 P100 : 90.0 COUNT : 1 SUM : 70\n\
             garbage\nrocksdb.x COUNT : -\n",
        );
        let wanted = Counters {
            buffer_hits: 20,
            buffer_misses: 7,
            reads: 10,
            read_time: Duration::from_micros(600),
            data_writes: 1,
            data_written_bytes: ByteCount::new(12_288),
            log_writes: 3,
            log_written_bytes: ByteCount::new(1000 + 2 * 4095),
            syncs: 2,
            sync_time: Duration::from_micros(500),
            log_sync_time: Duration::from_micros(500),
            checkpoints: 1,
            ..Counters::default()
        };
        assert_eq!(counted, wanted);
        assert_eq!(counters(""), Counters::default());
    }
}
