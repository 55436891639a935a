//! What a started database has counted.

use std::{ops::Sub, time::Duration};

use octavo_units::ByteCount;
use serde::{Deserialize, Serialize};

/// Counts since a start. Subtract an earlier reading for an interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
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
    /// Time spent in them, summed over sessions.
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
    /// Flushes of files to stable storage.
    pub syncs: u64,
    /// Time spent in them, summed over sessions.
    pub sync_time: Duration,
    /// Checkpoints that ended: changed pages were copied from the log to the
    /// data files. 0 for a database without such.
    pub checkpoints: u64,
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
}

impl Sub for Counters {
    type Output = Self;

    /// The counts between two readings.
    ///
    /// # Panics
    /// When `earlier` was not read before `self`.
    fn sub(self, earlier: Self) -> Self {
        let bytes = |a: ByteCount, b: ByteCount| ByteCount::new(a.get() - b.get());
        Self {
            buffer_hits: self.buffer_hits - earlier.buffer_hits,
            buffer_misses: self.buffer_misses - earlier.buffer_misses,
            buffer_spills: self.buffer_spills - earlier.buffer_spills,
            reads: self.reads - earlier.reads,
            read_bytes: bytes(self.read_bytes, earlier.read_bytes),
            read_time: self.read_time - earlier.read_time,
            data_writes: self.data_writes - earlier.data_writes,
            data_written_bytes: bytes(self.data_written_bytes, earlier.data_written_bytes),
            log_writes: self.log_writes - earlier.log_writes,
            log_written_bytes: bytes(self.log_written_bytes, earlier.log_written_bytes),
            write_time: self.write_time - earlier.write_time,
            syncs: self.syncs - earlier.syncs,
            sync_time: self.sync_time - earlier.sync_time,
            checkpoints: self.checkpoints - earlier.checkpoints,
        }
    }
}
