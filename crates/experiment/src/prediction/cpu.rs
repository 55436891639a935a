//! What the processor takes for transactions.

use std::time::Duration;

use octavo_predict::{
    CpuCost, KindCost, ModeledKind, ProcessorCosts, TransactionCost, UnknownCost,
};
use octavo_workload::{PageTrace, Workload};

use super::CpuCatalog;

/// What the processor takes for a byte of the log, in nanoseconds: SQLite's checksum and
/// two copies. This and the next are of the machine of the catalog.
const LOG_BYTE_NS: f64 = 0.5;
/// What it takes for a byte that is read, in nanoseconds.
const READ_BYTE_NS: f64 = 0.1;

/// What the kernel takes for a request of storage, in nanoseconds, on the catalog's machine:
/// what transactions took more with less memory, over what they read and wrote more. TPC-C on
/// SQLite 24 µs and on PostgreSQL 31, YCSB A on MariaDB 20. Costs that were measured with
/// storage have it in their transactions.
const REQUEST_NS: f64 = 25_000.0;

/// What the processor takes for transactions, and where that is known from.
#[derive(Clone, Debug)]
pub struct Cpu {
    /// The cost.
    pub cost: CpuCost,
    /// How many times the mean each kind of transaction takes
    /// ([`Setup::weights`](octavo_predict::Setup::weights)).
    pub weights: Vec<f64>,
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
    ///
    /// # Errors
    /// [`UnknownCost`] of kinds of transactions that are not there.
    pub fn of_catalog(
        database: &ModeledKind,
        workload: &dyn Workload,
    ) -> Result<Self, UnknownCost> {
        let (costs, stand_in) = database.processor.kinds();
        let known = KindCost::of_mix(costs, workload)?;
        let whose = match stand_in {
            None => String::new(),
            Some(other) => format!(", of {}, in its place", other.database.title),
        };
        let source = format!(
            "{} a transaction beyond storage, by its kinds as measured on a machine with {} \
             virtual CPUs in 2026{whose}; --cpu and --calibrated-by take yours",
            microseconds(known.cost.other_ns),
            Self::CATALOG_PROCESSORS,
        );
        Ok(Self {
            weights: known.weights,
            ..Self::from_cost(known.cost, 1.0, REQUEST_NS, source)
        })
    }

    /// Of costs that `octavo bench --cpu-catalog` measured, kept in a file that is called
    /// `from`. A request of storage takes what it takes on the catalog's machine, which is most of
    /// the cost of small transactions: it is known no better than the catalog's.
    ///
    /// # Errors
    /// [`UnknownCost`] of kinds of transactions that are not there.
    pub fn of_file(
        catalog: &CpuCatalog,
        workload: &dyn Workload,
        from: &str,
    ) -> Result<Self, UnknownCost> {
        let known = KindCost::of_mix(&catalog.cost, workload)?;
        let source = format!(
            "{} a transaction beyond storage, by its kinds as measured with {} in {from}",
            microseconds(known.cost.other_ns),
            match catalog.clients {
                1 => "one client".to_owned(),
                clients => format!("{clients} clients"),
            },
        );
        Ok(Self {
            weights: known.weights,
            ..Self::from_cost(known.cost, 1.0, REQUEST_NS, source)
        })
    }

    /// Of transactions of a workload that were measured. A byte takes as much longer than on
    /// the catalog's machine as a transaction does, and its kinds stand to each other as
    /// there, where the catalog has them.
    pub(super) fn measured(
        cost: TransactionCost,
        database: &ModeledKind,
        workload: &dyn Workload,
        source: String,
    ) -> Self {
        let (costs, stand_in) = database.processor.kinds();
        let known = KindCost::of_mix(costs, workload).ok();
        let slower = match (&known, stand_in) {
            (Some(known), None) => cost.other_ns / known.cost.other_ns,
            _ => 1.0,
        };
        let slower = slower.clamp(*SLOWER.start(), *SLOWER.end());
        Self {
            weights: known.map(|known| known.weights).unwrap_or_default(),
            is_measured: true,
            ..Self::from_cost(cost, slower, 0.0, source)
        }
    }

