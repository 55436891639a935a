//! Flags to a workload on the rows that are loaded or wanted.

use anyhow::anyhow;
use octavo_experiment::loaded::Description;
use octavo_units::{ByteCount, Seed};
use octavo_workload::{
    DataSet, Mix, Pgbench, Tpcc, Workload, Ycsb,
    pgbench::Script,
    ycsb::{Core, Distribution},
};

use crate::{
    Failure,
    flags::{DataFlags, WorkloadName},
};

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
                    family.words(),
                    family.flag()
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
                    row: flags.row_bytes.map_or_else(|| pgbench_row(scale), Ok)?,
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
        if distribution.is_some() && self.name.family() != Family::Ycsb {
            return Err(Failure::Input(anyhow!(
                "--distribution is not possible with {}: its specification says which rows are \
                 used",
                self.name.family().words()
            )));
        }
        let parse = |workload: &dyn Workload| {
            mix.map(|mix| Mix::parse(mix, workload.transactions()))
                .transpose()
                .map_err(refused)
        };
        Ok(match self.data {
            DataSet::Tpcc { warehouses } => {
                let tpcc = Tpcc::new(warehouses, self.seed).map_err(refused)?;
                match parse(&tpcc)? {
                    Some(mix) => Box::new(tpcc.with_mix(mix)),
                    None => Box::new(tpcc),
                }
            }
            DataSet::Ycsb { records, row } => {
                let mut ycsb = Ycsb::new(records, self.seed)
                    .and_then(|ycsb| ycsb.with_row(row))
                    .map_err(refused)?
                    .with_core(self.name.core());
                if let Some(distribution) = distribution {
                    ycsb = ycsb.with_distribution(distribution);
                }
                match parse(&ycsb)? {
                    Some(mix) => Box::new(ycsb.with_mix(mix)),
                    None => Box::new(ycsb),
                }
            }
            DataSet::Pgbench { scale, row } => {
                let pgbench = Pgbench::new(scale, self.seed)
                    .and_then(|pgbench| pgbench.with_row(row))
                    .map_err(refused)?
                    .with_script(self.name.script());
                match parse(&pgbench)? {
                    Some(mix) => Box::new(pgbench.with_mix(mix)),
                    None => Box::new(pgbench),
                }
            }
        })
    }
}

/// The bytes of pgbench's own rows.
fn pgbench_row(scale: u32) -> Result<ByteCount, Failure> {
    let pgbench = Pgbench::new(scale, Seed::new(1)).map_err(refused)?;
    match pgbench.data_set() {
        DataSet::Pgbench { row, .. } => Ok(row),
        other => unreachable!("pgbench has rows of its own, not {other}"),
    }
}

fn refused(error: impl std::error::Error + Send + Sync + 'static) -> Failure {
    Failure::Input(error.into())
}

/// Workloads that share rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Family {
    Tpcc,
    Ycsb,
    Pgbench,
}

impl Family {
    fn words(self) -> &'static str {
        match self {
            Self::Tpcc => "TPC-C",
            Self::Ycsb => "YCSB",
            Self::Pgbench => "pgbench",
        }
    }

    fn flag(self) -> &'static str {
        match self {
            Self::Tpcc => "--warehouses",
            Self::Ycsb => "--records",
            Self::Pgbench => "--scale",
        }
    }
}

fn name_of(data: DataSet) -> WorkloadName {
    match data {
        DataSet::Tpcc { .. } => WorkloadName::Tpcc,
        DataSet::Ycsb { .. } => WorkloadName::YcsbA,
        DataSet::Pgbench { .. } => WorkloadName::Pgbench,
    }
}

impl WorkloadName {
    fn family(self) -> Family {
        match self {
            Self::Tpcc => Family::Tpcc,
            Self::YcsbA | Self::YcsbB | Self::YcsbC | Self::YcsbD | Self::YcsbE | Self::YcsbF => {
                Family::Ycsb
            }
            Self::Pgbench | Self::PgbenchSimpleUpdate | Self::PgbenchSelectOnly => Family::Pgbench,
        }
    }

    /// YCSB's core workload of this name.
    fn core(self) -> Core {
        match self {
            Self::YcsbB => Core::B,
            Self::YcsbC => Core::C,
            Self::YcsbD => Core::D,
            Self::YcsbE => Core::E,
            Self::YcsbF => Core::F,
            _ => Core::A,
        }
    }

    /// pgbench's script of this name.
    fn script(self) -> Script {
        match self {
            Self::PgbenchSimpleUpdate => Script::SimpleUpdate,
            Self::PgbenchSelectOnly => Script::SelectOnly,
            _ => Script::TpcbLike,
        }
    }
}
