//! Consistency conditions of clause 7.3, and what follows from the transactions.
//!
//! Memory is that of brokers, and of what the accounts of a load unit hold.

use std::collections::BTreeMap;

use super::{
    calendar::MARKET_DAYS,
    customers::ACCOUNT_NUMBERS,
    ids::LOAD_UNIT,
    ids::account,
    scaled::{ACCOUNTS, COMPANIES, SECURITIES, Scale},
    statements as sql,
};
use crate::{
    Condition, Connection, Result,
    answer::{Prepared, integer, or_null, text},
    connection::{Row, Value},
    money::{Money, cents},
};

/// Checks all conditions.
pub(super) fn check(connection: &mut dyn Connection, scale: &Scale) -> Result<Vec<Condition>> {
    let connection = &mut Prepared::new(connection, sql::STATEMENTS);
    let mut conditions = vec![rows(connection, scale)?];
    conditions.extend(brokers(connection)?);
    conditions.push(holdings(connection, scale)?);
    conditions.extend(trades(connection)?);
    Ok(conditions)
}

/// Rows of the tables that never grow.
fn rows(connection: &mut Prepared<'_>, scale: &Scale) -> Result<Condition> {
    let mut condition = Condition::new("rows");
    let units = scale.load_units();
    for (statement, name, wanted) in [
        (sql::COUNT_CUSTOMERS, "customer", LOAD_UNIT),
        (sql::COUNT_ACCOUNTS, "customer_account", ACCOUNTS),
        (sql::COUNT_BROKERS, "broker", super::scaled::BROKERS),
        (sql::COUNT_SECURITIES, "security", SECURITIES),
        (sql::COUNT_LAST_TRADES, "last_trade", SECURITIES),
        (sql::COUNT_DAYS, "daily_market", MARKET_DAYS * SECURITIES),
        (sql::COUNT_COMPANIES, "company", COMPANIES),
        (sql::COUNT_NEWS, "news_item", 2 * COMPANIES),
        (sql::COUNT_WATCH_LISTS, "watch_list", LOAD_UNIT),
    ] {
        let found = connection.count(statement)?;
        let wanted = wanted * units;
        condition.expect(found == wanted, || {
            format!("{name} has {found} rows instead of {wanted}")
        });
    }
    Ok(condition)
}

/// 7.3.1.1 and 7.3.1.2: brokers' trades and commissions are those of the completed trades.
fn brokers(connection: &mut Prepared<'_>) -> Result<[Condition; 2]> {
    let mut completed: BTreeMap<i64, (i64, i64)> = BTreeMap::new();
    connection.all(sql::CHECK_COMPLETED, &[Value::Text("CMPT")], |row| {
        let (trades, sum) = completed.entry(integer(row, 0)?).or_default();
        *trades += 1;
        *sum = sum.saturating_add(cents(row, 1)?);
        Some(())
    })?;
    let mut trades = Condition::new("7.3.1.1");
    let mut commissions = Condition::new("7.3.1.2");
    connection.all(sql::CHECK_BROKERS, &[], |row| {
        let broker = integer(row, 0)?;
        let (count, sum) = (integer(row, 1)?, cents(row, 2)?);
        let (wanted, paid) = completed.remove(&broker).unwrap_or_default();
        trades.expect(count == wanted, || {
            format!("broker {broker}: b_num_trades is {count}, and {wanted} trades are completed")
        });
        commissions.expect(sum == paid, || {
            format!(
                "broker {broker}: b_comm_total is {}, and commissions of completed trades sum to {}",
                Money(sum),
                Money(paid)
            )
        });
        Some(())
    })?;
    for broker in completed.keys() {
        trades.expect(false, || {
            format!("there are trades of broker {broker}, who is not there")
        });
    }
    Ok([trades, commissions])
}

