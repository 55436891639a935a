//! Kinds of transactions, and how a transaction ends.

use std::time::Duration;

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
