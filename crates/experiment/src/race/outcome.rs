//! What follows from the rounds so far: who is left, what to run next, and what
//! is known.

use serde::Serialize;

use crate::statistics::{Decision, Interval};

/// Everything that follows from the passes so far.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Race {
    /// By number.
    pub candidates: Vec<Candidate>,
    /// What to run next.
    pub next: Next,
    /// What is known.
    pub outcome: Outcome,
}

/// One candidate's place in a race.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Candidate {
    /// Its throughput over the reference's, from the rounds of the race up to
    /// the last planned look: an interval at 95 % for all candidates and all
    /// looks together. Unbounded before the first look; `None` for the
    /// reference and without rounds.
    pub ratio: Option<Interval>,
    /// The same from its final's fresh rounds alone (95 %), once the final is
    /// over.
    pub fresh: Option<Interval>,
    /// What the intervals say: the fresh one of the winner and of those that
    /// were not confirmed, the race's of the others that are live. `None` for
    /// the reference.
    pub decision: Option<Decision>,
    /// When and why it left.
    pub left: Option<Left>,
}

/// Leaving a race.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Left {
    /// After how many passes.
    pub after: usize,
    /// Why.
    pub why: Why,
}

/// Why a candidate left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Why {
    /// It is worse than the reference.
    Worse,
    /// It makes no difference to the reference.
    Equivalent,
    /// It cannot be better than the leader by more than the margin. It comes
    /// back if the leader leaves.
    Behind {
        /// The leader at that moment.
        leader: usize,
    },
    /// It led, and fresh rounds did not show that it is better.
    NotConfirmed,
    /// It is better in the race, and no final is left to show it on fresh
    /// rounds.
    NoFinalLeft,
    /// Few of its runs, or none, gave a result.
    NoResult,
}

/// What to run next.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Next {
    /// A further round of these.
    Race {
        /// The reference and whoever has not left, ascending.
        live: Vec<usize>,
    },
    /// Fresh rounds, in this order and every second one in the reverse order
    /// (A B C C B A), so that a linear drift of the machine cancels. The
    /// leader stands beside the reference.
    Final {
        /// The runner-up if there is one, the leader, the reference.
        candidates: Vec<usize>,
        /// In how many the leader and the reference have a result.
        done: usize,
        /// How many there will be. Even.
        rounds: usize,
    },
    /// No further rounds.
    Finished,
}

/// What is known of a group.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "outcome")]
pub enum Outcome {
    /// One is better than the reference.
    Winner {
        /// Which.
        candidate: usize,
        /// Its throughput over the reference's.
        ratio: Interval,
        /// Whether the ratio is from fresh rounds.
        fresh: bool,
        /// The best of the others that was not worse than the reference.
        runner_up: Option<usize>,
        /// Those that may be as good as the winner, or better.
        ties: Vec<usize>,
    },
    /// Nothing is left to decide: none was shown to be better.
    Keep {
        /// Those that make no difference.
        equivalent: Vec<usize>,
        /// Those that are worse.
        worse: Vec<usize>,
        /// Those that led and whose fresh rounds left it open.
        not_confirmed: Vec<usize>,
    },
    /// Not decided.
    Inconclusive {
        /// Those that may be better than the reference.
        open: Vec<usize>,
        /// Who leads.
        leader: Option<usize>,
        /// How many more rounds, fresh ones included, would settle it if means
        /// and spreads stay as they are; `None` when that cannot be told.
        more_rounds: Option<usize>,
    },
}
