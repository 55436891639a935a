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
//! ([`spending`]); racing as such is Maron and
//! Moore's (NIPS 6, 1993). `docs/verdicts.md` has the whole of it with the
//! simulations behind its constants.
//!
//! Everything follows from the passes and nothing else: no clocks, no files.

use std::{cell::Cell, sync::Arc};

use octavo_units::Seed;
use serde::{Deserialize, Serialize};

use crate::statistics::{
    Decision, Interval,
    bootstrap::{Estimate, ROUNDS_MAX},
    decision, spending,
    spending::Boundary,
    student_t,
};

mod full;
#[cfg(test)]
#[expect(
    dead_code,
    unreachable_pub,
    reason = "an example includes it too, and uses more of it"
)]
mod simulated;

/// The two-sided error of all intervals of a race together.
const ERROR: f64 = 0.05;

/// The two-sided error of the intervals by which a leader is found, of one
/// candidate at all looks. Lax, and not shared out over candidates, because
/// a leader is confirmed on fresh rounds.
const SELECTION_ERROR: f64 = 0.75;

/// How many finals a group may have.
pub const FINALS_MAX: usize = 2;

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

/// How a group of cells is compared.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rules {
    /// Ratios within this share of 1 make no difference: 0.03 is 3 %.
    pub margin: f64,
    /// Of the bootstrap.
    pub seed: Seed,
    /// Who is run how often.
    pub design: Design,
}

/// Who is run how often.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "design")]
pub enum Design {
    /// Losers drop out early; a winner is measured again on fresh rounds.
    Race,
    /// Every candidate in every round: the full factorial, without finals.
    Full {
        /// How many rounds; `None` for as many as there is time for.
        rounds: Option<u32>,
        /// How often the group is judged in all, this time included. The
        /// error is shared out over the looks and the candidates
        /// (Bonferroni).
        looks: usize,
    },
}

/// What a pass was made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// A round of all that are live.
    Race,
    /// A fresh round of a final.
    Final,
}

/// One round of a group.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pass {
    /// What it was made for.
    pub phase: Phase,
    /// Throughput by candidate; `None` for one that was not run, or whose
    /// run has no result.
    pub values: Vec<Option<f64>>,
}

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

/// Follows a race pass by pass: [`replay`] without going back to the start
/// for every pass. For [`Design::Race`] alone.
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

    /// How many more rounds it takes if all goes on as it has gone.
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

/// What the last planned look saw of two candidates.
#[derive(Clone, Copy)]
struct Seen {
    look: usize,
    estimate: Estimate,
}

impl Seen {
    fn interval(&self, boundary: &Boundary) -> Interval {
        self.estimate.interval_of(boundary.look(self.look).critical)
    }

    /// After how many rounds in all the half-width of the interval would be
    /// less than this, if the spread stays as it is.
    fn rounds_within(&self, boundary: &Boundary, half: f64) -> Option<usize> {
        boundary
            .looks()
            .iter()
            .skip(self.look)
            .take_while(|planned| planned.rounds <= ROUNDS_MAX)
            .find(|planned| {
                let error = self.estimate.deviation / (planned.rounds as f64).sqrt();
                planned.critical * self.estimate.stretch * error < half
            })
            .map(|planned| planned.rounds)
    }
}

/// The logarithms of the ratios of all pairs of candidates within passes.
struct Pairs {
    candidates: usize,
    /// By the first and the second candidate; the first is the smaller.
    pairs: Vec<Pair>,
}

#[derive(Clone, Default)]
struct Pair {
    logs: Vec<f64>,
    /// The last planned look that is due.
    due: Option<(usize, usize)>,
    /// Bootstraps are made when they are asked for: most pairs never are.
    seen: Cell<Option<Seen>>,
}

impl Pairs {
    fn new(candidates: usize) -> Self {
        Self {
            candidates,
            pairs: vec![Pair::default(); candidates * candidates],
        }
    }

    /// Adds a pass's ratios of those that take part.
    fn see(&mut self, values: &[Option<f64>], takes_part: impl Fn(usize) -> bool) {
        let logs: Vec<Option<f64>> = (0..self.candidates)
            .map(|candidate| {
                let value = (*values.get(candidate)?)?;
                (takes_part(candidate) && value > 0.0 && value.is_finite()).then(|| value.ln())
            })
            .collect();
        for first in 0..self.candidates {
            for second in first + 1..self.candidates {
                if let (Some(a), Some(b)) = (logs[first], logs[second]) {
                    self.pairs[first * self.candidates + second].push(a - b);
                }
            }
        }
    }

    fn place(&self, one: usize, other: usize) -> usize {
        one.min(other) * self.candidates + one.max(other)
    }

    /// In how many passes both had a result.
    fn count(&self, one: usize, other: usize) -> usize {
        self.pairs[self.place(one, other)].logs.len()
    }

    /// The logarithms of the ratios of one to the other.
    fn logs(&self, one: usize, other: usize) -> Vec<f64> {
        let sign = if one < other { 1.0 } else { -1.0 };
        let logs = &self.pairs[self.place(one, other)].logs;
        logs.iter().map(|log| sign * log).collect()
    }

    /// What the last planned look saw of the ratio of one to the other.
    fn seen(&self, one: usize, other: usize, seed: Seed) -> Option<Seen> {
        let place = self.place(one, other);
        let seen = self.pairs[place].seen(seed)?;
        Some(if one < other {
            seen
        } else {
            Seen {
                estimate: seen.estimate.inverse(),
                ..seen
            }
        })
    }
}

impl Pair {
    fn push(&mut self, log: f64) {
        self.logs.push(log);
        if let Some(look) = spending::look_at(self.logs.len()) {
            self.due = Some((look, self.logs.len()));
        }
    }

    fn seen(&self, seed: Seed) -> Option<Seen> {
        let (look, rounds) = self.due?;
        if self.seen.get().is_none_or(|seen| seen.look != look) {
            let estimate = Estimate::of(&self.logs[..rounds], seed);
            self.seen
                .set(estimate.map(|estimate| Seen { look, estimate }));
        }
        self.seen.get()
    }
}

#[cfg(test)]
mod tests;
