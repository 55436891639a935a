//! The rows that TPC-E's statements touch.
//!
//! What the population draws is not drawn again here: how trades, their history and lots
//! are spread over accounts, securities and time is taken to be even, as many rows each as
//! there are on average. Which rows of a trade are read follows from its number; which
//! trades an account has, from the account's. References that a database watches over are
//! touched as the rows that they name, of what transactions insert.

mod feed;
mod look;
mod maintain;
mod order;
mod reads;
mod result;

use std::collections::{BTreeMap, HashMap};

use octavo_units::mix;

use super::{
    calendar::{self, DAY, MARKET_DAYS, TRADING_DAY, market_day},
    customers::accounts,
    ids::{self, IDENT_SHIFT, LOAD_UNIT, TRADE_SHIFT, owner},
    population::TpcePopulation,
    prices,
    scaled::{ACCOUNTS, Scale},
    schema::*,
    securities::Symbol,
    statements::StatementName,
    trade_kind::TradeKind,
};
use crate::{
    connection::{StatementId, Value},
    population::Population,
    touch::{AccessPath, Hits, Place, RowModel, integers},
};

/// Items of a watch list, on average.
const ITEMS: u64 = 100;

/// A trade made since the population.
#[derive(Clone, Debug)]
struct NewTrade {
    account: i64,
    security: i64,
    kind: TradeKind,
    quantity: i64,
    bid: i64,
    is_cash: bool,
    is_lifo: bool,
    broker: i64,
    is_done: bool,
    /// Where its entries are in the indexes by account and by security.
    entries: [Place; 2],
}

/// A lot of an account and security.
#[derive(Clone, Copy, Debug)]
struct Lot {
    trade: i64,
    quantity: i64,
    price: i64,
    row: Place,
    entry: Place,
}

#[derive(Debug)]
pub(super) struct TouchedRows {
    scale: Scale,
    /// Initial rows of each table.
    rows: Vec<u64>,
    /// Accounts of all customers before each.
    accounts_before: Vec<u32>,
    new: HashMap<i64, NewTrade>,
    /// Lots of accounts and securities that were looked at.
    lots: HashMap<(i64, i64), Vec<Lot>>,
    /// Where sums are that were inserted since, and that are there again.
    summaries: HashMap<(i64, i64), Place>,
    /// Requests of each security.
    requests: BTreeMap<i64, Vec<i64>>,
    /// The account and security that were looked at last: whose lots are changed.
    looked_at: (i64, i64),
    /// Rows inserted so far, of all tables.
    inserted: u64,
    /// What the transaction inserted: gone when it is rolled back.
    begun: Vec<i64>,
}

impl TouchedRows {
    pub(super) fn new(scale: &Scale) -> Self {
        let mut rows = vec![0; TABLES.len()];
        for partition in (TpcePopulation { scale: *scale }).partitions() {
            rows[partition.table.0] += partition.rows_about;
        }
        let mut before = 0;
        let accounts_before = (0..scale.customers).map(|customer| {
            let own = before;
            before += u32::try_from(accounts(customer)).expect("a customer has few accounts");
            own
        });
        Self {
            scale: *scale,
            rows,
            accounts_before: accounts_before.collect(),
            new: HashMap::new(),
            lots: HashMap::new(),
            summaries: HashMap::new(),
            requests: BTreeMap::new(),
            looked_at: (0, 0),
            inserted: 0,
            begun: Vec::new(),
        }
    }

    fn drawn(&self, a: i64, b: i64) -> u64 {
        mix(mix(self.scale.seed.get() ^ a as u64) ^ b as u64)
    }

    /// The initial row at this fraction of a table.
    fn at(&self, table: usize, part: f64) -> Place {
        let rows = self.rows[table];
        Place::initial(((part * rows as f64) as u64).min(rows.saturating_sub(1)))
    }

    /// An initial row drawn from two numbers.
    fn any(&self, table: usize, a: i64, b: i64) -> Place {
        Place::initial(self.drawn(a, b) % self.rows[table].max(1))
    }

    /// A row behind all initial ones.
    fn behind_all(&mut self, table: usize) -> Place {
        let last = self.rows[table].saturating_sub(1);
        self.behind(Place::initial(last))
    }

