//! What a reader must know before believing an experiment's figures.

use octavo_units::ByteCount;
use serde::Serialize;

use crate::{machine::Disturbance, plan::Cell};

/// One reason to doubt figures. Shares are 0 to 1.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "caveat", rename_all = "snake_case")]
pub enum Caveat {
    /// A build without optimization measured, so figures are too low.
    DebugBuild,
    /// Nothing was measured: models say all of it.
    Predicted,
    /// Nor was any database like this one, with its title.
    NeverCompared {
        /// As its makers' is written.
        database: String,
    },
    /// Cells that were to be predicted before they were measured were not.
    NotPredicted {
        /// Why the last of them was not.
        reason: String,
    },
    /// The machine was not the same in all sessions.
    MachineChanged {
        /// The fact's name.
        name: String,
        /// How it changed.
        change: String,
    },
    /// Reads went through the kernel's page cache without a limit.
    PageCache,
    /// Fewer of the buffer's misses than
    /// [`MISSES_AT_DEVICE_WANTED`](crate::findings::MISSES_AT_DEVICE_WANTED)
    /// reached the device.
    MissesNotAtDevice {
        /// The share that did in the worst cell.
        share: f64,
    },
    /// No block device's counters were found under the data.
    NoDeviceCounters,
    /// The reference of a group has no figure, so nothing can be compared
    /// with it.
    NoReference {
        /// The reference.
        cell: Cell,
    },
    /// The machine disturbed runs.
    Disturbed(Disturbance),
    /// The warm-up did not fill the buffer.
    BufferNotFilled {
        /// In so many runs.
        runs: usize,
        /// Of so many.
        of: usize,
    },
    /// Copies share blocks with the loaded data, so that the first write of
    /// each block also allocates.
    SharedBlocks,
    /// The device read more than the buffer missed.
    ReadsPerMiss {
        /// The cell where it did most.
        cell: Cell,
        /// Reads of the device a miss.
        reads: f64,
    },
    /// Many passes were left out.
    Screened {
        /// Those that took much longer than others.
        slow: usize,
        /// Those in which other programs used the device.
        foreign_traffic: usize,
        /// Of so many.
        of: usize,
    },
    /// The sittings of a cell do not agree.
    SittingsApart {
        /// The cell.
        cell: Cell,
        /// Its largest ratio to the reference over its smallest.
        factor: f64,
    },
    /// Much of the data fits in the buffer.
    SmallData {
        /// Size of the smallest snapshot.
        data: ByteCount,
        /// The largest memory.
        memory: ByteCount,
    },
    /// Runs gave no result.
    RunsFailed {
        /// So many.
        runs: usize,
    },
}
