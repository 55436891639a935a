//! What the processor takes for transactions.

use octavo_predict::CpuCost;
use octavo_workload::WorkloadName;

/// What the processor takes for a byte of the log, in nanoseconds: SQLite's checksum and
/// two copies. This and the next are of the machine of the catalog.
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

/// How much slower or faster than the catalog's machine another is taken to be for bytes,
/// at most: what a transaction takes may also differ for other reasons. Chosen.
const SLOWER: std::ops::RangeInclusive<f64> = 0.25..=2.0;

/// What transactions took in a measurement, each.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Took {
    /// Beyond their waits, in nanoseconds.
    pub(super) other_ns: f64,
    /// Bytes of the log.
    pub(super) log_bytes: f64,
    /// Bytes that they read.
    pub(super) read_bytes: f64,
}

impl Cpu {
    /// Of transactions of a workload that were measured. A byte takes as much longer than on
    /// the catalog's machine as a transaction does, where the catalog has the same ones.
    pub(super) fn measured(
        took: Took,
        database: &str,
        workload: WorkloadName,
        source: String,
    ) -> Self {
        let known = known(database, workload.family().data.name);
        let slower = match known.database == database && known.workload == workload.name() {
            true => took.other_ns / known.took.other_ns,
            // Its transactions do something else.
            false => 1.0,
        };
        let slower = slower.clamp(*SLOWER.start(), *SLOWER.end());
        Self {
            is_measured: true,
            ..Self::of(took, slower, source)
        }
    }

    fn of(took: Took, slower: f64, source: String) -> Self {
        let (log_byte_ns, read_byte_ns) = (LOG_BYTE_NS * slower, READ_BYTE_NS * slower);
        let moved_ns = log_byte_ns * took.log_bytes + read_byte_ns * took.read_bytes;
        Self {
            cost: CpuCost {
                transaction_ns: (took.other_ns - moved_ns).max(0.0),
                log_byte_ns,
                read_byte_ns,
                ..CpuCost::default()
            },
            source,
            is_measured: false,
        }
    }
}

/// What transactions of a kind took on the catalog's machine.
struct Known {
    database: &'static str,
    family: &'static str,
    /// The workload, by its name and in words.
    workload: &'static str,
    title: &'static str,
    took: Took,
}

const fn known_of(
    database: &'static str,
    family: &'static str,
    [workload, title]: [&'static str; 2],
    [other_ns, log_bytes, read_bytes]: [f64; 3],
) -> Known {
    let took = Took {
        other_ns,
        log_bytes,
        read_bytes,
    };
    Known {
        database,
        family,
        workload,
        title,
        took,
    }
}

/// With each database's default page size. SQLite's with one client and 32 MiB of cache,
/// servers' as [`super::fit`] found it with eight clients and 48 MiB
/// (bench/runs/2026-11-23-predict-servers). TPC-E's on SQLite is of
/// bench/runs/2026-11-24-tpce.
const CATALOG: [Known; 10] = [
    known_of(
        "sqlite",
        "tpcc",
        ["tpcc", "TPC-C"],
        [250_000.0, 51_500.0, 31_000.0],
    ),
    known_of(
        "sqlite",
        "tpce",
        ["tpce", "TPC-E"],
        [180_000.0, 16_400.0, 135_000.0],
    ),
    known_of(
        "sqlite",
        "ycsb",
        ["ycsb-a", "YCSB A"],
        [26_000.0, 4_190.0, 3_300.0],
    ),
    known_of(
        "sqlite",
        "pgbench",
        ["pgbench-simple-update", "pgbench -N"],
        [40_000.0, 12_200.0, 3_800.0],
    ),
    known_of(
        "postgres",
        "tpcc",
        ["tpcc", "TPC-C"],
        [2_140_000.0, 23_700.0, 83_500.0],
    ),
    known_of(
        "postgres",
        "ycsb",
        ["ycsb-a", "YCSB A"],
        [308_000.0, 2_910.0, 6_310.0],
    ),
    known_of(
        "postgres",
        "pgbench",
        ["pgbench-simple-update", "pgbench -N"],
        [877_000.0, 10_500.0, 12_900.0],
    ),
    known_of(
        "mariadb",
        "tpcc",
        ["tpcc", "TPC-C"],
        [3_260_000.0, 9_030.0, 278_000.0],
    ),
    known_of(
        "mariadb",
        "ycsb",
        ["ycsb-a", "YCSB A"],
        [251_000.0, 193.0, 12_600.0],
    ),
    known_of(
        "mariadb",
        "pgbench",
        ["pgbench-simple-update", "pgbench -N"],
        [605_000.0, 234.0, 15_200.0],
    ),
];

/// Whose are taken for servers that were never measured.
const STAND_IN: &str = "postgres";

/// What is known of a database, or of the one in its place, and a family of workloads, or
/// another.
fn known(database: &str, family: &str) -> &'static Known {
    let is_in_catalog = CATALOG.iter().any(|known| known.database == database);
    let database = if is_in_catalog { database } else { STAND_IN };
    CATALOG
        .iter()
        .filter(|known| known.database == database)
        // The first of several: TPC-C's, where the family is not there.
        .min_by_key(|known| known.family != family)
        .unwrap_or(&CATALOG[0])
}

impl Cpu {
    /// The processors of the machine on which the catalog was measured.
    pub const CATALOG_PROCESSORS: u32 = 2;

    /// Of the catalog of earlier measurements of a database that is modeled; PostgreSQL's
    /// for servers that were never measured.
    pub fn of_catalog(database: &str, workload: WorkloadName) -> Self {
        let Known {
            database: whose,
            title,
            took,
            ..
        } = known(database, workload.family().data.name);
        let whose = match *whose == database {
            true => ": --calibrated-by takes yours",
            false => ", of PostgreSQL, in its place",
        };
        let source = format!(
            "{:.0} µs a transaction beyond waits, as of {title} on a machine with {} virtual CPUs \
             in 2026{whose}",
            took.other_ns / 1e3,
            Self::CATALOG_PROCESSORS,
        );
        Self::of(*took, 1.0, source)
    }
}
