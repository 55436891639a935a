//! A race, round by round: who drops out, who leads, and finals on fresh rounds.

use std::sync::Arc;

use crate::statistics::{
    Decision, Interval, bootstrap::Estimate, decision, spending::Boundary, student_t,
};

use super::{
    outcome::{Candidate, Left, Next, Outcome, Race, Why},
    pairs::{Pairs, Seen},
    rules::{ERROR, Pass, Phase, Rules},
};

/// The two-sided error of the intervals by which a leader is found, of one
/// candidate at all looks. Lax, and not shared out over candidates, because
/// a leader is confirmed on fresh rounds.
const SELECTION_ERROR: f64 = 0.75;

/// After so many rounds in which it was live, a candidate leaves whose runs
/// gave no result (and a race ends whose reference has none).
const ROUNDS_WITHOUT_RESULT_MAX: usize = 4;

/// … and after so many, one of whose runs less than a quarter gave a result.
const ROUNDS_WITH_FEW_RESULTS_MAX: usize = 12;

/// The fewest fresh rounds of a final.
const FINAL_ROUNDS_MIN: usize = 4;

/// The most fresh rounds of a final.
const FINAL_ROUNDS_MAX: usize = 32;

/// A final may have one round more for so many that it is to have, to make up
/// for those in which the leader or the reference had no result. A leader of
/// which more are missing is not confirmed: what is missing is not missing by
/// chance.
const FINAL_SPARE: usize = 4;

/// The quantile of the normal distribution for the power that a final is to
/// have at the difference that it is planned for: 97.7 %.
const FINAL_POWER: f64 = 2.0;

/// By how many standard errors the leader's lead is shrunk in planning its
/// final: having been picked as the best, it has more likely been lucky.
const FINAL_SHRINK: f64 = 2.0;

/// How many finals a group may have.
pub const FINALS_MAX: usize = 2;

/// Follows a race pass by pass: [`replay`](super::replay) without going back to the start
/// for every pass. For [`Design::Race`](super::Design::Race) alone.
pub struct Elimination {
    rules: Rules,
    reference: usize,
    passes: usize,
    /// Of the intervals by which candidates leave.
    claims: Arc<Boundary>,
    /// Of those by which a leader is found.
    selection: Arc<Boundary>,
    pairs: Pairs,
    /// Rounds of the race in which each candidate was live, and its results
    /// in them.
    rounds: Vec<usize>,
    results: Vec<usize>,
    left: Vec<Option<Left>>,
    fresh: Vec<Option<Interval>>,
    finals: usize,
    under_way: Option<Final>,
    won: Option<Won>,
}

/// Fresh rounds that are being run.
struct Final {
    leader: usize,
    runner_up: Option<usize>,
    rounds: usize,
    passes: usize,
    pairs: Pairs,
}

impl Final {
    /// The rounds in which the leader and the reference have a result.
    fn done(&self, reference: usize) -> usize {
        self.pairs.count(self.leader, reference)
    }
}

/// A winner, from its final.
struct Won {
    candidate: usize,
    ratio: Interval,
    runner_up: Option<usize>,
    runner_up_ties: bool,
}

impl Elimination {
    /// Before the first pass.
    ///
    /// # Panics
    /// If the reference is not one of the candidates.
    pub fn new(rules: &Rules, candidates: usize, reference: usize) -> Self {
        assert!(
            reference < candidates,
            "reference {reference} of {candidates}"
        );
        let others = (candidates - 1).max(1) as f64;
        Self {
            rules: *rules,
            reference,
            passes: 0,
            claims: Boundary::of(ERROR / others),
            selection: Boundary::of(SELECTION_ERROR),
            pairs: Pairs::new(candidates),
            rounds: vec![0; candidates],
            results: vec![0; candidates],
            left: vec![None; candidates],
            fresh: vec![None; candidates],
            finals: 0,
            under_way: None,
            won: None,
        }
    }

    /// Takes a pass into account.
    pub fn see(&mut self, pass: &Pass) {
        self.passes += 1;
        if self.finished() {
            return;
        }
        match (pass.phase, &mut self.under_way) {
            (Phase::Race, None) => {
                let left = &self.left;
                self.pairs
                    .see(&pass.values, |candidate| left[candidate].is_none());
                for (candidate, left) in self.left.iter().enumerate() {
                    let result = pass.values.get(candidate).copied().flatten();
                    self.rounds[candidate] += usize::from(left.is_none());
                    self.results[candidate] += usize::from(left.is_none() && result.is_some());
                }
                self.look();
            }
            (Phase::Final, Some(fresh)) => {
                fresh.pairs.see(&pass.values, |_| true);
                fresh.passes += 1;
                if fresh.done(self.reference) == fresh.rounds
                    || fresh.passes == fresh.rounds + fresh.rounds / FINAL_SPARE
                {
                    self.decide_final();
                }
            }
            // Of a phase that was not due.
            (Phase::Race, Some(_)) | (Phase::Final, None) => {}
        }
    }

