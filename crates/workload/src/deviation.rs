//! Deviations of a run from its workload's specification.

use schemars::JsonSchema;
use serde::Serialize;

/// A deviation that a user should know before trusting a run.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "deviation", rename_all = "snake_case")]
pub enum Deviation {
    /// TPC-C: a kind of transaction has less than its least share of the mix
    /// (clause 5.2.3).
    MixBelowMinimum,
    /// TPC-C: transactions that the specification does not have.
    Reports {
        /// Their share of the mix.
        share: f64,
    },
    /// TPC-C: paced terminals, but not as many as the specification wants.
    Terminals {
        /// Terminals of the run.
        terminals: u32,
        /// Terminals of the specification at this scale.
        specified: u32,
    },
    /// TPC-E: fewer customers than the specification wants, or other days of trades or
    /// another scale factor.
    Scale {
        /// Customers, of at least 5,000.
        customers: u64,
        /// Days of trades, of 300.
        trade_days: u64,
        /// Customers for each trade a second, of 500.
        scale_factor: u64,
    },
    /// TPC-E: the mix is not the specification's.
    OtherMix,
    /// pgbench: connections wait for each other's branches.
    FewBranches {
        /// Connections of the run.
        connections: u32,
        /// Branches, which is the scale.
        branches: u32,
    },
    /// pgbench: rows are wider than the original's and filled with blanks,
    /// which a database may compress.
    BlankRows,
    /// YCSB: the mix or the distribution is not the core workload's.
    NotCore {
        /// The mix.
        mix: String,
        /// The distribution.
        distribution: String,
        /// The core workload's short name.
        core: String,
    },
    /// YCSB, zipfian: once there are more records, others become the hot ones.
    HotRecordsChange {
        /// Records up to which they stay.
        records: u64,
    },
}
