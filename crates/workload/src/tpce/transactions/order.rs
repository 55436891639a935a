//! Trade-Order (clause 3.3.7).

use std::mem;

use super::{Runner, copy};
use crate::{
    Connection, Outcome, Result,
    answer::{Prepared, integer, transact},
    connection::{Access, Value},
    money::{cents, money},
    tpce::{
        holdings::Effect,
        inputs::TradeOrder,
        people::Person,
        prices,
        scaled::Scale,
        schema::RATE_SCALE,
        securities::{self, Symbol, push_company_name},
        statements as sql,
    },
};

/// What is known of an account.
struct Account {
    broker: i64,
    customer: i64,
    tax_status: i64,
    tier: i64,
}

impl Runner {
    /// Makes an order with this number at this time; answers also what is asked for each
    /// share, in cents.
    pub(in crate::tpce) fn trade_order(
        &mut self,
        connection: &mut dyn Connection,
        scale: &Scale,
        input: &TradeOrder,
        [trade, now]: [i64; 2],
    ) -> Result<(Outcome, i64)> {
        let mut price = input.limit;
        let access = Access::WriteRepeatable;
        let outcome = transact(connection, sql::STATEMENTS, access, |connection| {
            let account = self.look_at_account(connection, input)?;
            self.check_executor(connection, scale, input)?;
            let costs = self.estimate(connection, scale, input, &account)?;
            price = costs.price;
            self.insert(
                connection,
                scale,
                input,
                [trade, now, account.broker],
                &costs,
            )?;
            Ok(match input.rolls_back {
                true => Outcome::RolledBack,
                false => Outcome::Committed,
            })
        })?;
        Ok((outcome, price))
    }

    /// The first frame: the account, its owner and its broker.
    fn look_at_account(
        &mut self,
        connection: &mut Prepared<'_>,
        input: &TradeOrder,
    ) -> Result<Account> {
        let number = [Value::Integer(input.account)];
        let mut account = connection.one(sql::ACCOUNT, &number, |row| {
            Some(Account {
                broker: integer(row, 1)?,
                customer: integer(row, 2)?,
                tax_status: integer(row, 3)?,
                tier: 0,
            })
        })?;
        let mut pipeline = mem::take(&mut self.pipeline);
        pipeline.query(
            sql::CUSTOMER_NAMES,
            1..=1,
            &[Value::Integer(account.customer)],
        );
        pipeline.query(sql::BROKER_NAME, 1..=1, &[Value::Integer(account.broker)]);
        let (first, last, tax) = (&mut self.name, &mut self.other, &mut self.tax_ident);
        connection.run(&mut pipeline, |position, row| {
            if position == 0 {
                copy(row, 0, first)?;
                copy(row, 1, last)?;
                account.tier = integer(row, 2)?;
                copy(row, 3, tax)?;
            }
            Some(())
        })?;
        self.pipeline = pipeline.emptied();
        Ok(account)
    }

    /// The second frame: whoever is not the owner has to have the right. Leaves the name of
    /// who orders in `name`.
    fn check_executor(
        &mut self,
        connection: &mut Prepared<'_>,
        scale: &Scale,
        input: &TradeOrder,
    ) -> Result<()> {
        let executor = Person::new(scale.seed, input.executor);
        self.executor.clear();
        executor.push_tax_ident(&mut self.executor);
        let (first, last) = (executor.first.as_str(), executor.last.as_str());
        if (first, last, &self.executor) != (&self.name, &self.other, &self.tax_ident) {
            let parameters = [
                Value::Integer(input.account),
                Value::Text(first),
                Value::Text(last),
                Value::Text(&self.executor),
            ];
            connection.one(sql::PERMISSION, &parameters, |_| Some(()))?;
        }
        self.name.clear();
        executor.push_name(&mut self.name);
        Ok(())
    }

    /// The third frame: what the order would bring and cost.
    fn estimate(
        &mut self,
        connection: &mut Prepared<'_>,
        scale: &Scale,
        input: &TradeOrder,
        account: &Account,
    ) -> Result<Costs> {
        let symbol = Symbol::new(scale, input.security);
        let symbol = Value::Text(symbol.as_str());
        let kind = Value::Text(input.kind.id());
        self.find_security(connection, input, symbol)?;
        let number = Value::Integer(input.account);
        let tier = Value::Integer(account.tier);
        let quantity = Value::Integer(input.quantity);
        let exchange = Value::Text(&self.exchange);
        let mut pipeline = mem::take(&mut self.pipeline).emptied();
        pipeline.query(sql::LAST_PRICE, 1..=1, &[symbol]);
        pipeline.query(sql::TRADE_TYPE, 1..=1, &[kind]);
        pipeline.query(sql::HELD, 0..=1, &[number, symbol]);
        pipeline.query(
            sql::COMMISSION_RATE,
            1..=1,
            &[tier, kind, exchange, quantity],
        );
        pipeline.query(sql::CHARGE, 1..=1, &[tier, kind]);
        let (mut market, mut held, mut rate, mut charge) = (0, 0, 0, 0);
        connection.run(&mut pipeline, |position, row| {
            match position {
                0 => market = cents(row, 0)?,
                1 => return integer(row, 1).map(drop),
                2 => held = integer(row, 0)?,
                3 => rate = cents(row, 0)?,
                _ => charge = cents(row, 0)?,
            }
            Some(())
        })?;
        self.pipeline = pipeline.emptied();
        let price = match input.kind.is_market() {
            true => market,
            false => input.limit,
        };
        self.estimate_tax(connection, input, account, [held, price], symbol)?;
        if input.on_margin {
            let mut pipeline = mem::take(&mut self.pipeline);
            pipeline.query(sql::BALANCE, 1..=1, &[number]);
            pipeline.query(sql::HOLDINGS_VALUE, 1..=1, &[number]);
            connection.run(&mut pipeline, |_, row| cents(row, 0).map(drop))?;
            self.pipeline = pipeline.emptied();
        }
        Ok(Costs {
            price,
            charge,
            commission: prices::of_rate(input.quantity * price, rate),
        })
    }

