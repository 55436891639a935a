//! Devices in virtual time: no clock is read, and one seed gives one result.

pub mod constant;
pub mod flash;
mod pending;

pub use constant::Constant;
