//! Trade-Lookup and Trade-Update.

use super::{
    super::{scaled::ACCOUNTS, schema::*, statements::TradeLookup},
    TouchedRows, of_security, time,
};
use crate::{
    connection::Value,
    money::money,
    touch::{AccessPath, Hits},
};

/// The index of HOLDING_HISTORY by lot.
const BY_LOT: AccessPath = AccessPath::Index(0);

impl TouchedRows {
    pub(super) fn look(
        &self,
        statement: TradeLookup,
        v: &[Value<'_>],
        p: [i64; 14],
        hits: &mut Hits<'_, '_>,
    ) -> u64 {
        let id = p[0];
        match statement {
            TradeLookup::TRADE_BY_ID => {
                hits.rows(self.of_trade(TRADES, id), 1);
                let is_cash = Value::Integer(self.is_cash(id).into());
                hits.answer(&[money(1), Value::Text("x x"), is_cash])
            }
            TradeLookup::TRADES_OF_ACCOUNT => {
                let all = (self.scale.load_units() * ACCOUNTS) as f64;
                let before = self.account(id).1;
                self.look_from(hits, [before, all], id, time(v.get(1)), |_| {})
            }
            TradeLookup::TRADES_OF_SECURITY | TradeLookup::TRADES_WITH_NAMES => {
                let all = self.scale.securities() as f64;
                let security = self.security(v.first());
                let before = security as f64 / all;
                let is_named = matches!(statement, TradeLookup::TRADES_WITH_NAMES);
                self.look_from(hits, [before, all], security, time(v.get(1)), |hits| {
                    if is_named {
                        hits.read_key(SECURITY, of_security(security));
                    }
                })
            }
            TradeLookup::SETTLEMENT | TradeLookup::CASH_TYPE => {
                hits.row(self.of_trade(SETTLEMENT, id))
            }
            TradeLookup::CASH_TRANSACTION | TradeLookup::CASH_NAME => {
                hits.row(self.of_trade(CASH_TRANSACTION, id))
            }
            TradeLookup::HISTORY => {
                hits.rows(self.of_trade(TRADE_HISTORY, id), 2);
                hits.answers(2)
            }
            TradeLookup::FIRST_TRADE => {
                let part = self.part_at(time(v.get(1)));
                let all = (self.scale.load_units() * ACCOUNTS) as f64;
                let trade = self.trade_at(id, part);
                hits.rows(self.at(TRADES, self.account(id).1 + part / all), 1);
                hits.entry(self.of_trade(TRADES, trade));
                hits.answer(&[Value::Integer(trade)])
            }
            TradeLookup::HOLDING_HISTORY => {
                let first = self.of_trade(HOLDING_HISTORY, id);
                hits.rows(first, 1);
                hits.read(HOLDING_HISTORY, BY_LOT, first, 2);
                for number in 0..2 {
                    let part = self.part_of_trade(id) + 1e-4 * f64::from(number);
                    hits.entry(self.of_trade(HOLDING_HISTORY, self.trade_at(id, part)));
                }
                hits.answers(2)
            }
            TradeLookup::EXEC_NAME => {
                hits.rows(self.of_trade(TRADES, id), 1);
                // Half of them have the mark that goes.
                let has_mark = !self.drawn(id, 11).is_multiple_of(2);
                hits.answer(&[Value::Text(if has_mark { "x X x" } else { "x x" })])
            }
            TradeLookup::SET_EXEC_NAME => hits.row(self.of_trade(TRADES, p[1])),
            TradeLookup::SET_CASH_TYPE => hits.row(self.of_trade(SETTLEMENT, p[1])),
            TradeLookup::SET_CASH_NAME => hits.row(self.of_trade(CASH_TRANSACTION, p[1])),
        }
    }

    /// Twenty trades of an account or a security from a time on: of one of `all`, with this
    /// part of them before it.
    fn look_from(
        &self,
        hits: &mut Hits<'_, '_>,
        [before, all]: [f64; 2],
        whose: i64,
        from: i64,
        with: impl Fn(&mut Hits<'_, '_>),
    ) -> u64 {
        let each = self.rows[TRADES] as f64 / all;
        let part = self.part_at(from);
        let count = (each * (1.0 - part)).ceil().clamp(1.0, 20.0) as u32;
        hits.rows(self.at(TRADES, before + part / all), count.into());
        for number in 0..count {
            let later = part + (f64::from(number) + 0.5) / each;
            let id = self.trade_at(whose, later);
            hits.entry(self.of_trade(TRADES, id));
            with(hits);
            hits.answer(&[Value::Integer(id), Value::Integer(self.is_cash(id).into())]);
        }
        count.into()
    }
}
