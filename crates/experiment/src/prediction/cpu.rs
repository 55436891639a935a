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
    /// Whether it is of the machine that is predicted, rather than of the catalog.
    pub is_measured: bool,
}

impl Cpu {
    /// What transactions took that were measured: `other_ns` each, beyond their waits,
    /// `log_bytes` and `read_bytes` each.
    pub fn measured(other_ns: f64, log_bytes: f64, read_bytes: f64, source: String) -> Self {
        Self {
            is_measured: true,
            ..Self::of(other_ns, log_bytes, read_bytes, source)
        }
    }

    fn of(other_ns: f64, log_bytes: f64, read_bytes: f64, source: String) -> Self {
        let moved_ns = LOG_BYTE_NS * log_bytes + READ_BYTE_NS * read_bytes;
        Self {
            cost: CpuCost {
                transaction_ns: (other_ns - moved_ns).max(0.0),
                log_byte_ns: LOG_BYTE_NS,
                read_byte_ns: READ_BYTE_NS,
            },
            source,
            is_measured: false,
        }
    }
}

/// What transactions took beyond their waits, in nanoseconds, and the bytes that they moved
/// to the log and read: by database, with its default page size, and data of a workload's
/// kind. SQLite's with one client and 32 MiB of cache, servers' as [`super::fit`] found it
/// with eight clients and 48 MiB (bench/runs/2026-11-23-predict-servers).
const CATALOG: [(&str, &str, &str, [f64; 3]); 9] = [
    ("sqlite", "tpcc", "TPC-C", [250_000.0, 51_500.0, 31_000.0]),
    ("sqlite", "ycsb", "YCSB A", [26_000.0, 4_190.0, 3_300.0]),
    (
        "sqlite",
        "pgbench",
        "pgbench -N",
        [40_000.0, 12_200.0, 3_800.0],
    ),
    (
        "postgres",
        "tpcc",
        "TPC-C",
        [2_140_000.0, 23_700.0, 83_500.0],
    ),
    ("postgres", "ycsb", "YCSB A", [308_000.0, 2_910.0, 6_310.0]),
    (
        "postgres",
        "pgbench",
        "pgbench -N",
        [877_000.0, 10_500.0, 12_900.0],
    ),
    (
        "mariadb",
        "tpcc",
        "TPC-C",
        [3_260_000.0, 9_030.0, 278_000.0],
    ),
    ("mariadb", "ycsb", "YCSB A", [251_000.0, 193.0, 12_600.0]),
    (
        "mariadb",
        "pgbench",
        "pgbench -N",
        [605_000.0, 234.0, 15_200.0],
    ),
];

/// Whose are taken for servers that were never measured.
const STAND_IN: &str = "postgres";

impl Cpu {
    /// The processors of the machine on which the catalog was measured.
    pub const CATALOG_PROCESSORS: u32 = 2;

    /// Of the catalog of earlier measurements of a database that is modeled; PostgreSQL's
    /// for servers that were never measured.
    pub fn of_catalog(database: &str, workload: WorkloadName) -> Self {
        let family = workload.family().data.name;
        let is_in_catalog = CATALOG.iter().any(|(name, ..)| *name == database);
        let (database, whose) = match is_in_catalog {
            true => (database, ": --calibrated-by takes yours"),
            false => (STAND_IN, ", of PostgreSQL, in its place"),
        };
        let known = CATALOG
            .iter()
            .filter(|(name, ..)| *name == database)
            .max_by_key(|(_, of, ..)| *of == family);
        let (_, _, of, [other_ns, log_bytes, read_bytes]) = known.unwrap_or(&CATALOG[0]);
        let (other_ns, log_bytes, read_bytes) = (*other_ns, *log_bytes, *read_bytes);
        let source = format!(
            "{:.0} µs a transaction beyond waits, as of {of} on a machine with {} virtual CPUs in \
             2026{whose}",
            other_ns / 1e3,
            Self::CATALOG_PROCESSORS,
        );
        Self::of(other_ns, log_bytes, read_bytes, source)
    }
}
