//! Every SQL statement of the transactions and the checks, in the subset that
//! SQLite, PostgreSQL, MySQL and MariaDB share.
//!
//! Two rules keep them right on every database. Arithmetic on columns is only
//! adding and subtracting values of one scale, so that it is the same on exact
//! decimals and on whole numbers of cents. And where a transaction needs a
//! value that it changes, it changes the row first and reads it afterwards:
//! the row is then locked, so no other transaction's change is lost even where
//! the isolation level is READ COMMITTED, without a vendor's locking clause.

use crate::{
    connection::{Statement, StatementId, statements},
    schema::ColumnKind::{self, Char, Varchar},
};

const I: ColumnKind = ColumnKind::Integer;
const T: ColumnKind = ColumnKind::Timestamp;
/// Prices and amounts are narrower, but all have cents.
const MONEY: ColumnKind = ColumnKind::Decimal {
    precision: 12,
    scale: super::schema::CENTS,
};
const FRACTION: ColumnKind = ColumnKind::Decimal {
    precision: 4,
    scale: super::schema::FRACTION,
};

statements! {
    // New-Order (clause 2.4.2.2).
    WAREHOUSE_TAX = Statement::query(
        "SELECT w_tax FROM warehouse WHERE w_id = ?1",
        &[I],
        &[FRACTION],
    );
    TAKE_ORDER_NUMBER = Statement::change(
        "UPDATE district SET d_next_o_id = d_next_o_id + ?1 WHERE d_w_id = ?2 AND d_id = ?3",
        &[I, I, I],
        1,
    );
    DISTRICT_TAX = Statement::query(
        "SELECT d_tax, d_next_o_id FROM district WHERE d_w_id = ?1 AND d_id = ?2",
        &[I, I],
        &[FRACTION, I],
    );
    CUSTOMER_DISCOUNT = Statement::query(
        "SELECT c_discount, c_last, c_credit FROM customer \
         WHERE c_w_id = ?1 AND c_d_id = ?2 AND c_id = ?3",
        &[I, I, I],
        &[FRACTION, Varchar(16), Char(2)],
    );
    INSERT_ORDER = Statement::change(
        "INSERT INTO orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_carrier_id, \
         o_ol_cnt, o_all_local) VALUES (?1, ?2, ?3, ?4, ?5, NULL, ?6, ?7)",
        &[I, I, I, I, T, I, I],
        7,
    );
    INSERT_NEW_ORDER = Statement::change(
        "INSERT INTO new_order (no_o_id, no_d_id, no_w_id) VALUES (?1, ?2, ?3)",
        &[I, I, I],
        3,
    );
    ITEM_PRICE = Statement::query(
        "SELECT i_price, i_name, i_data FROM item WHERE i_id = ?1",
        &[I],
        &[MONEY, Varchar(24), Varchar(50)],
    );
    /// S_QUANTITY falls by the quantity; where fewer than 10 would be left, 91
    /// come in.
    TAKE_STOCK = Statement::change(
        "UPDATE stock SET s_quantity = CASE WHEN s_quantity >= ?1 + 10 \
         THEN s_quantity - ?1 ELSE s_quantity - ?1 + 91 END, \
         s_ytd = s_ytd + ?2, s_order_cnt = s_order_cnt + ?3, \
         s_remote_cnt = s_remote_cnt + ?4 WHERE s_w_id = ?5 AND s_i_id = ?6",
        &[I, I, I, I, I, I],
        4,
    );
    STOCK_01 = stock("SELECT s_quantity, s_data, s_dist_01 FROM stock WHERE s_w_id = ?1 AND s_i_id = ?2");
    STOCK_02 = stock("SELECT s_quantity, s_data, s_dist_02 FROM stock WHERE s_w_id = ?1 AND s_i_id = ?2");
    STOCK_03 = stock("SELECT s_quantity, s_data, s_dist_03 FROM stock WHERE s_w_id = ?1 AND s_i_id = ?2");
    STOCK_04 = stock("SELECT s_quantity, s_data, s_dist_04 FROM stock WHERE s_w_id = ?1 AND s_i_id = ?2");
    STOCK_05 = stock("SELECT s_quantity, s_data, s_dist_05 FROM stock WHERE s_w_id = ?1 AND s_i_id = ?2");
    STOCK_06 = stock("SELECT s_quantity, s_data, s_dist_06 FROM stock WHERE s_w_id = ?1 AND s_i_id = ?2");
    STOCK_07 = stock("SELECT s_quantity, s_data, s_dist_07 FROM stock WHERE s_w_id = ?1 AND s_i_id = ?2");
    STOCK_08 = stock("SELECT s_quantity, s_data, s_dist_08 FROM stock WHERE s_w_id = ?1 AND s_i_id = ?2");
    STOCK_09 = stock("SELECT s_quantity, s_data, s_dist_09 FROM stock WHERE s_w_id = ?1 AND s_i_id = ?2");
    STOCK_10 = stock("SELECT s_quantity, s_data, s_dist_10 FROM stock WHERE s_w_id = ?1 AND s_i_id = ?2");
    INSERT_ORDER_LINE = Statement::change(
        "INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, \
         ol_supply_w_id, ol_delivery_d, ol_quantity, ol_amount, ol_dist_info) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, NULL, ?7, ?8, ?9)",
        &[I, I, I, I, I, I, I, MONEY, Char(24)],
        9,
    );

    // Payment (clause 2.5.2.2).
    PAY_WAREHOUSE = Statement::change(
        "UPDATE warehouse SET w_ytd = w_ytd + ?1 WHERE w_id = ?2",
        &[MONEY, I],
        1,
    );
    WAREHOUSE_ADDRESS = Statement::query(
        "SELECT w_name, w_street_1, w_street_2, w_city, w_state, w_zip \
         FROM warehouse WHERE w_id = ?1",
        &[I],
        &[Varchar(10), Varchar(20), Varchar(20), Varchar(20), Char(2), Char(9)],
    );
    PAY_DISTRICT = Statement::change(
        "UPDATE district SET d_ytd = d_ytd + ?1 WHERE d_w_id = ?2 AND d_id = ?3",
        &[MONEY, I, I],
        1,
    );
    DISTRICT_ADDRESS = Statement::query(
        "SELECT d_name, d_street_1, d_street_2, d_city, d_state, d_zip \
         FROM district WHERE d_w_id = ?1 AND d_id = ?2",
        &[I, I],
        &[Varchar(10), Varchar(20), Varchar(20), Varchar(20), Char(2), Char(9)],
    );
    /// Equal first names are ordered by number, so that one seed gives one
    /// outcome.
    CUSTOMERS_BY_NAME = Statement::query(
        "SELECT c_id FROM customer WHERE c_w_id = ?1 AND c_d_id = ?2 AND c_last = ?3 \
         ORDER BY c_first, c_id",
        &[I, I, Varchar(16)],
        &[I],
    );
    PAY_CUSTOMER = Statement::change(
        "UPDATE customer SET c_balance = c_balance - ?1, c_ytd_payment = c_ytd_payment + ?2, \
         c_payment_cnt = c_payment_cnt + ?3 WHERE c_w_id = ?4 AND c_d_id = ?5 AND c_id = ?6",
        &[MONEY, MONEY, I, I, I, I],
        3,
    );
    CUSTOMER_DETAILS = Statement::query(
        "SELECT c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, \
         c_phone, c_since, c_credit, c_credit_lim, c_discount, c_balance FROM customer \
         WHERE c_w_id = ?1 AND c_d_id = ?2 AND c_id = ?3",
        &[I, I, I],
        &[
            Varchar(16), Char(2), Varchar(16), Varchar(20), Varchar(20), Varchar(20), Char(2),
            Char(9), Char(16), T, Char(2), MONEY, FRACTION, MONEY,
        ],
    );
    CUSTOMER_DATA = Statement::query(
        "SELECT c_data FROM customer WHERE c_w_id = ?1 AND c_d_id = ?2 AND c_id = ?3",
        &[I, I, I],
        &[Varchar(500)],
    );
    REWRITE_CUSTOMER_DATA = Statement::change(
        "UPDATE customer SET c_data = ?1 WHERE c_w_id = ?2 AND c_d_id = ?3 AND c_id = ?4",
        &[Varchar(500), I, I, I],
        1,
    );
    INSERT_HISTORY = Statement::change(
        "INSERT INTO history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, \
         h_data) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        &[I, I, I, I, I, T, MONEY, Varchar(24)],
        8,
    );

    // Order-Status (clause 2.6.2.2).
    CUSTOMER_BALANCE = Statement::query(
        "SELECT c_balance, c_first, c_middle, c_last FROM customer \
         WHERE c_w_id = ?1 AND c_d_id = ?2 AND c_id = ?3",
        &[I, I, I],
        &[MONEY, Varchar(16), Char(2), Varchar(16)],
    );
    LAST_ORDER = Statement::query(
        "SELECT o_id, o_entry_d, o_carrier_id FROM orders \
         WHERE o_w_id = ?1 AND o_d_id = ?2 AND o_c_id = ?3 ORDER BY o_id DESC LIMIT 1",
        &[I, I, I],
        &[I, T, I],
    );
    LINES_OF_ORDER = Statement::query(
        "SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM order_line \
         WHERE ol_w_id = ?1 AND ol_d_id = ?2 AND ol_o_id = ?3",
        &[I, I, I],
        &[I, I, I, MONEY, T],
    );

    // Delivery (clause 2.7.4.2).
    OLDEST_NEW_ORDER = Statement::query(
        "SELECT MIN(no_o_id) FROM new_order WHERE no_w_id = ?1 AND no_d_id = ?2",
        &[I, I],
        &[I],
    );
    DELETE_NEW_ORDER = Statement::change(
        "DELETE FROM new_order WHERE no_w_id = ?1 AND no_d_id = ?2 AND no_o_id = ?3",
        &[I, I, I],
        0,
    );
    SET_CARRIER = Statement::change(
        "UPDATE orders SET o_carrier_id = ?1 WHERE o_w_id = ?2 AND o_d_id = ?3 AND o_id = ?4",
        &[I, I, I, I],
        1,
    );
    ORDER_CUSTOMER = Statement::query(
        "SELECT o_c_id FROM orders WHERE o_w_id = ?1 AND o_d_id = ?2 AND o_id = ?3",
        &[I, I, I],
        &[I],
    );
    /// Changes all lines of an order, but the new value is counted once.
    DELIVER_LINES = Statement::change(
        "UPDATE order_line SET ol_delivery_d = ?1 \
         WHERE ol_w_id = ?2 AND ol_d_id = ?3 AND ol_o_id = ?4",
        &[T, I, I, I],
        1,
    );
    ORDER_AMOUNT = Statement::query(
        "SELECT SUM(ol_amount) FROM order_line \
         WHERE ol_w_id = ?1 AND ol_d_id = ?2 AND ol_o_id = ?3",
        &[I, I, I],
        &[MONEY],
    );
    DELIVER_TO_CUSTOMER = Statement::change(
        "UPDATE customer SET c_balance = c_balance + ?1, c_delivery_cnt = c_delivery_cnt + ?2 \
         WHERE c_w_id = ?3 AND c_d_id = ?4 AND c_id = ?5",
        &[MONEY, I, I, I, I],
        2,
    );

    // Stock-Level (clause 2.8.2.2).
    NEXT_ORDER_NUMBER = Statement::query(
        "SELECT d_next_o_id FROM district WHERE d_w_id = ?1 AND d_id = ?2",
        &[I, I],
        &[I],
    );
    LOW_STOCK = Statement::query(
        "SELECT COUNT(DISTINCT s_i_id) FROM order_line, stock \
         WHERE ol_w_id = ?1 AND ol_d_id = ?2 AND ol_o_id >= ?3 AND ol_o_id < ?4 \
         AND s_w_id = ?5 AND s_i_id = ol_i_id AND s_quantity < ?6",
        &[I, I, I, I, I, I],
        &[I],
    );

    // The conditions of clause 3.3.2, and those beyond them.
    CHECK_CONSTANTS = Statement::query(
        "SELECT name, value FROM octavo_constant ORDER BY name",
        &[],
        &[Varchar(32), I],
    );
    CHECK_WAREHOUSE = Statement::query(
        "SELECT w_ytd FROM warehouse WHERE w_id = ?1",
        &[I],
        &[MONEY],
    );
    CHECK_DISTRICTS = Statement::query(
        "SELECT d_id, d_ytd, d_next_o_id FROM district WHERE d_w_id = ?1 ORDER BY d_id",
        &[I],
        &[I, MONEY, I],
    );
    CHECK_CUSTOMERS = Statement::query(
        "SELECT c_d_id, c_id, c_balance, c_ytd_payment, c_delivery_cnt, c_payment_cnt \
         FROM customer WHERE c_w_id = ?1 ORDER BY c_d_id, c_id",
        &[I],
        &[I, I, MONEY, MONEY, I, I],
    );
    CHECK_ORDERS = Statement::query(
        "SELECT o_id, o_c_id, o_carrier_id, o_ol_cnt FROM orders \
         WHERE o_w_id = ?1 AND o_d_id = ?2 ORDER BY o_id",
        &[I, I],
        &[I, I, I, I],
    );
    CHECK_NEW_ORDERS = Statement::query(
        "SELECT no_o_id FROM new_order WHERE no_w_id = ?1 AND no_d_id = ?2 ORDER BY no_o_id",
        &[I, I],
        &[I],
    );
    CHECK_ORDER_LINES = Statement::query(
        "SELECT ol_o_id, ol_delivery_d, ol_amount, ol_supply_w_id, ol_quantity FROM order_line \
         WHERE ol_w_id = ?1 AND ol_d_id = ?2 ORDER BY ol_o_id",
        &[I, I],
        &[I, T, MONEY, I, I],
    );
    CHECK_HISTORY = Statement::query(
        "SELECT h_w_id, h_d_id, h_c_w_id, h_c_d_id, h_c_id, h_amount FROM history \
         WHERE (h_w_id >= ?1 AND h_w_id <= ?2) OR (h_c_w_id >= ?3 AND h_c_w_id <= ?4)",
        &[I, I, I, I],
        &[I, I, I, I, I, MONEY],
    );
    CHECK_STOCK = Statement::query(
        "SELECT s_w_id, COUNT(*), SUM(s_ytd) FROM stock GROUP BY s_w_id",
        &[],
        &[I, I, I],
    );
    COUNT_ITEMS = Statement::query("SELECT COUNT(*) FROM item", &[], &[I]);
    COUNT_WAREHOUSES = Statement::query("SELECT COUNT(*) FROM warehouse", &[], &[I]);
    COUNT_DISTRICTS = Statement::query("SELECT COUNT(*) FROM district", &[], &[I]);
    COUNT_CUSTOMERS = Statement::query("SELECT COUNT(*) FROM customer", &[], &[I]);
}