    /// Of the user's own statements, as they were timed by kinds behind those of a trace. A kind
    /// that was not seen there takes what the others take. Nothing of it depends on bytes of the
    /// log, as each page size is timed by itself. What the kernel takes for a request is in the
    /// times of storage that `is_calibrated`, and not in those of a device of the catalog.
    pub(crate) fn of_own(
        timed: &[Option<Duration>],
        trace: &PageTrace,
        is_calibrated: bool,
    ) -> Self {
        let mut counts = vec![0u64; timed.len()];
        let kinds = (0..trace.transactions()).filter_map(|number| trace.transaction(number));
        for transaction in kinds {
            counts[transaction.kind] += 1;
        }
        let known = timed.iter().zip(&counts);
        let known = known.filter_map(|(time, count)| Some((time.as_ref()?.as_nanos(), *count)));
        let (ns, all) = known.fold((0.0, 0.0), |(ns, all), (time, count)| {
            (ns + time as f64 * count as f64, all + count as f64)
        });
        let mean_ns = if all > 0.0 { ns / all } else { 0.0 };
        let weight = |time: &Option<Duration>| match time {
            Some(time) if mean_ns > 0.0 => time.as_nanos() as f64 / mean_ns,
            _ => 1.0,
        };
        let source = format!(
            "{} a transaction beyond storage with {} pages, as your statements took here, each \
             page size by itself",
            microseconds(mean_ns),
            trace.page_size(),
        );
        let cost = TransactionCost {
            other_ns: mean_ns,
            log_bytes: 0.0,
            read_bytes: 0.0,
        };
        let request_ns = if is_calibrated { 0.0 } else { REQUEST_NS };
        let all = Self::from_cost(cost, 1.0, request_ns, source);
        Self {
            weights: timed.iter().map(weight).collect(),
            is_measured: true,
            cost: CpuCost {
                log_byte_ns: 0.0,
                ..all.cost
            },
            ..all
        }
    }

    /// The same as long as another time of the mean says, which was measured with `reference`.
    pub(crate) fn scaled_to(self, measured: &Self, reference: &Self) -> Self {
        // What a page size changes is known from what was timed alone.
        let factor = match reference.cost.transaction_ns > 0.0 {
            true => self.cost.transaction_ns / reference.cost.transaction_ns,
            false => 1.0,
        };
        Self {
            cost: measured.cost.times(factor),
            source: measured.source.clone(),
            ..self
        }
    }

    fn from_cost(cost: TransactionCost, slower: f64, request_ns: f64, source: String) -> Self {
        let (log_byte_ns, read_byte_ns) = (LOG_BYTE_NS * slower, READ_BYTE_NS * slower);
        let moved_ns = log_byte_ns * cost.log_bytes + read_byte_ns * cost.read_bytes;
        Self {
            cost: CpuCost {
                transaction_ns: (cost.other_ns - moved_ns).max(0.0),
                log_byte_ns,
                read_byte_ns,
                request_ns,
                ..CpuCost::default()
            },
            weights: Vec::new(),
            source,
            is_measured: false,
        }
    }
}

/// `49.1 µs`, `2,140 µs`.
fn microseconds(ns: f64) -> String {
    match ns / 1e3 {
        us if us < 100.0 => format!("{us:.1} µs"),
        us => format!("{us:.0} µs"),
    }
}

#[cfg(test)]
mod tests {
    use octavo_device::simulated::Constant;
    use octavo_predict::{Miniature, Registry, Setup, Slowness, made_up::PILE};
    use octavo_units::{ByteCount, PageSize, Seed};
    use octavo_workload::{Pgbench, pgbench::Script};

    use super::{super::throughput::throughput, *};

    fn simple_update() -> Pgbench {
        let workload = Pgbench::new(1, Seed::new(1)).unwrap();
        workload.with_script(Script::SimpleUpdate)
    }

