//! Trade-Result (clause 3.3.8): a trade is completed.

use std::{fmt::Write, mem};

use super::{Runner, copy, order::tax};
use crate::{
    Connection, Outcome, Result,
    answer::{Prepared, integer, transact},
    connection::{Access, Value},
    money::{cents, money},
    tpce::{
        calendar::{DAY, day_of},
        exchange::CompletedOrder,
        holdings::Effect,
        prices, statements as sql,
        trading::settled,
    },
};

/// What is known of the trade, of its account and of what it is done at.
struct ToDo {
    id: i64,
    account: i64,
    quantity: i64,
    charge: i64,
    is_lifo: bool,
    is_cash: bool,
    is_sell: bool,
    price: i64,
    now: i64,
}

/// Of an account.
struct Owner {
    broker: i64,
    customer: i64,
    tax_status: i64,
}

impl Runner {
    pub(in crate::tpce) fn trade_result(
        &mut self,
        connection: &mut dyn Connection,
        done: &CompletedOrder,
        now: i64,
    ) -> Result<Outcome> {
        let access = Access::WriteSerializable;
        transact(connection, sql::STATEMENTS, access, |connection| {
            if let Some((trade, held)) = self.look_at_trade(connection, done, now)? {
                self.complete(connection, &trade, held)?;
            }
            Ok(Outcome::Committed)
        })
    }

    fn complete(&mut self, connection: &mut Prepared<'_>, trade: &ToDo, held: i64) -> Result<()> {
        let owner = connection.one(sql::ACCOUNT, &[Value::Integer(trade.account)], |row| {
            Some(Owner {
                broker: integer(row, 1)?,
                customer: integer(row, 2)?,
                tax_status: integer(row, 3)?,
            })
        })?;
        let effect = self.change_holdings(connection, trade, held)?;
        let tax = tax(
            connection,
            effect.profit(),
            owner.tax_status,
            owner.customer,
        )?;
        let id = Value::Integer(trade.id);
        if tax > 0 {
            connection.change_one(sql::SET_TAX, &[money(tax), id])?;
        }
        let commission = self.commission(connection, trade, &owner)?;
        let now = Value::Timestamp(trade.now);
        let status = Value::Text("CMPT");
        let value = trade.quantity.saturating_mul(trade.price);
        let withheld = if owner.tax_status == 1 { tax } else { 0 };
        let costs = trade.charge.saturating_add(commission);
        let amount = settled(trade.is_sell, value, costs, withheld);
        let due = Value::Timestamp(day_of(trade.now) + 2 * DAY);
        let cash_type = Value::Text(if trade.is_cash {
            "Cash Account"
        } else {
            "Margin"
        });
        let account = Value::Integer(trade.account);
        let mut pipeline = mem::take(&mut self.pipeline).emptied();
        let completed = [money(commission), now, status, money(trade.price), id];
        pipeline.change(sql::COMPLETE_TRADE, 1..=1, &completed);
        pipeline.change(sql::INSERT_HISTORY, 1..=1, &[id, now, status]);
        let paid = [
            money(commission),
            Value::Integer(1),
            Value::Integer(owner.broker),
        ];
        pipeline.change(sql::PAY_BROKER, 1..=1, &paid);
        let settled = [id, cash_type, due, money(amount)];
        pipeline.change(sql::INSERT_SETTLEMENT, 1..=1, &settled);
        if trade.is_cash {
            pipeline.change(sql::CHANGE_BALANCE, 1..=1, &[money(amount), account]);
            let paid = [id, now, money(amount), Value::Text(&self.other)];
            pipeline.change(sql::INSERT_CASH, 1..=1, &paid);
        }
        pipeline.query(sql::BALANCE, 1..=1, &[account]);
        connection.run(&mut pipeline, |_, row| cents(row, 0).map(drop))?;
        self.pipeline = pipeline.emptied();
        Ok(())
    }

    /// The first frame: the trade and how many shares its account holds. `None` when the
    /// trade is done or cancelled: nobody does it twice. Leaves the symbol, the
    /// kind, and the kind's name in `name`.
    fn look_at_trade(
        &mut self,
        connection: &mut Prepared<'_>,
        done: &CompletedOrder,
        now: i64,
    ) -> Result<Option<(ToDo, i64)>> {
        let mut trade = ToDo {
            id: done.trade,
            account: 0,
            quantity: 0,
            charge: 0,
            is_lifo: false,
            is_cash: false,
            is_sell: false,
            price: done.price,
            now,
        };
        let (symbol, kind, status) = (&mut self.symbol, &mut self.kind, &mut self.other);
        connection.one(sql::TRADE_TO_DO, &[Value::Integer(trade.id)], |row| {
            trade.account = integer(row, 0)?;
            copy(row, 1, kind)?;
            copy(row, 2, symbol)?;
            trade.quantity = integer(row, 3)?;
            trade.charge = cents(row, 4)?;
            trade.is_lifo = integer(row, 5)? == 1;
            trade.is_cash = integer(row, 6)? == 1;
            copy(row, 7, status)
        })?;
        if matches!(status.as_str(), "CMPT" | "CNCL") {
            return Ok(None);
        }
        let mut pipeline = mem::take(&mut self.pipeline).emptied();
        pipeline.query(sql::TRADE_TYPE_NAME, 1..=1, &[Value::Text(kind)]);
        let held_by = [Value::Integer(trade.account), Value::Text(symbol)];
        pipeline.query(sql::HELD, 0..=1, &held_by);
        let (name, mut held) = (&mut self.name, 0);
        connection.run(&mut pipeline, |position, row| {
            match position {
                0 => {
                    copy(row, 0, name)?;
                    trade.is_sell = integer(row, 1)? == 1;
                }
                _ => held = integer(row, 0)?,
            }
            Some(())
        })?;
        self.pipeline = pipeline.emptied();
        Ok(Some((trade, held)))
    }

