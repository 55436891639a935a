//! One run of one workload against one database, with all that is needed to
//! believe it: the generated load against the specified one, the driver's own
//! cost, what waited, what failed, and the consistency of what is left.

mod cost;
mod hdr_log;
mod result;
mod seconds;
mod served;

use std::{io, time::Duration};

use hdrhistogram::serialization::V2DeflateSerializer;
use jiff::Timestamp;
use octavo_database::{Database, DatabaseError, Isolation, Noop, Running};
use octavo_device::location::Location;
use octavo_units::{ByteCount, PageSize, Seed};
use octavo_workload::{Deviation, Workload};

use crate::{
    audit,
    drive::{DriveObserver, DriveSettings, Extension, Load, drive},
    latency::Percentiles,
    loaded::{LoadError, Loaded},
    observer::Observer,
    plan::RunLength,
    run::{RunError, RunSettings, Watch, run},
};
use hdr_log::HdrLogPlace;
use seconds::{Follower, Log};

pub use cost::DriverCost;
pub use hdr_log::HdrLogError;
pub use result::{BenchResult, Conflicts, KindFindings, ResponseTime, SecondFindings, Subject};
pub use served::{Reuse, ServedError, ServedRows, ServedSettings};

/// What to run on.
pub enum Target<'a> {
    /// A database that answers at once, to measure the driver alone.
    Noop,
    /// A fresh copy of what was loaded.
    Loaded {
        /// The rows.
        loaded: &'a Loaded,
        /// The database that loaded them.
        database: &'a dyn Database,
        /// All memory that may hold data.
        memory: ByteCount,
    },
    /// What is on a server that the user runs, as it is.
    Served(&'a ServedRows<'a>),
}

/// What to measure.
pub struct BenchSettings<'a> {
    /// What to run on.
    pub target: Target<'a>,
    /// The workload.
    pub workload: &'a dyn Workload,
    /// Origin of the inputs.
    pub seed: Seed,
    /// Sessions of the database.
    pub clients: u32,
    /// How transactions come to them.
    pub load: Load,
    /// How often a transaction is run again after conflicts.
    pub retries: u32,
    /// How transactions are kept apart; `None` for the database's default.
    pub isolation: Option<Isolation>,
    /// How long.
    pub length: RunLength,
    /// Where each second's latencies go in the form of HdrHistogram's logs.
    pub hdr_log: Option<&'a mut dyn io::Write>,
    /// The version of Octavo.
    pub octavo_version: &'a str,
}

/// Why a bench gave no result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BenchError {
    /// The run failed.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The directory could not be used.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// No transaction ended in the measured part.
    #[error(
        "no transaction ended in the {0:.1} s that were measured: give a longer --duration or a \
         lower load"
    )]
    NothingMeasured(f64),
}

impl BenchError {
    /// Whether the caller asked for the end.
    pub fn is_stop(&self) -> bool {
        matches!(self, Self::Run(error) if error.is_stop())
    }

    /// Whether the caller gave something that cannot be done, and nothing was
    /// changed.
    pub fn is_bad_input(&self) -> bool {
        match self {
            Self::Run(RunError::Database(error)) => {
                matches!(error, DatabaseError::Setting { .. })
            }
            Self::Load(error) => error.is_bad_input(),
            _ => false,
        }
    }
}

/// A finished bench.
#[derive(Debug)]
pub struct Benched {
    /// What was found.
    pub result: BenchResult,
    /// Whether all of the log of latencies was written, if one was wanted.
    pub hdr_log: Result<(), HdrLogError>,
}

/// Makes the run; an interrupt while measuring ends it early and keeps what
/// was measured. The driver's own cost is measured before it, which takes
/// half a second.
///
/// # Panics
/// Where [`drive`] does: a length in transactions needs a closed loop with as
/// many terminals as clients.
pub fn bench(
    mut settings: BenchSettings<'_>,
    observer: &dyn Observer,
) -> Result<Benched, BenchError> {
    let interrupted = || observer.interrupted();
    let driver =
        cost::measure(settings.workload, settings.seed, &interrupted).map_err(RunError::from)?;
    let started_at = Timestamp::now();
    let mut serializer = V2DeflateSerializer::new();
    let mut out = settings.hdr_log.take();
    let log = out.as_mut().map_or(Log::None, |out| {
        Log::Due(HdrLogPlace {
            out,
            serializer: &mut serializer,
        })
    });
    let mut follower = Follower::new(observer, settings.length, log);
    let seed = settings.seed.derive("inputs", 0);
    let done = match &settings.target {
        Target::Noop => on_noop(&settings, seed, &mut follower, &interrupted)?,
        Target::Loaded {
            loaded,
            database,
            memory,
        } => on_copy(
            &settings,
            (loaded, *database, *memory),
            seed,
            &mut follower,
            &interrupted,
        )?,
        Target::Served(rows) => served::run_on(rows, &settings, seed, &mut follower, &interrupted)?,
    };
    let (mut seconds, hdr_log) = follower.finish();
    let Done {
        subject,
        drive,
        device,
        machine,
        checks,
    } = done;
    // What is cut off the figures is known at the end.
    for (second, sample) in seconds.iter_mut().zip(&drive.samples) {
        second.sample = *sample;
    }
    let measured = drive.measured.as_secs_f64();
    if drive.transactions() + drive.counts.failed() == 0 {
        return Err(BenchError::NothingMeasured(measured));
    }
    let workload = settings.workload;
    let kinds = result::kinds(&drive.counts, workload.transactions());
    let counted = drive.counted(workload);
    let data_fits = subject
        .size
        .zip(subject.memory)
        .is_some_and(|(size, memory)| size <= memory);
    let result = BenchResult {
        octavo: settings.octavo_version.into(),
        started_at,
        subject,
        workload: workload.name().into(),
        data: workload.data_set(),
        mix: workload.mix().describe(workload.transactions()).to_string(),
        seed: settings.seed,
        clients: settings.clients,
        load: settings.load,
        retries: settings.retries,
        deviations: deviations(&settings),
        warm_up_s: drive.warm_up.as_secs_f64(),
        buffer_filled: drive.buffer_filled,
        data_fits,
        measured_s: measured,
        steadiness: drive.steadiness,
        stability: drive.stability,
        interrupted: drive.interrupted,
        transactions: drive.transactions(),
        failed: drive.counts.failed(),
        transactions_per_second: drive.transactions() as f64 / measured,
        counted_name: workload.counted_name().into(),
        counted,
        counted_per_second: counted as f64 / measured,
        latency_us: drive.counts.percentiles(),
        kinds,
        late_us: may_wait(settings.load, settings.clients)
            .then(|| Percentiles::of(&drive.counts.late_us)),
        saturated: drive
            .backlog
            .is_some_and(|backlog| backlog.is_saturated(settings.clients)),
        backlog: drive.backlog,
        counters: drive.counters,
        changed_bytes: drive.changed_bytes(),
        device,
        machine,
        driver,
        audit: audit::compare(&drive.audit),
        checks,
        seconds,
    };
    Ok(Benched { result, hdr_log })
}