    #[test]
    fn a_made_up_database_is_predicted_from_its_description() {
        let workload = simple_update();
        let cpu = Cpu::of_catalog(&PILE, &workload).unwrap();
        let source = "70.0 µs a transaction beyond storage, by its kinds as measured on a machine \
                      with 2";
        assert!(cpu.source.starts_with(source), "{}", cpu.source);
        let setup = Setup {
            model: PILE.model(&[], false).unwrap(),
            miniature: Miniature::WHOLE,
            page_size: PageSize::kib(8),
            memory: ByteCount::mib(1),
            clients: 1,
            processors: 1,
            seed: Seed::new(1),
            cpu: CpuCost {
                request_ns: 0.0,
                ..cpu.cost
            },
            weights: cpu.weights,
            slowness: Slowness::default(),
        };
        let device = Box::new(Constant::new(ByteCount::mib(64), 100_000));
        let throughput = throughput(&workload, &setup, device).unwrap().unwrap();
        // Two or three pages, which are read and written one after the other.
        assert!((1350.0..2130.0).contains(&throughput), "{throughput}");
        let all = Pgbench::new(1, Seed::new(1)).unwrap();
        let unknown = Cpu::of_catalog(&PILE, &all).unwrap_err().to_string();
        assert!(
            unknown.contains("tpcb-like takes of processors is not known"),
            "{unknown}"
        );
    }

    #[test]
    fn bytes_take_as_much_longer_as_the_same_transactions() {
        let registry = Registry::standard();
        let [postgres, oracle] =
            ["postgres", "oracle-like"].map(|name| registry.find(name).unwrap());
        let workload = simple_update();
        let known = KindCost::of_mix(postgres.processor.kinds().0, &workload).unwrap();
        let slow = TransactionCost {
            other_ns: 1.5 * known.cost.other_ns,
            ..known.cost
        };
        let log_byte_ns = |database| {
            let cpu = Cpu::measured(slow, database, &workload, String::new());
            assert_eq!(cpu.cost.request_ns, 0.0);
            cpu.cost.log_byte_ns
        };
        assert_eq!(log_byte_ns(postgres), 1.5 * LOG_BYTE_NS);
        // Another database in whose place it stands.
        assert_eq!(log_byte_ns(oracle), LOG_BYTE_NS);
        let source = Cpu::of_catalog(oracle, &workload).unwrap().source;
        assert!(
            source.contains("in 2026, of PostgreSQL, in its place"),
            "{source}"
        );
    }

    /// By hand: three transactions of 20 µs, one of 60, and one of a kind that was not timed.
    #[test]
    fn own_statements_take_what_their_kinds_were_timed_with() {
        let mut trace = PageTrace::new(PageSize::kib(8), 1);
        for kind in [0, 0, 1, 0, 2] {
            trace.end_transaction(kind, octavo_workload::Outcome::Committed);
        }
        let us = |us| Some(Duration::from_micros(us));
        let cpu = Cpu::of_own(&[us(20), us(60), None], &trace, false);
        assert_eq!(cpu.cost.transaction_ns, 30_000.0);
        assert_eq!(cpu.weights, [20.0 / 30.0, 2.0, 1.0]);
        assert_eq!(
            (cpu.cost.request_ns, cpu.cost.log_byte_ns),
            (REQUEST_NS, 0.0)
        );
        let calibrated = Cpu::of_own(&[us(20), us(60), None], &trace, true);
        assert_eq!(calibrated.cost.request_ns, 0.0);
        let said = "30.0 µs a transaction beyond storage with 8 KiB pages";
        assert!(cpu.source.starts_with(said), "{}", cpu.source);
    }

    /// By hand: a half of each.
    #[test]
    fn a_mix_has_the_mean_of_its_kinds() {
        let costs = [("simple-update", 30.0), ("select-only", 10.0)].map(|(kind, us)| KindCost {
            family: "pgbench".into(),
            kind: kind.into(),
            us,
            deviation: 0.01,
            log_bytes: us * 10.0,
        });
        let mix = |mix: &str| {
            let name: octavo_workload::WorkloadName = "pgbench".parse().unwrap();
            let data = name.data_spec(&[]).unwrap();
            let spec = octavo_workload::WorkloadSpec {
                mix: Some(mix.to_owned()),
                ..octavo_workload::WorkloadSpec::new(name, data, Seed::new(1))
            };
            spec.build().unwrap()
        };
        let both = mix("simple-update=1,select-only=1");
        let found = KindCost::of_mix(&costs, both.as_ref()).unwrap();
        assert_eq!(found.cost.other_ns, 20_000.0);
        assert_eq!(found.cost.log_bytes, 200.0);
        assert_eq!(found.weights, [1.0, 1.5, 0.5]);
        let missing = KindCost::of_mix(&costs[..1], both.as_ref()).unwrap_err();
        assert_eq!(missing.0, ["select-only"]);
    }
}