    /// Finds the security by its symbol, or by its company and issue. Leaves its exchange in
    /// `exchange`.
    fn find_security(
        &mut self,
        connection: &mut Prepared<'_>,
        input: &TradeOrder,
        symbol: Value<'_>,
    ) -> Result<()> {
        let exchange = &mut self.exchange;
        if input.by_company_name {
            self.other.clear();
            push_company_name(&mut self.other, securities::company(input.security));
            let name = [Value::Text(&self.other)];
            let company = connection.one(sql::COMPANY_BY_NAME, &name, |row| integer(row, 0))?;
            let issue = Value::Text(securities::issue(input.security));
            let parameters = [Value::Integer(company), issue];
            connection.one(sql::SECURITY_OF_COMPANY, &parameters, |row| {
                copy(row, 0, exchange)
            })
        } else {
            let company = connection.one(sql::SECURITY, &[symbol], |row| {
                copy(row, 1, exchange)?;
                integer(row, 0)
            })?;
            connection.one(sql::COMPANY_NAME, &[Value::Integer(company)], |_| Some(()))
        }
    }

    /// What the tax would be, if the order closes what is held.
    fn estimate_tax(
        &mut self,
        connection: &mut Prepared<'_>,
        input: &TradeOrder,
        account: &Account,
        [held, price]: [i64; 2],
        symbol: Value<'_>,
    ) -> Result<()> {
        let is_sell = input.kind.is_sell();
        if held == 0 || (held > 0) != is_sell {
            return Ok(());
        }
        self.read_lots(connection, input.account, symbol, input.is_lifo)?;
        let mut effect = Effect::default();
        let mut needed = input.quantity;
        for (_, quantity, lot_price) in &self.lots {
            let closed = needed.min(quantity.saturating_abs());
            effect.close(is_sell, closed, *lot_price, price);
            needed -= closed;
            if needed == 0 {
                break;
            }
        }
        // The customer is shown it.
        let _estimated = tax(
            connection,
            effect.profit(),
            account.tax_status,
            account.customer,
        )?;
        Ok(())
    }

    /// Reads an account's lots of a security, in the order in which they go.
    pub(super) fn read_lots(
        &mut self,
        connection: &mut Prepared<'_>,
        account: i64,
        symbol: Value<'_>,
        is_lifo: bool,
    ) -> Result<()> {
        let statement = match is_lifo {
            true => sql::NEWEST_HOLDINGS,
            false => sql::OLDEST_HOLDINGS,
        };
        let lots = &mut self.lots;
        lots.clear();
        connection.all(statement, &[Value::Integer(account), symbol], |row| {
            lots.push((integer(row, 0)?, integer(row, 1)?, cents(row, 2)?));
            Some(())
        })?;
        Ok(())
    }

    /// The fourth frame.
    fn insert(
        &mut self,
        connection: &mut Prepared<'_>,
        scale: &Scale,
        input: &TradeOrder,
        [trade, now, broker]: [i64; 3],
        costs: &Costs,
    ) -> Result<()> {
        let symbol = Symbol::new(scale, input.security);
        let symbol = Value::Text(symbol.as_str());
        let trade = Value::Integer(trade);
        let now = Value::Timestamp(now);
        let is_market = input.kind.is_market();
        let status = Value::Text(if is_market { "SBMT" } else { "PNDG" });
        let kind = Value::Text(input.kind.id());
        let quantity = Value::Integer(input.quantity);
        let mut pipeline = mem::take(&mut self.pipeline).emptied();
        let row = [
            trade,
            now,
            status,
            kind,
            Value::Integer((!input.on_margin).into()),
            symbol,
            quantity,
            money(costs.price),
            Value::Integer(input.account),
            Value::Text(&self.name),
            money(costs.charge),
            money(costs.commission),
            money(0),
            Value::Integer(input.is_lifo.into()),
        ];
        pipeline.change(sql::INSERT_TRADE, 1..=1, &row);
        if !is_market {
            let broker = Value::Integer(broker);
            let row = [trade, kind, symbol, quantity, money(costs.price), broker];
            pipeline.change(sql::INSERT_REQUEST, 1..=1, &row);
        }
        pipeline.change(sql::INSERT_HISTORY, 1..=1, &[trade, now, status]);
        connection.run(&mut pipeline, |_, _| Some(()))?;
        self.pipeline = pipeline.emptied();
        Ok(())
    }
}

/// Of an order, in cents.
struct Costs {
    price: i64,
    charge: i64,
    commission: i64,
}

/// The tax on a profit, by the rates of the account's owner.
pub(super) fn tax(
    connection: &mut Prepared<'_>,
    profit: i64,
    tax_status: i64,
    customer: i64,
) -> Result<i64> {
    if profit == 0 || !(1..=2).contains(&tax_status) {
        return Ok(0);
    }
    let rate = connection.one(sql::TAX_RATE, &[Value::Integer(customer)], |row| {
        crate::answer::decimal(row, 0, RATE_SCALE)
    })?;
    Ok(prices::tax(profit, rate))
}
