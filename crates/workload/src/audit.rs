//! Generated shares and distributions, compared with the specification's.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{mix::Mix, transaction::TransactionKind};

/// Generated shares, compared with the specification's.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Audit {
    /// One line a property.
    pub lines: Vec<AuditLine>,
    /// Distributions of drawn values.
    #[serde(default)]
    pub distributions: Vec<AuditDistribution>,
    /// What statements of the user's own found.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub statements: Vec<StatementCount>,
    /// How often clients ran their parts of a recording, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rounds: Option<Rounds>,
}

/// How often clients ran their parts of a recording in a run: 0.5 is the first half, 2 is all of it
/// twice.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Rounds {
    /// The client that ran the least of its part.
    pub least: f64,
    /// The one that ran the most.
    pub most: f64,
}

impl Rounds {
    /// Of one client.
    pub(crate) fn of(rounds: f64) -> Self {
        Self {
            least: rounds,
            most: rounds,
        }
    }

    fn with(self, other: Self) -> Self {
        Self {
            least: self.least.min(other.least),
            most: self.most.max(other.most),
        }
    }
}

/// What a statement of the user's own found or changed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StatementCount {
    /// Where it stands, such as "mix.sql, line 4".
    pub name: String,
    /// How often it ran.
    pub runs: u64,
    /// How many rows that were together.
    pub rows: u64,
    /// How many runs had none.
    pub empty: u64,
    /// How many runs failed besides. A statement of a script that fails ends the experiment; one
    /// that was recorded does not.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub failed: u64,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl StatementCount {
    /// Counts a run.
    pub(crate) fn ran(&mut self, rows: u64) {
        self.runs += 1;
        self.rows += rows;
        self.empty += u64::from(rows == 0);
    }
}

impl Audit {
    /// Adds what another client counted: lines of one name are summed.
    pub fn merge(&mut self, other: &Self) {
        self.rounds = match (self.rounds, other.rounds) {
            (Some(own), Some(other)) => Some(own.with(other)),
            (own, other) => own.or(other),
        };
        for line in &other.lines {
            match self.lines.iter_mut().find(|own| own.name == line.name) {
                Some(own) => {
                    let all = own.total + line.total;
                    // What is wanted of a client may depend on what it did.
                    if own.wanted != line.wanted && all > 0 {
                        let wanted =
                            own.wanted * own.total as f64 + line.wanted * line.total as f64;
                        own.wanted = wanted / all as f64;
                    }
                    own.count += line.count;
                    own.total = all;
                }
                None => self.lines.push(line.clone()),
            }
        }
        for other in &other.statements {
            match self
                .statements
                .iter_mut()
                .find(|own| own.name == other.name)
            {
                Some(own) => {
                    own.runs += other.runs;
                    own.rows += other.rows;
                    own.empty += other.empty;
                    own.failed += other.failed;
                }
                None => self.statements.push(other.clone()),
            }
        }
        for other in &other.distributions {
            let is_same = |own: &&mut AuditDistribution| {
                own.name == other.name && own.counts.len() == other.counts.len()
            };
            match self.distributions.iter_mut().find(is_same) {
                Some(own) => {
                    for (own, count) in own.counts.iter_mut().zip(&other.counts) {
                        *own += count;
                    }
                }
                None => self.distributions.push(other.clone()),
            }
        }
    }
}

/// One property of the generated load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AuditLine {
    /// What is counted, such as "New-Order lines from a remote warehouse".
    pub name: String,
    /// How often it happened.
    pub count: u64,
    /// Out of how many.
    pub total: u64,
    /// The share that the specification wants, 0 to 1.
    pub wanted: f64,
    /// How the two are compared.
    #[serde(default)]
    pub rule: AuditRule,
}

impl AuditLine {
    /// A count of independent choices.
    pub(crate) fn independent(name: &str, count: u64, total: u64, wanted: f64) -> Self {
        Self {
            name: name.into(),
            count,
            total,
            wanted,
            rule: AuditRule::Independent,
        }
    }

    /// The share of each kind among all transactions, which are `called` so.
    pub(crate) fn of_kinds<'a>(
        kinds: &'a [TransactionKind],
        ran: &'a [u64],
        mix: &'a Mix,
        called: &'a str,
    ) -> impl Iterator<Item = Self> + 'a {
        let all = ran.iter().sum();
        (kinds.iter().zip(ran).enumerate()).map(move |(position, (kind, ran))| {
            let name = format!("{} among {called}", kind.name);
            Self::independent(&name, *ran, all, mix.share(position))
        })
    }
}

