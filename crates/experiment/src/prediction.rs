//! What a prediction is made from.

use std::path::Path;

use octavo_device::{
    Device,
    catalog::Entry,
    profile::Profile,
    profiled::{Profiled, ProfiledError},
};
use octavo_predict::CpuCost;
use octavo_units::{ByteCount, Seed};
use octavo_workload::WorkloadName;

use crate::{
    plan::{Cell, Plan},
    record::Source,
    store::{Store, StoreError},
};

/// What the processor takes for a byte of the log, in nanoseconds: SQLite's checksum and
/// two copies.
const LOG_BYTE_NS: f64 = 0.5;
/// What it takes for a byte that is read, in nanoseconds.
const READ_BYTE_NS: f64 = 0.1;

/// What a prediction is made from, beside the plan.
#[derive(Clone, Debug)]
pub struct Prediction {
    /// The storage.
    pub device: PredictedDevice,
    /// What the processor takes, and where that is known from.
    pub cpu: Cpu,
}

/// Storage that is asked in virtual time.
#[derive(Clone, Debug)]
pub enum PredictedDevice {
    /// One of the catalog, or from a file.
    Entry(Box<Entry>),
    /// Storage that was measured.
    Profile(Box<Profile>),
}

/// What the processor takes for transactions, and where that is known from.
#[derive(Clone, Debug)]
pub struct Cpu {
    /// The cost.
    pub cost: CpuCost,
    /// In words.
    pub source: String,
}

impl Cpu {
    /// What transactions took that were measured: `other_ns` each, beyond their waits,
    /// `log_bytes` and `read_bytes` each.
    pub fn measured(other_ns: f64, log_bytes: f64, read_bytes: f64, source: String) -> Self {
        let moved_ns = LOG_BYTE_NS * log_bytes + READ_BYTE_NS * read_bytes;
        Self {
            cost: CpuCost {
                transaction_ns: (other_ns - moved_ns).max(0.0),
                log_byte_ns: LOG_BYTE_NS,
                read_byte_ns: READ_BYTE_NS,
            },
            source,
        }
    }
}

/// A profiled device is as large as data may become: its rates are those of the file
/// that was measured.
const PROFILED_CAPACITY: ByteCount = ByteCount::mib(1 << 24);

impl PredictedDevice {
    /// The device at rest.
    ///
    /// # Errors
    /// A profile that lacks points.
    pub fn open(&self, seed: Seed) -> Result<Box<dyn Device + Send>, ProfiledError> {
        Ok(match self {
            Self::Entry(entry) => entry.open(seed),
            Self::Profile(profile) => {
                Box::new(Profiled::new(profile, Some(PROFILED_CAPACITY), seed)?)
            }
        })
    }

    /// What it is called.
    pub fn name(&self) -> String {
        match self {
            Self::Entry(entry) => format!("{} ({})", entry.name, entry.title),
            Self::Profile(profile) => {
                let storage = &profile.storage;
                let device = storage.model.as_ref().or(storage.device.as_ref());
                let device = device.map_or("storage", String::as_str);
                format!("the calibrated {device}")
            }
        }
    }
}

/// What measured results say of the machine.
#[derive(Clone, Debug)]
pub struct Calibrated {
    /// What the processor takes for the workload's transactions.
    pub cpu: Cpu,
    /// The storage that was calibrated with them.
    pub profile: Option<Box<Profile>>,
}

/// Why results say nothing for a prediction.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CalibratedError {
    /// They cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// There are none of this kind.
    #[error("it has no {0}: name results of octavo advise with the same database and workload")]
    Lacks(String),
    /// They were predicted themselves.
    #[error("its results are not measured: name those of octavo advise")]
    NotMeasured,
}

impl Calibrated {
    /// What the results in the store at `path` say of the workload and the database of a
    /// plan: the median of what transactions took beyond their waits, with the
    /// database's default page size alone.
    ///
    /// # Errors
    /// See [`CalibratedError`].
    pub fn by(path: &Path, plan: &Plan) -> Result<Self, CalibratedError> {
        let lacks = |what: &str| CalibratedError::Lacks(what.to_owned());
        let store = Store::open(path)?;
        let measured = store.plan()?.ok_or_else(|| lacks("plan"))?;
        if store.source()? != Some(Source::Measured) {
            return Err(CalibratedError::NotMeasured);
        }
        let database = &plan.databases[0];
        let (name, size) = (&database.name, database.default_page_size);
        let cells = measured.cells();
        let is_like = |cell: &Cell| cell.database.name == *name && cell.page_size == size;
        let workload = plan.workload.to_string();
        if measured.workload != plan.workload || !cells.iter().any(is_like) {
            return Err(lacks(&format!("{workload} on {name} with {size} pages")));
        }
        let mut other = Vec::new();
        for slice in store.slices()? {
            let Some(spent) = slice.spent.filter(|_| is_like(&cells[slice.key.cell])) else {
                continue;
            };
            let waited = spent.read + spent.log_write + spent.log_sync + spent.checkpoint;
            let each = slice.transactions.max(1) as f64;
            other.push([
                slice.elapsed.saturating_sub(waited).as_nanos() as f64 / each,
                slice.log_bytes.get() as f64 / each,
                slice.misses as f64 * f64::from(size.get()) / each,
            ]);
        }
        if other.is_empty() {
            return Err(lacks("slices"));
        }
        let [other_ns, log_bytes, read_bytes] = [0, 1, 2].map(|column| {
            let mut values: Vec<f64> = other.iter().map(|one| one[column]).collect();
            values.sort_by(f64::total_cmp);
            values[values.len() / 2]
        });
        let source = format!(
            "{:.0} µs a transaction beyond waits with {size} pages, measured in {}",
            other_ns / 1e3,
            path.display()
        );
        let profile = store.calibration()?.map(|text| Profile::from_toml(&text));
        Ok(Self {
            cpu: Cpu::measured(other_ns, log_bytes, read_bytes, source),
            profile: profile.and_then(Result::ok).map(Box::new),
        })
    }
}

/// What SQLite took for transactions beyond their waits, in nanoseconds, with pages of
/// 4 KiB and 32 MiB of cache, and the bytes that they moved to the log and read.
const CATALOG: [(&str, [f64; 3]); 3] = [
    ("tpcc", [300_000.0, 52_000.0, 30_000.0]),
    ("ycsb", [40_000.0, 4_200.0, 3_300.0]),
    ("pgbench", [60_000.0, 12_000.0, 4_000.0]),
];

impl Cpu {
    /// Of the catalog of earlier measurements.
    pub fn of_catalog(workload: WorkloadName) -> Self {
        let family = workload.family().data.name;
        let known = CATALOG.iter().find(|(name, _)| *name == family);
        let [other_ns, log_bytes, read_bytes] = known.map_or(CATALOG[0].1, |(_, known)| *known);
        let source = format!(
            "{:.0} µs a transaction beyond waits, as on a machine with 2 virtual CPUs in 2026: \
             --calibrated-by takes yours",
            other_ns / 1e3
        );
        Self::measured(other_ns, log_bytes, read_bytes, source)
    }
}
