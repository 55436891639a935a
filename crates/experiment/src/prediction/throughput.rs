//! How many transactions a second a model makes with a full buffer.

use octavo_device::Device;
use octavo_predict::{Done, PredictError, Setup, System};
use octavo_workload::Workload;

/// Transactions that fill the buffer, at most and in steps.
const WARM_UP_MAX: u64 = 100_000;
const STEP: u64 = 500;
/// Transactions that miss the buffer once, at least, when it has all that is wanted.
const HITTING: u64 = 50;
/// Transactions that count: throughput is known to some percent then.
const COUNTED: u64 = 3000;

/// Counted transactions a second; `None` where more transactions are needed to fill the
/// buffer than are worth while: then nothing is known. It is full when as many pages were
/// read as it has room for, or when hardly any are read.
///
/// # Errors
/// What [`System`] refuses.
pub(super) fn throughput(
    workload: &dyn Workload,
    setup: &Setup,
    device: Box<dyn Device>,
) -> Result<Option<f64>, PredictError> {
    let mut system = System::new(workload, setup, device)?;
    let (mut misses, mut latest, mut done) = (0, u64::MAX, 0);
    while misses < system.frames() && latest > STEP / HITTING {
        if done >= WARM_UP_MAX {
            return Ok(None);
        }
        latest = 0;
        system.run(STEP, &mut |done: &Done| latest += done.referred.misses)?;
        misses += latest;
        done += STEP;
    }
    let kinds = workload.transactions();
    let mut counted: u64 = 0;
    let elapsed_ns = system.run(COUNTED, &mut |done| {
        counted += u64::from(done.is_counted(kinds));
    })?;
    Ok(Some(counted as f64 / (elapsed_ns as f64 / 1e9)))
}
