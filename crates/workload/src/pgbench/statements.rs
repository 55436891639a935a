//! Every SQL statement of the scripts and the checks, in the subset that
//! SQLite, PostgreSQL, MySQL and MariaDB share. Those of the scripts are
//! pgbench's.

use crate::{connection::statements, schema::ColumnKind};

/// `aid`, which has 64 bits at large scales.
const AID: ColumnKind = ColumnKind::Integer;
const I32: ColumnKind = ColumnKind::Integer32;
const T: ColumnKind = ColumnKind::Timestamp;

statements! {
    UPDATE_ACCOUNT: [I32, AID] sets 1 =
        "UPDATE pgbench_accounts SET abalance = abalance + ?1 WHERE aid = ?2";
    SELECT_BALANCE: [AID] -> [I32] = "SELECT abalance FROM pgbench_accounts WHERE aid = ?1";
    UPDATE_TELLER: [I32, I32] sets 1 =
        "UPDATE pgbench_tellers SET tbalance = tbalance + ?1 WHERE tid = ?2";
    UPDATE_BRANCH: [I32, I32] sets 1 =
        "UPDATE pgbench_branches SET bbalance = bbalance + ?1 WHERE bid = ?2";
    INSERT_HISTORY: [I32, I32, AID, I32, T] sets 5 =
        "INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) VALUES (?1, ?2, ?3, ?4, ?5)";
    /// How many accounts there are.
    COUNT_ACCOUNTS: [] -> [ColumnKind::Integer] = "SELECT COUNT(*) FROM pgbench_accounts";
    /// Balances of a range of accounts.
    CHECK_ACCOUNTS: [AID, AID] -> [AID, I32] =
        "SELECT aid, abalance FROM pgbench_accounts WHERE aid >= ?1 AND aid <= ?2";
    /// What the history says of a range of accounts.
    CHECK_CHANGES: [AID, AID] -> [AID, I32] =
        "SELECT aid, delta FROM pgbench_history WHERE aid >= ?1 AND aid <= ?2";
    CHECK_TELLERS: [] -> [I32, I32] = "SELECT tid, tbalance FROM pgbench_tellers";
    CHECK_BRANCHES: [] -> [I32, I32] = "SELECT bid, bbalance FROM pgbench_branches";
    CHECK_HISTORY: [] -> [I32, I32, AID, I32] = "SELECT tid, bid, aid, delta FROM pgbench_history";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_name_their_statements() {
        for (position, (id, part)) in [
            (UPDATE_ACCOUNT, "UPDATE pgbench_accounts"),
            (SELECT_BALANCE, "SELECT abalance"),
            (UPDATE_TELLER, "UPDATE pgbench_tellers"),
            (UPDATE_BRANCH, "UPDATE pgbench_branches"),
            (INSERT_HISTORY, "INSERT INTO pgbench_history"),
            (COUNT_ACCOUNTS, "SELECT COUNT(*)"),
            (CHECK_ACCOUNTS, "SELECT aid, abalance"),
            (CHECK_CHANGES, "SELECT aid, delta"),
            (CHECK_TELLERS, "SELECT tid, tbalance"),
            (CHECK_BRANCHES, "SELECT bid, bbalance"),
            (CHECK_HISTORY, "SELECT tid, bid"),
        ]
        .into_iter()
        .enumerate()
        {
            assert_eq!(id.0, position);
            assert!(STATEMENTS[id.0].sql.starts_with(part), "{part}");
        }
        assert_eq!(STATEMENTS.len(), CHECK_HISTORY.0 + 1);
    }

    #[test]
    fn parameters_and_columns_are_as_many_as_are_declared() {
        for crate::connection::Statement {
            sql,
            parameters,
            result,
            changed_parameters,
        } in STATEMENTS
        {
            // Numbered as they stand.
            let marks: Vec<&str> = sql.split('?').skip(1).map(|rest| &rest[..1]).collect();
            let wanted: Vec<String> = (1..=parameters.len()).map(|n| n.to_string()).collect();
            assert_eq!(marks, wanted, "{sql}");
            let columns = match sql
                .strip_prefix("SELECT ")
                .and_then(|s| s.split_once(" FROM "))
            {
                Some((list, _)) => list.split(',').count(),
                None => 0,
            };
            assert_eq!(columns, result.len(), "{sql}");
            let set = sql.split_once(" WHERE ").map_or(*sql, |(set, _)| set);
            let changed = match columns {
                0 => set.matches('?').count(),
                _ => 0,
            };
            assert_eq!(changed, *changed_parameters, "{sql}");
        }
    }
}
