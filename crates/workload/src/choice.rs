//! Workloads by name: what flags and plans choose from.

use std::{fmt, str::FromStr};

use octavo_units::{ByteCount, Seed};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::{
    DataSet, Mix, MixError, Pgbench, Tpcc, Workload, Ycsb,
    pgbench::{PgbenchError, Script},
    tpcc::TpccError,
    ycsb::{Core, Distribution, DistributionError, YcsbError},
};

/// A workload that can be chosen, at no scale yet. Written by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkloadName {
    /// TPC-C.
    Tpcc,
    /// One of YCSB's core workloads.
    Ycsb(Core),
    /// One of pgbench's built-in scripts.
    Pgbench(Script),
}

/// Workloads that run on the same kind of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// TPC-C, scaled by warehouses.
    Tpcc,
    /// YCSB, scaled by records.
    Ycsb,
    /// pgbench, scaled by its scale.
    Pgbench,
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Tpcc => "TPC-C",
            Self::Ycsb => "YCSB",
            Self::Pgbench => "pgbench",
        })
    }
}

/// Why a workload cannot be had.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ChoiceError {
    /// There is none of this name.
    #[error("workload '{name}' is not known: choose {}", names().join(", "))]
    Unknown {
        /// The name.
        name: String,
    },
    /// The rows are another family's.
    #[error("{name} cannot run on the rows of {data}")]
    Rows {
        /// The workload.
        name: WorkloadName,
        /// The rows.
        data: DataSet,
    },
    /// A distribution for a workload that has its own.
    #[error(
        "a distribution is not possible with {family}: its specification says which rows are used"
    )]
    Distribution {
        /// The workload's family.
        family: Family,
    },
    /// The mix cannot be.
    #[error(transparent)]
    Mix(#[from] MixError),
    /// The distribution of keys cannot be.
    #[error(transparent)]
    Keys(#[from] DistributionError),
    /// The scale of TPC-C cannot be.
    #[error(transparent)]
    Tpcc(#[from] TpccError),
    /// The scale of YCSB cannot be.
    #[error(transparent)]
    Ycsb(#[from] YcsbError),
    /// The scale of pgbench cannot be.
    #[error(transparent)]
    Pgbench(#[from] PgbenchError),
}

fn names() -> Vec<&'static str> {
    WorkloadName::ALL.map(WorkloadName::name).to_vec()
}

impl WorkloadName {
    /// All that can be chosen.
    pub const ALL: [Self; 10] = [
        Self::Tpcc,
        Self::Ycsb(Core::A),
        Self::Ycsb(Core::B),
        Self::Ycsb(Core::C),
        Self::Ycsb(Core::D),
        Self::Ycsb(Core::E),
        Self::Ycsb(Core::F),
        Self::Pgbench(Script::TpcbLike),
        Self::Pgbench(Script::SimpleUpdate),
        Self::Pgbench(Script::SelectOnly),
    ];

    /// Its name, such as `ycsb-a`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tpcc => "tpcc",
            Self::Ycsb(core) => core.name(),
            Self::Pgbench(script) => script.workload_name(),
        }
    }

    /// What it does, in a few words.
    pub const fn description(self) -> &'static str {
        match self {
            Self::Tpcc => "TPC-C, revision 5.11",
            Self::Ycsb(Core::A) => "50 % reads, 50 % updates, zipfian",
            Self::Ycsb(Core::B) => "95 % reads, 5 % updates, zipfian",
            Self::Ycsb(Core::C) => "Reads alone, zipfian",
            Self::Ycsb(Core::D) => "95 % reads, 5 % inserts, latest",
            Self::Ycsb(Core::E) => "95 % scans, 5 % inserts, zipfian",
            Self::Ycsb(Core::F) => "50 % reads, 50 % read-modify-writes, zipfian",
            Self::Pgbench(Script::TpcbLike) => "pgbench's tpcb-like",
            Self::Pgbench(Script::SimpleUpdate) => "pgbench -N",
            Self::Pgbench(Script::SelectOnly) => "pgbench -S",
        }
    }

    /// Whose rows it runs on.
    pub const fn family(self) -> Family {
        match self {
            Self::Tpcc => Family::Tpcc,
            Self::Ycsb(_) => Family::Ycsb,
            Self::Pgbench(_) => Family::Pgbench,
        }
    }

    /// The workload on rows of `data`, which grow from `seed`, with its own
    /// mix and distribution or others.
    pub fn build(
        self,
        data: DataSet,
        seed: Seed,
        mix: Option<&str>,
        distribution: Option<Distribution>,
    ) -> Result<Box<dyn Workload>, ChoiceError> {
        if distribution.is_some() && self.family() != Family::Ycsb {
            return Err(ChoiceError::Distribution {
                family: self.family(),
            });
        }
        let parse = |workload: &dyn Workload| {
            mix.map(|mix| Mix::parse(mix, workload.transactions()))
                .transpose()
        };
        Ok(match (self, data) {
            (Self::Tpcc, DataSet::Tpcc { warehouses }) => {
                let tpcc = Tpcc::new(warehouses, seed)?;
                match parse(&tpcc)? {
                    Some(mix) => Box::new(tpcc.with_mix(mix)),
                    None => Box::new(tpcc),
                }
            }
            (Self::Ycsb(core), DataSet::Ycsb { records, row }) => {
                let mut ycsb = Ycsb::new(records, seed)?.with_row(row)?.with_core(core);
                if let Some(distribution) = distribution {
                    ycsb = ycsb.with_distribution(distribution);
                }
                match parse(&ycsb)? {
                    Some(mix) => Box::new(ycsb.with_mix(mix)),
                    None => Box::new(ycsb),
                }
            }
            (Self::Pgbench(script), DataSet::Pgbench { scale, row }) => {
                let pgbench = Pgbench::new(scale, seed)?
                    .with_row(row)?
                    .with_script(script);
                match parse(&pgbench)? {
                    Some(mix) => Box::new(pgbench.with_mix(mix)),
                    None => Box::new(pgbench),
                }
            }
            (name, data) => return Err(ChoiceError::Rows { name, data }),
        })
    }
}

