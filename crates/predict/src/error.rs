//! Why nothing is predicted.

use octavo_device::DeviceError;
use octavo_units::ByteCount;
use octavo_workload::ConnectionError;

use crate::engine::EngineError;

/// Why nothing is predicted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PredictError {
    /// The database cannot be modeled so.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The device cannot do what it was asked.
    #[error("the device cannot do what the database asks of it")]
    Device(#[from] DeviceError),
    /// The device is too small.
    #[error("{needed} of data and log do not fit a device of {capacity}: name a larger one")]
    Capacity {
        /// What the database takes.
        needed: ByteCount,
        /// What the device has.
        capacity: ByteCount,
    },
    /// The device completes nothing.
    #[error("the device does not complete what it was asked")]
    Silent,
    /// A run is too long to be recorded.
    #[error("opt has to know more than {max} references: use fewer --passes, or leave it out")]
    References {
        /// The most that are recorded.
        max: usize,
    },
    /// There are no more transactions to replay.
    #[error("only {transactions} transactions were recorded, and more are needed")]
    TraceEnds {
        /// How many there are.
        transactions: usize,
    },
    /// The caller asked to stop.
    #[error("stopped")]
    Stopped,
    /// The workload's transactions do not run.
    #[error(transparent)]
    Workload(#[from] ConnectionError),
}
