//! How many transactions a second a model makes with a full buffer.

use std::ops::ControlFlow;

use octavo_device::Device;
use octavo_predict::{Done, PredictError, Setup, System, WarmUpState};
use octavo_workload::Workload;

/// Transactions that warm the buffer up, at most.
const WARM_UP_MAX: u64 = 100_000;
/// Transactions that count: throughput is known to some percent then.
const COUNTED: u64 = 3000;

/// Counted transactions a second; `None` where more transactions are needed to fill the
/// buffer than are worth while: then nothing is known.
///
/// # Errors
/// What [`System`] refuses.
pub(super) fn throughput(
    workload: &dyn Workload,
    setup: &Setup,
    device: Box<dyn Device + Send>,
) -> Result<Option<f64>, PredictError> {
    let mut system = System::new(workload, setup, device)?;
    let state = system.warm_up(WARM_UP_MAX, &|| ControlFlow::Continue(()))?;
    if state != WarmUpState::Steady {
        return Ok(None);
    }
    let kinds = workload.transactions();
    let mut counted: u64 = 0;
    let elapsed_ns = system.run(COUNTED, &mut |done: &Done| {
        counted += u64::from(done.is_counted(kinds));
    })?;
    Ok(Some(counted as f64 / (elapsed_ns as f64 / 1e9)))
}
