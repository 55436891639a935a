//! Every SQL statement of the scripts and the checks, in the subset that
//! SQLite, PostgreSQL, MySQL and MariaDB share. Those of the scripts are
//! pgbench's.

use crate::{connection::statements, schema::ColumnKind};

/// `aid`, which has 64 bits at large scales.
const AID: ColumnKind = ColumnKind::Integer;
const I32: ColumnKind = ColumnKind::Integer32;
const T: ColumnKind = ColumnKind::Timestamp;

statements! {
    /// The scripts.
    Scripts {
        UPDATE_ACCOUNT: [I32, AID] =
            "UPDATE pgbench_accounts SET abalance = abalance + ?1 WHERE aid = ?2"
            updates pgbench_accounts of [abalance, aid] sets [abalance];
        SELECT_BALANCE: [AID] -> [I32] = "SELECT abalance FROM pgbench_accounts WHERE aid = ?1"
            reads pgbench_accounts of [abalance, aid];
        UPDATE_TELLER: [I32, I32] =
            "UPDATE pgbench_tellers SET tbalance = tbalance + ?1 WHERE tid = ?2"
            updates pgbench_tellers of [tbalance, tid] sets [tbalance];
        UPDATE_BRANCH: [I32, I32] =
            "UPDATE pgbench_branches SET bbalance = bbalance + ?1 WHERE bid = ?2"
            updates pgbench_branches of [bbalance, bid] sets [bbalance];
        INSERT_HISTORY: [I32, I32, AID, I32, T] =
            "INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) VALUES (?1, ?2, ?3, ?4, ?5)"
            inserts pgbench_history sets [tid, bid, aid, delta, mtime];
    }
    /// The conditions.
    Checks {
        /// How many accounts there are.
        COUNT_ACCOUNTS: [] -> [ColumnKind::Integer] = "SELECT COUNT(*) FROM pgbench_accounts"
            reads pgbench_accounts;
        /// Balances of a range of accounts.
        CHECK_ACCOUNTS: [AID, AID] -> [AID, I32] =
            "SELECT aid, abalance FROM pgbench_accounts WHERE aid >= ?1 AND aid <= ?2"
            reads pgbench_accounts of [aid, abalance];
        /// What the history says of a range of accounts.
        CHECK_CHANGES: [AID, AID] -> [AID, I32] =
            "SELECT aid, delta FROM pgbench_history WHERE aid >= ?1 AND aid <= ?2"
            reads pgbench_history of [aid, delta];
        CHECK_TELLERS: [] -> [I32, I32] = "SELECT tid, tbalance FROM pgbench_tellers"
            reads pgbench_tellers of [tid, tbalance];
        CHECK_BRANCHES: [] -> [I32, I32] = "SELECT bid, bbalance FROM pgbench_branches"
            reads pgbench_branches of [bid, bbalance];
        CHECK_HISTORY: [] -> [I32, I32, AID, I32] = "SELECT tid, bid, aid, delta FROM pgbench_history"
            reads pgbench_history of [tid, bid, aid, delta];
    }
}
