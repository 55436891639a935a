//! The transactions do what clauses 2.4 to 2.8 say, and leave the database
//! consistent.

mod failing;
mod sqlite;
mod watched;

use failing::Failing;
use octavo_units::Seed;
use octavo_workload::{
    Client, ConnectionError, Outcome, Tpcc, Workload, connection::Conflict, tpcc::Terminals,
};
use sqlite::Sqlite;
use watched::Watched;

fn number(database: &Sqlite, sql: &str) -> i64 {
    database.raw.query_row(sql, [], |row| row.get(0)).unwrap()
}

fn assert_consistent(workload: &Tpcc, database: &mut Sqlite) {
    for condition in workload.check(database).unwrap() {
        assert!(condition.checked > 0, "{condition:?}");
        assert_eq!(condition.violations, 0, "{condition:?}");
    }
}

/// What the database holds that transactions change, as numbers to compare.
fn state(database: &Sqlite) -> Vec<i64> {
    [
        "SELECT SUM(w_ytd) FROM warehouse",
        "SELECT SUM(d_next_o_id) FROM district",
        "SELECT COUNT(*) FROM orders",
        "SELECT COUNT(*) FROM new_order",
        "SELECT COUNT(*) FROM order_line",
        "SELECT COUNT(*) FROM history",
        "SELECT SUM(s_quantity) FROM stock",
        "SELECT SUM(s_ytd) FROM stock",
        "SELECT SUM(s_order_cnt) FROM stock",
        "SELECT SUM(s_remote_cnt) FROM stock",
        "SELECT SUM(c_balance) FROM customer",
        "SELECT SUM(c_payment_cnt) FROM customer",
        "SELECT SUM(c_delivery_cnt) FROM customer",
    ]
    .iter()
    .map(|sql| number(database, sql))
    .collect()
}

#[derive(Default)]
struct Ran {
    committed: [u64; 5],
    rolled_back: u64,
}

fn run(client: &mut dyn Client, database: &mut Sqlite, transactions: u32, ran: &mut Ran) {
    for _ in 0..transactions {
        let kind = client.draw();
        match client.run(database).unwrap() {
            Outcome::Committed => ran.committed[kind] += 1,
            Outcome::RolledBack => ran.rolled_back += 1,
        }
    }
}

#[test]
fn thousands_of_transactions_leave_the_database_consistent() {
    let workload = Tpcc::new(2, Seed::new(3)).unwrap();
    let mut database = Sqlite::loaded(&workload);
    assert_consistent(&workload, &mut database);
    let before = state(&database);
    let initial = "CREATE TEMP TABLE initial AS SELECT s_w_id AS w, s_i_id AS i, \
                   s_quantity AS quantity FROM stock";
    database.raw.execute(initial, []).unwrap();
    let mut ran = Ran::default();
    for seed in 0..3 {
        let mut clients = workload.clients(Seed::new(seed), 3);
        for _ in 0..20 {
            for client in &mut clients {
                run(client.as_mut(), &mut database, 50, &mut ran);
            }
        }
        assert_consistent(&workload, &mut database);
    }
    let after = state(&database);
    let [new_orders, payments, statuses, deliveries, stock_levels] = ran.committed;
    let all = new_orders + payments + statuses + deliveries + stock_levels + ran.rolled_back;
    assert_eq!(all, 9000);
    assert!(ran.rolled_back > 10, "{}", ran.rolled_back);
    // Rolled back orders leave nothing.
    assert_eq!(after[1] - before[1], new_orders as i64);
    assert_eq!(after[2] - before[2], new_orders as i64);
    assert_eq!(after[5] - before[5], payments as i64);
    assert_eq!(after[11] - before[11], payments as i64);
    let delivered = after[12] - before[12];
    assert_eq!(
        delivered,
        deliveries as i64 * 10,
        "no district runs dry here"
    );
    assert_eq!(after[3] - before[3], new_orders as i64 - delivered);
    // Every line is in its item's stock, and remote ones are counted so.
    assert_eq!(after[8] - before[8], after[4] - before[4]);
    let quantity = "SELECT SUM(ol_quantity) FROM order_line WHERE ol_o_id > 3000";
    assert_eq!(after[7] - before[7], number(&database, quantity));
    let remote = "SELECT COUNT(*) FROM order_line WHERE ol_supply_w_id <> ol_w_id";
    assert_eq!(after[9], number(&database, remote));
    assert!(after[9] > 100, "{}", after[9]);
    let not_local = "SELECT COUNT(*) FROM orders WHERE o_all_local = 0";
    let with_remote = "SELECT COUNT(*) FROM (SELECT DISTINCT ol_w_id, ol_d_id, ol_o_id \
                       FROM order_line WHERE ol_supply_w_id <> ol_w_id)";
    assert_eq!(number(&database, not_local), number(&database, with_remote));
    // 10 to 100 at first; an order leaves 10 or more, or adds 91 to less.
    let out_of_range = "SELECT COUNT(*) FROM stock WHERE s_quantity NOT BETWEEN 10 AND 100";
    assert_eq!(number(&database, out_of_range), 0);
    // What was ordered is gone, and 91 came in each time.
    let wrong_quantity = "SELECT COUNT(*) FROM initial, stock WHERE s_w_id = w AND s_i_id = i \
                          AND (quantity - s_ytd - s_quantity) % 91 <> 0";
    assert_eq!(number(&database, wrong_quantity), 0);
    let wrong_info = "SELECT COUNT(*) FROM order_line, stock WHERE ol_o_id > 3000 \
                      AND s_w_id = ol_supply_w_id AND s_i_id = ol_i_id \
                      AND ol_d_id = 4 AND ol_dist_info <> s_dist_04";
    assert_eq!(number(&database, wrong_info), 0);
    let wrong_amount = "SELECT COUNT(*) FROM order_line, item WHERE ol_o_id > 3000 \
                        AND i_id = ol_i_id AND ol_amount <> ol_quantity * i_price";
    assert_eq!(number(&database, wrong_amount), 0);
    let remote_payments = "SELECT COUNT(*) FROM history WHERE h_c_w_id <> h_w_id";
    assert!(number(&database, remote_payments) > 400);
    // Bad credit is rewritten by payments, good credit is not.
    let rewritten = |credit| {
        let sql = format!(
            "SELECT COUNT(*) FROM customer WHERE c_credit = '{credit}' AND c_data LIKE \
             c_id || ' ' || c_d_id || ' ' || c_w_id || ' %' AND LENGTH(c_data) <= 500"
        );
        number(&database, &sql)
    };
    assert!(rewritten("BC") > 200, "{}", rewritten("BC"));
    assert_eq!(rewritten("GC"), 0);
    let names = "SELECT COUNT(*) FROM history, warehouse, district WHERE h_amount <> 1000 \
                 AND w_id = h_w_id AND d_w_id = h_w_id AND d_id = h_d_id \
                 AND h_data <> w_name || '    ' || d_name";
    assert_eq!(number(&database, names), 0);
}

