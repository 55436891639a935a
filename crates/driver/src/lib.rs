//! The load driver runs a workload's transactions against a started database: a warm-up first,
//! then the measured part. One thread per connection.
//!
//! Three ways to load ([`Load`]):
//!
//! - a closed loop, in which a transaction begins when the last one of its
//!   terminal has ended; latency counts from its submission;
//! - an open loop, in which transactions arrive by the clock whatever the
//!   database does; latency counts from the scheduled arrival;
//! - paced, in which operators take the specification's times to key in and
//!   to think; latency counts from the moment at which the operator submits,
//!   whether or not a connection was free.
//!
//! How a transaction that fails is treated: after a conflict (deadlock,
//! serialisation failure, lock timeout) it is run again at once with the same
//! inputs, up to [`DriverSettings::retries`] times, and its latency covers all
//! tries; then it counts as given up. A statement's timeout and a lost
//! connection are not repeated, the first because the next try would take as
//! long, the second because nobody knows whether it was committed. A lost
//! connection is replaced. All of these are counted apart and the run goes
//! on; any other error ends it.
//!
//! The figures of a closed loop are of the time in which the run was steady:
//! the warm-up that MSER-5 cuts off the beginning of the measured part is left
//! out of all of them (docs/steady-state.md).

mod arrivals;
mod barrier;
mod counter_reader;
mod counts;
mod drive;
mod error;
mod latency;
mod measured_part;
mod measurement;
mod metered;
mod observer;
mod pool;
mod ramp;
mod recorder;
mod run_state;
mod sampler;
mod series;
mod settings;
mod slices;
pub mod stability;
pub mod steady;
#[cfg(test)]
mod tests;
mod timetable;
mod wait;
mod worker;

pub use arrivals::ArrivalProcess;
pub use counts::{Counts, KindCounts, Outcomes, ResponseTime};
pub use drive::drive;
pub use error::DriverError;
pub use latency::{Latencies, P99Between, Percentiles};
pub use measurement::{Backlog, Measurement, WarmUpTotals, seconds};
pub use observer::{DriverObserver, Sample, Second, Unobserved};
pub use ramp::{ClientSteps, ClientStepsError, Ramp, RampError};
pub use series::{mean, standard_deviation};
pub use settings::{DriverSettings, Load, RETRIES, RunLength};
pub use slices::{LoadSlice, SliceSettings, SlicedLoad};
pub use worker::{RECONNECT, RECONNECT_PAUSE};
