//! Market-Feed (clause 3.3.3): what happened on the market, a database transaction each.

use super::Runner;
use crate::{
    Connection, Outcome, Result,
    answer::{Prepared, integer, text, transact},
    connection::{Access, Value},
    money::{cents, money},
    tpce::{
        clock::Clock,
        exchange::{Exchange, FEED, FeedEntry, Order},
        ids,
        scaled::Scale,
        securities::Symbol,
        statements as sql,
        trade_kind::TradeKind,
    },
};

impl Runner {
    /// Begins a feed: after a conflict it goes on with the entry that had it.
    pub(in crate::tpce) fn begin_feed(&mut self) {
        self.told = 0;
    }

    /// Tells a feed at a time. Orders whose limit is reached go to the exchange.
    pub(in crate::tpce) fn market_feed(
        &mut self,
        connection: &mut dyn Connection,
        scale: &Scale,
        feed: &[FeedEntry; FEED],
        clock: &Clock,
        exchange: &mut Exchange,
    ) -> Result<Outcome> {
        while let Some(entry) = feed.get(self.told) {
            let access = Access::WriteRepeatable;
            transact(connection, sql::STATEMENTS, access, |connection| {
                self.tell(connection, scale, entry, clock.now())?;
                Ok(Outcome::Committed)
            })?;
            // Once they are committed: a result must find them.
            for order in self.requests.drain(..) {
                exchange.process(order);
            }
            self.told += 1;
        }
        Ok(Outcome::Committed)
    }

    fn tell(
        &mut self,
        connection: &mut Prepared<'_>,
        scale: &Scale,
        entry: &FeedEntry,
        now: i64,
    ) -> Result<()> {
        let symbol = Symbol::new(scale, entry.security);
        let symbol = Value::Text(symbol.as_str());
        let now = Value::Timestamp(now);
        let price = money(entry.price);
        let changed = [price, Value::Integer(entry.quantity), now, symbol];
        connection.change_one(sql::SET_LAST_TRADE, &changed)?;
        let requests = &mut self.requests;
        requests.clear();
        connection.all(sql::REQUESTS, &[symbol, price], |row| {
            let trade = integer(row, 0)?;
            if trade <= ids::TRADE_SHIFT {
                // A database without rows answers so: with it the market goes on by itself.
                requests.extend(entry.reached);
            } else {
                requests.push(Order {
                    trade,
                    security: entry.security,
                    quantity: integer(row, 3)?,
                    kind: TradeKind::of_id(text(row, 2)?)?,
                    bid: cents(row, 1)?,
                });
            }
            Some(())
        })?;
        let status = Value::Text("SBMT");
        let mut place = 0;
        while let Some(order) = requests.get(place) {
            let id = Value::Integer(order.trade);
            // Whoever deletes a request does the order.
            if connection.change_any(sql::DELETE_REQUEST, &[id])? == 0 {
                requests.remove(place);
                continue;
            }
            connection.change_one(sql::SET_STATUS, &[status, now, id])?;
            connection.change_one(sql::INSERT_HISTORY, &[id, now, status])?;
            place += 1;
        }
        Ok(())
    }
}
