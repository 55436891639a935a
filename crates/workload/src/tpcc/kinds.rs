//! The five kinds of transactions, and two reports that TPC-C does not have.

use std::time::Duration;

use crate::{Pace, TransactionKind};

/// Positions of the transactions in [`TRANSACTIONS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    NewOrder,
    Payment,
    OrderStatus,
    Delivery,
    StockLevel,
    Report,
    LongReport,
}

/// How many of them TPC-C has: the first ones.
pub(super) const SPECIFIED: usize = 5;

impl Kind {
    /// All kinds in the order of [`TRANSACTIONS`].
    pub(super) const ALL: [Self; 7] = [
        Self::NewOrder,
        Self::Payment,
        Self::OrderStatus,
        Self::Delivery,
        Self::StockLevel,
        Self::Report,
        Self::LongReport,
    ];
}

/// The kinds in the order of [`Kind`]: keying and think times, and
/// the 90th percentile of response times (clause 5.2.5.7). Delivery's limit is
/// that of its deferred part (clause 2.7.2.2); the 5 s until its terminal is
/// answered are kept in any case, since it is only queued by then.
///
/// Reports are as Stock-Level.
pub(super) static TRANSACTIONS: [TransactionKind; 7] = [
    TransactionKind {
        counted: true,
        ..kind("New-Order", 18, 12, 5)
    },
    kind("Payment", 3, 12, 5),
    kind("Order-Status", 2, 10, 5),
    TransactionKind {
        deferred: true,
        ..kind("Delivery", 2, 5, 80)
    },
    kind("Stock-Level", 2, 5, 20),
    kind("Report", 2, 5, 20),
    kind("Long-Report", 2, 5, 20),
];

const fn kind(name: &'static str, keying: u64, think: u64, limit: u64) -> TransactionKind {
    TransactionKind {
        name,
        deferred: false,
        counted: false,
        counts_rollbacks: false,
        response_limit: Some(Duration::from_secs(limit)),
        pace: Some(Pace {
            keying: Duration::from_secs(keying),
            think_mean: Duration::from_secs(think),
        }),
    }
}

/// The smallest shares of Payment, Order-Status, Delivery and Stock-Level in
/// percent; New-Order takes what is left (clause 5.2.3).
pub(super) const SHARES_MIN: [f64; SPECIFIED] = [0.0, 43.0, 4.0, 4.0, 4.0];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_stand_where_their_positions_say() {
        for (kind, name) in [
            (Kind::NewOrder, "New-Order"),
            (Kind::Payment, "Payment"),
            (Kind::OrderStatus, "Order-Status"),
            (Kind::Delivery, "Delivery"),
            (Kind::StockLevel, "Stock-Level"),
            (Kind::Report, "Report"),
            (Kind::LongReport, "Long-Report"),
        ] {
            let transaction = &TRANSACTIONS[kind as usize];
            assert_eq!(transaction.name, name);
            assert_eq!(transaction.counted, kind == Kind::NewOrder);
            assert_eq!(transaction.deferred, kind == Kind::Delivery);
        }
    }
}
