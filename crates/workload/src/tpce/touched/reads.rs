//! The start of a run, and transactions that only read: Broker-Volume, Customer-Position, Market-Watch,
//! Security-Detail and Trade-Status.

use super::{
    super::{
        calendar,
        customers::accounts,
        ids::{self, IDENT_SHIFT, owner},
        scaled::{ACCOUNTS, COMPANIES, SECURITIES},
        schema::*,
        securities::company,
        statements::{
            Begin, BrokerVolume, CustomerPosition, MarketWatch, SecurityDetail, TradeStatus,
        },
    },
    ITEMS, MARKET_DAYS, TouchedRows, of_security, price_of_day, row, time, watch_list,
};
use crate::{
    connection::Value,
    touch::{AccessPath, Hits, Place},
};

impl TouchedRows {
    /// What a run begins with, before anything was touched.
    pub(super) fn begin(&self, statement: Begin, hits: &mut Hits<'_, '_>) -> u64 {
        match statement {
            Begin::LAST_TIME => {
                hits.rows(Place::initial(0), self.rows[LAST_TRADE]);
                hits.answer(&[Value::Timestamp(calendar::date(self.scale.end()))])
            }
            Begin::LAST_TRADE_ID => {
                let last = ids::trade(self.scale.begun() - 1);
                hits.rows(self.of_trade(TRADES, last), 1);
                hits.answer(&[Value::Integer(last)])
            }
            // Initial trades are all completed.
            Begin::ALL_REQUESTS | Begin::SUBMITTED => 0,
        }
    }

    pub(super) fn broker_volume(&self, statement: BrokerVolume, hits: &mut Hits<'_, '_>) -> u64 {
        let BrokerVolume::BROKER_VOLUME = statement;
        // Those of the brokers, each with its security and company.
        for id in self.requests.values().flatten() {
            // Of some thirty brokers.
            let Some(new) = self.new.get(id) else {
                continue;
            };
            if row(new.broker).initial % self.rows[BROKER] >= 30 {
                continue;
            }
            hits.rows(self.of_trade(TRADE_REQUEST, *id), 1);
            hits.read_key(TRADE_REQUEST, self.of_trade(TRADE_REQUEST, *id));
            hits.read_key(SECURITY, of_security(new.security));
            hits.read_key(COMPANY, of_security(company(new.security)));
        }
        let brokers = self.rows[BROKER].min(40);
        hits.read(BROKER, AccessPath::Index(0), Place::initial(0), brokers);
        hits.answer(&[])
    }

