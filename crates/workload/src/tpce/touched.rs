//! The rows that TPC-E's statements touch.
//!
//! What the population draws is not drawn again here: how trades, their history and lots
//! are spread over accounts, securities and time is taken to be even, as many rows each as
//! there are on average. Which rows of a trade are read follows from its number; which
//! trades an account has, from the account's. References that a database watches over are
//! touched as the rows that they name, of what transactions insert.

use std::collections::{BTreeMap, HashMap};

use octavo_units::mix;

use super::{
    calendar::{self, DAY, MARKET_DAYS, TRADING_DAY, market_day},
    customers::{self, accounts, of_watch_list, tier},
    ids::{self, IDENT_SHIFT, LOAD_UNIT, TRADE_SHIFT, owner},
    people::Person,
    population::TpcePopulation,
    prices,
    scaled::{ACCOUNTS, COMPANIES, SECURITIES, Scale},
    schema::*,
    securities::{Symbol, company},
    statements as sql,
    trade_kind::TradeKind,
};
use crate::{
    connection::{RowVisitor, StatementId, Value},
    money::money,
    population::Population,
    schema::TableId,
    touch::{Action, Answer, By, Columns, Place, RowModel, Touch, integers},
};

/// Items of a watch list, on average.
const ITEMS: u64 = 100;

const READ: Action = Action::Read;
const UPDATE: Action = Action::Update { grows: 0 };

/// Further indexes, by their positions in [`TABLES`].
const BY_NAME: By = By::Index(0);
const BY_TAX_ID: By = By::Index(0);
const BY_CUSTOMER: By = By::Index(0);
const BY_COMPANY: By = By::Index(0);
const BY_ACCOUNT: By = By::Index(0);
const BY_LOT: By = By::Index(0);
const BY_SECURITY: By = By::Index(1);
const REQUEST_BY_SECURITY: By = By::Index(0);
const REQUEST_BY_BROKER: By = By::Index(1);

/// A trade made since the population.
#[derive(Clone, Debug)]
struct New {
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
    new: HashMap<i64, New>,
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
            before += accounts(customer) as u32;
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

    /// A row at a part of a table.
    fn at(&self, table: usize, part: f64) -> Place {
        let rows = self.rows[table];
        Place::initial(((part * rows as f64) as u64).min(rows.saturating_sub(1)))
    }

    /// One that is drawn.
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

    /// What part of the initial trades is before this one.
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

    /// What part of initial trading has passed at a date.
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

    fn security(&self, value: Option<&Value<'_>>) -> i64 {
        let symbol = match value {
            Some(Value::Text(text)) => Symbol::security(&self.scale, text),
            _ => None,
        };
        symbol.unwrap_or(0)
    }
}

