//! Who follows a run while it lasts.

use crate::{counts::Counts, sample::Sample};

/// A sample with all that was recorded in it, as it passes by.
#[derive(Clone, Copy, Debug)]
pub struct Second<'a> {
    /// What is kept of it.
    pub sample: &'a Sample,
    /// Outcomes and latencies.
    pub counts: &'a Counts,
}

/// Told when the measured part begins and ends, with nothing but the workers'
/// transactions between the two, and of each second.
pub trait DriverObserver {
    /// The measured part begins.
    fn begin(&mut self) {}
    /// A batch of the measured part has ended. The figures begin at one of
    /// these edges, or with the measured part, and end at the last of them.
    fn edge(&mut self) {}
    /// The measured part has ended: at the edge before, or some milliseconds
    /// later where the run had to be judged first.
    fn end(&mut self) {}
    /// After the end: the figures begin at this edge, counted from 1; with the
    /// measured part if it is 0.
    fn figures_from(&mut self, _edge: usize) {}
    /// A second, or the rest of a part, has passed.
    fn second(&mut self, _second: &Second<'_>) {}
}

/// An observer that wants to know nothing.
#[derive(Debug)]
pub struct Unobserved;

impl DriverObserver for Unobserved {}
