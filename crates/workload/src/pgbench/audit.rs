//! Audit of one client's transactions.

use super::{
    schema::{ACCOUNTS_PER_UNIT, TELLERS_PER_UNIT},
    script::{Change, DELTA_MAX, Script, TRANSACTIONS},
};
use crate::{
    Audit, AuditDistribution, AuditLine, Mix,
    audit::{range_of, range_shares},
};

/// Ranges that draws are counted in, where there are as many values.
const RANGES: u64 = 16;

/// Counts of one client.
#[derive(Debug)]
pub(super) struct Counts {
    ran: [u64; TRANSACTIONS.len()],
    accounts: Uniform,
    branches: Uniform,
    /// By `tid` modulo [`TELLERS_PER_UNIT`].
    tellers: [u64; TELLERS_PER_UNIT as usize],
    deltas: Uniform,
}

impl Counts {
    /// Empty counts. Allocates all memory.
    pub(super) fn new(scale: u32) -> Self {
        let scale = i64::from(scale);
        Self {
            ran: [0; TRANSACTIONS.len()],
            accounts: Uniform::new(1, ACCOUNTS_PER_UNIT * scale),
            branches: Uniform::new(1, scale),
            tellers: [0; TELLERS_PER_UNIT as usize],
            deltas: Uniform::new(-DELTA_MAX, DELTA_MAX),
        }
    }

    /// A transaction at its first try.
    pub(super) fn ran(&mut self, script: Script, change: &Change) {
        self.ran[script as usize] += 1;
        self.accounts.count(change.aid);
        if script != Script::SelectOnly {
            self.branches.count(change.bid);
            self.tellers[(change.tid % TELLERS_PER_UNIT) as usize] += 1;
            self.deltas.count(change.delta);
        }
    }

    /// The audit, without kinds that the mix leaves out.
    pub(super) fn audit(&self, mix: &Mix) -> Audit {
        let is_drawn = |script: Script| mix.weights()[script as usize] > 0;
        let lines = AuditLine::of_kinds(&TRANSACTIONS, &self.ran, mix, "transactions");
        let mut distributions = vec![self.accounts.distribution("accounts")];
        if is_drawn(Script::TpcbLike) || is_drawn(Script::SimpleUpdate) {
            // As many tellers have each last digit.
            let tellers = AuditDistribution::uniform("tellers, modulo 10", &self.tellers);
            distributions.push(tellers);
            // Of a single branch there is nothing to tell.
            if self.branches.values > 1 {
                distributions.push(self.branches.distribution("branches"));
            }
            distributions.push(self.deltas.distribution("changes of balances"));
        }
        Audit {
            lines: lines.filter(|line| line.wanted > 0.0).collect(),
            distributions,
            ..Audit::default()
        }
    }
}

/// Counts of draws that are each equally likely, in ranges that are as wide
/// as each other or one value less.
#[derive(Debug)]
struct Uniform {
    low: i64,
    values: u64,
    counts: Vec<u64>,
}

impl Uniform {
    /// For draws from `low` to `high`, both included.
    fn new(low: i64, high: i64) -> Self {
        let values = low.abs_diff(high) + 1;
        Self {
            low,
            values,
            counts: vec![0; values.min(RANGES) as usize],
        }
    }

    fn count(&mut self, value: i64) {
        let ranges = self.counts.len() as u64;
        self.counts[range_of(self.low.abs_diff(value), self.values, ranges)] += 1;
    }

    fn distribution(&self, name: &str) -> AuditDistribution {
        AuditDistribution {
            name: name.into(),
            counts: self.counts.clone(),
            wanted: range_shares(self.values, self.counts.len() as u64).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_mix_draws_is_audited() {
        for (scale, weights, lines, distributions) in [
            (1, [1, 0, 0], 1, 3),
            (2, [1, 0, 0], 1, 4),
            (2, [0, 3, 1], 2, 4),
            (2, [0, 0, 1], 1, 1),
        ] {
            let audit = Counts::new(scale).audit(&Mix::new(&weights));
            assert_eq!(audit.lines.len(), lines);
            assert_eq!(audit.distributions.len(), distributions);
        }
    }
}