    /// What follows from the passes so far.
    pub fn race(&self) -> Race {
        Race {
            candidates: (0..self.left.len()).map(|c| self.candidate(c)).collect(),
            next: self.next(),
            outcome: self.outcome(),
        }
    }

    /// What to run next.
    pub fn next(&self) -> Next {
        if self.finished() {
            return Next::Finished;
        }
        if let Some(fresh) = &self.under_way {
            return Next::Final {
                candidates: fresh
                    .runner_up
                    .into_iter()
                    .chain([fresh.leader, self.reference])
                    .collect(),
                done: fresh.done(self.reference),
                rounds: fresh.rounds,
            };
        }
        Next::Race {
            live: (0..self.left.len())
                .filter(|&candidate| self.left[candidate].is_none())
                .collect(),
        }
    }

    fn finished(&self) -> bool {
        self.won.is_some() || self.live().next().is_none() || self.has_few_results(self.reference)
    }

    /// Whether so few of its runs gave a result that it is not worth going on.
    fn has_few_results(&self, candidate: usize) -> bool {
        let (rounds, results) = (self.rounds[candidate], self.results[candidate]);
        (rounds >= ROUNDS_WITHOUT_RESULT_MAX && results == 0)
            || (rounds >= ROUNDS_WITH_FEW_RESULTS_MAX && results * 4 < rounds)
    }

