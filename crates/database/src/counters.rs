//! What a started database has counted.

use std::{
    ops::{Add, Sub},
    time::Duration,
};

use octavo_units::ByteCount;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What clients did with one table or index since a start.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TreeCounters {
    /// What the database calls it.
    pub name: String,
    /// Calls that read it.
    pub calls: u64,
    /// Pages that the buffer had, those of indexes and filters too.
    pub hits: u64,
    /// Reads of one page, of rows, of an index of pages or of a filter. What is read ahead is in none.
    pub reads: u64,
    /// Bytes of these.
    pub read_bytes: ByteCount,
}

impl TreeCounters {
    /// What was done since an earlier reading of all.
    pub fn since(&self, earlier: &[Self]) -> Self {
        let of = earlier.iter().find(|other| other.name == self.name);
        let Some(before) = of else {
            return self.clone();
        };
        Self {
            name: self.name.clone(),
            calls: self.calls.saturating_sub(before.calls),
            hits: self.hits.saturating_sub(before.hits),
            reads: self.reads.saturating_sub(before.reads),
            read_bytes: self.read_bytes.saturating_sub(before.read_bytes),
        }
    }
}

/// Counts since a start. Subtract an earlier reading for an interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Counters {
    /// Pages found in the buffer.
    pub buffer_hits: u64,
    /// Pages that had to be read.
    pub buffer_misses: u64,
    /// Dirty pages written before their transaction's end, for want of frames.
    pub buffer_spills: u64,
    /// Reads of the database's files.
    pub reads: u64,
    /// Bytes of these.
    pub read_bytes: ByteCount,
    /// Time spent in them, summed over sessions; of predictions with those that no session waits for.
    pub read_time: Duration,
    /// Writes of pages to the database's data files.
    pub data_writes: u64,
    /// Bytes of these.
    pub data_written_bytes: ByteCount,
    /// Writes of the log or journal.
    pub log_writes: u64,
    /// Bytes of these, padding for alignment included.
    pub log_written_bytes: ByteCount,
    /// Time spent in both kinds of writes, summed over sessions.
    pub write_time: Duration,
    /// Of these, in writes of the log or journal.
    #[serde(default)]
    pub log_write_time: Duration,
    /// Flushes of files to stable storage.
    pub syncs: u64,
    /// Time spent in them, summed over sessions.
    pub sync_time: Duration,
    /// Of these, in flushes of the log or journal.
    #[serde(default)]
    pub log_sync_time: Duration,
    /// Checkpoints that ended: changed pages were copied from the log to the
    /// data files. 0 for a database without such.
    pub checkpoints: u64,
    /// Time that sessions spent in writing and flushing data files for
    /// checkpoints, which is in the times above as well. Zero where other
    /// threads or processes than the sessions' do that.
    #[serde(default)]
    pub checkpoint_time: Duration,
    /// Time that the database's own processes ran on a CPU in user mode. Zero
    /// for one that runs in the client's threads.
    #[serde(default)]
    pub cpu_time: Duration,
}

impl Counters {
    /// Bytes written to data files and log.
    pub fn written_bytes(&self) -> ByteCount {
        self.data_written_bytes
            .saturating_add(self.log_written_bytes)
    }

    /// Share of page references found in the buffer, or `None` without any.
    pub fn hit_ratio(&self) -> Option<f64> {
        let references = self.buffer_hits + self.buffer_misses;
        (references > 0).then(|| self.buffer_hits as f64 / references as f64)
    }

    /// Each count of this reading together with the same of another.
    fn combine(
        self,
        other: Self,
        count: impl Fn(u64, u64) -> u64,
        time: impl Fn(Duration, Duration) -> Duration,
    ) -> Self {
        let bytes = |a: ByteCount, b: ByteCount| ByteCount::new(count(a.get(), b.get()));
        Self {
            buffer_hits: count(self.buffer_hits, other.buffer_hits),
            buffer_misses: count(self.buffer_misses, other.buffer_misses),
            buffer_spills: count(self.buffer_spills, other.buffer_spills),
            reads: count(self.reads, other.reads),
            read_bytes: bytes(self.read_bytes, other.read_bytes),
            read_time: time(self.read_time, other.read_time),
            data_writes: count(self.data_writes, other.data_writes),
            data_written_bytes: bytes(self.data_written_bytes, other.data_written_bytes),
            log_writes: count(self.log_writes, other.log_writes),
            log_written_bytes: bytes(self.log_written_bytes, other.log_written_bytes),
            write_time: time(self.write_time, other.write_time),
            log_write_time: time(self.log_write_time, other.log_write_time),
            syncs: count(self.syncs, other.syncs),
            sync_time: time(self.sync_time, other.sync_time),
            log_sync_time: time(self.log_sync_time, other.log_sync_time),
            checkpoints: count(self.checkpoints, other.checkpoints),
            checkpoint_time: time(self.checkpoint_time, other.checkpoint_time),
            cpu_time: time(self.cpu_time, other.cpu_time),
        }
    }

    /// The larger of each count: a later reading that is never less than an
    /// earlier one, also where a server sums counts of several threads while
    /// they change, or begins them anew.
    pub(crate) fn max(self, other: Self) -> Self {
        self.combine(other, u64::max, Duration::max)
    }
}

impl Add for Counters {
    type Output = Self;

    /// The counts of two intervals together.
    fn add(self, other: Self) -> Self {
        self.combine(other, u64::saturating_add, Duration::saturating_add)
    }
}

impl Sub for Counters {
    type Output = Self;

    /// The counts between two readings.
    ///
    /// # Panics
    /// When `earlier` was not read before `self`.
    fn sub(self, earlier: Self) -> Self {
        self.combine(
            earlier,
            |now, before| now - before,
            |now, before| now - before,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_larger_of_each_count_is_kept() {
        let some = |hits, misses| Counters {
            buffer_hits: hits,
            buffer_misses: misses,
            ..Counters::default()
        };
        let later = some(5, 1).max(some(4, 2));
        assert_eq!(later, some(5, 2));
        assert_eq!(later - some(5, 1), some(0, 1));
    }
}