/// Whether a transaction that is due may have to wait for a connection.
fn may_wait(load: Load, clients: u32) -> bool {
    match load {
        Load::Closed { terminals } => terminals > clients,
        Load::Open { .. } | Load::Paced { .. } => true,
    }
}

/// In what the run differs from what its workload's name promises.
fn deviations(settings: &BenchSettings<'_>) -> Vec<Deviation> {
    let mut deviations = settings.workload.deviations(settings.clients);
    if let Load::Paced { terminals } = settings.load
        && let Some(specified) = settings.workload.terminals()
        && terminals != specified
    {
        deviations.push(Deviation::Terminals {
            terminals,
            specified,
        });
    }
    deviations
}

/// A finished drive and what is known of its conditions.
struct Done {
    subject: Subject,
    drive: crate::drive::Drive,
    device: Option<crate::run::DeviceUse>,
    machine: crate::machine::MachineUse,
    checks: Vec<octavo_workload::Condition>,
}

fn on_noop(
    settings: &BenchSettings<'_>,
    seed: Seed,
    follower: &mut dyn DriveObserver,
    interrupted: &(dyn Fn() -> bool + Sync),
) -> Result<Done, RunError> {
    let noop = Noop::new(settings.workload);
    let mut watch = Watch::new(None, follower);
    let drive = drive(
        &noop,
        drive_settings(settings, seed),
        &mut watch,
        interrupted,
    )?;
    Ok(Done {
        subject: Subject {
            database: "noop".into(),
            version: settings.octavo_version.into(),
            server: None,
            page_size: None,
            memory: None,
            size: None,
            storage_path: None,
            restored_by: None,
            conditions: named(noop.conditions()),
        },
        drive,
        device: None,
        machine: watch.machine(),
        checks: Vec::new(),
    })
}

fn drive_settings<'a>(settings: &BenchSettings<'a>, seed: Seed) -> DriveSettings<'a> {
    DriveSettings {
        workload: settings.workload,
        seed,
        connections: settings.clients,
        load: settings.load,
        retries: settings.retries,
        length: settings.length,
        extension: Extension::Never,
        keep_interrupted: true,
        // Nothing is read, or it is not known what a server's buffer holds:
        // it counts as filled at once.
        page_size: PageSize::MIN,
        memory: ByteCount::ZERO,
    }
}

fn on_copy(
    settings: &BenchSettings<'_>,
    (loaded, database, memory): (&Loaded, &dyn Database, ByteCount),
    seed: Seed,
    follower: &mut dyn DriveObserver,
    interrupted: &(dyn Fn() -> bool + Sync),
) -> Result<Done, BenchError> {
    let description = loaded.description();
    let workload = settings.workload;
    let mix = workload.mix().describe(workload.transactions()).to_string();
    let copy = loaded.copy(&mix)?;
    let location = Location::of(&copy);
    let run = run(
        RunSettings {
            database,
            workload: settings.workload,
            base: &loaded.base(),
            copy: &copy,
            location: &location,
            page_size: description.page_size,
            memory,
            clients: settings.clients,
            load: settings.load,
            retries: settings.retries,
            isolation: settings.isolation,
            seed,
            length: settings.length,
            extension: Extension::Never,
            keep_interrupted: true,
        },
        follower,
        interrupted,
    )?;
    Ok(Done {
        subject: Subject {
            database: database.name().into(),
            version: database.version(),
            server: None,
            page_size: Some(description.page_size),
            memory: Some(memory),
            size: Some(description.size),
            storage_path: Some(run.storage_path),
            restored_by: Some(run.restored_by),
            conditions: named(run.conditions),
        },
        drive: run.drive,
        device: run.device,
        machine: run.machine,
        checks: run.checks,
    })
}

fn named(conditions: Vec<(&'static str, String)>) -> Vec<(String, String)> {
    conditions
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}

/// How long the warm-up lasts when nobody says: until as many pages were read
/// as the buffer has frames, or all data, but at least a tenth of what is measured and at
/// most all of it again.
pub fn automatic_warm_up(measured: Duration) -> RunLength {
    RunLength::Time {
        warm_up_min: measured / 10,
        warm_up_max: measured,
        measured,
    }
}
