//! What storage does, in virtual time.
//!
//! [`Device`] is the boundary: storage that takes [`Request`]s and completes
//! them in its own time. Behind it stand [`simulated`] devices, whose parameters
//! [`catalog`] holds with sources, and [`profiled`] devices that give a
//! [`Profile`](profile::Profile) back. [`probe`] measures any of them at the
//! [points](point) of which a profile consists, and [`fit()`](fit::fit) makes a
//! simulated twin of a measured device. Nothing here reads a clock or a file:
//! one seed gives one result. Real storage is the crate `octavo-storage`'s.
//! Databases and workloads are unknown here.

pub mod catalog;
mod device;
pub mod facts;
pub mod fit;
pub mod limit;
pub mod machine;
pub mod point;
pub mod power;
pub mod preset;
pub mod probe;
pub mod profile;
pub mod profiled;
pub mod request;
mod sequential;
pub mod simulated;
pub mod sourced;
pub mod steady;
pub mod stream;
pub mod tally;

pub use device::{Completion, Counters, Device, DeviceError, Geometry, Tag};
pub use request::{Command, Request};
