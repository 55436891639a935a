//! Kinds of transactions, and how a transaction ends.

use std::time::Duration;

/// A kind of transaction of a workload.
#[derive(Clone, Copy, Debug)]
pub struct TransactionKind {
    /// The name as the specification writes it.
    pub name: &'static str,
    /// Whether the terminal only queues it and continues at once (TPC-C's Delivery). Its
    /// latency counts from the queueing.
    pub deferred: bool,
    /// Whether its commits are the workload's throughput (TPC-C: New-Order).
    pub counted: bool,
    /// Whether rollbacks are, too: a script rolls back because its author wants it to, and pgbench
    /// counts all of its runs.
    pub counts_rollbacks: bool,
    /// The specification's limit of the 90th percentile of response times, if any. A deferred
    /// kind is answered when it is done.
    pub response_limit: Option<Duration>,
    /// Keying and think times of a terminal's operator, if the specification has any.
    pub pace: Option<Pace>,
}

impl TransactionKind {
    /// A counted kind without other properties.
    pub const fn plain(name: &'static str) -> Self {
        Self {
            name,
            ..Self::PLAIN
        }
    }

    /// A script of the user's.
    pub const fn script(name: &'static str) -> Self {
        Self {
            counts_rollbacks: true,
            ..Self::plain(name)
        }
    }

    /// Whether one that ends like this is part of the throughput.
    pub const fn counts(&self, outcome: Outcome) -> bool {
        let is_meant = matches!(outcome, Outcome::Committed) || self.counts_rollbacks;
        self.counted && is_meant
    }

    /// A counted kind without a name or other properties.
    pub const PLAIN: Self = Self {
        name: "",
        deferred: false,
        counted: true,
        counts_rollbacks: false,
        response_limit: None,
        pace: None,
    };
}

/// Keying and think times of a terminal's operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// Keying time, before a transaction is submitted.
    pub keying: Duration,
    /// Mean think time after the answer. Think times follow a negative exponential
    /// distribution, cut at [`Pace::THINK_CUT`] times the mean.
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
    /// Rolled back as the specification requires (TPC-C: 1% of New-Orders). Counted apart from
    /// errors.
    RolledBack,
}
