//! The trades completed before the first run (EGen 1.14, `TradeGen.cpp`).
//!
//! One load unit's orders come one after the other, at the nominal rate. When and at which
//! price each is done follows from the order alone; holdings, and the taxes on what was
//! gained, follow when orders are done in the order of these times. Memory is what accounts
//! hold and the orders that are under way, whatever the days.

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, VecDeque},
};

use super::{
    calendar::{DAY, SECOND, TRADING_DAY},
    customers::{self, ACCOUNT_NUMBERS, BASKET_MAX, Basket, at_place, choose_place},
    holdings::{self, Effect, Lot},
    ids::{self, ACCOUNTS_MAX, LOAD_UNIT, account, is_thrown_away},
    places::TaxRate,
    prices,
    scaled::Scale,
    securities::Exchange,
    trade_kind::{QUANTITIES, TradeKind},
};
use crate::random::Draws;

/// A completed trade.
#[derive(Clone, Copy, Debug)]
pub(super) struct Trade {
    /// T_ID.
    pub(super) id: i64,
    /// The owner, by his ordinal.
    pub(super) customer: i64,
    /// T_CA_ID.
    pub(super) account: i64,
    /// By its ordinal.
    pub(super) security: i64,
    pub(super) kind: TradeKind,
    pub(super) quantity: i64,
    /// In cents, as all amounts.
    pub(super) bid: i64,
    pub(super) is_lifo: bool,
    pub(super) is_cash: bool,
    /// When it was ordered, submitted and completed.
    pub(super) ordered: i64,
    pub(super) submitted: i64,
    pub(super) done: i64,
    pub(super) price: i64,
    pub(super) charge: i64,
    pub(super) commission: i64,
    /// Its effect on holdings, known when it is completed.
    pub(super) effect: Effect,
    pub(super) tax: i64,
    /// CA_TAX_ST of the account.
    pub(super) tax_status: i64,
    /// Among [`Trading::holdings`].
    slot: u32,
}

impl Trade {
    /// SE_AMT: what the account gets for it, negative when it pays (clause 3.3.8.6).
    pub(super) fn settled(&self) -> i64 {
        settled(
            self.kind.is_sell(),
            self.quantity * self.price,
            self.charge + self.commission,
            self.withheld(),
        )
    }

    fn withheld(&self) -> i64 {
        if self.tax_status == 1 { self.tax } else { 0 }
    }
}

/// What an account gets for shares that are worth `value`.
pub(super) const fn settled(is_sell: bool, value: i64, costs: i64, withheld: i64) -> i64 {
    let amount = if is_sell {
        value - costs
    } else {
        -(value + costs)
    };
    amount - withheld
}

/// The trades of one load unit.
pub(super) struct Trading {
    scale: Scale,
    unit: i64,
    draws: Draws,
    baskets: Vec<Option<Basket>>,
    /// By account number and place in its basket.
    holdings: Vec<Vec<Lot>>,
    /// Orders begun so far, those thrown away as well.
    begun: i64,
    /// Orders that wait for earlier ones to be returned, by their place from `first`.
    under_way: VecDeque<Option<Trade>>,
    first: i64,
    /// Completion times of orders, and their places.
    to_do: BinaryHeap<Reverse<(i64, i64)>>,
}

impl Trading {
    pub(super) fn new(scale: &Scale, unit: i64) -> Self {
        let slots = ACCOUNT_NUMBERS as usize * BASKET_MAX;
        Self {
            scale: *scale,
            unit,
            draws: Draws::new(scale.seed.derive("trading", unit.unsigned_abs())),
            baskets: vec![None; ACCOUNT_NUMBERS as usize],
            holdings: vec![Vec::new(); slots],
            begun: 0,
            under_way: VecDeque::new(),
            first: 0,
            to_do: BinaryHeap::new(),
        }
    }

    /// The next trade in the order of T_ID, with its effect; `None` after the last.
    pub(super) fn next(&mut self) -> Option<Trade> {
        loop {
            match self.under_way.front() {
                Some(None) => {
                    // Thrown away.
                    self.under_way.pop_front();
                    self.first += 1;
                }
                Some(Some(trade)) if trade.effect != Effect::default() => {
                    self.first += 1;
                    return self.under_way.pop_front().flatten();
                }
                _ if self.begun < self.scale.begun_of_unit() => self.order(),
                // The last ones.
                Some(_) => self.finish(i64::MAX),
                None => return None,
            }
        }
    }

