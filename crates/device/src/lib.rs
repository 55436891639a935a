//! What storage does, and measuring it.
//!
//! [`calibrate`] measures the storage under a directory with direct I/O and
//! returns a [`calibrate::Profile`]; [`location`] says which file system and
//! block device a path lies on and reads that device's counters; [`request`]
//! is the vocabulary of both. Databases and workloads are unknown here.

pub mod calibrate;
pub mod location;
pub mod request;