/// The place of a customer's watch list in the order of lists.
fn watch_list(customer: i64) -> u64 {
    let first = customer.div_euclid(LOAD_UNIT) * LOAD_UNIT;
    debug_assert_eq!(
        of_watch_list(first + (631 * (customer - first) + 97) % LOAD_UNIT),
        customer
    );
    (first + (631 * (customer - first) + 97) % LOAD_UNIT) as u64
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

/// What a statement touches, and its answer.
struct Asked<'a, 'v> {
    statement: StatementId,
    touches: &'a mut Vec<Touch>,
    visit: &'a mut RowVisitor<'v>,
}

impl Asked<'_, '_> {
    fn touch(&mut self, table: usize, by: By, first: Place, rows: u32, action: Action) {
        self.touches.push(Touch {
            table: TableId(table),
            by,
            first,
            rows,
            action,
            columns: Columns::NONE,
            changed: 0,
        });
    }

    fn read(&mut self, table: usize, first: Place) {
        self.touch(table, By::Key, first, 1, READ);
    }

    fn update(&mut self, table: usize, first: Place) -> u64 {
        self.touch(table, By::Key, first, 1, UPDATE);
        1
    }

    fn insert(&mut self, table: usize, place: Place) -> u64 {
        self.touch(table, By::Key, place, 1, Action::Insert);
        1
    }

    fn answer(&mut self, given: &[Value<'_>]) -> u64 {
        (self.visit)(&Answer::new(&sql::STATEMENTS[self.statement.0], given));
        1
    }

    /// A security's row with its last price, and with its price of a day.
    fn prices(&mut self, security: u64, day: Option<u64>) {
        self.read(SECURITY, Place::initial(security));
        self.read(LAST_TRADE, Place::initial(security));
        if let Some(day) = day {
            let place = Place::initial(security * MARKET_DAYS as u64 + day);
            self.read(DAILY_MARKET, place);
        }
    }
}

impl RowModel for TouchedRows {
    fn take(
        &mut self,
        statement: StatementId,
        parameters: &[Value<'_>],
        touches: &mut Vec<Touch>,
        visit: &mut RowVisitor<'_>,
    ) -> u64 {
        let mut asked = Asked {
            statement,
            touches,
            visit,
        };
        let p: [i64; 14] = integers(parameters);
        match statement {
            sql::LAST_TIME | sql::LAST_TRADE_ID | sql::ALL_REQUESTS | sql::SUBMITTED => {
                self.begin(&mut asked)
            }
            sql::BROKER_VOLUME
            | sql::CUSTOMER_BY_TAX_ID
            | sql::CUSTOMER
            | sql::CUSTOMER_ASSETS
            | sql::LATEST_HISTORY
            | sql::WATCH_BY_LIST
            | sql::WATCH_BY_ACCOUNT
            | sql::WATCH_BY_INDUSTRY
            | sql::SECURITY_DETAIL
            | sql::COMPETITORS
            | sql::FINANCIALS
            | sql::DAYS
            | sql::LAST_PRICES
            | sql::NEWS_WHOLE
            | sql::NEWS
            | sql::LATEST_TRADES
            | sql::ACCOUNT_PEOPLE => self.reads(&mut asked, parameters, p),
            sql::TRADE_BY_ID
            | sql::TRADES_OF_ACCOUNT
            | sql::TRADES_OF_SECURITY
            | sql::TRADES_WITH_NAMES
            | sql::SETTLEMENT
            | sql::CASH_TRANSACTION
            | sql::HISTORY
            | sql::FIRST_TRADE
            | sql::HOLDING_HISTORY
            | sql::EXEC_NAME
            | sql::SET_EXEC_NAME
            | sql::CASH_TYPE
            | sql::SET_CASH_TYPE
            | sql::CASH_NAME
            | sql::SET_CASH_NAME => self.looks(&mut asked, parameters, p),
            statement if (sql::ACCOUNT..=sql::INSERT_HISTORY).contains(&statement) => {
                self.orders(&mut asked, parameters, p)
            }
            statement if (sql::TRADE_TO_DO..=sql::INSERT_CASH).contains(&statement) => {
                self.results(&mut asked, parameters, p)
            }
            statement if (sql::SET_LAST_TRADE..=sql::SET_STATUS).contains(&statement) => {
                self.feeds(&mut asked, parameters, p)
            }
            _ => self.maintenance(&mut asked, parameters, p),
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

impl TouchedRows {
    fn begin(&mut self, asked: &mut Asked<'_, '_>) -> u64 {
        match asked.statement {
            sql::LAST_TIME => {
                asked.touch(
                    LAST_TRADE,
                    By::Key,
                    Place::initial(0),
                    self.rows[LAST_TRADE] as u32,
                    READ,
                );
                asked.answer(&[Value::Timestamp(calendar::date(self.scale.end()))])
            }
            sql::LAST_TRADE_ID => {
                let last = ids::trade(self.scale.begun() - 1);
                asked.read(TRADES, self.of_trade(TRADES, last));
                asked.answer(&[Value::Integer(last)])
            }
            _ => 0,
        }
    }

    fn reads(&mut self, asked: &mut Asked<'_, '_>, v: &[Value<'_>], p: [i64; 14]) -> u64 {
        match asked.statement {
            sql::BROKER_VOLUME => {
                // Those of the brokers, each with its security and company.
                let pending: Vec<i64> = self.requests.values().flatten().copied().collect();
                for id in pending {
                    // Of some thirty brokers.
                    let is_asked = |new: &&New| row(new.broker).initial % self.rows[BROKER] < 30;
                    let Some(new) = self.new.get(&id).filter(is_asked) else {
                        continue;
                    };
                    asked.touch(
                        TRADE_REQUEST,
                        REQUEST_BY_BROKER,
                        self.of_trade(TRADE_REQUEST, id),
                        1,
                        READ,
                    );
                    asked.read(TRADE_REQUEST, self.of_trade(TRADE_REQUEST, id));
                    asked.read(SECURITY, Place::initial(new.security as u64));
                    asked.read(COMPANY, Place::initial(company(new.security) as u64));
                }
                asked.touch(
                    BROKER,
                    BY_NAME,
                    Place::initial(0),
                    self.rows[BROKER].min(40) as u32,
                    READ,
                );
                asked.answer(&[])
            }
            sql::CUSTOMER_BY_TAX_ID => {
                let mut drawn = 0;
                if let Some(Value::Text(text)) = v.first() {
                    for byte in text.bytes() {
                        drawn = self.drawn(drawn, byte.into()) as i64;
                    }
                }
                let customer = self.any(CUSTOMER, drawn, 2);
                asked.touch(CUSTOMER, BY_TAX_ID, self.any(CUSTOMER, drawn, 3), 1, READ);
                asked.touch(CUSTOMER, By::Entry, customer, 1, READ);
                asked.answer(&[Value::Integer(ids::ident(customer.initial as i64))])
            }
            sql::CUSTOMER => {
                asked.read(CUSTOMER, row(p[0]));
                asked.answer(&[])
            }
            sql::CUSTOMER_ASSETS => {
                let customer = (p[0] - IDENT_SHIFT - 1).clamp(0, self.scale.customers - 1);
                let count = accounts(customer);
                let first = ids::account(customer, 0);
                let (place, _) = self.account(first);
                asked.touch(
                    CUSTOMER_ACCOUNT,
                    BY_CUSTOMER,
                    Place::initial(place),
                    count as u32,
                    READ,
                );
                for number in first..first + count {
                    let (place, _) = self.account(number);
                    asked.touch(CUSTOMER_ACCOUNT, By::Entry, Place::initial(place), 1, READ);
                    self.read_summaries(asked, number, |asked, security| {
                        asked.read(LAST_TRADE, security);
                    });
                }
                for number in first..first + count {
                    asked.answer(&[Value::Integer(number)]);
                }
                count as u64
            }
            sql::LATEST_HISTORY => {
                let found = self.read_latest(asked, p[0], 10);
                for id in &found {
                    asked.touch(
                        TRADE_HISTORY,
                        By::Key,
                        self.of_trade(TRADE_HISTORY, *id),
                        2,
                        READ,
                    );
                    asked.answer(&[Value::Integer(*id)]);
                }
                found.len() as u64
            }
            sql::WATCH_BY_LIST => {
                let customer = (p[0] - IDENT_SHIFT - 1).clamp(0, self.scale.customers - 1);
                let list = watch_list(customer);
                asked.touch(
                    WATCH_LIST,
                    BY_CUSTOMER,
                    Place::initial(customer as u64),
                    1,
                    READ,
                );
                asked.touch(
                    WATCH_ITEM,
                    By::Key,
                    Place::initial(list * ITEMS),
                    ITEMS as u32,
                    READ,
                );
                let day = self.day(time(v.get(1)));
                let mut securities: Vec<u64> = (0..ITEMS as i64)
                    .map(|item| self.drawn(customer, item) % self.rows[SECURITY])
                    .collect();
                securities.sort_unstable();
                for security in securities {
                    asked.prices(security, Some(day));
                }
                asked.answer(&[])
            }
            sql::WATCH_BY_ACCOUNT => {
                let day = self.day(time(v.get(1)));
                self.read_summaries(asked, p[0], |asked, security| {
                    asked.prices(security.initial, Some(day));
                });
                asked.answer(&[])
            }
            sql::WATCH_BY_INDUSTRY => {
                let day = self.day(time(v.get(3)));
                // Of 5,000 companies at most.
                let of_industry = self.rows[COMPANY].min(5000) as i64 / 102;
                let first = self.any(COMPANY, day as i64, 4);
                asked.read(INDUSTRY, self.any(INDUSTRY, day as i64, 5));
                asked.touch(COMPANY, By::Index(1), first, of_industry as u32, READ);
                for number in 0..of_industry {
                    let company = self.drawn(day as i64, number) % self.rows[COMPANY];
                    self.read_of_company(asked, company as i64, Some(day));
                }
                asked.answer(&[])
            }
            sql::SECURITY_DETAIL => {
                let security = self.security(v.first());
                let company = company(security);
                asked.read(SECURITY, Place::initial(security as u64));
                asked.read(COMPANY, Place::initial(company as u64));
                let address = self.scale.company_address(company) as u64;
                asked.read(ADDRESS, Place::initial(address));
                asked.read(ZIP_CODE, self.any(ZIP_CODE, company, 6));
                asked.read(EXCHANGE, self.any(EXCHANGE, security, 7));
                asked.read(ADDRESS, self.any(EXCHANGE, security, 7));
                asked.read(ZIP_CODE, self.any(ZIP_CODE, security % 4, 8));
                let found = [Value::Text("x"), Value::Integer(ids::ident(company))];
                asked.answer(&found)
            }
            sql::COMPETITORS => {
                let company = row(p[0]).initial;
                asked.touch(
                    COMPANY_COMPETITOR,
                    By::Key,
                    Place::initial(company * 3),
                    3,
                    READ,
                );
                for number in 0..3 {
                    asked.read(COMPANY, self.any(COMPANY, company as i64, number));
                    asked.read(INDUSTRY, self.any(INDUSTRY, company as i64, number));
                    asked.answer(&[]);
                }
                3
            }
            sql::FINANCIALS => {
                let first = Place::initial(row(p[0]).initial * 20);
                asked.touch(FINANCIAL, By::Key, first, 20, READ);
                (0..20).map(|_| asked.answer(&[])).sum()
            }
            sql::DAYS => {
                let security = self.security(v.first()) as u64;
                let days = p[2].max(1) as u64;
                let day = self.day(time(v.get(1))).min(MARKET_DAYS as u64 - days);
                let first = Place::initial(security * MARKET_DAYS as u64 + day);
                asked.touch(DAILY_MARKET, By::Key, first, days as u32, READ);
                (0..days).map(|_| asked.answer(&[])).sum()
            }
            sql::LAST_PRICES => {
                asked.read(LAST_TRADE, Place::initial(self.security(v.first()) as u64));
                asked.answer(&[])
            }
            sql::NEWS_WHOLE | sql::NEWS => {
                let first = Place::initial(row(p[0]).initial * 2);
                asked.touch(NEWS_XREF, By::Key, first, 2, READ);
                asked.touch(NEWS_ITEM, By::Key, first, 2, READ);
                asked.answer(&[]) + asked.answer(&[])
            }
            sql::LATEST_TRADES => {
                let found = self.read_latest(asked, p[0], 50);
                for id in &found {
                    let security = self.drawn(p[0], *id) % self.rows[SECURITY];
                    asked.read(SECURITY, Place::initial(security));
                    asked.answer(&[Value::Integer(*id)]);
                }
                found.len() as u64
            }
            _ => {
                let (place, _) = self.account(p[0]);
                asked.read(CUSTOMER_ACCOUNT, Place::initial(place));
                asked.read(CUSTOMER, Place::initial(owner(p[0]).0.max(0) as u64));
                asked.read(BROKER, self.any(BROKER, p[0], 9));
                asked.answer(&[])
            }
        }
    }

    /// The day of DAILY_MARKET of a date, from 0.
    fn day(&self, date: i64) -> u64 {
        let days = (date - market_day(0)).div_euclid(DAY).max(0);
        ((days / 7 * 5 + (days % 7).min(4)) as u64).min(MARKET_DAYS as u64 - 1)
    }

    /// Reads what an account holds of each security, and what goes with it.
    fn read_summaries(
        &self,
        asked: &mut Asked<'_, '_>,
        account: i64,
        mut each: impl FnMut(&mut Asked<'_, '_>, Place),
    ) {
        let all = (self.scale.load_units() * ACCOUNTS) as f64;
        let count = (self.rows[HOLDING_SUMMARY] as f64 / all).round().max(1.0) as u32;
        let first = self.at(HOLDING_SUMMARY, self.account(account).1);
        asked.touch(HOLDING_SUMMARY, By::Key, first, count, READ);
        for number in 0..i64::from(count) {
            let security = self.drawn(account, 100 + number) % self.rows[SECURITY];
            each(asked, Place::initial(security));
        }
    }

    fn read_of_company(&self, asked: &mut Asked<'_, '_>, company: i64, day: Option<u64>) {
        let security = (company * SECURITIES / COMPANIES) as u64;
        asked.touch(SECURITY, BY_COMPANY, Place::initial(security), 1, READ);
        asked.prices(self.drawn(company, 10) % self.rows[SECURITY], day);
    }

    /// Reads an account's latest trades: entries of the index one after the other, and rows
    /// wherever they are.
    fn read_latest(&self, asked: &mut Asked<'_, '_>, account: i64, most: u64) -> Vec<i64> {
        let all = (self.scale.load_units() * ACCOUNTS) as u64;
        let each = (self.rows[TRADES] / all).max(1);
        let count = each.min(most);
        let last = self.last_of_account(TRADES, account).initial;
        let first = Place::initial((last + 1).saturating_sub(count));
        asked.touch(TRADES, BY_ACCOUNT, first, count as u32, READ);
        let found: Vec<i64> = (each - count..each)
            .map(|number| self.trade_at(account, (number as f64 + 0.5) / each as f64))
            .collect();
        for id in &found {
            asked.touch(TRADES, By::Entry, self.of_trade(TRADES, *id), 1, READ);
        }
        found
    }

    fn looks(&mut self, asked: &mut Asked<'_, '_>, v: &[Value<'_>], p: [i64; 14]) -> u64 {
        let id = p[0];
        match asked.statement {
            sql::TRADE_BY_ID => {
                asked.read(TRADES, self.of_trade(TRADES, id));
                let is_cash = Value::Integer(self.is_cash(id).into());
                asked.answer(&[money(1), Value::Text("x x"), is_cash])
            }
            sql::TRADES_OF_ACCOUNT => self.look_from(asked, TRADES, BY_ACCOUNT, id, time(v.get(1))),
            sql::TRADES_OF_SECURITY | sql::TRADES_WITH_NAMES => {
                let security = self.security(v.first());
                self.look_from(asked, TRADES, BY_SECURITY, security, time(v.get(1)))
            }
            sql::SETTLEMENT | sql::CASH_TYPE => {
                asked.read(SETTLEMENT, self.of_trade(SETTLEMENT, id));
                asked.answer(&[])
            }
            sql::CASH_TRANSACTION | sql::CASH_NAME => {
                asked.read(CASH_TRANSACTION, self.of_trade(CASH_TRANSACTION, id));
                asked.answer(&[])
            }
            sql::HISTORY => {
                asked.touch(
                    TRADE_HISTORY,
                    By::Key,
                    self.of_trade(TRADE_HISTORY, id),
                    2,
                    READ,
                );
                asked.answer(&[]) + asked.answer(&[])
            }
            sql::FIRST_TRADE => {
                let part = self.part_at(time(v.get(1)));
                let all = (self.scale.load_units() * ACCOUNTS) as f64;
                let entry = self.at(TRADES, self.account(id).1 + part / all);
                let trade = self.trade_at(id, part);
                asked.touch(TRADES, BY_ACCOUNT, entry, 1, READ);
                asked.touch(TRADES, By::Entry, self.of_trade(TRADES, trade), 1, READ);
                asked.answer(&[Value::Integer(trade)])
            }
            sql::HOLDING_HISTORY => {
                let first = self.of_trade(HOLDING_HISTORY, id);
                asked.touch(HOLDING_HISTORY, By::Key, first, 1, READ);
                asked.touch(HOLDING_HISTORY, BY_LOT, first, 2, READ);
                for number in 0..2 {
                    let other =
                        self.trade_at(id, self.part_of_trade(id) + 1e-4 * f64::from(number));
                    asked.touch(
                        HOLDING_HISTORY,
                        By::Entry,
                        self.of_trade(HOLDING_HISTORY, other),
                        1,
                        READ,
                    );
                    asked.answer(&[]);
                }
                2
            }
            sql::EXEC_NAME => {
                asked.read(TRADES, self.of_trade(TRADES, id));
                // Half of them have the mark that goes.
                let name = if self.drawn(id, 11).is_multiple_of(2) {
                    "x x"
                } else {
                    "x X x"
                };
                asked.answer(&[Value::Text(name)])
            }
            sql::SET_EXEC_NAME => asked.update(TRADES, self.of_trade(TRADES, p[1])),
            sql::SET_CASH_TYPE => asked.update(SETTLEMENT, self.of_trade(SETTLEMENT, p[1])),
            _ => asked.update(CASH_TRANSACTION, self.of_trade(CASH_TRANSACTION, p[1])),
        }
    }

    /// Twenty trades of an account or a security from a time on.
    fn look_from(
        &self,
        asked: &mut Asked<'_, '_>,
        table: usize,
        by: By,
        whose: i64,
        from: i64,
    ) -> u64 {
        let is_account = by == BY_ACCOUNT;
        let all = match is_account {
            true => self.scale.load_units() * ACCOUNTS,
            false => self.scale.securities(),
        } as f64;
        let before = match is_account {
            true => self.account(whose).1,
            false => whose as f64 / all,
        };
        let each = self.rows[table] as f64 / all;
        let part = self.part_at(from);
        let count = (each * (1.0 - part)).ceil().clamp(1.0, 20.0) as i64;
        asked.touch(
            table,
            by,
            self.at(table, before + part / all),
            count as u32,
            READ,
        );
        for number in 0..count {
            let later = part + (number as f64 + 0.5) / each;
            let id = self.trade_at(whose, later);
            asked.touch(table, By::Entry, self.of_trade(table, id), 1, READ);
            if asked.statement == sql::TRADES_WITH_NAMES {
                asked.read(SECURITY, Place::initial(whose as u64));
            }
            asked.answer(&[Value::Integer(id), Value::Integer(self.is_cash(id).into())]);
        }
        count as u64
    }

    fn orders(&mut self, asked: &mut Asked<'_, '_>, v: &[Value<'_>], p: [i64; 14]) -> u64 {
        match asked.statement {
            sql::ACCOUNT => {
                asked.read(CUSTOMER_ACCOUNT, Place::initial(self.account(p[0]).0));
                let (customer, _) = owner(p[0]);
                asked.answer(&[
                    Value::Text("x"),
                    Value::Integer(ids::ident(customers::broker(&self.scale, p[0]))),
                    Value::Integer(ids::ident(customer)),
                    Value::Integer(customers::tax_status(&self.scale, p[0])),
                ])
            }
            sql::CUSTOMER_NAMES => {
                asked.read(CUSTOMER, row(p[0]));
                let tier = tier(row(p[0]).initial as i64) as i64;
                let person = Person::of(self.scale.seed, p[0]);
                let mut tax_ident = String::new();
                person.push_tax_ident(&mut tax_ident);
                asked.answer(&[
                    Value::Text(person.first.as_str()),
                    Value::Text(person.last.as_str()),
                    Value::Integer(tier),
                    Value::Text(&tax_ident),
                ])
            }
            sql::BROKER_NAME => {
                asked.read(BROKER, row(p[0]));
                asked.answer(&[])
            }
            sql::PERMISSION => {
                let part = self.account(p[0]).1;
                asked.touch(
                    ACCOUNT_PERMISSION,
                    By::Key,
                    self.at(ACCOUNT_PERMISSION, part),
                    1,
                    READ,
                );
                asked.answer(&[])
            }
            sql::COMPANY_BY_NAME => {
                let company = self.drawn(self.inserted as i64, 12) % self.rows[COMPANY];
                asked.touch(
                    COMPANY,
                    BY_NAME,
                    self.any(COMPANY, company as i64, 13),
                    1,
                    READ,
                );
                asked.touch(COMPANY, By::Entry, Place::initial(company), 1, READ);
                asked.answer(&[Value::Integer(ids::ident(company as i64))])
            }
            sql::SECURITY_OF_COMPANY => {
                let company = row(p[0]).initial as i64;
                let entry = (company * SECURITIES / COMPANIES) as u64;
                asked.touch(SECURITY, BY_COMPANY, Place::initial(entry), 1, READ);
                asked.touch(SECURITY, By::Entry, Place::initial(entry), 1, READ);
                asked.answer(&[Value::Text("NYSE")])
            }
            sql::SECURITY => {
                let security = self.security(v.first());
                asked.read(SECURITY, Place::initial(security as u64));
                asked.answer(&[
                    Value::Integer(ids::ident(company(security))),
                    Value::Text("NYSE"),
                ])
            }
            sql::COMPANY_NAME => {
                asked.read(COMPANY, row(p[0]));
                asked.answer(&[])
            }
            sql::LAST_PRICE => {
                asked.read(LAST_TRADE, Place::initial(self.security(v.first()) as u64));
                asked.answer(&[money(2500)])
            }
            sql::TRADE_TYPE => asked.answer(&[]),
            sql::HELD => {
                self.looked_at = (p[0], self.security(v.get(1)));
                let held = self.held(p[0], self.looked_at.1);
                asked.read(HOLDING_SUMMARY, self.summary(p[0], self.looked_at.1));
                match held {
                    0 => 0,
                    held => asked.answer(&[Value::Integer(held)]),
                }
            }
            sql::NEWEST_HOLDINGS | sql::OLDEST_HOLDINGS => {
                let security = self.security(v.get(1));
                let mut lots = self.lots(p[0], security).clone();
                if asked.statement == sql::NEWEST_HOLDINGS {
                    lots.reverse();
                }
                let entry = self.last_of_account(HOLDING, p[0]);
                asked.touch(HOLDING, BY_ACCOUNT, entry, lots.len().max(1) as u32, READ);
                for lot in &lots {
                    asked.touch(HOLDING, By::Entry, lot.row, 1, READ);
                    let (id, quantity) = (Value::Integer(lot.trade), Value::Integer(lot.quantity));
                    asked.answer(&[id, quantity, money(lot.price)]);
                }
                lots.len() as u64
            }
            sql::TAX_RATE => {
                let first = Place::initial(row(p[0]).initial * 2);
                asked.touch(CUSTOMER_TAXRATE, By::Key, first, 2, READ);
                asked.read(TAXRATE, self.any(TAXRATE, p[0], 14));
                asked.read(TAXRATE, self.any(TAXRATE, p[0], 15));
                // Some 30%.
                asked.answer(&[Value::Decimal {
                    unscaled: 30_000,
                    scale: RATE_SCALE,
                }])
            }
            sql::COMMISSION_RATE => {
                asked.read(COMMISSION_RATE, self.any(COMMISSION_RATE, p[0], 16));
                asked.answer(&[money(32)])
            }
            sql::CHARGE => {
                asked.read(CHARGE, self.any(CHARGE, p[0], 17));
                asked.answer(&[money(500)])
            }
            sql::BALANCE => {
                asked.read(CUSTOMER_ACCOUNT, Place::initial(self.account(p[0]).0));
                asked.answer(&[])
            }
            sql::HOLDINGS_VALUE => {
                self.read_summaries(asked, p[0], |asked, security| {
                    asked.read(LAST_TRADE, security)
                });
                asked.answer(&[])
            }
            sql::INSERT_TRADE => self.insert_trade(asked, v, p),
            sql::INSERT_REQUEST => {
                let id = p[0];
                let security = self.security(v.get(2));
                self.requests.entry(security).or_default().push(id);
                if let Some(new) = self.new.get_mut(&id) {
                    new.broker = p[5];
                }
                let place = self.of_trade(TRADE_REQUEST, id);
                asked.insert(TRADE_REQUEST, place);
                asked.touch(TRADE_REQUEST, REQUEST_BY_SECURITY, place, 1, Action::Insert);
                asked.touch(TRADE_REQUEST, REQUEST_BY_BROKER, place, 1, Action::Insert);
                1
            }
            // INSERT_HISTORY.
            _ => self.insert_history(asked, p[0], v.get(2)),
        }
    }

    fn insert_history(
        &mut self,
        asked: &mut Asked<'_, '_>,
        id: i64,
        status: Option<&Value<'_>>,
    ) -> u64 {
        // A trade's entries are one behind the other, by their status.
        let entry = match status {
            Some(Value::Text("CMPT")) => 0,
            Some(Value::Text("PNDG")) => 1,
            _ => 2,
        };
        asked.read(TRADES, self.of_trade(TRADES, id));
        let Place { initial, later } = self.of_trade(TRADE_HISTORY, id);
        asked.insert(TRADE_HISTORY, Place::behind(initial, later * 3 + entry))
    }

    fn insert_trade(&mut self, asked: &mut Asked<'_, '_>, v: &[Value<'_>], p: [i64; 14]) -> u64 {
        let (id, account) = (p[0], p[8]);
        let security = self.security(v.get(5));
        // The rows that it names.
        asked.read(SECURITY, Place::initial(security as u64));
        asked.read(CUSTOMER_ACCOUNT, Place::initial(self.account(account).0));
        asked.insert(TRADES, self.of_trade(TRADES, id));
        let of_account = self.last_of_account(TRADES, account);
        let of_security = self.last_of_security(TRADES, security);
        let entries = [self.behind(of_account), self.behind(of_security)];
        asked.touch(TRADES, BY_ACCOUNT, entries[0], 1, Action::Insert);
        asked.touch(TRADES, BY_SECURITY, entries[1], 1, Action::Insert);
        let new = New {
            account,
            security,
            kind: kind(v.get(3)),
            quantity: p[6],
            bid: cents(v.get(7)),
            is_cash: p[4] == 1,
            is_lifo: p[13] == 1,
            broker: 0,
            is_done: false,
            entries,
        };
        self.new.insert(id, new);
        self.begun.push(id);
        1
    }

    /// A new trade's time: its entries move.
    fn change_time(&mut self, asked: &mut Asked<'_, '_>, id: i64) -> u64 {
        asked.update(TRADES, self.of_trade(TRADES, id));
        let Some(New {
            account,
            security,
            entries,
            ..
        }) = self.new.get(&id).cloned()
        else {
            return 1;
        };
        let of_account = self.last_of_account(TRADES, account);
        let of_security = self.last_of_security(TRADES, security);
        let moved = [self.behind(of_account), self.behind(of_security)];
        for (by, (old, new)) in [BY_ACCOUNT, BY_SECURITY]
            .into_iter()
            .zip(entries.into_iter().zip(moved))
        {
            asked.touch(TRADES, by, old, 1, Action::Delete);
            asked.touch(TRADES, by, new, 1, Action::Insert);
        }
        if let Some(new) = self.new.get_mut(&id) {
            new.entries = moved;
        }
        1
    }

    fn results(&mut self, asked: &mut Asked<'_, '_>, v: &[Value<'_>], p: [i64; 14]) -> u64 {
        match asked.statement {
            sql::TRADE_TO_DO => {
                asked.read(TRADES, self.of_trade(TRADES, p[0]));
                let Some(new) = self.new.get(&p[0]) else {
                    return 0;
                };
                let symbol = Symbol::of(&self.scale, new.security);
                let status = if new.is_done { "CMPT" } else { "SBMT" };
                asked.answer(&[
                    Value::Integer(new.account),
                    Value::Text(new.kind.id()),
                    Value::Text(symbol.as_str()),
                    Value::Integer(new.quantity),
                    money(500),
                    Value::Integer(new.is_lifo.into()),
                    Value::Integer(new.is_cash.into()),
                    Value::Text(status),
                ])
            }
            sql::TRADE_TYPE_NAME => {
                let kind = kind(v.first());
                asked.answer(&[
                    Value::Text(kind.name()),
                    Value::Integer(kind.is_sell().into()),
                ])
            }
            sql::INSERT_SUMMARY => {
                let key = (p[0], self.security(v.get(1)));
                let place = self.last_of_account(HOLDING_SUMMARY, p[0]);
                let place = self.behind(place);
                self.summaries.insert(key, place);
                asked.insert(HOLDING_SUMMARY, place)
            }
            sql::UPDATE_SUMMARY => {
                let place = self.summary(p[1], self.security(v.get(2)));
                asked.update(HOLDING_SUMMARY, place)
            }
            sql::DELETE_SUMMARY => {
                let place = self.summary(p[0], self.security(v.get(1)));
                asked.touch(HOLDING_SUMMARY, By::Key, place, 1, Action::Delete);
                1
            }
            sql::INSERT_HOLDING_HISTORY => {
                let place = self.behind_all(HOLDING_HISTORY);
                let lot = self.of_trade(HOLDING_HISTORY, p[0]);
                let lot = self.behind(lot);
                asked.read(TRADES, self.of_trade(TRADES, p[0]));
                asked.insert(HOLDING_HISTORY, place);
                asked.touch(HOLDING_HISTORY, BY_LOT, lot, 1, Action::Insert);
                1
            }
            sql::INSERT_HOLDING => {
                let security = self.security(v.get(2));
                let row = self.of_trade(HOLDING, p[0]);
                let entry = self.last_of_account(HOLDING, p[1]);
                let lot = Lot {
                    trade: p[0],
                    quantity: p[5],
                    price: cents(v.get(4)),
                    row,
                    entry: self.behind(entry),
                };
                self.lots(p[1], security).push(lot);
                asked.insert(HOLDING, row);
                asked.touch(HOLDING, BY_ACCOUNT, lot.entry, 1, Action::Insert);
                1
            }
            sql::UPDATE_HOLDING | sql::DELETE_HOLDING => {
                let is_deleted = asked.statement == sql::DELETE_HOLDING;
                let id = if is_deleted { p[0] } else { p[1] };
                let (account, security) = self.looked_at;
                let lots = self.lots(account, security);
                let Some(place) = lots.iter().position(|lot| lot.trade == id) else {
                    return 1;
                };
                let row = lots[place].row;
                if is_deleted {
                    let lot = lots.remove(place);
                    asked.touch(HOLDING, By::Key, row, 1, Action::Delete);
                    asked.touch(HOLDING, BY_ACCOUNT, lot.entry, 1, Action::Delete);
                } else {
                    lots[place].quantity = p[0];
                    asked.update(HOLDING, row);
                }
                1
            }
            sql::SET_TAX => asked.update(TRADES, self.of_trade(TRADES, p[1])),
            sql::SECURITY_NAME => {
                asked.read(SECURITY, Place::initial(self.security(v.first()) as u64));
                asked.answer(&[Value::Text("NYSE"), Value::Text("COMMON of x")])
            }
            sql::TIER => {
                asked.read(CUSTOMER, row(p[0]));
                asked.answer(&[Value::Integer(tier(row(p[0]).initial as i64) as i64)])
            }
            sql::COMPLETE_TRADE => {
                if let Some(new) = self.new.get_mut(&p[4]) {
                    new.is_done = true;
                }
                self.change_time(asked, p[4])
            }
            sql::PAY_BROKER => asked.update(BROKER, row(p[2])),
            sql::INSERT_SETTLEMENT => {
                asked.read(TRADES, self.of_trade(TRADES, p[0]));
                asked.insert(SETTLEMENT, self.of_trade(SETTLEMENT, p[0]))
            }
            sql::CHANGE_BALANCE => {
                asked.update(CUSTOMER_ACCOUNT, Place::initial(self.account(p[1]).0))
            }
            // INSERT_CASH.
            _ => asked.insert(CASH_TRANSACTION, self.of_trade(CASH_TRANSACTION, p[0])),
        }
    }

    fn feeds(&mut self, asked: &mut Asked<'_, '_>, v: &[Value<'_>], p: [i64; 14]) -> u64 {
        match asked.statement {
            sql::SET_LAST_TRADE => {
                asked.update(LAST_TRADE, Place::initial(self.security(v.get(3)) as u64))
            }
            sql::REQUESTS => {
                let security = self.security(v.first());
                let price = cents(v.get(1));
                let found = self.requests.entry(security).or_default().clone();
                let rows = found.len().max(1) as u32;
                let entry = self.of_trade(TRADE_REQUEST, found.first().copied().unwrap_or(0));
                asked.touch(TRADE_REQUEST, REQUEST_BY_SECURITY, entry, rows, READ);
                let mut count = 0;
                for id in found {
                    let Some(new) = self.new.get(&id) else {
                        continue;
                    };
                    asked.touch(
                        TRADE_REQUEST,
                        By::Entry,
                        self.of_trade(TRADE_REQUEST, id),
                        1,
                        READ,
                    );
                    if new.kind.is_reached(price, new.bid) {
                        count += asked.answer(&[
                            Value::Integer(id),
                            money(new.bid),
                            Value::Text(new.kind.id()),
                            Value::Integer(new.quantity),
                        ]);
                    }
                }
                count
            }
            sql::DELETE_REQUEST => {
                let id = p[0];
                let Some(new) = self.new.get(&id) else {
                    return 0;
                };
                self.requests
                    .entry(new.security)
                    .or_default()
                    .retain(|other| *other != id);
                let place = self.of_trade(TRADE_REQUEST, id);
                asked.touch(TRADE_REQUEST, By::Key, place, 1, Action::Delete);
                asked.touch(TRADE_REQUEST, REQUEST_BY_SECURITY, place, 1, Action::Delete);
                asked.touch(TRADE_REQUEST, REQUEST_BY_BROKER, place, 1, Action::Delete);
                1
            }
            // SET_STATUS.
            _ => self.change_time(asked, p[2]),
        }
    }

    /// Data-Maintenance, a transaction of a thousand: rows by their keys.
    fn maintenance(&mut self, asked: &mut Asked<'_, '_>, v: &[Value<'_>], p: [i64; 14]) -> u64 {
        match asked.statement {
            sql::RIGHTS | sql::SET_RIGHTS => {
                let is_change = asked.statement == sql::SET_RIGHTS;
                let account = if is_change { p[1] } else { p[0] };
                let place = self.at(ACCOUNT_PERMISSION, self.account(account).1);
                match is_change {
                    true => asked.update(ACCOUNT_PERMISSION, place),
                    false => {
                        asked.read(ACCOUNT_PERMISSION, place);
                        asked.answer(&[])
                    }
                }
            }
            sql::CUSTOMER_ADDRESS => {
                let customer = row(p[0]).initial as i64;
                let address = self.scale.customer_address(customer);
                asked.read(CUSTOMER, row(p[0]));
                asked.read(ADDRESS, Place::initial(address as u64));
                asked.answer(&[Value::Integer(ids::ident(address))])
            }
            sql::COMPANY_ADDRESS => {
                let address = self.scale.company_address(row(p[0]).initial as i64);
                asked.read(COMPANY, row(p[0]));
                asked.read(ADDRESS, Place::initial(address as u64));
                asked.answer(&[Value::Integer(ids::ident(address))])
            }
            sql::SET_ADDRESS => asked.update(ADDRESS, row(p[1])),
            sql::RATING => {
                asked.read(COMPANY, row(p[0]));
                asked.answer(&[])
            }
            sql::SET_RATING => asked.update(COMPANY, row(p[1])),
            sql::MAIL => {
                asked.read(CUSTOMER, row(p[0]));
                asked.answer(&[])
            }
            sql::SET_MAIL => asked.update(CUSTOMER, row(p[1])),
            sql::COUNTRY_RATE => {
                let first = Place::initial(row(p[0]).initial * 2);
                asked.touch(CUSTOMER_TAXRATE, By::Key, first, 2, READ);
                asked.answer(&[])
            }
            // A row goes and another one comes beside it.
            sql::SET_COUNTRY_RATE => {
                asked.update(CUSTOMER_TAXRATE, Place::initial(row(p[1]).initial * 2))
            }
            sql::ADD_VOLUME => {
                let security = self.security(v.get(1)) as u64;
                let day = self.day(time(v.get(2)));
                asked.update(
                    DAILY_MARKET,
                    Place::initial(security * MARKET_DAYS as u64 + day),
                )
            }
            sql::EXCHANGES => {
                asked.touch(EXCHANGE, By::Key, Place::initial(0), 4, READ);
                (0..4).map(|_| asked.answer(&[])).sum()
            }
            sql::SET_EXCHANGE => asked.update(EXCHANGE, Place::initial(0)),
            sql::QUARTERS => {
                let first = Place::initial(row(p[0]).initial * 20);
                asked.touch(FINANCIAL, By::Key, first, 20, READ);
                (0..20).map(|_| asked.answer(&[])).sum()
            }
            sql::SET_QUARTER => asked.update(FINANCIAL, Place::initial(row(p[1]).initial * 20)),
            sql::NEWS_DATES => {
                let first = Place::initial(row(p[0]).initial * 2);
                asked.touch(NEWS_XREF, By::Key, first, 2, READ);
                asked.touch(NEWS_ITEM, By::Key, first, 2, READ);
                let id = |news: u64| [Value::Integer(ids::ident((first.initial + news) as i64))];
                asked.answer(&id(0)) + asked.answer(&id(1))
            }
            sql::SET_NEWS_DATE => asked.update(NEWS_ITEM, row(p[1])),
            sql::LISTED => {
                asked.read(SECURITY, Place::initial(self.security(v.first()) as u64));
                asked.answer(&[])
            }
            sql::SET_LISTED => {
                asked.update(SECURITY, Place::initial(self.security(v.get(1)) as u64))
            }
            sql::RATE_NAME => {
                asked.read(TAXRATE, self.any(TAXRATE, self.inserted as i64, 18));
                asked.answer(&[])
            }
            sql::SET_RATE_NAME => {
                asked.update(TAXRATE, self.any(TAXRATE, self.inserted as i64, 18))
            }
            sql::WATCHED => {
                let customer = row(p[0]).initial as i64;
                let list = watch_list(customer.min(self.scale.customers - 1));
                asked.touch(WATCH_LIST, BY_CUSTOMER, row(p[0]), 1, READ);
                asked.touch(
                    WATCH_ITEM,
                    By::Key,
                    Place::initial(list * ITEMS),
                    ITEMS as u32,
                    READ,
                );
                let list = Value::Integer(ids::ident(list as i64));
                (0..ITEMS).map(|_| asked.answer(&[list])).sum()
            }
            sql::NOT_WATCHED => {
                asked.read(SECURITY, self.any(SECURITY, p[1], 19));
                asked.answer(&[])
            }
            sql::SET_WATCHED => asked.update(WATCH_ITEM, Place::initial(row(p[1]).initial * ITEMS)),
            _ => unreachable!("checks are not run on a pretence"),
        }
    }
}

#[cfg(test)]
mod tests {
    use octavo_units::Seed;

    use super::*;
    use crate::{Tpce, Workload};

    #[test]
    fn the_same_transactions_touch_the_same_rows() {
        let touches = || {
            let workload = Tpce::new(1000, 5, 500, Seed::new(1)).unwrap();
            let mut client = workload.clients(Seed::new(2), 1).remove(0);
            let mut pretence = workload.pretence();
            for _ in 0..3000 {
                client.draw();
                client.run(&mut pretence).unwrap();
            }
            pretence.touches().to_vec()
        };
        assert_eq!(touches(), touches());
    }

    #[test]
    fn what_transactions_touch_adds_up() {
        let workload = Tpce::new(1000, 5, 500, Seed::new(1)).unwrap();
        let mut client = workload.clients(Seed::new(2), 1).remove(0);
        let mut pretence = workload.pretence();
        let rows = TouchedRows::new(&workload.scale).rows;
        let (mut committed, mut touched) = ([0u64; 11], [0u64; 11]);
        let mut inserted = [0u64; TRADE_REQUEST + 1];
        let mut deleted = inserted;
        for _ in 0..40_000 {
            let kind = client.draw();
            let outcome = client.run(&mut pretence).unwrap();
            let is_committed = outcome == crate::Outcome::Committed;
            committed[kind] += u64::from(is_committed);
            for touch in pretence.touches() {
                let table = touch.table.0;
                let count = rows[table].max(1);
                assert!(touch.first.initial < count, "{}", TABLES[table].name);
                if let By::Index(index) = touch.by {
                    assert!(index < TABLES[table].indexes.len());
                }
                touched[kind] += u64::from(touch.rows);
                if touch.by == By::Key && is_committed {
                    inserted[table] += u64::from(touch.action == Action::Insert);
                    deleted[table] += u64::from(touch.action == Action::Delete);
                }
            }
            pretence.forget();
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
