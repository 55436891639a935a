//! What a prediction is made from.

use std::{path::Path, time::Duration};

use octavo_database::Counters;
use octavo_device::{
    Device, DeviceError, Request, Tag,
    catalog::Entry,
    profile::Profile,
    profiled::{Profiled, ProfiledError},
};
use octavo_predict::CpuCost;
pub use octavo_predict::Slowness;
use octavo_units::{ByteCount, Moment, Seed, mix};
use octavo_workload::{WorkloadError, WorkloadName};

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
    /// How much slower the storage was under a database than the device is.
    pub slowness: Slowness,
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
    /// The storage that was calibrated with them, and how much slower it was under the
    /// database.
    pub storage: Option<(Box<Profile>, Slowness)>,
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
    /// The workload cannot be had.
    #[error(transparent)]
    Workload(WorkloadError),
    /// The calibrated storage cannot be asked.
    #[error(transparent)]
    Profiled(#[from] ProfiledError),
    /// Likewise.
    #[error(transparent)]
    Device(#[from] DeviceError),
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
        let is_like = |cell: &Cell| {
            let is_same = cell.database.name == *name && cell.database.options == database.options;
            is_same && cell.page_size == size && cell.clients == 1
        };
        let workload = plan.workload.to_string();
        let is_mixed = measured.mix != plan.mix || measured.distribution != plan.distribution;
        if measured.workload != plan.workload || is_mixed || !cells.iter().any(is_like) {
            return Err(lacks(&format!(
                "{workload} by one client on {name} with {size} pages and the same options"
            )));
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
        let kinds = plan
            .workload(plan.data[0])
            .map_err(CalibratedError::Workload)?;
        let counters = store
            .runs(kinds.transactions())?
            .iter()
            .filter(|run| is_like(&cells[run.key.cell]))
            .filter_map(|run| Some(run.figures()?.load.counters))
            .fold(Counters::default(), |all, one| all + one);
        let profile = store.calibration()?.map(|text| Profile::from_toml(&text));
        let storage = match profile.and_then(Result::ok) {
            Some(profile) => {
                let device = PredictedDevice::Profile(Box::new(profile.clone()));
                let slowness = slowness(device.open(plan.seed)?.as_mut(), &counters)?;
                Some((Box::new(profile), slowness))
            }
            None => None,
        };
        Ok(Self {
            cpu: Cpu::measured(other_ns, log_bytes, read_bytes, source),
            storage,
        })
    }
}

/// How many times as long as on a device requests took that were counted, each kind by its
/// mean size.
fn slowness(device: &mut dyn Device, counters: &Counters) -> Result<Slowness, DeviceError> {
    let sector = device.geometry().sector.get();
    let size = |bytes: ByteCount, requests: u64| {
        let mean = bytes.get() / requests.max(1);
        u32::try_from(mean.next_multiple_of(sector).max(sector)).unwrap_or(u32::MAX)
    };
    let ns = |time: Duration, requests: u64| time.as_nanos() as f64 / requests.max(1) as f64;
    let page = size(counters.read_bytes, counters.reads);
    let log = size(counters.log_written_bytes, counters.log_writes);
    // Reads and checkpoints go anywhere; the log goes on, and is flushed each time.
    let anywhere = |number: u64| mix(number) % (1 << 20) * u64::from(page);
    let read = wait(device, |number| Request::read(anywhere(number), page))?;
    // Each commit begins with the block in which the one before it ended.
    let mut end = sector;
    let mut append = |number: u64| {
        if number % 2 == 1 {
            return Request::FLUSH;
        }
        let begin = end - sector;
        end = begin + u64::from(log);
        Request::write(begin, log)
    };
    let [log_write, flush] = waits(device, &mut append)?;
    let write = wait(device, |number| Request::write(anywhere(number), page))?;
    let ratio = |measured: f64, modeled: f64| match measured > 0.0 && modeled > 0.0 {
        true => measured / modeled,
        false => 1.0,
    };
    // A checkpoint writes pages and flushes once.
    let checkpoints = counters.checkpoints;
    let pages = counters.data_writes as f64 / checkpoints.max(1) as f64;
    let log_syncs = counters.syncs.saturating_sub(checkpoints);
    Ok(Slowness([
        ratio(ns(counters.read_time, counters.reads), read),
        ratio(ns(counters.log_write_time, counters.log_writes), log_write),
        ratio(ns(counters.log_sync_time, log_syncs), flush),
        ratio(
            ns(counters.checkpoint_time, checkpoints),
            pages * write + flush,
        ),
        1.0,
    ]))
}

/// Requests that a mean is taken of.
const ASKED: u64 = 2000;

/// The mean wait for one request after another, in nanoseconds.
fn wait(device: &mut dyn Device, request: impl Fn(u64) -> Request) -> Result<f64, DeviceError> {
    let [even, odd] = waits(device, &mut |number| request(number))?;
    Ok((even + odd) / 2.0)
}

/// The mean waits for every first and every second of requests one after another.
fn waits(
    device: &mut dyn Device,
    request: &mut dyn FnMut(u64) -> Request,
) -> Result<[f64; 2], DeviceError> {
    let mut sums = [0.0; 2];
    for number in 0..2 * ASKED {
        let now = device.now();
        device.submit(now, Tag(0), request(number))?;
        let end = device.next(Moment::NEVER)?;
        sums[number as usize % 2] += end.map_or(0, |done| done.at.since(now)) as f64;
    }
    Ok(sums.map(|sum| sum / ASKED as f64))
}

/// What SQLite took for transactions beyond their waits, in nanoseconds, with pages of
/// 4 KiB and 32 MiB of cache, and the bytes that they moved to the log and read.
const CATALOG: [(&str, &str, [f64; 3]); 3] = [
    ("tpcc", "TPC-C", [250_000.0, 51_500.0, 31_000.0]),
    ("ycsb", "YCSB A", [26_000.0, 4_190.0, 3_300.0]),
    ("pgbench", "pgbench -N", [40_000.0, 12_200.0, 3_800.0]),
];

impl Cpu {
    /// Of the catalog of earlier measurements.
    pub fn of_catalog(workload: WorkloadName) -> Self {
        let family = workload.family().data.name;
        let known = CATALOG.iter().find(|(name, ..)| *name == family);
        let (_, of, [other_ns, log_bytes, read_bytes]) = known.unwrap_or(&CATALOG[0]);
        let (other_ns, log_bytes, read_bytes) = (*other_ns, *log_bytes, *read_bytes);
        let source = format!(
            "{:.0} µs a transaction beyond waits, as of {of} on a machine with 2 virtual CPUs in \
             2026: --calibrated-by takes yours",
            other_ns / 1e3
        );
        Self::measured(other_ns, log_bytes, read_bytes, source)
    }
}
