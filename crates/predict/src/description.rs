//! The description of a database that is modeled: all that differs among them outside of
//! their own directories.

use std::{borrow::Cow, fmt, sync::Arc};

use octavo_database::{DatabaseError, DatabaseKind, Options};
use octavo_workload::Workload;
use serde::{Deserialize, Serialize};

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
    /// How far misses were off beside the database's: standard deviations of their logarithm,
    /// for all page sizes together and of each by itself. 0 where that is less than how well
    /// storage is known.
    pub misses_off: [f64; 2],
    /// What the model was compared with.
    pub comparison: Comparison,
}

/// What a database's transactions take of processors.
#[derive(Clone, Copy, Debug)]
pub enum ProcessorCosts {
    /// By kinds of transactions, with the database's default page size, on the machine that
    /// [`Self::MACHINE_PROCESSORS`] describes.
    Measured(&'static [KindCost]),
    /// As of another database, for there is none to measure.
    StandIn(&'static ModeledKind),
}

/// What a kind of transaction takes of processors with all data in memory and a log that
/// nobody waits for, as `octavo bench --cpu-catalog` measures it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct KindCost {
    /// The family of workloads, by the name of its data.
    pub family: Cow<'static, str>,
    /// The kind of transaction.
    pub kind: Cow<'static, str>,
    /// Microseconds of a processor, database and client.
    pub us: f64,
    /// From one run to the next: the standard deviation of its logarithm.
    pub deviation: f64,
    /// Bytes of the log.
    pub log_bytes: f64,
}

/// What a workload's transactions take of processors.
#[derive(Clone, Debug, PartialEq)]
pub struct MixCost {
    /// The mean over the mix.
    pub cost: TransactionCost,
    /// How many times the mean each kind takes, in the order of the workload's; those that the
    /// mix leaves out have 1.
    pub weights: Vec<f64>,
}

/// Kinds of transactions of which nobody knows what they take of processors.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("what {} of processors is not known: measure it, with octavo bench --cpu-catalog and the \
         same --database, and name that file with --cpu", match .0.as_slice() {
             [kind] => format!("{kind} takes"),
             kinds => format!("{} take", kinds.join(", ")),
         })]
pub struct UnknownCost(pub Vec<&'static str>);

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
    /// read. Of flushes it counts those of the log alone.
    ReadsAndLog,
    /// No wait, and of processors what it took in user mode.
    UserMode,
}

/// What a model was compared with.
#[derive(Clone, Copy, Debug)]
pub enum Comparison {
    /// The database itself, which can be measured here.
    Measured {
        /// Where in the repository the latest record is.
        record: &'static str,
    },
    /// Another database, whose model is this one's.
    AsOf(&'static ModeledKind),
    /// Nothing: it is made from what is published, and such a database cannot be measured
    /// here.
    Never,
}

impl ModeledKind {
    /// Whether such a database can be measured here.
    pub fn is_measurable(&self) -> bool {
        !matches!(self.comparison, Comparison::Never)
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
    let known = known.to_string();
    // As it is typed: sizes are written without a space.
    let typed = known.replace(' ', "");
    let reason = format!(
        "there is no model of it, predict knows {known}: give --{option} {typed}, or measure it with \
         octavo advise"
    );
    database.refuse(option, value, reason)
}

impl ProcessorCosts {
    /// The processors of the machine on which costs were measured.
    pub const MACHINE_PROCESSORS: u32 = 2;

    /// By kinds, and the database in whose place that is, where it is another one.
    pub fn kinds(&self) -> (&'static [KindCost], Option<&'static ModeledKind>) {
        match self {
            Self::Measured(costs) => (costs, None),
            Self::StandIn(kind) => (kind.processor.kinds().0, Some(kind)),
        }
    }
}

impl KindCost {
    /// Of a family and kind: microseconds, their deviation and bytes of the log.
    pub(crate) const fn new(
        [family, kind]: [&'static str; 2],
        [us, deviation, log_bytes]: [f64; 3],
    ) -> Self {
        Self {
            family: Cow::Borrowed(family),
            kind: Cow::Borrowed(kind),
            us,
            deviation,
            log_bytes,
        }
    }

    /// What a workload's transactions take by the costs of their kinds, or of the
    /// [operations](Workload::operations_of) of a kind that has none.
    ///
    /// # Errors
    /// [`UnknownCost`] where a kind of its mix is not among them.
    pub fn of_mix(costs: &[Self], workload: &dyn Workload) -> Result<MixCost, UnknownCost> {
        let family = workload.data_spec().kind().name;
        let (kinds, mix) = (workload.transactions(), workload.mix());
        let cost = |name: &str| {
            let mut costs = costs.iter();
            let found = costs.find(|cost| cost.family == family && cost.kind == name);
            found.map(|found| Taken {
                us: found.us,
                log_bytes: found.log_bytes,
            })
        };
        let of_operations = |kind: usize| {
            let operations = workload.operations_of(kind);
            let each = operations
                .iter()
                .map(|(name, count)| Some((cost(name)?, count)));
            let each: Option<Vec<(Taken, &f64)>> = each.collect();
            let each = each.filter(|each| !each.is_empty())?;
            let sum =
                |of: fn(&Taken) -> f64| each.iter().map(|(taken, count)| of(taken) * *count).sum();
            let taken = Taken {
                us: sum(|taken| taken.us),
                log_bytes: sum(|taken| taken.log_bytes),
            };
            // As where a range of many keys takes less than a get.
            (taken.us > 0.0).then_some(taken)
        };
        let found = kinds.iter().enumerate();
        let found = found.map(|(place, kind)| cost(kind.name).or_else(|| of_operations(place)));
        let found: Vec<Option<Taken>> = found.collect();
        let wanted = |kind: &usize| mix.share(*kind) > 0.0;
        let unknown = (0..kinds.len()).filter(|kind| wanted(kind) && found[*kind].is_none());
        let unknown: Vec<&str> = unknown.map(|kind| kinds[kind].name).collect();
        if !unknown.is_empty() {
            return Err(UnknownCost(unknown));
        }
        let mean = |of: fn(&Taken) -> f64| -> f64 {
            let each = found.iter().enumerate();
            each.filter_map(|(kind, cost)| Some(mix.share(kind) * of(cost.as_ref()?)))
                .sum()
        };
        let us = mean(|cost| cost.us);
        let weights = found.iter().enumerate().map(|(kind, cost)| match cost {
            Some(cost) if wanted(&kind) => cost.us / us,
            _ => 1.0,
        });
        Ok(MixCost {
            cost: TransactionCost {
                other_ns: us * 1e3,
                log_bytes: mean(|cost| cost.log_bytes),
                read_bytes: 0.0,
            },
            weights: weights.collect(),
        })
    }
}

/// What transactions of a kind take.
#[derive(Clone, Copy)]
struct Taken {
    us: f64,
    log_bytes: f64,
}

impl fmt::Debug for ModeledKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ModeledKind")
            .field(&self.database.name)
            .finish()
    }
}
