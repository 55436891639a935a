//! Workloads, to the letter of their specifications: population, transaction
//! inputs, the SQL of the transactions, and the checks of the outcome.
//!
//! A workload knows no database. It describes its tables ([`schema`]), makes
//! its rows ([`population`]), and runs its transactions against the
//! [`Connection`] trait. It keeps no clock: a transaction's dates come from
//! its input, so that one seed gives one outcome.

mod answer;
pub mod connection;
mod data_set;
mod deviation;
mod family;
mod keys;
mod mix;
pub mod pgbench;
pub mod population;
mod random;
#[cfg(test)]
mod refusing;
mod registry;
pub mod schema;
pub mod tpcc;
mod transact;
pub mod ycsb;

use std::{sync::Arc, time::Duration};

use octavo_units::Seed;
use serde::{Deserialize, Serialize};

pub use connection::{Connection, ConnectionError};
pub use data_set::{DataError, DataKind, DataSet, Parameter, ROW_BYTES, Unit};
pub use deviation::Deviation;
pub use family::{Family, Member, Trial, WorkloadError, WorkloadName, WorkloadSpec};
pub use mix::{Mix, MixError};
pub use pgbench::Pgbench;
pub use registry::Registry;
pub use tpcc::Tpcc;
pub use ycsb::Ycsb;

use connection::Statement;
use population::Population;
use schema::Table;

/// A kind of transaction of a workload.
#[derive(Clone, Copy, Debug)]
pub struct TransactionKind {
    /// The name as the specification writes it.
    pub name: &'static str,
    /// Whether the terminal only queues it and goes on at once (TPC-C's
    /// Delivery). Its latency counts from the queueing.
    pub deferred: bool,
    /// Whether its commits are the workload's throughput (TPC-C: New-Order).
    pub counted: bool,
    /// Within which time 90 % have to be answered, where the specification
    /// says so; for a deferred kind until it is done.
    pub response_limit: Option<Duration>,
    /// What a terminal's operator does around it, where the specification
    /// says so.
    pub pace: Option<Pace>,
}

impl TransactionKind {
    /// A kind that is counted and that nothing else is said of.
    pub const fn plain(name: &'static str) -> Self {
        Self {
            name,
            ..Self::PLAIN
        }
    }

    /// Such a kind without a name.
    pub const PLAIN: Self = Self {
        name: "",
        deferred: false,
        counted: true,
        response_limit: None,
        pace: None,
    };
}

/// The times that a terminal's operator takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// To key in a transaction, before it is submitted.
    pub keying: Duration,
    /// To think after the answer: the mean of a negative exponential
    /// distribution that is cut at [`Pace::THINK_CUT`] times the mean.
    pub think_mean: Duration,
}

impl Pace {
    /// Longer think times than this many means are cut (TPC-C, clause
    /// 5.2.5.4).
    pub const THINK_CUT: u32 = 10;
}

/// How a transaction ended, when the database did not fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Committed.
    Committed,
    /// Rolled back because the specification wants it so (TPC-C: 1 % of
    /// New-Order). Counted apart from errors.
    RolledBack,
}

/// A source of transactions: one terminal, or several that take turns.
///
/// The inputs of the transaction drawn last stay inside until it has run, so
/// that a conflict is retried with the same inputs; nothing is allocated a
/// transaction.
pub trait Client: Send {
    /// Draws the inputs of the next transaction; returns its position in
    /// [`Workload::transactions`].
    fn draw(&mut self) -> usize;

    /// Runs the transaction drawn last. After an error it has been rolled
    /// back and can be run again with the same inputs, or another one can be
    /// drawn; after [`ConnectionError::Lost`] on another connection.
    ///
    /// # Errors
    /// The connection's, and [`ConnectionError::Other`] for answers that a
    /// database with the workload's rows does not give.
    fn run(&mut self, connection: &mut dyn Connection) -> Result<Outcome, ConnectionError>;

    /// What was drawn and run so far, for the audit: a transaction counts at
    /// its first try, whatever comes of it. What is drawn and never run counts
    /// for nothing, and so does a retry.
    fn audit(&self) -> Audit;
}

