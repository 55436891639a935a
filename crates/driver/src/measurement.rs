//! The result of driving a database.

use std::time::Duration;

use octavo_database::Counters;
use octavo_units::ByteCount;
use octavo_workload::Audit;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};

use crate::{
    counts::Counts,
    observer::Sample,
    stability::Stability,
    steady::{Cycles, Label, Outage, Steadiness},
};

/// What waited: arrivals of an open loop, or terminals whose operators have
/// submitted, for a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Backlog {
    /// Due and not begun when the measured part began.
    pub begin: u64,
    /// … and when it ended.
    pub end: u64,
    /// What became due in the measured part.
    pub offered: u64,
    /// The most that chance lets wait. With more at the beginning or the end the database is
    /// saturated.
    pub bound: u64,
}

impl Backlog {
    /// Whether the database could not follow: too many waited, or in the
    /// measured part the line grew by a hundredth of what arrived (and by more
    /// than chance lets it).
    pub fn is_saturated(&self, connections: u32) -> bool {
        let chance = chance(connections);
        let added = self.end.saturating_sub(self.begin);
        self.begin.max(self.end) > self.bound || added > chance.max(self.offered / 100)
    }
}

/// How many may wait for `connections` by chance, when transactions arrive together or one
/// takes longer.
pub(crate) fn chance(connections: u32) -> u64 {
    10 * u64::from(connections)
}

/// The result of driving a database.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Measurement {
    /// Length of the warm-up.
    #[serde(rename = "warm_up_s", serialize_with = "seconds")]
    #[schemars(with = "f64")]
    pub warm_up: Duration,
    /// Pages read in it.
    pub warm_up_misses: u64,
    /// Transactions that failed in it, which count nowhere else.
    pub warm_up_failed: u64,
    /// Whether the warm-up read at least as many pages as the buffer has
    /// frames, or all data fits into it; of a model, whether the buffer went on as it was.
    pub buffer_filled: bool,
    /// Length of the measured part that the figures are of: without what
    /// [`Steadiness::cut_s`] leaves out.
    #[serde(rename = "measured_s", serialize_with = "seconds")]
    #[schemars(with = "f64")]
    pub measured: Duration,
    /// Whether an interrupt ended it early.
    pub interrupted: bool,
    /// Why it ended early, where the database was lost and did not come back.
    pub lost: Option<String>,
    /// Why it ended early, where the storage was full.
    pub full: Option<String>,
    /// Outcomes and latencies of the measured part. Conflicts and failures are
    /// those since the warm-up, in what was left out of the figures as well.
    #[serde(flatten)]
    pub counts: Counts,
    /// The database's counts in the measured part.
    pub counters: Counters,
    /// What waited; `None` in a closed loop.
    pub backlog: Option<Backlog>,
    /// The per-second series, warm-up included.
    #[serde(rename = "seconds")]
    pub series: Vec<Sample>,
    /// What was generated, warm-up included.
    #[serde(skip)]
    pub audit: Audit,
    /// Whether the run was steady, and what the figures leave out.
    pub steadiness: Steadiness,
    /// How even the throughput was.
    pub stability: Stability,
    /// When nothing was committed for long, since the warm-up. Empty of slices,
    /// and of a run from a store.
    pub outages: Vec<Outage>,
}

/// Totals of a warm-up.
#[derive(Clone, Copy, Debug, Default)]
pub struct WarmUpTotals {
    /// Its length; of slices, the time within them.
    pub elapsed: Duration,
    /// Pages read.
    pub misses: u64,
    /// Transactions that failed.
    pub failed: u64,
    /// Whether the buffer is full of what is wanted.
    pub is_full: bool,
}

/// Writes a time in seconds.
///
/// # Errors
/// What the serializer refuses.
pub fn seconds<S: Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(time.as_secs_f64())
}

impl Measurement {
    /// A measurement without a series in time, so that nothing says how steady or even it was:
    /// of slices, between which the database stood still.
    pub fn without_series(
        warm_up: WarmUpTotals,
        measured: Duration,
        counts: Counts,
        counters: Counters,
    ) -> Self {
        Self {
            warm_up: warm_up.elapsed,
            warm_up_misses: warm_up.misses,
            warm_up_failed: warm_up.failed,
            buffer_filled: warm_up.is_full,
            measured,
            interrupted: false,
            lost: None,
            full: None,
            counts,
            counters,
            backlog: None,
            series: Vec::new(),
            audit: Audit::default(),
            steadiness: Steadiness {
                label: Label::NotJudged,
                cut_s: 0.0,
                tick_s: 0.0,
                ticks: 0,
                cycles: Cycles::None,
            },
            stability: Stability::default(),
            outages: Vec::new(),
        }
    }

    /// Commits of the counted kinds, measured.
    pub fn counted(&self) -> u64 {
        self.counts.counted()
    }

    /// Transactions that ended as the workload wants, measured.
    pub fn transactions(&self) -> u64 {
        self.counts.transactions()
    }

    /// Bytes of the column values that committed transactions set or inserted
    /// in the measured part.
    pub fn changed_bytes(&self) -> ByteCount {
        ByteCount::new(self.counts.changed_bytes)
    }
}
