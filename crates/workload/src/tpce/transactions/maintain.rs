//! Data-Maintenance (clause 3.3.11): what hardly ever changes is changed, a table at a time.

use std::{fmt::Write, mem};

use super::{Runner, copy};
use crate::{
    Connection, Outcome, Result,
    answer::{Prepared, integer, text, timestamp, transact},
    connection::{Access, StatementId, Value},
    tpce::{
        calendar::{DAY, MARKET_DAYS, market_day, year_month_day},
        ids::ident,
        inputs::MaintenanceTask,
        places::TaxRate,
        scaled::Scale,
        securities::Symbol,
        statements as sql,
    },
};

impl Runner {
    pub(in crate::tpce) fn maintain(
        &mut self,
        connection: &mut dyn Connection,
        scale: &Scale,
        input: &MaintenanceTask,
        now: i64,
    ) -> Result<Outcome> {
        transact(connection, sql::STATEMENTS, Access::Write, |connection| {
            match *input {
                MaintenanceTask::Permission { account } => self.permission(connection, account),
                MaintenanceTask::CustomerAddress { customer } => {
                    self.address(connection, sql::CUSTOMER_ADDRESS, ident(customer))
                }
                MaintenanceTask::CompanyAddress { company } => {
                    self.address(connection, sql::COMPANY_ADDRESS, ident(company))
                }
                MaintenanceTask::Company { company } => self.text_of(
                    connection,
                    sql::RATING,
                    sql::SET_RATING,
                    company,
                    |old, new| {
                        new.push_str(if old == "ABA" { "AAA" } else { "ABA" });
                    },
                ),
                MaintenanceTask::Customer { customer } => self.text_of(
                    connection,
                    sql::MAIL,
                    sql::SET_MAIL,
                    customer,
                    |old, new| {
                        let (name, host) = old.split_once('@').unwrap_or((old, ""));
                        new.push_str(name);
                        new.push_str(match host {
                            "mindspring.com" => "@earthlink.com",
                            _ => "@mindspring.com",
                        });
                    },
                ),
                MaintenanceTask::CustomerTaxRate { customer } => {
                    self.tax_rate(connection, customer)
                }
                MaintenanceTask::DailyMarket {
                    security,
                    day_of_month,
                    more,
                } => self.volumes(connection, scale, security, [day_of_month, more]),
                MaintenanceTask::Exchange => self.exchanges(connection, now),
                MaintenanceTask::Financial { company } => self.quarters(connection, company),
                MaintenanceTask::News { company } => self.news(connection, company),
                MaintenanceTask::Security { security } => listed(connection, scale, security),
                MaintenanceTask::TaxRate { rate } => self.rate_name(connection, rate),
                MaintenanceTask::WatchItem { customer } => self.watched(connection, customer),
            }?;
            Ok(Outcome::Committed)
        })
    }

    fn permission(&mut self, connection: &mut Prepared<'_>, account: i64) -> Result<()> {
        let account = Value::Integer(account);
        let old = &mut self.name;
        connection.one(sql::RIGHTS, &[account], |row| copy(row, 0, old))?;
        let new = if old == "1111" { "0011" } else { "1111" };
        let parameters = [Value::Text(new), account, Value::Text(old)];
        connection
            .change_any(sql::SET_RIGHTS, &parameters)
            .map(drop)
    }

    fn address(
        &mut self,
        connection: &mut Prepared<'_>,
        statement: StatementId,
        number: i64,
    ) -> Result<()> {
        let old = &mut self.name;
        let address = connection.one(statement, &[Value::Integer(number)], |row| {
            copy(row, 1, old)?;
            integer(row, 0)
        })?;
        let new = if old == "Apt. 10C" {
            "Apt. 22"
        } else {
            "Apt. 10C"
        };
        connection.change_one(
            sql::SET_ADDRESS,
            &[Value::Text(new), Value::Integer(address)],
        )
    }

    /// Reads a text of a thing by its ordinal, and writes what `change` makes of it.
    fn text_of(
        &mut self,
        connection: &mut Prepared<'_>,
        read: StatementId,
        write: StatementId,
        ordinal: i64,
        change: impl Fn(&str, &mut String),
    ) -> Result<()> {
        let number = Value::Integer(ident(ordinal));
        let old = &mut self.name;
        connection.one(read, &[number], |row| copy(row, 0, old))?;
        self.other.clear();
        change(old, &mut self.other);
        connection.change_one(write, &[Value::Text(&self.other), number])
    }

    /// The next rate of the customer's country.
    fn tax_rate(&mut self, connection: &mut Prepared<'_>, customer: i64) -> Result<()> {
        let number = Value::Integer(ident(customer));
        let old = &mut self.name;
        connection.one(sql::COUNTRY_RATE, &[number], |row| copy(row, 0, old))?;
        let new = match old.as_str() {
            "US1" => "US2",
            "US2" => "US3",
            "US3" => "US4",
            "US4" => "US5",
            "CN1" => "CN2",
            "CN2" => "CN3",
            "CN3" => "CN4",
            "CN4" => "CN1",
            _ => "US1",
        };
        let parameters = [Value::Text(new), number, Value::Text(old)];
        connection
            .change_any(sql::SET_COUNTRY_RATE, &parameters)
            .map(drop)
    }

