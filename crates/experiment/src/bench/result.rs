//! What a bench found, in one value that reports print and `--json` writes.

use jiff::Timestamp;
use octavo_database::{Counters, RestoreMethod, StoragePath};
use octavo_units::{ByteCount, PageSize, Seed};
use octavo_workload::{Condition, DataSet, Deviation, TransactionKind, connection::Conflict};
use serde::Serialize;

use super::DriverCost;
use crate::{
    audit::AuditFinding,
    drive::{Backlog, Counts, KindCounts, Load, Sample},
    latency::Percentiles,
    machine::MachineUse,
    run::DeviceUse,
    stability::Stability,
    steady::Steadiness,
};

/// Everything that a bench found.
#[derive(Clone, Debug, Serialize)]
pub struct BenchResult {
    /// The version of Octavo that measured.
    pub octavo: String,
    /// When the run began.
    pub started_at: Timestamp,
    /// What was measured.
    pub subject: Subject,
    /// The workload's short name.
    pub workload: String,
    /// Its rows.
    pub data: DataSet,
    /// Its mix, as `--mix` reads it.
    pub mix: String,
    /// Origin of rows and inputs.
    pub seed: Seed,
    /// Sessions of the database.
    pub clients: u32,
    /// How transactions came to them.
    pub load: Load,
    /// How often a transaction could be run again after conflicts.
    pub retries: u32,
    /// In what the run differs from what its workload's name promises.
    pub deviations: Vec<Deviation>,
    /// Length of the warm-up in seconds.
    pub warm_up_s: f64,
    /// Whether it read as many pages as the buffer has frames, or as the data
    /// has.
    pub buffer_filled: bool,
    /// Whether all data fits into the buffer, so that it need never be full.
    pub data_fits: bool,
    /// Length of the measured part in seconds, without
    /// [`Steadiness::cut_s`].
    pub measured_s: f64,
    /// Whether it was steady, and what was left out of it.
    pub steadiness: Steadiness,
    /// How even it was.
    pub stability: Stability,
    /// Whether an interrupt ended it early.
    pub interrupted: bool,
    /// Transactions committed or rolled back as the specification wants.
    pub transactions: u64,
    /// Transactions that failed.
    pub failed: u64,
    /// `transactions` a second; connecting is not in the time.
    pub transactions_per_second: f64,
    /// What the counted ones are called.
    pub counted_name: String,
    /// Commits of the counted kinds.
    pub counted: u64,
    /// … a second.
    pub counted_per_second: f64,
    /// Latencies of all kinds together, from what [`Load`] says.
    pub latency_us: Percentiles,
    /// One entry a kind of transaction that the mix has.
    pub kinds: Vec<KindFindings>,
    /// How much later than they were due transactions began; `None` in a
    /// closed loop with as many terminals as clients, where nothing waits.
    pub late_us: Option<Percentiles>,
    /// What waited; `None` in a closed loop.
    pub backlog: Option<Backlog>,
    /// Whether the wanted rate was not reached.
    pub saturated: bool,
    /// The database's counts in the measured part.
    pub counters: Counters,
    /// Bytes of column values that committed transactions set or inserted.
    pub changed_bytes: ByteCount,
    /// What the device under the database counted, where it can be asked.
    pub device: Option<DeviceUse>,
    /// How the machine was used.
    pub machine: MachineUse,
    /// What the driver costs without a database.
    pub driver: DriverCost,
    /// The generated load against the specified one.
    pub audit: Vec<AuditFinding>,
    /// Consistency conditions after the run.
    pub checks: Vec<Condition>,
    /// The run second by second, warm-up included.
    pub seconds: Vec<SecondFindings>,
}

/// What was measured, and how it was run.
#[derive(Clone, Debug, Serialize)]
pub struct Subject {
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
    /// How its reads got to the storage.
    pub storage_path: Option<StoragePath>,
    /// How the copy was made that was run on.
    pub restored_by: Option<RestoreMethod>,
    /// How it was run, as name and value.
    pub conditions: Vec<(String, String)>,
}

/// One kind of transaction in the measured part.
#[derive(Clone, Debug, Serialize)]
pub struct KindFindings {
    /// Its name.
    pub name: String,
    /// Committed.
    pub committed: u64,
    /// Rolled back as the specification wants.
    pub rolled_back: u64,
    /// Tries that were repeated after conflicts.
    pub retries: u64,
    /// Conflicts by kind, repeated or not.
    pub conflicts: Conflicts,
    /// Given up after as many conflicts as allowed.
    pub gave_up: u64,
    /// Ended by the database's time limit.
    pub timed_out: u64,
    /// Connection lost, outcome unknown.
    pub lost: u64,
    /// Latencies of what committed or rolled back as wanted.
    pub latency_us: Percentiles,
    /// The specification's limit and whether it was kept.
    pub response_time: Option<ResponseTime>,
}

/// Conflicts by kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Conflicts {
    /// Deadlocks.
    pub deadlocks: u64,
    /// Serialisation failures.
    pub serialisation_failures: u64,
    /// Lock timeouts.
    pub lock_timeouts: u64,
}

/// A limit of response times.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ResponseTime {
    /// 90 % have to be answered within this many seconds.
    pub limit_s: f64,
    /// Whether they were; a kind of which nothing ended keeps it.
    pub kept: bool,
}

/// One second of the run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SecondFindings {
    /// Counts.
    #[serde(flatten)]
    pub sample: Sample,
    /// Median latency in microseconds; 0 when nothing ended.
    pub p50_us: u64,
    /// 99 %.
    pub p99_us: u64,
    /// The longest.
    pub max_us: u64,
    /// Tries that were repeated after conflicts.
    pub retries: u64,
    /// Transactions that failed.
    pub failed: u64,
    /// What was due and not begun at its end; `None` in a closed loop.
    pub backlog: Option<u64>,
}

/// What each kind did that did anything.
pub(super) fn kinds(counts: &Counts, kinds: &[TransactionKind]) -> Vec<KindFindings> {
    let idle = |kind: &KindCounts| {
        kind.committed() + kind.rolled_back() + kind.failed() + kind.retries() == 0
    };
    counts
        .kinds
        .iter()
        .zip(kinds)
        .filter(|(counts, _)| !idle(counts))
        .map(|(counts, kind)| {
            let latency_us = counts.percentiles();
            KindFindings {
                name: kind.name.into(),
                committed: counts.committed(),
                rolled_back: counts.rolled_back(),
                retries: counts.retries(),
                conflicts: Conflicts {
                    deadlocks: counts.conflicts(Conflict::Deadlock),
                    serialisation_failures: counts.conflicts(Conflict::Serialisation),
                    lock_timeouts: counts.conflicts(Conflict::LockTimeout),
                },
                gave_up: counts.gave_up(),
                timed_out: counts.timed_out(),
                lost: counts.lost(),
                response_time: kind.response_limit.map(|limit| ResponseTime {
                    limit_s: limit.as_secs_f64(),
                    kept: u128::from(latency_us.p90_us) <= limit.as_micros(),
                }),
                latency_us,
            }
        })
        .collect()
}