/// How a counted share is compared with the wanted one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AuditRule {
    /// Each of the total falls on it independently.
    #[default]
    Independent,
    /// As before, but the count varies this many times as much: it is a sum
    /// of draws that are not of one.
    Dispersed(f64),
    /// It is at most the wanted share.
    AtMost,
}

/// How the values of one kind of draw were distributed, in ranges.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AuditDistribution {
    /// What is drawn, such as "items of New-Order lines".
    pub name: String,
    /// How many draws fell into each range.
    pub counts: Vec<u64>,
    /// The exact probability of each range, 0 to 1.
    pub wanted: Vec<f64>,
}

impl AuditDistribution {
    /// Ranges that are equally likely.
    pub(crate) fn uniform(name: &str, counts: &[u64]) -> Self {
        Self {
            name: name.into(),
            counts: counts.to_vec(),
            wanted: vec![1.0 / counts.len() as f64; counts.len()],
        }
    }

    /// Pearson's statistic: 0 for a perfect fit; about the number of ranges
    /// less one when the draws follow the wanted distribution. 0 without
    /// draws.
    pub fn chi_square(&self) -> f64 {
        let total = self.counts.iter().sum::<u64>() as f64;
        self.counts
            .iter()
            .zip(&self.wanted)
            .map(|(count, share)| (*count as f64, share * total))
            .filter(|(_, wanted)| *wanted > 0.0)
            .map(|(count, wanted)| (count - wanted).powi(2) / wanted)
            .sum()
    }
}

/// Which of `ranges` equal parts of `values` a value from 0 on is in.
#[inline]
pub(crate) fn range_of(value: u64, values: u64, ranges: u64) -> usize {
    (u128::from(value) * u128::from(ranges) / u128::from(values)) as usize
}

/// The exact share of `values` that each of `ranges` parts has.
pub(crate) fn range_shares(values: u64, ranges: u64) -> impl Iterator<Item = f64> {
    // The first value of a range: the smallest whose product with the ranges
    // reaches it.
    let first = move |range: u64| (u128::from(range) * u128::from(values)).div_ceil(ranges.into());
    (0..ranges).map(move |range| (first(range + 1) - first(range)) as f64 / values as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn audit(name: &str, count: u64, counts: Vec<u64>) -> Audit {
        Audit {
            lines: vec![AuditLine {
                name: name.into(),
                count,
                total: 10,
                wanted: 0.5,
                rule: AuditRule::Independent,
            }],
            distributions: vec![AuditDistribution {
                name: name.into(),
                wanted: vec![1.0 / counts.len() as f64; counts.len()],
                counts,
            }],
            ..Audit::default()
        }
    }

    #[test]
    fn merging_sums_what_has_one_name() {
        let mut all = Audit::default();
        all.merge(&audit("a", 3, vec![1, 2]));
        all.merge(&audit("b", 1, vec![5, 5]));
        all.merge(&audit("a", 4, vec![10, 20]));
        assert_eq!(all.lines.len(), 2);
        assert_eq!(all.lines[0].wanted, 0.5);
        // A client of which more is wanted, and twice as many.
        let mut other = audit("a", 0, vec![0, 0]);
        other.lines[0].wanted = 0.8;
        other.lines[0].total = 40;
        let mut together = all.clone();
        together.merge(&other);
        assert!((together.lines[0].wanted - 0.7).abs() < 1e-12);
        assert_eq!((all.lines[0].count, all.lines[0].total), (7, 20));
        assert_eq!(all.distributions[0].counts, [11, 22]);
        assert_eq!(all.distributions[1].counts, [5, 5]);
    }

    #[test]
    fn chi_square_has_its_closed_form() {
        let distribution = |counts| audit("a", 0, counts).distributions.remove(0);
        assert_eq!(distribution(vec![8, 8]).chi_square(), 0.0);
        assert_eq!(distribution(vec![0, 0]).chi_square(), 0.0);
        // (12 - 10)²/10 + (8 - 10)²/10
        assert!((distribution(vec![12, 8]).chi_square() - 0.8).abs() < 1e-12);
    }

    #[test]
    fn shares_are_those_of_the_ranges() {
        for values in [1, 5, 15, 16, 17, 1000, 10_001] {
            let mut counts = vec![0u64; 16];
            for value in 0..values {
                counts[range_of(value, values, 16)] += 1;
            }
            let wanted: Vec<f64> = range_shares(values, 16).collect();
            for (share, count) in wanted.iter().zip(counts) {
                assert!((share - count as f64 / values as f64).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn an_audit_without_distributions_can_be_read() {
        let audit: Audit = serde_json::from_str(r#"{"lines":[]}"#).unwrap();
        assert_eq!(audit, Audit::default());
    }
}