const fn stock(sql: &'static str) -> Statement {
    const RESULT: &[ColumnKind] = &[I, Varchar(50), Char(24)];
    Statement::query(sql, &[I, I], RESULT)
}

/// Reads a stock row with the S_DIST text of `district`, 1 to 10.
pub(super) fn stock_for(district: i64) -> StatementId {
    const BY_DISTRICT: [StatementId; 10] = [
        STOCK_01, STOCK_02, STOCK_03, STOCK_04, STOCK_05, STOCK_06, STOCK_07, STOCK_08, STOCK_09,
        STOCK_10,
    ];
    BY_DISTRICT[district as usize - 1]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marks(sql: &str) -> Vec<usize> {
        sql.split('?')
            .skip(1)
            .map(|rest| {
                let digits = rest.find(|c: char| !c.is_ascii_digit());
                rest[..digits.unwrap_or(rest.len())].parse().unwrap()
            })
            .collect()
    }

    #[test]
    fn marks_are_numbered_by_first_appearance() {
        for statement in STATEMENTS {
            let mut first = Vec::new();
            for mark in marks(statement.sql) {
                if !first.contains(&mark) {
                    first.push(mark);
                }
            }
            let wanted: Vec<usize> = (1..=statement.parameters.len()).collect();
            assert_eq!(first, wanted, "{}", statement.sql);
        }
    }

    #[test]
    fn changes_have_no_result_and_their_new_values_come_first() {
        for statement in STATEMENTS {
            let sql = statement.sql;
            assert_eq!(
                sql.starts_with("SELECT"),
                !statement.result.is_empty(),
                "{sql}"
            );
            let changed = match sql.split_once(" WHERE ") {
                _ if sql.starts_with("INSERT") => statement.parameters.len(),
                Some((set, _)) if sql.starts_with("UPDATE") => {
                    *marks(set).iter().max().expect("an update sets something")
                }
                _ => 0,
            };
            assert_eq!(statement.changed_parameters, changed, "{sql}");
        }
    }

    #[test]
    fn constants_name_their_statements() {
        for (id, part) in [
            (WAREHOUSE_TAX, "SELECT w_tax"),
            (INSERT_ORDER_LINE, "INSERT INTO order_line"),
            (INSERT_HISTORY, "INSERT INTO history"),
            (LOW_STOCK, "COUNT(DISTINCT s_i_id)"),
            (CHECK_HISTORY, "SELECT h_w_id"),
        ] {
            assert!(STATEMENTS[id.0].sql.contains(part), "{part}");
        }
        for district in 1..=10 {
            let column = format!("s_dist_{district:02}");
            assert!(STATEMENTS[stock_for(district).0].sql.contains(&column));
        }
    }

    #[test]
    fn results_have_the_columns_that_are_declared() {
        for statement in STATEMENTS.iter().filter(|s| s.sql.starts_with("SELECT")) {
            let list = statement.sql["SELECT ".len()..]
                .split(" FROM ")
                .next()
                .unwrap();
            assert_eq!(list.split(',').count(), statement.result.len(), "{list}");
        }
    }
}
