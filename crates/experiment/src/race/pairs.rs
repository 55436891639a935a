//! The ratios of candidates to each other within rounds, and what the planned
//! looks see of them.

use std::cell::Cell;

use octavo_units::Seed;

use crate::statistics::{
    Interval,
    bootstrap::{Estimate, ROUNDS_MAX},
    spending,
    spending::Boundary,
};

/// What the last planned look saw of two candidates.
#[derive(Clone, Copy)]
pub(super) struct Seen {
    look: usize,
    pub(super) estimate: Estimate,
}

impl Seen {
    pub(super) fn interval(&self, boundary: &Boundary) -> Interval {
        self.estimate.interval_of(boundary.look(self.look).critical)
    }

    /// After how many rounds in all the half-width of the interval would be
    /// less than this, if the spread stays as it is.
    pub(super) fn rounds_within(&self, boundary: &Boundary, half: f64) -> Option<usize> {
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
pub(super) struct Pairs {
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
    pub(super) fn new(candidates: usize) -> Self {
        Self {
            candidates,
            pairs: vec![Pair::default(); candidates * candidates],
        }
    }

    /// Adds a pass's ratios of those that take part.
    pub(super) fn see(&mut self, values: &[Option<f64>], takes_part: impl Fn(usize) -> bool) {
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
    pub(super) fn count(&self, one: usize, other: usize) -> usize {
        self.pairs[self.place(one, other)].logs.len()
    }

    /// The logarithms of the ratios of one to the other.
    pub(super) fn logs(&self, one: usize, other: usize) -> Vec<f64> {
        let sign = if one < other { 1.0 } else { -1.0 };
        let logs = &self.pairs[self.place(one, other)].logs;
        logs.iter().map(|log| sign * log).collect()
    }

    /// What the last planned look saw of the ratio of one to the other.
    pub(super) fn seen(&self, one: usize, other: usize, seed: Seed) -> Option<Seen> {
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