    /// A row behind another one's place.
    fn behind(&mut self, place: Place) -> Place {
        self.inserted += 1;
        Place::behind(place.initial, self.inserted)
    }

    /// The place of an account among all, and what part of them is before it.
    fn account(&self, number: i64) -> (u64, f64) {
        let (customer, place) = owner(number);
        let customer = customer.clamp(0, self.scale.customers - 1);
        let place = u64::from(self.accounts_before[customer as usize]) + place as u64;
        let all = (self.scale.load_units() * ACCOUNTS) as f64;
        (place, place as f64 / all)
    }

    /// The last entry of an account in an index of a table that begins with accounts.
    fn last_of_account(&self, table: usize, number: i64) -> Place {
        let each = 1.0 / (self.scale.load_units() * ACCOUNTS) as f64;
        self.at(table, self.account(number).1 + 0.99 * each)
    }

    fn last_of_security(&self, table: usize, security: i64) -> Place {
        let all = self.scale.securities() as f64;
        self.at(table, (security as f64 + 0.99) / all)
    }

    /// The fraction of initial trades before this one.
    fn part_of_trade(&self, id: i64) -> f64 {
        let place = (id - TRADE_SHIFT - 1).clamp(0, self.scale.begun() - 1);
        place as f64 / self.scale.begun() as f64
    }

    /// The first row of a trade in a table that has rows in the order of trades.
    fn of_trade(&self, table: usize, id: i64) -> Place {
        match id > TRADE_SHIFT + self.scale.begun() {
            true => Place::behind(
                self.rows[table].saturating_sub(1),
                (id - TRADE_SHIFT - self.scale.begun()) as u64,
            ),
            false => self.at(table, self.part_of_trade(id)),
        }
    }

    /// An initial trade of somebody's or something's that have as many of them as others:
    /// the one at this part of their time.
    fn trade_at(&self, whose: i64, part: f64) -> i64 {
        let spread = self.drawn(whose, (part * 1e6) as i64) % 1000;
        let part = (part + (spread as f64 / 1000.0 - 0.5) * 1e-3).clamp(0.0, 0.999_999);
        let place = (part * self.scale.begun() as f64) as i64;
        ids::trade(place + i64::from(ids::is_thrown_away(place)))
    }

    fn is_cash(&self, trade: i64) -> bool {
        match self.new.get(&trade) {
            Some(new) => new.is_cash,
            None => self.drawn(trade, 1) % 100 < 92,
        }
    }

    /// The fraction of initial trading that has passed at a date.
    fn part_at(&self, date: i64) -> f64 {
        let all = self.scale.trade_days * TRADING_DAY;
        (calendar::trading(date) as f64 / all as f64).clamp(0.0, 1.0)
    }

    /// An account's lots of a security, the oldest first.
    fn lots(&mut self, account: i64, security: i64) -> &mut Vec<Lot> {
        let key = (account, security);
        if !self.lots.contains_key(&key) {
            let drawn = self.drawn(account, security);
            let each = self.rows[HOLDING] as f64 / self.rows[HOLDING_SUMMARY].max(1) as f64;
            let held = self.rows[HOLDING_SUMMARY] as f64
                / (10 * self.scale.load_units() * ACCOUNTS) as f64;
            let is_held = (drawn % 1000) as f64 <= 1000.0 * held;
            let count = match is_held {
                true => ((drawn >> 10) % (2 * each.round().max(1.0) as u64)).max(1),
                false => 0,
            };
            let sign = if drawn >> 40 & 1 == 1 { 1 } else { -1 };
            let last = self.last_of_account(HOLDING, account).initial;
            let made = (0..count).map(|number| {
                let trade =
                    self.trade_at(account ^ security, (number + 1) as f64 / (count + 1) as f64);
                Lot {
                    trade,
                    quantity: sign * 100 * (1 + (drawn >> number) as i64 % 8),
                    price: prices::LOWEST + (drawn >> 20) as i64 % 1000,
                    row: self.at(HOLDING, self.part_of_trade(trade)),
                    entry: Place::initial(last.saturating_sub((drawn >> 50) % 16 + number)),
                }
            });
            let made: Vec<Lot> = made.collect();
            self.lots.insert(key, made);
        }
        self.lots.entry(key).or_default()
    }

