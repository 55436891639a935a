//! The market: what becomes of orders after they are given (EGen 1.14, `MEE.cpp` and its
//! neighbours).
//!
//! Each client has a market of its own, as EGen allows, and all have one time (see
//! [`super::clock`]). Orders at the
//! market's price are done after a second on average. Of an order with a limit the market
//! knows when the price gets there, and has it told to all: the feed of the market then
//! finds the order in the database, and only then it is done.

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, VecDeque},
};

use octavo_units::Seed;

use super::{prices, scaled::Scale, trade_kind::TradeKind, trading::completion_delay};
use crate::random::Draws;

/// Entries of a feed (clause 5.4.1).
pub(super) const FEED: usize = 20;

/// Quantities of feed entries without a trade: for a reached limit, and for a random security.
const OF_LIMIT: i64 = 375;
const BY_CHANCE: [i64; 2] = [325, 425];

/// An order for the market to complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Order {
    /// T_ID.
    pub(super) trade: i64,
    /// By its ordinal.
    pub(super) security: i64,
    pub(super) quantity: i64,
    pub(super) kind: TradeKind,
    /// In cents: of an order with a limit the limit.
    pub(super) bid: i64,
}

/// An event of one security.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct FeedEntry {
    /// By its ordinal.
    pub(super) security: i64,
    /// In cents.
    pub(super) price: i64,
    pub(super) quantity: i64,
    /// The order whose limit is reached, where that is what happened.
    pub(super) reached: Option<Order>,
}

/// An order completed at a price.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CompletedOrder {
    pub(super) trade: i64,
    pub(super) price: i64,
}

#[derive(Debug)]
pub(super) struct Exchange {
    draws: Draws,
    securities: i64,
    /// A moment of trading, in microseconds.
    now: i64,
    /// Open orders by completion time, then in the order of their arrival.
    to_do: BinaryHeap<Reverse<(i64, u64, Order)>>,
    /// Limit orders by the time at which their limit is reached.
    limits: BinaryHeap<Reverse<(i64, u64, FeedEntry)>>,
    came: u64,
    reached: VecDeque<FeedEntry>,
    due: u64,
    feed: [FeedEntry; FEED],
    entries: usize,
}

/// Initial capacity, in orders.
const ORDERS: usize = 4096;

impl Exchange {
    pub(super) fn new(scale: &Scale, seed: Seed) -> Self {
        Self {
            draws: Draws::new(seed.derive("exchange", 0)),
            securities: scale.securities(),
            now: scale.end(),
            to_do: BinaryHeap::with_capacity(ORDERS),
            limits: BinaryHeap::with_capacity(ORDERS),
            came: 0,
            reached: VecDeque::with_capacity(ORDERS),
            due: 0,
            feed: [FeedEntry::default(); FEED],
            entries: 0,
        }
    }

    /// Sets the time.
    pub(super) fn pass_to(&mut self, moment: i64) {
        self.now = moment;
    }

    /// Orders due so far: market orders, and limit orders whose limit was reached.
    pub(super) fn due(&self) -> u64 {
        self.due
    }

    /// Takes an order that was committed.
    pub(super) fn submit(&mut self, order: Order) {
        if order.kind.is_market() {
            self.due += 1;
            self.process(order);
            return;
        }
        let wait = prices::wait(order.security, self.now, order.kind, order.bid);
        let price = match wait {
            0 => prices::at(order.security, self.now),
            _ => order.bid,
        };
        let entry = FeedEntry {
            security: order.security,
            price,
            quantity: OF_LIMIT,
            reached: Some(order),
        };
        self.came += 1;
        self.limits
            .push(Reverse((self.now + wait, self.came, entry)));
    }

    /// An order that is to be done: at the market's price, or one whose limit is reached.
    pub(super) fn process(&mut self, order: Order) {
        let done = self.now + completion_delay(&mut self.draws);
        self.came += 1;
        self.to_do.push(Reverse((done, self.came, order)));
    }

    /// The entries of a feed that is full. What comes next begins another.
    pub(super) fn full_feed(&mut self) -> Option<[FeedEntry; FEED]> {
        if self.entries < FEED {
            return None;
        }
        self.entries = 0;
        Some(self.feed)
    }