#[test]
fn one_seed_leaves_one_database() {
    let workload = Tpcc::new(1, Seed::new(4)).unwrap();
    let ends: Vec<_> = (0..2)
        .map(|_| {
            let mut database = Sqlite::loaded(&workload);
            let mut client = workload.clients(Seed::new(5), 1).remove(0);
            run(client.as_mut(), &mut database, 300, &mut Ran::default());
            state(&database)
        })
        .collect();
    assert_eq!(ends[0], ends[1]);
}

#[test]
fn a_conflict_anywhere_leaves_nothing_and_is_tried_again() {
    let workload = Tpcc::new(1, Seed::new(12)).unwrap();
    let mut smooth = Sqlite::loaded(&workload);
    let mut rough = Sqlite::loaded(&workload);
    let mut on_smooth = workload.clients(Seed::new(13), 1).remove(0);
    let mut on_rough = workload.clients(Seed::new(13), 1).remove(0);
    let mut conflicts = [0; 5];
    // Two decks: every kind is drawn twice or more.
    for _ in 0..46 {
        let kind = on_rough.draw();
        assert_eq!(on_smooth.draw(), kind);
        let wanted = on_smooth.run(&mut smooth).unwrap();
        // The first call fails, then the second, until all succeed.
        let mut calls = 0;
        let outcome = loop {
            let mut failing = Failing {
                inner: &mut rough,
                calls_left: calls,
            };
            match on_rough.run(&mut failing) {
                Ok(outcome) => break outcome,
                Err(ConnectionError::Conflict { .. }) => conflicts[kind] += 1,
                Err(error) => panic!("{error}"),
            }
            assert!(rough.raw.is_autocommit(), "a transaction is still open");
            calls += 1;
        };
        assert_eq!(outcome, wanted);
    }
    // At least begin, two statements and commit of the shortest.
    assert!(conflicts.iter().all(|count| *count >= 8), "{conflicts:?}");
    assert_eq!(state(&rough), state(&smooth));
    assert_eq!(on_rough.audit(), on_smooth.audit());
    assert_consistent(&workload, &mut rough);
}

