//! The conditions of clause 3.3.2 and those beyond it hold after loading, and
//! each notices what it is there for.

mod sqlite;

use octavo_units::Seed;
use octavo_workload::{Condition, Tpcc, Workload};
use sqlite::Sqlite;

/// Changes that leave a database inconsistent, and the conditions of clause
/// 3.3.2 that notice: 0 for the constants, 13 for numbers of rows, 14 for
/// quantities, 15 for payments.
const PLANTED: &[(&str, &[usize])] = &[
    (
        "UPDATE octavo_constant SET value = value + 1 WHERE name = 'c_last_load'",
        &[0],
    ),
    (
        "DELETE FROM octavo_constant WHERE name = 'warehouses'",
        &[0],
    ),
    ("UPDATE warehouse SET w_ytd = w_ytd + 1", &[1, 8]),
    // The history says the same as the warehouse, but not as the districts.
    (
        "UPDATE history SET h_amount = h_amount + 1 \
         WHERE h_w_id = 1 AND h_d_id = 3 AND h_c_id = 5; \
         UPDATE warehouse SET w_ytd = w_ytd + 1; \
         UPDATE district SET d_ytd = d_ytd + 1 WHERE d_id = 4; \
         UPDATE customer SET c_balance = c_balance - 1, c_ytd_payment = c_ytd_payment + 1 \
         WHERE c_d_id = 3 AND c_id = 5",
        &[9],
    ),
    (
        "UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_id = 10",
        &[2],
    ),
    // The newest new order is gone.
    (
        "DELETE FROM new_order WHERE no_d_id = 2 AND no_o_id = 3000",
        &[2, 5, 11],
    ),
    (
        "DELETE FROM new_order WHERE no_d_id = 2 AND no_o_id = 2500",
        &[3, 5, 11],
    ),
    // A line of a delivered order, which is free.
    (
        "DELETE FROM order_line WHERE ol_d_id = 7 AND ol_o_id = 12 AND ol_number = 5",
        &[4, 6],
    ),
    // A line without an order, and no stock for it.
    (
        "UPDATE order_line SET ol_o_id = 5000 WHERE ol_d_id = 7 AND ol_o_id = 12 \
         AND ol_number = 5",
        &[6, 14],
    ),
    (
        "UPDATE orders SET o_ol_cnt = o_ol_cnt + 1 WHERE o_d_id = 1 AND o_id = 7; \
         UPDATE orders SET o_ol_cnt = o_ol_cnt - 1 WHERE o_d_id = 1 AND o_id = 8",
        &[6],
    ),
    (
        "UPDATE orders SET o_carrier_id = 4 WHERE o_d_id = 1 AND o_id = 2999",
        &[5, 7],
    ),
    (
        "UPDATE orders SET o_carrier_id = NULL WHERE o_d_id = 1 AND o_id = 1",
        &[5, 7],
    ),
    (
        "UPDATE order_line SET ol_delivery_d = NULL WHERE ol_d_id = 1 AND ol_o_id = 9 \
         AND ol_number = 2",
        &[7],
    ),
    (
        "UPDATE order_line SET ol_delivery_d = 1 WHERE ol_d_id = 1 AND ol_o_id = 2900 \
         AND ol_number = 2",
        &[7, 10, 12],
    ),
    (
        "DELETE FROM history WHERE h_d_id = 6 AND h_c_id = 60",
        &[8, 9, 10, 15],
    ),
    // Paid in another district than the history says.
    (
        "UPDATE history SET h_d_id = 7 WHERE h_d_id = 6 AND h_c_id = 60",
        &[9],
    ),
    // Paid by another customer than the history says.
    (
        "UPDATE history SET h_c_id = 61 WHERE h_d_id = 6 AND h_c_id = 60",
        &[10, 15],
    ),
    (
        "UPDATE district SET d_ytd = d_ytd - 1 WHERE d_id = 1",
        &[1, 9],
    ),
    (
        "UPDATE customer SET c_balance = c_balance + 1 WHERE c_d_id = 5 AND c_id = 3000",
        &[10, 12],
    ),
    (
        "UPDATE customer SET c_delivery_cnt = 1 WHERE c_d_id = 5 AND c_id = 3000",
        &[11],
    ),
    (
        "UPDATE customer SET c_ytd_payment = c_ytd_payment + 1 WHERE c_d_id = 5 AND c_id = 1",
        &[12],
    ),
    (
        "DELETE FROM customer WHERE c_d_id = 5 AND c_id = 1",
        &[10, 12, 13, 15],
    ),
    (
        "UPDATE customer SET c_payment_cnt = 2 WHERE c_d_id = 5 AND c_id = 1",
        &[15],
    ),
    // A payment of nothing by the right customer.
    (
        "INSERT INTO history SELECT h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, 0, h_data \
         FROM history WHERE h_c_d_id = 5 AND h_c_id = 1",
        &[15],
    ),
    ("UPDATE stock SET s_ytd = 5 WHERE s_i_id = 77", &[14]),
    ("DELETE FROM item WHERE i_id = 99999", &[13]),
    ("DELETE FROM stock WHERE s_i_id = 99999", &[13]),
    // Rows of a warehouse, a district and a customer that were never loaded.
    (
        "INSERT INTO warehouse SELECT 9, w_name, w_street_1, w_street_2, w_city, w_state, w_zip, \
      w_tax, w_ytd FROM warehouse",
        &[13],
    ),
    (
        "UPDATE district SET d_w_id = 9 WHERE d_id = 3; \
      INSERT INTO district SELECT 3, 1, d_name, d_street_1, d_street_2, d_city, d_state, d_zip, \
      d_tax, d_ytd, d_next_o_id FROM district WHERE d_w_id = 9",
        &[13],
    ),
    (
        "INSERT INTO customer SELECT 3001, c_d_id, c_w_id, c_first, c_middle, c_last, c_street_1, \
      c_street_2, c_city, c_state, c_zip, c_phone, c_since, c_credit, c_credit_lim, c_discount, \
      c_balance, c_ytd_payment, c_payment_cnt, c_delivery_cnt, c_data FROM customer \
      WHERE c_d_id = 5 AND c_id = 1",
        &[13],
    ),
    // The stock of a warehouse that was never loaded.
    (
        "UPDATE stock SET s_w_id = 9 WHERE s_i_id = 5; \
      INSERT INTO stock SELECT s_i_id, 1, s_quantity, s_dist_01, s_dist_02, s_dist_03, s_dist_04, \
      s_dist_05, s_dist_06, s_dist_07, s_dist_08, s_dist_09, s_dist_10, s_ytd, s_order_cnt, \
      s_remote_cnt, s_data FROM stock WHERE s_w_id = 9",
        &[13],
    ),
    // All orders of a district delivered, by the letter: nothing is wrong.
    (
        "DELETE FROM new_order WHERE no_d_id = 9; \
         UPDATE orders SET o_carrier_id = 1 WHERE o_d_id = 9; \
         UPDATE order_line SET ol_delivery_d = 1 WHERE ol_d_id = 9; \
         UPDATE customer SET c_delivery_cnt = c_delivery_cnt + \
         (SELECT COUNT(*) FROM orders WHERE o_d_id = 9 AND o_c_id = c_id AND o_id > 2100), \
         c_balance = c_balance + (SELECT COALESCE(SUM(ol_amount), 0) FROM orders, order_line \
         WHERE o_d_id = 9 AND o_c_id = c_id AND o_id > 2100 AND ol_w_id = 1 AND ol_d_id = 9 \
         AND ol_o_id = o_id) WHERE c_d_id = 9",
        &[],
    ),
];

