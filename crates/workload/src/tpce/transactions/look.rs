//! Trade-Lookup (clause 3.3.6), and Trade-Update (clause 3.3.10), which changes what it
//! looks at.

use std::{fmt::Write, mem};

use super::{FoundTrade, Runner, copy};
use crate::{
    Connection, Outcome, Result,
    answer::{Prepared, integer, transact},
    connection::{Access, StatementId, Value},
    tpce::{
        inputs::{LOOKED_AT, TradeSelection, lookup_end},
        scaled::Scale,
        securities::Symbol,
        statements as sql,
    },
};

impl Runner {
    pub(in crate::tpce) fn trade_lookup(
        &mut self,
        connection: &mut dyn Connection,
        scale: &Scale,
        look: &TradeSelection,
    ) -> Result<Outcome> {
        transact(connection, sql::STATEMENTS, Access::Read, |connection| {
            match look {
                TradeSelection::Trades(trades) => {
                    self.see(trades);
                    self.read_trades(connection)?;
                }
                TradeSelection::Account { account, from } => {
                    self.find_of_account(connection, scale, *account, *from)?;
                }
                TradeSelection::Security { security, from } => {
                    let statement = sql::TRADES_OF_SECURITY;
                    self.find_of_security(connection, scale, statement, [*security, *from])?;
                }
                TradeSelection::First { account, from } => {
                    return first(connection, *account, *from);
                }
            }
            self.read_what_became(connection)?;
            Ok(Outcome::Committed)
        })
    }

    pub(in crate::tpce) fn trade_update(
        &mut self,
        connection: &mut dyn Connection,
        scale: &Scale,
        look: &TradeSelection,
    ) -> Result<Outcome> {
        transact(
            connection,
            sql::STATEMENTS,
            Access::WriteRepeatable,
            |connection| {
                match look {
                    TradeSelection::Trades(trades) => {
                        self.see(trades);
                        self.each(
                            connection,
                            sql::EXEC_NAME,
                            sql::SET_EXEC_NAME,
                            change_executor,
                        )?;
                        self.read_trades(connection)?;
                    }
                    TradeSelection::Account { account, from }
                    | TradeSelection::First { account, from } => {
                        self.find_of_account(connection, scale, *account, *from)?;
                        self.each(
                            connection,
                            sql::CASH_TYPE,
                            sql::SET_CASH_TYPE,
                            change_cash_type,
                        )?;
                    }
                    TradeSelection::Security { security, from } => {
                        let statement = sql::TRADES_WITH_NAMES;
                        self.find_of_security(connection, scale, statement, [*security, *from])?;
                        self.each(
                            connection,
                            sql::CASH_NAME,
                            sql::SET_CASH_NAME,
                            change_cash_name,
                        )?;
                    }
                }
                self.read_what_became(connection)?;
                Ok(Outcome::Committed)
            },
        )
    }

    /// Looks at trades whose numbers are known.
    fn see(&mut self, trades: &[i64; LOOKED_AT]) {
        self.trades.clear();
        self.trades.extend(trades.iter().map(|id| FoundTrade {
            id: *id,
            ..FoundTrade::default()
        }));
    }

    /// Reads the trades; notes which were paid in cash.
    fn read_trades(&mut self, connection: &mut Prepared<'_>) -> Result<()> {
        let mut pipeline = mem::take(&mut self.pipeline);
        for trade in &self.trades {
            pipeline.query(sql::TRADE_BY_ID, 1..=1, &[Value::Integer(trade.id)]);
        }
        let trades = &mut self.trades;
        connection.run(&mut pipeline, |position, row| {
            trades[position].is_cash = integer(row, 2)? == 1;
            Some(())
        })?;
        self.pipeline = pipeline.emptied();
        Ok(())
    }

    fn find_of_account(
        &mut self,
        connection: &mut Prepared<'_>,
        scale: &Scale,
        account: i64,
        from: i64,
    ) -> Result<()> {
        let trades = &mut self.trades;
        trades.clear();
        let (from, until) = (Value::Timestamp(from), Value::Timestamp(lookup_end(scale)));
        let parameters = [Value::Integer(account), from, until];
        connection.all(sql::TRADES_OF_ACCOUNT, &parameters, |row| {
            trades.push(FoundTrade {
                id: integer(row, 0)?,
                is_cash: integer(row, 1)? == 1,
                quantity: 0,
            });
            Some(())
        })?;
        Ok(())
    }

    fn find_of_security(
        &mut self,
        connection: &mut Prepared<'_>,
        scale: &Scale,
        statement: StatementId,
        [security, from]: [i64; 2],
    ) -> Result<()> {
        let (trades, name) = (&mut self.trades, &mut self.name);
        let with_names = statement == sql::TRADES_WITH_NAMES;
        trades.clear();
        let symbol = Symbol::new(scale, security);
        let (from, until) = (Value::Timestamp(from), Value::Timestamp(lookup_end(scale)));
        let names = &mut self.names;
        connection.all(
            statement,
            &[Value::Text(symbol.as_str()), from, until],
            |row| {
                let trade = FoundTrade {
                    id: integer(row, 0)?,
                    is_cash: integer(row, 1)? == 1,
                    quantity: integer(row, 5)?,
                };
                if with_names {
                    copy(row, 8, name)?;
                    let kind = names.get_mut(trades.len())?;
                    copy(row, 9, kind)?;
                }
                trades.push(trade);
                Some(())
            },
        )?;
        Ok(())
    }

