//! What storage does: measuring it, modelling it, and standing in for it.
//!
//! [`Device`] is the boundary: storage that takes [`Request`]s and completes
//! them in its own time. Behind it stand [`simulated`] devices, whose parameters
//! [`catalogue`] holds with sources, [`measured`] files, and [`profiled`] devices
//! that give a profile back. [`probe`] measures any of them by the same points
//! by which [`calibrate`] measures the storage under a directory, with direct
//! I/O, into a [`calibrate::Profile`]. [`location`] says which file system and
//! block device a path lies on and reads that device's counters. [`fit()`](fit::fit)
//! makes a simulated twin of a measured device.
//! [`directory`] marks and locks the directories that Octavo works in.
//! Databases and workloads are unknown here.

pub mod calibrate;
pub mod catalogue;
mod device;
pub mod directory;
pub mod emulated;
pub mod fit;
pub mod location;
pub mod measured;
pub mod power;
pub mod probe;
pub mod profiled;
pub mod request;
pub mod simulated;
mod streams;

pub use device::{Completion, Counters, Device, DeviceError, Geometry, Tag};
pub use request::{Command, Request};