fn violated(conditions: &[Condition]) -> Vec<usize> {
    (0..)
        .zip(conditions)
        .filter(|(_, condition)| condition.violations > 0)
        .map(|(position, _)| position)
        .collect()
}

#[test]
fn every_planted_violation_is_noticed_by_its_conditions_alone() {
    let workload = Tpcc::new(1, Seed::new(11)).unwrap();
    let mut database = Sqlite::loaded(&workload);
    let conditions = workload.check(&mut database).unwrap();
    assert_eq!(violated(&conditions), [0; 0], "{conditions:?}");
    let checked: Vec<u64> = conditions.iter().map(|c| c.checked).collect();
    let lines = checked[7];
    assert_eq!(
        checked,
        [
            3, 1, 10, 10, 10, 30_000, 30_000, lines, 1, 10, 30_000, 10, 30_000, 5, 1, 30_000
        ]
    );
    assert!((298_000..302_000).contains(&lines), "{lines}");

    let mut noticed = vec![false; conditions.len()];
    for (change, wanted) in PLANTED {
        database.raw.execute_batch("SAVEPOINT intact").unwrap();
        database.raw.execute_batch(change).unwrap();
        let conditions = workload.check(&mut database).unwrap();
        assert_eq!(violated(&conditions), *wanted, "{change}: {conditions:#?}");
        for position in *wanted {
            noticed[*position] = true;
            let words = conditions[*position].first_violation.as_deref();
            assert!(words.is_some_and(|words| words.len() > 20), "{words:?}");
        }
        let back = "ROLLBACK TO intact; RELEASE intact";
        database.raw.execute_batch(back).unwrap();
    }
    assert!(noticed.iter().all(|noticed| *noticed), "{noticed:?}");
}

#[test]
fn a_database_of_another_seed_or_scale_is_refused() {
    let mut database = Sqlite::loaded(&Tpcc::new(1, Seed::new(1)).unwrap());
    let other_seed = Tpcc::new(1, Seed::new(2)).unwrap();
    let conditions = other_seed.check(&mut database).unwrap();
    assert_eq!(violated(&conditions), [0]);
    let other_scale = Tpcc::new(2, Seed::new(1)).unwrap();
    let conditions = other_scale.check(&mut database).unwrap();
    let words = conditions[0].first_violation.as_deref();
    assert_eq!(
        words,
        Some("warehouses is 1 in the database, 2 in this workload")
    );
    // The second warehouse does not exist, which conditions about its rows say.
    assert_eq!(violated(&conditions), [0, 1, 2, 8, 9, 10, 11, 12, 13, 15]);
}
