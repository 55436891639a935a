//! One run of one workload against one database, with all that is needed to
//! believe it: the generated load against the specified one, the driver's own
//! cost, what waited, what failed, and the consistency of the rows afterwards.

mod baseline;
mod cost;
mod cpu_catalog;
mod external;
mod hdr_log;
mod measure;
mod result;
mod seconds;

pub use baseline::{Baseline, BaselineError, Comparable, WantedCell};
pub use cost::DriverCost;
pub use cpu_catalog::{CpuCatalogSettings, cpu_catalog};
pub use external::{ExternalError, ExternalRows, ExternalSettings, Reuse};
pub use hdr_log::HdrLogError;
pub use measure::{BenchError, BenchSettings, Benched, Target, automatic_warm_up, bench};
pub use result::{BenchResult, BesideBaseline, Doubt, TestedSystem};
pub(crate) use seconds::words_of_second;
