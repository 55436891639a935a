//! What a run counted: completions by slice, latencies, CPU time.

use std::time::Duration;

use hdrhistogram::Histogram;

use crate::request::Operation;

/// Latencies above this are recorded as this: a device that holds a request
/// for two minutes has failed by any measure.
const LATENCY_NS_MAX: u64 = 120_000_000_000;

/// The counts of one run. Recording never allocates.
#[derive(Clone)]
pub struct Tally {
    /// Latencies of reads in nanoseconds, from submission to completion.
    pub reads: Histogram<u64>,
    /// Latencies of writes in nanoseconds.
    pub writes: Histogram<u64>,
    /// Completions in each slice of time.
    pub slices: Vec<u64>,
    /// The time that the completions are over.
    pub elapsed: Duration,
    /// User and system time of this process over `elapsed`.
    pub cpu: Duration,
}

impl Tally {
    /// Nothing counted yet, in so many slices.
    pub fn new(slices: usize) -> Self {
        // Three significant digits: a recorded latency is off by at most 0.1 %.
        let histogram =
            || Histogram::new_with_bounds(1, LATENCY_NS_MAX, 3).expect("constant bounds are valid");
        Self {
            reads: histogram(),
            writes: histogram(),
            slices: vec![0; slices],
            elapsed: Duration::ZERO,
            cpu: Duration::ZERO,
        }
    }

    /// Counts a completion in a slice, an index below that of [`Tally::new`].
    ///
    /// # Panics
    /// For a slice that there is not.
    #[inline]
    pub fn record(&mut self, operation: Operation, latency_ns: u64, slice: usize) {
        match operation {
            Operation::Read => self.reads.saturating_record(latency_ns),
            Operation::Write => self.writes.saturating_record(latency_ns),
        }
        self.slices[slice] += 1;
    }

    /// Completed requests.
    pub fn requests(&self) -> u64 {
        self.reads.len() + self.writes.len()
    }

    /// Latencies of reads and writes together.
    pub fn latencies(&self) -> Histogram<u64> {
        let mut all = self.reads.clone();
        all.add(&self.writes).expect("both have the same bounds");
        all
    }

    /// Adds counts of the same time: of another thread of the same run.
    pub fn add_lane(&mut self, other: &Self) {
        self.add_histograms(other);
        for (sum, count) in self.slices.iter_mut().zip(&other.slices) {
            *sum += count;
        }
    }

    /// Adds counts of another time: of another round of the same load.
    pub fn add_round(&mut self, other: &Self) {
        self.add_histograms(other);
        self.slices.extend_from_slice(&other.slices);
        self.elapsed += other.elapsed;
        self.cpu += other.cpu;
    }

    fn add_histograms(&mut self, other: &Self) {
        self.reads
            .add(&other.reads)
            .expect("all have the same bounds");
        self.writes
            .add(&other.writes)
            .expect("all have the same bounds");
    }
}
