//! The description of MariaDB.

use std::sync::Arc;

use octavo_database::MARIADB;
use octavo_units::{ByteCount, PageSize};
use octavo_workload::Workload;

use super::{engine::Innodb, sizes};
use crate::{
    description::{Comparison, MeasuredCost, ModeledKind, ProcessorCosts, Timing, not_modeled},
    engine::{Engine, EngineError, Modeled},
    pages::ObjectPages,
    replacement::Replacement,
};

/// The redo log that servers have unless told otherwise.
const REDO: ByteCount = ByteCount::mib(512);

/// MariaDB 10.11 with InnoDB, as Octavo starts it: every commit flushed, direct I/O, the
/// doublewrite on.
///
/// Costs were found by fits with eight clients and 48 MiB
/// (bench/runs/2026-11-23-predict-servers). The worst of its ratios, with 64 KiB and eight
/// clients, decides what is worth measuring.
pub(crate) static KIND: ModeledKind = ModeledKind {
    database: &MARIADB,
    model: |options, rotates| {
        let redo = options.get::<ByteCount>("redo");
        if redo != REDO {
            return Err(not_modeled(&MARIADB, "redo", redo, REDO));
        }
        match options.get::<&'static str>("doublewrite") {
            "on" => Ok(Arc::new(Server {
                writes_neighbors: rotates,
            })),
            mode => Err(not_modeled(&MARIADB, "doublewrite", mode, "on")),
        }
    },
    processor: ProcessorCosts::Measured(&[
        MeasuredCost::new(["tpcc", "tpcc", "TPC-C"], [3_260_000.0, 9_030.0, 278_000.0]),
        MeasuredCost::new(["ycsb", "ycsb-a", "YCSB A"], [251_000.0, 193.0, 12_600.0]),
        MeasuredCost::new(
            ["pgbench", "pgbench-simple-update", "pgbench -N"],
            [605_000.0, 234.0, 15_200.0],
        ),
    ]),
    timing: Timing::UserMode,
    worth_measuring: 0.4,
    comparison: Comparison::Measured {
        record: "bench/runs/2026-11-24-predict-mariadb",
    },
};

#[derive(Debug)]
struct Server {
    /// Whether changed pages beside one that is written are written with it, as
    /// `innodb_flush_neighbors=1` has it on storage of which the kernel says that it rotates,
    /// many virtual disks among them.
    writes_neighbors: bool,
}

impl Modeled for Server {
    fn open(
        &self,
        workload: &dyn Workload,
        page_size: PageSize,
        memory: ByteCount,
        _clients: u32,
        replacement: &Replacement,
    ) -> Result<Box<dyn Engine>, EngineError> {
        let writes_neighbors = self.writes_neighbors;
        Ok(Box::new(Innodb::new(
            workload,
            page_size,
            memory,
            writes_neighbors,
            replacement,
        )?))
    }

    fn sizes(&self, workload: &dyn Workload, page_size: PageSize) -> Vec<ObjectPages> {
        sizes(workload, page_size)
    }
}
