//! Market-Feed.

use super::{
    super::{schema::*, statements::MarketFeed},
    TouchedRows, cents, of_security,
};
use crate::{connection::Value, money::money, touch::Hits};

impl TouchedRows {
    pub(super) fn feed(
        &mut self,
        statement: MarketFeed,
        v: &[Value<'_>],
        p: [i64; 14],
        hits: &mut Hits<'_, '_>,
    ) -> u64 {
        match statement {
            MarketFeed::SET_LAST_TRADE => hits.row(of_security(self.security(v.get(3)))),
            MarketFeed::REQUESTS => {
                let security = self.security(v.first());
                let price = cents(v.get(1));
                let found = self.requests.entry(security).or_default().clone();
                let first = found.first().copied().unwrap_or(0);
                let rows = found.len().max(1) as u64;
                hits.rows(self.of_trade(TRADE_REQUEST, first), rows);
                let mut count = 0;
                for id in found {
                    let Some(new) = self.new.get(&id) else {
                        continue;
                    };
                    hits.entry(self.of_trade(TRADE_REQUEST, id));
                    if new.kind.is_reached(price, new.bid) {
                        count += hits.answer(&[
                            Value::Integer(id),
                            money(new.bid),
                            Value::Text(new.kind.id()),
                            Value::Integer(new.quantity),
                        ]);
                    }
                }
                count
            }
            MarketFeed::DELETE_REQUEST => {
                let id = p[0];
                let Some(new) = self.new.get(&id) else {
                    return 0;
                };
                self.requests
                    .entry(new.security)
                    .or_default()
                    .retain(|other| *other != id);
                let place = self.of_trade(TRADE_REQUEST, id);
                hits.row_with_entries(place, &[place, place])
            }
            MarketFeed::SET_STATUS => self.change_time(hits, p[2]),
        }
    }
}
