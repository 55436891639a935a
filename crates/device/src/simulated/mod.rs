//! Devices in virtual time: no clock is read, and one seed gives one result.

pub mod array;
pub mod constant;
mod cost;
pub mod disk;
mod divisor;
pub mod flash;
mod foreseen;
pub(crate) mod members;
pub mod partition;
mod pending;
pub mod raid;
mod slots;
pub mod station;
pub mod volume;

pub use array::Array;
pub use constant::Constant;
pub use disk::Disk;
pub use foreseen::{Foreseen, Foresight};
pub use partition::Partition;
pub use raid::Raid;
pub use station::Station;
pub use volume::Volume;
