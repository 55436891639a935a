//! What the driver itself costs: the same transactions against a database
//! that answers at once. It is measured once for a program, a machine and a workload, and
//! then read from the cache.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{self, Write},
    path::Path,
    process,
    time::Duration,
};

use jiff::Timestamp;
use octavo_database::Noop;
use octavo_driver::{DriverError, DriverObserver, DriverSettings, Load, RunLength, drive};
use octavo_storage::{cache, text};
use octavo_units::{ByteCount, Seed};
use octavo_workload::Workload;
use rustix::time::{ClockId, clock_gettime};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{machine, program};

/// How long it is measured.
const MEASURED: Duration = Duration::from_millis(400);

/// Before that: caches and branch predictors get used to it.
const WARM_UP: Duration = Duration::from_millis(100);

/// The longest file of a kept cost; ours have about 2 KiB.
const KEPT_BYTES_MAX: ByteCount = ByteCount::kib(64);

/// The driver's cost with one connection.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DriverCost {
    /// Processor time of drawing, running and recording one transaction, in
    /// microseconds; that of the sampler included.
    pub cpu_us_per_transaction: f64,
    /// Transactions a second.
    pub transactions_per_second: f64,
    /// When it was measured.
    pub measured_at: Timestamp,
    /// Whether an earlier run measured it, so that it is from the cache.
    #[serde(skip_deserializing)]
    pub cached: bool,
}

/// What a cost was measured with. It holds for no other.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Conditions {
    /// The version, size and time of the program.
    program: String,
    /// [Facts](machine::describe) about the machine, with its name.
    machine: BTreeMap<String, String>,
    /// Name, rows and mix.
    workload: String,
}

impl Conditions {
    fn here(workload: &dyn Workload, octavo_version: &str) -> io::Result<Self> {
        let program = program::identity(octavo_version)?;
        let data = serde_json::to_string(&workload.data_spec())?;
        let mix = workload.mix().describe(workload.transactions());
        let host = rustix::system::uname().nodename().to_string_lossy().into();
        Ok(Self {
            program,
            machine: machine::describe()
                .into_iter()
                .chain([("host", host)])
                .map(|(name, value)| (name.to_owned(), value))
                .collect(),
            workload: format!("{}, {data}, {mix}", workload.name()),
        })
    }
}

/// A cost as it is in its file.
#[derive(Serialize, Deserialize)]
struct CachedCost {
    conditions: Conditions,
    cost: DriverCost,
}

/// The driver's cost with this workload: from the cache below `caches`, or measured and kept
/// there for the next time. Without a directory, or where nothing can be kept, it is measured.
///
/// # Errors
/// When measuring fails or is interrupted.
pub(super) fn find(
    workload: &dyn Workload,
    octavo_version: &str,
    caches: Option<&Path>,
    measure: impl FnOnce() -> Result<DriverCost, DriverError>,
) -> Result<DriverCost, DriverError> {
    let conditions = Conditions::here(workload, octavo_version);
    let (Some(root), Ok(conditions)) = (caches, conditions) else {
        return measure();
    };
    let file = root.join(format!("driver-cost-{}.json", workload.name()));
    if let Some(cost) = read(&file, &conditions) {
        return Ok(cost);
    }
    let cost = measure()?;
    // It is measured again where it cannot be kept.
    let _kept = write(root, &file, &CachedCost { conditions, cost });
    Ok(cost)
}

/// The kept cost, unless the file is missing, damaged or of other conditions.
fn read(file: &Path, conditions: &Conditions) -> Option<DriverCost> {
    let text = text::read(file, KEPT_BYTES_MAX).ok()?;
    let kept: CachedCost = serde_json::from_str(&text).ok()?;
    let cost = kept.cost;
    let is_sound = cost.cpu_us_per_transaction > 0.0 && cost.transactions_per_second > 0.0;
    (kept.conditions == *conditions && is_sound).then_some(DriverCost {
        cached: true,
        ..cost
    })
}

/// Writes the file whole or not at all.
fn write(root: &Path, file: &Path, kept: &CachedCost) -> io::Result<()> {
    cache::create(root)?;
    let unfinished = file.with_extension(process::id().to_string());
    File::create(&unfinished)
        .and_then(|mut out| {
            out.write_all(&serde_json::to_vec_pretty(kept)?)?;
            fs::rename(&unfinished, file)
        })
        .inspect_err(|_| {
            // It is ours, and of no use.
            let _removed = fs::remove_file(&unfinished);
        })
}