#[test]
fn a_new_order_shows_what_it_did() {
    let workload = Tpcc::new(1, Seed::new(6)).unwrap();
    let mut database = Sqlite::loaded(&workload);
    let mut client: Terminals = workload.terminals_of(Seed::new(7), 0, 1);
    let mut brands = 0;
    for _ in 0..400 {
        let kind = client.draw();
        let outcome = client.run(&mut database).unwrap();
        if kind != 0 {
            continue;
        }
        let reply = client.new_order_reply();
        if outcome == Outcome::RolledBack {
            assert_eq!(reply.total_amount, 0);
            continue;
        }
        assert!((5..=15).contains(&reply.lines.len()));
        assert!(reply.credit == "GC" || reply.credit == "BC");
        let sum: i64 = reply.lines.iter().map(|line| line.amount).sum();
        let exact = i128::from(sum)
            * i128::from(10_000 - reply.discount)
            * i128::from(10_000 + reply.warehouse_tax + reply.district_tax);
        assert_eq!(
            i128::from(reply.total_amount),
            (exact + 50_000_000) / 100_000_000
        );
        brands += reply.lines.iter().filter(|line| line.brand == 'B').count();
        for line in &reply.lines {
            assert!((10..=100).contains(&line.stock_quantity));
            assert_eq!(line.amount % line.price, 0);
        }
    }
    let both = "SELECT COUNT(*) FROM order_line, item, stock WHERE ol_o_id > 3000 \
                AND i_id = ol_i_id AND s_w_id = ol_supply_w_id AND s_i_id = ol_i_id \
                AND i_data LIKE '%ORIGINAL%' AND s_data LIKE '%ORIGINAL%'";
    assert_eq!(brands as i64, number(&database, both));
    assert!(brands > 0);
}

#[test]
fn independent_statements_are_sent_together() {
    let workload = Tpcc::new(1, Seed::new(14)).unwrap();
    let mut database = Sqlite::loaded(&workload);
    let mut client = workload.clients(Seed::new(15), 1).remove(0);
    let mut watched = Watched::new(&mut database, workload.statements());
    let mut seen = [[0; 5]; 5];
    for _ in 0..600 {
        let kind = client.draw();
        let outcome = client.run(&mut watched).unwrap();
        let sizes: Vec<usize> = watched.exchanges.iter().map(Vec::len).collect();
        seen[kind][sizes.len()] += 1;
        match kind {
            0 => {
                // Lines, and the one less that is in stock.
                let lines = sizes[0] - 4;
                let taken = lines - usize::from(outcome == Outcome::RolledBack);
                assert!((5..=15).contains(&lines));
                assert_eq!(sizes, [4 + lines, 2 + 2 * taken, taken]);
                for (sql, count) in [
                    ("SELECT i_price", lines),
                    ("UPDATE district SET d_next_o_id", 1),
                    ("INSERT INTO orders", 1),
                    ("INSERT INTO new_order", 1),
                    ("UPDATE stock", taken),
                    ("SELECT s_quantity", taken),
                    ("INSERT INTO order_line", taken),
                ] {
                    assert_eq!(watched.asked(sql), count, "{sql}");
                }
            }
            1 => {
                // By surname, and with bad credit.
                let by_name = watched.asked("SELECT c_id FROM customer");
                let with_data = watched.asked("SELECT c_data");
                assert_eq!(watched.asked("UPDATE customer SET c_data"), with_data);
                let mut wanted = vec![1; by_name];
                wanted.extend([6, 1 + with_data]);
                wanted.extend(vec![1; with_data]);
                assert_eq!(sizes, wanted);
                assert_eq!(watched.asked("INSERT INTO history"), 1);
                assert_eq!(watched.asked("UPDATE "), 3 + with_data);
            }
            2 => {
                let by_name = watched.asked("SELECT c_id FROM customer");
                let mut wanted = vec![1; by_name];
                wanted.extend([2, 1]);
                assert_eq!(sizes, wanted);
            }
            3 => assert_eq!(sizes, [10, 50, 10]),
            _ => assert_eq!(sizes, [1, 1]),
        }
    }
    let [new_orders, payments, statuses, ..] = seen;
    assert_eq!(new_orders[3], new_orders.iter().sum::<u32>());
    // Payments: by number or surname, with good or bad credit.
    assert!(payments[2..5].iter().all(|count| *count > 0), "{seen:?}");
    assert!(statuses[2..4].iter().all(|count| *count > 0), "{seen:?}");
}

#[test]
fn an_unused_item_is_found_only_after_the_work_for_the_others() {
    let workload = Tpcc::new(1, Seed::new(16)).unwrap();
    let mut database = Sqlite::loaded(&workload);
    let mut client = workload.terminals_of(Seed::new(17), 0, 1);
    let numbers = "SELECT SUM(d_next_o_id) FROM district";
    let mut rolled_back = 0;
    while rolled_back < 3 {
        // Others are drawn, but not run.
        if client.draw() != 0 {
            continue;
        }
        let before = number(&database, numbers);
        let mut watched = Watched::new(&mut database, workload.statements());
        let outcome = client.run(&mut watched).unwrap();
        let taken = [
            watched.asked("UPDATE district"),
            watched.asked("UPDATE stock"),
            watched.asked("INSERT INTO order_line"),
        ];
        let lines = watched.asked("SELECT i_price");
        drop(watched);
        if outcome == Outcome::Committed {
            assert_eq!(taken, [1, lines, lines]);
            assert_eq!(number(&database, numbers), before + 1);
            continue;
        }
        assert_eq!(taken, [1, lines - 1, lines - 1]);
        assert_eq!(client.new_order_reply().lines.len(), lines - 1);
        assert_eq!(client.new_order_reply().total_amount, 0);
        assert_eq!(number(&database, numbers), before);
        rolled_back += 1;
    }
}

