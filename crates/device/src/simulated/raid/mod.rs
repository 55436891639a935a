//! Several devices behind one controller, as RAID-0 or RAID-10.
//!
//! Members are entries of the catalog or nested tables, and may be arrays
//! themselves. The controller has a processor, which commands pass one after
//! the other; a link to the host, one way each for reads and writes; a time
//! that every command takes besides, during which others go on; and perhaps a
//! cache that acknowledges writes.
//!
//! Not covered: parity, rebuilding, failed members, and caches that lose their
//! content with the power: those are switched off where data matter.

mod cache;
mod device;
mod layout;
mod parameters;
#[cfg(test)]
mod tests;

pub use device::Raid;
pub use parameters::{Controller, Level, Parameters};
