//! How requests are submitted: by one ring, or by one thread for each request in
//! flight.
//!
//! A *run* (`Engine::run`) repeats a load as fast as the storage completes it,
//! which is what calibrating measures. Threads ask for their own next request:
//! handing each over to them would lower the rates that calibrating finds.

mod kind;
mod ring;
mod run;
mod run_ring;
mod run_threads;
mod serve;
#[cfg(test)]
mod tests;

pub use kind::Engine;
pub(crate) use run::{EngineError, Stop};
