//! A client: its customers, and the market that completes their orders.
//!
//! Which transaction is next follows from the time that passes with each, from the orders
//! under way, and otherwise from a deck of cards. Times that transactions write come from
//! that time, so that one seed gives one outcome.

use std::{mem, sync::Arc};

use octavo_units::Seed;

use super::{
    audit::Counts,
    clock::Clock,
    exchange::{CompletedOrder, Exchange, FEED, FeedEntry, Order},
    inputs::{
        BrokerVolume, CustomerPosition, Inputs, MaintenanceTask, MarketWatch, SecurityDetail,
        TradeOrder, TradeSelection,
    },
    kinds::Kind,
    scaled::Scale,
    transactions::Runner,
};
use crate::{Audit, Client, Connection, Mix, Outcome, Result, mix::Deck, random::Draws};

/// The transaction drawn last.
#[derive(Debug)]
enum Drawn {
    Nothing,
    BrokerVolume(BrokerVolume),
    CustomerPosition(CustomerPosition),
    MarketFeed,
    MarketWatch(MarketWatch),
    SecurityDetail(SecurityDetail),
    TradeLookup(TradeSelection),
    TradeOrder(TradeOrder),
    TradeResult(CompletedOrder),
    TradeStatus(i64),
    TradeUpdate(TradeSelection),
    DataMaintenance(MaintenanceTask),
}

/// One client.
#[derive(Debug)]
pub(super) struct TpceClient {
    inputs: Inputs,
    deck: Deck<Kind>,
    mix: Mix,
    exchange: Exchange,
    clock: Arc<Clock>,
    /// Of what is maintained: apart from the inputs, which do not depend on when that is.
    maintenance: Draws,
    drawn: Drawn,
    /// Kept apart from [`Drawn`] for its entries.
    feed: [FeedEntry; FEED],
    runner: Runner,
    /// The number of the next trade, once it is known.
    next_trade: Option<i64>,
    /// Which of the new numbers are this client's: those that leave this when they are
    /// divided by the number of clients.
    index: i64,
    clients: i64,
    is_counted: bool,
    /// Whether the transaction drawn last ended as it should.
    is_done: bool,
    counts: Counts,
    /// Of known trades, which share of them each range has.
    trade_shares: Arc<Vec<f64>>,
}

impl TpceClient {
    /// Client `index` of `clients`, which have one time.
    pub(super) fn new(
        scale: &Scale,
        mix: &Mix,
        clock: &Arc<Clock>,
        trade_shares: &Arc<Vec<f64>>,
        seed: Seed,
        [index, clients]: [u32; 2],
    ) -> Self {
        let seed = seed.derive("client", index.into());
        let of_customers = Kind::ALL.map(|kind| match kind.is_of_customers() {
            true => mix.weights()[kind as usize],
            false => 0,
        });
        let clients = i64::from(clients.max(1));
        Self {
            inputs: Inputs::new(Draws::new(seed), *scale),
            deck: Deck::new(&Kind::ALL, &Mix::new(&of_customers)),
            mix: mix.clone(),
            exchange: Exchange::new(scale, seed),
            clock: Arc::clone(clock),
            maintenance: Draws::new(seed.derive("maintenance", 0)),
            drawn: Drawn::Nothing,
            feed: [FeedEntry::default(); FEED],
            runner: Runner::new(),
            next_trade: None,
            index: index.into(),
            clients,
            is_counted: false,
            is_done: true,
            counts: Counts::default(),
            trade_shares: Arc::clone(trade_shares),
        }
    }

    /// The next transaction: for a full feed, a completed order, due maintenance, or the next
    /// card.
    fn next_kind(&mut self) -> (Kind, Option<Drawn>) {
        if let Some(feed) = self.exchange.full_feed() {
            self.feed = feed;
            return (Kind::MarketFeed, Some(Drawn::MarketFeed));
        }
        if let Some(done) = self.exchange.done() {
            return (Kind::TradeResult, Some(Drawn::TradeResult(done)));
        }
        if let Some(turn) = self.clock.maintenance() {
            let maintained = self.inputs.maintained(turn, &mut self.maintenance);
            let drawn = Drawn::DataMaintenance(maintained);
            return (Kind::DataMaintenance, Some(drawn));
        }
        (self.deck.deal(&mut self.inputs.draws), None)
    }

    /// The number of the next trade.
    fn next_trade(&mut self, connection: &mut dyn Connection) -> Result<i64> {
        if let Some(next) = self.next_trade {
            return Ok(next);
        }
        let first = self.clock.begin(connection)?.first_trade;
        let next = (first + self.clients - 1).div_euclid(self.clients) * self.clients + self.index;
        self.exchange.pass_to(self.clock.moment());
        self.next_trade = Some(next);
        Ok(next)
    }
}

