//! Which rows a workload begins with, apart from the seed: what has to be the
//! same for two workloads to run on the same loaded database.

use std::fmt;

use octavo_units::ByteCount;
use serde::{Deserialize, Serialize};

/// A kind of data at one scale.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum DataSet {
    /// TPC-C's tables.
    Tpcc {
        /// Warehouses.
        warehouses: u32,
    },
    /// YCSB's table.
    Ycsb {
        /// Rows.
        records: u64,
        /// Bytes of the ten fields of a row together.
        row: ByteCount,
    },
    /// pgbench's tables.
    Pgbench {
        /// Units of 100,000 accounts.
        scale: u32,
        /// Bytes of the columns of an account's row.
        row: ByteCount,
    },
}

impl fmt::Display for DataSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tpcc { warehouses } => write!(f, "TPC-C, warehouses: {warehouses}"),
            Self::Ycsb { records, row } => write!(f, "YCSB, records: {records} of {row}"),
            Self::Pgbench { scale, row } => {
                write!(f, "pgbench, scale: {scale}, rows of {row}")
            }
        }
    }
}
