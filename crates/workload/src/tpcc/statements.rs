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
    connection::{StatementId, statements},
    schema::ColumnKind::{self, Char, Varchar},
};

const I: ColumnKind = ColumnKind::Integer;
const T: ColumnKind = ColumnKind::Timestamp;
/// Prices and amounts are narrower, but all have cents.
const MONEY: ColumnKind = ColumnKind::Decimal {
    precision: 12,
    scale: crate::money::CENTS,
};
const FRACTION: ColumnKind = ColumnKind::Decimal {
    precision: 4,
    scale: super::schema::FRACTION,
};

/// [`statements`], and a group that reads a row of STOCK with the text of one district: 1
/// to 10, in this order. The statement of reports is the last, since TPC-C does not prepare it.
macro_rules! statements_with_stock_of_districts {
    ([$($name:ident $text:ident),*] $($groups:tt)*) => {
        statements! {
            $($groups)*
            /// Stock with the text of one district (clause 2.4.2.2).
            Stock {$(
                $name: [I, I] -> [I, Varchar(50), Char(24)] = (concat!(
                    "SELECT s_quantity, s_data, ",
                    stringify!($text),
                    " FROM stock WHERE s_w_id = ?1 AND s_i_id = ?2"
                ))
                    reads stock of [s_quantity, s_data, $text, s_w_id, s_i_id];
            )*}
            /// Reports, which TPC-C does not have: what a part of a district's orders came to.
            Report {
                REPORT_LINES: [I, I, I, I] -> [I, MONEY] =
                    "SELECT COUNT(*), SUM(ol_amount) FROM order_line \
                     WHERE ol_w_id = ?1 AND ol_d_id = ?2 AND ol_o_id >= ?3 AND ol_o_id < ?4"
                    reads order_line of [ol_amount, ol_w_id, ol_d_id, ol_o_id];
            }
        }
        const STOCK_BY_DISTRICT: [StatementId; 10] = [$($name),*];
    };
}

