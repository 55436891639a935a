//! The transactions do what clause 3.3 says, and leave the database consistent.

mod failing;
mod sqlite;
mod watched;

use failing::Failing;
use octavo_units::Seed;
use octavo_workload::{Client, ConnectionError, Outcome, Tpce, Workload, connection::Conflict};
use sqlite::Sqlite;
use watched::Watched;

const LIMITS: &str = "('TLB', 'TLS', 'TSL')";
/// The last trade of the population.
const LAST_INITIAL: i64 = 200_000_000_005_757;

fn tpce() -> Tpce {
    Tpce::new(1000, 1, 5000, Seed::new(7)).unwrap()
}

fn number(database: &Sqlite, sql: &str) -> i64 {
    let read = |row: &rusqlite::Row<'_>| Ok(row.get::<_, Option<i64>>(0)?.unwrap_or(0));
    database.raw.query_row(sql, [], read).unwrap()
}

fn position(workload: &Tpce, kind: &str) -> usize {
    let mut kinds = workload.transactions().iter();
    kinds.position(|known| known.name == kind).unwrap()
}

fn assert_consistent(workload: &Tpce, database: &mut Sqlite) {
    for condition in workload.check(database).unwrap() {
        assert!(condition.checked > 0, "{condition:?}");
        assert_eq!(condition.violations, 0, "{condition:?}");
    }
}

/// What the database holds that transactions change, as numbers to compare.
fn state(database: &Sqlite) -> Vec<i64> {
    [
        "SELECT COUNT(*) FROM trade",
        "SELECT SUM(LENGTH(t_exec_name) + t_dts % 1000003) FROM trade",
        "SELECT COUNT(*) FROM trade_history",
        "SELECT COUNT(*) FROM trade_request",
        "SELECT COUNT(*) FROM settlement",
        "SELECT SUM(LENGTH(se_cash_type)) FROM settlement",
        "SELECT SUM(UNICODE(SUBSTR(ct_name, INSTR(ct_name, 'hares') - 1, 1))) FROM cash_transaction",
        "SELECT COUNT(*) FROM holding_history",
        "SELECT SUM(h_qty) FROM holding",
        "SELECT SUM(hs_qty) FROM holding_summary",
        "SELECT SUM(b_comm_total) FROM broker",
        "SELECT SUM(ca_bal) FROM customer_account",
        "SELECT SUM(lt_vol) FROM last_trade",
        "SELECT SUM(lt_price) FROM last_trade",
        "SELECT SUM(dm_vol) FROM daily_market",
        "SELECT SUM(fi_qtr_start_date % 1000000007) FROM financial",
        "SELECT SUM(LENGTH(ad_line2)) FROM address",
    ]
    .iter()
    .map(|sql| number(database, sql))
    .collect()
}

/// What Data-Maintenance alone changes, as numbers to compare.
const MAINTAINED: [(&str, &str); 12] = [
    (
        "account_permission",
        "SUM(ap_acl = '1111') + 7 * SUM(ap_acl = '0011')",
    ),
    ("address", "SUM(ad_line2 = 'Apt. 10C')"),
    (
        "company",
        "SUM(co_sp_rate = 'ABA') + 7 * SUM(co_sp_rate = 'AAA')",
    ),
    ("customer", "SUM(LENGTH(c_email_2) * c_id % 1000003)"),
    (
        "customer_taxrate",
        "SUM(UNICODE(SUBSTR(cx_tx_id, 3)) * cx_c_id % 1000003)",
    ),
    ("daily_market", "SUM(dm_vol)"),
    ("exchange", "SUM(LENGTH(ex_desc))"),
    ("financial", "SUM(fi_qtr_start_date / 1000000)"),
    ("news_item", "SUM(ni_dts / 1000000)"),
    ("security", "SUM(s_exch_date / 1000000)"),
    ("taxrate", "SUM(INSTR(tx_name, ' tax '))"),
    (
        "watch_item",
        "SUM(UNICODE(SUBSTR(wi_s_symb, 4)) * wi_wl_id % 1000003)",
    ),
];

fn run(client: &mut dyn Client, database: &mut Sqlite, transactions: u32) -> (Vec<u64>, u64) {
    let (mut committed, mut rolled_back) = (vec![0; 11], 0);
    for _ in 0..transactions {
        let kind = client.draw();
        match client.run(database).unwrap() {
            Outcome::Committed => committed[kind] += 1,
            Outcome::RolledBack => rolled_back += 1,
        }
    }
    (committed, rolled_back)
}

/// Draws until it is a transaction of this kind; runs those before it.
fn until(workload: &Tpce, client: &mut dyn Client, database: &mut Sqlite, kind: &str) {
    let wanted = position(workload, kind);
    while client.draw() != wanted {
        client.run(database).unwrap();
    }
}

