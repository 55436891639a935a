//! Racing: which of a group of cells is better than the reference, in as few
//! rounds as it takes.
//!
//! Selecting is cheap, claiming is dear. While they race, candidates drop out
//! as soon as they cannot win, and who leads is found at a lax level: a wrong
//! choice there costs time, not truth. The claim rests on rounds that are run
//! afresh for the leader, whose number is fixed beforehand and which are
//! looked at once, so the figure that is quoted owes nothing to having been
//! picked (the winner's curse) or to having been stopped at. There are at most
//! [`FINALS_MAX`] such finals, so whatever happened before, a winner is called
//! wrongly with a probability of at most 2 × 2.5 %.
//!
//! Dropping out follows repeated confidence intervals at planned looks
//! ([`spending`](crate::statistics::spending)); racing as such is Maron and
//! Moore's (NIPS 6, 1993). `docs/verdicts.md` has the whole of it with the
//! simulations behind its constants.
//!
//! Everything follows from the passes and nothing else: no clocks, no files.

mod elimination;
mod full;
mod outcome;
mod pairs;
mod rules;
#[cfg(test)]
#[path = "../tests/race/simulated.rs"]
#[expect(
    dead_code,
    unreachable_pub,
    reason = "an example includes it too, and uses more of it"
)]
mod simulated;
#[cfg(test)]
mod tests;

pub use elimination::{Elimination, FINALS_MAX};
pub use outcome::{Candidate, Left, Next, Outcome, Race, Why};
pub use rules::{Design, Pass, Phase, Rules};

/// What follows from the passes so far. A pure function of its arguments, so
/// resuming is replaying.
///
/// Values that are not positive and finite count as missing. So do those of
/// candidates that had left, and passes of another phase than the one that
/// was due.
///
/// # Panics
/// If the reference is not one of the candidates.
pub fn replay(rules: &Rules, candidates: usize, reference: usize, passes: &[Pass]) -> Race {
    match rules.design {
        Design::Race => {
            let mut elimination = Elimination::new(rules, candidates, reference);
            for pass in passes {
                elimination.see(pass);
            }
            elimination.race()
        }
        Design::Full { rounds, looks } => {
            full::judge(rules, rounds, looks, candidates, reference, passes)
        }
    }
}