    /// Holdings after all trades: account number, ordinal of the security, and lots. Ordered
    /// by account number and security.
    pub(super) fn holdings(&self) -> impl Iterator<Item = (i64, i64, &[Lot])> {
        (0..ACCOUNT_NUMBERS).flat_map(move |number| {
            let slot = number as usize * BASKET_MAX;
            let mut held: Vec<(i64, &[Lot])> = match &self.baskets[number as usize] {
                None => Vec::new(),
                Some(basket) => (basket.securities().iter().enumerate())
                    .map(|(place, security)| {
                        (i64::from(*security), self.holdings[slot + place].as_slice())
                    })
                    .filter(|(_, lots)| !lots.is_empty())
                    .collect(),
            };
            held.sort_unstable_by_key(|(security, _)| *security);
            let account = account(self.unit * LOAD_UNIT, 0) + number;
            held.into_iter()
                .map(move |(security, lots)| (account, security, lots))
        })
    }

    /// All lots after all trades, by H_T_ID: account number, ordinal of the security, and lot.
    pub(super) fn lots(&self) -> Vec<(i64, i64, Lot)> {
        let mut all: Vec<(i64, i64, Lot)> = self
            .holdings()
            .flat_map(|(account, security, lots)| {
                lots.iter().map(move |lot| (account, security, *lot))
            })
            .collect();
        all.sort_unstable_by_key(|(_, _, lot)| lot.trade);
        all
    }

    /// Begins an order, and completes those that are due before it.
    fn order(&mut self) {
        let place = self.begun;
        self.begun += 1;
        // 100/101 of what a trade done takes, and somewhere before the next one.
        let gap = 100_000 * self.scale.scale_factor;
        let trading = place * gap / ids::BEGUN;
        let day = trading.div_euclid(TRADING_DAY);
        let later = self.draws.uniform(0, (gap / ids::BEGUN / 1000 - 1).max(0)) * 1000;
        let ordered = day * DAY + trading.rem_euclid(TRADING_DAY) + later;
        let trade = self.drawn(place, ordered);
        if is_thrown_away(place) {
            self.under_way.push_back(None);
        } else {
            self.to_do.push(Reverse((trade.done, place)));
            self.under_way.push_back(Some(trade));
        }
        // No later order is done before it is ordered.
        self.finish(ordered);
    }

    fn drawn(&mut self, place: i64, ordered: i64) -> Trade {
        let draws = &mut self.draws;
        let customer = at_place(self.unit, choose_place(draws));
        let of_customer = draws.uniform(0, customers::accounts(customer) - 1);
        let number = customer.rem_euclid(LOAD_UNIT) * ACCOUNTS_MAX + of_customer;
        let scale = &self.scale;
        let basket = self.baskets[number as usize]
            .get_or_insert_with(|| Basket::new(scale, customer, of_customer));
        let chosen = basket.choose(draws);
        let security = i64::from(basket.securities()[chosen]);
        let kind = TradeKind::at(draws.uniform(1, 100));
        let quantity = QUANTITIES[draws.position(0, 3)];
        let limit = draws.uniform(prices::LOWEST, prices::HIGHEST);
        let is_lifo = draws.percent(35);
        let is_cash = !draws.percent(16) || kind.is_sell();
        let (bid, submitted) = match kind.is_market() {
            true => (prices::at(security, ordered), ordered),
            false => {
                let wait = match prices::wait(security, ordered, kind, limit) {
                    // In the money: soon.
                    0 => draws.uniform(500, 1500) * 1000,
                    wait => wait,
                };
                (limit, in_trading_hours(ordered + wait))
            }
        };
        let delay = completion_delay(draws);
        let price = kind.paid(prices::at(security, submitted + delay), bid);
        let tier = customers::tier(customer);
        let account = account(customer, of_customer);
        Trade {
            id: ids::trade(self.unit * scale.begun_of_unit() + place),
            customer,
            account,
            security,
            kind,
            quantity,
            bid,
            is_lifo,
            is_cash,
            ordered,
            submitted,
            done: submitted + delay + SECOND,
            price,
            charge: prices::charge(kind, tier),
            commission: prices::commission(tier, Exchange::listing(security), quantity, price),
            effect: Effect::default(),
            tax: 0,
            tax_status: customers::tax_status(scale, account),
            slot: number as u32 * BASKET_MAX as u32 + chosen as u32,
        }
    }