    /// Reads a text of each trade looked at, and writes another: what `change` makes of the
    /// trade, the names of its security and kind, and the text. `None` leaves it.
    fn each(
        &mut self,
        connection: &mut Prepared<'_>,
        read: StatementId,
        write: StatementId,
        change: fn(&FoundTrade, [&str; 2], &str, &mut String) -> bool,
    ) -> Result<()> {
        for (place, trade) in self.trades.iter().enumerate() {
            let id = Value::Integer(trade.id);
            let old = &mut self.exchange;
            if read == sql::CASH_NAME && !trade.is_cash {
                continue;
            }
            let found = connection.at_most_one(read, &[id], |row| copy(row, 0, old))?;
            let kind = self.names.get(place).map_or("", String::as_str);
            self.other.clear();
            if found.is_some() && change(trade, [&self.name, kind], old, &mut self.other) {
                connection.change_one(write, &[Value::Text(&self.other), id])?;
            }
        }
        Ok(())
    }

    /// Reads how the trades looked at were settled, and what happened to them.
    fn read_what_became(&mut self, connection: &mut Prepared<'_>) -> Result<()> {
        let mut pipeline = mem::take(&mut self.pipeline);
        for trade in &self.trades {
            let id = [Value::Integer(trade.id)];
            pipeline.query(sql::SETTLEMENT, 0..=1, &id);
            if trade.is_cash {
                pipeline.query(sql::CASH_TRANSACTION, 0..=1, &id);
            }
            pipeline.query(sql::HISTORY, 1..=3, &id);
        }
        connection.run(&mut pipeline, |_, _| Some(()))?;
        self.pipeline = pipeline.emptied();
        Ok(())
    }
}

/// The fourth frame: what became of the shares of an account's first trade.
fn first(connection: &mut Prepared<'_>, account: i64, from: i64) -> Result<Outcome> {
    let parameters = [Value::Integer(account), Value::Timestamp(from)];
    let trade = connection.at_most_one(sql::FIRST_TRADE, &parameters, |row| integer(row, 0))?;
    if let Some(trade) = trade {
        let trade = [Value::Integer(trade)];
        connection.all(sql::HOLDING_HISTORY, &trade, |row| {
            integer(row, 3).map(drop)
        })?;
    }
    Ok(Outcome::Committed)
}

/// An X comes between the names of who executed a trade, or goes again.
fn change_executor(_: &FoundTrade, _: [&str; 2], old: &str, new: &mut String) -> bool {
    match old.split_once(" X ") {
        Some((first, last)) => {
            new.push_str(first);
            new.push(' ');
            new.push_str(last);
        }
        None => match old.split_once(' ') {
            Some((first, last)) => {
                new.push_str(first);
                new.push_str(" X ");
                new.push_str(last);
            }
            None => new.push_str(old),
        },
    }
    true
}

fn change_cash_type(trade: &FoundTrade, _: [&str; 2], old: &str, new: &mut String) -> bool {
    new.push_str(match (trade.is_cash, old) {
        (true, "Cash Account") => "Cash",
        (true, _) => "Cash Account",
        (false, "Margin Account") => "Margin",
        (false, _) => "Margin Account",
    });
    true
}

fn change_cash_name(
    trade: &FoundTrade,
    [name, kind]: [&str; 2],
    old: &str,
    new: &mut String,
) -> bool {
    let shares = match old.contains(" shares of ") {
        true => "Shares of",
        false => "shares of",
    };
    let _infallible = write!(new, "{kind} {} {shares} {name}", trade.quantity);
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    type Change = fn(&FoundTrade, [&str; 2], &str, &mut String) -> bool;

    fn changed(change: Change, is_cash: bool, old: &str) -> String {
        let trade = FoundTrade {
            id: 1,
            is_cash,
            quantity: 400,
        };
        let mut new = String::new();
        change(
            &trade,
            ["COMMON of Amber Air Company", "Limit-Buy"],
            old,
            &mut new,
        );
        new
    }

    #[test]
    fn texts_change_and_change_back() {
        for (change, is_cash, one, other) in [
            (change_executor as Change, true, "Ada Byron", "Ada X Byron"),
            (change_cash_type, true, "Cash Account", "Cash"),
            (change_cash_type, false, "Margin Account", "Margin"),
            (
                change_cash_name,
                true,
                "Limit-Buy 400 shares of COMMON of Amber Air Company",
                "Limit-Buy 400 Shares of COMMON of Amber Air Company",
            ),
        ] {
            assert_eq!(changed(change, is_cash, one), other);
            assert_eq!(changed(change, is_cash, other), one);
        }
    }
}
