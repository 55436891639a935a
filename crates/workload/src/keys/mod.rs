//! Which record an operation falls on: choosers of key numbers, and the
//! sequence that inserts take theirs from.
//!
//! Key numbers count from 0 without holes; what a key looks like is the
//! workload's business. A chooser is asked with the number of keys that exist
//! at that moment and never gives one that does not.

mod acknowledged;
mod chooser;
mod distribution;
mod hotspot;
mod open;
mod ranks;
mod scrambled;
mod uniform;
mod zipf;

pub(crate) use acknowledged::AcknowledgedKeys;
pub use chooser::KeyDraws;
pub(crate) use chooser::{Chooser, Growth};
pub use distribution::{Distribution, DistributionError, Hotspot};
pub(crate) use open::OpenKeys;
pub(crate) use scrambled::fnv_hash;
pub use zipf::{Theta, Zipf};
