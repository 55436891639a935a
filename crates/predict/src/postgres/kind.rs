//! The description of PostgreSQL.

use std::{sync::Arc, time::Duration};

use octavo_database::POSTGRES;
use octavo_units::{ByteCount, PageSize};
use octavo_workload::Workload;

use super::{PostgresSettings, engine::Postgres, layout};
use crate::{
    description::{Comparison, MeasuredCost, ModeledKind, ProcessorCosts, Timing, not_modeled},
    engine::{Engine, EngineError, Modeled},
    pages::ObjectPages,
    replacement::Replacement,
};

/// Checkpoints come by the log alone.
const TIMEOUT: Duration = Duration::from_hours(24);

/// PostgreSQL 15.
///
/// Costs were found by fits with eight clients and 48 MiB
/// (bench/runs/2026-11-23-predict-servers).
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
    processor: ProcessorCosts::Measured(&[
        MeasuredCost::new(["tpcc", "tpcc", "TPC-C"], [2_140_000.0, 23_700.0, 83_500.0]),
        MeasuredCost::new(["ycsb", "ycsb-a", "YCSB A"], [308_000.0, 2_910.0, 6_310.0]),
        MeasuredCost::new(
            ["pgbench", "pgbench-simple-update", "pgbench -N"],
            [877_000.0, 10_500.0, 12_900.0],
        ),
    ]),
    timing: Timing::ReadsAndLog,
    worth_measuring: 0.6,
    comparison: Comparison::Measured {
        record: "bench/runs/2026-11-24-predict-postgres",
    },
};

impl Modeled for PostgresSettings {
    fn open(
        &self,
        workload: &dyn Workload,
        page_size: PageSize,
        memory: ByteCount,
        _clients: u32,
        replacement: &Replacement,
    ) -> Result<Box<dyn Engine>, EngineError> {
        let postgres = Postgres::new(workload, self, page_size, memory, replacement)?;
        Ok(Box::new(postgres))
    }

    fn sizes(&self, workload: &dyn Workload, page_size: PageSize) -> Vec<ObjectPages> {
        layout::sizes(workload, page_size)
    }
}
