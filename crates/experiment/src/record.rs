//! One run: the only shape that executors produce, the store keeps and the
//! analysis reads.

use std::time::Duration;

use jiff::Timestamp;
use octavo_database::{Counters, RestoreMethod, StoragePath, TreeCounters};
use octavo_device::power::Energy;
use octavo_driver::Measurement;
use octavo_units::ByteCount;
use octavo_workload::Condition;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::machine::MachineUse;

/// How a record came about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// A database ran on storage.
    Measured,
    /// A model was asked.
    Predicted,
}

impl Source {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Measured, Self::Predicted];

    /// The name, as in the store.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Measured => "measured",
            Self::Predicted => "predicted",
        }
    }
}

/// Why a run that is under way, or was interrupted, has no result.
pub(crate) const UNFINISHED: &str = "not finished";

/// Which run of an experiment: one cell in one sitting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunKey {
    /// The sitting, from 0.
    pub sitting: u32,
    /// The cell's number in the plan.
    pub cell: usize,
}

/// A run of an experiment.
#[derive(Clone, Debug)]
pub struct RunRecord {
    /// How it came about.
    pub source: Source,
    /// Which run it is.
    pub key: RunKey,
    /// When it began.
    pub started_at: Timestamp,
    /// What it gave, or why it gave nothing, in words.
    pub result: Result<Box<Figures>, String>,
}

impl RunRecord {
    /// The figures, if the run gave any.
    pub fn figures(&self) -> Option<&Figures> {
        self.result.as_deref().ok()
    }
}

/// The figures of a run.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Figures {
    /// What the load driver saw: length, counts and latencies, the per-second
    /// series, the database's counters, steadiness, stability.
    #[serde(flatten)]
    pub load: Measurement,
    /// Time for copying, starting, stopping and checking.
    #[serde(rename = "overhead_s", serialize_with = "octavo_driver::seconds")]
    #[schemars(with = "f64")]
    pub overhead: Duration,
    /// How the copy was made that was run on; `None` where none was needed.
    pub restored_by: Option<RestoreMethod>,
    /// How reads got to the storage; `None` where it is not known, as on a
    /// server that the user runs.
    pub storage_path: Option<StoragePath>,
    /// What clients did with each table and index, where the database counts that.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub trees: Vec<TreeCounters>,
    /// What the device counted, where it can be asked.
    pub device: Option<DeviceUse>,
    /// How the machine was used: while a `bench` measured, or from the end of
    /// the warm-up to the end of the sitting, the slices of other cells
    /// included.
    pub machine: MachineUse,
    /// How the database was run, as name and value. The store keeps these as
    /// facts of the experiment rather than with each run.
    pub conditions: Vec<(String, String)>,
    /// The workload's consistency conditions afterwards.
    pub checks: Vec<Condition>,
    /// Why they were not checked, of a database that was gone, or had no space left, at
    /// the end.
    pub unchecked: Option<String>,
}

/// What the device under the database counted while measured: the second way
/// to know what a run read and wrote. Other programs on the machine are
/// counted as well.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DeviceUse {
    /// Completed read requests.
    pub reads: u64,
    /// Their bytes.
    pub read_bytes: ByteCount,
    /// Completed write requests.
    pub writes: u64,
    /// Their bytes.
    pub written_bytes: ByteCount,
    /// Energy of the device alone, without the machine: calculated from the
    /// power of an emulated device at rest and at work. `None` where that is
    /// not known, as of real devices.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub energy: Option<Energy>,
}

impl DeviceUse {
    /// What it counted in two spans of time together.
    pub(crate) fn plus(&self, other: &Self) -> Self {
        Self {
            reads: self.reads.saturating_add(other.reads),
            read_bytes: self.read_bytes.saturating_add(other.read_bytes),
            writes: self.writes.saturating_add(other.writes),
            written_bytes: self.written_bytes.saturating_add(other.written_bytes),
            energy: self
                .energy
                .zip(other.energy)
                .map(|(own, other)| own.plus(other)),
        }
    }

