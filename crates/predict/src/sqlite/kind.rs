//! The description of SQLite.

use std::sync::Arc;

use octavo_database::SQLITE;
use octavo_units::PageSize;
use octavo_workload::Workload;

use super::{engine::Sqlite, sizes, traced::Traced};
use crate::{
    description::{Comparison, KindCost, ModeledKind, ProcessorCosts, Timing, not_modeled},
    engine::{Engine, EngineError, Modeled, Opening},
    pages::ObjectPages,
};

/// What transactions take of processors: `octavo bench --cpu-catalog` with one client
/// (bench/runs/2026-11-26-cpu-catalog).
const COSTS: &[KindCost] = &[
    KindCost::new(["tpcc", "New-Order"], [191.0, 0.061, 48172.0]),
    KindCost::new(["tpcc", "Payment"], [40.1, 0.039, 48172.0]),
    KindCost::new(["tpcc", "Order-Status"], [46.4, 0.136, 48172.0]),
    KindCost::new(["tpcc", "Delivery"], [940.0, 0.135, 48172.0]),
    KindCost::new(["tpcc", "Stock-Level"], [481.0, 0.034, 48172.0]),
    // Reports by their latencies beside Stock-Level's (bench/runs/2026-12-01-own-sizes).
    KindCost::new(["tpcc", "Report"], [111.0, 0.078, 48172.0]),
    KindCost::new(["tpcc", "Long-Report"], [846.0, 0.083, 48172.0]),
    KindCost::new(["tpce", "Broker-Volume"], [104.0, 0.065, 12545.0]),
    KindCost::new(["tpce", "Customer-Position"], [59.1, 0.050, 12545.0]),
    KindCost::new(["tpce", "Market-Feed"], [396.0, 0.053, 12545.0]),
    KindCost::new(["tpce", "Market-Watch"], [164.0, 0.046, 12545.0]),
    KindCost::new(["tpce", "Security-Detail"], [66.5, 0.090, 12545.0]),
    KindCost::new(["tpce", "Trade-Lookup"], [175.0, 0.035, 12545.0]),
    KindCost::new(["tpce", "Trade-Order"], [228.0, 0.021, 12545.0]),
    KindCost::new(["tpce", "Trade-Result"], [245.0, 0.057, 12545.0]),
    KindCost::new(["tpce", "Trade-Status"], [101.0, 0.044, 12545.0]),
    KindCost::new(["tpce", "Trade-Update"], [299.0, 0.040, 12545.0]),
    KindCost::new(["tpce", "Data-Maintenance"], [39.7, 0.198, 12545.0]),
    KindCost::new(["ycsb", "Read"], [5.5, 0.079, 0.0]),
    KindCost::new(["ycsb", "Update"], [15.4, 0.130, 4120.0]),
    KindCost::new(["ycsb", "Insert"], [30.6, 0.053, 12251.0]),
    KindCost::new(["ycsb", "Scan"], [54.9, 0.049, 0.0]),
    KindCost::new(["ycsb", "Read-Modify-Write"], [18.8, 0.090, 4120.0]),
    KindCost::new(["pgbench", "tpcb-like"], [22.3, 0.033, 17169.0]),
    KindCost::new(["pgbench", "simple-update"], [21.4, 0.065, 9216.0]),
    KindCost::new(["pgbench", "select-only"], [4.16, 0.034, 0.0]),
    // Operations (bench/runs/2026-12-02-cpu-catalog-key-value).
    KindCost::new(["key-value", "get"], [5.6, 0.132, 0.0]),
    KindCost::new(["key-value", "get-absent"], [4.6, 0.042, 0.0]),
    KindCost::new(["key-value", "put"], [14.5, 0.058, 4120.0]),
    KindCost::new(["key-value", "insert"], [13.8, 0.091, 6292.0]),
    KindCost::new(["key-value", "delete"], [13.1, 0.062, 5820.0]),
    KindCost::new(["key-value", "range"], [27.6, 0.024, 0.0]),
];

/// SQLite with a write-ahead log, its several clients as Octavo measures them.
pub(crate) static KIND: ModeledKind = ModeledKind {
    database: &SQLITE,
    model: |options, _| {
        let of = |name| options.get::<&'static str>(name);
        match (of("journal-mode"), of("os-cache")) {
            ("wal", "none") => Ok(Arc::new(WalMode)),
            ("wal", held) => Err(not_modeled(&SQLITE, "os-cache", held, "none")),
            (mode, _) => Err(not_modeled(&SQLITE, "journal-mode", mode, "wal")),
        }
    },
    processor: ProcessorCosts::Measured(COSTS),
    timing: Timing::Everything,
    worth_measuring: 0.6,
    misses_off: [0.0; 2],
    comparison: Comparison::Measured {
        record: "bench/runs/2026-11-23-predict-sqlite",
    },
};

#[derive(Debug)]
struct WalMode;

impl Modeled for WalMode {
    fn open(&self, opening: &Opening<'_>) -> Result<Box<dyn Engine>, EngineError> {
        Ok(match opening.workload.page_trace() {
            Some(trace) => Box::new(Traced::new(opening, trace)?),
            None => Box::new(Sqlite::new(opening)?),
        })
    }

    fn sizes(&self, workload: &dyn Workload, page_size: PageSize) -> Vec<ObjectPages> {
        sizes(workload, page_size)
    }
}