/// One client for each index below `count`.
pub(crate) fn boxed<C: Client + 'static>(
    count: u32,
    client: impl FnMut(u32) -> C,
) -> Vec<Box<dyn Client>> {
    let clients = (0..count).map(client);
    clients.map(|client| Box::new(client) as _).collect()
}

/// Shares that were really generated, against what the specification wants.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Audit {
    /// One line a property.
    pub lines: Vec<AuditLine>,
    /// How drawn values were distributed.
    #[serde(default)]
    pub distributions: Vec<AuditDistribution>,
}

impl Audit {
    /// Adds what another client counted: lines of one name are summed.
    pub fn merge(&mut self, other: &Self) {
        for line in &other.lines {
            match self.lines.iter_mut().find(|own| own.name == line.name) {
                Some(own) => {
                    own.count += line.count;
                    own.total += line.total;
                }
                None => self.lines.push(line.clone()),
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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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

    /// How often each kind of transaction ran, among all of what these are
    /// called.
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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

/// One consistency condition after a load or a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Condition {
    /// The clause, such as "3.3.2.1".
    pub clause: String,
    /// How many places were compared.
    pub checked: u64,
    /// How many of them did not hold.
    pub violations: u64,
    /// The first that did not hold, in words.
    pub first_violation: Option<String>,
}

impl Condition {
    /// A condition that nothing was compared for yet.
    pub fn new(clause: impl Into<String>) -> Self {
        Self {
            clause: clause.into(),
            checked: 0,
            violations: 0,
            first_violation: None,
        }
    }

    /// Counts one comparison; `words` says what was compared.
    pub fn expect(&mut self, holds: bool, words: impl FnOnce() -> String) {
        self.checked += 1;
        if !holds {
            self.violations += 1;
            self.first_violation.get_or_insert_with(words);
        }
    }
}

/// A workload at one scale.
pub trait Workload: Send + Sync {
    /// Its short name, as the flags write it.
    fn name(&self) -> &'static str;
    /// What its initial rows depend on, apart from the seed.
    fn data_set(&self) -> DataSet;
    /// Its tables in the order in which they are created.
    fn tables(&self) -> &[Table];
    /// All statements that its transactions and checks use.
    fn statements(&self) -> &'static [Statement];
    /// Its kinds of transactions.
    fn transactions(&self) -> &'static [TransactionKind];
    /// In which shares they are drawn.
    fn mix(&self) -> &Mix;
    /// What its counted transactions are called in the plural, such as "new
    /// orders".
    fn counted_name(&self) -> &'static str;
    /// How many terminals the specification wants at this scale, if it wants
    /// any.
    fn terminals(&self) -> Option<u32> {
        None
    }
    /// Its initial rows.
    fn population(&self) -> Arc<dyn Population + Send>;
    /// The sources of one run, `count` of them, drawing from `seed`. They may
    /// share what they know of the data, and a new run needs new ones.
    fn clients(&self, seed: Seed, count: u32) -> Vec<Box<dyn Client>>;
    /// The sources of one paced run: each is one terminal, whose home never
    /// changes (TPC-C, clause 2.4.1.1).
    fn operators(&self, seed: Seed, count: u32) -> Vec<Box<dyn Client>> {
        self.clients(seed, count)
    }
    /// In what a run with this many connections differs from what the name
    /// promises.
    fn deviations(&self, _connections: u32) -> Vec<Deviation> {
        Vec::new()
    }
    /// All consistency conditions, on a database at rest.
    ///
    /// # Errors
    /// When the database fails or answers with rows that are not the
    /// workload's.
    fn check(&self, connection: &mut dyn Connection) -> Result<Vec<Condition>, ConnectionError>;
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
        }
    }

    #[test]
    fn merging_sums_what_has_one_name() {
        let mut all = Audit::default();
        all.merge(&audit("a", 3, vec![1, 2]));
        all.merge(&audit("b", 1, vec![5, 5]));
        all.merge(&audit("a", 4, vec![10, 20]));
        assert_eq!(all.lines.len(), 2);
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
    fn an_audit_without_distributions_can_be_read() {
        let audit: Audit = serde_json::from_str(r#"{"lines":[]}"#).unwrap();
        assert_eq!(audit, Audit::default());
    }
}
