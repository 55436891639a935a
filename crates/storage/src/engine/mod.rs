//! How requests are submitted: by one ring, or by one thread for each request in
//! flight.
//!
//! Two jobs share the parts. A *run* (`Engine::run`) repeats a load as fast as
//! the storage completes it, which is what calibrating measures. A `Queue`
//! takes requests one by one, of any size and kind, and tells their ends, for
//! the measured device. With a ring both go through the same `ring`. With
//! threads they stay apart: those of a run ask for their own next request, and
//! handing each request over, as the queue's threads must, would lower the
//! rates that calibrating finds. What one blocking request is stands in
//! `serve` for both.

mod kind;
mod memory;
mod pool;
mod queue;
mod ring;
mod run;
mod run_ring;
mod run_threads;
mod serve;
#[cfg(test)]
mod tests;

pub use kind::Engine;
pub(crate) use queue::Queue;
pub(crate) use run::{EngineError, Stop};
pub(crate) use serve::Ended;
