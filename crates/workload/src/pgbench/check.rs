//! That balances are what the history says, and that no row is missing.
//!
//! Tables are read with only the columns that are compared, and joined here.
//! The history, which has no key, is read once for tellers and branches and
//! once for each [`ACCOUNTS_AT_ONCE`] accounts. Memory is 8 bytes for each of
//! these, 32 MB, and for each teller and branch.
//!
//! A sum over no rows is 0, and so is a change that is NULL. Sums saturate
//! rather than overflow: bytes in a damaged file may hold anything.

use std::ops::RangeInclusive;

use super::{
    schema::{ACCOUNTS_PER_UNIT, TELLERS_PER_UNIT},
    statements::{
        CHECK_ACCOUNTS, CHECK_BRANCHES, CHECK_CHANGES, CHECK_HISTORY, CHECK_TELLERS,
        COUNT_ACCOUNTS, STATEMENTS,
    },
};
use crate::{
    Condition, Connection, Result,
    answer::{Prepared, integer, or_null},
    connection::{StatementId, Value},
};

/// Accounts whose changes are summed in one scan of the history.
const ACCOUNTS_AT_ONCE: i64 = 40 * ACCOUNTS_PER_UNIT;

/// Checks all conditions; that tellers and branches agree with the history
/// only when `every_change_has_a_branch`.
pub(super) fn check(
    connection: &mut dyn Connection,
    scale: u32,
    every_change_has_a_branch: bool,
) -> Result<Vec<Condition>> {
    let connection = &mut Prepared::new(connection, STATEMENTS);
    let scale = i64::from(scale);
    let last_account = scale * ACCOUNTS_PER_UNIT;
    let mut tellers = Differences::new("teller", 1..=scale * TELLERS_PER_UNIT);
    let mut branches = Differences::new("branch", 1..=scale);
    let keys = add_history(connection, last_account, &mut tellers, &mut branches)?;
    let teller_table = subtract_balances(connection, CHECK_TELLERS, &[], &mut tellers)?;
    let branch_table = subtract_balances(connection, CHECK_BRANCHES, &[], &mut branches)?;

    let mut accounts = Condition::new("accounts = history");
    let mut account_table = Balances::default();
    for range in ranges(last_account, ACCOUNTS_AT_ONCE) {
        let ends = [Value::Integer(*range.start()), Value::Integer(*range.end())];
        let mut differences = Differences::new("account", range);
        connection.all(CHECK_CHANGES, &ends, |row| {
            let delta = or_null(row, 1, integer)?.unwrap_or(0);
            differences.add(integer(row, 0)?, delta);
            Some(())
        })?;
        let part = subtract_balances(connection, CHECK_ACCOUNTS, &ends, &mut differences)?;
        account_table.wanted_keys += part.wanted_keys;
        differences.expect_none(&mut accounts);
    }
    account_table.rows = connection.count(COUNT_ACCOUNTS)?;

    let mut sums = Condition::new("tellers = branches");
    sums.expect(teller_table.sum == branch_table.sum, || {
        format!(
            "sum(tbalance) is {}, sum(bbalance) {}",
            teller_table.sum, branch_table.sum
        )
    });
    let mut conditions = vec![
        account_table.expect_all("accounts", last_account),
        teller_table.expect_all("tellers", scale * TELLERS_PER_UNIT),
        branch_table.expect_all("branches", scale),
        keys,
        accounts,
        sums,
    ];
    if every_change_has_a_branch {
        for (clause, differences) in [
            ("tellers = history", &tellers),
            ("branches = history", &branches),
        ] {
            let mut condition = Condition::new(clause);
            differences.expect_none(&mut condition);
            conditions.push(condition);
        }
    }
    Ok(conditions)
}

/// 1 to `last` in parts of at most `at_once`.
fn ranges(last: i64, at_once: i64) -> impl Iterator<Item = RangeInclusive<i64>> {
    (1..=last)
        .step_by(at_once as usize)
        .map(move |first| first..=last.min(first + at_once - 1))
}

/// By key, what the history says less the balance.
struct Differences {
    /// What has the keys.
    name: &'static str,
    keys: RangeInclusive<i64>,
    by_key: Vec<i64>,
}

impl Differences {
    fn new(name: &'static str, keys: RangeInclusive<i64>) -> Self {
        let count = keys.end() - keys.start() + 1;
        Self {
            name,
            keys,
            by_key: vec![0; count as usize],
        }
    }

