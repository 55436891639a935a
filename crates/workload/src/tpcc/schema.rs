//! The nine tables of clause 1.3, and a tenth that keeps what the population
//! was made with.
//!
//! Names are the specification's in lower case; `ORDER` and `NEW-ORDER` are
//! `orders` and `new_order`, since the first is a reserved word and the second
//! no identifier. Columns come in the specification's order. Foreign keys are
//! left out: the conditions of clause 3.3.2 are checked after every run, and
//! page sizes are compared without the reads that enforcing would add.

use std::sync::LazyLock;

use crate::schema::{
    ColumnKind::{self, Char, Varchar},
    Table, tables,
};

const fn decimal(precision: u8, scale: u8) -> ColumnKind {
    ColumnKind::Decimal { precision, scale }
}

/// Every whole number but `octavo_constant.value`. Of those of clause 1.3.1,
/// O_ID and D_NEXT_O_ID reach 10,000,000, S_YTD has eight digits, and all
/// others are smaller. In practice 32 bits suffice as well: warehouse numbers
/// end at [`super::Tpcc::WAREHOUSES_MAX`]; order numbers count the orders of
/// one district, where 1,000 a second would take 25 days to fill them; S_YTD
/// grows by 150 an order at most, all of one item.
const INTEGER: ColumnKind = ColumnKind::Integer32;
const TIMESTAMP: ColumnKind = ColumnKind::Timestamp;

/// Positions of the tables in [`TABLES`].
pub(super) const CONSTANT: usize = 0;
pub(super) const ITEM: usize = 1;
pub(super) const WAREHOUSE: usize = 2;
pub(super) const DISTRICT: usize = 3;
pub(super) const STOCK: usize = 4;
pub(super) const CUSTOMER: usize = 5;
pub(super) const HISTORY: usize = 6;
pub(super) const ORDERS: usize = 7;
pub(super) const NEW_ORDER: usize = 8;
pub(super) const ORDER_LINE: usize = 9;