/// 7.3.1.3: what accounts hold of a security is the sum of its lots.
fn holdings(connection: &mut Prepared<'_>, scale: &Scale) -> Result<Condition> {
    let mut condition = Condition::new("7.3.1.3");
    let mut held: BTreeMap<(i64, String), i64> = BTreeMap::new();
    for unit in 0..scale.load_units() {
        let first = account(unit * LOAD_UNIT, 0);
        let accounts = [first, first + ACCOUNT_NUMBERS - 1].map(Value::Integer);
        held.clear();
        connection.all(sql::CHECK_HOLDINGS, &accounts, |row| {
            let key = (integer(row, 0)?, text(row, 1)?.to_owned());
            held.insert(key, integer(row, 2)?);
            Some(())
        })?;
        connection.all(sql::CHECK_SUMMARIES, &accounts, |row| {
            let key = (integer(row, 0)?, text(row, 1)?.to_owned());
            let (sum, lots) = (integer(row, 2)?, held.remove(&key).unwrap_or(0));
            condition.expect(sum == lots && sum != 0, || {
                let (account, symbol) = key;
                format!("account {account}, {symbol}: hs_qty is {sum}, and its lots sum to {lots}")
            });
            Some(())
        })?;
        if let Some(((account, symbol), lots)) = held.iter().next() {
            condition.expect(false, || {
                format!("account {account}, {symbol}: lots sum to {lots}, and hs_qty is missing")
            });
        }
    }
    Ok(condition)
}

/// Beyond the specification: the rows that each trade leaves are there.
fn trades(connection: &mut Prepared<'_>) -> Result<Vec<Condition>> {
    let [
        all,
        completed,
        completed_cash,
        pending,
        cancelled,
        with_limit,
    ] = connection.one(sql::CHECK_STATUSES, &[], integers)?;
    let [was_completed, was_cancelled, was_pending, was_submitted] =
        connection.one(sql::CHECK_HISTORY, &[], integers)?;
    let mut conditions = Vec::new();
    let mut expect = |clause: &str, what: &str, found: i64, wanted: i64| {
        let mut condition = Condition::new(clause);
        condition.expect(found == wanted, || {
            format!("{what}: {found} instead of {wanted}")
        });
        conditions.push(condition);
    };
    expect(
        "settlements",
        "settlements of completed trades",
        connection.count(sql::COUNT_SETTLEMENTS)?,
        completed,
    );
    expect(
        "requests",
        "requests of pending trades",
        connection.count(sql::COUNT_REQUESTS)?,
        pending,
    );
    expect(
        "history, CMPT",
        "trades that were completed",
        was_completed,
        completed,
    );
    expect(
        "history, CNCL",
        "trades that were cancelled",
        was_cancelled,
        cancelled,
    );
    expect(
        "history, PNDG",
        "trades that waited for a price",
        was_pending,
        with_limit,
    );
    expect(
        "history, SBMT",
        "trades that were submitted",
        was_submitted,
        all - pending,
    );
    let sums = |connection: &mut Prepared<'_>, statement| {
        connection.one(statement, &[], |row| {
            Some((integer(row, 0)?, cents(row, 1)?))
        })
    };
    let (paid, amount) = sums(connection, sql::CHECK_CASH)?;
    let (settled, due) = sums(connection, sql::CHECK_SETTLED_CASH)?;
    expect(
        "cash",
        "cash transactions of settled cash trades",
        paid,
        settled,
    );
    expect(
        "cash amounts",
        "cents of cash transactions and of their settlements",
        amount,
        due,
    );
    expect(
        "cash trades",
        "cash transactions of completed cash trades",
        paid,
        completed_cash,
    );
    let changed = connection.one(sql::CHECK_CHANGES, &[], |row| {
        integer(row, 0)?;
        or_null(row, 1, integer)
    })?;
    let shares = connection.one(sql::CHECK_SHARES, &[Value::Text("CMPT")], |row| {
        or_null(row, 0, integer)
    })?;
    expect(
        "holding history",
        "shares of holding_history and of completed trades",
        changed.unwrap_or(0),
        shares.unwrap_or(0),
    );
    Ok(conditions)
}

/// The first columns of a row, all whole numbers.
fn integers<const COUNT: usize>(row: &dyn Row) -> Option<[i64; COUNT]> {
    let mut found = [0; COUNT];
    for (column, number) in found.iter_mut().enumerate() {
        *number = integer(row, column)?;
    }
    Some(found)
}