    /// The second frame: lots go, and what is left over is a new one. The sum of an
    /// account's shares of a security is there before its first lot and goes after its last.
    fn change_holdings(
        &mut self,
        connection: &mut Prepared<'_>,
        trade: &ToDo,
        held: i64,
    ) -> Result<Effect> {
        let account = Value::Integer(trade.account);
        let signed = match trade.is_sell {
            true => -trade.quantity,
            false => trade.quantity,
        };
        let symbol = mem::take(&mut self.symbol);
        let of = Value::Text(&symbol);
        let after = held.saturating_add(signed);
        if held == 0 {
            connection.change_one(sql::INSERT_SUMMARY, &[account, of, Value::Integer(signed)])?;
        } else if after != 0 {
            connection.change_one(sql::UPDATE_SUMMARY, &[Value::Integer(after), account, of])?;
        }
        let mut effect = Effect::default();
        let mut needed = trade.quantity;
        if held != 0 && (held > 0) == trade.is_sell {
            self.read_lots(connection, trade.account, of, trade.is_lifo)?;
            for (lot, quantity, lot_price) in &self.lots {
                if needed == 0 {
                    break;
                }
                let closed = needed.min(quantity.saturating_abs());
                let left = quantity - quantity.signum() * closed;
                note(connection, trade.id, *lot, [*quantity, left])?;
                let lot = Value::Integer(*lot);
                match left {
                    0 => connection.change_one(sql::DELETE_HOLDING, &[lot])?,
                    left => {
                        let parameters = [Value::Integer(left), lot];
                        connection.change_one(sql::UPDATE_HOLDING, &parameters)?;
                    }
                }
                effect.close(trade.is_sell, closed, *lot_price, trade.price);
                needed -= closed;
            }
        }
        if needed > 0 {
            let quantity = needed * signed.signum();
            note(connection, trade.id, trade.id, [0, quantity])?;
            let row = [
                Value::Integer(trade.id),
                account,
                of,
                Value::Timestamp(trade.now),
                money(trade.price),
                Value::Integer(quantity),
            ];
            connection.change_one(sql::INSERT_HOLDING, &row)?;
        } else if after == 0 {
            connection.change_one(sql::DELETE_SUMMARY, &[account, of])?;
        }
        self.symbol = symbol;
        Ok(effect)
    }

    /// The fourth frame: the commission. Leaves CT_NAME in `other`.
    fn commission(
        &mut self,
        connection: &mut Prepared<'_>,
        trade: &ToDo,
        owner: &Owner,
    ) -> Result<i64> {
        let mut pipeline = mem::take(&mut self.pipeline).emptied();
        pipeline.query(sql::SECURITY_NAME, 1..=1, &[Value::Text(&self.symbol)]);
        pipeline.query(sql::TIER, 1..=1, &[Value::Integer(owner.customer)]);
        self.other.clear();
        let quantity = trade.quantity;
        let _infallible = write!(self.other, "{} {quantity} shares of ", self.name);
        let (mut tier, cash_name, exchange) = (0, &mut self.other, &mut self.exchange);
        connection.run(&mut pipeline, |position, row| {
            match position {
                0 => {
                    copy(row, 0, exchange)?;
                    cash_name.push_str(crate::answer::text(row, 1)?);
                }
                _ => tier = integer(row, 0)?,
            }
            Some(())
        })?;
        self.pipeline = pipeline.emptied();
        let parameters = [
            Value::Integer(tier),
            Value::Text(&self.kind),
            Value::Text(&self.exchange),
            Value::Integer(trade.quantity),
        ];
        let rate = connection.one(sql::COMMISSION_RATE, &parameters, |row| cents(row, 0))?;
        Ok(prices::of_rate(trade.quantity * trade.price, rate))
    }
}

/// A row of HOLDING_HISTORY.
fn note(
    connection: &mut Prepared<'_>,
    trade: i64,
    lot: i64,
    [before, after]: [i64; 2],
) -> Result<()> {
    let row = [lot, trade, before, after].map(Value::Integer);
    connection.change_one(sql::INSERT_HOLDING_HISTORY, &row)
}
