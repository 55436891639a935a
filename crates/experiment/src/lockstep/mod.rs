//! Comparing cells in lockstep: all of them execute the same next
//! transactions in turn, and what a slice of one took is set against what the
//! slices of the others took in the same pass.
//!
//! Pure functions of plan and slices: no clocks, no files, so resuming is
//! replaying. `docs/verdicts.md` has the rules and the simulations behind
//! their constants.

mod batch;
mod decide;
mod host_levels;
mod hosts;
mod judgement;
mod levels;
mod link;
mod movement;
mod screen;
pub(crate) mod slice;

pub use batch::PASSES as BATCH_PASSES;
pub use decide::{Unseated, judge};
pub use host_levels::HOSTS_MIN;
pub use hosts::{CellOfHost, HOSTS_QUOTED, HostRatios, over_hosts};
pub use judgement::{
    Batch, Candidate, Departure, DepartureReason, Group, GroupJudgement, Horizon, Judgement, Rules,
    Screened, ScreenedPass, Young,
};
pub use levels::Levels;
pub use movement::Movement;
pub(crate) use screen::counted;
pub use slice::{SessionTime, Slice, SliceKey, WarmUpBlock};

#[cfg(test)]
#[path = "../../tests/lockstep/simulated.rs"]
mod simulated;
#[cfg(test)]
mod tests;
