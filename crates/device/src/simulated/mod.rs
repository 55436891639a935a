//! Devices in virtual time: no clock is read, and one seed gives one result.

pub mod constant;
#[expect(dead_code, reason = "the translation layers use it, which come next")]
pub mod flash;
mod pending;

pub use constant::Constant;
