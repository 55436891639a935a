//! Workloads, to the letter of their specifications: population, transaction
//! inputs, the SQL of the transactions, and the checks of the outcome.
//!
//! A workload knows no database. It describes its tables ([`schema`]), makes
//! its rows ([`population`]), and runs its transactions against the
//! [`Connection`] trait. It keeps no clock: a transaction's dates come from
//! its input, so that one seed gives one outcome.

mod answer;
mod audit;
mod condition;
pub mod connection;
mod data_spec;
mod deviation;
mod family;
pub mod key_value;
pub mod keyed;
mod keys;
mod limit;
#[cfg(feature = "made-up")]
pub mod made_up;
mod mix;
mod money;
pub mod own;
pub mod page_trace;
pub mod pgbench;
pub mod population;
mod random;
#[cfg(test)]
mod refusing;
mod registry;
pub mod schema;
pub mod shape;
mod statement;
pub mod touch;
pub mod tpcc;
pub mod tpce;
mod transaction;
pub mod user;
mod workload;
pub mod ycsb;

pub use audit::{Audit, AuditDistribution, AuditLine, AuditRule, Rounds, StatementCount};
pub use condition::Condition;
pub use connection::{Connection, ConnectionError, Result};
pub use data_spec::{DataError, DataKind, DataSpec, Parameter, ROW_BYTES, Unit};
pub use deviation::Deviation;
pub use family::{Family, KindTrial, Member, Trial, WorkloadError, WorkloadName, WorkloadSpec};
pub use limit::Limit;
pub use mix::{Mix, MixError};
pub use page_trace::PageTrace;
pub use pgbench::Pgbench;
pub use registry::Registry;
pub use tpcc::Tpcc;
pub use tpce::Tpce;
pub use transaction::{Outcome, Pace, TransactionKind};
pub use workload::{Client, Dues, Workload};
pub use ycsb::Ycsb;

use workload::boxed;
