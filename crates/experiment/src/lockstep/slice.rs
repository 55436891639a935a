//! The next transactions of one cell, and what they took.

use std::time::Duration;

use octavo_database::Counters;
use octavo_units::ByteCount;
use serde::Serialize;

/// Which slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct SliceKey {
    /// The sitting, from 0.
    pub sitting: u32,
    /// The pass within the sitting, from 0.
    pub pass: u32,
    /// Its place in the order of the pass, from 0.
    pub position: u32,
    /// The cell's number in the plan.
    pub cell: usize,
}

/// What the next transactions of a cell took. All cells of a group that have
/// a slice in a pass were given the same transactions in it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Slice {
    /// Which.
    pub key: SliceKey,
    /// Transactions that ended as the workload wants.
    pub transactions: u64,
    /// Of these, commits of the counted kinds.
    pub counted: u64,
    /// From the first transaction's begin to the last one's end and, where the
    /// kernel had writes to do for it, to their end.
    pub elapsed: Duration,
    /// Where transactions have times of their own, the response times of the counted ones together:
    /// cells are compared by these, as all of them take as long for a slice.
    pub response: Option<Duration>,
    /// What its sessions' time went into; `None` of runs that were kept before
    /// there was lockstep.
    pub spent: Option<SessionTime>,
    /// Pages that had to be read.
    pub misses: u64,
    /// Bytes written to the log.
    pub log_bytes: ByteCount,
    /// Bytes that the device moved besides those that the database or its processes asked for;
    /// `None` where that is not known.
    pub foreign_bytes: Option<ByteCount>,
}

impl Slice {
    /// The time of its checkpoints, no longer than it lasted; `None` where its time is not
    /// known in parts.
    pub(crate) fn checkpoint(&self) -> Option<Duration> {
        Some(self.spent?.checkpoint.min(self.elapsed))
    }
}

/// Transactions of a warm-up that a cell executed one after another, and what they took.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WarmUpBlock {
    /// The sitting, from 0.
    pub sitting: u32,
    /// The cell's number in the plan.
    pub cell: usize,
    /// Its place in the warm-up, from 0.
    pub number: u32,
    /// Transactions that each cell was given.
    pub sent: u64,
    /// Of these, those that ended as the workload wants.
    pub transactions: u64,
    /// Of these, commits of the counted kinds.
    pub counted: u64,
    /// As [`Slice::elapsed`].
    pub elapsed: Duration,
    /// As [`Slice::response`].
    pub response: Option<Duration>,
    /// Pages that had to be read.
    pub misses: u64,
}

impl WarmUpBlock {
    /// The block with this number, of so many transactions.
    pub(crate) fn new(number: u32, sent: u64, slice: &Slice) -> Self {
        Self {
            sitting: slice.key.sitting,
            cell: slice.key.cell,
            number,
            sent,
            transactions: slice.transactions,
            counted: slice.counted,
            elapsed: slice.elapsed,
            response: slice.response,
            misses: slice.misses,
        }
    }
}

/// What the time of sessions went into, summed over them. What is missing to
/// their number times the time that passed is waiting: for a CPU, for locks,
/// for each other. `None` where a database does not time it, as MySQL and MariaDB.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct SessionTime {
    /// Reading pages.
    pub read: Option<Duration>,
    /// Writing the log, without flushes.
    pub log_write: Option<Duration>,
    /// Flushing the log.
    pub log_sync: Option<Duration>,
    /// Writing and flushing data files.
    pub checkpoint: Duration,
    /// On a CPU in user mode, database and client.
    pub cpu: Duration,
}

impl SessionTime {
    /// What a database counted, with the time that the client was on a CPU. Requests that
    /// took no time at all were not timed.
    pub(crate) fn from_counters(counters: &Counters, client_cpu: Duration) -> Self {
        let timed = |time: Duration, requests: u64, part: Duration| {
            (requests == 0 || !time.is_zero()).then_some(part)
        };
        let Counters {
            read_time,
            log_write_time,
            sync_time,
            ..
        } = *counters;
        Self {
            read: timed(read_time, counters.reads, read_time),
            log_write: timed(log_write_time, counters.log_writes, log_write_time),
            // Flushes of all files are counted.
            log_sync: timed(sync_time, counters.syncs, counters.log_sync_time),
            checkpoint: counters.checkpoint_time,
            cpu: client_cpu + counters.cpu_time,
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A slice whose every figure is some number; tests change what they are
    /// about.
    pub(crate) fn slice(sitting: u32, pass: u32, cell: usize) -> Slice {
        Slice {
            key: SliceKey {
                sitting,
                pass,
                position: cell as u32,
                cell,
            },
            transactions: 50,
            counted: 22,
            elapsed: Duration::from_millis(75),
            response: None,
            spent: Some(SessionTime {
                read: Some(Duration::from_millis(40)),
                checkpoint: Duration::from_millis(5),
                ..SessionTime::default()
            }),
            misses: 300,
            log_bytes: ByteCount::kib(90),
            foreign_bytes: Some(ByteCount::kib(4)),
        }
    }

    #[test]
    fn requests_without_any_time_were_not_timed() {
        let ms = Duration::from_millis;
        let untimed = Counters {
            reads: 3,
            log_writes: 2,
            syncs: 2,
            ..Counters::default()
        };
        let timed = Counters {
            read_time: ms(3),
            log_write_time: ms(2),
            sync_time: ms(5),
            log_sync_time: ms(4),
            ..untimed
        };
        let parts = |counters: &Counters| {
            let spent = SessionTime::from_counters(counters, ms(1));
            [spent.read, spent.log_write, spent.log_sync]
        };
        assert_eq!(parts(&timed), [3, 2, 4].map(|time| Some(ms(time))));
        assert_eq!(parts(&untimed), [None; 3]);
        assert_eq!(parts(&Counters::default()), [Some(Duration::ZERO); 3]);
    }
}
