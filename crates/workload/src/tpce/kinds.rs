//! The ten kinds of transactions of the mix, and Data-Maintenance beside it.

use std::time::Duration;

use crate::{Mix, TransactionKind};

/// Positions of the transactions in [`TRANSACTIONS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    BrokerVolume,
    CustomerPosition,
    MarketFeed,
    MarketWatch,
    SecurityDetail,
    TradeLookup,
    TradeOrder,
    TradeResult,
    TradeStatus,
    TradeUpdate,
    DataMaintenance,
}

/// Number of kinds.
pub(super) const KINDS: usize = 11;

impl Kind {
    /// All kinds in the order of [`TRANSACTIONS`].
    pub(super) const ALL: [Self; KINDS] = [
        Self::BrokerVolume,
        Self::CustomerPosition,
        Self::MarketFeed,
        Self::MarketWatch,
        Self::SecurityDetail,
        Self::TradeLookup,
        Self::TradeOrder,
        Self::TradeResult,
        Self::TradeStatus,
        Self::TradeUpdate,
        Self::DataMaintenance,
    ];

    /// Whether customers begin it. The others follow from orders or from time.
    pub(super) fn is_of_customers(self) -> bool {
        !matches!(
            self,
            Self::MarketFeed | Self::TradeResult | Self::DataMaintenance
        )
    }
}

/// The kinds in the order of [`Kind`], with the 90th percentile of response times (clause
/// 6.5.1.1).
pub(super) static TRANSACTIONS: [TransactionKind; KINDS] = [
    kind("Broker-Volume", 3),
    kind("Customer-Position", 3),
    kind("Market-Feed", 2),
    kind("Market-Watch", 3),
    kind("Security-Detail", 3),
    kind("Trade-Lookup", 3),
    kind("Trade-Order", 2),
    TransactionKind {
        counted: true,
        ..kind("Trade-Result", 2)
    },
    kind("Trade-Status", 1),
    kind("Trade-Update", 3),
    kind("Data-Maintenance", 55),
];

const fn kind(name: &'static str, limit: u64) -> TransactionKind {
    TransactionKind {
        name,
        counted: false,
        response_limit: Some(Duration::from_secs(limit)),
        ..TransactionKind::PLAIN
    }
}

/// The specification's mix out of a thousand (clause 6.3.1): of 101 orders one is rolled
/// back and the others have results, and ten results make a feed of the market. Data is
/// maintained beside the mix.
pub(super) const WEIGHTS: [u32; KINDS] = [49, 130, 10, 180, 140, 80, 101, 100, 190, 20, 0];

/// Whether a mix has anything that customers ask for.
pub(super) fn has_customers(mix: &Mix) -> bool {
    let mut kinds = Kind::ALL.into_iter().zip(mix.weights());
    kinds.any(|(kind, weight)| kind.is_of_customers() && *weight > 0)
}

/// A mix with the results and feeds that follow from its orders, whatever weights it gives
/// them.
pub(super) fn with_results_and_feeds(mix: &Mix) -> Mix {
    // Weights as large as can be, for shares that are right.
    let mut weights: Vec<u32> = mix.weights().to_vec();
    for kind in Kind::ALL.into_iter().filter(|kind| !kind.is_of_customers()) {
        weights[kind as usize] = 0;
    }
    let orders = weights[Kind::TradeOrder as usize];
    let sum: u32 = weights.iter().sum();
    // Larger weights are made smaller, so that there is room for what follows.
    let (times, parts) = match Mix::SUM_MAX / (sum + 2 * orders) {
        0 => (1, 3),
        times => (times.min(101), 1),
    };
    for weight in &mut weights {
        *weight = (*weight * times).div_ceil(parts);
    }
    let orders = weights[Kind::TradeOrder as usize];
    let part = |of: u32| (orders * of + 50) / 101;
    weights[Kind::TradeResult as usize] = part(100);
    weights[Kind::MarketFeed as usize] = part(10);
    Mix::new(&weights)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_stand_where_their_positions_say() {
        for (kind, name) in [
            (Kind::BrokerVolume, "Broker-Volume"),
            (Kind::MarketFeed, "Market-Feed"),
            (Kind::TradeOrder, "Trade-Order"),
            (Kind::TradeResult, "Trade-Result"),
            (Kind::DataMaintenance, "Data-Maintenance"),
        ] {
            assert_eq!(TRANSACTIONS[kind as usize].name, name);
        }
        for (position, kind) in Kind::ALL.into_iter().enumerate() {
            assert_eq!(kind as usize, position);
            assert_eq!(TRANSACTIONS[position].counted, kind == Kind::TradeResult);
        }
    }

    #[test]
    fn results_and_feeds_follow_from_orders() {
        let standard = with_results_and_feeds(&Mix::new(&WEIGHTS));
        for (kind, weight) in WEIGHTS.into_iter().enumerate() {
            let wanted = f64::from(weight) / 1000.0;
            assert!((standard.share(kind) - wanted).abs() < 1e-3);
        }
        let mut orders = [0; KINDS];
        orders[Kind::TradeOrder as usize] = 1;
        let mix = with_results_and_feeds(&Mix::new(&orders));
        assert!((mix.share(Kind::TradeResult as usize) - 100.0 / 211.0).abs() < 1e-3);
        let mut reads = [0; KINDS];
        reads[Kind::TradeStatus as usize] = 10_000;
        assert_eq!(with_results_and_feeds(&Mix::new(&reads)).weights(), reads);
        // As large as can be, with many orders and with one.
        for orders in [1, 5000, 9999, 10_000] {
            let mut large = [0; KINDS];
            large[Kind::TradeOrder as usize] = orders;
            large[Kind::TradeStatus as usize] = 10_000 - orders;
            let mix = with_results_and_feeds(&Mix::new(&large));
            let [given, kept] = [
                f64::from(orders) / 10_000.0,
                mix.share(Kind::TradeOrder as usize)
                    / (mix.share(Kind::TradeOrder as usize)
                        + mix.share(Kind::TradeStatus as usize)),
            ];
            assert!((given - kept).abs() < 1e-3, "{given} {kept}");
        }
        let mut results = [0; KINDS];
        results[Kind::TradeResult as usize] = 1;
        assert!(!has_customers(&Mix::new(&results)));
        assert!(has_customers(&Mix::new(&WEIGHTS)));
    }
}
