//! The conditions of clause 7.3 and those beyond them hold after loading, and each notices
//! what it is there for.

mod sqlite;

use octavo_units::Seed;
use octavo_workload::{Condition, Tpce, Workload};
use sqlite::Sqlite;

/// Changes that leave a database inconsistent, and the conditions that notice.
const PLANTED: &[(&str, &[&str])] = &[
    (
        "UPDATE broker SET b_num_trades = b_num_trades + 1 WHERE b_id = 4300000003",
        &["7.3.1.1"],
    ),
    (
        "UPDATE broker SET b_comm_total = b_comm_total - 1 WHERE b_id = 4300000003",
        &["7.3.1.2"],
    ),
    (
        "UPDATE trade SET t_comm = t_comm + 1 WHERE t_id = 200000000000007",
        &["7.3.1.2"],
    ),
    // A trade of another broker's account.
    (
        "UPDATE customer_account SET ca_b_id = 4300000001 + (ca_b_id - 4300000000) % 10 \
         WHERE ca_id = (SELECT t_ca_id FROM trade WHERE t_id = 200000000000007)",
        &["7.3.1.1", "7.3.1.2"],
    ),
    (
        "UPDATE holding_summary SET hs_qty = hs_qty + 100 WHERE rowid = 5",
        &["7.3.1.3"],
    ),
    ("DELETE FROM holding_summary WHERE rowid = 5", &["7.3.1.3"]),
    (
        "UPDATE holding SET h_qty = h_qty - 100 WHERE rowid = 200000000000090",
        &["7.3.1.3"],
    ),
    // A sum of no lots.
    (
        "INSERT INTO holding_summary SELECT ca_id, 'ZZZZ', 0 FROM customer_account LIMIT 1",
        &["7.3.1.3"],
    ),
    (
        "DELETE FROM settlement WHERE se_t_id = (SELECT MAX(ct_t_id) FROM cash_transaction)",
        &["settlements", "cash", "cash amounts"],
    ),
    (
        "UPDATE cash_transaction SET ct_amt = ct_amt + 1 WHERE ct_t_id = (SELECT MAX(ct_t_id) FROM cash_transaction)",
        &["cash amounts"],
    ),
    (
        "DELETE FROM cash_transaction WHERE ct_t_id = (SELECT MAX(ct_t_id) FROM cash_transaction)",
        &["cash", "cash amounts", "cash trades"],
    ),
    (
        "DELETE FROM trade_history WHERE th_t_id = 200000000000007 AND th_st_id = 'CMPT'",
        &["history, CMPT"],
    ),
    (
        "DELETE FROM trade_history WHERE th_t_id = 200000000000007 AND th_st_id = 'SBMT'",
        &["history, SBMT"],
    ),
    (
        "INSERT INTO trade_history VALUES (200000000000007, 1, 'CNCL')",
        &["history, CNCL"],
    ),
    (
        "DELETE FROM trade_history WHERE th_st_id = 'PNDG' AND th_t_id < 200000000000100",
        &["history, PNDG"],
    ),
    (
        "INSERT INTO trade_request SELECT t_id, t_tt_id, t_s_symb, t_qty, t_bid_price, 4300000001 \
         FROM trade LIMIT 1",
        &["requests"],
    ),
    (
        "UPDATE holding_history SET hh_after_qty = hh_after_qty + 100 \
         WHERE hh_t_id = 200000000000007",
        &["holding history"],
    ),
    ("DELETE FROM daily_market WHERE rowid = 77", &["rows"]),
    ("DELETE FROM watch_list WHERE wl_id = 4300000001", &["rows"]),
];

fn violated(conditions: &[Condition]) -> Vec<&str> {
    let violated = conditions
        .iter()
        .filter(|condition| condition.violations > 0);
    violated
        .map(|condition| condition.clause.as_str())
        .collect()
}

#[test]
fn conditions_hold_and_each_notices_what_it_is_for() {
    let workload = Tpce::new(1000, 1, 5000, Seed::new(7)).unwrap();
    let mut database = Sqlite::loaded(&workload);
    let conditions = workload.check(&mut database).unwrap();
    assert_eq!(violated(&conditions), [""; 0]);
    assert!(conditions.iter().all(|condition| condition.checked > 0));
    for (change, noticed) in PLANTED {
        database.raw.execute_batch("BEGIN").unwrap();
        database.raw.execute_batch(change).unwrap();
        let conditions = workload.check(&mut database).unwrap();
        assert_eq!(violated(&conditions), *noticed, "{change}");
        for condition in conditions
            .iter()
            .filter(|condition| condition.violations > 0)
        {
            assert!(condition.first_violation.is_some(), "{condition:?}");
        }
        database.raw.execute_batch("ROLLBACK").unwrap();
    }
    let noticed: Vec<&str> = PLANTED
        .iter()
        .flat_map(|(_, noticed)| *noticed)
        .copied()
        .collect();
    for condition in &conditions {
        assert!(
            noticed.contains(&condition.clause.as_str()),
            "{} was not tried",
            condition.clause
        );
    }
}

/// Where databases are checked there may be no room for a table that is sorted.
#[test]
fn checks_sort_nothing() {
    let workload = Tpce::new(1000, 1, 5000, Seed::new(7)).unwrap();
    let database = Sqlite::loaded(&workload);
    database.raw.execute_batch("ANALYZE").unwrap();
    let statements = workload.statements();
    let mut all = statements.iter().map(|statement| statement.sql);
    let first = all.position(|sql| sql.starts_with("SELECT b_id, b_num_trades"));
    for statement in &statements[first.unwrap()..] {
        let sql = format!("EXPLAIN QUERY PLAN {}", statement.sql);
        let mut explain = database.raw.prepare(&sql).unwrap();
        let nulls = vec![rusqlite::types::Null; statement.parameters.len()];
        let mut rows = explain.query(rusqlite::params_from_iter(nulls)).unwrap();
        while let Some(row) = rows.next().unwrap() {
            let step: String = row.get(3).unwrap();
            assert!(!step.contains("TEMP B-TREE"), "{}: {step}", statement.sql);
        }
    }
}