    /// Those that have not left, without the reference.
    fn live(&self) -> impl Iterator<Item = usize> + use<'_> {
        (0..self.left.len()).filter(|&c| c != self.reference && self.left[c].is_none())
    }

    /// What the last planned look saw of a candidate and the reference.
    fn seen(&self, candidate: usize) -> Option<Seen> {
        self.pairs.seen(candidate, self.reference, self.rules.seed)
    }

    /// What the rounds of the race say of a candidate.
    fn repeated(&self, candidate: usize) -> Option<Interval> {
        if let Some(seen) = self.seen(candidate) {
            return Some(seen.interval(&self.claims));
        }
        let logs = self.pairs.logs(candidate, self.reference);
        let estimate = Estimate::of(&logs, self.rules.seed)?;
        Some(estimate.interval_of(f64::INFINITY))
    }

    /// What the rules make of the last looks.
    fn look(&mut self) {
        if self.finished() {
            return;
        }
        self.dismiss_settled();
        if let Some(leader) = self.leader() {
            self.dismiss_behind(leader);
            if self.live().all(|c| c == leader)
                && let Some(lead) = self.seen(leader)
            {
                self.begin_final(leader, &lead.estimate);
            }
        }
    }

    fn dismiss_settled(&mut self) {
        // Who comes back because a leader has left is seen to as well.
        while let Some((candidate, why)) = self.settled() {
            self.dismiss(candidate, why);
        }
    }

    fn settled(&self) -> Option<(usize, Why)> {
        self.live().find_map(|candidate| {
            if self.has_few_results(candidate) {
                return Some((candidate, Why::NoResult));
            }
            let interval = self.repeated(candidate)?;
            match decision(&interval, self.rules.margin) {
                Decision::Worse => Some((candidate, Why::Worse)),
                Decision::Equivalent => Some((candidate, Why::Equivalent)),
                Decision::Better if self.finals == FINALS_MAX => {
                    Some((candidate, Why::NoFinalLeft))
                }
                Decision::Better | Decision::Open => None,
            }
        })
    }

    /// The highest mean of those that lie above the reference at the
    /// selection level, and by more than the margin as far as one can see: a
    /// lead that does not matter is not worth a final.
    fn leader(&self) -> Option<usize> {
        if self.finals == FINALS_MAX {
            return None;
        }
        self.live()
            .filter_map(|candidate| Some((candidate, self.seen(candidate)?)))
            .filter(|(_, seen)| {
                let interval = seen.interval(&self.selection);
                interval.low > 1.0 && interval.estimate > 1.0 + self.rules.margin
            })
            .max_by(|(_, a), (_, b)| a.estimate.mean.total_cmp(&b.estimate.mean))
            .map(|(candidate, _)| candidate)
    }

    fn dismiss_behind(&mut self, leader: usize) {
        let others: Vec<usize> = self.live().filter(|&c| c != leader).collect();
        for candidate in others {
            let behind = self
                .pairs
                .seen(candidate, leader, self.rules.seed)
                .is_some_and(|seen| seen.interval(&self.selection).high < 1.0 + self.rules.margin);
            if behind {
                self.dismiss(candidate, Why::Behind { leader });
            }
        }
    }

    /// Leaves the race. Whoever was behind this one alone comes back, unless
    /// it leaves for being behind another.
    fn dismiss(&mut self, candidate: usize, why: Why) {
        self.left[candidate] = Some(Left {
            after: self.passes,
            why,
        });
        if matches!(why, Why::Behind { .. }) {
            return;
        }
        for left in &mut self.left {
            if left.is_some_and(|left| left.why == Why::Behind { leader: candidate }) {
                *left = None;
            }
        }
    }

    fn begin_final(&mut self, leader: usize, lead: &Estimate) {
        self.under_way = Some(Final {
            leader,
            runner_up: self.runner_up(leader),
            rounds: final_rounds(lead, self.rules.margin),
            passes: 0,
            pairs: Pairs::new(self.left.len()),
        });
    }

    /// The best of the others by their means, unless that is the reference
    /// itself, or cannot be told from it and is represented by it.
    fn runner_up(&self, leader: usize) -> Option<usize> {
        (0..self.left.len())
            .filter(|&c| c != self.reference && c != leader)
            .filter(|&c| match self.left[c].map(|left| left.why) {
                Some(Why::Behind { .. }) | None => true,
                Some(_) => false,
            })
            .filter_map(|c| Some((c, self.seen(c)?.estimate.mean)))
            .filter(|&(_, mean)| mean > 0.0)
            .max_by(|a, b| a.1.total_cmp(&b.1))
            .map(|(c, _)| c)
    }

    /// The one look at a final's fresh rounds.
    fn decide_final(&mut self) {
        let Some(fresh) = self.under_way.take() else {
            return;
        };
        self.finals += 1;
        let estimate = |one, other| Estimate::of(&fresh.pairs.logs(one, other), self.rules.seed);
        let interval = |one, other| estimate(one, other).map(|estimate| estimate.interval(ERROR));
        // What is missing of a final is not missing by chance, so one that is
        // not whole says nothing.
        let whole = fresh.done(self.reference) == fresh.rounds;
        for candidate in fresh.runner_up.into_iter().chain([fresh.leader]) {
            self.fresh[candidate] = interval(candidate, self.reference).filter(|_| whole);
        }
        match self.fresh[fresh.leader] {
            Some(ratio) if decision(&ratio, self.rules.margin) == Decision::Better => {
                self.won = Some(Won {
                    candidate: fresh.leader,
                    ratio,
                    runner_up: fresh.runner_up,
                    runner_up_ties: fresh
                        .runner_up
                        .and_then(|runner_up| interval(runner_up, fresh.leader))
                        .is_none_or(|ratio| ratio.high >= 1.0),
                });
            }
            // Neither confirmed nor refuted: the second final is its as well.
            Some(ratio)
                if decision(&ratio, self.rules.margin) == Decision::Open
                    && ratio.estimate > 1.0
                    && self.finals < FINALS_MAX =>
            {
                if let Some(lead) = estimate(fresh.leader, self.reference) {
                    self.begin_final(fresh.leader, &lead);
                }
            }
            _ => {
                self.dismiss(fresh.leader, Why::NotConfirmed);
                if let Some(runner_up) = fresh.runner_up {
                    self.dismiss_if_settled_afresh(runner_up);
                }
                self.look();
            }
        }
    }

    fn dismiss_if_settled_afresh(&mut self, runner_up: usize) {
        let live = self.left[runner_up].is_none();
        let fresh = self.fresh[runner_up].map(|fresh| decision(&fresh, self.rules.margin));
        match fresh {
            Some(Decision::Worse) if live => self.dismiss(runner_up, Why::Worse),
            Some(Decision::Equivalent) if live => self.dismiss(runner_up, Why::Equivalent),
            _ => {}
        }
    }

    fn candidate(&self, candidate: usize) -> Candidate {
        if candidate == self.reference {
            return Candidate::default();
        }
        Candidate {
            ratio: self.repeated(candidate),
            fresh: self.fresh[candidate],
            decision: Some(self.decision(candidate)),
            left: self.left[candidate],
        }
    }

    fn decision(&self, candidate: usize) -> Decision {
        let won = self.won.as_ref().map(|won| won.candidate);
        let interval = match self.left[candidate].map(|left| left.why) {
            Some(Why::Worse) => return Decision::Worse,
            Some(Why::Equivalent) => return Decision::Equivalent,
            None if won != Some(candidate) => self.repeated(candidate),
            _ => self.fresh[candidate].or_else(|| self.repeated(candidate)),
        };
        interval.map_or(Decision::Open, |interval| {
            decision(&interval, self.rules.margin)
        })
    }

    fn outcome(&self) -> Outcome {
        if let Some(won) = &self.won {
            return Outcome::Winner {
                candidate: won.candidate,
                ratio: won.ratio,
                fresh: true,
                runner_up: won.runner_up,
                ties: self.ties(won),
            };
        }
        let with = |wanted: &[Decision]| -> Vec<usize> {
            (0..self.left.len())
                .filter(|&c| c != self.reference && wanted.contains(&self.decision(c)))
                .collect()
        };
        let open = with(&[Decision::Open, Decision::Better]);
        let unknown = |left: &Option<Left>| {
            left.is_some_and(|left| matches!(left.why, Why::NoResult | Why::NoFinalLeft))
        };
        if self.live().next().is_none() && !self.left.iter().any(unknown) {
            return Outcome::Keep {
                equivalent: with(&[Decision::Equivalent]),
                worse: with(&[Decision::Worse]),
                not_confirmed: open,
            };
        }
        Outcome::Inconclusive {
            open,
            leader: match &self.under_way {
                Some(fresh) => Some(fresh.leader),
                None => self.leader(),
            },
            more_rounds: self.more_rounds(),
        }
    }

    /// Those that an ordinary 95 % interval does not tell from the winner: of
    /// the runner-up's fresh rounds, of the others' rounds of the race.
    fn ties(&self, won: &Won) -> Vec<usize> {
        (0..self.left.len())
            .filter(|&c| c != self.reference && c != won.candidate)
            .filter(|&c| {
                if Some(c) == won.runner_up {
                    return won.runner_up_ties;
                }
                if self.left[c].is_some_and(|left| left.why == Why::NoResult) {
                    return false;
                }
                let logs = self.pairs.logs(c, won.candidate);
                let ratio = Estimate::of(&logs, self.rules.seed);
                !matches!(self.decision(c), Decision::Worse | Decision::Equivalent)
                    && ratio.is_none_or(|ratio| ratio.interval(ERROR).high >= 1.0)
            })
            .collect()
    }

    /// How many more rounds it takes if means and spreads stay as they are.
    fn more_rounds(&self) -> Option<usize> {
        if let Some(fresh) = &self.under_way {
            return Some(fresh.rounds - fresh.done(self.reference));
        }
        if self.finished() {
            return None;
        }
        let seen: Vec<(usize, Seen)> = self
            .live()
            .map(|candidate| Some((candidate, self.seen(candidate)?)))
            .collect::<Option<_>>()?;
        let &(best, first) = seen
            .iter()
            .max_by(|(_, a), (_, b)| a.estimate.mean.total_cmp(&b.estimate.mean))?;
        let edge = self.rules.margin.ln_1p();
        // Worse, or equivalent.
        let settles = |seen: &Seen| {
            let room = (-seen.estimate.mean).max(edge - seen.estimate.mean.abs());
            seen.rounds_within(&self.claims, room)
        };
        let leads = first.rounds_within(&self.selection, first.estimate.mean);
        let finals = self.finals < FINALS_MAX
            && match (leads, settles(&first)) {
                (Some(leads), Some(settles)) => leads <= settles,
                (leads, _) => leads.is_some(),
            };
        let mut more = 0;
        for (candidate, seen) in seen {
            let ahead = if !finals {
                None
            } else if candidate == best {
                leads
            } else {
                let ratio = self.pairs.seen(candidate, best, self.rules.seed)?;
                ratio.rounds_within(&self.selection, edge - ratio.estimate.mean)
            };
            let rounds = settles(&seen).into_iter().chain(ahead).min()?;
            let made = self.pairs.count(candidate, self.reference);
            more = more.max(rounds.saturating_sub(made).max(1));
        }
        if finals {
            more += final_rounds(&first.estimate, self.rules.margin);
        }
        Some(more)
    }
}

/// The number of fresh rounds: enough to show the lead that the race saw,
/// shrunk, if the spread stays as it was.
fn final_rounds(lead: &Estimate, margin: f64) -> usize {
    let difference = (lead.mean - FINAL_SHRINK * lead.standard_error()).max(margin.ln_1p());
    (FINAL_ROUNDS_MIN..FINAL_ROUNDS_MAX)
        .step_by(2)
        .find(|&rounds| {
            (student_t(ERROR, rounds) + FINAL_POWER) * lead.deviation / (rounds as f64).sqrt()
                <= difference
        })
        .unwrap_or(FINAL_ROUNDS_MAX)
}