    /// Completes the orders that are due up to a moment.
    fn finish(&mut self, moment: i64) {
        while let Some(&Reverse((done, place))) = self.to_do.peek()
            && done <= moment
        {
            self.to_do.pop();
            if let Some(Some(trade)) = self.under_way.get_mut((place - self.first) as usize) {
                let new = Lot {
                    trade: trade.id,
                    quantity: trade.quantity,
                    price: trade.price,
                    moment: trade.done,
                };
                let lots = &mut self.holdings[trade.slot as usize];
                trade.effect = holdings::trade(lots, new, trade.kind.is_sell(), trade.is_lifo);
                let profit = trade.effect.profit();
                if profit > 0 && trade.tax_status > 0 {
                    let rates = TaxRate::of_customer(&self.scale, trade.customer);
                    trade.tax = prices::tax(profit, rates.map(TaxRate::rate).iter().sum());
                }
            }
        }
    }
}

/// The next morning, for what falls into the hour after trading.
fn in_trading_hours(moment: i64) -> i64 {
    match moment.rem_euclid(DAY) < TRADING_DAY {
        true => moment,
        false => moment + DAY - TRADING_DAY,
    }
}

/// Time until an exchange completes an order: a second on average, five at most.
pub(super) fn completion_delay(draws: &mut Draws) -> i64 {
    let fraction = (1.0 - draws.fraction()).ln();
    ((-fraction * SECOND as f64) as i64).min(5 * SECOND)
}

#[cfg(test)]
mod tests {
    use octavo_units::Seed;

    use super::*;

    fn scale(days: u64) -> Scale {
        Scale::new(Seed::new(11), 1000, days, 500).unwrap()
    }

    #[test]
    fn trades_are_told_in_their_order_with_what_they_did() {
        let scale = scale(2);
        let mut trading = Trading::new(&scale, 0);
        let (mut last, mut count, mut thrown) = (0, 0, 0);
        let mut net = std::collections::HashMap::new();
        while let Some(trade) = trading.next() {
            assert!(trade.id > last);
            thrown += i64::from(last > 0 && trade.id > last + 1);
            last = trade.id;
            count += 1;
            let changes = trade.effect.changed().iter();
            let sum: i64 = changes.map(|changed| changed.after - changed.before).sum();
            let signed = if trade.kind.is_sell() {
                -trade.quantity
            } else {
                trade.quantity
            };
            assert_eq!(sum, signed);
            *net.entry((trade.account, trade.security)).or_insert(0) += signed;
            assert!(trade.ordered <= trade.submitted && trade.submitted < trade.done);
            assert!(trade.submitted.rem_euclid(DAY) < TRADING_DAY);
            assert!((prices::LOWEST..=prices::HIGHEST).contains(&trade.price));
            if trade.kind == TradeKind::LimitBuy {
                assert!(trade.price <= trade.bid);
            }
            assert_eq!(
                trade.tax > 0,
                trade.tax_status > 0 && trade.effect.profit() > 0
            );
        }
        assert_eq!(count, scale.trades_of_unit());
        assert_eq!(thrown, scale.begun_of_unit() / 101);
        net.retain(|_, quantity| *quantity != 0);
        let held: std::collections::HashMap<(i64, i64), i64> = trading
            .holdings()
            .map(|(account, security, lots)| {
                assert!(
                    lots.iter()
                        .all(|lot| lot.quantity.signum() == lots[0].quantity.signum())
                );
                (
                    (account, security),
                    lots.iter().map(|lot| lot.quantity).sum(),
                )
            })
            .collect();
        assert_eq!(held, net);
        assert!(
            trading
                .lots()
                .is_sorted_by(|one, other| one.2.trade < other.2.trade)
        );
    }

    #[test]
    fn little_is_kept_of_orders_under_way() {
        let mut trading = Trading::new(&scale(3), 0);
        let mut most = 0;
        while trading.next().is_some() {
            most = most.max(trading.under_way.len());
        }
        // Those of 900 s at two a second, and those of the morning after.
        assert!(most < 4500, "{most}");
    }

    #[test]
    fn a_load_unit_can_be_made_again() {
        let ids = || {
            let mut trading = Trading::new(&scale(1), 0);
            let first: Vec<(i64, i64, i64)> = std::iter::from_fn(|| trading.next())
                .map(|trade| (trade.id, trade.price, trade.done))
                .collect();
            first
        };
        assert_eq!(ids(), ids());
    }
}
