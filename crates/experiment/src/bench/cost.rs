//! What the driver itself costs: the same transactions against a database
//! that answers at once.

use std::time::Duration;

use octavo_database::Noop;
use octavo_driver::{DriverError, DriverObserver, DriverSettings, Load, RunLength, drive};
use octavo_units::Seed;
use octavo_workload::Workload;
use rustix::time::{ClockId, clock_gettime};
use serde::Serialize;

/// How long it is measured.
const MEASURED: Duration = Duration::from_millis(400);

/// Before that: caches and branch predictors get used to it.
const WARM_UP: Duration = Duration::from_millis(100);

/// The driver's cost with one connection.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct DriverCost {
    /// Processor time of drawing, running and recording one transaction, in
    /// microseconds; that of the sampler included.
    pub cpu_us_per_transaction: f64,
    /// Transactions a second.
    pub transactions_per_second: f64,
}

/// Drives the workload against [`Noop`].
pub(super) fn measure(
    workload: &dyn Workload,
    seed: Seed,
    interrupted: &(dyn Fn() -> bool + Sync),
) -> Result<DriverCost, DriverError> {
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
