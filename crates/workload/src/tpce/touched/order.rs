//! Trade-Order.

use super::{
    super::{
        customers::{self, tier},
        ids::{self, owner},
        people::Person,
        scaled::{COMPANIES, SECURITIES},
        schema::*,
        securities::company,
        statements::TradeOrder,
    },
    Lot, NewTrade, TouchedRows, cents, kind, of_security, row,
};
use crate::{
    connection::Value,
    money::money,
    touch::{Hits, Place},
};

impl TouchedRows {
    pub(super) fn order(
        &mut self,
        statement: TradeOrder,
        v: &[Value<'_>],
        p: [i64; 14],
        hits: &mut Hits<'_, '_>,
    ) -> u64 {
        match statement {
            TradeOrder::ACCOUNT => self.answer_account(hits, p[0]),
            TradeOrder::CUSTOMER_NAMES => self.answer_customer(hits, p[0]),
            TradeOrder::BROKER_NAME | TradeOrder::COMPANY_NAME => hits.row(row(p[0])),
            TradeOrder::PERMISSION => hits.row(self.at(ACCOUNT_PERMISSION, self.account(p[0]).1)),
            TradeOrder::COMPANY_BY_NAME => {
                let company = self.drawn(self.inserted as i64, 12) % self.rows[COMPANY];
                hits.rows(self.any(COMPANY, company as i64, 13), 1);
                hits.entry(Place::initial(company));
                hits.answer(&[Value::Integer(ids::ident(company as i64))])
            }
            TradeOrder::SECURITY_OF_COMPANY => {
                let company = row(p[0]).initial as i64;
                let entry = of_security(company * SECURITIES / COMPANIES);
                hits.rows(entry, 1);
                hits.entry(entry);
                hits.answer(&[Value::Text("NYSE")])
            }
            TradeOrder::SECURITY => {
                let security = self.security(v.first());
                hits.rows(of_security(security), 1);
                let company = Value::Integer(ids::ident(company(security)));
                hits.answer(&[company, Value::Text("NYSE")])
            }
            TradeOrder::LAST_PRICE => {
                hits.rows(of_security(self.security(v.first())), 1);
                hits.answer(&[money(2500)])
            }
            // Its few rows are on one page.
            TradeOrder::TRADE_TYPE => hits.answer(&[]),
            TradeOrder::HELD => {
                self.looked_at = (p[0], self.security(v.get(1)));
                let held = self.held(p[0], self.looked_at.1);
                hits.rows(self.summary(p[0], self.looked_at.1), 1);
                match held {
                    0 => 0,
                    held => hits.answer(&[Value::Integer(held)]),
                }
            }
            TradeOrder::NEWEST_HOLDINGS | TradeOrder::OLDEST_HOLDINGS => {
                let mut lots = self.lots(p[0], self.security(v.get(1))).clone();
                if matches!(statement, TradeOrder::NEWEST_HOLDINGS) {
                    lots.reverse();
                }
                self.answer_lots(hits, p[0], &lots)
            }
            TradeOrder::TAX_RATE => {
                hits.rows(Place::initial(row(p[0]).initial * 2), 2);
                hits.read_key(TAXRATE, self.any(TAXRATE, p[0], 14));
                hits.read_key(TAXRATE, self.any(TAXRATE, p[0], 15));
                // Some 30%.
                hits.answer(&[Value::Decimal {
                    unscaled: 30_000,
                    scale: RATE_SCALE,
                }])
            }
            TradeOrder::COMMISSION_RATE => {
                hits.rows(self.any(COMMISSION_RATE, p[0], 16), 1);
                hits.answer(&[money(32)])
            }
            TradeOrder::CHARGE => {
                hits.rows(self.any(CHARGE, p[0], 17), 1);
                hits.answer(&[money(500)])
            }
            TradeOrder::BALANCE => hits.row(self.account_row(p[0])),
            TradeOrder::HOLDINGS_VALUE => {
                self.read_summaries(hits, p[0], |hits, security| {
                    hits.read_key(LAST_TRADE, security);
                });
                hits.answer(&[])
            }
            TradeOrder::INSERT_TRADE => self.insert_trade(hits, v, p),
            TradeOrder::INSERT_REQUEST => {
                let id = p[0];
                let security = self.security(v.get(2));
                self.requests.entry(security).or_default().push(id);
                if let Some(new) = self.new.get_mut(&id) {
                    new.broker = p[5];
                }
                let place = self.of_trade(TRADE_REQUEST, id);
                hits.row_with_entries(place, &[place, place])
            }
            TradeOrder::INSERT_HISTORY => self.insert_history(hits, p[0], v.get(2)),
        }
    }

    fn answer_account(&self, hits: &mut Hits<'_, '_>, account: i64) -> u64 {
        hits.rows(self.account_row(account), 1);
        hits.answer(&[
            Value::Text("x"),
            Value::Integer(ids::ident(customers::broker(&self.scale, account))),
            Value::Integer(ids::ident(owner(account).0)),
            Value::Integer(customers::tax_status(&self.scale, account)),
        ])
    }

    fn answer_customer(&self, hits: &mut Hits<'_, '_>, customer: i64) -> u64 {
        hits.rows(row(customer), 1);
        let person = Person::new(self.scale.seed, customer);
        let mut tax_ident = String::new();
        person.push_tax_ident(&mut tax_ident);
        hits.answer(&[
            Value::Text(person.first.as_str()),
            Value::Text(person.last.as_str()),
            Value::Integer(tier(row(customer).initial as i64) as i64),
            Value::Text(&tax_ident),
        ])
    }

    fn answer_lots(&self, hits: &mut Hits<'_, '_>, account: i64, lots: &[Lot]) -> u64 {
        hits.rows(
            self.last_of_account(HOLDING, account),
            lots.len().max(1) as u64,
        );
        for lot in lots {
            hits.entry(lot.row);
            let (id, quantity) = (Value::Integer(lot.trade), Value::Integer(lot.quantity));
            hits.answer(&[id, quantity, money(lot.price)]);
        }
        lots.len() as u64
    }

    /// A trade's entries are one behind the other, by their status.
    fn insert_history(
        &self,
        hits: &mut Hits<'_, '_>,
        trade: i64,
        status: Option<&Value<'_>>,
    ) -> u64 {
        let entry = match status {
            Some(Value::Text("CMPT")) => 0,
            Some(Value::Text("PNDG")) => 1,
            _ => 2,
        };
        hits.refer(TRADES, self.of_trade(TRADES, trade));
        let Place { initial, later } = self.of_trade(TRADE_HISTORY, trade);
        hits.row(Place::behind(initial, later * 3 + entry))
    }

    fn insert_trade(&mut self, hits: &mut Hits<'_, '_>, v: &[Value<'_>], p: [i64; 14]) -> u64 {
        let (id, account) = (p[0], p[8]);
        let security = self.security(v.get(5));
        let entries = self.newest_entries(account, security);
        hits.refer(SECURITY, of_security(security));
        hits.refer(CUSTOMER_ACCOUNT, self.account_row(account));
        hits.row_with_entries(self.of_trade(TRADES, id), &entries);
        let new = NewTrade {
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

    /// Where a trade's entries come in the indexes by account and by security.
    fn newest_entries(&mut self, account: i64, security: i64) -> [Place; 2] {
        let of_account = self.last_of_account(TRADES, account);
        let of_security = self.last_of_security(TRADES, security);
        [self.behind(of_account), self.behind(of_security)]
    }

    /// A new trade's time changes: its entries move.
    pub(super) fn change_time(&mut self, hits: &mut Hits<'_, '_>, id: i64) -> u64 {
        hits.rows(self.of_trade(TRADES, id), 1);
        let Some(&NewTrade {
            account,
            security,
            entries,
            ..
        }) = self.new.get(&id)
        else {
            return 1;
        };
        let moved = self.newest_entries(account, security);
        hits.move_entries(&[[entries[0], moved[0]], [entries[1], moved[1]]]);
        if let Some(new) = self.new.get_mut(&id) {
            new.entries = moved;
        }
        1
    }
}