    pub(super) fn customer_position(
        &self,
        statement: CustomerPosition,
        v: &[Value<'_>],
        p: [i64; 14],
        hits: &mut Hits<'_, '_>,
    ) -> u64 {
        match statement {
            CustomerPosition::CUSTOMER_BY_TAX_ID => {
                let mut drawn = 0;
                if let Some(Value::Text(text)) = v.first() {
                    for byte in text.bytes() {
                        drawn = self.drawn(drawn, byte.into()) as i64;
                    }
                }
                let customer = self.any(CUSTOMER, drawn, 2);
                hits.rows(self.any(CUSTOMER, drawn, 3), 1);
                hits.entry(customer);
                hits.answer(&[Value::Integer(ids::ident(customer.initial as i64))])
            }
            CustomerPosition::CUSTOMER => hits.row(row(p[0])),
            CustomerPosition::CUSTOMER_ASSETS => {
                let customer = (p[0] - IDENT_SHIFT - 1).clamp(0, self.scale.customers - 1);
                let count = accounts(customer);
                let first = ids::account(customer, 0);
                hits.rows(self.account_row(first), count.unsigned_abs());
                for number in first..first + count {
                    hits.entry(self.account_row(number));
                    self.read_summaries(hits, number, |hits, security| {
                        hits.read_key(LAST_TRADE, security);
                    });
                }
                for number in first..first + count {
                    hits.answer(&[Value::Integer(number)]);
                }
                count as u64
            }
            CustomerPosition::LATEST_HISTORY => {
                let found = self.read_latest(hits, p[0], 10);
                for id in &found {
                    let first = self.of_trade(TRADE_HISTORY, *id);
                    hits.read(TRADE_HISTORY, AccessPath::Key, first, 2);
                    hits.answer(&[Value::Integer(*id)]);
                }
                found.len() as u64
            }
        }
    }

    pub(super) fn market_watch(
        &self,
        statement: MarketWatch,
        v: &[Value<'_>],
        p: [i64; 14],
        hits: &mut Hits<'_, '_>,
    ) -> u64 {
        match statement {
            MarketWatch::WATCH_BY_LIST => {
                let customer = (p[0] - IDENT_SHIFT - 1).clamp(0, self.scale.customers - 1);
                hits.rows(Place::initial(customer as u64), 1);
                let first = Place::initial(watch_list(customer) * ITEMS);
                hits.read(WATCH_ITEM, AccessPath::Key, first, ITEMS);
                let day = self.day(time(v.get(1)));
                let mut securities: Vec<u64> = (0..ITEMS as i64)
                    .map(|item| self.drawn(customer, item) % self.rows[SECURITY])
                    .collect();
                securities.sort_unstable();
                for security in securities {
                    read_prices(hits, security, day);
                }
            }
            MarketWatch::WATCH_BY_ACCOUNT => {
                let day = self.day(time(v.get(1)));
                self.read_summaries(hits, p[0], |hits, security| {
                    read_prices(hits, security.initial, day);
                });
            }
            MarketWatch::WATCH_BY_INDUSTRY => {
                let day = self.day(time(v.get(3)));
                // Of 5,000 companies at most.
                let of_industry = self.rows[COMPANY].min(5000) as i64 / 102;
                let first = self.any(COMPANY, day as i64, 4);
                hits.rows(self.any(INDUSTRY, day as i64, 5), 1);
                hits.read(
                    COMPANY,
                    AccessPath::Index(1),
                    first,
                    of_industry.unsigned_abs(),
                );
                for number in 0..of_industry {
                    let company = self.drawn(day as i64, number) % self.rows[COMPANY];
                    let entry = (company as i64 * SECURITIES / COMPANIES) as u64;
                    hits.read(SECURITY, AccessPath::Index(0), Place::initial(entry), 1);
                    let security = self.drawn(company as i64, 10) % self.rows[SECURITY];
                    read_prices(hits, security, day);
                }
            }
        }
        hits.answer(&[])
    }

    pub(super) fn security_detail(
        &self,
        statement: SecurityDetail,
        v: &[Value<'_>],
        p: [i64; 14],
        hits: &mut Hits<'_, '_>,
    ) -> u64 {
        match statement {
            SecurityDetail::SECURITY_DETAIL => {
                let security = self.security(v.first());
                let company = company(security);
                hits.rows(of_security(security), 1);
                hits.read_key(COMPANY, Place::initial(company as u64));
                let address = self.scale.company_address(company) as u64;
                hits.read_key(ADDRESS, Place::initial(address));
                hits.read_key(ZIP_CODE, self.any(ZIP_CODE, company, 6));
                hits.read_key(EXCHANGE, self.any(EXCHANGE, security, 7));
                hits.read_key(ADDRESS, self.any(EXCHANGE, security, 7));
                hits.read_key(ZIP_CODE, self.any(ZIP_CODE, security % 4, 8));
                hits.answer(&[Value::Text("x"), Value::Integer(ids::ident(company))])
            }
            SecurityDetail::COMPETITORS => {
                let company = row(p[0]).initial;
                hits.rows(Place::initial(company * 3), 3);
                for number in 0..3 {
                    hits.read_key(COMPANY, self.any(COMPANY, company as i64, number));
                    hits.read_key(INDUSTRY, self.any(INDUSTRY, company as i64, number));
                }
                hits.answers(3)
            }
            SecurityDetail::FINANCIALS => {
                hits.rows(Place::initial(row(p[0]).initial * 20), 20);
                hits.answers(20)
            }
            SecurityDetail::DAYS => {
                let days = p[2].max(1) as u64;
                let day = self.day(time(v.get(1))).min(MARKET_DAYS as u64 - days);
                let first = price_of_day(self.security(v.first()), day);
                hits.rows(first, days);
                hits.answers(days)
            }
            SecurityDetail::LAST_PRICES => hits.row(of_security(self.security(v.first()))),
            SecurityDetail::NEWS_WHOLE | SecurityDetail::NEWS => {
                let first = Place::initial(row(p[0]).initial * 2);
                hits.rows(first, 2);
                hits.read(NEWS_ITEM, AccessPath::Key, first, 2);
                hits.answers(2)
            }
        }
    }

    pub(super) fn trade_status(
        &self,
        statement: TradeStatus,
        p: [i64; 14],
        hits: &mut Hits<'_, '_>,
    ) -> u64 {
        match statement {
            TradeStatus::LATEST_TRADES => {
                let found = self.read_latest(hits, p[0], 50);
                for id in &found {
                    let security = self.drawn(p[0], *id) % self.rows[SECURITY];
                    hits.read_key(SECURITY, Place::initial(security));
                    hits.answer(&[Value::Integer(*id)]);
                }
                found.len() as u64
            }
            TradeStatus::ACCOUNT_PEOPLE => {
                hits.rows(self.account_row(p[0]), 1);
                hits.read_key(CUSTOMER, Place::initial(owner(p[0]).0.max(0) as u64));
                hits.read_key(BROKER, self.any(BROKER, p[0], 9));
                hits.answer(&[])
            }
        }
    }

    /// Reads an account's latest trades: entries of the index one after the other, and rows
    /// wherever they are.
    fn read_latest(&self, hits: &mut Hits<'_, '_>, account: i64, most: u64) -> Vec<i64> {
        let all = (self.scale.load_units() * ACCOUNTS) as u64;
        let each = (self.rows[TRADES] / all).max(1);
        let count = each.min(most);
        let last = self.last_of_account(TRADES, account).initial;
        hits.rows(Place::initial((last + 1).saturating_sub(count)), count);
        let found: Vec<i64> = (each - count..each)
            .map(|number| self.trade_at(account, (number as f64 + 0.5) / each as f64))
            .collect();
        for id in &found {
            hits.entry(self.of_trade(TRADES, *id));
        }
        found
    }
}

/// A security's row with its last price, and with its price of a day.
fn read_prices(hits: &mut Hits<'_, '_>, security: u64, day: u64) {
    hits.read_key(SECURITY, Place::initial(security));
    hits.read_key(LAST_TRADE, Place::initial(security));
    hits.read_key(DAILY_MARKET, price_of_day(security as i64, day));
}