    /// Where the sum of an account's lots of a security is.
    fn summary(&self, account: i64, security: i64) -> Place {
        if let Some(place) = self.summaries.get(&(account, security)) {
            return *place;
        }
        let last = self.last_of_account(HOLDING_SUMMARY, account).initial;
        Place::initial(last.saturating_sub(self.drawn(account, security) % 8))
    }

    fn held(&mut self, account: i64, security: i64) -> i64 {
        let lots = self.lots(account, security);
        lots.iter().map(|lot| lot.quantity).sum()
    }

    /// The row of an account.
    fn account_row(&self, number: i64) -> Place {
        Place::initial(self.account(number).0)
    }

    fn security(&self, value: Option<&Value<'_>>) -> i64 {
        let symbol = match value {
            Some(Value::Text(text)) => Symbol::security(&self.scale, text),
            _ => None,
        };
        symbol.unwrap_or(0)
    }

    /// The day of DAILY_MARKET of a date, from 0.
    fn day(&self, date: i64) -> u64 {
        let days = (date - market_day(0)).div_euclid(DAY).max(0);
        ((days / 7 * 5 + (days % 7).min(4)) as u64).min(MARKET_DAYS as u64 - 1)
    }

    /// Reads what an account holds of each security, and what goes with it.
    fn read_summaries(
        &self,
        hits: &mut Hits<'_, '_>,
        account: i64,
        mut each: impl FnMut(&mut Hits<'_, '_>, Place),
    ) {
        let all = (self.scale.load_units() * ACCOUNTS) as f64;
        let count = (self.rows[HOLDING_SUMMARY] as f64 / all).round().max(1.0) as u64;
        let first = self.at(HOLDING_SUMMARY, self.account(account).1);
        hits.read(HOLDING_SUMMARY, AccessPath::Key, first, count);
        for number in 0..count.cast_signed() {
            let security = self.drawn(account, 100 + number) % self.rows[SECURITY];
            each(hits, Place::initial(security));
        }
    }
}

/// The place of a customer's watch list in the order of lists.
fn watch_list(customer: i64) -> u64 {
    let first = customer.div_euclid(LOAD_UNIT) * LOAD_UNIT;
    debug_assert_eq!(
        super::customers::of_watch_list(first + (631 * (customer - first) + 97) % LOAD_UNIT),
        customer
    );
    (first + (631 * (customer - first) + 97) % LOAD_UNIT) as u64
}

/// The row of a security in the tables that have one each.
fn of_security(security: i64) -> Place {
    Place::initial(security as u64)
}

fn row(ident: i64) -> Place {
    Place::initial((ident - IDENT_SHIFT - 1).max(0) as u64)
}

fn time(value: Option<&Value<'_>>) -> i64 {
    match value {
        Some(Value::Timestamp(microseconds)) => *microseconds,
        _ => 0,
    }
}

fn cents(value: Option<&Value<'_>>) -> i64 {
    match value {
        Some(Value::Decimal { unscaled, .. }) => *unscaled,
        _ => 0,
    }
}

fn kind(value: Option<&Value<'_>>) -> TradeKind {
    let known = match value {
        Some(Value::Text(text)) => TradeKind::of_id(text),
        _ => None,
    };
    known.unwrap_or(TradeKind::MarketBuy)
}

/// The place of a security's price of a day.
fn price_of_day(security: i64, day: u64) -> Place {
    Place::initial(security as u64 * MARKET_DAYS as u64 + day)
}