    /// The next order that is done by now. It goes into the feed, and behind it a limit that
    /// was reached, or a security by chance.
    pub(super) fn done(&mut self) -> Option<CompletedOrder> {
        let Reverse((moment, _, _)) = self.to_do.peek()?;
        if *moment > self.now || self.entries + 2 > FEED {
            return None;
        }
        let Reverse((_, _, order)) = self.to_do.pop()?;
        let price = prices::at(order.security, self.now);
        self.tell(FeedEntry {
            security: order.security,
            price,
            quantity: order.quantity,
            reached: None,
        });
        while let Some(&Reverse((moment, _, entry))) = self.limits.peek()
            && moment <= self.now
        {
            self.limits.pop();
            self.due += 1;
            self.reached.push_back(entry);
        }
        let other = match self.reached.pop_front() {
            Some(entry) => entry,
            None => {
                let security = self.draws.uniform(0, self.securities - 1);
                FeedEntry {
                    security,
                    price: prices::at(security, self.now),
                    quantity: BY_CHANCE[self.draws.position(0, 1)],
                    reached: None,
                }
            }
        };
        self.tell(other);
        Some(CompletedOrder {
            trade: order.trade,
            price: order.kind.paid(price, order.bid),
        })
    }

    fn tell(&mut self, entry: FeedEntry) {
        self.feed[self.entries] = entry;
        self.entries += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exchange() -> Exchange {
        let scale = Scale::new(Seed::new(1), 1000, 1, 500).unwrap();
        Exchange::new(&scale, Seed::new(2))
    }

    fn pass(exchange: &mut Exchange, microseconds: i64) {
        exchange.pass_to(exchange.now + microseconds);
    }

    fn order(trade: i64, kind: TradeKind, bid: i64) -> Order {
        Order {
            trade,
            security: 5,
            quantity: 100,
            kind,
            bid,
        }
    }

    #[test]
    fn orders_at_the_markets_price_are_done_in_seconds_and_fill_the_feed() {
        let mut exchange = exchange();
        for trade in 0..10 {
            exchange.submit(order(trade, TradeKind::MarketBuy, 2500));
        }
        assert_eq!(exchange.done(), None);
        pass(&mut exchange, 5_000_000);
        let price = prices::at(5, exchange.now);
        let done: Vec<CompletedOrder> = std::iter::from_fn(|| exchange.done()).collect();
        assert_eq!(done.len(), 10);
        assert!(done.iter().all(|done| done.price == price));
        let feed = exchange.full_feed().unwrap();
        let own = feed.iter().step_by(2);
        assert!(
            own.clone()
                .all(|entry| entry.security == 5 && entry.quantity == 100)
        );
        assert!(
            feed.iter()
                .skip(1)
                .step_by(2)
                .all(|entry| entry.quantity % 100 == 25)
        );
        assert_eq!(exchange.full_feed(), None);
    }

    #[test]
    fn limits_are_told_when_they_are_reached() {
        let mut exchange = exchange();
        let limit = 2100;
        let wait = prices::wait(5, exchange.now, TradeKind::LimitBuy, limit);
        assert!(wait > 10_000_000);
        exchange.submit(order(1, TradeKind::LimitBuy, limit));
        let told = |exchange: &mut Exchange, trade| {
            exchange.submit(order(trade, TradeKind::MarketSell, 2500));
            pass(exchange, 5_000_000);
            assert_eq!(exchange.done().unwrap().trade, trade);
            exchange.feed[exchange.entries - 1]
        };
        assert_ne!(told(&mut exchange, 2).quantity, OF_LIMIT);
        pass(&mut exchange, wait);
        let entry = told(&mut exchange, 3);
        assert_eq!(
            (entry.security, entry.price, entry.quantity),
            (5, limit, OF_LIMIT)
        );
        // Nobody pays more than the limit.
        exchange.process(order(1, TradeKind::LimitBuy, limit));
        pass(&mut exchange, 5_000_000);
        let done = exchange.done().unwrap();
        assert_eq!(done.trade, 1);
        assert!(done.price <= limit);
    }
}