    /// All days of a security's market with this number in their month.
    fn volumes(
        &mut self,
        connection: &mut Prepared<'_>,
        scale: &Scale,
        security: i64,
        [day_of_month, more]: [i64; 2],
    ) -> Result<()> {
        let symbol = Symbol::new(scale, security);
        let mut pipeline = mem::take(&mut self.pipeline).emptied();
        for date in (0..MARKET_DAYS).map(market_day) {
            let (_, _, day) = year_month_day(date);
            if day == day_of_month {
                let symbol = Value::Text(symbol.as_str());
                let parameters = [Value::Integer(more), symbol, Value::Timestamp(date)];
                pipeline.change(sql::ADD_VOLUME, 1..=1, &parameters);
            }
        }
        connection.run(&mut pipeline, |_, _| Some(()))?;
        self.pipeline = pipeline.emptied();
        Ok(())
    }

    fn exchanges(&mut self, connection: &mut Prepared<'_>, now: i64) -> Result<()> {
        const UPDATED: &str = " LAST UPDATED ";
        let (names, mut found) = (&mut self.names, 0);
        connection.all(sql::EXCHANGES, &[], |row| {
            copy(row, 0, names.get_mut(2 * found)?)?;
            copy(row, 1, names.get_mut(2 * found + 1)?)?;
            found += 1;
            Some(())
        })?;
        let (year, month, day) = year_month_day(now);
        let seconds = now.rem_euclid(DAY) / 1_000_000;
        for pair in self.names[..2 * found].chunks_exact(2) {
            let [exchange, old] = pair else { continue };
            let (text, _) = old.split_once(UPDATED).unwrap_or((old, ""));
            self.other.clear();
            let _infallible = write!(
                self.other,
                "{text}{UPDATED}{year}-{month:02}-{day:02} {:02}:{:02}:{:02}",
                seconds / 3600,
                seconds / 60 % 60,
                seconds % 60
            );
            let parameters = [Value::Text(&self.other), Value::Text(exchange)];
            connection.change_one(sql::SET_EXCHANGE, &parameters)?;
        }
        Ok(())
    }

    /// Quarters begin a day later, or on the first again.
    fn quarters(&mut self, connection: &mut Prepared<'_>, company: i64) -> Result<()> {
        let company = Value::Integer(ident(company));
        let quarters = &mut self.dates;
        quarters.clear();
        connection.all(sql::QUARTERS, &[company], |row| {
            quarters.push((integer(row, 0)?, integer(row, 1)?, timestamp(row, 2)?));
            Some(())
        })?;
        let is_first = |&(_, _, date): &(i64, i64, i64)| year_month_day(date).2 == 1;
        let step = if quarters.iter().any(is_first) {
            DAY
        } else {
            -DAY
        };
        for (year, quarter, date) in quarters {
            let date = Value::Timestamp(date.saturating_add(step));
            let parameters = [
                date,
                company,
                Value::Integer(*year),
                Value::Integer(*quarter),
            ];
            connection.change_one(sql::SET_QUARTER, &parameters)?;
        }
        Ok(())
    }

    fn news(&mut self, connection: &mut Prepared<'_>, company: i64) -> Result<()> {
        let news = &mut self.dates;
        news.clear();
        connection.all(sql::NEWS_DATES, &[Value::Integer(ident(company))], |row| {
            news.push((integer(row, 0)?, 0, timestamp(row, 1)?));
            Some(())
        })?;
        for (id, _, date) in news {
            let parameters = [
                Value::Timestamp(date.saturating_add(DAY)),
                Value::Integer(*id),
            ];
            connection.change_one(sql::SET_NEWS_DATE, &parameters)?;
        }
        Ok(())
    }

    fn rate_name(&mut self, connection: &mut Prepared<'_>, rate: TaxRate) -> Result<()> {
        self.tax_ident.clear();
        rate.push_id(&mut self.tax_ident);
        let id = Value::Text(&self.tax_ident);
        let old = &mut self.name;
        connection.one(sql::RATE_NAME, &[id], |row| copy(row, 0, old))?;
        let (from, to) = match old.contains(" Tax ") {
            true => (" Tax ", " tax "),
            false => (" tax ", " Tax "),
        };
        let (before, after) = old.split_once(from).unwrap_or((old, ""));
        self.other.clear();
        let _infallible = write!(self.other, "{before}{to}{after}");
        connection.change_one(sql::SET_RATE_NAME, &[Value::Text(&self.other), id])
    }

    /// The middle one of a customer's list is another security: the next that is not in it.
    fn watched(&mut self, connection: &mut Prepared<'_>, customer: i64) -> Result<()> {
        let (names, mut found, mut list) = (&mut self.names, 0, 0);
        connection.all(sql::WATCHED, &[Value::Integer(ident(customer))], |row| {
            list = integer(row, 0)?;
            copy(row, 1, names.get_mut(found)?)?;
            found += 1;
            Some(())
        })?;
        let Some(old) = self.names[..found].get(found.div_ceil(2).saturating_sub(1)) else {
            return Ok(());
        };
        let list = Value::Integer(list);
        let old = Value::Text(old);
        let new = &mut self.name;
        let another = connection.at_most_one(sql::NOT_WATCHED, &[old, list], |row| {
            new.clear();
            new.push_str(text(row, 0)?);
            Some(())
        })?;
        if another.is_some() {
            let parameters = [Value::Text(&self.name), list, old];
            connection.change_any(sql::SET_WATCHED, &parameters)?;
        }
        Ok(())
    }
}

fn listed(connection: &mut Prepared<'_>, scale: &Scale, security: i64) -> Result<()> {
    let symbol = Symbol::new(scale, security);
    let symbol = Value::Text(symbol.as_str());
    let date = connection.one(sql::LISTED, &[symbol], |row| timestamp(row, 0))?;
    connection.change_one(
        sql::SET_LISTED,
        &[Value::Timestamp(date.saturating_add(DAY)), symbol],
    )
}
