//! Devices under unmodified programs: a directory whose files are read,
//! written and synced at the pace of a simulated device.
//!
//! [`Mounted::mount`] mounts a FUSE file system that stores its files in a
//! backing directory and has each request wait for the device's model. Files
//! lie on the device in extents, so that what is sequential in a file is
//! sequential on the device. The kernel's page cache works as on any file
//! system; files that are opened with O_DIRECT pass it by. fsync and its like
//! reach the backing storage and the model's flush, both of which are waited
//! for. [`Faults`] lose power, fail requests and fill the device. See
//! docs/emulation.md.
//!
//! Not covered: the time of operations on names, which file systems keep in
//! memory and journals, and reads of holes, which no device sees.

mod answer;
mod awake;
mod backing;
mod conditioned;
mod error;
mod extents;
mod faults;
mod files;
mod filesystem;
mod lead;
mod lock;
mod mounted;
mod names;
mod pacer;
mod reaper;
mod settings;
mod stale;
mod statistics;
mod undo;
mod unmount;

pub use error::EmulateError;
pub use faults::{Faults, ParseFaultsError};
pub use lead::lead;
pub use mounted::Mounted;
pub use settings::Settings;
pub use statistics::{DeviceCounters, LATE, Latency, OperationStatistics, Punctuality, Statistics};
