//! The description of SQLite.

use std::sync::Arc;

use octavo_database::SQLITE;
use octavo_units::{ByteCount, PageSize};
use octavo_workload::Workload;

use super::{engine::Sqlite, sizes};
use crate::{
    description::{Comparison, MeasuredCost, ModeledKind, ProcessorCosts, Timing, not_modeled},
    engine::{Engine, EngineError, Modeled},
    pages::ObjectPages,
    replacement::Replacement,
};

/// SQLite with a write-ahead log, its several clients as Octavo measures them.
///
/// Costs are those of one client with 32 MiB of cache; TPC-E's are of
/// bench/runs/2026-11-24-tpce.
pub(crate) static KIND: ModeledKind = ModeledKind {
    database: &SQLITE,
    model: |options, _| match options.get::<&'static str>("journal-mode") {
        "wal" => Ok(Arc::new(WalMode)),
        mode => Err(not_modeled(&SQLITE, "journal-mode", mode, "wal")),
    },
    processor: ProcessorCosts::Measured(&[
        MeasuredCost::new(["tpcc", "tpcc", "TPC-C"], [250_000.0, 51_500.0, 31_000.0]),
        MeasuredCost::new(["tpce", "tpce", "TPC-E"], [180_000.0, 16_400.0, 135_000.0]),
        MeasuredCost::new(["ycsb", "ycsb-a", "YCSB A"], [26_000.0, 4_190.0, 3_300.0]),
        MeasuredCost::new(
            ["pgbench", "pgbench-simple-update", "pgbench -N"],
            [40_000.0, 12_200.0, 3_800.0],
        ),
    ]),
    timing: Timing::Everything,
    worth_measuring: 0.6,
    comparison: Comparison::Measured {
        record: "bench/runs/2026-11-23-predict-sqlite",
    },
};

#[derive(Debug)]
struct WalMode;

impl Modeled for WalMode {
    fn open(
        &self,
        workload: &dyn Workload,
        page_size: PageSize,
        memory: ByteCount,
        clients: u32,
        replacement: &Replacement,
    ) -> Result<Box<dyn Engine>, EngineError> {
        let sqlite = Sqlite::new(workload, page_size, memory, clients, replacement)?;
        Ok(Box::new(sqlite))
    }

    fn sizes(&self, workload: &dyn Workload, page_size: PageSize) -> Vec<ObjectPages> {
        sizes(workload, page_size)
    }
}