/// Drives the workload against [`Noop`].
pub(super) fn measure(
    workload: &dyn Workload,
    seed: Seed,
    interrupted: &(dyn Fn() -> bool + Sync),
) -> Result<DriverCost, DriverError> {
    let measured_at = Timestamp::now();
    let mut clock = Clock::default();
    let drive = drive(
        &Noop::new(workload),
        DriverSettings {
            workload,
            seed: seed.derive("driver cost", 0),
            connections: 1,
            load: Load::Closed { terminals: 1 },
            retries: 0,
            length: RunLength::Time {
                warm_up_min: WARM_UP,
                warm_up_max: WARM_UP,
                measured: MEASURED,
            },
            keep_interrupted: false,
            frames: 0,
        },
        &mut clock,
        interrupted,
    )?;
    let transactions = drive.transactions().max(1) as f64;
    Ok(DriverCost {
        cpu_us_per_transaction: clock.used.as_secs_f64() * 1e6 / transactions,
        transactions_per_second: transactions / drive.measured.as_secs_f64(),
        measured_at,
        cached: false,
    })
}

/// Processor time of this process in the time of the figures.
#[derive(Default)]
struct Clock {
    /// At the beginning of the measured part and at each edge.
    readings: Vec<Duration>,
    used: Duration,
}

impl DriverObserver for Clock {
    fn begin(&mut self) {
        self.readings.push(processor_time());
    }

    fn edge(&mut self) {
        self.readings.push(processor_time());
    }

    fn figures_from(&mut self, edge: usize) {
        if let (Some(first), Some(last)) = (self.readings.get(edge), self.readings.last()) {
            self.used = *last - *first;
        }
    }
}

fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec as u32)
}

#[cfg(test)]
mod tests {
    use std::env;

    use octavo_workload::Tpcc;

    use super::*;

    const COST: DriverCost = DriverCost {
        cpu_us_per_transaction: 2.25,
        transactions_per_second: 400_000.0,
        measured_at: Timestamp::UNIX_EPOCH,
        cached: false,
    };

    /// The cost for so many warehouses, and whether it was measured.
    fn find_cost(caches: Option<&Path>, warehouses: u32, version: &str) -> (DriverCost, bool) {
        let workload = Tpcc::new(warehouses, Seed::new(1)).unwrap();
        let mut is_measured = false;
        let cost = find(&workload, version, caches, || {
            is_measured = true;
            Ok(COST)
        });
        (cost.unwrap(), is_measured)
    }

    #[test]
    fn cost_is_measured_once_for_each_version_and_workload() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().join("octavo");
        let kept = DriverCost {
            cached: true,
            ..COST
        };
        for (warehouses, version) in [(1, "1.0"), (1, "1.1"), (2, "1.1")] {
            assert_eq!(find_cost(Some(&root), warehouses, version), (COST, true));
            assert_eq!(find_cost(Some(&root), warehouses, version), (kept, false));
        }
        assert_eq!(find_cost(None, 2, "1.1"), (COST, true), "without a cache");
        let names = fs::read_dir(&root).unwrap().count();
        assert_eq!(names, 1, "nothing unfinished is left");
    }

    #[test]
    fn damaged_and_foreign_costs_are_measured_again() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        let file = root.join("driver-cost-tpcc.json");
        find_cost(Some(root), 1, "1.0");
        let sound = fs::read_to_string(&file).unwrap();
        let program = fs::metadata(env::current_exe().unwrap()).unwrap().len();
        for damaged in [
            sound[..sound.len() / 2].to_owned(),
            sound.replace("2.25", "-2.25"),
            sound.replace(&program.to_string(), "17"),
            sound.replace("\"host\"", "\"guest\""),
            " ".repeat(1 << 20),
            String::new(),
        ] {
            assert_ne!(damaged, sound);
            fs::write(&file, damaged).unwrap();
            assert_eq!(find_cost(Some(root), 1, "1.0"), (COST, true));
            assert_eq!(fs::read_to_string(&file).unwrap(), sound, "it is mended");
        }
    }

    #[test]
    fn cost_that_cannot_be_kept_is_measured_each_time() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("file");
        fs::write(&file, "").unwrap();
        for _ in 0..2 {
            assert_eq!(find_cost(Some(&file), 1, "1.0"), (COST, true));
        }
    }
}