/// The bytes of pgbench's own rows, which have no room for more than
/// `pgbench -i` gives them.
pub fn pgbench_row(scale: u32) -> Result<ByteCount, ChoiceError> {
    match Pgbench::new(scale, Seed::new(1))?.data_set() {
        DataSet::Pgbench { row, .. } => Ok(row),
        other => unreachable!("pgbench has rows of its own, not {other}"),
    }
}

impl fmt::Display for WorkloadName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for WorkloadName {
    type Err = ChoiceError;

    fn from_str(text: &str) -> Result<Self, ChoiceError> {
        Self::ALL
            .into_iter()
            .find(|name| name.name() == text)
            .ok_or_else(|| ChoiceError::Unknown { name: text.into() })
    }
}

impl Serialize for WorkloadName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for WorkloadName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?
            .parse()
            .map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_read_and_built() {
        for name in WorkloadName::ALL {
            assert_eq!(name.name().parse::<WorkloadName>().unwrap(), name);
            let data = match name.family() {
                Family::Tpcc => DataSet::Tpcc { warehouses: 1 },
                Family::Ycsb => DataSet::Ycsb {
                    records: 10,
                    row: Ycsb::ROW_DEFAULT,
                },
                Family::Pgbench => DataSet::Pgbench {
                    scale: 1,
                    row: pgbench_row(1).unwrap(),
                },
            };
            let workload = name.build(data, Seed::new(1), None, None).unwrap();
            assert_eq!(workload.name(), name.name());
            assert_eq!(workload.data_set(), data);
        }
        assert!("tpce".parse::<WorkloadName>().is_err());
    }

    #[test]
    fn foreign_rows_and_distributions_are_refused() {
        let data = DataSet::Tpcc { warehouses: 1 };
        let seed = Seed::new(1);
        assert!(matches!(
            WorkloadName::Ycsb(Core::A).build(data, seed, None, None),
            Err(ChoiceError::Rows { .. })
        ));
        assert!(matches!(
            WorkloadName::Tpcc.build(data, seed, None, Some(Distribution::Uniform)),
            Err(ChoiceError::Distribution { .. })
        ));
        assert!(matches!(
            WorkloadName::Tpcc.build(data, seed, Some("brew-tea=1"), None),
            Err(ChoiceError::Mix(_))
        ));
    }
}
