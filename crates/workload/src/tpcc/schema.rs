//! The nine tables of clause 1.3, and a tenth that keeps what the population
//! was made with.
//!
//! Names are the specification's in lower case; `ORDER` and `NEW-ORDER` are
//! `orders` and `new_order`, since the first is a reserved word and the second
//! no identifier. Columns come in the specification's order. Foreign keys are
//! left out: the conditions of clause 3.3.2 are checked after every run, and
//! page sizes are compared without the reads that enforcing would add.

use std::borrow::Cow;

use crate::schema::{Column, ColumnKind, Index, Table};

const fn column(name: &'static str, kind: ColumnKind) -> Column {
    Column {
        name,
        kind,
        nullable: false,
    }
}

const fn nullable(name: &'static str, kind: ColumnKind) -> Column {
    Column {
        name,
        kind,
        nullable: true,
    }
}

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

const fn char(length: u16) -> ColumnKind {
    ColumnKind::Char(length)
}

const fn varchar(length: u16) -> ColumnKind {
    ColumnKind::Varchar(length)
}

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
            column("name", varchar(32)),
            // A seed is one of them.
            column("value", ColumnKind::Integer),
        ]),
        primary_key: &["name"],
        indexes: &[],
        row_bytes_mean: 18,
    },
    Table {
        name: "item",
        columns: Cow::Borrowed(&[
            column("i_id", INTEGER),
            column("i_im_id", INTEGER),
            column("i_name", varchar(24)),
            column("i_price", decimal(5, 2)),
            column("i_data", varchar(50)),
        ]),
        primary_key: &["i_id"],
        indexes: &[],
        row_bytes_mean: 81,
    },
    Table {
        name: "warehouse",
        columns: Cow::Borrowed(&[
            column("w_id", INTEGER),
            column("w_name", varchar(10)),
            column("w_street_1", varchar(20)),
            column("w_street_2", varchar(20)),
            column("w_city", varchar(20)),
            column("w_state", char(2)),
            column("w_zip", char(9)),
            column("w_tax", decimal(4, 4)),
            column("w_ytd", decimal(12, 2)),
        ]),
        primary_key: &["w_id"],
        indexes: &[],
        row_bytes_mean: 88,
    },
    Table {
        name: "district",
        columns: Cow::Borrowed(&[
            column("d_id", INTEGER),
            column("d_w_id", INTEGER),
            column("d_name", varchar(10)),
            column("d_street_1", varchar(20)),
            column("d_street_2", varchar(20)),
            column("d_city", varchar(20)),
            column("d_state", char(2)),
            column("d_zip", char(9)),
            column("d_tax", decimal(4, 4)),
            column("d_ytd", decimal(12, 2)),
            column("d_next_o_id", INTEGER),
        ]),
        primary_key: &["d_w_id", "d_id"],
        indexes: &[],
        row_bytes_mean: 104,
    },
    Table {
        name: "stock",
        columns: Cow::Borrowed(&[
            column("s_i_id", INTEGER),
            column("s_w_id", INTEGER),
            column("s_quantity", INTEGER),
            column("s_dist_01", char(24)),
            column("s_dist_02", char(24)),
            column("s_dist_03", char(24)),
            column("s_dist_04", char(24)),
            column("s_dist_05", char(24)),
            column("s_dist_06", char(24)),
            column("s_dist_07", char(24)),
            column("s_dist_08", char(24)),
            column("s_dist_09", char(24)),
            column("s_dist_10", char(24)),
            column("s_ytd", INTEGER),
            column("s_order_cnt", INTEGER),
            column("s_remote_cnt", INTEGER),
            column("s_data", varchar(50)),
        ]),
        primary_key: &["s_w_id", "s_i_id"],
        indexes: &[],
        row_bytes_mean: 326,
    },
    Table {
        name: "customer",
        columns: Cow::Borrowed(&[
            column("c_id", INTEGER),
            column("c_d_id", INTEGER),
            column("c_w_id", INTEGER),
            column("c_first", varchar(16)),
            column("c_middle", char(2)),
            column("c_last", varchar(16)),
            column("c_street_1", varchar(20)),
            column("c_street_2", varchar(20)),
            column("c_city", varchar(20)),
            column("c_state", char(2)),
            column("c_zip", char(9)),
            column("c_phone", char(16)),
            column("c_since", TIMESTAMP),
            column("c_credit", char(2)),
            column("c_credit_lim", decimal(12, 2)),
            column("c_discount", decimal(4, 4)),
            column("c_balance", decimal(12, 2)),
            column("c_ytd_payment", decimal(12, 2)),
            column("c_payment_cnt", INTEGER),
            column("c_delivery_cnt", INTEGER),
            column("c_data", varchar(500)),
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
            column("h_c_id", INTEGER),
            column("h_c_d_id", INTEGER),
            column("h_c_w_id", INTEGER),
            column("h_d_id", INTEGER),
            column("h_w_id", INTEGER),
            column("h_date", TIMESTAMP),
            column("h_amount", decimal(6, 2)),
            column("h_data", varchar(24)),
        ]),
        primary_key: &[],
        indexes: &[],
        row_bytes_mean: 74,
    },
    Table {
        name: "orders",
        columns: Cow::Borrowed(&[
            column("o_id", INTEGER),
            column("o_d_id", INTEGER),
            column("o_w_id", INTEGER),
            column("o_c_id", INTEGER),
            column("o_entry_d", TIMESTAMP),
            nullable("o_carrier_id", INTEGER),
            column("o_ol_cnt", INTEGER),
            column("o_all_local", INTEGER),
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
            column("no_o_id", INTEGER),
            column("no_d_id", INTEGER),
            column("no_w_id", INTEGER),
        ]),
        primary_key: &["no_w_id", "no_d_id", "no_o_id"],
        indexes: &[],
        row_bytes_mean: 24,
    },
    Table {
        name: "order_line",
        columns: Cow::Borrowed(&[
            column("ol_o_id", INTEGER),
            column("ol_d_id", INTEGER),
            column("ol_w_id", INTEGER),
            column("ol_number", INTEGER),
            column("ol_i_id", INTEGER),
            column("ol_supply_w_id", INTEGER),
            nullable("ol_delivery_d", TIMESTAMP),
            column("ol_quantity", INTEGER),
            column("ol_amount", decimal(6, 2)),
            column("ol_dist_info", char(24)),
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
