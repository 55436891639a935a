//! The description of a database that is modeled: all that differs among them outside of
//! their own directories.

use std::{fmt, sync::Arc};

use octavo_database::{DatabaseError, DatabaseKind, Options};

use crate::engine::Modeled;

/// A model, or the refusal of an option.
pub(crate) type ModeledResult = Result<Arc<dyn Modeled>, DatabaseError>;

/// A database that is modeled.
pub struct ModeledKind {
    /// What plans, flags and reports have of it: its names, options and page sizes, and how
    /// to follow advice. That of the measured database where there is one.
    pub database: &'static DatabaseKind,
    /// What its options mean to the model, on storage of which the system says that it
    /// rotates or not. [`not_modeled`] is the refusal of those that have none.
    pub(crate) model: fn(&Options, bool) -> ModeledResult,
    /// What its transactions take of processors.
    pub processor: ProcessorCosts,
    /// What it tells of its times.
    pub timing: Timing,
    /// A page size that is predicted to have less than this share of the best one's
    /// throughput is not worth measuring: one whose ratio was predicted as badly as the worst
    /// so far would still be slower (docs/predictions.md).
    pub worth_measuring: f64,
    /// What the model was compared with.
    pub comparison: Comparison,
}

/// What a database's transactions take of processors.
#[derive(Clone, Copy, Debug)]
pub enum ProcessorCosts {
    /// By workloads, with the database's default page size, on the machine that
    /// [`Self::MACHINE_PROCESSORS`] describes. At least one; the first stands for families of
    /// workloads that are not there.
    Measured(&'static [MeasuredCost]),
    /// As of another database, for there is none to measure.
    StandIn(&'static ModeledKind),
}

/// What a workload's transactions took of processors.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeasuredCost {
    /// The family of the workload.
    pub family: &'static str,
    /// The workload's name.
    pub workload: &'static str,
    /// Its name in words.
    pub title: &'static str,
    /// The cost.
    pub cost: TransactionCost,
}

/// A transaction's mean share of what was measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TransactionCost {
    /// Time beyond its waits, in nanoseconds.
    pub other_ns: f64,
    /// Bytes of the log.
    pub log_bytes: f64,
    /// Bytes that it read.
    pub read_bytes: f64,
}

/// What a database tells of its times, from which a model of a measured cell gets its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timing {
    /// All that it waits for, and each checkpoint.
    Everything,
    /// Reads, and the log's writes and flushes, which are one: its writes go to the page
    /// cache, and its flushes write that. Pages are written besides, as fast as others are
    /// read.
    ReadsAndLog,
    /// No wait, and of processors what it took in user mode.
    UserMode,
}

/// What a model was compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// The database itself, which can be measured here.
    Measured {
        /// Where in the repository the latest record is.
        record: &'static str,
    },
    /// Nothing: it is made from what is published, and such a database cannot be measured
    /// here.
    Never,
}

impl ModeledKind {
    /// Whether such a database can be measured here.
    pub fn is_measurable(&self) -> bool {
        self.comparison != Comparison::Never
    }
}

/// The refusal of an option that a measured database has and its model has not, but for the
/// value `known`.
pub(crate) fn not_modeled(
    database: &DatabaseKind,
    option: &'static str,
    value: impl fmt::Display,
    known: impl fmt::Display,
) -> DatabaseError {
    let reason =
        format!("there is no model of it, predict knows {known}; octavo advise measures it");
    database.refuse(option, value, reason)
}

impl ProcessorCosts {
    /// The processors of the machine on which costs were measured.
    pub const MACHINE_PROCESSORS: u32 = 2;

    /// What is known of a family of workloads, or of another in its place; and the database in
    /// whose place that is, where it is another one.
    pub fn of_family(&self, family: &str) -> (&'static MeasuredCost, Option<&'static ModeledKind>) {
        match self {
            Self::Measured(costs) => {
                let same = costs.iter().find(|cost| cost.family == family);
                (same.unwrap_or(&costs[0]), None)
            }
            Self::StandIn(kind) => (kind.processor.of_family(family).0, Some(kind)),
        }
    }
}

impl MeasuredCost {
    /// Of a workload, by its family, name and title: nanoseconds beyond waits, bytes of the
    /// log and bytes read.
    pub(crate) const fn new(
        [family, workload, title]: [&'static str; 3],
        [other_ns, log_bytes, read_bytes]: [f64; 3],
    ) -> Self {
        Self {
            family,
            workload,
            title,
            cost: TransactionCost {
                other_ns,
                log_bytes,
                read_bytes,
            },
        }
    }
}

impl fmt::Debug for ModeledKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ModeledKind")
            .field(&self.database.name)
            .finish()
    }
}