    /// Adds to the difference of a key; answers whether the key is one of
    /// these.
    fn add(&mut self, key: i64, amount: i64) -> bool {
        let is_known = self.keys.contains(&key);
        if is_known {
            let difference = &mut self.by_key[(key - self.keys.start()) as usize];
            *difference = difference.saturating_add(amount);
        }
        is_known
    }

    /// Counts a comparison a key.
    fn expect_none(&self, condition: &mut Condition) {
        for (key, difference) in self.keys.clone().zip(&self.by_key) {
            condition.expect(*difference == 0, || {
                format!(
                    "{} {key}: its changes in the history less its balance are {difference}, not 0",
                    self.name
                )
            });
        }
    }
}

/// What was found in a table of balances.
#[derive(Default)]
struct Balances {
    rows: i64,
    /// Rows whose key is one that there should be.
    wanted_keys: i64,
    /// Of the balances.
    sum: i64,
}

impl Balances {
    /// Whether the keys are 1 to `last`.
    fn expect_all(&self, name: &str, last: i64) -> Condition {
        let mut condition = Condition::new(format!("rows of {name}"));
        let holds = self.rows == last && self.wanted_keys == last;
        condition.expect(holds, || {
            format!(
                "{name} should be 1 to {last}: {} of these are there, in {} rows",
                self.wanted_keys, self.rows
            )
        });
        condition
    }
}

/// Reads keys and balances, and takes the balances from the differences.
fn subtract_balances(
    connection: &mut Prepared<'_>,
    statement: StatementId,
    parameters: &[Value<'_>],
    differences: &mut Differences,
) -> Result<Balances> {
    let mut table = Balances::default();
    connection.all(statement, parameters, |row| {
        let (key, balance) = (integer(row, 0)?, integer(row, 1)?);
        table.rows += 1;
        table.sum = table.sum.saturating_add(balance);
        table.wanted_keys += i64::from(differences.add(key, balance.saturating_neg()));
        Some(())
    })?;
    Ok(table)
}

/// Reads the history, and adds its changes to the differences. The condition
/// is that each row is of an account, a teller and a branch that there should
/// be.
fn add_history(
    connection: &mut Prepared<'_>,
    last_account: i64,
    tellers: &mut Differences,
    branches: &mut Differences,
) -> Result<Condition> {
    let mut keys = Condition::new("keys of history");
    connection.all(CHECK_HISTORY, &[], |row| {
        let tid = or_null(row, 0, integer)?;
        let bid = or_null(row, 1, integer)?;
        let aid = or_null(row, 2, integer)?;
        let delta = or_null(row, 3, integer)?.unwrap_or(0);
        let has_teller = tid.is_some_and(|tid| tellers.add(tid, delta));
        let has_branch = bid.is_some_and(|bid| branches.add(bid, delta));
        let has_account = aid.is_some_and(|aid| (1..=last_account).contains(&aid));
        keys.expect(has_teller && has_branch && has_account, || {
            let number = |key: Option<i64>| key.map_or("NULL".into(), |key| key.to_string());
            format!(
                "the history has a change of account {}, teller {} and branch {}",
                number(aid),
                number(tid),
                number(bid)
            )
        });
        Some(())
    })?;
    Ok(keys)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_hold_every_number_once() {
        for (last, at_once) in [(1, 3), (3, 3), (4, 3), (9, 3), (10, 3)] {
            let parts: Vec<_> = ranges(last, at_once).collect();
            let all: Vec<i64> = parts.iter().cloned().flatten().collect();
            assert_eq!(all, (1..=last).collect::<Vec<_>>());
            assert!(parts.iter().all(|part| part.clone().count() <= 3));
        }
    }

    #[test]
    fn differences_ignore_other_keys() {
        let mut differences = Differences::new("account", 5..=6);
        let added = [4, 5, 6, 7, i64::MIN].map(|key| differences.add(key, 3));
        assert_eq!(added, [false, true, true, false, false]);
        assert!(differences.add(6, -3));
        let mut condition = Condition::new("");
        differences.expect_none(&mut condition);
        assert_eq!((condition.checked, condition.violations), (2, 1));
        let words = condition.first_violation.unwrap();
        assert!(words.starts_with("account 5: "), "{words}");
        assert!(words.contains("are 3,"), "{words}");
    }
}