statements_with_stock_of_districts! {
    [
        STOCK_01 s_dist_01, STOCK_02 s_dist_02, STOCK_03 s_dist_03, STOCK_04 s_dist_04,
        STOCK_05 s_dist_05, STOCK_06 s_dist_06, STOCK_07 s_dist_07, STOCK_08 s_dist_08,
        STOCK_09 s_dist_09, STOCK_10 s_dist_10
    ]
    /// New-Order (clause 2.4.2.2).
    NewOrder {
        WAREHOUSE_TAX: [I] -> [FRACTION] = "SELECT w_tax FROM warehouse WHERE w_id = ?1"
            reads warehouse of [w_tax, w_id];
        TAKE_ORDER_NUMBER: [I, I, I] =
            "UPDATE district SET d_next_o_id = d_next_o_id + ?1 WHERE d_w_id = ?2 AND d_id = ?3"
            updates district of [d_next_o_id, d_w_id, d_id] sets [d_next_o_id];
        DISTRICT_TAX: [I, I] -> [FRACTION, I] =
            "SELECT d_tax, d_next_o_id FROM district WHERE d_w_id = ?1 AND d_id = ?2"
            reads district of [d_tax, d_next_o_id, d_w_id, d_id];
        CUSTOMER_DISCOUNT: [I, I, I] -> [FRACTION, Varchar(16), Char(2)] =
            "SELECT c_discount, c_last, c_credit FROM customer \
             WHERE c_w_id = ?1 AND c_d_id = ?2 AND c_id = ?3"
            reads customer of [c_discount, c_last, c_credit, c_w_id, c_d_id, c_id];
        INSERT_ORDER: [I, I, I, I, T, I, I] =
            "INSERT INTO orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_carrier_id, \
             o_ol_cnt, o_all_local) VALUES (?1, ?2, ?3, ?4, ?5, NULL, ?6, ?7)"
            inserts orders sets [o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt,
                o_all_local];
        INSERT_NEW_ORDER: [I, I, I] =
            "INSERT INTO new_order (no_o_id, no_d_id, no_w_id) VALUES (?1, ?2, ?3)"
            inserts new_order sets [no_o_id, no_d_id, no_w_id];
        ITEM_PRICE: [I] -> [MONEY, Varchar(24), Varchar(50)] =
            "SELECT i_price, i_name, i_data FROM item WHERE i_id = ?1"
            reads item of [i_price, i_name, i_data, i_id];
        /// S_QUANTITY falls by the quantity; where fewer than 10 would be left, 91
        /// come in.
        TAKE_STOCK: [I, I, I, I, I, I] =
            "UPDATE stock SET s_quantity = CASE WHEN s_quantity >= ?1 + 10 \
             THEN s_quantity - ?1 ELSE s_quantity - ?1 + 91 END, \
             s_ytd = s_ytd + ?2, s_order_cnt = s_order_cnt + ?3, \
             s_remote_cnt = s_remote_cnt + ?4 WHERE s_w_id = ?5 AND s_i_id = ?6"
            updates stock of [s_quantity, s_ytd, s_order_cnt, s_remote_cnt, s_w_id, s_i_id] sets
                [s_quantity, s_ytd, s_order_cnt, s_remote_cnt];
        INSERT_ORDER_LINE: [I, I, I, I, I, I, I, MONEY, Char(24)] =
            "INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, \
             ol_supply_w_id, ol_delivery_d, ol_quantity, ol_amount, ol_dist_info) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, NULL, ?7, ?8, ?9)"
            inserts order_line sets [ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id,
                ol_delivery_d, ol_quantity, ol_amount, ol_dist_info];
    }
    /// Payment (clause 2.5.2.2).
    Payment {
        PAY_WAREHOUSE: [MONEY, I] = "UPDATE warehouse SET w_ytd = w_ytd + ?1 WHERE w_id = ?2"
            updates warehouse of [w_ytd, w_id] sets [w_ytd];
        WAREHOUSE_ADDRESS:
            [I] -> [Varchar(10), Varchar(20), Varchar(20), Varchar(20), Char(2), Char(9)] =
            "SELECT w_name, w_street_1, w_street_2, w_city, w_state, w_zip \
             FROM warehouse WHERE w_id = ?1"
            reads warehouse of [w_name, w_street_1, w_street_2, w_city, w_state, w_zip, w_id];
        PAY_DISTRICT: [MONEY, I, I] =
            "UPDATE district SET d_ytd = d_ytd + ?1 WHERE d_w_id = ?2 AND d_id = ?3"
            updates district of [d_ytd, d_w_id, d_id] sets [d_ytd];
        DISTRICT_ADDRESS:
            [I, I] -> [Varchar(10), Varchar(20), Varchar(20), Varchar(20), Char(2), Char(9)] =
            "SELECT d_name, d_street_1, d_street_2, d_city, d_state, d_zip \
             FROM district WHERE d_w_id = ?1 AND d_id = ?2"
            reads district of [d_name, d_street_1, d_street_2, d_city, d_state, d_zip, d_w_id, d_id];
        /// Equal first names are ordered by number, so that one seed gives one
        /// outcome.
        CUSTOMERS_BY_NAME: [I, I, Varchar(16)] -> [I] =
            "SELECT c_id FROM customer WHERE c_w_id = ?1 AND c_d_id = ?2 AND c_last = ?3 \
             ORDER BY c_first, c_id"
            reads customer by [customer_by_name] of [c_id, c_w_id, c_d_id, c_last, c_first];
        PAY_CUSTOMER: [MONEY, MONEY, I, I, I, I] =
            "UPDATE customer SET c_balance = c_balance - ?1, c_ytd_payment = c_ytd_payment + ?2, \
             c_payment_cnt = c_payment_cnt + ?3 WHERE c_w_id = ?4 AND c_d_id = ?5 AND c_id = ?6"
            updates customer of [c_balance, c_ytd_payment, c_payment_cnt, c_w_id, c_d_id, c_id] sets
                [c_balance, c_ytd_payment, c_payment_cnt];
        CUSTOMER_DETAILS: [I, I, I] -> [
            Varchar(16), Char(2), Varchar(16), Varchar(20), Varchar(20), Varchar(20), Char(2),
            Char(9), Char(16), T, Char(2), MONEY, FRACTION, MONEY,
        ] =
            "SELECT c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, \
             c_phone, c_since, c_credit, c_credit_lim, c_discount, c_balance FROM customer \
             WHERE c_w_id = ?1 AND c_d_id = ?2 AND c_id = ?3"
            reads customer of [c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state,
                c_zip, c_phone, c_since, c_credit, c_credit_lim, c_discount, c_balance, c_w_id,
                c_d_id, c_id];
        CUSTOMER_DATA: [I, I, I] -> [Varchar(500)] =
            "SELECT c_data FROM customer WHERE c_w_id = ?1 AND c_d_id = ?2 AND c_id = ?3"
            reads customer of [c_data, c_w_id, c_d_id, c_id];
        REWRITE_CUSTOMER_DATA: [Varchar(500), I, I, I] =
            "UPDATE customer SET c_data = ?1 WHERE c_w_id = ?2 AND c_d_id = ?3 AND c_id = ?4"
            updates customer of [c_w_id, c_d_id, c_id] sets [c_data];
        INSERT_HISTORY: [I, I, I, I, I, T, MONEY, Varchar(24)] =
            "INSERT INTO history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, \
             h_data) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)"
            inserts history sets [h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount,
                h_data];
    }
    /// Order-Status (clause 2.6.2.2).
    OrderStatus {
        CUSTOMER_BALANCE: [I, I, I] -> [MONEY, Varchar(16), Char(2), Varchar(16)] =
            "SELECT c_balance, c_first, c_middle, c_last FROM customer \
             WHERE c_w_id = ?1 AND c_d_id = ?2 AND c_id = ?3"
            reads customer of [c_balance, c_first, c_middle, c_last, c_w_id, c_d_id, c_id];
        LAST_ORDER: [I, I, I] -> [I, T, I] =
            "SELECT o_id, o_entry_d, o_carrier_id FROM orders \
             WHERE o_w_id = ?1 AND o_d_id = ?2 AND o_c_id = ?3 ORDER BY o_id DESC LIMIT 1"
            reads orders by [orders_by_customer, entry] of [o_id, o_entry_d, o_carrier_id, o_w_id,
                o_d_id, o_c_id];
        LINES_OF_ORDER: [I, I, I] -> [I, I, I, MONEY, T] =
            "SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM order_line \
             WHERE ol_w_id = ?1 AND ol_d_id = ?2 AND ol_o_id = ?3"
            reads order_line of [ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d,
                ol_w_id, ol_d_id, ol_o_id];
    }
    /// Delivery (clause 2.7.4.2).
    Delivery {
        OLDEST_NEW_ORDER: [I, I] -> [I] =
            "SELECT MIN(no_o_id) FROM new_order WHERE no_w_id = ?1 AND no_d_id = ?2"
            reads new_order of [no_o_id, no_w_id, no_d_id];
        DELETE_NEW_ORDER: [I, I, I] =
            "DELETE FROM new_order WHERE no_w_id = ?1 AND no_d_id = ?2 AND no_o_id = ?3"
            deletes new_order of [no_w_id, no_d_id, no_o_id];
        SET_CARRIER: [I, I, I, I] =
            "UPDATE orders SET o_carrier_id = ?1 WHERE o_w_id = ?2 AND o_d_id = ?3 AND o_id = ?4"
            updates orders of [o_w_id, o_d_id, o_id] sets [o_carrier_id];
        ORDER_CUSTOMER: [I, I, I] -> [I] =
            "SELECT o_c_id FROM orders WHERE o_w_id = ?1 AND o_d_id = ?2 AND o_id = ?3"
            reads orders of [o_c_id, o_w_id, o_d_id, o_id];
        /// Changes all lines of an order, but the new value is counted once.
        DELIVER_LINES: [T, I, I, I] =
            "UPDATE order_line SET ol_delivery_d = ?1 \
             WHERE ol_w_id = ?2 AND ol_d_id = ?3 AND ol_o_id = ?4"
            updates order_line of [ol_w_id, ol_d_id, ol_o_id] sets [ol_delivery_d];
        ORDER_AMOUNT: [I, I, I] -> [MONEY] =
            "SELECT SUM(ol_amount) FROM order_line \
             WHERE ol_w_id = ?1 AND ol_d_id = ?2 AND ol_o_id = ?3"
            reads order_line of [ol_amount, ol_w_id, ol_d_id, ol_o_id];
        DELIVER_TO_CUSTOMER: [MONEY, I, I, I, I] =
            "UPDATE customer SET c_balance = c_balance + ?1, c_delivery_cnt = c_delivery_cnt + ?2 \
             WHERE c_w_id = ?3 AND c_d_id = ?4 AND c_id = ?5"
            updates customer of [c_balance, c_delivery_cnt, c_w_id, c_d_id, c_id] sets [c_balance,
                c_delivery_cnt];
    }
    /// Stock-Level (clause 2.8.2.2).
    StockLevel {
        NEXT_ORDER_NUMBER: [I, I] -> [I] =
            "SELECT d_next_o_id FROM district WHERE d_w_id = ?1 AND d_id = ?2"
            reads district of [d_next_o_id, d_w_id, d_id];
        LOW_STOCK: [I, I, I, I, I, I] -> [I] =
            "SELECT COUNT(DISTINCT s_i_id) FROM order_line, stock \
             WHERE ol_w_id = ?1 AND ol_d_id = ?2 AND ol_o_id >= ?3 AND ol_o_id < ?4 \
             AND s_w_id = ?5 AND s_i_id = ol_i_id AND s_quantity < ?6"
            reads order_line of [ol_w_id, ol_d_id, ol_o_id, ol_i_id],
            reads stock of [s_i_id, s_w_id, s_quantity];
    }
    /// The conditions of clause 3.3.2, and those beyond them.
    Checks {
        CHECK_CONSTANTS: [] -> [Varchar(32), I] =
            "SELECT name, value FROM octavo_constant ORDER BY name"
            reads octavo_constant of [name, value];
        CHECK_WAREHOUSE: [I] -> [MONEY] = "SELECT w_ytd FROM warehouse WHERE w_id = ?1"
            reads warehouse of [w_ytd, w_id];
        CHECK_DISTRICTS: [I] -> [I, MONEY, I] =
            "SELECT d_id, d_ytd, d_next_o_id FROM district WHERE d_w_id = ?1 ORDER BY d_id"
            reads district of [d_id, d_ytd, d_next_o_id, d_w_id];
        CHECK_CUSTOMERS: [I] -> [I, I, MONEY, MONEY, I, I] =
            "SELECT c_d_id, c_id, c_balance, c_ytd_payment, c_delivery_cnt, c_payment_cnt \
             FROM customer WHERE c_w_id = ?1 ORDER BY c_d_id, c_id"
            reads customer of [c_d_id, c_id, c_balance, c_ytd_payment, c_delivery_cnt, c_payment_cnt,
                c_w_id];
        CHECK_ORDERS: [I, I] -> [I, I, I, I] =
            "SELECT o_id, o_c_id, o_carrier_id, o_ol_cnt FROM orders \
             WHERE o_w_id = ?1 AND o_d_id = ?2 ORDER BY o_id"
            reads orders of [o_id, o_c_id, o_carrier_id, o_ol_cnt, o_w_id, o_d_id];
        CHECK_NEW_ORDERS: [I, I] -> [I] =
            "SELECT no_o_id FROM new_order WHERE no_w_id = ?1 AND no_d_id = ?2 ORDER BY no_o_id"
            reads new_order of [no_o_id, no_w_id, no_d_id];
        CHECK_ORDER_LINES: [I, I] -> [I, T, MONEY, I, I] =
            "SELECT ol_o_id, ol_delivery_d, ol_amount, ol_supply_w_id, ol_quantity FROM order_line \
             WHERE ol_w_id = ?1 AND ol_d_id = ?2 ORDER BY ol_o_id"
            reads order_line of [ol_o_id, ol_delivery_d, ol_amount, ol_supply_w_id, ol_quantity,
                ol_w_id, ol_d_id];
        CHECK_HISTORY: [I, I, I, I] -> [I, I, I, I, I, MONEY] =
            "SELECT h_w_id, h_d_id, h_c_w_id, h_c_d_id, h_c_id, h_amount FROM history \
             WHERE (h_w_id >= ?1 AND h_w_id <= ?2) OR (h_c_w_id >= ?3 AND h_c_w_id <= ?4)"
            reads history of [h_w_id, h_d_id, h_c_w_id, h_c_d_id, h_c_id, h_amount];
        CHECK_STOCK: [] -> [I, I, I] = "SELECT s_w_id, COUNT(*), SUM(s_ytd) FROM stock GROUP BY s_w_id"
            reads stock of [s_w_id, s_ytd];
        COUNT_ITEMS: [] -> [I] = "SELECT COUNT(*) FROM item"
            reads item;
        COUNT_WAREHOUSES: [] -> [I] = "SELECT COUNT(*) FROM warehouse"
            reads warehouse;
        COUNT_DISTRICTS: [] -> [I] = "SELECT COUNT(*) FROM district"
            reads district;
        COUNT_CUSTOMERS: [] -> [I] = "SELECT COUNT(*) FROM customer"
            reads customer;
    }
}

/// Reads a stock row with the S_DIST text of `district`, 1 to 10.
pub(super) fn stock_for(district: i64) -> StatementId {
    STOCK_BY_DISTRICT[district as usize - 1]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_district_has_its_text_of_a_stock_row() {
        for district in 1..=10 {
            let column = format!("s_dist_{district:02}");
            assert!(STATEMENTS[stock_for(district).0].sql.contains(&column));
        }
    }
}
