//! What a buffer of some size keeps of a stream of page references, by the rules
//! of many databases and papers.
//!
//! A [`Trace`] is a column of references, each to a page with a small number and
//! with a mark where the page is changed. A [`Policy`] decides what stays in the
//! frames of one buffer; [`Opt`] is the bound of them all. A [`Curve`] has the misses of
//! LRU for all sizes in one pass over a trace, and [`SampledCurve`] and [`sampled`]
//! estimate them from a part of the pages. [`reuse`] says what kinds of pages of several sizes miss that
//! share a buffer. [`trace_file`] reads the requests of files that
//! people have, and [`trace_curves`] draws curves of them. SQL and devices are unknown here.
//!
//! No policy allocates, hashes or reads a clock while it runs: pages and frames
//! are positions in tables that are made once.

mod arc;
#[cfg(test)]
mod by_hand;
mod cflru;
mod clock;
mod curve;
mod distance;
mod list;
mod lru;
mod midpoint;
mod named;
mod opt;
mod pcache;
mod policy;
pub mod reuse;
mod s3_fifo;
mod sample;
mod touch_count;
mod trace;
pub mod trace_curves;
pub mod trace_file;
mod two_q;
mod zones;

pub use arc::Arc;
pub use cflru::Cflru;
pub use clock::{Clock, Ring, Usage};
pub use curve::{Curve, Estimate, SampledCurve, sampled};
pub use lru::Lru;
pub use midpoint::{MidpointLru, MidpointRule};
pub use named::NamedPolicy;
pub use opt::Opt;
pub use pcache::Pcache;
pub use policy::{Counts, Evicted, Frames, Outcome, Policy};
pub use s3_fifo::S3Fifo;
pub use sample::{Keep, Kept, Room, Sample, Sampler, TooMany};
pub use touch_count::{TouchCount, TouchRule};
pub use trace::{Access, Page, Reference, Trace, TraceBuilder};
pub use two_q::TwoQ;
pub use zones::Zones;