impl Client for TpceClient {
    fn draw(&mut self) -> usize {
        self.clock.pass();
        self.exchange.pass_to(self.clock.moment());
        // The market gives nothing up: what failed is tried again, a feed from where it was.
        match self.drawn {
            Drawn::MarketFeed if !self.is_done => return Kind::MarketFeed as usize,
            Drawn::TradeResult(_) if !self.is_done => return Kind::TradeResult as usize,
            _ => {}
        }
        self.is_counted = false;
        let (kind, drawn) = self.next_kind();
        let inputs = &mut self.inputs;
        self.drawn = match (drawn, kind) {
            (Some(drawn), _) => drawn,
            (None, Kind::BrokerVolume) => Drawn::BrokerVolume(inputs.broker_volume()),
            (None, Kind::CustomerPosition) => Drawn::CustomerPosition(inputs.customer_position()),
            (None, Kind::MarketWatch) => Drawn::MarketWatch(inputs.market_watch()),
            (None, Kind::SecurityDetail) => Drawn::SecurityDetail(inputs.security_detail()),
            (None, Kind::TradeLookup) => Drawn::TradeLookup(inputs.trade_lookup()),
            (None, Kind::TradeOrder) => Drawn::TradeOrder(inputs.trade_order()),
            (None, Kind::TradeStatus) => Drawn::TradeStatus(inputs.trade_status()),
            (None, Kind::TradeUpdate) => Drawn::TradeUpdate(inputs.trade_update()),
            (None, Kind::DataMaintenance | Kind::MarketFeed | Kind::TradeResult) => {
                unreachable!("the deck has none of these")
            }
        };
        self.runner.begin_feed();
        self.is_done = false;
        kind as usize
    }

    fn run(&mut self, connection: &mut dyn Connection) -> Result<Outcome> {
        let outcome = self.execute(connection);
        self.is_done = outcome.is_ok();
        outcome
    }

    fn audit(&self) -> Audit {
        let due = self.exchange.due();
        self.counts
            .audit(&self.inputs.scale, &self.mix, due, &self.trade_shares)
    }
}

impl TpceClient {
    /// Runs the transaction drawn last.
    ///
    /// # Panics
    /// When nothing was drawn.
    fn execute(&mut self, connection: &mut dyn Connection) -> Result<Outcome> {
        if !mem::replace(&mut self.is_counted, true) {
            self.count();
        }
        let next_trade = self.next_trade(connection)?;
        let now = self.clock.now();
        let scale = self.inputs.scale;
        let runner = &mut self.runner;
        match &self.drawn {
            Drawn::Nothing => panic!("a transaction is drawn before it runs"),
            Drawn::BrokerVolume(input) => runner.broker_volume(connection, &scale, input),
            Drawn::CustomerPosition(input) => runner.customer_position(connection, &scale, input),
            Drawn::MarketFeed => runner.market_feed(
                connection,
                &scale,
                &self.feed,
                &self.clock,
                &mut self.exchange,
            ),
            Drawn::MarketWatch(input) => runner.market_watch(connection, input),
            Drawn::SecurityDetail(input) => runner.security_detail(connection, &scale, input),
            Drawn::TradeLookup(look) => runner.trade_lookup(connection, &scale, look),
            Drawn::TradeOrder(input) => {
                // Whether a try was committed may not be known: the next one has another
                // number.
                self.next_trade = Some(next_trade + self.clients);
                let (outcome, bid) =
                    runner.trade_order(connection, &scale, input, [next_trade, now])?;
                if outcome == Outcome::Committed {
                    self.exchange.submit(Order {
                        trade: next_trade,
                        security: input.security,
                        quantity: input.quantity,
                        kind: input.kind,
                        bid,
                    });
                }
                Ok(outcome)
            }
            Drawn::TradeResult(done) => runner.trade_result(connection, done, now),
            Drawn::TradeStatus(account) => runner.trade_status(connection, *account),
            Drawn::TradeUpdate(look) => runner.trade_update(connection, &scale, look),
            Drawn::DataMaintenance(input) => runner.maintain(connection, &scale, input, now),
        }
    }

    /// Counts the inputs of the transaction drawn last.
    fn count(&mut self) {
        let scale = &self.inputs.scale;
        let counts = &mut self.counts;
        let kind = match &self.drawn {
            Drawn::Nothing => return,
            Drawn::BrokerVolume(_) => Kind::BrokerVolume,
            Drawn::CustomerPosition(input) => {
                counts.customer_position(input);
                Kind::CustomerPosition
            }
            Drawn::MarketFeed => Kind::MarketFeed,
            Drawn::MarketWatch(input) => {
                counts.market_watch(input);
                Kind::MarketWatch
            }
            Drawn::SecurityDetail(input) => {
                counts.security_detail(scale, input);
                Kind::SecurityDetail
            }
            Drawn::TradeLookup(look) => {
                counts.trade_lookup(scale, look);
                Kind::TradeLookup
            }
            Drawn::TradeOrder(input) => {
                counts.trade_order(input);
                Kind::TradeOrder
            }
            Drawn::TradeResult(_) => Kind::TradeResult,
            Drawn::TradeStatus(_) => Kind::TradeStatus,
            Drawn::TradeUpdate(look) => {
                counts.trade_update(scale, look);
                Kind::TradeUpdate
            }
            Drawn::DataMaintenance(_) => Kind::DataMaintenance,
        };
        counts.ran(kind);
    }
}
