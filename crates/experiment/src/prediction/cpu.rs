//! What the processor takes for transactions.

use octavo_predict::{CpuCost, ModeledKind, ProcessorCosts, TransactionCost};
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

impl Cpu {
    /// The processors of the machine on which the catalog was measured.
    pub const CATALOG_PROCESSORS: u32 = ProcessorCosts::MACHINE_PROCESSORS;

    /// Of the catalog of earlier measurements of a database that is modeled, or of the one in
    /// its place.
    pub fn of_catalog(database: &ModeledKind, workload: WorkloadName) -> Self {
        let (known, stand_in) = database.processor.of_family(workload.family().data.name);
        let whose = match stand_in {
            None => ": --calibrated-by takes yours".to_owned(),
            Some(other) => format!(", of {}, in its place", other.database.title),
        };
        let source = format!(
            "{:.0} µs a transaction beyond waits, as of {} on a machine with {} virtual CPUs \
             in 2026{whose}",
            known.cost.other_ns / 1e3,
            known.title,
            Self::CATALOG_PROCESSORS,
        );
        Self::from_cost(known.cost, 1.0, source)
    }

    /// Of transactions of a workload that were measured. A byte takes as much longer than on
    /// the catalog's machine as a transaction does, where the catalog has the same ones.
    pub(super) fn measured(
        cost: TransactionCost,
        database: &ModeledKind,
        workload: WorkloadName,
        source: String,
    ) -> Self {
        let slower = match database.processor.of_family(workload.family().data.name) {
            (known, None) if known.workload == workload.name() => {
                cost.other_ns / known.cost.other_ns
            }
            // Its transactions do something else.
            _ => 1.0,
        };
        let slower = slower.clamp(*SLOWER.start(), *SLOWER.end());
        Self {
            is_measured: true,
            ..Self::from_cost(cost, slower, source)
        }
    }

    fn from_cost(cost: TransactionCost, slower: f64, source: String) -> Self {
        let (log_byte_ns, read_byte_ns) = (LOG_BYTE_NS * slower, READ_BYTE_NS * slower);
        let moved_ns = log_byte_ns * cost.log_bytes + read_byte_ns * cost.read_bytes;
        Self {
            cost: CpuCost {
                transaction_ns: (cost.other_ns - moved_ns).max(0.0),
                log_byte_ns,
                read_byte_ns,
                ..CpuCost::default()
            },
            source,
            is_measured: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use octavo_device::simulated::Constant;
    use octavo_predict::{Registry, Setup, Slowness, made_up::PILE};
    use octavo_units::{ByteCount, PageSize, Seed};
    use octavo_workload::{Pgbench, pgbench::Script};

    use super::{super::throughput::throughput, *};

    #[test]
    fn a_made_up_database_is_predicted_from_its_description() {
        let name: WorkloadName = "pgbench-simple-update".parse().unwrap();
        let cpu = Cpu::of_catalog(&PILE, name);
        let source = "70 µs a transaction beyond waits, as of pgbench -N on a machine with 2";
        assert!(cpu.source.starts_with(source), "{}", cpu.source);
        assert!(cpu.source.ends_with("--calibrated-by takes yours"));
        let setup = Setup {
            model: PILE.model(&[], false).unwrap(),
            page_size: PageSize::kib(8),
            memory: ByteCount::mib(1),
            clients: 1,
            processors: 1,
            seed: Seed::new(1),
            cpu: cpu.cost,
            slowness: Slowness::default(),
        };
        let workload = Pgbench::new(1, Seed::new(1)).unwrap();
        let workload = workload.with_script(Script::SimpleUpdate);
        let device = Box::new(Constant::new(ByteCount::mib(64), 100_000));
        let throughput = throughput(&workload, &setup, device).unwrap().unwrap();
        // Two or three pages, which are read and written one after the other.
        assert!((1350.0..2130.0).contains(&throughput), "{throughput}");
    }

    #[test]
    fn bytes_take_as_much_longer_as_the_same_transactions() {
        let name: WorkloadName = "tpcc".parse().unwrap();
        let registry = Registry::standard();
        let [postgres, oracle] =
            ["postgres", "oracle-like"].map(|name| registry.find(name).unwrap());
        let (known, _) = postgres.processor.of_family("tpcc");
        let slow = TransactionCost {
            other_ns: 1.5 * known.cost.other_ns,
            ..known.cost
        };
        let log_byte_ns = |database, workload: &str| {
            let workload = workload.parse().unwrap();
            Cpu::measured(slow, database, workload, String::new())
                .cost
                .log_byte_ns
        };
        assert_eq!(log_byte_ns(postgres, "tpcc"), 1.5 * LOG_BYTE_NS);
        // Another workload of the family, and another database in whose place it stands.
        assert_eq!(log_byte_ns(postgres, "ycsb-b"), LOG_BYTE_NS);
        assert_eq!(log_byte_ns(oracle, "tpcc"), LOG_BYTE_NS);
        let source = Cpu::of_catalog(oracle, name).source;
        assert!(
            source.ends_with("in 2026, of PostgreSQL, in its place"),
            "{source}"
        );
    }
}
