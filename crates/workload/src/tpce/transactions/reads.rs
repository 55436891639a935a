//! Transactions that only read, but for Trade-Lookup: Broker-Volume, Customer-Position,
//! Market-Watch, Security-Detail and Trade-Status.

use std::mem;

use super::Runner;
use crate::{
    Connection, Outcome, Result,
    answer::{integer, or_null, text, transact},
    connection::{Access, Value},
    money::cents,
    tpce::{
        ids::ident,
        industries::{SECTORS, push_industry_name},
        inputs::{BrokerVolume, CustomerPosition, MarketWatch, SecurityDetail, WatchedSecurities},
        people::Person,
        population::push_broker_name,
        scaled::Scale,
        securities::Symbol,
        statements::{self as sql, BROKERS_MAX},
    },
};

impl Runner {
    /// Broker-Volume (clause 3.3.1): what is requested of a sector's securities, by broker.
    pub(in crate::tpce) fn broker_volume(
        &mut self,
        connection: &mut dyn Connection,
        scale: &Scale,
        input: &BrokerVolume,
    ) -> Result<Outcome> {
        let brokers = &input.brokers[..input.count];
        for (name, broker) in self.names.iter_mut().zip(brokers) {
            name.clear();
            push_broker_name(scale.seed, name, *broker);
        }
        // Where there are fewer names the first one stands for the rest.
        let named = |place: usize| &self.names[if place < input.count { place } else { 0 }];
        let (_, sector) = SECTORS[input.sector];
        let parameters: [Value<'_>; BROKERS_MAX + 1] = std::array::from_fn(|place| match place {
            BROKERS_MAX => Value::Text(sector),
            place => Value::Text(named(place)),
        });
        transact(connection, sql::STATEMENTS, Access::Read, |connection| {
            connection.all(sql::BROKER_VOLUME, &parameters, |row| {
                text(row, 0)?;
                cents(row, 1).map(drop)
            })?;
            Ok(Outcome::Committed)
        })
    }

    /// Customer-Position (clause 3.3.2): what a customer's accounts are worth, and what
    /// became of the latest trades of one of them.
    pub(in crate::tpce) fn customer_position(
        &mut self,
        connection: &mut dyn Connection,
        scale: &Scale,
        input: &CustomerPosition,
    ) -> Result<Outcome> {
        let mut number = ident(input.customer);
        let tax_ident = &mut self.tax_ident;
        if input.by_tax_id {
            tax_ident.clear();
            Person::new(scale.seed, number).push_tax_ident(tax_ident);
        }
        transact(connection, sql::STATEMENTS, Access::Read, |connection| {
            if input.by_tax_id {
                let tax_ident = Value::Text(tax_ident);
                let found =
                    connection.one(sql::CUSTOMER_BY_TAX_ID, &[tax_ident], |row| integer(row, 0));
                number = found?;
            }
            let customer = Value::Integer(number);
            connection.one(sql::CUSTOMER, &[customer], |row| text(row, 1).map(drop))?;
            let (mut place, mut chosen) = (0, None);
            connection.all(sql::CUSTOMER_ASSETS, &[customer], |row| {
                let account = integer(row, 0)?;
                cents(row, 2)?;
                if chosen.is_none() || input.history == Some(place) {
                    chosen = Some(account);
                }
                place += 1;
                Some(())
            })?;
            if let (Some(_), Some(account)) = (input.history, chosen) {
                let account = [Value::Integer(account)];
                connection.all(sql::LATEST_HISTORY, &account, |row| {
                    integer(row, 0).map(drop)
                })?;
            }
            Ok(Outcome::Committed)
        })
    }

    /// Market-Watch (clause 3.3.4): how the worth of securities has changed since a day.
    pub(in crate::tpce) fn market_watch(
        &mut self,
        connection: &mut dyn Connection,
        input: &MarketWatch,
    ) -> Result<Outcome> {
        let day = Value::Timestamp(input.day);
        transact(connection, sql::STATEMENTS, Access::Read, |connection| {
            // No securities have no sums.
            let read = |row: &dyn crate::connection::Row| {
                or_null(row, 0, cents)?;
                or_null(row, 1, cents).map(drop)
            };
            match input.watched {
                WatchedSecurities::List(customer) => {
                    let customer = Value::Integer(ident(customer));
                    connection.one(sql::WATCH_BY_LIST, &[customer, day], read)?;
                }
                WatchedSecurities::Account(account) => {
                    let account = Value::Integer(account);
                    connection.one(sql::WATCH_BY_ACCOUNT, &[account, day], read)?;
                }
                WatchedSecurities::Industry(industry, [first, last]) => {
                    self.name.clear();
                    push_industry_name(&mut self.name, industry);
                    let [first, last] = [first, last].map(|company| Value::Integer(ident(company)));
                    let parameters = [Value::Text(&self.name), first, last, day];
                    connection.one(sql::WATCH_BY_INDUSTRY, &parameters, read)?;
                }
            }
            Ok(Outcome::Committed)
        })
    }

    /// Security-Detail (clause 3.3.5): all that is known of a security and its company.
    pub(in crate::tpce) fn security_detail(
        &mut self,
        connection: &mut dyn Connection,
        scale: &Scale,
        input: &SecurityDetail,
    ) -> Result<Outcome> {
        let symbol = Symbol::new(scale, input.security);
        let symbol = Value::Text(symbol.as_str());
        transact(connection, sql::STATEMENTS, Access::Read, |connection| {
            let company = connection.one(sql::SECURITY_DETAIL, &[symbol], |row| integer(row, 1))?;
            let company = [Value::Integer(company)];
            let days = [
                symbol,
                Value::Timestamp(input.first_day),
                Value::Integer(input.days),
            ];
            let mut pipeline = mem::take(&mut self.pipeline).emptied();
            pipeline.query(sql::COMPETITORS, 0..=3, &company);
            pipeline.query(sql::FINANCIALS, 1..=20, &company);
            pipeline.query(sql::DAYS, 0..=20, &days);
            pipeline.query(sql::LAST_PRICES, 1..=1, &[symbol]);
            let news = match input.with_whole_news {
                true => sql::NEWS_WHOLE,
                false => sql::NEWS,
            };
            pipeline.query(news, 1..=2, &company);
            connection.run(&mut pipeline, |_, _| Some(()))?;
            self.pipeline = pipeline.emptied();
            Ok(Outcome::Committed)
        })
    }

    /// Trade-Status (clause 3.3.9): the latest trades of an account.
    pub(in crate::tpce) fn trade_status(
        &mut self,
        connection: &mut dyn Connection,
        account: i64,
    ) -> Result<Outcome> {
        transact(connection, sql::STATEMENTS, Access::Read, |connection| {
            let account = [Value::Integer(account)];
            let mut pipeline = mem::take(&mut self.pipeline);
            pipeline.query(sql::LATEST_TRADES, 0..=50, &account);
            pipeline.query(sql::ACCOUNT_PEOPLE, 1..=1, &account);
            connection.run(&mut pipeline, |position, row| match position {
                0 => integer(row, 0).map(drop),
                _ => text(row, 0).map(drop),
            })?;
            self.pipeline = pipeline.emptied();
            Ok(Outcome::Committed)
        })
    }
}
