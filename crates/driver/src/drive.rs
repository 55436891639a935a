//! One run: opens sessions, starts a thread for each, and waits for their end.

use std::{sync::Mutex, thread, time::Duration};

use octavo_database::Running;
use octavo_workload::{Audit, Client};

use crate::{
    arrivals::Arrivals,
    barrier::Barrier,
    error::DriverError,
    measurement::Measurement,
    metered::Metered,
    observer::DriverObserver,
    pool::Pool,
    recorder::{Recorder, lock},
    run_state::RunState,
    sampler::{Queue, Sampler},
    settings::{DriverSettings, Load, RunLength},
    wait,
    worker::{Session, TransactionSource, Worker},
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
    // Sessions are opened before any thread starts, so that a refusal is an
    // ordinary error.
    let sessions = (0..connections)
        .map(|index| Ok((index, database.connect(index)?)))
        .collect::<Result<Vec<_>, DriverError>>()?;
    let terminals = Terminals::new(&settings, connections);
    let shared = RunState::new(settings.workload.transactions());
    let recorders: Vec<Recorder> = (0..connections).map(|_| Recorder::new()).collect();
    let barrier = Barrier::default();
    let measurement = thread::scope(|scope| {
        let sources = terminals.sources(&settings, connections);
        let mut threads = Vec::with_capacity(connections as usize);
        for (((index, connection), recorder), source) in
            sessions.into_iter().zip(&recorders).zip(sources)
        {
            let session = Session {
                index,
                connection: Metered::new(connection, settings.workload.statements(), shared.stop()),
                lasting: Some((database, &shared)),
                kinds: settings.workload.transactions(),
                statements: settings.workload.statements(),
                retries: settings.retries,
                recorder,
                counts: &shared.counts,
            };
            let worker = Worker {
                source,
                session,
                shared: &shared,
                length: settings.length,
                start_delay: match settings.load {
                    Load::Ramp(ramp) => ramp.start_delay(index),
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
        let queue = terminals.queue(settings.load);
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
        if let Some(pool) = &terminals.pool {
            audit.merge(&pool.audit());
        }
        measurement.map(|measurement| Measurement {
            audit,
            ..measurement
        })
    });
    let failure = lock(&shared.failure).take();
    match (measurement, failure) {
        (Ok(measurement), Some(error)) if settings.keep_interrupted => {
            keep_until(error, measurement)
        }
        (_, Some(error)) => Err(error),
        (measurement, None) => measurement,
    }
}

/// Where the workers' transactions come from, as far as workers share it.
struct Terminals {
    /// Terminals that share the connections; `None` where each connection has its own.
    pool: Option<Pool>,
    /// The schedule of an open loop.
    arrivals: Option<Mutex<Arrivals>>,
}

impl Terminals {
    fn new(settings: &DriverSettings<'_>, connections: u32) -> Self {
        let (workload, seed) = (settings.workload, settings.seed);
        let pool = match settings.load {
            Load::Closed { terminals } if terminals > connections => {
                Some((workload.clients(seed, terminals), false))
            }
            Load::Paced { terminals } => Some((workload.operators(seed, terminals.max(1)), true)),
            Load::Closed { .. } | Load::Open { .. } | Load::Ramp(_) | Load::Recorded { .. } => None,
        };
        assert!(
            matches!(settings.length, RunLength::Time { .. })
                || (matches!(settings.load, Load::Closed { .. }) && pool.is_none()),
            "transactions are counted by connection"
        );
        let arrivals = match settings.load {
            Load::Open { rate, arrivals } => Some(Arrivals::new(arrivals, rate, seed)),
            _ => None,
        };
        Self {
            pool: pool
                .map(|(clients, paced)| Pool::new(clients, workload.transactions(), paced, seed)),
            arrivals: arrivals.map(Mutex::new),
        }
    }

    /// One source for each connection.
    fn sources(
        &self,
        settings: &DriverSettings<'_>,
        connections: u32,
    ) -> Vec<TransactionSource<'_>> {
        if let Some(pool) = &self.pool {
            return (0..connections)
                .map(|_| TransactionSource::Pool(pool))
                .collect();
        }
        let (workload, seed) = (settings.workload, settings.seed);
        let clients = match settings.load {
            Load::Ramp(_) => workload.joining_clients(seed, connections),
            _ => workload.clients(seed, connections),
        };
        let watch = match settings.load {
            Load::Open { rate, .. } => {
                wait::watch(Duration::from_secs_f64(f64::from(connections) / rate.get()))
            }
            _ => Duration::ZERO,
        };
        let dues = |client: &dyn Client| match settings.load {
            Load::Recorded { .. } => client.dues(),
            _ => None,
        };
        let source = |client: Box<dyn Client>| match (&self.arrivals, dues(client.as_ref())) {
            (Some(arrivals), _) => TransactionSource::Arriving {
                client,
                arrivals,
                watch,
            },
            (None, Some(dues)) => TransactionSource::Timed {
                client,
                dues,
                next: 0,
            },
            (None, None) => TransactionSource::Own(client),
        };
        clients.into_iter().map(source).collect()
    }

    /// Where transactions wait, before any worker has taken one.
    fn queue(&self, load: Load) -> Queue<'_> {
        match (&self.arrivals, &self.pool, load) {
            (Some(arrivals), _, _) => Queue::Arrivals(lock(arrivals).clone()),
            (None, Some(pool), Load::Paced { terminals }) => Queue::Pool(pool, terminals),
            _ => Queue::None,
        }
    }
}

/// Keeps what was measured until the database was lost or its storage full. After other
/// errors nothing is kept.
fn keep_until(
    error: DriverError,
    mut measurement: Measurement,
) -> Result<Measurement, DriverError> {
    let reason = Some(with_causes(&error));
    if error.is_full() {
        measurement.full = reason;
    } else if error.is_lost() {
        measurement.lost = reason;
    } else {
        return Err(error);
    }
    Ok(measurement)
}

/// An error with its chain of causes.
fn with_causes(error: &dyn std::error::Error) -> String {
    let mut words = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        words += &format!(": {error}");
        cause = error.source();
    }
    words
}
