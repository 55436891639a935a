//! The nine tables of clause 1.3, and a tenth that keeps what the population
//! was made with.
//!
//! Names are the specification's in lower case; `ORDER` and `NEW-ORDER` are
//! `orders` and `new_order`, since the first is a reserved word and the second
//! no identifier. Columns come in the specification's order. Foreign keys are
//! left out: the conditions of clause 3.3.2 are checked after every run, and
//! page sizes are compared without the reads that enforcing would add.

use std::borrow::Cow;

use crate::schema::{
    Column,
    ColumnKind::{self, Char, Varchar},
    Index, Table,
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
pub(super) static TABLES: [Table; 10] = [
    Table {
        name: "octavo_constant",
        columns: Cow::Borrowed(&[
            Column::new("name", Varchar(32)),
            // A seed is one of them.
            Column::new("value", ColumnKind::Integer),
        ]),
        primary_key: &["name"],
        indexes: &[],
        row_bytes_mean: 18,
    },
    Table {
        name: "item",
        columns: Cow::Borrowed(&[
            Column::new("i_id", INTEGER),
            Column::new("i_im_id", INTEGER),
            Column::new("i_name", Varchar(24)),
            Column::new("i_price", decimal(5, 2)),
            Column::new("i_data", Varchar(50)),
        ]),
        primary_key: &["i_id"],
        indexes: &[],
        row_bytes_mean: 81,
    },
    Table {
        name: "warehouse",
        columns: Cow::Borrowed(&[
            Column::new("w_id", INTEGER),
            Column::new("w_name", Varchar(10)),
            Column::new("w_street_1", Varchar(20)),
            Column::new("w_street_2", Varchar(20)),
            Column::new("w_city", Varchar(20)),
            Column::new("w_state", Char(2)),
            Column::new("w_zip", Char(9)),
            Column::new("w_tax", decimal(4, 4)),
            Column::new("w_ytd", decimal(12, 2)),
        ]),
        primary_key: &["w_id"],
        indexes: &[],
        row_bytes_mean: 88,
    },
    Table {
        name: "district",
        columns: Cow::Borrowed(&[
            Column::new("d_id", INTEGER),
            Column::new("d_w_id", INTEGER),
            Column::new("d_name", Varchar(10)),
            Column::new("d_street_1", Varchar(20)),
            Column::new("d_street_2", Varchar(20)),
            Column::new("d_city", Varchar(20)),
            Column::new("d_state", Char(2)),
            Column::new("d_zip", Char(9)),
            Column::new("d_tax", decimal(4, 4)),
            Column::new("d_ytd", decimal(12, 2)),
            Column::new("d_next_o_id", INTEGER),
        ]),
        primary_key: &["d_w_id", "d_id"],
        indexes: &[],
        row_bytes_mean: 104,
    },
    Table {
        name: "stock",
        columns: Cow::Borrowed(&[
            Column::new("s_i_id", INTEGER),
            Column::new("s_w_id", INTEGER),
            Column::new("s_quantity", INTEGER),
            Column::new("s_dist_01", Char(24)),
            Column::new("s_dist_02", Char(24)),
            Column::new("s_dist_03", Char(24)),
            Column::new("s_dist_04", Char(24)),
            Column::new("s_dist_05", Char(24)),
            Column::new("s_dist_06", Char(24)),
            Column::new("s_dist_07", Char(24)),
            Column::new("s_dist_08", Char(24)),
            Column::new("s_dist_09", Char(24)),
            Column::new("s_dist_10", Char(24)),
            Column::new("s_ytd", INTEGER),
            Column::new("s_order_cnt", INTEGER),
            Column::new("s_remote_cnt", INTEGER),
            Column::new("s_data", Varchar(50)),
        ]),
        primary_key: &["s_w_id", "s_i_id"],
        indexes: &[],
        row_bytes_mean: 326,
    },
    Table {
        name: "customer",
        columns: Cow::Borrowed(&[
            Column::new("c_id", INTEGER),
            Column::new("c_d_id", INTEGER),
            Column::new("c_w_id", INTEGER),
            Column::new("c_first", Varchar(16)),
            Column::new("c_middle", Char(2)),
            Column::new("c_last", Varchar(16)),
            Column::new("c_street_1", Varchar(20)),
            Column::new("c_street_2", Varchar(20)),
            Column::new("c_city", Varchar(20)),
            Column::new("c_state", Char(2)),
            Column::new("c_zip", Char(9)),
            Column::new("c_phone", Char(16)),
            Column::new("c_since", TIMESTAMP),
            Column::new("c_credit", Char(2)),
            Column::new("c_credit_lim", decimal(12, 2)),
            Column::new("c_discount", decimal(4, 4)),
            Column::new("c_balance", decimal(12, 2)),
            Column::new("c_ytd_payment", decimal(12, 2)),
            Column::new("c_payment_cnt", INTEGER),
            Column::new("c_delivery_cnt", INTEGER),
            Column::new("c_data", Varchar(500)),
        ]),
        primary_key: &["c_w_id", "c_d_id", "c_id"],
        // The id closes the index, so that choosing by surname reads the
        // index alone, as it would where every secondary index holds the key.
        indexes: &[Index {
            name: "customer_by_name",
            columns: &["c_w_id", "c_d_id", "c_last", "c_first", "c_id"],
        }],
        row_bytes_mean: 580,
    },
    Table {
        name: "history",
        columns: Cow::Borrowed(&[
            Column::new("h_c_id", INTEGER),
            Column::new("h_c_d_id", INTEGER),
            Column::new("h_c_w_id", INTEGER),
            Column::new("h_d_id", INTEGER),
            Column::new("h_w_id", INTEGER),
            Column::new("h_date", TIMESTAMP),
            Column::new("h_amount", decimal(6, 2)),
            Column::new("h_data", Varchar(24)),
        ]),
        primary_key: &[],
        indexes: &[],
        row_bytes_mean: 74,
    },
    Table {
        name: "orders",
        columns: Cow::Borrowed(&[
            Column::new("o_id", INTEGER),
            Column::new("o_d_id", INTEGER),
            Column::new("o_w_id", INTEGER),
            Column::new("o_c_id", INTEGER),
            Column::new("o_entry_d", TIMESTAMP),
            Column::nullable("o_carrier_id", INTEGER),
            Column::new("o_ol_cnt", INTEGER),
            Column::new("o_all_local", INTEGER),
        ]),
        primary_key: &["o_w_id", "o_d_id", "o_id"],
        indexes: &[Index {
            name: "orders_by_customer",
            columns: &["o_w_id", "o_d_id", "o_c_id", "o_id"],
        }],
        row_bytes_mean: 62,
    },
    Table {
        name: "new_order",
        columns: Cow::Borrowed(&[
            Column::new("no_o_id", INTEGER),
            Column::new("no_d_id", INTEGER),
            Column::new("no_w_id", INTEGER),
        ]),
        primary_key: &["no_w_id", "no_d_id", "no_o_id"],
        indexes: &[],
        row_bytes_mean: 24,
    },
    Table {
        name: "order_line",
        columns: Cow::Borrowed(&[
            Column::new("ol_o_id", INTEGER),
            Column::new("ol_d_id", INTEGER),
            Column::new("ol_w_id", INTEGER),
            Column::new("ol_number", INTEGER),
            Column::new("ol_i_id", INTEGER),
            Column::new("ol_supply_w_id", INTEGER),
            Column::nullable("ol_delivery_d", TIMESTAMP),
            Column::new("ol_quantity", INTEGER),
            Column::new("ol_amount", decimal(6, 2)),
            Column::new("ol_dist_info", Char(24)),
        ]),
        primary_key: &["ol_w_id", "ol_d_id", "ol_o_id", "ol_number"],
        indexes: &[],
        row_bytes_mean: 94,
    },
];

/// Rows of `item`, whatever the scale (clause 1.2.1).
pub(super) const ITEMS: i64 = 100_000;
/// Districts of a warehouse.
pub(super) const DISTRICTS: i64 = 10;
/// Customers of a district, and orders of a district after loading.
pub(super) const CUSTOMERS: i64 = 3000;
/// The first order of a district that is not delivered after loading (clause
/// 4.3.3.1): 900 of the 3,000 wait.
pub(super) const FIRST_UNDELIVERED: i64 = 2101;
/// Scale of money.
pub(super) const CENTS: u8 = 2;
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
        for table in &TABLES {
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
        for table in &TABLES {
            for column in table.columns.iter() {
                let is_wide = column.kind == ColumnKind::Integer;
                assert_eq!(is_wide, column.name == "value", "{}", column.name);
            }
        }
    }
}
