//! Checked types for the quantities that Octavo measures and sets.
//!
//! Page sizes, byte counts, request sizes, queue depths, rates and seeds are
//! different types, so that a number cannot change its unit on the way from a
//! flag to a figure. Times are [`std::time::Duration`], which
//! [`parse_duration`] reads. Sizes print in powers of two (KiB, MiB, GiB) and
//! parse from the same notation.
//!
//! Besides them, what simulations share: [`Moment`], their time, and [`prefetch`]; and
//! [`spread`], how much throughput differs between windows, of whatever ran.

mod bytes;
mod moment;
mod prefetch;
mod rate;
mod request;
mod seed;
pub mod spread;
mod time;

pub use bytes::{ByteCount, PageSize, ParseSizeError};
pub use moment::Moment;
pub use prefetch::prefetch;
pub use rate::{BytesPerSecond, Iops, Rate, RateError};
pub use request::{QueueDepth, RequestSize};
pub use seed::{Seed, mix};
pub use time::{ParseDurationError, parse_duration};