impl RowModel for TouchedRows {
    fn take(&mut self, statement: StatementId, v: &[Value<'_>], hits: &mut Hits<'_, '_>) -> u64 {
        let p = integers(v);
        match StatementName::from(statement) {
            StatementName::BrokerVolume(statement) => self.broker_volume(statement, hits),
            StatementName::CustomerPosition(statement) => {
                self.customer_position(statement, v, p, hits)
            }
            StatementName::MarketWatch(statement) => self.market_watch(statement, v, p, hits),
            StatementName::SecurityDetail(statement) => self.security_detail(statement, v, p, hits),
            StatementName::TradeLookup(statement) => self.look(statement, v, p, hits),
            StatementName::TradeStatus(statement) => self.trade_status(statement, p, hits),
            StatementName::TradeOrder(statement) => self.order(statement, v, p, hits),
            StatementName::TradeResult(statement) => self.result(statement, v, p, hits),
            StatementName::MarketFeed(statement) => self.feed(statement, v, p, hits),
            StatementName::DataMaintenance(statement) => self.maintain(statement, v, p, hits),
            StatementName::Begin(statement) => self.begin(statement, hits),
            StatementName::Checks(_) => unreachable!("checks are not run on a tracer"),
        }
    }

    fn end(&mut self, is_committed: bool) {
        for id in self.begun.drain(..) {
            if !is_committed && let Some(new) = self.new.remove(&id) {
                self.requests
                    .entry(new.security)
                    .or_default()
                    .retain(|other| *other != id);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use octavo_units::Seed;

    use super::*;
    use crate::{Tpce, Workload, touch::Action};

    #[test]
    fn the_same_transactions_touch_the_same_rows() {
        let touches = || {
            let workload = Tpce::new(1000, 5, 500, Seed::new(1)).unwrap();
            let mut client = workload.clients(Seed::new(2), 1).remove(0);
            let mut tracer = workload.touch_tracer();
            for _ in 0..3000 {
                client.draw();
                client.run(&mut tracer).unwrap();
            }
            tracer.touches().to_vec()
        };
        assert_eq!(touches(), touches());
    }

    #[test]
    fn what_transactions_touch_adds_up() {
        let workload = Tpce::new(1000, 5, 500, Seed::new(1)).unwrap();
        let mut client = workload.clients(Seed::new(2), 1).remove(0);
        let mut tracer = workload.touch_tracer();
        let rows = TouchedRows::new(&workload.scale).rows;
        let (mut committed, mut touched) = ([0u64; 11], [0u64; 11]);
        let mut inserted = [0u64; TRADE_REQUEST + 1];
        let mut deleted = inserted;
        for _ in 0..40_000 {
            let kind = client.draw();
            let outcome = client.run(&mut tracer).unwrap();
            let is_committed = outcome == crate::Outcome::Committed;
            committed[kind] += u64::from(is_committed);
            for touch in tracer.touches() {
                let table = touch.table.0;
                let count = rows[table].max(1);
                assert!(touch.first.initial < count, "{}", TABLES[table].name);
                if let AccessPath::Index(index) = touch.by {
                    assert!(index < TABLES[table].indexes.len());
                }
                touched[kind] += u64::from(touch.rows);
                if touch.by == AccessPath::Key && is_committed {
                    inserted[table] += u64::from(touch.action == Action::Insert);
                    deleted[table] += u64::from(touch.action == Action::Delete);
                }
            }
            tracer.forget();
        }
        let [.., orders, results, _, _, _] = committed;
        assert_eq!(inserted[TRADES], orders);
        assert_eq!(inserted[SETTLEMENT], results);
        // 10.1% and nearly 10%: of the orders of the last quarter of an hour some wait.
        assert!((3900..4150).contains(&orders), "{orders}");
        assert!((3500..orders).contains(&results), "{results}");
        let share = inserted[CASH_TRANSACTION] as f64 / results as f64;
        assert!((0.9..0.94).contains(&share), "{share}");
        // As in the population: as many lots are closed as opened, about.
        let lots = inserted[HOLDING] as f64 / results as f64;
        assert!((0.4..0.9).contains(&lots), "{lots}");
        let gone = deleted[HOLDING] as f64 / results as f64;
        assert!(
            (0.3..0.6).contains(&gone),
            "{gone} of {lots}, {changed:?}",
            changed = inserted[HOLDING_HISTORY]
        );
        let changed = inserted[HOLDING_HISTORY] as f64 / results as f64;
        assert!((1.0..1.6).contains(&changed), "{changed}");
        // Requests that came went, but those that wait.
        let waiting = inserted[TRADE_REQUEST] - deleted[TRADE_REQUEST];
        assert!(deleted[TRADE_REQUEST] > 1000 && waiting < 500, "{waiting}");
        // Every kind touches rows: a Market-Watch of a list four for each of its items.
        for (kind, (touched, committed)) in touched.iter().zip(committed).enumerate() {
            let each = *touched as f64 / committed.max(1) as f64;
            assert!(each > 3.0, "{kind}: {each} rows");
        }
    }
}
