//! Prices of securities at any moment, and costs of trading them.

use super::{calendar::SECOND, securities::Exchange, trade_kind::TradeKind};

/// A price goes up and down again in this time, in microseconds (EGen 1.14,
/// `MEESecurity.cpp`): a triangle.
pub(super) const PERIOD: i64 = 900 * SECOND;
/// Between these, in cents.
pub(super) const LOWEST: i64 = 2000;
pub(super) const HIGHEST: i64 = 3000;
/// The time that a price takes for a cent.
const CENT: i64 = PERIOD / 2 / (HIGHEST - LOWEST);

/// Where in its period a security is when trading begins (the same).
fn phase(security: i64) -> i64 {
    (security * 556_237 + 253_791).rem_euclid(900_000) * 1000
}

fn position(security: i64, moment: i64) -> i64 {
    (moment + phase(security)).rem_euclid(PERIOD)
}

/// The price of a security at a moment, in cents.
#[inline]
pub(super) fn at(security: i64, moment: i64) -> i64 {
    let position = position(security, moment);
    let risen = position.min(PERIOD - position);
    LOWEST + (risen + CENT / 2) / CENT
}

/// From a moment to when the price reaches an order's limit; 0 when it does.
pub(super) fn wait(security: i64, moment: i64, kind: TradeKind, limit: i64) -> i64 {
    let price = at(security, moment);
    if kind.is_reached(price, limit) {
        return 0;
    }
    let rising = (limit - LOWEST) * CENT;
    let reached = match kind.wants_low_price() {
        true => PERIOD - rising,
        false => rising,
    };
    (reached - position(security, moment)).rem_euclid(PERIOD)
}

/// Of a trade, by its kind and the customer's tier from 1, in cents (flat file of EGen,
/// CHARGE).
pub(super) const fn charge(kind: TradeKind, tier: usize) -> i64 {
    let of_tiers = match kind {
        TradeKind::MarketBuy | TradeKind::MarketSell => [500, 450, 250],
        TradeKind::LimitBuy | TradeKind::LimitSell => [600, 500, 300],
        TradeKind::StopLoss => [650, 550, 350],
    };
    of_tiers[tier - 1]
}

/// From and to how many shares a rate of commission is for.
pub(super) const COMMISSION_QUANTITIES: [(i64, i64); 4] =
    [(1, 200), (201, 500), (501, 2000), (2001, 999_999)];

/// The rate for one of these, in hundredths of a percent (flat file of EGen,
/// COMMISSION_RATE): the same for all kinds of trades.
pub(super) const fn commission_rate(tier: usize, exchange: Exchange, quantities: usize) -> i64 {
    let first = [40, 36, 32, 20][quantities];
    let more = match exchange {
        Exchange::Pcx => 8,
        Exchange::Nyse | Exchange::Nasdaq | Exchange::Amex => 0,
    };
    first + more - 4 * (tier as i64 - 1)
}

/// The commission of a trade, in cents, rounded.
pub(super) fn commission(tier: usize, exchange: Exchange, quantity: i64, price: i64) -> i64 {
    let mut ranges = COMMISSION_QUANTITIES.iter();
    let range = ranges.position(|(_, to)| quantity <= *to).unwrap_or(3);
    of_rate(quantity * price, commission_rate(tier, exchange, range))
}

/// A part of an amount: of a rate in hundredths of a percent, rounded.
pub(super) const fn of_rate(cents: i64, rate: i64) -> i64 {
    (cents * rate + 5000).div_euclid(10_000)
}

/// The tax on a profit: of a rate in hundred-thousandths, rounded.
pub(super) const fn tax(profit: i64, rate: i64) -> i64 {
    (profit * rate + 50_000).div_euclid(100_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prices_are_triangles() {
        // Security 0 begins 253.791 s into its period.
        assert_eq!(phase(0), 253_791_000);
        assert_eq!(at(0, 0), 2564);
        let rest = 450 * SECOND - phase(0);
        assert_eq!(at(0, rest), HIGHEST);
        assert_eq!(at(0, rest + 450 * SECOND), LOWEST);
        assert_eq!(at(0, rest + 45 * SECOND), HIGHEST - 100);
        assert_eq!(at(7, 5), at(7, 5 + PERIOD));
    }

    #[test]
    fn limits_are_reached_after_the_wait_and_not_before() {
        for security in 0..40 {
            for limit in (LOWEST..=HIGHEST).step_by(37) {
                for kind in [
                    TradeKind::LimitBuy,
                    TradeKind::LimitSell,
                    TradeKind::StopLoss,
                ] {
                    let moment = security * 12_345_678;
                    let wait = wait(security, moment, kind, limit);
                    assert!((0..PERIOD).contains(&wait));
                    assert!(kind.is_reached(at(security, moment + wait), limit));
                    if wait > 2 * SECOND {
                        let early = at(security, moment + wait - SECOND);
                        assert!(!kind.is_reached(early, limit), "{kind:?} {early} {limit}");
                    }
                }
            }
        }
    }

    #[test]
    fn commissions_and_taxes_are_rounded_to_cents() {
        // 400 shares of 25.37: 0.36% of 10,148.00.
        assert_eq!(commission(1, Exchange::Nyse, 400, 2537), 3653);
        assert_eq!(commission(3, Exchange::Pcx, 800, 2001), 5123);
        assert_eq!(tax(1_000, 15_000), 150);
        assert_eq!(tax(33, 15_000), 5);
    }
}
