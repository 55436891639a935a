//! YCSB's one table, as its JDBC binding wants it; the key is `ycsb_key` there
//! too.

use std::borrow::Cow;

use octavo_units::ByteCount;

use crate::schema::{Column, ColumnKind, Table};

/// Fields of a record.
pub(super) const FIELDS: usize = 10;

/// The key's column, as wide as the JDBC binding makes it.
pub(super) const KEY: ColumnKind = ColumnKind::Varchar(255);

const FIELD_NAMES: [&str; FIELDS] = [
    "field0", "field1", "field2", "field3", "field4", "field5", "field6", "field7", "field8",
    "field9",
];

/// The mean length of a key: `user` and the decimal digits of a number below
/// 2^63, of which nine of ten have 19.
const KEY_BYTES_MEAN: usize = 23;

/// The bytes of each field of a row.
pub(super) fn field_length(row: ByteCount) -> usize {
    row.get() as usize / FIELDS
}

/// The table with fields of `field_length` characters, at most 6,000.
pub(super) fn table(field_length: usize) -> Table {
    let length = u16::try_from(field_length).expect("fields are at most 6,000 bytes long");
    let field = |name| Column::new(name, ColumnKind::Varchar(length));
    Table {
        name: "usertable",
        columns: Cow::Owned(
            [Column::new("ycsb_key", KEY)]
                .into_iter()
                .chain(FIELD_NAMES.map(field))
                .collect(),
        ),
        primary_key: &["ycsb_key"],
        indexes: &[],
        row_bytes_mean: (KEY_BYTES_MEAN + FIELDS * field_length) as u32,
    }
}
