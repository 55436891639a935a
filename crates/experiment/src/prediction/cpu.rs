//! What the processor takes for transactions.

use octavo_predict::CpuCost;
use octavo_workload::WorkloadName;

/// What the processor takes for a byte of the log, in nanoseconds: SQLite's checksum and
/// two copies.
const LOG_BYTE_NS: f64 = 0.5;
/// What it takes for a byte that is read, in nanoseconds.
const READ_BYTE_NS: f64 = 0.1;

/// What the processor takes for transactions, and where that is known from.
#[derive(Clone, Debug)]
pub struct Cpu {
    /// The cost.
    pub cost: CpuCost,
    /// In words.
    pub source: String,
}

impl Cpu {
    /// What transactions took that were measured: `other_ns` each, beyond their waits,
    /// `log_bytes` and `read_bytes` each.
    pub fn measured(other_ns: f64, log_bytes: f64, read_bytes: f64, source: String) -> Self {
        let moved_ns = LOG_BYTE_NS * log_bytes + READ_BYTE_NS * read_bytes;
        Self {
            cost: CpuCost {
                transaction_ns: (other_ns - moved_ns).max(0.0),
                log_byte_ns: LOG_BYTE_NS,
                read_byte_ns: READ_BYTE_NS,
            },
            source,
        }
    }
}

/// What SQLite took for transactions beyond their waits, in nanoseconds, with pages of
/// 4 KiB and 32 MiB of cache, and the bytes that they moved to the log and read.
const CATALOG: [(&str, &str, [f64; 3]); 3] = [
    ("tpcc", "TPC-C", [250_000.0, 51_500.0, 31_000.0]),
    ("ycsb", "YCSB A", [26_000.0, 4_190.0, 3_300.0]),
    ("pgbench", "pgbench -N", [40_000.0, 12_200.0, 3_800.0]),
];

impl Cpu {
    /// The processors of the machine on which the catalog was measured.
    pub const CATALOG_PROCESSORS: u32 = 2;

    /// Of the catalog of earlier measurements.
    pub fn of_catalog(workload: WorkloadName) -> Self {
        let family = workload.family().data.name;
        let known = CATALOG.iter().find(|(name, ..)| *name == family);
        let (_, of, [other_ns, log_bytes, read_bytes]) = known.unwrap_or(&CATALOG[0]);
        let (other_ns, log_bytes, read_bytes) = (*other_ns, *log_bytes, *read_bytes);
        let source = format!(
            "{:.0} µs a transaction beyond waits, as of {of} on a machine with 2 virtual CPUs in \
             2026: --calibrated-by takes yours",
            other_ns / 1e3
        );
        Self::measured(other_ns, log_bytes, read_bytes, source)
    }
}
