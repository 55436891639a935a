//! What a run counted: completions by slice, latencies, CPU time.

use std::time::Duration;

use hdrhistogram::Histogram;

use crate::request::Operation;

/// Latencies above this are recorded as this: a device that holds a request
/// for two minutes has failed by any measure.
const LATENCY_NS_MAX: u64 = 120_000_000_000;

/// The counts of one run. Recording never allocates.
#[derive(Clone)]
pub(crate) struct Tally {
    /// Latencies in nanoseconds, from submission to completion.
    pub(crate) reads: Histogram<u64>,
    /// As `reads`.
    pub(crate) writes: Histogram<u64>,
    /// Completions in each slice of time.
    pub(crate) slices: Vec<u64>,
    /// The time that the completions are over.
    pub(crate) elapsed: Duration,
    /// User and system time of this process over `elapsed`.
    pub(crate) cpu: Duration,
}

impl Tally {
    pub(crate) fn new(slices: usize) -> Self {
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

    #[inline]
    pub(crate) fn record(&mut self, operation: Operation, latency_ns: u64, slice: usize) {
        match operation {
            Operation::Read => self.reads.saturating_record(latency_ns),
            Operation::Write => self.writes.saturating_record(latency_ns),
        }
        self.slices[slice] += 1;
    }

    /// Completed requests.
    pub(crate) fn requests(&self) -> u64 {
        self.reads.len() + self.writes.len()
    }

    /// Latencies of reads and writes together.
    pub(crate) fn latencies(&self) -> Histogram<u64> {
        let mut all = self.reads.clone();
        all.add(&self.writes).expect("both have the same bounds");
        all
    }

    /// Adds counts of the same time: of another thread of the same run.
    pub(crate) fn add_lane(&mut self, other: &Self) {
        self.add_histograms(other);
        for (sum, count) in self.slices.iter_mut().zip(&other.slices) {
            *sum += count;
        }
    }

    /// Adds counts of another time: of another round of the same load.
    pub(crate) fn add_round(&mut self, other: &Self) {
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

/// User and system time that this process, all threads and the kernel's I/O
/// workers for it included, has used since it began.
pub(crate) fn process_cpu() -> Duration {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the pointer is to memory for one rusage, which the call fills.
    let result = unsafe { libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr()) };
    assert_eq!(result, 0, "RUSAGE_SELF and a valid pointer cannot fail");
    // SAFETY: zeroed is a valid rusage (integers only), and the call filled it.
    let usage = unsafe { usage.assume_init() };
    let duration = |time: libc::timeval| {
        Duration::from_secs(time.tv_sec.unsigned_abs())
            + Duration::from_micros(time.tv_usec.unsigned_abs())
    };
    duration(usage.ru_utime) + duration(usage.ru_stime)
}
