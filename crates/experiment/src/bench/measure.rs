//! Making the run.

use std::{io, path::Path, time::Duration};

use hdrhistogram::serialization::V2DeflateSerializer;
use jiff::Timestamp;
use octavo_database::{Database, DatabaseError, Isolation, Noop};
use octavo_driver::{DriverSettings, Load, RunLength};
use octavo_storage::location::Location;
use octavo_units::{ByteCount, Seed};
use octavo_workload::{Deviation, Workload};

use super::{
    cost,
    external::ExternalRows,
    hdr_log::{HdrLogError, HdrLogPlace},
    result::{BenchResult, TestedSystem},
    seconds::{Log, PerSecondRecorder},
};
use crate::{
    audit,
    dataset::{Dataset, LoadError},
    observer::Observer,
    run::{FreshCopy, RunError, Subject, run},
};

/// What to run on.
pub enum Target<'a> {
    /// A database that answers at once, to measure the driver alone.
    Noop,
    /// A fresh copy of what was loaded.
    Dataset {
        /// The rows.
        loaded: &'a Dataset,
        /// The database that loaded them.
        database: &'a dyn Database,
        /// All memory that may hold data.
        memory: ByteCount,
    },
    /// What is on a server that the user runs, as it is.
    External(&'a ExternalRows<'a>),
}

impl Target<'_> {
    /// What is measured, by this version of Octavo.
    pub fn tested_system(&self, octavo_version: &str) -> TestedSystem {
        match self {
            Self::Noop => TestedSystem {
                database: "noop".into(),
                version: octavo_version.into(),
                server: None,
                page_size: None,
                memory: None,
                size: None,
            },
            Self::Dataset {
                loaded,
                database,
                memory,
            } => TestedSystem {
                database: database.name().into(),
                version: database.version(),
                server: None,
                page_size: Some(loaded.manifest().page_size),
                memory: Some(*memory),
                size: Some(loaded.manifest().size),
            },
            Self::External(rows) => rows.tested_system(),
        }
    }
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
    /// Where the driver's own cost is kept between runs; `None` to measure it.
    pub caches: Option<&'a Path>,
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
    /// A family of workloads cannot be measured so.
    #[error("processor's time by kinds of transactions: {0}")]
    CpuCatalog(String),
}

impl BenchError {
    /// Whether the caller asked for the end.
    pub fn is_stop(&self) -> bool {
        match self {
            Self::Run(error) => error.is_stop(),
            Self::Load(error) => matches!(error, LoadError::Stopped),
            Self::CpuCatalog(_) => false,
        }
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
/// was measured. The driver's own cost is measured before it where no earlier run
/// has kept it, which takes half a second.
///
/// # Errors
/// When the run fails. One whose database was lost, whose storage was full, or in which
/// nothing ended, is a result with a [`BenchResult::shortfall`].
///
/// # Panics
/// Where [`drive`](octavo_driver::drive) does: a length in transactions needs
/// a closed loop with as many terminals as clients.
pub fn bench(
    mut settings: BenchSettings<'_>,
    observer: &dyn Observer,
) -> Result<Benched, BenchError> {
    let interrupted = || observer.interrupted();
    let driver = cost::find(
        settings.workload,
        settings.octavo_version,
        settings.caches,
        || cost::measure(settings.workload, settings.seed, &interrupted),
    )
    .map_err(RunError::from)?;
    let started_at = Timestamp::now();
    let mut serializer = V2DeflateSerializer::new();
    let mut out = settings.hdr_log.take();
    let log = out.as_mut().map_or(Log::None, |out| {
        Log::Due(HdrLogPlace {
            out,
            serializer: &mut serializer,
        })
    });
    let workload = settings.workload;
    let recorder = PerSecondRecorder::new(observer, settings.length, log);
    let mut recorder = recorder.with_ramp(settings.load, workload);
    let mut measure = |subject: &dyn Subject| {
        let load = DriverSettings {
            workload,
            connections: settings.clients,
            load: settings.load,
            retries: settings.retries,
            seed: settings.seed.derive("inputs", 0),
            length: settings.length,
            keep_interrupted: true,
            frames: subject.frames(),
        };
        run(
            subject,
            load,
            settings.isolation,
            &mut recorder,
            &interrupted,
        )
    };
    let mix = workload.mix().describe(workload.transactions()).to_string();
    let system = settings.target.tested_system(settings.octavo_version);
    let figures = match settings.target {
        Target::Noop => measure(&Noop::new(workload))?,
        Target::Dataset {
            loaded,
            database,
            memory,
        } => {
            let manifest = loaded.manifest();
            let copy = loaded.copy(&mix)?;
            let subject = FreshCopy {
                database,
                snapshot: loaded.base(),
                location: &Location::find(&copy),
                copy: copy.clone(),
                page_size: manifest.page_size,
                memory,
                clients: settings.clients,
                told: Vec::new(),
            };
            measure(&subject)?
        }
        Target::External(rows) => measure(rows)?,
    };
    let (ramp, hdr_log) = recorder.finish();
    let result = BenchResult {
        octavo: settings.octavo_version.into(),
        started_at,
        data_fits: system
            .size
            .zip(system.memory)
            .is_some_and(|(size, memory)| size <= memory),
        subject: system,
        workload: workload.name().into(),
        data: workload.data_spec(),
        own: workload.own().cloned(),
        mix,
        seed: settings.seed,
        clients: settings.clients,
        load: settings.load,
        retries: settings.retries,
        deviations: deviations(&settings),
        counted_name: workload.counted_name().into(),
        ramp,
        beside: None,
        driver,
        audit: audit::compare(&figures.load.audit),
        figures,
    };
    Ok(Benched { result, hdr_log })
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
