//! The description of PostgreSQL.

use std::{sync::Arc, time::Duration};

use octavo_database::POSTGRES;
use octavo_units::PageSize;
use octavo_workload::Workload;

use super::{PostgresSettings, engine::Postgres, layout, traced::Traced};
use crate::{
    description::{Comparison, KindCost, ModeledKind, ProcessorCosts, Timing, not_modeled},
    engine::{Engine, EngineError, Modeled, Opening},
    pages::ObjectPages,
};

/// Checkpoints come by the log alone.
const TIMEOUT: Duration = Duration::from_hours(24);

/// What transactions take of processors: `octavo bench --cpu-catalog` with eight clients
/// (bench/runs/2026-11-26-cpu-catalog).
const COSTS: &[KindCost] = &[
    KindCost::new(["tpcc", "New-Order"], [838.0, 0.052, 49682.0]),
    KindCost::new(["tpcc", "Payment"], [429.0, 0.032, 49682.0]),
    KindCost::new(["tpcc", "Order-Status"], [300.0, 0.072, 49682.0]),
    KindCost::new(["tpcc", "Delivery"], [1940.0, 0.066, 49682.0]),
    KindCost::new(["tpcc", "Stock-Level"], [1290.0, 0.053, 49682.0]),
    // Reports by their latencies beside Stock-Level's (bench/runs/2026-12-01-own-sizes).
    KindCost::new(["tpcc", "Report"], [400.0, 0.026, 49682.0]),
    KindCost::new(["tpcc", "Long-Report"], [2540.0, 0.126, 49682.0]),
    KindCost::new(["tpce", "Broker-Volume"], [319.0, 0.064, 7171.0]),
    KindCost::new(["tpce", "Customer-Position"], [430.0, 0.078, 7171.0]),
    KindCost::new(["tpce", "Market-Feed"], [3330.0, 0.249, 7171.0]),
    KindCost::new(["tpce", "Market-Watch"], [734.0, 0.121, 7171.0]),
    KindCost::new(["tpce", "Security-Detail"], [541.0, 0.062, 7171.0]),
    KindCost::new(["tpce", "Trade-Lookup"], [1020.0, 0.144, 7171.0]),
    KindCost::new(["tpce", "Trade-Order"], [786.0, 0.036, 7171.0]),
    KindCost::new(["tpce", "Trade-Result"], [2330.0, 0.053, 7171.0]),
    KindCost::new(["tpce", "Trade-Status"], [599.0, 0.096, 7171.0]),
    KindCost::new(["tpce", "Trade-Update"], [3030.0, 0.092, 7171.0]),
    KindCost::new(["tpce", "Data-Maintenance"], [947.0, 0.710, 7171.0]),
    KindCost::new(["ycsb", "Read"], [29.3, 0.172, 0.0]),
    KindCost::new(["ycsb", "Update"], [52.6, 0.034, 1336.0]),
    KindCost::new(["ycsb", "Insert"], [47.4, 0.023, 1306.0]),
    KindCost::new(["ycsb", "Scan"], [171.0, 0.102, 0.0]),
    KindCost::new(["ycsb", "Read-Modify-Write"], [95.8, 0.146, 2372.0]),
    KindCost::new(["pgbench", "tpcb-like"], [235.0, 0.021, 5738.0]),
    KindCost::new(["pgbench", "simple-update"], [153.0, 0.035, 4281.0]),
    KindCost::new(["pgbench", "select-only"], [26.4, 0.051, 0.0]),
    // Operations (bench/runs/2026-12-02-cpu-catalog-key-value).
    KindCost::new(["key-value", "get"], [35.7, 0.211, 0.0]),
    KindCost::new(["key-value", "get-absent"], [29.0, 0.145, 0.0]),
    KindCost::new(["key-value", "put"], [69.4, 0.023, 205.0]),
    KindCost::new(["key-value", "insert"], [46.1, 0.046, 335.0]),
    KindCost::new(["key-value", "delete"], [55.2, 0.043, 239.0]),
    KindCost::new(["key-value", "range"], [94.6, 0.063, 0.0]),
];

/// PostgreSQL 15.
pub(crate) static KIND: ModeledKind = ModeledKind {
    database: &POSTGRES,
    model: |options, _| {
        let timeout = options.get::<Duration>("checkpoint-timeout");
        if timeout < TIMEOUT {
            let [timeout, known] = [
                format!("{timeout:?}"),
                format!("{}h", TIMEOUT.as_secs() / 3600),
            ];
            return Err(not_modeled(&POSTGRES, "checkpoint-timeout", timeout, known));
        }
        Ok(Arc::new(PostgresSettings {
            log_block: options.get("wal-block-size"),
            full_page_writes: options.get("full-page-writes"),
            max_wal_size: options.get("max-wal-size"),
        }))
    },
    processor: ProcessorCosts::Measured(COSTS),
    timing: Timing::ReadsAndLog,
    worth_measuring: 0.6,
    misses_off: [0.0; 2],
    comparison: Comparison::Measured {
        record: "bench/runs/2026-11-24-predict-postgres",
    },
};

impl Modeled for PostgresSettings {
    fn open(&self, opening: &Opening<'_>) -> Result<Box<dyn Engine>, EngineError> {
        Ok(match opening.workload.page_trace() {
            Some(trace) => Box::new(Traced::new(opening, self, trace)?),
            None => Box::new(Postgres::new(opening, self)?),
        })
    }

    fn is_divisible(&self) -> bool {
        true
    }

    fn sizes(&self, workload: &dyn Workload, page_size: PageSize) -> Vec<ObjectPages> {
        layout::sizes(workload, page_size)
    }
}
