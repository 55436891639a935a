//! Trade-Result.

use super::{
    super::{customers::tier, schema::*, securities::Symbol, statements::TradeResult},
    Lot, TouchedRows, cents, kind, of_security, row,
};
use crate::{connection::Value, money::money, touch::Hits};

impl TouchedRows {
    pub(super) fn result(
        &mut self,
        statement: TradeResult,
        v: &[Value<'_>],
        p: [i64; 14],
        hits: &mut Hits<'_, '_>,
    ) -> u64 {
        match statement {
            TradeResult::TRADE_TO_DO => {
                hits.rows(self.of_trade(TRADES, p[0]), 1);
                let Some(new) = self.new.get(&p[0]) else {
                    return 0;
                };
                let symbol = Symbol::new(&self.scale, new.security);
                let status = if new.is_done { "CMPT" } else { "SBMT" };
                hits.answer(&[
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
            TradeResult::TRADE_TYPE_NAME => {
                let kind = kind(v.first());
                let is_sell = Value::Integer(kind.is_sell().into());
                hits.answer(&[Value::Text(kind.name()), is_sell])
            }
            TradeResult::INSERT_SUMMARY => {
                let key = (p[0], self.security(v.get(1)));
                let place = self.last_of_account(HOLDING_SUMMARY, p[0]);
                let place = self.behind(place);
                self.summaries.insert(key, place);
                hits.row(place)
            }
            TradeResult::UPDATE_SUMMARY => hits.row(self.summary(p[1], self.security(v.get(2)))),
            TradeResult::DELETE_SUMMARY => hits.row(self.summary(p[0], self.security(v.get(1)))),
            TradeResult::INSERT_HOLDING_HISTORY => {
                let place = self.behind_all(HOLDING_HISTORY);
                let lot = self.of_trade(HOLDING_HISTORY, p[0]);
                let lot = self.behind(lot);
                hits.refer(TRADES, self.of_trade(TRADES, p[0]));
                hits.row_with_entries(place, &[lot])
            }
            TradeResult::INSERT_HOLDING => {
                let security = self.security(v.get(2));
                let row = self.of_trade(HOLDING, p[0]);
                let entry = self.last_of_account(HOLDING, p[1]);
                let entry = self.behind(entry);
                self.lots(p[1], security).push(Lot {
                    trade: p[0],
                    quantity: p[5],
                    price: cents(v.get(4)),
                    row,
                    entry,
                });
                hits.row_with_entries(row, &[entry])
            }
            TradeResult::UPDATE_HOLDING => {
                let (account, security) = self.looked_at;
                let mut lots = self.lots(account, security).iter_mut();
                let Some(lot) = lots.find(|lot| lot.trade == p[1]) else {
                    return 1;
                };
                lot.quantity = p[0];
                hits.row(lot.row)
            }
            TradeResult::DELETE_HOLDING => {
                let (account, security) = self.looked_at;
                let lots = self.lots(account, security);
                let Some(place) = lots.iter().position(|lot| lot.trade == p[0]) else {
                    return 1;
                };
                let lot = lots.remove(place);
                hits.row_with_entries(lot.row, &[lot.entry])
            }
            TradeResult::SET_TAX => hits.row(self.of_trade(TRADES, p[1])),
            TradeResult::SECURITY_NAME => {
                hits.rows(of_security(self.security(v.first())), 1);
                hits.answer(&[Value::Text("NYSE"), Value::Text("COMMON of x")])
            }
            TradeResult::TIER => {
                hits.rows(row(p[0]), 1);
                hits.answer(&[Value::Integer(tier(row(p[0]).initial as i64) as i64)])
            }
            TradeResult::COMPLETE_TRADE => {
                if let Some(new) = self.new.get_mut(&p[4]) {
                    new.is_done = true;
                }
                self.change_time(hits, p[4])
            }
            TradeResult::PAY_BROKER => hits.row(row(p[2])),
            TradeResult::INSERT_SETTLEMENT => {
                hits.refer(TRADES, self.of_trade(TRADES, p[0]));
                hits.row(self.of_trade(SETTLEMENT, p[0]))
            }
            TradeResult::CHANGE_BALANCE => hits.row(self.account_row(p[1])),
            TradeResult::INSERT_CASH => hits.row(self.of_trade(CASH_TRANSACTION, p[0])),
        }
    }
}
