//! The full factorial: every candidate in every round, one look at the whole.

use crate::statistics::{Confidence, Decision, Interval, bootstrap::Estimate, decision};

use super::{
    outcome::{Candidate, Next, Outcome, Race},
    pairs::Pairs,
    rules::{ERROR, Pass, Phase, Rules},
};

/// One look at all rounds, of `looks` that there will have been.
pub(super) fn judge(
    rules: &Rules,
    rounds: Option<u32>,
    looks: usize,
    candidates: usize,
    reference: usize,
    passes: &[Pass],
) -> Race {
    assert!(
        reference < candidates,
        "reference {reference} of {candidates}"
    );
    let mut pairs = Pairs::new(candidates);
    let mut made = 0;
    for pass in passes.iter().filter(|pass| pass.phase == Phase::Race) {
        pairs.see(&pass.values, |_| true);
        made += 1;
    }
    let group = Group {
        rules,
        reference,
        confidence: Confidence {
            level: 1.0 - ERROR * share_of_look(looks),
            comparisons: candidates - 1,
        },
        pairs,
    };
    let places: Vec<Candidate> = (0..candidates)
        .map(|candidate| group.candidate(candidate))
        .collect();
    let outcome = group.outcome(&places);
    let finished = rounds.is_some_and(|rounds| made >= rounds);
    Race {
        candidates: places,
        next: if finished {
            Next::Finished
        } else {
            Next::Race {
                live: (0..candidates).collect(),
            }
        },
        outcome,
    }
}

/// The share of the error that a look has, the first being 1. Most goes to the
/// first, since a full factorial is meant to be looked at once; what is left is
/// enough for any number of others: the sum over all k >= 2 of 1 / (k (k - 1))
/// is 1.
fn share_of_look(look: usize) -> f64 {
    const FIRST: f64 = 0.8;
    match look {
        0 | 1 => FIRST,
        k => (1.0 - FIRST) / (k * (k - 1)) as f64,
    }
}

struct Group<'a> {
    rules: &'a Rules,
    reference: usize,
    confidence: Confidence,
    pairs: Pairs,
}

impl Group<'_> {
    fn interval(&self, one: usize, other: usize) -> Option<Interval> {
        Estimate::of(&self.pairs.logs(one, other), self.rules.seed)
            .map(|estimate| estimate.interval(self.confidence.error()))
    }

    fn candidate(&self, candidate: usize) -> Candidate {
        if candidate == self.reference {
            return Candidate::default();
        }
        let ratio = self.interval(candidate, self.reference);
        Candidate {
            ratio,
            decision: Some(
                ratio.map_or(Decision::Open, |ratio| decision(&ratio, self.rules.margin)),
            ),
            ..Candidate::default()
        }
    }

    fn outcome(&self, places: &[Candidate]) -> Outcome {
        let with = |wanted: Decision| -> Vec<usize> {
            (0..places.len())
                .filter(|&c| places[c].decision == Some(wanted))
                .collect()
        };
        let best = |among: &[usize]| -> Option<(usize, Interval)> {
            among
                .iter()
                .filter_map(|&c| Some((c, places[c].ratio?)))
                .max_by(|a, b| a.1.estimate.total_cmp(&b.1.estimate))
        };
        let (better, open) = (with(Decision::Better), with(Decision::Open));
        if let Some((candidate, ratio)) = best(&better) {
            let others = |c: &usize| *c != candidate;
            let ties = (better.iter().chain(&open).copied())
                .filter(others)
                .filter(|&c| places[c].ratio.is_some())
                .filter(|&c| {
                    self.interval(c, candidate)
                        .is_none_or(|ratio| ratio.high >= 1.0)
                })
                .collect();
            let not_worse: Vec<usize> = (better.iter().chain(&open).copied())
                .chain(with(Decision::Equivalent))
                .filter(others)
                .collect();
            return Outcome::Winner {
                candidate,
                ratio,
                fresh: false,
                runner_up: best(&not_worse).map(|(c, _)| c),
                ties,
            };
        }
        if open.is_empty() {
            return Outcome::Keep {
                equivalent: with(Decision::Equivalent),
                worse: with(Decision::Worse),
                not_confirmed: Vec::new(),
            };
        }
        let more_rounds = open
            .iter()
            .map(|&c| self.more_rounds(c))
            .collect::<Option<Vec<usize>>>()
            .and_then(|rounds| rounds.into_iter().max());
        Outcome::Inconclusive {
            open,
            leader: None,
            more_rounds,
        }
    }

    /// How many more rounds would settle a candidate's ratio.
    fn more_rounds(&self, candidate: usize) -> Option<usize> {
        let logs = self.pairs.logs(candidate, self.reference);
        Estimate::of(&logs, self.rules.seed)?
            .rounds_to_settle(self.rules.margin, self.confidence.error())
            .map(|rounds| (rounds - logs.len()).max(1))
    }
}