    /// The bytes of others: neither counted by the database nor had moved by its processes.
    /// These move more than databases count. PostgreSQL fills each new segment of its log
    /// with zeros, most of them just after its start, and no counter of its own has that.
    pub(crate) fn foreign(&self, asked: &Counters, own: Option<ByteCount>) -> ByteCount {
        let moved = self.read_bytes.saturating_add(self.written_bytes);
        let asked = asked.read_bytes.saturating_add(asked.written_bytes());
        moved.saturating_sub(own.map_or(asked, |own| own.max(asked)))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use octavo_database::Counters;
    use octavo_driver::{
        Counts, KindCounts, Sample,
        stability::Stability,
        steady::{Cycles, Label, Steadiness},
    };
    use octavo_workload::{Audit, TransactionKind};

    use super::*;

    #[test]
    fn what_the_processes_of_a_database_move_is_not_foreign() {
        let mib = ByteCount::mib;
        let device = DeviceUse {
            reads: 3,
            read_bytes: mib(3),
            writes: 20,
            written_bytes: mib(20),
            energy: None,
        };
        let asked = Counters {
            read_bytes: mib(3),
            log_written_bytes: mib(4),
            ..Counters::default()
        };
        assert_eq!(device.foreign(&asked, None), mib(16));
        // A segment of 16 MiB was filled with zeros.
        assert_eq!(device.foreign(&asked, Some(mib(23))), ByteCount::ZERO);
        // What ended processes moved is not known.
        assert_eq!(device.foreign(&asked, Some(mib(2))), mib(16));
    }

    /// A steady run of a minute in which so many transactions of TPC-C's first
    /// kind were committed.
    pub(crate) fn figures(kinds: &[TransactionKind], committed: u64) -> Figures {
        let mut counts = Counts::new(kinds);
        let mut latencies = counts.kinds[0].latencies.clone();
        for number in 0..committed {
            latencies.record(1000.0 + number as f32);
        }
        counts.kinds[0] =
            KindCounts::with_outcomes(&kinds[0], [committed, 3, 5, 0, 0, 2, 0, 0], latencies);
        counts.changed_bytes = 100 * committed;
        Figures {
            load: Measurement {
                warm_up: Duration::from_secs(5),
                warm_up_misses: 77,
                warm_up_failed: 0,
                buffer_filled: true,
                measured: Duration::from_mins(1),
                interrupted: false,
                lost: None,
                full: None,
                counts,
                counters: Counters {
                    buffer_hits: 10 * committed,
                    buffer_misses: 4 * committed,
                    ..Counters::default()
                },
                backlog: None,
                series: vec![Sample {
                    at: Duration::from_secs(6),
                    length: Duration::from_secs(1),
                    measured: true,
                    counted: committed / 60,
                    p99_us: 1234,
                    ..Sample::default()
                }],
                audit: Audit::default(),
                steadiness: Steadiness {
                    label: Label::Steady,
                    cut_s: 0.0,
                    tick_s: 0.6,
                    ticks: 100,
                    cycles: Cycles::None,
                },
                stability: Stability {
                    window_s: 6.0,
                    variation: Some(0.02),
                    longest_stall_s: 0.0,
                    lowest_second: Some(0.9),
                },
                outages: Vec::new(),
            },
            overhead: Duration::from_secs(2),
            restored_by: Some(RestoreMethod::Copy),
            trees: Vec::new(),
            storage_path: Some(StoragePath::Direct),
            device: None,
            machine: MachineUse::default(),
            conditions: vec![("synchronous".into(), "FULL".into())],
            checks: vec![Condition {
                clause: "3.3.2.1".into(),
                checked: 10,
                violations: 0,
                first_violation: None,
            }],
            unchecked: None,
        }
    }
}
