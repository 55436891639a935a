//! What a database would do on storage that is not at hand: where its rows lie on
//! pages, which of these its buffer has, and how long transactions take.
//!
//! Pure: no clock, no files. The same inputs from the same seed as a measurement.

mod arriving;
mod background;
mod commits;
mod cpu;
mod description;
mod dirty;
mod engine;
mod error;
mod hashed;
mod in_place;
mod innodb;
mod io;
mod latch;
mod leaf_rows;
mod locks;
#[cfg(any(test, feature = "made-up"))]
pub mod made_up;
mod miniature;
mod model;
mod occupied;
pub mod own_sizes;
mod paced;
mod packed;
mod pages;
mod postgres;
mod processors;
mod recording;
mod registry;
mod replacement;
mod sample;
mod sensitivity;
mod sqlite;
mod system;
mod tree;
mod waits;
mod warm_up;
mod windows;

pub use cpu::{CpuCost, Latched};
pub use description::{
    Comparison, KindCost, MixCost, ModeledKind, ProcessorCosts, Timing, TransactionCost,
    UnknownCost,
};
pub use engine::{EngineError, Referred};
pub use error::PredictError;
pub use io::{Asked, Purpose};
pub use miniature::Miniature;
pub use model::{Model, OPTIMAL, REPLACEMENT, database_options};
pub use pages::ObjectPages;
pub use registry::{Registry, find_database, model_of};
pub use sensitivity::Sensitivity;
pub use system::{Done, Setup, Slowness, System};
pub use waits::{Wait, Waited};
pub use warm_up::{FIRST_BLOCK, WarmUpState, Warmth, next_block, next_small_block};
pub use windows::Windows;
