//! The five kinds of trades.

/// A kind of trade (clause 2.2.5.9).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum TradeKind {
    MarketBuy,
    MarketSell,
    LimitBuy,
    LimitSell,
    StopLoss,
}

impl TradeKind {
    pub(super) const ALL: [Self; 5] = [
        Self::MarketBuy,
        Self::MarketSell,
        Self::LimitBuy,
        Self::LimitSell,
        Self::StopLoss,
    ];

    /// Percent of trades, in the order of [`Self::ALL`] (clause 6.4.1).
    pub(super) const PERCENT: [i64; 5] = [30, 30, 20, 10, 10];

    /// The kind for a point of 1 to 100.
    pub(super) fn at(mut point: i64) -> Self {
        for (kind, percent) in Self::ALL.into_iter().zip(Self::PERCENT) {
            if point <= percent {
                return kind;
            }
            point -= percent;
        }
        Self::StopLoss
    }

    /// TT_ID.
    pub(super) const fn id(self) -> &'static str {
        match self {
            Self::MarketBuy => "TMB",
            Self::MarketSell => "TMS",
            Self::LimitBuy => "TLB",
            Self::LimitSell => "TLS",
            Self::StopLoss => "TSL",
        }
    }

    /// The kind with this TT_ID.
    pub(super) fn of_id(id: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.id() == id)
    }

    /// TT_NAME.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::MarketBuy => "Market-Buy",
            Self::MarketSell => "Market-Sell",
            Self::LimitBuy => "Limit-Buy",
            Self::LimitSell => "Limit-Sell",
            Self::StopLoss => "Stop-Loss",
        }
    }

    pub(super) const fn is_sell(self) -> bool {
        matches!(self, Self::MarketSell | Self::LimitSell | Self::StopLoss)
    }

    /// Whether it is done at the market's price.
    pub(super) const fn is_market(self) -> bool {
        matches!(self, Self::MarketBuy | Self::MarketSell)
    }

    /// Whether it waits for a price at or below its limit.
    pub(super) const fn wants_low_price(self) -> bool {
        matches!(self, Self::LimitBuy | Self::StopLoss)
    }

    /// Whether a price reaches its limit.
    pub(super) const fn is_reached(self, price: i64, limit: i64) -> bool {
        match self {
            Self::MarketBuy | Self::MarketSell => true,
            Self::LimitBuy | Self::StopLoss => price <= limit,
            Self::LimitSell => price >= limit,
        }
    }

    /// The price paid at this market price: nobody pays more or gets less than the limit.
    pub(super) const fn paid(self, price: i64, limit: i64) -> i64 {
        match self {
            Self::LimitBuy if limit < price => limit,
            Self::LimitSell if limit > price => limit,
            _ => price,
        }
    }
}

/// Shares of an order, equally likely.
pub(super) const QUANTITIES: [i64; 4] = [100, 200, 400, 800];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_have_their_shares() {
        let mut counts = [0; 5];
        for point in 1..=100 {
            counts[TradeKind::at(point) as usize] += 1;
        }
        assert_eq!(counts, TradeKind::PERCENT);
        for kind in TradeKind::ALL {
            assert_eq!(TradeKind::of_id(kind.id()), Some(kind));
        }
        assert_eq!(TradeKind::of_id("xxx"), None);
    }
}
