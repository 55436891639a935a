//! What a bench found, in one value that reports print and `--json` writes.

use std::collections::BTreeMap;

use jiff::Timestamp;
use octavo_driver::{KindCounts, Load, Percentiles};
use octavo_units::{ByteCount, PageSize, Seed};
use octavo_workload::{DataSpec, Deviation, user::Own};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::cost::DriverCost;
use crate::{
    audit::AuditFinding,
    caveats::Caveat,
    compare::Difference,
    findings::of_own,
    ramp::RampFinding,
    record::Figures,
    statistics::{Decision, Interval},
};

/// Everything that a bench found.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct BenchResult {
    /// The version of Octavo that measured.
    pub octavo: String,
    /// When the run began.
    pub started_at: Timestamp,
    /// What was measured.
    pub subject: TestedSystem,
    /// The workload's short name.
    pub workload: String,
    /// Its rows.
    pub data: DataSpec,
    /// The user's own rows and statements, where these are the workload.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub own: Option<Own>,
    /// Its mix, as `--mix` reads it.
    pub mix: String,
    /// Origin of rows and inputs.
    pub seed: Seed,
    /// Sessions of the database.
    pub clients: u32,
    /// How transactions came to them.
    pub load: Load,
    /// How often a transaction could be run again after conflicts; how often some were is
    /// under `retries`.
    #[serde(rename = "retries_max")]
    pub retries: u32,
    /// In what the run differs from what its workload's name promises.
    pub deviations: Vec<Deviation>,
    /// Whether all data fits into the buffer, so that it need never be full.
    pub data_fits: bool,
    /// What the counted transactions are called.
    pub counted_name: String,
    /// What each number of clients gave, of a ramp; the run's own figures are of all of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ramp: Option<RampFinding>,
    /// What it is beside an earlier result, where one was named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub beside: Option<BesideBaseline>,
    /// What the driver costs without a database.
    pub driver: DriverCost,
    /// The generated load against the specified one.
    pub audit: Vec<AuditFinding>,
    /// What the run gave.
    #[serde(flatten)]
    pub figures: Figures,
}

impl BenchResult {
    /// Transactions a second, committed or rolled back as the specification
    /// wants; connecting is not in the time.
    pub fn transactions_per_second(&self) -> f64 {
        self.per_second(self.figures.load.transactions())
    }

    /// Commits of the counted kinds a second.
    pub fn counted_per_second(&self) -> f64 {
        self.per_second(self.figures.load.counted())
    }

    fn per_second(&self, count: u64) -> f64 {
        count as f64 / self.figures.load.measured.as_secs_f64()
    }

    /// What is to be said of the user's own rows and statements.
    pub fn own_caveats(&self) -> Vec<Caveat> {
        let found = BTreeMap::from([(0, self.figures.load.audit.clone())]);
        let own = self.own.iter();
        own.flat_map(|own| of_own(own, &found)).collect()
    }

    /// In what it falls short of a whole result: the storage was full, the database was
    /// lost, what it left was not checked, or nothing ended.
    pub fn shortfall(&self) -> Option<String> {
        let load = &self.figures.load;
        if let Some(full) = &load.full {
            return Some(format!(
                "the run ended early, and the rows were not checked: {full}"
            ));
        }
        let lost = load
            .lost
            .iter()
            .map(|lost| format!("the run ended early: {lost}"));
        let unchecked = self.figures.unchecked.iter();
        let unchecked = unchecked.map(|reason| format!("the rows were not checked: {reason}"));
        let mut parts: Vec<String> = lost.chain(unchecked).collect();
        if parts.is_empty() && load.transactions() == 0 {
            parts.push(format!(
                "no transaction ended in the {:.1} s that were measured: give a longer \
                 --duration or a lower load",
                load.measured.as_secs_f64()
            ));
        }
        (!parts.is_empty()).then(|| parts.join("; "))
    }

    /// The kinds of transactions that were tried.
    pub fn kinds(&self) -> Vec<&KindCounts> {
        let kinds = self.figures.load.counts.kinds.iter();
        kinds.filter(|kind| !kind.is_idle()).collect()
    }

    /// Whether the wanted rate was not reached.
    pub fn saturated(&self) -> bool {
        let backlog = self.figures.load.backlog;
        backlog.is_some_and(|backlog| backlog.is_saturated(self.clients))
    }

    /// How much later than they were due transactions began; `None` in a
    /// closed loop with as many terminals as clients, where nothing waits.
    pub fn late(&self) -> Option<Percentiles> {
        let waits = match self.load {
            Load::Closed { terminals } => terminals > self.clients,
            Load::Ramp(_) => false,
            Load::Open { .. } | Load::Paced { .. } | Load::Recorded { .. } => true,
        };
        waits.then(|| self.figures.load.counts.late.percentiles())
    }
}

/// A bench beside an earlier result.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct BesideBaseline {
    /// Where that is.
    pub baseline: String,
    /// Counted commits a second in it (95%, it alone).
    pub per_second: Interval,
    /// Throughput of this run over it: 95% by the noise within both runs. What changed on the machine
    /// between them is part of it.
    pub ratio: Interval,
    /// What the interval says of this run; open where there is a doubt.
    pub decision: Decision,
    /// Why nothing is decided, whatever the interval says.
    pub doubt: Option<Doubt>,
    /// Ratios within this share of 1 make no difference.
    pub margin: f64,
    /// What was not the same: first in the baseline, then in this run.
    pub differences: Vec<Difference>,
}

/// Why the throughput of one of two runs may be another one the next time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Doubt {
    /// It was not steady.
    NotSteady,
    /// Other programs or machines used the processors, the memory or the storage.
    Disturbed,
    /// A warning of the store may change what it says.
    Warned,
}

/// What was measured.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct TestedSystem {
    /// The database's short name.
    pub database: String,
    /// Its version.
    pub version: String,
    /// Where it is, without any password, when the user runs it.
    pub server: Option<String>,
    /// Its page size; `None` without pages.
    pub page_size: Option<PageSize>,
    /// All memory that may hold data; `None` without any, or where it is not
    /// known, as on a server that the user runs.
    pub memory: Option<ByteCount>,
    /// Bytes of the data as loaded.
    pub size: Option<ByteCount>,
}
