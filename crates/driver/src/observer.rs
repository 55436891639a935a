//! Observers of a run, and its per-second series.

use std::time::Duration;

use octavo_units::ByteCount;
use schemars::JsonSchema;
use serde::Serialize;

use crate::counts::Counts;

/// A sample with all outcomes recorded in it.
#[derive(Clone, Copy, Debug)]
pub struct Second<'a> {
    /// The figures kept of it.
    pub sample: &'a Sample,
    /// Outcomes and latencies.
    pub counts: &'a Counts,
}

/// Observes the start and end of the measured part, with only the workers' transactions
/// between them, and each second.
pub trait DriverObserver {
    /// The measured part begins.
    fn begin(&mut self) {}
    /// A batch of the measured part has ended. The figures begin at one of
    /// these edges, or with the measured part, and end at the last of them.
    fn edge(&mut self) {}
    /// The measured part has ended: at the edge before, or some milliseconds
    /// later where the run had to be judged first.
    fn end(&mut self) {}
    /// After the end: the figures begin at this edge, counted from 1; with the
    /// measured part if it is 0.
    fn figures_from(&mut self, _edge: usize) {}
    /// A second, or the rest of a part, has passed.
    fn second(&mut self, _second: &Second<'_>) {}
}

/// Ignores all events.
#[derive(Debug)]
pub struct Unobserved;

impl DriverObserver for Unobserved {}

/// One second of a run, warm-up included. A diagnostic, never a sample of the
/// statistics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Sample {
    /// Time since the clients began, at the end of the sample.
    pub at: Duration,
    /// Whether all of it was in the time of the figures. (While the run lasts:
    /// whether the measured part had begun. What is cut off its beginning is
    /// known at its end.)
    pub measured: bool,
    /// Whether it was measured but cut off as warm-up, so that the figures leave it out: the
    /// second in which they begin is two samples. Its failures and retries still count.
    pub cut: bool,
    /// Length of the sample; the last one of a part may be short.
    pub length: Duration,
    /// Transactions ended (committed or rolled back).
    pub transactions: u64,
    /// Commits of the counted kind.
    pub counted: u64,
    /// Pages that had to be read.
    pub buffer_misses: u64,
    /// Bytes read by the database.
    pub read_bytes: ByteCount,
    /// Bytes written by the database.
    pub written_bytes: ByteCount,
    /// Median latency in microseconds; 0 when nothing ended.
    pub p50_us: u64,
    /// The 99th percentile.
    pub p99_us: u64,
    /// The longest.
    pub max_us: u64,
    /// Retries after conflicts.
    pub retries: u64,
    /// Transactions that failed.
    pub failed: u64,
    /// Transactions due but not begun at its end; `None` in a closed loop.
    pub backlog: Option<u64>,
}
