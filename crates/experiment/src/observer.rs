//! Progress of a long job, and the wish to stop it.

use std::{ops::ControlFlow, time::Duration};

use octavo_driver::Sample;

use crate::{lockstep::Judgement, plan::Plan};

/// Told of a job's progress.
pub trait Observer: Sync {
    /// A step has begun or gone on: what is done now, the time spent so far
    /// (earlier sessions included) and the time that everything will take, which
    /// is the time spent where it is not known.
    fn progress(&self, now: &str, spent: Duration, expected: Duration);
    /// A second of a bench has passed.
    fn second(&self, _second: &Sample) {}
    /// Something worth a line of its own.
    fn note(&self, line: &str);
    /// The cells of a plan stand like this now.
    fn standings(&self, _plan: &Plan, _judgement: &Judgement) {}
    /// Whether to stop.
    fn interrupted(&self) -> bool;
    /// Whether to stop, as steps that can be stopped want to know it.
    fn flow(&self) -> ControlFlow<()> {
        if self.interrupted() {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }
}
