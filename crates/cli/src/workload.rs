//! Flags to a workload on the rows that are loaded or wanted.

use anyhow::anyhow;
use octavo_experiment::loaded::Description;
use octavo_units::Seed;
use octavo_workload::{
    DataSet, Workload, WorkloadName, Ycsb,
    choice::{Family, pgbench_row},
    pgbench::Script,
    ycsb::{Core, Distribution},
};

use crate::{Failure, flags::DataFlags};

/// Scales when nobody says: 100 to 150 MB each.
const WAREHOUSES: u32 = 2;
const RECORDS: u64 = 100_000;
const SCALE: u32 = 10;

/// A workload's name with the rows that it runs on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Choice {
    name: WorkloadName,
    data: DataSet,
    /// Origin of the rows.
    pub(crate) seed: Seed,
}

impl Choice {
    /// What the flags say; where they say nothing, what is `loaded`; else the
    /// defaults.
    pub(crate) fn of(flags: &DataFlags, loaded: Option<&Description>) -> Result<Self, Failure> {
        let name = flags
            .workload
            .unwrap_or_else(|| loaded.map_or(WorkloadName::Tpcc, |loaded| name_of(loaded.data)));
        let family = name.family();
        for (given, flag, wanted) in [
            (flags.warehouses.is_some(), "--warehouses", Family::Tpcc),
            (flags.records.is_some(), "--records", Family::Ycsb),
            (flags.scale.is_some(), "--scale", Family::Pgbench),
        ] {
            if given && family != wanted {
                return Err(Failure::Input(anyhow!(
                    "{flag} is not possible with {}: its scale is {}",
                    family,
                    scale_flag(family)
                )));
            }
        }
        if family == Family::Tpcc && flags.row_bytes.is_some() {
            return Err(Failure::Input(anyhow!(
                "--row-bytes is not possible with TPC-C: its specification says how wide rows are"
            )));
        }
        // Rows of another family say nothing of this one; opening them will
        // be refused.
        let data = match (family, loaded.map(|loaded| loaded.data)) {
            (Family::Tpcc, Some(DataSet::Tpcc { warehouses })) => DataSet::Tpcc {
                warehouses: flags.warehouses.unwrap_or(warehouses),
            },
            (Family::Tpcc, _) => DataSet::Tpcc {
                warehouses: flags.warehouses.unwrap_or(WAREHOUSES),
            },
            (Family::Ycsb, Some(DataSet::Ycsb { records, row })) => DataSet::Ycsb {
                records: flags.records.unwrap_or(records),
                row: flags.row_bytes.unwrap_or(row),
            },
            (Family::Ycsb, _) => DataSet::Ycsb {
                records: flags.records.unwrap_or(RECORDS),
                row: flags.row_bytes.unwrap_or(Ycsb::ROW_DEFAULT),
            },
            (Family::Pgbench, Some(DataSet::Pgbench { scale, row })) => {
                let scale = flags.scale.unwrap_or(scale);
                DataSet::Pgbench {
                    scale,
                    row: flags.row_bytes.unwrap_or(row),
                }
            }
            (Family::Pgbench, _) => {
                let scale = flags.scale.unwrap_or(SCALE);
                DataSet::Pgbench {
                    scale,
                    row: flags
                        .row_bytes
                        .map_or_else(|| pgbench_row(scale), Ok)
                        .map_err(refused)?,
                }
            }
        };
        let seed = flags
            .seed
            .or_else(|| loaded.map(|loaded| loaded.seed))
            .unwrap_or(Seed::new(1));
        Ok(Self { name, data, seed })
    }

    /// The workload on loaded rows with the mix of the run that left them; what
    /// cannot be read as a mix counts as none.
    pub(crate) fn for_check(
        loaded: &Description,
        mix: Option<&str>,
    ) -> Result<Box<dyn Workload>, Failure> {
        let choice = Self {
            name: name_of(loaded.data),
            data: loaded.data,
            seed: loaded.seed,
        };
        choice
            .build(mix, None)
            .or_else(|_| choice.build(None, None))
    }

    /// The workload with what else the flags say of it.
    pub(crate) fn build(
        &self,
        mix: Option<&str>,
        distribution: Option<Distribution>,
    ) -> Result<Box<dyn Workload>, Failure> {
        self.name
            .build(self.data, self.seed, mix, distribution)
            .map_err(refused)
    }
}

/// The flag of a family's scale.
fn scale_flag(family: Family) -> &'static str {
    match family {
        Family::Tpcc => "--warehouses",
        Family::Ycsb => "--records",
        Family::Pgbench => "--scale",
    }
}

fn refused(error: impl std::error::Error + Send + Sync + 'static) -> Failure {
    Failure::Input(error.into())
}

fn name_of(data: DataSet) -> WorkloadName {
    match data {
        DataSet::Tpcc { .. } => WorkloadName::Tpcc,
        DataSet::Ycsb { .. } => WorkloadName::Ycsb(Core::A),
        DataSet::Pgbench { .. } => WorkloadName::Pgbench(Script::TpcbLike),
    }
}
