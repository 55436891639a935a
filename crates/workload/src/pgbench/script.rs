//! pgbench's built-in scripts, which are its kinds of transactions, and their inputs.

use crate::{Member, Mix, TransactionKind};

/// A built-in script, a kind of transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Script {
    /// Changes an account, a teller and a branch by one amount, and tells the
    /// history.
    TpcbLike,
    /// The same without teller and branch (pgbench's `-N`).
    SimpleUpdate,
    /// Reads the balance of an account, without a transaction (pgbench's
    /// `-S`).
    SelectOnly,
}

impl Script {
    /// In the order of the kinds.
    pub const ALL: [Self; 3] = [Self::TpcbLike, Self::SimpleUpdate, Self::SelectOnly];

    /// The name of the workload that runs this script alone.
    pub fn workload_name(self) -> &'static str {
        MEMBERS[self as usize].name
    }

    /// This script alone.
    pub fn mix(self) -> Mix {
        Mix::new(&Self::ALL.map(|script| u32::from(script == self)))
    }
}

/// The workloads in the order of the scripts that they run.
pub(super) static MEMBERS: [Member; Script::ALL.len()] = [
    Member {
        name: "pgbench",
        title: "pgbench",
        help: "pgbench's tpcb-like",
    },
    Member {
        name: "pgbench-simple-update",
        title: "pgbench -N",
        help: "pgbench -N",
    },
    Member {
        name: "pgbench-select-only",
        title: "pgbench -S",
        help: "pgbench -S",
    },
];

/// The kinds in the order of [`Script`], named as pgbench's `-b` names them.
pub(super) static TRANSACTIONS: [TransactionKind; Script::ALL.len()] = [
    TransactionKind::plain("tpcb-like"),
    TransactionKind::plain("simple-update"),
    TransactionKind::plain("select-only"),
];

/// A change of a balance is drawn from minus this to this.
pub(super) const DELTA_MAX: i64 = 5000;

/// Inputs of a script; select-only has an account alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Change {
    pub(super) aid: i64,
    pub(super) bid: i64,
    pub(super) tid: i64,
    pub(super) delta: i64,
    /// Microseconds since 1970.
    pub(super) mtime: i64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_stand_where_their_positions_say() {
        for (position, (script, name)) in [
            (Script::TpcbLike, "tpcb-like"),
            (Script::SimpleUpdate, "simple-update"),
            (Script::SelectOnly, "select-only"),
        ]
        .into_iter()
        .enumerate()
        {
            assert_eq!(Script::ALL[position], script);
            assert_eq!(script as usize, position);
            assert_eq!(TRANSACTIONS[position].name, name);
            assert!(TRANSACTIONS[position].counted);
        }
    }
}