/// All tables, in the order in which they are created and loaded.
///
/// Mean bytes of a row count texts by their mean length and every other value
/// as 8 bytes, as [`crate::connection::Value::byte_length`] does; a test
/// compares them with generated rows.
pub(super) static TABLES: LazyLock<[Table; 10]> = LazyLock::new(|| {
    tables! {
        octavo_constant(18) key [name] {
            name: Varchar(32),
            // A seed is one of them.
            value: ColumnKind::Integer,
        }
        item(81) key [i_id] {
            i_id: INTEGER,
            i_im_id: INTEGER,
            i_name: Varchar(24),
            i_price: decimal(5, 2),
            i_data: Varchar(50),
        }
        warehouse(88) key [w_id] {
            w_id: INTEGER,
            w_name: Varchar(10),
            w_street_1: Varchar(20), w_street_2: Varchar(20), w_city: Varchar(20),
            w_state: Char(2), w_zip: Char(9),
            w_tax: decimal(4, 4),
            w_ytd: decimal(12, 2),
        }
        district(104) key [d_w_id, d_id] {
            d_id: INTEGER, d_w_id: INTEGER,
            d_name: Varchar(10),
            d_street_1: Varchar(20), d_street_2: Varchar(20), d_city: Varchar(20),
            d_state: Char(2), d_zip: Char(9),
            d_tax: decimal(4, 4),
            d_ytd: decimal(12, 2),
            d_next_o_id: INTEGER,
        }
        stock(326) key [s_w_id, s_i_id] {
            s_i_id: INTEGER, s_w_id: INTEGER,
            s_quantity: INTEGER,
            s_dist_01: Char(24), s_dist_02: Char(24), s_dist_03: Char(24), s_dist_04: Char(24),
            s_dist_05: Char(24), s_dist_06: Char(24), s_dist_07: Char(24), s_dist_08: Char(24),
            s_dist_09: Char(24), s_dist_10: Char(24),
            s_ytd: INTEGER,
            s_order_cnt: INTEGER, s_remote_cnt: INTEGER,
            s_data: Varchar(50),
        }
        // The id closes the index, so that choosing by surname reads the
        // index alone, as it would where every secondary index holds the key.
        customer(580) key [c_w_id, c_d_id, c_id]
        index customer_by_name [c_w_id, c_d_id, c_last, c_first, c_id] {
            c_id: INTEGER, c_d_id: INTEGER, c_w_id: INTEGER,
            c_first: Varchar(16), c_middle: Char(2), c_last: Varchar(16),
            c_street_1: Varchar(20), c_street_2: Varchar(20), c_city: Varchar(20),
            c_state: Char(2), c_zip: Char(9),
            c_phone: Char(16),
            c_since: TIMESTAMP,
            c_credit: Char(2), c_credit_lim: decimal(12, 2),
            c_discount: decimal(4, 4),
            c_balance: decimal(12, 2), c_ytd_payment: decimal(12, 2),
            c_payment_cnt: INTEGER, c_delivery_cnt: INTEGER,
            c_data: Varchar(500),
        }
        history(74) {
            h_c_id: INTEGER, h_c_d_id: INTEGER, h_c_w_id: INTEGER,
            h_d_id: INTEGER, h_w_id: INTEGER,
            h_date: TIMESTAMP,
            h_amount: decimal(6, 2),
            h_data: Varchar(24),
        }
        orders(62) key [o_w_id, o_d_id, o_id]
        index orders_by_customer [o_w_id, o_d_id, o_c_id, o_id] {
            o_id: INTEGER, o_d_id: INTEGER, o_w_id: INTEGER,
            o_c_id: INTEGER,
            o_entry_d: TIMESTAMP,
            o_carrier_id nullable: INTEGER,
            o_ol_cnt: INTEGER,
            o_all_local: INTEGER,
        }
        new_order(24) key [no_w_id, no_d_id, no_o_id] {
            no_o_id: INTEGER, no_d_id: INTEGER, no_w_id: INTEGER,
        }
        order_line(94) key [ol_w_id, ol_d_id, ol_o_id, ol_number] {
            ol_o_id: INTEGER, ol_d_id: INTEGER, ol_w_id: INTEGER, ol_number: INTEGER,
            ol_i_id: INTEGER, ol_supply_w_id: INTEGER,
            ol_delivery_d nullable: TIMESTAMP,
            ol_quantity: INTEGER,
            ol_amount: decimal(6, 2),
            ol_dist_info: Char(24),
        }
    }
});

/// Rows of `item`, whatever the scale (clause 1.2.1).
pub(super) const ITEMS: i64 = 100_000;
/// Districts of a warehouse.
pub(super) const DISTRICTS: i64 = 10;
/// Customers of a district, and orders of a district after loading.
pub(super) const CUSTOMERS: i64 = 3000;
/// The first order of a district that is not delivered after loading (clause
/// 4.3.3.1): 900 of the 3,000 wait.
pub(super) const FIRST_UNDELIVERED: i64 = 2101;
/// Scale of taxes and discounts.
pub(super) const FRACTION: u8 = 4;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_stand_where_their_positions_say() {
        for (position, name) in [
            (CONSTANT, "octavo_constant"),
            (ITEM, "item"),
            (WAREHOUSE, "warehouse"),
            (DISTRICT, "district"),
            (STOCK, "stock"),
            (CUSTOMER, "customer"),
            (HISTORY, "history"),
            (ORDERS, "orders"),
            (NEW_ORDER, "new_order"),
            (ORDER_LINE, "order_line"),
        ] {
            assert_eq!(TABLES[position].name, name);
        }
    }

    #[test]
    fn keys_and_indexes_name_columns() {
        for table in TABLES.iter() {
            let keys = table.indexes.iter().flat_map(|index| index.columns);
            for key in table.primary_key.iter().chain(keys) {
                assert!(
                    table.columns.iter().any(|column| column.name == *key),
                    "{} has no column {key}",
                    table.name
                );
            }
        }
    }

    #[test]
    fn only_the_constants_take_64_bits() {
        for table in TABLES.iter() {
            for column in table.columns.iter() {
                let is_wide = column.kind == ColumnKind::Integer;
                assert_eq!(is_wide, column.name == "value", "{}", column.name);
            }
        }
    }
}