#[test]
fn a_delivery_that_another_one_outran_is_a_conflict() {
    let workload = Tpcc::new(1, Seed::new(18)).unwrap();
    let mut database = Sqlite::loaded(&workload);
    let mut client = workload.clients(Seed::new(19), 1).remove(0);
    while client.draw() != 3 {}
    let before = state(&database);
    let mut watched = Watched::new(&mut database, workload.statements());
    watched.between = Box::new(|database, exchanges| {
        if exchanges.len() == 1 {
            let other = "DELETE FROM new_order WHERE no_d_id = 4 AND no_o_id = 2101";
            assert_eq!(database.raw.execute(other, []).unwrap(), 1);
        }
    });
    let error = client.run(&mut watched).unwrap_err();
    let ConnectionError::Conflict { kind, source } = error else {
        panic!("{error}");
    };
    assert_eq!(kind, Conflict::Serialisation);
    let wanted = "another transaction delivered order 2101 of warehouse 1, district 4 first";
    assert_eq!(source.to_string(), wanted);
    drop(watched);
    // Here the other one was in the same transaction, and is undone with it.
    assert_eq!(state(&database), before);
    assert_eq!(client.run(&mut database).unwrap(), Outcome::Committed);
    assert_consistent(&workload, &mut database);
}

#[test]
fn an_order_without_lines_is_not_delivered() {
    let workload = Tpcc::new(1, Seed::new(20)).unwrap();
    let mut database = Sqlite::loaded(&workload);
    let without = "DELETE FROM order_line WHERE ol_d_id = 7 AND ol_o_id = 2101";
    database.raw.execute(without, []).unwrap();
    let before = state(&database);
    let mut client = workload.clients(Seed::new(21), 1).remove(0);
    while client.draw() != 3 {}
    let error = client.run(&mut database).unwrap_err();
    assert!(
        error.to_string().starts_with("run UPDATE order_line"),
        "{error}"
    );
    assert_eq!(state(&database), before);
}

#[test]
fn deliveries_skip_districts_without_new_orders() {
    let workload = Tpcc::new(1, Seed::new(8)).unwrap();
    let mut database = Sqlite::loaded(&workload);
    let mut client = workload.clients(Seed::new(9), 1).remove(0);
    database
        .raw
        .execute_batch(
            "DELETE FROM new_order WHERE no_d_id = 2 OR (no_d_id = 5 AND no_o_id > 2101)",
        )
        .unwrap();
    let mut deliveries = 0;
    while deliveries < 2 {
        if client.draw() == 3 {
            client.run(&mut database).unwrap();
            deliveries += 1;
        }
    }
    let audit = client.audit();
    let skipped = audit
        .lines
        .iter()
        .find(|line| line.name.contains("skipped"));
    let skipped = skipped.expect("the audit counts skipped districts");
    // District 2 twice, district 5 the second time.
    assert_eq!((skipped.count, skipped.total), (3, 20));
    let left = "SELECT MIN(no_o_id) FROM new_order WHERE no_d_id = 1";
    assert_eq!(number(&database, left), 2103);
}

#[test]
fn queries_by_key_scan_no_table() {
    let workload = Tpcc::new(1, Seed::new(10)).unwrap();
    let database = Sqlite::loaded(&workload);
    for statement in workload.statements() {
        let plan = format!("EXPLAIN QUERY PLAN {}", statement.sql);
        let mut prepared = database.raw.prepare(&plan).unwrap();
        let nothing = vec![rusqlite::types::Null; prepared.parameter_count()];
        let mut rows = prepared.query(rusqlite::params_from_iter(nothing)).unwrap();
        while let Some(row) = rows.next().unwrap() {
            let step: String = row.get(3).unwrap();
            let by_key = statement.sql.contains(" WHERE ");
            let allowed = step.contains("history") || !by_key;
            assert!(
                !step.starts_with("SCAN") || allowed,
                "{step}: {}",
                statement.sql
            );
            assert!(
                !step.contains("TEMP B-TREE FOR ORDER BY"),
                "{step}: {}",
                statement.sql
            );
        }
    }
}
