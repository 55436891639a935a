//! The host's side of storage: what lies under a directory, and how fast it is.
//!
//! [`calibrate`](calibrate::calibrate) measures the storage under a directory with
//! direct I/O into a [`Profile`](octavo_device::profile::Profile). [`location`] says which file
//! system and block device a path lies on and reads that device's counters.
//! [`directory`] makes, marks and locks the directories that Octavo works in,
//! [`confine`] holds a process to them, and [`namespace`] keeps mounts from others.
//! [`file_system`] makes file systems in files.
//! [`procfs`] reads mounts and processes, [`direct`] says whether a file has direct I/O,
//! [`aligned`] is memory for that, [`cache`] is where Octavo keeps what it can make again, [`entry`] reads a device's catalog entry from a file,
//! and [`text`] reads any file of text that somebody names.
//! Databases and workloads are unknown here.

pub mod aligned;
pub mod cache;
pub mod calibrate;
pub mod confine;
pub mod direct;
pub mod directory;
pub mod engine;
pub mod entry;
mod error;
pub mod file_system;
pub mod location;
pub mod namespace;
pub mod procfs;
pub mod target;
pub mod text;
