//! One run: sessions, terminals and threads, until all have ended.

use std::{
    sync::{
        Mutex, OnceLock,
        atomic::{AtomicBool, AtomicU64},
    },
    thread,
    time::Duration,
};

use octavo_database::Running;
use octavo_workload::Audit;

use crate::{
    arrivals::Arrivals,
    barrier::Barrier,
    commits::Commits,
    counts::Counts,
    error::DriverError,
    measurement::Measurement,
    metered::Metered,
    observer::DriverObserver,
    pool::Pool,
    recorder::{Recorder, lock},
    sampler::{Queue, Sampler},
    settings::{DriverSettings, Load, RunLength},
    shared::Shared,
    wait,
    worker::{Session, Source, Worker},
};

/// Runs the workload's transactions against `database`. `interrupted` is
/// looked at several times a second.
///
/// # Panics
/// When [`DriverSettings::length`] is in transactions and the load is not a
/// closed loop with as many terminals as connections.
pub fn drive(
    database: &dyn Running,
    settings: DriverSettings<'_>,
    observer: &mut dyn DriverObserver,
    interrupted: &(dyn Fn() -> bool + Sync),
) -> Result<Measurement, DriverError> {
    let connections = settings.connections.max(1);
    let pooled = match settings.load {
        Load::Closed { terminals } => terminals > connections,
        Load::Open { .. } | Load::Ramp(_) => false,
        Load::Paced { .. } => true,
    };
    assert!(
        matches!(settings.length, RunLength::Time { .. })
            || (matches!(settings.load, Load::Closed { .. }) && !pooled),
        "transactions are counted by connection"
    );
    // Sessions are opened before any thread starts, so that a refusal is an
    // ordinary error.
    let sessions = (0..connections)
        .map(|index| Ok((index, database.connect(index)?)))
        .collect::<Result<Vec<_>, DriverError>>()?;
    let arrivals = match settings.load {
        Load::Open { rate, arrivals } => Some(Arrivals::new(arrivals, rate, settings.seed)),
        _ => None,
    };
    let watch = match settings.load {
        Load::Open { rate, .. } => {
            wait::watch(Duration::from_secs_f64(f64::from(connections) / rate.get()))
        }
        _ => Duration::ZERO,
    };
    let shared_arrivals = arrivals.clone().map(Mutex::new);
    let clients = |count| settings.workload.clients(settings.seed, count);
    let (pool, mut own) = match settings.load {
        Load::Closed { terminals } | Load::Paced { terminals } if pooled => {
            let paced = matches!(settings.load, Load::Paced { .. });
            let kinds = settings.workload.transactions();
            let sources = if paced {
                settings.workload.operators(settings.seed, terminals.max(1))
            } else {
                clients(terminals)
            };
            let pool = Pool::new(sources, kinds, paced, settings.seed);
            (Some(pool), Vec::new())
        }
        Load::Ramp(_) => (
            None,
            settings
                .workload
                .joining_clients(settings.seed, connections),
        ),
        _ => (None, clients(connections)),
    };
    own.reverse();
    let mut source = || match (&pool, own.pop(), &shared_arrivals) {
        (None, Some(client), Some(arrivals)) => Source::Arriving {
            client,
            arrivals,
            watch,
        },
        (None, Some(client), None) => Source::Own(client),
        (Some(pool), _, _) => Source::Pool(pool),
        (None, None, _) => unreachable!("a client was made for each connection"),
    };
    let shared = Shared {
        ending: AtomicBool::new(false),
        failure: Mutex::new(None),
        counts: Mutex::new(Counts::new(settings.workload.transactions())),
        commits: Commits::default(),
        started: AtomicU64::new(0),
        start: OnceLock::new(),
        measuring: OnceLock::new(),
    };
    let recorders: Vec<Recorder> = (0..connections).map(|_| Recorder::new()).collect();
    let barrier = Barrier::default();
    let measurement = thread::scope(|scope| {
        let mut threads = Vec::with_capacity(connections as usize);
        for ((index, connection), recorder) in sessions.into_iter().zip(&recorders) {
            let session = Session {
                index,
                connection: Metered::new(connection, settings.workload.statements()),
                lasting: Some((database, &shared)),
                kinds: settings.workload.transactions(),
                statements: settings.workload.statements(),
                retries: settings.retries,
                recorder,
                counts: &shared.counts,
            };
            let worker = Worker {
                source: source(),
                session,
                shared: &shared,
                length: settings.length,
                begins: match settings.load {
                    Load::Ramp(ramp) => ramp.begins(index),
                    _ => Duration::ZERO,
                },
            };
            let participant = barrier.join();
            let thread =
                thread::Builder::new().spawn_scoped(scope, move || worker.work(&participant));
            match thread {
                Ok(thread) => threads.push(thread),
                Err(source) => {
                    shared.fail(DriverError::Thread {
                        connections,
                        source,
                    });
                    break;
                }
            }
        }
        // All begin together, or none does; and when counters have been read.
        barrier.wait_for_all();
        let queue = match (arrivals, &pool, settings.load) {
            (Some(arrivals), _, _) => Queue::Arrivals(arrivals),
            (None, Some(pool), Load::Paced { terminals }) => Queue::Pool(pool, terminals),
            _ => Queue::None,
        };
        let sampler = Sampler::new(
            scope, database, &shared, &recorders, settings, observer, queue,
        );
        barrier.release();
        let measurement = sampler.follow(&barrier, interrupted);
        let mut audit = Audit::default();
        for thread in threads {
            if let Some(own) = thread.join().expect("a client's thread does not panic") {
                audit.merge(&own);
            }
        }
        measurement.map(|measurement| (measurement, audit))
    });
    let failure = lock(&shared.failure).take();
    let (mut measurement, mut audit) = match (measurement, failure) {
        (Ok((measurement, audit)), Some(error))
            if settings.keep_interrupted && (error.is_lost() || error.is_full()) =>
        {
            let why = Some(with_causes(&error));
            let (lost, full) = match error.is_full() {
                true => (None, why),
                false => (why, None),
            };
            let measurement = Measurement {
                lost,
                full,
                ..measurement
            };
            (measurement, audit)
        }
        (_, Some(error)) => return Err(error),
        (measurement, None) => measurement?,
    };
    if let Some(pool) = &pool {
        audit.merge(&pool.audit());
    }
    measurement.audit = audit;
    Ok(measurement)
}

/// An error with what is behind it.
fn with_causes(error: &dyn std::error::Error) -> String {
    let mut words = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        words += &format!(": {error}");
        cause = error.source();
    }
    words
}