#[test]
fn a_long_run_is_consistent_and_its_orders_are_done() {
    let workload = tpce();
    let mut database = Sqlite::loaded(&workload);
    assert_consistent(&workload, &mut database);
    let before =
        MAINTAINED.map(|(table, sum)| number(&database, &format!("SELECT {sum} FROM {table}")));
    // Longer than a price's period at the nominal rate, of 0.5 s a transaction.
    let mut client = workload.clients(Seed::new(1), 1).remove(0);
    let (committed, rolled_back) = run(&mut *client, &mut database, 8000);
    assert_consistent(&workload, &mut database);
    let of = |kind| committed[position(&workload, kind)] as i64;
    let new = format!("FROM trade WHERE t_id > {LAST_INITIAL}");
    let trades = |rest: &str| number(&database, &format!("SELECT COUNT(*) {new} {rest}"));
    assert_eq!(trades(""), of("Trade-Order"));
    assert_eq!(trades("AND t_st_id = 'CMPT'"), of("Trade-Result"));
    // 10.1% of a thousand, less those whose limit is not reached yet.
    let results = of("Trade-Result");
    assert!((620..810).contains(&results), "{results}");
    assert!((results / 10 - 1..=results / 10).contains(&of("Market-Feed")));
    assert!((2..30).contains(&rolled_back), "{rolled_back}");
    // Limits were reached, and orders that waited for them are done.
    let waited = trades(&format!("AND t_tt_id IN {LIMITS} AND t_st_id = 'CMPT'"));
    assert!(waited > 150, "{waited}");
    let paid_more = trades("AND t_tt_id = 'TLB' AND t_trade_price > t_bid_price");
    assert_eq!(paid_more, 0);
    // Of a minute of 120 transactions one of the maintenance's.
    let maintained = of("Data-Maintenance");
    assert!((60..70).contains(&maintained), "{maintained}");
    // Each of the twelve tables has been maintained five times.
    for ((table, sum), before) in MAINTAINED.iter().zip(before) {
        let after = number(&database, &format!("SELECT {sum} FROM {table}"));
        assert_ne!(after, before, "{table}");
    }
    let audit = client.audit();
    let line = |name: &str| {
        let mut lines = audit.lines.iter();
        lines
            .find(|line| line.name.starts_with(name))
            .unwrap()
            .clone()
    };
    let results = line("Trade-Results, for orders that are due");
    let due = results.wanted * results.total as f64;
    assert!(
        (results.count as f64 - due).abs() < 30.0,
        "{results:?} {due}"
    );
}

#[test]
fn another_run_goes_on_where_one_ended() {
    let workload = tpce();
    let mut database = Sqlite::loaded(&workload);
    let mut clients = workload.clients(Seed::new(1), 3);
    for _ in 0..20 {
        for client in &mut clients {
            run(&mut **client, &mut database, 100);
        }
    }
    let time = number(&database, "SELECT MAX(lt_dts) FROM last_trade");
    let last = number(&database, "SELECT MAX(t_id) FROM trade");
    let left = "SELECT COUNT(*) FROM trade WHERE t_st_id IN ('PNDG', 'SBMT')";
    let unfinished = number(&database, left);
    assert!(unfinished > 20, "{unfinished}");
    let mut client = workload.clients(Seed::new(2), 1).remove(0);
    until(&workload, &mut *client, &mut database, "Trade-Order");
    client.run(&mut database).unwrap();
    // What nobody would do is cancelled, and numbers and time go on.
    let cancelled = "SELECT COUNT(*) FROM trade WHERE t_st_id = 'CNCL'";
    assert_eq!(number(&database, cancelled), unfinished);
    let new = format!("SELECT COUNT(*) FROM trade WHERE t_id > {last}");
    assert_eq!(number(&database, &new), 1);
    let begun = format!("SELECT MIN(t_dts) FROM trade WHERE t_id > {last}");
    assert!(number(&database, &begun) >= time);
    run(&mut *client, &mut database, 1000);
    assert_consistent(&workload, &mut database);
}

#[test]
fn a_conflict_anywhere_leaves_nothing_and_is_retried() {
    let workload = tpce();
    let mut database = Sqlite::loaded(&workload);
    let mut client = workload.clients(Seed::new(5), 1).remove(0);
    run(&mut *client, &mut database, 2000);
    let feed = position(&workload, "Market-Feed");
    let mut tried = vec![0; 11];
    let mut transactions = 0;
    while tried.iter().any(|count| *count < 3) && transactions < 3000 {
        transactions += 1;
        let kind = client.draw();
        tried[kind] += 1;
        // The second time of each kind.
        if tried[kind] == 2 {
            let mut calls_left = 0;
            loop {
                let before = state(&database);
                let mut failing = Failing {
                    inner: &mut database,
                    calls_left,
                };
                match client.run(&mut failing) {
                    Ok(_) => break,
                    Err(ConnectionError::Conflict { kind, .. }) => {
                        assert_eq!(kind, Conflict::Deadlock);
                    }
                    Err(error) => panic!("{error}"),
                }
                // A feed's entries are transactions of their own.
                assert!(kind == feed || state(&database) == before);
                calls_left += 1 + calls_left / 8;
            }
        } else {
            client.run(&mut database).unwrap();
        }
    }
    assert!(tried.iter().all(|count| *count >= 3), "{tried:?}");
    assert_consistent(&workload, &mut database);
}

#[test]
fn what_is_known_is_asked_together() {
    let workload = tpce();
    let mut database = Sqlite::loaded(&workload);
    let mut client = workload.clients(Seed::new(9), 1).remove(0);
    client.draw();
    client.run(&mut database).unwrap();
    for (kind, exchanges) in [
        ("Trade-Status", 1),
        ("Security-Detail", 2),
        ("Market-Watch", 1),
        ("Broker-Volume", 1),
    ] {
        until(&workload, &mut *client, &mut database, kind);
        let mut watched = Watched::new(&mut database, workload.statements());
        client.run(&mut watched).unwrap();
        assert_eq!(watched.exchanges.len(), exchanges, "{kind}");
    }
    until(&workload, &mut *client, &mut database, "Trade-Order");
    let mut watched = Watched::new(&mut database, workload.statements());
    client.run(&mut watched).unwrap();
    assert!(watched.exchanges.len() <= 10, "{:?}", watched.exchanges);
    assert_eq!(watched.asked("INSERT INTO trade "), 1);
}
